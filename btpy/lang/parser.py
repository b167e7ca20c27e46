"""Source text → syntax tree, with as many independent errors as there are faulty items.

1. A scanner of brackets, quotes and comments splits the text into top-level items and finds what is never closed: it
   knows the opener, which a parser has long forgotten (``scanner``).
2. The whole text is parsed. If that fails and it is a script for another tracer, the answer is its translation
   (``foreign``). Else each item without a scanner error is parsed on its own, so that every item reports its own first
   error and none reports a consequence of another's.
3. An error of the parser is explained by the first of: a table of known slips (``slips``), examples of faulty text that
   end in the same state of the parser, the list of what could stand there.
4. Parse trees become the classes of ``syntax``; faults inside literals are found on the way.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from pkgutil import get_data
from typing import TYPE_CHECKING

from btpy.errors import ScriptError
from btpy.lang import syntax
from btpy.lang.builtins import LANGUAGE_VERSION
from btpy.lang.diagnostics import Diagnostic, Label, did_you_mean
from btpy.lang.foreign import recognise
from btpy.lang.parameters import UNITS
from btpy.lang.scanner import leading_comment, scan
from btpy.lang.slips import SLIPS, Failure
from btpy.lang.source import Source, Span
from btpy.values import dataclass

if TYPE_CHECKING:
    from lark import Lark, Token
    from lark import Tree as ParseTree
    from lark.exceptions import UnexpectedInput

    Branch = ParseTree[Token]

MAX_LENGTH = (1 << 20) - 1
"""Longest script in code points: the place of a probe error is a packed :class:`Span`, which has 20 bits for its
start."""

MAX_DEPTH = 100
"""Deepest nesting of a syntax tree; the stages after the parser walk trees recursively."""

_MAX_LONG = (1 << 63) - 1


def parse(source: Source) -> syntax.Script:
    """The syntax tree of a script. Raises ``ScriptError`` with the errors of all items."""
    if len(source.text) > MAX_LENGTH:
        end = Span(source, MAX_LENGTH, MAX_LENGTH)
        raise ScriptError(
            [Diagnostic("BT008", f"the script has more than {MAX_LENGTH} characters", Label(end, "this is too far"))]
        )
    scanned = scan(source)
    diagnostics = list(scanned.diagnostics)
    items: tuple[syntax.Item, ...] = ()
    if not diagnostics:
        whole = _parse_part(source, 0, len(source.text), "start")
        items = whole.items
        diagnostics = whole.diagnostics
    if diagnostics:
        foreign = recognise(source)
        if foreign is not None:
            raise ScriptError([foreign])
        parts = [_parse_part(source, item.start, item.end, "item") for item in scanned.items if not item.faulty]
        found = [diagnostic for part in parts for diagnostic in part.diagnostics]
        if found or scanned.diagnostics:
            diagnostics = [*scanned.diagnostics, *found]
        raise ScriptError(sorted(diagnostics, key=lambda diagnostic: diagnostic.primary.span.start))
    return syntax.Script(items, leading_comment(source.text))


def parse_expression(source: Source) -> syntax.Expression:
    """The syntax tree of an expression that stands alone. Raises ``ScriptError``."""
    from lark.exceptions import UnexpectedInput

    if diagnostics := scan(source).diagnostics:
        raise ScriptError(diagnostics)
    try:
        tree = _lark().parse(source.text, start="expr")
    except UnexpectedInput as error:
        raise ScriptError([_explain(source, 0, len(source.text), error)]) from None
    too_deep = _too_deep(source, 0, tree)
    if too_deep is not None:
        raise ScriptError([too_deep])
    builder = _Builder(source, 0)
    expression = builder.expression(tree)
    if builder.diagnostics:
        raise ScriptError(builder.diagnostics)
    return expression


def tokens(source: Source) -> Iterator[tuple[str, str, int]]:
    """Terminal name, text and offset of each token of a script that parses; comments are none."""
    for token in _lark().parse_interactive(source.text, start="start").iter_parse():
        yield token.type, str(token), token.start_pos or 0


def accepted(text: str) -> frozenset[str] | None:
    """The terminals that may follow ``text``, by their names in the grammar; None when the text does not parse."""
    from lark.exceptions import UnexpectedInput

    try:
        parser = _lark().parse_interactive(text, start="start")
        parser.exhaust_lexer()
        return frozenset(parser.accepts())  # type: ignore[no-untyped-call]
    except UnexpectedInput:
        return None


def is_complete(text: str) -> bool:
    """Whether a prompt may submit ``text``: every bracket, string and comment in it is closed."""
    return not any(problem.code in ("BT002", "BT005") for problem in scan(Source("<input>", text)).diagnostics)


# ---------------------------------------------------------------- the parser


@lru_cache(maxsize=1)
def _lark() -> Lark:
    from lark import Lark

    data = get_data("btpy.lang", "grammar.lark")
    if data is None:
        raise FileNotFoundError("btpy/lang/grammar.lark is missing from this installation")
    grammar = data.decode()
    return Lark(
        grammar,
        parser="lalr",
        start=["start", "item", "expr"],
        propagate_positions=True,
        maybe_placeholders=True,
        cache=_cache_file(grammar) or False,
    )


def _cache_file(grammar: str) -> str | None:
    """Where Lark keeps its tables. They are pickled, so the directory must be ours alone; else nothing is cached."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    directory = Path(base) / "btpy"
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = directory.stat()
    except OSError:
        return None
    if hasattr(os, "getuid") and (
        status.st_uid != os.getuid()
        or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        or not os.access(directory, os.W_OK)
    ):
        return None
    return str(directory / f"grammar-{sha256(grammar.encode()).hexdigest()[:16]}.lark")


