"""The protobuf format: its messages, its native histograms, and the scrapes that get it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from io import BytesIO
from itertools import accumulate
from typing import Any

import pytest
from google.protobuf import proto
from hypothesis import example, given
from hypothesis import strategies as st

from btpy.api.programs import outline_of
from btpy.events.aggregates import Aggregate, Average, Count, Histogram
from btpy.events.buckets import Exponential, LogLinear
from btpy.events.exemplars import Exemplar
from btpy.events.records import Value
from btpy.events.stacks import StackTable
from btpy.output.map_series import exact_key
from btpy.output.prometheus.client_model import MetricFamily
from btpy.output.prometheus.families import Families, FamilySample, add_map, names_of
from btpy.output.prometheus.native import native_histogram, runs
from btpy.output.prometheus.negotiation import encoder_of
from btpy.output.prometheus.protobuf import CONTENT_TYPE, encoded
from btpy.output.simple_values import SimpleValues
from tests.live.scripts import program

BY_PROMETHEUS = (
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,"
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)
"""The header of Prometheus 3 with native histograms."""

MOST = (1 << 63) - 1

NUMBERS = st.lists(st.integers(-(1 << 40), (1 << 62)), max_size=50)


def histogram(numbers: Sequence[int], precision: int) -> Histogram:
    layout = Exponential(precision)
    counts: dict[int, int] = {}
    for number in numbers:
        counts[layout.index(number)] = counts.get(layout.index(number), 0) + 1
    return Histogram(
        layout, sum(numbers), 0.0, min(numbers, default=None), max(numbers, default=None), tuple(sorted(counts.items()))
    )


def read(data: bytes) -> list[Any]:
    source = BytesIO(data)
    families = []
    while (family := proto.parse_length_prefixed(MetricFamily, source)) is not None:
        families.append(family)
    return families


def family_of(script: str, value: Aggregate | Value, *exemplars: Exemplar) -> Any:
    outline = outline_of(program(script))
    families = Families()
    names = names_of(outline, ("pid",))[0]
    key = exact_key(("a",) * outline.maps[0].keys)
    values = SimpleValues(StackTable())
    add_map(families, outline.maps[0], names, [(key, value)], values, {"pid": "7"}, {key: exemplars})
    (family,) = read(encoded(families))
    return family


def buckets_of(spans: Any, deltas: Any) -> dict[int, int]:
    """Index and count of the buckets, as Prometheus reads them."""
    counts = accumulate(deltas)
    at, buckets = 0, {}
    for span in spans:
        at += span.offset
        for index in range(at, at + span.length):
            buckets[index] = next(counts)
        at += span.length
    assert next(counts, None) is None
    return buckets


@given(st.dictionaries(st.integers(-100, 100), st.integers(1, 1 << 40)))
def test_runs_of_buckets_read_back(counts: dict[int, int]) -> None:
    message = MetricFamily().metric.add().histogram
    for offset, length in runs(counts).spans:
        message.positive_span.add(offset=offset, length=length)
    assert all(span.offset > 0 for span in message.positive_span[1:])
    assert buckets_of(message.positive_span, runs(counts).deltas) == counts


@given(NUMBERS, st.integers(0, 6))
@example([(1 << 38) + 1], 0)
def test_numbers_are_in_the_bucket_of_their_schema(numbers: list[int], precision: int) -> None:
    native = native_histogram(histogram(numbers, precision), 1)
    assert native is not None
    assert (native.schema, native.samples, native.zero_count) == (precision, len(numbers), numbers.count(0))
    for sign, side in ((1, native.positive), (-1, native.negative)):
        expected: dict[int, int] = {}
        for number in numbers:
            if number * sign > 0:
                # The least index with number <= 2 ** (index / 2**precision). It uses integers, because log2 rounds.
                index = (abs(number) ** 2**precision - 1).bit_length()
                expected[index] = expected.get(index, 0) + 1
        assert side == expected


@given(st.lists(st.integers(0, (1 << 62)), max_size=50), st.integers(0, 6))
@example([1 << 38], 0)
def test_durations_are_within_one_bucket_of_the_map(nanos: list[int], precision: int) -> None:
    native = native_histogram(histogram(nanos, precision), 1e9)
    assert native is not None
    assert native.samples == len(nanos) == sum(native.positive.values()) + native.zero_count
    assert native.total == sum(nanos) / 1e9
    # A bucket contains the middle of the map's bucket, and is a quarter as wide.
    half, quarter = (2 ** (part * 2**-precision) * (1 + 1e-9) for part in (0.5, 0.25))
    bounds = sorted((2 ** (index / 2**native.schema), count) for index, count in native.positive.items())
    exact = sorted(number / 1e9 for number in nanos if number)
    for bound, number in zip([bound for bound, count in bounds for _ in range(count)], exact, strict=True):
        assert bound / half / quarter <= number <= bound * half
    mirrored = native_histogram(histogram([-number for number in nanos], precision), 1e9)
    assert mirrored is not None
    assert (mirrored.positive, mirrored.negative) == ({}, native.positive)


def test_a_histogram_has_classic_and_native_buckets_and_exemplars() -> None:
    exemplar = Exemplar(101, 1_700_000_000_000_000_007, b"t" * 16, b"s" * 8)
    family = family_of("A::b { @n[arg0] = hist(arg1 as int) }", histogram([0, 7, 101, 101], 2), exemplar)
    assert (family.name, family.type) == ("btpy_n", 4)
    (metric,) = family.metric
    assert [(label.name, label.value) for label in metric.label] == [("pid", "7"), ("arg0", "a")]
    message = metric.histogram
    assert (message.sample_count, message.sample_sum, message.schema, message.zero_threshold, message.zero_count) == (
        4,
        209,
        2,
        0,
        1,
    )
    assert buckets_of(message.positive_span, message.positive_delta) == {12: 1, 27: 2}
    assert [(bucket.upper_bound, bucket.cumulative_count) for bucket in message.bucket][:4] == [
        (0, 1),
        (1, 1),
        (2, 1),
        (4, 1),
    ]
    assert (message.bucket[-1].upper_bound, message.bucket[-1].cumulative_count) == (math.inf, 4)
    (native,) = message.exemplars
    (classic,) = [bucket for bucket in message.bucket if bucket.HasField("exemplar")]
    assert classic.upper_bound == 128
    assert native == classic.exemplar
    assert (native.value, native.timestamp.seconds, native.timestamp.nanos) == (101, 1_700_000_000, 7)
    assert {label.name: label.value for label in native.label} == {"trace_id": "74" * 16, "span_id": "73" * 8}


def test_histograms_that_are_empty_negative_or_not_exponential() -> None:
    script = "A::b { @n = hist(arg1 as int) }"
    empty = family_of(script, histogram([], 2)).metric[0].histogram
    assert [(span.offset, span.length) for span in empty.positive_span] == [(0, 0)]
    negative = family_of(script, histogram([-7, -7, 3], 2)).metric[0].histogram
    assert buckets_of(negative.negative_span, negative.negative_delta) == {12: 2}
    assert (negative.sample_count, negative.sample_sum) == (3, -11)
    old = family_of(script, Histogram(LogLinear(2), 5, 0.0, 5, 5, ((5, 1),))).metric[0].histogram
    assert (old.sample_count, old.HasField("schema"), len(old.positive_span)) == (1, False, 0)


def test_counts_that_the_format_does_not_have_become_the_nearest() -> None:
    counts = ((3, (1 << 64) - 1), (5, 1 << 63), (6, 1))
    family = family_of("A::b { @n = hist(arg1 as int) }", Histogram(Exponential(2), 7, 0.0, 3, 6, counts))
    own = family.metric[0].histogram
    assert own.sample_count == MOST
    assert list(buckets_of(own.positive_span, own.positive_delta).values()) == [MOST, MOST, 1]


def test_other_families() -> None:
    count = family_of("A::b { @n[arg0] = count() }", Count(101))
    assert (count.name, count.type, count.metric[0].counter.value) == ("btpy_n_total", 0, 101)
    average = family_of("A::b { @n = avg(arg0 as int) }", Average(3, 21, 0.0))
    assert (average.name, average.type) == ("btpy_n", 2)
    assert (average.metric[0].summary.sample_count, average.metric[0].summary.sample_sum) == (3, 21)
    stored = family_of("A::b { @n = 7 }", 7)
    assert (stored.name, stored.type, stored.metric[0].gauge.value) == ("btpy_n", 1, 7)
    families = Families()
    families.add(families.family("btpy_target", "info", "é"), [FamilySample("_info", {"host": "日本"}, 1)])
    families.family("btpy_none", "gauge", "no samples")
    (info,) = read(encoded(families))
    assert (info.name, info.type, info.help, info.metric[0].gauge.value) == ("btpy_target_info", 1, "é", 1)


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (BY_PROMETHEUS, CONTENT_TYPE),
        (BY_PROMETHEUS.replace("q=0.6", "q=0.1"), "application/openmetrics-text; version=1.0.0"),
        (BY_PROMETHEUS.replace("delimited", "text"), "application/openmetrics-text; version=1.0.0"),
        (BY_PROMETHEUS.replace("q=0.6", "q=x"), "application/openmetrics-text; version=1.0.0"),
        (BY_PROMETHEUS.replace("q=0.6", "q=nan"), "application/openmetrics-text; version=1.0.0"),
        ("application/vnd.google.protobuf", "text/plain"),
        (CONTENT_TYPE, CONTENT_TYPE),
        (CONTENT_TYPE.replace("encoding", 'ENCODING="delimited"; x'), CONTENT_TYPE),
        (f"{CONTENT_TYPE}, */*", "text/plain"),
        ("", "text/plain"),
        (";;;,q=,=", "text/plain"),
    ],
)
def test_the_format_that_a_scrape_wants_most(accept: str, expected: str) -> None:
    assert encoder_of(accept).content_type.startswith(expected)
