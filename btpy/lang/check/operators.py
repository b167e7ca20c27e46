"""Operators: the types of the operands decide the operation and the type of the result.

A quantity needs a literal with a unit on the other side, or 0. An INT has no unit; a LONG counts as nanoseconds or
bytes. With an operand of unknown type the operation is dynamic, on boxed operands. Null in arithmetic, ordering or
a condition is an error of the probe when it fires, not of the script; ``==``, ``??``, navigation and the string
predicates accept null (docs/language.md, Types and null).
"""

from __future__ import annotations

import re
from dataclasses import replace

from btpy.automaton import PatternError, compile_regex
from btpy.lang import typed_tree
from btpy.lang.builtins import AUTOMATON, GLOB, INSTANCE_OF
from btpy.lang.check.context import Context
from btpy.lang.check.conversions import (
    boxed,
    character,
    common_type,
    condition,
    convert,
    join_numbers,
    matched_method,
    may_be_boolean,
    may_be_number,
    mistyped,
    origin_of,
    reasons,
    typed_null,
    unboxed,
    unit_of,
    widen,
)
from btpy.lang.check.faults import FaultError, fault, named
from btpy.lang.inputs import InputKind
from btpy.lang.syntax import nodes
from btpy.lang.typed_tree import Expr
from btpy.model.diagnostics import Diagnostic, Label, Severity
from btpy.model.source import Span
from btpy.model.types import ANY, BOOLEAN, DURATION, INT, STRING, Kind, Type

_VERBS = {
    "+": "add {0} and {1}",
    "-": "subtract {1} from {0}",
    "*": "multiply {0} by {1}",
    "/": "divide {0} by {1}",
    "%": "divide {0} by {1}",
}
_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))
_SHIFTS = frozenset(("<<", ">>", ">>>"))
_BITS = frozenset(("&", "|", "^"))


def instance_of(context: Context, tree: nodes.InstanceOf) -> Expr:
    operand = context.value(tree.operand)
    if not operand.type.is_reference:
        raise fault(
            "BT201", f"{named(operand.type)} is not an object", Label(tree.operand.span), reasons(context, operand)
        )
    pattern = typed_tree.Constant(STRING, tree.type.span, tree.type.name)
    return typed_tree.BuiltinCall(BOOLEAN, tree.span, INSTANCE_OF, (typed_null(operand), pattern))


def prefix(context: Context, tree: nodes.Prefix) -> Expr:
    operator = tree.operator.text
    if operator == "!":
        return typed_tree.Unary(BOOLEAN, tree.span, "!", condition(context, tree.operand, "`!`"))
    value = context.value(tree.operand)
    type_ = value.type
    if not may_be_number(type_) or (operator == "~" and type_.kind is Kind.DOUBLE):
        raise FaultError(mistyped(context, value, tree.operand, f"`{operator}` needs a number, not {named(type_)}"))
    if isinstance(value, typed_tree.Constant) and operator == "-" and isinstance(value.value, int | float):
        return replace(value, value=-value.value, span=tree.span)
    value = unboxed(value)
    if operator == "+":
        return replace(value, span=tree.span)
    if value.type.is_reference:
        return typed_tree.Unary(ANY, tree.span, operator, value)
    if value.type.kind is Kind.CHAR:
        value = typed_tree.Convert(INT, value.span, value)
    return typed_tree.Unary(value.type, tree.span, operator, value)


def operation(context: Context, tree: nodes.Binary) -> Expr:
    operator = tree.operator.text
    if operator in ("&&", "||"):
        left = condition(context, tree.left, f"`{operator}`")
        right = condition(context, tree.right, f"`{operator}`")
        return typed_tree.Logical(BOOLEAN, tree.span, operator, left, right)
    if operator in ("=~", "!~"):
        return _match(context, tree)
    if operator == "??":
        regrouped = _regrouped(tree, tree.right)
        return context.value(regrouped) if regrouped is not None else _coalesce(context, tree)
    left, right = context.value(tree.left), context.value(tree.right)
    return binary(context, operator, tree.operator, left, right, tree.left, tree.right, tree.span)