@dataclass(frozen=True, slots=True)
class _Part:
    items: tuple[syntax.Item, ...]
    diagnostics: list[Diagnostic]


def _parse_part(source: Source, start: int, end: int, rule: str) -> _Part:
    from lark.exceptions import UnexpectedInput

    try:
        tree = _lark().parse(source.text[start:end], start=rule)
    except UnexpectedInput as error:
        return _Part((), [_explain(source, start, end, error)])
    too_deep = _too_deep(source, start, tree)
    if too_deep is not None:
        return _Part((), [too_deep])
    builder = _Builder(source, start)
    items = tuple(builder.item(each) for each in _branches(tree.children))
    return _Part(items, builder.diagnostics)


def _branches(children: Iterable[object]) -> Iterator[Branch]:
    from lark import Tree as ParseTree

    return (child for child in children if isinstance(child, ParseTree))


def _too_deep(source: Source, base: int, tree: Branch) -> Diagnostic | None:
    level: list[Branch] = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for branch in level for child in _branches(branch.children)]
        if not level:
            return None
    place = Span(source, base + level[0].meta.start_pos, base + level[0].meta.end_pos)
    return Diagnostic("BT009", f"nested more than {MAX_DEPTH} deep", Label(place))


# ---------------------------------------------------------------- explaining errors


def _explain(source: Source, base: int, end: int, error: UnexpectedInput) -> Diagnostic:
    from lark.exceptions import UnexpectedToken

    accepts: Iterable[str]
    if isinstance(error, UnexpectedToken):
        # `accepts` is absent when the contextual lexer raised the error
        accepts = error.accepts or error.expected or ()
        token = error.token.type
        text = "" if token == "$END" else str(error.token)
    else:
        accepts = getattr(error, "allowed", None) or ()
        token, text = "", source.text[base + (error.pos_in_stream or 0)][:1]
    if token == "$END":
        at = base + len(source.text[base:end].rstrip())
    else:
        at = base + (error.pos_in_stream or 0)
    failure = Failure(source, base, at, at + max(len(text), 1), token, frozenset(accepts))
    for slip in SLIPS:
        diagnostic = slip(failure)
        if diagnostic is not None:
            return diagnostic
    message = _of_example(error)
    if message is not None:
        return Diagnostic("BT001", message, Label(failure.after_previous if token == "$END" else failure.span))
    return _expected(failure)


