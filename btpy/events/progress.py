"""How far a session has come with what may take long. It only notes it. Any thread can look."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

from btpy.frozen import dataclass


class Work(Enum):
    READING = "reading"
    WEAVING = "weaving"
    PREWEAVING = "preweaving"
    RESTORING = "restoring"


@dataclass(frozen=True, slots=True)
class Step:
    """``done`` of ``classes``; for RESTORING and PREWEAVING it is not known. ``longest_pause_ns``: for which the target
    was stopped so far."""

    work: Work
    classes: int
    done: int = 0
    longest_pause_ns: int = 0


class Progress:
    """``step``: what is going on now; None for nothing that takes long."""

    def __init__(self) -> None:
        self.step: Step | None = None

    @contextmanager
    def of(self, work: Work, classes: int) -> Iterator[None]:
        self.step = Step(work, classes)
        try:
            yield
        finally:
            self.step = None

    def advance(self, pause_ns: int = 0, *, done: int = 1) -> None:
        """So many more classes; ``pause_ns``: for which the target was stopped meanwhile."""
        step = self.step
        if step is not None:
            longest = max(step.longest_pause_ns, pause_ns)
            self.step = Step(step.work, step.classes, min(step.done + done, step.classes), longest)
