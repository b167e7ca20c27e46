"""Maps of every kind as metrics."""

from __future__ import annotations

import bisect
import math
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, Metric

from btpy.events.aggregates import (
    Aggregate,
    Average,
    Count,
    Greatest,
    Histogram,
    Key,
    Least,
    LinearHistogram,
    Stats,
    Total,
)
from btpy.events.buckets import MAX_SCALE, Exponential, LogLinear
from btpy.events.estimates import Skips, Weights
from btpy.events.records import EnumValue, StackRef, Value
from btpy.events.sketches import Distinct, First, Frequent, Last, Top
from btpy.events.stacks import StackTable
from btpy.model.maps import Linear, Map, MapKind
from btpy.model.types import ANY, BYTES, DURATION, LONG, Type
from btpy.output.map_series import OVERFLOW, exact_key
from btpy.output.otlp.attributes import Values
from btpy.output.otlp.points import Window, cumulative_count, metric_of
from btpy.output.otlp.settings import Temporality
from tests.events.test_aggregates import histogram_of
from tests.output.otlp.backend import attributes

WINDOW = Window(1_000, 2_000)
CUMULATIVE = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
DELTA = AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA


def a_map(kind: MapKind, type_: Type = LONG, names: tuple[str, ...] = ()) -> Map:
    return Map(0, "m", kind, len(names), type_, key_names=names)


def metric(
    map_: Map, *entries: tuple[Key, Aggregate | Value], temporality: Temporality = Temporality.CUMULATIVE
) -> Metric:
    exact = [(exact_key(key), value) for key, value in entries]
    metric_ = metric_of(map_, exact, WINDOW, temporality, Values(StackTable()))
    assert metric_ is not None
    return metric_


def test_a_count_is_a_growing_sum() -> None:
    metric_ = metric(a_map(MapKind.COUNT), ((), Count(7)))
    assert (metric_.name, metric_.unit, metric_.description) == ("btpy.m", "{hit}", "count of @m")
    assert metric_.sum.is_monotonic
    assert metric_.sum.aggregation_temporality == CUMULATIVE
    (point,) = metric_.sum.data_points
    assert (point.as_int, point.start_time_unix_nano, point.time_unix_nano) == (7, 1_000, 2_000)


@pytest.mark.parametrize(("type_", "unit", "grows"), [(DURATION, "ns", True), (BYTES, "By", True), (ANY, "", False)])
def test_a_sum_grows_where_no_sample_is_negative(type_: Type, unit: str, grows: bool) -> None:
    metric_ = metric(a_map(MapKind.SUM, type_), ((), Total(3, 10, 0.5)), temporality=Temporality.DELTA)
    assert (metric_.unit, metric_.sum.is_monotonic, metric_.sum.aggregation_temporality) == (unit, grows, DELTA)
    assert metric_.sum.data_points[0].as_double == 10.5


def test_keys_are_attributes_with_types_and_names_of_the_script() -> None:
    map_ = a_map(MapKind.COUNT, names=("sku", "times", "rate", "new", "none", "state"))
    metric_ = metric(map_, (("A-1", 3, 0.5, True, None, EnumValue("State", "OPEN")), Count(1)))
    assert attributes(list(metric_.sum.data_points[0].attributes)) == {
        "sku": "A-1",
        "times": 3,
        "rate": 0.5,
        "new": True,
        "state": "OPEN",
    }


def test_keys_without_names_are_counted_off() -> None:
    map_ = replace(a_map(MapKind.COUNT, names=("a", "b")), key_names=())
    metric_ = metric(map_, (("x", "y"), Count(1)))
    assert attributes(list(metric_.sum.data_points[0].attributes)) == {"key1": "x", "key2": "y"}


def test_samples_of_other_keys_are_marked() -> None:
    metric_ = metric_of(
        a_map(MapKind.COUNT, names=("a",)), [(OVERFLOW, Count(3))], WINDOW, Temporality.CUMULATIVE, Values(StackTable())
    )
    assert metric_ is not None
    assert attributes(list(metric_.sum.data_points[0].attributes)) == {"otel.metric.overflow": True}


def test_an_estimate_is_marked() -> None:
    map_ = replace(a_map(MapKind.COUNT), estimated="100")
    metric_ = metric(map_, ((), Count(300, Weights(Skips(297, 100), 3, 300))))
    assert "estimated from a sample of the hits (100)" in metric_.description
    assert attributes(list(metric_.sum.data_points[0].attributes)) == {"btpy.estimated": True}


