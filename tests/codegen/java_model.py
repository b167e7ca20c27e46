"""The value of an expression tree by the rules of Java and of null in the language. It shares no code with the
compiler."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

from btpy.lang.typed_tree import Binary, Coalesce, Conditional, Constant, Convert, Expr, InputValue, Logical, Unary
from btpy.model import types as t
from btpy.model.types import Kind

NULL_OPERAND, BAD_CAST, DIV_ZERO = 1, 2, 4

Value = None | bool | int | float | str


class FailsError(Exception):
    """The evaluation ends in a probe error of ``kind`` (numbers as on the wire)."""

    def __init__(self, kind: int) -> None:
        super().__init__(kind)
        self.kind = kind


def evaluate(node: Expr, arguments: Sequence[Value]) -> Value:
    """Primitive numbers are int and float; the value of a reference is the boxed value."""

    def of(child: Expr) -> Value:
        return evaluate(child, arguments)

    match node:
        case Constant():
            return node.value
        case InputValue():
            return arguments[node.input.index]
        case Convert():
            return _converted(node, of(node.operand))
        case Conditional():
            return of(node.then) if _truth(of(node.test)) else of(node.otherwise)
        case Coalesce():
            left = of(node.left)
            return of(node.right) if left is None else left
        case Logical():
            left = _truth(of(node.left))
            if left is (node.operator == "||"):
                return left
            return _truth(of(node.right))
        case Unary():
            return _unary(node, of(node.operand))
        case Binary():
            return _binary(node, of(node.left), of(node.right))
    raise AssertionError(node)


def _converted(node: Convert, value: Value) -> Value:
    if node.type.is_reference:
        return value
    if value is None:
        raise FailsError(NULL_OPERAND)
    if node.type.kind is Kind.BOOLEAN:
        return _truth(value)
    if isinstance(value, (bool, str)):
        raise FailsError(BAD_CAST)
    if node.type.kind is Kind.DOUBLE:
        return float(value)
    return _integral(value, node.type) if isinstance(value, float) else value


def _integral(value: float, type_: t.Type) -> int:
    """The cast of JLS §5.1.3: towards zero, NaN to 0, cut to the range."""
    bits_ = 32 if type_.kind is Kind.INT else 64
    if math.isnan(value):
        return 0
    if math.isinf(value):
        value = math.copysign(2.0**bits_, value)
    return max(-(1 << bits_ - 1), min(int(value), (1 << bits_ - 1) - 1))


def _truth(value: Value) -> bool:
    if value is None:
        raise FailsError(NULL_OPERAND)
    if not isinstance(value, bool):
        raise FailsError(BAD_CAST)
    return value


def _unary(node: Unary, value: Value) -> Value:
    if node.operator == "!":
        return not _truth(value)
    number = _number(value)
    if node.operator == "-":
        return -number if isinstance(number, float) else _wrapped(-number, node.type)
    assert isinstance(number, int)
    return ~number


def _binary(node: Binary, left: Value, right: Value) -> Value:
    operator = node.operator
    if operator in ("==", "!="):
        return _equal(left, right) == (operator == "==")
    if operator in ("<", "<=", ">", ">="):
        return _less(operator, left, right)
    if operator in ("<<", ">>", ">>>"):
        assert isinstance(left, int)
        assert isinstance(right, int)
        return _shifted(operator, left, right, 32 if node.type.kind is Kind.INT else 64)
    if operator in "&|^":
        assert isinstance(left, int)
        assert isinstance(right, int)
        return {"&": left & right, "|": left | right, "^": left ^ right}[operator]
    if left is None or right is None:
        raise FailsError(NULL_OPERAND)
    if operator == "+" and (isinstance(left, str) or isinstance(right, str)):
        return _text(left) + _text(right)
    one, other = _number(left), _number(right)
    if isinstance(one, float) or isinstance(other, float):
        return _double(operator, float(one), float(other))
    return _integer(operator, one, other, node.type)


def _number(value: Value) -> int | float:
    if value is None:
        raise FailsError(NULL_OPERAND)
    if isinstance(value, (bool, str)):
        raise FailsError(BAD_CAST)
    return value


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        raise NotImplementedError("Java's text of a double")
    return str(value)


def _equal(left: Value, right: Value) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return left == right


def _less(operator: str, left: Value, right: Value) -> bool:
    if left is None or right is None:
        raise FailsError(NULL_OPERAND)
    if isinstance(left, str) and isinstance(right, str):
        one: Any = left.encode("utf-16-be", "surrogatepass")
        other: Any = right.encode("utf-16-be", "surrogatepass")
    else:
        one, other = _number(left), _number(right)
        if isinstance(one, float) or isinstance(other, float):
            one, other = float(one), float(other)
    result: bool = {"<": one < other, "<=": one <= other, ">": one > other, ">=": one >= other}[operator]
    return result


def _wrapped(value: int, type_: t.Type) -> int:
    bits = 32 if type_.kind is Kind.INT and not type_.is_reference else 64
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def _shifted(operator: str, value: int, distance: int, bits: int) -> int:
    distance &= bits - 1
    if operator == "<<":
        value <<= distance
    elif operator == ">>":
        return value >> distance
    else:
        value = (value % (1 << bits)) >> distance
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def _integer(operator: str, left: int, right: int, type_: t.Type) -> int:
    if operator in "/%":
        if right == 0:
            raise FailsError(DIV_ZERO)
        quotient = abs(left) // abs(right)
        if (left < 0) != (right < 0):
            quotient = -quotient
        return _wrapped(quotient if operator == "/" else left - quotient * right, type_)
    return _wrapped({"+": left + right, "-": left - right, "*": left * right}[operator], type_)


def _double(operator: str, left: float, right: float) -> float:
    if operator == "%":
        return math.nan if math.isinf(left) or right == 0 or math.isnan(left + right) else math.fmod(left, right)
    if operator == "/":
        if right == 0:
            if left == 0 or math.isnan(left):
                return math.nan
            return math.copysign(math.inf, left) * math.copysign(1, right)
        return left / right
    return {"+": left + right, "-": left - right, "*": left * right}[operator]


def bits(value: float) -> int:
    """The IEEE bits, with the same bits for every NaN."""
    return 0x7FF8000000000000 if math.isnan(value) else struct.unpack(">Q", struct.pack(">d", value))[0]
