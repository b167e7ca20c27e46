"""The prompt and editors colour words alike: both use the table of the language."""

from __future__ import annotations

from pathlib import Path

import pytest
from pygments.token import Comment, Keyword, Name, Number, String, _TokenType

from btpy.lang.edit.highlighting import BtpyLexer
from btpy.repl.colours import STYLE, coloured

SCRIPTS = sorted(Path(__file__).parents[2].glob("examples/*.bt")) + sorted(
    Path(__file__).parents[2].glob("probes/*.bt")
)

SAME: dict[str, tuple[_TokenType, ...]] = {
    "keyword": (Keyword,),
    "constant": (Keyword.Constant,),
    "type": (Keyword.Type,),
    "location": (Name.Constant,),
    "annotation": (Name.Decorator,),
    "variable": (Name.Builtin.Pseudo,),
    "function": (Name.Builtin,),
    "map": (Name.Variable.Global,),
    "number": (Number,),
    "string": (String,),
    "comment": (Comment,),
}


def classes(text: str) -> list[str]:
    return [name for name, piece in coloured(text) for _ in piece]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_colours_are_those_of_the_editors(path: Path) -> None:
    text = path.read_text()
    assert "".join(piece for _, piece in coloured(text)) == text
    own_classes = classes(text)
    for at, token, value in BtpyLexer().get_tokens_unprocessed(text):
        for name, editor_classes in SAME.items():
            if own_classes[at] == name and value.strip() and name not in ("string", "comment"):
                place = f"{text.count(chr(10), 0, at) + 1}: {value!r} {token}"
                assert any(token in kind for kind in editor_classes) or token in String, place  # type: ignore[comparison-overlap]


def test_a_location_behind_types_of_parameters_is_one() -> None:
    text = "A::b(String, int) @return { print(1) }"
    assert ("annotation", "@return") in list(coloured(text))
    assert (Name.Decorator, "@return") in [
        (token, value) for _, token, value in BtpyLexer().get_tokens_unprocessed(text)
    ]
    assert (Keyword.Type, "(String, int)") in [
        (token, value) for _, token, value in BtpyLexer().get_tokens_unprocessed(text)
    ]


def test_every_class_has_its_style() -> None:
    text = '@OnMethod(class="a") when duration > 5ms { print(f"{$x}", arg0.map, @m, INT, true, 3 as int); } // c'
    assert {name for name, _ in coloured(text + "\nA::b @entry")} <= set(STYLE)
    assert [name for name, piece in coloured(":watch @lat 1s")] == ["command", "other"]
