"""What other threads did for a traced call: each task as a call of its own, with the calls that were timed in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from btpy.events.calltree import MAX_THREADS, Call, CallTrees
from btpy.events.request_tree import CALL, REQUEST, TASK, Node, tree_of
from btpy.events.requests import Part, Request, Run

_Calls = Mapping[int, Sequence[Call]]
"""Calls by their thread."""


MAX_RUNS: Final = 256
"""The largest number of tasks of one call. The script of ``btpy trace`` sends no more, but a hostile target could."""


class PendingTasks:
    """The tasks of root calls that are ending: the records of the tasks of a call come before the record of the call.
    ``left_out``: the number of tasks that are in no tree. The record of their call was lost, or the call had too many.
    """

    def __init__(self) -> None:
        self.left_out = 0
        self._runs: dict[int, tuple[int, list[Run]]] = {}  # by thread: the flow of the call, and its tasks

    def add(self, thread: int, flow: int, run: Run) -> None:
        """``thread``: that of the call; ``flow``: the number of the call's flow."""
        pending, runs = self._runs.get(thread, (flow, []))
        if pending != flow:  # the record of the earlier call was lost
            self._leave_out(thread)
            runs = []
        elif thread not in self._runs and len(self._runs) >= MAX_THREADS:
            self._leave_out(next(iter(self._runs)))
        if len(runs) < MAX_RUNS:
            runs.append(run)
        else:
            self.left_out += 1
        self._runs[thread] = flow, runs

    def take(self, thread: int, flow: int | None) -> list[Run]:
        """The tasks of a call that has ended."""
        pending, runs = self._runs.pop(thread, (flow, []))
        if pending == flow:
            return runs
        self.left_out += len(runs)
        return []

    def _leave_out(self, thread: int) -> None:
        self.left_out += len(self._runs.pop(thread)[1])


def with_tasks(call: Call, thread: str, runs: Sequence[Run], trees: CallTrees) -> Call:
    """The root call with its tasks, and their shares of the critical path of the call. The times of ``runs`` are
    of the same clock as the times of calls. Takes the calls in the tasks out of ``trees``.
    """
    threads = {run.tid for run in runs} - {call.tid}
    first, last = min(run.began for run in runs), max(run.ended for run in runs)
    calls = {tid: trees.between(tid, first, last) for tid in threads}
    request = Request(
        flow=0,
        what="",
        result="",
        tid=call.tid,
        thread=thread,
        start=call.begin,
        end=call.end,
        parts=tuple(_last_calls(runs, calls)),
        runs=tuple(runs),
    )
    return replace(call, tasks=_tasks(call, tree_of(request, 0, together=False), calls))


def _last_calls(runs: Sequence[Run], calls: _Calls) -> Iterator[Part]:
    """The last call in each run. A run often ends after the root call, which already had the result of the run."""
    for run in runs:
        ends = [call.end for call in calls.get(run.tid, ()) if run.began <= call.begin <= run.ended]
        if ends:
            yield Part(CALL, "", "", "", run.tid, run.thread, run.began, max(ends))


def _tasks(call: Call, node: Node, calls: _Calls) -> tuple[Call, ...]:
    return tuple(_task(call, task, calls) for task in _handed_over_in(node))


def _task(call: Call, node: Node, calls: _Calls) -> Call:
    inner_calls = [inner for inner in node.children if inner.kind == CALL]
    task = Call(
        owner="",
        name=node.thread,
        line=_line(call, node.handed),
        end=node.end,
        took=node.duration,
        children=tuple(inner for inner in calls.get(node.tid, ()) if node.start <= inner.begin <= node.end),
        tid=node.tid,
        waited=node.waited,
        critical=node.critical + sum(inner.critical for inner in inner_calls),
        cut=node.cut,
    )
    return replace(task, tasks=_tasks(task, node, calls))


def _handed_over_in(node: Node) -> Iterator[Node]:
    for child in node.children:
        if child.kind == TASK:
            yield child
        else:
            yield from _handed_over_in(child)


def _line(call: Call, moment: int) -> int:
    """The line of the inner call that handed a task over at that moment; 0 if this call was not timed. The beginning of
    a call is not exact, but its end comes after the hand-over.
    """
    return next((child.line for child in call.children if child.end >= moment), 0)


def node_of(call: Call, name: str, thread: str) -> Node:
    """The root call as a tree for a timeline. ``name``: the name of the call."""
    root = Node(REQUEST, name, call.begin, call.end, call.tid, thread)
    _add(root, call)
    return root


def _add(node: Node, call: Call) -> None:
    node.itself, node.critical, node.failed = call.own, call.critical, call.failed
    for child in call.children:
        inner = Node(CALL, f"{child.owner}.{child.name}", child.begin, child.end, node.tid, failed=child.failed)
        inner.site = f"{node.what}:{child.line}" if child.line else ""
        node.children.append(inner)
        _add(inner, child)
    for task in call.tasks:
        inner = Node(TASK, "", task.begin, task.end, task.tid, task.name, waited=task.waited, cut=task.cut)
        node.children.append(inner)
        _add(inner, task)
