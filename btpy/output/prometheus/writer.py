"""The output of a run for Prometheus: keeps the maps and the counts of the probes of one target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from btpy.events.accounts import ProbeAccount
from btpy.events.aggregates import MapContent
from btpy.model.templates import Template
from btpy.output.prometheus.target_metrics import TargetMetrics
from btpy.output.writer import End, ExportWriter


class ExpositionWriter(ExportWriter):
    """Prints and events are not metrics: they are left out."""

    def __init__(self, metrics: TargetMetrics) -> None:
        self._metrics = metrics

    def map(self, content: MapContent, template: Template | None, nanos: int | None) -> None:
        self._metrics.put(content, flushed=template is not None and content.map.id in template.flushed)

    def joined(self, contents: Sequence[MapContent], template: Template, nanos: int) -> None:
        for content in contents:
            self.map(content, template, nanos)

    def read(self, contents: Iterable[MapContent], accounts: Iterable[ProbeAccount], *, at_end: bool = False) -> None:
        for content in contents:
            self._metrics.put(content)
        self._metrics.count(accounts)

    def end(self, end: End) -> None:
        self._metrics.count(report.account for report in end.probes)
