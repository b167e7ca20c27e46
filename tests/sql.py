"""Engines for SQL as processes of their own, so that their time and memory can be measured: DuckDB here, Spark in
:mod:`tests.spark`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Answer:
    """``peak``: the largest number of bytes that the engine has had in memory so far."""

    rows: list[list[Any]]
    seconds: float
    peak: int


class Engine:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, sql: str) -> Answer:
        """Raises AssertionError with the error of the engine."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"sql": sql}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the engine has ended"
        answer = json.loads(line)
        assert "error" not in answer, f"{answer['error']}\n{sql}"
        return Answer(answer["rows"], answer["seconds"], answer["peak"])

    def load(self, text: str) -> None:
        """Each statement of a file of SQL ends with a semicolon at the end of a line."""
        for statement in re.split(r";\n", text):
            if statement.strip():
                self.ask(statement)


@contextmanager
def engine(command: Sequence[str | Path], env: Mapping[str, str]) -> Iterator[Engine]:
    """A process that reads lines of JSON with ``sql`` from its standard input, and answers each by a line of JSON."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **pipes, text=True, env=dict(env)) as process:
        try:
            yield Engine(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()


@contextmanager
def duckdb() -> Iterator[Engine]:
    with engine([sys.executable, "-m", "tests.sql"], os.environ) as database:
        yield database


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return value if isinstance(value, int | float | str | None) else str(value)


def _answer() -> None:
    """Answers with DuckDB."""
    import duckdb as module

    connection = module.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for line in sys.stdin:
        began = time.monotonic()
        try:
            answer: dict[str, Any] = {"rows": _plain(connection.execute(json.loads(line)["sql"]).fetchall())}
        except module.Error as error:
            answer = {"error": str(error)}
        status = Path("/proc/self/status").read_text()
        peak = next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM:"))
        print(json.dumps({**answer, "seconds": time.monotonic() - began, "peak": peak}), flush=True)


if __name__ == "__main__":
    _answer()
