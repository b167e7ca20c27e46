"""What firings cost is found by timing some of them."""

from __future__ import annotations

from tests.runtime.harness import Outcome

FIRINGS = 1009
NANOS = 20_000  # of each, at least
WIDTH = 1 / 8  # of the buckets that durations are put into


def test_one_firing_in_four_is_timed_until_the_rate_is_known(outcome: Outcome) -> None:
    row = outcome.counters("costs")[1]
    assert row.timed == FIRINGS // 4
    assert row.cost_ps >= 1000 * NANOS * (1 - WIDTH)
    assert row.cost_p99_ns >= NANOS * (1 - WIDTH)
    assert row.cost_error_ps > 0
    assert row.cpu_ns >= FIRINGS * NANOS * (1 - WIDTH)


def test_a_predicate_that_is_false_is_timed_too(outcome: Outcome) -> None:
    row = outcome.counters("costs")[2]
    assert (row.fired, row.timed) == (0, FIRINGS // 4)
    assert row.cpu_ns >= FIRINGS * NANOS * (1 - WIDTH)


def test_firings_that_only_count(outcome: Outcome) -> None:
    row = outcome.counters("costs")[3]
    assert row.fired == 2 * FIRINGS
    assert 2 * FIRINGS // 4 - 2 <= row.timed <= 2 * FIRINGS // 4 + 2
    assert 0 < row.cpu_ns < FIRINGS * NANOS


def test_a_probe_that_never_fired_costs_nothing(outcome: Outcome) -> None:
    row = outcome.counters("costs")[4]
    assert (row.timed, row.cost_ps, row.cost_p99_ns, row.cpu_ns) == (0, 0, 0, 0)
