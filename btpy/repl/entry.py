"""The typed text: its kind, whether it is complete, and the indentation of the next line."""

from __future__ import annotations

import re
from enum import Enum

from btpy.api.editing import is_complete as brackets_are_closed
from btpy.api.editing import unclosed
from btpy.completion.reading import Reading
from btpy.repl.commands import BARE


class Kind(Enum):
    NOTHING = "nothing"
    COMMAND = "command"
    AGAIN = "again"
    EXPRESSION = "expression over maps"
    PROBES = "probes"


INDENT = 2

_BARE = re.compile(rf"({'|'.join(BARE)})(\s+[^\s{{;]+)?\s*")
_AGAIN = re.compile(r"!!|!\d+")
_EXPRESSION = re.compile(r"-?[@(\d]|size\(")
_KEYWORD_ITEM = re.compile(r"(use|import|param|map|btpy)\b")


def kind_of(text: str) -> Kind:
    entry = text.strip()
    if not entry:
        return Kind.NOTHING
    if entry.startswith(":") or _BARE.fullmatch(entry):
        return Kind.COMMAND
    if _AGAIN.fullmatch(entry):
        return Kind.AGAIN
    if _EXPRESSION.match(entry) and not re.match(r"@[A-Z]", entry):
        return Kind.EXPRESSION
    return Kind.PROBES


def is_complete(text: str) -> bool:
    """Whether Enter submits: all brackets are closed, and each head of a probe has a body. After an empty line every
    entry is complete, so that no user is stuck.
    """
    if kind_of(text) is not Kind.PROBES:
        return kind_of(text) is not Kind.EXPRESSION or brackets_are_closed(text)
    if not brackets_are_closed(text):
        return False
    tokens = Reading.of(text).tokens
    bodyless = bool(tokens) and tokens[0].kind in ("annotation", "point")
    return not bodyless or text.endswith("\n")


def waiting_for(text: str) -> str:
    """A description of the missing part of an entry; empty when Enter submits it."""
    if "\n" not in text or is_complete(text):
        return ""
    problem = unclosed(text)
    if problem is None:
        return "the probe has no body yet: { … }, or an empty line"
    line, _ = problem.primary.span.source.position(problem.primary.span.start)
    return f"`{problem.primary.span.text}` of line {line} is not closed yet"


def indentation(text: str) -> int:
    """Blanks for the line after ``text``."""
    return INDENT * len(Reading.of(text).frames)


def as_script(text: str) -> str:
    """The typed text as a script: a declaration may lack its semicolon."""
    entry = text.strip()
    last = Reading.of(entry).tokens
    if last and _KEYWORD_ITEM.match(last[0].text) and not entry.endswith((";", "}")):
        return entry + ";"
    return entry


_PATTERN = re.compile(r"[+@]?[\w$*?]+(?:\.[\w$*?]+)*(?:::[\w$*?<>]*)?")


def pattern_at(text: str, cursor: int) -> str:
    """The class, or the class and method, under the cursor: ``com.acme.Foo::bar``; empty if there is none."""
    for match in _PATTERN.finditer(text):
        if match.start() <= cursor <= match.end():
            class_name = match.group().partition("::")[0].rpartition(".")[2].lstrip("+@")
            return match.group() if class_name[:1].isupper() else ""
    return ""


def word_at(text: str, cursor: int) -> str:
    """The word under the cursor, with the sign of its kind: ``@OnMethod``, ``:watch``, ``duration``."""
    for match in re.finditer(r"[@:$]?\w+", text):
        if match.start() <= cursor <= match.end():
            return match.group()
    return ""
