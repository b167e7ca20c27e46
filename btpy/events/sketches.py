"""Small summaries of many values: the most frequent, the number of different ones, a few examples.

Like :mod:`btpy.events.aggregates`: each merges with another of its kind. Values are compared as in the agent: 1, 1.0
and true are different.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from typing import Final

from btpy.dataclass import dataclass
from btpy.events.estimates import Weights
from btpy.events.records import Value

REGISTER_BITS: Final = 11
"""DISTINCT has 2**REGISTER_BITS registers (docs/runtime.md)."""

HIGHEST_RANK: Final = 64 - REGISTER_BITS + 1
"""The rank of a value whose hash has only zeros after the number of its register."""
_ERROR: Final = 0.023  # standard error, as a share of the number of different values


@dataclass(frozen=True, slots=True)
class Frequent:
    """A value that was seen at most ``count`` times, and at least ``count - error`` times."""

    value: Value
    count: int
    error: int

    @property
    def least(self) -> int:
        return self.count - self.error


@dataclass(frozen=True, slots=True)
class Top:
    """``topk(x, most)``: ``values``: the most frequent first; more values than the output shows. Any other value was
    seen at most ``unseen`` times of ``n``.
    """

    n: int
    most: int
    unseen: int
    values: tuple[Frequent, ...]
    weights: Weights | None = None

    @property
    def number(self) -> int:
        return self.n

    @property
    def shown(self) -> tuple[Frequent, ...]:
        return self.values[: self.most]

    def merge(self, other: Top) -> Top:
        mine = {_exact(value.value): value for value in self.values}
        other_counters = {_exact(value.value): value for value in other.values}
        merged = []
        for key in {**mine, **other_counters}:
            a, b = mine.get(key), other_counters.get(key)
            count = (self.unseen if a is None else a.count) + (other.unseen if b is None else b.count)
            error = (self.unseen if a is None else a.error) + (other.unseen if b is None else b.error)
            present = a or b
            assert present is not None
            merged.append(Frequent(present.value, count, error))
        return Top(self.n + other.n, self.most, self.unseen + other.unseen, by_frequency(merged))


def by_frequency(values: Iterable[Frequent]) -> tuple[Frequent, ...]:
    """The values, the most frequent first. Counts of equal values are added."""
    by_value: dict[object, Frequent] = {}
    for frequent in values:
        key = _exact(frequent.value)
        before = by_value.get(key)
        if before is not None:
            frequent = Frequent(frequent.value, frequent.count + before.count, frequent.error + before.error)
        by_value[key] = frequent
    return tuple(
        sorted(by_value.values(), key=lambda frequent: (-frequent.count, frequent.error, repr(frequent.value)))
    )


@dataclass(frozen=True, slots=True)
class Distinct:
    """``distinct(x)``: HyperLogLog registers of ``n`` samples."""

    n: int
    registers: bytes
    weights: Weights | None = None

    @property
    def number(self) -> int:
        return self.estimate

    @property
    def estimate(self) -> int:
        """An estimate without a bias. Its standard error is 2.3 %, and smaller while most registers are empty.

        The improved raw estimator of Otmar Ertl (New cardinality estimation algorithms for HyperLogLog sketches, 2017,
        section 4). Converging sums correct the estimate for empty and full registers, so one estimator is valid for all
        ranges. ``docs/runtime.md`` describes the registers.
        """
        registers = len(self.registers)
        counts = [self.registers.count(rank) for rank in range(HIGHEST_RANK)]
        counts.append(registers - sum(counts))
        total = registers * _tau(1 - counts[HIGHEST_RANK] / registers)
        for count in counts[HIGHEST_RANK - 1 : 0 : -1]:
            total = 0.5 * (total + count)
        total += registers * _sigma(counts[0] / registers)
        return math.floor(registers * registers / (2 * math.log(2) * total) + 0.5) if total else (1 << 63) - 1

    @property
    def surely(self) -> int:
        """A lower bound for the number of different values: the estimate minus three standard errors. It is wrong in
        one of a thousand cases.
        """
        return max(0, math.floor(self.estimate * (1 - 3 * _ERROR)))

    def merge(self, other: Distinct) -> Distinct:
        return Distinct(
            self.n + other.n, bytes(max(a, b) for a, b in zip(self.registers, other.registers, strict=True))
        )


def _sigma(share: float) -> float:
    """The correction for empty registers; ``share``: their share."""
    if share == 1:
        return math.inf
    total, weight, last_total = share, 1.0, -1.0
    while total != last_total:
        share *= share
        last_total, total = total, total + share * weight
        weight += weight
    return total


def _tau(share: float) -> float:
    """The correction for full registers; ``share``: the share of registers below the highest rank."""
    if share in (0, 1):
        return 0.0
    total, weight, last_total = 1 - share, 1.0, -1.0
    while total != last_total:
        share = math.sqrt(share)
        weight *= 0.5
        last_total, total = total, total - (1 - share) ** 2 * weight
    return total / 3


@dataclass(frozen=True, slots=True)
class First:
    """``wall_nanos``: the time, ns since 1970."""

    wall_nanos: int
    value: Value
    weights: Weights | None = None

    def merge(self, other: First) -> First:
        return min(self, other, key=lambda value: value.wall_nanos)


@dataclass(frozen=True, slots=True)
class Last:
    wall_nanos: int
    value: Value
    weights: Weights | None = None

    def merge(self, other: Last) -> Last:
        return max(self, other, key=lambda value: value.wall_nanos)


@dataclass(frozen=True, slots=True)
class Examples:
    """``sample_of(x, most)``: each of ``n`` samples had the same probability to be kept."""

    n: int
    most: int
    values: tuple[Value, ...]
    weights: Weights | None = None

    @property
    def number(self) -> int:
        return self.n

    def merge(self, other: Examples) -> Examples:
        """Draws from the values of both objects, weighted by their numbers of samples. Equal inputs have equal
        results."""
        chance = random.Random(f"{self.n} {other.n} {self.values!r} {other.values!r}")
        left, right = list(self.values), list(other.values)
        chance.shuffle(left)
        chance.shuffle(right)
        values: list[Value] = []
        while len(values) < self.most and (left or right):
            weights = (self.n if left else 0, other.n if right else 0)
            values.append(chance.choices((left, right), weights=weights)[0].pop())
        return Examples(self.n + other.n, self.most, tuple(values))


def _exact(value: Value) -> object:
    return type(value), value
