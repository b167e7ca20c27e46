"""The choice of the probe errors that a run shows."""

from __future__ import annotations

import pytest

from btpy.model.source import Source, Span
from btpy.output.writer import ProbeError
from btpy.present.errors import ProbeErrors
from btpy.wire.messages import ErrorKind

SOURCE = Source("a.bt", "0123456789")
OTHER = Source("b.bt", "0123456789", base=11)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("btpy.present.errors.time.monotonic", lambda: now[0])
    return now


def error(source: Source, start: int, count: int, probe: str = "p") -> ProbeError:
    return ProbeError(probe, ErrorKind.NULL_OPERAND, Span(source, start, start + 1), count, "it was null")


def test_the_first_of_each_place_is_shown_and_one_a_second(clock: list[float]) -> None:
    errors = ProbeErrors()
    first = errors.add(error(SOURCE, 1, 2))
    assert first is not None
    assert first.count == 2
    assert errors.add(error(SOURCE, 1, 3)) is None
    assert errors.add(error(SOURCE, 4, 7)) is None, "in the same second"
    clock[0] += 1
    later = errors.add(error(SOURCE, 4, 11))
    assert later is not None
    assert later.count == 18, "with those that were not shown"
    assert errors.count() == 2 + 3 + 7 + 11


def test_the_same_place_of_two_scripts_is_two_places(clock: list[float]) -> None:
    errors = ProbeErrors()
    assert errors.add(error(SOURCE, 1, 1)) is not None
    clock[0] += 1
    assert errors.add(error(OTHER, 1, 1)) is not None


def test_remaining_classes_are_reported_once(clock: list[float]) -> None:
    errors = ProbeErrors()
    errors.add(error(SOURCE, 1, 2, "a"))
    errors.add(error(SOURCE, 1, 3, "a"))
    errors.add(error(SOURCE, 4, 7, "b"))
    assert [(total.count, before) for total, before in errors.remaining()] == [(5, True), (7, False)]
    assert list(errors.remaining()) == []
    assert (errors.count("a"), errors.count("b"), errors.count("c")) == (5, 7, 0)
