"""Runs the scripts of ``parts`` in a session, as one program, and keeps what the slowest requests did."""

from __future__ import annotations

import contextlib
import heapq
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from btpy.api.events import Event, EventMaker
from btpy.api.session import Session
from btpy.dataclass import dataclass
from btpy.errors import BtpyError, TargetGone
from btpy.events.aggregates import Stats
from btpy.events.records import Record
from btpy.events.request_tree import Node, tree_of
from btpy.events.requests import Blocked, Part, Request, Run, Short
from btpy.output.writer import Clock

PARTS = Path(__file__).parent / "parts"
"""The directory of the scripts."""

_BASE = ("requests",)
_OPTIONAL = ("http_server", "jdbc", "pools", "locks", "http_client", "frameworks")
_KINDS = ("sql", "http", "lock", "pool")

MOST_PARTS = 1000
"""The largest number of parts of a request that are kept."""
_MOST_OPEN = 100_000
"""The largest number of parts of requests that have not ended."""
_MOST_SAMPLES = 20_000
"""The largest number of samples that are kept for work of many threads."""
_SETTLED = 1_000_000_000
"""ns after the end of a request until the samples of its time have arrived."""
_SAMPLED_EVERY = 20_000_000
_STEP = 0.1
_MOST_WAITING = 1_000_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """``over`` and ``least`` in nanoseconds: shorter requests, and shorter parts of them, are not reported one by one.
    ``of``: the methods that are requests, as patterns ``CLASS::METHOD``; empty: the requests that a web server answers.
    ``monitors``: a pattern of classes whose ``synchronized`` blocks are measured, and not only sampled.
    """

    over: int
    least: int
    top: int
    of: tuple[str, ...] = ()
    monitors: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """``requests``: the number of requests; ``mean`` and ``slowest``: their durations. ``slow``: the number of requests
    over the threshold. ``trees``: the slowest requests, the slowest first. ``lost``: records that were lost on the way.
    ``skipped``: hits of probes that the budget left out. ``failed``: the scripts that do not fit the JVM, with the
    reason.
    """

    seconds: float
    requests: int
    mean: float
    slowest: int
    slow: int
    trees: tuple[tuple[Request, Node], ...]
    lost: int
    skipped: int
    failed: Mapping[str, str]


def put_in(session: Session, selection: Wanted) -> Mapping[str, str]:
    """Starts to follow requests. A script that does not fit the JVM is left out. Returns the scripts that were left
    out, with the reason.

    Raises BtpyError if leaving out one script is not enough.
    """
    try:
        _add(session, _OPTIONAL, selection)
    except TargetGone:
        raise
    except BtpyError as first:
        for name in _OPTIONAL:
            try:
                _add(session, [other for other in _OPTIONAL if other != name], selection)
            except TargetGone:
                raise
            except BtpyError:
                continue
            return {name: str(first)}
        raise
    return {}


def _add(session: Session, names: Iterable[str], selection: Wanted) -> None:
    text = script(names) + "".join(_unit(pattern) for pattern in selection.of)
    parameters = {"over": f"{selection.over}ns", "least": f"{selection.least}ns"}
    if selection.monitors and "locks" in names:
        parameters["monitors"] = selection.monitors
    session.add(text, name="<slow>", parameters=parameters, missing="ignore")


def script(names: Iterable[str] = _OPTIONAL) -> str:
    """The scripts of these names, as one script."""
    return "\n".join((PARTS / f"{name}.bt").read_text(encoding="utf-8") for name in (*_BASE, *names))


def _unit(pattern: str) -> str:
    return (
        f"\n{pattern} when depth == 0 {{ begin_flow(); begins(); }}"
        f"\n{pattern} @exit when depth == 0 {{"
        ' has_ended(f"{cls}.{method}", typeof(exception) ?? "", duration / 1ns); }'
    )


