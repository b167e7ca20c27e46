"""The reference, the files of editors and the colours come from the checker's tables; every word has an example."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from pygments.token import Error, Token

from btpy.lang.builtins import (
    AGGREGATIONS,
    ANNOTATIONS,
    FUNCTIONS,
    KEYWORDS,
    LOCATIONS,
    QUANTIFIERS,
    SETTINGS,
    VARIABLES,
)
from btpy.lang.check.checker import check_source
from btpy.lang.edit.highlighting import BtpyLexer
from btpy.lang.edit.reference import examples
from btpy.lang.edit.vocabulary import VOCABULARY
from btpy.lang.syntax import nodes
from btpy.lang.syntax.parser import parse
from btpy.model.permissions import Permissions
from btpy.model.source import Source
from docs.build_reference import outputs

TABLES: dict[str, Mapping[str, object]] = {
    "annotations": ANNOTATIONS,
    "locations": LOCATIONS,
    "variables": VARIABLES,
    "functions": FUNCTIONS,
    "aggregations": AGGREGATIONS,
    "keywords": {**KEYWORDS, **QUANTIFIERS},
    "settings": SETTINGS,
}
PERMITTED = Permissions(frozenset({"heap-dump"}))
EXAMPLES = [
    pytest.param(table, word, text, id=f"{table}-{word}")
    for table, rows in examples().items()
    for word, text in rows.items()
]


def test_every_word_has_an_example() -> None:
    assert {table: set(rows) for table, rows in examples().items()} == {
        table: set(rows) for table, rows in TABLES.items()
    }


@pytest.mark.parametrize(("table", "word", "text"), EXAMPLES)
def test_example_is_right(table: str, word: str, text: str) -> None:
    warnings = check_source(Source(f"{word}.bt", text), permissions=PERMITTED).warnings
    assert not warnings
    assert word in text or table == "locations"


@pytest.mark.parametrize("path", outputs(), ids=lambda path: path.name)
def test_generated_files_are_up_to_date(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == outputs()[path], "run: python docs/build_reference.py"


def test_short_locations_are_all_known() -> None:
    """Each short form has a location: its name in capitals, or a row of the table of short forms."""
    for point in VOCABULARY["points"]:
        location = attach_location(point)
        assert location in LOCATIONS, point


def attach_location(point: str) -> str:
    probe = nodes.expand(parse(Source("a", f"a.B::c @{point} {{ }}")).items[0])  # type: ignore[arg-type]
    value = probe.annotations[0].arguments[-1].value
    assert isinstance(value, nodes.Name)
    return value.text


@pytest.mark.parametrize("text", [text for rows in examples().values() for text in rows.values()])
def test_colours_keep_the_text(text: str) -> None:
    tokens = list(
        BtpyLexer().get_tokens(
            text,
        )
    )
    assert "".join(value for _, value in tokens).strip("\n") == text.strip("\n")
    assert not any(kind is Error for kind, _ in tokens)


def test_words_get_their_colours() -> None:
    text = 'a.B::c @return when duration > 5ms { let x = len($y) ?? 0; @m["k"] = count() }'
    kinds = {value: kind for kind, value in BtpyLexer().get_tokens(text)}
    assert kinds["a.B"] is Token.Name.Class
    assert kinds["c"] is Token.Name.Function
    assert kinds["@return"] is Token.Name.Decorator
    assert kinds["when"] is Token.Keyword
    assert kinds["duration"] is Token.Name.Builtin.Pseudo
    assert kinds["5ms"] is Token.Literal.Number
    assert kinds["len"] is Token.Name.Builtin
    assert kinds["$y"] is Token.Name.Variable.Instance
    assert kinds["@m"] is Token.Name.Variable.Global


@pytest.mark.skipif(shutil.which("vim") is None, reason="vim is not installed")
def test_vim_takes_its_syntax_file() -> None:
    path = next(path for path in outputs() if path.parts[-2:] == ("syntax", "btpy.vim"))
    command = ["vim", "-es", "-u", "NONE", "-c", f"source {path}", "-c", "qa!"]
    assert subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode == 0
