"""Records of a large payload are read by readers of runs. They must give the same as the general decoder."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btpy.errors import ProtocolError
from btpy.events import record_decoder, record_runs
from btpy.events.record_decoder import RecordDecoder
from btpy.events.record_runs import run_reader, tags_of
from btpy.events.records import CutString, Record, StackRef, Value, Withheld
from tests.events.encoding import Char, encode_record, encode_thread_name
from tests.events.strategies import VALUES
from tests.output.program import slot, template

PROBES = 3
TEMPLATES = [
    replace(made, id=id_) for id_, made in enumerate([template("a"), template(slot(0)), template(slot(0), slot(1))])
]

Outcome = tuple[list[Record], list[tuple[int, str]]] | str

SIMPLE = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.booleans(),
    st.none(),
    st.floats(allow_nan=False),
    st.text(max_size=4),
    st.builds(Char, st.characters(max_codepoint=0xFFFF)),
)
ONE_RECORD = st.builds(
    encode_record,
    st.lists(st.one_of(SIMPLE, VALUES), max_size=4),
    template=st.integers(-2, len(TEMPLATES)),
    probe=st.integers(-1, PROBES),
    tid=st.integers(1, 2),
)
RUNS = st.lists(st.tuples(ONE_RECORD, st.integers(1, 4)), min_size=1, max_size=8)
"""Records, and how often each is repeated."""


def decoded(payload: bytes, *, by_runs: bool, templates: Sequence[object] = TEMPLATES) -> Outcome:
    with mock.patch.object(record_decoder, "_LARGE", 0 if by_runs else 1 << 62):
        decoder = RecordDecoder()
        decoder.expect(templates, PROBES)  # type: ignore[arg-type]
        try:
            first = decoder.decode(encode_thread_name(1, "main"))
            return first + decoder.decode(payload) + decoder.decode(payload), decoder.malformed
        except ProtocolError as error:
            return str(error)


@given(RUNS)
def test_runs_are_read_like_single_records(runs: list[tuple[bytes, int]]) -> None:
    payload = b"".join(record * count for record, count in runs)
    by_runs, one_by_one = decoded(payload, by_runs=True), decoded(payload, by_runs=False)
    assert repr(by_runs) == repr(one_by_one)  # tells 1 from True


@given(RUNS, st.data())
def test_damage_has_the_same_effect(runs: list[tuple[bytes, int]], data: st.DataObject) -> None:
    payload = bytearray(b"".join(record * count for record, count in runs))
    for _ in range(data.draw(st.integers(1, 3))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    assert repr(decoded(bytes(payload), by_runs=True)) == repr(decoded(bytes(payload), by_runs=False))


@given(st.lists(st.one_of(SIMPLE, VALUES), max_size=5), st.data())
def test_a_payload_that_ends_early_is_refused_by_both(values: list[Value], data: st.DataObject) -> None:
    payload = encode_record(values) * 3
    cut = payload[: data.draw(st.integers(1, len(payload) - 1))]
    assert repr(decoded(cut, by_runs=True)) == repr(decoded(cut, by_runs=False))


@pytest.mark.parametrize(
    "values",
    [[], [True, 7], ["seven", 7], [7, "sevén€\ud800", 7.5, None], ["", Char("x"), StackRef(3), Withheld.REDACTED]],
    ids=["none", "numbers", "text first", "text between", "text of no characters"],
)
def test_a_record_with_one_other_byte_is_read_in_the_same_way(values: list[Value]) -> None:
    """The record follows two without damage, and precedes another or none."""
    record = encode_record(values, template=1 if values else 0)
    for at in range(len(record)):
        for byte in {*range(20), 0xFF, record[at] ^ 1, record[at] ^ 8, record[at] ^ 0x80}:
            damaged = record[:at] + bytes([byte]) + record[at + 1 :]
            for payload in (record * 2 + damaged + record, record * 2 + damaged):
                by_runs, one_by_one = decoded(payload, by_runs=True), decoded(payload, by_runs=False)
                assert repr(by_runs) == repr(one_by_one), (at, byte)


def test_a_reader_stops_at_the_first_record_that_is_not_of_its_run() -> None:
    payload = encode_record([7, "seven"]) * 3 + encode_record([7, None])
    tags = tags_of(payload, 32)
    assert tags == (4, 7)
    records: list[Record] = []
    reader = run_reader(tags)
    assert reader is not None
    end = reader(payload, 0, 0, PROBES, lambda tid, name: name, records.append)
    assert end == 3 * len(encode_record([7, "seven"]))
    assert records == [Record(0, 1 << 24, 0, 0, 1, "", (7, "seven"))] * 3


@pytest.mark.parametrize("values", [[CutString("a", 9)], list(range(41))], ids=["text that is cut", "many"])
def test_other_values_have_no_reader(values: list[Value]) -> None:
    assert tags_of(encode_record(values), 32) is None


@pytest.fixture
def made() -> Iterator[mock.Mock]:
    """Counts the readers that are made."""
    with (
        mock.patch.object(record_runs, "_readers", {}),
        mock.patch.object(record_runs, "_new_reader", return_value=lambda payload, start, *others: start) as made,
    ):
        yield made


@pytest.mark.replaces
def test_a_template_gets_a_limited_number_of_readers(made: mock.Mock) -> None:
    shapes = [encode_record([7] * count) for count in range(1, 40)]
    decoded(b"".join(shapes) * 3, by_runs=True, templates=[template(slot(0, rest=True))])
    assert made.call_count == 16


@pytest.mark.replaces
def test_a_number_of_readers_is_made_whatever_comes(made: mock.Mock) -> None:
    kinds = [None, True, 7, 7.5, "seven"]
    for values in itertools.product(kinds, repeat=4):
        tags = tags_of(encode_record(values), 32)
        assert tags is not None
        run_reader(tags)
    assert made.call_count == 256


def test_a_small_payload_makes_no_reader(made: mock.Mock) -> None:
    decoder = RecordDecoder()
    decoder.expect(TEMPLATES, PROBES)
    decoder.decode(encode_record([7]) * 10)
    assert made.call_count == 0
