"""The report of ``btpy slow`` in the Trace Event Format: each request is a process, with the threads that worked for
it, and an arrow for each hand-over.

Slices of a thread have to nest, so slices that overlap are cut. The time that a task waited for its thread, and parts
that no single thread did, are asynchronous slices, which stand beside the threads.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from btpy.events.request_tree import REQUEST, TASK, Node, nodes_of
from btpy.output.quantities import duration

_NAMES = {"monitor": "wait for a monitor", "lock": "wait for a lock", "pool": "wait for a connection"}


def chrome(trees: Sequence[Node]) -> Iterator[str]:
    """The lines of the JSON array."""
    begin = min((tree.start for tree in trees), default=0)
    events = (event for place, tree in enumerate(trees, 1) for event in process(place, tree, begin))
    before = "["
    for event in events:
        yield before + json.dumps(event, ensure_ascii=False)
        before = ","
    yield "]" if before == "," else "[]"


def process(place: int, tree: Node, begin: int) -> Iterator[dict[str, Any]]:
    def event(phase: str, name: str, nanos: int, tid: int, **more: Any) -> dict[str, Any]:
        return {"ph": phase, "name": name, "pid": place, "tid": tid, "ts": (nanos - begin) / 1000, **more}

    title = f"{place}. {tree.what} {duration(tree.duration)}"
    yield event("M", "process_name", begin, 0, args={"name": title})
    yield event("M", "process_sort_index", begin, 0, args={"sort_index": place})
    thread_ids: set[int] = set()
    number = place * 100_000
    for node, parent in nodes_of(tree):
        if node.thread and node.tid not in thread_ids and node.kind in (REQUEST, TASK):
            thread_ids.add(node.tid)
            yield event("M", "thread_name", begin, node.tid, args={"name": node.thread})
        number += 1
        if node.kind == TASK and parent is not None:
            yield event("s", "hand-over", _within(parent, node.handed), parent.tid, cat="flow", id=number)
            yield event("f", "hand-over", node.start, node.tid, cat="flow", id=number, bp="e")
            if node.waited:
                name = f"waits for {node.pool}"
                yield event("b", name, node.handed, node.tid, cat="wait", id=number)
                yield event("e", name, node.start, node.tid, cat="wait", id=number)
        if node.kind not in (REQUEST, TASK) and parent is not None and node.tid != parent.tid:
            yield event("b", _name(node), node.start, parent.tid, cat=node.kind, id=number, args=_arguments(node))
            yield event("e", _name(node), node.end, parent.tid, cat=node.kind, id=number)
    for node, start, end in _nested(tree):
        yield event("X", _name(node), start, node.tid, dur=(end - start) / 1000, cat=node.kind, args=_arguments(node))


def _within(node: Node, nanos: int) -> int:
    """The begin of an arrow: it has to be inside a slice, so it is before the end of the slice."""
    return min(max(nanos, node.start), max(node.end - 1000, node.start))


def _nested(tree: Node) -> Iterator[tuple[Node, int, int]]:
    """The slices of all threads, cut so that the slices of one thread contain or follow each other."""
    open_: dict[int, list[int]] = {}  # the ends of the open slices, by thread
    last: dict[int, int] = {}
    nodes = [node for node, parent in nodes_of(tree) if parent is None or node.kind == TASK or node.tid == parent.tid]
    for node in sorted(nodes, key=lambda node: (node.start, -node.end)):
        ends = open_.setdefault(node.tid, [])
        start = max(node.start, last.get(node.tid, node.start)) if node.kind != REQUEST else node.start
        while ends and ends[-1] <= start:
            ends.pop()
        end = min([node.end, *ends])
        if end > start:
            yield node, start, end
            ends.append(end)
            last[node.tid] = start


def _name(node: Node) -> str:
    if node.kind in (REQUEST, TASK):
        return node.what or "task"
    return _NAMES.get(node.kind, node.what)


def _arguments(node: Node) -> dict[str, Any]:
    times = {"ms": node.duration, "itself_ms": node.itself, "critical_ms": node.critical}
    values: dict[str, Any] = {name: round(nanos / 1e6, 3) for name, nanos in times.items()}
    values |= {"what": node.what} if node.kind in _NAMES else {}
    values |= {"waited_ms": round(node.waited / 1e6, 3)} if node.kind == TASK else {}
    values |= {"site": node.site} if node.site else {}
    values |= {"failed": node.failed} if node.failed else {}
    values |= {"estimated": True} if node.about else {}
    return values
