from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from btpy.errors import ProtocolError
from btpy.events.aggregates import Average, Bucket, Count, Histogram, Stats, Total
from btpy.events.buckets import Exponential
from btpy.events.records import (
    Closed,
    ClosedObject,
    CutString,
    EnumValue,
    MappingValue,
    ObjectValue,
    SequenceValue,
    StackRef,
    Value,
    Withheld,
)
from btpy.model.maps import MapKind
from btpy.model.source import Span
from btpy.model.templates import SiteFact, Template, TemplateKind
from btpy.model.types import ANY, DURATION, STRING
from btpy.output.ndjson import NdjsonWriter
from btpy.output.writer import Attached, End, Loss, ProbeError
from btpy.wire.messages import ErrorKind
from tests.events.strategies import VALUES
from tests.output.program import SOURCE, captured, contents, context, record, slot, template


def lines(write: Callable[[NdjsonWriter], None], *templates: Template) -> list[dict[str, Any]]:
    with captured() as (stream, read):
        write(NdjsonWriter(stream, context(*templates)))
        text = read()
    assert text == "" or text.endswith("\n")

    def no_constants(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    records = [json.loads(line, parse_constant=no_constants) for line in text.splitlines()]
    assert all(line["v"] == 1 for line in records)
    return records


def event(*values: Value, labels: str = "a b c d") -> dict[str, Any]:
    slots = [slot(at, ANY, label) for at, label in zip(range(len(values)), labels.split(), strict=False)]
    emit = template(*slots, kind=TemplateKind.EMIT, name="quote")
    (line,) = lines(lambda writer: writer.records([record(*values)]), emit)
    return line


def test_an_event_says_when_where_and_what() -> None:
    emit = template(
        slot(0, STRING, "sku"),
        slot(SiteFact.LINE, ANY, "line"),
        slot(1, DURATION, "took"),
        slot(2, ANY, "rest", rest=True),
        kind=TemplateKind.EMIT,
        name="quote",
    )
    (line,) = lines(lambda writer: writer.records([record("SKU-1", 12_345, True, "x", nanos=2_500)]), emit)
    assert line == {
        "v": 1,
        "type": "event",
        "ts": "2023-11-14T22:13:20.000001Z",
        "probe": "slow_quote",
        "tid": 42,
        "thread": "http-7",
        "name": "quote",
        "data": {"sku": "SKU-1", "line": 31, "took": 12_345, "rest": [True, "x"]},
    }


def test_a_rest_with_names_is_an_object() -> None:
    emit = template(slot(0, ANY, "locals", named=True), kind=TemplateKind.EMIT, name="here")
    values = record("text", CutString("abc", 900), "count", 7, "pin", 4711)
    (line,) = lines(lambda writer: writer.records([values]), emit)
    assert line["data"] == {"locals": {"text": "abc", "count": 7, "pin": "•••"}}
    assert line["cut"] == {"locals.text": 900}


def test_printed_lines_are_text() -> None:
    parts = template("took ", slot(0, DURATION))
    (line,) = lines(lambda writer: writer.records([record(1_500)]), parts)
    assert (line["type"], line["data"]) == ("printf", "took 1.5us")


def test_values_keep_their_structure() -> None:
    money = ObjectValue("com.acme.Money", 5, (("amount", 12.5), ("amount", 1), ("next", None)), True)
    line = event(money, EnumValue("S", "SHIPPED"), StackRef(5), Withheld.REDACTED)
    assert line["data"] == {
        "a": {"@class": "com.acme.Money", "amount": 12.5, "amount#2": 1, "next": None, "@more": True},
        "b": "SHIPPED",
        "c": ["a.B.c:12", "a.B.main"],
        "d": "•••",
    }
    assert "cut" not in line


def test_cut_values_are_named_by_their_path() -> None:
    order = ObjectValue("Order", 1, (("sql", CutString("select", 10_000)),), False)
    line = event(CutString("abc", 300), SequenceValue("[I", 99, (1, CutString("x", 5))), order)
    assert line["data"] == {"a": "abc", "b": [1, "x"], "c": {"@class": "Order", "sql": "select"}}
    assert line["cut"] == {"a": 300, "b": 99, "b[1]": 5, "c.sql": 10_000}


def test_maps_of_the_target() -> None:
    line = event(MappingValue("java.util.HashMap", 2, (("k", 1), ("l", None))), MappingValue("M", 9, ((1, "x"),)))
    assert line["data"] == {"a": {"k": 1, "l": None}, "b": [[1, "x"]]}
    assert line["cut"] == {"b": 9}


def test_closed_objects_and_numbers_that_json_lacks() -> None:
    line = event(ClosedObject("Order", 255, Closed.CYCLE), float("nan"), float("-inf"), 2**63 - 1)
    assert line["data"] == {
        "a": {"@class": "Order", "@id": "ff", "@closed": "cycle"},
        "b": "NaN",
        "c": "-Infinity",
        "d": 2**63 - 1,
    }


def test_strings_are_exact_and_lone_surrogates_are_replaced() -> None:
    line = event("a\n\x1b[2J\u2028 \U0001f600", "x\ud800y")
    assert line["data"] == {"a": "a\n\x1b[2J\u2028 \U0001f600", "b": "x\ufffdy"}


@given(VALUES)
def test_every_value_makes_one_line_of_json(value: Value) -> None:
    event(value)


def test_maps_are_as_bpftrace_writes_them() -> None:
    def write(writer: NdjsonWriter) -> None:
        writer.map(contents(MapKind.COUNT, ("a", Count(1)), ("b,c", Count(2))), None, None)
        writer.map(contents(MapKind.SUM, ((), Total(1, 7, 0.0)), name="total"), None, 1_000)
        writer.map(contents(MapKind.STATS, (("a", 1), Stats(2, 10, 0.0, 3, 7))), None, None)
        writer.map(contents(MapKind.AVG, ("a", Average(0, 0, 0.0))), None, None)

    counts, total, stats, average = lines(write)
    assert (counts["type"], counts["data"]) == ("map", {"@m": {"b\\,c": 2, "a": 1}})
    assert (total["data"], total["ts"]) == ({"@total": 7}, "2023-11-14T22:13:20.000000Z")
    assert (stats["type"], stats["data"]) == (
        "stats",
        {"@m": {"a,1": {"count": 2, "average": 5, "total": 10, "min": 3, "max": 7}}},
    )
    assert average["data"] == {"@m": {"a": None}}


def test_keys_that_read_the_same_are_kept_apart() -> None:
    content = contents(MapKind.COUNT, ("1", Count(1)), (1, Count(2)), (None, Count(3)), ("null", Count(4)))
    (line,) = lines(lambda writer: writer.map(content, None, None))
    assert line["data"] == {"@m": {'"null"': 4, "null": 3, "1": 2, '"1"': 1}}


def test_histograms_have_buckets_and_percentiles_with_bounds() -> None:
    hist = Histogram(Exponential(2), 12, 0.0, -1, 10, ((-1, 1), (3, 1), (10, 1)))
    assert hist.buckets()[-2:] == [Bucket(9, 9, 0), Bucket(10, 11, 1)]
    (line,) = lines(lambda writer: writer.map(contents(MapKind.HIST, ("k", hist)), None, None))
    assert line["type"] == "hist"
    assert line["data"]["@m"]["k"][0] == {"min": -1, "max": -1, "count": 1}
    assert line["data"]["@m"]["k"][-1] == {"min": 10, "max": 11, "count": 1}
    percentiles = line["percentiles"]["@m"]["k"]
    assert (percentiles["count"], percentiles["min"], percentiles["max"]) == (3, -1, 10)
    assert percentiles["p99"] == {"value": 10, "low": 10, "high": 10}


def test_options_of_the_print_apply() -> None:
    table = template(kind=TemplateKind.MAP, options=(("top", 1),))
    content = contents(MapKind.COUNT, ("a", Count(1)), ("b", Count(2)))
    (line,) = lines(lambda writer: writer.map(content, table, None))
    assert (line["data"], line["hidden"]) == ({"@m": {"b": 2}}, 1)


def test_the_course_of_a_session() -> None:
    def write(writer: NdjsonWriter) -> None:
        writer.attached(Attached(3, 7, 4))
        writer.probe_error(ProbeError("p", ErrorKind.NULL_OPERAND, Span(SOURCE, 21, 24), 312, "null"))
        writer.lost(Loss("p", "ring", 5))
        writer.end(End("interrupt", 10, 5, 5, 4, 4))

    attached, error, loss, end = lines(write)
    assert attached == {
        "v": 1,
        "type": "attached_probes",
        "count": 3,
        "data": {"probes": 3, "methods": 7, "classes": 4},
    }
    assert error == {
        "v": 1,
        "type": "probe_error",
        "kind": "null-operand",
        "probe": "p",
        "file": "slow.bt",
        "line": 2,
        "column": 9,
        "count": 312,
        "message": "null",
    }
    assert loss == {"v": 1, "type": "lost", "cause": "ring", "probe": "p", "count": 5}
    assert end == {
        "v": 1,
        "type": "end",
        "reason": "interrupt",
        "produced": 10,
        "delivered": 5,
        "dropped": 5,
        "restored": 4,
        "woven": 4,
        "probes": [],
    }


def test_a_time_beyond_the_calendar_is_a_protocol_error() -> None:
    with pytest.raises(ProtocolError):
        lines(lambda writer: writer.records([record(1, nanos=2**80)]), template(slot(0)))
