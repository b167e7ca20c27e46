"""Handlers fired against the real run-time classes: every statement, every builtin, the guard, errors, names."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import pytest

from btpy.classfile.pool import ConstantPool
from btpy.codegen.handler import compile_entry, compile_fire, depth_handlers
from btpy.codegen.handler_class import HandlerClass
from btpy.errors import CompileError, ScriptError
from btpy.events import aggregates
from btpy.events.records import CutString, EnumValue, ObjectValue, SequenceValue, StackRef
from btpy.lang.builtins import FUNCTIONS
from btpy.lang.check.binding import bind
from btpy.lang.check.checker import check_source
from btpy.lang.inputs import Ambient, Input, InputKind
from btpy.lang.typed_tree import (
    Aggregate,
    AmbientValue,
    Coalesce,
    ElementValue,
    Emit,
    Evaluate,
    ExitSession,
    Expr,
    FieldValue,
    If,
    InputValue,
    Let,
    LocalValue,
    MapAdd,
    MapClear,
    MapDelete,
    MapStore,
    MapValue,
    MapView,
    PrintMaps,
    SiteValue,
    Statement,
    Stop,
)
from btpy.model import types as t
from btpy.model.maps import Map, MapKind
from btpy.model.points import Point
from btpy.model.source import Source
from btpy.model.templates import SiteFact
from tests.codegen import trees
from tests.codegen.target import Box, Result, Target, target
from tests.codegen.trees import ANY, BOOLEAN, DOUBLE, INT, LONG, STRING, constant, convert, span

NULL_OPERAND, BAD_CAST, INDEX, DIV_ZERO, NULL_SAMPLE, INTERNAL = 1, 2, 3, 4, 10, 0

ANY_INPUT = trees.argument(0, ANY.slot, ANY)
INT_INPUT = trees.argument(0, "I")


def _inputs(*nodes: InputValue) -> list[Input]:
    return [node.input for node in nodes]


def _fire(jvm: Target, body: Sequence[Statement], *inputs: tuple[InputValue, Result], **options: object) -> None:
    """Fires once and expects no result and no exception."""
    handler = compile_fire(
        trees.program(),
        trees.bound(body, inputs=_inputs(*(node for node, _ in inputs)), **options),  # type: ignore[arg-type]
    )
    assert jvm.fire(handler, *(value for _, value in inputs)) == "void"


def _value(jvm: Target, node: Expr, *inputs: tuple[InputValue, Result]) -> Result:
    handler = compile_entry(trees.program(), trees.bound(), trees.entry(node, _inputs(*(node for node, _ in inputs))))
    return jvm.fire(handler, *(value for _, value in inputs))


def _shown(jvm: Target, node: Expr, *inputs: tuple[InputValue, Result]) -> object:
    """The value that a record carries."""
    _fire(jvm, [Emit(0, (node,))], *inputs)
    (record,) = jvm.events()
    (value,) = record.values
    return value


def _emit(number: int) -> Emit:
    return Emit(number, ())


def _templates(jvm: Target) -> list[int]:
    return [record.template for record in jvm.events()]


def test_a_record_carries_values_of_every_kind(jvm: Target) -> None:
    flag = trees.argument(0, "Z")
    letter = trees.argument(1, "C")
    small = trees.argument(2, "B")
    large = trees.argument(3, "J", t.DURATION)
    real = trees.argument(4, "F")
    name = trees.argument(5, ANY.slot, STRING)
    absent = trees.argument(6, ANY.slot, ANY)
    values = (flag, letter, small, large, real, name, absent, constant(DOUBLE, -0.0), constant(STRING, "é€\U0001f600"))
    _fire(
        jvm,
        [Emit(5, values)],
        *zip((flag, letter, small, large, real, name, absent), (True, 65, -5, 2**40, 0.5, "ü", None), strict=True),
    )
    (record,) = jvm.events()
    assert record.template == 5
    assert record.probe == 3
    assert record.site & 0xFFFFFF == 1
    assert record.site >> 24 > 0
    assert record.thread == "main"
    assert record.nanos > 0
    assert record.values == (True, "A", -5, 2**40, 0.5, "ü", None, -0.0, "é€\U0001f600")
    assert jvm.counters()[3] == (1, 0, 0, 0, 0, 0, 0, 1, *[0] * 10)


def test_a_record_opens_objects(jvm: Target) -> None:
    order = _shown(jvm, ANY_INPUT, (ANY_INPUT, Box("a", "order")))
    assert isinstance(order, ObjectValue)
    fields = dict(order.fields)
    assert (fields["quantity"], fields["price"], fields["name"], fields["nobody"]) == (7, 12.5, "Ada", None)
    assert fields["level"] == EnumValue("FireHandlers$Level", "GOLD")
    array = _shown(jvm, ANY_INPUT, (ANY_INPUT, Box("a", "array")))
    assert isinstance(array, SequenceValue)
    assert array.items == (10, 20, 30)
    long = _shown(jvm, ANY_INPUT, (ANY_INPUT, "x" * 1000))
    assert isinstance(long, CutString)
    assert long.length == 1000


def test_records_keep_their_order_among_requests(jvm: Target) -> None:
    jvm.command("map", 0, 1, 0)
    maps = PrintMaps(2, (MapView(0, False), MapView(1, True)))
    body: list[Statement] = [_emit(1), maps, _emit(3), ExitSession(4, constant(INT, 7)), _emit(5)]
    _fire(jvm, body)
    assert _templates(jvm) == [1, 3, 5]
    assert [(request.kind, request.template, request.argument, request.maps) for request in jvm.asked] == [
        (0, 2, 0, (0, 1 << 14 | 1)),
        (1, 4, 7, ()),
    ]
    assert (jvm.asked[1].probe, jvm.asked[1].site) == (3, 1)


def test_values_are_evaluated_before_the_record_begins(jvm: Target) -> None:
    """An error in the last value leaves no partial record behind."""
    bad = trees.binary("/", constant(INT, 1), INT_INPUT)
    _fire(jvm, [_emit(1), Emit(2, (ANY_INPUT_1, bad)), _emit(3)], (INT_INPUT, 0), (ANY_INPUT_1, "x"))
    assert _templates(jvm) == [1]
    (error,) = jvm.errors()
    assert (error.kind, error.position, error.probe) == (DIV_ZERO, bad.span.packed, 3)
    _fire(jvm, [_emit(4)])
    assert _templates(jvm) == [4]
    assert jvm.counters()[3][:6] == (2, 0, 0, 0, 0, 0)


ANY_INPUT_1 = trees.argument(1, ANY.slot, ANY)


def test_branches(jvm: Target) -> None:
    def body(first: list[Statement], second: list[Statement]) -> list[Statement]:
        return [If(trees.binary(">", INT_INPUT, constant(INT, 10)), tuple(first), tuple(second)), _emit(9)]

    for value, expected in ((11, [1, 9]), (10, [2, 9])):
        _fire(jvm, body([_emit(1)], [_emit(2)]), (INT_INPUT, value))
        assert _templates(jvm) == expected
    for value, expected in ((11, [1, 9]), (10, [9])):
        _fire(jvm, body([_emit(1)], []), (INT_INPUT, value))
        assert _templates(jvm) == expected
    for value, expected in ((11, [1]), (10, [2, 9])):
        _fire(jvm, body([_emit(1), Stop(), _emit(8)], [_emit(2)]), (INT_INPUT, value))
        assert _templates(jvm) == expected
    for value, expected in ((11, [1]), (10, [2])):
        _fire(jvm, body([_emit(1), Stop()], [_emit(2), Stop()]), (INT_INPUT, value))
        assert _templates(jvm) == expected
    assert jvm.errors() == []


def test_variables(jvm: Target) -> None:
    """Variables of each slot that only one branch assigns again, and a variable of a nested block."""
    number = LocalValue(LONG, span(), 0)
    name = LocalValue(STRING, span(), 1)
    real = LocalValue(DOUBLE, span(), 2)
    flag = LocalValue(BOOLEAN, span(), 3)
    body: list[Statement] = [
        Let(0, convert(LONG, INT_INPUT)),
        Let(1, constant(STRING, "low")),
        Let(3, trees.binary(">", INT_INPUT, constant(INT, 5))),
        If(
            flag,
            (
                Let(0, trees.binary("*", number, constant(LONG, 10))),
                Let(1, constant(STRING, "high")),
                Let(2, convert(DOUBLE, number)),
                Emit(1, (real,)),
            ),
            (),
        ),
        Emit(2, (number, name, flag)),
    ]
    variables = ["J", ANY.slot, "D", "I"]
    _fire(jvm, body, (INT_INPUT, 7), variables=variables)
    assert [record.values for record in jvm.events()] == [(70.0,), (70, "high", True)]
    _fire(jvm, body, (INT_INPUT, 3), variables=variables)
    assert [record.values for record in jvm.events()] == [(3, "low", False)]


def test_a_predicate_decides(jvm: Target) -> None:
    predicate = trees.binary(">=", INT_INPUT, constant(INT, 5))
    _fire(jvm, [_emit(1)], (INT_INPUT, 4), predicate=predicate)
    assert _templates(jvm) == []
    assert (jvm.counters()[3][7], jvm.counters()[3][-1]) == (0, 1), "the probe has not fired, which is counted"
    _fire(jvm, [_emit(1)], (INT_INPUT, 5), predicate=predicate)
    assert _templates(jvm) == [1]
    assert jvm.counters()[3][7] == 1


def test_null_in_a_predicate_is_an_error_and_false(jvm: Target) -> None:
    left = FieldValue(ANY, span(), ANY_INPUT, "nobody")
    predicate = trees.binary(">", left, convert(ANY, constant(INT, 2)))
    _fire(jvm, [_emit(1)], (ANY_INPUT, Box("a", "order")), predicate=predicate)
    assert _templates(jvm) == []
    (error,) = jvm.errors()
    assert (error.kind, error.position, error.count) == (NULL_OPERAND, left.span.packed, 1)
    assert jvm.counters()[3][7] == 0


def test_the_type_of_an_exception_selects(jvm: Target) -> None:
    exception = trees.given(InputKind.EXCEPTION, ANY.slot, t.OBJECT)
    for pattern, expected in (
        ("java.lang.IllegalStateException", [1]),
        ("+java.lang.RuntimeException", [1]),
        ("java.lang.RuntimeException", [1]),
        ("+java.sql.SQLException", []),
        ("java.lang.*", [1]),
    ):
        _fire(jvm, [_emit(1)], (exception, Box("a", "failure")), thrown=pattern)
        assert _templates(jvm) == expected, pattern
    assert jvm.errors() == []


def test_a_disabled_probe_does_nothing(jvm: Target) -> None:
    jvm.command("enable", 3, "off")
    _fire(jvm, [_emit(1)])
    assert _templates(jvm) == []
    assert _value(jvm, INT_INPUT, (INT_INPUT, 5)) == 0
    jvm.command("enable", 3, "on")
    _fire(jvm, [_emit(1)])
    assert _templates(jvm) == [1]
    assert _value(jvm, INT_INPUT, (INT_INPUT, 5)) == 5


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        (5, LONG, 5),
        (-(2**63), LONG, -(2**63)),
        (0.1, DOUBLE, 0.1),
        (True, BOOLEAN, 1),
        (66, t.CHAR, 66),
        ("B", t.CHAR, 66),
        ("\0\ud800", STRING, Box("string", "\0\ud800")),
        (None, t.NULL, None),
        (5, ANY, Box("long", 5)),
        (5, LONG.or_null(), Box("long", 5)),
        (5, DOUBLE.or_null(), Box("double", 5.0)),
        (0.5, ANY, Box("double", 0.5)),
        (False, ANY, Box("boolean", False)),
        ("x", ANY, Box("string", "x")),
    ],
)
def test_constants(jvm17: Target, value: float | str | None, type_: t.Type, expected: object) -> None:
    assert _value(jvm17, constant(type_, value)) == expected


@pytest.mark.parametrize(
    ("type_", "boxed", "value", "expected"),
    [
        (t.CHAR, ANY, 66, Box("char", 66)),
        (INT, ANY, -5, Box("long", -5)),
        (INT, DOUBLE.or_null(), -5, Box("double", -5.0)),
        (BOOLEAN, BOOLEAN.or_null(), True, Box("boolean", True)),
        (DOUBLE, ANY, 2.5, Box("double", 2.5)),
        (t.DURATION, ANY, 2, Box("long", 2)),
    ],
)
def test_boxing_and_back(jvm17: Target, type_: t.Type, boxed: t.Type, value: float, expected: Box) -> None:
    node = constant(type_, value)
    assert _value(jvm17, convert(boxed, node)) == expected
    if type_.kind is not t.Kind.INT or boxed is ANY:
        assert _value(jvm17, convert(type_, convert(boxed, node))) == value


def test_a_nullable_number_widens_in_its_box(jvm17: Target) -> None:
    number = trees.argument(0, ANY.slot, LONG.or_null())
    widened = convert(DOUBLE.or_null(), number)
    assert _value(jvm17, widened, (number, 5)) == Box("double", 5.0)
    assert _value(jvm17, widened, (number, None)) is None


def test_a_default_for_null(jvm17: Target) -> None:
    size = trees.call("len", INT.or_null(), ANY_INPUT)
    default = Coalesce(INT, span(), size, constant(INT, -1))
    assert _value(jvm17, default, (ANY_INPUT, "four")) == 4
    assert _value(jvm17, default, (ANY_INPUT, None)) == -1
    assert jvm17.errors() == []


def test_string_conversion(jvm17: Target) -> None:
    node = convert(STRING, ANY_INPUT)
    assert _value(jvm17, node, (ANY_INPUT, "x")) == Box("string", "x")
    assert _value(jvm17, node, (ANY_INPUT, None)) is None
    assert jvm17.errors() == []
    assert _value(jvm17, node, (ANY_INPUT, 5)) is None
    (error,) = jvm17.errors()
    assert (error.kind, error.position) == (BAD_CAST, ANY_INPUT.span.packed)


def test_site_facts(jvm: Target) -> None:
    facts = {
        SiteFact.CLS: "com.acme.Shop",
        SiteFact.METHOD: "sell",
        SiteFact.SIGNATURE: "(I)V",
        SiteFact.PROBE: "slow",
        SiteFact.TARGET_CLASS: "com.acme.Order",
        SiteFact.TARGET_METHOD: "ship",
        SiteFact.FIELD: "ship",
    }
    for fact, expected in facts.items():
        assert _value(jvm, SiteValue(STRING, span(), fact)) == Box("string", expected)
    assert _value(jvm, SiteValue(INT, span(), SiteFact.LINE)) == 42


def test_ambient_values(jvm: Target) -> None:
    tid = int(jvm.command("name", "till-3"))
    try:
        assert _value(jvm, AmbientValue(LONG, span(), Ambient.TID)) == tid
        assert _value(jvm, AmbientValue(STRING, span(), Ambient.THREAD_NAME)) == Box("string", "till-3")
    finally:
        jvm.command("name", "main")
    assert _value(jvm, AmbientValue(BOOLEAN, span(), Ambient.IS_VIRTUAL)) == 0
    assert _value(jvm, AmbientValue(INT, span(), Ambient.PID)) == 4711
    before, after = (_value(jvm, AmbientValue(LONG, span(), Ambient.NANOS)) for _ in range(2))
    assert isinstance(before, int)
    assert isinstance(after, int)
    elapsed = _value(jvm, AmbientValue(t.DURATION, span(), Ambient.ELAPSED))
    assert isinstance(elapsed, int)
    assert 0 < after - before < 10**11
    assert 0 < elapsed < 10**11
    now = _value(jvm, AmbientValue(LONG, span(), Ambient.NOW))
    assert isinstance(now, int)
    assert now > 1_700_000_000 * 10**9


def test_fields(jvm: Target) -> None:
    """Fields that are private, inherited, in a field of a field, or behind null; boxed values stay boxed."""

    def path(*names: str) -> Expr:
        node: Expr = ANY_INPUT
        for name in names:
            node = FieldValue(ANY, span(), node, name)
        return node

    order = (ANY_INPUT, Box("a", "order"))
    assert _value(jvm, path("quantity"), order) == Box("long", 7)
    assert _value(jvm, path("price"), order) == Box("double", 12.5)
    assert _value(jvm, path("name"), order) == Box("string", "Ada")
    assert _value(jvm, path("customer", "name"), order) == Box("string", "Ada")
    assert _value(jvm, path("nobody", "name"), order) is None
    assert _value(jvm, path("name"), (ANY_INPUT, None)) is None
    assert jvm.errors() == []
    access = path("customer", "address")
    assert _value(jvm, access, order) is None
    (error,) = jvm.errors()
    assert error.position == access.span.packed


def test_elements(jvm: Target) -> None:
    index = trees.argument(1, "I")
    element = ElementValue(ANY, span(), ANY_INPUT, index)

    def at(object_: str | None, number: int) -> Result:
        return _value(jvm, element, (ANY_INPUT, Box("a", object_) if object_ else None), (index, number))

    assert at("array", 1) == Box("long", 20)
    assert at("list", 0) == Box("string", "x")
    assert at("list", 2) is None
    assert at(None, 0) is None
    assert jvm.errors() == []
    assert at("array", 3) is None
    assert at("array", -1) is None
    assert sum(error.count for error in jvm.errors() if error.kind == INDEX) == 2


def test_text(jvm: Target) -> None:
    letter = trees.argument(1, "C")
    where = (SiteValue(STRING, span(), SiteFact.METHOD), ":", SiteValue(INT, span(), SiteFact.LINE))
    node = trees.text("<", *where, "> ", ANY_INPUT, convert(ANY, constant(LONG, 3)), convert(ANY, letter))
    assert _value(jvm, node, (ANY_INPUT, None), (letter, 0x20AC)) == Box("string", "<sell:42> null3€")
    assert _value(jvm, trees.text()) == Box("string", "")
    assert _value(jvm, trees.text("one")) == Box("string", "one")


def test_run_time_arithmetic_names_the_operand_at_fault(jvm: Target) -> None:
    one = convert(ANY, constant(INT, 1))
    for node, position in (
        (trees.binary("+", ANY_INPUT, one, ANY), ANY_INPUT.span),
        (trees.binary("-", one, ANY_INPUT, ANY), ANY_INPUT.span),
        (trees.binary("<", ANY_INPUT, one), ANY_INPUT.span),
        (trees.unary("-", ANY_INPUT, ANY), ANY_INPUT.span),
        (trees.unary("~", ANY_INPUT, ANY), ANY_INPUT.span),
        (trees.unary("!", ANY_INPUT, BOOLEAN), ANY_INPUT.span),
        (convert(LONG, ANY_INPUT), ANY_INPUT.span),
    ):
        _value(jvm, node, (ANY_INPUT, None))
        (error,) = jvm.errors()
        assert (error.kind, error.position) == (NULL_OPERAND, position.packed), node
    both = trees.binary("*", ANY_INPUT, ANY_INPUT_1, ANY)
    _value(jvm, both, (ANY_INPUT, None), (ANY_INPUT_1, 2))
    (error,) = jvm.errors()
    assert (error.kind, error.position) == (NULL_OPERAND, both.span.packed)


def test_positions_after_branches_meet(jvm: Target) -> None:
    """The same expression stands in a branch that is not taken and after the branch: the handler sets the position
    again.
    """
    bad = trees.binary("/", constant(INT, 1), INT_INPUT)
    other = trees.binary("/", constant(INT, 1), constant(INT, 0))
    never = If(trees.binary("!=", INT_INPUT, constant(INT, 0)), (Evaluate(bad),), ())
    _fire(jvm, [never, Evaluate(bad), Evaluate(other)], (INT_INPUT, 0))
    (error,) = jvm.errors()
    assert error.position == bad.span.packed


def test_run_time_operators(jvm: Target) -> None:
    two = convert(ANY, constant(INT, 2))
    distance = constant(INT, 3)
    for operator, value, expected in (
        ("+", 5, Box("long", 7)),
        ("+", 0.5, Box("double", 2.5)),
        ("+", "x", Box("string", "x2")),
        ("-", 5, Box("long", 3)),
        ("*", 2**62, Box("long", -(2**63))),
        ("/", -7, Box("long", -3)),
        ("%", -7, Box("long", -1)),
        ("&", 7, Box("long", 2)),
        ("|", 5, Box("long", 7)),
        ("^", 3, Box("long", 1)),
    ):
        assert _value(jvm, trees.binary(operator, ANY_INPUT, two, ANY), (ANY_INPUT, value)) == expected, operator
    for operator, value, result in (("<<", 1, 8), (">>", -16, -2), (">>>", -1, 2**61 - 1)):
        shifted = _value(jvm, trees.binary(operator, ANY_INPUT, distance, ANY), (ANY_INPUT, value))
        assert shifted == Box("long", result), operator
    assert _value(jvm, trees.unary("-", ANY_INPUT, ANY), (ANY_INPUT, 5)) == Box("long", -5)
    assert _value(jvm, trees.unary("~", ANY_INPUT, ANY), (ANY_INPUT, 5)) == Box("long", -6)
    assert _value(jvm, trees.unary("!", ANY_INPUT, BOOLEAN), (ANY_INPUT, False)) == 1
    assert jvm.errors() == []


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">=", "==", "!="])
def test_run_time_comparisons(jvm17: Target, operator: str) -> None:
    """Comparisons of numbers of both kinds and of strings; each comparison is both true and false."""
    holds = {"<": (True, False, False), "<=": (True, True, False), "==": (False, True, False)}
    opposite = {">=": "<", ">": "<=", "!=": "=="}
    comparison = trees.binary(operator, ANY_INPUT, ANY_INPUT_1)
    for small, large in ((1, 2), (1, 1.5), (0.5, 1), (2.5, 3.5), ("Ab", "b"), ("a", "ab")):
        for index, (left, right) in enumerate(((small, large), (small, small), (large, small))):
            expected = holds[operator][index] if operator in holds else not holds[opposite[operator]][index]
            inputs = ((ANY_INPUT, left), (ANY_INPUT_1, right))
            assert _value(jvm17, comparison, *inputs) == expected, (left, right)
            assert _value(jvm17, trees.unary("!", comparison), *inputs) != expected, (left, right)
    assert jvm17.errors() == []


def test_equality_of_references(jvm: Target) -> None:
    level = (ANY_INPUT, Box("a", "level"))
    gold, silver = constant(STRING, "GOLD"), constant(STRING, "SILVER")
    assert _value(jvm, trees.binary("==", ANY_INPUT, silver), level) == 1
    assert _value(jvm, trees.binary("==", ANY_INPUT, gold), level) == 0
    assert _value(jvm, trees.binary("!=", ANY_INPUT, gold), level) == 1
    assert _value(jvm, trees.binary("==", ANY_INPUT, gold), (ANY_INPUT, "GOLD")) == 1
    assert _value(jvm, trees.binary("==", ANY_INPUT, gold), (ANY_INPUT, None)) == 0
    null = constant(t.NULL, None)
    assert _value(jvm, trees.binary("==", null, ANY_INPUT), (ANY_INPUT, None)) == 1
    assert _value(jvm, trees.binary("!=", ANY_INPUT, null), (ANY_INPUT, None)) == 0
    assert jvm.errors() == []


_TEXT = constant(STRING, " Shop ")
_FAILURE = (ANY_INPUT, Box("a", "failure"))
_BUILTINS: list[tuple[str, t.Type, list[Expr], Result, Result]] = [
    # name, type, arguments, input, expected
    ("typeof", STRING, [ANY_INPUT], Box("a", "failure"), Box("string", "java.lang.IllegalStateException")),
    ("typeof", STRING, [ANY_INPUT], None, None),
    ("id", INT, [ANY_INPUT], None, 0),
    ("len", INT.or_null(), [ANY_INPUT], Box("a", "list"), Box("long", 3)),
    ("len", INT.or_null(), [ANY_INPUT], Box("a", "array"), Box("long", 3)),
    ("len", INT.or_null(), [ANY_INPUT], None, None),
    ("message", STRING, [ANY_INPUT], Box("a", "failure"), Box("string", "no stock")),
    ("cause", t.OBJECT, [ANY_INPUT], Box("a", "failure"), Box("a", "java.io.IOException")),
    ("enum_name", STRING, [ANY_INPUT], Box("a", "level"), Box("string", "SILVER")),
    ("lower", STRING, [_TEXT], None, Box("string", " shop ")),
    ("upper", STRING, [_TEXT], None, Box("string", " SHOP ")),
    ("trim", STRING, [_TEXT], None, Box("string", "Shop")),
    ("substr", STRING, [_TEXT, constant(INT, 1), constant(INT, 3)], None, Box("string", "Sh")),
    ("substr", STRING, [_TEXT, constant(INT, 3), constant(INT, 2**31 - 1)], None, Box("string", "op ")),
    ("startswith", BOOLEAN.or_null(), [_TEXT, constant(STRING, " S")], None, Box("boolean", True)),
    ("endswith", BOOLEAN.or_null(), [_TEXT, constant(STRING, "op")], None, Box("boolean", False)),
    ("contains", BOOLEAN.or_null(), [_TEXT, constant(STRING, "ho")], None, Box("boolean", True)),
    ("contains", BOOLEAN.or_null(), [convert(STRING, ANY_INPUT), constant(STRING, "ho")], None, None),
    ("indexof", INT.or_null(), [_TEXT, constant(STRING, "ho")], None, Box("long", 2)),
    ("indexof", INT.or_null(), [_TEXT, constant(STRING, "oh")], None, None),
    ("indexof", INT.or_null(), [convert(STRING, ANY_INPUT), constant(STRING, "ho")], None, None),
    ("instanceof", BOOLEAN, [ANY_INPUT, constant(STRING, "+java.lang.Exception")], Box("a", "failure"), 1),
    ("instanceof", BOOLEAN, [ANY_INPUT, constant(STRING, "java.lang.Error")], Box("a", "failure"), 0),
    ("instanceof", BOOLEAN, [ANY_INPUT, constant(STRING, "java.lang.*")], None, 0),
    ("frame", STRING, [ANY_INPUT, constant(INT, 99)], Box("a", "failure"), None),
]


@pytest.mark.parametrize(("name", "type_", "arguments", "given", "expected"), _BUILTINS)
def test_builtins(
    jvm17: Target, name: str, type_: t.Type, arguments: list[Expr], given: Result, expected: Result
) -> None:
    assert _value(jvm17, trees.call(name, type_, *arguments), (ANY_INPUT, given)) == expected
    assert jvm17.errors() == []


def test_stacks(jvm: Target) -> None:
    stack = _shown(jvm, trees.call("stack", t.STACK, constant(INT, 4)))
    assert isinstance(stack, StackRef)
    assert stack.id > 0
    assert b"FireHandlers" in jvm.stacks
    assert b"Handler_" not in jvm.stacks
    of_failure = _shown(jvm, trees.call("stack", t.STACK, ANY_INPUT, constant(INT, 4)), _FAILURE)
    assert isinstance(of_failure, StackRef)
    top = _value(jvm, trees.call("frame", STRING, ANY_INPUT, constant(INT, 0)), _FAILURE)
    assert isinstance(top, Box)
    assert str(top.value).startswith("FireHandlers.object:")
    assert _value(jvm, trees.call("frame", STRING, constant(INT, 500))) is None
    assert jvm.errors() == []


_VALUES = {INT: "1", LONG: "1", STRING: '"a"', BOOLEAN: "true", DOUBLE: "1.5"}


def test_every_builtin_that_the_language_compiles_has_code() -> None:
    for function in FUNCTIONS.values():
        if function.statement or function.name == "state":  # state(object) needs .x; test_thread_variables.py tests it
            continue
        for signature in function.signatures:
            for count in range(signature.required_count, len(signature.parameters) + 1):
                arguments = ", ".join(_VALUES.get(parameter.type, "null") for parameter in signature.parameters[:count])
                assert _compiles(f"{function.name}({arguments})"), f"{function.name}({arguments})"


def _compiles(expression: str) -> bool:
    """Whether a probe in a method or on a timer can use the expression."""
    for head, shape in (("A::b @return", trees.shape(point=Point.RETURN)), ("@OnTimer(1s)", None)):
        try:
            program = check_source(Source("test.bt", f"{head} {{ print({expression}) }}"))
            compile_fire(program, bind(program, program.probes[0], shape))
        except ScriptError:
            continue
        return True
    return False


def _content(jvm: Target, id_: int, kind: MapKind, keys: int) -> dict[tuple[object, ...], object]:
    declared = Map(id_, "m", kind, keys, ANY, capacity=64)
    return dict(aggregates.decode_content(jvm.content(id_), {id_: declared}).entries)


def _declare(jvm: Target, id_: int, kind: MapKind, keys: int) -> None:
    jvm.command("map", id_, kind.number, keys)


@pytest.mark.parametrize("keys", range(7))
def test_keys_of_every_number(jvm17: Target, keys: int) -> None:
    jvm17.open()
    _declare(jvm17, 0, MapKind.COUNT, keys)
    letters = tuple(constant(STRING, chr(ord("a") + index)) for index in range(keys))
    other: tuple[Expr, ...] = (*letters[:-1], convert(ANY, constant(LONG, 5))) if keys else ()
    body: list[Statement] = [*[Aggregate(0, letters, None)] * 3, Aggregate(0, other, None)]
    _fire(jvm17, body)
    result = _content(jvm17, 0, MapKind.COUNT, keys)
    texts = tuple(node.value for node in letters)
    if keys:
        assert result == {texts: aggregates.Count(3), (*texts[:-1], 5): aggregates.Count(1)}
    else:
        assert result == {(): aggregates.Count(4)}
    value = _value(jvm17, MapValue(ANY, span(), 0, letters))
    assert value == Box("long", 3 if keys else 4)
    assert jvm17.errors() == []


def test_keys_of_every_type(jvm: Target) -> None:
    _declare(jvm, 0, MapKind.COUNT, 1)
    keys: list[Expr] = [
        constant(LONG, 5),
        constant(INT, 6),
        constant(DOUBLE, 0.5),
        constant(BOOLEAN, True),
        constant(t.CHAR, 65),
        SiteValue(STRING, span(), SiteFact.CLS),
        constant(t.NULL, None),
        constant(t.DURATION, 7),
    ]
    _fire(jvm, [Aggregate(0, (key,), None) for key in keys])
    assert jvm.errors() == []
    results = {key for (key,) in _content(jvm, 0, MapKind.COUNT, 1)}
    assert results == {5, 6, 0.5, True, "A", "com.acme.Shop", None, 7}


def test_samples(jvm: Target) -> None:
    key = (constant(STRING, "k"),)
    nullable = trees.argument(0, ANY.slot, LONG.or_null())
    kinds = [MapKind.SUM, MapKind.AVG, MapKind.MIN, MapKind.MAX, MapKind.STATS, MapKind.HIST]
    for id_, kind in enumerate(kinds):
        _declare(jvm, id_, kind, 1)
    samples: list[Expr] = [constant(LONG, 10), constant(INT, -3), constant(t.DURATION, 20), nullable]
    body = [Aggregate(id_, key, sample) for id_ in range(len(kinds)) for sample in samples]
    _fire(jvm, body, (nullable, 5))
    assert jvm.errors() == []
    expected = [32, 8, -3, 20, 8, 8]
    for id_, kind in enumerate(kinds):
        value = _content(jvm, id_, kind, 1)[("k",)]
        assert isinstance(value, aggregates.Aggregate)
        if kind not in (MapKind.STATS, MapKind.HIST):
            assert getattr(value, "number", None) == expected[id_], kind
    stats = _content(jvm, 4, MapKind.STATS, 1)[("k",)]
    assert isinstance(stats, aggregates.Stats)
    assert (stats.n, stats.total) == (4, 32)
    _fire(jvm, [Aggregate(0, key, constant(DOUBLE, 0.25))])
    total = _content(jvm, 0, MapKind.SUM, 1)[("k",)]
    assert isinstance(total, aggregates.Total)
    assert total.number == 32.25
    _fire(jvm, [Aggregate(0, key, nullable)], (nullable, None))
    assert [error.kind for error in jvm.errors()] == [NULL_SAMPLE]
    assert _content(jvm, 0, MapKind.SUM, 1)[("k",)] == total


def test_plain_values(jvm: Target) -> None:
    _declare(jvm, 0, MapKind.VALUE, 1)
    key, other = (constant(STRING, "k"),), (constant(STRING, "other"),)
    five, text = convert(ANY, constant(INT, 5)), constant(STRING, "text")

    def stored(node: tuple[Expr, ...]) -> Result:
        return _value(jvm, MapValue(ANY, span(), 0, node))

    assert stored(key) is None
    _fire(jvm, [MapStore(0, key, text)])
    assert stored(key) == Box("string", "text")
    _fire(jvm, [MapStore(0, key, five), MapAdd(0, key, "+=", five), MapAdd(0, other, "+=", five)])
    assert stored(key) == Box("long", 10)
    assert stored(other) == Box("long", 5)
    for operator, expected in (("-=", 5), ("*=", 25), ("/=", 5), ("%=", 0), ("|=", 5), ("&=", 5), ("^=", 0)):
        _fire(jvm, [MapAdd(0, key, operator, five)])
        assert stored(key) == Box("long", expected), operator
    _fire(jvm, [MapDelete(0, key)])
    assert stored(key) is None
    assert stored(other) == Box("long", 5)
    _fire(jvm, [MapClear(0)])
    assert stored(other) is None
    assert _content(jvm, 0, MapKind.VALUE, 1) == {}
    assert jvm.errors() == []


def test_an_error_in_the_value_claims_no_key(jvm: Target) -> None:
    bad = trees.binary("/", constant(LONG, 1), convert(LONG, INT_INPUT))
    key = (constant(STRING, "k"),)
    for id_, kind in enumerate((MapKind.VALUE, MapKind.SUM)):
        _declare(jvm, id_, kind, 1)
    for statement in (
        MapStore(0, key, convert(ANY, bad)),
        MapAdd(0, key, "+=", convert(ANY, bad)),
        Aggregate(1, key, bad),
    ):
        _fire(jvm, [statement], (INT_INPUT, 0))
        (error,) = jvm.errors()
        assert (error.kind, error.position) == (DIV_ZERO, bad.span.packed)
    assert _content(jvm, 0, MapKind.VALUE, 1) == _content(jvm, 1, MapKind.SUM, 1) == {}


def test_nothing_is_thrown_at_the_application(jvm: Target) -> None:
    """Every error is counted, even an error inside the handler itself: here a map that was never declared."""
    _fire(jvm, [Aggregate(9, (), None), _emit(1)])
    assert _templates(jvm) == []
    (error,) = jvm.errors()
    assert error.kind == INTERNAL


def test_an_entry_value_that_fails_is_zero(jvm: Target) -> None:
    for type_, expected in ((INT, 0), (LONG, 0), (DOUBLE, 0.0), (ANY, None)):
        bad = trees.binary("/", constant(INT, 1), INT_INPUT)
        assert _value(jvm, convert(type_, bad), (INT_INPUT, 0)) == expected
        (error,) = jvm.errors()
        assert (error.kind, error.position) == (DIV_ZERO, bad.span.packed)


GUARDED: list[Statement] = [Emit(1, (constant(STRING, "put() may call what is traced"),))]
UNGUARDED: list[Statement] = [Emit(2, (constant(LONG, 1),))]


def test_guarded_handlers_do_not_nest(jvm: Target) -> None:
    assert jvm.command("inside", 0) == "true"
    _fire(jvm, GUARDED)
    assert _templates(jvm) == []
    _fire(jvm, UNGUARDED)
    assert _templates(jvm) == [2]
    _fire(jvm, UNGUARDED, in_jdk=True)
    assert _templates(jvm) == []
    assert jvm.command("inside", 0) == "false", "handlers that were not entered do not leave"
    jvm.command("outside")
    _fire(jvm, GUARDED)
    assert _templates(jvm) == [1]


def test_every_way_out_of_a_guarded_handler_leaves(jvm: Target) -> None:
    false = trees.binary("==", constant(INT, 1), INT_INPUT)
    divides = trees.binary("==", trees.binary("/", constant(INT, 1), INT_INPUT), constant(INT, 1))
    ways: list[tuple[list[Statement], Expr | None]] = [
        (GUARDED, None),
        (GUARDED, false),
        (GUARDED, divides),
        ([*GUARDED, Stop()], None),
        ([Evaluate(trees.call("id", INT, convert(ANY, constant(INT, 1)))), If(divides, (_emit(1),), ())], None),
    ]
    for body, predicate in ways:
        _fire(jvm, body, (INT_INPUT, 0), predicate=predicate)
        assert jvm.command("inside", 0) == "true", (body, predicate)
        jvm.command("outside")
    _value(jvm, convert(ANY, trees.binary("/", constant(INT, 1), INT_INPUT)), (INT_INPUT, 0))
    assert jvm.command("inside", 0) == "true"
    jvm.command("outside")


def test_a_stack_overflow_inside_a_handler_leaves_the_guard_open(jvm: Target) -> None:
    """The stack ends somewhere in the handler or in a method that it calls, also in the call that opens the guard.
    Afterwards the probes of this thread fire at once.
    """
    _declare(jvm, 0, MapKind.COUNT, 1)
    body: list[Statement] = [Aggregate(0, (SiteValue(STRING, span(), SiteFact.CLS),), None), *GUARDED]
    handler = compile_fire(trees.program(), trees.bound(body))
    assert jvm.command("overflow", handler.class_name, handler.data.hex(), 101) == "101 0"
    assert jvm.command("inside", 0) == "true"
    jvm.command("outside")
    jvm.open()
    _fire(jvm, GUARDED)
    assert _templates(jvm) == [1]


def test_timers_run_on_the_agent_only(jvm: Target) -> None:
    timer = compile_fire(trees.program(), trees.bound([*GUARDED, *UNGUARDED], timer=True))
    probe = compile_fire(trees.program(), trees.bound(UNGUARDED))
    assert jvm.fire(timer, agent=True) == "void"
    assert _templates(jvm) == [1, 2]
    jvm.fire(timer)
    assert _templates(jvm) == []
    jvm.fire(probe, agent=True)
    assert _templates(jvm) == []


def test_depth(jvm: Target) -> None:
    enter, release = depth_handlers(3)
    assert (enter.descriptor, release.descriptor) == ("(I)I", "(II)V")
    assert [jvm.fire(enter) for _ in range(3)] == [0, 1, 2]
    jvm.fire(release, 2)
    assert jvm.fire(enter) == 2
    jvm.fire(release, 0)
    assert jvm.fire(enter) == 0
    jvm.fire(release, -1)
    assert jvm.fire(enter) == 1, "an activation that was not counted is not released"
    other, _ = depth_handlers(2)
    assert jvm.fire(other) == 0


def _check_name(handler: HandlerClass) -> None:
    """As in the agent, the name is the hash of the content with 40 zeros in the place of the hash."""
    digits = handler.class_name.removeprefix("btpy.handlers.Handler_")
    anonymous = handler.data.replace(digits.encode(), b"0" * 40)
    assert hashlib.sha1(anonymous).hexdigest() == digits
    pool, at = ConstantPool.parse(handler.data, 8)
    class_index = int.from_bytes(handler.data[at + 2 : at + 4])
    assert pool.class_at(class_index).replace("/", ".") == handler.class_name


def test_names_are_hashes_of_content() -> None:
    texts = ["a", "b", "btpy/handlers/Handler_" + "0" * 40 + "!"]
    handlers = [compile_fire(trees.program(), trees.bound([Emit(1, (constant(STRING, text),))])) for text in texts]
    for handler in (*handlers, *depth_handlers(1)):
        _check_name(handler)
    assert len({handler.class_name for handler in handlers}) == 3
    assert texts[2].encode() in handlers[2].data, "a text that looks like the name is left alone"


def test_equal_probes_are_one_handler() -> None:
    body = [Emit(1, (constant(STRING, "x"), constant(LONG, 2**40)))]
    one, other = (compile_fire(trees.program(), trees.bound(body)) for _ in range(2))
    assert one == other
    assert depth_handlers(1) == depth_handlers(1)
    assert depth_handlers(1) != depth_handlers(2)


def test_too_many_inputs() -> None:
    fitting = [Input(InputKind.ARG, index, "J") for index in range(127)]
    compile_fire(trees.program(), trees.bound(inputs=fitting))
    with pytest.raises(CompileError, match=r"tree\.bt:1:1 passes 257 slots to its handler; the JVM allows 255"):
        compile_fire(trees.program(), trees.bound(inputs=[*fitting, Input(InputKind.ARG, 127, "J")]))


def test_a_body_that_does_not_fit() -> None:
    with pytest.raises(CompileError, match=r"does not fit into a class file.* bytes of code"):
        compile_fire(trees.program(), trees.bound([Emit(1, (constant(STRING, "x"),))] * 2000))


def test_a_text_that_does_not_fit() -> None:
    with pytest.raises(CompileError, match=r"does not fit into a class file.*string constant"):
        compile_fire(trees.program(), trees.bound([Emit(1, (constant(STRING, "x" * 65_536),))]))


def test_an_expression_that_is_too_deep() -> None:
    node: Expr = INT_INPUT
    for _ in range(5000):
        node = trees.binary("+", node, constant(INT, 1))
    with pytest.raises(CompileError, match="nested too deeply"):
        compile_entry(trees.program(), trees.bound(), trees.entry(node, [INT_INPUT.input]))


@pytest.fixture(scope="module")
def large_stack() -> Iterator[Target]:
    with target(17, ["-Xint"]) as jvm:
        yield jvm


def test_a_large_body_verifies_and_runs(large_stack: Target) -> None:
    """Branches over more than 32 kB: from the predicate to the end, and around both arms of an `if`."""
    large_stack.open()
    many: tuple[Statement, ...] = (Emit(1, (constant(LONG, 5), constant(STRING, "x"))),) * 320
    body: list[Statement] = [If(trees.binary(">", INT_INPUT, constant(INT, 0)), many, many), _emit(2)]
    predicate = trees.binary("!=", INT_INPUT, constant(INT, 7))
    handler = compile_fire(trees.program(), trees.bound(body, inputs=[INT_INPUT.input], predicate=predicate))
    assert len(handler.data) > 40_000
    for value, expected in ((1, 321), (-1, 321), (7, 0)):
        large_stack.fire(handler, value)
        assert len(large_stack.events()) == expected
    assert large_stack.errors() == []
