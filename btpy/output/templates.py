"""Templates of ``print`` and ``printf``, compiled: a format string and a getter for each slot. If the slots are the
values of the record, unchanged and in order, one Python function formats all of them. This function is optimised,
because most lines are of this kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple, TypeGuard

from btpy.events.records import Record, StackRef, Value
from btpy.model.formats import MAX_WIDTH
from btpy.model.templates import SiteFact, Slot, Template
from btpy.output.style import Style
from btpy.output.values import Format, ValueText, integers, visible
from btpy.output.writer import Arity, Context, pairs, site_fact, slot_value

Renderer = Callable[[Record], str]


def printed(
    template: Template, context: Context, values: ValueText, end: str = "", *, carried: bool = True
) -> Renderer:
    """A function for the text of a PRINT record: one line, followed by ``end``. ``carried``: whether the line shows the
    values of ``--with``.

    The renderer raises ProtocolError when the record does not have the values of the template.
    """
    pattern = ""
    slots: list[tuple[Slot, Format]] = []
    parts = [part for part in template.parts if carried or not is_carried(part)]
    for index, part in enumerate(parts):
        if isinstance(part, str):
            pattern += part.replace("%", "%%")
            continue
        following = parts[index + 1] if index + 1 < len(parts) else "\n"
        if is_carried(part):
            pattern += f" {visible(part.label or '')}=".replace("%", "%%")
        fresh_line = not pattern or pattern.endswith("\n")
        ends_line = isinstance(following, str) and following.startswith("\n")
        slots.append((part, _shown(part, values, fresh_line=fresh_line, ends_line=ends_line)))
        pattern += "%s"
    pattern += end
    arity = Arity.of(template)
    getters = [_getter(slot, show, context, values) for slot, show in slots]

    def render(record: Record) -> str:
        arity.check(record)
        return pattern % tuple([get(record) for get in getters])

    if are_the_values([slot for slot, _ in slots]) and len(parts) == len(template.parts):
        return of_values(pattern, [ValueShown.of(slot, show, verbatim=True) for slot, show in slots], render)
    return render


class ValueShown(NamedTuple):
    """How a line shows a value. ``integer`` gives the text of an integer; None: ``show`` does that, too. ``verbatim``:
    printable strings are shown as they are. ``show`` gives the text of all other values.
    """

    integer: Callable[[int], str] | None
    verbatim: bool
    show: Format

    @staticmethod
    def of(slot: Slot, show: Format, *, verbatim: bool) -> ValueShown:
        if slot.format or slot.time:
            return ValueShown(None, False, show)
        return ValueShown(integers(slot.type.kind), verbatim, show)


def of_values(pattern: str, values: Sequence[ValueShown], otherwise: Renderer) -> Renderer:
    """A function that puts the values of a record into the ``%s`` of ``pattern``. ``otherwise`` is called for records
    with another number of values.

    The function has an expression for each value. This takes half of the time that a call for each value takes. Its
    source has only names and numbers; no text of a script gets into it.
    """
    namespace: dict[str, object] = {"pattern": pattern, "otherwise": otherwise}
    names, shown = [], []
    for index, value in enumerate(values):
        name, expression = f"v{index}", f"show{index}(v{index})"
        namespace[f"show{index}"] = value.show
        if value.verbatim:
            expression = f"{name} if type({name}) is str and {name}.isprintable() else {expression}"
        if value.integer is not None:
            integer = name if value.integer is str else f"integer{index}({name})"  # `%s` also converts an integer
            namespace[f"integer{index}"] = value.integer
            expression = f"{integer} if type({name}) is int else {expression}"
        names.append(name)
        shown.append(expression)
    lines = [
        "def render(record):",
        "    values = record[-1]",
        f"    if len(values) != {len(values)}: return otherwise(record)",
        *([f"    {', '.join(names)}, = values"] if names else []),
        f"    return pattern % ({''.join(f'{expression}, ' for expression in shown)})",
    ]
    exec("\n".join(lines), namespace)
    render: Renderer = namespace["render"]  # type: ignore[assignment]
    return render


def is_carried(part: str | Slot) -> TypeGuard[Slot]:
    """Whether the template shows a value of ``--with``."""
    return isinstance(part, Slot) and part.carried


def are_the_values(slots: Sequence[Slot]) -> bool:
    """Whether the slots show the values of a record unchanged and in order."""
    if [slot.value for slot in slots] != list(range(len(slots))):
        return False
    return not any(slot.rest or slot.named or slot.bare or slot.width is not None for slot in slots)


def warnings(context: Context, style: Style) -> Callable[[Template], Renderer]:
    """Makes a renderer for each template of ``warn``. The text has no line end."""
    renderers: dict[int, Renderer] = {}
    values = ValueText(context.stacks, style)

    def renderer(template: Template) -> Renderer:
        if template.id not in renderers:
            renderers[template.id] = printed(template, context, values)
        return renderers[template.id]

    return renderer


def _shown(slot: Slot, values: ValueText, *, fresh_line: bool, ends_line: bool) -> Format:
    """The function for the text of a slot's value, with line ends around a stack."""
    format_ = values.slot(slot)
    before = "" if fresh_line else "\n"
    after = "" if ends_line else "\n"

    def show(value: Value) -> str:
        if isinstance(value, StackRef):  # takes separate lines
            return f"{before}{values.show(value)}{after}"
        return format_(value)

    return show


def _getter(slot: Slot, show: Format, context: Context, values: ValueText) -> Renderer:
    if slot.width is not None:
        return _of_width(slot, slot.width, context, values)
    where = slot.value
    format_ = values.slot(slot)
    if isinstance(where, SiteFact):
        return _fact(where, context, format_)
    if slot.named:
        inner = format_ if slot.format else values.inner
        redact = context.outline.redact
        return lambda record: named_values(record, where, inner, redact)
    if slot.rest:
        return lambda record: ", ".join([format_(value) for value in record.values[where:]])
    return lambda record: show(slot_value(record, slot))


def _of_width(slot: Slot, width: int, context: Context, values: ValueText) -> Renderer:
    """A printf conversion whose width is value number ``width`` of the record; a negative width aligns to the left."""

    @lru_cache(maxsize=64)
    def renderer(columns: int) -> Renderer:
        sized = replace(slot, format=slot.format.replace("*", str(columns), 1), width=None)
        return _getter(sized, values.slot(sized), context, values)

    def get(record: Record) -> str:
        columns = record.values[width]
        return renderer(max(-MAX_WIDTH, min(columns, MAX_WIDTH)) if isinstance(columns, int) else 0)(record)

    return get


def named_values(record: Record, first: int, show: Format, redact: bool) -> str:
    """The rest of a record, names and values, as ``name=value, …``. Raises ProtocolError."""
    return ", ".join([f"{visible(name)}={show(value)}" for name, value in pairs(record, first, redact)])


def _fact(fact: SiteFact, context: Context, format_: Format) -> Renderer:
    """The fact of a record's site. Its text is made once for each site, because there are many more events than
    sites."""
    texts: dict[tuple[int, int], str] = {}

    def get(record: Record) -> str:
        key = record.site, record.probe
        text = texts.get(key)
        if text is None:
            text = texts[key] = format_(site_fact(context, record, fact))
        return text

    return get
