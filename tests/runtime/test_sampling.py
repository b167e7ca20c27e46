"""The weights of the hits that fire add up to all hits."""

from __future__ import annotations

from btpy.wire.messages import ProbeState
from tests.runtime.harness import Outcome


def test_every_nth_hit(outcome: Outcome) -> None:
    assert outcome.fact("sampling", "every") == str(10_007 // 13 * 13)
    assert outcome.fact("sampling", "every-of-many") == "0 true"
    counters = outcome.counters("sampling")[1]
    assert counters.skipped > 0
    assert (9 * 10_007 - counters.skipped) * 13 <= 9 * 10_007 < (9 * 10_007 - counters.skipped + 16) * 13


def test_a_share_of_the_hits(outcome: Outcome) -> None:
    assert outcome.fact("sampling", "rate") == "true"
    count = 10_007 - outcome.counters("sampling")[2].skipped
    assert 300 < count < 700  # 500 are expected


def test_a_limit_per_second(outcome: Outcome) -> None:
    assert outcome.fact("sampling", "max-rate") == "true"
    assert outcome.fact("sampling", "max-rate-weights") == "true"


def test_a_thread_decides_once_until_the_method_is_left(outcome: Outcome) -> None:
    assert outcome.fact("by-thread", "decisions") == "0 0 3 0 0 3 0"
    assert outcome.fact("by-thread", "disabled") == "-1"


def test_a_probe_ends_after_its_limit_of_firings(outcome: Outcome) -> None:
    assert outcome.fact("firings", "first") == "101 true"
    counters = outcome.counters("firings")
    assert (counters[1].fired, counters[1].state) == (101, ProbeState.HITS_USED_UP)


def test_a_limit_of_firings_per_second(outcome: Outcome) -> None:
    counters = outcome.counters("firings")[2]
    assert (counters.fired, counters.limited) == (34, 8 * 1009 + 101 - 34)
    assert counters.state is ProbeState.ON


def test_a_probe_ends_after_its_time_or_by_itself(outcome: Outcome) -> None:
    facts = [outcome.fact("firings", key) for key in ("in-time", "late", "disabled", "enabled")]
    assert facts == ["true"] * 4
    counters = outcome.counters("firings")
    assert [counters[probe].state for probe in (3, 5, 6)] == [
        ProbeState.TIME_IS_UP,
        ProbeState.ON,
        ProbeState.DISABLED_ITSELF,
    ]
    assert counters[3].fired == 8 * 1009
