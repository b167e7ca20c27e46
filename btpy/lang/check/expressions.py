"""One expression of the syntax → the typed expression."""

from __future__ import annotations

from btpy.lang import typed_tree
from btpy.lang.builtins import FUNCTIONS, Group
from btpy.lang.check.calls import call_value
from btpy.lang.check.context import Context
from btpy.lang.check.conversions import boxed, condition, literal, typed_null
from btpy.lang.check.faults import FaultError, fault
from btpy.lang.check.loops import list_display, quantified
from btpy.lang.check.maps import map_query, map_value
from btpy.lang.check.membership import membership
from btpy.lang.check.navigation import cast, element_value, field_value, method_call
from btpy.lang.check.operators import Operand, instance_of, join, operation, prefix
from btpy.lang.check.printing import check_format
from btpy.lang.check.redaction import concealed
from btpy.lang.check.scoped import scoped_value
from btpy.lang.check.variables import resolve, target_variable
from btpy.lang.syntax import nodes
from btpy.lang.typed_tree import Expr
from btpy.model.diagnostics import Diagnostic, Fix, Label
from btpy.model.formats import Specification, specification, unit
from btpy.model.types import STRING, Type


def value(context: Context, tree: nodes.Expression) -> Expr:
    """The typed expression; never of type VOID."""
    match tree:
        case nodes.Literal():
            return literal(tree)
        case nodes.FormattedString():
            return _text(context, tree)
        case nodes.Name():
            return resolve(context, tree)
        case nodes.TargetVariable():
            return target_variable(context, tree)
        case nodes.MapReference():
            return map_value(context, tree)
        case nodes.Call():
            function = FUNCTIONS.get(tree.function.text)
            if function is not None and function.group is Group.MAPS and not function.statement:
                return map_query(context, tree, function)
            return call_value(context, tree)
        case nodes.Field():
            return field_value(context, tree)
        case nodes.Index():
            return element_value(context, tree)
        case nodes.Prefix():
            return prefix(context, tree)
        case nodes.Binary():
            return operation(context, tree)
        case nodes.Conditional():
            return _conditional(context, tree)
        case nodes.InstanceOf():
            return instance_of(context, tree)
        case nodes.Membership():
            return membership(context, tree)
        case nodes.MethodCall():
            return method_call(context, tree)
        case nodes.ScopedVariable():
            return scoped_value(context, tree)
        case nodes.Cast():
            return cast(context, tree)
        case nodes.Quantified():
            return quantified(context, tree)
        case nodes.ListDisplay():
            return list_display(context, tree)
        case nodes.Range():
            raise FaultError(_no_value(tree))


def _conditional(context: Context, tree: nodes.Conditional) -> Expr:
    test = condition(context, tree.test, "`?`")
    then, otherwise = (Operand(context.value(side), side) for side in (tree.then, tree.otherwise))
    type_, left, right = join(context, then, otherwise)
    return typed_tree.Conditional(type_, tree.span, test, left, right)


def _no_value(tree: nodes.Range) -> Diagnostic:
    """The reason why a range is not a value. The parser reads ``x in 1..5`` as a range that begins with ``x in 1``."""
    span, tested, last = tree.span, tree.first, tree.end
    if not isinstance(tested, nodes.Membership):
        works = f"for i in {span.text} {{ }} and x in [{span.text}] work"
        return Diagnostic("BT108", "a range is not one value", Label(span), help=(works,))
    replacement = f"{tested.element.span.text} in [{tested.container.span.text}..{last.span.text}]"
    return Diagnostic(
        "BT108",
        "a range after `in` needs brackets",
        Label(tested.container.span.to(last.span)),
        help=(f"write {replacement}",),
        fixes=(Fix(span, replacement),),
    )


def _text(context: Context, tree: nodes.FormattedString) -> Expr:
    parts: list[str | Expr] = []
    for part in tree.parts:
        if isinstance(part, str):
            parts.append(part)
            continue
        value = concealed(context, part.value, context.value(part.value))
        parts.append(_formatted(value, part) if part.format else value)
    if all(isinstance(part, str) for part in parts):
        return typed_tree.Constant(STRING, tree.span, "".join(str(part) for part in parts))
    return typed_tree.Text(STRING, tree.span, tuple(parts))


def _formatted(value: Expr, part: nodes.Interpolation) -> Expr:
    format_ = part.format
    check_format(value.type, part.value.span, format_)
    size = unit(value.type, format_)
    if size is not None:
        return typed_tree.Formatted(STRING, part.span, boxed(value), (format_, size))
    specified = specification(format_)
    assert specified is not None
    if specified.alternate or specified.type not in ("", *"bdfFosxX%") or _is_general(specified, value.type):
        raise fault(
            "BT207",
            f"the format `{format_}` is only for printing",
            Label(part.span, "this text is built in the traced program"),
            help=("say how many digits after the point:  {x:.2f}",) if _is_general(specified, value.type) else (),
            notes=("formats that work there: fill, width, `,`, precision, and the types b d f o s x X %, or a unit",),
        )
    return typed_tree.Formatted(STRING, part.span, boxed(typed_null(value)), specified)


def _is_general(format_: Specification, type_: Type) -> bool:
    """Whether the format, such as ``.3`` without a type, asks for significant digits."""
    return format_.precision is not None and not format_.type and type_.is_numeric
