"""The error of values in maps, compared with the values that all hits together would give.

With sampling (``@Sample``) or a restrained probe, some hits fire and represent all hits. The hits that do not fire are
*skipped*. A sample of a hit that fires counts ``weight`` times, so that sums of weights are unbiased estimates. The
agent also sends :class:`Weights`, from which the error of such a sum can be estimated: if hits fired independently of
each other, its variance would be the expectation of ``Σ weight · (weight − 1) · sample²``. The agent chooses one hit of
each block of hits, which makes the error smaller than this variance says, never larger.

Intervals contain the true value with the probability :data:`CONFIDENCE`. Counts of few samples follow Poisson's
distribution, whose quantiles are approximated as Wilson and Hilferty (1931) do.
"""

from __future__ import annotations

import math
from typing import Final

from btpy.dataclass import dataclass

CONFIDENCE: Final = 0.99
_Z: Final = 2.5758  # the 99.5 % quantile of the normal distribution
_FEW: Final = 5  # the minimum number of samples for an estimate of the spread

Number = int | float


@dataclass(frozen=True, slots=True)
class Interval:
    """None: no bound on this side."""

    low: Number | None
    high: Number | None


@dataclass(frozen=True, slots=True)
class Skips:
    """Hits that the probes of a map have skipped since its last flush.

    ``factor``: the largest number of hits that one firing represents. ``pending``: hits that no weight represents yet.
    ``rested_ns``: the time in which the budget disabled the probe; the number of hits in that time is unknown.
    """

    skipped: int
    factor: int
    pending: int = 0
    rested_ns: int = 0

    def merge(self, other: Skips) -> Skips:
        return Skips(
            self.skipped + other.skipped,
            max(self.factor, other.factor),
            self.pending + other.pending,
            max(self.rested_ns, other.rested_ns),
        )


@dataclass(frozen=True, slots=True)
class Weights:
    """Figures about the weighted samples of one value: their number and the sum of their weights; and three sums over
    ``w = weight · (weight − 1)``: of ``w``, of ``w · sample`` and of ``w · sample²``. ``skips``: the skipped hits of
    the whole map.
    """

    skips: Skips
    samples: int = 0
    hits: int = 0
    spread: float = 0.0
    first: float = 0.0
    second: float = 0.0

    def merge(self, other: Weights) -> Weights:
        return Weights(
            self.skips.merge(other.skips),
            self.samples + other.samples,
            self.hits + other.hits,
            self.spread + other.spread,
            self.first + other.first,
            self.second + other.second,
        )


def joined_skips(a: Skips | None, b: Skips | None) -> Skips | None:
    return a.merge(b) if a is not None and b is not None else a or b


def joined_weights(a: Weights | None, b: Weights | None) -> Weights | None:
    return a.merge(b) if a is not None and b is not None else a or b


def of_count(n: int, weights: Weights) -> Interval:
    """The interval for the number of hits, whose estimate is ``n``."""
    skips = weights.skips
    exact = max(0, n - weights.hits)
    low = exact + max(weights.samples, math.floor(_quantile(weights.hits, weights.spread, -_Z)))
    if skips.rested_ns:
        return Interval(min(low, n), None)
    unseen = skips.factor if skips.skipped else 0  # as if one more hit had fired
    high = exact + math.ceil(_quantile(weights.hits + unseen, weights.spread + unseen * (unseen - 1), _Z))
    return Interval(min(low, n), max(n, high + skips.pending))


def of_part(count: int, n: int, weights: Weights) -> Interval:
    """The interval for ``count`` of the ``n`` hits: their weights are not stored separately."""
    hits = round(count * weights.hits / n) if n else 0
    factor = max(1, weights.skips.factor)
    return of_count(count, Weights(weights.skips, math.ceil(hits / factor), hits, hits * (factor - 1.0)))


def of_sum(total: Number, n: int, weights: Weights) -> Interval:
    """The sum of all samples, whose estimate is ``total``. Its error is the error of the number of hits, times the root
    mean square of a sample. There is no lower bound for samples below 0 while a probe rested. If there are few samples,
    the size of the skipped samples is unknown, so there is no bound.
    """
    if weights.skips.skipped and weights.samples < _FEW:
        return Interval(None, None)
    return _times(total, n, of_count(n, weights), size(total, n, weights))


def size(total: Number, n: int, weights: Weights) -> float:
    """The root mean square of the samples that represent other samples, or of all samples if there are none."""
    if weights.spread > 0:
        return math.sqrt(max(0.0, weights.second / weights.spread))
    return abs(total / n) if n else 0.0


def _times(total: Number, n: int, count: Interval, size: float) -> Interval:
    assert count.low is not None
    low = total - size * (n - count.low)
    high = None if count.high is None else total + size * (count.high - n)
    return Interval(
        math.floor(low) if isinstance(total, int) and math.isfinite(low) else low,
        high if high is None or not isinstance(total, int) or not math.isfinite(high) else math.ceil(high),
    )


def of_series(value: Number, count: int, n: int, weights: Weights) -> Interval:
    """The interval for the sum of one window of a series: ``count`` of the ``n`` hits are in the window."""
    if weights.skips.skipped and weights.samples * count < _FEW * n:
        return Interval(None, None)
    return _times(value, count, of_part(count, n, weights), abs(value / count) if count else 0.0)


def of_mean(mean: float, n: int, weights: Weights) -> Interval:
    """The interval for the mean of all samples. It has no bounds if there are too few samples to estimate their
    variance, or if a probe rested.
    """
    if weights.samples < _FEW or not n or weights.skips.rested_ns:
        return Interval(None, None)
    variance = max(0.0, weights.second - 2 * mean * weights.first + mean * mean * weights.spread)
    degrees = weights.samples - 1
    student = _Z * (1 + (_Z**2 + 1) / (4 * degrees) + (5 * _Z**4 + 16 * _Z**2 + 3) / (96 * degrees**2))
    half = student * math.sqrt(variance) / n
    return Interval(mean - half, mean + half)


def of_rank(percent: float, n: int, weights: Weights) -> tuple[float, float]:
    """The range of sample percentiles that contains the percentile of all hits. Values below 0 and above 100 mean no
    bound.
    """
    if not n or weights.skips.rested_ns:
        return -1.0, 101.0
    share = percent / 100
    squares = weights.spread + n
    unseen = float(weights.skips.factor) ** 2 if weights.skips.skipped else 0.0
    half = 100 * _Z * math.sqrt(share * (1 - share) * (squares + unseen)) / n
    return percent - half, percent + half


def _quantile(hits: float, spread: float, z: float) -> float:
    """A quantile of the number of hits that samples represent. ``hits`` is the estimate of this number, and each sample
    has the weight ``1 + spread / hits``.
    """
    if hits <= 0:
        return 0.0
    samples = hits / (spread / hits + 1)
    return hits * max(0.0, 1 - 1 / (9 * samples) + z / (3 * math.sqrt(samples))) ** 3
