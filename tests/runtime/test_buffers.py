"""Every lost record is counted."""

from __future__ import annotations

from collections import Counter, defaultdict

from tests.runtime.harness import Outcome

WRITERS = 8
EACH = 40_000


def test_delivered_and_dropped_are_all_that_was_produced(outcome: Outcome) -> None:
    assert outcome.fact("overflow", "drainer") == "null"
    delivered = Counter(record.probe for record in outcome.records("overflow"))
    counters = outcome.counters("overflow")
    for writer in range(WRITERS):
        row = counters[writer]
        assert row.produced == EACH
        assert row.produced == delivered[writer] + row.dropped_full
        assert (row.dropped_large, row.dropped_stalled) == (0, 0)
    assert sum(row.dropped_full for row in counters.values()) > 0


def test_records_are_whole_and_come_once(outcome: Outcome) -> None:
    numbers_by_writer: dict[int, list[int]] = defaultdict(list)
    count = 0
    for record in outcome.records("overflow"):
        index, complement = record.values
        assert isinstance(index, int)
        assert complement == ~index
        assert record.thread in (f"writer-{record.probe}", "")  # full buffers may have dropped the record with the name
        count += record.thread != ""
        numbers_by_writer[record.probe].append(index)
    assert count > 0
    for indices in numbers_by_writer.values():
        assert len(set(indices)) == len(indices)


def test_stuck_writer_is_given_up_and_counted(outcome: Outcome) -> None:
    assert outcome.fact("stuck", "claimed") == "true"
    assert outcome.fact("stuck", "late") == "true"
    numbers = Counter(record.values for record in outcome.records("stuck"))
    assert {values: numbers[values] for values in ((1,), (2,), (3,), (4,))} == {(1,): 1, (2,): 1, (3,): 1, (4,): 1}
    counters = outcome.counters("stuck")
    assert counters[1].produced == 5004
    assert numbers[(5,)] == 5000
    assert (counters[2].produced, counters[2].dropped_stalled) == (1, 1)
    unknown = counters[0xFFFFFFFF]
    assert (unknown.produced, unknown.dropped_stalled) == (1, 1)


def test_requests_keep_their_place(outcome: Outcome) -> None:
    assert outcome.fact("requests", "order") == "enm7,0,-1,0;ex8,42,3,5;e"


def test_exit_gets_through_full_buffers(outcome: Outcome) -> None:
    assert outcome.fact("requests", "late") == "9"


def test_threads_are_named_and_renamed(outcome: Outcome) -> None:
    results = [(record.values, record.thread, record.tid) for record in outcome.records("names")]
    tid = int(outcome.fact("names", "tid"))
    assert results == [((1,), "first", tid), ((2,), "first", tid), ((3,), "second", tid)]


def test_memory_does_not_grow_with_threads(outcome: Outcome) -> None:
    assert int(outcome.fact("threads", "grown")) < 256 << 10
    assert outcome.counters("threads")[1].produced == 200_000


def test_a_record_larger_than_its_destination_is_refused_and_stays(outcome: Outcome) -> None:
    size = (32 + 9001 * 9 + 1 + 7) & ~7
    assert outcome.fact("too-much", "record") == f"true {-size} {size}"
