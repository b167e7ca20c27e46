"""The steps of the budget when probes exceed their share, and afterwards; on a simulated clock."""

from __future__ import annotations

from btpy.events.aggregates import Count, intervals
from btpy.model.maps import MapKind
from btpy.wire.messages import ProbeState, RestraintStep
from tests.runtime.harness import Outcome

HITS = 4001
TURNS = 200_003
SHORT = 100_003
SECOND = 20  # looks


def steps(outcome: Outcome, key: str, scenario: str = "budget") -> list[tuple[int, RestraintStep]]:
    """Probe and step of each announcement."""
    parts = (word.split(":") for word in outcome.fact(scenario, key).split())
    return [(int(probe), RestraintStep(int(step))) for probe, step, _ in parts]


def taken_out(outcome: Outcome, key: str, scenario: str) -> set[int]:
    parts = (word.split(":") for word in outcome.fact(scenario, key).split())
    return {int(probe) for probe, _, rest in parts if rest}


def test_far_over_its_share_a_probe_is_sampled_and_its_weights_stay_true(outcome: Outcome) -> None:
    assert steps(outcome, "sampled")[0] == (1, RestraintStep.SAMPLED)
    row = outcome.counters("budget")[1]
    assert row.skipped > 1000
    assert row.fired + row.skipped == HITS + 1
    weights = int(outcome.fact("budget", "weights"))
    assert abs(HITS - weights) < HITS / 2, "of unfinished blocks alone the weights may be too much or too little"


def test_alternating_hits_are_sampled_fairly(outcome: Outcome) -> None:
    """One hit in 64 fires. If always the last hit of 64 fired, one of the two keys would get all firings."""
    counts = dict(outcome.map("turns", 0, MapKind.COUNT, 1).entries)
    shares = [count.n / TURNS for count in counts.values() if isinstance(count, Count)]
    assert set(counts) == {("even",), ("odd",)}
    assert all(0.4 < share < 0.6 for share in shares)


def test_when_it_is_calm_the_probe_comes_back_step_by_step(outcome: Outcome) -> None:
    calm = steps(outcome, "calm")
    assert {probe for probe, _ in calm} == {1}
    assert [step for _, step in calm[:-1]] == [RestraintStep.SAMPLED] * (len(calm) - 1)
    assert calm[-1] == (1, RestraintStep.FREE)
    assert len(calm) > 2
    assert outcome.fact("budget", "free") == "1"


def test_a_probe_that_prints_prints_less_first(outcome: Outcome) -> None:
    result = steps(outcome, "prints")
    assert result[0] == (2, RestraintStep.PRINTS_LESS)
    assert (2, RestraintStep.SAMPLED) in result
    row = outcome.counters("budget")[2]
    assert row.produced == row.fired
    assert row.dropped_budget == 0, "fewer than may still be made"


def test_only_a_command_enables_a_probe_disabled_by_command(outcome: Outcome) -> None:
    assert outcome.fact("budget", "left-alone") == "false"
    assert steps(outcome, "off") == []
    assert outcome.counters("budget")[2].state is ProbeState.OFF


def test_a_probe_that_cannot_be_afforded_is_disabled_and_tried_again(outcome: Outcome) -> None:
    assert steps(outcome, "too-many")[-1] == (3, RestraintStep.DISABLED)
    assert outcome.fact("budget", "disabled") == "false"
    first, second = (int(outcome.fact("budget", f"{when}-trial")) for when in ("first", "second"))
    assert 5 * SECOND <= first < 60 * SECOND
    assert second == min(2 * first, 60 * SECOND)


def test_the_extra_allowance_of_the_start_ends(outcome: Outcome) -> None:
    assert steps(outcome, "first", "allowance") == []
    assert steps(outcome, "later", "allowance")[0] == (1, RestraintStep.SAMPLED)


def test_a_sudden_burst_is_restrained_before_the_next_round_of_the_budget(outcome: Outcome) -> None:
    """The allowance is 5.5 ms and a firing takes 10 us, so about 550 hits fire, then one in 64. The other probe costs
    nearly nothing.
    """
    assert outcome.fact("at-once", "before") == ""
    firings = int(outcome.fact("at-once", "fired"))
    assert 500 < firings < 2_000
    assert 40_000 < int(outcome.fact("at-once", "weights")) < 60_000
    assert steps(outcome, "after", "at-once") == [(1, RestraintStep.SAMPLED)]
    row = outcome.counters("at-once")
    assert row[1].fired + row[1].skipped == 50_021 + 64
    assert (row[2].fired, row[2].skipped) == (64 + 5, 0)


def test_firings_as_cheap_as_skipped_hits_are_not_sampled(outcome: Outcome) -> None:
    assert steps(outcome, "within", "cheap") == []
    assert steps(outcome, "hardly-over", "cheap") == []
    assert outcome.counters("cheap")[1].skipped == 0


