"""Typed trees in the form of the checker, written by hand or by hypothesis."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from btpy.lang.inputs import Input, InputKind
from btpy.lang.program import Probe, Program
from btpy.lang.typed_tree import (
    Binary,
    BoundProbe,
    BuiltinCall,
    Coalesce,
    Conditional,
    Constant,
    Convert,
    Entry,
    Expr,
    InputValue,
    Logical,
    Shape,
    Statement,
    Text,
    Unary,
)
from btpy.model import types as t
from btpy.model.attachments import MethodAttachment, TimerAttachment
from btpy.model.maps import Map, MapKind
from btpy.model.points import Point
from btpy.model.source import Source, Span
from btpy.model.types import Type

SOURCE = Source("tree.bt", "x")
_offsets = itertools.cycle(range(1, 3000))

ANY = t.ANY
BOOLEAN = t.BOOLEAN
CHAR = t.CHAR
DOUBLE = t.DOUBLE
INT = t.INT
LONG = t.LONG
STRING = t.STRING


def span() -> Span:
    """A new position for each node, so that a reported position identifies the node."""
    start = next(_offsets)
    return Span(SOURCE, start, start + 7)


def constant(type_: Type, value: int | float | bool | str | None) -> Constant:
    return Constant(type_, span(), value)


def argument(index: int, descriptor: str, type_: Type | None = None) -> InputValue:
    return InputValue(type_ or t.from_descriptor(descriptor), span(), Input(InputKind.ARG, index, descriptor))


def given(kind: InputKind, descriptor: str, type_: Type) -> InputValue:
    return InputValue(type_, span(), Input(kind, 0, descriptor))


def convert(type_: Type, operand: Expr) -> Convert:
    return Convert(type_, span(), operand)


def unary(operator: str, operand: Expr, type_: Type | None = None) -> Unary:
    return Unary(type_ or operand.type, span(), operator, operand)


def binary(operator: str, left: Expr, right: Expr, type_: Type | None = None) -> Binary:
    comparison = operator in ("==", "!=", "<", "<=", ">", ">=")
    return Binary(type_ or (BOOLEAN if comparison else left.type), span(), operator, left, right)


def logical(operator: str, left: Expr, right: Expr) -> Logical:
    return Logical(BOOLEAN, span(), operator, left, right)


def conditional(test: Expr, then: Expr, otherwise: Expr) -> Conditional:
    return Conditional(then.type, span(), test, then, otherwise)


def coalesce(left: Expr, right: Expr) -> Coalesce:
    return Coalesce(right.type, span(), left, right)


def text(*parts: str | Expr) -> Text:
    return Text(STRING, span(), parts)


def call(name: str, type_: Type, *arguments: Expr) -> BuiltinCall:
    return BuiltinCall(type_, span(), name, arguments)


def program(*maps: MapKind, keys: int = 0) -> Program:
    """A program with one map of each kind; the ids begin at 0."""
    return Program(SOURCE, (), tuple(Map(i, f"m{i}", kind, keys, ANY) for i, kind in enumerate(maps)), ())


def shape(*, in_jdk: bool = False, point: Point = Point.ENTRY) -> Shape:
    return Shape(point, True, t.OBJECT, (), (), (), t.VOID, "V", in_jdk)


def bound(
    body: Sequence[Statement] = (),
    *,
    inputs: Sequence[Input] = (),
    predicate: Expr | None = None,
    thrown: str | None = None,
    variables: Sequence[str] = (),
    in_jdk: bool = False,
    timer: bool = False,
    probe: int = 3,
) -> BoundProbe:
    attachment = (
        TimerAttachment(10**9) if timer else MethodAttachment((), (), (), None, None, (Point.ENTRY,), None, False, 500)
    )
    syntax: object = None  # code generation never looks at the syntax
    return BoundProbe(
        Probe(probe, "slow", attachment, None, False, syntax, Span(SOURCE, 0, 1)),  # type: ignore[arg-type]
        None if timer else shape(in_jdk=in_jdk),
        tuple(inputs),
        (),
        thrown,
        predicate,
        tuple(body),
        tuple(variables),
    )


def entry(value: Expr, inputs: Sequence[Input]) -> Entry:
    return Entry(0, tuple(inputs), value)


#: Inputs of random trees: ARG number, descriptor.
INPUTS = tuple(
    Input(InputKind.ARG, index, descriptor)
    for index, descriptor in enumerate(["Z", "C", "B", "S", "I", "I", "J", "J", "F", "D", "D", t.ANY.slot, t.ANY.slot])
)

ints = st.one_of(st.sampled_from([0, 1, -1, 2, 31, 32, 63, 2**31 - 1, -(2**31)]), st.integers(-(2**31), 2**31 - 1))
longs = st.one_of(st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63), 2**32]), st.integers(-(2**63), 2**63 - 1))
doubles = st.floats(width=64)
texts = st.text(max_size=6)
boxes = st.one_of(st.none(), longs, doubles, st.booleans(), texts)

_VALUES = {
    "Z": st.booleans(),
    "C": st.integers(0, 0xFFFF),
    "B": st.integers(-128, 127),
    "S": st.integers(-32768, 32767),
    "I": ints,
    "J": longs,
    "F": st.floats(width=32),
    "D": doubles,
    t.ANY.slot: boxes,
}

#: One value for each of INPUTS.
arguments = st.tuples(*(_VALUES[input_.descriptor] for input_ in INPUTS))


def _inputs_of(type_: Type) -> st.SearchStrategy[Expr]:
    results = [
        input_
        for input_ in INPUTS
        if t.from_descriptor(input_.descriptor).kind is type_.kind or (type_ is ANY and input_.descriptor == ANY.slot)
    ]
    return st.sampled_from(results).map(lambda input_: argument(input_.index, input_.descriptor, type_))


def _constants(type_: Type) -> st.SearchStrategy[Expr]:
    values: st.SearchStrategy[Any] = {
        BOOLEAN: st.booleans(),
        CHAR: st.integers(0, 0xFFFF),
        INT: ints,
        LONG: longs,
        DOUBLE: doubles,
        STRING: texts,
        ANY: st.none(),
    }[type_]
    return values.map(lambda value: constant(type_, value))


@st.composite
def expressions(draw: st.DrawFn, type_: Type, depth: int) -> Expr:
    """A tree of that type over INPUTS. Every form of node that the type allows can be its root."""
    if type_ is STRING or depth == 0:
        leaf = _constants(type_)
        if depth == 0:
            return draw(leaf if type_ is STRING else st.one_of(leaf, _inputs_of(type_)))

    def of(operand_type: Type) -> Expr:
        return draw(expressions(operand_type, depth - 1))

    form = draw(st.sampled_from(_FORMS[type_]))
    match form:
        case "leaf":
            return of(type_) if depth > 1 else draw(expressions(type_, 0))
        case "negate":
            return unary("-", of(type_))
        case "complement":
            return unary("~", of(type_))
        case "not":
            return unary("!", of(draw(st.sampled_from([BOOLEAN, ANY]))), BOOLEAN)
        case "arithmetic":
            return binary(draw(st.sampled_from("+-*/%")), of(type_), of(type_))
        case "bits":
            return binary(draw(st.sampled_from("&|^")), of(type_), of(type_))
        case "shift":
            return binary(draw(st.sampled_from(["<<", ">>", ">>>"])), of(type_), of(INT))
        case "conditional":
            return conditional(of(BOOLEAN), of(type_), of(type_))
        case "widen":
            return convert(type_, of(draw(st.sampled_from(_WIDER[type_]))))
        case "compare":
            operands = draw(st.sampled_from([CHAR, INT, LONG, DOUBLE, ANY]))
            return binary(draw(st.sampled_from(["==", "!=", "<", "<=", ">", ">="])), of(operands), of(operands))
        case "same":
            return binary(draw(st.sampled_from(["==", "!="])), of(BOOLEAN), of(BOOLEAN))
        case "null":
            operands_ = [of(ANY), constant(t.NULL, None)]
            left, right = draw(st.permutations(operands_))
            return binary(draw(st.sampled_from(["==", "!="])), left, right)
        case "logical":
            operand = [BOOLEAN, ANY]
            return logical(draw(st.sampled_from(["&&", "||"])), *(of(draw(st.sampled_from(operand))) for _ in range(2)))
        case "unbox":
            return convert(type_, of(ANY))
        case "nullable":
            return convert(type_, convert(type_.or_null(), of(type_)))
        case "coalesce":
            return coalesce(of(ANY), of(ANY))
        case "default":
            return coalesce(convert(type_.or_null(), of(type_)), of(type_))
        case "box":
            return convert(ANY, of(draw(st.sampled_from([BOOLEAN, INT, LONG, DOUBLE]))))
    raise AssertionError(form)


_NUMBER = ("leaf", "negate", "arithmetic", "conditional", "nullable", "default")
_FORMS: dict[Type, tuple[str, ...]] = {
    CHAR: ("leaf", "conditional", "default"),
    INT: (*_NUMBER, "complement", "bits", "shift", "widen"),
    LONG: (*_NUMBER, "complement", "bits", "shift", "widen", "unbox"),
    DOUBLE: (*_NUMBER, "widen", "unbox"),
    BOOLEAN: ("leaf", "not", "compare", "same", "null", "logical", "bits", "conditional", "unbox", "nullable"),
    ANY: ("leaf", "box", "arithmetic", "negate", "conditional", "coalesce"),
}
_WIDER = {INT: (CHAR,), LONG: (INT,), DOUBLE: (INT, LONG)}
