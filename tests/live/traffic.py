"""The program Traffic, whose threads call methods until a test stops them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.jdks import compiled
from tests.live.scripts import JAVA
from tests.targets import Target, target


@contextmanager
def traffic(jdk: int = 17, *flags: str) -> Iterator[Target]:
    with target(jdk, "Traffic", classpath=[compiled([JAVA / "Traffic.java"], release=11)], flags=flags) as program:
        yield program


def called(program: Target, calls: int) -> None:
    """Lets the program call ``serve`` and ``turn`` alternately, this number of times each."""
    program.send(f"call {calls}")
    assert program.wait_for("called") == f"called {calls}"


def started(program: Target, threads: int) -> None:
    program.send(f"start {threads}")
    program.wait_for("started")


def stopped(program: Target) -> int:
    """The number of calls of each method since :func:`started`."""
    program.send("stop")
    return int(program.wait_for("served").split()[1])
