"""One run: a program on a target, from attaching to the summary."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from btpy.cli.report import (
    USED_UP,
    Left,
    Summary,
    Tally,
    accounts,
    banner,
    counted,
    disabled,
    grouped,
    probe_error,
    sampling_words,
    silent,
    summary_lines,
    unaccounted,
)
from btpy.cli.signals import Signals
from btpy.cli.throttle import Throttle
from btpy.errors import BtpyError, OutputError, ProtocolError, TargetGone
from btpy.events.aggregates import MapContent
from btpy.events.records import Record
from btpy.events.speculation import Speculations
from btpy.jvm import attach, processes
from btpy.lang.diagnostics import Severity
from btpy.lang.program import (
    EndAttachment,
    EventAttachment,
    MethodAttachment,
    Program,
    Template,
    TemplateKind,
    TimerAttachment,
)
from btpy.lang.source import Span
from btpy.output.ndjson import NdjsonWriter
from btpy.output.stream import ReaderGone, Stream
from btpy.output.style import Style
from btpy.output.templates import Renderer, warnings
from btpy.output.text import TextWriter
from btpy.output.writer import Attached, Clock, Context, End, Loss, ProbeAccount, ProbeError, Writer
from btpy.plan.plan import Refusal, RefusalReason
from btpy.session.session import Deployment, Item, Limits, PrintedMaps, ProbeTally, Receipt, Records, Session
from btpy.wire.messages import (
    UNKNOWN_PROBE,
    Counters,
    ErrorKind,
    Errors,
    Exiting,
    Late,
    LateOutcome,
    ProbeCounters,
    ProbeFailure,
    ProbeState,
)

if TYPE_CHECKING:
    from btpy.cli.console import Console
    from btpy.cli.trace import Settings
    from btpy.session.connecting import Connecting
    from btpy.session.launching import Launching

_SWITCH_SECONDS = 0.0002
"""How long the thread that prints may keep the interpreter from the one that weaves, for which threads of the target
wait. Python's default, 5 ms, is what every class loaded there would wait while events come in."""

_POLL = 0.1  # seconds between looks at the clock and at signals
_SLOW = 1.0  # seconds after which leaving says that it is still at it
_ERROR_INTERVAL = 1.0  # seconds between two errors shown
_OTHER_AGENT = (
    "the agent of another build of btpy was loaded into this JVM before, and stays until it ends; "
    "if anything looks wrong, use that btpy or restart the JVM"
)
_DISPLAYED = 200  # events a second of one probe
_UNIMPORTANT = (RefusalReason.NO_CODE, RefusalReason.UNMODIFIABLE)
_LISTED = 10  # lines of one kind before the rest is summed up


