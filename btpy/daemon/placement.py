"""Keeps one standing probe in one JVM: begins its session, or joins the session that an earlier daemon left, and
exports its output."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from enum import Enum, auto

from btpy.api import jvms, unattended
from btpy.api.attaching import Connecting
from btpy.api.export import origin_of
from btpy.api.jvms import JvmProcess
from btpy.api.results import MapContent, Receipt, Restrained
from btpy.api.session import Limits, PulledSession, attach_pulled
from btpy.daemon.probes import StandingProbe
from btpy.dataclass import dataclass
from btpy.errors import BtpyError, TargetGone, UsageError
from btpy.output.otlp.export import OtlpExport
from btpy.output.quantities import counted
from btpy.output.writer import ProbeReport
from btpy.present.export import Export

_POLL = 0.2  # seconds between two checks of the clock and of requests


class Ending(Enum):
    """The two ways to end a placement: the probes come out, or stay for the next daemon."""

    WITHDRAW = auto()
    KEEP = auto()


class Outcome(Enum):
    """How a placement ended. STOPPED: a user stopped its session, or the script ended by itself. FAILED: another
    attempt may succeed later."""

    ENDED = auto()
    GONE = auto()
    STOPPED = auto()
    FAILED = auto()


@dataclass(frozen=True, slots=True)
class Terms:
    """The settings that all placements of a daemon share. ``ttl``: seconds that a session goes on without the daemon;
    ``exporting``: the lock that a thread holds while it uses the exporter; ``report``: takes a message for the user."""

    exporter: OtlpExport
    exporting: threading.Lock
    interval: float
    ttl: float
    report: Callable[[str], None]


class Placement:
    """One standing probe in one JVM, with its own thread. ``session_name``: the name of the session. ``was_in``: this
    daemon has put the probe in before; if the session is missing, a user has stopped it. ``outcome``: None while the
    placement runs; ``error``: the reason of a failure.
    """

    def __init__(
        self, process: JvmProcess, probe: StandingProbe, session_name: str, terms: Terms, *, was_in: bool
    ) -> None:
        self.process = process
        self.probe = probe
        self.is_in = was_in
        self.outcome: Outcome | None = None
        self.error: BtpyError | None = None
        self._session_name = session_name
        self._terms = terms
        self._requested_ending: Ending | None = None
        self._last: list[MapContent] = []  # the maps of the last reading
        self._thread = threading.Thread(target=self._run, name="btpy-placement", daemon=True)

    @property
    def title(self) -> str:
        return f"{self.probe.name} in {self.process.short_main} ({self.process.pid})"

    def start(self) -> None:
        self._thread.start()

    def ask(self, ending: Ending) -> None:
        """Asks the placement to end soon."""
        self._requested_ending = self._requested_ending or ending

    def wait(self, seconds: float) -> bool:
        """Waits at most so many seconds for the end of the placement; returns whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    # The methods below run on the thread of the placement.

    def _run(self) -> None:
        try:
            outcome = self._placed()
        except BtpyError as error:
            self.error = error
            outcome = self._reason_of_failure()
        self.outcome = outcome

    def _reason_of_failure(self) -> Outcome:
        if not jvms.is_alive(self.process):
            return Outcome.GONE
        with contextlib.suppress(BtpyError):
            if self.is_in and not self._is_there():
                return Outcome.STOPPED
        return Outcome.FAILED

    def _placed(self) -> Outcome:
        if not self._is_there():
            if self.is_in:
                return Outcome.STOPPED
            self._put_in()
            self.is_in = True
        session = unattended.join_pulled(self.process, self._session_name)
        self.is_in = True
        try:
            return self._follow(session)
        finally:
            session.close()

    def _is_there(self) -> bool:
        """Whether the session exists. Raises UsageError when another client has joined it."""
        for session in unattended.listed(self.process):
            if session.name == self._session_name:
                if session.clients:
                    raise UsageError(f"another client has joined the session {session.id}")
                return True
        return False

    def _put_in(self) -> None:
        """Begins an unattended session, which goes on if the daemon is killed."""
        program = self.probe.program
        limits = replace(Limits.of(dict(program.settings)), unattended=True)
        if self.probe.budget is not None:
            limits = replace(limits, cpu_budget=self.probe.budget)
        with Connecting(self.process, allow=program.permissions.allow) as connecting:
            session = attach_pulled(connecting, program.permissions, limits=limits)
            try:
                session.scripts.load(program, missing="ignore")
                session.go()
                session.leave(self._terms.ttl, self._session_name)
            finally:
                session.close()

    def _follow(self, session: PulledSession) -> Outcome:
        terms = self._terms
        assert session.deployment is not None
        terms.report(f"{self.title}: the probes are in {counted(session.deployment.methods, 'method')}")
        origin = origin_of(session.target, redact=session.context.outline.redact)
        with terms.exporting:
            export = Export(terms.exporter, session.context, origin, None)
        try:
            self._export_all(session, export)
        except TargetGone:
            with terms.exporting:
                export.end("target-exited", self._last, _reports(session, export), None)
            raise
        if self._requested_ending is Ending.KEEP and not export.why_over:
            session.leave(terms.ttl, self._session_name)
            self._end(session, export, "left", None)
            return Outcome.ENDED
        receipt = session.detach()
        self._end(session, export, export.why_over or "stopped", receipt)
        receipt.require_clean(session.target.pid)
        if export.why_over == "target-exited":
            return Outcome.GONE
        return Outcome.ENDED if self._requested_ending is not None else Outcome.STOPPED

    def _export_all(self, session: PulledSession, export: Export) -> None:
        """Exports until the daemon asks the placement to end, or the target sends no more messages."""
        due = time.monotonic() + self._terms.interval
        while self._requested_ending is None and not export.why_over:
            for message in session.received(timeout=_POLL):
                item = session.item(message)
                with self._terms.exporting:
                    export.item(item)
                if isinstance(message, Restrained) and message.rest_ppm:
                    self._take_out(session, message.probe)
                if self._requested_ending is not None or export.why_over:
                    break
            if time.monotonic() >= due:
                due = time.monotonic() + self._terms.interval
                self._last = session.maps.contents(session.maps.answers())
                with self._terms.exporting:
                    export.read(self._last, session.figures.accounts.values())

    def _take_out(self, session: PulledSession, id_: int) -> None:
        probe = session.scripts.probe(id_)
        if probe is not None:
            session.remove(probe)
            self._terms.report(f"{self.title}: {probe} is taken out, because it costs too much although it is disabled")

    def _end(self, session: PulledSession, export: Export, reason: str, receipt: Receipt | None) -> None:
        with self._terms.exporting:
            for message in session.received():  # all arrived messages
                export.item(session.item(message))
            contents = session.maps.contents(session.maps.answers())
            export.end(reason, contents, _reports(session, export), receipt)


def _reports(session: PulledSession, export: Export) -> tuple[ProbeReport, ...]:
    return export.reports(list(session.figures.accounts.values()), list(session.context.sites.values()))
