r"""The ``logfmt`` format: a line for each print, warning, event and row of a map, as pairs of a key and a value.

    time=2026-11-24T04:40:00.000000Z probe=slow event=slow tid=31 thread=http-7 sku=SKU-0010 took=7845
    map=@calls key="GET /orders" count=204

A value with a blank, ``=``, ``"`` or a character that does not print stands in quotes, with the escapes of JSON. So no
text of the traced program can begin a line or a pair, or steer a terminal. ``null`` is the value null, and ``"null"``
is the text. An empty text is ``""``. Other texts have no quotes: the text ``1`` looks like the number. Values have the
texts of ``csv`` (:mod:`btpy.output.cells`).

With several targets, ``pid`` follows ``probe`` or ``map``, and on several hosts ``host`` stands before it. Lines about
all targets together have no ``pid`` and no ``host``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from btpy.events.aggregates import MapContent
from btpy.events.records import Record, Value
from btpy.model.templates import SiteFact, Slot, Template, TemplateKind
from btpy.output.cells import cell_text
from btpy.output.shapes import ESTIMATES, columns_of_map, different, event_values, map_rows, wall
from btpy.output.stream import Stream
from btpy.output.style import Style
from btpy.output.templates import printed
from btpy.output.values import ValueText, timestamp, well_formed
from btpy.output.writer import Context, PerTemplate, Writer, site_fact

_Renderer = Callable[[Record], str]
_Pair = tuple[str, Value]

_OF_EVENT = ("time", "probe", "host", "pid", "event", "tid", "thread")
_OF_MAP = ("time", "map", "host", "pid")


class LogfmtWriter(Writer):
    def __init__(self, stream: Stream, context: Context) -> None:
        self._stream = stream
        self._context = context
        self._renderers = PerTemplate(context, self._compile)
        sources = (("host", context.host), ("pid", context.pid))
        self._source: tuple[_Pair, ...] = tuple((name, value) for name, value in sources if value is not None)

    def records(self, records: Sequence[Record]) -> None:
        lines = []
        for record in records:
            render = self._renderers[record.template]
            if render is not None:
                lines.append(render(record))
        self._stream.write_all(lines)

    def map(self, content: MapContent, template: Template | None, nanos: int | None) -> None:
        time = wall(self._context.clock, nanos)
        first: list[_Pair] = [] if time is None else [("time", timestamp(time))]
        first += [("map", content.map.title), *self._source]
        columns = columns_of_map(content.map, timed=False)
        keys = _keys(_OF_MAP, columns)
        for row in map_rows(content, template, time, timed=False):
            pairs = [
                (key, value)
                for key, column, value in zip(keys, columns, row, strict=True)
                if value is not None or column not in ESTIMATES
            ]
            self._stream.write(self._line([*first, *pairs]))

    def _compile(self, template: Template) -> _Renderer | None:
        """A function that renders a record as a line. None: nothing is written."""
        if template.kind is TemplateKind.EMIT:
            labels = [part.label or "value" for part in template.parts if isinstance(part, Slot)]
            keys = _keys(_OF_EVENT, labels)
            values = event_values(template, self._context)
            name: _Pair = ("event", template.name)
            return lambda record: self._line(
                [*self._head(record), name, *_thread(record), *zip(keys, values(record), strict=True)]
            )
        if template.kind in (TemplateKind.PRINT, TemplateKind.WARN):
            text = printed(template, self._context, ValueText(self._context.stacks, Style()))
            level: list[_Pair] = [("level", "warn")] if template.kind is TemplateKind.WARN else []
            return lambda record: self._line([*self._head(record), *level, *_thread(record), ("msg", text(record))])
        return None

    def _head(self, record: Record) -> Sequence[_Pair]:
        time = timestamp(self._context.clock.wall(record.nanos))
        return ("time", time), ("probe", site_fact(self._context, record, SiteFact.PROBE)), *self._source

    def _line(self, pairs: Iterable[_Pair]) -> str:
        return " ".join([f"{key}={self._value(value)}" for key, value in pairs]) + "\n"

    def _value(self, value: Value) -> str:
        if type(value) is int:
            return str(value)
        text = cell_text(value, self._context.stacks)
        return "null" if text is None else quoted(text, always=isinstance(value, str) and value == "null")


def quoted(text: str, *, always: bool = False) -> str:
    """A text as a value. The text gets quotes if it needs them, or if ``always`` is set. Lone surrogates become
    U+FFFD."""
    if not text.isprintable():
        return json.dumps(well_formed(text), ensure_ascii=True)
    if always or not text or any(char in text for char in ' ="'):
        return json.dumps(text, ensure_ascii=False)
    return text


def _keys(reserved: tuple[str, ...], names: Iterable[str]) -> tuple[str, ...]:
    """A key for each name. Each key differs from the other keys and from the ``reserved`` keys: ``tid`` is
    ``tid_2``."""
    return different((*reserved, *map(_key, names)))[len(reserved) :]


def _key(name: str) -> str:
    """Keys have no escapes, so ``_`` replaces characters that a key cannot have."""
    return "".join([char if char.isprintable() and char not in ' ="' else "_" for char in name]) or "_"


def _thread(record: Record) -> Sequence[_Pair]:
    return ("tid", record.tid), ("thread", record.thread)
