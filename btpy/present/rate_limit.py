"""Limits how many events are displayed in a second, and shows the number of events that were not displayed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import field

from btpy.dataclass import dataclass

OF_EACH = 10
"""Events of a probe that are always displayed in a second, independently of other probes."""

_SECOND = 1_000_000_000


@dataclass(slots=True)
class ProbeRateLimit:
    """Limits each probe separately. ``limit``: events of one probe in one second of the target's clock; None: all.
    ``withheld``: the number of events that were not displayed, by probe."""

    limit: int | None
    name: Callable[[int], str]
    withheld: Counter[int] = field(default_factory=Counter)
    _second: dict[int, int] = field(default_factory=dict)
    _counts: Counter[int] = field(default_factory=Counter)
    _notes: list[str] = field(default_factory=list)

    def passes(self, probe: int, nanos: int) -> bool:
        """Whether an event of that time is displayed. The first event of a new second adds a note with the number that
        was withheld in the previous second."""
        if self.limit is None:
            return True
        second = nanos // _SECOND
        if second > self._second.get(probe, second - 1):
            self._sum_up(probe)
            self._second[probe] = second
            self._counts[probe] = 0
        self._counts[probe] += 1
        if self._counts[probe] <= self.limit:
            return True
        self.withheld[probe] += 1
        return False

    def take_notes(self) -> list[str]:
        """The notes since the last call, such as ``… +1,204 more of quote``."""
        notes, self._notes = self._notes, []
        return notes

    def close(self) -> list[str]:
        for probe in list(self._counts):
            self._sum_up(probe)
        self._counts.clear()
        return self.take_notes()

    def _sum_up(self, probe: int) -> None:
        excess = self._counts[probe] - (self.limit or 0)
        if self.limit is not None and excess > 0:
            self._notes.append(f"+{excess:,} more of {self.name(probe)}")


@dataclass(slots=True)
class SharedRateLimit:
    """Limits all probes together, but always displays the first events of each probe. Counts the events of one second;
    :meth:`clear` begins the next second."""

    _passed: Counter[int] = field(default_factory=Counter)

    def passes(self, probe: int, limit: int) -> bool:
        """Whether another event of a probe is among the ``limit`` of this second."""
        if self._passed.total() >= limit and self._passed[probe] >= min(limit, OF_EACH):
            return False
        self._passed[probe] += 1
        return True

    def clear(self) -> None:
        self._passed.clear()