class Collector:
    """Collects the slowest requests from the events of the scripts. Memory is bounded: for ``top`` requests, and for
    the parts of requests that have not ended.
    """

    def __init__(self, top: int, clock: Clock) -> None:
        self.slow = 0
        self._clock = clock
        self._top = top
        self._parts: dict[int, list[Part]] = {}
        self._left_out: dict[int, int] = {}
        self._runs: dict[int, list[Event]] = {}
        self._open = 0
        self._blocked: deque[Blocked] = deque(maxlen=_MOST_SAMPLES)
        self._collected: deque[tuple[int, int]] = deque(
            maxlen=_MOST_SAMPLES
        )  # for each garbage collection: its event, its duration
        self._settling: deque[Request] = deque()
        self._slowest: list[tuple[int, int, Request]] = []
        self._number = 0

    def take(self, event: Event) -> None:
        values = event.values
        match event.name:
            case "part":
                self._part(event)
            case "run":
                self._runs.setdefault(values["flow"], []).append(event)
            case "request":
                self._request(event)
            case "fast":
                self._forget(values["flow"])
            case "blocked":
                self._blocked.append(_blocked(event))
            case "collected":
                self._collected.append((event.nanos, values["took"]))
        while self._settling and self._settling[0].end + _SETTLED < event.nanos:
            self._settle(self._settling.popleft())

    def finish(self) -> list[Request]:
        """The slowest requests, the slowest first."""
        while self._settling:
            self._settle(self._settling.popleft())
        return [request for _, _, request in sorted(self._slowest, reverse=True)]

    def _part(self, event: Event) -> None:
        values = event.values
        flow = values["flow"]
        parts = self._parts.setdefault(flow, [])
        if len(parts) >= MOST_PARTS:
            self._left_out[flow] = self._left_out.get(flow, 0) + 1
            return
        kind, what, site, failed = (str(values[name] or "") for name in ("kind", "what", "site", "failed"))
        start = event.nanos - values["took"]
        parts.append(Part(kind, what, site, failed, event.tid, event.thread, start, event.nanos))
        self._open += 1
        if self._open > _MOST_OPEN:
            self._forget(next(iter(self._parts)))  # the oldest

    def _forget(self, flow: int) -> list[Part]:
        parts = self._parts.pop(flow, [])
        self._open -= len(parts)
        self._left_out.pop(flow, None)
        self._runs.pop(flow, None)
        return parts

    def _request(self, event: Event) -> None:
        self.slow += 1
        values = event.values
        flow, start = values["flow"], self._clock.wall(values["began"])
        runs = tuple(_run(run.values, self._clock) for run in self._runs.pop(flow, []))
        left_out = self._left_out.get(flow, 0)
        parts = tuple(self._forget(flow))
        if len(self._slowest) >= self._top and values["took"] <= self._slowest[0][0]:
            return
        short = tuple(
            Short(kind, values[f"{kind}_n"], values[f"{kind}_ns"] or 0) for kind in _KINDS if values[f"{kind}_n"]
        )
        self._settling.append(
            Request(
                flow=flow,
                what=str(values["what"]),
                result=str(values["result"] or ""),
                tid=values["tid"],
                thread=str(values["worker"] or ""),
                start=start,
                end=start + values["took"],
                parts=parts,
                runs=runs,
                short=short,
                left_out=left_out,
            )
        )

    def _settle(self, request: Request) -> None:
        """Called when all samples from the time of the request have arrived."""
        tids = {request.tid, *(run.tid for run in request.runs)}
        blocked = tuple(
            sample for sample in self._blocked if sample.tid in tids and request.start < sample.nanos < request.end
        )
        collecting = sum(
            min(took, request.duration)
            for at, took in self._collected
            if request.start < at and at - _SAMPLED_EVERY - took < request.end
        )
        request = replace(request, blocked=blocked, collecting=min(collecting, request.duration))
        self._number += 1
        entry = (request.duration, -self._number, request)
        if len(self._slowest) < self._top:
            heapq.heappush(self._slowest, entry)
        else:
            heapq.heappushpop(self._slowest, entry)


def _run(values: Mapping[str, Any], clock: Clock) -> Run:
    return Run(
        number=values["number"],
        by=values["by"],
        tid=values["tid"],
        thread=str(values["worker"] or ""),
        handed=clock.wall(values["handed"]),
        began=clock.wall(values["began"]),
        ended=clock.wall(values["ended"]),
        running=values["running"],
    )


def _blocked(event: Event) -> Blocked:
    values = event.values
    return Blocked(
        nanos=event.nanos,
        tid=values["tid"],
        lock=values["lock"],
        id=values["id"],
        site=str(values["site"] or ""),
        owner=str(values["owner"] or ""),
        owner_site=str(values["owner_site"] or ""),
        waited=values["waited"],
        sampled=values["sampled"],
    )


def watch(
    session: Session,
    selection: Wanted,
    seconds: float | None,
    *,
    is_stopped: Callable[[], bool],
    begun: Callable[[], None],
) -> Report:
    """Follows the requests for this time (None: without end), or until the caller stops it or the JVM ends. ``begun``:
    called when the probes are in.

    Raises TargetGone if the JVM was killed, BtpyError if the scripts do not fit.
    """
    failures = put_in(session, selection)
    begun()
    collector = Collector(selection.top, session.context.clock)
    maker = EventMaker(session.context, session.target.pid)
    began = time.monotonic()
    with contextlib.closing(session.items(most=_MOST_WAITING)) as reader, contextlib.suppress(TargetGone):

        def take(deadline: float) -> None:
            for item in reader.take_all(deadline):
                if isinstance(item, Record):
                    collector.take(maker.record(item))

        while not is_stopped() and not session.ended and (seconds is None or time.monotonic() - began < seconds):
            take(time.monotonic() + _STEP)
        session.refresh()
        take(time.monotonic())
    passed = time.monotonic() - began
    requests = session.maps["@requests"].value
    accounts = session.figures.accounts.values()
    return Report(
        seconds=passed,
        requests=requests.n if isinstance(requests, Stats) else 0,
        mean=float(requests.mean) if isinstance(requests, Stats) else 0.0,
        slowest=int(requests.greatest or 0) if isinstance(requests, Stats) else 0,
        slow=collector.slow,
        trees=tuple((request, tree_of(request, selection.least)) for request in collector.finish()),
        lost=reader.dropped + sum(account.dropped for account in accounts),
        skipped=sum(account.skipped for account in accounts),
        failed=failures,
    )
