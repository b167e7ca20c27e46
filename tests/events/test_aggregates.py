from __future__ import annotations

import contextlib
import math
import struct
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btpy.errors import ProtocolError
from btpy.events.aggregates import (
    Average,
    Bucket,
    ContentForm,
    Count,
    Greatest,
    Histogram,
    Least,
    LinearHistogram,
    MapContent,
    Percentile,
    Stats,
    Total,
    decode_content,
    decode_contents,
    intervals,
    measure,
    merge,
    ranked,
)
from btpy.events.buckets import Exponential, LogLinear
from btpy.events.estimates import Skips, Weights
from btpy.events.exemplars import Exemplar
from btpy.model.maps import Linear, Map, MapKind
from btpy.model.types import LONG
from tests.events.encoding import encode_cells, encode_content, encode_value, segment

LONGS = st.integers(0, 2**63 - 1)
MAX, MIN = 2**63 - 1, -(2**63)
INF = math.inf
OLD_FORM = ContentForm(exponential=False, exemplars=False)


def a_map(kind: MapKind, keys: int = 1, **fields: Any) -> Map:
    return Map(id=0, name="m", kind=kind, keys=keys, type=LONG, **fields)


def decoded(kind: MapKind, *cells: int | float) -> Any:
    content = decode_content(encode_content(0, 0, [(("k",), encode_cells(*cells))]), {0: a_map(kind)})
    ((key, value),) = content.entries
    assert key == ("k",)
    return value


def histogram_of(samples: list[int], precision: int = 2) -> Histogram:
    """A model of the JVM's code."""
    layout = Exponential(precision)
    counts = Counter(map(layout.index, samples))
    least, greatest = min(samples, default=None), max(samples, default=None)
    return Histogram(layout, sum(samples), 0.0, least, greatest, tuple(sorted(counts.items())))


@given(
    st.lists(st.integers(-1000, 2**40), min_size=1, max_size=60),
    st.sampled_from([0.0, 1, 50, 90, 99, 99.9, 100]),
    st.integers(0, 6),
)
def test_a_percentile_is_as_exact_as_the_language_says(samples: list[int], percent: float, precision: int) -> None:
    at = histogram_of(samples, precision).percentile(percent)
    exact = sorted(samples)[max(1, math.ceil(percent * len(samples) / 100)) - 1]
    assert at is not None
    assert at.low <= exact <= at.high
    assert at.low <= at.estimate <= at.high
    assert abs(at.estimate - exact) <= abs(exact) * (2**2**-precision - 1) / 2 + 0.5


def test_percentiles_of_nothing() -> None:
    assert histogram_of([]).percentile(50) is None


@given(st.lists(st.integers(-50, 10**6), max_size=30), st.lists(st.integers(-50, 10**9), max_size=30))
def test_merged_histograms_are_the_histogram_of_all_samples(left: list[int], right: list[int]) -> None:
    assert histogram_of(left).merge(histogram_of(right)) == histogram_of(left + right)


def test_merged_distributions_have_the_newest_exemplar_of_each_size() -> None:
    early, late, small = (
        Exemplar(value, nanos, bytes(16), bytes(8)) for value, nanos in ((1000, 1), (1001, 2), (3, 1))
    )
    left = replace(histogram_of([1000, 3]), exemplars=(small, early))
    right = replace(histogram_of([1001]), exemplars=(late,))
    assert left.merge(right).exemplars == right.merge(left).exemplars == (small, late)
    huge = [Exemplar(number, 7, b"", b"") for number in (float("inf"), -float("inf"), 1e300, float("nan"))]
    assert [exemplar.size for exemplar in huge] == [65] * 4
    linear = LinearHistogram(Linear(0, 10, 10), 0, 0.0, None, None, (0, 0, 0), exemplars=(early,))
    assert linear.merge(replace(linear, exemplars=(small,))).exemplars == (small, early)