def binary(
    context: Context,
    operator: str,
    sign: nodes.Identifier,
    left: Expr,
    right: Expr,
    left_tree: nodes.Expression,
    right_tree: nodes.Expression,
    span: Span,
) -> Expr:
    if operator in ("==", "!="):
        return equality(context, operator, left, right, left_tree, right_tree, span)
    if operator in _COMPARISONS and left.type.kind is Kind.STRING and right.type.kind is Kind.STRING:
        return typed_tree.Binary(BOOLEAN, span, operator, left, right)
    if operator == "+" and Kind.STRING in (left.type.kind, right.type.kind):
        return typed_tree.Binary(STRING, span, operator, boxed(left), boxed(right))
    if operator in _BITS and left.type == BOOLEAN and right.type == BOOLEAN:
        return typed_tree.Binary(BOOLEAN, span, operator, left, right)
    boolean = Kind.BOOLEAN in (left.type.kind, right.type.kind)
    if operator in _BITS and boolean and may_be_boolean(left.type) and may_be_boolean(right.type):
        return typed_tree.Binary(BOOLEAN.or_null(), span, operator, boxed(left), boxed(right))
    strings = operator in _COMPARISONS and Kind.STRING in (left.type.kind, right.type.kind)
    wrong = [
        operand
        for operand in ((left, left_tree), (right, right_tree))
        if not may_be_number(operand[0].type)
        and not (strings and operand[0].type.kind is Kind.STRING and _unknown_type(left, right))
    ]
    if wrong:
        raise FaultError(_mismatch(context, operator, left, right, left_tree, right_tree, wrong[0][1]))
    left, right = unboxed(left), unboxed(right)
    if operator in _SHIFTS:
        return _shift(context, operator, left, right, left_tree, right_tree, span)
    if operator in _BITS and Kind.DOUBLE in (left.type.kind, right.type.kind):
        wrong_tree = left_tree if left.type.kind is Kind.DOUBLE else right_tree
        raise FaultError(_mismatch(context, operator, left, right, left_tree, right_tree, wrong_tree))
    unit = _unit(context, operator, left, right, left_tree, right_tree)
    if left.type.is_reference or right.type.is_reference:
        result = BOOLEAN if operator in _COMPARISONS else unit.or_null() if unit is not None else ANY
        return typed_tree.Binary(result, span, operator, boxed(left), boxed(right))
    common = common_type(left.type, right.type)
    result = BOOLEAN if operator in _COMPARISONS else unit or common
    return typed_tree.Binary(result, span, operator, widen(left, common), widen(right, common))


def _unknown_type(left: Expr, right: Expr) -> bool:
    return any(operand.type.kind in (Kind.ANY, Kind.OBJECT, Kind.NULL) for operand in (left, right))


def _shift(
    context: Context,
    operator: str,
    left: Expr,
    right: Expr,
    left_tree: nodes.Expression,
    right_tree: nodes.Expression,
    span: Span,
) -> Expr:
    for value, tree in ((left, left_tree), (right, right_tree)):
        if not value.type.is_reference and not value.type.is_integral:
            raise FaultError(mistyped(context, value, tree, f"`{operator}` needs integers, not {named(value.type)}"))
    distance = convert(context, right, INT, right_tree, "the distance of a shift")
    if left.type.is_reference:
        return typed_tree.Binary(ANY, span, operator, left, distance)
    left = widen(left, INT) if left.type.slot == "I" else left
    return typed_tree.Binary(left.type, span, operator, left, distance)


def _unit(
    context: Context,
    operator: str,
    left: Expr,
    right: Expr,
    left_tree: nodes.Expression,
    right_tree: nodes.Expression,
) -> Type | None:
    """The unit of the result: DURATION, BYTES or None for a plain number. Raises FaultError when the units of the
    operands do not match.
    """
    a, b = unit_of(left.type), unit_of(right.type)
    if operator in _BITS or (a is None and b is None):
        return None
    if operator == "*":
        if a is not None and b is not None:
            raise FaultError(_mismatch(context, operator, left, right, left_tree, right_tree, right_tree))
        other, other_tree = (right, right_tree) if b is None else (left, left_tree)
        if other.type.kind is Kind.DOUBLE:
            raise FaultError(_fraction(context, operator, left, right, left_tree, right_tree, other_tree))
        return a or b
    if operator == "/":
        if a is not None and b is not None:
            if a != b:
                raise FaultError(_mismatch(context, operator, left, right, left_tree, right_tree, right_tree))
            return None
        if b is not None and not left.type.is_reference:
            raise FaultError(_mismatch(context, operator, left, right, left_tree, right_tree, right_tree))
        if right.type.kind is Kind.DOUBLE:
            raise FaultError(_fraction(context, operator, left, right, left_tree, right_tree, right_tree))
        return a if b is None and not right.type.is_reference else None
    if a is not None and b is not None:
        if a != b:
            raise FaultError(_mismatch(context, operator, left, right, left_tree, right_tree, right_tree))
        return a
    plain, tree, quantity, other_tree = (
        (right, right_tree, a, left_tree) if a is not None else (left, left_tree, b, right_tree)
    )
    if quantity is not None and not plain.type.is_reference:
        fits = plain.value == 0 if isinstance(plain, typed_tree.Constant) else plain.type.kind is Kind.LONG
        if not fits:
            raise FaultError(_no_unit(context, plain, tree, quantity, other_tree))
    return a if a is not None else (b if plain.type.is_reference else None)


