"""The content of a map as rows of the data set of maps: a row for each key."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from btpy.events.aggregates import (
    Aggregate,
    Average,
    Greatest,
    Histogram,
    Key,
    Least,
    LinearHistogram,
    MapContent,
    Number,
    Stats,
    TimeSeries,
    Total,
    intervals,
)
from btpy.events.buckets import Exponential, otlp_counts
from btpy.events.exemplars import Exemplar
from btpy.events.records import Value
from btpy.events.sketches import Distinct, Examples, First, Last, Top
from btpy.events.stacks import StackTable
from btpy.model.types import Kind
from btpy.output.ndjson import json_value
from btpy.output.parquet.event_rows import encode
from btpy.output.quantities import limited
from btpy.output.style import Style
from btpy.output.values import ValueText, well_formed

UNITS = {Kind.DURATION: "ns", Kind.BYTES: "By"}

Columns = dict[str, Any]


def map_rows(content: MapContent, stacks: StackTable) -> Iterator[Columns]:
    """The columns that the content determines, without those that are null."""
    map_ = content.map
    text = ValueText(stacks, Style())
    common: Columns = {
        "map": map_.title,
        "kind": map_.kind.value,
        "unit": UNITS.get(map_.type.kind),
        "key_names": list(map_.key_names),
        "skipped": None if content.skips is None else limited(content.skips.skipped),
        "map_full": limited(content.full),
        "omitted": limited(content.omitted),
    }
    for key, value in content.entries:
        columns = _columns(value, stacks) if isinstance(value, Aggregate) else {"value": _json(value, stacks)}
        yield common | _key(key, stacks, text) | columns | _bounds(value)


def _key(key: Key, stacks: StackTable, text: ValueText) -> Columns:
    return {
        "key": encode([json_value(component, stacks, {}, "") for component in key]),
        "keys": [well_formed(component if isinstance(component, str) else text.inner(component)) for component in key],
    }


def _json(value: Value, stacks: StackTable) -> str:
    return encode(json_value(value, stacks, {}, ""))


def _bounds(value: Aggregate | Value) -> Columns:
    """The 99 % interval of the number of samples, or of a value that is a single number. Empty for exact values."""
    bounds = intervals(value)
    interval = bounds.get("", bounds.get("count"))
    if interval is None:
        return {}
    return {
        "low": None if interval.low is None else float(interval.low),
        "high": None if interval.high is None else float(interval.high),
    }


def _columns(value: Aggregate, stacks: StackTable) -> Columns:
    columns: Columns = {"count": limited(value.n)} if not isinstance(value, First | Last) else {}
    match value:
        case Total() | Average():
            return columns | _sums(value)
        case Least():
            return columns | _extreme("min", value.value)
        case Greatest():
            return columns | _extreme("max", value.value)
        case Stats():
            return columns | _sums(value) | _extremes(value)
        case Histogram() | LinearHistogram():
            return columns | _sums(value) | _extremes(value) | _buckets(value) | _exemplars(value)
        case TimeSeries():
            return columns | _series(value)
        case Top():
            return columns | _top(value, stacks)
        case Distinct():
            return columns | {"registers": value.registers, "estimate": limited(value.estimate)}
        case Examples():
            return columns | {"examples": [_json(example, stacks) for example in value.values]}
        case First() | Last():
            return {"value": _json(value.value, stacks), "value_nanos": limited(value.wall_nanos)}
    return columns


def _sums(value: Total | Average | Stats | Histogram | LinearHistogram) -> Columns:
    return {"sum": limited(value.integral), "sum_double": value.floating}


def _extremes(value: Stats | Histogram | LinearHistogram) -> Columns:
    return _extreme("min", value.least) | _extreme("max", value.greatest)


def _extreme(name: str, number: Number | None) -> Columns:
    if number is None:
        return {}
    return {name: limited(number)} if isinstance(number, int) else {f"{name}_double": number}


def _buckets(value: Histogram | LinearHistogram) -> Columns:
    if isinstance(value, LinearHistogram):
        return {"bounds": value.linear.bounds, "bucket_counts": [limited(count) for count in value.counts]}
    if not isinstance(value.layout, Exponential):
        return _old_buckets(value)
    positive, negative = otlp_counts(value.layout, value.counts)
    return {
        "scale": value.layout.precision,
        "zero_count": limited(dict(value.counts).get(0, 0)),
        "positive_offset": min(positive, default=0),
        "positive_counts": _dense(positive),
        "negative_offset": min(negative, default=0),
        "negative_counts": _dense(negative),
    }


def _dense(counts: dict[int, int]) -> list[int]:
    return [limited(counts.get(index, 0)) for index in range(min(counts), max(counts) + 1)] if counts else []


def _exemplars(value: Histogram | LinearHistogram) -> Columns:
    return {"exemplars": [_exemplar(exemplar) for exemplar in value.exemplars]}


def _exemplar(exemplar: Exemplar) -> Columns:
    integer = exemplar.value if isinstance(exemplar.value, int) else None
    return {
        "ts": limited(exemplar.nanos) // 1000,
        "value": integer,
        "value_double": exemplar.value if integer is None else None,
        "trace_id": exemplar.trace_id.hex(),
        "span_id": exemplar.span_id.hex(),
    }


def _old_buckets(value: Histogram) -> Columns:
    """For a recording with log-linear buckets: the bounds of the buckets with samples, and the counts between the
    bounds."""
    bounds: list[float] = []
    counts: list[int] = [0]
    for bucket in value.occupied():
        low, high = float(bucket.low), float(bucket.high) + 1
        if not bounds or bounds[-1] < low:
            bounds.append(low)
            counts.append(0)
        counts[-1] += limited(bucket.count)
        bounds.append(high)
        counts.append(0)
    return {"bounds": bounds, "bucket_counts": counts}


def _series(value: TimeSeries) -> Columns:
    interval = value.series.interval
    windows = [_window(epoch * interval, window.n, window.number) for epoch, window in value.windows]
    return {"interval_nanos": interval, "series": windows}


def _window(start: int, samples: int, number: Number) -> Columns:
    is_long = isinstance(number, int)
    double = None if is_long or math.isnan(number) else number
    return {
        "start": limited(start) // 1000,
        "count": limited(samples),
        "value": limited(int(number)) if is_long else None,
        "value_double": double,
    }


def _top(value: Top, stacks: StackTable) -> Columns:
    top: Sequence[Columns] = [
        {"value": _json(frequent.value, stacks), "count": limited(frequent.count), "error": limited(frequent.error)}
        for frequent in value.values
    ]
    return {"top": top, "unseen": limited(value.unseen)}
