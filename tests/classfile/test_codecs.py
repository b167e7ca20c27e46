"""Modified UTF-8, descriptors, the constant pool and stack map frames: writing and reading give the same values."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btpy.classfile import descriptors, frames, mutf8
from btpy.classfile import pool as constants
from btpy.classfile.frames import Frame
from btpy.classfile.pool import ConstantPool, PoolOverflowError
from btpy.classfile.relocation import Relocation
from btpy.errors import ClassFileError
from tests.classfile.strategies import frame_lists, verification_types

any_text = st.text(st.characters(codec=None, exclude_categories=()), max_size=40)


def joined(text: str) -> str:
    """Surrogates that stand next to each other are one character, as in every Java string."""
    return text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")


@given(any_text)
def test_modified_utf8_keeps_every_text(text: str) -> None:
    raw = mutf8.encode(text)
    assert 0 not in raw
    assert max(raw, default=0) < 0xF0
    assert mutf8.decode(raw) == joined(text)


@pytest.mark.parametrize(
    ("text", "raw"),
    [("\0", b"\xc0\x80"), ("é", b"\xc3\xa9"), ("\ud800", b"\xed\xa0\x80"), ("😀", b"\xed\xa0\xbd\xed\xb8\x80")],
)
def test_modified_utf8_of_the_specification(text: str, raw: bytes) -> None:
    assert mutf8.encode(text) == raw
    assert mutf8.decode(raw) == text


@pytest.mark.parametrize("raw", [b"\0", b"a\xff", b"\xf0\x9f\x98\x80", b"\xc3", b"\xc1\x81", b"\x80"])
def test_bytes_that_are_not_modified_utf8(raw: bytes) -> None:
    with pytest.raises(ClassFileError, match="modified UTF-8"):
        mutf8.decode(raw)


def test_descriptors() -> None:
    assert descriptors.parse("(IJ[[DLjava/lang/String;)V") == (("I", "J", "[[D", "Ljava/lang/String;"), "V")
    assert descriptors.argument_slots("(IJ[[DLjava/lang/String;D)J") == 7
    assert descriptors.call_change("(IJ)D") == -1
    assert [descriptors.erase(d) for d in ("I", "[I", "Ljava/lang/String;")] == [
        "I",
        descriptors.OBJECT,
        descriptors.OBJECT,
    ]


@pytest.mark.parametrize("text", ["", "I", "(", "()", "(V)V", "()VV", "(Lx)V", "([)V", "()Lx", "()[V", "(Q)V", "()I;"])
def test_invalid_descriptors(text: str) -> None:
    with pytest.raises(ClassFileError):
        descriptors.parse(text)


constants_added = st.lists(
    st.one_of(
        st.tuples(st.just("utf8"), any_text),
        st.tuples(st.just("class_"), st.text("ab/$", max_size=8)),
        st.tuples(st.just("string"), any_text),
        st.tuples(st.just("integer"), st.integers(-(2**31), 2**31 - 1)),
        st.tuples(st.just("long"), st.integers(-(2**63), 2**63 - 1)),
        st.tuples(st.just("float_"), st.floats(width=32, allow_nan=False)),
        st.tuples(st.just("double"), st.floats(allow_nan=False)),
    ),
    max_size=30,
)
READERS = {
    "utf8": ConstantPool.text_at,
    "class_": ConstantPool.class_at,
    "string": ConstantPool.string_at,
    "integer": ConstantPool.number_at,
    "long": ConstantPool.number_at,
    "float_": ConstantPool.number_at,
    "double": ConstantPool.number_at,
}


@given(constants_added, constants_added)
def test_a_pool_that_was_parsed_grows_without_moving_anything(
    first: list[tuple[str, str | int | float]], then: list[tuple[str, str | int | float]]
) -> None:
    pool = ConstantPool()
    entries = [(kind, value, getattr(pool, kind)(value)) for kind, value in first]
    data = pool.to_bytes()
    parsed, end = ConstantPool.parse(b"..." + data + b"more", 3)
    assert (end, parsed.count, parsed.to_bytes()) == (3 + len(data), pool.count, data)
    for kind, value, index in entries:
        assert getattr(parsed, kind)(value) == index  # no entry is added twice
    assert parsed.to_bytes() == data
    entries += [(kind, value, getattr(parsed, kind)(value)) for kind, value in then]
    assert parsed.to_bytes()[2:].startswith(data[2:])
    copy, _ = ConstantPool.parse(parsed.to_bytes(), 0)
    for kind, value, index in entries:
        expected = joined(value) if isinstance(value, str) else value
        assert READERS[kind](copy, index) == READERS[kind](parsed, index) == expected
    parsed.truncate(pool.count)
    assert parsed.to_bytes() == data
    for kind, value in then:
        assert READERS[kind](parsed, getattr(parsed, kind)(value)) is not None


def test_bytes_of_an_entry_inside_another_are_not_that_entry() -> None:
    pool = ConstantPool()
    text = pool.utf8("\x03ABCD")  # the bytes of the Integer 0x41424344
    parsed, _ = ConstantPool.parse(pool.to_bytes(), 0)
    number = parsed.integer(0x41424344)
    assert (number, parsed.number_at(number)) == (text + 1, 0x41424344)
    assert parsed.utf8("\x03ABCD") == text


def test_members() -> None:
    pool = ConstantPool()
    method = pool.methodref("a/B", "run", "()V")
    assert pool.member_at(method) == ("a/B", "run", "()V")
    assert pool.tag_at(pool.interface_methodref("a/B", "run", "()V")) == constants.INTERFACE_METHODREF
    assert pool.member_at(pool.fieldref("a/B", "x", "J")) == ("a/B", "x", "J")
    with pytest.raises(ClassFileError):
        pool.class_at(method)
    with pytest.raises(ClassFileError):
        pool.text_at(60_000)


def test_the_descriptor_of_a_member_alone() -> None:
    pool = ConstantPool()
    assert pool.descriptor_at(pool.methodref("a/B", "run", "(J)V")) == "(J)V"
    assert pool.descriptor_at(pool.fieldref("a/B", "x", "[J")) == "[J"
    for index in (0, pool.count, pool.class_("a/B"), pool.name_and_type("run", "(J)V")):
        with pytest.raises(ClassFileError):
            pool.descriptor_at(index)


def test_references_that_were_dropped_are_added_again() -> None:
    pool = ConstantPool()
    count = pool.count
    pool.methodref("a/B", "run", "()V")
    pool.truncate(count)
    pool.integer(7)
    assert pool.member_at(pool.methodref("a/B", "run", "()V")) == ("a/B", "run", "()V")


def test_a_full_pool_takes_no_more() -> None:
    pool = ConstantPool()
    while pool.count < 65_534:
        pool.integer(pool.count)
    with pytest.raises(PoolOverflowError):
        pool.long(1)
    pool.integer(-1)
    assert pool.count == 65_535
    assert pool.integer(-1) == 65_534
    with pytest.raises(PoolOverflowError):
        pool.integer(-2)


@given(frame_lists())
def test_frames_survive(case: tuple[tuple[bytes, ...], list[Frame]]) -> None:
    initial, absolute = case
    assert frames.decode(frames.encode(absolute, initial), initial) == absolute


def inserted(size: int, where: int, *, jumped_over: bool) -> Relocation:
    """``size`` bytes are inserted before the instruction at ``where``. The code has room for all offsets of frames."""
    instructions = [*range(where), *range(where + size, 70_000 + size)]
    references = instructions.copy()
    if not jumped_over:
        references[where] = where
    return Relocation(b"", references, instructions)


@given(frame_lists(), st.integers(0, 200), st.integers(0, 6_000), st.booleans())
def test_shifting_is_decoding_moving_and_encoding(
    case: tuple[tuple[bytes, ...], list[Frame]], size: int, where: int, jumped_over: bool
) -> None:
    relocation = inserted(size, where, jumped_over=jumped_over)
    initial, absolute = case
    content = frames.encode(absolute, initial)
    moved = [frames.move(frame, relocation) for frame in absolute]
    initially = frames.move(Frame(0, initial, ()), relocation).locals_
    shifted, last = frames.shift(content, relocation)
    # Frames do not repeat the types of locals on entry, so shift cannot move those types: the reader has to move them.
    assert [(f.offset, f.stack) for f in frames.decode(shifted, initially)] == [(f.offset, f.stack) for f in moved]
    assert [f.locals_ for f in frames.decode(shifted, initially)] == [f.locals_ for f in moved]
    assert last == (moved[-1].offset if moved else -1)
    throwable = Frame(last + 9, (), (frames.object_type(7),))
    assert frames.decode(frames.append_full(shifted, last, throwable), initially)[-1] == throwable


@given(
    frame_lists(),
    st.integers(0, 200),
    st.integers(0, 6_000),
    st.integers(0, 5),
    st.lists(verification_types, min_size=1, max_size=3).map(tuple),
)
def test_extending_at_once_is_decoding_moving_extending_and_encoding(
    case: tuple[tuple[bytes, ...], list[Frame]], size: int, where: int, gap: int, types: tuple[bytes, ...]
) -> None:
    relocation = inserted(size, where, jumped_over=False)
    initial, absolute = case
    first = gap + max(frames.slots(locals_) for locals_ in (initial, *(frame.locals_ for frame in absolute)))
    content = frames.encode(absolute, initial)
    separately = [frames.extend(frames.move(frame, relocation), first, types) for frame in absolute]
    handler = Frame(separately[-1].offset + 9 if separately else 9, types, (frames.object_type(7),))
    at_once = frames.extended(content, initial, first, types, relocation, [handler])
    assert at_once == frames.encode([*separately, handler], initial)


def test_extending_fills_the_gap_and_counts_wide_values_twice() -> None:
    frame = Frame(3, (frames.LONG, frames.INTEGER), ())
    assert frames.extend(frame, 5, (frames.DOUBLE,)).locals_ == (
        frames.LONG,
        frames.INTEGER,
        frames.TOP,
        frames.TOP,
        frames.DOUBLE,
    )
    with pytest.raises(ClassFileError, match="max_locals"):
        frames.extend(frame, 2, (frames.DOUBLE,))


@given(st.binary(max_size=40))
def test_hostile_frames(content: bytes) -> None:
    for read in (
        lambda: frames.decode(content, (frames.INTEGER,)),
        lambda: frames.shift(content, inserted(0, 0, jumped_over=False)),
        lambda: frames.extended(content, (frames.INTEGER,), 5, (frames.LONG,), inserted(0, 0, jumped_over=False), ()),
    ):
        try:
            read()
        except ClassFileError:
            continue


def test_frames_of_reserved_types_and_odd_lengths_are_refused() -> None:
    for content in (b"\0\x01\x80\0\0", b"\0\x01\0\0", b"\0\x02\0", b"\0\x01\x40\x09", struct.pack(">HBH", 1, 248, 0)):
        with pytest.raises(ClassFileError):
            frames.decode(content, ())
