"""Fields and elements of objects of the traced program."""

from __future__ import annotations

import re

from btpy.lang import program, syntax
from btpy.lang.builtins import ENTRY_OF
from btpy.lang.context import Context
from btpy.lang.conversions import boxed, convert, reasons, typed_null
from btpy.lang.diagnostics import Diagnostic, Label
from btpy.lang.events import EVENT, event_value
from btpy.lang.faults import FaultError, named
from btpy.lang.program import Expr
from btpy.lang.source import Span
from btpy.lang.types import ANY, INT, LONG, Kind
from btpy.lang.variables import argument_value, call_argument_value, require, stands_for_all

_INSTEAD_OF_METHODS = {
    "length": "len",
    "size": "len",
    "contains": "contains",
    "startsWith": "startswith",
    "endsWith": "endswith",
    "toLowerCase": "lower",
    "toUpperCase": "upper",
    "trim": "trim",
    "strip": "trim",
    "substring": "substr",
    "name": "enum_name",
    "getMessage": "message",
    "getCause": "cause",
    "getClass": "typeof",
    "hashCode": "id",
}


def field_value(context: Context, tree: syntax.Field) -> Expr:
    if isinstance(tree.target, syntax.Name) and tree.target.text == EVENT:
        return event_value(context, tree)
    every = stands_for_all(context, tree.target)
    if every is not None:
        one = "args[0] or arg0" if every.name == "args" else "targs[0]"
        raise FaultError(_no_field(tree, f"`{every.name}` has no fields", (f"one argument is {one}",)))
    target = context.value(tree.target)
    kind = target.type.kind
    if kind is Kind.ARRAY and tree.name.text == "length":
        return program.BuiltinCall(INT.or_null(), tree.span, "len", (target,))
    if kind in (Kind.ANY, Kind.OBJECT, Kind.NULL):
        return program.FieldValue(ANY, tree.span, typed_null(target), tree.name.text)
    help_ = (f"write len({tree.target.span.text})",) if tree.name.text in ("length", "size") else ()
    raise FaultError(_no_field(tree, f"{named(target.type)} has no fields", help_, reasons(context, target)))


def _no_field(tree: syntax.Field, message: str, help_: tuple[str, ...], reasons: tuple[Label, ...] = ()) -> Diagnostic:
    return Diagnostic("BT201", message, Label(tree.name.span), reasons, help=help_)


def element_value(context: Context, tree: syntax.Index) -> Expr:
    every = stands_for_all(context, tree.target)
    if every is not None:
        require(context, every, tree.target.span)
        index = tree.index
        if isinstance(index, syntax.Literal) and index.kind is syntax.LiteralKind.INTEGER:
            argument = argument_value if every.name == "args" else call_argument_value
            return argument(context, int(index.value or 0), tree.span)
        raise FaultError(
            Diagnostic(
                "BT108",
                f"`{every.name}` takes a constant index",
                Label(index.span),
                help=(f"{every.name}[0]",),
            )
        )
    target = context.value(tree.target)
    if target.type.kind not in (Kind.ANY, Kind.OBJECT, Kind.ARRAY, Kind.NULL):
        help_ = ("one character:  substr(text, 0, 1)",) if target.type.kind is Kind.STRING else ()
        raise FaultError(
            Diagnostic(
                "BT201",
                f"{named(target.type)} cannot be indexed",
                Label(tree.target.span),
                reasons(context, target),
                help=help_,
            )
        )
    index_value = context.value(tree.index)
    if target.type.kind is not Kind.ARRAY and not index_value.type.is_numeric:
        return program.BuiltinCall(ANY, tree.span, ENTRY_OF, (typed_null(target), boxed(index_value)))
    element = target.type.element.or_null() if target.type.element is not None else ANY
    index_value = convert(context, index_value, LONG, tree.index, "an index")
    return program.ElementValue(element, tree.span, typed_null(target), index_value)


def method_call(tree: syntax.MethodCall) -> Diagnostic:
    method, target = tree.method.text, tree.target.span.text
    target = target if len(target) < 40 else "…"
    help_: list[str] = []
    function = _INSTEAD_OF_METHODS.get(method)
    getter = re.fullmatch(r"(?:get|is)([A-Z])(\w*)", method)
    if function is not None:
        more = "".join(f", {argument.span.text}" for argument in tree.arguments)
        help_.append(f"write {function}({target}{more})")
    elif getter is not None and not tree.arguments:
        field = getter.group(1).lower() + getter.group(2)
        help_.append(f"the value may be a field:  {target}.{field}")
    elif not tree.arguments:
        help_.append(f"the value may be a field:  {target}.{method}")
    return Diagnostic(
        "BT402",
        f"call to target method `{method}()` is not allowed in a probe",
        Label(Span(tree.span.source, tree.method.span.start, tree.span.end), "runs application code"),
        help=tuple(help_),
        notes=("fields are read without running code, private ones too",),
    )
