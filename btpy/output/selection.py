"""Selects the output of some probes, events and maps by name."""

from __future__ import annotations

from collections.abc import Sequence

from btpy.errors import UsageError
from btpy.events.aggregates import MapContent
from btpy.events.records import Record
from btpy.model.outline import Outline
from btpy.model.templates import Template, TemplateKind
from btpy.output.writer import Attached, Context, End, Loss, ProbeError, Restraint, Writer, template_of


class Selection(Writer):
    """Passes on the named output: of a probe, an event, or a map (``@name``)."""

    def __init__(self, writer: Writer, context: Context, names: frozenset[str]) -> None:
        self._writer = writer
        self._context = context
        self._names = names

    def attached(self, attached: Attached) -> None:
        self._writer.attached(attached)

    def records(self, records: Sequence[Record]) -> None:
        selected = [record for record in records if self._wants(template_of(self._context, record.template))]
        if selected:
            self._writer.records(selected)

    def map(self, content: MapContent, template: Template | None, nanos: int | None) -> None:
        if content.map.title in self._names or (template is not None and self._is_of_probe(template)):
            self._writer.map(content, template, nanos)

    def joined(self, contents: Sequence[MapContent], template: Template, nanos: int) -> None:
        if self._is_of_probe(template) or any(content.map.title in self._names for content in contents):
            self._writer.joined(contents, template, nanos)

    def note(self, text: str) -> None:
        self._writer.note(text)

    def probe_error(self, error: ProbeError) -> None:
        if error.probe in self._names:
            self._writer.probe_error(error)

    def lost(self, loss: Loss) -> None:
        if loss.probe in self._names:
            self._writer.lost(loss)

    def restrained(self, restraint: Restraint) -> None:
        if restraint.probe in self._names:
            self._writer.restrained(restraint)

    def end(self, end: End) -> None:
        self._writer.end(end)

    def close(self) -> None:
        self._writer.close()

    def _wants(self, template: Template) -> bool:
        return (template.kind is TemplateKind.EMIT and template.name in self._names) or self._is_of_probe(template)

    def _is_of_probe(self, template: Template) -> bool:
        return self._context.outline.probes[template.probe].name in self._names


def check_names(names: frozenset[str], outline: Outline) -> None:
    """Raises UsageError for a name that no probe, event or map of the program has."""
    probes = [probe.name for probe in outline.probes]
    events = [template.name for template in outline.templates if template.kind is TemplateKind.EMIT]
    maps = [map_.title for map_ in outline.maps]
    all_names = dict.fromkeys([*probes, *events, *maps])
    for name in sorted(names):
        if name not in all_names:
            raise UsageError(
                f"--only {name}: no probe, event or map of the script has that name",
                help=["there are: " + ", ".join(all_names)],
            )
