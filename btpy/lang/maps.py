"""Maps: what is stored, read and printed of them."""

from __future__ import annotations

from dataclasses import replace

from btpy.lang import program, syntax
from btpy.lang.attachments import not_compiled
from btpy.lang.builtins import (
    AGGREGATIONS,
    ORDERS,
    PRINT_MAP_OPTIONS,
    READABLE_KINDS,
    UNITS,
    Function,
    Parameter,
    Signature,
)
from btpy.lang.calls import match_arguments
from btpy.lang.context import Context
from btpy.lang.conversions import boxed, convert, may_be_number, mistyped, widen
from btpy.lang.diagnostics import Diagnostic, Label, did_you_mean, quote
from btpy.lang.faults import FaultError, arity, counted, named
from btpy.lang.program import Expr, Map, MapKind, Statement, TemplateKind, map_title
from btpy.lang.redaction import concealed
from btpy.lang.types import ANY, INT, LONG, Kind, Type


def store(context: Context, target: syntax.MapReference, tree: syntax.Assign) -> Statement:
    found, keys = map_and_keys(context, target)
    operator = tree.operator.text
    value = tree.value
    if operator == "=" and isinstance(value, syntax.Call) and value.function.text in AGGREGATIONS:
        return _aggregate(context, found, keys, value)
    typed = concealed(context, value, context.value(value)) if operator == "=" else context.value(value)
    context.samples.append((found.id, typed.type))
    if operator == "=":
        return program.MapStore(found.id, keys, boxed(typed))
    if not may_be_number(typed.type) and not (operator == "+=" and typed.type.kind is Kind.STRING):
        raise FaultError(mistyped(context, typed, value, f"`{operator}` needs a number, not {named(typed.type)}"))
    return program.MapAdd(found.id, keys, operator, boxed(typed))


def _aggregate(context: Context, found: Map, keys: tuple[Expr, ...], call: syntax.Call) -> Statement:
    rule = AGGREGATIONS[call.function.text]
    if not rule.compiled:
        raise FaultError(not_compiled(f"`{rule.name}()`", call.function.span))
    parameters = [Parameter("value", ANY)] if rule.sampled else []
    if rule.kind is MapKind.HIST:
        parameters.append(Parameter("k", INT, 2))
    arguments = match_arguments(context, call, rule.name, rule.synopsis, (Signature(tuple(parameters)),))[0]
    if not rule.sampled or arguments[0] is None:
        context.samples.append((found.id, LONG))
        return program.Aggregate(found.id, keys, None)
    value = context.value(arguments[0])
    if not may_be_number(value.type):
        raise FaultError(
            mistyped(context, value, arguments[0], f"`{rule.name}` takes numbers, not {named(value.type)}")
        )
    context.samples.append((found.id, value.type))
    if not value.type.is_reference and value.type.kind is not Kind.DOUBLE:
        value = widen(value, LONG)
    return program.Aggregate(found.id, keys, value)


def whole_map(context: Context, call: syntax.Call, function: Function) -> syntax.MapReference:
    if len(call.arguments) == 1 and isinstance(call.arguments[0].value, syntax.MapReference):
        reference = call.arguments[0].value
        if not reference.keys:
            return reference
        raise FaultError(
            Diagnostic(
                "BT108",
                f"`{function.name}` takes a whole map",
                Label(reference.span, "one key of it"),
                help=(
                    f"write {function.name}({map_title(reference.name)})",
                    f"one key is removed by:  delete {reference.span.text}",
                ),
            )
        )
    raise FaultError(arity(call, function.name, function.synopsis, 1, 1))


