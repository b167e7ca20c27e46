"""The output of a run for OpenTelemetry: the events and maps of one target become log records, spans and metrics."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from btpy.distribution import version
from btpy.events.accounts import ProbeAccount
from btpy.events.aggregates import MapContent
from btpy.events.records import Record
from btpy.model.outline import Outline
from btpy.model.templates import Template
from btpy.output.origin import Origin
from btpy.output.otlp.attributes import Values, key_value
from btpy.output.otlp.exporter import Exporter
from btpy.output.otlp.logs import LogRecords
from btpy.output.otlp.metrics import Metrics
from btpy.output.otlp.resource import resource_of
from btpy.output.otlp.spans import Spans
from btpy.output.writer import Context, End, ExportWriter, ProbeError, Restraint

_HASH_DIGITS = 16


class OtlpWriter(ExportWriter):
    """Passes everything to the exporter, which other writers share."""

    def __init__(self, exporter: Exporter, context: Context, origin: Origin) -> None:
        self._exporter = exporter
        self._context = context
        self._resource = resource_of(origin)
        self._scope = scope_of(context.outline)
        self._logs = LogRecords(context)
        self._spans = Spans(context)
        self._metrics = Metrics(
            self._resource,
            self._scope,
            context.outline,
            Values(context.stacks),
            exporter.settings.temporality,
            context.clock.wall_nanos,
        )
        exporter.add(self._metrics)

    def records(self, records: Sequence[Record]) -> None:
        for record in records:
            span = self._spans.of(record)
            log_record = self._logs.of(record)
            if span is not None:
                self._exporter.trace(self._resource, self._scope, span)
            if log_record is not None:
                self._log(log_record)

    def map(self, content: MapContent, template: Template | None, nanos: int | None) -> None:
        at = time.time_ns() if nanos is None else self._context.clock.wall(nanos)
        self._metrics.put(content, at, flushed=template is not None and content.map.id in template.flushed)

    def joined(self, contents: Sequence[MapContent], template: Template, nanos: int) -> None:
        for content in contents:
            self.map(content, template, nanos)

    def read(self, contents: Iterable[MapContent], accounts: Iterable[ProbeAccount], *, at_end: bool = False) -> None:
        for content in contents:
            self.map(content, None, None)
        self._metrics.count(accounts)

    def probe_error(self, error: ProbeError) -> None:
        self._log(self._logs.of_error(error))

    def restrained(self, restraint: Restraint) -> None:
        self._log(self._logs.of_restraint(restraint))

    def end(self, end: End) -> None:
        self._metrics.count(report.account for report in end.probes)

    def _log(self, log_record: LogRecord) -> None:
        self._exporter.log(self._resource, self._scope, log_record)


def scope_of(outline: Outline) -> InstrumentationScope:
    """The script, with a hash that tells its versions apart."""
    scope = InstrumentationScope(name="btpy", version=version())
    if outline.sources:
        script = outline.sources[0]
        scope.attributes.append(key_value("btpy.script.name", script.name))
        scope.attributes.append(key_value("btpy.script.hash", script.digest[:_HASH_DIGITS]))
    return scope
