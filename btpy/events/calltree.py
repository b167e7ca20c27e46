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

from collections.abc import Callable, Iterator
from dataclasses import replace

from btpy.values import dataclass

MAX_PENDING = 20_000
"""Calls of a thread that wait for the one that made them; of more the first are forgotten."""

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


@dataclass(frozen=True, slots=True)
class Row:
    """Calls of the same method at the same place of one caller: ``times`` of them, ``took`` ns together."""

    owner: str
    name: str
    line: int
    times: int
    took: int
    failed: str
    calls: tuple[Call, ...]

    @property
    def children(self) -> tuple[Row, ...]:
        return rows(child for call in self.calls for child in call.children)

    @property
    def own(self) -> int:
        return sum(call.own for call in self.calls)


def rows(calls: Iterator[Call] | tuple[Call, ...]) -> tuple[Row, ...]:
    """The calls of a loop as one row, in the order of the first."""
    found: dict[tuple[str, str, int], list[Call]] = {}
    for call in calls:
        found.setdefault((call.owner, call.name, call.line), []).append(call)
    return tuple(
        Row(
            owner,
            name,
            line,
            len(same),
            sum(call.took for call in same),
            next((call.failed for call in same if call.failed), ""),
            tuple(same),
        )
        for (owner, name, line), same in found.items()
    )


def slowest(root: Call, is_open: Callable[[Row], bool], least: float, depth: int) -> Row | None:
    """What takes most of a tree among what ``is_open`` to be looked into.

    ``least``: share of the root below which nothing is worth it; ``depth``: the deepest that is looked into, the calls
    of the root being 1.
    """
    best: Row | None = None
    level = rows(root.children)
    for _ in range(depth):
        for row in level:
            if row.took >= least * root.took and is_open(row) and (best is None or row.took > best.took):
                best = row
        level = tuple(child for row in level for child in row.children)
    return best
