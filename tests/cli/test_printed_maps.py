"""Maps that timers print, as a user sees them at the end of a run, and after joining an unattended session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live.scripts import counted, waited
from tests.targets import PATIENCE, Target

PERIODIC = 'Counted::step @entry { @n = count(); } @OnTimer(PERIOD) { print(@n); } @OnEnd { print("end"); print(@n); }'


@pytest.fixture(autouse=True)
def own_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.fixture(scope="module")
def program() -> Iterator[Target]:
    with counted(17) as jvm:
        yield jvm


def call(program: Target, times: int) -> None:
    program.send(f"call {times}")
    program.wait_for("called")


def btpy(*arguments: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "btpy", *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NO_COLOR": "1", "LC_ALL": "C.UTF-8"},
    )


def traced(program: Target, script: str, until: str, *options: str) -> tuple[list[str], list[str]]:
    """Lines of both outputs of a run in which the program made 7 calls. The run ends once it has printed ``until``, or
    after the calls if ``until`` is empty.
    """
    with btpy(program.pid, "-e", script, "--budget", "off", "--hits", "0", *options) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        stderr = []
        for line in run.stderr:
            stderr.append(line)
            if "Ctrl-C to end" in line:
                break
        call(program, 7)
        lines = []
        for line in run.stdout if until else ():
            lines.append(line)
            if until in line:
                break
        run.terminate()
        rest, late_errors = run.communicate(timeout=PATIENCE)
        assert run.returncode == 0, late_errors
        return "".join([*lines, rest]).splitlines(), "".join([*stderr, late_errors]).splitlines()


def test_the_end_does_not_repeat_the_last_print_of_a_timer(program: Target) -> None:
    stdout, _ = traced(program, PERIODIC.replace("PERIOD", "50ms"), "@n  7")
    assert stdout[stdout.index("end") :] == ["end"]
    assert "@n  7" in stdout


def test_maps_without_an_end_of_their_own_are_not_repeated_either(program: Target) -> None:
    stdout, _ = traced(
        program, "Counted::step @entry { @n = count(); @m = count(); } @OnTimer(50ms) { print(@n); }", "@n  7"
    )
    assert stdout[-1].split() == ["@m", "7"]
    assert {line.split()[0] for line in stdout[:-1]} == {"@n"}


def test_programs_get_every_map(program: Target) -> None:
    stdout, _ = traced(program, PERIODIC.replace("PERIOD", "50ms"), '"@n":7', "-f", "ndjson")
    records = [json.loads(line) for line in stdout]
    end = next(at for at, record in enumerate(records) if record.get("data") == "end")
    assert [record["data"] for record in records[end:] if record["type"] == "map"] == [{"@n": 7}]


def test_a_timer_that_was_never_due_hides_nothing(program: Target) -> None:
    stdout, stderr = traced(program, PERIODIC.replace("PERIOD", "1h"), "")
    assert stdout == ["end", "@n  7"]
    assert not any("timer" in line or "had not passed" in line for line in stderr), stderr


UNATTENDED = """
Counted::step @entry { @n = count(); @m = count(); print(arg1); }
@Limit(hits=3) @OnTimer(1s) { print(@n); print(flush(@m)); }
"""


def joined(program: Target, format_: str) -> tuple[list[str], list[str]]:
    """Lines of both outputs of a client that joins the session of UNATTENDED after 7 calls and the last print, sees 2
    calls more, and leaves."""
    with btpy(program.pid, "-e", UNATTENDED, "--budget", "off", "-x", "--name", "night") as run:
        _, stderr = run.communicate(timeout=PATIENCE)
        assert run.returncode == 0, stderr
    call(program, 7)

    def enabled() -> list[int]:
        with btpy("sessions", program.pid, "--json") as run:
            return [json.loads(line)["enabled"] for line in run.communicate(timeout=PATIENCE)[0].splitlines()]

    waited(lambda: enabled() == [1], "the timer goes on beyond its limit")
    with btpy("attach", program.pid, "night", "-f", format_, "--hits", "0") as run:
        assert run.stdout is not None
        assert run.stderr is not None
        stderr = next(line for line in run.stderr if "leaves it running" in line)
        call(program, 2)
        lines = []
        for line in run.stdout:
            lines.append(line)
            if (
                sum(line == "1\n" or '"data":"1"' in line for line in lines) == 2
            ):  # one print after the earlier calls, one after the new calls
                break
        run.terminate()
        rest, late_errors = run.communicate(timeout=PATIENCE)
        assert run.returncode == 0, late_errors
    with btpy("stop", program.pid, "--all") as run:
        run.communicate(timeout=PATIENCE)
    return "".join([*lines, rest]).splitlines(), [stderr, *late_errors.splitlines()]


def test_a_client_that_joins_sees_all_events_and_the_last_state_of_each_map(program: Target) -> None:
    stdout, stderr = joined(program, "text")
    assert [line for line in stdout if line.isdigit()] == [*map(str, range(7)), "0", "1"]
    before = stdout[: stdout.index("0", 1)]
    assert [line for line in before if line.startswith("@n")] == ["@n  7"]
    intervals = [line for line in before if line.startswith("@m")]
    assert sorted(intervals) == ["@m  (empty)", "@m  (empty)", "@m  7"]
    assert "2 earlier prints of the same maps left out" in "".join(stderr)


def test_a_program_that_joins_gets_every_print(program: Target) -> None:
    stdout, stderr = joined(program, "ndjson")
    maps = [record["data"] for record in map(json.loads, stdout) if record["type"] == "map"]
    assert len([data for data in maps if "@n" in data]) == 4  # the last of them is the print at the end
    assert "left out" not in "".join(stderr)
