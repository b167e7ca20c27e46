"""The metrics of one target: its maps, and the counts of hits and records of its probes."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence

from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, ResourceMetrics, ScopeMetrics
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from btpy.dataclass import dataclass
from btpy.events.accounts import ProbeAccount
from btpy.events.aggregates import MapContent
from btpy.events.exemplars import Exemplar
from btpy.model.maps import Map
from btpy.model.outline import Outline
from btpy.output.map_series import ExactKey, Readings, Summable, difference
from btpy.output.otlp.attributes import Values
from btpy.output.otlp.points import SUMMED, Window, cumulative_count, metric_of
from btpy.output.otlp.settings import Temporality

_Totals = dict[int, dict[ExactKey, Summable]]  # by id of a map
_Exemplars = dict[int, dict[ExactKey, tuple[Exemplar, ...]]]  # by id of a map


@dataclass(frozen=True, slots=True)
class Report:
    """A message for the backend. ``totals`` and ``nanos``: the values and the time from which the next delta counts
    after the delivery of this report. ``exemplars``: the exemplars in the message. A report has only exemplars that no
    delivered report had.
    """

    message: ResourceMetrics
    totals: _Totals
    nanos: int
    exemplars: _Exemplars

    @property
    def points(self) -> int:
        return sum(
            len(getattr(metric, metric.WhichOneof("data") or "").data_points)
            for scope in self.message.scope_metrics
            for metric in scope.metrics
        )


class Metrics:
    """One thread puts contents in, another takes reports out. ``started``: ns since 1970."""

    def __init__(
        self,
        resource: Resource,
        scope: InstrumentationScope,
        outline: Outline,
        values: Values,
        temporality: Temporality,
        start: int,
    ) -> None:
        self._resource = resource
        self._scope = scope
        self._outline = outline
        self._values = values
        self._temporality = temporality
        self._started = self._delivered_at = self._read_at = start
        self._lock = threading.Lock()
        self._readings = Readings()
        self._delivered: _Totals = {}
        self._delivered_until: dict[tuple[int, ExactKey], int] = {}  # the time of the newest delivered exemplar

    def put(self, content: MapContent, nanos: int, *, flushed: bool = False) -> None:
        """The content of a map at a moment, ns since 1970; ``flushed``: the content has been taken out of the map."""
        with self._lock:
            self._read_at = max(self._read_at, nanos)
            self._readings.put(content, flushed=flushed)

    def count(self, accounts: Iterable[ProbeAccount]) -> None:
        """Takes the counts of hits and records since the start."""
        with self._lock:
            self._readings.count(accounts)

    def report(self) -> Report | None:
        """All current values; None if there are no values yet."""
        with self._lock:
            totals = self._readings.totals()
            exemplars = {id_: self._new_exemplars(id_) for id_ in totals}
            metrics = [self._metric(self._outline.maps[id_], total, exemplars[id_]) for id_, total in totals.items()]
            present = [metric for metric in (*metrics, *self._about_probes()) if metric is not None]
            if not present:
                return None
            scope = ScopeMetrics(scope=self._scope, metrics=present)
            message = ResourceMetrics(resource=self._resource, scope_metrics=[scope])
            return Report(message, totals, self._read_at, exemplars)

    def delivered(self, report: Report) -> None:
        """Called when the backend has accepted the report."""
        with self._lock:
            self._delivered, self._delivered_at = report.totals, report.nanos
            for id_, by_key in report.exemplars.items():
                for key, exemplars in by_key.items():
                    self._delivered_until[id_, key] = max(exemplar.nanos for exemplar in exemplars)

    def _new_exemplars(self, id_: int) -> dict[ExactKey, tuple[Exemplar, ...]]:
        """The exemplars of a map that no delivered report had, by key."""
        found = {}
        for key, exemplars in self._readings.exemplars(id_).items():
            until = self._delivered_until.get((id_, key))
            if new := tuple(exemplar for exemplar in exemplars if until is None or exemplar.nanos > until):
                found[key] = new
        return found

    def _metric(
        self,
        map_: Map,
        totals: Mapping[ExactKey, Summable],
        exemplars: Mapping[ExactKey, Sequence[Exemplar]],
    ) -> Metric | None:
        window = Window.of(self._started, self._read_at)
        if self._temporality is Temporality.CUMULATIVE or map_.kind not in SUMMED:
            entries = [*self._readings.others(map_.id).items(), *totals.items()]
            return metric_of(map_, entries, window, Temporality.CUMULATIVE, self._values, exemplars)
        before = self._delivered.get(map_.id, {})
        grown = [(key, difference(value, before[key]) if key in before else value) for key, value in totals.items()]
        new = [(key, value) for key, value in grown if value.n]
        window = Window.of(self._delivered_at, self._read_at)
        return metric_of(map_, new, window, Temporality.DELTA, self._values, exemplars)

    def _about_probes(self) -> list[Metric]:
        """These metrics are always cumulative, so that every report shows all losses."""
        window = Window.of(self._started, self._read_at)
        hits: list[tuple[Mapping[str, str], int]] = []
        records: list[tuple[Mapping[str, str], int]] = []
        for account in self._readings.accounts.values():
            probe = {"probe": self._outline.probes[account.probe].name}
            hits += [
                ({**probe, "outcome": "fired"}, account.fired),
                ({**probe, "outcome": "skipped"}, account.skipped),
                ({**probe, "outcome": "limited"}, account.limited),
            ]
            records.append(({**probe, "outcome": "delivered"}, account.delivered))
            dropped = {cause.value: count for cause, count in account.dropped_by.items()} | {"map": account.map_full}
            records += [({**probe, "outcome": "dropped", "cause": cause}, count) for cause, count in dropped.items()]
        metrics = (
            cumulative_count("btpy.probe.hits", "{hit}", "hits of probes", hits, window),
            cumulative_count("btpy.probe.records", "{record}", "records of probes", records, window),
        )
        return [metric for metric in metrics if metric.sum.data_points]