def _of_example(error: UnexpectedInput) -> str | None:
    """What is to be said of an example that stops the parser in the same state. (Lark's ``match_examples`` does the
    same, but fails where two stop in one state and accept different tokens.)"""
    from lark.exceptions import UnexpectedToken

    found: str | None = None
    for message, known in _example_errors():
        if known.state != error.state:
            continue
        if isinstance(error, UnexpectedToken) and isinstance(known, UnexpectedToken):
            if known.accepts != error.accepts:
                continue
            if known.token.type == error.token.type:
                return message
        found = found or message
    return found


@lru_cache(maxsize=1)
def _example_errors() -> list[tuple[str, UnexpectedInput]]:
    from lark.exceptions import UnexpectedInput

    errors = []
    for message, examples in _EXAMPLES.items():
        for text in examples:
            try:
                _lark().parse(text, start="item")
            except UnexpectedInput as error:
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
    "a value is missing": ["@OnEnd { let x = ; }", "@OnEnd { @m = ; }", "@OnEnd { @m[1] = }", "@OnEnd { x = }"],
    "an operand is missing": ["@OnEnd { print(1 + ) }", "@OnEnd { print(a == ) }", "A::b when x && {"],
}

_TOKENS = {
    "$END": "the end",
    "INT": "a number",
    "FLOAT": "a number",
    "DURATION": "a number",
    "SIZE": "a number",
    "STRING": "a string",
    "FSTRING": "a string",
    "IDENT": "a name",
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
_PREFIXES = frozenset(("NOT", "TILDE", "ADD_OP", "LSQB"))


def _expected(failure: Failure) -> Diagnostic:
    names: list[str] = []
    operators = "MUL_OP" in failure.accepts
    hidden = _OPERATORS if operators else _PREFIXES
    for terminal in sorted(failure.accepts):
        if terminal in hidden:
            continue
        name = _TOKENS.get(terminal) or f"`{_spelling(terminal)}`"
        if name not in names:
            names.append(name)
    if operators:
        names.append("an operator")
    found = "end" if failure.token == "$END" else f"`{failure.span.text}`"
    listed = " or ".join(names) if len(names) < 3 else ", ".join(names[:-1]) + f" or {names[-1]}"
    place = failure.after_previous if failure.token == "$END" else failure.span
    word = re.match(r"\w+", failure.rest)
    keywords = [_spelling(terminal) for terminal in failure.accepts if _spelling(terminal).isalpha()]
    return Diagnostic(
        "BT001",
        f"unexpected {found}",
        Label(place, f"expected {listed}" if 0 < len(names) <= 4 else ""),
        help=did_you_mean(word.group(), keywords) if word and failure.token != "$END" else (),
        notes=(f"here can stand {listed}",) if len(names) > 4 else (),
    )


@lru_cache(maxsize=256)
def _spelling(terminal: str) -> str:
    for definition in _lark().terminals:
        if definition.name == terminal and definition.pattern.type == "str":
            return definition.pattern.value
    return terminal.lower()


# ---------------------------------------------------------------- parse tree → syntax tree

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", '"': '"', "\\": "\\", "{": "{", "}": "}"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_FORMAT = re.compile(
    r"(?:[^{}]?[<>^=])?[+\- ]?\#?0?\d{0,4},?(?:\.\d{1,3})?(?:[dxXobceEfFgGs%]|ns|us|ms|s|m|h|B|KB|MB|GB)?"
)


