"""Speculation keeps records in order and within a bound, and counts every record."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btpy.errors import ProtocolError
from btpy.events import speculation
from btpy.events.records import Record, Value
from btpy.events.speculation import MAX_NANOS, Speculations
from btpy.model.templates import SPECULATIVE, Template, TemplateKind

PLAIN, HELD, COMMIT, DISCARD = range(4)
TEMPLATES = (
    Template(PLAIN, 0, TemplateKind.PRINT, ()),
    Template(HELD, 0, TemplateKind.PRINT, (), options=(SPECULATIVE,)),
    Template(COMMIT, 1, TemplateKind.COMMIT, ()),
    Template(DISCARD, 1, TemplateKind.DISCARD, ()),
)


def record(template: int, *values: Value, nanos: int = 0) -> Record:
    return Record(template, 1, TEMPLATES[template].probe, nanos, 42, "main", values)


def settled(speculations: Speculations, *records: Record) -> list[tuple[Value, ...]]:
    return [record.values for record in speculations.settle(list(records))]


def test_committed_records_come_in_order_and_without_their_id() -> None:
    speculations = Speculations(TEMPLATES)
    records = [
        record(HELD, 7, "a"),
        record(PLAIN, "b"),
        record(HELD, 8, "c"),
        record(HELD, 7, "d"),
        record(HELD, None, "e"),
    ]
    assert settled(speculations, *records) == [("b",), ("e",)]
    assert settled(speculations, record(COMMIT, 7), record(COMMIT, 7), record(DISCARD, 8), record(COMMIT, 8)) == [
        ("a",),
        ("d",),
    ]
    assert speculations.dropped == {0: 1}
    assert speculations.controls == {1: 4}
    assert settled(speculations, record(HELD, "7", "f"), record(COMMIT, 7)) == []
    speculations.close()
    assert speculations.dropped == {0: 2}


def test_an_id_is_given_up_after_its_time() -> None:
    speculations = Speculations(TEMPLATES)
    settled(speculations, record(HELD, 1, "a"), record(HELD, 2, "b", nanos=1), record(HELD, 1, "c", nanos=MAX_NANOS))
    assert speculations.dropped == {}
    settled(speculations, record(PLAIN, nanos=MAX_NANOS + 1))
    assert speculations.dropped == {0: 2}
    assert settled(speculations, record(COMMIT, 1, nanos=MAX_NANOS + 1), record(COMMIT, 2, nanos=MAX_NANOS + 1)) == [
        ("b",)
    ]


@pytest.mark.replaces
def test_the_oldest_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speculation, "MAX_RECORDS", 5)
    speculations = Speculations(TEMPLATES)
    settled(speculations, *(record(HELD, number % 3, number) for number in range(5)))
    assert speculations.dropped == {}
    settled(speculations, record(HELD, 3, 5))
    assert speculations.dropped == {0: 2}
    records = [settled(speculations, record(COMMIT, id_)) for id_ in range(4)]
    assert records == [[], [(1,), (4,)], [(2,)], [(5,)]]


def test_a_program_that_does_not_speculate_is_left_alone() -> None:
    records = [record(PLAIN, 1), record(PLAIN)]
    assert Speculations(TEMPLATES[:1]).settle(records) is records


@pytest.mark.parametrize("bad", [record(COMMIT), record(HELD), record(PLAIN)._replace(template=17)])
def test_errors_in_the_records_of_the_agent(bad: Record) -> None:
    with pytest.raises(ProtocolError):
        Speculations(TEMPLATES).settle([bad])


@given(st.lists(st.tuples(st.sampled_from(range(4)), st.integers(0, 3)), max_size=50), st.integers(1, 7))
def test_every_record_is_shown_once_or_counted(steps: Sequence[tuple[int, int]], room: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(speculation, "MAX_RECORDS", room)
        speculations = Speculations(TEMPLATES)
        records: list[tuple[Value, ...]] = []
        for number, (template, id_) in enumerate(steps):
            records += settled(
                speculations, record(template, id_, number) if template != PLAIN else record(PLAIN, number)
            )
        speculations.close()
    count = sum(template in (PLAIN, HELD) for template, _ in steps)
    assert len(set(records)) == len(records) == count - speculations.dropped.total()
    assert speculations.controls.total() == len(steps) - count
