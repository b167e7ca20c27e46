"""Suggestions for the cursor, from the text before it. They need no terminal, no JVM and no state.

The grammar says which kinds of word may follow (:func:`btpy.lang.syntax.parser.accepted`). The open brackets determine
the subject of the words: the class of a method, the annotation of an argument. :mod:`btpy.completion.candidates` turns
suggestions into words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum

from btpy.completion.reading import Reading, Scene, Token
from btpy.dataclass import dataclass
from btpy.lang.builtins import KEYWORDS
from btpy.lang.syntax.parser import accepted


class Wanted(Enum):
    """The kind of words in a suggestion. ``Suggestion.of`` is the owner of the words."""

    CLASS = "class"
    METHOD = "method"  # of: class pattern
    MEMBER_FIELD = "field of a class"  # of: class name
    LINE = "line"
    POINT = "location behind a point"
    LOCATION = "location"
    ANNOTATION = "annotation"
    ARGUMENT = "argument"  # owner: annotation, location or function
    FIELD = "field"  # owner: the navigation before the last dot
    TARGET_VARIABLE = "$name"
    NAME = "variable or function"
    STATEMENT = "name at the beginning of a statement"
    AGGREGATION = "aggregation"
    MAP = "map"
    KEYWORD = "keyword"  # owner: keywords, separated by blanks
    LIBRARY = "library"
    SETTING = "setting"
    COMMAND = "command"
    COMMAND_ARGUMENT = "argument of a command"  # of: its name
    CHOICE = "choice"  # owner: words, separated by blanks


@dataclass(frozen=True, slots=True)
class Suggestion:
    """``word``: the part that the user has typed, which will be replaced."""

    wanted: Wanted
    word: str
    of: str = ""


@dataclass(frozen=True, slots=True)
class Suggestions:
    scene: Scene
    items: tuple[Suggestion, ...]


NOTHING = Suggestions(Scene(), ())
_ITEM_KEYWORDS = "import use param config map fn"
_WORD = re.compile(r"[\w$]*\Z")
_CLASS_WORD = re.compile(r"[+@]?[\w.$*?<>-]*\Z")
_FIRST_WORD = re.compile(r"[+@]?[\w.$*?<>-]*(::[+@]?[\w.$*?<>-]*)?|")
_MAP_WORD = re.compile(r"@?\w*\Z")
_TEXT_OF_COMMAND = re.compile(r"\s*:(\w*)(?:\s+(.*))?\Z", re.DOTALL)
_LAST = re.compile(r"\S*\Z")
_BEFORE_QUALIFIED = ("use", "import", "as", "instanceof")
_TYPED_CLASS = ("type", "class", "clazz", "exclude")


def suggest(text: str) -> Suggestions:
    """Suggestions for the end of ``text``."""
    command = _TEXT_OF_COMMAND.fullmatch(text)
    if command is not None:
        return _of_command(text, command[1], command[2])
    reading = Reading.of(text)
    if reading.in_comment:
        return NOTHING
    scene = reading.scene()
    tokens = reading.tokens
    if tokens and tokens[-1].kind == "open_string":
        return _in_string(reading, scene, tokens[-1])
    item = text[reading.start :].lstrip()
    if not tokens or _FIRST_WORD.fullmatch(item):
        return Suggestions(scene, _at_item(item))
    if tokens[0].kind == "at":  # a map expression at the prompt
        word = _MAP_WORD.search(text)
        assert word is not None, "an empty text matches, too"
        return Suggestions(scene, (Suggestion(Wanted.MAP, word[0]),))
    return Suggestions(scene, _inside(reading))


def _of_command(text: str, name: str, rest: str | None) -> Suggestions:
    if rest is None and not text[-1:].isspace():
        return Suggestions(Scene(), (Suggestion(Wanted.COMMAND, name),))
    match = _LAST.search(rest or "")
    return Suggestions(Scene(), (Suggestion(Wanted.COMMAND_ARGUMENT, match[0] if match else "", name),))


def _at_item(word: str) -> tuple[Suggestion, ...]:
    """Suggestions for the first word of an item."""
    class_pattern, colons, method = word.partition("::")
    if colons:
        return (Suggestion(Wanted.METHOD, method, class_pattern),)
    if word.startswith("@"):
        annotation, map_ = Suggestion(Wanted.ANNOTATION, word), Suggestion(Wanted.MAP, word)
        return (annotation, map_) if word == "@" else (map_,) if word[1].islower() else (annotation,)
    class_ = Suggestion(Wanted.CLASS, word)
    return (Suggestion(Wanted.KEYWORD, word, _ITEM_KEYWORDS), class_) if word.isalpha() else (class_,)


def _in_string(reading: Reading, scene: Scene, token: Token) -> Suggestions:
    """The cursor is in a string: a pattern of an annotation, or an expression between the braces of an f-string."""
    inner = token.text[2:] if token.text.startswith("f") else ""
    opened = inner.replace("{{", "  ").rpartition("{")
    if opened[1] and "}" not in opened[2]:
        before = reading.text[: token.start]
        nested = suggest(f"{before}({opened[2]}")
        return Suggestions(scene, nested.items)
    frame = reading.frame
    if frame is None or token.text.startswith("f"):
        return NOTHING
    prefix = token.text[1:]
    if frame.bracket == "[" and len(reading.frames) > 1:  # the argument is a list of patterns
        frame = reading.frames[-2]
    if frame.argument in _TYPED_CLASS and frame.callee[:1].isupper():
        return Suggestions(scene, (Suggestion(Wanted.CLASS, prefix),))
    if frame.argument == "method" and frame.callee == "OnMethod":
        return Suggestions(scene, (Suggestion(Wanted.METHOD, prefix, scene.class_pattern),))
    if frame.argument in ("method", "field") and frame.callee[:1].isupper():
        owner = _class_of(reading)
        kind = Wanted.METHOD if frame.argument == "method" else Wanted.MEMBER_FIELD
        return Suggestions(scene, (Suggestion(kind, prefix, owner),))
    return NOTHING


def _class_of(reading: Reading) -> str:
    """The string of the last ``class="…"``."""
    tokens = reading.tokens
    for at in range(len(tokens) - 3, -1, -1):
        if tokens[at].text == "class" and tokens[at + 1].text == "=" and tokens[at + 2].kind == "string":
            return tokens[at + 2].text.strip('"')
    return ""


def _inside(reading: Reading) -> tuple[Suggestion, ...]:
    """Suggestions after the first word of an item."""
    text, tokens, frame = reading.text, reading.tokens, reading.frame
    last = tokens[-1]
    touching = last.end == len(text)
    if frame is not None and frame.callee.startswith("@") and frame.bracket == "(":
        return _in_location(reading, frame.callee[1:])
    if touching and last.kind in ("word", "target", "at", "annotation"):
        word, before = last, tokens[:-1]
    elif touching and last.kind in ("number", "string"):
        return ()
    else:
        word, before = Token("", "", len(text)), tokens
    previous = before[-1] if before else Token("", "", 0)
    if previous.text in _BEFORE_QUALIFIED or "." in _qualified(text):
        qualified = _qualified(text)
        start = len(text) - len(qualified)
        before_name = next((token.text for token in reversed(tokens) if token.end <= start), "")
        if before_name in _BEFORE_QUALIFIED:
            kind = Wanted.LIBRARY if before_name in ("use", "import") else Wanted.CLASS
            return (Suggestion(kind, qualified),)
    if previous.text == "." and (word.kind in ("word", "") and word.text[:1] != "@"):
        return (Suggestion(Wanted.FIELD, word.text, _navigation(before[:-1])),)
    if previous.text in ("let", "for", "fn", "param", "probe", "map") and previous.kind == "word":
        return ()
    if word.kind == "annotation" or (word.text == "@" and not reading.frames and _is_head(reading)):
        if tokens[0].kind == "annotation":
            return (Suggestion(Wanted.ANNOTATION, word.text),)
        return (Suggestion(Wanted.POINT, word.text),)
    at_start_of_argument = previous.text in ("(", ",")
    if frame is not None and frame.bracket == "(" and frame.callee[:1].isupper():
        if at_start_of_argument and frame.callee != "OnProbe":
            return (Suggestion(Wanted.ARGUMENT, word.text, frame.callee),)
        if frame.argument == "location":
            return (Suggestion(Wanted.LOCATION, word.text),)
        if frame.argument == "when":
            return (Suggestion(Wanted.CHOICE, word.text, "AFTER BEFORE"),)
        if frame.argument in ("pending", "adaptive"):
            return (Suggestion(Wanted.CHOICE, word.text, "true false"),)
    if frame is not None and frame.bracket == "[" and len(reading.frames) > 1:
        outer = reading.frames[-2]
        if outer.callee == "OnMethod" and outer.argument == "location":
            return (Suggestion(Wanted.LOCATION, word.text),)
    if frame is not None and frame.callee == "config":
        return (Suggestion(Wanted.SETTING, word.text),) if previous.text in ("{", ";") else ()
    return _by_grammar(reading, word, previous)


def _is_head(reading: Reading) -> bool:
    return reading.tokens[0].kind in ("annotation", "point")


def _in_location(reading: Reading, location: str) -> tuple[Suggestion, ...]:
    """Suggestions inside the brackets of ``@call(…)`` after a point."""
    last = reading.tokens[-1]
    text = reading.text
    opener = max(token.end for token in reading.tokens if token.text == "(")
    prefix = text[opener:].lstrip()
    if location == "line":
        word = _WORD.search(text)
        return (Suggestion(Wanted.LINE, word[0] if word else ""),)
    if "when" in prefix or "," in prefix:
        word_text = last.text if last.kind == "word" and last.end == len(text) else ""
        if last.text == "=" or (word_text and len(reading.tokens) > 1 and reading.tokens[-2].text == "="):
            return (Suggestion(Wanted.CHOICE, word_text, "AFTER BEFORE"),)
        return (Suggestion(Wanted.CHOICE, word_text, "when="),)
    class_pattern, colons, member = prefix.partition("::")
    if colons and location in ("get", "set", "field_get", "field_set"):
        return (Suggestion(Wanted.MEMBER_FIELD, member, class_pattern),)
    if colons:
        return (Suggestion(Wanted.METHOD, member, class_pattern),)
    if location in ("call", "new", "get", "set", "throw", "raise", "catch", "newarray", "cast", "instanceof"):
        return (Suggestion(Wanted.CLASS, prefix),)
    return ()


def _by_grammar(reading: Reading, word: Token, previous: Token) -> tuple[Suggestion, ...]:
    terminals = accepted(reading.text[: word.start])
    if terminals is None:
        return ()
    suggestions: list[Suggestion] = []
    prefix = word.text
    if "AT_LOC" in terminals and (not prefix or prefix.startswith("@")):
        suggestions.append(Suggestion(Wanted.POINT, prefix))
    in_expression = "TRUE" in terminals
    if in_expression and prefix.startswith("$"):
        return (Suggestion(Wanted.TARGET_VARIABLE, prefix),)
    if "MAP" in terminals and (prefix.startswith("@") or not prefix):
        suggestions.append(Suggestion(Wanted.MAP, prefix))
    if prefix.startswith("@"):
        return tuple(suggestions)
    frame = reading.frame
    keywords = " ".join(keyword for keyword in KEYWORDS if keyword.upper() in terminals and keyword != "map")
    if in_expression:
        if frame is not None and frame.bracket == "(" and previous.text in ("(", ",") and frame.callee.islower():
            suggestions.append(Suggestion(Wanted.ARGUMENT, prefix, frame.callee))
        if _assigns_to_map(reading):
            suggestions.append(Suggestion(Wanted.AGGREGATION, prefix))
        if "LET" in terminals:
            suggestions.append(Suggestion(Wanted.STATEMENT, prefix))
        else:
            suggestions.append(Suggestion(Wanted.NAME, prefix))
            keywords = " ".join(keyword for keyword in keywords.split() if keyword != "thread")
        suggestions.append(Suggestion(Wanted.TARGET_VARIABLE, prefix))
    if keywords:
        suggestions.append(Suggestion(Wanted.KEYWORD, prefix, keywords))
    return tuple(suggestions)


def _qualified(text: str) -> str:
    match = _CLASS_WORD.search(text)
    return match[0] if match else ""


def _assigns_to_map(reading: Reading) -> bool:
    """Whether the cursor is directly after ``@m[…] =``."""
    tokens = list(reading.tokens)
    if tokens and tokens[-1].kind == "word" and tokens[-1].end == len(reading.text):
        tokens.pop()
    if not tokens or tokens.pop().text != "=":
        return False
    if tokens and tokens[-1].text == "]":
        tokens = tokens[: _opening(tokens, len(tokens) - 1)]
    return bool(tokens) and tokens[-1].kind == "at"


def _opening(tokens: Sequence[Token], at: int) -> int:
    """The index of the bracket that the token at ``at`` closes; 0 if there is none."""
    depth = 0
    for first in range(at, 0, -1):
        depth += (tokens[first].kind == "close") - (tokens[first].kind == "open")
        if not depth:
            return first
    return 0


def _navigation(tokens: tuple[Token, ...]) -> str:
    """The source text of the expression before the dot: ``$order.customer``, ``args[0]``, ``(x as com.acme.Foo)``,
    without blanks.
    """
    parts: list[str] = []
    at = len(tokens) - 1
    while at >= 0:
        token = tokens[at]
        if token.kind == "close":
            first = _opening(tokens, at)
            inner = tokens[first : at + 1]
            parts.append("".join(f" {token.text} " if token.text == "as" else token.text for token in inner))
            at = first - 1
            if inner[0].text == "(" and (at < 0 or tokens[at].kind != "word"):
                break  # a parenthesis that does not belong to a call
        elif token.kind in ("word", "target"):
            parts.append(token.text)
            at -= 1
            if at < 0 or tokens[at].text != ".":
                break
            parts.append(".")
            at -= 1
        else:
            break
    return "".join(reversed(parts))
