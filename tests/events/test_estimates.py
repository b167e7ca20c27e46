"""Intervals contain the exact figure as often as they claim. The tests choose hits as the agent does."""

from __future__ import annotations

import random

import pytest

from btpy.events.aggregates import Average, Count, Stats, Total, intervals
from btpy.events.estimates import Interval, Skips, Weights, of_rank

TRIALS = 200


def sampled(samples: list[int], factor: int, chance: random.Random) -> tuple[list[tuple[int, int]], int]:
    """The samples that fire, one of each block, with their weights, and the number of skipped hits."""
    choice = []
    for begin in range(0, len(samples), factor):
        at = begin + chance.randrange(factor)
        if at < len(samples):
            choice.append((samples[at], factor))
    return choice, len(samples) - len(choice)


def weights_of(choice: list[tuple[int, int]], skips: int, factor: int) -> Weights:
    spreads = [(weight * (weight - 1), sample) for sample, weight in choice]
    return Weights(
        Skips(skips, factor),
        len(choice),
        sum(weight for _, weight in choice),
        float(sum(spread for spread, _ in spreads)),
        float(sum(spread * sample for spread, sample in spreads)),
        float(sum(spread * sample * sample for spread, sample in spreads)),
    )


def holds(interval: Interval, exact: float) -> bool:
    return (interval.low is None or interval.low <= exact) and (interval.high is None or exact <= interval.high)


@pytest.mark.parametrize("factor", [8, 64, 1024])
@pytest.mark.parametrize("hits", [3, 101, 4001])
def test_counts_sums_and_means_lie_where_they_should(hits: int, factor: int) -> None:
    """Every third hit has the counted key; the seed is fixed."""
    chance = random.Random(f"{hits} {factor}")
    missed, estimates = {"n": 0, "sum": 0, "avg": 0}, []
    samples = [chance.randrange(100) for _ in range(hits)]
    mine = [sample for at, sample in enumerate(samples) if at % 3 == 0]
    for _ in range(TRIALS):
        order = list(enumerate(samples))
        choice, skips = sampled([at for at, _ in order], factor, chance)
        pairs = [(samples[at], weight) for at, weight in choice if at % 3 == 0]
        weights = weights_of(pairs, skips, factor)
        n, total = weights.hits, sum(sample * weight for sample, weight in pairs)
        estimates.append(n)
        missed["n"] += not holds(intervals(Count(n, weights))[""], len(mine))
        missed["sum"] += not holds(intervals(Total(n, total, 0.0, weights))[""], sum(mine))
        missed["avg"] += not holds(intervals(Average(n, total, 0.0, weights))[""], sum(mine) / len(mine))
    assert all(count <= TRIALS * 0.03 for count in missed.values()), missed
    assert abs(sum(estimates) / TRIALS - len(mine)) <= 5 * (factor * len(mine) / TRIALS) ** 0.5, "unbiased"


def test_while_a_probe_rested_there_is_no_upper_bound() -> None:
    rested = Weights(Skips(0, 1, 0, 10**9))
    assert intervals(Count(7, rested)) == {"": Interval(7, None)}
    result = intervals(Stats(7, 70, 0.0, 3, 20, rested))
    assert result["count"] == Interval(7, None)
    assert result["average"] == Interval(None, None)
    assert (result["min"], result["max"]) == (Interval(None, 3), Interval(20, None))


def test_exact_values_have_no_interval() -> None:
    assert intervals(Count(7)) == {}
    assert intervals("plain") == {}


def test_percentiles_of_few_samples_have_no_bounds() -> None:
    low, high = of_rank(99, 128, Weights(Skips(126, 64), 2, 128, 128 * 63.0))
    assert low < 99 < 100 < high
