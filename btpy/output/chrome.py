"""The ``chrome`` format: the JSON array of the Trace Event Format, which Perfetto and chrome://tracing load.

A record with a duration is a slice (``ph: X``) that ends when the record was made. Any other record is an instant
(``i``) of its thread. A map of numbers with no key or one key is a counter (``C``) each time it is shown. Times are in
microseconds since the run began. The closing bracket may be missing: the format allows it, so that a viewer can load
the file of a killed run.

Slices of a thread have to nest: Perfetto drops a slice that partly overlaps another. Slices of two probes at one exit,
and of nested calls, can overlap, because a record is made shortly after its duration was measured. So a slice may begin
earlier by this delay. A slice that overlaps by more, such as a time spent in a queue, is an asynchronous slice (``b``
and ``e``), beside its thread.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from btpy.events.aggregates import Aggregate, MapContent, intervals, measure
from btpy.events.records import Record, Value
from btpy.model.templates import SiteFact, Slot, Template, TemplateKind
from btpy.model.types import Kind
from btpy.output.ndjson import event_members
from btpy.output.ranges import skip_notes
from btpy.output.stream import Document, Stream
from btpy.output.style import Style
from btpy.output.tables import TableOptions, table
from btpy.output.templates import printed
from btpy.output.values import ValueText
from btpy.output.writer import Context, PerTemplate, Writer, site_fact

PROCESS = 1
"""The process id of the only target."""

_COUNTERS = 16  # the largest number of series of one counter
_MOMENT = 50_000  # ns from the measurement of a duration to its record; 1 % of long durations
_REMEMBERED = 4096  # finished outermost slices of a thread

_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode
_Render = Callable[[Record], Sequence[dict[str, Any]]]


class ChromeWriter(Writer):
    def __init__(self, stream: Stream, context: Context) -> None:
        self._stream = stream
        self._context = context
        self._text = ValueText(context.stacks, Style())
        self._renders = PerTemplate(context, self._render)
        self._threads: dict[int, str] = {}
        self._over: dict[int, deque[tuple[int, int]]] = {}  # slices by thread, in order of time
        self._beside = 0
        self._ended = context.clock.nano_time
        stream.begin(Document("[\n", "\n]\n", ",\n"))
        self._write({"name": "process_name", "ph": "M", "pid": PROCESS, "args": {"name": "btpy"}})

    def records(self, records: Sequence[Record]) -> None:
        for record in records:
            render = self._renders[record.template]
            if render is not None:
                self._name_thread(record)
                for event in render(record):
                    self._write(event)
                self._ended = max(self._ended, record.nanos)

    def events(self, events: Iterable[dict[str, Any]]) -> None:
        """Writes events of the format, such as a tree of calls that is a process of its own."""
        for event in events:
            self._write(event)

    def map(self, content: MapContent, template: Template | None, nanos: int | None) -> None:
        series = {}
        if content.map.keys > 1:
            return
        for key, value in table(content, TableOptions.of(template)).rows[:_COUNTERS]:
            number = measure(value, "") if isinstance(value, Aggregate | int | float) else None
            if number is not None and abs(number) != float("inf"):
                series[self._text.show(key[0]) if key else content.map.title] = number
        time = self._time(self._ended if nanos is None else nanos)
        if series:
            self._write({"name": content.map.title, "ph": "C", "ts": time, "pid": PROCESS, "args": series})
        if content.skips is not None:
            text = f"{content.map.title}: {'; '.join(skip_notes(content, Style()))}"
            ranges = {self._text.show(key[0]) if key else "": _range(value) for key, value in content.entries}
            arguments = {"skipped": content.skips.skipped, "factor": content.skips.factor, "intervals": ranges}
            event = {"name": text, "ph": "i", "s": "g", "ts": time, "pid": PROCESS, "args": arguments}
            self._write(event)

    def _render(self, template: Template) -> _Render | None:
        if template.kind is TemplateKind.PRINT:
            text = printed(template, self._context, self._text)
            arguments: Callable[[Record], dict[str, Any]] = lambda record: {"text": text(record)}  # noqa: E731
        elif template.kind is TemplateKind.EMIT:
            members = event_members(template, self._context, self._text)
            arguments = lambda record: members(record)[0]  # noqa: E731
        else:
            return None
        name = template.name or self._context.outline.probes[template.probe].name
        timed = next((slot for slot in map(_duration, template.parts) if slot is not None), None)

        def render(record: Record) -> Sequence[dict[str, Any]]:
            values = arguments(record)
            duration = record.values[timed] if timed is not None else None
            event = {
                "name": name,
                "cat": site_fact(self._context, record, SiteFact.PROBE),
                "pid": PROCESS,
                "tid": record.tid,
                "args": values,
            }
            if not isinstance(duration, int) or duration < 0:
                return [event | {"ph": "i", "s": "t", "ts": self._time(record.nanos)}]
            over = self._over.setdefault(record.tid, deque(maxlen=_REMEMBERED))
            start = nested(over, record.nanos - duration, record.nanos)
            if start is not None:
                return [event | {"ph": "X", "ts": self._time(start), "dur": (record.nanos - start) / 1000}]
            self._beside += 1
            event["id"] = self._beside
            first = event | {"ph": "b", "ts": self._time(record.nanos - duration)}
            return [first, {**event, "ph": "e", "ts": self._time(record.nanos), "args": {}}]

        return render

    def _name_thread(self, record: Record) -> None:
        if self._threads.get(record.tid) != record.thread:
            self._threads[record.tid] = record.thread
            name = record.thread or f"thread {record.tid}"
            self._write({"name": "thread_name", "ph": "M", "pid": PROCESS, "tid": record.tid, "args": {"name": name}})

    def _time(self, nanos: int) -> float:
        return (nanos - self._context.clock.nano_time) / 1000

    def _write(self, event: dict[str, Any]) -> None:
        self._stream.write(_encode(event))


def _range(value: Aggregate | Value) -> list[float | None] | None:
    """The interval that contains the number of a counter; None: it is exact."""
    bounds = intervals(value)
    interval = bounds.get("", bounds.get("count"))
    return None if interval is None else [interval.low, interval.high]


def nested(over: deque[tuple[int, int]], start: int, end: int) -> int | None:
    """The begin of a slice. With it, the slice contains or follows each finished slice in ``over`` (start and end, in
    order). The function inserts the slice into ``over``. Returns None if the begin would be too long before
    ``start``."""
    first, inside = start, 0
    for earlier_start, earlier_end in reversed(over):
        if earlier_end <= first:
            break
        inside += 1
        first = min(first, earlier_start - 1)
    if start - first > max(_MOMENT, (end - start) // 100) or (over and over[-1][1] > end):
        return None
    for _ in range(inside):
        over.pop()
    over.append((first, end))
    return first


def _duration(part: str | Slot) -> int | None:
    """The value that is the duration of the record."""
    if isinstance(part, Slot) and isinstance(part.value, int) and part.type.kind is Kind.DURATION and not part.rest:
        return part.value
    return None
