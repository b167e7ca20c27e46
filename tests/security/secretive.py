"""Runs of btpy on programs whose secrets all have the word Hush in them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

from tests.targets import PATIENCE, Target


def traced(
    program: Target, calls: int, script: str, *options: str, environment: Mapping[str, str] | None = None
) -> bytes:
    """The whole output of a run on a program that makes some calls."""
    command = [sys.executable, "-m", "btpy", str(program.pid), "-e", script, "--budget", "off", "--hits", "0", *options]
    variables = {**os.environ, "NO_COLOR": "1", "LC_ALL": "C.UTF-8", **(environment or {})}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables) as run:
        assert run.stderr is not None
        output = b""
        while b"Ctrl-C" not in output:
            line = run.stderr.readline()
            assert line, output.decode()
            output += line
        made(program, calls)
        run.send_signal(2)
        stdout, rest = run.communicate(timeout=PATIENCE)
        assert run.returncode == 0, (output + rest).decode()
    return stdout + output + rest


def made(program: Target, calls: int) -> None:
    """Lets the program make some calls."""
    program.send(str(calls))
    program.wait_for(f"called {calls}")


def assert_without_secrets(output: bytes) -> None:
    assert output
    for wide in (output, output[::2], output[1::2]):
        at = wide.find(b"Hush")
        assert at < 0, wide[max(0, at - 200) : at + 50]
