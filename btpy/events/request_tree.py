"""A request as a tree: each node has a thread, the parts of the request that ran inside of it, and its waits."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from btpy.dataclass import dataclass
from btpy.events.requests import Blocked, Part, Request, Run

REQUEST: Final = "request"
TASK: Final = "task"
MONITOR: Final = "monitor"
CALL: Final = "call"

_SLACK: Final = 200_000
"""The longest time from the end of an operation until its record is made, in ns."""
_NUMBER: Final = re.compile(r"[-#]?\d+$")


def pool_of(thread: str) -> str:
    """The name of a thread without its number, which is equal for all threads of one pool."""
    return _NUMBER.sub("", thread)


@dataclass(slots=True, eq=False)
class Node:
    """``start`` and ``end`` are inside of the request. ``waited``: for a task, the time from its hand-over to
    ``start``. ``itself``: the time in which none of its children ran or waited. ``critical``: the time that the
    critical path of the request spends in the node or in its wait, and not in its children. ``cut``: the node began
    before the request or ended after it. ``about``: its time is estimated from samples. ``count``: the number of equal
    parts, or of short tasks of one pool, that this node stands for: ``total`` is the sum of their times, and ``waited``
    the longest wait.
    """

    kind: str
    what: str
    start: int
    end: int
    tid: int
    thread: str = ""
    site: str = ""
    failed: str = ""
    waited: int = 0
    itself: int = 0
    critical: int = 0
    cut: bool = False
    about: bool = False
    count: int = 1
    total: int = 0
    children: list[Node] = field(default_factory=list)

    @property
    def duration(self) -> int:
        return self.end - self.start

    @property
    def handed(self) -> int:
        return self.start - self.waited

    @property
    def last(self) -> int | None:
        """The moment when its last part ended. None for a task without a part that had ended when the request ended."""
        ends = [last for child in self.children if (last := child.last) is not None]
        if self.kind != TASK or not self.cut:
            ends.append(self.end)
        return max(ends, default=None)

    @property
    def pool(self) -> str:
        """The name of the thread, without its number."""
        return pool_of(self.thread)

    def contains(self, start: int, end: int) -> bool:
        return self.start - _SLACK <= start and end <= self.end + _SLACK


def tree_of(request: Request, least: int, *, together: bool = True) -> Node:
    """``together``: one node stands for equal parts, and another node for the tasks of a pool that ran for less than
    ``least`` and in which nothing was reported.
    """
    root = Node(REQUEST, request.what, request.start, request.end, request.tid, request.thread)
    nodes, tasks = _tasks(request, root)
    within: dict[int, list[Node]] = defaultdict(list)  # by the identity of the node of the thread
    threads = [root, *tasks.values()]
    for node in _parts(request, threads):
        around = [other for other in threads if other.tid == node.tid and other.contains(node.start, node.end)]
        within[id(max(around, key=lambda other: other.start, default=root))].append(node)
    for owner in threads:
        _nest(owner, within[id(owner)])
    runs = {run.number: run for run in request.runs}
    for number, task in tasks.items():
        _at(nodes[_handed_by(number, runs, nodes)], task.handed).children.append(task)
    _clamp(root, root)
    _prune(root, root, least)
    _follow(root, root.end, [node for node in _all(root) if node.kind == TASK])
    _finish(root, least, together)
    return root


def _tasks(request: Request, root: Node) -> tuple[dict[int, Node], dict[int, Node]]:
    """Two tables by the number of a run: the node of each run, and the nodes that are tasks. A run inside of another
    run on the same thread has the node of the outer run.
    """
    nodes, tasks = {0: root}, dict[int, Node]()
    for run in sorted(request.runs, key=lambda run: (run.began, -run.ended)):
        outer = next(
            (o for o in (*tasks.values(), root) if o.tid == run.tid and o.contains(run.began, run.ended)), None
        )
        if outer is None:
            waited = max(run.began - run.handed, 0)
            outer = Node(TASK, "", run.began, run.ended, run.tid, run.thread, waited=waited, cut=run.running)
            tasks[run.number] = outer
        nodes[run.number] = outer
    return nodes, tasks


def _handed_by(number: int, runs: Mapping[int, Run], nodes: Mapping[int, Node]) -> int:
    """The number of the nearest run in the chain of hand-overs to this run that has another node. A run has a larger
    number than the run that handed it over; the chain ends where a target says otherwise.
    """
    by = number
    while by and nodes[by] is nodes[number]:
        by = runs[by].by if runs[by].by < by and runs[by].by in nodes else 0
    return by


def _parts(request: Request, threads: Iterable[Node]) -> Iterator[Node]:
    for part in request.parts:
        yield Node(
            part.kind, part.what, part.start, part.end, part.tid, part.thread, site=part.site, failed=part.failed
        )
    tids = {node.tid for node in threads}
    waits: dict[tuple[int, int, str], list[Blocked]] = defaultdict(list)
    for sample in sorted(request.blocked, key=lambda sample: sample.nanos):
        if sample.tid in tids:
            waits[sample.tid, sample.id, sample.site].append(sample)
    for samples in waits.values():
        first = 0
        for at in range(1, len(samples) + 1):
            if at == len(samples) or samples[at].waited <= samples[at - 1].waited:  # another wait
                wait = _wait(samples[first:at])
                if not any(_overlap(wait, part) * 2 > wait.duration for part in request.parts if part.kind == "lock"):
                    yield wait  # otherwise the wait is already a part, with its measured time
                first = at


def _overlap(wait: Node, part: Part) -> int:
    return min(wait.end, part.end) - max(wait.start, part.start) if wait.tid == part.tid else 0


def _wait(samples: list[Blocked]) -> Node:
    first, last = samples[0], samples[-1]
    what = f"{last.lock}, held by {last.owner or '?'}" + (f" at {last.owner_site}" if last.owner_site else "")
    start, end = first.nanos - first.waited - first.sampled // 2, last.nanos + last.sampled // 2
    return Node(MONITOR, what, start, end, last.tid, site=last.site, about=True)


def _nest(owner: Node, parts: list[Node]) -> None:
    """Nests the parts of one thread by their times."""
    stack: list[Node] = []
    for part in sorted(parts, key=lambda part: (part.start, -part.end)):
        while stack and not (part.start < stack[-1].end and stack[-1].contains(part.start, part.end)):
            stack.pop()
        (stack[-1] if stack else owner).children.append(part)
        stack.append(part)


def _at(node: Node, moment: int) -> Node:
    """The innermost part of the node's thread at that moment, or the node itself if there is none."""
    for child in node.children:
        if child.kind != TASK and child.tid == node.tid and child.start <= moment <= child.end:
            return _at(child, moment)
    return node


