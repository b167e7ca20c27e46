"""Loops, quantifiers, membership and look-ups, from script text to records."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from btpy.codegen.handler import compile_fire
from btpy.codegen.handler_class import HandlerClass
from btpy.events.records import EnumValue, SequenceValue
from btpy.lang.check import checker
from btpy.lang.check.binding import bind
from btpy.lang.program import Program
from btpy.lang.typed_tree import Shape
from btpy.model import types as t
from btpy.model.points import Point
from btpy.model.source import Source
from tests.codegen.target import Box, Target, target

_BASKET = Shape(
    Point.ENTRY,
    True,
    t.OBJECT,
    (t.Type(t.Kind.OBJECT, class_name="FireHandlers$Basket"), t.array_of(t.INT), t.INT),
    (t.ANY.slot, t.ANY.slot, "I"),
    ("b", "numbers", "n"),
    t.VOID,
    "V",
)
_INPUTS = (Box("a", "basket"), Box("a", "array"), 3)

NULL_OPERAND, BAD_CAST, INDEX, BUDGET, CUT = 1, 2, 3, 5, 12


@pytest.fixture(scope="module")
def jvm17() -> Iterator[Target]:
    with target(17) as jvm:
        yield jvm


def program(body: str) -> Program:
    return checker.check_source(Source("test.bt", f"A::b {{ {body} }}"))


def handler(body: str) -> tuple[Program, HandlerClass, list[int]]:
    checked_program = program(body)
    bound_probe = bind(checked_program, checked_program.probes[0], _BASKET)
    return checked_program, compile_fire(checked_program, bound_probe), [input_.index for input_ in bound_probe.inputs]


def run(jvm: Target, body: str) -> tuple[list[tuple[object, ...]], list[tuple[int, str]]]:
    """The values of the body's records, and the kind of each error with the text at its place."""
    jvm.open()
    checked_program, fire, inputs = handler(body)
    assert jvm.fire(fire, *(_INPUTS[index] for index in inputs)) == "void"
    records: list[tuple[object, ...]] = [record.values for record in jvm.events()]
    places = [(error.kind, error.position >> 11, error.position & 0x7FF) for error in jvm.errors()]
    return records, [(kind, checked_program.source.text[start : start + length]) for kind, start, length in places]


def printed(jvm: Target, body: str) -> list[tuple[object, ...]]:
    records, errors = run(jvm, body)
    assert errors == []
    return records


def test_elements(jvm: Target) -> None:
    assert printed(jvm, "for x in $numbers { print(x + 1); }") == [(11,), (21,), (31,)]
    assert printed(jvm, "for i, x in $numbers { print(i, x); }") == [(0, 10), (1, 20), (2, 30)]
    assert printed(jvm, "for x in $b.list { print(x); }") == [("a",), ("b",), (None,), ("d",)]
    assert printed(jvm, "for k in $b.linked { print(k); }") == [("one",), ("two",), ("three",)]
    assert printed(jvm, "for k, v in $b.linked { print(k, v); }") == [("one", 1), ("two", None), ("three", 3.5)]
    assert printed(jvm, "for c in $b.chars { print(c); }") == [("p",), ("q",)]
    assert printed(jvm, "for x in $b.booleans { print(x); }") == [(True,), (False,)]
    assert printed(jvm, "for x in $b.bytes { print(x); }") == [(1,), (-1,)]
    levels = [(EnumValue("FireHandlers$Level", name),) for name in ("GOLD", "SILVER")]
    assert printed(jvm, "for x in $b.levels { print(x); }") == levels
    assert printed(jvm, 'for x in ["p", "q"] { for y in [1, 2] { print(x, y); } }') == [
        ("p", 1),
        ("p", 2),
        ("q", 1),
        ("q", 2),
    ]
    assert printed(jvm, "for x in $b.list[2] { print(x); }") == []


def test_ranges(jvm: Target) -> None:
    assert printed(jvm, "for i in 1 .. $n { print(i); }") == [(1,), (2,), (3,)]
    assert printed(jvm, "for i in 3 .. 1 { print(i); }") == []
    assert printed(jvm, "for i in -1 .. 1 limit 2 { print(i); }") == [(-1,), (0,)]
    last = 2**63 - 1
    assert printed(jvm, f"for i in {last - 1} .. {last} {{ print(i); }}") == [(last - 1,), (last,)]


