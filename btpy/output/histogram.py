"""Histograms and charts drawn as bars.

    @lat[SKU-1187]  n=42  p50 24ms  p90 61ms  p99 210ms
     <=33.6ms  ████████████████████▌        22
     <=67.1ms  ████████████▏                13
      <=134ms  ████▋                         5

``hist`` and ``pctl`` have the finest buckets that fit into 12 rows, or a row for each power of two. A row is named by
its upper bound, which belongs to it: ``<=8`` holds 5 to 8. A row that holds only one number is named by this number, so
small numbers can be read exactly. A row of a linear histogram is a bucket, named by its lower bound.
"""

from __future__ import annotations

from collections.abc import Sequence

from btpy.events.aggregates import Bucket, Histogram, LinearHistogram, Number, intervals, percentile_interval
from btpy.model.types import Kind
from btpy.output.quantities import mean, quantity
from btpy.output.ranges import estimate
from btpy.output.style import Style

PERCENTILES = (50.0, 90.0, 99.0)

_BAR = 32  # columns of the longest bar, and its minimum if there is little space
_SHORT_BAR = 4
_EIGHTHS = " ▏▎▍▌▋▊▉"
_ROWS = 12  # the largest number of rows, for buckets finer than powers of two


def headline(histogram: Histogram | LinearHistogram, kind: Kind) -> str:
    """``n=42  p50 24ms  p90 61ms  p99 210ms``: percentiles are exact to the width of a bucket."""
    return "  ".join(figures(histogram, kind, "", percents=PERCENTILES, equals="=", style=Style()))


def figures(
    histogram: Histogram | LinearHistogram,
    kind: Kind,
    unit: str,
    *,
    percents: Sequence[float],
    equals: str,
    style: Style,
) -> list[str]:
    bounds = intervals(histogram)
    count = estimate(str(histogram.n), bounds.get("count"), str, style)
    fields = [f"n{'' if bounds else equals}{count}"]

    def text(number: Number) -> str:
        return _rounded(histogram, number, kind, unit)

    def of_mean(number: Number) -> str:
        return mean(number, kind, unit)

    for percent in percents:
        at = _percentile(histogram, percent)
        if at is not None:
            fields.append(f"p{percent:g} {estimate(text(at), percentile_interval(histogram, percent), text, style)}")
    if histogram.greatest is not None:
        greatest = quantity(histogram.greatest, kind, unit)
        fields.append(f"max {estimate(greatest, bounds.get('max'), lambda number: greatest, style)}")
        fields.append(f"avg {estimate(of_mean(histogram.mean), bounds.get('average'), of_mean, style)}")
    return fields


def _percentile(histogram: Histogram | LinearHistogram, percent: float) -> Number | None:
    at = histogram.percentile(percent)
    return at.estimate if at is not None and not isinstance(at, int | float) else at


def _rounded(histogram: Histogram | LinearHistogram, number: Number, kind: Kind, unit: str) -> str:
    return mean(number, kind, unit) if isinstance(histogram, LinearHistogram) else quantity(number, kind, unit)


def bars(histogram: Histogram | LinearHistogram, kind: Kind, style: Style, unit: str = "") -> list[str]:
    """The rows below the headline; none without samples."""
    histogram_rows = rows(histogram, kind, unit)
    if not histogram_rows:
        return []
    most = max(count for _, count in histogram_rows)
    labels = max(len(label) for label, _ in histogram_rows)
    digits = len(str(most))
    columns = longest_bar(style, labels + digits + 6)
    return [
        f"  {label:>{labels}}  {padded_bar(count, most, style, columns)}  {count:>{digits}}"
        for label, count in histogram_rows
    ]


def rows(histogram: Histogram | LinearHistogram, kind: Kind, unit: str = "") -> list[tuple[str, int]]:
    """The label and the samples of each row."""
    if isinstance(histogram, LinearHistogram):
        return _linear(histogram, kind, unit)
    for precision in range(histogram.layout.precision - 1, -1, -1):
        if not histogram.counts or histogram.counts[-1][0] - histogram.counts[0][0] < _ROWS:
            break
        histogram = histogram.coarser(precision)
    return [(_label(bucket, kind, unit), bucket.count) for bucket in histogram.buckets()]


def _label(bucket: Bucket, kind: Kind, unit: str) -> str:
    if bucket.low == bucket.high:
        return quantity(bucket.low, kind, unit)
    if bucket.high > 0:
        return f"<={quantity(bucket.high, kind, unit)}"
    return f">={quantity(bucket.low, kind, unit)}"


def _linear(histogram: LinearHistogram, kind: Kind, unit: str) -> list[tuple[str, int]]:
    rows = []
    for bucket in histogram.buckets():
        if bucket.low is None:
            label = "<" + mean(bucket.high or 0, kind, unit)
        elif bucket.high is None:
            label = ">=" + mean(bucket.low, kind, unit)
        else:
            label = mean(bucket.low, kind, unit)
        rows.append((label, bucket.count))
    return rows


def longest_bar(style: Style, beside: int) -> int:
    """The columns of the longest bar, if other text needs ``beside`` columns of the line."""
    room = style.width - beside
    return max(_SHORT_BAR, room if style.fills else min(_BAR, room))


def padded_bar(value: Number, most: Number, style: Style, columns: int) -> str:
    """A bar, filled with blanks to the width of the longest bar."""
    drawn = _bar(value, most, style, columns)
    return f"{style.bar(drawn)}{' ' * (columns - len(drawn))}"


def _bar(value: Number, most: Number, style: Style, columns: int) -> str:
    """The length in eighths of a column, rounded to a whole number, but at least one for a value above 0."""
    if not most > 0 or not value > 0:
        return ""
    share = min(1.0, value / most)
    if not style.unicode:
        return "#" * max(1, int(share * columns + 0.5))
    full, rest = divmod(max(1, int(share * columns * 8 + 0.5)), 8)
    return "█" * full + (_EIGHTHS[rest] if rest else "")
