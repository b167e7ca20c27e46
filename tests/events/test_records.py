from __future__ import annotations

import contextlib
import struct
from collections import Counter
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btpy.errors import ProtocolError
from btpy.events.items import ItemDecoder, Records
from btpy.events.reading_limit import ReadingLimit
from btpy.events.record_decoder import RecordDecoder, read_value
from btpy.events.records import CutString, Record, SequenceValue, Value
from btpy.lang.check.checker import check_source
from btpy.model.source import Source
from btpy.model.templates import SPECULATIVE
from btpy.wire.messages import UNKNOWN_PROBE, ErrorKind, Events
from tests.events.encoding import Char, encode_record, encode_thread_name, encode_value
from tests.events.strategies import VALUES
from tests.output import program


def decode(payload: bytes) -> list[Record]:
    return RecordDecoder().decode(payload)


@given(st.lists(st.lists(VALUES, max_size=4), max_size=4))
def test_decoding_inverts_encoding(records: list[list[Value]]) -> None:
    payload = b"".join(encode_record(values, template=at, tid=-at) for at, values in enumerate(records))
    items = decode(payload)
    assert [list(record.values) for record in items] == records
    assert [
        (type(a), type(b))
        for r, v in zip(items, records, strict=True)
        for a, b in zip(r.values, v, strict=True)
        if type(a) is not type(b)
    ] == []
    assert [(record.template, record.tid) for record in items] == [(at, -at) for at in range(len(records))]


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_a_protocol_error_or_records(payload: bytes) -> None:
    with contextlib.suppress(ProtocolError):
        decode(payload)


@given(st.lists(VALUES, min_size=1, max_size=3), st.data())
def test_a_damaged_record_is_a_protocol_error_or_other_records(values: list[Value], data: st.DataObject) -> None:
    payload = bytearray(encode_record(values))
    at = data.draw(st.integers(0, len(payload) - 1))
    payload[at] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(ProtocolError):
        decode(bytes(payload))


@given(st.lists(VALUES, max_size=3), st.integers(1, 1000))
def test_a_payload_cut_short_is_refused(values: list[Value], count: int) -> None:
    payload = encode_record(values)
    with pytest.raises(ProtocolError):
        decode(payload[: -min(count, len(payload) - 1)])


def test_the_header_of_a_record() -> None:
    payload = encode_record([7], template=3, site=2 << 24 | 5, probe=4, nanos=-9, tid=2**40)
    assert decode(payload) == [Record(3, 2 << 24 | 5, 4, -9, 2**40, "", (7,))]


def test_int_char_and_nan() -> None:
    assert read_value(encode_value(-5, int32=True), 0) == (-5, 5)
    assert read_value(encode_value(Char("ß")), 0) == ("ß", 3)
    value, _ = read_value(encode_value(float("nan")), 0)
    assert value != value


def test_threads_are_named_by_the_records_before_and_can_be_renamed() -> None:
    decoder = RecordDecoder()
    first = decoder.decode(encode_thread_name(7, "http-7") + encode_record([1], tid=7) + encode_record([2], tid=8))
    second = decoder.decode(encode_record([3], tid=7) + encode_thread_name(7, "idle") + encode_record([4], tid=7))
    assert [record.thread for record in first + second] == ["http-7", "", "http-7", "idle"]


def test_a_thread_name_that_was_cut() -> None:
    name = CutString("pool-", 300)
    payload = encode_record([name], template=-1, tid=5) + encode_record([], tid=5)
    assert decode(payload)[0].thread == "pool-"


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(struct.pack("<i", 0) + bytes(60), id="size zero"),
        pytest.param(struct.pack("<i", -8) + bytes(60), id="size negative"),
        pytest.param(struct.pack("<i", 44) + bytes(60), id="size not a multiple of 8"),
        pytest.param(struct.pack("<i", 80) + bytes(60), id="size beyond the payload"),
    ],
)
def test_nonsense_is_refused(payload: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(payload)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(b"\x12", id="unknown tag"),
        pytest.param(b"\x09\x05\x00\x00\x00\x03\x01\x00\x00\x00", id="a cut string of an int"),
        pytest.param(b"\x0d" + encode_value(1) + encode_value("A"), id="an enum of class 1"),
        pytest.param(b"\x0e" + encode_value("A") + b"\0\0\0\0\x03", id="closed for no known reason"),
        pytest.param(b"\x0a" + encode_value("A") + b"\0\0\0\0\x00\x02", id="neither more fields nor none"),
        pytest.param(b"\x0b" + encode_value("[I") + b"\x01\0\0\0\x02" + encode_value(1) * 2, id="two shown of one"),
        pytest.param(b"\x07\x05\x00abc", id="string beyond the end"),
        pytest.param(b"\x08\x02\x00a\x00", id="wide string beyond the end"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_nonsense_values_are_refused(value: bytes) -> None:
    with pytest.raises(ProtocolError):
        read_value(value, 0)


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(struct.pack("<iiiiqq", 40, 0, 0, 0, 0, 0) + bytes(8), id="no end marker"),
        pytest.param(struct.pack("<iiiiqq", 56, 0, 0, 0, 0, 0) + b"\xff".ljust(24, b"\0"), id="a padding of 23"),
        pytest.param(encode_record([1], template=-1), id="a thread called 1"),
        pytest.param(encode_record(["a", "b"], template=-1), id="a thread with two names"),
        pytest.param(encode_record([1])[:32] + b"\x12\xff".ljust(16, b"\0"), id="unknown tag"),
    ],
)
def test_a_record_that_cannot_be_read_costs_itself_alone(payload: bytes) -> None:
    decoder = RecordDecoder()
    records = decoder.decode(encode_record([1]) + payload + encode_record([2]))
    assert [record.values for record in records] == [(1,), (2,)]
    assert len(decoder.malformed) == 1


