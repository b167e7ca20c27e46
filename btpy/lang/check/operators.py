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
from btpy.dataclass import dataclass
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


@dataclass(frozen=True, slots=True)
class Operand:
    """A value, and the syntax that it comes from."""

    value: Expr
    tree: nodes.Expression

    @property
    def type(self) -> Type:
        return self.value.type


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
    one, other = (Operand(context.value(side), side) for side in (tree.left, tree.right))
    return binary(context, operator, one, other, tree.span)


def binary(context: Context, operator: str, left: Operand, right: Operand, span: Span) -> Expr:
    if operator in ("==", "!="):
        return equality(context, operator, left, right, span)
    kinds = (left.type.kind, right.type.kind)
    if operator in _COMPARISONS and kinds == (Kind.STRING, Kind.STRING):
        return typed_tree.Binary(BOOLEAN, span, operator, left.value, right.value)
    if operator == "+" and Kind.STRING in kinds:
        return typed_tree.Binary(STRING, span, operator, boxed(left.value), boxed(right.value))
    if operator in _BITS and left.type == BOOLEAN and right.type == BOOLEAN:
        return typed_tree.Binary(BOOLEAN, span, operator, left.value, right.value)
    if operator in _BITS and Kind.BOOLEAN in kinds and may_be_boolean(left.type) and may_be_boolean(right.type):
        return typed_tree.Binary(BOOLEAN.or_null(), span, operator, boxed(left.value), boxed(right.value))
    strings = operator in _COMPARISONS and any(kind in (Kind.ANY, Kind.OBJECT, Kind.NULL) for kind in kinds)
    for operand in (left, right):
        if not may_be_number(operand.type) and not (strings and operand.type.kind is Kind.STRING):
            raise FaultError(_mismatch(context, operator, left, right, operand))
    left, right = (replace(operand, value=unboxed(operand.value)) for operand in (left, right))
    if operator in _SHIFTS:
        return _shift(context, operator, left, right, span)
    if operator in _BITS and Kind.DOUBLE in kinds:
        raise FaultError(_mismatch(context, operator, left, right, left if kinds[0] is Kind.DOUBLE else right))
    unit = _unit(context, operator, left, right)
    if left.type.is_reference or right.type.is_reference:
        result = BOOLEAN if operator in _COMPARISONS else unit.or_null() if unit is not None else ANY
        return typed_tree.Binary(result, span, operator, boxed(left.value), boxed(right.value))
    common = common_type(left.type, right.type)
    result = BOOLEAN if operator in _COMPARISONS else unit or common
    return typed_tree.Binary(result, span, operator, widen(left.value, common), widen(right.value, common))


def _shift(context: Context, operator: str, left: Operand, right: Operand, span: Span) -> Expr:
    for operand in (left, right):
        if not operand.type.is_reference and not operand.type.is_integral:
            problem = f"`{operator}` needs integers, not {named(operand.type)}"
            raise FaultError(mistyped(context, operand.value, operand.tree, problem))
    distance = convert(context, right.value, INT, right.tree, "the distance of a shift")
    if left.type.is_reference:
        return typed_tree.Binary(ANY, span, operator, left.value, distance)
    value = widen(left.value, INT) if left.type.slot == "I" else left.value
    return typed_tree.Binary(value.type, span, operator, value, distance)


