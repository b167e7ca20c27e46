"""``thread.x``: values that a script keeps for the running thread.

A name is one variable for the whole script. As for maps, its type follows from all values stored in it. Numbers of one
type are stored as primitives, so adding to them allocates nothing. Other values are stored as in maps. Reading gives
null when the thread has no value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from btpy.lang import typed_tree
from btpy.lang.builtins import ON_TARGET
from btpy.lang.check.attachments import Report
from btpy.lang.check.context import Context
from btpy.lang.check.conversions import boxed, convert, may_be_number, mistyped, typed_null, widen
from btpy.lang.check.faults import FaultError, named
from btpy.lang.check.operators import binary
from btpy.lang.check.redaction import is_secret
from btpy.lang.hints import foreign_names
from btpy.lang.program import ThreadVariable
from btpy.lang.syntax import nodes
from btpy.lang.typed_tree import Expr, Statement
from btpy.model.diagnostics import Diagnostic, Fix, Label, did_you_mean, quote
from btpy.model.source import Span
from btpy.model.types import ANY, DOUBLE, LONG, STRING, Kind, Type

MOST = 32
"""Variables of one script."""


def thread_variables(
    trees: Sequence[nodes.Tree], earlier: Mapping[str, ThreadVariable], first: int, report: Report
) -> dict[str, ThreadVariable]:
    """The variables of ``earlier`` scripts, and all variables that are assigned somewhere, by name, in source
    order. New variables get indices from ``first`` on.
    """
    assigned: dict[str, nodes.ThreadVariable] = {}
    for tree in trees:
        for node in nodes.walk(tree):
            if isinstance(node, nodes.Assign | nodes.Step) and isinstance(node.target, nodes.ThreadVariable):
                assigned.setdefault(node.target.name, node.target)
    new = {name: target for name, target in assigned.items() if name not in earlier}
    for extra in list(new.values())[max(0, MOST - first) :][:1]:
        report(
            Diagnostic(
                "BT223",
                f"there are at most {MOST} thread variables",
                Label(extra.span, f"number {MOST + 1} of {first + len(new)}"),
                help=("keep values that belong together under one key of a map:  @name[tid] = …",),
            )
        )
    of = min(first + len(new), MOST)
    return {**earlier, **{name: ThreadVariable(index, name, ANY, of) for index, name in enumerate(new, first)}}


def typed(
    variables: Mapping[str, ThreadVariable], samples: Iterable[tuple[str, Type, bool]]
) -> dict[str, ThreadVariable]:
    """The thread variables with their types, which follow from all stored values."""
    types: dict[str, Type] = {}
    secrets: set[str] = set()
    for name, sample, secret in samples:
        if secret:
            secrets.add(name)
        if sample.kind is not Kind.NULL:
            type_ = _held(sample)
            types[name] = type_ if types.get(name, type_) == type_ else _joined(types[name], type_)
    return {
        name: replace(variable, type=types.get(name, ANY), secret=name in secrets)
        for name, variable in variables.items()
    }


def _held(sample: Type) -> Type:
    """The storage of a value of the type."""
    plain = replace(sample, nullable=False)
    return LONG if plain.kind is Kind.INT else plain


def _joined(one: Type, other: Type) -> Type:
    numbers = (Kind.LONG, Kind.DOUBLE)
    return DOUBLE if one.kind in numbers and other.kind in numbers else ANY


def is_number(type_: Type) -> bool:
    """Whether variables of the type are stored as primitive numbers."""
    return type_.kind in (Kind.LONG, Kind.DURATION, Kind.BYTES, Kind.DOUBLE)


def thread_value(context: Context, tree: nodes.ThreadVariable) -> Expr:
    variable = _find(context, tree)
    return typed_tree.ThreadValue(variable.type.or_null(), tree.span, variable)


def thread_assign(context: Context, target: nodes.ThreadVariable, tree: nodes.Assign) -> Statement:
    variable = _find(context, target)
    operator = tree.operator.text
    value = context.value(tree.value)
    context.thread_samples.append((target.name, value.type, is_secret(context, tree.value)))
    if operator == "=":
        return typed_tree.ThreadStore(variable, _held_as(context, variable, value, tree.value), target.span)
    if not may_be_number(value.type) and not (operator == "+=" and value.type.kind is Kind.STRING):
        raise FaultError(mistyped(context, value, tree.value, f"`{operator}` needs a number, not {named(value.type)}"))
    if operator in ("+=", "-=") and is_number(variable.type) and not value.type.is_reference:
        added = _held_as(context, variable, value, tree.value)
        if operator == "-=":
            added = typed_tree.Unary(added.type, added.span, "-", added)
        return typed_tree.ThreadAdd(variable, added, target.span)
    old = thread_value(context, target)
    start: int | str = "" if variable.type.kind is Kind.STRING or value.type.kind is Kind.STRING else 0
    nothing = typed_tree.Constant(STRING if start == "" else ANY, target.span, start)
    before = typed_tree.Coalesce(STRING if start == "" else ANY, target.span, boxed(old), boxed(nothing))
    number = typed_tree.Convert(variable.type, target.span, before) if is_number(variable.type) else before
    result = binary(context, operator[:-1], tree.operator, number, value, target, tree.value, tree.span)
    return typed_tree.ThreadStore(variable, _held_as(context, variable, result, tree.value), target.span)


def _held_as(context: Context, variable: ThreadVariable, value: Expr, tree: nodes.Expression) -> Expr:
    """A primitive if the value is certainly a number; otherwise a reference, which may be null."""
    if not is_number(variable.type) or value.type.is_reference:
        return boxed(typed_null(value))
    if value.type.is_numeric:
        return widen(value, DOUBLE if variable.type.kind is Kind.DOUBLE else LONG)
    return convert(context, value, variable.type, tree, f"`thread.{variable.name}`")


def _find(context: Context, tree: nodes.ThreadVariable) -> ThreadVariable:
    _require_target(context, tree.span, f"thread.{tree.name}")
    variable = context.threads.get(tree.name)
    if variable is None:
        written = foreign_names.OF_THREAD.get(tree.name)
        similar = did_you_mean(f"thread.{tree.name}", [f"thread.{name}" for name in context.threads])
        raise FaultError(
            Diagnostic(
                "BT101",
                f"unknown thread variable `thread.{tree.name}`",
                Label(tree.span, "never assigned"),
                help=similar if written is None else (f"for the thread write `{written}`",),
                notes=("thread variables: " + quote(context.threads),) if context.threads else (),
                fixes=() if written is None else (Fix(tree.span, written),),
            )
        )
    return variable


def clear_thread(context: Context, span: Span) -> Statement:
    _require_target(context, span, "clear_thread()")
    return typed_tree.ThreadClear()


def _require_target(context: Context, span: Span, name: str) -> None:
    for place in context.places:
        if place not in ON_TARGET:
            raise FaultError(
                Diagnostic(
                    "BT105",
                    f"`{name}` does not exist in {place.value}",
                    Label(span, "known on threads of the traced program"),
                    (context.location,) if context.location is not None else (),
                    help=("a value for all threads is kept in a map:  @name = …",),
                )
            )
