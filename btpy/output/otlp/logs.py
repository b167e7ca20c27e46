"""Records of probes as log records.

Source: OpenTelemetry logs data model 1.50.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, SeverityNumber

from btpy.events.records import Record
from btpy.model.templates import Template, TemplateKind
from btpy.output.otlp.attributes import key_value, scalar, unsigned
from btpy.output.otlp.record_attributes import RecordAttributes
from btpy.output.otlp.trace_fields import traced
from btpy.output.style import Style
from btpy.output.templates import is_carried, printed
from btpy.output.values import ValueText, well_formed
from btpy.output.writer import Context, PerTemplate, ProbeError, Restraint

INFO = SeverityNumber.SEVERITY_NUMBER_INFO
WARN = SeverityNumber.SEVERITY_NUMBER_WARN
ERROR = SeverityNumber.SEVERITY_NUMBER_ERROR

_Converter = Callable[[Record], LogRecord]


class LogRecords:
    """Makes log records: the body of ``print`` and ``warn`` is their text; an ``emit`` is an event, whose attributes
    are its fields."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._attributes = RecordAttributes(context)
        self._text = ValueText(context.stacks, Style())
        self._converters = PerTemplate(context, self._converter)

    def of(self, record: Record) -> LogRecord | None:
        """None for spans, and for records that control the output only. Raises ProtocolError."""
        converter = self._converters[record.template]
        return None if converter is None else converter(record)

    def of_error(self, error: ProbeError) -> LogRecord:
        """The log record for an error in a probe."""
        line, column = error.span.source.position(error.span.start)
        return _log_record(
            ERROR,
            error.message or error.kind_name,
            "btpy.probe.error",
            [
                key_value("btpy.probe", error.probe),
                key_value("error.type", error.kind_name),
                key_value("btpy.error.count", error.count),
                key_value("btpy.script.position", f"{error.span.source.name}:{line}:{column}"),
            ],
        )

    def of_restraint(self, restraint: Restraint) -> LogRecord:
        """The log record for a step of the budget."""
        return _log_record(
            WARN,
            f"the budget restrains {restraint.probe}: {restraint.step}",
            "btpy.budget",
            [
                key_value("btpy.probe", restraint.probe),
                key_value("btpy.budget.step", restraint.step),
                key_value("btpy.budget.one_in", restraint.one_in),
                key_value("btpy.budget.used", restraint.taken),
                key_value("btpy.budget.limit", restraint.allowed),
            ],
        )

    def _converter(self, template: Template) -> _Converter | None:
        if template.is_span:
            return None
        if template.kind is TemplateKind.EMIT:
            fields = self._attributes.fields(template, template.parts)
            name = well_formed(template.name)
            return traced(template, lambda record: self._log_record(record, INFO, None, fields(record), name))
        if template.kind in (TemplateKind.PRINT, TemplateKind.WARN):
            severity = WARN if template.kind is TemplateKind.WARN else INFO
            text = printed(template, self._context, self._text, carried=False)
            fields = self._attributes.fields(template, tuple(filter(is_carried, template.parts)))
            return traced(
                template,
                lambda record: self._log_record(record, severity, text(record), fields(record), ""),
            )
        return None

    def _log_record(
        self, record: Record, severity: SeverityNumber.ValueType, body: str | None, fields: list[KeyValue], event: str
    ) -> LogRecord:
        nanos = unsigned(self._context.clock.wall(record.nanos))
        return _log_record(severity, body, event, [*fields, *self._attributes.place(record)], nanos)


_NAMES = {INFO: "INFO", WARN: "WARN", ERROR: "ERROR"}


def _log_record(
    severity: SeverityNumber.ValueType,
    body: str | None,
    event: str,
    attributes: list[KeyValue],
    nanos: int | None = None,
) -> LogRecord:
    """``nanos``: the time, ns since 1970; None: now, for a log record about btpy's own work."""
    now = time.time_ns()
    return LogRecord(
        time_unix_nano=now if nanos is None else nanos,
        observed_time_unix_nano=now,
        severity_number=severity,
        severity_text=_NAMES[severity],
        body=None if body is None else scalar(body),
        attributes=attributes,
        event_name=event,
    )
