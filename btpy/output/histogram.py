"""Histograms drawn as bars.

    @lat[SKU-1187]  n=42  p50 24ms  p90 61ms  p99 210ms
     16.8ms  ████████████████████▌        22
     33.6ms  ████████████▏                13
     67.1ms  ████▋                         5

A row is a power of two, named by its lower bound; a distribution narrower than that shows the finer buckets it has.
"""

from __future__ import annotations

from btpy.events.aggregates import Bucket, Histogram
from btpy.lang.types import Kind
from btpy.output.quantities import mean, quantity
from btpy.output.style import Style

PERCENTILES = (50.0, 90.0, 99.0)

_BAR = 32  # columns of the longest bar
_EIGHTHS = " ▏▎▍▌▋▊▉"
_NARROW = 3  # powers of two up to which the finer buckets are shown


def headline(histogram: Histogram, kind: Kind, unit: str = "") -> str:
    """``n=42  p50 24ms  p90 61ms  p99 210ms``: percentiles are good to ``histogram.relative_error``."""
    fields = [f"n={histogram.n}"]
    for percent in PERCENTILES:
        at = histogram.percentile(percent)
        if at is not None:
            fields.append(f"p{percent:g} {quantity(at.estimate, kind, unit)}")
    if histogram.greatest is not None:
        fields.append(f"max {quantity(histogram.greatest, kind, unit)}")
        fields.append(f"avg {mean(histogram.mean, kind, unit)}")
    return "  ".join(fields)


def bars(histogram: Histogram, kind: Kind, style: Style, unit: str = "") -> list[str]:
    """The rows below the headline; none without samples."""
    buckets = histogram.buckets(0)
    if len(buckets) <= _NARROW:
        buckets = histogram.buckets()
    rows = [(quantity(bucket.low, kind, unit), bucket) for bucket in buckets]
    if histogram.negatives and histogram.least is not None:
        rows.insert(0, ("<0", Bucket(histogram.least, -1, histogram.negatives)))
    if not rows:
        return []
    most = max(bucket.count for _, bucket in rows)
    labels = max(len(label) for label, _ in rows)
    digits = len(str(most))
    lines = []
    for label, bucket in rows:
        bar = _bar(bucket.count, most, style)
        lines.append(f"  {label:>{labels}}  {style.bar(bar)}{' ' * (_BAR - len(bar))}  {bucket.count:>{digits}}")
    return lines


def _bar(count: int, most: int, style: Style) -> str:
    """In eighths of a column, rounded to the nearest, but never nothing for something."""
    if most <= 0 or count <= 0:
        return ""
    if not style.unicode:
        return "#" * max(1, (count * _BAR * 2 + most) // (2 * most))
    eighths = max(1, (count * _BAR * 16 + most) // (2 * most))
    full, rest = divmod(eighths, 8)
    return "█" * full + (_EIGHTHS[rest] if rest else "")
