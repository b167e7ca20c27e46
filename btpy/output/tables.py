"""The rows of a map for output: sorted, cut and scaled by the options of ``print(@m, …)``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from btpy.dataclass import dataclass
from btpy.events.aggregates import (
    Aggregate,
    Count,
    Histogram,
    Key,
    LinearHistogram,
    MapContent,
    Number,
    Stats,
    Total,
    measure,
    ranked,
)
from btpy.events.estimates import Weights
from btpy.events.records import CutString, Value
from btpy.model.maps import MapKind
from btpy.model.templates import Template


@dataclass(frozen=True, slots=True)
class TableOptions:
    """Options of ``print(@m, top=, by=, desc=, unit=, scale=, min=)``. ``descending``: None means the default of the
    map."""

    top: int | None = None
    by: str = ""
    descending: bool | None = None
    unit: str = ""
    scale: Number = 1
    least: Number | None = None

    @staticmethod
    def of(template: Template | None) -> TableOptions:
        """The options from a MAP template; None: the defaults."""
        options = dict(template.options) if template is not None else {}
        top, by, unit = options.get("top"), options.get("by", ""), options.get("unit", "")
        descending, scale, least = options.get("desc"), options.get("scale", 1), options.get("min")
        return TableOptions(
            top=top if isinstance(top, int) else None,
            by=by if isinstance(by, str) else "",
            descending=descending if isinstance(descending, bool) else None,
            unit=unit if isinstance(unit, str) else "",
            scale=scale if isinstance(scale, int | float) else 1,
            least=least if isinstance(least, int | float) else None,
        )


@dataclass(frozen=True, slots=True)
class Table:
    """``hidden``: entries that ``top`` or ``min`` left out."""

    rows: tuple[tuple[Key, Aggregate | Value], ...]
    hidden: int


@dataclass(frozen=True, slots=True)
class Joined:
    """Several maps by key. ``rows``: for each key its value in each map, None if the map lacks the key."""

    rows: tuple[tuple[Key, tuple[Aggregate | Value, ...]], ...]
    hidden: int


class KeyTexts:
    """The way to show the keys of a map so that a text differs from a number (``"1"`` and ``1``): texts are quoted if
    other keys of the map have a number or a boolean in this component.
    """

    def __init__(self, keys: Iterable[Key]) -> None:
        texts: set[int] = set()
        numbers: set[int] = set()
        for key in keys:
            for at, component in enumerate(key):
                if isinstance(component, str | CutString):
                    texts.add(at)
                elif isinstance(component, int | float):
                    numbers.add(at)
        self._mixed = texts & numbers

    def of(self, key: Key) -> Key:
        if not self._mixed:
            return key
        return tuple(_quoted(component) if at in self._mixed else component for at, component in enumerate(key))


def _quoted(component: Value) -> Value:
    if isinstance(component, str):
        return f'"{component}"'
    if isinstance(component, CutString):
        return replace(component, text=f'"{component.text}"')
    return component


def joined(contents: Sequence[MapContent], options: TableOptions) -> Joined:
    """``table(@a, @b, …)``. ``by``: ``key``, a map, or a map and a measure (``lat.p99``); by default the first map."""
    exact: dict[object, tuple[Key, list[Aggregate | Value]]] = {}
    for at, content in enumerate(contents):
        for key, value in content.entries:
            identity = tuple((type(component), component) for component in key)
            exact.setdefault(identity, (key, [None] * len(contents)))[1][at] = value
    names = [content.map.name for content in contents]
    column = next((at for at, name in enumerate(names) if f"{options.by}.".startswith(f"{name}.")), 0)
    by = options.by.removeprefix(names[column]).removeprefix(".")
    entries = [(key, values[column]) for key, values in exact.values()]
    order = ranked(
        replace(contents[column], entries=tuple(entries)),
        by="key" if options.by == "key" else by,
        descending=options.descending if options.descending is not None else options.by != "key",
    )
    rows = [exact[tuple((type(component), component) for component in key)] for key, _ in order]
    if options.least is not None:
        least = options.least
        rows = [row for row in rows if measure(row[1][column], by) >= least]
    first_rows = rows if options.top is None else rows[: options.top]
    texts = KeyTexts(key for key, _ in exact.values())
    rows_ = tuple((texts.of(key), tuple(values)) for key, values in first_rows)
    return Joined(rows_, len(exact) - len(first_rows))


def table(content: MapContent, options: TableOptions) -> Table:
    """Sorted by value, greatest first, if the values are numbers; otherwise by key, least first."""
    by, descending = options.by, options.descending
    if not by and content.map.kind is MapKind.VALUE and not all_numbers(content):
        by = "key"
    if descending is None:
        descending = by != "key" and content.map.kind is not MapKind.MIN
    rows = ranked(content, top=options.top, by=by, descending=descending, least=options.least)
    if options.scale != 1:
        rows = [(key, _scaled(value, options.scale)) for key, value in rows]
    texts = KeyTexts(key for key, _ in content.entries)
    text_rows = tuple((texts.of(key), value) for key, value in rows)
    return Table(text_rows, len(content.entries) - len(rows))


def _scaled_weights(weights: Weights, factor: Number) -> Weights:
    skips = weights.skips
    return Weights(
        replace(
            skips,
            skipped=math.ceil(skips.skipped * factor),
            factor=math.ceil(skips.factor * factor),
            pending=math.ceil(skips.pending * factor),
        ),
        math.floor(weights.samples * factor),
        round(weights.hits * factor),
        *(number * factor * factor for number in (weights.spread, weights.first, weights.second)),
    )


def all_numbers(content: MapContent) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for _, value in content.entries)


def _scaled(value: Aggregate | Value, factor: Number) -> Aggregate | Value:
    """The value divided by ``factor``. Averages and extremes do not change."""
    if isinstance(value, Aggregate) and value.weights is not None:
        value = replace(value, weights=_scaled_weights(value.weights, factor))
    if isinstance(value, Total | Stats | Histogram | LinearHistogram):
        value = replace(value, integral=round(value.integral * factor), floating=value.floating * factor)
    if isinstance(value, Count | Total | Stats):
        return replace(value, n=round(value.n * factor))
    if isinstance(value, LinearHistogram):
        return replace(value, counts=tuple(round(count * factor) for count in value.counts))
    if isinstance(value, Histogram):
        return replace(value, counts=tuple((index, round(count * factor)) for index, count in value.counts))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value * factor
    return value