class _Builder:
    """Makes syntax nodes of the parse tree of one item; ``base`` is the offset of its text in the source."""

    def __init__(self, source: Source, base: int) -> None:
        self._source = source
        self._base = base
        self.diagnostics: list[Diagnostic] = []

    # ---- places

    def _span(self, branch: Branch) -> Span:
        return Span(self._source, self._base + branch.meta.start_pos, self._base + branch.meta.end_pos)

    def _place(self, token: Token) -> Span:
        start = token.start_pos or 0
        return Span(self._source, self._base + start, self._base + start + len(token))

    def _identifier(self, token: Token) -> syntax.Identifier:
        return syntax.Identifier(self._place(token), str(token))

    def _optional(self, token: Token | None) -> syntax.Identifier | None:
        return None if token is None else self._identifier(token)

    # ---- items

    def item(self, branch: Branch) -> syntax.Item:
        build: Callable[[Branch], syntax.Item] = getattr(self, f"_{branch.data}")
        return build(branch)

    def _version(self, branch: Branch) -> syntax.Item:
        token = _token(branch, 0)
        number = self._integer(token)
        if number > LANGUAGE_VERSION:
            self.diagnostics.append(
                Diagnostic(
                    "BT015",
                    f"language version {number} is newer than this btpy",
                    Label(self._place(token)),
                    help=(f"this btpy knows version {LANGUAGE_VERSION}",),
                )
            )
        return syntax.Version(self._span(branch), number)

    def _import_decl(self, branch: Branch) -> syntax.Item:
        library, arguments, alias = branch.children
        return syntax.Import(
            self._span(branch),
            self._library(library),
            self._arguments(arguments),
            self._optional(_as_token(alias)),
            False,
        )

    def _use_decl(self, branch: Branch) -> syntax.Item:
        library, arguments, alias = branch.children
        return syntax.Import(
            self._span(branch),
            self._library(library),
            self._arguments(arguments),
            self._optional(_as_token(alias)),
            True,
        )

    def _library(self, child: object) -> syntax.Identifier:
        token = _as_token(child)
        if token is not None:
            return syntax.Identifier(self._place(token), self._string(token))
        return self._identifier(_token(_as_branch(child), 0))

    def _param_decl(self, branch: Branch) -> syntax.Item:
        _, type_, default, help_ = branch.children
        text = _as_token(help_)
        return syntax.ScriptParameter(
            self._span(branch),
            self._identifier(_token(branch, 0)),
            None if type_ is None else self._type(_as_branch(type_)),
            None if default is None else self.expression(_as_branch(default)),
            None if text is None else self._string(text),
        )

    def _config_block(self, branch: Branch) -> syntax.Item:
        settings = [
            syntax.Setting(
                self._span(each), self._identifier(_token(each, 0)), self.expression(_as_branch(each.children[1]))
            )
            for each in _branches(branch.children)
        ]
        return syntax.Config(self._span(branch), tuple(settings))

    def _map_decl(self, branch: Branch) -> syntax.Item:
        *head, storage, arguments = branch.children
        name = _token(branch, 0)
        keys = tuple(self._type(each) for each in _branches(_as_branch(head[1]).children)) if len(head) > 1 else ()
        storage_token = _as_token(storage)
        if storage_token is None:
            raise AssertionError("map declaration without storage")
        return syntax.MapDeclaration(
            self._span(branch),
            syntax.Identifier(self._place(name), str(name)[1:]),
            keys,
            self._identifier(storage_token),
            self._arguments(arguments),
        )

    def _fn_decl(self, branch: Branch) -> syntax.Item:
        _, formals, result, body = branch.children
        declared, _ = self._formals(_as_branch(formals))
        tree = _as_branch(body)
        return syntax.Function(
            self._span(branch),
            self._identifier(_token(branch, 0)),
            declared,
            None if result is None else self._type(_as_branch(result)),
            self._block(tree) if tree.data == "block" else self.expression(_as_branch(tree.children[0])),
        )

    def _static_check(self, branch: Branch) -> syntax.Item:
        name = self._identifier(_token(branch, 0))
        span = self._span(branch)
        return syntax.StaticCheck(span, syntax.Call(span, name, self._arguments(branch.children[1])))

    def _probe(self, branch: Branch) -> syntax.Item:
        *annotations, head, when, body = branch.children
        name: syntax.Identifier | None = None
        formals: tuple[syntax.Formal, ...] | None = None
        open_formals = False
        if head is not None:
            name_token, formal_list = _as_branch(head).children
            name = self._optional(_as_token(name_token))
            if formal_list is not None:
                formals, open_formals = self._formals(_as_branch(formal_list))
        return syntax.Probe(
            self._span(branch),
            tuple(self._annotation(_as_branch(each)) for each in annotations),
            name,
            formals,
            open_formals,
            self._when(when),
            self._block(_as_branch(body)),
        )

    def _annotation(self, branch: Branch) -> syntax.Annotation:
        token = _token(branch, 0)
        return syntax.Annotation(
            self._span(branch),
            syntax.Identifier(self._place(token), str(token)[1:]),
            self._arguments(branch.children[1]),
        )

    def _point_probe(self, branch: Branch) -> syntax.Item:
        _, location, name, when, body = branch.children
        point = _token(branch, 0)
        place = self._place(point)
        split = str(point).index("::")
        at = _as_token(location)
        location_name: syntax.Identifier | None = None
        argument: syntax.Identifier | None = None
        if at is not None:
            start = self._place(at).start
            word, bracket, inside = str(at).partition("(")
            location_name = syntax.Identifier(Span(self._source, start, start + len(word)), word[1:])
            if bracket:
                first = start + len(word) + 1
                argument = syntax.Identifier(Span(self._source, first, first + len(inside) - 1), inside[:-1])
        return syntax.PointProbe(
            self._span(branch),
            syntax.Identifier(Span(self._source, place.start, place.start + split), str(point)[:split]),
            syntax.Identifier(Span(self._source, place.start + split + 2, place.end), str(point)[split + 2 :]),
            location_name,
            argument,
            self._optional(_as_token(name)),
            self._when(when),
            self._block(_as_branch(body)),
        )

    def _when(self, child: object) -> syntax.Expression | None:
        return None if child is None else self.expression(_as_branch(_as_branch(child).children[0]))

    def _formals(self, formal_list: Branch) -> tuple[tuple[syntax.Formal, ...], bool]:
        formals: list[syntax.Formal] = []
        for inner in _branches(formal_list.children):
            for each in _branches(inner.children):
                if each.data == "ellipsis":
                    return tuple(formals), True
                name = _as_token(each.children[1])
                if name is not None:
                    formals.append(
                        syntax.Formal(
                            self._span(each), self._type(_as_branch(each.children[0])), self._identifier(name)
                        )
                    )
        return tuple(formals), False

    def _type(self, branch: Branch) -> syntax.TypeName:
        qualname, *suffixes, nullable = branch.children
        return syntax.TypeName(
            self._span(branch), str(_token(_as_branch(qualname), 0)), len(suffixes), nullable is not None
        )

    def _qualname(self, child: object) -> syntax.TypeName:
        branch = _as_branch(child)
        return syntax.TypeName(self._span(branch), str(_token(branch, 0)))

    def _arguments(self, child: object) -> tuple[syntax.Argument, ...]:
        if child is None:
            return ()
        arguments: list[syntax.Argument] = []
        for each in _branches(_as_branch(child).children):
            if each.data == "kwarg":
                value = self.expression(_as_branch(each.children[1]))
                arguments.append(syntax.Argument(self._span(each), self._identifier(_token(each, 0)), value))
            elif each.data == "lines":
                arguments.append(syntax.Argument(self._span(each), None, self._range(each)))
            else:
                value = self.expression(each)
                arguments.append(syntax.Argument(value.span, None, value))
        return tuple(arguments)

    # ---- statements

    def _block(self, branch: Branch) -> syntax.Block:
        return syntax.Block(self._span(branch), tuple(self._statement(each) for each in _branches(branch.children)))

    def _statement(self, branch: Branch) -> syntax.Statement:
        span = self._span(branch)
        children = branch.children
        match branch.data:
            case "let_stmt":
                return syntax.Let(
                    span,
                    self._identifier(_token(branch, 0)),
                    None if children[1] is None else self._type(_as_branch(children[1])),
                    self.expression(_as_branch(children[2])),
                )
            case "assign":
                target, _, value = children
                return syntax.Assign(
                    span,
                    self.expression(_as_branch(target)),
                    self._identifier(_token(branch, 1)),
                    self.expression(_as_branch(value)),
                )
            case "step":
                return syntax.Step(span, self.expression(_as_branch(children[0])), self._identifier(_token(branch, 1)))
            case "delete_stmt":
                return syntax.Delete(span, self._map_ref(_as_branch(children[0])))
            case "return_stmt":
                return syntax.Return(span, None if children[0] is None else self.expression(_as_branch(children[0])))
            case "if_stmt":
                return self._if(branch)
            case "for_stmt":
                return self._for(branch)
            case _:
                return syntax.ExpressionStatement(span, self.expression(_as_branch(children[0])))

    def _if(self, branch: Branch) -> syntax.If:
        test, then, otherwise = branch.children
        rest: syntax.Block | syntax.If | None = None
        if otherwise is not None:
            tree = _as_branch(otherwise)
            rest = self._if(tree) if tree.data == "if_stmt" else self._block(tree)
        return syntax.If(self._span(branch), self.expression(_as_branch(test)), self._block(_as_branch(then)), rest)

    def _for(self, branch: Branch) -> syntax.For:
        *names, iterable, limit, body = branch.children
        over = _as_branch(iterable)
        walked: syntax.Expression | syntax.Range
        if over.data == "range":
            walked = self._range(over)
        else:
            walked = self.expression(over)
        variables = [self._identifier(token) for token in map(_as_token, names) if token is not None]
        return syntax.For(
            self._span(branch),
            tuple(variables),
            walked,
            None if limit is None else self.expression(_as_branch(limit)),
            self._block(_as_branch(body)),
        )

    def _range(self, branch: Branch) -> syntax.Range:
        first, end = _branches(branch.children)  # what is between them is no branch
        return syntax.Range(self._span(branch), self.expression(first), self.expression(end))

    # ---- expressions

    def expression(self, branch: Branch) -> syntax.Expression:
        span = self._span(branch)
        children = branch.children
        match branch.data:
            case "literal":
                return self._literal(_token(branch, 0))
            case "name":
                return syntax.Name(span, str(children[0]))
            case "target_var":
                return syntax.TargetVariable(span, str(children[0])[1:])
            case "map_ref":
                return self._map_ref(branch)
            case "library_map":
                return self._library_map(branch)
            case "thread_ref":
                return syntax.ThreadVariable(span, str(children[0]))
            case "call":
                return syntax.Call(span, self._identifier(_token(branch, 0)), self._arguments(children[1]))
            case "method_call":
                return syntax.MethodCall(
                    span,
                    self.expression(_as_branch(children[0])),
                    self._identifier(_token(branch, 1)),
                    self._arguments(children[2]),
                )
            case "field":
                return syntax.Field(span, self.expression(_as_branch(children[0])), self._identifier(_token(branch, 1)))
            case "index":
                target, index = _branches(children)
                return syntax.Index(span, self.expression(target), self.expression(index))
            case "cast":
                return syntax.Cast(span, self.expression(_as_branch(children[0])), self._qualname(children[1]))
            case "prefix":
                return syntax.Prefix(
                    span, self._identifier(_token(branch, 0)), self.expression(_as_branch(children[1]))
                )
            case "binary":
                return syntax.Binary(
                    span,
                    self._identifier(_token(branch, 1)),
                    self.expression(_as_branch(children[0])),
                    self.expression(_as_branch(children[2])),
                )
            case "instanceof":
                return syntax.InstanceOf(span, self.expression(_as_branch(children[0])), self._qualname(children[1]))
            case "membership":
                element, container = _branches(children)
                return syntax.Membership(span, self.expression(element), self.expression(container))
            case "conditional":
                test, then, otherwise = _branches(children)
                return syntax.Conditional(
                    span, self.expression(test), self.expression(then), self.expression(otherwise)
                )
            case "quantified":
                container, test = _branches(children)
                return syntax.Quantified(
                    span,
                    self._identifier(_token(branch, 0)),
                    self._identifier(_token(branch, 1)),
                    self.expression(container),
                    self.expression(test),
                )
            case "list":
                return syntax.ListDisplay(span, self._arguments(children[0]))
            case other:
                raise AssertionError(f"no syntax node for {other}")

    def _map_ref(self, branch: Branch) -> syntax.MapReference:
        name = str(branch.children[0])[1:]
        return syntax.MapReference(
            self._span(branch), name, tuple(self.expression(each) for each in _branches(branch.children))
        )

    def _library_map(self, branch: Branch) -> syntax.Expression:
        library, map_, *keys = branch.children
        target = self.expression(_as_branch(library))
        name = str(map_)[1:]
        if not isinstance(target, syntax.Name):
            self.diagnostics.append(
                Diagnostic(
                    "BT001",
                    f"`@{name}` follows a `.`",
                    Label(self._span(branch), "only the name of a library can stand before a map"),
                )
            )
            return target
        return syntax.MapReference(
            self._span(branch),
            name,
            tuple(self.expression(_as_branch(key)) for key in keys),
            syntax.Identifier(target.span, target.text),
        )

    def _literal(self, token: Token) -> syntax.Expression:
        span = self._place(token)
        match token.type:
            case "INT":
                return syntax.Literal(span, syntax.LiteralKind.INTEGER, self._integer(token))
            case "FLOAT":
                return syntax.Literal(span, syntax.LiteralKind.FLOAT, float(token.replace("_", "")))
            case "DURATION":
                return syntax.Literal(span, syntax.LiteralKind.DURATION, self._quantity(token))
            case "SIZE":
                return syntax.Literal(span, syntax.LiteralKind.SIZE, self._quantity(token))
            case "STRING":
                return syntax.Literal(span, syntax.LiteralKind.STRING, self._string(token))
            case "FSTRING":
                return self._formatted(token)
            case "TRUE" | "FALSE":
                return syntax.Literal(span, syntax.LiteralKind.BOOLEAN, token.type == "TRUE")
            case _:
                return syntax.Literal(span, syntax.LiteralKind.NULL, None)

    def _integer(self, token: Token) -> int:
        digits = token.replace("_", "")
        hexadecimal = digits[:2] in ("0x", "0X")
        # int() refuses thousands of decimal digits
        value = int(digits, 16) if hexadecimal else (int(digits) if len(digits) <= 40 else _MAX_LONG + 1)
        if value > _MAX_LONG and not (hexadecimal and value < 1 << 64):
            return self._too_large(token, "a long ends at 9223372036854775807")
        return value if value <= _MAX_LONG else value - (1 << 64)

    def _quantity(self, token: Token) -> int:
        match = re.fullmatch(r"([\d.]+)([A-Za-z]+)", token.replace("_", ""))
        if match is None:
            raise AssertionError(f"not a quantity: {token}")
        whole, _, fraction = match.group(1).partition(".")
        unit = UNITS[match.group(2)]
        if len(whole) > 40:
            return self._too_large(token, "a quantity is held as a long")
        value = int(whole) * unit + int(fraction[:18] or 0) * unit // 10 ** len(fraction[:18])
        return value if value <= _MAX_LONG else self._too_large(token, "a quantity is held as a long")

    def _too_large(self, token: Token, reason: str) -> int:
        self.diagnostics.append(
            Diagnostic("BT006", "this number is too large", Label(self._place(token)), notes=(reason,))
        )
        return 0

    def _string(self, token: Token) -> str:
        """The value of a string. A pattern between slashes keeps its backslashes."""
        body = str(token)[1:-1]
        if len(body) > 1 and body.startswith("/") and body.endswith("/"):
            return body.replace('\\"', '"')
        return self._unescape(body, self._place(token).start + 1)

    def _unescape(self, text: str, start: int) -> str:
        def replace(match: re.Match[str]) -> str:
            escape = match.group(1)
            if len(escape) > 1:
                return chr(int(escape[1:], 16))
            if escape not in _ESCAPES:
                place = Span(self._source, start + match.start(), start + match.end())
                self.diagnostics.append(
                    Diagnostic(
                        "BT007",
                        f"unknown escape `{match.group()}`",
                        Label(place),
                        help=("a backslash is written twice: \\\\",),
                        notes=('known are \\n \\t \\r \\0 \\" \\\\ \\u0041',),
                    )
                )
                return escape
            return _ESCAPES[escape]

        return _ESCAPE.sub(replace, text)

    def _formatted(self, token: Token) -> syntax.FormattedString:
        start = self._place(token).start
        text = str(token)
        parts: list[str | syntax.Interpolation] = []
        literal = ""
        at = 2
        while at < len(text) - 1:
            if text.startswith(("{{", "}}"), at):
                literal += text[at]
                at += 2
            elif text[at] == "\\":
                escape = _ESCAPE.match(text, at)
                if escape is None:
                    raise AssertionError("a backslash at the end of an f-string")
                literal += self._unescape(escape.group(), start + at)
                at = escape.end()
            elif text[at] == "{":
                if literal:
                    parts.append(literal)
                    literal = ""
                at, colon, end = _interpolation(text, at)
                part = self._interpolate(start + at, start + colon, start + end)
                if part is not None:
                    parts.append(part)
                at = end + 1
            else:
                literal += text[at]
                at += 1
        if literal:
            parts.append(literal)
        return syntax.FormattedString(self._place(token), tuple(parts))

    def _interpolate(self, start: int, colon: int, end: int) -> syntax.Interpolation | None:
        """``start`` to ``colon`` is the expression, what follows the colon up to ``end`` the format (offsets of the
        source)."""
        from lark.exceptions import UnexpectedInput

        span = Span(self._source, start - 1, end + 1)
        text = self._source.text[start:colon]
        if not text.strip():
            self.diagnostics.append(
                Diagnostic(
                    "BT010", "nothing between the braces of an f-string", Label(span), help=("braces as text: {{}}",)
                )
            )
            return None
        try:
            tree = _lark().parse(text, start="expr")
        except UnexpectedInput as error:
            self.diagnostics.append(_explain(self._source, start, colon, error))
            return None
        too_deep = _too_deep(self._source, start, tree)
        if too_deep is not None:
            self.diagnostics.append(too_deep)
            return None
        inner = _Builder(self._source, start)
        value = inner.expression(tree)
        self.diagnostics += inner.diagnostics
        format_ = self._source.text[colon + 1 : end]
        if not _FORMAT.fullmatch(format_):
            place = Span(self._source, colon + 1, end)
            self.diagnostics.append(
                Diagnostic(
                    "BT207",
                    f"unknown format `{format_}`",
                    Label(place),
                    help=(
                        "as in Python: width, alignment, precision, one of d x o b e f g s %",
                        "or a unit: ns us ms s KB MB",
                    ),
                )
            )
        return syntax.Interpolation(span, value, format_)


def _interpolation(text: str, brace: int) -> tuple[int, int, int]:
    """Of the interpolation that opens at ``brace``: where its expression starts, its colon (or end), its closing
    brace."""
    depth = conditionals = 0
    colon: int | None = None
    at = brace + 1
    while text[at] != "}":
        char = text[at]
        if char == '"':
            at += 1
            while text[at] != '"':
                at += 2 if text[at] == "\\" else 1
        elif text.startswith("??", at):
            at += 1
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "?" and depth == 0:
            conditionals += 1
        elif char == ":" and depth == 0 and colon is None:
            if conditionals:
                conditionals -= 1
            else:
                colon = at
        at += 1
    return brace + 1, at if colon is None else colon, at


def _token(branch: Branch, index: int) -> Token:
    token = _as_token(branch.children[index])
    if token is None:
        raise AssertionError(f"{branch.data}: child {index} is no token")
    return token


def _as_token(child: object) -> Token | None:
    from lark import Token

    return child if isinstance(child, Token) else None


def _as_branch(child: object) -> Branch:
    from lark import Tree as ParseTree

    if not isinstance(child, ParseTree):
        raise AssertionError("a token where a tree is expected")
    return child
