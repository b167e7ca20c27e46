"""Text for people: the printed lines of scripts, events as ``name key=value``, maps as tables and histograms."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from btpy.events.aggregates import MapContent
from btpy.events.records import Record, StackRef, Value
from btpy.model.templates import Slot, Template, TemplateKind
from btpy.model.types import Kind
from btpy.output.maps import MapText
from btpy.output.stream import Stream
from btpy.output.style import Style
from btpy.output.tables import TableOptions
from btpy.output.templates import Lines, Renderer, ValueShown, are_the_values, named_values, of_values, printed_lines
from btpy.output.values import Format, ValueText, visible
from btpy.output.writer import Arity, Context, PerTemplate, Writer, slot_value


class TextWriter(Writer):
    """The ``text`` format. Errors, losses and the summary are not script output, so the command line prints them."""

    def __init__(self, stream: Stream, context: Context, style: Style) -> None:
        self._stream = stream
        self._style = style
        self._prefix = style.dim(" ".join(map(str, context.source))) + "  " if context.source else ""
        self._lines = RecordText(context, style)
        self._maps = MapText(ValueText(context.stacks, style), style)

    def records(self, records: Sequence[Record]) -> None:
        texts = self._lines.texts(records)
        self._stream.write_all([self._prefixed(lines) for lines in texts] if self._prefix else texts)

    def map(self, content: MapContent, template: Template | None, nanos: int | None) -> None:
        for line in table_lines(self._maps, (content,), template):
            self._stream.write(f"{self._prefix}{line}\n")

    def joined(self, contents: Sequence[MapContent], template: Template, nanos: int) -> None:
        for line in table_lines(self._maps, contents, template):
            self._stream.write(f"{self._prefix}{line}\n")

    def note(self, text: str) -> None:
        note = self._style.dim(f"{self._style.ellipsis} {text}")
        self._stream.write(f"{self._prefix}{note}\n")

    def _prefixed(self, lines: str) -> str:
        return "".join(f"{self._prefix}{line}\n" for line in lines.splitlines())


def table_lines(maps: MapText, contents: Sequence[MapContent], template: Template | None) -> list[str]:
    """The lines of ``print(@m)``, ``plot(@m)`` or ``table(…)``; ``template`` is None for a map that btpy prints by
    default."""
    options = TableOptions.of(template)
    if template is not None and template.kind is TemplateKind.TABLE:
        return maps.joined(contents, options)
    plot = template is not None and template.kind is TemplateKind.PLOT
    return [line for content in contents for line in maps.lines(content, options, plot=plot)]


_MAY_BE_STACKS = (Kind.STACK, Kind.ANY)


class RecordText:
    """The lines of records, each template compiled once."""

    def __init__(self, context: Context, style: Style) -> None:
        self._context = context
        self._style = style
        self._values = ValueText(context.stacks, style)
        self._lines = PerTemplate(context, self._compile)

    def texts(self, records: Sequence[Record]) -> list[str]:
        """Like :meth:`text`, for many records."""
        lines = self._lines
        if len({record[0] for record in records}) == 1:
            return lines[records[0].template].each(records)
        return [lines[record[0]].one(record) for record in records]

    def text(self, record: Record) -> str:
        """The text with line ends; empty for records that are not shown. Raises ProtocolError."""
        return self._lines[record.template].one(record)

    def _compile(self, template: Template) -> Lines:
        if template.kind is TemplateKind.PRINT:
            return printed_lines(template, self._context, self._values, "\n")
        if template.kind is TemplateKind.EMIT:
            return self._event(template)
        return Lines.of(lambda record: "")

    def _event(self, template: Template) -> Lines:
        """``quote sku=SKU-1 took=12.3ms``; stacks follow on separate lines."""
        slots = [part for part in template.parts if isinstance(part, Slot)]
        name = self._style.bold(visible(template.name))
        arity = Arity.of(template)
        getters = [(visible(slot.label or "value"), self._field(slot)) for slot in slots]

        def render(record: Record) -> str:
            arity.check(record)
            line = name
            below = ""
            for label, get in getters:
                text, is_stack = get(record)
                if is_stack:
                    below += f"  {label}:\n{text}\n"
                else:
                    line += f" {label}={text}"
            return f"{line}\n{below}"

        return self._line(name, slots, render) if are_the_values(slots) else Lines.of(render)

    def _line(self, name: str, slots: Sequence[Slot], any_event: Renderer) -> Lines:
        """The fast path for most events: no value is a stack, so one pass over the values is enough."""
        labels = [f" {visible(slot.label or 'value')}=" for slot in slots]
        shows = [ValueShown.of(slot, _quoting(self._values.slot(slot)), _needs_no_quotes) for slot in slots]
        before, *between = [name, *labels]
        texts = [before + between[0], *between[1:], "\n"] if between else [f"{before}\n"]
        lines = of_values(texts, shows, any_event)
        if not any(slot.type.kind in _MAY_BE_STACKS for slot in slots):
            return lines
        return Lines.of(lambda record: any_event(record) if StackRef in map(type, record.values) else lines.one(record))

    def _field(self, slot: Slot) -> Callable[[Record], tuple[str, bool]]:
        """The text of a field, and whether it is a stack."""
        show = _quoting(self._values.slot(slot))

        def get(record: Record) -> tuple[str, bool]:
            if slot.named:
                return f"{{{named_values(record, slot, self._values.inner, self._context.outline.redact)}}}", False
            value = slot_value(self._context, record, slot)
            return show(value), isinstance(value, StackRef)

        return get


_is_visible = re.compile(r'[^ "=]+').fullmatch


def _needs_no_quotes(text: str) -> bool:
    return text.isprintable() and _is_visible(text) is not None


def _quoting(format_: Format) -> Format:
    """Strings get quotes if their end would not be visible."""

    def show(value: Value) -> str:
        text = format_(value)
        if type(value) is str and not _is_visible(text):
            escaped = text.replace('"', '\\"')
            return f'"{escaped}"'
        return text

    return show
