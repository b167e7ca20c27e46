"""Colours of the typed text, by the tokens of completion and the language's table of words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from btpy.api.reference import VOCABULARY
from btpy.completion.reading import Token, tokens

STYLE = {
    "keyword": "#c678dd",
    "constant": "#d19a66",
    "type": "#56b6c2",
    "location": "#d19a66",
    "annotation": "#e5c07b",
    "variable": "#e06c75",
    "function": "#61afef",
    "map": "#e5c07b bold",
    "target": "#e06c75",
    "number": "#d19a66",
    "string": "#98c379",
    "comment": "italic #7f848e",
    "point": "bold #56b6c2",
    "command": "bold #61afef",
    "name": "",
    "other": "",
}
"""Styles as prompt_toolkit spells them, by the class of a word."""

_OF_WORD = {
    **dict.fromkeys(VOCABULARY["types"], "type"),
    **dict.fromkeys(VOCABULARY["locations"], "location"),
    **dict.fromkeys(VOCABULARY["variables"], "variable"),
    **dict.fromkeys(VOCABULARY["constants"], "constant"),
    **dict.fromkeys(VOCABULARY["keywords"], "keyword"),
}
_ARGUMENT = re.compile(r"arg\d+")
_FUNCTIONS = frozenset(VOCABULARY["functions"])
_POINTS = frozenset(VOCABULARY["points"])
_ANNOTATIONS = frozenset(VOCABULARY["annotations"])
_OF_KIND = {
    "comment": "comment",
    "string": "string",
    "open_string": "string",
    "target": "target",
    "number": "number",
    "point": "point",
}


def coloured(text: str) -> Iterator[tuple[str, str]]:
    """All of the text in pieces, each with its class."""
    if text.lstrip().startswith(":"):
        name, blank, rest = text.partition(" ")
        yield from (("command", name), ("other", blank + rest))
        return
    last = Token("", "", 0)
    types = False  # whether the token is in the types of parameters after a point; then ``last`` stays the point
    for token in tokens(text):
        yield _class_of(token, last, text), token.text
        if token.kind == "space":
            continue
        types = (types and token.text != ")") or (last.kind == "point" and token.text == "(")
        if not types and not (token.text == ")" and last.kind == "point"):
            last = token


def _class_of(token: Token, before: Token, text: str) -> str:
    if token.kind == "word":
        if before.text == ".":
            return "name"
        if token.text in _FUNCTIONS and text[token.end :].lstrip()[:1] == "(":
            return "function"
        return "target" if _ARGUMENT.fullmatch(token.text) else _OF_WORD.get(token.text, "name")
    if token.kind == "annotation":
        return "annotation" if token.text[1:] in _ANNOTATIONS else "other"
    if token.kind == "at":
        return "annotation" if before.kind == "point" and token.text[1:] in _POINTS else "map"
    return _OF_KIND.get(token.kind, "other")
