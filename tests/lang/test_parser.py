"""Source text → syntax tree: the whole grammar, places, recovery."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest
from lark import Lark

from btpy.errors import ScriptError
from btpy.lang.syntax import nodes
from btpy.lang.syntax.parser import MAX_DEPTH, MAX_LENGTH, is_complete, parse
from btpy.model.source import Source

EXAMPLES = sorted((Path(__file__).parent / "examples").glob("*.bt"))


def script(text: str) -> nodes.Script:
    return parse(Source("test.bt", text))


def refused(text: str) -> list[str]:
    """Codes of the errors, in order."""
    with pytest.raises(ScriptError) as caught:
        script(text)
    return [diagnostic.code for diagnostic in caught.value.diagnostics]


def value_of(text: str) -> nodes.Expression:
    (probe,) = script(f"@OnEnd {{ let x = {text} }}").items
    assert isinstance(probe, nodes.Probe)
    (let,) = probe.body.statements
    assert isinstance(let, nodes.Let)
    return let.value


def shown(node: nodes.Expression) -> str:
    """Operators and operands with all brackets."""
    match node:
        case nodes.Binary():
            return f"({shown(node.left)} {node.operator.text} {shown(node.right)})"
        case nodes.Prefix():
            return f"({node.operator.text}{shown(node.operand)})"
        case nodes.Conditional():
            return f"({shown(node.test)} ? {shown(node.then)} : {shown(node.otherwise)})"
        case _:
            return node.span.text


def test_the_grammar_has_no_conflicts() -> None:
    text = resources.files("btpy.lang.syntax").joinpath("grammar.lark").read_text(encoding="utf-8")
    Lark(text, parser="lalr", start=["start", "item", "expr"], strict=True)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_parses(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = script(text)
    assert tree.items
    for item in tree.items:
        for node in nodes.walk(item):
            assert item.span.start <= node.span.start <= node.span.end <= item.span.end


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 14


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b * c", "(a + (b * c))"),
        ("a - b - c", "((a - b) - c)"),
        ("a ?? b > c", "(a ?? (b > c))"),
        ("a || b && c", "(a || (b && c))"),
        ("!a && -b < c", "((!a) && ((-b) < c))"),
        ("a | b ^ c & d == e", "(a | (b ^ (c & (d == e))))"),
        ("a << 2 + 1", "(a << (2 + 1))"),
        ("a ? b : c ? d : e", "(a ? b : (c ? d : e))"),
        ("(a + b) * c", "((a + b) * c)"),
    ],
)
def test_precedence(text: str, expected: str) -> None:
    assert shown(value_of(text)) == expected


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("1_000", nodes.LiteralKind.INTEGER, 1000),
        ("0x1F", nodes.LiteralKind.INTEGER, 31),
        ("0xFFFFFFFFFFFFFFFF", nodes.LiteralKind.INTEGER, -1),
        ("9223372036854775807", nodes.LiteralKind.INTEGER, 2**63 - 1),
        ("1.5", nodes.LiteralKind.FLOAT, 1.5),
        ("1e3", nodes.LiteralKind.FLOAT, 1000.0),
        ("100ms", nodes.LiteralKind.DURATION, 100_000_000),
        ("1.5us", nodes.LiteralKind.DURATION, 1500),
        ("2m", nodes.LiteralKind.DURATION, 120_000_000_000),
        ("64KB", nodes.LiteralKind.SIZE, 65536),
        ("1.5MB", nodes.LiteralKind.SIZE, 1572864),
        (r'"a\tb\"\u0041\\"', nodes.LiteralKind.STRING, 'a\tb"A\\'),
        (r'"/a\.b/"', nodes.LiteralKind.STRING, r"/a\.b/"),
        ("true", nodes.LiteralKind.BOOLEAN, True),
        ("null", nodes.LiteralKind.NULL, None),
    ],
)
def test_literals(text: str, kind: nodes.LiteralKind, value: object) -> None:
    literal = value_of(text)
    assert isinstance(literal, nodes.Literal)
    assert (literal.kind, literal.value) == (kind, value)
    assert literal.span.text == text


def test_interpolations_know_their_places() -> None:
    node = value_of(r'f"a{{b}} {x.y:>8} {@m["k:}"] ?? 0} {c ? 1 : 2:ms} \n"')
    assert isinstance(node, nodes.FormattedString)
    texts = [part for part in node.parts if isinstance(part, str)]
    values = [part for part in node.parts if isinstance(part, nodes.Interpolation)]
    assert texts == ["a{b} ", " ", " ", " \n"]
    assert [part.value.span.text for part in values] == ["x.y", '@m["k:}"] ?? 0', "c ? 1 : 2"]
    assert [part.format for part in values] == [">8", "", "ms"]


def test_point_probes_stand_for_annotated_probes() -> None:
    (item,) = script("com.acme.Foo::bar* @throw(java.io.IOException) as broken when arg0 > 1 { print(1) }").items
    assert isinstance(item, nodes.PointProbe)
    probe = nodes.expand(item)
    (annotation,) = probe.annotations
    arguments = {argument.name.text: argument.value for argument in annotation.arguments if argument.name}
    assert probe.name is not None
    assert probe.name.text == "broken"
    assert arguments["class"] == nodes.Literal(item.class_pattern.span, nodes.LiteralKind.STRING, "com.acme.Foo")
    assert arguments["method"] == nodes.Literal(item.method_pattern.span, nodes.LiteralKind.STRING, "bar*")
    location = arguments["location"]
    assert isinstance(location, nodes.Call)
    assert location.function.text == "THROW"
    (thrown,) = location.arguments
    assert isinstance(thrown.value, nodes.Literal)
    assert (thrown.name and thrown.name.text, thrown.value.value) == ("type", "java.io.IOException")
    assert thrown.value.span.text == "java.io.IOException"


@pytest.mark.parametrize(
    "point",
    [
        "a.B::c",
        "+java.sql.Statement::execute*",
        r"/com\.acme\..*/::/handle(Get|Post)/",
        "@a.Web::@a.*Mapping",
        "Foo::<init>",
    ],
)
def test_points(point: str) -> None:
    (item,) = script(f"{point} @return {{ }}").items
    assert isinstance(item, nodes.PointProbe)
    assert f"{item.class_pattern.text}::{item.method_pattern.text}" == point


def test_a_probe_head_without_a_list_differs_from_an_empty_list() -> None:
    tree = script(
        '@OnMethod(class="A") probe a {} @OnMethod(class="A") probe b() {} @OnMethod(class="A") probe c(int x, ..) {}'
    )
    heads = [(item.formals, item.open_formals) for item in tree.items if isinstance(item, nodes.Probe)]
    assert heads[:2] == [(None, False), ((), False)]
    formals, is_open = heads[2]
    assert formals is not None
    assert ([formal.name.text for formal in formals], is_open) == (["x"], True)


def test_the_first_comment_block_is_the_help_text() -> None:
    assert script("#!/usr/bin/env btpy\n// one\n//  two\n\n// other\n@OnEnd {}").doc == "one\n two"
    assert script("/* one\n * two\n */\n@OnEnd {}").doc == "one\ntwo"
    assert script("@OnEnd {} // not help").doc == ""


def test_each_faulty_item_reports_its_own_error() -> None:
    text = "A::a { print( }\nB::b { ok() }\nC::c { x = }\nD::d { 'q' }\n@OnEnd { let }\n"
    assert refused(text) == ["BT002", "BT001", "BT004", "BT001"]


def test_an_annotation_on_a_new_line_ends_an_unclosed_probe() -> None:
    assert refused("@OnEnd { print(1);\n@OnBegin { let }") == ["BT002", "BT001"]


@pytest.mark.parametrize("nesting", ["({})", "-{}", "{}.f", "{}[0]", "1 + {}", "x ? {} : 1"])
def test_deep_nesting_is_refused(nesting: str) -> None:
    text = "x"
    for _ in range(5000):
        text = nesting.format(text) if len(text) < 200_000 else text
    if nesting == "({})":
        assert value_of(text).span.text == "x"  # brackets make no nodes
    else:
        assert refused(f"@OnEnd {{ let x = {text} }}") == ["BT009"]


def test_the_deepest_nesting_is_accepted() -> None:
    value_of("-" * (MAX_DEPTH - 10) + "1")


def test_a_script_that_positions_cannot_name_is_refused() -> None:
    assert refused("#" * (MAX_LENGTH + 1)) == ["BT008"]


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("A::b { print(1) }", True),
        ("A::b {", False),
        ("@OnMethod(class=", False),
        ("/* text", False),
        ('A::b { "}" }', True),
        ("A::b { // }\n", False),
        ("", True),
    ],
)
def test_a_prompt_knows_when_text_is_complete(text: str, complete: bool) -> None:
    assert is_complete(text) is complete