@given(st.lists(LONGS, max_size=40), st.lists(LONGS, max_size=40), st.integers(0, 6), st.integers(0, 6))
def test_histograms_of_two_scales_merge_into_the_lower_one(
    left: list[int], right: list[int], one: int, other: int
) -> None:
    both = histogram_of(left, one).merge(histogram_of(right, other))
    assert both.layout == Exponential(min(one, other))
    assert both.counts == histogram_of(left + right, min(one, other)).counts


def test_histograms_of_two_kinds_of_buckets_do_not_merge() -> None:
    with pytest.raises(ValueError, match="LogLinear"):
        histogram_of([1]).merge(replace(histogram_of([1]), layout=LogLinear(2)))


@given(st.lists(LONGS, min_size=1, max_size=40), st.integers(0, 6))
def test_coarse_buckets_are_those_of_their_precision(samples: list[int], coarse: int) -> None:
    assert histogram_of(samples, 4).coarser(coarse) == histogram_of(samples, min(coarse, 4))


def test_empty_buckets_between_occupied_ones_are_shown() -> None:
    buckets = histogram_of([1, 8]).coarser(0).buckets()
    assert buckets == [Bucket(1, 1, 1), Bucket(2, 2, 0), Bucket(3, 4, 0), Bucket(5, 8, 1)]


def test_cells_of_each_kind() -> None:
    assert decoded(MapKind.COUNT, 5) == Count(5)
    assert decoded(MapKind.SUM, 2, 7, 0.0).number == 7
    assert isinstance(decoded(MapKind.SUM, 2, 7, 0.0).number, int)
    assert decoded(MapKind.SUM, 3, 7, 0.5).number == 7.5
    assert isinstance(decoded(MapKind.SUM, 3, 7, -0.0).number, float)
    assert decoded(MapKind.AVG, 4, 10, 0.0) == Average(4, 10, 0.0)
    assert decoded(MapKind.AVG, 4, 10, 0.0).number == 2.5
    assert decoded(MapKind.MIN, 2, 3, 2.5) == Least(2, 2.5)
    assert decoded(MapKind.MIN, 2, 3, INF) == Least(2, 3)
    assert decoded(MapKind.MIN, 0, MAX, INF) == Least(0, None)
    assert decoded(MapKind.MIN, 1, MAX, INF) == Least(1, MAX)
    assert decoded(MapKind.MAX, 2, MIN, -1.5) == Greatest(2, -1.5)
    assert decoded(MapKind.STATS, 2, 10, 0.0, 3, INF, 7, -INF) == Stats(2, 10, 0.0, 3, 7)
    assert decoded(MapKind.STATS, 2, 10, 0.0, 3, INF, 7, -INF).mean == 5
    hist = decoded(MapKind.HIST, 6, 0.0, -1, 4, *segment(0, 0, 1, 0, 0, 1), *segment(4, 0, 1))
    assert (hist.counts, hist.least, hist.greatest, hist.total) == (((-1, 1), (1, 1), (4, 1)), -1, 4, 6)
    assert decoded(MapKind.HIST, 0, 0.0, MAX, MIN).percentile(99) is None


def test_cells_of_recordings_with_log_linear_buckets() -> None:
    cells = encode_cells(6, 0.0, -3, 9, 1, *segment(0, 0, 1, 0, 0, 0, 0, 0, 0, 1))
    content = decode_content(encode_content(0, 0, [(("k",), cells)], exemplars=b""), {0: a_map(MapKind.HIST)}, OLD_FORM)
    ((_, hist),) = content.entries
    assert isinstance(hist, Histogram)
    assert hist.buckets()[0] == Bucket(-3, -1, 1)
    assert hist.buckets()[-1] == Bucket(8, 9, 1)
    assert (hist.n, hist.percentile(100)) == (3, Percentile(8, 8, 9))


