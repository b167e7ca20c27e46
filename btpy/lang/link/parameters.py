"""The parameters of a script: ``param name: type = default "help";``, and the values that they are given.

A value is a constant of the program: the linker puts a literal where the name stands, so a parameter can be used
wherever a literal can, in patterns too (``class=f"{package}.**"``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from math import fmod, isfinite

from btpy.errors import UsageError
from btpy.lang.program import Parameter, Value
from btpy.lang.syntax import nodes
from btpy.lang.syntax.nodes import Literal, LiteralKind
from btpy.lang.syntax.units import UNITS
from btpy.model.diagnostics import Diagnostic, Label, nearest
from btpy.model.source import Span

KIND_OF_TYPE = {
    "int": LiteralKind.INTEGER,
    "long": LiteralKind.LONG,
    "double": LiteralKind.FLOAT,
    "boolean": LiteralKind.BOOLEAN,
    "string": LiteralKind.STRING,
    "duration": LiteralKind.DURATION,
    "bytes": LiteralKind.SIZE,
}
_TYPE_OF_KIND = {kind: name for name, kind in KIND_OF_TYPE.items()}
_EXAMPLES = {
    "int": "5",
    "long": "5",
    "double": "0.5",
    "boolean": "true",
    "string": '"text"',
    "duration": "250ms",
    "bytes": "64KB",
}
_RANGES = {"int": 1 << 31, "long": 1 << 63}

_DURATIONS = ("ns", "us", "ms", "s", "m", "h", "d")


def shown_default(parameter: Parameter) -> str:
    """The text of the default in a script; empty without a default."""
    return "" if parameter.default is None else spelled(parameter.type, parameter.default)


class Mistyped(Exception):
    """A value has the wrong type for its parameter. The message names the right type."""


def declared(item: nodes.ScriptParameter, diagnostics: list[Diagnostic]) -> Parameter | None:
    """The values of a declaration; None after an error about the type."""
    name = item.name.text
    default = constant(item.default) if item.default is not None else None
    if item.default is not None and default is None:
        diagnostics.append(
            Diagnostic(
                "BT107",
                f"the default of `{name}` is not a constant",
                Label(item.default.span),
                help=("a default must be a literal:  " + ", ".join(dict.fromkeys(_EXAMPLES.values())),),
            )
        )
        return None
    if item.type is None:
        if default is None:
            diagnostics.append(
                Diagnostic(
                    "BT107",
                    f"`{name}` has neither a type nor a default",
                    Label(item.name.span),
                    help=(f"write param {name}: string;",),
                )
            )
            return None
        type_ = _TYPE_OF_KIND[default.kind]
    else:
        type_ = item.type.name
        if type_ not in KIND_OF_TYPE or item.type.dimensions or item.type.nullable:
            near = nearest(type_, KIND_OF_TYPE)
            diagnostics.append(
                Diagnostic(
                    "BT201",
                    f"a parameter cannot be a `{item.type.span.text}`",
                    Label(item.type.span),
                    help=(f"did you mean `{near[0]}`?",) if near else (),
                    notes=("types of parameters: " + " ".join(KIND_OF_TYPE),),
                )
            )
            return None
    value: Value | None = None
    if default is not None:
        try:
            value = converted(type_, default)
        except Mistyped as wrong:
            diagnostics.append(
                Diagnostic("BT201", f"`{name}` must be {wrong}", Label(default.span, _named(default.kind)))
            )
            return None
    return Parameter(name, type_, value, item.help or "", item.name.span)


def _named(kind: LiteralKind) -> str:
    return f"`{_TYPE_OF_KIND[kind]}`" if kind in _TYPE_OF_KIND else "null"


def constant(tree: nodes.Expression) -> Literal | None:
    """The literal that is equal to a constant expression: signs and ``+ - * / %`` of numbers and quantities, as at run
    time; None for everything else and for ``null``.
    """
    if isinstance(tree, nodes.Binary):
        return _calculated(tree)
    if isinstance(tree, nodes.Prefix) and tree.operator.text == "-":
        inner = constant(tree.operand)
        if inner is None or isinstance(inner.value, bool | str | None):
            return None
        return replace(inner, span=tree.span, value=-inner.value)
    return tree if isinstance(tree, Literal) and tree.kind is not LiteralKind.NULL else None


_QUANTITIES = (LiteralKind.DURATION, LiteralKind.SIZE)
_WHOLE = (LiteralKind.INTEGER, LiteralKind.LONG, *_QUANTITIES)


def _calculated(tree: nodes.Binary) -> Literal | None:
    left, right, sign = constant(tree.left), constant(tree.right), tree.operator.text
    if left is None or right is None or sign not in _CALCULATIONS:
        return None
    one, other = left.value, right.value
    if not isinstance(one, int | float) or not isinstance(other, int | float) or bool in (type(one), type(other)):
        return None
    kind = _kind_of_result(left.kind, sign, right.kind)
    if kind is None or (other == 0 and sign in "/%"):
        return None
    value = _CALCULATIONS[sign](one, other)
    if not isfinite(value):
        return None
    if kind in _WHOLE:
        value = int(value)
        if not -(1 << 63) <= value < 1 << 63:
            return None
    return Literal(tree.span, kind, value)


def _kind_of_result(left: LiteralKind, sign: str, right: LiteralKind) -> LiteralKind | None:
    """The kind of the result of an operation; None if the units do not match."""
    measured = [kind for kind in (left, right) if kind in _QUANTITIES]
    if not measured:
        return LiteralKind.FLOAT if LiteralKind.FLOAT in (left, right) else LiteralKind.INTEGER
    if left is right:
        return {"*": None, "/": LiteralKind.INTEGER}.get(sign, left)
    if len(measured) == 1 and (sign == "*" or (sign in "/%" and left in _QUANTITIES)):
        return measured[0]
    return None


def _divided(one: int | float, other: int | float) -> int | float:
    """Rounds towards zero, as Java does for integers."""
    if isinstance(one, float) or isinstance(other, float):
        return one / other
    quotient = abs(one) // abs(other)
    return quotient if (one < 0) == (other < 0) else -quotient


_CALCULATIONS: dict[str, Callable[[int | float, int | float], int | float]] = {
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
    "*": lambda one, other: one * other,
    "/": _divided,
    "%": lambda one, other: one - _divided(one, other) * other if isinstance(one + other, int) else fmod(one, other),
}


def converted(type_: str, literal: Literal) -> Value:
    """The value of a literal, converted to the type of a parameter. Raises :class:`Mistyped`."""
    value = literal.value
    kind = KIND_OF_TYPE[type_]
    if value is not None and literal.kind is kind and type_ not in _RANGES:
        return value
    if isinstance(value, int) and literal.kind in (LiteralKind.INTEGER, LiteralKind.LONG):
        if kind is LiteralKind.FLOAT:
            return float(value)
        if value == 0 and kind in (LiteralKind.DURATION, LiteralKind.SIZE):
            return 0
        limit = _RANGES.get(type_)
        if limit is not None and -limit <= value < limit:
            return value
    raise Mistyped(_wanted(type_))


def _wanted(type_: str) -> str:
    article = "an" if type_[0] in "aeio" else "a"
    return f"{article} `{type_}`, such as {_EXAMPLES[type_]}"


def parsed(type_: str, text: str) -> Value:
    """The value that a command line gives. Raises :class:`Mistyped`."""
    if type_ == "string":
        return text
    if type_ == "boolean" and text in ("true", "false"):
        return text == "true"
    digits = text.replace("_", "")
    if type_ in _RANGES and re.fullmatch(r"-?\d{1,19}", digits, re.ASCII):
        number = int(digits)
        if -_RANGES[type_] <= number < _RANGES[type_]:
            return number
    if type_ == "double" and re.fullmatch(r"-?\d{1,300}(\.\d{1,300})?([eE][+-]?\d{1,3})?", digits, re.ASCII):
        return float(digits)
    if type_ in ("duration", "bytes"):
        match = re.fullmatch(r"(-?)(\d{1,19})(?:\.(\d{1,18}))?([A-Za-z]+)", digits, re.ASCII)
        if match is not None and match[4] in UNITS and (match[4] in _DURATIONS) == (type_ == "duration"):
            unit, fraction = UNITS[match[4]], match[3] or ""
            scale: int = 10 ** len(fraction)
            amount = int(match[2]) * unit + int(fraction or 0) * unit // scale
            if amount < 1 << 63:
                return -amount if match[1] else amount
        if digits == "0":
            return 0
    raise Mistyped(_wanted(type_))


def spelled(type_: str, value: Value) -> str:
    """A value as a script spells it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, int) and type_ in ("duration", "bytes"):
        units = _DURATIONS[:5] if type_ == "duration" else ("B", "KB", "MB", "GB")
        unit = next(unit for unit in reversed(units) if value % UNITS[unit] == 0 and (value or unit in ("ns", "B")))
        return f"{value // UNITS[unit]}{unit}"
    return str(value)


