"""The exit code shows that a part of btpy stays in the target; tests/live/test_shapes.py has such a JVM."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live.scripts import counted, counted_classes
from tests.targets import PATIENCE, Target

UNCLEAN = """
import sys
from dataclasses import replace
from btpy.cli.main import main
from btpy.engine.receipt import Receipt

of = Receipt.of
Receipt.of = staticmethod(lambda *facts: replace(of(*facts), left_behind=("a thread",)))
sys.exit(main(sys.argv[1:]))
"""
COUNTS = "Counted::step @entry { @n = count(); }"


@pytest.fixture(scope="module")
def program() -> Iterator[Target]:
    with counted(17) as jvm:
        yield jvm


def started(*arguments: Any) -> subprocess.Popen[str]:
    """Runs btpy with agents that report a thread left behind. All output of btpy goes to one pipe."""
    return subprocess.Popen(
        [sys.executable, "-c", UNCLEAN, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "NO_COLOR": "1", "LC_ALL": "C.UTF-8"},
    )


def unclean(*arguments: Any, given: str = "") -> tuple[int, str]:
    """Exit code and output."""
    with started(*arguments) as btpy:
        stderr, _ = btpy.communicate(given, timeout=PATIENCE * 2)
        return btpy.returncode, stderr


@pytest.mark.parametrize("quiet", [[], ["-q"]])
def test_a_trace(program: Target, quiet: list[str]) -> None:
    code, stderr = unclean(program.pid, "-e", COUNTS, "--for", "50ms", *quiet)
    assert (code, f"left something behind in the JVM {program.pid}: a thread" in stderr) == (1, True), stderr
    assert "restarting the JVM removes" in stderr


def test_the_code_of_a_script_does_not_hide_it(program: Target) -> None:
    code, stderr = unclean(program.pid, "-e", "@OnTimer(10ms) { exit(71); }")
    assert (code, "a thread" in stderr) == (1, True), stderr


def test_one_of_several(program: Target) -> None:
    with counted(17) as other:
        code, stderr = unclean(f"{program.pid},{other.pid}", "-e", COUNTS, "--for", "50ms")
    assert code == 1, stderr
    assert stderr.count("left something behind in the JVM") == 2


def test_sessions_that_are_stopped(program: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for _ in range(2):
        assert unclean(program.pid, "-e", COUNTS, "-x")[0] == 0
    code, stderr = unclean("stop", program.pid, "--all")
    assert (code, stderr.count("left something behind in the JVM")) == (1, 2), stderr


def test_call_trees(program: Target) -> None:
    code, stderr = unclean("trace", program.pid, "Counted::step", "--for", "50ms")
    assert (code, "left something behind in the JVM" in stderr) == (1, True), stderr


def test_the_prompt(program: Target) -> None:
    code, stderr = unclean(program.pid, given=COUNTS + "\n:quit\n")
    assert (code, "left something behind in the JVM" in stderr) == (1, True), stderr


@pytest.mark.parametrize("options", [[], ["--propagate"]])
def test_a_program_that_was_started_goes_on(options: list[str]) -> None:
    with started(
        "run", *options, "-e", COUNTS, "--for", "50ms", "--", "java", "-cp", counted_classes(), "Counted"
    ) as btpy:
        assert btpy.stdin is not None
        assert btpy.stdout is not None
        assert any("left something behind in the JVM" in line for line in iter(btpy.stdout.readline, ""))
        assert btpy.poll() is None
        btpy.stdin.close()  # Counted ends when its standard input ends
        assert btpy.wait(PATIENCE) == 1
