"""Trees of timed calls as text: one for each root method, merged over its calls.

OrderService.place  47 calls  p50 21ms  p99 33ms  max 61ms
├─  91%  p50   19ms  p99   30ms  PricingEngine.quote  called in line 32  ×47
│  ├─  88%  p50  6.1ms  p99   11ms  Catalog.find  called in line 18  ×141
│  └─   3%  own code
├─   9%  own code
└─  62%  p50   13ms  p99   14ms  on orders  waited p50 2ms  p99 5ms  handed over in line 34  ×47  not critical

A share refers to the time of the root. btpy begins to time the calls inside a method later than the method itself.
The share of such a call is therefore its part of the method's time since that moment, multiplied by the share of the
method. A task of another thread runs beside the calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from btpy.events.calltree import Call, MergedCalls, percentile
from btpy.model.patterns import simple_name
from btpy.output.quantities import counted, duration
from btpy.output.style import Style
from btpy.output.values import visible

_Row = tuple[float, str, MergedCalls | None]
"""The share of the root's time, the text, and the call whose parts stand in the rows below."""

_MOST = 12
"""The largest number of rows of one call. The other, faster calls are summed up."""

LEAST = 0.005
"""The smallest share of the root for a row. Smaller rows are summed up if there are several."""


_SMALL = 50
"""A task is not critical if the critical path spends less than a fiftieth of its time in it."""


def tree_lines(root: MergedCalls, style: Style, least: float = LEAST) -> list[str]:
    """Without line ends."""
    name = style.bold(visible(named(root.owner, root.name)))
    p50, p99, longest = (duration(nanos) for nanos in (root.percentile(50), root.percentile(99), max(root.durations)))
    calls = counted(root.times, "call")
    head = f"{name}  {calls}  p50 {p50}  p99 {p99}  max {longest}{_failed(root.failed)}"
    return [head, *_below(root, 1.0, least, style, "")]


def _below(parent: MergedCalls, of_root: float, least: float, style: Style, indent: str) -> list[str]:
    rows = [*_calls(parent, of_root, least, style)]
    for task in sorted(parent.tasks.values(), key=lambda task: task.took, reverse=True):
        rows.append((of_root * task.took / max(parent.took, 1), _task_label(task, style), task))
    lines = []
    for at, (share, label, child) in enumerate(rows):
        branch, further = _branches(style, at == len(rows) - 1)
        lines.append(f"{indent}{branch} {100 * share:3.0f}%  {label}")
        if child is not None:
            lines += _below(child, share, least, style, indent + further)
    return lines


def _calls(parent: MergedCalls, of_root: float, least: float, style: Style) -> Iterator[_Row]:
    calls = list(parent.children.values())
    if not calls:
        return

    def share(took: int) -> float:
        return of_root * parent.share(took)

    largest = set(sorted(range(len(calls)), key=lambda at: calls[at].took, reverse=True)[:_MOST])
    small = {at for at in largest if share(calls[at].took) < least}
    if len(small) + len(calls) - len(largest) > 1:
        largest -= small
    for at in sorted(largest):
        yield share(calls[at].took), _label(calls[at], style), calls[at]
    rest = [child for at, child in enumerate(calls) if at not in largest]
    if rest:
        others = sum(child.times for child in rest)
        yield share(sum(child.took for child in rest)), f"{style.ellipsis} {counted(others, 'more call')}", None
    yield share(parent.own), style.dim("own code"), None


def _branches(style: Style, last: bool) -> tuple[str, str]:
    if not style.unicode:
        return ("`-", "   ") if last else ("|-", "|  ")
    return ("└─", "   ") if last else ("├─", "│  ")


def _label(calls: MergedCalls, style: Style) -> str:
    line = f"  called in line {calls.line}" if calls.line else ""
    took = f"p50 {duration(calls.percentile(50)):>7}  p99 {duration(calls.percentile(99)):>7}"
    return f"{took}  {visible(named(calls.owner, calls.name))}{line}{_times(calls, style)}{_failed(calls.failed)}"


def _task_label(task: MergedCalls, style: Style) -> str:
    took = f"p50 {duration(task.percentile(50)):>7}  p99 {duration(task.percentile(99)):>7}"
    waited = f"waited p50 {duration(percentile(task.waits, 50))}  p99 {duration(percentile(task.waits, 99))}"
    line = f"  handed over in line {task.line}" if task.line else ""
    beside = "  not critical" if task.critical * _SMALL < task.took else ""
    return f"{took}  on {visible(task.name)}  {waited}{line}{_times(task, style)}{beside}"


def _times(calls: MergedCalls, style: Style) -> str:
    return f"  {'×' if style.unicode else 'x'}{calls.times}"


def _failed(failures: Counter[str]) -> str:
    return "".join(f"  {times} threw {visible(name)}" for name, times in failures.most_common(2))


def named(owner: str, name: str) -> str:
    return f"{simple_name(owner)}.{name}"


def tree_json(root: Call) -> dict[str, Any]:
    """The tree as nested objects, with times in ns."""
    tasks = [_task_json(task) for task in root.tasks]
    return {
        "class": root.owner,
        "method": root.name,
        "line": root.line or None,
        "took": root.took,
        "own": root.own,
        "failed": root.failed or None,
        "calls": [tree_json(child) for child in root.children],
    } | ({"tasks": tasks} if tasks else {})


def _task_json(task: Call) -> dict[str, Any]:
    return {
        "thread": task.name,
        "line": task.line or None,
        "waited": task.waited,
        "took": task.took,
        "own": task.own,
        "critical": task.critical,
        "running": task.cut,
        "calls": [tree_json(child) for child in task.children],
        "tasks": [_task_json(inner) for inner in task.tasks],
    }