def test_a_probe_that_cannot_take_less_does_not_protect_the_others(outcome: Outcome) -> None:
    beside = steps(outcome, "beside", "cheap")
    assert (2, RestraintStep.SAMPLED) in beside
    assert {probe for probe, _ in beside} == {2}


def test_a_cheap_probe_far_over_its_share_is_taken_out(outcome: Outcome) -> None:
    """The probe has 250,000 hits in 50 ms. Even if the probe is disabled, each hit checks for that, and these checks
    cost more than its share and a hundredth of a core.
    """
    assert (1, RestraintStep.DISABLED) in steps(outcome, "over", "cheap")
    assert (1, RestraintStep.SAMPLED) not in steps(outcome, "over", "cheap")
    assert taken_out(outcome, "over", "cheap") == {1}
    assert taken_out(outcome, "too-many", "budget") == set()


def test_the_cost_of_rare_firings_does_not_restrain_frequent_ones(outcome: Outcome) -> None:
    """20,011 firings of 100 ns take 2 ms of the allowance of 5.5 ms. At 50 us each they would take a second."""
    assert outcome.fact("learnt", "hot") == ""
    row = outcome.counters("learnt")[1]
    assert (row.fired, row.skipped) == (64 * 4 + 20_011, 0)


def test_a_smaller_part_of_many_firings_is_timed_before_the_next_round(outcome: Outcome) -> None:
    assert 200 < int(outcome.fact("learnt", "timed")) < 400


def test_firings_on_fast_paths_are_restrained_at_once_too(outcome: Outcome) -> None:
    assert outcome.fact("fast-paths-restrained", "before") == ""
    for probe, map_, keys in ((1, 0, 0), (2, 1, 1)):
        row = outcome.counters("fast-paths-restrained")[probe]
        assert row.fired + row.skipped == 64 + SHORT
        assert row.fired < 64 + 2 * SHORT / 64
        content = outcome.map("fast-paths-restrained", map_, MapKind.COUNT, keys)
        ((_, count),) = content.entries
        assert isinstance(count, Count)
        if keys:
            assert content.skips is not None
            assert content.skips.skipped == row.skipped
            interval = intervals(count)[""]
            assert interval.low is not None
            assert interval.high is not None
            assert interval.low <= 64 + SHORT <= interval.high
        else:  # skipped hits are counted exactly
            assert (count.n, content.skips) == (64 + SHORT, None)


def test_hits_of_threads_without_a_stripe_of_their_own(outcome: Outcome) -> None:
    assert outcome.fact("unowned", "lent") == "true"
    row = outcome.counters("unowned")[1]
    assert row.fired + row.skipped == SHORT + 1
    assert SHORT / 20 < row.fired < SHORT / 12
    assert abs(SHORT - int(outcome.fact("unowned", "weights"))) < 16


def test_predicates_of_skipped_hits_are_not_tested(outcome: Outcome) -> None:
    assert SHORT / 20 < int(outcome.fact("unowned", "tested")) < SHORT / 12


def test_hits_of_blocks_that_are_never_finished_are_represented_on_average(outcome: Outcome) -> None:
    """Each round has 41 hits of a block of 64, so it has a firing with the probability 41/64. There are ten thousand
    rounds.
    """
    row = outcome.counters("unfinished")[1]
    assert row.fired + row.skipped == 410_000
    six_sigma = 6 * 64 * (10_000 * 41 / 64 * 23 / 64) ** 0.5
    assert abs(int(outcome.fact("unfinished", "weights")) - 410_000) < six_sigma


def test_no_hit_is_forgotten_where_many_threads_count_in_one_place(outcome: Outcome) -> None:
    """Hits may come after the end of a block, before a thread opens the next block. The hit that opens it represents
    these hits.
    """
    hits = int(outcome.fact("crowded", "hits"))
    assert abs(int(outcome.fact("crowded", "weights")) - hits) <= 2 * 64
    assert int(outcome.fact("crowded", "sampler-hits")) == hits
    assert int(outcome.fact("crowded", "sampled")) + int(outcome.fact("crowded", "pending")) == hits


def test_a_probe_that_prints_and_restrains_itself_prints_less_if_that_is_enough(outcome: Outcome) -> None:
    """At first few hits of the probe fire, so only the next round of the budget sees its full rate."""
    assert outcome.fact("prints-at-once", "first") == ""
    assert steps(outcome, "then", "prints-at-once") == [(1, RestraintStep.PRINTS_LESS)]
    row = outcome.counters("prints-at-once")[1]
    assert row.fired + row.skipped == 64 + 200 + 5
    assert row.skipped > 50
