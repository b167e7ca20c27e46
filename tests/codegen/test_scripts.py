"""Tests the way from script text to the effects of a firing: checker, code generator and run-time together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from btpy.codegen.handler import compile_entry, compile_fire
from btpy.engine.declarations import map_declarations
from btpy.events import aggregates
from btpy.events.records import Withheld
from btpy.lang.check import checker
from btpy.lang.check.binding import bind
from btpy.lang.inputs import Input, InputKind
from btpy.lang.program import Program
from btpy.lang.typed_tree import Shape
from btpy.model import types as t
from btpy.model.maps import Map
from btpy.model.points import Point
from btpy.model.source import Source
from tests.codegen.target import Box, Result, Target

_OBJECT = t.ANY.slot

_SHAPE = Shape(
    Point.RETURN,
    False,
    t.Type(t.Kind.OBJECT, class_name="com.acme.Shop"),
    (t.STRING, t.INT, t.Type(t.Kind.OBJECT, class_name="com.acme.Order"), t.LONG, t.DOUBLE, t.CHAR),
    (_OBJECT, "I", _OBJECT, "J", "F", "C"),
    ("sku", "quantity", "order", "price", "rate", "grade"),
    t.DOUBLE,
    "D",
)

_ARGUMENTS: list[Result] = ["A-1", 3, Box("a", "order"), 2**40, 0.5, 66]
_VALUES: Mapping[InputKind, Result] = {
    InputKind.SELF: Box("a", "order"),
    InputKind.RETVAL: 12.5,
    InputKind.DURATION: 1_500_000,
    InputKind.DEPTH: 1,
}


def _check(text: str) -> Program:
    return checker.check_source(Source("test.bt", text))


def _probe(body: str, *, when: str = "", text: str = "") -> Program:
    return _check(f'{text}@OnMethod(class="com.acme.Shop", method="sell", location=RETURN)\n{when} {{ {body} }}')


def _declare(jvm: Target, program: Program) -> None:
    for declaration in map_declarations(program.maps):
        jvm.command("map", declaration.id, declaration.kind.number, declaration.keys, *declaration.parameters)


def _run(jvm: Target, program: Program) -> list[tuple[object, ...]]:
    """Fires the only probe once, entry values computed first; gives the values of each record."""
    (probe,) = program.probes
    bound_probe = bind(program, probe, _SHAPE)
    entries: dict[int, Result] = {}

    def value(input_: Input) -> Result:
        if input_.kind is InputKind.ARG:
            return _ARGUMENTS[input_.index]
        return entries[input_.index] if input_.kind is InputKind.ENTRY else _VALUES[input_.kind]

    def passed_on(result: Result) -> Result:
        return result.value if isinstance(result, Box) and result.kind == "string" else result

    for entry in bound_probe.entries:
        computed = jvm.fire(compile_entry(program, bound_probe, entry), *map(value, entry.inputs))
        entries[entry.index] = passed_on(computed)
    assert jvm.fire(compile_fire(program, bound_probe), *map(value, bound_probe.inputs)) == "void"
    return [record.values for record in jvm.events()]


def _content(jvm: Target, map_: Map) -> dict[tuple[object, ...], object]:
    return dict(aggregates.decode_content(jvm.content(map_.id), {map_.id: map_}).entries)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("$quantity * 2 + 1", 7),
        ("-7 / 2", -3),
        ("$quantity << 33", 6),
        ("$price >>> 4", 2**36),
        ("$price % 1000", 2**40 % 1000),
        ("$rate + $quantity", 3.5),
        ("(~$quantity)", -4),
        ("$quantity & 1 | 8 ^ 2", 11),
        ("!($quantity > 2)", False),
        ('$quantity > 2 && $sku == "A-1"', True),
        ('$sku == "A-2" || false', False),
        ("$grade", "B"),
        ("retval > 12.4", True),
        ("retval", 12.5),
        ("duration > 1ms", True),
        ("duration", 1_500_000),
        ("depth == 1", True),
        ("$order.quantity", 7),
        ("$order.quantity + 1", 8),
        ("$order.quantity == 7", True),
        ("$order.price < 12.6", True),
        ("$order.customer.name", "Ada"),
        ("$order.val$buyer.name", "Ada"),
        ('$order.nobody.name ?? "nobody"', "nobody"),
        ('$order.level == "GOLD"', True),
        ("$order.lines[1]", 20),
        ("len($order.lines)", 3),
        ("len($sku) ?? 0", 3),
        ("$order.nobody == null", True),
        ('$quantity > 2 ? "many" : "few"', "many"),
        ("typeof($order)", "FireHandlers$Order"),
        ("$order instanceof FireHandlers$Order", True),
        ("$quantity in [1, 2, 3]", True),
        ("$quantity in [4, 5]", False),
        ("substr($sku, 2)", "1"),
        ('upper("ab") + "c"', "ABc"),
        ('startswith($sku, "A")', True),
        ('indexof("abcabc", "c")', 2),
        ('indexof("abcabc", "")', 0),
        ('indexof("abcabc", "cb")', None),
        ('indexof("ab", "abc")', None),
        ("indexof($order.nobody, $sku)", None),
        ("indexof($sku, $order.nobody)", None),
        ('indexof("😀b", "b")', 2),
        ('substr($sku, (indexof($sku, "-") ?? 0) + 1)', "1"),
        ('split("a/b/c", "/", 1)', "b"),
        ('split("a/b/c", "/", -1)', "c"),
        ('split("a/b/c", "/", 3)', None),
        ('split("a/b/c", "/", -4)', None),
        ('split("abc", "", 0)', "abc"),
        ('replace($sku, "-", "--")', "A--1"),
        ('replace($sku, "x", "y")', "A-1"),
        ('hash("foobar") == hash("foobar")', True),
        ('hash("foobar") == hash("foobas")', False),
        ("hash($order.nobody)", None),
        ('truncate("abcdef", 4)', "abcd"),
        ('truncate("a😀", 2)', "a"),
        ("redact($sku)", Withheld.REDACTED),
        ("redact($order.nobody)", None),
        ('redact($sku) + "x"', "•••x"),
        ("$sku =~ $sku", True),
        ('$sku =~ "a-1"', False),
        ('$sku =~ "A?1"', True),
        ('$sku =~ "*-*1*"', True),
        ('$sku !~ "*-2"', True),
        ('$sku =~ "*-*"', True),
        ('$sku =~ "A"', False),
        ('$sku =~ f"{substr($sku, 0, 1)}*"', True),
        ('$order.nobody =~ "*"', None),
        (r'$sku =~ "/[A-Z]-\d+/"', True),
        (r'matches("B-17", "/[A-Z]-\d/")', False),
        ('matches("😀é", "/[^a-z]{2}/")', True),
        ('matches("a😀", "/..../")', False),
        ("caller() == frame(1)", True),
        ("rand(1)", 0),
        ("rand(7) in [0, 1, 2, 3, 4, 5, 6]", True),
        ("new_id() + 1 == new_id()", True),
        ("entry($quantity)", 3),
        ("entry($order.quantity * 2)", 14),
        ("entry($sku)", "A-1"),
        ("self.quantity", 7),
        ('probe == ""', False),
        ("64KB", 65_536),
        ('f"{$sku}/{$quantity}" == "A-1/3"', True),
    ],
)
def test_expressions(jvm17: Target, expression: str, expected: object) -> None:
    jvm17.open()
    program = _probe(f'emit("value", v={expression});')
    assert _run(jvm17, program) == [(expected,)]
    assert jvm17.errors() == []


@pytest.mark.parametrize(
    ("expression", "kind", "fault"),
    [
        ("$order.nobody.tier + 1", 1, "$order.nobody.tier"),
        ("$order.nobody > 1", 1, "$order.nobody"),
        ("!$order.nobody", 1, "$order.nobody"),
        ("1 / ($quantity - 3)", 4, "1 / ($quantity - 3)"),
        ("$order.name - 1", 2, "$order.name"),
    ],
)
def test_errors_name_their_place(jvm17: Target, expression: str, kind: int, fault: str) -> None:
    jvm17.open()
    program = _probe(f'emit("before", v=1); emit("value", v={expression}); emit("after", v=2);')
    assert _run(jvm17, program) == [(1,)]
    (error,) = jvm17.errors()
    start, length = error.position >> 11, error.position & 0x7FF
    assert (error.kind, program.source.text[start : start + length]) == (kind, fault)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM t WHERE id = 42 AND name = 'O''Brien'", "SELECT * FROM t WHERE id = ? AND name = ?"),
        ("select a1 , b\n from t2 -- why\n where x in (1, 2,3 , 'a')", "select a1, b from t2 where x in (?)"),
        ("insert into t values (1, 'x'), (2, 'y');", "insert into t values (?), (?)"),
        ('/* trace=77 */ update "T 1" set v = v+1.5e-3 where k=:key', 'update "T 1" set v = v+? where k=:key'),
        ("select ?, 0x1F, t.c3 from `a'b`", "select ?, ?, t.c3 from `a'b`"),
        ("select 'never closed", "select ?"),
        ("/*/ a */ x /* never closed", "x"),
        ("", ""),
    ],
)
def test_normalized_sql(jvm17: Target, text: str, expected: str) -> None:
    assert _of_text(jvm17, "normalize_sql($sku)", text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://shop.example:8443/orders/4711/lines/3?full=1#top", "/orders/{id}/lines/{id}"),
        ("/users/550e8400-e29b-41d4-a716-446655440000", "/users/{id}"),
        ("/blobs/da39a3ee5e6b4b0d3255bfef95601890afd80709/", "/blobs/{id}/"),
        ("/v1/cafe/beef/facade/deadbeef", "/v1/cafe/beef/facade/deadbeef"),
        ("http://shop.example", "/"),
        ("/a?x=http://b/1", "/a"),
        ("17", "{id}"),
        ("", ""),
    ],
)
def test_paths_of_urls(jvm17: Target, text: str, expected: str) -> None:
    assert _of_text(jvm17, "url_path($sku)", text) == expected


def test_a_text_that_is_too_long_ends_the_firing(jvm17: Target) -> None:
    for expression in ('replace($sku, "b", "c")', '$sku =~ "/a*/"', '$sku =~ "a?*"', "normalize_sql($sku)"):
        assert _of_text(jvm17, expression, "a" * (1 << 20)) is not None, expression
        assert _of_text(jvm17, expression, "a" * ((1 << 20) + 1), errors=[5]) is None, expression


def test_a_glob_cannot_run_away(jvm17: Target) -> None:
    assert _of_text(jvm17, f'$sku =~ "*{"a" * 50}b?"', "a" * (1 << 20), errors=[5]) is None


def _of_text(jvm: Target, expression: str, text: str, errors: Sequence[int] = ()) -> object:
    """The result of an expression in which ``$sku`` is the text, and the kinds of its errors."""
    jvm.open()
    program = _probe(f'emit("value", v={expression});')
    (probe,) = program.probes
    bound_probe = bind(program, probe, _SHAPE)
    assert jvm.fire(compile_fire(program, bound_probe), *([text] if bound_probe.inputs else [])) == "void"
    assert [error.kind for error in jvm.errors()] == list(errors)
    values = [record.values[0] for record in jvm.events()]
    if errors:
        return None
    (value,) = values
    return getattr(value, "text", value)


_FORMATS = [">10", "<10", "^9", "*^9", "05", "+", " ", ",", ".2f", "+.1f", "08.3f", "%", ".1%", "x", "X", "o", "b"]
_FORMATS += ["d", ",.2f", "=+12,d", ".0f", "20", "-^7d"]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("$quantity", 3),
        ("-$quantity * 1234567", -3703701),
        ("-9223372036854775807 - 1", -(2**63)),
        ("$price", 2**40),
        ("$rate", 0.5),
        ("$rate * 5", 2.5),
        ("-$rate / 3", -0.5 / 3),
        ("1.5e10 * 7", 1.05e11),
        ("$rate * -0.0", -0.0),
        ("0.0 / ($rate - 0.5)", float("nan")),
        ("-1.0 / ($rate - 0.5)", float("-inf")),
    ],
)
def test_formats_of_numbers_are_those_of_python(jvm17: Target, expression: str, value: float) -> None:
    real = isinstance(value, float)
    formats = [probe for probe in _FORMATS if not real or probe[-1] in "f%"]
    keys = ", ".join(f'f"{{{expression}:{format_}}}" == "{format(value, format_)}"' for format_ in formats)
    jvm17.open()
    program = _probe(f"let all = [{keys}]; for passed in all {{ print(passed); }}")
    assert _run(jvm17, program) == [(True,)] * len(formats)


def test_formats_of_texts_and_units(jvm17: Target) -> None:
    jvm17.open()
    texts = {
        'f"[{$sku:>5}]"': "[  A-1]",
        'f"[{$sku:^6}]"': "[ A-1  ]",
        'f"[{$sku:.2}]"': "[A-]",
        'f"[{$sku:x}]"': "[A-1]",
        'f"[{$order.nobody:>6}]"': "[  null]",
        'f"[{$grade:>3}]"': "[  B]",
        'f"[{$quantity > 2:>6}]"': "[  true]",
        'f"[{duration:us}]"': "[1500us]",
        'f"[{duration:ms}]"': "[1.5ms]",
        'f"[{duration:s}]"': "[0.002s]",
        'f"[{$quantity * 1KB:MB}]"': "[0.003MB]",
        'f"[{len($order.nobody):>6}]"': "[  null]",
        'f"[{$rate:>6}]"': "[   0.5]",
        'f"[{$quantity:<4}]"': "[3   ]",
        'f"[{$rate:x}]"': "[0.5]",
    }
    program = _probe("".join(f"let v{at} = {text}; print(v{at});" for at, text in enumerate(texts)))
    assert _run(jvm17, program) == [(text,) for text in texts.values()]


def test_control_and_maps(jvm: Target) -> None:
    program = _probe(
        """
        let total = $price * 2;
        if $quantity > 2 { @big[$sku] = count(); total = total + 1; } else { @small[$sku] = count(); }
        @price[method, $quantity > 1] = sum(total);
        @last[$sku] = retval;
        @hidden[redact($sku)] = count();
        @hits++;
        @hits += 4;
        @worst = max(duration);
        print(total, @hits, @last[$sku]);
        if @hits == 5 { return; }
        print("not reached");
        """,
        when="when duration > 1ms && retval != 0.0",
    )
    _declare(jvm, program)
    total = 2**41 + 1
    assert _run(jvm, program) == [(total, 5, 12.5)]
    assert jvm.errors() == []
    maps = {map_.name.lstrip("@"): _content(jvm, map_) for map_ in program.maps}
    assert maps["big"] == {("A-1",): aggregates.Count(1)}
    assert maps["small"] == {}
    assert [value.number for value in maps["price"].values() if isinstance(value, aggregates.Total)] == [total]
    assert list(maps["price"]) == [("sell", True)]
    assert maps["last"] == {("A-1",): 12.5}
    assert maps["hidden"] == {(Withheld.REDACTED,): aggregates.Count(1)}
    assert maps["hits"] == {(): 5}
    assert [value.number for value in maps["worst"].values() if isinstance(value, aggregates.Greatest)] == [1_500_000]


def test_timers_begin_and_end(jvm: Target) -> None:
    program = _check("@OnTimer(1s) { @ticks++; print(@ticks); print(elapsed > 0ns, pid); clear(@ticks); exit(3); }")
    _declare(jvm, program)
    (probe,) = program.probes
    bound_probe = bind(program, probe, None)
    assert bound_probe.inputs == ()
    assert jvm.fire(compile_fire(program, bound_probe), agent=True) == "void"
    assert [record.values for record in jvm.events()] == [(True, 4711)]
    assert [(request.kind, request.argument) for request in jvm.asked] == [(0, 0), (1, 3)]
    assert jvm.errors() == []


_FUNCTIONS = """
param most: int = 7;
fn bucket(long ns): string = ns < 1ms ? "fast" : ns < 100ms ? "ok" : "slow";
fn clipped(int n): int { if n > most { return most; } return n; }
fn total(int n): int { let total = 0; for i in 1..n { total += i } return total; }
fn classed(int n): string {
  if n < 0 { return "negative"; }
  else if n == 0 { return "none"; }
  else { let half = n / 2; if half > 1 { return f"{half} pairs"; } }
  return "few";
}
fn of_caller(): int = $quantity * 100 + depth;
fn note(string text) { @notes[text] = count(); if text == "stop" { return; } @notes["after"] = count(); }
fn noted(int n): int { note(f"{n}"); return n + 1; }
fn nested(int n): int = clipped(noted(n)) + clipped(n);
fn either(string a, string b): string = a ?? b;
fn real(double x): double = x / 2;
"""


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('bucket(5us) + "," + bucket(5ms) + "," + bucket(5s)', "fast,ok,slow"),
        ("clipped(5) * 10 + clipped(50)", 57),
        ("100 - total(4) - total(3)", 84),
        ('classed(0 - 3) + ";" + classed(0) + ";" + classed(2) + ";" + classed(6)', "negative;none;few;3 pairs"),
        ("of_caller()", 301),
        ("nested(5) + 1000 * nested(9)", 14011),
        ('either(null, "x") + either("y", null)', "xy"),
        ("real(5)", 2.5),
        ("entry(clipped($quantity * 5))", 7),
        ("entry(total($quantity)) + total($quantity)", 12),
        ("any(x in [1, 2, 3]: clipped(x * 10) == total(x) + 4)", True),
        ("$quantity > 2 && clipped($quantity) == 3 ? clipped(99) : 0", 7),
    ],
)
def test_functions(jvm17: Target, expression: str, expected: object) -> None:
    jvm17.open()
    program = _probe(f'emit("value", v={expression});', text=_FUNCTIONS)
    _declare(jvm17, program)
    assert _run(jvm17, program) == [(expected,)]


def test_statements_of_functions(jvm17: Target) -> None:
    jvm17.open()
    program = _probe('note("stop"); note("go"); noted(3);', text=_FUNCTIONS)
    _declare(jvm17, program)
    assert _run(jvm17, program) == []
    (notes,) = program.maps
    assert _content(jvm17, notes) == {
        ("stop",): aggregates.Count(1),
        ("go",): aggregates.Count(1),
        ("3",): aggregates.Count(1),
        ("after",): aggregates.Count(2),
    }


def test_skip_in_a_function_ends_the_firing(jvm17: Target) -> None:
    jvm17.open()
    program = _probe("check(2); @a = count(); check(3); @b = count();", text="fn check(int n) { if n > 2 { skip(); } }")
    _declare(jvm17, program)
    _run(jvm17, program)
    assert _content(jvm17, program.maps[0]) == {(): aggregates.Count(1)}
    assert _content(jvm17, program.maps[1]) in ({}, {(): aggregates.Count(0)})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3.99 as int", 3),
        ("(0 - 3.99) as long", -3),
        ("1e20 as long", 2**63 - 1),
        ("1e20 as int", 2**31 - 1),
        ("(0.0 / 0.0) as int", 0),
        ("2147483648 as int", -(2**31)),
        ("duration as long + 1", 1_500_001),
        ("$rate as int", 0),
    ],
)
def test_a_number_is_cut_as_in_java(jvm: Target, text: str, expected: int) -> None:
    assert _run(jvm, _probe(f"print({text});")) == [(expected,)]
