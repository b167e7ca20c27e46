"""Restores the content of a map from a line of ``-f ndjson``."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from btpy.events.aggregates import (
    Aggregate,
    Greatest,
    Histogram,
    LinearHistogram,
    MapContent,
    Number,
    Stats,
    TimeSeries,
)
from btpy.events.buckets import MAX_SCALE, Buckets, Exponential, LogLinear
from btpy.events.estimates import Skips, Weights
from btpy.events.records import Value
from btpy.events.sketches import Examples, Frequent, Top
from btpy.lang.builtins import MAX_BUCKETS, MAX_WINDOWS
from btpy.model.maps import Linear, Map, MapKind, Most, Series, SeriesOperator
from btpy.model.types import ANY

_KINDS = {
    "map": MapKind.VALUE,
    "hist": MapKind.HIST,
    "stats": MapKind.STATS,
    "tseries": MapKind.TSERIES,
    "topk": MapKind.TOPK,
    "sample_of": MapKind.SAMPLE_OF,
}
_MEMBER = {"stats": "average", "tseries": "interval", "topk": "unseen", "sample_of": "values"}
"""Members that distinguish a value of this type from a table of keys."""

_LAYOUTS: tuple[Buckets, ...] = (
    *(Exponential(scale) for scale in range(MAX_SCALE, -1, -1)),
    *(LogLinear(precision) for precision in range(17)),
)
"""A line does not say how its buckets are divided. The finest exponential division is tried first, divisions of older
versions last."""

MAPS = frozenset(_KINDS)


def content(line: dict[str, Any], id_: int) -> MapContent:
    """Raises ValueError, KeyError or TypeError for a line that does not follow docs/events.md."""
    kind = line["type"]
    ((title, data),) = line["data"].items()
    keyed = _is_keyed(kind, data)
    figures = line.get("percentiles", {}).get(title, {})
    entries = []
    parameters: Linear | Series | Most | None = None
    precision = 0
    values = data.items() if keyed else ((None, data),)
    for key, document in values:
        if not keyed and document is None:
            continue
        value, parameters, precision = _value(kind, document, figures.get(key, {}) if keyed else figures)
        entries.append(((str(key),) if keyed else (), value))
    real = MapKind.LHIST if isinstance(parameters, Linear) else _KINDS[kind]
    name = str(title).replace("@", "")
    estimated = line.get("estimated")
    map_ = Map(id_, name, real, int(keyed), ANY, precision, parameters=parameters, estimated=estimated)
    skips = _skips(line.get("skips", {}).get(title))
    if skips is not None:
        entries = [(key, _weighed(value, skips)) for key, value in entries]
    return MapContent(
        map_, int(line.get("full", 0)), tuple(entries), int(line.get("omitted", 0)), evicted=0, skips=skips
    )


def _skips(data: Any) -> Skips | None:
    if data is None:
        return None
    skips = Skips(int(data["skipped"]), int(data["factor"]), 0, int(data.get("rested_ns", 0)))
    if not skips.skipped >= 0 or not 1 <= skips.factor <= 1 << 31 or not skips.rested_ns >= 0:
        raise ValueError("skips out of range")
    return skips


def _weighed(value: Aggregate | Value, skips: Skips) -> Aggregate | Value:
    """A line does not have the weights of samples, so all samples get the largest weight."""
    n = getattr(value, "n", None)
    if not isinstance(value, Aggregate) or not isinstance(n, int):
        return value
    total = getattr(value, "total", 0)
    mean = total / n if n and math.isfinite(total) else 0.0
    spread = n * (skips.factor - 1.0)
    return replace(
        value, weights=Weights(skips, math.ceil(n / skips.factor), n, spread, spread * mean, spread * mean * mean)
    )


def _is_keyed(kind: str, data: Any) -> bool:
    if not isinstance(data, dict):
        return False
    member = _MEMBER.get(kind)
    return member is None or member not in data or isinstance(data[member], dict)


def _value(
    kind: str, data: Any, figures: dict[str, Any]
) -> tuple[Aggregate | Value, Linear | Series | Most | None, int]:
    if kind == "hist":
        return _histogram(data, figures)
    if kind == "stats":
        n, total = int(data["count"]), _number(data["total"])
        integer = total if isinstance(total, int) else 0
        rest = 0.0 if isinstance(total, int) else total
        return Stats(n, integer, rest or 0.0, _number(data["min"]), _number(data["max"])), None, 0
    if kind == "tseries":
        values = data["values"]
        if len(values) > MAX_WINDOWS:
            raise ValueError(f"{len(values)} intervals")
        series = Series(int(data["interval"]), len(values), SeriesOperator(data["operator"]))
        epoch = int(data["end"]) - 1
        points = [(epoch - len(values) + 1 + at, Greatest(1, _number(number))) for at, number in enumerate(values)]
        windows = tuple((at, window) for at, window in points if window.value is not None)
        return TimeSeries(int(data["count"]), series, epoch, windows), series, 0
    if kind == "topk":
        frequent = tuple(Frequent(_plain(e["value"]), int(e["count"]), int(e["error"])) for e in data["values"])
        return Top(int(data["count"]), len(frequent), int(data["unseen"]), frequent), Most(len(frequent)), 0
    if kind == "sample_of":
        examples = tuple(_plain(example) for example in data["values"])
        return Examples(int(data["count"]), len(examples), examples), Most(len(examples)), 0
    return _plain(data), None, 0


def _histogram(buckets: Any, figures: dict[str, Any]) -> tuple[Aggregate, Linear | None, int]:
    rows = [(bucket["min"], bucket["max"], int(bucket["count"])) for bucket in buckets]
    average, n = _number(figures.get("average")), sum(count for _, _, count in rows)
    floating = float(average * n) if average is not None else 0.0
    least, greatest = _number(figures.get("min")), _number(figures.get("max"))
    for layout in _LAYOUTS:
        if all(_is_bucket(low, high, layout) for low, high, _ in rows):
            counts = {layout.index(high): count for _, high, count in rows if count}
            laid = tuple(sorted(counts.items()))
            histogram = Histogram(layout, 0, floating, _whole(least), _whole(greatest), laid)
            return histogram, None, layout.precision
    return _linear(rows, floating, least, greatest)


def _is_bucket(low: Any, high: Any, layout: Buckets) -> bool:
    if not isinstance(low, int) or not isinstance(high, int) or not -1 << 63 <= low <= high < 1 << 63:
        return False
    if high < 0 and isinstance(layout, LogLinear):
        return high == -1  # the bucket of all negatives begins at the least sample
    return layout.bounds(layout.index(high)) == (low, high)


def _linear(
    rows: list[tuple[Any, Any, int]], floating: float, least: Number | None, greatest: Number | None
) -> tuple[Aggregate, Linear, int]:
    bounded = [(float(low), float(high)) for low, high, _ in rows if low is not None and high is not None]
    edges = [float(edge) for low, high, _ in rows for edge in (low, high) if edge is not None]
    step = min((high - low for low, high in bounded), default=1.0)
    low, high = min(edges), max(max(edges), min(edges) + step)
    linear = Linear(low, high, step)
    if not step > 0 or not (high - low) / step <= MAX_BUCKETS:
        raise ValueError(f"buckets from {low} to {high}")
    counts = [0] * (linear.buckets + 2)
    for start, end, count in rows:
        at = 0 if start is None else linear.buckets + 1 if end is None else 1 + round((float(start) - low) / step)
        counts[at] += count
    return LinearHistogram(linear, 0, floating, least, greatest, tuple(counts)), linear, 0


def _number(value: Any) -> Number | None:
    if value is None or isinstance(value, int | float):
        return value
    return float(str(value).replace("Infinity", "inf"))


def _whole(value: Number | None) -> int | None:
    return None if value is None else int(value)


def _plain(value: Any) -> Value:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
