"""Expressions over maps, such as ``@hits``, ``@errors / @hits``, ``@lat["SKU-1"] * 2``.

Maps are joined on their keys. If only one of the maps has a key, the key has no value. A number has the same value for
every key.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from btpy.dataclass import dataclass
from btpy.errors import ScriptError
from btpy.events.aggregates import Aggregate, Key, MapContent, measure
from btpy.lang.syntax import nodes
from btpy.lang.syntax.parser import parse_expression
from btpy.model.diagnostics import Diagnostic, Label, did_you_mean
from btpy.model.maps import Map, MapKind
from btpy.model.source import Source
from btpy.model.types import ANY, BYTES, DURATION, Kind, Type

Number = int | float


@dataclass(frozen=True, slots=True)
class Result:
    """``values``: the values by key; an expression without maps has one value, with the empty key. None: there is no
    value (a division by zero).
    """

    values: Mapping[Key, Number | None]
    unit: Type = ANY

    @property
    def is_number(self) -> bool:
        return set(self.values) == {()}


def maps_in(expression: nodes.Expression) -> list[str]:
    """Names of the maps that the expression reads, each once."""
    names = (node.name for node in nodes.walk(expression) if isinstance(node, nodes.MapReference))
    return list(dict.fromkeys(names))


def bare_map(text: str) -> str | None:
    """The name of the map, if the text is only a map; otherwise None."""
    entry = text.strip()
    name = entry[1:] if entry.startswith("@") else None
    return name if name is not None and re.fullmatch(r"([A-Za-z_]\w*\.)*[a-z_]\w*|", name) else None


def parse(source: Source) -> nodes.Expression:
    """Raises ScriptError, also for expressions that :func:`evaluate` cannot compute."""
    expression = parse_expression(source)
    problems = list(_problems(expression))
    if problems:
        raise ScriptError(problems)
    return expression


def evaluate(expression: nodes.Expression, contents: Mapping[str, MapContent]) -> Result:
    """``expression``: of :func:`parse`; ``contents``: the maps by name. Raises ScriptError for a map that is not among
    them."""
    match expression:
        case nodes.Literal(kind=kind, value=value) if isinstance(value, int | float) and not isinstance(value, bool):
            return Result({(): value}, _UNITS.get(kind, ANY))
        case nodes.MapReference():
            return _map(expression, contents)
        case nodes.Binary(operator=sign, left=left, right=right):
            return _joined(sign.text, evaluate(left, contents), evaluate(right, contents))
        case nodes.Prefix(operand=operand):
            operand_content = evaluate(operand, contents)
            negated = {key: None if value is None else -value for key, value in operand_content.values.items()}
            return replace(operand_content, values=negated)
        case nodes.Call(arguments=(nodes.Argument(value=nodes.MapReference() as map_),)):
            return Result({(): len(_content(map_, contents).entries)})
        case _:
            raise ScriptError([_unfit(expression)])


_UNITS = {nodes.LiteralKind.DURATION: DURATION, nodes.LiteralKind.SIZE: BYTES}


def _content(reference: nodes.MapReference, contents: Mapping[str, MapContent]) -> MapContent:
    content = contents.get(reference.name)
    if content is None:
        titles = [f"@{name}" for name in contents]
        help_ = did_you_mean(f"@{reference.name}", titles)
        notes = ("there are " + ", ".join(titles) if titles else "no probe has a map yet",)
        message = f"no probe uses the map @{reference.name}"
        raise ScriptError([Diagnostic("BT109", message, Label(reference.span), help=help_, notes=notes)])
    return content


def _map(reference: nodes.MapReference, contents: Mapping[str, MapContent]) -> Result:
    content = _content(reference, contents)
    values: dict[Key, Number | None] = {}
    keys = tuple(key.value for key in reference.keys if isinstance(key, nodes.Literal))
    for key, value in content.entries:
        if not keys or tuple(map(_plain, key)) == keys:
            values[() if keys else key] = _number(value)
    if keys and not values:
        values = {(): None}
    return Result(values, _unit(content.map))


def _plain(component: object) -> object:
    return getattr(component, "constant", getattr(component, "text", component))


def _unit(map_: Map) -> Type:
    return ANY if map_.kind in (MapKind.COUNT, MapKind.DISTINCT, MapKind.TOPK) else map_.type


def _number(value: object) -> Number | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return value
    return measure(value, "") if isinstance(value, Aggregate) else None


def _joined(sign: str, left: Result, right: Result) -> Result:
    compute = _OPERATORS[sign]
    values: dict[Key, Number | None] = {}
    for key in left.values if not left.is_number else right.values:
        one = left.values.get(() if left.is_number else key)
        other = right.values.get(() if right.is_number else key)
        values[key] = None if one is None or other is None else _computed(compute, one, other)
    return Result(values, _unit_of(sign, left.unit, right.unit))


def _computed(compute: Callable[[Number, Number], Number], one: Number, other: Number) -> Number | None:
    try:
        return compute(one, other)
    except (ZeroDivisionError, OverflowError):
        return None


def _unit_of(sign: str, left: Type, right: Type) -> Type:
    if sign in "+-":
        return left if left.kind is right.kind or right.kind is Kind.ANY else right
    if sign == "*":
        return left if right.kind in (Kind.ANY, Kind.LONG, Kind.INT, Kind.DOUBLE) else ANY
    return left if right.kind not in (Kind.DURATION, Kind.BYTES) else ANY


_OPERATORS: dict[str, Callable[[Number, Number], Number]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
}


def _problems(expression: nodes.Expression) -> Iterator[Diagnostic]:
    match expression:
        case nodes.Binary(operator=sign, left=left, right=right) if sign.text in _OPERATORS:
            yield from _problems(left)
            yield from _problems(right)
        case nodes.Prefix(operator=nodes.Identifier(text="-"), operand=operand):
            yield from _problems(operand)
        case nodes.MapReference(keys=keys):
            yield from (_unfit(key) for key in keys if not isinstance(key, nodes.Literal))
        case nodes.Literal(value=value) if isinstance(value, int | float) and not isinstance(value, bool):
            pass
        case nodes.Call(
            function=nodes.Identifier(text="size"), arguments=(nodes.Argument(value=nodes.MapReference()),)
        ):
            pass
        case _:
            yield _unfit(expression)


def _unfit(expression: nodes.Expression) -> Diagnostic:
    return Diagnostic(
        "BT108",
        "the prompt can compute only with maps and numbers",
        Label(expression.span, "this is neither a map nor a number"),
        help=("only probes can read values of the target",),
        notes=('examples:  @hits   @errors / @hits   @lat["SKU-1"] * 2   size(@hits)',),
    )
