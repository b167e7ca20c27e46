"""``jfr(name, key=value, …)``: a typed event in the JFR recordings that run in the target.

JFR has a type for each event: its name and the types of its fields. The script alone determines
this type, so it is known before any class is known, and it is the same for all methods of a probe.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from btpy.lang import typed_tree
from btpy.lang.builtins import JFR
from btpy.lang.check.context import Context
from btpy.lang.check.conversions import convert
from btpy.lang.check.faults import FaultError, fault, named, with_article
from btpy.lang.check.printing import kind_of_event, named_arguments
from btpy.lang.check.redaction import is_secret
from btpy.lang.syntax import nodes
from btpy.lang.typed_tree import Expr, Statement
from btpy.model.diagnostics import Diagnostic, Label
from btpy.model.jfr import (
    IMPLICIT_FIELDS,
    MOST_CHARACTERS,
    MOST_EVENTS,
    MOST_FIELDS,
    OBJECTS,
    RESERVED_PREFIX,
    JfrEvent,
    JfrField,
)
from btpy.model.secrets import REDACTED
from btpy.model.source import Span
from btpy.model.types import BOOLEAN, STRING, Kind, Type

_EXAMPLE = 'jfr("com.acme.Order", took=duration)'
_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*", re.ASCII)
_NUMBERS = (Kind.BOOLEAN, Kind.CHAR, Kind.INT, Kind.LONG, Kind.DOUBLE, Kind.DURATION, Kind.BYTES)


def write_event(context: Context, call: nodes.Call) -> Statement:
    if context.speculation is not None:
        raise fault(
            "BT108",
            "a probe with `speculate` cannot write JFR events",
            Label(call.function.span, "JFR cannot take an event back"),
            (Label(context.speculation.span, "speculates"),),
            help=("write the event in another probe",),
        )
    name = kind_of_event(call, "the name of the event", _EXAMPLE)
    _check_name(name, call.arguments[0].span)
    arguments = named_arguments(call.arguments[1:], {})
    values = [(label, argument.value, context.value(argument.value)) for label, argument in arguments.items()]
    event = context.jfr_events.get(name)
    if event is None or context.shape is None:
        declared = JfrEvent(name, tuple(_field(context, *value) for value in values))
        _check_fields(declared, arguments)
        if event is not None and event != declared:
            raise FaultError(_other_fields(event, declared, call))
        if event is None and len(context.jfr_events) >= MOST_EVENTS:
            raise FaultError(_too_many(call.arguments[0].span))
        event = context.jfr_events[name] = declared
    fields = {field.name: field for field in event.fields}
    return typed_tree.WriteJfr(
        event, tuple(_converted(context, fields[label], tree, value) for label, tree, value in values)
    )


def running_events(events: Mapping[str, JfrEvent], trees: Iterable[nodes.Tree]) -> dict[str, JfrEvent]:
    """The events that these trees of probes write, by name. ``events``: all events of the program."""
    names = {name for tree in trees for name in _written(tree)} if events else set()
    return {name: event for name, event in events.items() if name in names}


def writes_events(trees: Iterable[nodes.Tree]) -> bool:
    return any(True for tree in trees for _ in _written(tree))


def _written(tree: nodes.Tree) -> Iterator[str]:
    """The names of the events that the ``jfr(…)`` statements of a tree write."""
    for call in nodes.calls(tree, JFR):
        name = call.arguments[0].value if call.arguments else None
        if isinstance(name, nodes.Literal) and isinstance(name.value, str):
            yield name.value


def _field(context: Context, label: str, tree: nodes.Expression, value: Expr) -> JfrField:
    """The field for a value. Raises FaultError for a value that JFR cannot write, or whose type is not known."""
    type_ = value.type
    if type_.kind in _NUMBERS:
        return JfrField(label, replace(type_, nullable=False))
    if type_.kind is Kind.STRING or (type_.kind is Kind.OBJECT and type_.class_name in OBJECTS):
        return JfrField(label, type_)
    text = tree.span.text
    written = text if len(text) < 30 and isinstance(tree, nodes.Name | nodes.TargetVariable | nodes.Field) else "…"
    unknown = type_.kind in (Kind.ANY, Kind.NULL, Kind.OBJECT)
    types = "string, double, boolean, duration, bytes, java.lang.Thread"
    example = f"name the type:  {label}={written} as long   ({types})"
    cast = (example,) if unknown else ()
    raise fault(
        "BT201",
        f"the type of `{label}` is not known" if unknown else f"JFR cannot write {with_article(type_)}",
        Label(tree.span, "known only when the probe fires" if unknown else named(type_)),
        help=(*cast, f'write a text:  {label}=f"{{{written}}}"'),
        notes=("each field of a JFR event has one type",),
    )


def _converted(context: Context, field: JfrField, tree: nodes.Expression, value: Expr) -> Expr:
    if context.permissions.redact and is_secret(context, tree):
        return _mask(field.type, tree.span)
    if field.type.kind is Kind.OBJECT:
        return value
    return convert(context, value, field.type, tree, f"`{field.name}`")


def _mask(type_: Type, place: Span) -> Expr:
    """A constant instead of a secret."""
    if type_.kind is Kind.STRING:
        return typed_tree.Constant(STRING, place, REDACTED)
    if type_.kind is Kind.OBJECT:
        return typed_tree.Constant(type_, place, None)
    if type_.kind is Kind.BOOLEAN:
        return typed_tree.Constant(BOOLEAN, place, False)
    return typed_tree.Constant(type_, place, 0.0 if type_.kind is Kind.DOUBLE else 0)


def _check_name(name: str, place: Span) -> None:
    if not _NAME.fullmatch(name) or len(name) > MOST_CHARACTERS:
        problem = "is not the name of a JFR event"
        label = f"identifiers of at most {MOST_CHARACTERS} characters in all, with dots between them"
    elif name.startswith(RESERVED_PREFIX):
        problem, label = "is a name for events of the JDK", "jdk. is reserved"
    else:
        return
    raise fault("BT107", f'"{name[:MOST_CHARACTERS]}" {problem}', Label(place, label), help=(_EXAMPLE,))


def _check_fields(event: JfrEvent, arguments: Mapping[str, nodes.Argument]) -> None:
    for label, argument in arguments.items():
        place = argument.span if argument.name is None else argument.name.span
        if label in IMPLICIT_FIELDS:
            other = IMPLICIT_FIELDS[label]
            raise fault(
                "BT102",
                f"JFR gives every event a field `{label}`",
                Label(place, "a field of every event"),
                help=(f"choose another name:  {other}={argument.value.span.text}",)
                if len(argument.value.span.text) < 40
                else (f"choose another name, such as {other}",),
            )
        if len(label) > MOST_CHARACTERS or not label.isascii():
            raise fault(
                "BT107",
                "this is not the name of a JFR field",
                Label(place, f"at most {MOST_CHARACTERS} ASCII characters"),
            )
    if len(event.fields) > MOST_FIELDS:
        last = list(arguments.values())[MOST_FIELDS]
        raise fault(
            "BT223", f"an event can have at most {MOST_FIELDS} values", Label(last.span, f"number {MOST_FIELDS + 1}")
        )


def _other_fields(event: JfrEvent, declared: JfrEvent, call: nodes.Call) -> Diagnostic:
    return Diagnostic(
        "BT203",
        f'the event "{event.name}" has other fields elsewhere',
        Label(call.span, f"here  {_described(declared)}"),
        help=(f"write the same fields in the same order:  {_described(event)}", "or choose another name"),
        notes=("a JFR event has one type",),
    )


def _described(event: JfrEvent) -> str:
    fields = ", ".join(f"{field.name}: {field.type}" for field in event.fields)
    return f"({fields})"


def _too_many(place: Span) -> Diagnostic:
    return Diagnostic(
        "BT223",
        f"there can be at most {MOST_EVENTS} types of JFR events",
        Label(place, f"number {MOST_EVENTS + 1}"),
        help=("use one type for several places, with a field that names the place:  what=method",),
    )