def _unit(context: Context, operator: str, left: Operand, right: Operand) -> Type | None:
    """The unit of the result: DURATION, BYTES or None for a plain number. Raises FaultError when the units of the
    operands do not match.
    """
    a, b = unit_of(left.type), unit_of(right.type)
    if operator in _BITS or (a is None and b is None):
        return None
    if operator == "*":
        if a is not None and b is not None:
            raise FaultError(_mismatch(context, operator, left, right, right))
        other = right if b is None else left
        if other.type.kind is Kind.DOUBLE:
            raise FaultError(_fraction(context, operator, left, right, other))
        return a or b
    if operator == "/":
        if a is not None and b is not None:
            if a != b:
                raise FaultError(_mismatch(context, operator, left, right, right))
            return None
        if b is not None and not left.type.is_reference:
            raise FaultError(_mismatch(context, operator, left, right, right))
        if right.type.kind is Kind.DOUBLE:
            raise FaultError(_fraction(context, operator, left, right, right))
        return a if b is None and not right.type.is_reference else None
    if a is not None and b is not None:
        if a != b:
            raise FaultError(_mismatch(context, operator, left, right, right))
        return a
    plain, measured, quantity = (right, left, a) if a is not None else (left, right, b)
    if quantity is not None and not plain.type.is_reference:
        value = plain.value
        fits = value.value == 0 if isinstance(value, typed_tree.Constant) else value.type.kind is Kind.LONG
        if not fits:
            raise FaultError(_no_unit(context, plain, quantity, measured.tree))
    return a if a is not None else (b if plain.type.is_reference else None)


def _no_unit(context: Context, plain: Operand, unit: Type, other: nodes.Expression) -> Diagnostic:
    units = ("ms", "us") if unit.kind is Kind.DURATION else ("KB", "B")
    other_label = Label(other.span, f"`{unit}`")
    span, text = plain.tree.span, plain.tree.span.text
    if isinstance(plain.value, typed_tree.Constant):
        smallest = "ns" if unit.kind is Kind.DURATION else "bytes"
        return Diagnostic(
            "BT202",
            f"`{text}` has no unit",
            Label(span, f"{text} {smallest}?"),
            (other_label,),
            help=(f"write {text}{units[0]} or {text}{units[1]}",),
        )
    return Diagnostic(
        "BT202",
        f"this {named(plain.type)} has no unit",
        Label(span, f"{named(plain.type)}{origin_of(context, plain.value)}"),
        (other_label,),
        help=(f"give it one:  {text} * 1{units[0]}" if len(text) < 40 else f"multiply it by 1{units[0]}",),
    )


def _fraction(context: Context, operator: str, left: Operand, right: Operand, wrong: Operand) -> Diagnostic:
    diagnostic = _mismatch(context, operator, left, right, wrong)
    return replace(diagnostic, help=("multiply and divide quantities by whole numbers:  duration * 3 / 2",))


def equality(context: Context, operator: str, left: Operand, right: Operand, span: Span) -> Expr:
    left, right = (
        replace(operand, value=character(operand.value, other.value))
        for operand, other in ((left, right), (right, left))
    )
    a, b = left.type, right.type
    if not a.is_reference and not b.is_reference:
        if a.is_numeric and b.is_numeric:
            _unit(context, operator, left, right)
            common = common_type(a, b)
            return typed_tree.Binary(BOOLEAN, span, operator, widen(left.value, common), widen(right.value, common))
        if a == b:
            return typed_tree.Binary(BOOLEAN, span, operator, left.value, right.value)
        raise FaultError(_mismatch(context, operator, left, right, left))
    if not _comparable(a, b):
        raise FaultError(_mismatch(context, operator, left, right, left))
    if a.is_numeric and b.is_numeric:
        _unit(context, operator, left, right)
    for operand, other in ((left, right), (right, left)):
        if other.type.kind is Kind.NULL:
            _warn_never_null(context, operand, "always " + ("false" if operator == "==" else "true"))
    return typed_tree.Binary(BOOLEAN, span, operator, boxed(left.value), boxed(right.value))


