"""One layout for scripts. It keeps tokens and comments, and writes new blanks and line breaks.

The author decides whether a short body stays on one line, where an expression in brackets breaks, and where (single)
empty lines stand. Everything else is fixed. A second formatting must change nothing, and the formatted text must parse
to the same tree; otherwise :func:`format_source` raises an error.

1. The parser's own tokens are read, with the comments that lie between them (``_tokens``).
2. Each token gets its role in the script: it begins an item or a statement, it is the brace of a body, its ``=`` names
   an argument … The semicolons of statements are dropped, and the last tokens of statements are marked instead
   (``_assign_parts``).
3. The tokens are written, with the blanks and line breaks that their roles need (``_Writer``). If a one-line body is
   wider than ``WIDTH``, it is split over lines, and the text is written again.
"""

from __future__ import annotations

import re
from dataclasses import fields
from enum import Enum

from btpy.dataclass import dataclass
from btpy.errors import ScriptError
from btpy.lang.syntax import nodes, parser
from btpy.model.source import Source

WIDTH = 100
_INDENT = "  "
_CONTINUATION = "    "

_COMMENT = re.compile(r"(?P<line>(?://|#)[^\n]*)|/\*.*?\*/", re.DOTALL)
_OPEN = frozenset(("LPAR", "LSQB", "LBRACE"))
_CLOSE = frozenset(("RPAR", "RSQB", "RBRACE"))
_LITERALS = ("INT", "FLOAT", "DURATION", "SIZE", "STRING", "FSTRING", "TRUE", "FALSE", "NULL")
_OPERAND_ENDS = frozenset(("IDENT", "MEMBER", "QNAME", "TARGET_VAR", "MAP", "MAPK", "RPAR", "RSQB", *_LITERALS))
_CALLED = frozenset(("IDENT", "MEMBER", "ANNOT", "QUANT", "QNAME"))
_TIGHT_BEFORE = frozenset(("RPAR", "RSQB", "COMMA", "SEMICOLON", "DOT", "ARRAY_SUFFIX", "INCDEC", "POINT_TYPES"))
_TIGHT_AFTER = frozenset(("LPAR", "LSQB", "DOT"))


def format_source(source: Source) -> str:
    """The formatted text of a script, with a newline at its end. Raises ``ScriptError`` if the script does not
    parse."""
    old_tree = parser.parse(source)
    tokens = _tokens(source)
    _assign_parts(tokens)
    while True:
        writer = _Writer()
        text = writer.write(tokens)
        if not writer.too_wide:
            break
        for opener in writer.too_wide:
            opener.one_line = False
    try:
        new_tree = parser.parse(Source(source.name, text))
    except ScriptError as error:
        raise AssertionError(f"formatting broke the script: {error}") from error
    if not same_tree(old_tree.items, new_tree.items):
        raise AssertionError("formatting changed the script")
    return text


def same_tree(left: object, right: object) -> bool:
    """Whether two trees are equal, apart from their positions."""
    pairs = [(left, right)]
    while pairs:
        a, b = pairs.pop()
        if isinstance(a, nodes.Tree) and type(a) is type(b):
            names = [field.name for field in fields(a) if field.name != "span"]
            pairs += [(getattr(a, name), getattr(b, name)) for name in names]
        elif isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
            pairs += zip(a, b, strict=True)
        elif a != b or type(a) is not type(b):
            return False
    return True


class _Part(Enum):
    """The role of a token, if it decides which blanks stand before the token."""

    ITEM = "begins an item"
    HEAD = "begins a line of a probe's head"
    BODY = "opens a body on a line of its own"
    STATEMENT = "begins a statement"
    END = "closes a block"
    TIGHT = "stands directly after the token before it"
    PREFIX = "an operator that stands directly before its operand"
    PLAIN = "follows after a blank, or where the author broke the line"


@dataclass(slots=True)
class _Token:
    """``kind``: name of the terminal, or LINE_COMMENT, BLOCK_COMMENT. ``breaks``: the number of line ends before it.

    ``blocks``: the open braces around it. ``ends_statement``: a semicolon may have to follow. ``last``: its
    semicolon may be left out. ``one_line``: for an opening brace, whether its body is written on one line.
    ``opener``: for a closing brace, its opening brace.
    """

    kind: str
    text: str
    start: int
    breaks: int
    part: _Part = _Part.PLAIN
    blocks: tuple[_Token, ...] = ()
    ends_statement: bool = False
    last: bool = False
    ends_item: bool = False
    one_line: bool = False
    opener: _Token | None = None

    @property
    def is_comment(self) -> bool:
        return self.kind in ("LINE_COMMENT", "BLOCK_COMMENT")


