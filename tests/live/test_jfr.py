"""``jfr(…)``: typed events in the recordings of the target, read by the tools of the JDK."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import btpy
from btpy.errors import BtpyError, UsageError
from tests import jcmd
from tests.jdks import all_jdks, compiled, java, java_home
from tests.maven import artifact
from tests.targets import Target, target

JAVA = Path(__file__).parents[1] / "java"
SCRIPT = """FlightOrders::order @exit {
    jfr("com.acme.Order", number=arg0 as int, customer=arg1 as string, price=arg2 as double, express=arg3 as boolean,
        type=arg4 as java.lang.Class, who=arg5 as java.lang.Thread, size=1KB * (arg0 as long), took=self_time,
        at=method);
    @orders = count();
}"""
MISSION_CONTROL = ("org.openjdk.jmc:flightrecorder:8.3.1", "org.openjdk.jmc:common:8.3.1", "org.lz4:lz4-java:1.8.0")
QUICK_START = ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC")
"""Options for the tools of the JDK, which run for less than a second."""

TOOLS = 17
"""The JDK whose tools read the recordings of Java 8, which has no such tools."""


@contextmanager
def program(jdk: int, *flags: str) -> Iterator[Target]:
    classes = compiled([JAVA / "jfr" / "FlightOrders.java"], release=8)
    with target(jdk, "FlightOrders", classpath=[classes], flags=flags) as jvm:
        yield jvm


@pytest.fixture(scope="module")
def shared() -> Iterator[Target]:
    """The program on Java 17, for all tests that leave JFR as they found it. JFR needs most of a second to start."""
    with program(17) as jvm:
        yield jvm
        assert known_types(jvm) == "types []"


def run(jdk: int, tool: str, *arguments: object) -> str:
    command = [str(java_home(jdk) / "bin" / tool), *QUICK_START, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def told(jvm: Target, *words: object) -> None:
    """Sends a command of jcmd to the JVM."""
    jcmd.tell(jvm.pid, " ".join(map(str, words)))


def recorded(jdk: int, file: Path, name: str = "com.acme.Order", frames: int = 5) -> list[dict[str, Any]]:
    """The fields of the events, with the names of their type."""
    document = json.loads(run(jdk, "jfr", "print", "--json", "--stack-depth", frames, "--events", name, file))
    return [event["values"] for event in document["recording"]["events"]]


def next_round(jvm: Target, orders: str) -> None:
    jvm.send(orders)
    jvm.wait_for(f"done {orders}")


def known_types(jvm: Target) -> str:
    """The types of events that JFR knows, except those of the JDK."""
    jvm.send("types")
    return jvm.wait_for("types ")


def types(text: str) -> set[str]:
    """The names of event types in a summary, or in metadata."""
    return set(re.findall(r'^(?: |@Name\(")(\w+\.[\w.]+)(?= +\d+ +\d+$|"\)$)', text, re.MULTILINE))


def check_nothing_is_registered(jdk: int, jvm: Target, file: Path) -> None:
    """A recording that begins after btpy has left knows no event type of btpy."""
    told(jvm, "JFR.start", "name=after")
    told(jvm, "JFR.dump", "name=after", f"filename={file}")
    for command in ("summary", "metadata"):
        names = types(run(jdk, "jfr", command, file))
        assert "jdk.ActiveRecording" in names
        assert not {name for name in names if not name.startswith(("jdk.", "java."))}


@all_jdks
def test_each_firing_is_an_event_with_typed_fields(jdk: int, tmp_path: Path) -> None:
    file = tmp_path / "run.jfr"
    with program(jdk) as jvm:
        with btpy.attach(jvm.pid) as session:
            session.add(SCRIPT)
            next_round(jvm, "7")  # no recording yet
            told(jvm, "JFR.start", "name=run")
            next_round(jvm, "101")
            told(jvm, "JFR.stop", "name=run", f"filename={file}")
            next_round(jvm, "13")
            assert session.maps["orders"].value == 7 + 101 + 13
        assert known_types(jvm) == "types []"
        check_nothing_is_registered(jdk, jvm, tmp_path / "after.jfr")
    assert "com.acme.Order" in types(run(jdk, "jfr", "summary", file))
    events = recorded(jdk, file)
    assert [event["number"] for event in events] == list(range(1, 102))
    for number, event in enumerate(events, 1):
        assert event["customer"] == f"customer {number}"
        assert event["price"] == number / 2
        assert event["express"] is (number % 2 == 0)
        assert event["type"]["name"].replace("/", ".") == "java.util.List"
        assert event["who"]["javaName"] == event["eventThread"]["javaName"] == "main"
        assert event["size"] == number * 1024
        assert event["took"].startswith("PT")
        assert event["at"] == "order"
        frames = [frame["method"]["name"] for frame in event["stackTrace"]["frames"]]
        assert frames == ["fire", "order", "main"]
    declared = run(jdk, "jfr", "metadata", file).partition('@Name("com.acme.Order")')[2].partition("\n}")[0]
    assert "@Category" in declared
    (took,) = [field for field in declared.split(";") if "long took" in field]
    assert '@Timespan("NANOSECONDS")' in took
    assert "@DataAmount" in declared


@all_jdks
def test_a_recording_that_began_before_the_probe_and_ends_after_it(jdk: int, tmp_path: Path) -> None:
    file = tmp_path / "run.jfr"
    with program(jdk) as jvm:
        told(jvm, "JFR.start", "name=run")
        next_round(jvm, "31")
        with btpy.attach(jvm.pid) as session:
            session.add(SCRIPT)
            next_round(jvm, "103")
        next_round(jvm, "17")
        assert known_types(jvm) == "types []"
        told(jvm, "JFR.stop", "name=run", f"filename={file}")
    assert [event["number"] for event in recorded(jdk, file)] == list(range(1, 104))


def test_on_java_8(tmp_path: Path) -> None:
    file = tmp_path / "run.jfr"
    with program(8, f"-XX:StartFlightRecording=filename={file},dumponexit=true") as jvm:
        with btpy.attach(jvm.pid) as session:
            session.add(SCRIPT)
            next_round(jvm, "101")
        assert known_types(jvm) == "types []"
        jvm.process.stdin.close()  # type: ignore[union-attr]
        assert jvm.wait() == 0
    events = recorded(TOOLS, file)
    assert [event["number"] for event in events] == list(range(1, 102))
    assert {event["who"]["javaName"] for event in events} == {"main"}


@pytest.mark.parametrize("jdk", [11, 25])
def test_a_jvm_without_the_module_refuses_the_script(jdk: int) -> None:
    flags = ["--limit-modules", "java.base,java.instrument,jdk.unsupported"]
    with program(jdk, *flags) as jvm, btpy.attach(jvm.pid) as session:
        with pytest.raises(UsageError, match=r"this JVM has no module jdk\.jfr") as error:
            session.add(SCRIPT)
        assert any("--add-modules jdk.jfr" in line for line in error.value.help)
        next_round(jvm, "7")
        session.add("FlightOrders::order { @orders = count() }")
        next_round(jvm, "11")
        assert session.maps["orders"].value == 11


def test_values_are_evaluated_only_if_the_event_is_enabled(shared: Target, tmp_path: Path) -> None:
    script = 'FlightOrders::order { jfr("com.acme.Wrong", number=1 / (arg0 as int - arg0 as int)) }'
    file = tmp_path / "run.jfr"
    with btpy.attach(shared.pid) as session:
        session.add(script)
        next_round(shared, "13")
        told(shared, "JFR.start", "name=run")
        next_round(shared, "7")
        told(shared, "JFR.stop", "name=run", f"filename={file}")
        next_round(shared, "19")
    assert sum(error.count for error in session.errors) == 7
    assert recorded(17, file, "com.acme.Wrong") == []


def test_two_sessions_may_write_the_same_event(shared: Target, tmp_path: Path) -> None:
    file = tmp_path / "run.jfr"
    script = 'FlightOrders::order { jfr("com.acme.Same", number=arg0 as int) }'
    other = 'FlightOrders::order { jfr("com.acme.Same", number=arg0 as long) }'
    told(shared, "JFR.start", "name=run")
    with btpy.attach(shared.pid) as first:
        first.add(script)
        with btpy.attach(shared.pid) as second:
            second.add(script)
            next_round(shared, "7")
            with btpy.attach(shared.pid) as third, pytest.raises(UsageError, match="already; choose another"):
                third.add(other)
        next_round(shared, "11")
    next_round(shared, "13")
    told(shared, "JFR.stop", "name=run", f"filename={file}")
    assert known_types(shared) == "types []"
    assert len(recorded(17, file, "com.acme.Same")) == 2 * 7 + 11


def test_a_probe_is_replaced_by_one_with_other_fields(shared: Target, tmp_path: Path) -> None:
    file = tmp_path / "run.jfr"
    told(shared, "JFR.start", "name=run")
    with btpy.attach(shared.pid) as session:
        session.add('FlightOrders::order { jfr("com.acme.Order", number=arg0 as int) }')
        with pytest.raises(BtpyError, match="has other fields elsewhere"):
            session.add('FlightOrders::order { jfr("com.acme.Order", name=arg1 as string) }')
        next_round(shared, "7")
        next(iter(session.probes.values())).remove()
        session.add('FlightOrders::order { jfr("com.acme.Order", name=arg1 as string) }')
        next_round(shared, "11")
    told(shared, "JFR.stop", "name=run", f"filename={file}")
    assert known_types(shared) == "types []"
    events = recorded(17, file)
    assert sorted("number" if "number" in event else "name" for event in events) == ["name"] * 11 + ["number"] * 7


def test_probes_in_methods_that_jfr_itself_calls(shared: Target, tmp_path: Path) -> None:
    """A recording starts and stops while each call of these methods, also on threads of JFR, writes an event."""
    script = """
    @OnMethod(class="java.util.HashMap", method="/put|get|remove/") { jfr("com.acme.Inside", at=method) }
    @OnMethod(class="java.util.ArrayList", method="/add|get/") { jfr("com.acme.Inside", at=method) }
    FlightOrders::order { jfr("com.acme.Order", number=arg0 as int) }
    """
    with btpy.attach(shared.pid) as session:
        session.add(script)
        for number in range(5):
            told(shared, "JFR.start", "name=run", "settings=profile")
            next_round(shared, "101")
            file = tmp_path / f"run{number}.jfr"
            told(shared, "JFR.stop", "name=run", f"filename={file}")
            assert len(recorded(17, file)) == 101
        assert not session.errors
    assert known_types(shared) == "types []"


def test_the_classes_of_jfr_are_left_out(shared: Target) -> None:
    script = 'jdk.jfr.internal.**::* { jfr("com.acme.Inside", at=method) }'
    with btpy.attach(shared.pid) as session:
        session.add('FlightOrders::order { jfr("com.acme.Order", number=arg0 as int) }')  # loads classes of JFR
        with pytest.raises(BtpyError, match=r"jdk\.jfr\..* is not traced by this probe"):
            session.add(script)


def test_secrets_are_masked_and_texts_are_cut(shared: Target, tmp_path: Path) -> None:
    script = """FlightOrders::order {
        let password = arg1 as string;
        let pin = arg0 as int;
        jfr("com.acme.Order", number=arg0 as int, text=password, name=arg1 as string)
    }"""
    file = tmp_path / "run.jfr"
    told(shared, "JFR.start", "name=run")
    with btpy.attach(shared.pid, limits=btpy.Limits(string_chars=5)) as session:
        session.add(script)
        next_round(shared, "11")
    told(shared, "JFR.stop", "name=run", f"filename={file}")
    events = recorded(17, file)
    assert len(events) == 11
    assert {event["name"] for event in events} == {"custo"}
    assert not any("customer" in str(event["text"]) for event in events)


@all_jdks
def test_mission_control_reads_as_many_events_with_units(jdk: int, tmp_path: Path) -> None:
    file = tmp_path / "run.jfr"
    with program(jdk) as jvm, btpy.attach(jvm.pid) as session:
        session.add(SCRIPT)
        told(jvm, "JFR.start", "name=run")
        next_round(jvm, "109")
        told(jvm, "JFR.stop", "name=run", f"filename={file}")
    jars = [artifact(name) for name in MISSION_CONTROL]
    classes = compiled([JAVA / "jfr" / "ReadByMissionControl.java"], release=11, classpath=jars)
    path = os.pathsep.join(map(str, (classes, *jars)))
    command = [str(java(TOOLS)), "-cp", path, "ReadByMissionControl", str(file), "com.acme.Order"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout.splitlines()
    assert lines[-1] == "count 109"
    fields = {name: (type_, value) for name, type_, value in (line.split(" ", 2) for line in lines[:-1])}
    types = {name: fields[name][0] for name in ("customer", "express", "type", "who", "took", "size")}
    assert types == {
        "customer": "text",
        "express": "boolean",
        "type": "class",
        "who": "thread",
        "took": "timespan",
        "size": "memory",
    }
    assert fields["number"][1].startswith("1[")  # a quantity without a unit


def test_events_of_functions_subscribers_and_timers(shared: Target, tmp_path: Path) -> None:
    """All handlers of a script can write events, also handlers that run on btpy's own thread."""
    script = """
    fn told(int number) { jfr("com.acme.Told", number=number) }
    FlightOrders::order as placed {
        told(arg0 as int);
        if (arg0 as int) % 2 == 0 { told(-1) }
        provide(number=arg0 as int);
    }
    @OnProbe(placed) { jfr("com.acme.Placed", number=event.number as int) }
    @OnTimer(20ms) { jfr("com.acme.Tick", heap=heap_used()) }
    """
    file = tmp_path / "run.jfr"
    told(shared, "JFR.start", "name=run")
    with btpy.attach(shared.pid) as session:
        session.add(script)
        next_round(shared, "11")
        time.sleep(0.2)
        assert not session.errors
    told(shared, "JFR.stop", "name=run", f"filename={file}")
    assert sorted(event["number"] for event in recorded(17, file, "com.acme.Told")) == [-1] * 5 + [*range(1, 12)]
    assert [event["number"] for event in recorded(17, file, "com.acme.Placed")] == [*range(1, 12)]
    ticks = recorded(17, file, "com.acme.Tick")
    assert len(ticks) > 2
    assert {tick["eventThread"]["javaName"] for tick in ticks} == {"btpy-events"}


def test_events_are_written_by_many_threads_and_virtual_ones(tmp_path: Path) -> None:
    """No event is lost, and the thread of each event is the thread that ran the method."""
    file = tmp_path / "run.jfr"
    classes = compiled([JAVA / "Gate.java", JAVA / "jfr" / "FlightThreads.java"], release=11)
    with target(21, "FlightThreads", "7", "1009", classpath=[classes]) as jvm:
        told(jvm, "JFR.start", "name=run")
        with btpy.attach(jvm.pid) as session:
            session.add('FlightThreads::work { jfr("com.acme.Work", virtual=is_virtual, name=thread_name) }')
            jvm.send()
            jvm.wait_for("done")
        told(jvm, "JFR.stop", "name=run", f"filename={file}")
    events = recorded(21, file, "com.acme.Work", frames=1)
    counts = Counter(event["virtual"] for event in events)
    assert counts == {True: 7 * 1009, False: 7 * 1009}
    assert all(event["name"] == event["eventThread"]["javaName"] for event in events if not event["virtual"])
