"""Records and maps as rows of values, with the names and the types of their fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from btpy.events.aggregates import MapContent
from btpy.events.records import Record, Value
from btpy.model.maps import Map, MapKind, SeriesOperator
from btpy.model.maps import Series as SeriesParameters
from btpy.model.templates import SiteFact, Slot, Template, TemplateKind
from btpy.model.types import Kind
from btpy.output.jfr.types import IMPLICIT_NAMES, event_name, identifier, map_name, own_name
from btpy.output.shapes import ESTIMATES, columns_of_map, different, map_rows, slot_getter
from btpy.output.style import Style
from btpy.output.templates import is_carried, printed
from btpy.output.values import ValueText
from btpy.output.writer import Arity, Context, site_fact

_WITH_UNIT = (Kind.DURATION, Kind.BYTES)
_WITHOUT_UNIT = ("count", "distinct", "error", "start", *ESTIMATES)  # columns of maps


class Column(NamedTuple):
    """``kind``: the type, as far as the script determines it; with ``instant`` the value is ns since 1970."""

    name: str
    label: str
    kind: Kind = Kind.ANY
    instant: bool = False


_PROBE = Column("probe", "probe")


class Source(NamedTuple):
    """The common part of the events of one name. ``threaded``: whether each event belongs to a thread. ``stack``:
    the column that is the stack trace of the event, if the script determines one. ``duration``: the column that is the
    duration of the event."""

    name: str
    label: str
    columns: tuple[Column, ...]
    threaded: bool = False
    stack: int | None = None
    duration: int | None = None


Row = Sequence[Value]


class RecordSource(NamedTuple):
    """``row`` raises ProtocolError."""

    source: Source
    row: Callable[[Record], Row]


class MapSource(NamedTuple):
    """``exact``: the events of a map that is not an estimate; they have no columns for estimates."""

    exact: Source
    estimated: Source

    def rows(self, content: MapContent, template: Template | None) -> Iterator[tuple[Source, Row]]:
        for row in map_rows(content, template, None, timed=False):
            if all(value is None for value in row[-len(ESTIMATES) :]):
                yield self.exact, row[: -len(ESTIMATES)]
            else:
                yield self.estimated, row


class Sources:
    """The sources of one target. The first columns of every source identify the target among several; ``target`` has
    their values."""

    def __init__(self, context: Context) -> None:
        self._context = context
        about = {"host": context.host, "pid": context.pid} if context.several else {}
        self._columns = [Column(name, name) for name, value in about.items() if value is not None]
        self.target: Row = [value for value in about.values() if value is not None]

    def own(self, name: str, columns: Iterable[str]) -> Source:
        """Events that btpy itself defines."""
        return self._source(own_name(name), name, [Column(column, column) for column in columns])

    def record(self, template: Template) -> RecordSource | None:
        """None: records of this template only control the output."""
        if template.kind is TemplateKind.EMIT:
            slots = [part for part in template.parts if isinstance(part, Slot)]
            columns = [_PROBE, *map(_column, slots)]
            event = self._source(event_name(template.name), template.name, columns, threaded=True)
            return RecordSource(event, _row(template, slots, self._context))
        if template.kind not in (TemplateKind.PRINT, TemplateKind.WARN):
            return None
        name = "Print" if template.kind is TemplateKind.PRINT else "Warning"
        line = printed(template, self._context, ValueText(self._context.stacks, Style()), carried=False)
        stack = next((part for part in template.parts if isinstance(part, Slot) and _is_stack(part)), None)
        slots = [*([] if stack is None else [stack]), *filter(is_carried, template.parts)]
        columns = [_PROBE, *map(_column, slots), Column("text", "text")]
        values = _row(template, slots, self._context)
        event = self._source(own_name(name), name, columns, threaded=True)
        return RecordSource(event, lambda record: (*values(record), line(record)))

    def map(self, map_: Map) -> MapSource:
        names = columns_of_map(map_, timed=False)
        labels = (*(map_.key_names or names[: map_.keys]), *names[map_.keys :])
        unit = map_.type.kind if map_.type.kind in _WITH_UNIT and not _counts(map_) else Kind.ANY
        kinds = [key.kind for key in map_.key_types] or [Kind.ANY] * map_.keys
        kinds += [Kind.ANY if name in _WITHOUT_UNIT else unit for name in names[map_.keys :]]
        columns = [Column(label, label, kind) for label, kind in zip(labels, kinds, strict=True)]
        name = map_name(map_.name or map_.kind.value)
        exact = self._source(name, map_.title, columns[: -len(ESTIMATES)])
        return MapSource(exact, self._source(name, map_.title, columns))

    def _source(self, name: str, label: str, columns: Sequence[Column], *, threaded: bool = False) -> Source:
        """The first stack of a row is the stack trace of the event. The first duration of a record is its duration."""
        columns = [*self._columns, *columns]
        names = different((*IMPLICIT_NAMES, *[identifier(column.name) for column in columns]))[len(IMPLICIT_NAMES) :]
        columns = [column._replace(name=name) for name, column in zip(names, columns, strict=True)]
        stack = next((at for at, column in enumerate(columns) if column.kind is Kind.STACK), None)
        duration = next((at for at, column in enumerate(columns) if column.kind is Kind.DURATION), None)
        return Source(name, label, tuple(columns), threaded, stack, duration if threaded else None)


def _is_stack(slot: Slot) -> bool:
    return slot.type.kind is Kind.STACK and isinstance(slot.value, int) and not slot.rest and not slot.carried


def _column(slot: Slot) -> Column:
    label = slot.label or "value"
    if slot.time:
        return Column(label, label, instant=True)
    return Column(label, label, Kind.ANY if slot.rest or not isinstance(slot.value, int) else slot.type.kind)


def _row(template: Template, slots: Sequence[Slot], context: Context) -> Callable[[Record], tuple[Value, ...]]:
    """The probe and the values of the slots."""
    getters = [
        _instant(slot.value) if slot.time and isinstance(slot.value, int) else slot_getter(slot, context)
        for slot in slots
    ]
    arity = Arity.of(template)

    def row(record: Record) -> tuple[Value, ...]:
        arity.check(record)
        return (site_fact(context, record, SiteFact.PROBE), *[get(record) for get in getters])

    return row


def _instant(at: int) -> Callable[[Record], Value]:
    return lambda record: record.values[at]


def _counts(map_: Map) -> bool:
    """Whether the values count samples, so that the unit of the samples does not apply."""
    if isinstance(map_.parameters, SeriesParameters):
        return map_.parameters.operator is SeriesOperator.COUNT
    return map_.kind in (MapKind.COUNT, MapKind.DISTINCT)