class Tracing:
    def __init__(
        self, program: Program, connecting: Connecting | Launching, settings: Settings, console: Console
    ) -> None:
        self._program = program
        self._program_settings = dict(program.settings)
        self._connecting = connecting
        self._settings = settings
        self._console = console
        self._errors = _ErrorLog(console)
        self._dropped: Counter[tuple[int, str]] = Counter()
        self._hits = 0
        self._withheld: Counter[int] = Counter()
        self._exits: Counter[int] = Counter()  # travel among the records, but are not events
        self._speculations = Speculations(program.templates)
        self._printed_at_end: set[int] = set()
        self._maps_full: dict[str, int] = {}
        self._maps_evicted: dict[str, int] = {}
        self._exit_code: int | None = None
        self._states: dict[int, ProbeState] = {}
        self._throttle = Throttle(None, lambda probe: self._program.probes[probe].name)
        self._warnings: Callable[[Template], Renderer] | None = None
        self._problems = 0  # shown so far
        self._refusals = 0
        self._exiting = False  # the target is, and waits until everything has been taken

    def run(self) -> int:
        """The exit code. Raises BtpyError; KeyboardInterrupt when the user insisted."""
        to_file = self._settings.output is not None
        sys.setswitchinterval(_SWITCH_SECONDS)
        with Signals(to_file=to_file) as signals, self._open() as stream:
            try:
                started = time.monotonic()
                with Session.connected(self._connecting, self._limits()) as session:
                    self._console.detail(f"attached in {(time.monotonic() - started) * 1000:.0f} ms")
                    if session.target.agent_build != attach.agent_build():
                        self._console.warning(_OTHER_AGENT)
                    return self._trace(session, stream, signals)
            except KeyboardInterrupt:
                self._console.warning("interrupted: the agent puts the classes back by itself")
                raise

    def _limits(self) -> Limits:
        return replace(Limits.of(self._program_settings), redact=self._program.permissions.redact)

    def _open(self) -> Stream:
        ascii_only = not self._console.unicode and self._settings.format == "text"
        if self._settings.output is None:
            return Stream.stdout(ascii_only=ascii_only)
        return Stream.file(self._settings.output, append=self._settings.append, ascii_only=ascii_only)

    def _writer(self, stream: Stream, context: Context) -> Writer:
        if self._settings.format == "ndjson":
            return NdjsonWriter(stream, context)
        from btpy.cli.console import wants_color

        color = wants_color(self._settings.color, stream.descriptor)
        return TextWriter(stream, context, Style(unicode=self._console.unicode, color=color))

    def _displayed(self, stream: Stream) -> int | None:
        """Events a second of one probe; None: all. What is recorded, or read by programs, is not cut."""
        if self._settings.rate is not None:
            return self._settings.rate or None
        return _DISPLAYED if self._settings.format == "text" and os.isatty(stream.descriptor) else None

    def _trace(self, session: Session, stream: Stream, signals: Signals) -> int:
        started = time.monotonic()
        missing = self._settings.missing or str(self._program_settings.get("on_missing", "error"))
        deployment = session.load(
            self._program, allow=self._settings.allow, missing=missing, level=self._settings.level
        )
        session.go()
        self._console.detail(f"probes in place after {(time.monotonic() - started) * 1000:.0f} ms")
        target = session.target
        clock = Clock(target.nano_time, target.wall_nanos)
        context = Context(self._program, session.sites, session.stacks, clock)
        writer = self._writer(stream, context)
        self._warnings = warnings(context, Style(unicode=self._console.unicode))
        self._throttle.limit = self._displayed(stream)
        self._announce(deployment, session)
        writer.attached(Attached(len(self._program.probes), deployment.methods, deployment.classes))
        signals.ask()
        try:
            stream.flush()
            reason = self._follow(session, writer, stream, signals)
            left = self._leave(session, writer, stream, reason)
        except TargetGone:
            self._speculations.close()
            self._say_end(writer, session, "target-exited", None)
            self._summarize(session, None, started)
            stream.flush()
            raise
        except OutputError as error:
            # What went wrong is on this side: the target is put back in order, and only then it is reported.
            with contextlib.suppress(BtpyError):
                receipt = session.detach()
                if not isinstance(error, ReaderGone):
                    self._summarize(session, _left(receipt), started)
            raise
        if self._exiting:
            self._summarize(session, None, started)
            raise TargetGone(f"the JVM {target.pid} has ended; all that its probes had recorded is here")
        self._summarize(session, left, started)
        return 0 if self._exit_code is None else self._exit_code

    def _follow(self, session: Session, writer: Writer, stream: Stream, signals: Signals) -> str:
        """Shows what comes until there is a reason to end, which is returned."""
        limit = self._settings.limit
        deadline = None if limit is None else time.monotonic() + limit
        while True:
            poll = _POLL if deadline is None else max(0.0, min(_POLL, deadline - time.monotonic()))
            for item in session.items(timeout=poll):
                self._show(item, session, writer)
                stream.flush()
                if self._is_over() or signals.pending or self._exiting:
                    break
            self._show_findings(session)
            if self._exiting:
                return "target-exited"
            if self._exit_code is not None:
                return "exit"
            if self._all_used_up:
                return "limit"
            if self._hits_left() == 0:
                if self._settings.hits_by_default:
                    self._console.say(f"stopped after {self._settings.hits} hits (--hits N for more, --hits 0 for all)")
                return "hits"
            if signals.stop is not None:
                return "interrupt"
            if deadline is not None and time.monotonic() >= deadline:
                return "for"
            if signals.take_maps():
                if self._listens_to_signal():
                    session.send("")
                else:
                    self._print_maps(session.snapshot(), writer)
                stream.flush()
            if signals.take_reopen() and self._settings.output is not None:
                stream.reopen(self._settings.output)

    def _listens_to_signal(self) -> bool:
        """Whether the script has its own answer to SIGUSR1; without one, it has the maps printed."""
        return any(
            isinstance(probe.attachment, EventAttachment) and not probe.attachment.name
            for probe in self._program.probes
        )

    def _leave(self, session: Session, writer: Writer, stream: Stream, reason: str) -> Left:
        """Probes out, ``@OnEnd``, the rest of the events, maps: in this order."""
        with _patience(lambda: self._console.say("putting the classes back …")):
            session.restore()
            contents = session.snapshot()
            receipt = session.detach()
        for item in session.items(timeout=_POLL):
            self._show(item, session, writer)
            stream.flush()
        self._speculations.close()
        for probe, count in self._speculations.dropped.items():
            self._report_losses(probe, {"speculation": count}, writer)
        for line in self._throttle.close():
            writer.note(line)
        self._maps_full = {content.map.title: content.full for content in contents if content.full}
        self._maps_evicted = {content.map.title: content.evicted for content in contents if content.evicted}
        if self._program_settings.get("print_maps_on_exit", True):
            self._print_maps([content for content in contents if content.map.id not in self._printed_at_end], writer)
        for tally in receipt.tallies:
            self._report_losses(tally.probe, _causes(tally), writer)
        if receipt.messages_dropped:
            self._console.warning(f"{receipt.messages_dropped} reports of the agent came faster than they were taken")
        left = _left(receipt)
        self._say_end(writer, session, reason, left)
        stream.flush()
        return left

    # ---- what comes back

    def _show(self, item: Item, session: Session, writer: Writer) -> None:
        if isinstance(item, Records):
            self._show_records(self._speculations.settle(item.records), writer)
        elif isinstance(item, PrintedMaps):
            self._show_maps(item, writer)
        elif isinstance(item, Errors):
            for failure in item.failures:
                error = self._probe_error(failure)
                writer.probe_error(error)
                self._errors.add(error)
        elif isinstance(item, Counters):
            for counters in item.probes:
                self._report_losses(counters.probe, _causes(counters), writer)
                self._report_state(counters)
        elif isinstance(item, Exiting):
            self._exiting = True
        else:
            self._show_late(item)

    def _show_maps(self, printed: PrintedMaps, writer: Writer) -> None:
        template = self._template(printed.template)
        if tuple(content.map.id for content in printed.contents) != template.maps:
            raise ProtocolError(f"template {template.id} without its maps")
        if isinstance(self._program.probes[template.probe].attachment, EndAttachment):
            self._printed_at_end.update(template.maps)
        if template.kind is TemplateKind.TABLE:
            writer.joined(printed.contents, template, printed.nano_time)
        else:
            writer.map(printed.contents[0], template, printed.nano_time)

    def _show_records(self, records: list[Record], writer: Writer) -> None:
        shown: list[Record] = []
        for record in records:
            template = self._template(record.template)
            if template.kind is TemplateKind.EXIT:
                self._exit_code = _exit_code(record)
                self._exits[template.probe] += 1
            elif isinstance(self._program.fires_in(self._program.probes[template.probe]).attachment, MethodAttachment):
                if self._hits_left() == 0:
                    self._withheld[template.probe] += 1
                    continue
                passed = self._throttle.passes(template.probe, record.nanos)
                for line in self._throttle.take_notes():
                    writer.records(shown)
                    shown = []
                    writer.note(line)
                if not passed:
                    continue
                self._hits += 1
            if template.kind is TemplateKind.WARN:
                self._warn(record, template)
            shown.append(record)
        writer.records(shown)

    def _warn(self, record: Record, template: Template) -> None:
        assert self._warnings is not None
        self._console.script(self._warnings(template)(record))

    def _report_state(self, counters: ProbeCounters) -> None:
        """Says once why a probe has been disabled."""
        if counters.state is self._states.get(counters.probe) or not 0 <= counters.probe < len(self._program.probes):
            return
        self._states[counters.probe] = counters.state
        words = disabled(self._program.probes[counters.probe], counters.state)
        if words and self._console.verbosity >= 0:
            self._console.say(words)

    @property
    def _all_used_up(self) -> bool:
        """Every probe of a method has been disabled by its limits or by itself, and no other can bring anything."""
        if any(isinstance(probe.attachment, TimerAttachment) for probe in self._program.probes):
            return False
        on_methods = [probe for probe in self._program.probes if isinstance(probe.attachment, MethodAttachment)]
        states = [self._states.get(probe.id) for probe in on_methods]
        return bool(states) and all(state in USED_UP for state in states)

    def _show_late(self, late: Late) -> None:
        name = f"{late.class_name} ({late.loader})"
        if late.outcome is LateOutcome.WOVEN:
            self._console.detail(f"{name} was loaded, its probes are in")
        elif late.outcome is LateOutcome.MISSED_DEADLINE:
            self._console.detail(f"{name} was loaded; its probes came in a moment later: {late.reason}")
        else:
            self._console.warning(f"{name} was loaded, but cannot be traced: {late.reason}")

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

    def _hits_left(self) -> int | None:
        """None: no limit."""
        return None if self._settings.hits is None else max(0, self._settings.hits - self._hits)

    def _is_over(self) -> bool:
        return self._exit_code is not None or self._hits_left() == 0

    def _template(self, id_: int) -> Template:
        templates = self._program.templates
        if not 0 <= id_ < len(templates):
            raise ProtocolError(f"a record of template {id_}, of {len(templates)}")
        return templates[id_]

    def _probe_name(self, id_: int) -> str:
        probes = self._program.probes
        if id_ == UNKNOWN_PROBE:
            return "a probe that is not known"
        if not 0 <= id_ < len(probes):
            raise ProtocolError(f"a report on probe {id_}, of {len(probes)}")
        return probes[id_].name

    def _probe_error(self, failure: ProbeFailure) -> ProbeError:
        span = Span.unpack(self._program.sources, failure.position)
        return ProbeError(self._probe_name(failure.probe), failure.kind, span, failure.count, failure.message)

    def _report_losses(self, probe: int, causes: dict[str, int], writer: Writer) -> None:
        """Totals since the start, as the agent counts them; what is new is written."""
        for cause, total in causes.items():
            new = total - self._dropped[probe, cause]
            if new > 0:
                self._dropped[probe, cause] = total
                writer.lost(Loss(self._probe_name(probe), cause, new))

    def _print_maps(self, contents: list[MapContent], writer: Writer) -> None:
        """A map that holds nothing was never used, or was cleared: there is nothing to print."""
        for content in contents:
            if content.entries:
                writer.map(content, None, None)

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
                waiting=any(isinstance(probe.attachment, MethodAttachment) for probe in self._program.probes),
            )
        )
        console.detail(
            f"JDK {target.java_version}, {target.vm_name}, {grouped(target.loaded_classes)} classes loaded;"
            f" {counted(deployment.batches, 'batch')}, the longest stop {deployment.longest_pause_ns / 1e6:.1f} ms,"
            f" {deployment.waited_ns / 1e6:.0f} of {deployment.weave_ns / 1e6:.0f} ms waiting for woven classes"
        )

    def _tallies(self, session: Session) -> tuple[Tally, ...]:
        methods: dict[int, set[tuple[str, str, str]]] = {}
        for site in list(session.sites.values()):
            methods.setdefault(site.probe, set()).add((site.class_name, site.method, site.descriptor))
        tallies = []
        for tally in session.tallies:
            probe = self._program.probes[tally.probe]
            host = self._program.fires_in(probe)
            on_method = isinstance(host.attachment, MethodAttachment)
            controls = self._speculations.controls[tally.probe]
            discarded = self._speculations.dropped[tally.probe]
            tallies.append(
                Tally(
                    probe=probe.name,
                    methods=len(methods.get(host.id, ())) if on_method else -1,
                    fired=tally.fired,
                    sampled_out=tally.sampled_out,
                    limited=tally.limited,
                    errors=self._errors.of(probe.name),
                    sampling="" if probe.sampling is None else sampling_words(probe.sampling),
                    withheld_by_display=self._throttle.withheld[probe.id],
                    produced=tally.produced - controls,
                    delivered=tally.delivered - self._exits[probe.id] - controls - discarded,
                    full=tally.dropped_full,
                    large=tally.dropped_large,
                    stalled=tally.dropped_stalled,
                    discarded=discarded,
                    withheld=self._withheld[probe.id],
                    conditional=probe.tree.when is not None,
                )
            )
        return tuple(tallies)

    def _say_end(self, writer: Writer, session: Session, reason: str, left: Left | None) -> None:
        tallies = self._tallies(session)
        probes = tuple(
            ProbeAccount(
                probe=tally.probe,
                fired=tally.fired,
                sampled_out=tally.sampled_out,
                limited=tally.limited,
                errors=tally.errors,
                produced=tally.produced,
                delivered=tally.delivered,
                dropped={"ring": tally.full, "large": tally.large, "stalled": tally.stalled},
            )
            for tally in tallies
        )
        writer.end(
            End(
                reason=reason,
                produced=sum(tally.produced for tally in tallies),
                delivered=sum(tally.delivered for tally in tallies),
                dropped=sum(tally.dropped for tally in tallies),
                restored=left.restored if left is not None else 0,
                woven=left.woven - left.unloaded if left is not None else 0,
                probes=probes,
            )
        )

    def _summarize(self, session: Session, left: Left | None, started: float) -> None:
        console = self._console
        self._errors.close()
        tallies = self._tallies(session)
        if left is not None:
            for line in unaccounted(tallies):
                console.warning(line)
        if console.verbosity < 0:
            return
        for line in silent(tallies)[:_LISTED]:
            console.say(line)
        for line in accounts(tallies, all_=len(tallies) > 1 or console.verbosity > 0):
            console.say(line)
        seconds = time.monotonic() - started
        exited = left is None and self._exiting
        alive = left is None and not exited and processes.is_alive(session.target.process)
        summary = Summary(
            tallies, left, seconds, self._maps_full, self._maps_evicted, self._errors.total, alive, exited
        )
        for line in summary_lines(summary):
            console.say(line)


