"""Summaries with values or registers, filled by many threads."""

from __future__ import annotations

from collections import Counter

import pytest

from btpy.events.aggregates import Average, Count, Greatest, Least, LinearHistogram, TimeSeries, Total
from btpy.events.sketches import Distinct, Examples, First, Last, Top
from btpy.model.maps import Linear, MapKind, Most, Series, SeriesOperator
from btpy.wire.messages import ErrorKind
from tests.runtime.harness import Outcome

WRITERS, ROUNDS = 8, 1009
HOUR = 3_600_000_000_000
LINEAR = Linear(-10.0, 90.0, 20.0)


@pytest.mark.parametrize(("id_", "keys"), [(0, 0), (4, 1)])
def test_linear_histograms(outcome: Outcome, id_: int, keys: int) -> None:
    ((_, value),) = outcome.map("sketches", id_, MapKind.LHIST, keys, parameters=LINEAR).entries
    assert isinstance(value, LinearHistogram)
    samples = [i % 113 - 13 for i in range(ROUNDS)] * WRITERS
    counts = [0] * 7
    for sample in samples:
        counts[0 if sample < -10 else 6 if sample >= 90 else 1 + (sample + 10) // 20] += 1
    assert value.counts == tuple(counts)
    assert (value.n, value.total, value.least, value.greatest) == (len(samples), sum(samples), -13, 99)


def test_the_most_frequent_values_with_their_bounds(outcome: Outcome) -> None:
    ((_, value),) = outcome.map("sketches", 1, MapKind.TOPK, parameters=Most(5)).entries
    assert isinstance(value, Top)
    assert value.n == 2 * WRITERS * ROUNDS
    exact = Counter(f"value-{((i + 1) & -(i + 1)).bit_length() - 1}" for i in range(ROUNDS) for _ in range(WRITERS))
    for frequent in value.values:
        exact_count = exact.get(str(frequent.value), 1)
        assert frequent.least <= exact_count <= frequent.count, frequent
    values = {frequent.value for frequent in value.values}
    assert all(count <= value.unseen for name, count in exact.items() if name not in values)
    assert [frequent.value for frequent in value.shown[:4]] == ["value-0", "value-1", "value-2", "value-3"]


def test_how_many_different_values(outcome: Outcome) -> None:
    ((_, value),) = outcome.map("sketches", 2, MapKind.DISTINCT).entries
    assert isinstance(value, Distinct)
    assert value.n == WRITERS * ROUNDS
    assert abs(value.estimate - WRITERS * ROUNDS) < 0.1 * WRITERS * ROUNDS  # more than four standard errors
    entries = dict(outcome.map("sketches", 3, MapKind.DISTINCT, 1).entries)
    few = entries[("few",)]
    assert isinstance(few, Distinct)
    assert (few.n, few.estimate) == (WRITERS * ROUNDS, 17)
    assert outcome.fact("sketches", "distinct") == "17", "a script reads the same estimate"
    assert ("null",) not in entries
    assert {row.kind for row in outcome.errors("sketches").values()} == {ErrorKind.NULL_SAMPLE}


def test_examples_are_picked_evenly(outcome: Outcome) -> None:
    picked: Counter[object] = Counter()
    for _, value in outcome.map("examples", 0, MapKind.SAMPLE_OF, 1, parameters=Most(5)).entries:
        assert isinstance(value, Examples)
        assert value.n == 101
        assert len(set(value.values)) == 5
        picked.update(value.values)
    assert len(picked) == 101, "each sample is picked for some key"
    expected = 1009 * 5 / 101
    assert all(0.4 * expected < count < 1.8 * expected for count in picked.values())  # some five standard deviations


def test_first_and_last(outcome: Outcome) -> None:
    ((_, first),) = outcome.map("examples", 1, MapKind.FIRST, 1).entries
    ((_, last),) = outcome.map("examples", 2, MapKind.LAST, 1).entries
    assert isinstance(first, First)
    assert isinstance(last, Last)
    assert (first.value, last.value) == ("one", "three")
    assert 0 < first.wall_nanos <= last.wall_nanos
    assert (outcome.fact("examples", "first"), outcome.fact("examples", "last")) == ("one", "three")


def test_series(outcome: Outcome) -> None:
    samples = range(WRITERS * ROUNDS)
    aggregates = {
        SeriesOperator.SUM: Total(len(samples), sum(samples), 0.0),
        SeriesOperator.AVG: Average(len(samples), sum(samples), 0.0),
        SeriesOperator.MIN: Least(len(samples), 0),
        SeriesOperator.MAX: Greatest(len(samples), len(samples) - 1),
        SeriesOperator.COUNT: Count(len(samples)),
    }
    for id_, operator in enumerate(SeriesOperator):
        series = Series(HOUR, 3, operator)
        ((_, value),) = outcome.map("series", id_, MapKind.TSERIES, parameters=series).entries
        assert isinstance(value, TimeSeries)
        assert value.n == len(samples)
        if len(value.windows) == 1:  # the hour may end while the test runs
            assert value.windows[0][1] == aggregates[operator]
    series = Series(1_000_000, 7, SeriesOperator.COUNT)
    ((_, value),) = outcome.map("series", 5, MapKind.TSERIES, parameters=series).entries
    assert isinstance(value, TimeSeries)
    assert value.n == len(samples), "windows that are over are counted in all the same"
    assert len(value.windows) <= 7
