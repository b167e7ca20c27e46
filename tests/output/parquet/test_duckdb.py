"""The macros for DuckDB give what btpy's own merge gives."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from btpy.events.aggregates import Aggregate, Histogram, LinearHistogram, merged
from btpy.events.buckets import Exponential, otlp_counts
from btpy.events.sketches import Distinct, Frequent, Top, by_frequency
from btpy.events.stacks import StackTable
from btpy.model.maps import Linear, MapKind, Most
from btpy.output.ndjson import json_value
from btpy.output.parquet.event_rows import encode
from btpy.output.parquet.map_rows import map_rows
from btpy.output.parquet.schemas import MAPS, arrow_schema
from btpy.topics import topics
from tests.generated import examples
from tests.output.program import contents

MERGED = (
    "btpy_merge(scale, count, zero_count, positive_offset, positive_counts, negative_offset, negative_counts, min, max)"
)
PERCENTS = (0, 1, 25, 50, 90, 99, 99.9, 100)


@pytest.fixture(scope="module")
def macros() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(topics()["duckdb"])
        yield connection


def answer(macros: duckdb.DuckDBPyConnection, kind: MapKind, values: Sequence[Aggregate], expression: str) -> Any:
    """The value of an expression over a table that has a row for each of the values."""
    rows = []
    for value in values:
        options: dict[str, Any] = {"parameters": Most(3)} if kind is MapKind.TOPK else {}
        (columns,) = map_rows(contents(kind, ("k", value), **options), StackTable())
        rows.append({column.name: columns.get(column.name) for column in MAPS.columns})
    macros.register("some_rows", pyarrow.Table.from_pylist(rows, schema=arrow_schema(MAPS)))
    return macros.execute(f"SELECT {expression} FROM some_rows").fetchall()[0][0]


def histogram(scale: int, samples: Sequence[int]) -> Histogram:
    layout = Exponential(scale)
    counts: dict[int, int] = {}
    for sample in samples:
        index = layout.index(sample)
        counts[index] = counts.get(index, 0) + 1
    ordered = tuple(sorted(counts.items()))
    return Histogram(layout, sum(samples) % 2**62, 0.0, min(samples, default=None), max(samples, default=None), ordered)


_SMALL = st.integers(-200, 200)
_EDGES = st.builds(
    lambda sign, power, near: max(-(1 << 63), min((1 << 63) - 1, sign * ((1 << power) + near))),
    st.sampled_from((-1, 1)),
    st.integers(0, 63),
    st.integers(-2, 2),
)
_SAMPLES = st.lists(st.one_of(_SMALL, _EDGES, st.integers(-(1 << 63), (1 << 63) - 1)), max_size=30)
_HISTOGRAMS = st.lists(st.builds(histogram, st.integers(0, 6), _SAMPLES), min_size=1, max_size=5)


def dense(side: dict[int, int]) -> list[int]:
    return [side.get(index, 0) for index in range(min(side), max(side) + 1)] if side else []


@settings(max_examples=examples(60), deadline=None)
@given(values=_HISTOGRAMS)
def test_histograms_of_any_scales_merge_as_in_btpy(values: list[Histogram], macros: duckdb.DuckDBPyConnection) -> None:
    total = reduce(Histogram.merge, values)
    assert isinstance(total.layout, Exponential)
    result = answer(macros, MapKind.HIST, values, MERGED)
    positive, negative = otlp_counts(total.layout, total.counts)
    assert result["scale"] == total.layout.precision
    assert result["count"] == total.n
    assert result["zero_count"] == dict(total.counts).get(0, 0)
    assert result["positive"] == {"start": min(positive, default=0), "counts": dense(positive)}
    assert result["negative"] == {"start": min(negative, default=0), "counts": dense(negative)}
    assert (result["min"], result["max"]) == (total.least, total.greatest)


@settings(max_examples=examples(40), deadline=None)
@given(values=_HISTOGRAMS)
def test_percentiles_are_those_of_btpy(values: list[Histogram], macros: duckdb.DuckDBPyConnection) -> None:
    """btpy has a bucket for each small whole number. A bucket of OpenTelemetry can have several of these numbers. All
    other percentiles are the same."""
    total = reduce(Histogram.merge, values)
    every = ", ".join(f"btpy_bounds(h, {percent})" for percent in PERCENTS)
    results = answer(macros, MapKind.HIST, values, f"(SELECT [{every}] FROM (SELECT {MERGED} AS h FROM some_rows))")
    for percent, result in zip(PERCENTS, results, strict=True):
        percentile = total.percentile(percent)
        if percentile is None:
            assert result is None
        elif abs(percentile.estimate) > 2 << total.layout.precision:
            assert result == {"estimate": percentile.estimate, "low": percentile.low, "high": percentile.high}, percent
        else:
            assert result["low"] <= percentile.low <= percentile.high <= result["high"]


@settings(max_examples=examples(30), deadline=None)
@given(
    parts=st.lists(
        st.one_of(
            st.binary(min_size=2048, max_size=2048).map(lambda data: bytes(byte % 12 * (byte > 99) for byte in data)),
            st.integers(0, 54).map(lambda rank: bytes([rank]) * 2048),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_distinct_counts_are_those_of_btpy(parts: list[bytes], macros: duckdb.DuckDBPyConnection) -> None:
    values = [Distinct(1, registers) for registers in parts]
    expected = min(reduce(Distinct.merge, values).estimate, (1 << 63) - 1)
    assert math.isclose(answer(macros, MapKind.DISTINCT, values, "btpy_distinct(registers)"), expected, rel_tol=1e-9)


_FREQUENT = st.builds(
    lambda value, least, error: Frequent(value, least + error, error),
    st.sampled_from(["a", "b", 'c"', "1", 1, None, "Ω"]),
    st.integers(1, 100),
    st.integers(0, 5),
)
_TOPS = st.builds(
    lambda unseen, values: Top(1000, 3, unseen, by_frequency({f.value: f for f in values}.values())),
    st.integers(0, 5),
    st.lists(_FREQUENT, max_size=5),
)


@settings(max_examples=examples(40), deadline=None)
@given(values=st.lists(_TOPS, min_size=1, max_size=4))
def test_most_frequent_values_merge_as_in_btpy(values: list[Top], macros: duckdb.DuckDBPyConnection) -> None:
    total = reduce(Top.merge, values)
    result = answer(macros, MapKind.TOPK, values, "btpy_top(top, unseen)")
    expected = {(encode(json_value(f.value, StackTable(), {}, "")), f.count, f.error) for f in total.values}
    assert {(row["value"], row["count"], row["error"]) for row in result} == expected
    assert [row["count"] for row in result] == sorted((row["count"] for row in result), reverse=True)


@settings(max_examples=examples(20), deadline=None)
@given(counts=st.lists(st.lists(st.integers(0, 1 << 40), min_size=7, max_size=7).map(tuple), min_size=1, max_size=4))
def test_linear_buckets_are_added(counts: list[tuple[int, ...]], macros: duckdb.DuckDBPyConnection) -> None:
    values: list[Aggregate] = [LinearHistogram(Linear(0, 50, 10), 0, 0.0, None, None, buckets) for buckets in counts]
    total = reduce(merged, values)
    assert isinstance(total, LinearHistogram)
    assert answer(macros, MapKind.LHIST, values, "btpy_add(bucket_counts)") == list(total.counts)


def test_the_macros_are_documented(macros: duckdb.DuckDBPyConnection) -> None:
    page = (Path(__file__).parents[3] / "docs" / "parquet.md").read_text()
    names = {name for (name,) in macros.execute("SELECT DISTINCT function_name FROM duckdb_functions()").fetchall()}
    assert [
        name for name in ("btpy_merge", "btpy_bounds", "btpy_distinct", "btpy_top") if f"`{name}(" not in page
    ] == []
    assert {"btpy_merge", "btpy_percentile", "btpy_totals"} <= names
