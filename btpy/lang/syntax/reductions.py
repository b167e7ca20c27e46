"""Parts of a text → syntax tree: a function for each rule of ``grammar.lark``, called by ``lalr`` bottom up.

A function has the name of its rule. It gets the offsets of the text of the rule, and the values of its parts: tokens,
syntax nodes, lists of tokens or nodes, and None for an absent part. The functions also find faults inside literals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from btpy.lang.builtins import LANGUAGE_VERSION
from btpy.lang.syntax import nodes
from btpy.lang.syntax.lalr import Action, Token
from btpy.lang.syntax.units import UNITS
from btpy.model.diagnostics import Diagnostic, Label
from btpy.model.scopes import Scope
from btpy.model.source import Source, Span

_MAX_LONG = (1 << 63) - 1
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", '"': '"', "\\": "\\", "{": "{", "}": "}"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_PLAIN = re.compile(r"[^\\{}]+")
"""The part of a formatted string up to the next escape or brace."""

_FORMAT = re.compile(
    r"(?:[^{}]?[<>^=])?[+\- ]?\#?0?\d{0,4},?(?:\.\d{1,3})?(?:[dxXobceEfFgGs%]|ns|us|ms|s|m|h|B|KB|MB|GB)?"
)


Parts = list[Any]
Read = Callable[[int, int], tuple[Any, list[Diagnostic]]]
"""The expression between two offsets (None if the text is not an expression), and its errors."""

_OPEN = object()
"""The value of ``..`` at the end of a parameter list."""


class Reductions:
    """Makes the nodes of one source; ``diagnostics``: the faults inside literals so far."""

    def __init__(self, source: Source, rules: Iterable[str], read: Read) -> None:
        self._source = source
        self._read = read
        self.diagnostics: list[Diagnostic] = []
        self.actions: dict[str, Action] = {rule: getattr(self, rule) for rule in rules}

    def _span(self, start: int, end: int) -> Span:
        return Span(self._source, start, end)

    def _place(self, token: Token) -> Span:
        return Span(self._source, token.start, token.end)

    def _identifier(self, token: Token) -> nodes.Identifier:
        return nodes.Identifier(self._place(token), token.text)

    def _optional(self, token: Token | None) -> nodes.Identifier | None:
        return None if token is None else self._identifier(token)

    def start(self, start: int, end: int, parts: Parts) -> tuple[nodes.Item, ...]:
        return tuple(parts)

    item = start

    def version(self, start: int, end: int, parts: Parts) -> nodes.Version:
        (token,) = parts
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
        return nodes.Version(self._span(start, end), number)

    def import_decl(self, start: int, end: int, parts: Parts) -> nodes.Import:
        return self._import(start, end, parts, activates=False)

    def use_decl(self, start: int, end: int, parts: Parts) -> nodes.Import:
        return self._import(start, end, parts, activates=True)

    def _import(self, start: int, end: int, parts: Parts, *, activates: bool) -> nodes.Import:
        library, arguments, alias = parts
        if isinstance(library, Token):
            name = nodes.Identifier(self._place(library), self._string(library))
        else:
            name = nodes.Identifier(library.span, library.name)
        return nodes.Import(self._span(start, end), name, arguments or (), self._optional(alias), activates)

    def param_decl(self, start: int, end: int, parts: Parts) -> nodes.ScriptParameter:
        name, type_, default, help_ = parts
        return nodes.ScriptParameter(
            self._span(start, end),
            self._identifier(name),
            type_,
            default,
            None if help_ is None else self._string(help_),
        )

    def config_block(self, start: int, end: int, parts: Parts) -> nodes.Config:
        return nodes.Config(self._span(start, end), tuple(parts))

    def setting(self, start: int, end: int, parts: Parts) -> nodes.Setting:
        name, value = parts
        return nodes.Setting(self._span(start, end), self._identifier(name), value)

    def map_decl(self, start: int, end: int, parts: Parts) -> nodes.MapDeclaration:
        (name, *keys), storage, arguments = parts
        return nodes.MapDeclaration(
            self._span(start, end),
            nodes.Identifier(self._place(name), name.text[1:]),
            tuple(keys),
            storage and self._identifier(storage),
            arguments or (),
        )

    def map_head(self, start: int, end: int, parts: Parts) -> Parts:
        return parts

    def map_key(self, start: int, end: int, parts: Parts) -> nodes.MapKey:
        type_, name = parts
        if name is not None and name.type == "STRING":
            return nodes.MapKey(self._span(start, end), type_, nodes.Identifier(self._place(name), self._string(name)))
        return nodes.MapKey(self._span(start, end), type_, name and self._identifier(name))

    def fn_decl(self, start: int, end: int, parts: Parts) -> nodes.Function:
        name, (formals, _), result, body = parts
        return nodes.Function(self._span(start, end), self._identifier(name), formals, result, body)

    def fn_expr(self, start: int, end: int, parts: Parts) -> nodes.Expression:
        value: nodes.Expression = parts[0]
        return value

    def static_check(self, start: int, end: int, parts: Parts) -> nodes.StaticCheck:
        name, arguments = parts
        span = self._span(start, end)
        return nodes.StaticCheck(span, nodes.Call(span, self._identifier(name), arguments or ()))

    def probe(self, start: int, end: int, parts: Parts) -> nodes.Probe:
        *annotations, head, when, body = parts
        name, formals = head or (None, None)
        declared, is_open = formals or (None, False)
        return nodes.Probe(
            self._span(start, end), tuple(annotations), self._optional(name), declared, is_open, when, body
        )

    def probe_head(self, start: int, end: int, parts: Parts) -> Parts:
        return parts

    def annotation(self, start: int, end: int, parts: Parts) -> nodes.Annotation:
        name, arguments = parts
        return nodes.Annotation(
            self._span(start, end), nodes.Identifier(self._place(name), name.text[1:]), arguments or ()
        )

    def when(self, start: int, end: int, parts: Parts) -> nodes.Expression:
        value: nodes.Expression = parts[0]
        return value

    def point_probe(self, start: int, end: int, parts: Parts) -> nodes.PointProbe:
        point, types, location, name, when, body = parts
        split = point.text.index("::")
        location_name: nodes.Identifier | None = None
        argument: nodes.Identifier | None = None
        if location is not None:
            word, bracket, inside = location.text.partition("(")
            first = location.start + len(word)
            location_name = nodes.Identifier(self._span(location.start, first), word[1:])
            if bracket:
                argument = nodes.Identifier(self._span(first + 1, first + len(inside)), inside[:-1])
        middle = point.start + split
        return nodes.PointProbe(
            self._span(start, end),
            nodes.Identifier(self._span(point.start, middle), point.text[:split]),
            nodes.Identifier(self._span(middle + 2, point.end), point.text[split + 2 :]),
            None if types is None else nodes.Identifier(self._place(types), types.text),
            location_name,
            argument,
            self._optional(name),
            when,
            body,
        )

    def formal_list(self, start: int, end: int, parts: Parts) -> tuple[tuple[nodes.Formal, ...], bool]:
        formals: list[Any] = parts[0] or []
        return tuple(parameter for parameter in formals if parameter is not _OPEN), _OPEN in formals

    def formals(self, start: int, end: int, parts: Parts) -> Parts:
        return [part for part in parts if part is not None]

    def formal(self, start: int, end: int, parts: Parts) -> nodes.Formal:
        type_, name = parts
        return nodes.Formal(self._span(start, end), type_, self._identifier(name))

    def ellipsis(self, start: int, end: int, parts: Parts) -> object:
        return _OPEN

    def block(self, start: int, end: int, parts: Parts) -> nodes.Block:
        return nodes.Block(self._span(start, end), tuple(part for part in parts if part is not None))

    def let_stmt(self, start: int, end: int, parts: Parts) -> nodes.Let:
        name, type_, value = parts
        return nodes.Let(self._span(start, end), self._identifier(name), type_, value)

    def assign(self, start: int, end: int, parts: Parts) -> nodes.Assign:
        target, operator, value = parts
        return nodes.Assign(self._span(start, end), target, self._identifier(operator), value)

    def step(self, start: int, end: int, parts: Parts) -> nodes.Step:
        target, operator = parts
        return nodes.Step(self._span(start, end), target, self._identifier(operator))

    def delete_stmt(self, start: int, end: int, parts: Parts) -> nodes.Delete:
        return nodes.Delete(self._span(start, end), parts[0])

    def return_stmt(self, start: int, end: int, parts: Parts) -> nodes.Return:
        return nodes.Return(self._span(start, end), parts[0])

    def expr_stmt(self, start: int, end: int, parts: Parts) -> nodes.ExpressionStatement:
        return nodes.ExpressionStatement(self._span(start, end), parts[0])

    def if_stmt(self, start: int, end: int, parts: Parts) -> nodes.If:
        return nodes.If(self._span(start, end), *parts)

    def for_stmt(self, start: int, end: int, parts: Parts) -> nodes.For:
        *names, iterable, limit, body = parts
        return nodes.For(self._span(start, end), tuple(map(self._identifier, names)), iterable, limit, body)

    def range(self, start: int, end: int, parts: Parts) -> nodes.Range:
        first, _, last = parts
        return nodes.Range(self._span(start, end), first, last)

    def conditional(self, start: int, end: int, parts: Parts) -> nodes.Conditional:
        return nodes.Conditional(self._span(start, end), *parts)

    def binary(self, start: int, end: int, parts: Parts) -> nodes.Binary:
        left, operator, right = parts
        return nodes.Binary(self._span(start, end), self._identifier(operator), left, right)

    def instanceof(self, start: int, end: int, parts: Parts) -> nodes.InstanceOf:
        return nodes.InstanceOf(self._span(start, end), *parts)

    def membership(self, start: int, end: int, parts: Parts) -> nodes.Membership:
        return nodes.Membership(self._span(start, end), *parts)

    def prefix(self, start: int, end: int, parts: Parts) -> nodes.Prefix:
        operator, operand = parts
        return nodes.Prefix(self._span(start, end), self._identifier(operator), operand)

    def field(self, start: int, end: int, parts: Parts) -> nodes.Field | nodes.ScopedVariable:
        target, name = parts
        match target:
            case nodes.Call(
                function=nodes.Identifier(text="state"), arguments=(nodes.Argument(name=None, value=value),)
            ):
                return nodes.ScopedVariable(self._span(start, end), name.text, Scope.OBJECT, value)
        return nodes.Field(self._span(start, end), target, self._identifier(name))

    def method_call(self, start: int, end: int, parts: Parts) -> nodes.MethodCall:
        target, name, arguments = parts
        return nodes.MethodCall(self._span(start, end), target, self._identifier(name), arguments or ())

    def index(self, start: int, end: int, parts: Parts) -> nodes.Index:
        return nodes.Index(self._span(start, end), *parts)

    def cast(self, start: int, end: int, parts: Parts) -> nodes.Cast:
        return nodes.Cast(self._span(start, end), *parts)

    def name(self, start: int, end: int, parts: Parts) -> nodes.Name:
        return nodes.Name(self._span(start, end), parts[0].text)

    def target_var(self, start: int, end: int, parts: Parts) -> nodes.TargetVariable:
        return nodes.TargetVariable(self._span(start, end), parts[0].text[1:])

    def call(self, start: int, end: int, parts: Parts) -> nodes.Call:
        name, arguments = parts
        return nodes.Call(self._span(start, end), self._identifier(name), arguments or ())

    def quantified(self, start: int, end: int, parts: Parts) -> nodes.Quantified:
        quantifier, variable, container, test = parts
        return nodes.Quantified(
            self._span(start, end), self._identifier(quantifier), self._identifier(variable), container, test
        )

    def list(self, start: int, end: int, parts: Parts) -> nodes.ListDisplay:
        return nodes.ListDisplay(self._span(start, end), parts[0] or ())

    def map_ref(self, start: int, end: int, parts: Parts) -> nodes.MapReference:
        name, *keys = parts
        return nodes.MapReference(self._span(start, end), name.text[1:], tuple(keys))

    def library_map(self, start: int, end: int, parts: Parts) -> nodes.Expression:
        library, map_, *keys = parts
        span = self._span(start, end)
        name = map_.text[1:]
        if not isinstance(library, nodes.Name):
            self.diagnostics.append(
                Diagnostic(
                    "BT001",
                    f"`@{name}` follows a `.`",
                    Label(span, "only the name of a library can stand before a map"),
                )
            )
        return nodes.MapReference(span, name, tuple(keys), nodes.Identifier(library.span, library.span.text))

    def thread_ref(self, start: int, end: int, parts: Parts) -> nodes.ScopedVariable:
        return nodes.ScopedVariable(self._span(start, end), parts[0].text, Scope.THREAD, None)

    def arguments(self, start: int, end: int, parts: Parts) -> tuple[nodes.Argument, ...]:
        return tuple(
            part if isinstance(part, nodes.Argument) else nodes.Argument(part.span, None, part) for part in parts
        )

    kwargs = arguments

    def kwarg(self, start: int, end: int, parts: Parts) -> nodes.Argument:
        name, value = parts
        return nodes.Argument(self._span(start, end), self._identifier(name), value)

    def lines(self, start: int, end: int, parts: Parts) -> nodes.Argument:
        lines = self.range(start, end, parts)
        return nodes.Argument(lines.span, None, lines)

    def type(self, start: int, end: int, parts: Parts) -> nodes.TypeName:
        name, *suffixes, nullable = parts
        return nodes.TypeName(self._span(start, end), name.name, len(suffixes), nullable is not None)

    def qualname(self, start: int, end: int, parts: Parts) -> nodes.TypeName:
        return nodes.TypeName(self._span(start, end), parts[0].text)

    def literal(self, start: int, end: int, parts: Parts) -> nodes.Expression:
        token: Token = parts[0]
        span = self._span(start, end)
        match token.type:
            case "INT":
                return nodes.Literal(span, nodes.LiteralKind.INTEGER, self._integer(token))
            case "FLOAT":
                return nodes.Literal(span, nodes.LiteralKind.FLOAT, float(token.text.replace("_", "")))
            case "DURATION":
                return nodes.Literal(span, nodes.LiteralKind.DURATION, self._quantity(token))
            case "SIZE":
                return nodes.Literal(span, nodes.LiteralKind.SIZE, self._quantity(token))
            case "STRING":
                return nodes.Literal(span, nodes.LiteralKind.STRING, self._string(token))
            case "FSTRING":
                return self._formatted(token)
            case "TRUE" | "FALSE":
                return nodes.Literal(span, nodes.LiteralKind.BOOLEAN, token.type == "TRUE")
            case _:
                return nodes.Literal(span, nodes.LiteralKind.NULL, None)

    def _integer(self, token: Token) -> int:
        digits = token.text.replace("_", "")
        hexadecimal = digits[:2] in ("0x", "0X")
        # int() refuses thousands of decimal digits
        value = int(digits, 16) if hexadecimal else (int(digits) if len(digits) <= 40 else _MAX_LONG + 1)
        if value > _MAX_LONG and not (hexadecimal and value < 1 << 64):
            return self._too_large(token, "a long ends at 9223372036854775807")
        return value if value <= _MAX_LONG else value - (1 << 64)

    def _quantity(self, token: Token) -> int:
        match = re.fullmatch(r"([\d.]+)([A-Za-z]+)", token.text.replace("_", ""))
        if match is None:
            raise AssertionError(f"not a quantity: {token.text}")
        integer, _, fraction = match.group(1).partition(".")
        unit = UNITS[match.group(2)]
        if len(integer) > 40:
            return self._too_large(token, "a quantity is held as a long")
        value = int(integer) * unit + int(fraction[:18] or 0) * unit // 10 ** len(fraction[:18])
        return value if value <= _MAX_LONG else self._too_large(token, "a quantity is held as a long")

    def _too_large(self, token: Token, reason: str) -> int:
        self.diagnostics.append(
            Diagnostic("BT006", "this number is too large", Label(self._place(token)), notes=(reason,))
        )
        return 0

    def _string(self, token: Token) -> str:
        """The value of a string. A pattern between slashes keeps its backslashes."""
        body = token.text[1:-1]
        if len(body) > 1 and body.startswith("/") and body.endswith("/"):
            return body.replace('\\"', '"')
        return self._unescape(body, token.start + 1, set())

    def _unescape(self, text: str, start: int, unknown: set[str]) -> str:
        """``unknown``: the escapes of this string that were already reported. Each escape is reported once, because a
        regular expression repeats it.
        """

        def replace(match: re.Match[str]) -> str:
            escape = match.group(1)
            if len(escape) > 1:
                return chr(int(escape[1:], 16))
            if escape not in _ESCAPES and escape not in unknown:
                unknown.add(escape)
                place = Span(self._source, start + match.start(), start + match.end())
                self.diagnostics.append(
                    Diagnostic(
                        "BT007",
                        f"unknown escape `{match.group()}`",
                        Label(place),
                        help=("write a backslash twice: \\\\",),
                        notes=('known are \\n \\t \\r \\0 \\" \\\\ \\u0041',),
                    )
                )
            return _ESCAPES.get(escape, escape)

        return _ESCAPE.sub(replace, text)

    def _formatted(self, token: Token) -> nodes.FormattedString:
        start = token.start
        text = token.text
        parts: list[str | nodes.Interpolation] = []
        literal: list[str] = []
        unknown: set[str] = set()
        at, end = 2, len(text) - 1
        while at < end:
            plain = _PLAIN.match(text, at, end)
            if plain is not None:
                literal.append(plain.group())
                at = plain.end()
            elif text.startswith(("{{", "}}"), at):
                literal.append(text[at])
                at += 2
            elif text[at] == "\\":
                escape = _ESCAPE.match(text, at)
                if escape is None:
                    raise AssertionError("a backslash at the end of an f-string")
                literal.append(self._unescape(escape.group(), start + at, unknown))
                at = escape.end()
            elif text[at] == "{":
                if literal:
                    parts.append("".join(literal))
                    literal.clear()
                at, colon, close = _interpolation(text, at)
                part = self._interpolate(start + at, start + colon, start + close)
                if part is not None:
                    parts.append(part)
                at = close + 1
            else:
                literal.append(text[at])
                at += 1
        if literal:
            parts.append("".join(literal))
        return nodes.FormattedString(self._place(token), tuple(parts))

    def _interpolate(self, start: int, colon: int, end: int) -> nodes.Interpolation | None:
        """The expression is between the offsets ``start`` and ``colon``, the format between the colon and ``end``."""
        span = self._span(start - 1, end + 1)
        if not self._source.text[start:colon].strip():
            self.diagnostics.append(
                Diagnostic(
                    "BT010", "nothing between the braces of an f-string", Label(span), help=("braces as text: {{}}",)
                )
            )
            return None
        value, diagnostics = self._read(start, colon)
        self.diagnostics += diagnostics
        if value is None:
            return None
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
        return nodes.Interpolation(span, value, format_)


def _interpolation(text: str, brace: int) -> tuple[int, int, int]:
    """For the interpolation that opens at ``brace``: the offsets of its expression, of its colon (or end), and of its
    closing brace.
    """
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