def test_a_value_may_not_reach_into_the_next_record() -> None:
    record = bytearray(encode_record(["abc"], probe=3))
    record[33:35] = struct.pack("<H", 30)  # the length of the string
    decoder = RecordDecoder()
    (other,) = decoder.decode(bytes(record) + encode_record(["x" * 20]))
    assert other.values == ("x" * 20,)
    assert [probe for probe, _ in decoder.malformed] == [3]


def test_a_malformed_record_is_an_error_of_its_probe() -> None:
    """A name that could not be read gives no pair; the other pairs of the payload are shown."""
    template = program.template(program.slot(0, rest=True, named=True))
    decoder = ItemDecoder()
    outline = program.context(template).outline
    pairs = [encode_record([name, 1]) for name in ("a", None, "b")]
    item = decoder.item(Events(b"".join(pairs)), outline)
    assert isinstance(item, Records)
    assert [record.values for record in item.records] == [("a", 1), ("b", 1)]
    assert item.malformed is not None
    (failure,) = item.malformed.failures
    assert (failure.probe, failure.kind, failure.count) == (0, ErrorKind.INTERNAL, 1)
    assert (
        failure.message == "a record that cannot be read: record of template 0 does not have pairs of names and values"
    )
    second_item = decoder.item(Events(pairs[0]), outline)
    assert isinstance(second_item, Records)
    assert second_item.malformed is None


def test_a_record_of_no_template_or_with_too_few_values_is_an_error() -> None:
    pair = program.template(program.slot(0), " ", program.slot(1))
    outline = program.context(pair).outline
    odd = [encode_record(["a"]), encode_record(["a", 1], template=7), encode_record(["a", 1], probe=7)]
    item = ItemDecoder().item(Events(encode_record(["a", 1]) + b"".join(odd)), outline)
    assert isinstance(item, Records)
    assert [record.values for record in item.records] == [("a", 1)]
    assert item.malformed is not None
    assert [(failure.probe, failure.message.partition(": ")[2]) for failure in item.malformed.failures] == [
        (0, "record of template 0 with 1 of 2 values"),
        (0, "record of template 7 and probe 0, of 1 and 1"),
        (UNKNOWN_PROBE, "record of template 0 and probe 7, of 1 and 1"),
    ]


def test_pairs_of_a_record_that_is_held_back_follow_its_id() -> None:
    template = program.template(program.slot(0, rest=True, named=True), options=(SPECULATIVE,))
    item = ItemDecoder().item(Events(encode_record([41, "a", 1])), program.context(template).outline)
    assert isinstance(item, Records)
    assert [record.values for record in item.records] == [(41, "a", 1)]
    assert item.malformed is None


def test_depth_is_bounded() -> None:
    head = b"\x0b" + encode_value("[[I") + b"\x01\0\0\0\x01"
    value, _ = read_value(head * 20 + encode_value(1), 0)
    assert isinstance(value, SequenceValue)
    with pytest.raises(ProtocolError, match="nested"):
        read_value(head * 5000 + encode_value(1), 0)


def allowing(*most: int) -> ReadingLimit:
    """A limit that still allows ``most[i]`` records of probe i. The current second of the limit never ends."""
    highest = 1000
    limit = ReadingLimit(highest, ())
    for probe, count in enumerate(most):
        limit.take(0, probe, highest - count)
    return limit


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=60), st.integers(0, 7), st.integers(0, 7))
def test_as_many_are_read_as_are_allowed_and_the_others_counted(
    kinds: list[tuple[int, int]], first: int, second: int
) -> None:
    """``kinds``: template and probe of each record; template 3 names the thread of the records that follow."""
    payload, count = b"", 0
    for at, (template, probe) in enumerate(kinds):
        if template == 3:
            count += 1
            payload += encode_thread_name(7, f"http-{at}")
        else:
            payload += encode_record([at], template=template, probe=probe, tid=7)
    every = decode(payload)
    with mock.patch("btpy.events.reading_limit.time.monotonic", return_value=41.5):
        records, unread = RecordDecoder().decode_some(payload, allowing(first, second))
    of = Counter(record.probe for record in every)
    assert Counter(record.probe for record in records) == Counter(
        {probe: min(of[probe], most) for probe, most in enumerate((first, second, 1000)) if min(of[probe], most)}
    )
    assert Counter(record.probe for record in records) + unread == of
    assert all(record in every for record in records)
    assert [record.nanos for record in records] == sorted(record.nanos for record in records)


def test_an_allowance_is_per_probe_and_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [41.5]
    monkeypatch.setattr("btpy.events.reading_limit.time.monotonic", lambda: now[0])
    program = check_source(
        Source("x.bt", "A::a { print(1); }\nA::b { speculate(tid); print(2); }\nA::c { commit(tid); exit(3); }")
    )
    limit = ReadingLimit(7, program.templates)
    plain = program.templates[0].id
    assert [limit.take(plain, 0, 5), limit.take(plain, 0, 5), limit.take(plain, 1, 5)] == [5, 2, 5]
    now[0] += 0.4
    assert limit.take(plain, 0, 1) == 0
    needed = [template.id for template in program.templates[1:]]
    assert len(needed) == 3
    assert [limit.take(template, 0, 1000) for template in needed] == [1000] * len(needed)
    now[0] += 0.1
    assert limit.take(plain, 0, 100) == 7
