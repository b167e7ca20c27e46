"""One run: a program on one target or on several, from attaching to the summary."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Union

from btpy import interpreter
from btpy.api import jvms
from btpy.api.attaching import Connecting, died_of
from btpy.api.programs import Program
from btpy.api.session import Limits, PulledSession, attach_pulled
from btpy.api.stop_condition import StopCondition
from btpy.cli.console import Console
from btpy.cli.debugging import Debugging
from btpy.cli.exporting import all_exports, report_when_due
from btpy.cli.live import USUAL_INTERVAL, Live, Terms, prints_by_itself
from btpy.cli.merged_maps import MergedMaps
from btpy.cli.screen import Screen
from btpy.cli.signals import Signals
from btpy.cli.target_run import Companion, TargetRun
from btpy.errors import BtpyError, LeftBehind, OutputError, TargetGone
from btpy.output.quantities import counted
from btpy.output.stream import ReaderGone, Stream

if TYPE_CHECKING:
    from btpy.api.attaching import Launching
    from btpy.api.recordings import ChunkWriter
    from btpy.cli.settings import Settings
    from btpy.cli.watching import Watching
    from btpy.output.writer import Context, Writer
    from btpy.present.export import Exporter

SWITCH_SECONDS = 0.0002
"""The thread switch interval. The printing thread must not block the weaving thread for long, because threads of the
target wait for it. With Python's default of 5 ms, every class load in the target would wait that long while events
arrive.
"""

_POLL = 0.1  # seconds between checks of the clock and of signals
_STAYING = ("left", "interrupt", "for", "hits", "reader-gone", "error")
"""If a run ends for one of these reasons, its session continues if the run has --keep, or if the session was joined."""

Reachable = Union[Connecting, "Launching", PulledSession]


class RunLoop:
    """``targets``: attaches and launches in progress, or one joined session; ``program`` is None for a joined session,
    which has its own program. If one of several targets fails, the user gets a message and the other targets go on.
    ``failures``: the errors so far. ``has_begun``: whether probes were put into a target. Only a run on one target has
    a ``companion`` or is ``watching`` a file.
    """

    def __init__(
        self,
        program: Program | None,
        targets: Sequence[Reachable],
        settings: Settings,
        console: Console,
        *,
        failures: Iterable[BtpyError] = (),
        several: bool = False,
        companion: Companion | None = None,
        watching: Watching | None = None,
    ) -> None:
        self._program = program
        self._targets = targets
        self._settings = settings
        self._console = console
        self._failures = list(failures)
        self._alone = not several
        self._companion = companion
        self._watching = watching
        self._debugging = Debugging(settings.debug, console) if settings.debug else None
        self._destination = settings.destination
        self._running: list[TargetRun] = []
        self._until = (
            StopCondition(settings.until, program) if settings.until is not None and program is not None else None
        )
        self._exporters: tuple[Exporter, ...] = ()
        self._exit_code = 0
        self._gone_count = 0
        self.has_begun = False
        self._stream: Stream
        self._signals: Signals
        self._together: MergedMaps

    def run(self) -> int:
        """The exit code. Raises BtpyError, also LeftBehind; KeyboardInterrupt at the second Ctrl-C."""
        with (
            Signals(to_file=self._destination.is_file) as self._signals,
            self._destination.open(self._console) as self._stream,
            all_exports(self._destination, self._console) as self._exporters,
            contextlib.ExitStack() as sessions,
        ):
            sessions.enter_context(interpreter.switch_interval(SWITCH_SECONDS))
            try:
                if self._debugging is not None and self._program is not None:
                    self._debugging.checked(self._program)
                for target in self._targets:
                    if self._running and self._signals.stop is not None:
                        break
                    self._begin(target, sessions)
                self._follow()
            except KeyboardInterrupt:
                goes_on = any(isinstance(target, PulledSession) for target in self._targets)
                outlook = (
                    "the session goes on without a client" if goes_on else "the agent puts the classes back by itself"
                )
                self._console.warning(f"interrupted: {outlook}")
                raise
            except OutputError as error:
                self._end_without_output(error)
                raise
            return self._end()

    def _recording_of(self, pid: int) -> contextlib.AbstractContextManager[ChunkWriter | None]:
        if self._destination.channel is not None:
            return self._destination.channel.stream.recording(pid)
        if self._destination.record is None:
            return contextlib.nullcontext()
        from btpy.api.recordings import ChunkWriter

        path = self._destination.record
        if not self._alone:
            path = path.with_name(f"{path.stem}-{pid}{path.suffix}")
        return ChunkWriter.create(path, compress=self._destination.compress)

    def _begin(self, target: Reachable, sessions: contextlib.ExitStack) -> None:
        console = self._console
        try:
            start = time.monotonic()
            session = target if isinstance(target, PulledSession) else self._attached(target)
            if not self._alone:
                console = console.of(str(session.target.pid))
            way = f" {target.way}" if isinstance(target, Connecting) else ""
            console.detail(f"attached in {(time.monotonic() - start) * 1000:.0f} ms{way}")
            traced = TargetRun(
                session,
                self._settings,
                console,
                self._stream,
                alone=self._alone,
                companion=self._companion,
                exporters=self._exporters,
            )
            file = sessions.enter_context(self._recording_of(session.target.pid))
            sessions.callback(traced.close)
            traced.begin(self._program, file, self._signals)
            if self._debugging is not None and session.deployment is not None:
                self._debugging.deployed(session.deployment)
            self._running.append(traced)
            self.has_begun = True
        except OutputError:
            raise
        except BtpyError as error:
            if self._alone:
                raise
            self._fail((target.target if isinstance(target, PulledSession) else target.process).pid, error)

    def _attached(self, target: Connecting | Launching) -> PulledSession:
        assert self._program is not None
        permissions = self._program.permissions
        debugging = self._debugging
        tap = debugging.message if debugging is not None and debugging.wants_messages else None
        return attach_pulled(target, permissions, limits=self._limits, tap=tap)

    @property
    def _limits(self) -> Limits:
        if self._program is None:
            return Limits()
        limits = Limits.of(dict(self._program.settings))
        budget = self._settings.budget
        return replace(
            limits,
            unattended=self._settings.stay is not None,
            cpu_budget=limits.cpu_budget if budget is None else budget,
        )

    def _fail(self, pid: int, error: BtpyError) -> None:
        """Reports the error of a target. Raises the error if there is no other target."""
        if self._alone:
            raise error
        self._failures.append(error)
        self._console.of(str(pid)).error(error)

    def _follow(self) -> None:
        """Runs until every target has ended."""
        if not self._running:
            raise NothingTraced(self._failures[0])
        if not self._alone:
            self._console.say(f"btpy: tracing {counted(len(self._running), 'JVM')}. Ctrl-C to end.")
        if self._destination.channel is not None:
            self._destination.channel.stream.report_ready()
        limit = self._settings.limit
        deadline = float("inf") if limit is None else time.monotonic() + limit
        self._together = MergedMaps(self._running, None if self._alone else self._writer_of_all)
        self._stream.flush()
        live = self._live()
        if self._watching is not None:
            self._watching.follow(self._running[0].program)
        while self._running:
            with live:
                endings = self._until_one_ends(live, deadline)
            for run, reason in endings:
                self._running.remove(run)
                if isinstance(reason, TargetGone):
                    self._lost(run, reason, live.absent)
                else:
                    self._leave(run, reason)

    def _until_one_ends(self, live: Live, deadline: float) -> list[tuple[TargetRun, str | TargetGone]]:
        """Shows events until a target ends. Returns the targets that end, with the reasons."""
        signals, stay = self._signals, self._settings.stay
        if self._settings.ends or (stay is not None and stay.at_once):
            return [(run, "stopped" if self._settings.ends else "left") for run in self._running]
        while True:
            endings: list[tuple[TargetRun, str | TargetGone]] = []
            common = self._why_all(deadline)
            poll = max(0.0, min(_POLL, live.patience, deadline - time.monotonic())) / len(self._running)
            for run in self._running:
                try:
                    reason = run.turn(poll, signals) or common
                except TargetGone as error:
                    endings.append((run, error))
                else:
                    endings += [(run, reason)] if reason else []
            if endings:
                return endings
            live.turn()
            report_when_due(self._exporters, self._read_for_export, self._console)
            if self._watching is not None:
                self._watching.turn(self._running)
            if signals.take(signal.SIGHUP) and self._destination.path is not None:
                self._stream.reopen(self._destination.path)

    def _read_for_export(self, due: Sequence[Exporter]) -> None:
        for run in self._running:
            with run.noticing():
                run.read_for_export(due)

    def _why_all(self, deadline: float) -> str:
        """The reason why all targets must end; empty: there is none."""
        if self._signals.stop is not None:
            return "interrupt"
        until = self._until
        if until is not None and until.begin_look() and until.holds(self._together.read(until.titles)):
            return "until"
        return "for" if time.monotonic() >= deadline else ""

    def _live(self) -> Live:
        first, settings, destination = self._running[0], self._settings, self._destination
        program, outline = first.program, first.context.outline
        in_place = settings.in_place and destination.is_text and Screen.can_be(self._stream.descriptor)
        interval = settings.interval
        if interval is None and in_place and program.maps and not prints_by_itself(outline):
            interval = USUAL_INTERVAL
        terms = Terms(
            style=destination.style(self._stream, self._console, settings.color),
            interval=interval or None,
            in_place=in_place,
            keys=settings.keys,
            pausable=destination.is_text and not destination.is_file,
            fresh=not first.joined,
            level=settings.level,
            levels=max((probe.level or 0 for probe in program.probes), default=0),
        )
        return Live(self._running, self._together, self._stream, self._console, self._signals, terms)

    def _writer_of_all(self, context: Context) -> Writer:
        return self._destination.writer(self._stream, context, self._console, self._settings.color)

    def _leave(self, one: TargetRun, reason: str) -> None:
        stay = self._settings.stay
        pid = one.session.target.pid
        try:
            if stay is not None and reason in _STAYING and (one.is_left or reason == "left" or not stay.at_once):
                self._together.left(one, one.stay(stay))
                return
            self._together.left(one, one.leave(reason))
            self._exit_code = self._exit_code or one.exit_code
            if one.showing.exiting:
                self._gone_count += 1
                if self._alone:
                    raise TargetGone(f"the JVM {pid} has ended; everything its probes had recorded is shown")
            elif died := died_of(one.session.target.process):
                self._gone_count += 1
                self._fail(pid, LostInTheEnd(pid, died))
                return
            one.require_clean()
        except LostInTheEnd:
            raise
        except TargetGone as ended:
            if one.receipt is not None:  # the session had ended regularly before
                raise
            self._lost(one, ended, 0.0)
        except LeftBehind as error:
            self._exit_code = error.exit_status
            self._fail(pid, error)
        except OutputError:
            self._running.append(one)  # the target must still be restored
            raise

    def _end_without_output(self, error: OutputError) -> None:
        """The output cannot be written any more: every target is restored as after Ctrl-C, and standard error reports
        it. The caller reports ``error``.
        """
        reason = "error"
        if isinstance(error, ReaderGone):
            reason = "reader-gone"
            self._console.say(f"btpy: {error}")
        for run in list(self._running):
            self._running.remove(run)
            run.mute()
            try:
                self._leave(run, reason)
            except TargetGone:
                pass  # all classes are restored
            except LeftBehind:
                if reason == "reader-gone":
                    raise  # only this error counts: it is no error that the reader has closed the output

    def _lost(self, one: TargetRun, error: TargetGone, absent: float) -> None:
        """``absent``: seconds for which btpy itself was stopped."""
        self._gone_count += 1
        lease = self._limits.lease_ms / 1000
        alive = jvms.is_alive(one.session.target.process)
        if absent > lease / 2 and alive and not one.showing.exiting:
            error = TargetGone(
                f"btpy was stopped for {absent:.0f} s, and the lease of {lease:.0f} s ran out:"
                " the agent has put the classes back by itself",
                help=["run the command again"],
            )
        try:
            self._fail(one.session.target.pid, error)
        finally:
            one.give_up(*self._together.lost(one))

    def _end(self) -> int:
        """The exit code of a run that is over. Raises TargetGone: all targets have ended."""
        if self._alone:
            return self._exit_code
        self._together.end()
        self._stream.flush()
        of = len(self._targets)
        if self._gone_count == of:
            sentence = "the JVM has ended; everything its" if of == 1 else f"all {of} JVMs have ended; everything their"
            raise TargetGone(f"{sentence} probes had recorded is shown")
        if self._gone_count:
            self._console.say(f"{self._gone_count} of {counted(of, 'JVM')} ended meanwhile")
        return self._exit_code


class LostInTheEnd(TargetGone):
    """The target has died during the restoration."""

    def __init__(self, pid: int, causes: Sequence[str]) -> None:
        super().__init__(f"the JVM {pid} has ended while the probes were taken out of it", help=causes)


class NothingTraced(BtpyError):
    """None of several targets could be traced. The user has seen the reason for each."""

    def __init__(self, first: BtpyError) -> None:
        super().__init__("there is nothing to trace")
        self.exit_status = first.exit_status
