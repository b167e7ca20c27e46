"""How far a value of a map may be from its true value, which all hits together would give.

Sampling (``@Sample``) and the budget let some hits fire for all of them. The hits that do not fire are *skipped*. A
sample of a hit that fires counts ``weight`` times, so that sums of weights are unbiased estimates. What the agent
sends beside the value (:class:`Weights`) is enough to estimate the error of such a sum: if hits fired independently of
each other, its variance would be the expectation of ``Σ weight · (weight − 1) · sample²``. The agent chooses one hit of
each block of hits, which makes the error smaller than that, never larger.

Intervals hold the true value with :data:`CONFIDENCE`. Counts of few samples follow Poisson's distribution, whose
quantiles are approximated as Wilson and Hilferty (1931) do.
"""

from __future__ import annotations

import math

from btpy.frozen import dataclass

CONFIDENCE = 0.99
_Z = 2.5758  # the quantile of the normal distribution that leaves half of a hundredth
_FEW = 5  # of fewer samples no spread is estimated

Number = int | float


@dataclass(frozen=True, slots=True)
class Interval:
    """None: there is no bound on this side."""

    low: Number | None
    high: Number | None


@dataclass(frozen=True, slots=True)
class Skips:
    """Hits that the probes of a map did not look at since it was flushed last.

    ``factor``: for how many hits one that fired stands at most. ``pending``: hits that no weight stands for.
    ``rested_ns``: how long the budget had a probe disabled; the number of hits in that time is unknown.
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
    """Of the samples of one value that stand for others: how many, the sum of their weights, and the sums of
    ``weight · (weight − 1)`` times 1, the sample and its square. ``skips``: those of the whole map."""

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
    """How many hits there were, of which ``n`` is the estimate."""
    skips = weights.skips
    exact = max(0, n - weights.hits)
    low = exact + max(weights.samples, math.floor(_quantile(weights.hits, weights.spread, -_Z)))
    if skips.rested_ns:
        return Interval(min(low, n), None)
    unseen = skips.factor if skips.skipped else 0  # as if one more had come
    high = exact + math.ceil(_quantile(weights.hits + unseen, weights.spread + unseen * (unseen - 1), _Z))
    return Interval(min(low, n), max(n, high + skips.pending))


def of_part(count: int, n: int, weights: Weights) -> Interval:
    """The same of some of the ``n`` hits, of which the weights are not kept apart."""
    hits = round(count * weights.hits / n) if n else 0
    factor = max(1, weights.skips.factor)
    return of_count(count, Weights(weights.skips, math.ceil(hits / factor), hits, hits * (factor - 1.0)))


def of_sum(total: Number, n: int, weights: Weights) -> Interval:
    """The sum of all samples, whose estimate is ``total``: as far off as the number of hits is, times the root mean
    square of a sample. While a probe rested, samples below 0 would have made it less. Few samples do not tell how large
    the others are: then there is no bound."""
    if weights.skips.skipped and weights.samples < _FEW:
        return Interval(None, None)
    return _times(total, n, of_count(n, weights), size(total, n, weights))


def size(total: Number, n: int, weights: Weights) -> float:
    """The root mean square of the samples that stand for others; of all, where there are none of these."""
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
    """A sum of one window of a series: ``count`` of the ``n`` hits are in the window."""
    if weights.skips.skipped and weights.samples * count < _FEW * n:
        return Interval(None, None)
    return _times(value, count, of_part(count, n, weights), abs(value / count) if count else 0.0)


def of_mean(mean: float, n: int, weights: Weights) -> Interval:
    """The mean of all samples. Without bounds where the samples are too few to tell how much they vary, and where a
    probe rested."""
    if weights.samples < _FEW or not n or weights.skips.rested_ns:
        return Interval(None, None)
    variance = max(0.0, weights.second - 2 * mean * weights.first + mean * mean * weights.spread)
    degrees = weights.samples - 1
    student = _Z * (1 + (_Z**2 + 1) / (4 * degrees) + (5 * _Z**4 + 16 * _Z**2 + 3) / (96 * degrees**2))
    half = student * math.sqrt(variance) / n
    return Interval(mean - half, mean + half)


def of_rank(percent: float, n: int, weights: Weights) -> tuple[float, float]:
    """Between which percentiles of the samples the percentile of all hits lies; below 0 and above 100: no bound."""
    if not n or weights.skips.rested_ns:
        return -1.0, 101.0
    share = percent / 100
    squares = weights.spread + n
    unseen = float(weights.skips.factor) ** 2 if weights.skips.skipped else 0.0
    half = 100 * _Z * math.sqrt(share * (1 - share) * (squares + unseen)) / n
    return percent - half, percent + half


def _quantile(hits: float, spread: float, z: float) -> float:
    """Of the number of hits that samples stand for: ``hits`` of them, in samples of weight ``1 + spread / hits``."""
    if hits <= 0:
        return 0.0
    samples = hits / (spread / hits + 1)
    return hits * max(0.0, 1 - 1 / (9 * samples) + z / (3 * math.sqrt(samples))) ** 3
