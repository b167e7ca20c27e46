"""The content of maps as metric families of Prometheus.

Names, units and types follow Prometheus' own guide and OpenTelemetry's rules for Prometheus: base units (seconds,
bytes), ``_total`` for counters. Count and sum become a counter; avg and stats a summary; hist, pctl and lhist a
classic histogram, hist and pctl also a native histogram; all other numbers a gauge.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from prometheus_client import samples
from prometheus_client.core import Metric

from btpy.events.accounts import ProbeAccount
from btpy.events.aggregates import Aggregate, Average, Histogram, LinearHistogram, Stats
from btpy.events.exemplars import Exemplar
from btpy.events.records import Value
from btpy.events.sketches import Top
from btpy.model.maps import Map, MapKind
from btpy.model.outline import Outline
from btpy.model.types import Kind
from btpy.output.map_series import OVERFLOW, ExactKey
from btpy.output.simple_values import SimpleValues, number_of
from btpy.output.values import well_formed

PREFIX = "btpy_"
MOST_SAMPLES = 200_000
"""The largest number of samples of one exposition. A scrape of more would take seconds."""

HITS, RECORDS, TARGET, LEFT_OUT = "probe_hits", "probe_records", "target", "left_out_series"
"""Names of metrics about btpy itself. A map with one of these names gets a metric with another name."""

_NANOS = 1e9
_NS_BOUNDS = tuple(1 << power for power in range(10, 41))  # 1 µs to 18 minutes
_BOUNDS = (0, *(1 << power for power in range(41)))
_UNITS = {Kind.DURATION: "seconds", Kind.BYTES: "bytes"}
_HISTOGRAMS = (MapKind.HIST, MapKind.PCTL, MapKind.LHIST)
_SUMMARIES = (MapKind.AVG, MapKind.STATS)
_SUFFIXES = {
    "counter": ("_total",),
    "gauge": ("",),
    "info": ("_info",),
    "summary": ("", "_sum", "_count"),
    "histogram": ("_bucket", "_sum", "_count"),
}
_NO_LABEL = re.compile(r"[^a-zA-Z0-9_]")


Distribution = Histogram | LinearHistogram


class FamilySample(NamedTuple):
    """``suffix``: the end of the name, after the name of the family."""

    suffix: str
    labels: Mapping[str, str]
    value: float
    exemplar: samples.Exemplar | None = None


class Series(NamedTuple):
    """The samples of one key, or of several. ``distribution``: the distribution from which the samples of a histogram
    are made, and the number by which its values are divided."""

    samples: Sequence[FamilySample]
    distribution: tuple[Distribution, float] | None = None


class Families:
    """The families of one exposition, by name. It has at most MOST_SAMPLES samples; ``left_out``: the number of series
    for which there was no room.
    """

    def __init__(self, most_samples: int = MOST_SAMPLES) -> None:
        self.by_name: dict[str, Metric] = {}
        self.series: dict[str, list[Series]] = {}  # the series of each family, for formats that are not texts
        self.left_out = 0
        self._room = most_samples

    def family(self, name: str, type_: str, help_: str) -> Metric:
        metric = self.by_name.get(name)
        if metric is None:
            metric = self.by_name[name] = Metric(name, well_formed(help_), type_)
            self.series[name] = []
        return metric

    def add(
        self, metric: Metric, samples: Sequence[FamilySample], distribution: tuple[Distribution, float] | None = None
    ) -> None:
        """Adds all samples of one series, or none."""
        if self._room < len(samples):
            self.left_out += 1
            return
        self._room -= len(samples)
        self._append(metric, Series(samples, distribution))

    def add_always(self, metric: Metric, sample: FamilySample) -> None:
        """Adds a sample for which there is always room."""
        self._append(metric, Series((sample,)))

    def _append(self, metric: Metric, series: Series) -> None:
        self.series[metric.name].append(series)
        for sample in series.samples:
            name = metric.name + sample.suffix
            metric.add_sample(name, dict(sample.labels), float(sample.value), exemplar=sample.exemplar)

    def collect(self) -> Iterable[Metric]:
        return self.by_name.values()


class MapNames(NamedTuple):
    """``labels``: the labels of the components of a key."""

    name: str
    type: str
    labels: tuple[str, ...]


def names_of(outline: Outline, reserved: Sequence[str]) -> dict[int, MapNames]:
    """Name, type and labels of the metric of each map, by its id. No two metrics have samples of the same name.
    ``reserved``: labels that every sample has.
    """
    used = {PREFIX + name + suffix for name in (HITS, RECORDS, TARGET, LEFT_OUT) for suffix in ("", "_total", "_info")}
    names = {}
    for map_ in outline.maps:
        type_ = _type_of(map_)
        name = PREFIX + (map_.name or map_.kind.value)
        unit = _UNITS.get(map_.type.kind) if map_.kind not in (MapKind.COUNT, MapKind.TOPK, MapKind.DISTINCT) else None
        if unit is not None and not name.endswith(f"_{unit}"):
            name += f"_{unit}"
        name = name.removesuffix("_total") if type_ == "counter" else name
        while any(name + suffix in used for suffix in _SUFFIXES[type_]):
            name += "_"
        used.update(name + suffix for suffix in _SUFFIXES[type_])
        keys = map_.key_names or tuple(f"key{position}" for position in range(1, map_.keys + 1))
        names[map_.id] = MapNames(name, type_, _labels(keys, [*reserved, "le", "quantile", "value"]))
    return names


def _labels(keys: Sequence[str], reserved: Sequence[str]) -> tuple[str, ...]:
    """Labels for the components of a key. All labels are different."""
    labels: list[str] = []
    for key in keys:
        label = _NO_LABEL.sub("_", key).lstrip("_") or "key"
        if label[0].isdigit() or label in reserved:
            label = f"key_{label}"
        while label in labels:
            label += "_"
        labels.append(label)
    return tuple(labels)


def _type_of(map_: Map) -> str:
    if map_.kind is MapKind.COUNT or (map_.kind is MapKind.SUM and map_.type.kind in _UNITS):
        return "counter"
    if map_.kind in _HISTOGRAMS:
        return "histogram"
    return "summary" if map_.kind in _SUMMARIES else "gauge"


def add_map(
    families: Families,
    map_: Map,
    names: MapNames,
    entries: Iterable[tuple[ExactKey, Aggregate | Value]],
    values: SimpleValues,
    target: Mapping[str, str],
    exemplars: Mapping[ExactKey, Sequence[Exemplar]] = {},
) -> None:
    """``target``: labels of the target. ``exemplars``: the exemplars of distributions, by key."""
    estimated = f", estimated from a sample of the hits ({map_.estimated})" if map_.estimated else ""
    metric: Metric | None = None
    for key, value in entries:
        labels = {**target, **_key_labels(map_, names, key, value, values)}
        series = _samples(map_, value, labels, values, exemplars.get(key, ()))
        if series:
            metric = metric or families.family(names.name, names.type, f"{map_.kind.value} of {map_.title}{estimated}")
            distribution = (value, _scale(map_)) if isinstance(value, Distribution) else None
            families.add(metric, series, distribution)


def add_probes(
    families: Families, outline: Outline, accounts: Iterable[ProbeAccount], target: Mapping[str, str]
) -> None:
    hits = families.family(PREFIX + HITS, "counter", "hits of probes")
    records = families.family(PREFIX + RECORDS, "counter", "records of probes")
    for account in accounts:
        probe = {**target, "probe": well_formed(outline.probes[account.probe].name)}
        outcomes = {"fired": account.fired, "skipped": account.skipped, "limited": account.limited}
        families.add(
            hits, [FamilySample("_total", {**probe, "outcome": name}, count) for name, count in outcomes.items()]
        )
        dropped = {cause.value: count for cause, count in account.dropped_by.items()} | {"map": account.map_full}
        families.add(
            records,
            [
                FamilySample("_total", {**probe, "outcome": "delivered", "cause": ""}, account.delivered),
                *(
                    FamilySample("_total", {**probe, "outcome": "dropped", "cause": name}, count)
                    for name, count in dropped.items()
                    if count
                ),
            ],
        )


def _key_labels(
    map_: Map, names: MapNames, key: ExactKey, value: Aggregate | Value, values: SimpleValues
) -> dict[str, str]:
    if map_.keys and key == OVERFLOW:
        return {"otel_metric_overflow": "true"}
    labels = {
        label: label_text(values, component)
        for label, (_, component) in zip(names.labels, key, strict=True)
        if component is not None
    }
    if isinstance(value, Aggregate) and value.weights is not None:
        labels["btpy_estimated"] = "true"
    return labels


def label_text(values: SimpleValues, value: Value) -> str:
    simple = values.simple(value)
    if isinstance(simple, bool):
        return str(simple).lower()
    return well_formed(str(simple))


def _samples(
    map_: Map,
    value: Aggregate | Value,
    labels: dict[str, str],
    values: SimpleValues,
    exemplars: Sequence[Exemplar],
) -> list[FamilySample]:
    """The samples of one key."""
    scale = _scale(map_)
    if isinstance(value, Histogram | LinearHistogram):
        return _histogram(map_, value, labels, scale, exemplars)
    if isinstance(value, Average | Stats):
        total = value.total if isinstance(value, Stats) else value.integral + value.floating
        series = [FamilySample("_count", labels, value.n), FamilySample("_sum", labels, total / scale)]
        if isinstance(value, Stats) and value.least is not None and value.greatest is not None:
            series.append(FamilySample("", {**labels, "quantile": "0.0"}, value.least / scale))
            series.append(FamilySample("", {**labels, "quantile": "1.0"}, value.greatest / scale))
        return series
    if isinstance(value, Top):
        return [FamilySample("", {**labels, "value": label_text(values, row.value)}, row.count) for row in value.shown]
    number = number_of(value)
    if number is None:
        return []
    is_counter = _type_of(map_) == "counter"
    counts = map_.kind in (MapKind.COUNT, MapKind.DISTINCT)
    return [FamilySample("_total" if is_counter else "", labels, number if counts else number / scale)]


def _scale(map_: Map) -> float:
    return _NANOS if map_.type.kind is Kind.DURATION else 1


def _histogram(
    map_: Map,
    value: Histogram | LinearHistogram,
    labels: dict[str, str],
    scale: float,
    exemplars: Sequence[Exemplar],
) -> list[FamilySample]:
    """The bounds of a map are always the same. A bucket that appeared later would have no rate at first."""
    bounds: Sequence[float]
    counts: Sequence[int]
    if isinstance(value, Histogram):
        powers = _NS_BOUNDS if map_.type.kind is Kind.DURATION else _BOUNDS
        bounds, counts = powers, _counts(value, powers)
    else:
        bounds, counts = value.linear.inclusive_bounds, value.counts
    by_bucket = _by_bucket(exemplars, bounds, scale)
    series: list[FamilySample] = []
    below = 0
    for bucket, (bound, count) in enumerate(zip([*bounds, math.inf], counts, strict=True)):
        below += count
        if bound < 0:
            continue  # a histogram with a negative bound could not have a sum (OpenMetrics 1.0)
        text = "+Inf" if bound == math.inf else repr(bound / scale)
        series.append(FamilySample("_bucket", {**labels, "le": text}, below, by_bucket.get(bucket)))
    return [*series, FamilySample("_sum", labels, value.total / scale), FamilySample("_count", labels, below)]


def _by_bucket(exemplars: Iterable[Exemplar], bounds: Sequence[float], scale: float) -> dict[int, samples.Exemplar]:
    """The newest exemplar of each bucket, by the index of its upper bound. OpenMetrics allows one."""
    return {
        bisect_left(bounds, exemplar.value): samples.Exemplar(
            {"trace_id": exemplar.trace_id.hex(), "span_id": exemplar.span_id.hex()},
            exemplar.value / scale,
            samples.Timestamp(*divmod(exemplar.nanos, 1_000_000_000)),
        )
        for exemplar in sorted(exemplars, key=lambda exemplar: exemplar.nanos)
    }


def _counts(value: Histogram, bounds: Sequence[int]) -> list[int]:
    """The number of samples in each bucket. The last bucket has no bound. The numbers are exact, because each power of
    two is also the upper bound of a bucket of the map."""
    counts = [0] * (len(bounds) + 1)
    at = 0
    for index, count in value.counts:
        greatest = value.layout.bounds(index)[1]
        while at < len(bounds) and greatest > bounds[at]:
            at += 1
        counts[at] += count
    return counts
