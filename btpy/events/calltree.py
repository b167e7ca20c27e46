"""Combines single timed calls into trees.

The record of a call comes when it ends. The record has the thread of the call, its caller, the time of its end and its
duration. The records of a thread are in the order in which its calls end, and inner calls end before the outer call. So
the children of a call that ends are the calls of its thread that ended after its beginning:

    told:   find ──┐  tariff ──┐  quote ──────────────┐        quote
            18…20     21…24       17…25                        ├─ find
                                                               └─ tariff

btpy computes the beginning of a call as its end minus its duration. The result is late by the time needed for the
record. So no earlier sibling seems to end after the beginning, but the first children may seem to end before it. btpy
recognises these children by their caller, which is the method of the call. This fails if the method is also the caller
of the outer call. (If methods call each other recursively, btpy may assign a short call to the inner one of two calls.)

Calls on other threads, in tasks that a root call handed over, wait until the root call ends. The runs of the tasks say
when each thread worked for the root call.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace
from typing import Final, NamedTuple

from btpy.dataclass import dataclass
from btpy.events.request_tree import pool_of

MAX_PENDING: Final = 20_000
"""The largest number of finished calls of a thread whose caller has not finished. If there are more, the oldest are
discarded."""

MAX_THREADS: Final = 1000
"""The largest number of threads with these calls. If there are more, the calls of the thread that came first are
discarded.
"""

MAX_DEPTH: Final = 60
"""The largest depth of a tree of calls. A method that calls itself may go deeper; btpy leaves the inner calls out."""

MAX_DURATIONS: Final = 10_000
"""The number of latest durations at one place from which percentiles are computed."""

MOST_LATE: Final = 100_000_000
"""ns that the record of a call may take. On a busy machine the thread may have to wait in between."""


@dataclass(frozen=True, slots=True)
class Call:
    """A finished call. ``name``: the called method, ``owner``: its class (binary name); ``line``: the line of the
    calling place, 0 if it is not known; ``caller``: class and method of the calling place; ``end`` and ``took`` in ns;
    ``failed``: the class of the exception that it threw. ``tasks``: what other threads did for a root call.

    A task is a call without a class: ``name`` is the thread of the task, and ``line`` the line that handed the task
    over. ``waited``: the ns until a thread began it; ``critical``: the ns that the critical path of the root call
    spends in the task or its wait; ``cut``: the task had not ended when the root call ended.
    """

    owner: str
    name: str
    line: int
    end: int
    took: int
    failed: str = ""
    caller: tuple[str, str] = ("", "")
    children: tuple[Call, ...] = ()
    tasks: tuple[Call, ...] = ()
    tid: int = 0
    waited: int = 0
    critical: int = 0
    cut: bool = False

    @property
    def begin(self) -> int:
        return self.end - self.took

    @property
    def own(self) -> int:
        """The ns outside of the timed children."""
        return max(0, self.took - sum(child.took for child in self.children))

    def walk(self) -> Iterator[Call]:
        """This call and all calls below it, the outer calls first."""
        yield self
        for child in self.children:
            yield from child.walk()


class CallTrees:
    """Calls of several threads, in the order of their ends for each thread. ``too_deep``: the number of calls that are
    not in their tree, because it would be too deep."""

    def __init__(self) -> None:
        self.too_deep = 0
        self._pending: dict[int, list[Call]] = {}

    def ended(self, thread: int, call: Call) -> None:
        """Adds a call that may be part of another call."""
        if thread not in self._pending and len(self._pending) >= MAX_THREADS:
            del self._pending[next(iter(self._pending))]
        calls = self._pending.setdefault(thread, [])
        calls.append(self._with_children(calls, call))
        if len(calls) > MAX_PENDING:
            del calls[: MAX_PENDING // 2]

    def root(self, thread: int, call: Call) -> Call:
        """Adds an outermost call, and returns its tree. Earlier pending calls of the thread are discarded."""
        return self._cut(self._with_children(self._pending.pop(thread, []), call), MAX_DEPTH)

    def between(self, thread: int, start: int, end: int) -> tuple[Call, ...]:
        """Takes out the calls that a task made on a thread."""
        pending = self._pending.get(thread, [])
        calls = [call for call in pending if start <= call.begin <= end]
        taken = {id(call) for call in calls}
        pending[:] = [call for call in pending if id(call) not in taken]
        if not pending:
            self._pending.pop(thread, None)
        return tuple(self._cut(call, MAX_DEPTH) for call in calls)

    def _cut(self, call: Call, depth: int) -> Call:
        """The call with the calls in it, down to this depth."""
        if not call.children:
            return call
        if depth == 0:
            self.too_deep += _number_of(call.children)
            return replace(call, children=())
        return replace(call, children=tuple(self._cut(child, depth - 1) for child in call.children))

    @staticmethod
    def _with_children(calls: list[Call], call: Call) -> Call:
        """Removes the children of a call from the pending calls."""
        first = len(calls)
        while first and _is_within(calls[first - 1], call):
            first -= 1
        children = tuple(calls[first:])
        del calls[first:]
        return replace(call, children=children)


def _number_of(calls: Iterable[Call]) -> int:
    """These calls, and all inside of them. They may be nested too deeply for a recursive function."""
    number, rest = 0, list(calls)
    while rest:
        number += 1
        rest += rest.pop().children
    return number


def _is_within(earlier: Call, call: Call) -> bool:
    if earlier.end > call.begin:
        return True
    told_late = earlier.end > call.begin - MOST_LATE
    return told_late and earlier.caller[1] == call.name and earlier.caller != call.caller


@dataclass(slots=True)
class MergedCalls:
    """The calls of one method at one place, in all trees of a root method.

    ``line``: the line of the calling place, 0 for a root. ``durations``: the durations of the latest calls, in ns.
    ``failed``: the number of calls that threw, by the class of the exception. ``children``: the calls inside these
    calls. ``base``: the time in ns of the calls that ended after btpy began to time children. ``own``: the part of
    ``base`` outside of the children. ``tasks``: the tasks of these calls, by the pool of their threads (the ``name`` of
    a task) and the line that hands them over. ``waits``: how long the latest tasks waited for a thread, in ns;
    ``critical``: the time of the critical path in these tasks.
    """

    owner: str
    name: str
    line: int
    times: int = 0
    took: int = 0
    durations: deque[int] = field(default_factory=lambda: deque(maxlen=MAX_DURATIONS))
    failed: Counter[str] = field(default_factory=Counter)
    children: dict[tuple[str, str, int], MergedCalls] = field(default_factory=dict)
    base: int = 0
    own: int = 0
    tasks: dict[tuple[str, int], MergedCalls] = field(default_factory=dict)
    waits: deque[int] = field(default_factory=lambda: deque(maxlen=MAX_DURATIONS))
    critical: int = 0

    def add(self, call: Call) -> None:
        self.times += 1
        self.took += call.took
        self.durations.append(call.took)
        if call.failed:
            self.failed[call.failed] += 1
        if call.children or self.children:
            self.base += call.took
            self.own += call.own
        for child in call.children:
            key = child.owner, child.name, child.line
            if key not in self.children:
                self.children[key] = MergedCalls(child.owner, child.name, child.line)
            self.children[key].add(child)
        for task in call.tasks:
            pool = pool_of(task.name)
            self.tasks.setdefault((pool, task.line), MergedCalls("", pool, task.line)).add(task)
        if not call.owner:
            self.waits.append(call.waited)
            self.critical += call.critical

    def percentile(self, percent: int) -> int:
        """The smallest duration that is at least as long as ``percent`` of the latest durations."""
        return percentile(self.durations, percent)

    def share(self, took: int) -> float:
        """``took`` ns as a share of the time of these calls, counted from when btpy began to time their children."""
        return took / self.base if self.base else 0.0


def percentile(values: Iterable[int], percent: int) -> int:
    ordered = sorted(values)
    return ordered[max(0, -(-percent * len(ordered) // 100) - 1)]


class MergedTrees:
    """One tree for each root method, merged over its calls."""

    def __init__(self) -> None:
        self._roots: dict[tuple[str, str], MergedCalls] = {}

    @property
    def roots(self) -> list[MergedCalls]:
        """The root methods, the slowest first."""
        return sorted(self._roots.values(), key=lambda root: root.took, reverse=True)

    def add(self, call: Call) -> None:
        key = call.owner, call.name
        root = self._roots.setdefault(key, MergedCalls(call.owner, call.name, 0))
        root.add(call)


class Slow(NamedTuple):
    """Calls that take a large part of the trees of a root method: ``share``: their part of the total time."""

    root: MergedCalls
    calls: MergedCalls
    share: float


def slowest(
    roots: Iterable[MergedCalls], is_open: Callable[[MergedCalls], bool], least: float, depth: int
) -> Slow | None:
    """The calls that took most time in all trees. Only calls for which ``is_open`` is true count.

    ``least``: the smallest share of the root; ``depth``: the largest depth, where the calls of the root have depth 1.
    """
    slow = [
        Slow(root, calls, share)
        for root in roots
        for calls, share in _down_to(root, depth)
        if share >= least and is_open(calls)
    ]
    return max(slow, key=lambda slow: slow.share * slow.root.took, default=None)


def _down_to(root: MergedCalls, depth: int) -> Iterator[tuple[MergedCalls, float]]:
    """Calls and their share of the root, level by level."""
    level = [(root, 1.0)]
    for _ in range(depth):
        level = [below for calls, of_root in level for below in _below(calls, of_root)]
        yield from level


def _below(calls: MergedCalls, of_root: float) -> Iterator[tuple[MergedCalls, float]]:
    """The calls in these calls and in their tasks."""
    for child in calls.children.values():
        yield child, of_root * calls.share(child.took)
    for task in calls.tasks.values():
        yield from _below(task, of_root * task.took / max(calls.took, 1))
