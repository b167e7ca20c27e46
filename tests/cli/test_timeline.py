"""``--timeline``: the steps of a run, for Perfetto and on the terminal."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from btpy.cli.timeline import summary
from btpy.timeline import Timeline
from tests.cli.test_command import btpy
from tests.live.scripts import counted

MILLISECOND = 1_000_000
SCRIPT = "Counted::step { print(arg0); @n = count(); } @OnTimer(10ms) { exit(0); }"


def test_the_steps_of_a_run_are_a_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BTPY_ATTACH", "jpype")
    path = tmp_path / "steps.json"
    with counted(17) as target:
        result = btpy(target.pid, "-e", SCRIPT, "-v", "--timeline", path)
    assert result.returncode == 0, result.stderr
    events = json.loads(path.read_text())
    threads = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    steps = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            steps[threads[event["tid"]]].append(event)
    names = {thread: {step["name"] for step in of} for thread, of in steps.items()}
    assert {"start Python", "compile the script", "wait for the agent", "weave"} <= names["MainThread"]
    assert {"start Python", "start Java", "load the agent"} <= names["the process that attaches"]
    assert "wait for retransformation" in names["MainThread"]
    for of in steps.values():  # the slices nest, otherwise Perfetto omits some
        spans = [(round(step["ts"] * 1000), round((step["ts"] + step["dur"]) * 1000)) for step in of]
        ends: list[int] = []
        for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while ends and ends[-1] <= begin:
                ends.pop()
            assert begin >= 0
            assert not ends or end <= ends[-1]
            ends.append(end)
    assert "  start Python\n" in result.stderr
    assert "of the main thread are in no step" in result.stderr


def test_a_file_that_cannot_be_written_is_reported_before_the_attach(tmp_path: Path) -> None:
    with counted(17) as target:
        result = btpy(target.pid, "-e", SCRIPT, "--timeline", tmp_path / "no" / "steps.json")
        assert result.returncode == 1
        assert result.stderr.endswith("steps.json: no such file or directory\n")
        assert not Path(f"/tmp/.java_pid{target.pid}").exists()


def test_the_summary_ends_with_the_first_event() -> None:
    steps = Timeline(0)
    steps.add("start Python", 0, 20 * MILLISECOND, "MainThread")
    steps.add("weave", 30 * MILLISECOND, 35 * MILLISECOND, "MainThread")
    steps.add("weave", 40 * MILLISECOND, 43 * MILLISECOND, "MainThread")
    steps.add("start Java", 5 * MILLISECOND, 39 * MILLISECOND, "helper")
    steps.add("first event", 50 * MILLISECOND, 50 * MILLISECOND, "MainThread")
    steps.add("leave", 60 * MILLISECOND, 70 * MILLISECOND, "MainThread")
    assert summary(steps) == [
        "timeline in ms: begin, time taken, step",
        "     0.0     20.0  start Python",
        "     5.0     34.0  start Java  [helper]",
        "    30.0      8.0  weave (2 times)",
        "    50.0      0.0  first event",
        "first event after 50.0 ms; 22.0 ms of the main thread are in no step",
    ]
