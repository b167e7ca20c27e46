"""Decodes stack map frames (JVMS §4.7.4) to an absolute form, and encodes them in the shortest form.

A frame in a class file has the changes since the frame before it.  Here a frame is absolute: its offset in the code,
all its locals and its whole stack.  A verification type is its bytes in the class file: one byte for most types, three
for Object (a pool index) and Uninitialized (the offset of the ``new``), so types can be compared and copied as bytes.
``long`` and ``double`` are one type that takes two local variables, as in the class file.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

from btpy.classfile import descriptors
from btpy.classfile.pool import ConstantPool
from btpy.classfile.relocation import Relocation
from btpy.errors import ClassFileError

TOP: Final[bytes] = b"\x00"
INTEGER: Final[bytes] = b"\x01"
FLOAT: Final[bytes] = b"\x02"
DOUBLE: Final[bytes] = b"\x03"
LONG: Final[bytes] = b"\x04"
NULL: Final[bytes] = b"\x05"
UNINITIALIZED_THIS: Final[bytes] = b"\x06"

_SIMPLE: Final = (TOP, INTEGER, FLOAT, DOUBLE, LONG, NULL, UNINITIALIZED_THIS)
#: Tags of the types that have two more bytes.
OBJECT: Final = 7
UNINITIALIZED: Final = 8

_PRIMITIVES: Final = {**dict.fromkeys("ZBCSI", INTEGER), "J": LONG, "F": FLOAT, "D": DOUBLE}

# frame_type (JVMS §4.7.4)
_SAME_LOCALS_1: Final = 64
_RESERVED: Final = 128
_SAME_LOCALS_1_EXTENDED: Final = 247
_SAME_EXTENDED: Final = 251
_FULL: Final = 255

_SHORT: Final = struct.Struct(">BH").pack
_FULL_HEAD: Final = struct.Struct(">BHH").pack


class Frame(NamedTuple):
    """The types that the verifier assumes at ``offset``."""

    offset: int
    locals_: tuple[bytes, ...]
    stack: tuple[bytes, ...]


def object_type(class_index: int) -> bytes:
    """The type of a reference: ``class_index`` is a Class entry of the pool."""
    return b"\x07" + class_index.to_bytes(2, "big")


def uninitialized_type(offset: int) -> bytes:
    """The type of the object from the ``new`` at ``offset``, until its constructor returns."""
    return b"\x08" + offset.to_bytes(2, "big")


def type_of(descriptor: str, pool: ConstantPool) -> bytes:
    """The type of a value of a field descriptor; adds its class to the pool."""
    primitive = _PRIMITIVES.get(descriptor)
    if primitive is not None:
        return primitive
    return object_type(pool.class_(descriptor if descriptor[0] == "[" else descriptor[1:-1]))


def slots(types: tuple[bytes, ...]) -> int:
    """The number of local variables for the types."""
    return len(types) + types.count(LONG) + types.count(DOUBLE)


def initial_locals(class_name: str, name: str, descriptor: str, static: bool, pool: ConstantPool) -> tuple[bytes, ...]:
    """The locals on entry of a method (JVMS §4.10.1.6). The first frame is relative to these locals."""
    types: list[bytes] = []
    if not static:
        is_constructor = name == "<init>" and class_name != "java/lang/Object"
        types.append(UNINITIALIZED_THIS if is_constructor else object_type(pool.class_(class_name)))
    types += [type_of(parameter, pool) for parameter in descriptors.parse(descriptor)[0]]
    return tuple(types)


def decode(content: bytes, initial: tuple[bytes, ...]) -> list[Frame]:
    """The frames of a StackMapTable. ``initial``: the locals on entry. Raises ClassFileError."""
    try:
        return _decode(content, initial)
    except (IndexError, struct.error):
        raise ClassFileError("the StackMapTable ends too early (JVMS §4.7.4)") from None


def _decode(content: bytes, initial: tuple[bytes, ...]) -> list[Frame]:
    count = content[0] << 8 | content[1]
    at = 2
    offset = -1
    locals_ = initial
    frames = []
    for _ in range(count):
        kind = content[at]
        if kind < _RESERVED:
            at += 1
            offset += kind % _SAME_LOCALS_1 + 1
        else:
            offset += (content[at + 1] << 8 | content[at + 2]) + 1
            at += 3
        locals_, stack, at = _changed(content, kind, at, locals_)
        frames.append(Frame(offset, locals_, stack))
    if at != len(content):
        raise ClassFileError("the StackMapTable has bytes left over (JVMS §4.7.4)")
    return frames


def _changed(
    content: bytes, kind: int, at: int, locals_: tuple[bytes, ...]
) -> tuple[tuple[bytes, ...], tuple[bytes, ...], int]:
    """Locals and stack of a frame whose types are at ``at``, and the offset after them; ``locals_``: the locals before
    ``at``."""
    if kind < _SAME_LOCALS_1 or kind == _SAME_EXTENDED:
        return locals_, (), at
    if kind < _RESERVED or kind == _SAME_LOCALS_1_EXTENDED:
        stack, at = _types(content, at, 1)
        return locals_, stack, at
    if kind < _SAME_LOCALS_1_EXTENDED:
        raise ClassFileError(f"stack map frame of the reserved type {kind} (JVMS §4.7.4)")
    if kind == _FULL:
        locals_, at = _types(content, at + 2, content[at] << 8 | content[at + 1])
        stack, at = _types(content, at + 2, content[at] << 8 | content[at + 1])
        return locals_, stack, at
    if kind > _SAME_EXTENDED:
        new_types, at = _types(content, at, kind - _SAME_EXTENDED)
        return locals_ + new_types, (), at
    if len(locals_) < _SAME_EXTENDED - kind:
        raise ClassFileError("a stack map frame chops more locals than there are (JVMS §4.7.4)")
    return locals_[: kind - _SAME_EXTENDED], (), at


def _types(content: bytes, at: int, count: int) -> tuple[tuple[bytes, ...], int]:
    types = []
    for _ in range(count):
        tag = content[at]
        if tag < OBJECT:
            types.append(_SIMPLE[tag])
            at += 1
        elif tag <= UNINITIALIZED:
            types.append(content[at : at + 3])
            at += 3
        else:
            raise ClassFileError(f"verification type with the unknown tag {tag} (JVMS §4.7.4)")
    return tuple(types), at


def encode(frames: Sequence[Frame], initial: tuple[bytes, ...]) -> bytes:
    """The content of a StackMapTable. Raises ClassFileError when the offsets do not ascend."""
    out = [len(frames).to_bytes(2, "big")]
    previous = -1
    locals_ = initial
    for frame in frames:
        delta = frame.offset - previous - 1
        if delta < 0:
            raise ClassFileError("stack map frames out of order (JVMS §4.7.4)")
        out.append(_encoded(delta, locals_, frame.locals_, frame.stack))
        previous = frame.offset
        locals_ = frame.locals_
    return b"".join(out)


def _encoded(delta: int, before: tuple[bytes, ...], locals_: tuple[bytes, ...], stack: tuple[bytes, ...]) -> bytes:
    """A frame with ``locals_`` and ``stack`` after a frame with the locals ``before``."""
    if len(stack) <= 1 and locals_ == before:
        return _same_locals_1(delta) + stack[0] if stack else _same(delta)
    count = len(locals_) - len(before)
    if not stack and count and -3 <= count <= 3 and locals_[: len(before)] == before[: len(locals_)]:
        return _SHORT(_SAME_EXTENDED + count, delta) + b"".join(locals_[len(before) :])
    parts = [_FULL_HEAD(_FULL, delta, len(locals_)), *locals_, len(stack).to_bytes(2, "big"), *stack]
    return b"".join(parts)


def extend(frame: Frame, first: int, types: tuple[bytes, ...]) -> Frame:
    """The frame with ``types`` in the local variables from number ``first``; the local variables in between hold
    nothing.
    """
    return Frame(frame.offset, _extended_locals(frame.locals_, first, types), frame.stack)


def _extended_locals(locals_: tuple[bytes, ...], first: int, types: tuple[bytes, ...]) -> tuple[bytes, ...]:
    gap = first - slots(locals_)
    if gap < 0:
        raise ClassFileError("a stack map frame has more locals than max_locals (JVMS §4.7.4)")
    return locals_ + (TOP,) * gap + types


def move(frame: Frame, relocation: Relocation) -> Frame:
    """The frame after code was inserted."""
    instructions = relocation.instructions
    return Frame(
        relocation.references[frame.offset],
        _move_types(frame.locals_, instructions),
        _move_types(frame.stack, instructions),
    )


def _move_types(types: tuple[bytes, ...], instructions: list[int]) -> tuple[bytes, ...]:
    for kind in types:
        if kind[0] == UNINITIALIZED:
            break
    else:
        return types
    return tuple(
        uninitialized_type(instructions[kind[1] << 8 | kind[2]]) if kind[0] == UNINITIALIZED else kind for kind in types
    )


def shift(content: bytes, relocation: Relocation) -> tuple[bytes, int]:
    """A StackMapTable after code was inserted, with unchanged types.

    The result is the same as after decoding, moving and encoding, but the locals on entry need not be known. Also
    returns the new offset of the last frame, -1 if there is none. Raises ClassFileError.
    """
    try:
        return _shift(content, relocation)
    except (IndexError, struct.error):
        raise ClassFileError("the StackMapTable ends too early or its offsets leave the code (JVMS §4.7.4)") from None


def _shift(content: bytes, relocation: Relocation) -> tuple[bytes, int]:
    references = relocation.references
    out = [content[:2]]
    at = 2
    offset = -1
    previous = -1
    for _ in range(content[0] << 8 | content[1]):
        kind = content[at]
        if kind < _RESERVED:
            at += 1
            offset += kind % _SAME_LOCALS_1 + 1
        else:
            offset += (content[at + 1] << 8 | content[at + 2]) + 1
            at += 3
        new = references[offset]
        delta = new - previous - 1
        previous = new
        if kind < _SAME_LOCALS_1 or kind == _SAME_EXTENDED:
            out.append(_same(delta))
        elif kind < _RESERVED or kind == _SAME_LOCALS_1_EXTENDED:
            end = _skip_types(content, at, 1)
            out.append(_same_locals_1(delta))
            out.append(_moved(content, at, end, relocation.instructions))
            at = end
        elif kind < _SAME_LOCALS_1_EXTENDED:
            raise ClassFileError(f"stack map frame of the reserved type {kind} (JVMS §4.7.4)")
        else:
            out.append(_SHORT(kind, delta))
            if kind == _FULL:
                for _list in range(2):
                    end = _skip_types(content, at + 2, content[at] << 8 | content[at + 1])
                    out.append(content[at : at + 2])
                    out.append(_moved(content, at + 2, end, relocation.instructions))
                    at = end
            elif kind > _SAME_EXTENDED:
                end = _skip_types(content, at, kind - _SAME_EXTENDED)
                out.append(_moved(content, at, end, relocation.instructions))
                at = end
    if at != len(content):
        raise ClassFileError("the StackMapTable has bytes left over (JVMS §4.7.4)")
    return b"".join(out), previous


def _same(delta: int) -> bytes:
    return delta.to_bytes(1, "big") if delta < _SAME_LOCALS_1 else _SHORT(_SAME_EXTENDED, delta)


def _same_locals_1(delta: int) -> bytes:
    """A same_locals_1_stack_item frame up to its type."""
    if delta < _SAME_LOCALS_1:
        return (_SAME_LOCALS_1 + delta).to_bytes(1, "big")
    return _SHORT(_SAME_LOCALS_1_EXTENDED, delta)


def _skip_types(content: bytes, at: int, count: int) -> int:
    for _ in range(count):
        tag = content[at]
        if tag > UNINITIALIZED:
            raise ClassFileError(f"verification type with the unknown tag {tag} (JVMS §4.7.4)")
        at += 1 if tag < OBJECT else 3
    return at


def _moved(content: bytes, at: int, end: int, instructions: list[int]) -> bytes:
    types = content[at:end]
    if UNINITIALIZED not in types:
        return types
    out = b""
    while at < end:
        if content[at] < OBJECT:
            out += content[at : at + 1]
            at += 1
        else:
            (kind,) = _types(content, at, 1)[0]
            out += b"".join(_move_types((kind,), instructions))
            at += 3
    return out


def extended(
    content: bytes,
    initial: tuple[bytes, ...],
    first: int,
    types: tuple[bytes, ...],
    relocation: Relocation,
    added: Sequence[Frame],
) -> bytes:
    """A StackMapTable after code was inserted. Its frames keep ``types`` in the local variables from number ``first``.

    The result means the same as after decoding, moving, extending and encoding, but frames that do not change the
    locals stay short. ``added``: frames of the code after the method's own code. Raises ClassFileError.
    """
    try:
        return _extended(content, initial, first, types, relocation, added)
    except (IndexError, struct.error):
        raise ClassFileError("the StackMapTable ends too early or its offsets leave the code (JVMS §4.7.4)") from None


def _extended(
    content: bytes,
    initial: tuple[bytes, ...],
    first: int,
    types: tuple[bytes, ...],
    relocation: Relocation,
    added: Sequence[Frame],
) -> bytes:
    references = relocation.references
    instructions = relocation.instructions
    count = content[0] << 8 | content[1]
    out = [(count + len(added)).to_bytes(2, "big")]
    at = 2
    offset = -1
    previous = -1
    locals_ = initial
    written = initial  # the locals of the previous frame, with `types`
    for _ in range(count):
        kind = content[at]
        if kind < _RESERVED:
            at += 1
            offset += kind % _SAME_LOCALS_1 + 1
        else:
            offset += (content[at + 1] << 8 | content[at + 2]) + 1
            at += 3
        new = references[offset]
        delta = new - previous - 1
        previous = new
        if (kind < _SAME_LOCALS_1 or kind == _SAME_EXTENDED) and written is not initial:
            out.append(_same(delta))
            continue
        before = locals_
        locals_, stack, at = _changed(content, kind, at, locals_)
        extended_locals = written
        if locals_ is not before or written is initial:
            extended_locals = _extended_locals(_move_types(locals_, instructions), first, types)
        out.append(_encoded(delta, written, extended_locals, _move_types(stack, instructions)))
        written = extended_locals
    if at != len(content):
        raise ClassFileError("the StackMapTable has bytes left over (JVMS §4.7.4)")
    for frame in added:
        out.append(_encoded(frame.offset - previous - 1, written, frame.locals_, frame.stack))
        written = frame.locals_
        previous = frame.offset
    return b"".join(out)


def append_full(content: bytes, last: int, frame: Frame) -> bytes:
    """A StackMapTable with one more frame, written in full. ``last``: the offset of the last frame, -1 if none."""
    count = (content[0] << 8 | content[1]) + 1
    locals_, stack = frame.locals_, frame.stack
    full = _FULL_HEAD(_FULL, frame.offset - last - 1, len(locals_))
    return b"".join([count.to_bytes(2, "big"), content[2:], full, *locals_, len(stack).to_bytes(2, "big"), *stack])