def _tokens(source: Source) -> list[_Token]:
    out: list[_Token] = []
    end = 0
    for kind, text, start in [*parser.tokens(source), ("", "", len(source.text))]:
        for comment in _COMMENT.finditer(source.text, end, start):
            comment_kind = "LINE_COMMENT" if comment["line"] is not None else "BLOCK_COMMENT"
            breaks = source.text.count("\n", end, comment.start())
            out.append(_Token(comment_kind, comment.group().rstrip(), comment.start(), breaks))
            end = comment.end()
        if kind:
            out.append(_Token(kind, text, start, source.text.count("\n", end, start)))
            end = start + len(text)
    return out


def _assign_parts(tokens: list[_Token]) -> None:
    """Sets the role of each token. Removes semicolons that end statements or nothing."""
    assigner = _PartAssigner(tokens)
    tokens[:] = [token for position, token in enumerate(tokens) if assigner.assign(position, token)]


class _PartAssigner:
    """Visits the tokens of a script once, and keeps the state that determines the role of the next token."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._openers: list[_Token] = []
        self._blocks: tuple[_Token, ...] = ()
        self._ternaries = [0]
        self._item: list[_Token] = []  # the tokens of the open item so far, at its own level
        self._statement: _Token | None = None
        self._previous: _Token | None = None
        self._declares = False  # whether the token before names the type of a variable

    def assign(self, position: int, token: _Token) -> bool:
        """Whether the token is kept. A semicolon that ends a statement, or nothing, is removed."""
        token.blocks = self._blocks
        for opener in self._openers:
            opener.one_line = opener.one_line and not token.breaks and token.kind != "LINE_COMMENT"
        if token.is_comment:
            return True
        in_block = bool(self._openers) and self._openers[-1].kind == "LBRACE"
        if token.kind == "SEMICOLON" and (in_block or not self._item):
            if in_block:
                self._end_statement()
            return False
        token.part = self._part(token, in_block)
        if not self._openers:
            self._item.append(token)
        if token.kind in _OPEN:
            self._open(token)
        elif token.kind in _CLOSE:
            self._close(position, token)
        if token.kind == "SEMICOLON" and not self._openers:
            token.ends_item = True
        if token.ends_item:
            self._item = []
        before = self._previous.kind if self._previous is not None else ""
        is_type = token.kind == "QNAME" and before not in ("AS", "INSTANCEOF")
        self._declares = is_type or token.kind == "ARRAY_SUFFIX"
        self._previous = token
        return True

    def _part(self, token: _Token, in_block: bool) -> _Part:
        part = _Part.PLAIN
        if in_block and self._statement is None and token.kind != "RBRACE":
            self._statement = token
            part = _Part.STATEMENT
        elif not self._openers:
            part = _part_in_head(token, self._item) if self._item else _Part.ITEM
        if part is _Part.PLAIN:
            part = _part_in_line(token, self._previous, self._openers, self._ternaries, self._declares)
        return part

    def _open(self, token: _Token) -> None:
        token.one_line = True
        self._openers.append(token)
        self._ternaries.append(0)
        if token.kind == "LBRACE":
            self._blocks = (*self._blocks, token)
            self._statement = None

    def _close(self, position: int, token: _Token) -> None:
        token.opener = self._openers.pop()
        self._ternaries.pop()
        if token.kind != "RBRACE":
            return
        token.part = _Part.END
        self._end_statement()
        if self._previous is not None:
            self._previous.last = self._item[0].kind != "CONFIG"  # the grammar requires this semicolon
        self._blocks = token.blocks = self._blocks[:-1]
        follower = next((token for token in self._tokens[position + 1 :] if not token.is_comment), None)
        has_else = follower is not None and follower.kind == "ELSE"
        self._statement = token if self._blocks and has_else else None
        token.ends_item = not self._openers and not has_else

    def _end_statement(self) -> None:
        if self._statement is not None and self._previous is not None:
            self._previous.ends_statement = True
            self._statement = None


def _part_in_head(token: _Token, item: list[_Token]) -> _Part:
    if item[0].kind != "ANNOT":
        return _Part.PLAIN
    if token.kind in ("ANNOT", "PROBE", "WHEN"):
        return _Part.HEAD
    kinds = {word.kind for word in item}
    annotations = [word.text for word in item if word.kind == "ANNOT"]
    if (
        token.kind == "LBRACE"
        and not kinds & {"PROBE", "WHEN"}
        and (len(annotations) > 1 or "@OnMethod" in annotations)
    ):
        return _Part.BODY
    return _Part.PLAIN


def _part_in_line(
    token: _Token, previous: _Token | None, openers: list[_Token], ternaries: list[int], declares: bool
) -> _Part:
    before = previous.kind if previous is not None else ""
    match token.kind:
        case "NULLABLE":
            if declares:
                return _Part.TIGHT
            ternaries[-1] += 1
        case "COLON":
            if not ternaries[-1]:
                return _Part.TIGHT
            ternaries[-1] -= 1
        case "LPAR":
            return _Part.TIGHT if before in _CALLED else _Part.PLAIN
        case "LSQB":
            # `@m[k]` is the value of a key of the map, `@m [k]` is an element of the value of the map `@m`.
            return _Part.TIGHT if before in _OPERAND_ENDS and before != "MAP" else _Part.PLAIN
        case "EQUALS":
            return _Part.TIGHT if openers and openers[-1].kind != "LBRACE" else _Part.PLAIN
        case "RANGE":
            return _Part.PLAIN if before == "COMMA" else _Part.TIGHT
        case "ADD_OP":
            return _Part.PLAIN if before in _OPERAND_ENDS or before == "INCDEC" else _Part.PREFIX
        case "NOT" | "TILDE":
            return _Part.PREFIX
        case kind if kind in _TIGHT_BEFORE:
            return _Part.TIGHT
    return _Part.PLAIN


def _author_breaks(token: _Token) -> bool:
    """Whether to keep a line end that the author wrote before the token."""
    if token.breaks == 0 or token.kind in ("LBRACE", "ELSE"):
        return False
    return token.is_comment or token.part in (_Part.PLAIN, _Part.PREFIX)


def _closes_line(brace: _Token) -> bool:
    return brace.opener is not None and brace.opener.one_line


class _Writer:
    """Writes tokens. ``too_wide``: the outermost one-line bodies that made a line wider than ``WIDTH``."""

    def __init__(self) -> None:
        self.too_wide: list[_Token] = []
        self._lines: list[str] = []
        self._line = ""
        self._bodies: list[_Token] = []  # one-line bodies in the open line
        self._columns: list[int | None] = []  # for each open bracket, the column where its lines begin; None: a brace
        self._item_start = 0  # line in which the open item begins
        self._in_item = False
        self._after_long_item = False  # the last item has several lines, and no item has followed it yet

    def write(self, tokens: list[_Token]) -> str:
        previous: _Token | None = None
        for position, token in enumerate(tokens):
            self._separate(token, previous)
            self._line += token.text
            if token.part is _Part.ITEM:
                self._item_start, self._in_item = len(self._lines), True
            if token.kind in _OPEN:
                follower = tokens[position + 1]
                self._columns.append(self._column_inside(token, follower))
                if token.kind == "LBRACE" and token.one_line:
                    self._bodies.append(token)
            elif token.kind in _CLOSE:
                self._columns.pop()
            if token.ends_statement and not (token.last and token.blocks and token.blocks[-1].one_line):
                self._line += ";"
            if token.ends_item:
                self._in_item, self._after_long_item = False, len(self._lines) > self._item_start
            previous = token
        self._end_line()
        return "".join(line + "\n" for line in self._lines)

    def _column_inside(self, bracket: _Token, follower: _Token) -> int | None:
        if bracket.kind == "LBRACE":
            return None
        if _author_breaks(follower):
            return len(self._line) - len(self._line.lstrip()) + len(_CONTINUATION)
        return len(self._line)

    def _separate(self, token: _Token, previous: _Token | None) -> None:
        if previous is None:
            return
        indent = _INDENT * sum(not block.one_line for block in token.blocks)
        starts_block = previous.kind == "LBRACE"
        blank = token.breaks > 1 and not starts_block
        one_line = bool(token.blocks) and token.blocks[-1].one_line
        between = token.part is _Part.ITEM or (token.is_comment and token.breaks > 0 and not self._in_item)
        if between:
            starts_probe = token.kind == "ANNOT" and not previous.is_comment
            self._new_line("", empty=blank or starts_probe or self._after_long_item)
            self._after_long_item = False
        elif (token.is_comment and token.breaks) or previous.kind == "LINE_COMMENT":
            column = self._columns[-1] if self._columns else None
            inside = " " * column if column is not None else indent
            self._new_line(inside, empty=blank and column is None and token.part is not _Part.END)
        elif token.is_comment:
            self._line += "  " if token.kind == "LINE_COMMENT" else "" if previous.kind in _TIGHT_AFTER else " "
        elif token.part in (_Part.HEAD, _Part.BODY) or (token.part is _Part.END and not _closes_line(token)):
            self._new_line(indent)
        elif token.part is _Part.STATEMENT and not one_line:
            self._new_line(indent, empty=blank)
        elif _author_breaks(token):
            column = self._columns[-1] if self._columns else None
            self._new_line(" " * column if column is not None else indent + _CONTINUATION)
        elif not self._is_tight(token, previous):
            self._line += " "

    @staticmethod
    def _is_tight(token: _Token, previous: _Token) -> bool:
        if token.part is _Part.TIGHT or previous.part is _Part.PREFIX or previous.kind in _TIGHT_AFTER:
            return True
        return previous.kind == "RANGE" or (previous.kind == "EQUALS" and previous.part is _Part.TIGHT)

    def _new_line(self, indent: str, *, empty: bool = False) -> None:
        self._end_line()
        if empty and self._lines:
            self._lines.append("")
        self._line = indent

    def _end_line(self) -> None:
        if self._bodies and len(self._line) > WIDTH:
            self.too_wide.append(self._bodies[0])
        self._bodies = []
        if self._line:
            self._lines.append(self._line.rstrip())
        self._line = ""