def test_avg_and_stats_are_summaries() -> None:
    average = metric(a_map(MapKind.AVG, DURATION), ((), Average(4, 10, 0.5))).summary.data_points[0]
    assert (average.count, average.sum, len(average.quantile_values)) == (4, 10.5, 0)
    stats = metric(a_map(MapKind.STATS), ((), Stats(4, 10, 0.0, 1, 6))).summary.data_points[0]
    assert (stats.count, stats.sum) == (4, 10)
    assert [(quantile.quantile, quantile.value) for quantile in stats.quantile_values] == [(0, 1), (1, 6)]
    assert stats.start_time_unix_nano == 1_000


@pytest.mark.parametrize(
    ("kind", "value", "number"),
    [
        (MapKind.MIN, Least(3, 2), 2),
        (MapKind.MAX, Greatest(3, 2.5), 2.5),
        (MapKind.DISTINCT, Distinct(0, bytes(2048)), 0),
        (MapKind.LAST, Last(5, 17), 17),
        (MapKind.FIRST, First(5, 18), 18),
        (MapKind.VALUE, 19, 19),
        (MapKind.VALUE, 1 << 70, float(1 << 70)),
    ],
)
def test_other_numbers_are_gauges(kind: MapKind, value: Aggregate | Value, number: float) -> None:
    (point,) = metric(a_map(kind), ((), value)).gauge.data_points
    assert (point.as_int or point.as_double) == number
    assert point.start_time_unix_nano == 0


@pytest.mark.parametrize("value", [Last(5, "text"), "text", True, None, StackRef(1)])
def test_only_numbers_become_points(value: Aggregate | Value) -> None:
    map_ = a_map(MapKind.LAST if isinstance(value, Last) else MapKind.VALUE)
    assert metric_of(map_, [((), value)], WINDOW, Temporality.CUMULATIVE, Values(StackTable())) is None


def test_topk_has_a_point_for_each_value() -> None:
    top = Top(100, 2, 3, (Frequent("a", 50, 1), Frequent("b", 30, 0), Frequent("c", 9, 0)))
    points = metric(a_map(MapKind.TOPK, names=("k",)), (("x",), top)).gauge.data_points
    assert [(attributes(list(point.attributes)), point.as_int) for point in points] == [
        ({"k": "x", "value": "a"}, 50),
        ({"k": "x", "value": "b"}, 30),
    ]


samples = st.lists(st.integers(-50, 2**40), min_size=1, max_size=60)


@given(samples, st.integers(0, MAX_SCALE))
def test_exponential_buckets_hold_the_samples_of_the_data_model(values: list[int], scale: int) -> None:
    """A bucket holds samples above base**index, up to base**(index + 1); the base is 2**2**-scale."""
    metric_ = metric(a_map(MapKind.HIST, DURATION), ((), histogram_of(values, scale)))
    (point,) = metric_.exponential_histogram.data_points
    assert point.scale <= scale
    assert point.zero_count == values.count(0)
    assert (point.count, point.min, point.max) == (len(values), min(values), max(values))
    assert (point.sum if point.HasField("sum") else None) == (sum(values) if min(values) >= 0 else None)
    for sign, buckets in ((1, point.positive), (-1, point.negative)):
        assert len(buckets.bucket_counts) <= 160
        for index, count in enumerate(buckets.bucket_counts, buckets.offset):
            between = [v for v in values if v * sign > 0 and index == of_the_data_model(v * sign, point.scale)]
            assert count == len(between)
    assert sum(point.positive.bucket_counts) + sum(point.negative.bucket_counts) == len(values) - values.count(0)


def of_the_data_model(number: int, scale: int) -> int:
    """The index, without roots: 2**index < number**(2**scale) <= 2**(index + 1)."""
    return (number**2**scale - 1).bit_length() - 1 if number > 1 else -1


def test_a_wide_distribution_is_exported_with_a_lower_scale() -> None:
    wide = metric(a_map(MapKind.PCTL), ((), histogram_of([1, 2**40], 4)))
    (point,) = wide.exponential_histogram.data_points
    assert point.scale == 1, "640 buckets of scale 4 are 81 of scale 1 and 161 of scale 2"
    narrow = metric(a_map(MapKind.PCTL), ((), histogram_of([1000, 1001], 4)))
    assert narrow.exponential_histogram.data_points[0].scale == 4


