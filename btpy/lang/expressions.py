"""One expression of the syntax → the typed expression."""

from __future__ import annotations

from btpy.lang import program, syntax
from btpy.lang.attachments import not_compiled
from btpy.lang.builtins import FUNCTIONS, Group
from btpy.lang.calls import call_value
from btpy.lang.context import Context
from btpy.lang.conversions import condition, literal
from btpy.lang.diagnostics import Diagnostic, Label
from btpy.lang.faults import FaultError
from btpy.lang.loops import list_display, quantified
from btpy.lang.maps import map_query, map_value
from btpy.lang.membership import membership
from btpy.lang.navigation import element_value, field_value, method_call
from btpy.lang.operators import instance_of, join, operation, prefix
from btpy.lang.program import Expr
from btpy.lang.types import STRING
from btpy.lang.variables import resolve, target_variable


def value(context: Context, tree: syntax.Expression) -> Expr:
    """The typed expression; never of type VOID."""
    span = tree.span
    match tree:
        case syntax.Literal():
            return literal(tree)
        case syntax.FormattedString():
            return _text(context, tree)
        case syntax.Name():
            return resolve(context, tree)
        case syntax.TargetVariable():
            return target_variable(context, tree)
        case syntax.MapReference():
            return map_value(context, tree)
        case syntax.Call():
            function = FUNCTIONS.get(tree.function.text)
            if function is not None and function.group is Group.MAPS and not function.statement:
                return map_query(context, tree, function)
            return call_value(context, tree)
        case syntax.Field():
            return field_value(context, tree)
        case syntax.Index():
            return element_value(context, tree)
        case syntax.Prefix():
            return prefix(context, tree)
        case syntax.Binary():
            return operation(context, tree)
        case syntax.Conditional():
            test = condition(context, tree.test, "`?`")
            then, otherwise = context.value(tree.then), context.value(tree.otherwise)
            joined, left, right = join(context, then, otherwise, tree.then, tree.otherwise)
            return program.Conditional(joined, span, test, left, right)
        case syntax.InstanceOf():
            return instance_of(context, tree)
        case syntax.Membership():
            return membership(context, tree)
        case syntax.MethodCall():
            raise FaultError(method_call(tree))
        case syntax.ThreadVariable():
            raise FaultError(not_compiled("`thread`", span))
        case syntax.Cast():
            raise FaultError(not_compiled("`as`", tree.type.span))
        case syntax.Quantified():
            return quantified(context, tree)
        case syntax.ListDisplay():
            return list_display(context, tree)
        case syntax.Range():
            raise FaultError(
                Diagnostic(
                    "BT108",
                    "a range is not one value",
                    Label(span),
                    help=(f"for i in {span.text} {{ }} and x in [{span.text}] work",),
                )
            )


def _text(context: Context, tree: syntax.FormattedString) -> Expr:
    parts: list[str | Expr] = []
    for part in tree.parts:
        if isinstance(part, str):
            parts.append(part)
            continue
        if part.format:
            raise FaultError(not_compiled("a format in an f-string that is not printed", part.span))
        parts.append(context.value(part.value))
    if all(isinstance(part, str) for part in parts):
        return program.Constant(STRING, tree.span, "".join(str(part) for part in parts))
    return program.Text(STRING, tree.span, tuple(parts))
