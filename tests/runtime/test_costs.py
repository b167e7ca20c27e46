"""The cost of firings is measured by timing some of them."""

from __future__ import annotations

from tests.runtime.harness import Outcome

FIRINGS = 1009
NANOS = 20_000  # each firing takes at least this time
WIDTH = 1 / 8  # relative width of the histogram's buckets of durations
FOURTHS = 65  # after this number of timed firings, one in sixteen is timed instead of one in four
TIMED = FOURTHS + FIRINGS // 16 - 4 * FOURTHS // 16


def test_one_firing_in_four_is_timed_at_first_and_fewer_when_they_are_many(outcome: Outcome) -> None:
    row = outcome.counters("costs")[1]
    assert row.timed == TIMED
    assert row.cost_ps >= 1000 * NANOS * (1 - WIDTH)
    assert row.cost_p99_ns >= NANOS * (1 - WIDTH)
    assert row.cost_error_ps > 0
    assert row.cpu_ns >= FIRINGS * NANOS * (1 - WIDTH)


def test_a_predicate_that_is_false_is_timed_too(outcome: Outcome) -> None:
    row = outcome.counters("costs")[2]
    assert (row.fired, row.timed) == (0, TIMED)
    assert row.cpu_ns >= FIRINGS * NANOS * (1 - WIDTH)


def test_firings_that_only_count(outcome: Outcome) -> None:
    row = outcome.counters("costs")[3]
    assert row.fired == 2 * FIRINGS
    assert abs(row.timed - 2 * TIMED) <= 2
    assert 0 < row.cpu_ns < FIRINGS * NANOS


def test_a_probe_that_never_fired_costs_nothing(outcome: Outcome) -> None:
    row = outcome.counters("costs")[4]
    assert (row.timed, row.cost_ps, row.cost_p99_ns, row.cpu_ns) == (0, 0, 0, 0)


def test_a_timed_run_divides_its_time_among_its_firings(outcome: Outcome) -> None:
    clock = int(outcome.fact("runs", "clock"))
    rows = outcome.counters("runs")
    for row, nanos in ((rows[1], 24 / 16), (rows[2], 24 / 16 + 4 + 2 * clock)):
        assert row.timed == 64
        assert abs(row.cost_ps / 1000 - nanos) <= nanos * WIDTH
        assert row.cost_error_ps == 0


def test_a_duration_in_which_the_thread_did_not_run_counts_for_little(outcome: Outcome) -> None:
    """Probe 3 has one duration of a second and 999 durations of 100 ns; probe 4 has one of a second and 49 others."""
    rows = outcome.counters("runs")
    assert 100 * (1 - WIDTH) < rows[3].cost_ps / 1000 < (100 + 4 * 100 / 1000) * (1 + WIDTH)
    assert 100 * (1 - WIDTH) < rows[4].cost_ps / 1000 < (100 + 16 * 100 / 50) * (1 + WIDTH)


def test_a_duration_has_the_weight_of_the_firings_since_the_last_timed_one(outcome: Outcome) -> None:
    """50 durations of 10 us, each for four firings, and 50 of 100 ns, each for 16,384 firings."""
    row = outcome.counters("runs")[5]
    mean = (50 * 4 * 10_000 + 50 * 16_384 * 100) / (50 * 4 + 50 * 16_384)
    assert mean * (1 - WIDTH) < row.cost_ps / 1000 < mean * (1 + WIDTH)
    assert row.timed == 100
