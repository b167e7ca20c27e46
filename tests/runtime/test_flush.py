"""A flush takes every sample once, with any interleaving of the writers."""

from __future__ import annotations

from collections import Counter

from btpy.events.aggregates import Aggregate, Count, Histogram, Stats, Total, merge
from btpy.events.records import Value
from btpy.events.sketches import Top
from btpy.model.maps import MapKind, Most
from tests.runtime.harness import Outcome

WRITERS, ROUNDS, KEYS = 8, 30_011, 13
OF_KEY = Counter(i % KEYS for i in range(ROUNDS))


def flushed(outcome: Outcome, id_: int, kind: MapKind, keys: int = 1) -> dict[object, Aggregate | Value]:
    """All flushes together."""
    flushes = int(outcome.fact("flush", "flushes"))
    assert flushes > 3
    contents = [outcome.map("flush", id_, kind, keys, parameters=Most(5), flush=at) for at in range(flushes)]
    assert not any(content.full or content.omitted for content in contents)
    assert sum(bool(content.entries) for content in contents) > 2
    return {key[0] if key else None: value for key, value in merge(contents).entries}


def test_counts(outcome: Outcome) -> None:
    assert flushed(outcome, 0, MapKind.COUNT) == {key: Count(WRITERS * n) for key, n in OF_KEY.items()}


def test_sums(outcome: Outcome) -> None:
    sums = {key: WRITERS * sum(range(key, ROUNDS, KEYS)) for key in range(KEYS)}
    assert flushed(outcome, 1, MapKind.SUM) == {
        key: Total(WRITERS * OF_KEY[key], sums[key], 0.0) for key in range(KEYS)
    }


def test_histograms(outcome: Outcome) -> None:
    for key, value in flushed(outcome, 2, MapKind.HIST).items():
        assert isinstance(value, Histogram)
        assert isinstance(key, int)
        assert value.n == WRITERS * OF_KEY[key]
        assert value.total == WRITERS * sum(range(key, ROUNDS, KEYS))
        assert (value.least, value.greatest) == (key, max(range(key, ROUNDS, KEYS)))


def test_a_map_without_keys(outcome: Outcome) -> None:
    (value,) = flushed(outcome, 5, MapKind.STATS, 0).values()
    assert value == Stats(WRITERS * ROUNDS, WRITERS * sum(range(ROUNDS)), 0.0, 0, ROUNDS - 1)


def test_plain_values_add_up(outcome: Outcome) -> None:
    flushes = int(outcome.fact("flush", "flushes"))
    sums: Counter[object] = Counter()
    for at in range(flushes):
        for (key,), value in outcome.map("flush", 3, MapKind.VALUE, 1, flush=at).entries:
            assert isinstance(value, int)
            sums[key] += value
    assert sums == {key: WRITERS * n for key, n in OF_KEY.items()}


def test_the_most_frequent(outcome: Outcome) -> None:
    (value,) = flushed(outcome, 4, MapKind.TOPK).values()
    assert isinstance(value, Top)
    assert value.n == WRITERS * ROUNDS
    counts = {frequent.value: (frequent.count, frequent.error) for frequent in value.values}
    assert counts == {key: (WRITERS * n, 0) for key, n in OF_KEY.items()}


def test_probes_that_only_count(outcome: Outcome) -> None:
    flushes = int(outcome.fact("tallies", "flushes"))
    assert flushes > 3
    contents = [outcome.map("tallies", 0, MapKind.COUNT, flush=at) for at in range(flushes)]
    assert sum(bool(content.entries) for content in contents) > 2
    counters = outcome.counters("tallies")
    assert counters[1].fired == WRITERS * ROUNDS
    assert 0 < counters[2].fired <= WRITERS * ROUNDS
    assert merge(contents).entries == (((), Count(counters[1].fired + counters[2].fired)),)


def test_probes_that_only_add(outcome: Outcome) -> None:
    flushes = int(outcome.fact("additions", "flushes"))
    assert flushes > 3
    kinds = {0: (MapKind.HIST, 0), 1: (MapKind.COUNT, 1), 2: (MapKind.STATS, 1)}
    results = {}
    for map_, (kind, keys) in kinds.items():
        contents = [outcome.map("additions", map_, kind, keys, flush=at) for at in range(flushes)]
        assert sum(bool(content.entries) for content in contents) > 2
        assert not any(content.full for content in contents)
        results[map_] = dict(merge(contents).entries)
    counters = outcome.counters("additions")
    (histogram,) = results[0].values()
    assert isinstance(histogram, Histogram)
    assert (histogram.n, histogram.total) == (WRITERS * ROUNDS, WRITERS * sum(range(ROUNDS)))
    assert (histogram.least, histogram.greatest) == (0, ROUNDS - 1)
    assert counters[1].fired == counters[3].fired == WRITERS * ROUNDS
    assert 0 < counters[2].fired <= WRITERS * ROUNDS
    counts = [value.n for value in results[1].values() if isinstance(value, Count)]
    assert (len(counts), sum(counts)) == (KEYS, counters[2].fired)
    assert results[2] == {
        (f"key{key}",): Stats(
            WRITERS * n, WRITERS * sum(range(key, ROUNDS, KEYS)), 0.0, key, max(range(key, ROUNDS, KEYS))
        )
        for key, n in OF_KEY.items()
    }


def test_clearing_while_probes_add(outcome: Outcome) -> None:
    for turn in range(3):
        assert outcome.fact("cleared-additions", f"before-{turn}") == "true 1"
        assert outcome.fact("cleared-additions", f"after-{turn}") == "false 0"
    ((_, histogram),) = outcome.map("cleared-additions", 0, MapKind.HIST).entries
    assert isinstance(histogram, Histogram)
    assert (histogram.n, histogram.total, histogram.least, histogram.greatest) == (13, 13 * 7, 7, 7)
    assert outcome.counters("cleared-additions")[1].fired == 3 * 101 + 14


def test_clearing_while_probes_count(outcome: Outcome) -> None:
    for turn in range(3):
        assert outcome.fact("cleared-tallies", f"before-{turn}") == "101 true 1"
        assert outcome.fact("cleared-tallies", f"after-{turn}") == "null false 0"
    assert outcome.map("cleared-tallies", 0, MapKind.COUNT).entries == (((), Count(13)),)
    assert outcome.counters("cleared-tallies")[1].fired == 3 * 101 + 13


def test_flushed_keys_are_forgotten(outcome: Outcome) -> None:
    for flush in range(4):
        assert outcome.fact("flushed-keys", f"size-{flush}") == "0 false"
    content = outcome.map("flushed-keys", 0, MapKind.COUNT, 1)
    assert content.full == 0
    assert content.entries == (((-1,), Count(1)),), "a writer that was under way is not lost"


def test_keys_without_room_in_a_message_stay_for_the_next(outcome: Outcome) -> None:
    first = outcome.map("too-much", 1, MapKind.COUNT, 1, flush=0)
    second = outcome.map("too-much", 1, MapKind.COUNT, 1, flush=1)
    assert first.omitted > 0
    assert first.omitted == len(second.entries)
    assert second.omitted == 0
    assert dict(merge([first, second]).entries) == {(key,): Count(1) for key in range(1009)}


def test_a_map_does_not_take_all_memory(outcome: Outcome) -> None:
    assert outcome.fact("too-much", "refused") == "true"


def test_cells_of_single_threads_leave_room_for_keys(outcome: Outcome) -> None:
    """With separate cells for each thread these keys would take more memory than a map may."""
    assert outcome.fact("too-much", "owner") == "60013 60013"
