"""The errors of estimates as text: intervals beside values, and notes about skipped hits below a map."""

from __future__ import annotations

from collections.abc import Callable

from btpy.events.aggregates import MapContent, Number
from btpy.events.estimates import CONFIDENCE, Interval, Skips
from btpy.model.maps import MapKind
from btpy.output.quantities import duration, grouped
from btpy.output.style import Style

_OF_LOOKED_AT = (MapKind.VALUE, MapKind.FIRST, MapKind.LAST, MapKind.SAMPLE_OF)
"""Kinds whose values come only from hits that fired, and do not represent other hits."""


def estimate(figure: str, interval: Interval | None, text: Callable[[Number], str], style: Style) -> str:
    """``≈12834 (12001…13700)``: ``figure`` with the interval that holds the true value. ``≥12834``: the figure is a
    lower bound. Without an interval the value is exact.
    """
    if interval is None:
        return figure
    low = None if interval.low is None else text(interval.low)
    high = None if interval.high is None else text(interval.high)
    if low is not None and high is not None:
        return f"{style.about}{figure} ({low}{style.ellipsis}{high})"
    if low is not None:
        return style.at_least + figure if low == figure else f"{style.about}{figure} ({style.at_least}{low})"
    if high is not None:
        return style.at_most + figure if high == figure else f"{style.about}{figure} ({style.at_most}{high})"
    return style.about + figure


def skip_notes(content: MapContent, style: Style) -> list[str]:
    """Notes for the reader of a map: the hits that its values omit or only estimate. Empty if the map is exact."""
    skips = content.skips
    if skips is None:
        return []
    notes = []
    if skips.skipped:
        hits = f"{grouped(skips.skipped)} hit{'' if skips.skipped == 1 else 's'} skipped"
        if content.map.kind in _OF_LOOKED_AT:
            notes.append(f"{hits}: the values represent only the other hits")
        else:
            notes.append(f"{hits}, {one_in(skips)}: values are estimates ({CONFIDENCE:.0%} intervals)")
    if skips.rested_ns:
        meaning = (
            "values represent only the other hits" if content.map.kind in _OF_LOOKED_AT else "values are lower bounds"
        )
        notes.append(f"for {duration(skips.rested_ns)} no hit was recorded, because of the budget: {meaning}")
    return [f"{style.about} {note}" for note in notes]


def one_in(skips: Skips) -> str:
    return f"at least one of {grouped(skips.factor)} was recorded"


def estimated_text(content: MapContent) -> str | None:
    """The weight of samples, as text: ``100``, ``1…64``; None: the values are exact, and no probe samples."""
    if content.map.estimated is not None:
        return content.map.estimated
    return None if content.skips is None or not content.skips.skipped else f"1…{content.skips.factor}"
