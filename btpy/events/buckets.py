"""The buckets of ``hist`` and ``pctl``: ranges of numbers that are counted together.

A bucket has a number. Buckets are in the order of their numbers: −n holds the negatives of the numbers in bucket n, and
0 holds zero.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import lru_cache
from math import isqrt
from typing import Final

from btpy.dataclass import dataclass

MAX_SCALE: Final = 6

_LONG_MIN, _LONG_MAX = -(1 << 63), (1 << 63) - 1
_MANTISSA: Final = 52  # the stored bits of the mantissa of a double


@dataclass(frozen=True, slots=True)
class Exponential:
    """The buckets of OpenTelemetry's ExponentialHistogram: ``2**precision`` buckets (the precision is its scale) for
    each power of two. The upper bound of a bucket belongs to it.

    Whole numbers up to ``2**(precision + 1)`` have their own bucket, so that a reader sees them. Each of these own
    buckets is a part of one bucket of OpenTelemetry, so that ``otlp_index`` is exact. Source: OpenTelemetry metrics
    data model 1.50; the agent counts with ``ExponentialBuckets.java``.
    """

    precision: int

    @property
    def last(self) -> int:
        """The number of the bucket of the largest number."""
        return self._alone + (62 - self.precision << self.precision)

    def index(self, number: int) -> int:
        """The bucket of ``number``."""
        if number < 0:
            return -self.index(min(-number, _LONG_MAX))
        if number <= self._alone:
            return number
        return otlp_index(number, self.precision) + self._offset

    def bounds(self, index: int) -> tuple[int, int]:
        """The smallest and the largest number of a bucket."""
        if index < 0:
            low, high = self.bounds(-index)
            return -high if index > -self.last else _LONG_MIN, -low
        if index <= self._alone:
            return index, index
        at = index - self._offset
        return _upper_bound(at - 1, self.precision) + 1, min(_upper_bound(at, self.precision), _LONG_MAX)

    @property
    def _alone(self) -> int:
        """The greatest number with its own bucket."""
        return 2 << self.precision

    @property
    def _offset(self) -> int:
        return self._alone + 1 - (self.precision + 1 << self.precision)


@dataclass(frozen=True, slots=True)
class LogLinear:
    """Buckets of recordings before format 4: ``2**precision`` buckets of equal width for each power of two. The lower
    bound of a bucket belongs to it. Bucket −1 holds all negatives.
    """

    precision: int

    @property
    def last(self) -> int:
        return self.index(_LONG_MAX)

    def index(self, number: int) -> int:
        if number < 0:
            return -1
        if number < 1 << self.precision:
            return number
        shift = number.bit_length() - 1 - self.precision
        return (shift + 1 << self.precision) + (number >> shift & (1 << self.precision) - 1)

    def bounds(self, index: int) -> tuple[int, int]:
        if index < 0:
            return _LONG_MIN, -1
        if index < 1 << self.precision:
            return index, index
        width = 1 << (index >> self.precision) - 1
        low = ((1 << self.precision) + (index & (1 << self.precision) - 1)) * width
        return low, low + width - 1


Buckets = Exponential | LogLinear


def otlp_index(number: int, scale: int) -> int:
    """The index in OTLP of the bucket of ``number`` > 0. At each scale, buckets 2n and 2n + 1 together are bucket n of
    the next lower scale."""
    if number == 1:
        return -1
    exponent = (number - 1).bit_length() - 1  # 2**exponent < number <= 2**(exponent + 1)
    mantissa = -(-(number << _MANTISSA) >> exponent)  # rounded up: it is above a bound only if `number` is, too
    return (exponent << scale) + bisect_left(roots(scale), mantissa)


def otlp_counts(layout: Exponential, counts: Iterable[tuple[int, int]]) -> tuple[dict[int, int], dict[int, int]]:
    """The counts of positive and of negative numbers, by the index in OTLP; ``counts``: all counts, by the number of
    the bucket."""
    positive: dict[int, int] = {}
    negative: dict[int, int] = {}
    for index, count in counts:
        low, high = layout.bounds(index)
        side, magnitude = (positive, high) if index > 0 else (negative, -low)
        if index:
            at = otlp_index(magnitude, layout.precision)
            side[at] = side.get(at, 0) + count
    return positive, negative


def _upper_bound(index: int, scale: int) -> int:
    """The greatest whole number in the bucket with this index >= 0 in OTLP."""
    exponent, within = divmod(index + 1, 1 << scale)
    bound = roots(scale)[within - 1] if within else 1 << _MANTISSA
    return bound << exponent >> _MANTISSA


@lru_cache
def roots(scale: int) -> tuple[int, ...]:
    """The bounds between 1 and 2, ``2**(n / 2**scale)`` for n from 1, as multiples of 2**-52, rounded down."""
    bounds = []
    for n in range(1, 1 << scale):
        bound = 1 << (_MANTISSA << scale) + n
        for _ in range(scale):
            bound = isqrt(bound)
        bounds.append(bound)
    return tuple(bounds)
