"""Unattended sessions: -x and --keep, then sessions, attach, send, level and stop, each in its own process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from btpy.api import unattended
from tests.live.scripts import counted
from tests.targets import PATIENCE, Target
from tests.tracer import Tracer

SCRIPT = """
@OnMethod(class="Counted", method="step", location=ENTRY) when arg1 % 7 == 5 { print(arg1); }
@OnMethod(class="Counted", method="step", location=ENTRY) { @all = count(); }
@Level(2)
@OnMethod(class="Counted", method="step", location=ENTRY) { @more = count(); }
@OnEvent("told") { @told = count(); }
@OnEnd { print("the end"); }
"""


@pytest.fixture(autouse=True)
def own_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "night.bt"
    path.write_text(SCRIPT)
    return path


@pytest.fixture
def program() -> Iterator[Target]:
    with counted(17) as jvm:
        yield jvm


def btpy(*arguments: Any, status: int = 0) -> list[str]:
    """Lines of stdout."""
    command = [sys.executable, "-m", "btpy", *map(str, arguments)]
    environment = {**os.environ, "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=PATIENCE * 2)
    assert ran.returncode == status, ran.stdout + ran.stderr
    return ran.stdout.splitlines() if status == 0 else ran.stderr.splitlines()


def call(program: Target, times: int) -> None:
    program.send(f"call {times}")
    program.wait_for("called")


def test_a_night(program: Target, script: Path) -> None:
    pid = program.pid
    assert btpy("sessions", pid) == []
    (session,) = btpy(pid, script, "-x", "--ttl", "2h", "--budget", "off")
    call(program, 1009)
    (row,) = map(json.loads, btpy("sessions", pid, "--json"))
    assert (row["id"], row["name"], row["clients"], row["probes"], row["enabled"]) == (
        session,
        "night",
        0,
        5,
        4,
    )
    assert 6000 < row["ttl_s"] < 7200
    assert any("night" in line for line in btpy("sessions", pid))

    fives = [number for number in range(1009) if number % 7 == 5]
    joined = Tracer(["attach", str(pid), "night", "-f", "ndjson"])
    try:
        joined.wait_for("printf")
        assert joined.stop() == 0
        assert joined.printed() == [str(number) for number in fives]
        assert joined.maps() == {"all": 1009}
        (end,) = joined.of("end")
        assert (end["reason"], end["produced"], end["delivered"], end["dropped"]) == ("left", len(fives), len(fives), 0)
    finally:
        joined.kill()

    btpy("level", pid, session, 2)
    btpy("send", pid, session[:4], "told")
    call(program, 4)
    stopped = [json.loads(line) for line in btpy("stop", pid, session, "-f", "ndjson")]
    maps: dict[str, Any] = {}
    for record in stopped:
        maps.update(record["data"] if record["type"] == "map" else {})
    assert maps == {"@all": 1013, "@more": 4, "@told": 1}
    assert [record["data"] for record in stopped if record["type"] == "printf"] == ["the end"]
    (end,) = [record for record in stopped if record["type"] == "end"]
    assert (end["reason"], end["restored"], end["woven"]) == ("stopped", 1, 1)
    assert btpy("sessions", pid) == []


def test_keeping_at_the_end_and_stopping_all(program: Target, script: Path) -> None:
    tracer = Tracer([str(program.pid), str(script), "--keep", "--name", "kept", "-f", "ndjson"])
    try:
        tracer.wait_for("attached_probes")
        call(program, 13)
        assert tracer.stop(signal.SIGTERM) == 0
        assert tracer.maps() == {"all": 13}
    finally:
        tracer.kill()
    btpy(program.pid, script, "-x", "--budget", "off")
    call(program, 17)
    assert [json.loads(line)["name"] for line in btpy("sessions", program.pid, "--json")] == ["kept", "night"]
    lines = btpy("stop", program.pid, "--all", "--no-unicode")
    assert [line.split() for line in lines if line.startswith("@all")] == [["@all", "30"], ["@all", "17"]]
    assert btpy("sessions", program.pid) == []


def test_a_killed_client_does_not_end_it_and_another_takes_over(program: Target, script: Path) -> None:
    (session,) = btpy(program.pid, script, "-x", "--budget", "off")
    joined = Tracer(["attach", str(program.pid), session, "-f", "ndjson"])
    try:
        joined.wait_for("attached_probes")
        os.kill(joined.process.pid, signal.SIGSTOP)  # the stopped client stays connected until its lease ends
        assert "another client is connected" in btpy("attach", program.pid, session, status=2)[0]
        call(program, 7)
        assert btpy("stop", program.pid, session)[-1].split() == ["@all", "7"]
    finally:
        joined.kill()


def test_a_takeover_keeps_its_connection_when_the_former_client_closes(program: Target, script: Path) -> None:
    (session,) = btpy(program.pid, script, "-x", "--budget", "off")
    with ExitStack() as clients:
        for count in range(1, 32):
            joined = clients.enter_context(closing(unattended.join(program.pid, session, take_over=True)))
            call(program, 1)
            assert joined.maps["all"].value == count
    assert btpy("stop", program.pid, session)[-1].split() == ["@all", "31"]


def test_sessions_of_another_user_can_be_ended_but_not_read(program: Target, script: Path, tmp_path: Path) -> None:
    (session,) = btpy(program.pid, script, "-x", "--budget", "off")
    (tmp_path / "btpy" / "key").unlink()
    assert "another user" in btpy("attach", program.pid, session, status=2)[0]
    assert btpy("stop", program.pid, session) == []
    assert btpy("sessions", program.pid) == []


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--ttl", "1h"], "needs -x or --keep"),
        (["-x", "--keep"], "use one of them"),
        (["-x", "--for", "1s"], "has no effect"),
        (["-x", "--ttl", "25h"], "longer than 24h"),
        (["-x", "--ttl", "10"], "has no unit"),
    ],
)
def test_flags_that_make_no_sense(program: Target, script: Path, flags: list[str], words: str) -> None:
    assert words in btpy(program.pid, script, *flags, status=2)[0]


def test_a_client_that_leaves_a_session_learns_when_its_end_runs(program: Target, script: Path) -> None:
    command = [sys.executable, "-m", "btpy", str(program.pid), str(script), "-x", "--ttl", "30s"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE * 2)
    assert "@OnEnd runs at btpy stop; if the session ends by itself after 30s" in ran.stderr
    btpy("stop", program.pid, ran.stdout.strip())