def literal(type_: str, value: Value, span: Span) -> Literal:
    """The literal that replaces a parameter at ``span``."""
    return Literal(span, KIND_OF_TYPE[type_], value)


def settled(parameters: Iterable[Parameter], texts: Mapping[str, str]) -> dict[str, Value]:
    """The value of each parameter of a script, with the texts that a command line gave.

    Raises UsageError for a text that is not of the parameter's type and for a parameter without any value.
    """
    values: dict[str, Value] = {}
    missing_names = []
    for parameter in parameters:
        text = texts.get(parameter.name)
        if text is not None:
            try:
                values[parameter.name] = parsed(parameter.type, text)
            except Mistyped as wrong:
                raise UsageError(
                    f"--{parameter.name} must be {wrong}, not {text!r}", help=described([parameter])
                ) from None
        elif parameter.default is not None:
            values[parameter.name] = parameter.default
        else:
            missing_names.append(parameter)
    if missing_names:
        names = " and ".join(f"--{parameter.name}" for parameter in missing_names)
        raise UsageError(f"the script needs {names}", help=described(missing_names))
    return values


def placeholders(parameters: Iterable[Parameter]) -> dict[str, str]:
    """Placeholder texts for the required parameters, so that a script can be checked without values."""
    return {
        parameter.name: _EXAMPLES[parameter.type].strip('"') for parameter in parameters if parameter.default is None
    }


def described(parameters: Iterable[Parameter]) -> list[str]:
    """A line for each parameter, for the command line."""
    lines = []
    for parameter in parameters:
        default = f" (default {shown_default(parameter)})" if parameter.default is not None else ""
        lines.append(f"--{parameter.name} {parameter.type.upper()}  {parameter.help}{default}".replace("   ", "  "))
    return lines
