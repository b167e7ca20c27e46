"""Records of ``span(…)`` as spans.

Source: OpenTelemetry trace data model (opentelemetry-proto 1.9), semantic conventions 1.37, "Recording exceptions".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from btpy.errors import ProtocolError
from btpy.events.records import Record, Value
from btpy.model.patterns import simple_name
from btpy.model.templates import SiteFact, Slot, SpanField, Template
from btpy.output.otlp.attributes import Values, key_value, unsigned
from btpy.output.otlp.record_attributes import Reader, RecordAttributes
from btpy.output.otlp.trace_fields import SPAN_ID_FORM, TRACE_ID_FORM
from btpy.output.values import well_formed
from btpy.output.writer import Context, PerTemplate, site_fact

_EXCEPTION = {
    SpanField.EXCEPTION: "exception.type",
    SpanField.MESSAGE: "exception.message",
    SpanField.STACK: "exception.stacktrace",
}
_FIELDS = {field.value: field for field in SpanField}


class Spans:
    """Makes spans: kind INTERNAL; the status is an error, with an event, where an exception left the method."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._values = Values(context.stacks)
        self._attributes = RecordAttributes(context)
        self._converters = PerTemplate(context, self._converter)

    def of(self, record: Record) -> Span | None:
        """None for records that are not spans. Raises ProtocolError."""
        converter = self._converters[record.template]
        return None if converter is None else converter(record)

    def _converter(self, template: Template) -> Callable[[Record], Span] | None:
        if not template.is_span:
            return None
        slots = [part for part in template.parts if isinstance(part, Slot)]
        positions: dict[SpanField, int] = {}
        others: list[Slot] = []
        for slot in slots:
            field = _FIELDS.get(slot.label or "")
            if field is not None and field not in positions and isinstance(slot.value, int):
                positions[field] = slot.value
            else:
                others.append(slot)
        attributes = self._attributes.fields(template, others)
        name = None if template.is_span_of_method else well_formed(template.name)
        return lambda record: self._span(
            record,
            self._method(record) if name is None else name,
            {field: record.values[at] for field, at in positions.items()},
            attributes,
        )

    def _method(self, record: Record) -> str:
        """``Class.method``, as the agent of OpenTelemetry names its spans."""
        class_name, method = (site_fact(self._context, record, fact) for fact in (SiteFact.CLS, SiteFact.METHOD))
        return f"{simple_name(str(class_name))}.{method}"

    def _span(self, record: Record, name: str, fields: Mapping[SpanField, Value], attributes: Reader) -> Span:
        start, duration = record.values[0], fields[SpanField.DURATION]
        flags, parent = fields[SpanField.FLAGS], fields[SpanField.PARENT_ID]
        if not isinstance(start, int) or not isinstance(duration, int) or not isinstance(flags, int):
            raise ProtocolError(f"record of template {record.template} has no start, duration or flags")
        wall = self._context.clock.wall
        span = Span(
            trace_id=_id(TRACE_ID_FORM, fields[SpanField.TRACE_ID]),
            span_id=_id(SPAN_ID_FORM, fields[SpanField.SPAN_ID]),
            parent_span_id=b"" if parent is None else _id(SPAN_ID_FORM, parent),
            flags=flags & 0xFF,
            name=name,
            kind=Span.SPAN_KIND_INTERNAL,
            start_time_unix_nano=unsigned(wall(start)),
            end_time_unix_nano=unsigned(wall(start + duration)),
            attributes=[*attributes(record), *self._attributes.place(record)],
        )
        if fields.get(SpanField.EXCEPTION) is not None:
            span.status.code = Status.STATUS_CODE_ERROR
            event = span.events.add(name="exception", time_unix_nano=span.end_time_unix_nano)
            for field, attribute in _EXCEPTION.items():
                value = fields[field]
                if value is not None:
                    event.attributes.append(key_value(attribute, self._values.simple(value)))
        return span


def _id(form: re.Pattern[str], value: Value) -> bytes:
    """The bytes of an id. Raises ProtocolError for any other text, because a target can send any text."""
    if not isinstance(value, str) or not form.fullmatch(value):
        raise ProtocolError("a span whose id does not have the form of an id")
    return bytes.fromhex(value)