def test_variables_in_and_around_loops(jvm: Target) -> None:
    body = """
    let text = "";
    let sum = 0;
    let seen = null;
    for i in 1 .. 3 {
      let double = i * 2;
      sum += double;
      if i == 2 { text = $b.list[1]; seen = $b.list; } else { text = text + f"{i}"; }
      for x in ["p"] { text = text + x; sum++; }
    }
    let after = 2.5;
    for i in 1 .. 2 { sum++; let inner = after * i; if inner > 4.0 { print(inner); } }
    print(text, sum, len(seen));
    """
    assert printed(jvm, body) == [(5.0,), ("bp3p", 17, 4)]


def test_return_ends_the_firing_inside_loops(jvm17: Target) -> None:
    assert printed(jvm17, "for x in $numbers { if x == 20 { return; } print(x); } print(0);") == [(10,)]
    assert printed(jvm17, "for x in $numbers { print(x); return; }") == [(10,)]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("any(x in $numbers: x > 25)", True),
        ("any(x in $numbers: x > 35)", False),
        ("all(x in $numbers: x > 5)", True),
        ("all(x in $numbers: x > 15)", False),
        ("none(x in $numbers: x > 35)", True),
        ("none(x in $numbers: x == 10)", False),
        ("first(x in $numbers: x > 15)", 20),
        ("first(x in $numbers: x > 35)", None),
        ("first(x in $b.mixed: x == null)", None),
        ('first(x in $b.list: x != "a")', "b"),
        ("any(x in null: true)", False),
        ("all(x in null: false)", True),
        ("none(x in null: true)", True),
        ("any(x in $numbers: any(y in $b.bytes: x + y == 19))", True),
        ("any(x in [1, 2]: x == $n - 1) ? 1 : 2", 1),
        ('any(k in $b.linked: k == "two")', True),
        ("20 in $numbers", True),
        ("21 in $numbers", False),
        ("null in $b.list", True),
        ('"d" in $b.list', True),
        ("2 in $b.mixed", True),
        ("1.5 in $b.mixed", True),
        ('"k102" in $b.hash', True),
        ('"k103" in $b.hash', False),
        ('"k102" in $b.set', True),
        ('"k103" in $b.set', False),
        ("-50 in $b.concurrent", True),
        ("53 in $b.concurrent", False),
        ('"GOLD" in $b.levels', True),
        ("1 in null", False),
        ("$n in [1 .. 2, 3]", True),
        ("$n in [1 .. 2, 4 .. 5]", False),
        ("$b.list[2] in [1 .. 2]", False),
        ("new_id() in [1, 1 .. 1]", True),
        ("$n in [2.5 .. 3.5]", True),
        ('$b.hash["k102"]', 102),
        ('$b.hash["none"]', None),
        ('$b.hash["AaBBAaBBAa"]', 10),
        ('$b.concurrent["AaBBAaBBBB"]', 26),
        ('$b.concurrent[-7] in ["v43", "w43"]', True),
        ('$b.concurrent[52] in ["v102", "w102"]', True),
        ('$b.linked["two"]', None),
        ('$b.linked["three"]', 3.5),
        ('$b.tree["t"]', 7),
        ('$b.tree["u"]', None),
        ('$b.list[$b.linked["one"]]', "b"),
        ("[1, 2][1]", 2),
        ("len([1, 2, 3])", 3),
    ],
)
def test_expressions(jvm17: Target, expression: str, expected: object) -> None:
    assert printed(jvm17, f"print({expression});") == [(expected,)]


def test_a_list_is_a_value(jvm17: Target) -> None:
    ((text, length),) = printed(jvm17, 'let xs = [$n, "a", null]; print(xs, len(xs));')
    assert text == SequenceValue("[Ljava.lang.Object;", 3, (3, "a", None))
    assert length == 3


