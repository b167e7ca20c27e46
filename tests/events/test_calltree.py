"""Call trees from calls that are reported one by one."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from btpy.events.call_tasks import with_tasks
from btpy.events.calltree import MAX_PENDING, MAX_THREADS, MOST_LATE, Call, CallTrees, MergedTrees, slowest
from btpy.events.requests import Run

Plan = tuple[str, list["Plan"]]  # a method, and the calls inside of it

plans: st.SearchStrategy[Plan] = st.recursive(
    st.tuples(st.sampled_from("ab"), st.just([])),
    lambda below: st.tuples(st.sampled_from("ab"), st.lists(below, max_size=4)),
    max_leaves=30,
)


def happened(plan: Plan, caller: str, clock: list[int], step: int, late: int, told: list[Call]) -> Call:
    """Runs a plan on a clock of ns: each step takes ``step``; a call is reported ``late`` ns after its end."""
    name, below = plan
    clock[0] += step
    begin = clock[0]
    children = tuple(happened(child, name, clock, step, late, told) for child in below)
    clock[0] += step
    took = clock[0] - begin
    clock[0] += late
    call = Call("C", name, 7, clock[0], took, caller=("C", caller))
    told.append(call)
    return replace(call, children=children)


def check(plan: Plan, step: int, late: int) -> None:
    calls: list[Call] = []
    root = happened(plan, "main", [1000], step, late, calls)
    trees = CallTrees()
    for call in calls[:-1]:
        trees.ended(1, call)
    assert trees.root(1, calls[-1]) == root
    assert trees.root(1, calls[-1]).children == ()


@given(plans, st.integers(0, MOST_LATE))
def test_calls_are_assembled_into_their_tree(plan: Plan, late: int) -> None:
    """Random calls, each of which takes longer than its report."""
    check(plan, MOST_LATE + 1, late)


def numbered(plan: Plan, path: str = "") -> Plan:
    """The same plan with a different name for every call."""
    return path + plan[0], [numbered(child, f"{path}{plan[0]}{at}") for at, child in enumerate(plan[1])]


@given(plans, st.integers(0, 1000))
def test_calls_that_are_shorter_than_telling_them(plan: Plan, late: int) -> None:
    """Without recursion."""
    check(numbered(plan), 1, late)


def test_first_children_are_found_by_their_caller() -> None:
    """The root was reported so late that the first call seems to have ended before the root began."""
    trees = CallTrees()
    first = Call("D", "find", 3, end=100, took=5, caller=("C", "quote"))
    trees.ended(1, first)
    root = trees.root(1, Call("C", "quote", 0, end=10_000, took=9_000))
    assert root.children == (first,)


def test_threads_do_not_mix() -> None:
    trees = CallTrees()
    trees.ended(1, Call("D", "one", 1, 50, 5))
    trees.ended(2, Call("D", "two", 1, 51, 5))
    assert [child.name for child in trees.root(2, Call("C", "root", 0, 60, 60)).children] == ["two"]
    assert [child.name for child in trees.root(1, Call("C", "root", 0, 61, 61)).children] == ["one"]


def test_a_thread_that_never_ends_its_root_takes_bounded_memory() -> None:
    trees = CallTrees()
    for at in range(3 * MAX_PENDING):
        trees.ended(1, Call("D", "loop", 1, 10 * at, 1))
    assert len(trees.root(1, Call("C", "root", 0, 10**9, 10**9)).children) <= MAX_PENDING


def test_the_calls_of_a_task_are_those_of_its_thread_at_its_time() -> None:
    """The last run of the task ended after the root call, which already had its result."""
    trees = CallTrees()
    for thread, end in ((2, 1_000_000), (2, 5_000_000), (2, 9_000_000), (3, 5_000_000)):
        trees.ended(thread, Call("D", f"t{thread}", 1, end, 900_000))
    trees.ended(1, Call("D", "submit", 34, 4_000_000, 2_000_000))  # its record came late
    root = trees.root(1, Call("C", "root", 0, 10_000_000, 8_000_000, tid=1))
    runs = [Run(1, 0, 2, "pool-1", 2_100_000, 3_900_000, 5_100_000, False)]
    runs.append(Run(2, 0, 2, "pool-1", 2_200_000, 7_900_000, 10_000_000, True))
    runs.append(Run(3, 2, 4, "pool-2", 8_200_000, 8_300_000, 8_400_000, False))
    first, second = with_tasks(root, "main", runs, trees).tasks
    assert (first.line, [task.name for task in second.tasks]) == (34, ["pool-2"])
    assert [[call.end for call in task.children] for task in (first, second)] == [[5_000_000], [9_000_000]]
    assert (first.waited, second.waited, first.cut, second.cut) == (1_800_000, 5_700_000, False, True)
    assert (first.critical, second.critical) == (3_000_000, 3_700_000)  # also 200 us in the task of pool-2
    assert [call.end for call in trees.root(2, Call("C", "x", 0, 9_500_000, 9_400_000)).children] == [1_000_000]
    assert [call.name for call in trees.root(3, Call("C", "x", 0, 9_500_000, 9_400_000)).children] == ["t3"]


def test_calls_of_many_threads_take_bounded_memory() -> None:
    trees = CallTrees()
    for thread in range(2 * MAX_THREADS):
        trees.ended(thread, Call("D", "once", 1, 10, 1))
    kept = [thread for thread in range(2 * MAX_THREADS) if trees.between(thread, 0, 10)]
    assert kept == list(range(MAX_THREADS, 2 * MAX_THREADS))


def test_calls_of_a_root_method_are_one_tree() -> None:
    leaf = Call("E", "leaf", 9, 5, 2)
    first = Call(
        "C", "root", 0, 30, 30, children=(Call("D", "a", 1, 10, 4, children=(leaf,)), Call("D", "b", 2, 20, 5))
    )
    second = Call("C", "root", 0, 60, 20, children=(Call("D", "a", 1, 50, 6, "X"), Call("D", "a", 1, 55, 8)))
    trees = MergedTrees()
    trees.add(first)
    trees.add(Call("C", "other", 0, 90, 7))
    trees.add(second)
    root, other = trees.roots
    assert (root.name, root.times, root.took, root.base, root.own) == ("root", 2, 50, 50, 21 + 6)
    assert (other.name, other.times, other.took, other.base) == ("other", 1, 7, 0)
    a, b = root.children.values()
    assert (a.name, a.times, a.took, a.failed, a.percentile(50), a.percentile(99)) == ("a", 3, 18, {"X": 1}, 6, 8)
    assert (b.name, b.times) == ("b", 1)
    assert [(calls.name, calls.times) for calls in a.children.values()] == [("leaf", 1)]
    assert (a.base, a.own) == (18, 2 + 6 + 8)


def test_calls_that_are_timed_later_have_no_greater_share_than_the_method_around_them() -> None:
    trees = MergedTrees()
    trees.add(Call("C", "root", 0, 100, 100, children=(Call("D", "a", 1, 60, 50),)))
    trees.add(
        Call("C", "root", 0, 200, 10, children=(Call("D", "a", 1, 199, 8, children=(Call("E", "b", 2, 198, 7),)),))
    )
    (root,) = trees.roots
    (a,) = root.children.values()
    of_root = root.share(a.took)
    slow = slowest(trees.roots, lambda calls: calls is not a, 0.0, 2)
    assert slow is not None
    assert (slow.calls.name, of_root, slow.share) == ("b", 58 / 110, 58 / 110 * 7 / 8)


def test_the_slowest_that_is_open_is_looked_into() -> None:
    trees = MergedTrees()
    below = (Call("D", "a", 1, 70, 60, children=(Call("E", "b", 2, 69, 55),)), Call("D", "c", 3, 90, 20))
    trees.add(Call("C", "root", 0, 100, 100, children=below))

    def named(names: str, depth: int = 9, least: float = 0.1) -> str:
        slow = slowest(trees.roots, lambda calls: calls.name not in names, least, depth)
        return slow.calls.name if slow is not None else ""

    assert [named(""), named("a"), named("ab"), named("abc")] == ["a", "b", "c", ""]
    assert named("a", depth=1) == "c"
    assert named("ab", least=0.3) == ""
