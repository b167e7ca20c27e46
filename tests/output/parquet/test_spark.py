"""The functions for Spark give what btpy's own merge gives."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from btpy.events.aggregates import Aggregate, Histogram, LinearHistogram, merged
from btpy.events.buckets import otlp_counts
from btpy.events.sketches import Distinct, Frequent, Top, by_frequency
from btpy.events.stacks import StackTable
from btpy.model.maps import Linear, MapKind, Most
from btpy.output.ndjson import json_value
from btpy.output.parquet.event_rows import encode
from btpy.output.parquet.map_rows import map_rows
from btpy.output.parquet.partitions import escaped
from btpy.output.parquet.schemas import DATA_SETS, MAPS, PARTITIONS, Column, arrow_schema
from btpy.topics import topics
from tests.output.parquet.test_duckdb import PERCENTS, dense, histogram
from tests.output.program import contents
from tests.spark import spark
from tests.sql import Engine

CASES = 101
NAMES = ["../x", "a=b", "two\nlines", "%2F", "Ω ☃", "007", "2026-11-27", "true", "web1"]

Cases = Mapping[str, Sequence[Aggregate]]
_TYPES = {
    "int64": "BIGINT",
    "int32": "INT",
    "string": "STRING",
    "double": "DOUBLE",
    "bool": "BOOLEAN",
    "binary": "BINARY",
    "timestamp": "TIMESTAMP",
    "list": "ARRAY",
    "struct": "STRUCT",
}


def test_the_views_have_the_columns_of_the_data_sets() -> None:
    """Without these types Spark would guess: a host named 007 would become the number 7."""
    text = re.sub(r"\s+", " ", topics()["spark"])
    for data_set in DATA_SETS:
        columns = ", ".join(map(_column, [*data_set.columns, *(Column(name, "string", "") for name in PARTITIONS)]))
        assert f"( {columns} ) USING parquet OPTIONS (path '${{spark.btpy.directory}}/{data_set.name}')" in text


def _column(column: Column) -> str:
    return f"{column.name} " + re.sub(r"\w+\b(?!:)", lambda word: _TYPES[word[0]], column.type)


def test_the_functions_are_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "parquet.md").read_text()
    names = set(re.findall(r"TEMPORARY (?:FUNCTION|VIEW) (\w+)", topics()["spark"]))
    assert [name for name in re.findall(r"`(btpy_\w+)\(collect_list", page) if name not in names] == []
    assert [
        name for name in ("btpy_merge", "btpy_add", "btpy_distinct", "btpy_top") if f"`{name}(coll" not in page
    ] == []


@pytest.fixture(scope="module")
def cases() -> dict[MapKind, Cases]:
    chance = random.Random(19)
    made: dict[MapKind, Callable[[], Aggregate]] = {
        MapKind.HIST: lambda: _histogram(chance),
        MapKind.DISTINCT: lambda: _distinct(chance),
        MapKind.TOPK: lambda: _top(chance),
        MapKind.LHIST: lambda: _linear(chance),
    }
    return {
        kind: {f"{kind.value}{number}": [one() for _ in range(chance.randint(1, 5))] for number in range(CASES)}
        for kind, one in made.items()
    }


@pytest.fixture(scope="module")
def session(cases: dict[MapKind, Cases], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    directory = tmp_path_factory.mktemp("spark")
    for number, (kind, some) in enumerate(cases.items()):
        rows = [row for name, values in some.items() for value in values for row in _rows(kind, name, value)]
        _write(directory, MAPS.name, NAMES[number], rows)
    for data_set in DATA_SETS:
        for name in NAMES:
            if data_set is not MAPS:
                _write(directory, data_set.name, name, [{column.name: None for column in data_set.columns}])
    with spark(directory) as engine:
        engine.load(topics()["spark"])
        yield engine


def _rows(kind: MapKind, name: str, value: Aggregate) -> Iterator[dict[str, Any]]:
    options: dict[str, Any] = {"parameters": Most(3)} if kind is MapKind.TOPK else {}
    for columns in map_rows(contents(kind, ("k", value), **options), StackTable()):
        values = columns | {"map": name, "run": "r", "reading": 1, "part": False}
        yield {column.name: values.get(column.name) for column in MAPS.columns}


def _write(directory: Path, data_set: str, name: str, rows: list[dict[str, Any]]) -> None:
    (schema,) = (arrow_schema(known) for known in DATA_SETS if known.name == data_set)
    partition = f"host={escaped(name)}/service={escaped(name)}/script=x.bt/hour=2026-11-27T07"
    (directory / data_set / partition).mkdir(parents=True)
    parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), directory / data_set / partition / "1.parquet")


def _histogram(chance: random.Random) -> Histogram:
    def sample() -> int:
        near = chance.choice((-1, 1)) * ((1 << chance.randint(0, 63)) + chance.randint(-2, 2))
        any_ = chance.choice((near, chance.randint(-200, 200), chance.randint(-(1 << 63), (1 << 63) - 1)))
        return max(-(1 << 63), min((1 << 63) - 1, any_))

    return histogram(chance.randint(0, 6), [sample() for _ in range(chance.randint(0, 30))])


def _distinct(chance: random.Random) -> Distinct:
    limit = chance.choice((1, 12, 54, 55))
    return Distinct(1, bytes(chance.randrange(limit) * (chance.random() < 0.7) for _ in range(2048)))


def _top(chance: random.Random) -> Top:
    values = {chance.choice(("a", "b", 'c"', "1", 1, None, "Ω")) for _ in range(chance.randint(0, 5))}
    frequent_values = [
        Frequent(value, chance.randint(10, 99), chance.randint(0, 9)) for value in sorted(values, key=repr)
    ]
    return Top(1000, 3, chance.randint(0, 5), by_frequency(frequent_values))


def _linear(chance: random.Random) -> LinearHistogram:
    counts = tuple(chance.randrange(1 << 40) for _ in range(7))
    return LinearHistogram(Linear(0, 50, 10), 0, 0.0, None, None, counts)


def asked(session: Engine, expression: str, kind: MapKind) -> dict[str, Any]:
    """The value of an expression for each case."""
    answer = session.ask(f"SELECT map, {expression} FROM btpy_totals WHERE kind = '{kind.value}' GROUP BY map")
    return dict(answer.rows)


@pytest.mark.proof
def test_histograms_of_any_scales_merge_as_in_btpy(cases: dict[MapKind, Cases], session: Engine) -> None:
    results = asked(session, "btpy_merge(collect_list(histogram))", MapKind.HIST)
    for name, values in cases[MapKind.HIST].items():
        total = reduce(merged, values)
        assert isinstance(total, Histogram)
        positive, negative = otlp_counts(total.layout, total.counts)  # type: ignore[arg-type]
        assert results.pop(name) == {
            "scale": total.layout.precision,
            "count": total.n,
            "zero_count": dict(total.counts).get(0, 0),
            "positive": {"start": min(positive, default=0), "counts": dense(positive)},
            "negative": {"start": min(negative, default=0), "counts": dense(negative)},
            "min": total.least,
            "max": total.greatest,
        }
    assert results == {}


@pytest.mark.proof
def test_percentiles_are_those_of_btpy(cases: dict[MapKind, Cases], session: Engine) -> None:
    every = ", ".join(f"btpy_bounds(btpy_merge(collect_list(histogram)), {percent})" for percent in PERCENTS)
    results = asked(session, f"array({every})", MapKind.HIST)
    for name, values in cases[MapKind.HIST].items():
        total = reduce(merged, values)
        assert isinstance(total, Histogram)
        for percent, result in zip(PERCENTS, results[name], strict=True):
            percentile = total.percentile(percent)
            if percentile is None:
                assert result is None
            elif abs(percentile.estimate) > 2 << total.layout.precision:
                assert result == {"estimate": percentile.estimate, "low": percentile.low, "high": percentile.high}, (
                    percent
                )
            else:
                assert result["low"] <= percentile.low <= percentile.high <= result["high"]


@pytest.mark.proof
def test_distinct_counts_are_those_of_btpy(cases: dict[MapKind, Cases], session: Engine) -> None:
    results = asked(session, "btpy_distinct(collect_list(registers))", MapKind.DISTINCT)
    for name, values in cases[MapKind.DISTINCT].items():
        total = reduce(merged, values)
        assert isinstance(total, Distinct)
        assert results[name] == pytest.approx(min(total.estimate, (1 << 63) - 1), rel=1e-9)


@pytest.mark.proof
def test_most_frequent_values_merge_as_in_btpy(cases: dict[MapKind, Cases], session: Engine) -> None:
    results = asked(session, "btpy_top(collect_list(listed))", MapKind.TOPK)
    for name, values in cases[MapKind.TOPK].items():
        total = reduce(merged, values)
        assert isinstance(total, Top)
        expected = {(encode(json_value(f.value, StackTable(), {}, "")), f.count, f.error) for f in total.values}
        assert {(entry["value"], entry["count"], entry["error"]) for entry in results[name]} == expected
        assert [entry["count"] for entry in results[name]] == [f.count for f in total.values]


@pytest.mark.proof
def test_linear_buckets_are_added(cases: dict[MapKind, Cases], session: Engine) -> None:
    results = asked(session, "btpy_add(collect_list(bucket_counts))", MapKind.LHIST)
    for name, values in cases[MapKind.LHIST].items():
        total = reduce(merged, values)
        assert isinstance(total, LinearHistogram)
        assert results[name] == list(total.counts)


@pytest.mark.proof
@pytest.mark.parametrize("view", ["btpy_events", "btpy_losses"])
def test_names_come_back_as_texts(view: str, session: Engine) -> None:
    answer = session.ask(f"SELECT host, service, script, hour FROM {view}")
    assert sorted(row[0] for row in answer.rows) == sorted(NAMES)
    assert {(row[0] == row[1], row[2], row[3]) for row in answer.rows} == {(True, "x.bt", "2026-11-27T07")}
    some = session.ask(f"EXPLAIN EXTENDED SELECT count(*) FROM {view} WHERE host = 'web1'").rows[0][0]
    assert "PartitionFilters: [" in some
