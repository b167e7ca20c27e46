"""The ``chrome`` format: the JSON array of the Trace Event Format, which Perfetto and chrome://tracing load.

A record with a duration is a slice (``ph: X``) that ends when the record was made; any other is an instant (``i``) of
its thread; a map of numbers without keys, or with one, is a counter (``C``) each time it is shown. Times are in
microseconds since the run began. The closing bracket may be missing: the format allows it, so that a run that was
killed can be loaded too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from btpy.events.aggregates import Aggregate, MapContent, measure
from btpy.events.records import Record
from btpy.lang.program import SiteFact, Slot, Template, TemplateKind
from btpy.lang.types import Kind
from btpy.output.ndjson import json_value
from btpy.output.silent import SilentWriter
from btpy.output.stream import Document, Stream
from btpy.output.style import Style
from btpy.output.tables import TableOptions, table
from btpy.output.templates import printed
from btpy.output.values import ValueText
from btpy.output.writer import Arity, Context, site_fact, slot_value, template_of

PROCESS = 1
"""The target: there is one."""

_COUNTERS = 16  # series of one counter, the largest

_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode
_Render = Callable[[Record], dict[str, Any]]


class ChromeWriter(SilentWriter):
    def __init__(self, stream: Stream, context: Context) -> None:
        self._stream = stream
        self._context = context
        self._text = ValueText(context.stacks, Style())
        self._renders: dict[int, _Render | None] = {}
        self._threads: dict[int, str] = {}
        self._ended = context.clock.nano_time
        stream.begin(Document("[\n", "\n]\n", ",\n"))
        self._write({"name": "process_name", "ph": "M", "pid": PROCESS, "args": {"name": "btpy"}})

    def records(self, records: Sequence[Record]) -> None:
        for record in records:
            if record.template not in self._renders:
                self._renders[record.template] = self._render(template_of(self._context, record))
            render = self._renders[record.template]
            if render is not None:
                self._name_thread(record)
                self._write(render(record))
                self._ended = max(self._ended, record.nanos)

    def map(self, content: MapContent, template: Template | None, nanos: int | None) -> None:
        series = {}
        if content.map.keys > 1:
            return
        for key, value in table(content, TableOptions.of(template)).rows[:_COUNTERS]:
            number = measure(value, "") if isinstance(value, Aggregate | int | float) else None
            if number is not None and abs(number) != float("inf"):
                series[self._text.show(key[0]) if key else content.map.title] = number
        if series:
            at = self._ended if nanos is None else nanos
            self._write({"name": content.map.title, "ph": "C", "ts": self._time(at), "pid": PROCESS, "args": series})

    def joined(self, contents: Sequence[MapContent], template: Template, nanos: int) -> None:
        for content in contents:
            self.map(content, None, nanos)

    def _render(self, template: Template) -> _Render | None:
        if template.kind is TemplateKind.PRINT:
            text = printed(template, self._context, self._text)
            arguments: Callable[[Record], dict[str, Any]] = lambda record: {"text": text(record)}  # noqa: E731
        elif template.kind is TemplateKind.EMIT:
            arguments = self._arguments(template)
        else:
            return None
        name = template.name or self._context.outline.probes[template.probe].name
        timed = next((slot for slot in map(_duration, template.parts) if slot is not None), None)

        def render(record: Record) -> dict[str, Any]:
            given = arguments(record)
            duration = record.values[timed] if timed is not None else None
            event = {
                "name": name,
                "cat": site_fact(self._context, record, SiteFact.PROBE),
                "pid": PROCESS,
                "tid": record.tid,
                "args": given,
            }
            if isinstance(duration, int) and duration >= 0:
                return event | {"ph": "X", "ts": self._time(record.nanos - duration), "dur": duration / 1000}
            return event | {"ph": "i", "s": "t", "ts": self._time(record.nanos)}

        return render

    def _arguments(self, template: Template) -> Callable[[Record], dict[str, Any]]:
        slots = [(part.label or "value", part) for part in template.parts if isinstance(part, Slot)]
        arity = Arity.of(template)

        def arguments(record: Record) -> dict[str, Any]:
            arity.check(record)
            found: dict[str, Any] = {}
            for label, slot in slots:
                if isinstance(slot.value, SiteFact):
                    found[label] = site_fact(self._context, record, slot.value)
                elif slot.rest:
                    found[label] = [json_value(v, self._context.stacks, {}, "") for v in record.values[slot.value :]]
                else:
                    found[label] = json_value(slot_value(record, slot), self._context.stacks, {}, "")
            return found

        return arguments

    def _name_thread(self, record: Record) -> None:
        if self._threads.get(record.tid) != record.thread:
            self._threads[record.tid] = record.thread
            name = record.thread or f"thread {record.tid}"
            self._write({"name": "thread_name", "ph": "M", "pid": PROCESS, "tid": record.tid, "args": {"name": name}})

    def _time(self, nanos: int) -> float:
        return (nanos - self._context.clock.nano_time) / 1000

    def _write(self, event: dict[str, Any]) -> None:
        self._stream.write(_encode(event))


def _duration(part: str | Slot) -> int | None:
    """The value that says how long it took."""
    if isinstance(part, Slot) and isinstance(part.value, int) and part.type.kind is Kind.DURATION and not part.rest:
        return part.value
    return None
