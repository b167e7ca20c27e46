"""Stacks with a weight: the ``folded`` format, which flame graph tools read (one line for each stack), and the data of
flame graphs.

    com.acme.Server.run;com.acme.Orders.place;com.acme.Prices.quote 204

Maps with a stack among their keys give stacks: the weight is the count, or the sum of a distribution. Each event with
a stack counts as one. The other keys of a map are the outermost frames. If there are several sources, the name of each
is the root of its stacks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from btpy.errors import UsageError
from btpy.events.aggregates import Aggregate, Average, Histogram, Key, LinearHistogram, MapContent, Number, Stats
from btpy.events.records import Record, StackRef, Value
from btpy.events.stacks import StackTable
from btpy.model.outline import Outline
from btpy.model.templates import Slot, Template, TemplateKind
from btpy.model.types import Kind
from btpy.output.ranges import skip_notes
from btpy.output.stream import Stream
from btpy.output.style import Style
from btpy.output.values import ValueText, visible
from btpy.output.writer import Context, PerTemplate, Writer

Frames = tuple[str, ...]


def check_stacks(outline: Outline, format_: str) -> None:
    """Raises UsageError for a program that gives no stacks."""
    if not outline.maps and not any(_stack_slots(template) for template in outline.templates):
        raise UsageError(
            f"the script prints no stacks, which {format_} needs",
            help=['@stacks[stack(30)] = count()   or   emit("name", at=stack(30))'],
        )


class Stacks:
    """Collects the stacks and their counts. Outermost frames first, without lines. Estimated weights get an extra frame
    that says so, because these formats have no other place for it.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._text = ValueText(context.stacks, Style())
        self._maps: dict[str, Counter[Frames]] = {}
        self._events: dict[str, Counter[Frames]] = {}
        self._slots = PerTemplate(context, self._name_and_slots)

    def record(self, record: Record) -> None:
        name, slots = self._slots[record.template]
        for at in slots:
            value = record.values[at] if at < len(record.values) else None
            if isinstance(value, StackRef):
                frames = folded(value, self._context.stacks)
                if frames:
                    self._events.setdefault(name, Counter())[frames] += 1

    def map(self, content: MapContent) -> None:
        """The latest content of a map counts, because it includes the earlier contents."""
        stacks: Counter[Frames] = Counter()
        for key, value in content.entries:
            frames = self._key(key)
            if frames:
                stacks[frames] += max(0, round(_weight(value)))
        if stacks and content.skips is not None:
            note = visible(skip_notes(content, Style())[0])
            stacks = Counter({(note, *frames): weight for frames, weight in stacks.items()})
        if stacks:
            self._maps[content.map.title] = stacks

    def weights(self) -> Counter[Frames]:
        """The weights of all sources, by frames."""
        sources = {**self._events, **self._maps}
        if len(sources) == 1:
            return next(iter(sources.values()))
        totals: Counter[Frames] = Counter()
        for name, stacks in sources.items():
            for frames, weight in stacks.items():
                totals[visible(name), *frames] += weight
        return totals

    def _name_and_slots(self, template: Template) -> tuple[str, tuple[int, ...]]:
        return template.name or self._context.outline.probes[template.probe].name, _stack_slots(template)

    def _key(self, key: Key) -> Frames:
        """Empty: the event has no stack."""
        stacks = [component for component in key if isinstance(component, StackRef)]
        if not stacks:
            return ()
        others = [self._text.show(component) for component in key if not isinstance(component, StackRef)]
        return (*others, *[frame for stack in stacks for frame in folded(stack, self._context.stacks)])


class FoldedWriter(Writer):
    def __init__(self, stream: Stream, context: Context) -> None:
        check_stacks(context.outline, "folded")
        self._stream = stream
        self._stacks = Stacks(context)

    def records(self, records: Sequence[Record]) -> None:
        for record in records:
            self._stacks.record(record)

    def map(self, content: MapContent, template: Template | None, nanos: int | None) -> None:
        self._stacks.map(content)

    def close(self) -> None:
        for frames, weight in sorted(self._stacks.weights().items()):
            if weight:
                self._stream.write(f"{';'.join(frame.replace(';', ':') for frame in frames)} {weight}\n")


def folded(stack: StackRef, stacks: StackTable) -> Frames:
    """The frames of a stack, outermost first. Recursion is not shortened. Empty: the stack was not recorded."""
    frames = stacks.frames(stack.id) or ()
    return tuple(visible(f"{frame.class_name}.{frame.method}") for frame in reversed(frames))


def _stack_slots(template: Template) -> tuple[int, ...]:
    if template.kind is not TemplateKind.EMIT and template.kind is not TemplateKind.PRINT:
        return ()
    return tuple(
        part.value
        for part in template.parts
        if isinstance(part, Slot) and isinstance(part.value, int) and part.type.kind is Kind.STACK
    )


def _weight(value: Aggregate | Value) -> Number:
    number: Number
    if isinstance(value, Stats | Histogram | LinearHistogram):
        number = value.total
    elif isinstance(value, Average):
        number = value.number * value.n if value.n else 0
    elif isinstance(value, Aggregate):
        attribute = getattr(value, "number", 0)
        number = attribute if isinstance(attribute, int | float) else 0
    else:
        number = value if isinstance(value, int | float) else 0
    return number if number == number and abs(number) != float("inf") else 0
