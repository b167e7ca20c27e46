"""The tool ``jfr`` of two JDKs and the parser of Mission Control read every event of a file, with its unit."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from btpy.events.accounts import Cause, ProbeAccount
from btpy.events.records import Record, StackRef
from btpy.model.templates import TemplateKind
from btpy.model.types import BYTES, DURATION, INT, STACK, STRING
from btpy.output.jfr.writer import JfrWriter
from btpy.output.stream import Stream
from btpy.output.writer import End, ProbeReport
from tests.jdks import compiled, java
from tests.live.test_jfr import JAVA, MISSION_CONTROL, TOOLS, run
from tests.maven import artifact
from tests.output.program import context, record, slot, template

ORDERS, LOST = 4_001, 13
JDK = 17


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of several chunks. Each seventh order has no number of pieces."""
    file = tmp_path_factory.mktemp("jfr") / "run.jfr"
    order = template(
        slot(0, INT, "pieces"),
        slot(1, DURATION, "took"),
        slot(2, BYTES, "size"),
        slot(3, STRING, "customer"),
        replace(slot(4, label="placed"), time="%H:%M"),
        slot(5, STACK, "at"),
        slot(6, STACK, "from"),
        kind=TemplateKind.EMIT,
        name="com.acme.Order",
    )
    of = context(order, replace(template("order ", slot(0)), id=1))
    account = ProbeAccount(0, produced=ORDERS + LOST, delivered=ORDERS, dropped_by={Cause.RING: LOST})
    with Stream.file(file, append=False) as stream:
        writer = JfrWriter(stream, of)
        for number in range(ORDERS):
            writer.records([_order(number), record(number, template=1, nanos=1_000 + number)])
        writer.end(End("for", ORDERS + LOST, ORDERS, LOST, 1, 1, (ProbeReport("slow_quote", account),)))
        writer.close()
    assert file.read_bytes().count(b"FLR\0") == 2
    return file


def _order(number: int) -> Record:
    nanos = 1_700_000_000_000_000_000 + number * 10**6
    text = f"customer {number:0240}"
    values = (number if number % 7 else None, 2_000_000, 1 << 20, text, nanos, StackRef(5), StackRef(5))
    return record(*values, nanos=10_000_000 + number)


@pytest.mark.parametrize("jdk", [JDK, pytest.param(25, marks=pytest.mark.proof)])
def test_the_tool_of_the_jdk(jdk: int, path: Path) -> None:
    summary = dict(line.split()[:2] for line in run(jdk, "jfr", "summary", path).splitlines() if line.startswith(" b"))
    assert summary["btpy.Print"] == str(ORDERS)
    names = "com.acme.Order,ProbeCounts"
    text = run(jdk, "jfr", "print", "--json", "--stack-depth", "5", "--events", names, path)
    of_type: dict[str, list[Any]] = {}
    for event in json.loads(text)["recording"]["events"]:
        of_type.setdefault(event["type"], []).append(event["values"])
    orders = of_type["com.acme.Order"]
    assert sorted(order["customer"] for order in orders) == [f"customer {number:0240}" for number in range(ORDERS)]
    for order in orders:
        number = int(order["customer"].removeprefix("customer "))
        assert order["pieces"] == (number if number % 7 else -(1 << 31))
        assert (order["took"], order["duration"], order["size"]) == ("PT0.002S", "PT0.002S", 1 << 20)
        assert order["eventThread"]["javaName"] == "http-7"
        for stack in (order["stackTrace"], order["from"]):
            frames = [(frame["method"]["name"], frame["lineNumber"]) for frame in stack["frames"]]
            assert frames == [("c", 12), ("main", 0)]
            assert stack["frames"][0]["method"]["type"]["name"].replace("/", ".") == "a.B"
    first = min(orders, key=lambda order: order["customer"])
    assert first["startTime"].startswith("2023-11-14T22:13:20.007999")
    assert first["placed"].startswith("2023-11-14T22:13:20")
    (counts,) = of_type["btpy.ProbeCounts"]
    assert (counts["produced"], counts["delivered"], counts["dropped_ring"]) == (ORDERS + LOST, ORDERS, LOST)


@pytest.mark.proof
def test_the_declarations_and_the_text_of_the_tool(path: Path) -> None:
    declared = run(JDK, "jfr", "metadata", path).partition('@Name("com.acme.Order")')[2].partition("\n}")[0]
    assert '@Category({"btpy"})' in declared or '@Category("btpy")' in declared
    fields = declared.split(";")
    for unit, name in (
        ('@Timespan("NANOSECONDS")', "took"),
        ("@DataAmount", "size"),
        ('@Timestamp("TICKS")', "placed"),
    ):
        (field,) = [one for one in fields if one.endswith(f"long {name}")]
        assert unit in field
    result = run(JDK, "jfr", "print", "--events", "com.acme.Order", path).partition("\n}")[0]
    assert "customer 0000000" in result
    for line in (
        "pieces = N/A",
        "took = 2.00 ms",
        "size = 1.0 MB",
        "a.B.c()",
        "line: 12",
        'eventThread = "http-7" (javaThreadId = 42)',
    ):
        assert line in result


def test_mission_control(path: Path) -> None:
    jars = [artifact(name) for name in MISSION_CONTROL]
    classes = compiled([JAVA / "jfr" / "ReadByMissionControl.java"], release=11, classpath=jars)
    command = [str(java(TOOLS)), "-cp", os.pathsep.join(map(str, (classes, *jars))), "ReadByMissionControl"]
    lines = subprocess.run(
        [*command, str(path), "com.acme.Order"], check=True, capture_output=True, text=True, timeout=120
    ).stdout.splitlines()
    assert lines[-1] == f"count {ORDERS}"
    types = {name: type_ for name, type_, _ in (line.split(" ", 2) for line in lines[:-1])}
    expected = {
        "customer": "text",
        "took": "timespan",
        "size": "memory",
        "placed": "timestamp",
        "eventThread": "thread",
        "stackTrace": "stacktrace",
    }
    assert {name: types.get(name) for name in expected} == expected, lines
