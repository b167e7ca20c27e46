"""The numbers that the looks have measured in a service. This module needs no session."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field

from btpy.dataclass import dataclass
from btpy.errors import ProtocolError
from btpy.events.aggregates import Stats

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Total:
    """``sum`` and ``longest`` in nanoseconds or bytes; 0 for events that were only counted."""

    count: int
    sum: float = 0.0
    longest: float = 0.0

    @property
    def mean(self) -> float:
        return self.sum / self.count if self.count else 0.0

    def __add__(self, other: Total) -> Total:
        return Total(self.count + other.count, self.sum + other.sum, max(self.longest, other.longest))


NOTHING = Total(0)


def figure_of(value: object) -> float:
    """A number of a map; null is 0. Raises ProtocolError for any other value, which a hostile JVM may send."""
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ProtocolError(f"{value!r:.40} instead of a number")
    return float(value)


def total_of(value: Stats | float, scale: float) -> Total:
    """``scale``: the factor for counts and sums. Raises ProtocolError for a value that is not finite."""
    if isinstance(value, Stats):
        count, total, longest = figure_of(value.n), figure_of(value.total), figure_of(value.greatest)
        return Total(round(count * scale), total * scale, longest)
    return Total(round(figure_of(value) * scale))


@dataclass(frozen=True, slots=True)
class Measurements:
    """``seconds``: the time for which the service was measured. ``maps``: the totals by the name of the map and by key.
    ``figures``: the maps with one number. ``libraries``: the libraries of btpy that apply to the JVM.
    """

    seconds: float
    maps: Mapping[str, Mapping[Key, Total]] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)
    libraries: tuple[str, ...] = ()

    def of(self, name: str) -> Mapping[Key, Total]:
        return self.maps.get(name, {})

    def all(self, name: str) -> Total:
        """The total of a map over its keys."""
        return sum(self.of(name).values(), NOTHING)

    def figure(self, name: str) -> float:
        return self.figures.get(name, 0.0)

    def per_second(self, total: Total) -> float:
        return total.count / self.seconds

    def threads(self, total: Total) -> float:
        """The number of threads that were busy on average: the total time, divided by the time of the run."""
        return total.sum / 1e9 / self.seconds
