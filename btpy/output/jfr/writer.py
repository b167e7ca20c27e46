"""The ``jfr`` format. A chunk is written when it is large, or some seconds old: the file of a killed run has the events
of all chunks before.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import astuple, fields

from btpy.events.accounts import ProbeAccount
from btpy.events.aggregates import MapContent
from btpy.events.records import Record
from btpy.model.maps import Map
from btpy.model.templates import Template
from btpy.output.jfr.chunk import Chunk, whole_chunks
from btpy.output.jfr.metadata import FIRST_EVENT_TYPE
from btpy.output.jfr.rows import Pending, is_time
from btpy.output.jfr.sources import MapSource, RecordSource, Row, Source, Sources
from btpy.output.quantities import limited
from btpy.output.stream import Stream
from btpy.output.writer import Context, End, Loss, PerTemplate, ProbeError, ProbeReport, Restraint, Writer

MOST_BYTES = 1 << 20
"""The largest size of the events of a chunk, in bytes. They are in memory until the chunk is written."""

CHUNK_SECONDS = 5.0
"""Seconds that an event may wait until its chunk is written. A chunk has some 4 KB beside its events."""

_COUNTS = ("probe", *ProbeReport("", ProbeAccount(0)).counts(0))


class JfrWriter(Writer):
    """``now``: the clock for the age of a chunk, in seconds."""

    def __init__(self, stream: Stream, context: Context, now: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._context = context
        self._now = now
        self._sources = Sources(context)
        self._loss = self._sources.own("Loss", [field.name for field in fields(Loss)])
        self._budget = self._sources.own("Budget", [field.name for field in fields(Restraint)])
        self._error = self._sources.own("ProbeError", ("probe", "kind", "file", "line", "column", "count", "message"))
        self._counts = self._sources.own("ProbeCounts", _COUNTS)
        self._end = self._sources.own("End", ("reason", "produced", "delivered", "dropped", "restored", "woven"))
        self._of_templates = PerTemplate(context, self._sources.record)
        self._of_maps: dict[Map, MapSource] = {}
        self._ids: dict[str, int] = {}  # ids of the types of events, by name
        self._written: Counter[int] = Counter()  # the number of events of records, by probe
        self._latest = context.clock.nano_time
        self._chunk = Chunk()
        self._starts: set[int] = set()  # of chunks
        self._began = now()
        self._is_new = True  # nothing was written
        stream.keep_whole()
        stream.continue_after(whole_chunks)
        stream.before_flush(self._write_old)

    def records(self, records: Sequence[Record]) -> None:
        for record in records:
            of_template = self._of_templates[record.template]
            if of_template is not None:
                self._latest = max(self._latest, record.nanos)
                self._add_record(of_template, record)
                self._written[record.probe] += 1
        self._write_large()

    def map(self, content: MapContent, template: Template | None, nanos: int | None) -> None:
        source = self._of_maps.get(content.map)
        if source is None:
            source = self._of_maps[content.map] = self._sources.map(content.map)
        for variant, row in source.rows(content, template):
            self._add(variant, row, nanos)

    def probe_error(self, error: ProbeError) -> None:
        line, column = error.span.source.position(error.span.start)
        place = error.span.source.name, line, column
        self._add(self._error, (error.probe, error.kind_name, *place, error.count, error.message))

    def lost(self, loss: Loss) -> None:
        self._add(self._loss, astuple(loss))

    def restrained(self, restraint: Restraint) -> None:
        self._add(self._budget, astuple(restraint))

    def end(self, end: End) -> None:
        counts = {self._context.outline.probes[probe].name: count for probe, count in self._written.items()}
        for report in end.probes:
            self._add(self._counts, (report.probe, *report.counts(counts.get(report.probe, 0)).values()))
        self._add(self._end, (end.reason, end.produced, end.delivered, end.dropped, end.restored, end.woven))

    def close(self) -> None:
        if self._is_new or not self._chunk.is_empty:
            self._write()

    def _add_record(self, of_template: RecordSource, record: Record) -> None:
        source = of_template.source
        row = (*self._sources.target, *of_template.row(record))
        duration = None if source.duration is None else row[source.duration]
        took = duration if isinstance(duration, int) and is_time(duration) else 0
        start = limited(record.nanos - took)
        self._chunk.add(Pending(source, start, row, took, (record.tid, record.thread)))

    def _add(self, source: Source, row: Row, nanos: int | None = None) -> None:
        """If ``nanos`` is None, the event has the time of the latest record."""
        start = self._latest if nanos is None else limited(nanos)
        self._chunk.add(Pending(source, start, (*self._sources.target, *row)))
        self._write_large()

    def _write_large(self) -> None:
        if self._chunk.size >= MOST_BYTES:
            self._write()

    def _write_old(self) -> None:
        if not self._chunk.is_empty and self._now() - self._began >= CHUNK_SECONDS:
            self._write()

    def _write(self) -> None:
        self._stream.write(self._chunk.encoded(self._context.stacks, self._context.clock, self._id, self._starts))
        self._is_new = False
        self._chunk = Chunk()
        self._began = self._now()

    def _id(self, name: str) -> int:
        return self._ids.setdefault(name, FIRST_EVENT_TYPE + len(self._ids))
