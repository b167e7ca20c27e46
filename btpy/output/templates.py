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


class Lines(NamedTuple):
    """The text of a record, and the texts of many records."""

    one: Renderer
    each: Callable[[Sequence[Record]], list[str]]

    @staticmethod
    def of(one: Renderer) -> Lines:
        return Lines(one, lambda records: [one(record) for record in records])


def printed(
    template: Template, context: Context, values: ValueText, end: str = "", *, carried: bool = True
) -> Renderer:
    """The function for one record of :func:`printed_lines`."""
    return printed_lines(template, context, values, end, carried=carried).one


def printed_lines(
    template: Template, context: Context, values: ValueText, end: str = "", *, carried: bool = True
) -> Lines:
    """The functions for the texts of PRINT records: one line each, followed by ``end``. ``carried``: whether the line
    shows the values of ``--with``.

    The functions raise ProtocolError when a record does not have the values of the template.
    """
    texts = [""]  # before, between and after the slots
    slots: list[tuple[Slot, Format]] = []
    parts = [part for part in template.parts if carried or not is_carried(part)]
    for index, part in enumerate(parts):
        if isinstance(part, str):
            texts[-1] += part
            continue
        following = parts[index + 1] if index + 1 < len(parts) else "\n"
        if is_carried(part):
            texts[-1] += f" {visible(part.label or '')}="
        fresh_line = (not slots and not texts[-1]) or texts[-1].endswith("\n")
        ends_line = isinstance(following, str) and following.startswith("\n")
        slots.append((part, _shown(part, values, fresh_line=fresh_line, ends_line=ends_line)))
        texts.append("")
    texts[-1] += end
    pattern = "%s".join([text.replace("%", "%%") for text in texts])
    arity = Arity.of(template)
    getters = [_getter(slot, show, context, values) for slot, show in slots]

    def render(record: Record) -> str:
        arity.check(record)
        return pattern % tuple([get(record) for get in getters])

    if are_the_values([slot for slot, _ in slots]) and len(parts) == len(template.parts):
        return of_values(texts, [ValueShown.of(slot, show, str.isprintable) for slot, show in slots], render)
    return Lines.of(render)


class ValueShown(NamedTuple):
    """How a line shows a value. ``integer`` gives the text of an integer; None: ``show`` does that, too. A printable
    string is shown as it is if it ``is_verbatim``; None: it never is. ``show`` gives the text of all other values.
    """

    integer: Callable[[int], str] | None
    is_verbatim: Callable[[str], object] | None
    show: Format

    @staticmethod
    def of(slot: Slot, show: Format, is_verbatim: Callable[[str], object]) -> ValueShown:
        if slot.format or slot.time:
            return ValueShown(None, None, show)
        return ValueShown(integers(slot.type.kind), is_verbatim, show)


def of_values(texts: Sequence[str], values: Sequence[ValueShown], otherwise: Renderer) -> Lines:
    """Functions that put the values of a record between ``texts``. ``otherwise`` is called for records with another
    number of values.

    The functions have an expression for each value. This takes half of the time that a call for each value takes. Their
    source has only names and numbers; no text of a script gets into it.
    """
    namespace: dict[str, object] = {"otherwise": otherwise, "text0": texts[0]}
    names, line = [], "{text0}"
    for index, value in enumerate(values):
        name, expression = f"v{index}", f"show{index}(v{index})"
        namespace[f"show{index}"] = value.show
        if value.is_verbatim is not None:
            namespace[f"is_verbatim{index}"] = value.is_verbatim
            test = f"{name}.isprintable()" if value.is_verbatim is str.isprintable else f"is_verbatim{index}({name})"
            expression = f"{name} if type({name}) is str and {test} else {expression}"
        if value.integer is not None:
            integer = (
                name if value.integer is str else f"integer{index}({name})"
            )  # an f-string also converts an integer
            namespace[f"integer{index}"] = value.integer
            expression = f"{integer} if type({name}) is int else {expression}"
        namespace[f"text{index + 1}"] = texts[index + 1]
        names.append(name)
        line += f"{{{expression}}}{{text{index + 1}}}"
    values_of_record = "".join(f"{name}, " for name in names)
    lines = [
        "def one(record):",
        "    values = record[-1]",
        f"    if len(values) != {len(values)}: return otherwise(record)",
        *([f"    {values_of_record} = values"] if names else []),
        f'    return f"{line}"',
        "def each(records):",
        "    try:",
        f'        return [f"{line}" for _, _, _, _, _, _, ({values_of_record}) in records]',
        "    except ValueError:",
        "        return [one(record) for record in records]",
    ]
    exec("\n".join(lines), namespace)
    return Lines(namespace["one"], namespace["each"])  # type: ignore[arg-type]


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
        return lambda record: named_values(record, slot, inner, redact)
    if slot.rest:
        return lambda record: ", ".join([format_(value) for value in record.values[where:]])
    return lambda record: show(slot_value(context, record, slot))


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


def named_values(record: Record, slot: Slot, show: Format, redact: bool) -> str:
    """The rest of a record, names and values, as ``name=value, …``. Raises ProtocolError."""
    return ", ".join([f"{visible(name)}={show(value)}" for name, value in pairs(record, slot, redact)])


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
