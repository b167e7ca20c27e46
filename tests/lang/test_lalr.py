"""The tables give the same results as Lark: the same trees and places, and errors at the same tokens."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from importlib import resources
from typing import Any

import pytest
from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from btpy.lang.syntax import lalr, parser
from btpy.lang.syntax.tables import STARTS, tables
from btpy.model.source import Source
from tests.lang.programs import Grower, mutated
from tests.lang.test_errors import CASES
from tests.lang.test_hostile import EXAMPLES, PIECES, SEEDS

GRAMMAR = resources.files("btpy.lang.syntax").joinpath("grammar.lark").read_text(encoding="utf-8")
ENDLESS = 1_000_000


@cache
def lark() -> Lark:
    return Lark(GRAMMAR, parser="lalr", start=list(STARTS), propagate_positions=True, maybe_placeholders=True)


@cache
def ours() -> lalr.Parser:
    return lalr.Parser(tables(GRAMMAR, STARTS), ENDLESS)


def test_the_same_grammar_gives_the_same_tables() -> None:
    """The order of Lark's sets depends on the seed of hashes, but the built tables must not depend on it."""
    program = f"import sys; from btpy.lang.syntax.tables import tables; print(tables(sys.stdin.read(), {STARTS}))"
    results = {
        subprocess.run(
            [sys.executable, "-c", program],
            input=GRAMMAR,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    packaged = resources.files("btpy.lang.syntax").joinpath("grammar.json").read_text(encoding="utf-8")
    assert results == {f"{packaged}\n"}


def test_tables_of_another_grammar_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "identity", lambda grammar: "another")
    parser._parser.cache_clear()
    with pytest.raises(RuntimeError, match="hatch_build"):
        parser.parse(Source("a.bt", ""))
    monkeypatch.undo()
    parser.parse(Source("a.bt", ""))


def of_lark(text: str, start: str) -> object:
    try:
        return _plain(lark().parse(text, start=start))
    except UnexpectedInput as error:
        return _refusal(error)


def _plain(node: Any) -> object:
    match node:
        case Token():
            return (node.type, str(node), node.start_pos)
        case Tree():
            empty = node.meta.empty
            place = None if empty else (node.meta.start_pos, node.meta.end_pos)
            return (str(node.data), place, [_plain(child) for child in node.children])
        case _:
            return node


def _refusal(error: UnexpectedInput) -> object:
    if isinstance(error, UnexpectedToken):
        place = None if error.token.type == lalr.END else error.token.start_pos
        return ("refused", error.token.type, place, error.accepts and frozenset(error.accepts))
    assert isinstance(error, UnexpectedCharacters)
    return ("refused", "", error.pos_in_stream, None)


def of_us(text: str, start: str) -> object:
    def node(name: str) -> lalr.Action:
        def made(begin: int, end: int, parts: list[Any]) -> object:
            place = (begin, end) if end > begin else None
            return (name, place, [tuple(part) if isinstance(part, lalr.Token) else part for part in parts])

        return made

    try:
        return ours().parse(text, 0, len(text), start, {name: node(name) for name in ours().rules})
    except lalr.UnexpectedText as error:
        place = None if error.terminal == lalr.END else error.start
        return ("refused", error.terminal, place, error.accepts)


def compare(text: str, start: str = "start") -> None:
    expected, result = of_lark(text, start), of_us(text, start)
    match expected:
        case ("refused", _, _, None):  # Lark does not tell the tokens that its lexer expected
            assert result[:3] == expected[:3]  # type: ignore[index]
        case _:
            assert result == expected


@pytest.mark.parametrize("text", [*EXAMPLES, *(text for text in CASES.values() if len(text) < 1000)])
def test_scripts(text: str) -> None:
    compare(text)
    compare(text, "item")


def test_scripts_by_chance() -> None:
    for seed in range(400):
        compare(Grower(seed).script())
        compare(mutated(seed, SEEDS, PIECES))


@pytest.mark.parametrize(
    "text", ["a + b * -c", "(a)", "((a).b)[c]", "f(a, b=1,)", "a ? b : c", "", "a b", "1..2", "a /* x"]
)
def test_expressions(text: str) -> None:
    compare(text, "expr")


def test_a_part_of_a_text() -> None:
    text = "A::b { x } nonsense"
    assert ours().parse(text, 7, 8, "expr", {"name": lambda begin, end, parts: (begin, end, parts[0].text)}) == (
        7,
        8,
        "x",
    )


def test_too_deep() -> None:
    shallow = lalr.Parser(tables(GRAMMAR, STARTS), 4)
    actions: dict[str, lalr.Action] = {name: lambda begin, end, parts: parts for name in shallow.rules}
    shallow.parse("!!!a", 0, 4, "expr", actions)
    with pytest.raises(lalr.TooDeep) as caught:
        shallow.parse("!!!!a", 0, 5, "expr", actions)
    assert (caught.value.start, caught.value.end) == (0, 5)
