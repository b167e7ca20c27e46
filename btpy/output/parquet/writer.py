"""The output of one target as rows of the data sets."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Any, Protocol

from btpy.errors import OutputError
from btpy.events.accounts import ProbeAccount
from btpy.events.aggregates import MapContent
from btpy.events.records import Record
from btpy.model.templates import SiteFact, Template
from btpy.output.origin import Origin
from btpy.output.parquet.event_rows import kind_of
from btpy.output.parquet.map_rows import map_rows
from btpy.output.parquet.partitions import HOUR_NANOS, hour_of, path_of
from btpy.output.parquet.schemas import EVENTS, LOSSES, MAPS, DataSet
from btpy.output.quantities import limited
from btpy.output.values import well_formed
from btpy.output.writer import Context, End, ExportWriter, PerTemplate, ProbeReport, site_fact

_RUNS = uuid.UUID("6f1f0c86-6a47-4c0e-9d0b-2f8f6f0f3c55")  # the namespace of the ids of runs
_NAMES_OF_MAPS = tuple(column.name for column in MAPS.columns)


class Rows(Protocol):
    """Takes the rows of all targets. ``now``: the time, ns since 1970; None: the time of this machine."""

    now: int | None

    def add(self, data_set: DataSet, partition: str, row: tuple[Any, ...], size: int) -> None: ...

    def end_run(self, run: str, partition: str, rows: list[tuple[Any, ...]]) -> None: ...


class ParquetWriter(ExportWriter):
    """``run``: the id of the run, which a run and the replay of its recording share. ``losses``: the partition of its
    losses. ``hours``: the most hours over which its times can spread."""

    def __init__(self, rows: Rows, context: Context, origin: Origin, hours: int) -> None:
        self._sink = rows
        self._context = context
        self._origin = origin
        self._hours = hours
        sources = context.outline.sources
        self._script = PurePath(sources[0].name).name.strip("<>") if sources else ""
        clock = context.clock
        digest = sources[0].digest if sources else ""
        self.run = str(uuid.uuid5(_RUNS, f"{origin.pid} {clock.nano_time} {clock.wall_nanos} {digest}"))
        self._kinds = PerTemplate(context, lambda template: kind_of(template, context))
        self._partitions: dict[tuple[str, int], str] = {}  # by data set and hour
        self._written: Counter[str] = Counter()  # rows of events by probe
        self._readings = 0
        self.losses = self._partition(LOSSES, clock.wall_nanos)

    def records(self, records: Sequence[Record]) -> None:
        wall = self._context.clock.wall
        for record in records:
            kind = self._kinds[record.template]
            if kind is None:
                continue
            nanos = wall(record.nanos)
            content = kind.content(record)
            probe = str(site_fact(self._context, record, SiteFact.PROBE))
            head = (*self._head(nanos), kind.kind, well_formed(probe), kind.name)
            row = (*head, record.tid, well_formed(record.thread), *content)
            self._sink.add(EVENTS, self._partition(EVENTS, nanos), row, content.size + len(record.thread))
            self._written[probe] += 1

    def map(self, content: MapContent, template: Template | None, nanos: int | None) -> None:
        at = self._now() if nanos is None else self._context.clock.wall(nanos)
        self._readings += 1
        self._put(content, at, final=False)

    def read(self, contents: Iterable[MapContent], accounts: Iterable[ProbeAccount], *, at_end: bool = False) -> None:
        at = self._now()
        self._readings += 1
        for content in contents:
            self._put(content, at, final=at_end)

    def end(self, end: End) -> None:
        nanos = self._context.clock.wall_nanos
        self._sink.end_run(self.run, self.losses, [self._loss(report, end.reason, nanos) for report in end.probes])

    def _put(self, content: MapContent, nanos: int, *, final: bool) -> None:
        head = dict(zip(("ts", "nanos", "run", "pid"), self._head(nanos), strict=True))
        head |= {
            "reading": self._readings,
            "part": content.map.id in self._context.outline.flushed_maps,
            "final": final,
        }
        partition = self._partition(MAPS, nanos)
        for columns in map_rows(content, self._context.stacks):
            columns |= head
            size = sum(len(cell) for cell in columns.values() if isinstance(cell, str | bytes | list))
            self._sink.add(MAPS, partition, tuple([columns.get(name) for name in _NAMES_OF_MAPS]), 8 * size)

    def _now(self) -> int:
        return time.time_ns() if self._sink.now is None else self._sink.now

    def _loss(self, report: ProbeReport, reason: str, nanos: int) -> tuple[Any, ...]:
        counts = report.counts(self._written[report.probe])
        return (*self._head(nanos), well_formed(report.probe), reason, *map(limited, counts.values()))

    def _head(self, nanos: int) -> tuple[int, int, str, int]:
        return nanos // 1000, nanos, self.run, self._origin.pid

    def _partition(self, data_set: DataSet, nanos: int) -> str:
        """Raises ProtocolError for a time before 1970 or after the year 2262, and OutputError for times that are too
        far apart."""
        key = data_set.name, nanos // HOUR_NANOS
        path = self._partitions.get(key)
        if path is None:
            if len(self._partitions) >= self._hours:
                raise OutputError(
                    f"the times of events spread over {self._hours} hours: each hour would be a file",
                    help=["the clock of the target is wrong; btpy replay --from --to leaves a part out"],
                )
            origin = self._origin
            path = path_of(data_set.name, origin.host, origin.service, self._script, hour_of(nanos))
            self._partitions[key] = path
        return path
