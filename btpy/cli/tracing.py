"""One run: a program on a target, from attaching to the summary."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from btpy.cli.live import USUAL_INTERVAL, Live, Terms, prints_by_itself
from btpy.cli.progress import told
from btpy.cli.report import (
    Left,
    Summary,
    Tally,
    accounts,
    banner,
    fillers,
    script_reasons,
    silent,
    summary_lines,
    unaccounted,
)
from btpy.cli.screen import Screen
from btpy.cli.showing import Showing
from btpy.cli.signals import Signals
from btpy.cli.until import Until
from btpy.errors import BtpyError, OutputError, TargetGone
from btpy.events.aggregates import MapContent
from btpy.events.items import ProbeTally
from btpy.events.records import tally
from btpy.jvm import attach, processes
from btpy.lang.diagnostics import Severity
from btpy.lang.outline import Outline
from btpy.lang.program import (
    EndAttachment,
    MethodAttachment,
    Program,
    TemplateKind,
)
from btpy.live.preview import expected_range
from btpy.output.quantities import counted, duration, grouped
from btpy.output.stream import ReaderGone, Stream
from btpy.output.writer import Attached, Clock, Context, Writer
from btpy.plan.plan import Refusal, RefusalReason
from btpy.session.session import Deployment, Limits, Receipt, Session
from btpy.wire.messages import Events, Message, Restrained

if TYPE_CHECKING:
    from btpy.cli.console import Console
    from btpy.cli.staying import Stay
    from btpy.cli.trace import Settings
    from btpy.jvm.connecting import Connecting
    from btpy.jvm.launching import Launching
    from btpy.recording.file import ChunkWriter
    from btpy.recording.recorder import Recorder

SWITCH_SECONDS = 0.0002
"""How long the thread that prints may keep the interpreter from the one that weaves, for which threads of the target
wait. Python's default, 5 ms, is what every class loaded there would wait while events come in."""

_POLL = 0.1  # seconds between looks at the clock and at signals
_ERROR_INTERVAL = 1.0  # seconds between two errors shown
_OTHER_AGENT = (
    "the agent of another build of btpy was loaded into this JVM before, and stays until it ends; "
    "if anything looks wrong, use that btpy or restart the JVM"
)
_UNIMPORTANT = (RefusalReason.NO_CODE, RefusalReason.UNMODIFIABLE)
_LISTED = 10  # lines of one kind before the rest is summed up


EXIT_BUDGET = 6


