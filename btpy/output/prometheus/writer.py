"""The output of a run for Prometheus: keeps the maps and the counts of the probes of one target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from btpy.events.accounts import ProbeAccount
from btpy.events.aggregates import MapContent
from btpy.model.templates import Template
from btpy.output.prometheus.target_metrics import TargetMetrics
from btpy.output.silent import SilentWriter
from btpy.output.writer import Context, End


class ExpositionWriter(SilentWriter):
    """Prints and events are not metrics: they are left out."""

    def __init__(self, metrics: TargetMetrics, context: Context) -> None:
        self._metrics = metrics
        self._context = context

    def map(self, content: MapContent, template: Template | None, nanos: int | None) -> None:
        self._metrics.put(content, flushed=template is not None and content.map.id in template.flushed)

    def joined(self, contents: Sequence[MapContent], template: Template, nanos: int) -> None:
        for content in contents:
            self._metrics.put(content, flushed=content.map.id in template.flushed)

    def read(self, contents: Iterable[MapContent], accounts: Iterable[ProbeAccount], *, at_end: bool = False) -> None:
        """Takes the current maps and the counts of the probes."""
        for content in contents:
            self._metrics.put(content)
        self._metrics.count(accounts)

    def end(self, end: End) -> None:
        self._metrics.count(report.account for report in end.probes)
