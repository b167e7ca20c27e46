"""An export by OTLP for Python programs: everything that their sessions produce."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING

from btpy.api.export import exporter, origin_of
from btpy.api.probe_figures import probe_name
from btpy.api.session import Session
from btpy.errors import BtpyError, TargetGone
from btpy.events.aggregates import MapContent
from btpy.events.items import Item, PrintedMaps
from btpy.events.records import Record
from btpy.model.templates import TemplateKind
from btpy.output.writer import ProbeError, Restraint
from btpy.wire.messages import Errors, Restrained

if TYPE_CHECKING:
    from btpy.output.otlp.export import OtlpExport
    from btpy.output.otlp.exporter import Tally
    from btpy.output.otlp.writer import OtlpWriter

_POLL_SECONDS = 0.05
_CLOSING_SECONDS = 10.0
_MOST_NOTICES = 100


def export(url: str, environment: Mapping[str, str] | None = None) -> Export:
    """Export to ``otlp://HOST:PORT``, like ``-o`` of the command line. ``environment``: the standard variables of OTLP,
    such as ``OTEL_EXPORTER_OTLP_HEADERS``; None: those of this process.

    Raises UsageError: for the URL, a variable or a certificate, and when opentelemetry-proto is not installed.
    """
    return Export(exporter(url, os.environ if environment is None else environment))


class Export:
    """Made by :func:`btpy.export`. A background thread passes on prints, events, spans, errors and maps.

    ``notices``: the latest messages about the connection. ``failures``: the errors that ended the export of a session
    early, by pid. ``tally``: the number of delivered and lost records, after :meth:`close`.
    """

    def __init__(self, otlp: OtlpExport) -> None:
        self.notices: deque[str] = deque(maxlen=_MOST_NOTICES)
        self.failures: dict[int, BtpyError] = {}
        self.tally: Tally | None = None
        self._otlp = otlp
        self._lock = threading.Lock()
        self._sources: list[_Source] = []
        self._missed = 0  # of sessions that have ended
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="btpy-export", daemon=True)
        otlp.start()
        self._thread.start()

    def __enter__(self) -> Export:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def add(self, session: Session) -> None:
        """Export this session, from its first event that is still kept to its end."""
        with self._lock:
            self._sources.append(_Source(session, self._otlp))

    @property
    def missed(self) -> int:
        """Events that the export did not take in time, because this process was too busy."""
        with self._lock:
            return self._missed + sum(source.missed for source in self._sources)

    def close(self, seconds: float = _CLOSING_SECONDS) -> Tally:
        """Send everything, for at most ``seconds`` seconds. The export of a session that goes on ends, too."""
        if self.tally is None:
            self._closing.set()
            self._thread.join()
            self.tally = self._otlp.close(seconds)
            self.notices += self._otlp.notices()
        return self.tally

    # The methods below run on the background thread.

    def _run(self) -> None:
        while not self._closing.wait(_POLL_SECONDS):
            self._turn(is_last=False)
        self._turn(is_last=True)

    def _turn(self, *, is_last: bool) -> None:
        with self._lock:
            sources = list(self._sources)
        is_due = self._otlp.begin_report()
        for source in sources:
            try:
                if source.pass_on(reads_maps=is_due) and not is_last:
                    continue
                source.finish()
            except BtpyError as error:
                self.failures[source.session.target.pid] = error
            with self._lock:
                self._sources.remove(source)
                self._missed += source.missed
        if is_due:
            self._otlp.report()
        self.notices += self._otlp.notices()


class _Source:
    """A session whose items are passed on."""

    def __init__(self, session: Session, otlp: OtlpExport) -> None:
        self.session = session
        self._otlp = otlp
        self._outline = session.context.outline
        self._reader = session.items()

    @property
    def missed(self) -> int:
        return self._reader.dropped

    def pass_on(self, *, reads_maps: bool) -> bool:
        """Passes on all items that have arrived. Returns whether more can come. Raises BtpyError."""
        has_ended = self.session.ended
        try:
            items = self._reader.take_all(0.0)
            contents = self._maps() if reads_maps and not has_ended else None
        except TargetGone:
            return False
        if self._outline.sources:  # the attributes of all data name the script
            self._take(items)
            if contents is not None:
                self._read(contents)
        return bool(items) or not has_ended

    def finish(self) -> None:
        """Passes on the maps at the end. If the target is gone, they are those of the last reading. Raises
        BtpyError.
        """
        self._reader.close()
        if not self._outline.sources:
            return
        try:
            contents = self._maps()
        except TargetGone:  # the maps of the last reading stay
            contents = []
        self._writer.read(contents, self.session.figures.accounts.values(), at_end=True)

    def _maps(self) -> list[MapContent]:
        return [view.content for view in self.session.snapshot().values()]

    def _read(self, contents: Sequence[MapContent]) -> None:
        """Maps that the script flushes are left out until the end: each flush sends their samples."""
        flushed = self._outline.flushed_maps
        self._writer.read(
            [content for content in contents if content.map.id not in flushed], self.session.figures.accounts.values()
        )

    @cached_property
    def _writer(self) -> OtlpWriter:
        origin = origin_of(self.session.target, redact=self._outline.redact)
        return self._otlp.writer(self.session.context, origin)

    def _take(self, items: Sequence[Record | Item]) -> None:
        records: list[Record] = []
        for item in items:
            if isinstance(item, Record):
                records.append(item)
            else:
                self._writer.records(records)  # before what came after them
                records = []
                self._take_other(item)
        self._writer.records(records)

    def _take_other(self, item: Item) -> None:
        writer = self._writer
        if isinstance(item, PrintedMaps):
            template = self._outline.templates[item.template]
            if template.kind is TemplateKind.TABLE:
                writer.joined(item.contents, template, item.nano_time)
            else:
                writer.map(item.contents[0], template, item.nano_time)
        elif isinstance(item, Errors):
            for failure in item.failures:
                writer.probe_error(
                    ProbeError.of(failure, self._outline.sources, probe_name(self._outline, failure.probe))
                )
        elif isinstance(item, Restrained):
            writer.restrained(Restraint.of(item, probe_name(self._outline, item.probe)))