def test_skipped_hits_come_with_the_data_for_their_error() -> None:
    weights = encode_cells(3, 24, 168.0, 336.0, 672.0)
    data = encode_content(0, 0, [(("k",), encode_cells(27))], skips=(21, 8, 2, 0), weights=weights)
    content = decode_content(data, {0: a_map(MapKind.COUNT)})
    ((_, value),) = content.entries
    assert content.skips == Skips(21, 8, 2, 0)
    assert value == Count(27, Weights(Skips(21, 8, 2, 0), 3, 24, 168.0, 336.0, 672.0))
    with pytest.raises(ProtocolError):
        decode_content(data.replace(weights, encode_cells(3, 2, 168.0, 0.0, 0.0)), {0: a_map(MapKind.COUNT)})
    older = struct.pack(">IQQII", 0, 0, 0, 0, 1) + struct.pack(">I", 1) + encode_value("k") + encode_cells(27)
    content = decode_content(older, {0: a_map(MapKind.COUNT)}, ContentForm(skips=False, exemplars=False))
    assert (content.entries, content.skips) == (((("k",), Count(27)),), None)


def test_hits_skipped_in_one_of_several_jvms_count_for_all_keys() -> None:
    exact = content(MapKind.COUNT, ("a", Count(5)), ("b", Count(7)))
    skips = Skips(90, 8)
    sampled = replace(content(MapKind.COUNT, ("a", Count(80, Weights(skips, 10, 80, 560.0)))), skips=skips)
    both = merge([exact, sampled])
    assert both.skips == skips
    values = {key: value for (key,), value in both.entries}
    assert isinstance(values["a"], Count)
    assert values["a"].n == 85
    a, b = intervals(values["a"])[""], intervals(values["b"])[""]
    assert a.low is not None
    assert a.high is not None
    assert 15 <= a.low < 85 < a.high
    assert b.low == 7
    assert b.high is not None
    assert b.high > 7, "of a key that no hit fired for hits may have been skipped"


@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        (MapKind.COUNT, (1, 2)),
        (MapKind.SUM, (1, 2)),
        (MapKind.STATS, (1, 2, 0.0)),
        (MapKind.HIST, (1, 0.0, 0)),
        (MapKind.HIST, (1, 0.0, 0, 0, 5, -5)),
        (MapKind.HIST, (1, 0.0, 0, 0, 0, -5, *[0] * 63)),
        (MapKind.HIST, (1, 0.0, 0, 0, 3, *[0] * 63, 1)),
        (MapKind.HIST, (1, 0.0, 0, 0, 8, 1, *[0] * 63)),
        (MapKind.AVG, (-1, 0, 0.0)),
    ],
)
def test_cells_that_cannot_be_are_refused(kind: MapKind, cells: tuple[int | float, ...]) -> None:
    with pytest.raises(ProtocolError):
        decoded(kind, *cells)


def test_plain_values_and_keys_of_every_type() -> None:
    entries = [((None, 1), encode_value("a")), (("x", 2.5), encode_value(7))]
    content = decode_content(encode_content(0, 3, entries, weights=None), {0: a_map(MapKind.VALUE, keys=2)})
    assert content.full == 3
    assert content.entries == (((None, 1), "a"), (("x", 2.5), 7))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(encode_content(9, 0, []), id="a map that was not declared"),
        pytest.param(encode_content(0, 0, [((1, 2), encode_cells(1))]), id="two key components for one"),
        pytest.param(encode_content(0, 0, [((1,), encode_cells(1))])[:-1], id="cut short"),
        pytest.param(encode_content(0, 0, []) + b"\0", id="something left over"),
        pytest.param(struct.pack(">IQI", 0, 0, 4), id="fewer entries than announced"),
    ],
)
def test_contents_that_cannot_be_are_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_content(data, {0: a_map(MapKind.COUNT, capacity=4)})


@given(st.binary(max_size=100))
def test_arbitrary_contents_are_refused_or_read(data: bytes) -> None:
    maps = {0: a_map(MapKind.HIST), 1: a_map(MapKind.VALUE, keys=2)}
    for decode in (decode_content, decode_contents):
        with contextlib.suppress(ProtocolError):
            decode(data, maps)


