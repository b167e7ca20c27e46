"""Commands that are forks behave as commands that Python starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import preloaded


@pytest.fixture(params=[True, False], ids=["fork", "started"])
def forks(request: pytest.FixtureRequest) -> Iterator[bool]:
    earlier = subprocess.Popen
    preloaded.fork_commands(request.param)
    yield request.param
    subprocess.Popen = earlier  # type: ignore[misc]


def btpy(*arguments: str, directory: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "btpy", *arguments],
        cwd=directory,
        env={**os.environ, "NO_COLOR": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_command_gets_its_directory_and_its_input(forks: bool, tmp_path: Path) -> None:
    (tmp_path / "mine.bt").write_text("Nowhere::step { @n = count( }\n")
    for file, text in (("mine.bt", ""), ("-", "Nowhere::step { @n = count( }")):
        with btpy("check", file, directory=tmp_path) as process:
            stdout, stderr = process.communicate(text, timeout=60)
        assert (process.returncode, getattr(process, "_status", None) is not None) == (2, forks)
        assert "count( }" in stdout + stderr


def test_the_status_of_a_killed_command_is_its_signal(forks: bool, tmp_path: Path) -> None:
    with btpy("check", "-", directory=tmp_path) as process:
        assert process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait(60) == -signal.SIGKILL
    assert process.poll() == -signal.SIGKILL
