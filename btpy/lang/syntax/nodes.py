"""The syntax tree: the constructs of the script with their positions.

``parser.parse`` makes it, ``checker`` reads it. Names are not resolved and short forms are kept, except that
:func:`expand` turns a point probe (``A::b @return { … }``) into an annotated probe.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from enum import Enum
from operator import attrgetter
from typing import Any, Union

from btpy.dataclass import dataclass
from btpy.model.scopes import Scope, variable_key
from btpy.model.source import Span


@dataclass(frozen=True, slots=True)
class Tree:
    """Base of all nodes."""

    span: Span


@dataclass(frozen=True, slots=True)
class Identifier(Tree):
    text: str


@dataclass(frozen=True, slots=True)
class TypeName(Tree):
    """``name`` as written; ``dimensions`` counts ``[]``."""

    name: str
    dimensions: int = 0
    nullable: bool = False


# Expressions.


class LiteralKind(Enum):
    """The value is its name in messages."""

    INTEGER = "integer"
    LONG = "long"  # a literal of any size, for a parameter of that type
    FLOAT = "number"
    DURATION = "duration"  # nanoseconds
    SIZE = "size"  # bytes
    STRING = "string"
    BOOLEAN = "boolean"
    NULL = "null"


@dataclass(frozen=True, slots=True)
class Literal(Tree):
    kind: LiteralKind
    value: int | float | bool | str | None


@dataclass(frozen=True, slots=True)
class Interpolation(Tree):
    """``{value:format}`` of an f-string."""

    value: Expression
    format: str


@dataclass(frozen=True, slots=True)
class FormattedString(Tree):
    parts: tuple[str | Interpolation, ...]


@dataclass(frozen=True, slots=True)
class Name(Tree):
    text: str


@dataclass(frozen=True, slots=True)
class TargetVariable(Tree):
    """``$name``: a parameter (or at a line a local variable) of the traced method; ``name`` without the ``$``."""

    name: str


@dataclass(frozen=True, slots=True)
class MapReference(Tree):
    """``@name[keys]``; ``keys`` is empty for ``@name``. The map called ``@`` has an empty name.

    ``library``: the name before the dot in ``library.@name[keys]``.
    """

    name: str
    keys: tuple[Expression, ...]
    library: Identifier | None = None

    @property
    def name_span(self) -> Span:
        name = self.span.text.partition("[")[0].rstrip()
        return Span(self.span.source, self.span.start, self.span.start + len(name))


@dataclass(frozen=True, slots=True)
class ScopedVariable(Tree):
    """``thread.name``, ``flow.name``, or ``state(object).name`` with its ``object``."""

    name: str
    scope: Scope
    object: Expression | None

    @property
    def key(self) -> str:
        return variable_key(self.scope, self.name)


@dataclass(frozen=True, slots=True)
class Argument(Tree):
    """An argument of a call or an annotation; ``name`` for ``name=value``."""

    name: Identifier | None
    value: Expression


@dataclass(frozen=True, slots=True)
class Call(Tree):
    function: Identifier
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class MethodCall(Tree):
    target: Expression
    method: Identifier
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Field(Tree):
    target: Expression
    name: Identifier


@dataclass(frozen=True, slots=True)
class Index(Tree):
    target: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class Cast(Tree):
    operand: Expression
    type: TypeName


@dataclass(frozen=True, slots=True)
class Prefix(Tree):
    """An operator with one operand: ``- + ! ~``."""

    operator: Identifier
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary(Tree):
    """Every operator with two operands except ``instanceof`` and ``in``: ``?? || && | ^ & == != =~ !~ < <= …``."""

    operator: Identifier
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class InstanceOf(Tree):
    operand: Expression
    type: TypeName


@dataclass(frozen=True, slots=True)
class Membership(Tree):
    element: Expression
    container: Expression


@dataclass(frozen=True, slots=True)
class Conditional(Tree):
    test: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class Quantified(Tree):
    """``any(x in c: p)``; ``quantifier``: any, all, none or first."""

    quantifier: Identifier
    variable: Identifier
    container: Expression
    test: Expression


@dataclass(frozen=True, slots=True)
class ListDisplay(Tree):
    elements: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Range(Tree):
    """``first..end``, after ``in`` of a ``for`` and as the lines of LINE."""

    first: Expression
    end: Expression


Expression = Union[
    Literal,
    FormattedString,
    Name,
    TargetVariable,
    MapReference,
    ScopedVariable,
    Call,
    MethodCall,
    Field,
    Index,
    Cast,
    Prefix,
    Binary,
    InstanceOf,
    Membership,
    Conditional,
    Quantified,
    ListDisplay,
    Range,
]


# Statements.


@dataclass(frozen=True, slots=True)
class Block(Tree):
    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Let(Tree):
    name: Identifier
    type: TypeName | None
    value: Expression


@dataclass(frozen=True, slots=True)
class Assign(Tree):
    """``target = value``, ``target += value`` …; ``operator`` with its ``=``."""

    target: Expression
    operator: Identifier
    value: Expression


@dataclass(frozen=True, slots=True)
class Step(Tree):
    """``target++`` and ``target--``."""

    target: Expression
    operator: Identifier


@dataclass(frozen=True, slots=True)
class Delete(Tree):
    map: MapReference


@dataclass(frozen=True, slots=True)
class Return(Tree):
    value: Expression | None


@dataclass(frozen=True, slots=True)
class ExpressionStatement(Tree):
    value: Expression


@dataclass(frozen=True, slots=True)
class If(Tree):
    test: Expression
    then: Block
    otherwise: Block | If | None


@dataclass(frozen=True, slots=True)
class For(Tree):
    variables: tuple[Identifier, ...]
    iterable: Expression
    limit: Expression | None
    body: Block


Statement = Union[Let, Assign, Step, Delete, Return, ExpressionStatement, If, For]


# Items.


@dataclass(frozen=True, slots=True)
class Version(Tree):
    number: int


@dataclass(frozen=True, slots=True)
class Import(Tree):
    """``import`` and ``use``; ``library`` is a path in quotes or a dotted name."""

    library: Identifier
    arguments: tuple[Argument, ...]
    alias: Identifier | None
    activates: bool


@dataclass(frozen=True, slots=True)
class ScriptParameter(Tree):
    name: Identifier
    type: TypeName | None
    default: Expression | None
    help: str | None


@dataclass(frozen=True, slots=True)
class Setting(Tree):
    name: Identifier
    value: Expression


@dataclass(frozen=True, slots=True)
class Config(Tree):
    settings: tuple[Setting, ...]


@dataclass(frozen=True, slots=True)
class MapKey(Tree):
    type: TypeName
    name: Identifier | None


@dataclass(frozen=True, slots=True)
class MapDeclaration(Tree):
    """``storage``: None where the declaration ends after the keys."""

    name: Identifier
    keys: tuple[MapKey, ...]
    storage: Identifier | None
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Formal(Tree):
    type: TypeName
    name: Identifier


@dataclass(frozen=True, slots=True)
class Function(Tree):
    name: Identifier
    formals: tuple[Formal, ...]
    result: TypeName | None
    body: Expression | Block


@dataclass(frozen=True, slots=True)
class Annotation(Tree):
    """``@Name(arguments)``; ``name`` without the ``@``."""

    name: Identifier
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Probe(Tree):
    """``formals``: None means no parameter list. ``open_formals``: it ends with ``..``."""

    annotations: tuple[Annotation, ...]
    name: Identifier | None
    formals: tuple[Formal, ...] | None
    open_formals: bool
    when: Expression | None
    body: Block


@dataclass(frozen=True, slots=True)
class PointProbe(Tree):
    """``Class::method(types) @location as name when … { … }``; ``types`` with their brackets, ``location`` and
    ``location_argument`` without ``@`` and brackets."""

    class_pattern: Identifier
    method_pattern: Identifier
    types: Identifier | None
    location: Identifier | None
    location_argument: Identifier | None
    name: Identifier | None
    when: Expression | None
    body: Block


@dataclass(frozen=True, slots=True)
class StaticCheck(Tree):
    """``static_check(condition, message);`` between probes."""

    call: Call


Item = Union[Version, Import, ScriptParameter, Config, MapDeclaration, Function, StaticCheck, Probe, PointProbe]


@dataclass(frozen=True, slots=True)
class Script:
    """A whole file. ``doc``: its first comment block, without comment marks."""

    items: tuple[Item, ...]
    doc: str


def walk(tree: Tree) -> Iterator[Tree]:
    """The node and everything below it, in the order of the source; identifiers and names of types are parts of their
    node."""
    stack: list[Any] = [tree]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is tuple:
            stack += node[::-1]
        elif isinstance(node, Tree):
            yield node
            branches = _branches.get(kind)
            stack += (branches or _branches_of(kind))(node)


def calls(tree: Tree, name: str) -> Iterator[Call]:
    """The calls of the function of this name in a tree."""
    return (node for node in walk(tree) if isinstance(node, Call) and node.function.text == name)


_LEAVES = frozenset(
    (
        *("Span", "Scope", "str", "str | None", "int", "bool", "LiteralKind", "int | float | bool | str | None"),
        *("Identifier", "Identifier | None", "tuple[Identifier, ...]"),
        *("TypeName", "TypeName | None", "tuple[TypeName, ...]", "tuple[Formal, ...]", "tuple[Formal, ...] | None"),
    )
)


_branches: dict[type[Tree], Callable[[Tree], tuple[object, ...]]] = {}


def _branches_of(kind: type[Tree]) -> Callable[[Tree], tuple[object, ...]]:
    """Returns the fields of a node that contain nodes, in reverse order."""
    names = [field.name for field in reversed(fields(kind)) if field.type not in _LEAVES]
    get: Any = attrgetter(*names) if names else lambda node: ()
    branches = _branches[kind] = get if len(names) != 1 else lambda node: (get(node),)
    return branches


SHORT_LOCATIONS = {
    "line": ("LINE", ()),
    "call": ("CALL", ("class", "method")),
    "new": ("NEW", ("class",)),
    "newarray": ("NEWARRAY", ("type",)),
    "get": ("FIELD_GET", ("class", "field")),
    "set": ("FIELD_SET", ("class", "field")),
    "raise": ("RAISE", ("type",)),
    "catch": ("CATCH", ("type",)),
    "sync": ("SYNC_ENTER", ()),
    "throw": ("THROW", ("type",)),
}
"""Locations of point probes that differ from those of ``@OnMethod`` in spelling, or that take patterns without quotes.
"""


def location_of_point(name: str) -> str:
    """The location of ``@OnMethod`` for ``@name`` after a point."""
    return SHORT_LOCATIONS.get(name, (name.upper(), ()))[0]


def expand(point: PointProbe) -> Probe:
    """The probe that a point probe abbreviates. Its parts keep their positions in the source."""

    def text(part: Identifier) -> Literal:
        return Literal(part.span, LiteralKind.STRING, part.text)

    def argument(name: str, value: Expression) -> Argument:
        return Argument(value.span, Identifier(value.span, name), value)

    arguments = [argument("class", text(point.class_pattern)), argument("method", text(point.method_pattern))]
    if point.types is not None:
        signature = Literal(point.types.span, LiteralKind.STRING, f"* {point.types.text}")
        arguments.append(argument("type", signature))
    if point.location is not None:
        arguments.append(argument("location", _location(point.location, point.location_argument)))
    annotation = Annotation(
        point.class_pattern.span.to(point.method_pattern.span),
        Identifier(point.class_pattern.span, "OnMethod"),
        tuple(arguments),
    )
    return Probe(point.span, (annotation,), point.name, None, False, point.when, point.body)


def annotation_of(probe: Probe, name: str) -> Annotation | None:
    """The first annotation of this name."""
    return next((annotation for annotation in probe.annotations if annotation.name.text == name), None)


def is_span(annotation: Annotation) -> bool:
    return annotation.name.text == "Span"


def with_span(probe: Probe) -> Probe:
    """The probe with ``@Span(…)`` as the statement ``span(…)`` that it abbreviates, the first of the body."""
    calls = [
        Call(annotation.span, Identifier(annotation.name.span, "span"), annotation.arguments)
        for annotation in probe.annotations
        if is_span(annotation)
    ]
    if not calls:
        return probe
    statements = [ExpressionStatement(call.span, call) for call in calls]
    annotations = tuple(annotation for annotation in probe.annotations if not is_span(annotation))
    body = Block(probe.body.span, (*statements, *probe.body.statements))
    return replace(probe, annotations=annotations, body=body)


_WHEN = re.compile(r"(?:^|,)\s*(when)\s*=\s*(\w+)\s*$")
_LINES = re.compile(r"\s*(\d{1,9})\s*(?:\.\.\s*(\d{1,9})\s*)?")


def _location(name: Identifier, argument: Identifier | None) -> Expression:
    """``@call(a.B::c, when=AFTER)`` as ``CALL(class="a.B", method="c", when=AFTER)``, and other locations likewise."""
    canonical, parameters = SHORT_LOCATIONS.get(name.text, (name.text.upper(), ()))
    if argument is None:
        return Name(name.span, canonical)

    def part(start: int, end: int) -> Identifier:
        """A part of the argument, without blanks at its ends."""
        raw = argument.text[start:end]
        first = start + len(raw) - len(raw.lstrip())
        text = raw.strip()
        return Identifier(Span(argument.span.source, at + first, at + first + len(text)), text)

    at = argument.span.start
    arguments: list[Argument] = []
    end = len(argument.text)
    when = _WHEN.search(argument.text)
    if when is not None:
        end = when.start()
        word, time = part(*when.span(1)), part(*when.span(2))
        arguments.append(Argument(word.span.to(time.span), word, Name(time.span, time.text)))
    lines = _LINES.fullmatch(argument.text)
    if lines is not None and not parameters:
        first = _line(part(*lines.span(1)))
        lines_given: Expression = (
            first if lines[2] is None else Range(argument.span, first, _line(part(*lines.span(2))))
        )
        arguments.append(Argument(lines_given.span, None, lines_given))
    elif argument.text[:end].strip() or when is None:
        split = argument.text.find("::", 0, end) if len(parameters) == 2 else -1
        pieces = [part(0, end)] if split < 0 else [part(0, split), part(split + 2, end)]
        types = pieces[-1].text.find("(") if canonical == "CALL" and split >= 0 else -1
        if types > 0:
            name_end = pieces[-1].span.start - at + types
            location_part = part(name_end, pieces[-1].span.end - at)
            pieces[-1] = part(split + 2, name_end)
            signature = Literal(location_part.span, LiteralKind.STRING, f"* {location_part.text}")
            arguments.append(Argument(location_part.span, Identifier(location_part.span, "type"), signature))
        for position, piece in enumerate(pieces):
            key = Identifier(piece.span, parameters[position]) if position < len(parameters) else None
            arguments.insert(position, Argument(piece.span, key, Literal(piece.span, LiteralKind.STRING, piece.text)))
    return Call(name.span.to(argument.span), Identifier(name.span, canonical), tuple(arguments))


def _line(number: Identifier) -> Expression:
    return Literal(number.span, LiteralKind.INTEGER, int(number.text))
