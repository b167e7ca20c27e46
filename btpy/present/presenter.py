"""Selects the output of a run that is shown, and limits its rate, both for a target and for a recording."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from btpy.api.results import (
    UNKNOWN_PROBE,
    Counters,
    Errors,
    Exiting,
    Item,
    Late,
    MapContent,
    PrintedMaps,
    ProbeAccount,
    Receipt,
    Record,
    Records,
    Restrained,
    Speculations,
    can_be_merged,
)
from btpy.errors import ProtocolError
from btpy.model.diagnostics import Diagnostic
from btpy.model.outline import Moment
from btpy.model.sites import Site
from btpy.model.templates import Template, TemplateKind
from btpy.output.failures import probe_error
from btpy.output.quantities import counted, grouped
from btpy.output.style import Style
from btpy.output.templates import warnings
from btpy.output.text import TextWriter
from btpy.output.writer import Context, End, Loss, ProbeError, ProbeReport, Writer
from btpy.present.errors import ProbeErrors
from btpy.present.late import LateClasses, Urgency
from btpy.present.probe_states import ProbeStates
from btpy.present.rate_limit import ProbeRateLimit
from btpy.present.report import restraint_words, sampling_words

_AS_USUAL = "as usual"  # stands for the options of a map that is printed without options


class Console(Protocol):
    """Takes messages for the user (standard error), not output. ``verbosity``: negative for ``-q``."""

    verbosity: int

    def diagnostics(self, diagnostics: Sequence[Diagnostic]) -> None: ...
    def warning(self, text: str, help: Sequence[str] = ()) -> None: ...
    def script(self, text: str) -> None:
        """A line that the script writes to standard error."""

    def notice(self, text: str) -> None:
        """A line that ``-q`` does not hide."""

    def say(self, text: str) -> None: ...
    def detail(self, text: str) -> None:
        """For ``-v``."""

    @property
    def unicode(self) -> bool: ...


class Presenter:
    """Passes the items of a session to a writer.

    ``hits``: how many prints and events of method probes are shown; None: all. ``displayed``: how many of them are
        shown for one probe in one second. ``exit_code``: the value of ``exit(n)``. ``exiting``: whether the target is
        exiting. ``events``: the number of events shown so far.
    ``late``: classes that were loaded after the probes. ``errors`` and ``states``: the errors and the states of probes.
    ``asked_at_end``: with several targets, the maps that ``@OnEnd`` prints, by template, which the caller shows.
    """

    def __init__(
        self, context: Context, writer: Writer, console: Console, *, hits: int | None, displayed: int | None
    ) -> None:
        self.exit_code: int | None = None
        self.exiting = False
        self.events = 0
        self.errors = ProbeErrors()
        self.late = LateClasses()
        self.states = ProbeStates(context.outline)
        self.maps_full: dict[str, int] = {}
        self.maps_evicted: dict[str, int] = {}
        self.asked_at_end: dict[int, MapContent] = {}
        self._outline = context.outline
        self._several = context.several
        self._writer = writer
        self._for_people = isinstance(writer, TextWriter)
        self._console = console
        self._hits = hits
        self._hits_shown = 0
        self._paused = False
        self._unseen: Counter[str] = Counter()  # items not shown during the pause
        self._dropped: Counter[tuple[int, str]] = Counter()
        self._withheld: Counter[int] = Counter()
        self._exits: Counter[int] = Counter()  # ``exit(n)`` is sent as a record, but is not an event
        self._speculations = Speculations(self._outline.templates)
        self._printed_at_end: set[int] = set()
        self._latest: dict[tuple[object, ...], tuple[MapContent, ...]] = {}  # the maps as they were printed last
        self._ordinary: set[int] = set()  # templates
        self._rate_limit = ProbeRateLimit(displayed, self._probe_name)
        self._warnings = warnings(context, Style(unicode=console.unicode))

    def item(self, item: Item) -> None:
        """Shows what came. Raises ProtocolError, OutputError."""
        if isinstance(item, Records):
            self._records(self._speculations.settle(item.records))
            if item.malformed is not None:
                self.item(item.malformed)
        elif isinstance(item, PrintedMaps):
            self._printed(item)
        elif isinstance(item, Errors):
            for failure in item.failures:
                error = ProbeError.of(failure, self._outline.sources, self._probe_name(failure.probe))
                self._writer.probe_error(error)
                first = self.errors.add(error)
                if first is not None:
                    self._show_error(first)
        elif isinstance(item, Counters):
            self.counted(map(ProbeAccount.of, item.probes))
        elif isinstance(item, Exiting):
            self.exiting = True
        elif isinstance(item, Restrained):
            self._restrained(item)
        elif isinstance(item, Late):
            self._late(item)

    def counted(self, accounts: Iterable[ProbeAccount]) -> None:
        """Reports new losses and newly disabled probes, from totals so far."""
        for account in accounts:
            self.losses(account.probe, dropped_by_cause(account))
            words = self.states.change(account)
            if words:
                self._console.say(words)

    def maps(self, contents: Iterable[MapContent]) -> None:
        """An empty map was never used, or was cleared. It is not printed. A map that is empty because hits were skipped
        is printed.
        """
        for content in contents:
            if content.entries:
                self._latest[_AS_USUAL, content.map.id] = (content,)
            if content.entries or content.skips is not None:
                self._writer.map(content, None, None)

    def mute(self) -> None:
        """From now on it writes nothing, but still counts records."""
        self._writer = Writer()

    @property
    def paused(self) -> bool:
        """Whether events and maps are counted instead of shown."""
        return self._paused

    def pause(self, paused: bool) -> None:
        """At the end of a pause, writes the number of items that were not shown."""
        self._paused = paused
        if not paused and self._unseen:
            self._writer.note(f"{in_words(self._unseen)} while paused")
            self._unseen.clear()

    @property
    def unseen(self) -> Counter[str]:
        """The numbers of events and of maps that arrived during the pause."""
        return self._unseen.copy()

    @property
    def lost(self) -> int:
        """Records that were lost, as far as the target has reported."""
        return sum(count for (_, cause), count in self._dropped.items() if cause not in ("map", "speculation"))

    def note_full(self, contents: Sequence[MapContent]) -> None:
        """Stores the samples that were lost because maps were full, for the summary."""
        self.maps_full = {content.map.title: content.full for content in contents if content.full}
        self.maps_evicted = {content.map.title: content.evicted for content in contents if content.evicted}

    def unprinted(self, contents: Iterable[MapContent]) -> list[MapContent]:
        """The maps to show at the end, without those that ``@OnEnd`` has shown."""
        contents_to_print = contents if self._outline.print_maps else ()
        return [
            content
            for content in contents_to_print
            if not content.map.imported
            and content.map.id not in self._printed_at_end
            and not self._repeats((_AS_USUAL, content.map.id), (content,))
        ]

    def _repeats(self, print_: tuple[object, ...], contents: tuple[MapContent, ...]) -> bool:
        """Whether the end of a run would only repeat the last output."""
        return self._for_people and self._latest.get(print_) == contents

    def close(self, contents: Sequence[MapContent], accounts: Iterable[ProbeAccount]) -> None:
        """Ends the output after all items: writes the number of withheld items, the final maps and the last losses."""
        self.give_up()
        for line in self._rate_limit.close():
            self._writer.note(line)
        self.note_full(contents)
        self.maps(self.unprinted(contents))
        for account in accounts:
            self.losses(account.probe, dropped_by_cause(account))

    def give_up(self) -> None:
        """Drops the remaining speculative records."""
        self._speculations.close()
        for probe, count in self._speculations.dropped.items():
            self.losses(probe, {"speculation": count})

    def losses(self, probe: int, causes: Mapping[str, int]) -> None:
        """Writes the increase of these totals, which the agent counts from the start."""
        for cause, total in causes.items():
            new = total - self._dropped[probe, cause]
            if new > 0:
                self._dropped[probe, cause] = total
                self._writer.lost(Loss(self._probe_name(probe), cause, new))

    @property
    def hits_left(self) -> int | None:
        """The number of hits that may still be shown; None: no limit."""
        return None if self._hits is None else max(0, self._hits - self._hits_shown)

    @property
    def is_over(self) -> bool:
        return self.exit_code is not None or self.hits_left == 0

    def reports(self, accounts: Iterable[ProbeAccount], sites: Iterable[Site]) -> tuple[ProbeReport, ...]:
        """The report about each probe. Raises ProtocolError for a probe that the program does not have."""
        methods: dict[int, set[tuple[str, str, str]]] = {}
        for site in sites:
            if site.class_name in self.late.refused:
                continue
            methods.setdefault(site.probe, set()).add((site.class_name, site.method, site.descriptor))
        return tuple(self._report(account, methods) for account in accounts)

    def _report(self, account: ProbeAccount, methods: Mapping[int, Collection[object]]) -> ProbeReport:
        name = self._probe_name(account.probe)
        probe = self._outline.probes[account.probe]
        controls = self._speculations.controls[account.probe]
        discarded = self._speculations.dropped[account.probe]
        shown_account = replace(
            account,
            produced=account.produced - controls,
            delivered=account.delivered - self._exits[account.probe] - controls - discarded,
        )
        return ProbeReport(
            probe=name,
            account=shown_account,
            methods=len(methods.get(probe.host, ())) if probe.moment is Moment.METHOD else -1,
            errors=self.errors.count(name),
            sampling="" if probe.sampling is None else sampling_words(probe.sampling),
            conditional=probe.conditional,
            discarded=discarded,
            withheld=self._withheld[account.probe],
            withheld_by_display=self._rate_limit.withheld[account.probe],
            restraints=self.states.restraints[account.probe],
        )

    def end(self, reason: str, reports: tuple[ProbeReport, ...], receipt: Receipt | None) -> None:
        self._writer.end(
            End(
                reason=reason,
                produced=sum(report.account.produced for report in reports),
                delivered=sum(report.account.delivered for report in reports),
                dropped=sum(report.dropped for report in reports),
                restored=receipt.restored if receipt is not None else 0,
                woven=receipt.woven - receipt.unloaded if receipt is not None else 0,
                probes=reports,
            )
        )

    def _printed(self, printed: PrintedMaps) -> None:
        template = self._outline.templates[printed.template]
        if self._paused:
            self._unseen["map"] += len(template.maps)
            return
        if self._outline.probes[template.probe].moment is Moment.END:
            self._printed_at_end.update(template.maps)
            (content, *others) = printed.contents
            if self._several and not others and can_be_merged(content.map):
                self.asked_at_end[template.id] = content
                return
        print_ = (template.kind, template.options, *template.maps)
        if template.kind is TemplateKind.MAP and not template.options:
            print_ = (_AS_USUAL, *template.maps)
        if self._outline.probes[template.probe].moment is Moment.END and self._repeats(print_, printed.contents):
            return
        self._latest[print_] = printed.contents
        if template.kind is TemplateKind.TABLE:
            self._writer.joined(printed.contents, template, printed.nano_time)
        else:
            self._writer.map(printed.contents[0], template, printed.nano_time)

    def _records(self, records: list[Record]) -> None:
        if self._hits is None and self._rate_limit.limit is None and not self._paused:
            templates = {record.template for record in records}
            if templates <= self._ordinary or self._learn(
                templates
            ):  # the usual case: no decision for single records is needed
                self.events += len(records)
                self._writer.records(records)
                return
        visible: list[Record] = []
        for record in records:
            template = self._template(record.template)
            if template.kind is TemplateKind.EXIT:
                self.exit_code = _exit_code(record)
                self._exits[template.probe] += 1
            elif self._paused:
                self._unseen["event"] += 1
                self._rate_limit.withheld[template.probe] += 1
                continue
            elif self._outline.probes[template.probe].moment is Moment.METHOD:
                if self.hits_left == 0:
                    self._withheld[template.probe] += 1
                    continue
                passed = self._rate_limit.passes(template.probe, record.nanos)
                for line in self._rate_limit.take_notes():
                    self._writer.records(visible)
                    visible = []
                    self._writer.note(line)
                if not passed:
                    continue
                self._hits_shown += 1
            if template.kind is TemplateKind.WARN:
                self._console.script(self._warnings(template)(record))
            self.events += template.kind is not TemplateKind.EXIT
            visible.append(record)
        self._writer.records(visible)

    def _learn(self, templates: set[int]) -> bool:
        """Whether records of these templates are only shown, and cause no action."""
        acted_on = (TemplateKind.EXIT, TemplateKind.WARN)
        self._ordinary |= {id_ for id_ in templates if self._template(id_).kind not in acted_on}
        return templates <= self._ordinary

    def _restrained(self, message: Restrained) -> None:
        restraint = self.states.restrain(message, self._probe_name(message.probe))
        self._writer.restrained(restraint)
        words = restraint_words(restraint)
        if self.states.is_news(restraint):
            self._console.notice(words)  # whatever the verbosity
        elif restraint.step == "free":
            self._console.say(words)
        else:
            self._console.detail(words)

    def _late(self, late: Late) -> None:
        notice = self.late.notice(late)
        match notice.urgency:
            case Urgency.DETAIL:
                self._console.detail(notice.text)
            case Urgency.INFORMATION:
                self._console.say(notice.text)
            case Urgency.WARNING:
                self._console.warning(notice.text, () if notice.permission is None else (notice.permission,))

    def _show_error(self, error: ProbeError) -> None:
        self._console.diagnostics([probe_error(error)])

    def show_remaining_errors(self) -> None:
        """At the end, shows the errors that were not shown before, and the totals of the other errors."""
        for error, shown_before in self.errors.remaining():
            if not shown_before:
                self._show_error(error)
                continue
            line, column = error.span.source.position(error.span.start)
            where = f"{error.span.source.name}:{line}:{column}"
            self._console.warning(f"{where}: {error.kind_name}, {grouped(error.count)} times in all")

    def _template(self, id_: int) -> Template:
        templates = self._outline.templates
        if not 0 <= id_ < len(templates):
            raise ProtocolError(f"a record of template {id_}, of {len(templates)}")
        return templates[id_]

    def _probe_name(self, id_: int) -> str:
        probes = self._outline.probes
        return "a probe that is not known" if id_ == UNKNOWN_PROBE else probes[id_].name


def in_words(things: Mapping[str, int]) -> str:
    """``1 204 events, 2 maps``; empty if there are no items."""
    return ", ".join(counted(number, noun) for noun, number in things.items())


def dropped_by_cause(account: ProbeAccount) -> dict[str, int]:
    """Dropped records by cause: totals since the start."""
    return {cause.value: count for cause, count in account.dropped_by.items()} | {"map": account.map_full}


def why_over(presenter: Presenter) -> str:
    """The reason why the target or its probes can give no more output; empty if they can."""
    if presenter.exiting:
        return "target-exited"
    if presenter.exit_code is not None:
        return "exit"
    return "limit" if presenter.states.all_used_up else ""


def _exit_code(record: Record) -> int:
    """The status of ``exit(n)``, cut to the range of a process."""
    code = record.values[0] if len(record.values) == 1 else None
    if not isinstance(code, int):
        raise ProtocolError("an exit without its code")
    return code & 0xFF
