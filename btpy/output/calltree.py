"""A tree of timed calls as text.

OrderService.place  27.5ms  http-3
├─   24.9ms  91%  PricingEngine.quote:32
│  ├─   24.1ms  88%  Catalog.find:18  ×3
│  └─    800us   3%  own code
└─    2.6ms   9%  own code
"""

from __future__ import annotations

from typing import Any, NamedTuple

from btpy.events.calltree import Call, Row, rows
from btpy.output.quantities import duration
from btpy.output.style import Style
from btpy.output.values import visible
from btpy.plan.patterns import simple_name

_MOST = 12
"""Rows of one call; those that took least are summed up."""

LEAST = 0.005
"""Share of the root that a row must have; the others are summed up where there are several."""


def tree_lines(root: Call, thread: str, style: Style, least: float = LEAST) -> list[str]:
    """Without line ends."""
    failed = f"  threw {visible(root.failed)}" if root.failed else ""
    head = f"{style.bold(visible(named(root.owner, root.name)))}  {duration(root.took)}  {visible(thread)}{failed}"
    return [head, *_below(rows(root.children), root.own, _Scale(root.took, least), style, "")]


class _Scale(NamedTuple):
    whole: int
    least: float

    def share(self, took: int) -> float:
        return took / self.whole if self.whole else 0.0


def _below(found: tuple[Row, ...], own: int, scale: _Scale, style: Style, indent: str) -> list[str]:
    if not found:
        return []
    kept = set(sorted(range(len(found)), key=lambda at: found[at].took, reverse=True)[:_MOST])
    small = {at for at in kept if scale.share(found[at].took) < scale.least}
    if len(small) + len(found) - len(kept) > 1:
        kept -= small
    shown = [row for at, row in enumerate(found) if at in kept]
    entries: list[tuple[int, str, Row | None]] = [(row.took, _label(row, style), row) for row in shown]
    rest = [row for at, row in enumerate(found) if at not in kept]
    if rest:
        times = sum(row.times for row in rest)
        entries.append((sum(row.took for row in rest), f"{style.ellipsis} {times} more calls", None))
    entries.append((own, style.dim("own code"), None))
    lines = []
    for at, (took, label, row) in enumerate(entries):
        last = at == len(entries) - 1
        branch, further = _branches(style, last)
        lines.append(f"{indent}{branch} {duration(took):>8} {100 * scale.share(took):3.0f}%  {label}")
        if row is not None:
            lines += _below(row.children, row.own, scale, style, indent + further)
    return lines


def _branches(style: Style, last: bool) -> tuple[str, str]:
    if not style.unicode:
        return ("`-", "   ") if last else ("|-", "|  ")
    return ("└─", "   ") if last else ("├─", "│  ")


def _label(row: Row, style: Style) -> str:
    line = f":{row.line}" if row.line else ""
    times = f"  {'×' if style.unicode else 'x'}{row.times}" if row.times > 1 else ""
    failed = f"  threw {visible(row.failed)}" if row.failed else ""
    return f"{visible(named(row.owner, row.name))}{line}{times}{failed}"


def named(owner: str, name: str) -> str:
    return f"{simple_name(owner)}.{name}"


def tree_json(root: Call) -> dict[str, Any]:
    """Nested; times in ns."""
    return {
        "class": root.owner,
        "method": root.name,
        "line": root.line or None,
        "took": root.took,
        "own": root.own,
        "failed": root.failed or None,
        "calls": [tree_json(child) for child in root.children],
    }