def _no_unit(context: Context, plain: Expr, tree: nodes.Expression, unit: Type, other: nodes.Expression) -> Diagnostic:
    units = ("ms", "us") if unit.kind is Kind.DURATION else ("KB", "B")
    other_label = Label(other.span, f"`{unit}`")
    text = tree.span.text
    if isinstance(plain, typed_tree.Constant):
        smallest = "ns" if unit.kind is Kind.DURATION else "bytes"
        return Diagnostic(
            "BT202",
            f"`{text}` has no unit",
            Label(tree.span, f"{text} {smallest}?"),
            (other_label,),
            help=(f"write {text}{units[0]} or {text}{units[1]}",),
        )
    return Diagnostic(
        "BT202",
        f"this {named(plain.type)} has no unit",
        Label(tree.span, f"{named(plain.type)}{origin_of(context, plain)}"),
        (other_label,),
        help=(f"give it one:  {text} * 1{units[0]}" if len(text) < 40 else f"multiply it by 1{units[0]}",),
    )


def _fraction(
    context: Context,
    operator: str,
    left: Expr,
    right: Expr,
    left_tree: nodes.Expression,
    right_tree: nodes.Expression,
    wrong: nodes.Expression,
) -> Diagnostic:
    diagnostic = _mismatch(context, operator, left, right, left_tree, right_tree, wrong)
    return replace(diagnostic, help=("multiply and divide quantities by whole numbers:  duration * 3 / 2",))


def equality(
    context: Context,
    operator: str,
    left: Expr,
    right: Expr,
    left_tree: nodes.Expression,
    right_tree: nodes.Expression,
    span: Span,
) -> Expr:
    left, right = character(left, right), character(right, left)
    a, b = left.type, right.type
    if not a.is_reference and not b.is_reference:
        if a.is_numeric and b.is_numeric:
            _unit(context, operator, left, right, left_tree, right_tree)
            common = common_type(a, b)
            return typed_tree.Binary(BOOLEAN, span, operator, widen(left, common), widen(right, common))
        if a == b:
            return typed_tree.Binary(BOOLEAN, span, operator, left, right)
        raise FaultError(_mismatch(context, operator, left, right, left_tree, right_tree, left_tree))
    if not _comparable(a, b):
        raise FaultError(_mismatch(context, operator, left, right, left_tree, right_tree, left_tree))
    if a.is_numeric and b.is_numeric:
        _unit(context, operator, left, right, left_tree, right_tree)
    for value, other, tree in ((left, right, left_tree), (right, left, right_tree)):
        if other.type.kind is Kind.NULL and not value.type.is_reference and context.shape is None:
            context.report(
                Diagnostic(
                    "BT209",
                    f"{named(value.type)} is never null",
                    Label(tree.span, "always " + ("false" if operator == "==" else "true")),
                    severity=Severity.WARNING,
                )
            )
    return typed_tree.Binary(BOOLEAN, span, operator, boxed(typed_null(left)), boxed(typed_null(right)))


def _comparable(a: Type, b: Type) -> bool:
    """Whether two references, or a reference and a primitive, can ever be equal."""
    open_kinds = (Kind.ANY, Kind.NULL)
    if a.kind in open_kinds or b.kind in open_kinds:
        return True
    if a.is_numeric and b.is_numeric:
        return True
    for one, other in ((a, b), (b, a)):
        if one.kind is Kind.OBJECT:
            return other.kind in (Kind.OBJECT, Kind.STRING, Kind.ARRAY) or may_be_number(one)
    return a.kind is b.kind


