"""The tree of a request, from what the scripts report, without a JVM. Times are in ms."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from btpy.events.request_tree import Node, nodes_of, tree_of
from btpy.events.requests import Blocked, Part, Request, Run

MS = 1_000_000
LEAST = 1 * MS
REQUESTS, POOL, OTHER = 11, 12, 13
"""Ids of threads."""
THREADS = {REQUESTS: "http-1", POOL: "pool-1-thread-2", OTHER: "other-3"}


def part(start: int, end: int, what: str = "SELECT 1", *, tid: int = REQUESTS, kind: str = "sql") -> Part:
    return Part(kind, what, "Orders.find:7", "", tid, THREADS[tid], start * MS, end * MS)


def run(number: int, handed: float, began: float, end: float, *, by: int = 0, tid: int = POOL) -> Run:
    handed_at, began_at, ended_at = (round(time * MS) for time in (handed, began, end))
    return Run(number, by, tid, THREADS[tid], handed_at, began_at, ended_at, running=False)


def tree(*events: Part | Run | Blocked, end: int = 100) -> Node:
    parts = tuple(event for event in events if isinstance(event, Part))
    runs = tuple(event for event in events if isinstance(event, Run))
    blocked = tuple(event for event in events if isinstance(event, Blocked))
    request = Request(1, "GET /", "200", REQUESTS, "http-1", 0, end * MS, parts, runs, blocked)
    return tree_of(request, LEAST)


def shape(node: Node) -> object:
    """The kind, start and end of a node, and its children."""
    summary = node.kind, node.start // MS, node.end // MS
    return (*summary, [shape(child) for child in node.children]) if node.children else summary


def test_parts_of_a_thread_are_inside_of_each_other_by_their_times() -> None:
    root = tree(part(10, 50, kind="pool"), part(20, 40, kind="lock"), part(60, 70))
    assert shape(root) == ("request", 0, 100, [("pool", 10, 50, [("lock", 20, 40)]), ("sql", 60, 70)])
    assert root.itself == 50 * MS


def test_what_a_thread_did_belongs_to_the_task_that_it_ran() -> None:
    root = tree(run(1, 5, 25, 65), part(30, 40, tid=POOL), run(2, 41, 45, 55, by=1, tid=OTHER))
    assert shape(root) == ("request", 0, 100, [("task", 25, 65, [("sql", 30, 40), ("task", 45, 55)])])
    (task,) = root.children
    assert (task.waited, task.itself, root.itself) == (20 * MS, 16 * MS, 40 * MS)


def test_a_task_inside_of_another_on_the_same_thread_is_not_shown_twice() -> None:
    root = tree(
        run(1, 5, 10, 50), run(2, 5, 11, 49), run(3, 20, 30, 80, by=2, tid=OTHER), run(4, 2, 3, 4, tid=REQUESTS)
    )
    assert shape(root) == ("request", 0, 100, [("task", 10, 50, [("task", 30, 80)])])


def test_a_target_may_say_that_tasks_hand_over_each_other() -> None:
    root = tree(run(1, 5, 10, 50, by=2), run(2, 5, 11, 49, by=1), run(3, 20, 30, 80, by=3, tid=OTHER))
    assert shape(root) == ("request", 0, 100, [("task", 10, 50), ("task", 30, 80)])


def test_what_goes_on_after_the_request_is_cut() -> None:
    root = tree(part(-20, 30), run(1, 60, 70, 130))
    assert shape(root) == ("request", 0, 100, [("sql", 0, 30), ("task", 70, 100)])
    assert [child.cut for child in root.children] == [True, True]
    assert root.itself == 30 * MS


def test_the_tasks_of_a_call_belong_to_it() -> None:
    """HttpClient starts tasks of its own during a call."""
    root = tree(part(10, 70, kind="http"), run(1, 20, 30, 50), run(2, 20, 68, 69, tid=OTHER))
    assert shape(root) == ("request", 0, 100, [("http", 10, 70)])


def test_a_call_that_another_thread_ended_contains_the_tasks_of_its_pool() -> None:
    root = tree(part(10, 70, kind="http", tid=POOL), run(1, 20, 30, 50), run(2, 20, 30, 50, tid=OTHER))
    assert shape(root) == ("request", 0, 100, [("http", 10, 70), ("task", 30, 50)])


def test_short_tasks_stand_together_if_they_waited_for_nothing_that_is_shown() -> None:
    root = tree(*(run(number, 10, 40 + number, 40.5 + number) for number in range(1, 8)))
    (tasks,) = root.children
    assert (tasks.kind, tasks.count, tasks.total, tasks.waited) == ("task", 7, 3_500_000, 37 * MS)
    assert tasks.thread == "pool-1-thread"
    assert tree(run(1, 10, 70.1, 70.2), part(10, 70)).children[0].kind == "sql"


def critical(root: Node) -> dict[str, int]:
    """The ms of the critical path, by the kind and the start of its parts."""
    return {f"{node.kind} {node.start // MS}": node.critical // MS for node, _ in nodes_of(root) if node.critical}


def test_the_critical_path_goes_through_the_task_that_ended_last() -> None:
    root = tree(run(1, 5, 10, 30), run(2, 5, 15, 80, tid=OTHER), part(20, 60, tid=OTHER), part(85, 95))
    assert critical(root) == {"request 0": 5 + 5 + 5, "task 15": 10 + 5 + 20, "sql 20": 40, "sql 85": 10}


def test_a_task_waits_for_the_task_that_its_thread_ran_before() -> None:
    root = tree(run(1, 5, 5, 40), run(2, 6, 41, 70), run(3, 6, 6, 60, tid=OTHER))
    assert critical(root) == {"request 0": 5 + 30, "task 5": 35, "task 41": 1 + 29}


def test_the_critical_path_leaves_out_what_ran_beside_it() -> None:
    """The last task was handed over while the first task still ran, and did not wait for it."""
    root = tree(run(1, 10, 10, 60, tid=OTHER), run(2, 40, 50, 100))
    assert critical(root) == {"request 0": 40, "task 50": 10 + 50}


def test_a_thread_that_was_idle_is_not_waited_for() -> None:
    """The thread had ended the first task long before the second one was handed over. The second task started late."""
    root = tree(run(1, 10, 10, 20), run(2, 40, 60, 100), run(3, 10, 10, 30, tid=OTHER))
    assert critical(root) == {"request 0": 10 + 10, "task 10": 20, "task 60": 20 + 40}


def test_the_critical_path_follows_a_chain_of_tasks_that_outlive_each_other() -> None:
    root = tree(run(1, 5, 10, 30), run(2, 25, 40, 90, by=1, tid=OTHER))
    assert critical(root) == {"request 0": 5 + 10, "task 10": 5 + 15, "task 40": 15 + 50}


def test_the_request_does_not_wait_for_a_task_that_goes_on() -> None:
    root = tree(run(1, 5, 10, 130), part(20, 60))
    assert critical(root) == {"request 0": 60, "sql 20": 40}


def test_the_request_waits_for_a_part_of_a_task_that_is_about_to_end() -> None:
    """The result of a task is available a moment before the task ends."""
    root = tree(run(1, 5, 10, 101), part(20, 99, tid=POOL))
    assert critical(root) == {"request 0": 1 + 5, "task 10": 10 + 5, "sql 20": 79}


@given(
    st.lists(
        st.builds(
            lambda kind, times, number, by, tid: (
                part(times[0], times[3], tid=tid) if kind else run(number, *times[:3], by=by % number, tid=tid)
            ),
            st.booleans(),
            st.lists(st.integers(0, 120), min_size=4, max_size=4, unique=True).map(sorted),
            st.integers(1, 9),
            st.integers(0, 8),
            st.sampled_from([REQUESTS, POOL, OTHER]),
        ),
        max_size=12,
    )
)
def test_the_critical_path_lasts_as_long_as_the_request(events: list[Part | Run]) -> None:
    root = tree(*events)
    assert sum(node.critical for node, _ in nodes_of(root)) == root.duration
    assert all(node.critical >= 0 for node, _ in nodes_of(root))


def test_equal_statements_stand_together() -> None:
    root = tree(*(part(at, at + 3) for at in range(10, 80, 10)), part(90, 95, "SELECT 2"))
    statements, other = root.children
    assert (statements.count, statements.total, statements.end) == (7, 21 * MS, 73 * MS)
    assert (other.count, other.what) == (1, "SELECT 2")
    assert root.itself == (100 - 21 - 5) * MS


def test_samples_of_a_blocked_thread_are_waits() -> None:
    def sample(at: int, waited: int, *, tid: int = REQUESTS) -> Blocked:
        return Blocked(at * MS, tid, "java.lang.Object", 3, "Orders.put:9", "holder", "", waited * MS, 20 * MS)

    root = tree(sample(20, 0), sample(40, 20), sample(60, 40), sample(90, 0), sample(50, 0, tid=OTHER))
    assert shape(root) == ("request", 0, 100, [("monitor", 10, 70), ("monitor", 80, 100)])
    assert all(child.about for child in root.children)
    assert root.children[0].what == "java.lang.Object, held by holder"
