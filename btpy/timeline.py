"""The steps of a run with their times, for ``--timeline``.

Any module marks its steps; while nothing is recorded, a step costs one test. Times are those of CLOCK_MONOTONIC, which
is the same in all processes that btpy starts. The file is in the Trace Event Format, which Perfetto loads.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import ParamSpec, TypeVar

from btpy.dataclass import dataclass

MOST_STEPS = 100_000
"""Further steps are only counted, because a run may last for days."""

FIRST_EVENT = "first event"
"""The moment when the first event of a probe has been shown."""

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Step:
    """``begin`` and ``end`` are in nanoseconds of the clock, and equal for a moment. ``thread``: its name."""

    name: str
    begin: int
    end: int
    thread: str
    details: dict[str, object]


class Timeline:
    """The steps of a run that began at ``began``, in the order in which they ended."""

    def __init__(self, began: int) -> None:
        self.began = began
        self.steps: list[Step] = []
        self.omitted = 0
        self._lock = threading.Lock()
        self._moment_names: set[str] = set()

    def add(self, name: str, begin: int, end: int, thread: str = "", **details: object) -> None:
        """``thread``: if it is empty, the current thread."""
        step = Step(name, begin, end, thread or threading.current_thread().name, details)
        with self._lock:
            if len(self.steps) < MOST_STEPS:
                self.steps.append(step)
            else:
                self.omitted += 1

    def first(self, name: str) -> None:
        """Adds a moment, the first time that it is called with this name."""
        if name not in self._moment_names:
            self._moment_names.add(name)
            now = time.monotonic_ns()
            self.add(name, now, now)

    @contextmanager
    def step(self, name: str, **details: object) -> Iterator[None]:
        begin = time.monotonic_ns()
        try:
            yield
        finally:
            self.add(name, begin, time.monotonic_ns(), "", **details)

    def trace_events(self) -> list[dict[str, object]]:
        """The events of the Trace Event Format, times in microseconds since the run began."""
        process = os.getpid()
        threads = {name: number for number, name in enumerate(dict.fromkeys(step.thread for step in self.steps), 1)}
        events: list[dict[str, object]] = [
            {"name": "process_name", "ph": "M", "pid": process, "args": {"name": "btpy"}},
            *(
                {"name": "thread_name", "ph": "M", "pid": process, "tid": number, "args": {"name": name}}
                for name, number in threads.items()
            ),
        ]
        for step in self.steps:
            place = {"pid": process, "tid": threads[step.thread], "ts": (step.begin - self.began) / 1000}
            if step.end == step.begin:
                events.append({"name": step.name, "ph": "i", "s": "p", **place, "args": step.details})
            else:
                micros = (step.end - step.begin) / 1000
                events.append({"name": step.name, "ph": "X", **place, "dur": micros, "args": step.details})
        return events

    def unaccounted(self, thread: str, end: int) -> int:
        """The nanoseconds from the beginning of the run to ``end`` in which no step of this thread ran."""
        covered = self.began
        gap = 0
        for step in sorted((step for step in self.steps if step.thread == thread), key=lambda step: step.begin):
            gap += max(0, min(step.begin, end) - covered)
            covered = max(covered, min(step.end, end))
        return gap + max(0, end - covered)


_recorded: Timeline | None = None


def record(began: int) -> Timeline:
    """Begins to record the steps of this process, which was started at ``began``."""
    global _recorded
    _recorded = Timeline(began)
    return _recorded


def stop() -> None:
    global _recorded
    _recorded = None


def step(name: str, **details: object) -> AbstractContextManager[None]:
    """A context for one step, which has the name ``name`` on the timeline."""
    return nullcontext() if _recorded is None else _recorded.step(name, **details)


def first(name: str) -> None:
    """Marks the first time that something happens."""
    if _recorded is not None:
        _recorded.first(name)


def add(name: str, begin: int, end: int, thread: str) -> None:
    """Adds a step that another process has reported after its end."""
    if _recorded is not None:
        _recorded.add(name, begin, end, thread)


def timed(name: str) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Marks each call of a function as a step."""

    def decorate(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @functools.wraps(function)
        def call(*arguments: Parameters.args, **keywords: Parameters.kwargs) -> Result:
            with step(name):
                return function(*arguments, **keywords)

        return call

    return decorate
