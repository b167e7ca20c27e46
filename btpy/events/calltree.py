"""Calls that were timed one by one, put together as trees.

A call is known when it ends: by its thread, its caller, the time of its end and how long it took. Calls of a thread end
in the order in which they are told, and calls within a call end before it does. So a call that ends takes up, as its
children, the calls of its thread that ended after it had begun:

    told:   find ──┐  tariff ──┐  quote ──────────────┐        quote
            18…20     21…24       17…25                        ├─ find
                                                               └─ tariff

The beginning of a call, its end less its duration, is late by what telling it took: no sibling seems to end after it,
but the first children may seem to end before it. These are told by their caller, which is the method that the call is
of, unless the caller of the call itself is the same method. (Where methods call each other in turn, a short call may so
be put into the inner one of two.)
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass as mutable
from dataclasses import field, replace
from typing import NamedTuple

from btpy.frozen import dataclass

MAX_PENDING = 20_000
"""Calls of a thread that wait for the one that made them; of more the first are forgotten."""

MAX_DURATIONS = 10_000
"""Durations of the calls of one place that percentiles are of: the latest."""

MOST_LATE = 100_000_000
"""ns that telling a call may take: on a busy machine the thread may have to wait in the middle of it."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call that has ended. ``name``: what is called, ``owner`` of what class (binary name); ``line``: of the place
    that calls, 0 where it is not known; ``caller``: class and method that the place is in; ``end`` and ``took`` in ns;
    ``failed``: class of the exception that left it."""

    owner: str
    name: str
    line: int
    end: int
    took: int
    failed: str = ""
    caller: tuple[str, str] = ("", "")
    children: tuple[Call, ...] = ()

    @property
    def begin(self) -> int:
        return self.end - self.took

    @property
    def own(self) -> int:
        """ns outside of the children that were timed."""
        return max(0, self.took - sum(child.took for child in self.children))

    def walk(self) -> Iterator[Call]:
        """This call and all below it, the outer ones first."""
        yield self
        for child in self.children:
            yield from child.walk()


class CallTrees:
    """Calls of any number of threads, told in the order of their ends by thread."""

    def __init__(self) -> None:
        self._pending: dict[int, list[Call]] = {}

    def ended(self, thread: int, call: Call) -> None:
        """A call that another one may have made."""
        pending = self._pending.setdefault(thread, [])
        pending.append(self._with_children(pending, call))
        if len(pending) > MAX_PENDING:
            del pending[: MAX_PENDING // 2]

    def root(self, thread: int, call: Call) -> Call:
        """The outermost call, with its tree. Whatever of the thread came before it is forgotten."""
        return self._with_children(self._pending.pop(thread, []), call)

    @staticmethod
    def _with_children(pending: list[Call], call: Call) -> Call:
        """Takes the children of a call off the pending ones."""
        first = len(pending)
        while first and _is_within(pending[first - 1], call):
            first -= 1
        children = tuple(pending[first:])
        del pending[first:]
        return replace(call, children=children)


def _is_within(earlier: Call, call: Call) -> bool:
    if earlier.end > call.begin:
        return True
    told_late = earlier.end > call.begin - MOST_LATE
    return told_late and earlier.caller[1] == call.name and earlier.caller != call.caller


@mutable(slots=True)
class MergedCalls:
    """The calls of one method at one place, of all trees of a root method.

    ``line``: of the place that calls, 0 of a root. ``durations``: of the latest calls, in ns. ``failed``: how many
    calls each class of exceptions has left. ``children``: the calls inside these calls, since the first tree with any;
    ``base``: the total time of the trees since then, of which the children have shares; ``own``: ns since then outside
    of the children.
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

    def add(self, call: Call) -> None:
        self.times += 1
        self.took += call.took
        self.durations.append(call.took)
        if call.failed:
            self.failed[call.failed] += 1
        if call.children or self.children:
            self.own += call.own
        for child in call.children:
            key = child.owner, child.name, child.line
            if key not in self.children:
                self.children[key] = MergedCalls(child.owner, child.name, child.line)
            self.children[key].add(child)

    def percentile(self, percent: int) -> int:
        """The smallest duration that is at least as long as ``percent`` of the latest ones."""
        ordered = sorted(self.durations)
        return ordered[max(0, -(-percent * len(ordered) // 100) - 1)]

    def walk(self) -> Iterator[MergedCalls]:
        """These calls and all below them, the outer ones first."""
        yield self
        for child in self.children.values():
            yield from child.walk()


class MergedTrees:
    """One tree for each root method, merged over its calls."""

    def __init__(self) -> None:
        self._roots: dict[tuple[str, str], MergedCalls] = {}

    @property
    def roots(self) -> list[MergedCalls]:
        """The slowest come first."""
        return sorted(self._roots.values(), key=lambda root: root.took, reverse=True)

    def add(self, call: Call) -> None:
        key = call.owner, call.name
        root = self._roots.setdefault(key, MergedCalls(call.owner, call.name, 0))
        root.add(call)
        for calls in root.walk():
            if calls.children:
                calls.base += call.took


class Slow(NamedTuple):
    """Calls that take much of the trees of a root method: ``share`` of what these take."""

    root: MergedCalls
    calls: MergedCalls
    share: float


def slowest(
    roots: Iterable[MergedCalls], is_open: Callable[[MergedCalls], bool], least: float, depth: int
) -> Slow | None:
    """The calls that took most, of all trees, among those that ``is_open`` to be looked into.

    ``least``: share of the root below which nothing is worth it; ``depth``: the deepest that is looked into, the calls
    of the root being 1.
    """
    slow = [
        Slow(root, calls, share)
        for root in roots
        for parent, calls in _down_to(root, depth)
        if (share := calls.took / parent.base if parent.base else 0.0) >= least and is_open(calls)
    ]
    return max(slow, key=lambda slow: slow.share * slow.root.took, default=None)


def _down_to(root: MergedCalls, depth: int) -> Iterator[tuple[MergedCalls, MergedCalls]]:
    """Calls with the calls that they are in, level by level."""
    level = [root]
    for _ in range(depth):
        pairs = [(parent, calls) for parent in level for calls in parent.children.values()]
        yield from pairs
        level = [calls for _, calls in pairs]
