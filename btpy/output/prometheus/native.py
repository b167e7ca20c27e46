"""Histograms of maps as native histograms of Prometheus.

The buckets of ``hist`` and ``pctl`` are those of a native histogram whose schema is the precision of the map, so the
counts are exact. The agent counts durations in nanoseconds, and Prometheus gets them in seconds. The bounds in seconds
are no powers of two. Therefore the native histogram of durations has finer buckets, each a quarter as wide, and the
samples of a bucket of the map go into the fine bucket that contains its middle.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from btpy.events.aggregates import Histogram, LinearHistogram
from btpy.events.buckets import Exponential, otlp_counts

_FINER = 2  # the schema of durations, above the precision of the map; 8 is the greatest schema


class NativeHistogram(NamedTuple):
    """``positive`` and ``negative``: counts by the index of the bucket. Bucket n has the numbers up to
    ``2 ** (n / 2**schema)``."""

    schema: int
    samples: int
    total: float
    zero_count: int
    positive: Mapping[int, int]
    negative: Mapping[int, int]


class Buckets(NamedTuple):
    """``spans``: for each run of buckets, its distance from the previous run, and its length. ``deltas``: the
    difference between the count of each bucket and the count of the previous bucket."""

    spans: list[tuple[int, int]]
    deltas: list[int]


def native_histogram(value: Histogram | LinearHistogram, scale: float) -> NativeHistogram | None:
    """None: its buckets are not exponential. ``scale``: the number by which all values are divided."""
    if isinstance(value, LinearHistogram) or not isinstance(value.layout, Exponential):
        return None
    layout = value.layout
    if scale == 1:
        schema, sides = layout.precision, [_next(counts) for counts in otlp_counts(layout, value.counts)]
    else:
        schema = layout.precision + _FINER
        sides = [
            _scaled(layout, {bucket: count for bucket, count in value.counts if bucket * sign > 0}, scale, schema)
            for sign in (1, -1)
        ]
    zeros = dict(value.counts).get(0, 0)
    return NativeHistogram(schema, value.n, value.total / scale, zeros, *sides)


def _next(counts: Mapping[int, int]) -> dict[int, int]:
    """OpenTelemetry numbers a bucket by its lower bound, Prometheus numbers it by its upper bound."""
    return {index + 1: count for index, count in counts.items()}


def _scaled(layout: Exponential, counts: Mapping[int, int], scale: float, schema: int) -> dict[int, int]:
    scaled: dict[int, int] = {}
    for bucket, count in counts.items():
        low, high = layout.bounds(abs(bucket))
        middle = (math.log2(low) + math.log2(high)) / 2 - math.log2(scale)
        index = math.ceil(middle * 2**schema)
        scaled[index] = scaled.get(index, 0) + count
    return scaled


def runs(counts: Mapping[int, int]) -> Buckets:
    spans: list[tuple[int, int]] = []
    deltas: list[int] = []
    end = before = 0
    for index in sorted(counts):
        if spans and index == end:
            spans[-1] = spans[-1][0], spans[-1][1] + 1
        else:
            spans.append((index - end, 1))
        deltas.append(counts[index] - before)
        end, before = index + 1, counts[index]
    return Buckets(spans, deltas)