def _clamp(node: Node, root: Node) -> None:
    for child in node.children:
        outside = child.start < root.start - _SLACK or child.end > root.end + _SLACK
        child.cut = child.cut or (outside and not child.about)
        start = min(max(child.handed, root.start), root.end)
        child.start = min(max(child.start, root.start), root.end)
        child.end = max(min(child.end, root.end), child.start)
        child.waited = child.start - start if child.kind == TASK else 0
        _clamp(child, root)


def _prune(node: Node, root: Node, least: int) -> None:
    """Leaves out short tasks that explain nothing. The work of such a task belongs to a part of the request (an HTTP
    call has tasks of its own), or other nodes cover all but ``least`` of the time from its hand-over to its end.
    """
    shown = [other for other in _all(root) if other is not root and (other.kind != TASK or other.duration >= least)]
    parts = [other for other in shown if other.kind not in (TASK, CALL)]

    def is_needed(task: Node, within: Node) -> bool:
        if task.kind != TASK or any(other.kind != TASK for other in _all(task)):
            return True
        if within.kind not in (REQUEST, TASK, CALL):
            return False
        if any(part.pool == task.pool and part.start <= task.handed and task.end <= part.end for part in parts):
            return False
        if any(other.kind == TASK and other.duration >= least for other in _all(task)):
            return True
        others = ((other.start, other.end) for other in shown)
        return task.end - task.handed - _covered(others, task.handed, task.end) >= least

    def prune(node: Node) -> None:
        node.children = [child for child in node.children if is_needed(child, node)]
        for child in node.children:
            prune(child)

    prune(node)


def nodes_of(node: Node, parent: Node | None = None) -> Iterator[tuple[Node, Node | None]]:
    """All nodes of the tree, each with its parent."""
    yield node, parent
    for child in node.children:
        yield from nodes_of(child, node)


def _all(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _all(child)


def _follow(node: Node, until: int, tasks: Sequence[Node]) -> int:
    """Follows the critical path backwards from a moment in the node, and adds the times to the nodes on it. Returns the
    moment at which the path leaves the node.

    The path goes into the part that ended last, because the node went on when that part ended. If a task waits for its
    thread, the path goes to the task that the thread ran before.
    """
    moment = until
    last_parts = [(last, child) for child in node.children if (last := child.last) is not None]
    for end, child in sorted(last_parts, key=lambda ending: ending[0], reverse=True):
        if child.handed < moment and end <= moment + _SLACK:
            last = min(end, moment)
            node.critical += moment - last
            moment = _follow(child, last, tasks)
    if moment > node.start:
        node.critical += moment - node.start
        moment = node.start
    if node.handed >= moment:
        return moment
    earlier = (task for task in tasks if task.tid == node.tid and task.start < node.start and task.end > node.handed)
    before = max(earlier, key=lambda task: task.end, default=None)
    last = node.handed if before is None else min(before.end, moment)
    node.critical += moment - last
    return last if before is None else _follow(before, last, tasks)


def _finish(node: Node, least: int, together: bool) -> None:
    for child in node.children:
        _finish(child, least, together)
    spans = ((child.handed, child.end) for child in _all(node) if child is not node)
    node.itself = node.duration - _covered(spans, node.start, node.end)
    pools: dict[str, list[Node]] = defaultdict(list)
    equal: dict[tuple[str, str, str, str], list[Node]] = defaultdict(list)
    for child in node.children:
        if child.kind != TASK and not child.children:
            equal[child.kind, child.what, child.site, child.failed].append(child)
        elif child.duration < least and not child.children:
            pools[child.pool].append(child)
    groups = [*pools.values(), *(parts for parts in equal.values() if len(parts) > 2)]
    for group in groups:
        if together and len(group) > 1:
            node.children = [child for child in node.children if child not in group]
            node.children.append(_together(group))
    node.children.sort(key=lambda child: (child.handed, child.start))


def _covered(spans: Iterable[tuple[int, int]], start: int, end: int) -> int:
    """The part of the time from ``start`` to ``end`` that the spans cover."""
    covered = 0
    for first, last in sorted(spans):
        first, last = max(first, start), min(last, end)
        if first < last:
            covered += last - first
            start = last
    return covered


def _together(nodes: list[Node]) -> Node:
    first = min(nodes, key=lambda node: node.start)
    together = replace(first, end=max(node.end for node in nodes), count=len(nodes), thread=first.pool)
    together.waited = max(node.waited for node in nodes)
    together.total = sum(node.duration for node in nodes)
    together.critical = sum(node.critical for node in nodes)
    return together
