"""The program Traffic, whose threads call methods until a test stops them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.jdks import compiled
from tests.live.scripts import JAVA
from tests.targets import Target, target


@contextmanager
def traffic(jdk: int = 17, *flags: str) -> Iterator[Target]:
    with target(jdk, "Traffic", classpath=[compiled([JAVA / "Traffic.java"], release=11)], flags=flags) as running:
        yield running


def called(running: Target, calls: int) -> None:
    """Lets the program call ``serve`` and ``turn`` alternately, this number of times each."""
    running.send(f"call {calls}")
    assert running.wait_for("called") == f"called {calls}"


def started(running: Target, threads: int) -> None:
    running.send(f"start {threads}")
    running.wait_for("started")


def stopped(running: Target) -> int:
    """The number of calls of each method since :func:`started`."""
    running.send("stop")
    return int(running.wait_for("served").split()[1])
