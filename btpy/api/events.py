"""The events of probes, as Python values."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass as dataclass_with_attributes
from datetime import UTC, datetime, timedelta
from functools import cached_property
from types import MappingProxyType, TracebackType
from typing import Any

from btpy.api.feed import Reader
from btpy.api.maps import MapView
from btpy.dataclass import dataclass
from btpy.events.items import Item, PrintedMaps
from btpy.events.records import Record
from btpy.model.sites import Site
from btpy.model.templates import SiteFact, Slot, Template, TemplateKind
from btpy.output.maps import MapText
from btpy.output.ndjson import json_value
from btpy.output.style import Style
from btpy.output.templates import printed as printed_text
from btpy.output.text import RecordText, table_lines
from btpy.output.values import ValueText
from btpy.output.writer import Context, pairs, site_fact, slot_value, template_of

KINDS = {
    TemplateKind.PRINT: "print",
    TemplateKind.WARN: "warn",
    TemplateKind.EMIT: "event",
    TemplateKind.EXIT: "exit",
    TemplateKind.MAP: "map",
    TemplateKind.PLOT: "map",
    TemplateKind.TABLE: "map",
}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Location:
    """The place where a probe fired. ``line`` 0: not known. ``target_class`` and ``target_member``: the class and the
    member that the probed instruction names; empty for a whole method.
    """

    class_name: str
    method: str
    descriptor: str
    line: int
    loader: str
    target_class: str = ""
    target_member: str = ""

    def __str__(self) -> str:
        return f"{self.class_name}.{self.method}" + (f":{self.line}" if self.line else "")

    @staticmethod
    def of(site: Site | None) -> Location | None:
        if site is None:
            return None
        return Location(
            site.class_name, site.method, site.descriptor, site.line, site.loader, site.target_class, site.member
        )


@dataclass_with_attributes(frozen=True)
class Event:
    """One firing that recorded something.

    ``kind``: one of ``print warn event map exit``. ``nanos``: the nanoseconds since 1970, by the clock of the target;
    ``time``: the same time in UTC, to the microsecond. ``probe``: the name of the probe; ``probe_id``: the id of the
    probe in records. ``name``: the name that ``emit`` gave. ``values``: the values of an ``emit`` by name, or of a
    ``print`` by position (``"0"``). A duration is a number of nanoseconds, and a constant of an enum is its name.
    Objects are dictionaries with their class under ``"@class"``, and stacks are lists of frames. ``text``: the line
    that btpy prints, without the line feed. ``pid``: the pid of the target.
    """

    kind: str
    nanos: int
    probe: str
    probe_id: int
    name: str
    tid: int
    thread: str
    location: Location | None
    values: Mapping[str, Any]
    pid: int
    _text: Callable[[], str]

    @cached_property
    def time(self) -> datetime:
        return _EPOCH + timedelta(microseconds=self.nanos // 1000)

    @cached_property
    def text(self) -> str:
        return self._text()

    def __str__(self) -> str:
        return self.text


class EventMaker:
    """Of one session. Records and maps must belong to the program of ``context``."""

    def __init__(self, context: Context, pid: int) -> None:
        self._context = context
        self._pid = pid
        style = Style()
        self._lines = RecordText(context, style)
        self._text = ValueText(context.stacks, style)
        self._maps = MapText(self._text, style)

    def record(self, record: Record) -> Event:
        """Raises ProtocolError for a record that does not fit its template."""
        context = self._context
        template = template_of(context, record.template)
        return Event(
            kind=KINDS[template.kind],
            nanos=context.clock.wall(record.nanos),
            probe=str(site_fact(context, record, SiteFact.PROBE)),
            probe_id=template.probe,
            name=template.name,
            tid=record.tid,
            thread=record.thread,
            location=Location.of(context.sites.get(record.site)),
            values=MappingProxyType(self._values(template, record)),
            pid=self._pid,
            _text=lambda: self._record_text(template, record),
        )

    def _record_text(self, template: Template, record: Record) -> str:
        if template.kind is TemplateKind.WARN:  # the text format writes warnings to standard error
            return printed_text(template, self._context, self._text)(record)
        return self._lines.text(record).removesuffix("\n")

    def printed(self, printed: PrintedMaps) -> Event:
        """The event of ``print(@m)``, ``plot`` and ``table``. ``values``: a :class:`btpy.api.maps.MapView` for each
        map.
        """
        templates = self._context.outline.templates
        template = templates[printed.template]
        views = {content.map.title: MapView(content, self._context.stacks) for content in printed.contents}
        return Event(
            kind="map",
            nanos=self._context.clock.wall(printed.nano_time),
            probe=self._context.outline.probes[template.probe].name,
            probe_id=template.probe,
            name=template.name,
            tid=0,
            thread="",
            location=None,
            values=MappingProxyType(dict(views)),
            pid=self._pid,
            _text=lambda: "\n".join(table_lines(self._maps, printed.contents, template)),
        )

    def _values(self, template: Template, record: Record) -> dict[str, Any]:
        values: dict[str, Any] = {}
        slots = [part for part in template.parts if isinstance(part, Slot)]
        for index, slot in enumerate(slots):
            label = slot.label or str(index)
            where = slot.value
            if slot.named:
                fields = pairs(record, slot, self._context.outline.redact)
                values[label] = {name: self._python(value) for name, value in fields}
            elif slot.rest and isinstance(where, int):
                values[label] = [self._python(value) for value in record.values[where:]]
            else:
                values[label] = self._python(slot_value(self._context, record, slot))
        return values

    def _python(self, value: object) -> object:
        if value is None or isinstance(value, bool | int | float | str):
            return value
        return json_value(value, self._context.stacks, {}, "")  # type: ignore[arg-type] # a value of a record


class EventReader:
    """Iterates over events, also with ``async for``. ``dropped``: events that were lost because this reader was too
    slow.
    """

    def __init__(self, reader: Reader[Record | Item], maker: EventMaker, timeout: float | None) -> None:
        self._reader = reader
        self._maker = maker
        self._timeout = timeout
        self._deadline: float | None = None

    @property
    def dropped(self) -> int:
        return self._reader.dropped

    def __iter__(self) -> Iterator[Event]:
        self._deadline = None if self._timeout is None else time.monotonic() + self._timeout
        return self

    def __next__(self) -> Event:
        """Raises TargetGone at the end of a target, ProtocolError when its agent broke the protocol."""
        while (entry := self._reader.take(self._deadline)) is not None:
            event = self._event(entry)
            if event is not None:
                return event
        self.close()
        raise StopIteration

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        while (entry := await self._reader.take_async()) is not None:
            event = self._event(entry)
            if event is not None:
                return event
        self.close()
        raise StopAsyncIteration

    def close(self) -> None:
        """Take no more."""
        self._reader.close()

    def __enter__(self) -> EventReader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _event(self, entry: Record | Item) -> Event | None:
        if isinstance(entry, Record):
            return self._maker.record(entry)
        return self._maker.printed(entry) if isinstance(entry, PrintedMaps) else None
