"""Reads the events of the scripts of ``parts``. They come from another process, so they may have any values.

Each function raises ProtocolError for values of another type than the script emits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from btpy.api.events import Event
from btpy.errors import ProtocolError
from btpy.events.call_records import run_of
from btpy.events.requests import Blocked, Part, Request, Run, Short
from btpy.events.typed_values import nanos, number, text
from btpy.output.writer import Clock

_KINDS = ("sql", "http", "lock", "pool")


class SlowRequest(NamedTuple):
    """``request``: without its parts and runs; None if the budget has left out its beginning."""

    took: int
    request: Request | None


def flow_of(event: Event) -> int:
    return number(event.values["flow"])


def part(event: Event) -> Part:
    kind, what, site, failed = (text(event.values[name]) for name in ("kind", "what", "site", "failed"))
    if kind not in _KINDS:
        raise ProtocolError(f"a part of the kind {kind!r}")
    start = event.nanos - nanos(event.values["took"])
    return Part(kind, what, site, failed, event.tid, event.thread, start, event.nanos)


def run(event: Event, clock: Clock) -> Run:
    names = ("number", "by", "tid", "worker", "handed", "began", "ended", "running")
    task = run_of([event.values[name] for name in names])
    handed, began, ended = (clock.wall(time) for time in (task.handed, task.began, task.ended))
    return replace(task, handed=handed, began=began, ended=ended)


def request(event: Event, clock: Clock) -> SlowRequest:
    values = event.values
    took = nanos(values["took"])
    if values["flow"] is None or values["began"] is None:
        return SlowRequest(took, None)
    start = clock.wall(number(values["began"]))
    short = []
    for kind in _KINDS:
        if values[f"{kind}_n"] is not None:
            total = values[f"{kind}_ns"]
            short.append(Short(kind, number(values[f"{kind}_n"]), 0 if total is None else nanos(total)))
    result = Request(
        flow=number(values["flow"]),
        what=text(values["what"]),
        result=text(values["result"]),
        tid=number(values["tid"]),
        thread=text(values["worker"]),
        start=start,
        end=start + took,
        short=tuple(sums for sums in short if sums.count),
    )
    return SlowRequest(took, result)


def blocked(event: Event) -> Blocked:
    values = event.values
    return Blocked(
        nanos=event.nanos,
        tid=number(values["tid"]),
        lock=text(values["lock"]),
        id=number(values["id"]),
        site=text(values["site"]),
        owner=text(values["owner"]),
        owner_site=text(values["owner_site"]),
        waited=nanos(values["waited"]),
        sampled=nanos(values["sampled"]),
    )


def collected(event: Event) -> int:
    """The time of garbage collections, in ns."""
    return nanos(event.values["took"])