class _ErrorLog:
    """Shows the first error of each kind and place, at most one a second; the rest, and the totals, at the end."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._totals: dict[tuple[ErrorKind, int, int], ProbeError] = {}
        self._shown: dict[tuple[ErrorKind, int, int], int] = {}
        self._last = float("-inf")

    @property
    def total(self) -> int:
        return sum(error.count for error in self._totals.values())

    def add(self, error: ProbeError) -> None:
        key = error.kind, error.span.start, error.span.end
        before = self._totals.get(key)
        self._totals[key] = error if before is None else replace(error, count=before.count + error.count)
        now = time.monotonic()
        if key not in self._shown and now - self._last >= _ERROR_INTERVAL:
            self._last = now
            self._show(key)

    def of(self, probe: str) -> int:
        return sum(error.count for error in self._totals.values() if error.probe == probe)

    def close(self) -> None:
        for key, error in self._totals.items():
            if self._shown.get(key) != error.count:
                self._show(key)

    def _show(self, key: tuple[ErrorKind, int, int]) -> None:
        error = self._totals[key]
        if key in self._shown:
            line, column = error.span.source.position(error.span.start)
            where = f"{error.span.source.name}:{line}:{column}"
            self._console.warning(f"{where}: {error.kind_name}, {grouped(error.count)} times in all")
        else:
            self._console.diagnostics([probe_error(error)])
        self._shown[key] = error.count


def _causes(counters: ProbeCounters | ProbeTally) -> dict[str, int]:
    return {
        "ring": counters.dropped_full,
        "large": counters.dropped_large,
        "stalled": counters.dropped_stalled,
        "map": counters.map_full,
    }


def _left(receipt: Receipt) -> Left:
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


def _exit_code(record: Record) -> int:
    """What ``exit(n)`` said, as far as a process can say it."""
    code = record.values[0] if len(record.values) == 1 else None
    if not isinstance(code, int):
        raise ProtocolError("an exit without its code")
    return code & 0xFF


@contextlib.contextmanager
def _patience(say: Callable[[], None]) -> Iterator[None]:
    """Calls ``say`` when the block takes longer than people wait without wondering."""
    timer = threading.Timer(_SLOW, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