def test_a_list_of_contents() -> None:
    maps = {0: a_map(MapKind.COUNT), 1: Map(1, "n", MapKind.SUM, 0, LONG)}
    data = struct.pack(">I", 2) + encode_content(1, 0, [((), encode_cells(1, 5, 0.0))]) + encode_content(0, 0, [])
    first, second = decode_contents(data, maps)
    assert (first.map.name, first.entries) == ("n", (((), Total(1, 5, 0.0)),))
    assert (second.map.name, second.entries) == ("m", ())
    with pytest.raises(ProtocolError):
        decode_contents(data + b"\0", maps)
    with pytest.raises(ProtocolError):
        decode_contents(struct.pack(">I", 3) + data[4:], maps)


def content(kind: MapKind, *entries: tuple[Any, Any], full: int = 0) -> MapContent:
    return MapContent(a_map(kind), full, tuple(((key,), value) for key, value in entries))


def test_contents_merge_by_key_and_kind() -> None:
    left = content(MapKind.COUNT, ("a", Count(1)), ("b", Count(2)), full=1)
    right = content(MapKind.COUNT, ("b", Count(5)), ("c", Count(7)), full=2)
    assert merge([left, right]) == content(MapKind.COUNT, ("a", Count(1)), ("b", Count(7)), ("c", Count(7)), full=3)
    with pytest.raises(ValueError, match="merge"):
        merge([left, content(MapKind.SUM)])
    with pytest.raises(ValueError, match="nothing"):
        merge([])


def test_keys_that_python_takes_for_equal_stay_apart() -> None:
    merged = merge([content(MapKind.COUNT, (1, Count(1)), (True, Count(2))), content(MapKind.COUNT, (1.0, Count(4)))])
    assert [(type(key[0]), value) for key, value in merged.entries] == [
        (int, Count(1)),
        (bool, Count(2)),
        (float, Count(4)),
    ]


def test_extremes_and_sums_merge() -> None:
    assert Least(1, 5).merge(Least(0, None)) == Least(1, 5)
    assert Greatest(1, 5).merge(Greatest(1, 6.5)) == Greatest(2, 6.5)
    assert Total(1, MAX, 0.0).merge(Total(1, 1, 0.0)) == Total(2, MIN, 0.0)
    assert Stats(1, 5, 0.0, 5, 5).merge(Stats(2, 5, 1.5, 2, 3)) == Stats(3, 10, 1.5, 2, 5)
    assert Average(1, 5, 0.0).merge(Average(3, 3, 0.0)).number == 2


def test_ranking() -> None:
    counts = content(MapKind.COUNT, ("b", Count(2)), ("a", Count(2)), ("c", Count(9)), ("d", Count(1)))

    def keys(entries: Iterable[tuple[tuple[object, ...], object]]) -> list[object]:
        return [key[0] for key, _ in entries]

    assert keys(ranked(counts)) == ["c", "a", "b", "d"]
    assert keys(ranked(counts, top=2)) == ["c", "a"]
    assert keys(ranked(counts, descending=False)) == ["d", "a", "b", "c"]
    assert keys(ranked(counts, by="key", descending=False)) == ["a", "b", "c", "d"]
    assert keys(ranked(counts, least=2)) == ["c", "a", "b"]
    mixed = content(MapKind.VALUE, ("x", 1), (None, 1), (True, 1), (2.5, 1), (float("nan"), 1), ("a", 1))
    assert keys(ranked(mixed, by="key", descending=False))[:3] == [None, True, 2.5]
    assert keys(ranked(mixed, by="key", descending=False))[4:] == ["a", "x"]


def test_measures() -> None:
    stats = Stats(2, 10, 0.0, 3, 7)
    assert [measure(stats, by) for by in ("", "count", "sum", "avg", "min", "max")] == [10, 2, 10, 5, 3, 7]
    assert measure(stats, "p99") == -INF
    hist = histogram_of([1, 2, 3, 100])
    assert [measure(hist, by) for by in ("", "count", "max", "p50")] == [4, 4, 100, 2]
    assert measure("text", "") == -INF
    assert measure(float("nan"), "") == -INF
