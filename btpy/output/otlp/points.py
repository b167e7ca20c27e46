"""The content of a map as one metric.

Source: OpenTelemetry metrics data model 1.50; units are those of UCUM. Count and sum become a Sum; avg and stats a
Summary; hist and pctl an ExponentialHistogram; lhist a Histogram; all other numbers a Gauge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    AggregationTemporality,
    ExponentialHistogramDataPoint,
    HistogramDataPoint,
    Metric,
    NumberDataPoint,
    SummaryDataPoint,
)

from btpy.events.aggregates import (
    Aggregate,
    Average,
    Histogram,
    LinearHistogram,
    Number,
    Stats,
)
from btpy.events.buckets import Exponential, otlp_counts
from btpy.events.exemplars import Exemplar
from btpy.events.records import Value
from btpy.events.sketches import Top
from btpy.model.maps import Map, MapKind
from btpy.model.types import Kind
from btpy.output.map_series import OVERFLOW, ExactKey
from btpy.output.otlp.attributes import Values, key_value, unsigned
from btpy.output.otlp.settings import Temporality
from btpy.output.simple_values import number_of

PREFIX = "btpy."
"""The prefix of all metric names, so that they differ from metrics of the application."""

SUMMED = (MapKind.COUNT, MapKind.SUM, MapKind.HIST, MapKind.PCTL, MapKind.LHIST)
"""Kinds of maps whose metrics have a temporality. A Summary has none: it is always cumulative."""

_UNITS = {Kind.DURATION: "ns", Kind.BYTES: "By"}
_HITS = "{hit}"
_MOST_BUCKETS = 160  # buckets of one sign, including empty ones; the default of OpenTelemetry's SDKs
_LONG_MIN, _LONG_MAX = -(1 << 63), (1 << 63) - 1

_TEMPORALITIES = {
    Temporality.CUMULATIVE: AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE,
    Temporality.DELTA: AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA,
}


class Window(NamedTuple):
    """The time interval of points, ns since 1970."""

    start: int
    end: int

    @staticmethod
    def of(start: int, end: int) -> Window:
        """A time that OTLP cannot express becomes the nearest possible time, because a target chooses its clock."""
        return Window(unsigned(start), unsigned(end))


def metric_of(
    map_: Map,
    entries: Iterable[tuple[ExactKey, Aggregate | Value]],
    window: Window,
    temporality: Temporality,
    values: Values,
    exemplars: Mapping[ExactKey, Sequence[Exemplar]] = {},
) -> Metric | None:
    """None if there is no point. ``temporality``: the temporality of ``entries``; only the kinds of ``SUMMED`` need
    it. ``exemplars``: the exemplars of distributions, by key.
    """
    metric = Metric(name=f"{PREFIX}{map_.name or map_.kind.value}", unit=_unit(map_), description=_description(map_))
    for key, value in entries:
        _add(metric, map_, _attributes(map_, key, value, values), value, temporality, values)
        if isinstance(value, Histogram | LinearHistogram):
            _add_exemplars(metric, exemplars.get(key, ()))
    kind = metric.WhichOneof("data")
    if kind is None:
        return None
    if map_.kind in (MapKind.COUNT, MapKind.SUM):
        metric.sum.is_monotonic = map_.kind is MapKind.COUNT or map_.type.kind in _UNITS
        metric.sum.aggregation_temporality = _TEMPORALITIES[temporality]
    elif kind in ("histogram", "exponential_histogram"):
        getattr(metric, kind).aggregation_temporality = _TEMPORALITIES[temporality]
    for point in getattr(metric, kind).data_points:
        point.time_unix_nano = window.end
        if kind != "gauge":
            point.start_time_unix_nano = window.start
    return metric


def cumulative_count(
    name: str, unit: str, description: str, counts: Iterable[tuple[Mapping[str, str], int]], window: Window
) -> Metric:
    """A count since the start, by attributes, without those that did not occur."""
    metric = Metric(name=name, unit=unit, description=description)
    metric.sum.is_monotonic = True
    metric.sum.aggregation_temporality = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
    for attributes, count in counts:
        if not count:
            continue
        metric.sum.data_points.add(
            attributes=[key_value(key, value) for key, value in attributes.items()],
            start_time_unix_nano=window.start,
            time_unix_nano=window.end,
            as_int=min(count, _LONG_MAX),
        )
    return metric


def _add(
    metric: Metric,
    map_: Map,
    attributes: list[KeyValue],
    value: Aggregate | Value,
    temporality: Temporality,
    values: Values,
) -> None:
    """The point, or the points, of one key."""
    if isinstance(value, Histogram) and isinstance(value.layout, Exponential):
        metric.exponential_histogram.data_points.append(_exponential_point(attributes, value, temporality))
    elif isinstance(value, Histogram | LinearHistogram):
        metric.histogram.data_points.append(_histogram_point(attributes, value, temporality))
    elif isinstance(value, Average | Stats):
        metric.summary.data_points.append(_summary_point(attributes, value))
    elif isinstance(value, Top):
        for frequent in value.shown:
            value_attributes = [*attributes, key_value("value", values.simple(frequent.value))]
            metric.gauge.data_points.append(_number_point(value_attributes, frequent.count))
    else:
        number = number_of(value)
        if number is not None and map_.kind in (MapKind.COUNT, MapKind.SUM):
            metric.sum.data_points.append(_number_point(attributes, number))
        elif number is not None:
            metric.gauge.data_points.append(_number_point(attributes, number))


def _add_exemplars(metric: Metric, exemplars: Iterable[Exemplar]) -> None:
    """Adds the exemplars to the last point of the metric."""
    point = getattr(metric, metric.WhichOneof("data") or "").data_points[-1]
    for exemplar in exemplars:
        message = point.exemplars.add(
            time_unix_nano=unsigned(exemplar.nanos), trace_id=exemplar.trace_id, span_id=exemplar.span_id
        )
        if isinstance(exemplar.value, int):
            message.as_int = exemplar.value
        else:
            message.as_double = exemplar.value


def _attributes(map_: Map, key: ExactKey, value: Aggregate | Value, values: Values) -> list[KeyValue]:
    """The components of the key, with names from the script. null is omitted."""
    if map_.keys and key == OVERFLOW:
        return [key_value("otel.metric.overflow", True)]
    names = map_.key_names or tuple(f"key{position}" for position in range(1, map_.keys + 1))
    attributes = [
        key_value(name, values.simple(component))
        for name, (_, component) in zip(names, key, strict=True)
        if component is not None
    ]
    if isinstance(value, Aggregate) and value.weights is not None:
        attributes.append(key_value("btpy.estimated", True))
    return attributes


def _exponential_point(
    attributes: list[KeyValue], value: Histogram, temporality: Temporality
) -> ExponentialHistogramDataPoint:
    """The scale is the scale of the map, or a lower scale: pairs of buckets are joined until there are few enough
    buckets. OTLP allows no sum of samples if some are negative. The extremes are those since the start, so a delta
    has none."""
    scale = value.layout.precision
    assert isinstance(value.layout, Exponential)
    positive, negative = otlp_counts(value.layout, value.counts)
    while max(_span(positive), _span(negative)) > _MOST_BUCKETS:
        scale -= 1
        positive, negative = _paired(positive), _paired(negative)
    point = ExponentialHistogramDataPoint(
        attributes=attributes,
        count=unsigned(value.n),
        scale=scale,
        zero_count=unsigned(dict(value.counts).get(0, 0)),
        positive=_dense(positive),
        negative=_dense(negative),
    )
    if not negative:
        point.sum = float(value.total)
    if temporality is Temporality.CUMULATIVE and value.least is not None and value.greatest is not None:
        point.min, point.max = value.least, value.greatest
    return point


def _paired(counts: dict[int, int]) -> dict[int, int]:
    """The counts with the next lower scale."""
    paired: dict[int, int] = {}
    for index, count in counts.items():
        paired[index >> 1] = paired.get(index >> 1, 0) + count
    return paired


def _span(counts: dict[int, int]) -> int:
    return max(counts) - min(counts) + 1 if counts else 0


def _dense(counts: dict[int, int]) -> ExponentialHistogramDataPoint.Buckets | None:
    if not counts:
        return None
    first, last = min(counts), max(counts)
    return ExponentialHistogramDataPoint.Buckets(
        offset=first, bucket_counts=[unsigned(counts.get(index, 0)) for index in range(first, last + 1)]
    )


def _histogram_point(
    attributes: list[KeyValue], value: Histogram | LinearHistogram, temporality: Temporality
) -> HistogramDataPoint:
    """In OTLP, bounds are upper and inclusive. The extremes are those since the start, so a delta has none."""
    bounds, counts = _buckets(value) if isinstance(value, Histogram) else (value.linear.inclusive_bounds, value.counts)
    point = HistogramDataPoint(
        attributes=attributes,
        count=unsigned(value.n),
        sum=float(value.total),
        bucket_counts=map(unsigned, counts),
        explicit_bounds=bounds,
    )
    if temporality is Temporality.CUMULATIVE and value.least is not None and value.greatest is not None:
        point.min, point.max = value.least, value.greatest
    return point


def _buckets(value: Histogram) -> tuple[list[float], list[int]]:
    """The point for a recording with log-linear buckets: it has the buckets from the lowest to the highest with
    samples. Its samples are whole numbers, so the greatest number of a bucket is its inclusive upper bound. In a long
    range, neighbours without samples become one bucket: a precise histogram has millions of them."""
    occupied = dict(value.counts)
    negatives = occupied.pop(-1, 0)
    if not occupied:
        return [-1.0], [negatives, 0]
    first, last = min(occupied), max(occupied)
    bounds = [-1.0]
    counts = [negatives]
    for index in range(first, last + 1) if last - first < _MOST_BUCKETS else occupied:
        low, high = value.layout.bounds(index)
        if low - 1 > bounds[-1]:
            bounds.append(float(low - 1))
            counts.append(0)
        bounds.append(float(high))
        counts.append(occupied.get(index, 0))
    if not negatives and len(bounds) > 2 and not counts[1]:
        del bounds[0], counts[1]  # nothing between the negative numbers and the first bucket
    return bounds, [*counts, 0]


def _summary_point(attributes: list[KeyValue], value: Average | Stats) -> SummaryDataPoint:
    """The extremes of stats are the quantiles 0 and 1."""
    total = value.total if isinstance(value, Stats) else value.integral + value.floating
    point = SummaryDataPoint(attributes=attributes, count=unsigned(value.n), sum=float(total))
    if isinstance(value, Stats) and value.least is not None and value.greatest is not None:
        point.quantile_values.add(quantile=0.0, value=value.least)
        point.quantile_values.add(quantile=1.0, value=value.greatest)
    return point


def _number_point(attributes: list[KeyValue], number: Number) -> NumberDataPoint:
    point = NumberDataPoint(attributes=attributes)
    if isinstance(number, int) and _LONG_MIN <= number <= _LONG_MAX:
        point.as_int = number
    else:
        point.as_double = number
    return point


def _unit(map_: Map) -> str:
    """Durations are nanoseconds, so that the bounds of histograms are exact."""
    if map_.kind in (MapKind.COUNT, MapKind.TOPK):
        return _HITS
    if map_.kind is MapKind.DISTINCT:
        return "1"
    return _UNITS.get(map_.type.kind, "")


def _description(map_: Map) -> str:
    estimated = f"; estimated from a sample of the hits ({map_.estimated})" if map_.estimated else ""
    return f"{map_.kind.value} of {map_.title}{estimated}"
