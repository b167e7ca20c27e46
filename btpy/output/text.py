"""Text for people: what scripts print, events as ``name key=value``, maps as tables and histograms."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from btpy.events.aggregates import MapContent
from btpy.events.records import Record, StackRef
from btpy.lang.program import SiteFact, Slot, Template, TemplateKind
from btpy.output.maps import MapText
from btpy.output.stream import Stream
from btpy.output.style import Style
from btpy.output.tables import TableOptions
from btpy.output.templates import Renderer, named_values, printed
from btpy.output.values import ValueText, visible
from btpy.output.writer import Arity, Attached, Context, End, Loss, ProbeError, site_fact, slot_value, template_of


class TextWriter:
    """The ``text`` format. Errors, losses and the summary are not script output: the command line prints those."""

    def __init__(self, stream: Stream, context: Context, style: Style) -> None:
        self._stream = stream
        self._style = style
        self._lines = RecordText(context, style)
        self._maps = MapText(ValueText(context.stacks, style), style)

    def attached(self, attached: Attached) -> None:
        pass

    def records(self, records: Sequence[Record]) -> None:
        text = self._lines.text
        write = self._stream.write
        for record in records:
            write(text(record))

    def map(self, content: MapContent, template: Template | None, nanos: int | None) -> None:
        for line in table_lines(self._maps, (content,), template):
            self._stream.write(line + "\n")

    def joined(self, contents: Sequence[MapContent], template: Template, nanos: int) -> None:
        for line in table_lines(self._maps, contents, template):
            self._stream.write(line + "\n")

    def note(self, text: str) -> None:
        self._stream.write(self._style.dim(f"{self._style.ellipsis} {text}") + "\n")

    def probe_error(self, error: ProbeError) -> None:
        pass

    def lost(self, loss: Loss) -> None:
        pass

    def end(self, end: End) -> None:
        pass

    def close(self) -> None:
        pass


def table_lines(maps: MapText, contents: Sequence[MapContent], template: Template | None) -> list[str]:
    """The lines of ``print(@m)``, ``plot(@m)`` or ``table(…)``; ``template`` None: of a map that nobody asked for."""
    options = TableOptions.of(template)
    if template is not None and template.kind is TemplateKind.TABLE:
        return maps.joined(contents, options)
    plot = template is not None and template.kind is TemplateKind.PLOT
    return [line for content in contents for line in maps.lines(content, options, plot=plot)]


class RecordText:
    """The lines of records, each template compiled once."""

    def __init__(self, context: Context, style: Style) -> None:
        self._context = context
        self._style = style
        self._values = ValueText(context.stacks, style)
        self._renderers: dict[int, Renderer] = {}

    def text(self, record: Record) -> str:
        """With the line ends; nothing for what is not to be seen. Raises ProtocolError."""
        renderer = self._renderers.get(record.template)
        if renderer is None:
            renderer = self._renderers[record.template] = self._compile(template_of(self._context, record))
        return renderer(record)

    def _compile(self, template: Template) -> Renderer:
        if template.kind is TemplateKind.PRINT:
            return printed(template, self._context, self._values, "\n")
        if template.kind is TemplateKind.EMIT:
            return self._event(template)
        return lambda record: ""

    def _event(self, template: Template) -> Renderer:
        """``quote sku=SKU-1 took=12.3ms``; stacks below, on lines of their own."""
        slots = [part for part in template.parts if isinstance(part, Slot)]
        getters = [(visible(slot.label or "value"), self._field(slot)) for slot in slots]
        name = self._style.bold(visible(template.name))
        arity = Arity.of(template)

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

        return render

    def _field(self, slot: Slot) -> Callable[[Record], tuple[str, bool]]:
        """The text of a field, and whether it is a stack."""
        where = slot.value
        format_ = self._values.slot(slot)

        def get(record: Record) -> tuple[str, bool]:
            if slot.named and isinstance(where, int):
                redact = self._context.outline.redact
                return f"{{{named_values(record, where, self._values.inner, redact)}}}", False
            if slot.rest and isinstance(where, int):
                return f"[{', '.join([self._values.inner(value) for value in record.values[where:]])}]", False
            value = site_fact(self._context, record, where) if isinstance(where, SiteFact) else slot_value(record, slot)
            text = format_(value)
            if isinstance(value, str) and (not text or any(char in text for char in ' "=')):
                escaped = text.replace('"', '\\"')
                return f'"{escaped}"', False
            return text, isinstance(value, StackRef)

        return get
