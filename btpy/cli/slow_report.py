"""The report of ``btpy slow``, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from btpy.api.slow import REQUEST, TASK, Node, nodes_of
from btpy.output.quantities import counted, duration, grouped
from btpy.output.values import timestamp

if TYPE_CHECKING:
    from btpy.api.slow import Request
    from btpy.api.slow.collect import Report, Wanted

_NAMES = {"sql": "SQL", "http": "HTTP", "lock": "lock", "monitor": "monitor", "pool": "connection"}
_SHORTER = {
    "sql": ("SQL statement", "SQL statements"),
    "http": ("HTTP call", "HTTP calls"),
    "lock": ("wait for a lock", "waits for locks"),
    "pool": ("wait for a connection", "waits for connections"),
}
_CHARS = 110
_SMALL = 50
"""A part is not critical if the critical path spends less than a fiftieth of its time in this part."""


def text(report: Report, selection: Wanted, unicode: bool) -> Iterator[str]:
    over = duration(selection.over)
    seconds = f"{report.seconds:.0f} s" if report.seconds >= 10 else f"{report.seconds:.2g} s"
    slowest = f"; the slowest took {duration(report.slowest)}" if report.requests else ""
    yield f"{counted(report.requests, 'request')} in {seconds}, {grouped(report.slow)} longer than {over}{slowest}"
    if not report.requests and selection.of:
        yield f"  no method that --of names was called; to see these methods: btpy ls PID '{selection.of[0]}'"
    elif not report.requests:
        yield (
            "  btpy knows the requests of Tomcat, Jetty and the JDK's server;"
            " --of CLASS::METHOD follows the calls of a method"
        )
    elif not report.trees:
        yield f"  --over {_shorter(report.slowest)} would show some requests"
    if report.skipped:
        yield (
            f"  the budget left {grouped(report.skipped)} hits out, so requests and parts of them can be missing:"
            " --budget allows more"
        )
    if report.lost:
        yield f"  {counted(report.lost, 'record')} were lost on the way, so parts of requests are missing"
    if report.unreadable:
        yield f"  {counted(report.unreadable, 'record')} could not be read, because the JVM sent values of other types"
    for place, (request, tree) in enumerate(report.trees, 1):
        yield ""
        yield from _request(place, request, tree, unicode)


def _shorter(nanos: int) -> str:
    """A threshold below this duration."""
    for unit, name in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if nanos / 2 >= unit:
            return f"{max(int(nanos / 2 / unit), 1)}{name}"
    return "1us"


def _request(place: int, request: Request, tree: Node, unicode: bool) -> Iterator[str]:
    when = datetime.fromtimestamp(request.start / 1e9, tz=UTC).astimezone().strftime("%H:%M:%S.%f")[:-3]
    result = f" {request.result}" if request.result else ""
    yield f"{place:>2}. {duration(tree.duration)}  {_cut(request.what)}{result}  on {request.thread} at {when}"
    rows = list(_rows(tree, request, []))
    branches = ("├─ ", "└─ ", "│  ", "   ") if unicode else ("|- ", "`- ", "|  ", "   ")
    for lasts, line in rows:
        stem = "".join(branches[3] if last else branches[2] for last in lasts[:-1])
        yield f"    {stem}{branches[1] if lasts[-1] else branches[0]}{line}"


def _rows(node: Node, request: Request, lasts: list[bool]) -> Iterator[tuple[list[bool], str]]:
    lines: list[tuple[str, Node | None]] = [(_line(child, request), child) for child in node.children]
    if node.kind == REQUEST:
        for short in request.short:
            what = _SHORTER[short.kind][short.count > 1]
            lines.append((f"{duration(short.total)}  {grouped(short.count)} shorter {what}", None))
        if request.left_out:
            lines.append((f"{grouped(request.left_out)} more parts are not kept", None))
        if request.collecting:
            lines.append((f"about {duration(request.collecting)}  garbage collections meanwhile", None))
    if node.kind in (REQUEST, TASK) and node.children:
        lines.append((f"{duration(node.itself)}  itself", None))
    elif node.kind == REQUEST:
        lines.append((f"{duration(node.itself)}  itself: no part of it took long enough to be seen", None))
    for at, (line, child) in enumerate(lines):
        place = [*lasts, at == len(lines) - 1]
        yield place, line
        if child is not None:
            yield from _rows(child, request, place)


def _line(node: Node, request: Request) -> str:
    about = "about " if node.about else ""
    took = f"{about}{duration(node.total if node.count > 1 else node.duration)}"
    begun = f"  +{duration(max(node.start - request.start, 0))}{_beside(node)}"
    if node.count > 1 and node.kind == TASK:
        waited = f", each waited up to {duration(node.waited)}" if node.waited else ""
        return f"{took}  {node.count} short tasks on {node.thread}{waited}{_beside(node)}"
    if node.kind == TASK:
        cut = ", and went on" if node.cut else ""
        return f"{took}  on {node.thread} after waiting {duration(node.waited)}{cut}{begun}"
    failure = f"  failed: {node.failed.rpartition('.')[2]}" if node.failed else ""
    site = f"  from {_short(node.site)}" if node.site else ""
    cut = "  (longer than the request)" if node.cut else ""
    times = f"{grouped(node.count)} × " if node.count > 1 else ""
    return f"{took}  {times}{_NAMES[node.kind]} {_cut(node.what)}{failure}{site}{cut}{begun}"


def _beside(node: Node) -> str:
    critical = sum(part.critical for part, _ in nodes_of(node))
    return "  not critical" if critical * _SMALL < max(node.duration, 1) else ""


def _short(site: str) -> str:
    """``com.acme.shop.Orders.find:44`` as ``Orders.find:44``."""
    head, _, line = site.partition(":")
    return ".".join(head.split(".")[-2:]) + (f":{line}" if line else "")


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _CHARS else f"{text[: _CHARS - 1]}…"


def ndjson(report: Report) -> Iterator[str]:
    for request, tree in report.trees:
        values: dict[str, Any] = {
            "type": "request",
            "what": request.what,
            "result": request.result or None,
            "start": timestamp(request.start),
            "flow": request.flow,
            **_values(tree, tree),
            "short": [{"kind": s.kind, "count": s.count, "ms": _ms(s.total)} for s in request.short],
            "left_out": request.left_out,
            "collecting_ms": _ms(request.collecting),
        }
        yield json.dumps(values, ensure_ascii=False)
    yield json.dumps(
        {
            "type": "summary",
            "seconds": round(report.seconds, 3),
            "requests": report.requests,
            "slow": report.slow,
            "slowest_ms": _ms(report.slowest),
            "mean_ms": _ms(report.mean),
            "lost": report.lost,
            "skipped": report.skipped,
            "left_out": dict(report.failed),
        }
    )


def _values(node: Node, root: Node) -> dict[str, Any]:
    values: dict[str, Any] = {"kind": node.kind}
    if node is not root and node.what:
        values["what"] = node.what
    values |= {"ms": _ms(node.total if node.count > 1 else node.duration), "at_ms": _ms(node.start - root.start)}
    values |= {"thread": node.thread} if node.thread else {}
    values |= {"waited_ms": _ms(node.waited)} if node.kind == TASK else {}
    values |= {"count": node.count} if node.count > 1 else {}
    values |= {"site": node.site} if node.site else {}
    values |= {"failed": node.failed} if node.failed else {}
    values |= {"cut": True} if node.cut else {}
    values |= {"estimated": True} if node.about else {}
    values |= {"itself_ms": _ms(node.itself), "critical_ms": _ms(node.critical)}
    values["children"] = [_values(child, root) for child in node.children]
    return values


def _ms(nanos: float) -> float:
    return round(nanos / 1e6, 3)
