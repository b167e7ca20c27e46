"""One expression of the syntax → the typed expression."""

from __future__ import annotations

from btpy.lang import program, syntax
from btpy.lang.builtins import FUNCTIONS, Group
from btpy.lang.calls import call_value
from btpy.lang.context import Context
from btpy.lang.conversions import boxed, condition, literal, typed_null
from btpy.lang.diagnostics import Diagnostic, Fix, Label
from btpy.lang.faults import FaultError
from btpy.lang.formats import Specification, specification, unit
from btpy.lang.loops import list_display, quantified
from btpy.lang.maps import map_query, map_value
from btpy.lang.membership import membership
from btpy.lang.navigation import cast, element_value, field_value, method_call
from btpy.lang.operators import instance_of, join, operation, prefix
from btpy.lang.printing import check_format
from btpy.lang.program import Expr
from btpy.lang.redaction import concealed
from btpy.lang.threads import thread_value
from btpy.lang.types import STRING, Type
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
            return method_call(context, tree)
        case syntax.ThreadVariable():
            return thread_value(context, tree)
        case syntax.Cast():
            return cast(context, tree)
        case syntax.Quantified():
            return quantified(context, tree)
        case syntax.ListDisplay():
            return list_display(context, tree)
        case syntax.Range(first=syntax.Membership() as tested, end=last):
            container = f"[{tested.container.span.text}..{last.span.text}]"
            written = f"{tested.element.span.text} in {container}"
            raise FaultError(
                Diagnostic(
                    "BT108",
                    "a range after `in` needs brackets",
                    Label(tested.container.span.to(last.span)),
                    help=(f"write {written}",),
                    fixes=(Fix(span, written),),
                )
            )
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
        shown = concealed(context, part.value, context.value(part.value))
        parts.append(_formatted(shown, part) if part.format else shown)
    if all(isinstance(part, str) for part in parts):
        return program.Constant(STRING, tree.span, "".join(str(part) for part in parts))
    return program.Text(STRING, tree.span, tuple(parts))


def _formatted(value: Expr, part: syntax.Interpolation) -> Expr:
    format_ = part.format
    check_format(value.type, part.value.span, format_)
    size = unit(value.type, format_)
    if size is not None:
        return program.Formatted(STRING, part.span, boxed(value), (format_, size))
    specified = specification(format_)
    assert specified is not None
    if specified.alternate or specified.type not in ("", *"bdfFosxX%") or _is_general(specified, value.type):
        raise FaultError(
            Diagnostic(
                "BT207",
                f"the format `{format_}` is only for printing",
                Label(part.span, "this text is built in the traced program"),
                help=("say how many digits after the point:  {x:.2f}",) if _is_general(specified, value.type) else (),
                notes=(
                    "formats that work there: fill, width, `,`, precision, and the types b d f o s x X %, or a unit",
                ),
            )
        )
    return program.Formatted(STRING, part.span, boxed(typed_null(value)), specified)


def _is_general(format_: Specification, type_: Type) -> bool:
    """Significant digits, as ``.3`` and no type ask for of a number."""
    return format_.precision is not None and not format_.type and type_.is_numeric
