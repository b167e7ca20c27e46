"""The results of the target: shows events above the prompt, no more than a person can read, and counts all of them."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable

from btpy.api.probes import Probe
from btpy.api.results import (
    Counters,
    Errors,
    Exiting,
    Item,
    Late,
    PrintedMaps,
    ProbeFailure,
    Record,
    Unread,
)
from btpy.api.session import Session
from btpy.dataclass import dataclass
from btpy.errors import BtpyError, ProtocolError
from btpy.model.templates import SiteFact, TemplateKind
from btpy.output.failures import probe_error
from btpy.output.maps import MapText
from btpy.output.quantities import grouped
from btpy.output.tables import TableOptions
from btpy.output.templates import Renderer, warnings
from btpy.output.text import RecordText
from btpy.output.values import ValueText
from btpy.output.writer import ProbeError, site_fact
from btpy.present.errors import ProbeErrors
from btpy.present.late import LateClasses, LateNotice, Urgency
from btpy.present.rate_limit import SharedRateLimit
from btpy.repl.recent import Recent
from btpy.repl.screen import Screen

SHOWN_A_SECOND = 100
"""Events that are shown, unless ``:set rate`` changes it; the feed shows the number of the other events."""

_KEPT_A_SECOND = 1000  # events that are turned into text for :last and :grep
_POLL_SECONDS = 0.2
_PAUSE_SECONDS = 0.02  # seconds between two readings of the queue, which avoids switches between threads
_RATE_SECONDS = 3.0
_PATIENCE_SECONDS = 10.0  # for the last events
_CAUSES = {
    "ring": "buffer full",
    "large": "record too large",
    "stalled": "too slow here",
    "unattended": "nobody was connected",
    "budget": "over budget",
    "map": "map full",
}


@dataclass(frozen=True, slots=True)
class _Report:
    """The counts of the agent at a moment of this process. ``cpu_ns``: the processor time of all probes."""

    at: float
    fired: Counter[int]
    cpu_ns: int


def _between(before: _Report, after: _Report) -> float:
    """Seconds."""
    return max(after.at - before.at, 0.001)


class Feed:
    """Runs on a separate thread from :meth:`start` on."""

    def __init__(self, session: Session, screen: Screen) -> None:
        self.recent = Recent()
        self.showing = True
        self.errors = ProbeErrors()
        self._late = LateClasses()
        self.gone = ""
        self.gone_at: float | None = None
        self.context = session.context
        self.outline = session.context.outline
        self.values = ValueText(session.context.stacks, screen.style)
        self.maps = MapText(self.values, screen.style)
        self._session = session
        self._screen = screen
        self._reader = session.items()
        self._texts = RecordText(self.context, screen.style)
        self._warnings: Callable[..., Renderer] = warnings(self.context, screen.style)
        self._reports: deque[_Report] = deque(maxlen=64)
        self._arrivals: deque[tuple[float, int]] = deque()
        self._second = 0
        self._text_limit = SharedRateLimit()
        self._display_limit = SharedRateLimit()
        self._withheld: Counter[int] = Counter()
        self._end_event = threading.Event()
        self.rate_shown = SHOWN_A_SECOND

    def start(self) -> None:
        threading.Thread(target=self._run, name="btpy-feed", daemon=True).start()

    def finish(self) -> None:
        """After the end of the session, waits until everything that was sent before is shown."""
        self._end_event.wait(_PATIENCE_SECONDS)

    def has_gone(self, why: str) -> None:
        """Stores why the target can no longer be reached. The first reason is kept."""
        if not self.gone:
            self.gone, self.gone_at = why, time.monotonic()

    @property
    def rate_shown(self) -> int:
        """Events a second that are shown."""
        return self._rate_shown

    @rate_shown.setter
    def rate_shown(self, rate: int) -> None:
        self._rate_shown = rate
        self._session.read_at_most(max(rate, _KEPT_A_SECOND))

    def rate(self) -> float:
        """Events a second of the last seconds."""
        now = time.monotonic()
        recent = [(at, count) for at, count in list(self._arrivals) if now - at <= _RATE_SECONDS]
        return sum(count for _, count in recent) / _RATE_SECONDS

    def firing_rate(self, probe: Probe) -> float | None:
        """Firings a second of a probe in the last seconds; None: unknown yet."""
        seconds = self._last_seconds()
        if seconds is None:
            return None
        return sum(seconds[1].fired[id_] - seconds[0].fired[id_] for id_ in probe.ids) / _between(*seconds)

    def cpu_share(self) -> float | None:
        """The share of one core that all probes took in the last seconds, in percent, or None before it was
        measured."""
        seconds = self._last_seconds()
        return None if seconds is None else (seconds[1].cpu_ns - seconds[0].cpu_ns) / _between(*seconds) / 1e7

    def _last_seconds(self) -> tuple[_Report, _Report] | None:
        """Two reports of the agent, at the beginning and the end of the last seconds."""
        reports = list(self._reports)
        if len(reports) < 2:
            return None
        latest = reports[-1]
        return next((report for report in reports[:-1] if latest.at - report.at <= _RATE_SECONDS), reports[-2]), latest

    @property
    def unread(self) -> int:
        """Events that arrived faster than this thread could read them."""
        return self._reader.dropped

    def lost(self, probe: Probe) -> dict[str, int]:
        """The losses of a probe, by cause."""
        total = {_CAUSES[cause]: count for cause, count in probe.lost.items()}
        total["never committed"] = probe.uncommitted
        return {cause: count for cause, count in total.items() if count}

    def all_lost(self) -> int:
        """The sums over all probes, including removed ones."""
        accounts = self._session.figures.accounts.values()
        uncommitted = self._session.figures.uncommitted(range(len(self.outline.probes)))
        lost_count = sum(account.dropped + account.map_full for account in accounts)
        return lost_count + uncommitted + self.unread

    # The methods below run on the thread of the feed.

    def _run(self) -> None:
        try:
            has_ended = False
            while not has_ended:
                ended_before = self._session.ended
                entries = self._reader.take_all(time.monotonic() + _POLL_SECONDS)
                self._take_all(entries)
                self._sum_up(time.monotonic())
                has_ended = ended_before and not entries
                if entries:
                    time.sleep(_PAUSE_SECONDS)
        except BtpyError as error:
            self.has_gone(str(error))
            self._sum_up(float("inf"))
            self._screen.warning(f"{self.gone}; the last read maps and :last still work — :quit ends btpy")
        except Exception as error:
            self.has_gone(f"events cannot be shown any more: {type(error).__name__}: {error}")
            self._screen.warning(f"{self.gone}; this is a bug in btpy")
        finally:
            self._end_event.set()

    def _take_all(self, entries: list[Record | Item]) -> None:
        records: list[Record] = []
        for entry in entries:
            if isinstance(entry, Record):
                records.append(entry)
                continue
            self._records(records)
            records = []
            self._take(entry)
        self._records(records)

    def _take(self, item: Item) -> None:
        if isinstance(item, PrintedMaps):
            self._printed(item)
        elif isinstance(item, Unread):
            self._came(sum(item.counts.values()))
            self.recent.skip(sum(item.counts.values()))
            self._withheld.update(item.counts)
        elif isinstance(item, Errors):
            for failure in item.failures:
                self._failed(failure)
        elif isinstance(item, Counters):
            accounts = self._session.figures.accounts.values()
            fired = Counter({account.probe: account.fired for account in accounts})
            cpu = sum(account.cost.cpu for account in accounts)
            self._reports.append(_Report(time.monotonic(), fired, cpu))
        elif isinstance(item, Exiting):
            self.has_gone(f"the JVM {self._session.target.pid} has ended")
        elif isinstance(item, Late):
            self._tell(self._late.notice(item))

    def _tell(self, notice: LateNotice) -> None:
        if notice.urgency is Urgency.WARNING:
            self._screen.warning(notice.text)
        elif notice.urgency is Urgency.INFORMATION:
            self._screen.note(notice.text)

    def _records(self, records: list[Record]) -> None:
        if not records:
            return
        self._came(len(records))
        lines: list[str] = []
        for record in records:
            if not self._text_limit.passes(record.probe, max(_KEPT_A_SECOND, self.rate_shown)):
                self.recent.skip(1)
                self._withheld[record.probe] += 1
                continue
            text = self._text(record)
            if text is None:
                continue
            self.recent.add(
                self.context.clock.wall(record.nanos),
                self._probe(record.probe),
                record.thread,
                self._where(record),
                text,
            )
            if self.showing and self._display_limit.passes(record.probe, self.rate_shown):
                lines.append(self._prefixed(record.probe, text))
            else:
                self._withheld[record.probe] += 1
        self._screen.lines(lines)

    def _came(self, count: int) -> None:
        now = time.monotonic()
        self._arrivals.append((now, count))
        while now - self._arrivals[0][0] > _RATE_SECONDS:
            self._arrivals.popleft()
        self._sum_up(now)

    def _text(self, record: Record) -> str | None:
        """None if it is not an event."""
        if not 0 <= record.template < len(self.outline.templates):
            raise ProtocolError(f"a record of template {record.template}, of {len(self.outline.templates)}")
        template = self.outline.templates[record.template]
        if template.kind is TemplateKind.EXIT:
            return f"exit({record.values[0] if record.values else 0}): a script would end here; :quit ends btpy"
        if template.kind is TemplateKind.WARN:
            return self._warnings(template)(record)
        return self._texts.text(record).rstrip("\n") or None

    def _prefixed(self, probe: int, text: str) -> str:
        number = self._number(probe)
        return text if number is None else f"{self._screen.style.dim(f'#{number}')} {text}"

    def _number(self, id_: int) -> int | None:
        return next((probe.number for probe in self._session.probes.values() if id_ in probe.ids), None)

    def _probe(self, id_: int) -> str:
        return self.outline.probes[id_].name if 0 <= id_ < len(self.outline.probes) else "?"

    def _where(self, record: Record) -> str:
        if record.site not in self.context.sites:
            return ""
        site = self.context.sites[record.site]
        line = site_fact(self.context, record, SiteFact.LINE)
        return f"{site.class_name}.{site.method}" + (f":{line}" if line else "")

    def _printed(self, printed: PrintedMaps) -> None:
        template = self.outline.templates[printed.template]
        options = TableOptions.of(template)
        if template.kind is TemplateKind.TABLE:
            self._screen.lines(self.maps.joined(printed.contents, options))
        else:
            plot = template.kind is TemplateKind.PLOT
            self._screen.lines(self.maps.lines(printed.contents[0], options, plot=plot))

    def _failed(self, failure: ProbeFailure) -> None:
        first = self.errors.add(ProbeError.of(failure, self.outline.sources, self._probe(failure.probe)))
        if first is not None:
            self._screen.diagnostics([probe_error(first)])

    def _sum_up(self, now: float) -> None:
        """Once a second, shows the number of events that were not shown."""
        second = int(now) if now != float("inf") else self._second + 1
        if second == self._second:
            return
        self._second = second
        self._text_limit.clear()
        self._display_limit.clear()
        if self._withheld and self.showing:
            parts = (f"+{grouped(count)} of {self._named(id_)}" for id_, count in self._withheld.most_common(3))
            remainder = sum(self._withheld.values()) - sum(count for _, count in self._withheld.most_common(3))
            words = ", ".join([*parts, *([f"+{grouped(remainder)} of others"] if remainder else [])])
            self._screen.note(f"{self._screen.style.ellipsis} {words} not shown (:last, :set rate N)")
        self._withheld.clear()

    def _named(self, id_: int) -> str:
        number = self._number(id_)
        return self._probe(id_) if number is None else f"#{number} {self._probe(id_)}"


def columns(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Rows as lines, columns padded; the first row is the heading."""
    from btpy.output.columns import columns_of, padded

    table = list(rows)
    widths = [max(map(columns_of, column)) for column in zip(*table, strict=True)]
    return ["  ".join(padded(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
