"""Random typed expressions: the JVM computes the same value as the model of Java, bit for bit."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from btpy.codegen.handler import compile_entry
from btpy.lang.typed_tree import Expr
from btpy.model.types import Type
from tests.codegen import trees
from tests.codegen.java_model import FailsError, Value, bits, evaluate
from tests.codegen.target import Box, Result, Target
from tests.codegen.trees import ANY, BOOLEAN, CHAR, DOUBLE, INT, LONG
from tests.generated import examples

_KINDS = {bool: "boolean", int: "long", float: "double", str: "string"}

TYPES = [BOOLEAN, CHAR, INT, LONG, DOUBLE, ANY]


def _expected(value: Value, type_: Type) -> object:
    if type_.is_reference:
        return None if value is None else (_KINDS[type(value)], bits(value) if isinstance(value, float) else value)
    if isinstance(value, float):
        return bits(value)
    assert isinstance(value, int)
    return int(value)


def _actual(result: Result) -> object:
    if isinstance(result, Box):
        return result.kind, bits(result.value) if isinstance(result.value, float) else result.value
    return bits(result) if isinstance(result, float) else result


@pytest.mark.parametrize("type_", TYPES, ids=str)
@settings(
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
@given(data=st.data(), depth=st.integers(1, 5), arguments=trees.arguments)
def test_random_expressions(
    jvm17: Target, type_: Type, data: st.DataObject, depth: int, arguments: tuple[Value, ...]
) -> None:
    node: Expr = data.draw(trees.expressions(type_, depth))
    try:
        expected, kind = _expected(evaluate(node, arguments), type_), None
    except FailsError as error:
        expected, kind = (None if type_.is_reference else 0), error.kind
    except NotImplementedError:
        assume(False)
    handler = compile_entry(trees.program(), trees.bound(), trees.entry(node, trees.INPUTS))
    result = _actual(jvm17.fire(handler, *arguments))
    errors = jvm17.errors()
    assert [error.kind for error in errors] == ([] if kind is None else [kind])
    assert result == expected


# Edge cases that random trees rarely have: operator, type, left, right, result.
_EDGES = [
    ("+", INT, 2**31 - 1, 1, -(2**31)),
    ("*", INT, -(2**31), -1, -(2**31)),
    ("/", INT, -(2**31), -1, -(2**31)),
    ("%", INT, -(2**31), -1, 0),
    ("/", INT, -7, 2, -3),
    ("%", INT, -7, 2, -1),
    ("-", LONG, -(2**63), 1, 2**63 - 1),
    ("/", LONG, -(2**63), -1, -(2**63)),
    ("%", LONG, 7, -3, 1),
    ("<<", INT, 1, 33, 2),
    (">>", INT, -8, 1, -4),
    (">>>", INT, -8, 28, 15),
    (">>>", INT, -1, 32, -1),
    ("<<", LONG, 1, 65, 2),
    (">>>", LONG, -1, 1, 2**63 - 1),
    ("/", DOUBLE, 1.0, 0.0, float("inf")),
    ("/", DOUBLE, -1.0, 0.0, float("-inf")),
    ("%", DOUBLE, -7.5, 2.0, -1.5),
    ("%", DOUBLE, 5.0, float("inf"), 5.0),
]


@pytest.mark.parametrize(("operator", "type_", "left", "right", "expected"), _EDGES)
def test_arithmetic_edges(
    jvm17: Target, operator: str, type_: Type, left: float, right: float, expected: float
) -> None:
    """The operands are inputs in one run and constants in the other, which may be compiled differently."""
    descriptors = [type_.slot, "I" if operator in ("<<", ">>", ">>>") else type_.slot]
    inputs = [trees.argument(index, descriptor) for index, descriptor in enumerate(descriptors)]
    constants = [trees.constant(input_.type, value) for input_, value in zip(inputs, (left, right), strict=True)]
    pairs: tuple[Sequence[Expr], ...] = (inputs, constants, [inputs[0], constants[1]])
    for operands in pairs:
        node = trees.binary(operator, operands[0], operands[1], type_)
        handler = compile_entry(trees.program(), trees.bound(), trees.entry(node, [input_.input for input_ in inputs]))
        assert jvm17.fire(handler, left, right) == expected
    assert jvm17.errors() == []


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">=", "==", "!="])
@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize("boxed", [False, True])
def test_nan_is_unordered(jvm17: Target, operator: str, negated: bool, boxed: bool) -> None:
    """NaN on each side of a compiled comparison, in both forms (jump if, jump unless), and of the run-time
    comparison."""
    nan = float("nan")
    for left, right in ((nan, 1.0), (1.0, nan), (nan, nan)):
        operands = [trees.argument(index, "D") for index in range(2)]
        converted_operands = [trees.convert(ANY, operand) if boxed else operand for operand in operands]
        node: Expr = trees.binary(operator, converted_operands[0], converted_operands[1])
        if negated:
            node = trees.unary("!", node)
        handler = compile_entry(
            trees.program(), trees.bound(), trees.entry(node, [operand.input for operand in operands])
        )
        assert jvm17.fire(handler, left, right) == ((operator == "!=") != negated), (left, right)


@pytest.mark.parametrize("operator", ["&&", "||"])
def test_the_right_operand_is_evaluated_only_if_it_decides(jvm17: Target, operator: str) -> None:
    left, divisor = trees.argument(0, "Z"), trees.argument(1, "I")
    fails = trees.binary("==", trees.binary("/", trees.constant(INT, 1), divisor), trees.constant(INT, 1))
    node = trees.logical(operator, left, fails)
    handler = compile_entry(trees.program(), trees.bound(), trees.entry(node, [left.input, divisor.input]))
    decided = operator == "||"
    assert jvm17.fire(handler, decided, 0) == decided
    assert jvm17.errors() == []
    jvm17.fire(handler, not decided, 0)
    assert [error.kind for error in jvm17.errors()] == [4]


def test_deep_conditions_keep_their_stack(jvm17: Target) -> None:
    """A condition in the middle of an operand, with values below it on the operand stack."""
    flag = trees.argument(0, "Z")
    one = trees.conditional(flag, trees.constant(LONG, 3), trees.constant(LONG, 5))
    other = trees.conditional(trees.unary("!", flag), trees.constant(LONG, 7), trees.constant(LONG, 11))
    node = trees.binary("-", trees.constant(LONG, 100), trees.binary("*", one, other))
    handler = compile_entry(trees.program(), trees.bound(), trees.entry(node, [flag.input]))
    assert jvm17.fire(handler, True) == 67
    assert jvm17.fire(handler, False) == 65
