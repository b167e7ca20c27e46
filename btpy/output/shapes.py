"""The output of a run as tables: for each shape a name, columns, and the conversion of records and maps to rows.

A shape is one map, everything that scripts print, or the events with one name and the same fields. Formats that have
columns (``csv``, ``tsv``, ``parquet``, ``arrow``) write records of one shape into a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from btpy.dataclass import dataclass
from btpy.errors import UsageError
from btpy.events.aggregates import (
    Aggregate,
    Average,
    Greatest,
    Histogram,
    Least,
    LinearHistogram,
    MapContent,
    Number,
    Stats,
    TimeSeries,
    intervals,
    part_intervals,
)
from btpy.events.records import Record, Value
from btpy.events.sketches import Distinct, Examples, First, Last, Top
from btpy.model.maps import Map, MapKind, Percents
from btpy.model.outline import Outline
from btpy.model.templates import SiteFact, Slot, Template, TemplateKind
from btpy.output.histogram import PERCENTILES
from btpy.output.style import Style
from btpy.output.tables import TableOptions, table
from btpy.output.templates import printed
from btpy.output.values import ValueText, timestamp
from btpy.output.writer import Arity, Clock, Context, pairs, site_fact, slot_value

Row = tuple[Value, ...]

PRINTED = "print"
"""Name of the shape for printed lines."""

_LISTED = 6
_OF_EVENT = ("ts", "probe", "tid", "thread")
ESTIMATES = ("skipped", "low", "high")
"""The last columns of each map. They are null where the map is exact."""


@dataclass(frozen=True, slots=True)
class Shape:
    """``names``: the values of --only that select the shape: its own name, and the names of its probes."""

    name: str
    columns: tuple[str, ...]
    names: frozenset[str]

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(column for column in self.columns if column not in _OF_EVENT)})"


def shapes(outline: Outline) -> list[Shape]:
    """All shapes of a program."""
    names_of: dict[tuple[str, tuple[str, ...]], set[str]] = {}
    for template in outline.templates:
        shape = shape_of(template)
        if shape is not None:
            names_of.setdefault(shape, {shape[0]}).add(outline.probes[template.probe].name)
    for map_ in outline.maps:
        names_of[map_.title, columns_of_map(map_, timed=is_timed(map_, outline))] = {map_.title}
    return [Shape(name, columns, frozenset(names)) for (name, columns), names in names_of.items()]


def chosen(outline: Outline, only: frozenset[str], format_: str) -> Shape:
    """The shape for a single file: the only shape, else the only shape of events, else the only shape of a map.

    Raises UsageError if the user has to choose.
    """
    all_shapes = shapes(outline)
    named_shapes = [shape for shape in all_shapes if shape.names & only] if only else all_shapes
    events = [shape for shape in named_shapes if not shape.name.startswith("@") and shape.name != PRINTED]
    maps = [shape for shape in named_shapes if shape.name.startswith("@")]
    for candidates in (named_shapes, events, [] if events else maps):
        if len(candidates) == 1:
            return candidates[0]
    if not all_shapes:
        remedy = 'emit("name", key=value, …), or fill a map'
        raise UsageError(f"the script prints nothing that {format_} has columns for", help=[remedy])
    first = next(iter(named_shapes), all_shapes[0]).name
    if not named_shapes:
        raise UsageError(
            f"{format_} has no columns for {', '.join(sorted(only))}", help=[f"for example:  --only {first}"]
        )
    raise UsageError(
        f"{format_} has one set of columns, and the script needs {len(named_shapes)}: {_listed(named_shapes)}",
        help=[f"choose one:  --only {first}", "or write a file for each:  -o DIRECTORY/"],
    )


def left_out(outline: Outline, only: frozenset[str], format_: str) -> tuple[str, list[str]]:
    """The name of the shape in a single file, and the selected shapes that are not in it, by names for --only.

    Raises UsageError.
    """
    shape = chosen(outline, only, format_)
    others = [other for other in shapes(outline) if other != shape and (not only or other.names & only)]
    names = [sorted(other.names - {PRINTED}) if other.name == PRINTED else [other.name] for other in others]
    return shape.name, sorted({name for group in names for name in group})


def _listed(shapes: list[Shape]) -> str:
    texts = [str(shape) for shape in shapes[:_LISTED]]
    return "; ".join([*texts, "…"] if len(shapes) > _LISTED else texts)


def shape_of(template: Template) -> tuple[str, tuple[str, ...]] | None:
    """Name and columns of the table for the records of a template; None: of nothing."""
    if template.kind is TemplateKind.PRINT:
        return PRINTED, (*_OF_EVENT, "text")
    if template.kind is not TemplateKind.EMIT:
        return None
    labels = [part.label or "value" for part in template.parts if isinstance(part, Slot)]
    return template.name, different((*_OF_EVENT, *labels))


def is_timed(map_: Map, outline: Outline) -> bool:
    """Whether the script itself shows the map, so that the map has rows for several times."""
    return any(map_.id in template.maps for template in outline.templates)


def columns_of_map(map_: Map, *, timed: bool) -> tuple[str, ...]:
    keys = ("key",) if map_.keys == 1 else tuple(f"key{number}" for number in range(1, map_.keys + 1))
    kind = map_.kind
    values: tuple[str, ...]
    if kind is MapKind.STATS:
        values = ("count", "average", "total", "min", "max")
    elif kind in (MapKind.HIST, MapKind.PCTL, MapKind.LHIST):
        values = ("count", "average", "min", "max", *(f"p{percent:g}" for percent in _percents(map_)))
    elif kind is MapKind.TSERIES:
        values = ("start", "value")
    elif kind is MapKind.TOPK:
        values = ("value", "count", "error")
    elif kind is MapKind.SAMPLE_OF:
        values = ("value",)
    else:
        values = (kind.value,)
    return different((*(("ts",) if timed else ()), *keys, *values, *ESTIMATES))


def _percents(map_: Map) -> tuple[float, ...]:
    return map_.parameters.of if isinstance(map_.parameters, Percents) else PERCENTILES


def different(columns: Iterable[str]) -> tuple[str, ...]:
    """If an earlier column has the same name, the name gets a number: ``tid_2``."""
    names: list[str] = []
    for column in columns:
        name, number = column, 1
        while name in names:
            number += 1
            name = f"{column}_{number}"
        names.append(name)
    return tuple(names)


def file_name(name: str, others: Iterable[tuple[str, tuple[str, ...]]]) -> str:
    """A unique file name for a shape, for any names of events."""
    stem = re.sub(r"[^\w.@-]", "_", name).lstrip(".") or "event"
    number = sum(other == name for other, _ in others)
    return f"{stem}-{number + 1}" if number else stem


def event_row(template: Template, context: Context) -> Callable[[Record], Row]:
    """A function that turns a record of EMIT or PRINT into a row. Times stay unchanged: ns since 1970."""
    head = _head(context)
    if template.kind is TemplateKind.PRINT:
        text = printed(template, context, ValueText(context.stacks, Style()))
        return lambda record: (*head(record), text(record))
    values = event_values(template, context)
    return lambda record: (*head(record), *values(record))


def event_values(template: Template, context: Context) -> Callable[[Record], Row]:
    """A function that returns the values of a record of EMIT, in the order of the slots. That function raises
    ProtocolError."""
    getters = [slot_getter(part, context) for part in template.parts if isinstance(part, Slot)]
    arity = Arity.of(template)

    def values(record: Record) -> Row:
        arity.check(record)
        return tuple([get(record) for get in getters])

    return values


def _head(context: Context) -> Callable[[Record], Row]:
    wall = context.clock.wall
    return lambda record: (
        wall(record.nanos),
        site_fact(context, record, SiteFact.PROBE),
        record.tid,
        record.thread,
    )


def slot_getter(slot: Slot, context: Context) -> Callable[[Record], Value]:
    """A function that returns the value of a slot of EMIT. That function raises ProtocolError."""
    where = slot.value
    if isinstance(where, SiteFact):
        return lambda record: site_fact(context, record, where)
    values = ValueText(context.stacks, Style())
    if slot.named:
        redact = context.outline.redact
        return lambda record: ", ".join(f"{name}={values.inner(value)}" for name, value in pairs(record, slot, redact))
    if slot.rest:
        return lambda record: ", ".join(values.inner(value) for value in record.values[where:])
    if slot.time:
        getter = values.slot(slot)
        return lambda record: getter(record.values[where])
    return lambda record: slot_value(context, record, slot)


def map_rows(content: MapContent, template: Template | None, time: int | None, *, timed: bool) -> Iterator[Row]:
    """``time``: the time when the map was shown, ns since 1970; None at the end of the run.

    The last three columns are null if the map is exact. They are the number of skipped hits, and the interval for the
    first number of the row. A map that is empty because all hits were skipped is a row with only these columns.
    """
    skipped = None if content.skips is None else content.skips.skipped
    first = (time,) if timed else ()
    if not content.entries and content.skips is not None:
        columns = len(columns_of_map(content.map, timed=False)) - len(ESTIMATES)
        yield (*first, *[None] * columns, skipped, None, None)
    for key, value in table(content, TableOptions.of(template)).rows:
        for cells, (low, high) in zip(_cells(content.map, value), _bounds(value), strict=False):
            yield (*first, *key, *cells, skipped, low, high)


def _bounds(value: Aggregate | Value) -> Iterator[tuple[Number | None, Number | None]]:
    """For each row of a value: the interval for the number of hits, or for the value if it is one number."""
    if isinstance(value, TimeSeries | Top) and value.weights is not None:
        yield from ((interval.low, interval.high) for interval in part_intervals(value))
    elif not isinstance(value, TimeSeries | Top | Examples):
        bounds = intervals(value)
        yield from ((bounds[name].low, bounds[name].high) for name in ("", "count") if name in bounds)
    while True:
        yield None, None


def _cells(map_: Map, value: Aggregate | Value) -> Iterator[Row]:
    if isinstance(value, Stats):
        yield value.n, _number(value.mean, value.n), value.total, value.least, value.greatest
    elif isinstance(value, Histogram | LinearHistogram):
        figures = [value.percentile(percent) for percent in _percents(map_)]
        percentiles = [
            percentile if percentile is None or isinstance(percentile, int | float) else percentile.estimate
            for percentile in figures
        ]
        yield (value.n, _number(value.mean, value.n), value.least, value.greatest, *percentiles)
    elif isinstance(value, TimeSeries):
        first = value.epoch - value.series.windows + 1
        for epoch, window in enumerate(value.values(), first):
            yield timestamp(epoch * value.series.interval), window
    elif isinstance(value, Top):
        for frequent in value.shown:
            yield frequent.value, frequent.count, frequent.error
    elif isinstance(value, Examples):
        for each_value in value.values:
            yield (each_value,)
    elif isinstance(value, Distinct):
        yield (value.estimate,)
    elif isinstance(value, First | Last | Least | Greatest):
        yield (value.value,)
    elif isinstance(value, Average):
        yield (_number(value.number, value.n),)
    elif isinstance(value, Aggregate):
        yield (value.number,)
    else:
        yield (value,)


def _number(number: Number, samples: int) -> Number | None:
    return number if samples else None


def wall(clock: Clock, nanos: int | None) -> int | None:
    """ns since 1970; None stays None."""
    return None if nanos is None else clock.wall(nanos)
