"""``btpy PID,PID FILE`` and ``btpy --all NAME FILE``: one script in several JVMs. Each can fail or end alone."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Sequence

from btpy.cli.console import Console
from btpy.cli.options import Arguments
from btpy.cli.signals import Signals
from btpy.cli.trace import Settings, bounded, checked
from btpy.cli.tracing import SWITCH_SECONDS, Tracing
from btpy.errors import BtpyError, LeftBehind, OutputError, TargetGone, UsageError
from btpy.events.aggregates import MapContent, merge
from btpy.events.items import ProbeTally
from btpy.events.stacks import StackTable
from btpy.jvm import attach, processes
from btpy.jvm.connecting import Connecting
from btpy.jvm.processes import JvmProcess
from btpy.lang.outline import Outline
from btpy.lang.program import Program
from btpy.live.several import with_stacks
from btpy.output.quantities import counted
from btpy.output.stream import Stream
from btpy.output.writer import Clock, Context
from btpy.session.session import Session

FORMATS = ("text", "ndjson", "json")

_POLL = 0.1  # seconds between looks at the clock and at signals


def run(compile_: Callable[[], Program], arguments: Arguments, settings: Settings, console: Console) -> int:
    """The exit code. Raises BtpyError: nothing could be traced, or all targets are gone."""
    _refuse_what_is_for_one(arguments, settings)
    found, failures = _found(arguments.positionals[0], every=arguments.switch("all"))
    attach.prepare()
    program = bounded(checked(compile_, console), settings)
    settings.destination.check(program, console)
    return _Several(program, found, failures, settings, console).run()


def _refuse_what_is_for_one(arguments: Arguments, settings: Settings) -> None:
    destination = settings.destination
    if destination.format.name not in FORMATS or destination.silent or destination.record is not None:
        raise UsageError("the output of several JVMs is text, ndjson or json", help=["-f ndjson -o FILE"])
    given = {
        "--unattended": arguments.switch("unattended"),
        "--list": arguments.switch("list"),
        "--dry-run": arguments.switch("plan"),
        "--interval": arguments.text("interval") is not None,
        "--until": settings.until is not None,
    }
    for flag, is_given in given.items():
        if is_given:
            raise UsageError(f"{flag} is for one JVM")


def _found(text: str, *, every: bool) -> tuple[list[JvmProcess], list[BtpyError]]:
    """The JVMs that are meant, and why others that are cannot be traced. Raises AttachError, UsageError."""
    if every:
        named = processes.find_all(text)
        failures = [process.obstacle for process in named if process.obstacle is not None]
        return [process for process in named if process.obstacle is None], list(failures)
    found: dict[int, JvmProcess] = {}
    failed: list[BtpyError] = []
    for name in filter(None, text.split(",")):
        try:
            process = processes.find(name)
            if process.obstacle is not None:
                raise process.obstacle
            found[process.pid] = process
        except BtpyError as error:
            failed.append(error)
    if not found and not failed:
        raise UsageError(f"{text!r} names no JVM", help=["btpy 4711,4712 FILE.bt"])
    return list(found.values()), failed


class _Several:
    def __init__(
        self,
        program: Program,
        found: Sequence[JvmProcess],
        failures: Sequence[BtpyError],
        settings: Settings,
        console: Console,
    ) -> None:
        self._program = program
        self._processes = found
        self._failures = list(failures)
        self._settings = settings
        self._console = console
        self._maps: dict[int, list[MapContent]] = {}
        self._stacks = StackTable()
        self._exit_code = 0
        self._ended = 0

    def run(self) -> int:
        sys.setswitchinterval(SWITCH_SECONDS)
        destination = self._settings.destination
        for error in self._failures:
            self._console.error(error)
        with contextlib.ExitStack() as stack:
            signals = stack.enter_context(Signals(to_file=destination.is_file))
            stream = stack.enter_context(destination.open(self._console))
            running = self._begun(stack, stream, signals)
            if not running:
                raise _Told(self._failures[0])
            self._console.say(f"btpy: tracing {counted(len(running), 'JVM')}. Ctrl-C to end.")
            try:
                self._follow(running, stream, signals)
                self._print_maps(stream)
                stream.flush()
            except OutputError:
                for each in running:
                    with contextlib.suppress(BtpyError):
                        each.session.detach()
                raise
        if self._ended:
            of = len(self._processes)
            if self._ended == of:
                raise TargetGone(f"all {of} JVMs have ended; all that their probes had recorded is here")
            self._console.say(f"{self._ended} of {counted(of, 'JVM')} ended meanwhile")
        return self._exit_code

    def _begun(self, stack: contextlib.ExitStack, stream: Stream, signals: Signals) -> list[_One]:
        """Those in which the probes are."""
        attempts = []
        for process in self._processes:
            try:
                attempts.append(stack.enter_context(Connecting(process)))
            except BtpyError as error:
                self._fail(process.pid, error)
        begun = []
        for connecting in attempts:
            pid = connecting.process.pid
            tracing = _One(self._program, connecting, self._settings, self._console.of(str(pid)))
            try:
                stack.enter_context(tracing.begin(stream, signals))
                begun.append(tracing)
            except BtpyError as error:
                tracing.close()
                self._fail(pid, error)
        return begun

    def _fail(self, pid: int, error: BtpyError) -> None:
        self._failures.append(error)
        self._console.of(str(pid)).error(error)

    def _follow(self, running: list[_One], stream: Stream, signals: Signals) -> None:
        """Until each has a reason to end, or all do."""
        limit = self._settings.limit
        deadline = float("inf") if limit is None else time.monotonic() + limit
        while running:
            for each in list(running):
                poll = max(0.0, min(_POLL / len(running), deadline - time.monotonic()))
                reason = "interrupt" if signals.stop else "for" if time.monotonic() >= deadline else ""
                try:
                    reason = each.turn(poll, stream, signals) or reason
                    if reason:
                        running.remove(each)
                        self._left(each, each.leave(stream, reason))
                        self._ended += reason == "target-exited"
                except TargetGone as gone:
                    running.remove(each)
                    each.give_up(stream)
                    self._ended += 1
                    self._fail(each.session.target.pid, gone)
            if signals.take(signal.SIGUSR1):
                for each in running:
                    each.answer_signal()
            if signals.take(signal.SIGHUP) and self._settings.destination.path is not None:
                stream.reopen(self._settings.destination.path)

    def _left(self, one: _One, contents: Sequence[MapContent]) -> None:
        for content in contents:
            moved = with_stacks(content, one.session.stacks, self._stacks)
            self._maps.setdefault(content.map.id, []).append(moved)
        self._exit_code = self._exit_code or one.exit_code
        try:
            one.require_clean()
        except LeftBehind as error:
            self._exit_code = error.exit_status
            self._console.of(str(one.session.target.pid)).error(error)

    def _print_maps(self, stream: Stream) -> None:
        """Those of all targets as one."""
        context = Context(Outline.of(self._program), {}, self._stacks, Clock(0, 0))
        writer = self._settings.destination.writer(stream, context, self._console, self._settings.color)
        for _, contents in sorted(self._maps.items()):
            merged = merge(contents)
            if merged.entries:
                writer.map(merged, None, None)
        writer.close()


class _Told(BtpyError):
    """Nothing could be traced, and each has said why."""

    def __init__(self, first: BtpyError) -> None:
        super().__init__("there is nothing to trace")
        self.exit_status = first.exit_status


class _One(Tracing):
    """One of the targets."""

    def begin(self, stream: Stream, signals: Signals) -> Session:
        """Raises BtpyError."""
        self._started = time.monotonic()
        self.session = self._session()
        self._at_end: list[MapContent] = []
        self._begin(self.session, stream, signals, self.session.target.pid)
        return self.session

    def close(self) -> None:
        """It could not begin."""
        if hasattr(self, "session"):
            self.session.close()

    @property
    def exit_code(self) -> int:
        return self._showing.exit_code or 0

    def require_clean(self) -> None:
        """Raises LeftBehind."""
        if self._receipt is not None:
            self._receipt.require_clean(self.session.target.pid)

    def turn(self, poll: float, stream: Stream, signals: Signals) -> str:
        """Shows what comes within ``poll`` seconds; why it is to end."""
        showing = self._showing
        for message in self.session.received(timeout=poll):
            self._take(message, self.session)
            stream.flush()
            if showing.is_over or signals.pending or showing.exiting:
                break
        self._show_findings(self.session)
        return self._why_over()

    def answer_signal(self) -> None:
        """SIGUSR1: the script's own answer, or its maps."""
        with contextlib.suppress(TargetGone):
            self.session.send("")
            self._showing.maps(self._shown_maps(self.session))

    def leave(self, stream: Stream, reason: str) -> list[MapContent]:
        """The maps that are to be shown with those of the others. Raises TargetGone."""
        left = self._leave(self.session, stream, reason)
        self._summarize(self.session, None if self._showing.exiting else left, self._started)
        self._writer.close()
        return self._at_end

    def give_up(self, stream: Stream) -> None:
        """It is gone."""
        self._showing.give_up()
        self._showing.end("target-exited", self._tallies(self.session), None)
        self._summarize(self.session, None, self._started)
        stream.flush()

    def _what_ends_it(self) -> str:
        return ""

    def _close(self, contents: list[MapContent], tallies: Sequence[ProbeTally]) -> None:
        self._at_end = self._showing.unprinted(contents)
        self._showing.close([], tallies)
        self._showing.note_full(contents)
