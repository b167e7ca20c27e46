"""Source text → syntax tree, with as many independent errors as there are faulty items.

1. The whole text is parsed (``lalr``), and its parts become the classes of ``nodes`` (``reductions``). If that fails
   and it is a script for another tracer, the answer is its translation (``hints.other_tools``).
2. Else a scanner of brackets, quotes and comments splits the text into top-level items and finds brackets and quotes
   that are never closed. Unlike the parser, the scanner still knows where they were opened (``scanner``). Each item
   without a scanner error is parsed on its own, so that every item reports its own first error, and no error follows
   from another item.
3. Three sources explain an error of the parser, and the first that has an explanation counts: a table of known errors
   (``hints.known_errors``), examples of faulty text that end in the same state of the parser, the list of possible
   terminals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pkgutil import get_data
from typing import TYPE_CHECKING, Any

from btpy.errors import ScriptError
from btpy.lang.syntax import nodes
from btpy.lang.syntax.lalr import END, Parser, Token, TooDeep, UnexpectedText
from btpy.lang.syntax.reductions import Reductions
from btpy.lang.syntax.scanner import BRACE_EXPECTED, leading_comment, scan
from btpy.lang.syntax.tables import identity
from btpy.model.diagnostics import Diagnostic, Label, did_you_mean
from btpy.model.source import Source, Span

if TYPE_CHECKING:
    from btpy.lang.hints.failure import Failure

MAX_LENGTH = (1 << 20) - 1
"""Longest script in code points: the place of a probe error is a packed :class:`Span`, which has 20 bits for its
start."""

MAX_DEPTH = 100
"""Deepest nesting of a syntax tree; the stages after the parser walk trees recursively."""


def parse(source: Source) -> nodes.Script:
    """The syntax tree of a script. Raises ``ScriptError`` with the errors of all items."""
    if len(source.text) > MAX_LENGTH:
        end = Span(source, MAX_LENGTH, MAX_LENGTH)
        raise ScriptError(
            [Diagnostic("BT008", f"the script has more than {MAX_LENGTH} characters", Label(end, "the limit is here"))]
        )
    items, diagnostics = _parse(source, 0, len(source.text), "start")
    if diagnostics:
        from btpy.lang.hints.other_tools import recognise

        foreign = recognise(source)
        if foreign is not None:
            raise ScriptError([foreign])
        scanned = scan(source)
        parts = [_parse(source, item.start, item.end, "item") for item in scanned.items if not item.faulty]
        problems = [diagnostic for _, faults in parts for diagnostic in faults]
        if problems or scanned.diagnostics:
            positions = [
                diagnostic.primary.span.start for diagnostic in problems if diagnostic.primary.text == BRACE_EXPECTED
            ]
            orphans = [
                diagnostic
                for diagnostic in scanned.diagnostics
                if diagnostic.code == "BT003" and diagnostic.primary.span.text == "}"
            ]
            consequences = [orphan for orphan in orphans if positions and orphan.primary.span.start > positions[0]]
            diagnostics = [
                *(diagnostic for diagnostic in scanned.diagnostics if diagnostic not in consequences),
                *problems,
            ]
        raise ScriptError(sorted(diagnostics, key=lambda diagnostic: diagnostic.primary.span.start))
    return nodes.Script(items, leading_comment(source.text))


def parse_expression(source: Source) -> nodes.Expression:
    """The syntax tree of an expression that stands alone. Raises ``ScriptError``."""
    if diagnostics := scan(source).diagnostics:
        raise ScriptError(diagnostics)
    reductions = _reductions(source)
    expression, faults = _reduced(source, 0, len(source.text), "expr", reductions)
    if faults or reductions.diagnostics:
        raise ScriptError(faults or reductions.diagnostics)
    result: nodes.Expression = expression
    return result


def tokens(source: Source) -> Iterator[Token]:
    """The tokens of a script that parses, without comments."""
    result: list[Token] = []
    _parser().parse(source.text, 0, len(source.text), "start", _reductions(source).actions, result)
    return iter(result)


def accepted(text: str) -> frozenset[str] | None:
    """The terminals that may follow ``text``, by their names in the grammar; None when the text does not parse."""
    followed = text + "\n\0"  # a quote or bracket that begins no token
    try:
        _parser().parse(followed, 0, len(followed), "start", _reductions(Source("<input>", followed)).actions)
    except UnexpectedText as error:
        return error.accepts if error.start > len(text) else None
    except TooDeep:
        return None
    raise AssertionError("a zero byte was read")


def is_complete(text: str) -> bool:
    """Whether a prompt may submit ``text``: every bracket, string and comment in it is closed."""
    return unclosed(text) is None


def unclosed(text: str) -> Diagnostic | None:
    """The first bracket, string or comment that is open at the end."""
    problems = scan(Source("<input>", text)).diagnostics
    return next((problem for problem in problems if problem.code in ("BT002", "BT005")), None)


@lru_cache(maxsize=1)
def _parser() -> Parser:
    grammar, tables = (get_data("btpy.lang.syntax", name) for name in ("grammar.lark", "grammar.json"))
    parser = Parser(tables.decode(), MAX_DEPTH) if tables is not None else None
    if grammar is None or parser is None or parser.grammar != identity(grammar):
        raise RuntimeError("grammar.json was not made from grammar.lark: run python agent-java/hatch_build.py")
    return parser


def _reductions(source: Source) -> Reductions:
    def expression(start: int, end: int) -> tuple[nodes.Expression | None, list[Diagnostic]]:
        return _reduced(source, start, end, "expr", reductions)

    reductions = Reductions(source, _parser().rules, expression)
    return reductions


def _parse(source: Source, start: int, end: int, rule: str) -> tuple[tuple[nodes.Item, ...], list[Diagnostic]]:
    """The items between two offsets, and their errors."""
    reductions = _reductions(source)
    items, faults = _reduced(source, start, end, rule, reductions)
    return items or (), faults or reductions.diagnostics


def _reduced(source: Source, start: int, end: int, rule: str, reductions: Reductions) -> tuple[Any, list[Diagnostic]]:
    try:
        return _parser().parse(source.text, start, end, rule, reductions.actions), []
    except UnexpectedText as error:
        return None, [_explain(source, start, end, error)]
    except TooDeep as deep:
        place = Span(source, deep.start, deep.end)
        return None, [Diagnostic("BT009", f"nested more than {MAX_DEPTH} deep", Label(place))]


def _explain(source: Source, base: int, end: int, error: UnexpectedText) -> Diagnostic:
    from btpy.lang.hints.failure import Failure  # not needed for a script that parses
    from btpy.lang.hints.known_errors import KNOWN_ERRORS

    at = base + len(source.text[base:end].rstrip()) if error.terminal == END else error.start
    failure = Failure(source, base, at, max(error.end, at + 1), error.terminal, error.accepts)
    for explain in KNOWN_ERRORS:
        diagnostic = explain(failure)
        if diagnostic is not None:
            return diagnostic
    message = _of_example(error)
    if message is not None:
        return Diagnostic("BT001", message, Label(failure.after_previous if error.terminal == END else failure.span))
    return _expected(failure)


def _of_example(error: UnexpectedText) -> str | None:
    """The message for an example that stops the parser in the same state."""
    likely_message: str | None = None
    for message, example in _example_errors():
        if example.state == error.state and example.accepts == error.accepts:
            if example.terminal == error.terminal:
                return message
            likely_message = likely_message or message
    return likely_message


@lru_cache(maxsize=1)
def _example_errors() -> list[tuple[str, UnexpectedText]]:
    errors = []
    for message, examples in _EXAMPLES.items():
        for text in examples:
            try:
                _parser().parse(text, 0, len(text), "item", _reductions(Source("<example>", text)).actions)
            except UnexpectedText as error:
                errors.append((message, error))
    return errors


_EXAMPLES = {
    "a probe needs a body: { … }": [
        '@OnMethod(class="A")',
        '@OnMethod(class="A") probe p(..)',
        "A::b @entry",
        "A::b @entry when x",
    ],
    "an annotation's argument needs a value": ["@OnMethod(class=)", "@OnMethod(class=,"],
    "a condition is missing": ["@OnEnd { if { } }", "@OnEnd { if x { } else if { } }", "A::b when { }"],
    "a value is missing": ["@OnEnd { let x = ; }", "@OnEnd { @m = ; }", "@OnEnd { @m[1] = }", "@OnEnd { x = }"],
    "an operand is missing": ["@OnEnd { print(1 + ) }", "@OnEnd { print(a == ) }", "A::b when x && {"],
}

_TOKENS = {
    END: "the end",
    "INT": "a number",
    "FLOAT": "a number",
    "DURATION": "a number",
    "SIZE": "a number",
    "STRING": "a string",
    "FSTRING": "a string",
    "IDENT": "a name",
    "MEMBER": "a name",
    "QNAME": "a name",
    "QUANT": "a name",
    "TARGET_VAR": "a name",
    "MAP": "a map",
    "MAPK": "a map",
    "ANNOT": "an annotation",
    "POINT": "Class::method",
    "AT_LOC": "@location",
    "TRUE": "true",
    "FALSE": "false",
    "NULL": "null",
    "ARRAY_SUFFIX": "[]",
    "ASSIGN_OP": "=",
    "EQUALS": "=",
    "INCDEC": "++",
}
_OPERATORS = frozenset(
    {
        *("COALESCE_OP", "OR_OP", "AND_OP", "BITOR_OP", "BITXOR_OP", "BITAND_OP", "EQ_OP", "REL_OP", "SHIFT_OP"),
        *("ADD_OP", "MUL_OP", "INSTANCEOF", "IN", "NULLABLE", "DOT", "AS", "LSQB", "ASSIGN_OP", "INCDEC", "RANGE"),
    }
)
_PREFIXES = frozenset(("NOT", "TILDE", "ADD_OP", "LSQB", "POINT_TYPES"))


def _expected(failure: Failure) -> Diagnostic:
    names: list[str] = []
    operators = "MUL_OP" in failure.accepts
    exclusions = _OPERATORS if operators else _PREFIXES
    for terminal in sorted(failure.accepts):
        if terminal in exclusions:
            continue
        name = _TOKENS.get(terminal) or f"`{_spelling(terminal)}`"
        if name not in names:
            names.append(name)
    if operators:
        names.append("an operator")
    what_is_there = "end" if failure.token == END else f"`{failure.span.text}`"
    text = " or ".join(names) if len(names) < 3 else ", ".join(names[:-1]) + f" or {names[-1]}"
    place = failure.after_previous if failure.token == END else failure.span
    word = re.match(r"\w+", failure.rest)
    keywords = [_spelling(terminal) for terminal in failure.accepts if _spelling(terminal).isalpha()]
    return Diagnostic(
        "BT001",
        f"unexpected {what_is_there}",
        Label(place, f"expected {text}" if 0 < len(names) <= 4 else ""),
        help=did_you_mean(word.group(), keywords) if word and failure.token != END else (),
        notes=(f"here can stand {text}",) if len(names) > 4 else (),
    )


def _spelling(terminal: str) -> str:
    return _parser().spellings.get(terminal, terminal.lower())