def test_elements_that_a_loop_without_a_bound_leaves_out_are_counted(jvm17: Target) -> None:
    records, errors = run(jvm17, "let n = 0; for x in $b.longList { n++; } print(n);")
    assert (records, errors) == ([(100,)], [(CUT, "$b.longList")])
    records, errors = run(jvm17, "let n = 0; for x in $b.longArray limit 101 { n++; } print(n);")
    assert (records, errors) == ([(101,)], [])
    records, errors = run(jvm17, "let n = 0; for x in $b.longArray limit 0 - $n { n++; } print(n);")
    assert (records, errors) == ([(0,)], [])
    records, errors = run(jvm17, "print(any(x in $b.longArray: x == 102));")
    assert (records, errors) == ([(False,)], [(CUT, "$b.longArray")])
    assert printed(jvm17, "print(102 in $b.longArray, 5 in $b.longList);") == [(True, True)]
    assert run(jvm17, "print(5 in $b.hugeArray);") == ([], [(BUDGET, "5 in $b.hugeArray")])


@pytest.mark.parametrize("container", ["$b", "$b.view", "$b.list[0]"])
def test_values_without_known_elements(jvm17: Target, container: str) -> None:
    assert run(jvm17, f"for x in {container} {{ print(x); }}") == ([], [(BAD_CAST, container)])
    assert run(jvm17, f"print(1 in {container});") == ([], [(BAD_CAST, f"1 in {container}")])


def test_an_index_that_fits_nothing(jvm17: Target) -> None:
    assert run(jvm17, 'print($b["a"]);') == ([], [(BAD_CAST, '$b["a"]')])
    assert run(jvm17, 'print($b.list["a"]);') == ([], [(BAD_CAST, '$b.list["a"]')])


def test_an_index_out_of_range_is_null_and_counted_at_its_place(jvm: Target) -> None:
    records, errors = run(jvm, "let i = $n; print($numbers[i], $b.list[0 - 1]); print($b.list[i - 3]);")
    assert records == [(None, None), ("a",)]
    assert errors == [(INDEX, "$numbers[i]"), (INDEX, "$b.list[0 - 1]")]


class TestWork:
    """A firing runs at most 1,000 statements. The handler counts them only where the script has no bound of its own."""

    def test_a_loop_that_goes_too_far_ends_the_firing(self, jvm17: Target) -> None:
        records, errors = run(jvm17, "for i in 1 .. 2000 { print(i); }")
        assert [values[0] for values in records] == list(range(1, 1000))
        assert errors == [(BUDGET, "1 .. 2000")]

    def test_all_statements_of_a_round_count(self, jvm17: Target) -> None:
        records, errors = run(jvm17, "let n = 0; for i in 1 .. $n * 500 { n++; if n > 0 { n = n; } print(n); }")
        assert len(records) == (1000 - 2) // 4
        assert errors == [(BUDGET, "1 .. $n * 500")]

    def test_an_empty_round_counts(self, jvm17: Target) -> None:
        _, errors = run(jvm17, "for i in 1 .. 1000000000000 { }")
        assert errors == [(BUDGET, "1 .. 1000000000000")]

    def test_inner_loops_count_their_own(self, jvm17: Target) -> None:
        records, errors = run(jvm17, "for i in 1 .. 30 { for j in 1 .. 31 { print(i, j); } }")
        assert (len(records), errors) == (930, [])
        records, errors = run(jvm17, "for i in 1 .. 31 { for j in 1 .. 32 { print(i, j); } }")
        assert len(records) == 1000 - 1 - 31
        assert errors == [(BUDGET, "1 .. 32")]

    def test_a_thousand_statements_are_enough(self, jvm17: Target) -> None:
        assert len(printed(jvm17, "for i in 1 .. 999 { print(i); }")) == 999

    def test_loops_with_a_proven_bound_are_not_counted(self) -> None:
        assert b"exhausted" not in handler("for x in $numbers { print(x); }")[1].data
        assert b"exhausted" not in handler("for x in $numbers limit 999 { print(x); }")[1].data
        assert b"exhausted" in handler("for x in $numbers limit 999 { print(x); print(x); }")[1].data
        assert b"exhausted" in handler("for i in 1 .. $n { print(i); }")[1].data
        body = "for x in $numbers limit 17 { print(any(y in $numbers: y == x)); }"
        assert b"exhausted" in handler(body)[1].data
        assert b"exhausted" not in handler(body.replace("17", "7"))[1].data