def _match(context: Context, tree: nodes.Binary) -> Expr:
    operator = tree.operator.text
    value = convert(context, context.value(tree.left), STRING, tree.left, f"`{operator}`")
    pattern = convert(context, context.value(tree.right), STRING, tree.right, f"the pattern of `{operator}`")
    test = match(value, pattern, tree.span)
    if operator == "=~":
        return test
    return typed_tree.Unary(BOOLEAN, tree.span, "!", typed_tree.Convert(BOOLEAN, tree.span, test))


def match(value: Expr, pattern: Expr, span: Span) -> Expr:
    """Whether a string matches; null for null. A constant pattern is a glob or a /regex/. A computed pattern is a
    glob."""
    nullable = BOOLEAN.or_null()
    text = pattern.value if isinstance(pattern, typed_tree.Constant) else None
    if not isinstance(text, str):
        return typed_tree.BuiltinCall(nullable, span, GLOB, (value, pattern))
    if len(text) > 1 and text.startswith("/") and text.endswith("/"):
        table = typed_tree.Constant(STRING, pattern.span, _regex(text, pattern.span))
        return typed_tree.BuiltinCall(nullable, span, AUTOMATON, (value, table))
    inner = text.strip("*")
    if not re.search(r"[*?]", inner):
        name = {
            (True, True): "contains",
            (True, False): "endswith",
            (False, True): "startswith",
            (False, False): GLOB,
        }[text.startswith("*"), text.endswith("*")]
        return typed_tree.BuiltinCall(nullable, span, name, (value, typed_tree.Constant(STRING, pattern.span, inner)))
    return typed_tree.BuiltinCall(nullable, span, GLOB, (value, pattern))


def _regex(text: str, span: Span) -> str:
    try:
        return compile_regex(text[1:-1])
    except PatternError as error:
        at = min(span.start + 2 + error.at, span.end - 1) if span.text[1:-1] == text else span.start
        end = at + 1 if span.text[1:-1] == text else span.end
        raise fault(
            "BT221",
            str(error),
            Label(Span(span.source, at, end), "in this regular expression"),
            help=(error.help,) if error.help else (),
            notes=("a pattern runs in the traced program, so it may take only one step for each character",),
        ) from error


def _regrouped(tree: nodes.Binary, right: nodes.Expression) -> nodes.Expression | None:
    """``len(x) ?? 0 > 3`` as ``(len(x) ?? 0) > 3``, also before ``&&`` and ``||``; None in all other cases.

    ``??`` binds weakest, so ``name =~ pattern ?? false`` means ``(name =~ pattern) ?? false``. But with this rule
    ``len(x) ?? 0 > 3`` would compare two literals, while the user means ``0`` as the default for null.
    """
    if not isinstance(right, nodes.Binary) or _in_brackets(tree, right):
        return None
    if right.operator.text in ("&&", "||"):
        left = _regrouped(tree, right.left)
        return None if left is None else replace(right, span=left.span.to(right.span), left=left)
    if right.operator.text not in _COMPARISONS or not isinstance(right.left, nodes.Literal):
        return None
    if right.left.span.text[:1].isidentifier():  # after a parameter of the script, the user means the comparison
        return None
    value = replace(tree, span=tree.left.span.to(right.left.span), right=right.left)
    return replace(right, span=value.span.to(right.span), left=value)


def _in_brackets(tree: nodes.Binary, right: nodes.Expression) -> bool:
    text = tree.span.source.text
    return "(" in text[tree.operator.span.end : right.span.start + 1]


def _coalesce(context: Context, tree: nodes.Binary) -> Expr:
    span = tree.span
    first = _where_there_is_one(context, tree.left)
    right = context.value(tree.right)
    if first is None:
        return right
    if not first.type.is_reference:
        if context.shape is None:
            context.report(
                Diagnostic(
                    "BT209",
                    f"{named(first.type)} is never null",
                    Label(tree.left.span, "always taken"),
                    severity=Severity.WARNING,
                )
            )
        return first
    first = typed_null(first)
    if first.type.is_numeric and right.type.is_numeric and not right.type.is_reference:
        _unit(context, "==", first, right, tree.left, tree.right)
        common = join_numbers(first.type, right.type)
        coalesce = typed_tree.Coalesce(ANY, span, first, boxed(right))
        return typed_tree.Convert(common, span, coalesce)
    if first.type.kind is Kind.BOOLEAN and right.type == BOOLEAN:
        return typed_tree.Convert(BOOLEAN, span, typed_tree.Coalesce(ANY, span, first, boxed(right)))
    right = boxed(typed_null(right))
    type_ = first.type if first.type == right.type else ANY
    return typed_tree.Coalesce(type_, span, first, right)