@given(samples, st.integers(0, 8))
def test_log_linear_buckets_hold_the_samples_between_their_bounds(values: list[int], precision: int) -> None:
    """The buckets of older recordings."""
    layout = LogLinear(precision)
    counts_ = tuple(sorted(Counter(map(layout.index, values)).items()))
    value_ = Histogram(layout, sum(values), 0.0, min(values), max(values), counts_)
    (point,) = metric(a_map(MapKind.HIST, DURATION), ((), value_)).histogram.data_points
    counts = [0] * (len(point.explicit_bounds) + 1)
    for value in values:
        counts[bisect.bisect_left(point.explicit_bounds, value)] += 1  # upper bounds are inclusive
    assert list(point.bucket_counts) == counts
    assert list(point.explicit_bounds) == sorted(set(point.explicit_bounds))
    assert (point.count, point.sum) == (len(values), sum(values))
    assert (point.min, point.max) == (min(values), max(values))


@given(st.lists(st.one_of(st.integers(-5, 60), st.floats(-5, 60, allow_subnormal=False)), min_size=1, max_size=40))
def test_buckets_of_lhist_do_not_include_their_upper_bound(values: list[float]) -> None:
    linear = Linear(0, 50, 5)
    counts = [0] * (linear.buckets + 2)
    for value in values:
        at = (value - linear.low) / linear.step
        counts[0 if at < 0 else linear.buckets + 1 if at >= linear.buckets else 1 + int(at)] += 1
    histogram = LinearHistogram(linear, 0, math.fsum(values), min(values), max(values), tuple(counts))
    (point,) = metric(a_map(MapKind.LHIST), ((), histogram)).histogram.data_points
    expected = [0] * len(counts)
    for value in values:
        expected[bisect.bisect_left(point.explicit_bounds, value)] += 1
    assert list(point.bucket_counts) == expected == counts


def test_a_histogram_takes_no_more_than_its_buckets() -> None:
    """Two samples that are 3 million buckets apart."""
    sparse = Histogram(LogLinear(16), 0, 0.0, 0, 1 << 62, ((7, 1), (3_000_000, 1)))
    (point,) = metric(a_map(MapKind.PCTL), ((), sparse)).histogram.data_points
    assert len(point.explicit_bounds) == 4
    assert list(point.bucket_counts) == [0, 1, 0, 1, 0]
    assert point.explicit_bounds[1] == 7


def test_a_delta_has_no_extremes() -> None:
    metric_ = metric(a_map(MapKind.HIST), ((), histogram_of([1, 5])), temporality=Temporality.DELTA)
    (point,) = metric_.exponential_histogram.data_points
    assert metric_.exponential_histogram.aggregation_temporality == DELTA
    assert not point.HasField("min")
    assert not point.HasField("max")


def test_a_map_without_a_name_is_called_by_its_kind() -> None:
    assert metric(replace(a_map(MapKind.COUNT), name=""), ((), Count(1))).name == "btpy.count"
    assert metric(replace(a_map(MapKind.COUNT), name="jdbc.queries"), ((), Count(1))).name == "btpy.jdbc.queries"


GREATEST = 1 << 70


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (MapKind.COUNT, Count(GREATEST)),
        (MapKind.COUNT, Count(-GREATEST)),
        (MapKind.SUM, Total(GREATEST, -GREATEST, math.nan)),
        (MapKind.AVG, Average(GREATEST, GREATEST, math.inf)),
        (MapKind.STATS, Stats(GREATEST, GREATEST, 0.0, -GREATEST, GREATEST)),
        (MapKind.HIST, Histogram(Exponential(0), GREATEST, 0.0, 0, GREATEST, ((0, GREATEST), (9, GREATEST)))),
        (MapKind.HIST, Histogram(LogLinear(0), GREATEST, 0.0, -GREATEST, GREATEST, ((-1, GREATEST), (0, GREATEST)))),
        (MapKind.LHIST, LinearHistogram(Linear(0, 2, 1), GREATEST, 0.0, 0, GREATEST, (0, GREATEST, 0, 1))),
    ],
)
def test_numbers_that_otlp_does_not_have_become_the_nearest(kind: MapKind, value: Aggregate) -> None:
    """A hostile target can send any number of samples with consistent sums."""
    assert metric(a_map(kind), ((), value)).SerializeToString()
    assert Window.of(-GREATEST, GREATEST) == (0, (1 << 64) - 1)
    point = cumulative_count("n", "", "", [({}, GREATEST)], WINDOW)
    assert point.sum.data_points[0].as_int == (1 << 63) - 1
