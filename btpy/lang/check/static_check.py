"""``static_check(condition, message)``: a condition on the parameters of a script, tested before anything runs."""

from __future__ import annotations

import operator
from collections.abc import Callable

from btpy.lang import typed_tree
from btpy.lang.check.context import Context
from btpy.lang.check.conversions import condition
from btpy.lang.check.faults import FaultError, arity, fault
from btpy.lang.syntax import nodes
from btpy.lang.typed_tree import Expr
from btpy.model.diagnostics import Label

_SYNOPSIS = "static_check(condition, message)"

_COMPARISONS: dict[str, Callable[..., bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: dict[str, Callable[..., int | float]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_STRINGS: dict[str, Callable[[str, str], bool]] = {
    "startswith": str.startswith,
    "endswith": str.endswith,
    "contains": operator.contains,
}


class _NotConstantError(Exception):
    def __init__(self, node: Expr) -> None:
        super().__init__()
        self.node = node


def check_static(context: Context, call: nodes.Call) -> None:
    """Raises FaultError when the condition does not hold or cannot be known."""
    unnamed = [argument.value for argument in call.arguments if argument.name is None]
    if len(unnamed) != 2 or len(call.arguments) != 2:
        raise FaultError(arity(call, "static_check", _SYNOPSIS, 2, 2))
    test, message = unnamed
    if not isinstance(message, nodes.Literal) or not isinstance(message.value, str):
        raise fault("BT201", "the message of `static_check` must be a string", Label(message.span), notes=(_SYNOPSIS,))
    try:
        holds = _constant(condition(context, test, "`static_check`"))
    except _NotConstantError as wrong:
        raise fault(
            "BT107",
            "the condition of `static_check` must be constant",
            Label(wrong.node.span, "not known before the script runs"),
            help=("parameters and literals can be checked",),
        ) from None
    if holds is not True:
        raise fault("BT408", message.value, Label(test.span, "does not hold"))


def _constant(node: Expr) -> int | float | bool | str | None:
    match node:
        case typed_tree.Constant(value=value):
            return value
        case typed_tree.Convert(operand=operand):
            return _constant(operand)
        case typed_tree.Unary(operator="!", operand=operand):
            return not _constant(operand)
        case typed_tree.Unary(operator="-", operand=operand):
            value = _constant(operand)
            if isinstance(value, int | float):
                return -value
        case typed_tree.Logical(operator=sign, left=left, right=right):
            first = _constant(left)
            return _constant(right) if bool(first) == (sign == "&&") else first
        case typed_tree.Conditional(test=test, then=then, otherwise=otherwise):
            return _constant(then if _constant(test) else otherwise)
        case typed_tree.Binary(operator=sign, left=left, right=right):
            a, b = _constant(left), _constant(right)
            if sign in _COMPARISONS and (sign in ("==", "!=") or (a is not None and b is not None)):
                return _COMPARISONS[sign](a, b)
            if isinstance(a, str) and isinstance(b, str) and sign == "+":
                return a + b
            if isinstance(a, int | float) and isinstance(b, int | float) and sign in _ARITHMETIC:
                return _ARITHMETIC[sign](a, b)
        case typed_tree.BuiltinCall(name="len", arguments=(text,)):
            value = _constant(text)
            if isinstance(value, str):
                return len(value)
        case typed_tree.BuiltinCall(name=name, arguments=(text, part)) if name in _STRINGS:
            a, b = _constant(text), _constant(part)
            if isinstance(a, str) and isinstance(b, str):
                return _STRINGS[name](a, b)
        case _:
            pass
    raise _NotConstantError(node)