def _warn_never_null(context: Context, operand: Operand, consequence: str) -> None:
    """Warns if a value that is compared with null cannot be null in any method."""
    if context.shape is None and not operand.type.is_reference:
        context.report(
            Diagnostic(
                "BT209",
                f"{named(operand.type)} is never null",
                Label(operand.tree.span, consequence),
                severity=Severity.WARNING,
            )
        )


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
        _warn_never_null(context, Operand(first, tree.left), "always taken")
        return first
    first = typed_null(first)
    if first.type.is_numeric and right.type.is_numeric and not right.type.is_reference:
        _unit(context, "==", Operand(first, tree.left), Operand(right, tree.right))
        common = join_numbers(first.type, right.type)
        coalesce = typed_tree.Coalesce(ANY, span, first, boxed(right))
        return typed_tree.Convert(common, span, coalesce)
    if first.type.kind is Kind.BOOLEAN and right.type == BOOLEAN:
        return typed_tree.Convert(BOOLEAN, span, typed_tree.Coalesce(ANY, span, first, boxed(right)))
    right = boxed(typed_null(right))
    type_ = first.type if first.type == right.type else ANY
    return typed_tree.Coalesce(type_, span, first, right)


def _where_there_is_one(context: Context, tree: nodes.Expression) -> Expr | None:
    """The value; the literal null, when this method has no such argument (``$name``, ``arg1``) but other matched
    methods have it.
    """
    try:
        return context.value(tree)
    except FaultError as fault:
        is_argument = isinstance(tree, nodes.TargetVariable | nodes.Name)
        if is_argument and context.shape is not None and fault.diagnostic.code == "BT112":
            return None
        raise


def join(context: Context, one: Operand, other: Operand) -> tuple[Type, Expr, Expr]:
    """The common type of two alternatives, and the two expressions converted to that type."""
    a, b = one.type, other.type
    if not a.is_reference and not b.is_reference:
        if a.is_numeric and b.is_numeric:
            _unit(context, "==", one, other)
            type_ = join_numbers(a, b)
            return type_, widen(one.value, type_), widen(other.value, type_)
        if a == b:
            return a, one.value, other.value
    if Kind.NULL in (a.kind, b.kind):
        known = b if a.kind is Kind.NULL else a
        type_ = ANY if known.kind is Kind.NULL else known.or_null()
    else:
        type_ = a.or_null() if a.or_null() == b.or_null() else ANY
    return type_, boxed(one.value), boxed(other.value)


_RELATIONS = {"<", "<=", ">", ">="}


def _mismatch(context: Context, operator: str, left: Operand, right: Operand, wrong: Operand) -> Diagnostic:
    names = (named(left.type), named(right.type))
    if operator in _COMPARISONS:
        message = f"cannot compare {names[0]} with {names[1]}"
    elif operator in _VERBS:
        message = "cannot " + _VERBS[operator].format(*names)
    else:
        message = f"cannot combine {names[0]} and {names[1]} with `{operator}`"
    labels = [Label(side.tree.span, f"{named(side.type)}{origin_of(context, side.value)}") for side in (left, right)]
    primary, other = labels if wrong is left else labels[::-1]
    help_: tuple[str, ...] = ()
    if DURATION in (left.type, right.type) and operator in _COMPARISONS:
        help_ = ("the elapsed time is `duration`:   when duration > 50ms",)
        if isinstance(left.value, typed_tree.InputValue) and left.value.input.kind is InputKind.DURATION:
            help_ = ("a time has a unit:  when duration > 50ms",)
    elif Kind.OBJECT in (left.type.kind, right.type.kind) and operator in _COMPARISONS:
        help_ = ("compare one of its fields:  x.field > 3",)
    elif isinstance(left.tree, nodes.Binary) and {operator, left.tree.operator.text} <= _RELATIONS:
        middle = left.tree.right.span.text
        help_ = (f"two comparisons:  {left.tree.span.text} && {middle} {operator} {right.tree.span.text}",)
    elif operator == "%" and left.type.kind is Kind.STRING:
        message = "`%` divides; it puts no values into a text"
        help_ = (_formatted(left.tree, right.tree),)
    method_labels = [] if primary.text == named(wrong.type) else matched_method(context)
    return Diagnostic("BT201", message, primary, (*method_labels, other), help=help_)


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
