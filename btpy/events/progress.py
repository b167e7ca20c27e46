"""The progress of long operations of a session. This module only stores the values of the progress. Any thread may read
them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

from btpy.dataclass import dataclass


class Work(Enum):
    READING = "reading"
    WEAVING = "weaving"
    PREWEAVING = "preweaving"
    RESTORING = "restoring"


@dataclass(frozen=True, slots=True)
class Step:
    """``done``: how many of the ``classes`` are done; not known for RESTORING and PREWEAVING. ``longest_pause_ns``: the
    longest stop of the target so far.
    """

    work: Work
    classes: int
    done: int = 0
    longest_pause_ns: int = 0


class Progress:
    """``step``: the current operation; None if no long operation runs."""

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
        """Adds ``classes`` to the progress; ``pause_ns``: the time for which the target was stopped."""
        step = self.step
        if step is not None:
            longest = max(step.longest_pause_ns, pause_ns)
            self.step = Step(step.work, step.classes, min(step.done + done, step.classes), longest)
