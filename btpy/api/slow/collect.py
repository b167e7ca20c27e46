"""Runs the scripts of ``parts`` in a session, as one program, and keeps what the slowest requests did."""

from __future__ import annotations

import contextlib
import heapq
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from pathlib import Path

from btpy.api.events import Event, EventMaker
from btpy.api.session import Session
from btpy.api.slow import reports
from btpy.dataclass import dataclass
from btpy.errors import BtpyError, ProtocolError, TargetGone
from btpy.events.aggregates import Stats
from btpy.events.records import Record
from btpy.events.request_tree import Node, tree_of
from btpy.events.requests import Blocked, Part, Request, Run
from btpy.output.writer import Clock

PARTS = Path(__file__).parent / "parts"
"""The directory of the scripts."""

_BASE = ("requests",)
_OPTIONAL = ("http_server", "jdbc", "pools", "locks", "http_client", "frameworks")

MOST_PARTS = 1000
"""The largest number of parts of a request that are kept."""
_MOST_OPEN = 100_000
"""The largest number of parts of requests that have not ended."""
_MOST_SAMPLES = 20_000
"""The largest number of samples that are kept for work of many threads."""
_MOST_SETTLING = 10_000
"""The largest number of requests that wait for the samples of their time."""
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
    ``unreadable``: records whose values had wrong types. ``skipped``: hits of probes that the budget left out.
    ``failed``: the scripts that do not fit the JVM, with the reason.
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
    unreadable: int = 0


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


@dataclass(slots=True)
class _OpenRequest:
    """The reports about a request that has not ended. ``left_out``: the number of parts that were not kept."""

    parts: list[Part] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    left_out: int = 0


class Collector:
    """Collects the slowest requests from the events of the scripts. Memory is bounded: for ``top`` requests, and for
    the parts of requests that have not ended.
    """

    def __init__(self, top: int, clock: Clock) -> None:
        self.slow = 0
        self._clock = clock
        self._top = top
        self._open: dict[int, _OpenRequest] = defaultdict(_OpenRequest)
        self._open_parts = 0
        self._blocked: deque[Blocked] = deque(maxlen=_MOST_SAMPLES)
        self._collected: deque[tuple[int, int]] = deque(
            maxlen=_MOST_SAMPLES
        )  # for each garbage collection: its event, its duration
        self._settling: deque[Request] = deque()
        self._slowest: list[tuple[int, int, Request]] = []
        self._number = 0

    def take(self, event: Event) -> None:
        """Raises ProtocolError for an event with values of other types than the scripts emit."""
        match event.name:
            case "part":
                self._part(reports.flow_of(event), reports.part(event))
            case "run":
                self._run(reports.flow_of(event), reports.run(event, self._clock))
            case "request":
                self._request(reports.request(event, self._clock))
            case "fast":
                self._forget(reports.flow_of(event))
            case "blocked":
                self._blocked.append(reports.blocked(event))
            case "collected":
                self._collected.append((event.nanos, reports.collected(event)))
        while self._settling and (
            self._settling[0].end + _SETTLED < event.nanos or len(self._settling) > _MOST_SETTLING
        ):
            self._settle(self._settling.popleft())

    def finish(self) -> list[Request]:
        """The slowest requests, the slowest first."""
        while self._settling:
            self._settle(self._settling.popleft())
        return [request for _, _, request in sorted(self._slowest, reverse=True)]

    def _part(self, flow: int, part: Part) -> None:
        open_request = self._open[flow]
        if len(open_request.parts) >= MOST_PARTS:
            open_request.left_out += 1
            return
        open_request.parts.append(part)
        self._count()

    def _run(self, flow: int, run: Run) -> None:
        runs = self._open[flow].runs
        if len(runs) < MOST_PARTS:
            runs.append(run)
            self._count()

    def _count(self) -> None:
        self._open_parts += 1
        if self._open_parts > _MOST_OPEN:
            self._forget(next(iter(self._open)))  # the oldest

    def _forget(self, flow: int) -> _OpenRequest:
        open_request = self._open.pop(flow, None) or _OpenRequest()
        self._open_parts -= len(open_request.parts) + len(open_request.runs)
        return open_request

    def _request(self, ended: reports.SlowRequest) -> None:
        self.slow += 1
        if ended.request is None:
            return
        open_request = self._forget(ended.request.flow)
        if len(self._slowest) >= self._top and ended.took <= self._slowest[0][0]:
            return
        self._settling.append(
            replace(
                ended.request,
                parts=tuple(open_request.parts),
                runs=tuple(open_request.runs),
                left_out=open_request.left_out,
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
    unreadable = 0
    with contextlib.closing(session.items(most=_MOST_WAITING)) as reader, contextlib.suppress(TargetGone):

        def take(deadline: float) -> None:
            nonlocal unreadable
            for item in reader.take_all(deadline):
                if isinstance(item, Record):
                    try:
                        collector.take(maker.record(item))
                    except ProtocolError:
                        unreadable += 1

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
        unreadable=unreadable,
    )