def _where_there_is_one(context: Context, tree: nodes.Expression) -> Expr | None:
    """The value; The literal null, when this method has no such argument (``$name``, ``arg1``) but other matched
    methods have it.
    """
    try:
        return context.value(tree)
    except FaultError as fault:
        is_argument = isinstance(tree, nodes.TargetVariable | nodes.Name)
        if is_argument and context.shape is not None and fault.diagnostic.code == "BT112":
            return None
        raise


def join(
    context: Context, left: Expr, right: Expr, left_tree: nodes.Expression, right_tree: nodes.Expression
) -> tuple[Type, Expr, Expr]:
    """The common type of two alternatives, and the two expressions converted to that type."""
    a, b = left.type, right.type
    if not a.is_reference and not b.is_reference:
        if a.is_numeric and b.is_numeric:
            _unit(context, "==", left, right, left_tree, right_tree)
            type_ = join_numbers(a, b)
            return type_, widen(left, type_), widen(right, type_)
        if a == b:
            return a, left, right
    left, right = boxed(typed_null(left)), boxed(typed_null(right))
    if Kind.NULL in (a.kind, b.kind):
        other = b if a.kind is Kind.NULL else a
        type_ = ANY if other.kind is Kind.NULL else other if other.is_reference else other.or_null()
    else:
        type_ = a.or_null() if a.or_null() == b.or_null() else ANY
        type_ = a if a == b else type_
    return type_, left, right


_RELATIONS = {"<", "<=", ">", ">="}


def _mismatch(
    context: Context,
    operator: str,
    left: Expr,
    right: Expr,
    left_tree: nodes.Expression,
    right_tree: nodes.Expression,
    wrong: nodes.Expression,
) -> Diagnostic:
    names = (named(left.type), named(right.type))
    if operator in _COMPARISONS:
        message = f"cannot compare {names[0]} with {names[1]}"
    elif operator in _VERBS:
        message = "cannot " + _VERBS[operator].format(*names)
    else:
        message = f"cannot combine {names[0]} and {names[1]} with `{operator}`"
    labels = {
        id(left_tree): Label(left_tree.span, f"{names[0]}{origin_of(context, left)}"),
        id(right_tree): Label(right_tree.span, f"{names[1]}{origin_of(context, right)}"),
    }
    other = right_tree if wrong is left_tree else left_tree
    help_: tuple[str, ...] = ()
    if DURATION in (left.type, right.type) and operator in _COMPARISONS:
        help_ = ("the elapsed time is `duration`:   when duration > 50ms",)
        if isinstance(left, typed_tree.InputValue) and left.input.kind is InputKind.DURATION:
            help_ = ("a time has a unit:  when duration > 50ms",)
    elif Kind.OBJECT in (left.type.kind, right.type.kind) and operator in _COMPARISONS:
        help_ = ("compare one of its fields:  x.field > 3",)
    elif isinstance(left_tree, nodes.Binary) and {operator, left_tree.operator.text} <= _RELATIONS:
        middle = left_tree.right.span.text
        help_ = (f"two comparisons:  {left_tree.span.text} && {middle} {operator} {right_tree.span.text}",)
    elif operator == "%" and left.type.kind is Kind.STRING:
        message = "`%` divides; it puts no values into a text"
        help_ = (_formatted(left_tree, right_tree),)
    method_labels = [] if labels[id(wrong)].text == names[wrong is right_tree] else matched_method(context)
    return Diagnostic("BT201", message, labels[id(wrong)], (*method_labels, labels[id(other)]), help=help_)


def _formatted(text: nodes.Expression, value: nodes.Expression) -> str:
    """``"%s" % x`` as an f-string."""
    literal_text = text.span.text
    values = (
        [element.value.span.text for element in value.elements]
        if isinstance(value, nodes.ListDisplay)
        else [value.span.text]
    )
    parts = re.split(r"%[-\d.]*[a-zA-Z]", literal_text.strip('"'))
    if len(parts) != len(values) + 1 or "{" in literal_text:
        return 'values are put into a text by:  f"{method} took {duration:ms}"'
    pairs = zip(parts, [f"{{{value}}}" for value in values] + [""], strict=True)
    return 'values are put into a text by:  f"' + "".join(part + hole for part, hole in pairs) + '"'