class Tracing:
    def __init__(
        self, program: Program, connecting: Connecting | Launching | Session, settings: Settings, console: Console
    ) -> None:
        self._program = program
        self._program_settings = dict(program.settings)
        self._connecting = connecting
        self._settings = settings
        self._console = console
        self._destination = settings.destination
        self._showing: Showing
        self._joined = False  # a session that went on while nobody was connected
        self._writer: Writer
        self._file: ChunkWriter | None = None
        self._recorder: Recorder | None = None
        self._receipt: Receipt | None = None  # when the target has been left
        self._acted_on = {
            template.id for template in program.templates if template.kind in (TemplateKind.EXIT, TemplateKind.WARN)
        }
        self._problems = 0  # shown so far
        self._refusals = 0

    @staticmethod
    def joined(session: Session, settings: Settings, console: Console) -> Tracing:
        """Of a session that is under way."""
        assert session.deployment is not None
        return Tracing(session.deployment.program, session, settings, console)

    def run(self) -> int:
        """The exit code. Raises BtpyError, LeftBehind among them; KeyboardInterrupt when the user insisted."""
        sys.setswitchinterval(SWITCH_SECONDS)
        with (
            Signals(to_file=self._destination.is_file) as signals,
            self._destination.open(self._console) as stream,
            self._open_recording() as recording,
        ):
            self._file = recording
            try:
                started = time.monotonic()
                with self._session() as session:
                    self._console.detail(f"attached in {(time.monotonic() - started) * 1000:.0f} ms")
                    if session.target.agent_build != attach.agent_build():
                        self._console.warning(_OTHER_AGENT)
                    return self._trace(session, stream, signals)
            except KeyboardInterrupt:
                goes_on = isinstance(self._connecting, Session)
                outlook = (
                    "the session goes on without a client" if goes_on else "the agent puts the classes back by itself"
                )
                self._console.warning(f"interrupted: {outlook}")
                raise

    def _limits(self) -> Limits:
        stays = self._settings.stay is not None
        limits = Limits.of(self._program_settings)
        given = self._settings.budget
        return replace(
            limits,
            redact=self._program.permissions.redact,
            unattended=stays,
            cpu_budget=limits.cpu_budget if given is None else given,
        )

    def _session(self) -> Session:
        if isinstance(self._connecting, Session):
            return self._connecting
        return Session.connected(self._connecting, self._limits())

    def _open_recording(self) -> contextlib.AbstractContextManager[ChunkWriter | None]:
        if self._destination.record is None:
            return contextlib.nullcontext()
        from btpy.recording.file import ChunkWriter

        return ChunkWriter.create(self._destination.record, compress=self._destination.compress)

    def _record(self, file: ChunkWriter, session: Session, context: Context) -> Recorder:
        from importlib.metadata import version

        from btpy.recording.entries import Started
        from btpy.recording.recorder import Recorder

        target, outline = session.target, context.outline
        started = Started(
            btpy=version("btpy"),
            pid=target.pid,
            main=target.main,
            java_version=target.java_version,
            vm_name=target.vm_name,
            nano_time=target.nano_time,
            wall_nanos=target.wall_nanos,
            redact=outline.redact,
            print_maps=outline.print_maps,
            hits=self._settings.hits or 0,
        )
        return Recorder(file, started, outline, session.sites, context.stacks)

    def _begin(self, session: Session, stream: Stream, signals: Signals, pid: int | None = None) -> Context:
        """Puts the probes in. ``pid``: as in Context."""
        started = time.monotonic()
        missing = self._settings.missing or str(self._program_settings.get("on_missing", "error"))
        self._joined = session.deployment is not None
        with told(session.progress, self._console):
            deployment = session.deployment or session.load(
                self._program, allow=self._settings.allow, missing=missing, level=self._settings.level
            )
        session.go()
        self._console.detail(f"probes in place after {(time.monotonic() - started) * 1000:.0f} ms")
        target = session.target
        clock = Clock(target.nano_time, target.wall_nanos)
        context = Context(Outline.of(self._program), session.sites, session.stacks, clock, pid)
        self._writer = writer = self._destination.writer(stream, context, self._console, self._settings.color)
        displayed = self._destination.displayed(stream, self._settings.rate)
        self._showing = Showing(context, writer, self._console, hits=self._settings.hits, displayed=displayed)
        signals.ask()  # before the banner says that Ctrl-C ends the run
        self._announce(deployment, session)
        if self._file is not None:
            self._recorder = self._record(self._file, session, context)
            self._recorder.attached(len(self._program.probes), deployment.methods, deployment.classes)
        writer.attached(Attached(len(self._program.probes), deployment.methods, deployment.classes))
        return context

    def _trace(self, session: Session, stream: Stream, signals: Signals) -> int:
        started = time.monotonic()
        context = self._begin(session, stream, signals)
        live = self._live(session, stream, signals, context)
        try:
            stream.flush()
            with live:
                reason = self._follow(session, stream, signals, live)
            stay = self._settings.stay
            if stay is not None and reason in ("left", "interrupt", "for", "hits"):
                return self._stay(session, stream, stay, started)
            left = self._leave(session, stream, reason)
        except TargetGone as gone:
            self._showing.give_up()
            self._showing.end("target-exited", self._tallies(session), None)
            if self._recorder is not None:
                self._recorder.ended("target-exited", session.tallies, left=None)
            self._summarize(session, None, started)
            stream.flush()
            lease = self._limits().lease_ms / 1000
            alive = processes.is_alive(session.target.process)
            if live.absent > lease / 2 and alive and not self._showing.exiting:
                raise TargetGone(
                    f"btpy was stopped for {live.absent:.0f} s, and the lease of {lease:.0f} s ran out:"
                    " the agent has put the classes back by itself",
                    help=["run the command again"],
                ) from gone
            raise
        except OutputError as error:
            # What went wrong is on this side: the target is put back in order, and only then it is reported.
            with contextlib.suppress(BtpyError):
                self._receipt = session.detach()
                if not isinstance(error, ReaderGone):
                    self._summarize(session, what_is_left(self._receipt), started)
            if isinstance(error, ReaderGone) and self._receipt is not None:
                self._receipt.require_clean(session.target.pid)
            raise
        finally:
            self._writer.close()
        if self._showing.exiting:
            self._summarize(session, None, started)
            raise TargetGone(f"the JVM {session.target.pid} has ended; all that its probes had recorded is here")
        self._summarize(session, left, started)
        if self._receipt is not None:
            self._receipt.require_clean(session.target.pid)
        return self._showing.exit_code or (EXIT_BUDGET if self._showing.all_over_budget else 0)

    def _live(self, session: Session, stream: Stream, signals: Signals, context: Context) -> Live:
        settings = self._settings
        in_place = settings.in_place and self._destination.is_text and Screen.can_be(stream.descriptor)
        interval = settings.interval
        if interval is None and in_place and self._program.maps and not prints_by_itself(context.outline):
            interval = USUAL_INTERVAL
        terms = Terms(
            style=self._destination.style(stream, self._console, settings.color),
            interval=interval or None,
            in_place=in_place,
            keys=settings.keys,
            pausable=self._destination.is_text and not self._destination.is_file,
            fresh=not self._joined,
            level=settings.level,
            levels=max((probe.level or 0 for probe in self._program.probes), default=0),
        )
        shown_maps = partial(self._shown_maps, session)
        return Live(session, shown_maps, self._showing, stream, self._console, signals, context.outline, terms)

    def _follow(self, session: Session, stream: Stream, signals: Signals, live: Live) -> str:
        """Shows what comes until there is a reason to end, which is returned."""
        limit, showing = self._settings.limit, self._showing
        if self._settings.ends:
            return "stopped"
        if self._settings.stay is not None and self._settings.stay.at_once:
            return "left"
        deadline = float("inf") if limit is None else time.monotonic() + limit
        until = None if self._settings.until is None else Until(self._settings.until, self._program)
        while True:
            poll = max(0.0, min(_POLL, live.patience, deadline - time.monotonic()))
            for message in session.received(timeout=poll):
                self._take(message, session)
                if isinstance(message, Restrained) and message.rest_ppm:
                    session.remove([message.probe])
                stream.flush()
                if showing.is_over or signals.pending or showing.exiting:
                    break
            if self._recorder is not None:
                self._recorder.flush()
            stream.flush()  # what is due by the clock
            self._show_findings(session)
            reason = self._why_over()
            if reason:
                return reason
            if signals.stop is not None:
                return "interrupt"
            if until is not None and until.is_due and until.holds(session.snapshot(until.maps)):
                return "until"
            if time.monotonic() >= deadline:
                return "for"
            live.turn()
            if signals.take(signal.SIGHUP) and self._destination.path is not None:
                stream.reopen(self._destination.path)

    def _why_over(self) -> str:
        """The reason to end that what came has given; empty: none."""
        showing = self._showing
        if showing.exiting:
            return "target-exited"
        if showing.exit_code is not None:
            return "exit"
        if showing.all_used_up:
            return "limit"
        if showing.hits_left == 0:
            if self._settings.hits_by_default:
                self._console.say(f"stopped after {self._settings.hits} hits (--hits N for more, --hits 0 for all)")
            return "hits"
        return ""

    def _take(self, message: Message, session: Session) -> None:
        """Records what came, and shows it: all of it, or when it is only recorded, what this side has to act on."""
        if self._recorder is not None:
            self._recorder.message(message)
        if self._destination.silent and isinstance(message, Events) and self._settings.hits is None:
            templates = {template for template, _ in tally(message.records)} if self._acted_on else set()
            if not templates & self._acted_on:
                return
        self._showing.item(session.item(message))

    def _shown_maps(self, session: Session) -> list[MapContent]:
        """The maps as they are now; they will be shown."""
        answers = session.snapshots()
        if self._recorder is not None:
            self._recorder.maps_shown(answers)
        return [content for answer in answers for content in session.contents(answer)]

    def _leave(self, session: Session, stream: Stream, reason: str) -> Left:
        """Probes out, ``@OnEnd``, the rest of the events, maps: in this order."""
        with told(session.progress, self._console):
            session.restore()
            answers = session.snapshots()
            receipt = session.detach()
        for message in session.received():  # all that had come by then, however slow the reader of the output is
            self._take(message, session)
            stream.flush()
        contents = [content for answer in answers for content in session.contents(answer)]
        self._receipt = receipt
        self._close(contents, receipt.tallies)
        if receipt.messages_dropped:
            self._console.warning(f"{receipt.messages_dropped} reports of the agent came faster than they were taken")
        left = what_is_left(receipt)
        if self._recorder is not None:
            self._recorder.maps_at_end(answers)
            self._recorder.ended(reason, receipt.tallies, left=(left.woven, left.restored, left.unloaded))
        self._showing.end(reason, self._tallies(session), left)
        stream.flush()
        return left

    def _close(self, contents: list[MapContent], tallies: Sequence[ProbeTally]) -> None:
        """Everything has come."""
        self._showing.close(contents, tallies)

    def _stay(self, session: Session, stream: Stream, stay: Stay, started: float) -> int:
        """btpy ends, the session does not."""
        answers = [] if stay.at_once else session.snapshots()
        number = session.leave(stay.ttl, stay.name)
        for message in session.received():
            self._take(message, session)
        self._showing.close([content for answer in answers for content in session.contents(answer)], session.tallies)
        if self._recorder is not None:
            self._recorder.maps_at_end(answers)
            self._recorder.ended("left", session.tallies, left=None)
        self._showing.end("left", self._tallies(session), None)
        stream.flush()
        id_, pid = f"{number:08x}", session.target.pid
        if stay.at_once:
            stream.write(f"{id_}\n")
            stream.flush()
        left = duration(round(stay.ttl) * 10**9)
        words = f"session {id_} goes on for {left}: btpy attach {pid} {id_} · btpy stop {pid} {id_}"
        self._summarize(session, None, started, words)
        return 0

    def _show_findings(self, session: Session) -> None:
        """What was found out about classes that were loaded meanwhile: probes that do not fit, code left alone."""
        problems, refusals = session.problems, session.refusals
        if problems[self._problems :] and self._console.verbosity >= 0:
            self._console.diagnostics([replace(each, severity=Severity.WARNING) for each in problems[self._problems :]])
        for refusal in refusals[self._refusals :]:
            if refusal.reason in _UNIMPORTANT:
                self._console.detail(_refusal(refusal))
            else:
                self._console.warning(_refusal(refusal))
        self._problems, self._refusals = len(problems), len(refusals)

    # ---- what the user is told

    def _announce(self, deployment: Deployment, session: Session) -> None:
        console = self._console
        if deployment.warnings and console.verbosity >= 0:
            console.diagnostics([replace(warning, severity=Severity.WARNING) for warning in deployment.warnings])
        self._problems, self._refusals = len(session.problems), len(deployment.refusals)
        refused = [refusal for refusal in deployment.refusals if refusal.reason not in _UNIMPORTANT]
        for refusal in refused[:_LISTED]:
            console.warning(_refusal(refusal))
        if len(refused) > _LISTED:
            console.warning(f"… and {len(refused) - _LISTED} more that cannot be traced (-v lists them)")
        fixed = [refusal for refusal in deployment.refusals if refusal.reason is RefusalReason.UNMODIFIABLE]
        summed_up = set(fixed if len(fixed) > _LISTED else ())
        for refusal in deployment.refusals:
            if refusal not in refused[:_LISTED] and refusal not in summed_up:
                console.detail(_refusal(refusal))
        if summed_up:
            console.detail(
                f"{grouped(len(summed_up))} hidden and lambda classes are not traced: the JVM keeps them as they are"
            )
        for each in session.late_bound:
            console.detail(each)
        for name in deployment.loaded_meanwhile:
            console.say(f"{name} was loaded while nobody was connected: its probes come in now")
        target = session.target
        milliseconds = deployment.weave_ns / 1e6
        console.say(
            banner(
                len(self._program.probes),
                deployment.methods,
                deployment.classes,
                target.main,
                target.pid,
                milliseconds,
                places=len(deployment.sites),
                nanos=expected_range(self._program),
                refused=len(refused),
                waiting=any(isinstance(probe.attachment, MethodAttachment) for probe in self._program.probes),
                end=self._what_ends_it(),
            )
        )
        console.detail(
            f"JDK {target.java_version}, {target.vm_name}, {grouped(target.loaded_classes)} classes loaded;"
            f" {counted(deployment.batches, 'batch')}, the longest stop {deployment.longest_pause_ns / 1e6:.1f} ms,"
            f" {deployment.waited_ns / 1e6:.0f} of {deployment.weave_ns / 1e6:.0f} ms waiting for woven classes"
        )

    def _what_ends_it(self) -> str:
        stay = self._settings.stay
        if self._settings.ends or (stay is not None and stay.at_once):
            return ""
        return " Ctrl-C to end." if stay is None else " Ctrl-C leaves it running."

    def _tallies(self, session: Session) -> tuple[Tally, ...]:
        return self._showing.tallies(session.tallies, list(session.sites.values()))

    def _summarize(self, session: Session, left: Left | None, started: float, stays: str = "") -> None:
        console = self._console
        showing = self._showing
        showing.errors.close()
        tallies = self._tallies(session)
        if left is not None:
            for line in unaccounted(tallies):
                console.warning(line)
        if console.verbosity < 0:
            return
        level = self._settings.level
        served = self._settings.missing == "all" and any(tally.fired for tally in tallies)
        for line in silent(() if served or stays else tallies, script_reasons(self._program, level))[:_LISTED]:
            console.say(line)
        ends = {probe.name for probe in self._program.probes if isinstance(probe.attachment, EndAttachment)}
        telling = [each for each in tallies if each.probe not in ends or each.produced or each.errors]
        accounted = tallies if console.verbosity > 0 else telling
        for line in accounts(accounted, all_=len(accounted) > 1 or console.verbosity > 0):
            console.say(line)
        seconds = time.monotonic() - started
        exited = left is None and showing.exiting
        alive = left is None and not exited and processes.is_alive(session.target.process)
        summary = Summary(
            tallies,
            left,
            seconds,
            showing.maps_full,
            showing.maps_evicted,
            showing.errors.total,
            alive,
            exited,
            recorded=self._destination.silent,
            stays=stays,
            age=session.age,
            fillers=fillers(self._program),
        )
        for line in summary_lines(summary):
            console.say(line)


def what_is_left(receipt: Receipt) -> Left:
    return Left(
        woven=receipt.woven,
        restored=receipt.restored,
        unloaded=receipt.unloaded,
        not_restored=tuple((each.class_name, each.reason) for each in receipt.not_restored),
        left_behind=receipt.left_behind,
        handler_classes=receipt.handler_classes,
        agent_classes=receipt.agent_classes,
    )


def _refusal(refusal: Refusal) -> str:
    where = refusal.class_name if refusal.method is None else f"{refusal.class_name}.{refusal.method}"
    return f"{where} is not traced [{refusal.reason.value}]: {refusal.detail}"
