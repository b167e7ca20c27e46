"""The events of a chunk as bytes.

Mission Control knows one type for each name of an event in a chunk. So the rows of a name are encoded together when the
chunk ends: their type has all of their columns, and the type of a column is that of its values. For a number that is
null, btpy writes the least number of its type, or NaN. The tools of the JDK show these as ``N/A``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from btpy.events.records import StackRef, Value
from btpy.events.stacks import StackTable
from btpy.model.types import Kind
from btpy.output.cells import cell_text
from btpy.output.jfr import encoding
from btpy.output.jfr.pools import Pools
from btpy.output.jfr.sources import Column, Row, Source
from btpy.output.jfr.types import DURATION, STACK, START, THREAD, EventType, Field, FieldType
from btpy.output.writer import Clock

_UNITS = {Kind.DURATION: FieldType.DURATION, Kind.BYTES: FieldType.BYTES}
_LEAST_INT, _LEAST_LONG = -(1 << 31), -(1 << 63)
_MOST_EXACT = 1 << 53  # a double can be any integer up to this number
_WHOLE = frozenset({int})
_NUMBERS = frozenset({int, float})

Encode = Callable[[Value], bytes]


class Pending(NamedTuple):
    """An event that is not encoded yet. ``start`` and ``duration``: ns of ``System.nanoTime``. ``thread``: its id and
    its name."""

    source: Source
    start: int
    row: Row
    duration: int = 0
    thread: tuple[int, str] | None = None


class _Shape(NamedTuple):
    """The rows of one source in a chunk. ``types``: the types of the columns. ``stack``: the column that is the stack
    trace of the events. ``fields``: the columns that are fields of their own."""

    source: Source
    types: Sequence[FieldType]
    stack: int | None
    fields: Sequence[int]


class Encoder(NamedTuple):
    """Encodes the events of one chunk. Puts constants into ``pools``."""

    pools: Pools
    stacks: StackTable
    clock: Clock

    def encode(self, events: Sequence[Pending], ids: Callable[[str], int]) -> tuple[bytes, dict[int, EventType]]:
        """The events in their order, and their types. ``ids``: the id of the type of a name."""
        rows: dict[Source, list[Row]] = {}
        for event in events:
            rows.setdefault(event.source, []).append(event.row)
        names: dict[str, list[Source]] = {}
        for source in rows:
            names.setdefault(source.name, []).append(source)
        types: dict[int, EventType] = {}
        contents: dict[Source, Callable[[Pending], bytes]] = {}
        for name, sources in names.items():
            shapes = [_shape(source, rows[source]) for source in sources]
            columns = _merged(shapes, rows)
            type_ = _event_type(shapes, columns)
            types[ids(name)] = type_
            for shape in shapes:
                contents[shape.source] = self._content(ids(name), type_, shape, columns)
        return b"".join([contents[event.source](event) for event in events]), types

    def _content(
        self, id_: int, type_: EventType, shape: _Shape, columns: Mapping[str, Field]
    ) -> Callable[[Pending], bytes]:
        implicit = {field.name for field in type_.fields if field.name not in columns}
        timed, threaded = DURATION.name in implicit, THREAD.name in implicit
        stack = STACK.name in implicit
        at = {shape.source.columns[index].name: index for index in shape.fields}
        parts = [
            (at.get(field.name), self._value(field.type, instant=_is_instant(shape.source, at.get(field.name))))
            for field in columns.values()
        ]
        pools = self.pools

        def content(event: Pending) -> bytes:
            row = event.row
            encoded = [encoding.number(event.start)]
            if timed:
                encoded.append(encoding.number(event.duration))
            if threaded:
                encoded.append(pools.no_key if event.thread is None else pools.thread(*event.thread))
            if stack:
                encoded.append(self._stack(None if shape.stack is None else row[shape.stack]))
            encoded += [encode(None if index is None else row[index]) for index, encode in parts]
            return encoding.event(id_, b"".join(encoded))

        return content

    def _value(self, type_: FieldType, *, instant: bool) -> Encode:
        match type_:
            case FieldType.BOOLEAN:
                return lambda value: encoding.boolean(value is True)
            case FieldType.DOUBLE:
                return lambda value: encoding.double(value if isinstance(value, int | float) else math.nan)
            case FieldType.INT:
                return lambda value: encoding.integer(value if isinstance(value, int) else _LEAST_INT)
            case FieldType.STACK:
                return self._stack
            case FieldType.TEXT:
                return self._text
        return partial(_long, -self.clock.wall(0) if instant else 0)

    def _text(self, value: Value) -> bytes:
        text = value if type(value) is str else cell_text(value, self.stacks)
        return encoding.NULL_TEXT if text is None else self.pools.text(text)

    def _stack(self, value: Value) -> bytes:
        return self.pools.stack(self.stacks.frames(value.id) if isinstance(value, StackRef) else None)


def _long(offset: int, value: Value) -> bytes:
    if isinstance(value, int):
        return encoding.number(value + offset)
    if isinstance(value, float):
        return encoding.number(round(value) + offset)  # an average
    return encoding.number(_LEAST_LONG)


def _is_instant(source: Source, at: int | None) -> bool:
    return at is not None and source.columns[at].instant


def _shape(source: Source, rows: Sequence[Row]) -> _Shape:
    values = list(zip(*rows, strict=True))
    types = [_type_of(column, value) for column, value in zip(source.columns, values, strict=True)]
    stack = source.stack
    if stack is None:
        stack = next((at for at, type_ in enumerate(types) if type_ is FieldType.STACK), None)
    left_out = {stack}
    duration = source.duration
    if duration is not None and source.columns[duration].label == DURATION.name and all(map(is_time, values[duration])):
        left_out.add(duration)  # the column is the duration of the event itself
    return _Shape(source, types, stack, [at for at in range(len(types)) if at not in left_out])


def is_time(value: Value) -> bool:
    """Whether the value can be the duration of an event."""
    return type(value) is int and value >= 0


def _type_of(column: Column, values: Sequence[Value]) -> FieldType:
    """The type of a field for all of these values."""
    present = [value for value in values if value is not None]
    types = set(map(type, present))
    if not types or not types <= _NUMBERS:
        if types == {bool} and len(present) == len(values):
            return FieldType.BOOLEAN
        return FieldType.STACK if types == {StackRef} else FieldType.TEXT
    numbers = [value for value in present if isinstance(value, int | float)]
    unit = _UNITS.get(column.kind) or (FieldType.INSTANT if column.instant else None)
    if types == _WHOLE or (unit is not None and all(map(math.isfinite, numbers))):
        least, most = min(numbers), max(numbers)
        if least < _LEAST_LONG or most >= -_LEAST_LONG:
            return FieldType.TEXT
        is_int = column.kind is Kind.INT and least >= _LEAST_INT and most < -_LEAST_INT
        return unit or (FieldType.INT if is_int else FieldType.LONG)
    is_exact = all(abs(value) <= _MOST_EXACT for value in numbers if isinstance(value, int))
    return FieldType.DOUBLE if is_exact else FieldType.TEXT


def _merged(shapes: Sequence[_Shape], rows: Mapping[Source, Sequence[Row]]) -> dict[str, Field]:
    """The fields of all shapes by name. If a shape does not have a field, its rows have null in this field."""
    fields: dict[str, Field] = {}
    for shape in shapes:
        for at in shape.fields:
            column = shape.source.columns[at]
            fields.setdefault(column.name, Field(column.name, column.label, shape.types[at]))
    if len(shapes) > 1:
        fields = {name: field._replace(type=_common_type(name, shapes, rows)) for name, field in fields.items()}
    return fields


def _common_type(name: str, shapes: Sequence[_Shape], rows: Mapping[Source, Sequence[Row]]) -> FieldType:
    columns: list[Column] = []
    values: list[Value] = []
    for shape in shapes:
        positions = [at for at in shape.fields if shape.source.columns[at].name == name]
        columns += [shape.source.columns[at] for at in positions]
        values += [row[at] for at in positions for row in rows[shape.source]] or [None]
    same = {(column.kind, column.instant) for column in columns}
    return _type_of(columns[0] if len(same) == 1 else Column(name, name), values)


def _event_type(shapes: Sequence[_Shape], columns: Mapping[str, Field]) -> EventType:
    sources = [shape.source for shape in shapes]
    implicit = (
        (DURATION, any(source.duration is not None for source in sources)),
        (THREAD, any(source.threaded for source in sources)),
        (STACK, any(shape.stack is not None for shape in shapes)),
    )
    fields: Iterator[Field] = (field for field, is_there in implicit if is_there)
    return EventType(sources[0].name, sources[0].label, (START, *fields, *columns.values()))
