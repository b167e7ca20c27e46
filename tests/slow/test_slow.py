"""``btpy slow`` on a web service whose requests are slow for known reasons."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.jdks import compiled, jdks_since_17
from tests.probes.stacks import jars
from tests.probes.test_libraries import classes
from tests.targets import Target, target

SOURCE = Path(__file__).parent / "java" / "Planted.java"
SAMPLE = {"/fast": 7, "/sql": 3, "/lock": 2, "/http": 2, "/tasks": 3, "/beside": 2}
ALL = {
    "/fast": 101,
    "/itself": 3,
    "/sql": 11,
    "/many": 5,
    "/lock": 7,
    "/monitor": 3,
    "/pool": 7,
    "/http": 13,
    "/async": 11,
    "/tasks": 17,
    "/nested": 7,
    "/stages": 5,
    "/later": 2,
    "/beside": 5,
}
OVER = 30
"""A time in ms. All requests except /fast last longer."""

Tree = dict[str, Any]


@contextmanager
def service(jdk: int) -> Iterator[Target]:
    libraries = jars("h2", "hikari7")
    program_classes = compiled([SOURCE], classpath=libraries, release=11)
    with target(jdk, "Planted", classpath=[program_classes, *libraries]) as program:
        yield program


@contextmanager
def following(program: Target, *arguments: str) -> Iterator[list[str]]:
    """Runs ``btpy slow`` until the end of the block. After the block the list has its output."""
    output: list[str] = []
    command = [sys.executable, "-m", "btpy", "slow", str(program.pid), "--budget", "off", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert "following the requests" in line, line + process.stderr.read()
        yield output
        process.send_signal(signal.SIGINT)
        text, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "classes restored" in errors
    output.append(text)


def slow(program: Target, sends: Mapping[str, int], *arguments: str) -> str:
    """The output of ``btpy slow`` for these requests. Before it starts, a request of each path loads the classes."""
    for path in sends:
        program.send(f"1 {path}")
        program.wait_for("sent")
    with following(program, *arguments) as output:
        for path, count in sends.items():
            program.send(f"{count} {path}")
            program.wait_for("sent")
    return output[0]


def trees(program: Target, sends: Mapping[str, int]) -> dict[str, list[Tree]]:
    """The requests by their path."""
    lines = slow(program, sends, "--over", f"{OVER}ms", "--top", "1000", "-f", "ndjson").splitlines()
    *requests, summary = map(json.loads, lines)
    count = sum(sends.values())
    assert (summary["type"], summary["requests"], summary["lost"]) == ("summary", count, 0)
    assert summary["slow"] == len(requests)
    by_path: dict[str, list[Tree]] = {path: [] for path in sends}
    for request in requests:
        by_path[request["what"].removeprefix("GET ")].append(request)
    return by_path


def nodes(tree: Tree) -> Iterator[Tree]:
    yield tree
    for child in tree["children"]:
        yield from nodes(child)


def long_ones(tree: Tree, kind: str, ms: int) -> list[Tree]:
    return [node for node in tree["children"] if node["kind"] == kind and node["ms"] >= ms]


def check_counts(by_path: Mapping[str, list[Tree]], sends: Mapping[str, int]) -> None:
    """btpy must report all slow requests; it reports a fast one only if the machine was busy."""
    counts = {path: len(requests) for path, requests in by_path.items()}
    assert {**counts, "/fast": 0} == {**sends, "/fast": 0}
    assert counts["/fast"] < sends["/fast"]


def check(path: str, tree: Tree) -> None:
    """A request of this path spent its time where the program has planted a delay. The other times are consistent."""
    assert tree["result"] == "200"
    assert sum(node["critical_ms"] for node in nodes(tree)) == pytest.approx(
        tree["ms"], abs=0.001 * len([*nodes(tree)])
    )
    for node in nodes(tree):
        assert 0 <= node["at_ms"] <= tree["ms"]
        assert node.get("count", 1) > 1 or node["at_ms"] + node["ms"] <= tree["ms"] + 0.01
        assert 0 <= node["itself_ms"] <= tree["ms"]
    match path:
        case "/itself":
            assert tree["itself_ms"] >= 61
        case "/sql":
            (sql,) = long_ones(tree, "sql", 67)
            assert (sql["what"], sql["site"]) == ("SELECT PAUSE(?)", "Planted.query:119")
            assert tree["itself_ms"] <= tree["ms"] - sql["ms"] + 0.01
        case "/many":
            one_by_one = [node.get("count", 1) for node in tree["children"] if node["kind"] == "sql"]
            assert sum(one_by_one) + sum(short["count"] for short in tree["short"] if short["kind"] == "sql") == 101
            assert tree["itself_ms"] >= 31
        case "/lock":
            locks = {(lock["what"], lock["site"]) for lock in long_ones(tree, "lock", 40)}  # interrupts divide a wait
            assert ("ReentrantLock, held by holder", "Planted.waitForLock:141") in locks
            other = locks - {("ReentrantLock, held by holder", "Planted.waitForLock:141")}
            assert all(
                what == "CountDownLatch" for what, _ in other
            )  # until the holder has the lock: on a busy machine
        case "/monitor":
            for monitor in long_ones(tree, "monitor", 0):  # a busy machine takes few samples
                assert monitor["estimated"]
                assert monitor["what"].startswith("java.lang.Object, held by holder")
        case "/pool":
            (connection,) = long_ones(tree, "pool", 40)
            assert (connection["what"], connection["site"]) == ("small-db", "Planted.waitForConnection:164")
        case "/http" | "/async":
            (call,) = long_ones(tree, "http", 59)
            assert call["what"].startswith("GET 127.0.0.1:")
            assert call["what"].endswith("/stock 200" if path == "/http" else "/async 200")
        case "/tasks":
            tasks = long_ones(tree, "task", 41)
            assert [task["thread"] for task in tasks] == ["single"] * 3
            begins = sorted(task["at_ms"] for task in tasks)
            # Each has the one thread for 41 ms. A slow machine may submit one of them after the last has ended.
            assert all(later >= earlier + 41 for earlier, later in pairwise(begins)), begins
            assert max(task["waited_ms"] for task in tasks) >= 10
            for task in tasks:
                (sql,) = long_ones(task, "sql", 41)
                assert sql["what"] == "SELECT PAUSE(?)"
                assert sql["critical_ms"] >= 41, "the next task waits for the thread"
        case "/beside":
            first, second = long_ones(tree, "task", 31)
            (sql,) = long_ones(second, "sql", 71)
            assert sql["what"] == "SELECT PAUSE(?)"
            paths = [sum(node["critical_ms"] for node in nodes(task)) for task in (first, second)]
            if first["at_ms"] + first["ms"] < second["at_ms"] + second["ms"]:
                assert paths[1] >= max(71, paths[0]), tree
            else:  # The first task started late, on a busy machine. test_tree has exact times.
                assert paths[0] >= max(31, paths[1]), tree
        case "/nested":
            (outer,) = long_ones(tree, "task", 66)
            (inner,) = long_ones(outer, "task", 43)
            assert (outer["thread"], inner["thread"]) == ("many", "single")
            assert 22 <= outer["itself_ms"] <= outer["ms"] - 40
        case "/stages":
            (first,) = long_ones(tree, "task", 29)
            (second,) = long_ones(first, "task", 37)
            assert (first["thread"], second["thread"]) == ("many", "single")
            assert second["at_ms"] >= first["at_ms"] + 29
        case "/later":
            assert tree["ms"] < 211


def test_a_slow_request_is_a_tree_of_what_it_waited_for() -> None:
    with service(21) as program:
        by_path = trees(program, SAMPLE)
    check_counts(by_path, SAMPLE)
    for path, requests in by_path.items():
        for request in requests:
            check(path, request)


def check_trace(events: list[Tree]) -> None:
    """Slices of a thread contain or follow each other, and each arrow leads from a slice to the beginning of one."""
    slices: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for event in events:
        if event["ph"] == "X":
            nanos = round(event["ts"] * 1000)
            slices.setdefault((event["pid"], event["tid"]), []).append((nanos, nanos + round(event["dur"] * 1000)))
    for thread in slices.values():
        for s, e in thread:
            assert all(b <= s or e <= a or (a <= s and e <= b) or (s <= a and b <= e) for a, b in thread)
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    arrows = [event for event in events if event["ph"] == "s"]
    assert 0 < len(arrows) == len(ends)
    for event in arrows:
        at, to = round(event["ts"] * 1000), ends[event["id"]]
        assert any(start <= at <= end for start, end in slices[event["pid"], event["tid"]])
        assert round(to["ts"] * 1000) in {start for start, _ in slices[to["pid"], to["tid"]]}


@pytest.mark.proof
@jdks_since_17
def test_each_planted_reason_is_in_each_tree(jdk: int) -> None:
    with service(jdk) as program:
        by_path = trees(program, ALL)
        check_counts(by_path, ALL)
        for path, requests in by_path.items():
            for request in requests:
                check(path, request)
        assert any(long_ones(request, "monitor", 40) for request in by_path["/monitor"])
        (running_on,) = (task for request in by_path["/later"] for task in long_ones(request, "task", 40))
        assert running_on["cut"]
        text = slow(program, {"/tasks": 2, "/fast": 1}, "--over", "30ms", "--top", "1")
        assert text.startswith("3 requests in ")
        assert text.count("GET /tasks 200") == 1
        measured = slow(program, {"/monitor": 3}, "--over", "30ms", "--monitors", "Planted")
        assert measured.count("lock java.lang.Object  from Planted.waitForMonitor:151") == 3
        assert "about" not in measured
        sends = dict.fromkeys(set(ALL) - {"/later"}, 1)
        check_trace(json.loads(slow(program, sends, "--over", "30ms", "--top", "101", "-f", "chrome")))
        nothing = slow(program, {"/fast": 2}, "--over", "10s")
        assert "2 requests in " in nothing
        assert "--over" in nothing


@pytest.mark.proof
@pytest.mark.parametrize(
    ("program", "stack", "later"), [("JettyServing", "jetty12", 3), ("TomcatServing", "tomcat11", 0)]
)
def test_each_request_of_a_web_server_is_shown(program: str, stack: str, later: int) -> None:
    """With Jetty, some requests are answered later, by a thread that the request starts."""
    classpath = classes(program, *jars(stack), beside=("Served",))
    with target(25, program, classpath=classpath) as jvm:
        with following(jvm, "--over", "1us", "--top", "1000", "-f", "ndjson", "--allow", "core") as output:
            jvm.send()
            jvm.wait_for("done")
        *requests, summary = map(json.loads, output[0].splitlines())
        assert summary["lost"] == 0
        kinds = Counter((request["what"].split()[0], request["result"]) for request in requests)
        assert kinds == {("GET", "200"): 53 + later, ("POST", "201"): 17, ("GET", "404"): 11, ("GET", "500"): 5}
        late = [request for request in requests if request["what"].endswith("/later")]
        assert len(late) == later
        for request in late:
            (thread,) = long_ones(request, "task", 50)
            assert thread["thread"].startswith("Thread-")
