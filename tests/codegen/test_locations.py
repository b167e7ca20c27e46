"""Handlers of points inside a method: their inputs reach records and maps, on every Java version."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from btpy.codegen.advice import HandlerFactory
from btpy.codegen.handler import compile_fire
from btpy.events import aggregates
from btpy.events.records import Withheld
from btpy.lang.check import checker
from btpy.lang.check.binding import bind
from btpy.lang.inputs import InputKind
from btpy.lang.typed_tree import Shape
from btpy.model.maps import Map
from btpy.model.points import Point
from btpy.model.source import Source
from btpy.plan.plan import OBJECT, Operand, OperandKind
from btpy.plan.planner import PlannedAdvice, PlannedClass, PlannedMethod
from tests.codegen.target import Box, Result, Target
from tests.lang.trees import operation, shape

_OBJECTS = {
    "order": Box("a", "order"),
    "array": Box("a", "array"),
    "lock": Box("a", "lock"),
    "failure": Box("a", "failure"),
}
Given = Mapping[tuple[InputKind, int], Result]


def fire(jvm: Target, location: str, body: str, against: Shape, given: Given) -> list[tuple[object, ...]]:
    program = checker.check_source(Source("test.bt", f"A::b @{location} {{ {body} }}"))
    bound_probe = bind(program, program.probes[0], against)
    for map_ in program.maps:
        jvm.command("map", map_.id, list(type(map_.kind)).index(map_.kind), map_.keys)
    inputs = [given[input_.kind, input_.index] for input_ in bound_probe.inputs]
    assert jvm.fire(compile_fire(program, bound_probe), *inputs) == "void"
    assert jvm.errors() == []
    return [record.values for record in jvm.events()]


def test_a_call(jvm: Target) -> None:
    call = operation("Lcom/acme/Order;", "I Ljava/lang/String; J F C", "D")
    inputs: Given = {
        (InputKind.TARGET, 0): _OBJECTS["order"],
        (InputKind.TARGET_ARG, 0): 3,
        (InputKind.TARGET_ARG, 1): "sku",
        (InputKind.TARGET_ARG, 2): 2**40,
        (InputKind.TARGET_ARG, 3): 0.5,
        (InputKind.TARGET_ARG, 4): 66,
        (InputKind.RETVAL, 0): 12.5,
        (InputKind.EXCEPTION, 0): _OBJECTS["failure"],
        (InputKind.DURATION, 0): 1_500_000,
        (InputKind.ARG, 0): 7,
    }
    before = shape(Point.CALL_BEFORE, "I", operation=call)
    assert fire(
        jvm, "call", 'print(targs, target.quantity, arg0, target_class == "com.acme.Order")', before, inputs
    ) == [(7, 7, True, 3, "sku", 2**40, 0.5, "B")]
    after = "call(when=AFTER)"
    comparison = 'f"{target_class}.{target_method}" == "com.acme.Order.ship"'
    body = f"print(retval, message(exception), duration > 1ms, targs[0] + 1, {comparison})"
    for point, values in (
        (Point.CALL_RETURN, (12.5, None, True, 4, True)),
        (Point.CALL_THROW, (None, "no stock", True, 4, True)),
    ):
        assert fire(jvm, after, body, shape(point, operation=call), inputs) == [values]


def test_a_field(jvm: Target) -> None:
    inputs: Given = {
        (InputKind.TARGET, 0): _OBJECTS["order"],
        (InputKind.OLD_VALUE, 0): 7,
        (InputKind.NEW_VALUE, 0): 8,
        (InputKind.RETVAL, 0): 9,
    }
    number = operation("Lcom/acme/Order;", value="S")
    against = shape(Point.FIELD_SET, operation=number)
    body = 'if oldval != newval { print(oldval, newval, target.quantity, field == "ship") }'
    assert fire(jvm, "set", body, against, inputs) == [(7, 8, 7, True)]
    assert fire(jvm, "set", body, against, {**inputs, (InputKind.NEW_VALUE, 0): 7}) == []
    assert fire(jvm, "get", "print(retval, target.quantity)", shape(Point.FIELD_GET, operation=number), inputs) == [
        (9, 7)
    ]
    enum = shape(Point.FIELD_SET, operation=operation("", value="Ljava/lang/Object;"))
    level: Given = {(InputKind.OLD_VALUE, 0): Box("a", "level"), (InputKind.NEW_VALUE, 0): None}
    body = 'print(enum_name(oldval) == "SILVER", oldval == "SILVER", newval == null, target)'
    assert fire(jvm, "set", body, enum, level) == [(True, True, True, None)]


def test_arrays(jvm: Target) -> None:
    inputs: Given = {
        (InputKind.TARGET, 0): _OBJECTS["array"],
        (InputKind.INDEX, 0): 1,
        (InputKind.RETVAL, 0): 20,
        (InputKind.NEW_VALUE, 0): 21,
        (InputKind.LENGTH, 0): 3,
        (InputKind.LENGTH, 1): 5,
    }
    element = operation("[I", value="I")
    assert fire(
        jvm, "array_get", "print(target[index], retval)", shape(Point.ARRAY_GET, operation=element), inputs
    ) == [(20, 20)]
    assert fire(jvm, "array_set", "print(index, newval)", shape(Point.ARRAY_SET, operation=element), inputs) == [
        (1, 21)
    ]
    results = shape(Point.NEWARRAY, operation=operation("[I", element_size=4, dimensions=1))
    assert fire(jvm, "newarray", "print(size, length, len(target), shallow_size(target))", results, inputs) == [
        (32, 3, 3, 32)
    ]
    nested = shape(Point.NEWARRAY, operation=operation("[[B", element_size=1, dimensions=2))
    assert fire(jvm, "newarray", "if size > 31B { print(size) }", nested, inputs) == [(32 + 3 * 24,)]


def test_types_and_exceptions(jvm: Target) -> None:
    inputs: Given = {
        (InputKind.TARGET, 0): "text",
        (InputKind.RETVAL, 0): 1,
        (InputKind.EXCEPTION, 0): _OBJECTS["failure"],
    }
    test = operation("Ljava/lang/Object;", value="Z")
    assert fire(jvm, "instanceof", "print(target, retval)", shape(Point.INSTANCEOF, operation=test), inputs) == [
        ("text", True)
    ]
    assert fire(jvm, "cast", "print(typeof(target))", shape(Point.CAST, operation=test), inputs) == [
        ("java.lang.String",)
    ]
    for location, point in (("raise", Point.RAISE), ("catch", Point.CATCH)):
        against = shape(point, operation=operation())
        body = "print(message(exception))"
        assert fire(jvm, f"{location}(+java.lang.RuntimeException)", body, against, inputs) == [("no stock",)]
        assert fire(jvm, f"{location}(+java.io.IOException)", body, against, inputs) == []


def test_monitors(jvm: Target) -> None:
    inputs: Given = {(InputKind.TARGET, 0): _OBJECTS["lock"], (InputKind.DURATION, 0): 2_000_000}
    monitor = operation("Ljava/lang/Object;")
    body = "if duration > 1ms { @wait[typeof(lock)] = sum(duration); print(@wait[typeof(lock)]) }"
    against = shape(Point.SYNC_ENTER, operation=monitor)
    assert fire(jvm, "sync(when=AFTER)", body, against, inputs) == [(2_000_000,)]
    assert fire(jvm, "sync_exit", "print(typeof(lock))", shape(Point.SYNC_EXIT, operation=monitor), inputs) == [
        ("java.lang.Object",)
    ]


def test_variables_at_a_line(jvm: Target) -> None:
    against = shape(Point.LINE, "I", names="count", variables="count I ratio D order La; pin I grade C", absent="later")
    inputs: Given = {
        (InputKind.ARG, 0): 1,
        (InputKind.FRAME_VARIABLE, 0): 2,
        (InputKind.FRAME_VARIABLE, 1): 0.5,
        (InputKind.FRAME_VARIABLE, 2): "a text",
        (InputKind.FRAME_VARIABLE, 4): 66,
    }
    assert fire(jvm, "line(3)", "print($count, arg0, $ratio > 0.25, $later ?? 0)", against, inputs) == [(2, 1, True, 0)]
    assert fire(jvm, "line(3)", "print(locals())", against, inputs) == [
        ("count", 2, "ratio", 0.5, "order", "a text", "pin", Withheld.REDACTED, "grade", "B")
    ]


@pytest.mark.parametrize(
    ("value", "bytes_"),
    [(_OBJECTS["order"], 48), (_OBJECTS["array"], 32), (_OBJECTS["lock"], 16), ("A-1", 24), (5, 24), (None, None)],
)
def test_shallow_size(jvm17: Target, value: Result, bytes_: int | None) -> None:
    """In this JVM, an object header has 12 bytes and a reference has 4."""
    jvm17.open()
    against = shape(Point.NEW, operation=operation("Ljava/lang/Object;"))
    assert fire(jvm17, "new", "print(shallow_size(target))", against, {(InputKind.TARGET, 0): value}) == [(bytes_,)]


def test_sizes_are_summed(jvm17: Target) -> None:
    jvm17.open()
    against = shape(Point.NEW, operation=operation("Ljava/lang/Object;"))
    fire(jvm17, "new", "@bytes[target_class] = sum(shallow_size(target))", against, {(InputKind.TARGET, 0): "A-1"})
    content = aggregates.decode_content(jvm17.content(0), {0: _map()})
    ((key, total),) = content.entries
    assert (key, total.number) == (("com.acme.Order",), 24)  # type: ignore[union-attr]


def _map() -> Map:
    return checker.check_source(Source("x", "A::b @new { @bytes[target_class] = sum(shallow_size(target)) }")).maps[0]


def test_operands_of_advice() -> None:
    program = checker.check_source(
        Source("test.bt", "A::b @call { print(target, targs[1], depth) }\nA::b @line(3) { print($b, $a) }")
    )
    called = bind(program, program.probes[0], shape(Point.CALL_BEFORE, operation=operation("La/B;", "I J")))
    line = bind(program, program.probes[1], shape(Point.LINE, variables="a I b D"))
    method = PlannedMethod(
        "b",
        "()V",
        (PlannedAdvice(called, 17, "a.B", "run"), PlannedAdvice(called, 30, "a.B", "run"), PlannedAdvice(line, 5)),
    )
    advised = HandlerFactory(program).advise(PlannedClass("A", (method,), (), ()))
    (plan,) = advised.plan.methods
    assert [(item.at, item.target_class, item.member) for item in plan.advice] == [
        (17, "a.B", "run"),
        (30, "a.B", "run"),
        (5, "", ""),
    ]
    first, second, third = plan.advice
    assert first.operands == second.operands
    assert first.operands == (
        Operand(OperandKind.TARGET, 0, OBJECT),
        Operand(OperandKind.TARGET_ARGUMENT, 1, "J"),
        Operand(OperandKind.LOCAL, 0, "I"),
    )
    assert len(plan.locals) == 1
    assert third.operands == (Operand(OperandKind.VARIABLE, 3, "D"), Operand(OperandKind.VARIABLE, 1, "I"))


@pytest.mark.parametrize(
    ("location", "expression", "point", "operand"),
    [
        ("set", "oldval", Point.FIELD_SET, Operand(OperandKind.OLD_VALUE, 0, "S")),
        ("set", "newval", Point.FIELD_SET, Operand(OperandKind.NEW_VALUE, 0, "S")),
        ("get", "retval", Point.FIELD_GET, Operand(OperandKind.RESULT, 0, "S")),
        ("array_set", "index", Point.ARRAY_SET, Operand(OperandKind.INDEX, 0, "I")),
        ("newarray", "length", Point.NEWARRAY, Operand(OperandKind.LENGTH, 0, "I")),
        ("sync_exit", "lock", Point.SYNC_EXIT, Operand(OperandKind.TARGET, 0, OBJECT)),
        ("raise", "exception", Point.RAISE, Operand(OperandKind.EXCEPTION, 0, OBJECT)),
        ("line(3)", "duration", Point.LINE, Operand(OperandKind.DURATION, 0, "J")),
    ],
)
def test_the_advice_that_the_weaver_gets(location: str, expression: str, point: Point, operand: Operand) -> None:
    program = checker.check_source(Source("test.bt", f"A::b @{location} {{ print({expression}) }}"))
    against = shape(point, operation=operation("La/B;", value="S"))
    bound_probe = bind(program, program.probes[0], against)
    method = PlannedMethod("b", "()V", (PlannedAdvice(bound_probe, 1),))
    (plan,) = HandlerFactory(program).advise(PlannedClass("A", (method,), (), ())).plan.methods
    assert plan.advice[0].operands == (operand,)
