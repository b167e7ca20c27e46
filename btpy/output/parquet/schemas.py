"""The columns of the data sets. docs/parquet.md is generated from them; a test checks that a change gets a new number.

Times have microseconds, because Spark reads no others; ``nanos`` has the exact time. Values of any type are JSON, as in
docs/events.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pyarrow

VERSION = 1
"""Increases when a column changes its meaning or is removed. New columns come without a new number."""

PARTITIONS = ("host", "service", "script", "hour")


class Column(NamedTuple):
    """``type``: a type of Arrow by its name; a timestamp has microseconds, in UTC."""

    name: str
    type: str
    about: str


class DataSet(NamedTuple):
    name: str
    about: str
    columns: tuple[Column, ...]


_HEAD = (
    Column("ts", "timestamp", "the time, in microseconds"),
    Column("nanos", "int64", "the same time, in nanoseconds since 1970"),
    Column("run", "string", "one script in one JVM, from its start to its end"),
    Column("pid", "int64", "the process id of the JVM"),
)

EVENTS = DataSet(
    "events",
    "One row for each print, event and warning.",
    (
        *_HEAD,
        Column("kind", "string", "`event`, `print` or `warn`"),
        Column("probe", "string", "the name of the probe"),
        Column("name", "string", "the name of the event; null for `print` and `warn`"),
        Column("tid", "int64", "the id of the Java thread"),
        Column("thread", "string", "the name of the thread"),
        Column("text", "string", "the printed text; null for events"),
        Column("data", "string", "JSON object: the values of the event by name; null for `print` and `warn`"),
        Column("cut", "string", "JSON object: the full length of each cut value, by path; null if no value was cut"),
        Column("context", "string", "JSON object: the values of `--with` for `print` and `warn`, else null"),
    ),
)

_TOP = "list<struct<value: string, count: int64, error: int64>>"
_SERIES = "list<struct<start: timestamp, count: int64, value: int64, value_double: double>>"
_EXEMPLARS = "list<struct<ts: timestamp, value: int64, value_double: double, trace_id: string, span_id: string>>"

MAPS = DataSet(
    "maps",
    "One row for each key of a map, each time that the map was read.",
    (
        *_HEAD,
        Column("map", "string", "the name: `@took`"),
        Column("kind", "string", "`count`, `sum`, `avg`, `min`, `max`, `stats`, `hist`, `pctl`, `lhist`, …"),
        Column("unit", "string", "`ns` or `By` (bytes); null for other numbers"),
        Column("reading", "int64", "the number of the reading in its run; later readings have greater numbers"),
        Column("part", "bool", "true: the samples since the last flush; false: all samples since the start"),
        Column("final", "bool", "the reading at the end of the run"),
        Column("key", "string", "JSON array of the components of the key"),
        Column("keys", "list<string>", "the components as texts"),
        Column("key_names", "list<string>", "the names of the components that the script declares; else empty"),
        Column("count", "int64", "samples; for `count` the count"),
        Column("sum", "int64", "sum of the samples that are whole numbers"),
        Column("sum_double", "double", "sum of the other samples; the whole sum is `sum + sum_double`"),
        Column("min", "int64", "the smallest sample, if it is a whole number"),
        Column("min_double", "double", "the smallest sample, if it is not a whole number"),
        Column("max", "int64", "the greatest sample, if it is a whole number"),
        Column("max_double", "double", "the greatest sample, if it is not a whole number"),
        Column("value", "string", "JSON: the value of plain maps, `first` and `last`"),
        Column("value_nanos", "int64", "the time of `first` and `last`, in nanoseconds since 1970"),
        Column("scale", "int32", "exponential buckets: `2**scale` buckets for each power of two"),
        Column("zero_count", "int64", "exponential buckets: samples that are 0"),
        Column("positive_offset", "int32", "index of the first of `positive_counts`"),
        Column("positive_counts", "list<int64>", "samples in each bucket of positive numbers"),
        Column("negative_offset", "int32", "index of the first of `negative_counts`"),
        Column("negative_counts", "list<int64>", "samples in each bucket of negative numbers, by their magnitude"),
        Column("bounds", "list<double>", "other buckets: the bounds between them; a bucket contains its lower bound"),
        Column("bucket_counts", "list<int64>", "other buckets: samples below the first, between, above the last bound"),
        Column("exemplars", _EXEMPLARS, "`hist`, `pctl`, `lhist` with `--with trace`: samples with their traces"),
        Column("registers", "binary", "`distinct`: 2048 registers of HyperLogLog, a byte each"),
        Column("estimate", "int64", "`distinct`: the estimate of this row"),
        Column("top", _TOP, "`topk`: the listed values (JSON); each occurred `count - error` to `count` times"),
        Column("unseen", "int64", "`topk`: the largest possible count of a value that is not listed"),
        Column("series", _SERIES, "`tseries`: the intervals that have samples; `avg` as the mean"),
        Column("interval_nanos", "int64", "`tseries`: nanoseconds of an interval"),
        Column("examples", "list<string>", "`sample_of`: the kept values (JSON)"),
        Column("skipped", "int64", "hits that were skipped for the whole map, whose numbers are estimates; else null"),
        Column("low", "double", "where hits were skipped: lower bound (99 %) of `count`, or of a single number"),
        Column("high", "double", "the upper bound"),
        Column("map_full", "int64", "samples dropped since the start because the map had no room for their key"),
        Column("omitted", "int64", "keys for which a message had no room"),
    ),
)

LOSSES = DataSet(
    "losses",
    "One row for each probe at the end of a run; its time is the start of the run. `produced` is\n"
    "`delivered`, `discarded` and the columns `dropped_…` together, and `written` is `delivered` without\n"
    "`withheld`. If a run has no rows here, it was cut off.",
    (
        *_HEAD,
        Column("probe", "string", "the name of the probe"),
        Column("reason", "string", "why the run ended"),
        Column("fired", "int64", "hits that passed predicate, sampling and limits"),
        Column("skipped", "int64", "hits that were skipped by sampling or the budget"),
        Column("limited", "int64", "hits over a limit"),
        Column("errors", "int64", "errors of the probe"),
        Column("produced", "int64", "records, as the target has counted them"),
        Column("delivered", "int64", "records that came"),
        Column("written", "int64", "rows in `events`"),
        Column("withheld", "int64", "delivered records that `--hits` left out"),
        Column("discarded", "int64", "records that the script discarded (`speculate`)"),
        Column("dropped_ring", "int64", "records lost: the buffer in the target was full"),
        Column("dropped_large", "int64", "records lost: larger than the buffer"),
        Column("dropped_stalled", "int64", "records lost: the client was too slow"),
        Column("dropped_unattended", "int64", "records lost: no client came in time"),
        Column("dropped_budget", "int64", "records lost: the budget was used up"),
        Column("map_full", "int64", "samples lost: a map had no room for their key"),
        Column("restraints", "int64", "how often the budget held the probe back further"),
    ),
)

DATA_SETS = (EVENTS, MAPS, LOSSES)


def arrow_schema(data_set: DataSet) -> pyarrow.Schema:
    import pyarrow as arrow

    fields = [arrow.field(column.name, _arrow_type(column.type)) for column in data_set.columns]
    return arrow.schema(fields, metadata={"btpy.schema": f"{data_set.name} {VERSION}"})


def _arrow_type(name: str) -> Any:
    """``name``: a type of a column, as Arrow writes it. In a struct there are only types without a comma."""
    import pyarrow as arrow

    if name == "timestamp":
        return arrow.timestamp("us", tz="UTC")
    if name.startswith("list<"):
        return arrow.list_(_arrow_type(name.removeprefix("list<").removesuffix(">")))
    if name.startswith("struct<"):
        members = name.removeprefix("struct<").removesuffix(">").split(", ")
        return arrow.struct([(member, _arrow_type(type_)) for member, type_ in (part.split(": ") for part in members)])
    return arrow.type_for_alias(name)
