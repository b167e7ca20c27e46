"""The attributes of a record: the values of its slots, its probe, its method and its thread.

Source: OpenTelemetry semantic conventions 1.37 for code and threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from btpy.events.records import Record
from btpy.model.templates import SiteFact, Slot, Template
from btpy.output.otlp.attributes import Values, key_value, scalar
from btpy.output.style import Style
from btpy.output.values import ValueText, well_formed
from btpy.output.writer import Arity, Context, pairs, site_fact, slot_value

Reader = Callable[[Record], list[KeyValue]]


class RecordAttributes:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._values = Values(context.stacks)
        self._text = ValueText(context.stacks, Style())
        self._places: dict[tuple[int, int], list[KeyValue]] = {}

    def place(self, record: Record) -> list[KeyValue]:
        """The probe, the method and the thread of a record."""
        key = record.probe, record.site
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = self._site(record)
        return [*place, key_value("thread.id", record.tid), key_value("thread.name", record.thread)]

    def _site(self, record: Record) -> list[KeyValue]:
        attributes = [key_value("btpy.probe", site_fact(self._context, record, SiteFact.PROBE))]
        if record.site in self._context.sites:
            site = self._context.sites[record.site]
            attributes.append(key_value("code.function.name", f"{site.class_name}.{site.method}"))
            if site.line > 0:
                attributes.append(key_value("code.line.number", site.line))
        return attributes

    def fields(self, template: Template, parts: Sequence[str | Slot]) -> Reader:
        """``parts``: the parts of the template that become attributes."""
        slots = [(well_formed(part.label or "value"), part) for part in parts if isinstance(part, Slot)]
        arity = Arity.of(template)

        def fields(record: Record) -> list[KeyValue]:
            arity.check(record)
            return [KeyValue(key=label, value=self._field(record, slot)) for label, slot in slots]

        return fields

    def _field(self, record: Record, slot: Slot) -> AnyValue:
        if slot.named:
            return self._values.members(pairs(record, slot, self._context.outline.redact))
        value = slot_value(self._context, record, slot)
        return scalar(self._text.slot(slot)(value)) if slot.time else self._values.any_value(value)