def print_map(context: Context, call: syntax.Call, reference: syntax.MapReference) -> Statement:
    found = find_map(context, reference)
    options: list[tuple[str, object]] = []
    for argument in call.arguments:
        if argument.name is None:
            continue
        key, value = argument.name.text, argument.value
        expected = PRINT_MAP_OPTIONS.get(key)
        if expected is None:
            raise FaultError(
                Diagnostic(
                    "BT107",
                    f"`print` of a map has no argument `{key}`",
                    Label(argument.name.span),
                    help=did_you_mean(key, PRINT_MAP_OPTIONS),
                    notes=("arguments: " + quote(f"{name}=" for name in PRINT_MAP_OPTIONS),),
                )
            )
        options.append((key, _option(found, argument.name, value, expected)))
    template = context.new_template(TemplateKind.MAP, (), "", found.id, tuple(options))
    return program.PrintMap(template, found.id)


def _option(found: Map, key: syntax.Identifier, value: syntax.Expression, expected: str) -> object:
    constant = value.value if isinstance(value, syntax.Literal) else None
    fits = {
        "integer": isinstance(constant, int) and not isinstance(constant, bool) and constant > 0,
        "string": isinstance(constant, str),
        "boolean": isinstance(constant, bool),
        "number": isinstance(constant, int | float) and not isinstance(constant, bool),
    }[expected]
    if not fits:
        raise FaultError(Diagnostic("BT107", f"`{key.text}` takes a constant {expected}", Label(value.span)))
    known: tuple[str, ...] = {"by": ORDERS[found.kind], "unit": UNITS}.get(key.text, ())
    if known and constant not in known:
        what = f"a `{found.kind.value}` map has no `{constant}`" if key.text == "by" else f"unknown unit `{constant}`"
        raise FaultError(
            Diagnostic(
                "BT107", what, Label(value.span), help=did_you_mean(str(constant), known), notes=(quote(known, 20),)
            )
        )
    return constant


def find_map(context: Context, reference: syntax.MapReference) -> Map:
    found = context.maps.get(reference.name)
    if found is None:
        raise FaultError(
            Diagnostic(
                "BT109",
                f"unknown map `{map_title(reference.name)}`",
                Label(reference.name_span, "never assigned"),
                help=did_you_mean(f"{map_title(reference.name)}", [map_title(name) for name in context.maps]),
                notes=("maps: " + quote(map_title(name) for name in context.maps),) if context.maps else (),
            )
        )
    return found


def map_and_keys(context: Context, reference: syntax.MapReference) -> tuple[Map, tuple[Expr, ...]]:
    found = find_map(context, reference)
    types = found.key_types if len(found.key_types) == len(reference.keys) else (ANY,) * len(reference.keys)
    return found, tuple(_key(context, key, type_) for key, type_ in zip(reference.keys, types, strict=True))


def _key(context: Context, tree: syntax.Expression, declared: Type = ANY) -> Expr:
    value = concealed(context, tree, context.value(tree))
    if declared.kind is not Kind.ANY:
        value = convert(context, value, declared.or_null(), tree, "this key")
    kind = value.type.kind
    if value.type.is_reference:
        return replace(value, type=ANY) if kind is Kind.NULL else value
    if kind is Kind.CHAR:
        return program.Convert(ANY, value.span, value)
    return widen(value, LONG) if kind is Kind.INT else value


def map_value(context: Context, tree: syntax.MapReference) -> Expr:
    found, keys = map_and_keys(context, tree)
    if found.keys != len(keys):
        raise FaultError(
            Diagnostic(
                "BT204",
                f"`{map_title(tree.name)}` has {counted(found.keys, 'key')}, here {len(keys)}",
                Label(tree.span),
                help=(f"all of it is printed by:  print({map_title(tree.name)})",) if not keys else (),
            )
        )
    if found.kind not in READABLE_KINDS:
        raise FaultError(
            Diagnostic(
                "BT108",
                f"a `{found.kind.value}` map has no single value",
                Label(tree.span, "cannot stand in an expression"),
                help=(f"print it:  print({map_title(tree.name)})",),
            )
        )
    return program.MapValue(ANY, tree.span, found.id, keys)
