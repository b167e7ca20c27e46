"""One target of a run: puts its probes in, shows and records their items, leaves the target, and reports."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from btpy import timeline
from btpy.api.attaching import agent_build
from btpy.api.programs import Program
from btpy.api.results import (
    Errors,
    Events,
    Item,
    MapContent,
    Message,
    PrintedMaps,
    ProbeAccount,
    Records,
    Restrained,
    can_be_merged,
    tally,
)
from btpy.api.session import Deployment, PulledSession, Receipt
from btpy.cli.console import Console
from btpy.cli.progress import reported
from btpy.cli.run_report import Drawing, RunReport
from btpy.errors import BudgetExceeded, NotAnswered, OutputError, TargetGone
from btpy.model.attachments import EndAttachment
from btpy.model.outline import Moment
from btpy.model.templates import TemplateKind
from btpy.output.quantities import counted, duration
from btpy.output.writer import Attached, Context, Writer
from btpy.present.presenter import Presenter, why_over

if TYPE_CHECKING:
    from btpy.api.recordings import ChunkWriter, Recorder
    from btpy.cli.settings import Settings
    from btpy.cli.signals import Signals
    from btpy.cli.unattended import Stay
    from btpy.output.stream import Stream
    from btpy.present.export import Export, Exporter

_OTHER_AGENT = (
    "the agent of another build of btpy was loaded into this JVM before, and stays until it ends; "
    "if anything looks wrong, use that btpy or restart the JVM"
)
_BACKLOG_SECONDS = 0.5  # the backlog of a joined session ends this long after the last print from before the join
_ACTED_ON = (TemplateKind.EXIT, TemplateKind.WARN)


class Companion(Drawing, Protocol):
    """The work of a verb while its script runs: it has its own writer, may change probes, and may end the run."""

    def writer(self, stream: Stream, context: Context, console: Console) -> Writer: ...

    def turn(self, session: PulledSession, console: Console) -> str:
        """Called after the received items were shown. Returns why the run must end; empty: it continues."""

    def errors(self) -> Errors | None:
        """The records since the last call that it could not use, as errors of their probes."""


class TargetRun:
    """``alone``: there is no other target, so the output does not name the target. ``session`` may have been joined:
    its probes are in. All methods raise the errors of the session, and OutputError.
    """

    def __init__(
        self,
        session: PulledSession,
        settings: Settings,
        console: Console,
        stream: Stream,
        *,
        alone: bool = True,
        companion: Companion | None = None,
        exporters: Sequence[Exporter] = (),
    ) -> None:
        self.session = session
        self.joined = session.joined is not None
        self.receipt: Receipt | None = None  # when the target has been left
        self._settings = settings
        self.console = console
        self._stream = stream
        self._alone = alone
        self._companion = companion
        self._exporters = exporters
        self._exports: list[Export] = []
        self._started = time.monotonic()
        self._writer: Writer | None = None
        self._recorder: Recorder | None = None
        self._loss: TargetGone | None = None
        self._backlog: dict[
            tuple[object, ...], PrintedMaps
        ] = {}  # the latest prints before the join, by the printed maps
        self._backlog_came = 0.0
        self._replaced = 0
        self._emptied: frozenset[int] | None = None  # ids of maps; computed at the first print from before the join
        self._id: str | None = None  # the id of the session, if it continues without this client

    def begin(self, program: Program | None, file: ChunkWriter | None, signals: Signals) -> None:
        """Puts the probes of ``program`` in; None: the session was joined. ``file``: the file of a recording."""
        session, console, settings = self.session, self.console, self._settings
        if session.target.agent_build != agent_build():
            console.warning(_OTHER_AGENT)
        with reported(session.progress, console, session.target.process):
            if program is not None:
                session.scripts.load(program, missing=settings.missing, level=settings.level)
            session.go()
        console.detail(f"probes in place after {(time.monotonic() - self._started) * 1000:.0f} ms")
        deployment = self._deployment
        context = session.context if self._alone else replace(session.context, pid=session.target.pid, several=True)
        self.context = context
        self._writer = writer = self._new_writer(context)
        destination = settings.destination
        displayed = destination.displayed(self._stream, settings.rate)
        self.showing = Presenter(context, writer, console, hits=settings.hits, displayed=displayed)
        if self._exporters:
            from btpy.api.export import origin_of
            from btpy.present.export import Export

            origin = origin_of(session.target, redact=session.context.outline.redact)
            self._exports = [Export(exporter, session.context, origin, settings.hits) for exporter in self._exporters]
        signals.ask()  # must happen before the banner tells the user that Ctrl-C ends the run
        self._report = RunReport(
            session,
            self.showing,
            settings,
            console,
            alone=self._alone,
            drawing=self._companion,
            start=self._started,
        )
        timeline.first("probes are in place")
        self._report.announce(deployment)
        attached = Attached(len(self.program.probes), deployment.methods, deployment.classes)
        if file is not None:
            self._recorder = self._record(file)
            self._recorder.attached(attached.probes, attached.methods, attached.classes)
        writer.attached(attached)

    @property
    def _deployment(self) -> Deployment:
        assert self.session.deployment is not None
        return self.session.deployment

    @property
    def program(self) -> Program:
        """The program that is in the target."""
        return self._deployment.program

    def _new_writer(self, context: Context) -> Writer:
        if self._companion is not None and not self._settings.destination.silent:
            return self._companion.writer(self._stream, context, self.console)
        return self._settings.destination.writer(self._stream, context, self.console, self._settings.color)

    def _record(self, file: ChunkWriter) -> Recorder:
        from btpy.api.recordings import Recorder, Started
        from btpy.distribution import version

        target, outline = self.session.target, self.context.outline
        started = Started(
            btpy=version(),
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
        channel = self._settings.destination.channel
        host = None if channel is None else channel.host
        return Recorder(file, started, outline, self.context.sites, self.context.stacks, host)

    @contextlib.contextmanager
    def noticing(self) -> Iterator[None]:
        """A context for requests to the target. If the target has ended, the next turn reports its end. If the user
        ends the run before the target answers, the request is left out."""
        try:
            yield
        except TargetGone as error:
            self._loss = error
        except NotAnswered:
            pass

    def turn(self, poll: float, signals: Signals) -> str:
        """Shows the items of the next ``poll`` seconds. Returns the reason why the run must end; empty: there is
        none."""
        if self._loss is not None:
            raise self._loss
        showing = self.showing
        for message in self.session.received(timeout=poll):
            self._take(message)
            if isinstance(message, Restrained) and message.rest_ppm:
                self._take_out(message.probe)
            self._stream.flush()
            if showing.is_over or signals.pending or showing.exiting or self._companion is not None:
                break
        if self._backlog and time.monotonic() - self._backlog_came > _BACKLOG_SECONDS:
            self._show_backlog()
        if self._recorder is not None:
            self._recorder.flush()
        self._stream.flush()  # output that is due now
        self._report.show_findings()
        return self._why_over()

    def _why_over(self) -> str:
        showing = self.showing
        if reason := why_over(showing):
            return reason
        if showing.hits_left == 0:
            if self._settings.hits_by_default:
                self.console.say(f"stopped after {self._settings.hits} hits (--hits N for more, --hits 0 for all)")
            return "hits"
        return "" if self._companion is None else self._companion.turn(self.session, self.console)

    def _take(self, message: Message) -> None:
        """Records a message and shows it. If the run only records, it handles only the messages to which this client
        must react.
        """
        if self._recorder is not None:
            self._recorder.message(message)
        records_only = self._settings.destination.silent and not self._exports and self._settings.hits is None
        if records_only and isinstance(message, Events):
            acted_on = {template.id for template in self.context.outline.templates if template.kind in _ACTED_ON}
            if not acted_on or acted_on.isdisjoint(id_ for id_, _ in tally(message.records)):
                return
        item = self.session.item(message)
        for export in self._exports:
            export.item(item)
        if isinstance(item, PrintedMaps) and self._is_old_state(item):
            template = self.context.outline.templates[item.template]
            print_ = (template.kind, template.options, template.maps)
            self._replaced += self._backlog.pop(print_, None) is not None
            self._backlog[print_] = item
            self._backlog_came = time.monotonic()
            return
        if self._backlog and self._is_of_now(item):
            self._show_backlog()
        self.showing.item(item)
        if self._companion is not None and (errors := self._companion.errors()) is not None:
            self.showing.item(errors)
        if isinstance(item, Records):
            timeline.first(timeline.FIRST_EVENT)

    def _is_old_state(self, printed: PrintedMaps) -> bool:
        """Whether a timer printed the maps before this client joined, so that only their latest print is shown. A map
        that the script empties has new content each time, so all its prints are shown."""
        outline = self.context.outline
        if (
            not self.joined
            or not self._settings.destination.is_text
            or printed.nano_time >= self.session.target.nano_time
            or printed.template >= len(outline.templates)
        ):
            return False
        template = outline.templates[printed.template]
        if self._emptied is None:
            from btpy.api.programs import emptied_maps

            self._emptied = emptied_maps(self.program)
        return outline.probes[template.probe].moment is Moment.TIMER and self._emptied.isdisjoint(template.maps)

    def _is_of_now(self, item: Item) -> bool:
        """Whether the item was produced after this client joined. If so, the backlog is complete and must be shown
        first.
        """
        join_time = self.session.target.nano_time
        if isinstance(item, PrintedMaps):
            return item.nano_time >= join_time
        return isinstance(item, Records) and any(record.nanos >= join_time for record in item.records)

    def _show_backlog(self) -> None:
        """Shows the last state of each map that timers printed before this client joined."""
        backlog, self._backlog = self._backlog, {}
        for item in backlog.values():
            self.showing.item(item)
        if self._replaced:
            self.console.say(f"{counted(self._replaced, 'earlier print')} of the same maps left out")
            self._replaced = 0

    def _take_out(self, id_: int) -> None:
        probe = self.session.scripts.probe(id_)
        if probe is not None:
            self.session.remove(probe)

    def show_maps(self) -> list[MapContent]:
        """Reads all maps and shows them. If there are several targets, maps that can be merged are not shown."""
        answers = self.session.maps.answers()
        if self._recorder is not None:
            self._recorder.maps_shown(answers)
        contents = self.session.maps.contents(answers)
        self.showing.maps(self._own(contents))
        return contents

    def read_for_export(self, due: Collection[Exporter]) -> None:
        """Passes the current content of all maps to these exports."""
        if self._exports:
            contents = self.session.maps.contents(self.session.maps.answers())
            for exporter, export in zip(self._exporters, self._exports, strict=True):
                if exporter in due:
                    export.read(contents, self._report.accounts)

    def _own(self, contents: Iterable[MapContent]) -> list[MapContent]:
        """The maps that are shown for this target alone, because they are not merged."""
        return [content for content in contents if self._alone or not can_be_merged(content.map)]

    def leave(self, reason: str) -> list[MapContent]:
        """Removes the probes, runs ``@OnEnd``, and shows the remaining events and the maps, in this order. Returns the
        content of the maps. If there are several targets, maps that can be merged are not shown.
        """
        session = self.session
        with reported(session.progress, self.console, session.target.process):
            self.receipt = receipt = session.detach()
        for message in session.received():  # all arrived items, even if the reader of the output is slow
            self._take(message)
            self._stream.flush()
        self._show_backlog()
        contents = self._final_maps()
        self.showing.close(self._own(contents), receipt.accounts)
        self.showing.note_full(contents)
        if receipt.messages_dropped:
            self.console.warning(f"{receipt.messages_dropped} reports of the agent were dropped: they came too fast")
        self._end_export(reason, contents, receipt)
        self._end_recording(reason, receipt.accounts, (receipt.woven, receipt.restored, receipt.unloaded))
        self.showing.end(reason, self._report.reports, receipt)
        self._stream.flush()
        self._close_writer()
        self._report.summarize(None if self.showing.exiting else receipt)
        return contents

    def stay(self, stay: Stay) -> list[MapContent]:
        """Ends this run but not the session; otherwise like :meth:`leave`. Raises UsageError when the target
        refuses.
        """
        session = self.session
        if self._id is None:
            self._id = session.leave(stay.ttl, stay.name)
        id_ = self._id
        for message in session.received():
            self._take(message)
        self._show_backlog()
        contents = [] if stay.at_once else self._final_maps()
        self.showing.close(self._own(contents), self._report.accounts)
        self.showing.note_full(contents)
        self._end_export("left", contents, None)
        self._end_recording("left", self._report.accounts, None)
        self.showing.end("left", self._report.reports, None)
        self._close_writer()
        pid = session.target.pid
        if stay.at_once:
            self._stream.write(f"{id_}\n" if self._alone else f"{pid} {id_}\n")
        self._stream.flush()
        ttl = duration(round(stay.ttl) * 10**9)
        self._report.summarize(
            None, f"session {id_} goes on for {ttl}: btpy attach {pid} {id_} · btpy stop {pid} {id_}"
        )
        if any(isinstance(probe.attachment, EndAttachment) for probe in self.program.active):
            self.console.say(f"@OnEnd runs at btpy stop; if the session ends by itself after {ttl}, its output is lost")
        return contents

    def give_up(self, last: Sequence[MapContent], age: float | None) -> None:
        """The target is gone. ``last``: the content of its maps ``age`` seconds ago; None: they were never read."""
        self.showing.give_up()
        self._end_export("target-exited", (), None, latest=last)
        last = self.showing.unprinted(last)
        if age is not None and any(content.entries for content in last):
            self.console.say(f"the maps below were last read {age:.1f} s ago")
            self.showing.maps(self._own(last))
        self.showing.end("target-exited", self._report.reports, None)
        self._end_recording("target-exited", self._report.accounts, None)
        self._close_writer()
        self._report.summarize(None)
        self._stream.flush()

    def mute(self) -> None:
        """The output cannot be written any more: from here on nothing is shown, and a recording beside it goes on.
        :meth:`leave` and :meth:`stay` may be called again if the failed output interrupted them.
        """
        with contextlib.suppress(OutputError):
            self._close_writer()
        self.showing.mute()

    @property
    def is_left(self) -> bool:
        """Whether the session goes on without this client."""
        return self._id is not None

    def close(self) -> None:
        """The caller must call this method once, even after an error."""
        try:
            self._close_writer()
        finally:
            self.session.close()

    def require_clean(self) -> None:
        """Raises LeftBehind."""
        if self.receipt is not None:
            self.receipt.require_clean(self.session.target.pid)

    @property
    def exit_code(self) -> int:
        return self.showing.exit_code or (BudgetExceeded.exit_status if self.showing.states.all_over_budget else 0)

    def _end_export(
        self,
        reason: str,
        contents: Iterable[MapContent],
        receipt: Receipt | None,
        *,
        latest: Collection[MapContent] = (),
    ) -> None:
        exports, self._exports = self._exports, []
        contents = list(contents)
        for export in exports:
            export.end(reason, contents, self._report.reports, receipt, latest=latest)

    def _end_recording(self, reason: str, accounts: Sequence[ProbeAccount], left: tuple[int, int, int] | None) -> None:
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            recorder.ended(reason, accounts, left=left)

    def _final_maps(self) -> list[MapContent]:
        answers = self.session.maps.answers()
        if self._recorder is not None:
            self._recorder.maps_at_end(answers)
        return self.session.maps.contents(answers)

    def _close_writer(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
