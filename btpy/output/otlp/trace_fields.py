"""Moves the ids of a span from the fields of an event into the fields that a log record has for these ids.

Source: OpenTelemetry logs data model 1.50, "Trace Context Fields"; W3C Trace Context for the forms of the ids.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from btpy.events.records import Record, Value
from btpy.model.templates import Slot, Template

TRACE_ID, SPAN_ID, TRACE_FLAGS = "trace_id", "span_id", "trace_flags"

TRACE_ID_FORM = re.compile("(?!0{32})[0-9a-f]{32}")
SPAN_ID_FORM = re.compile("(?!0{16})[0-9a-f]{16}")
_FLAGS = re.compile("[0-9a-f]{2}")


def traced(template: Template, convert: Callable[[Record], LogRecord]) -> Callable[[Record], LogRecord]:
    """A function like ``convert``, but its log records have the ids of the span in their own fields, instead of in
    attributes. Values that are not ids stay attributes."""
    slots: dict[str, int] = {
        part.label: part.value
        for part in template.parts
        if isinstance(part, Slot) and part.label in (TRACE_ID, SPAN_ID, TRACE_FLAGS) and isinstance(part.value, int)
    }
    if TRACE_ID not in slots:
        return convert

    def converted(record: Record) -> LogRecord:
        log_record = convert(record)
        _move(log_record, {label: record.values[at] for label, at in slots.items()})
        return log_record

    return converted


def _move(log_record: LogRecord, values: Mapping[str, Value]) -> None:
    trace, span, flags = values[TRACE_ID], values.get(SPAN_ID), _flags(values.get(TRACE_FLAGS))
    moved = {label for label, value in values.items() if value is None}
    if isinstance(trace, str) and TRACE_ID_FORM.fullmatch(trace):
        log_record.MergeFrom(LogRecord(trace_id=bytes.fromhex(trace), flags=flags or 0))
        moved.add(TRACE_ID)
        if isinstance(span, str) and SPAN_ID_FORM.fullmatch(span):
            log_record.MergeFrom(LogRecord(span_id=bytes.fromhex(span)))
            moved.add(SPAN_ID)
        if flags is not None:
            moved.add(TRACE_FLAGS)
    attributes = [attribute for attribute in log_record.attributes if attribute.key not in moved]
    del log_record.attributes[:]
    log_record.attributes.extend(attributes)


def _flags(value: Value) -> int | None:
    """The flags as ``trace_flags`` gives them, or as two hexadecimal digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value & 0xFF
    return int(value, 16) if isinstance(value, str) and _FLAGS.fullmatch(value) else None
