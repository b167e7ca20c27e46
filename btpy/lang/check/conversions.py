"""Conversions between types: widening, boxing, and conversion to the type that an expression needs.

Numbers widen INT → LONG → DOUBLE. CHAR counts as INT. BOOLEAN never mixes with numbers. DURATION and BYTES keep their
unit. A value of unknown type (ANY, or an object that may be a boxed number) stays a boxed reference.
"""

from __future__ import annotations

from dataclasses import replace

from btpy.lang import typed_tree
from btpy.lang.check.context import Context
from btpy.lang.check.faults import FaultError, named, with_article
from btpy.lang.inputs import InputKind
from btpy.lang.syntax import nodes
from btpy.lang.typed_tree import Expr
from btpy.model.diagnostics import Diagnostic, Label
from btpy.model.points import Point
from btpy.model.source import Span
from btpy.model.types import (
    ANY,
    BOOLEAN,
    BYTES,
    CHAR,
    DOUBLE,
    DURATION,
    INT,
    LONG,
    NULL,
    OBJECT,
    STRING,
    Kind,
    Type,
    array_of,
)

_NAMED_TYPES = {
    "boolean": BOOLEAN,
    "char": CHAR,
    "byte": INT,
    "short": INT,
    "int": INT,
    "long": LONG,
    "float": DOUBLE,
    "double": DOUBLE,
    "duration": DURATION,
    "bytes": BYTES,
    "string": STRING,
    "String": STRING,
    "java.lang.String": STRING,
    "object": OBJECT,
    "Object": OBJECT,
    "java.lang.Object": OBJECT,
}

# Declared types of the JDK that a box or a string can be an instance of.
_ANYTHING = frozenset(
    ("java.lang.Object", "java.io.Serializable", "java.lang.Comparable", "java.lang.constant.Constable")
)
_MAY_BE_NUMBERS = _ANYTHING | {
    f"java.lang.{name}"
    for name in ("Number", "Integer", "Long", "Short", "Byte", "Double", "Float", "Character", "constant.ConstantDesc")
}
_MAY_BE_BOOLEANS = _ANYTHING | {"java.lang.Boolean"}
_MAY_BE_STRINGS = _ANYTHING | {"java.lang.CharSequence", "java.lang.constant.ConstantDesc"}

_VALUE_OF_OPERATION = {
    Point.CALL_RETURN: ": the type that the called method returns",
    Point.FIELD_GET: ": type of the field",
    Point.FIELD_SET: ": type of the field",
    Point.ARRAY_GET: ": type of the elements",
    Point.ARRAY_SET: ": type of the elements",
}


def condition(context: Context, tree: nodes.Expression, where: str) -> Expr:
    return convert(context, context.value(tree), BOOLEAN, tree, where)


def is_object(type_: Type) -> bool:
    return type_.kind in (Kind.OBJECT, Kind.ANY, Kind.NULL, Kind.STRING, Kind.ARRAY, Kind.STACK)


def may_be_number(type_: Type) -> bool:
    if type_.kind in (Kind.ANY, Kind.NULL):
        return True
    if type_.kind is Kind.OBJECT:
        return type_.class_name is None or type_.class_name in _MAY_BE_NUMBERS
    return type_.is_numeric


def unboxed(value: Expr) -> Expr:
    """The operand of an operator. A nullable number is unboxed (null is an error). A value of unknown type stays a
    reference."""
    if value.type.nullable and value.type.is_numeric:
        plain = replace(value.type, nullable=False)
        return typed_tree.Convert(plain, value.span, value)
    return typed_null(value)


def convert(
    context: Context, value: Expr, target: Type, tree: nodes.Expression, where: str, declared: Span | None = None
) -> Expr:
    """``value`` in the type ``target``. Raises FaultError if that is impossible; its message says that ``where`` needs
    another type."""
    source = value.type
    kind = target.kind
    if kind is Kind.ANY:
        return boxed(typed_null(value))
    if target.is_reference and source.kind is Kind.NULL:
        return replace(value, type=target)
    if kind is Kind.BOOLEAN:
        if source.kind is Kind.BOOLEAN and (target.nullable or not source.nullable):
            return boxed(value) if target.nullable else value
        if may_be_boolean(source):
            return typed_tree.Convert(BOOLEAN, value.span, typed_null(value))
    elif target.is_numeric:
        converted = _to_number(value, target, tree)
        if converted is not None:
            return converted
    elif kind is Kind.STRING:
        if source.kind is Kind.STRING:
            return value
        if source.kind is Kind.ANY or (source.kind is Kind.OBJECT and _may_be_string(source)):
            return typed_tree.Convert(STRING, value.span, value)
    elif kind is Kind.OBJECT:
        if source.kind in (Kind.OBJECT, Kind.ANY, Kind.STRING, Kind.ARRAY):
            return replace(value, type=target) if source.kind is Kind.ANY and target.class_name else value
    elif (kind is Kind.ARRAY and source.kind in (Kind.ARRAY, Kind.ANY, Kind.OBJECT)) or kind is source.kind:
        return value
    raise FaultError(
        mistyped(
            context,
            value,
            tree,
            f"{where} needs {with_article(target)}, not {named(source)}",
            (Label(declared, f"declared as {named(target)}"),) if declared is not None else (),
        )
    )


def _to_number(value: Expr, target: Type, tree: nodes.Expression) -> Expr | None:
    source = value.type
    if source.is_numeric and not source.nullable:
        unit, source_unit = unit_of(target), unit_of(source)
        zero = isinstance(value, typed_tree.Constant) and value.value == 0
        if unit is not None and source_unit is None and source.kind is not Kind.LONG and not zero:
            return None
        if (source_unit is not None and unit is not None and source_unit != unit) or _rank(source) > _rank(target):
            return None
        widened = widen(value, replace(target, nullable=False))
        return boxed(widened) if target.nullable else widened
    if may_be_number(source) and not (source.is_numeric and _rank(source) > _rank(target)):
        if target.nullable:
            return value
        return typed_tree.Convert(target, value.span, typed_null(value))
    return None


def may_be_boolean(type_: Type) -> bool:
    if type_.kind is Kind.OBJECT:
        return type_.class_name is None or type_.class_name in _MAY_BE_BOOLEANS
    return type_.kind in (Kind.BOOLEAN, Kind.ANY, Kind.NULL)


def _may_be_string(type_: Type) -> bool:
    return type_.class_name is None or type_.class_name in _MAY_BE_STRINGS


def mistyped(
    context: Context, value: Expr, tree: nodes.Expression, message: str, secondary: tuple[Label, ...] = ()
) -> Diagnostic:
    help_: tuple[str, ...] = ()
    if value.type.kind is Kind.LONG and "`int`" in message:
        help_ = ("declare it as long:  let name: long = …",)
    return Diagnostic(
        "BT201", message, Label(tree.span, f"{named(value.type)}{origin_of(context, value)}"), secondary, help=help_
    )


def origin_of(context: Context, value: Expr) -> str:
    """The reason why a value has its type; messages write it after the name of the type."""
    if isinstance(value, typed_tree.InputValue):
        match value.input.kind:
            case InputKind.ARG if context.shape is not None:
                return f": parameter {value.input.index} of {context.subject.name}"
            case InputKind.ARG if context.probe.formals is not None:
                return f": declared for parameter {value.input.index}"
            case InputKind.ARG:
                return ": its type is known only from the class (--cp, --pid)" if value.type.kind is Kind.ANY else ""
            case InputKind.RETVAL if context.shape is not None and context.shape.operation is not None:
                return _VALUE_OF_OPERATION.get(context.shape.point, "")
            case InputKind.RETVAL:
                return f": what {context.subject.name} returns"
            case InputKind.TARGET_ARG:
                return f": argument {value.input.index} of the call"
            case InputKind.OLD_VALUE | InputKind.NEW_VALUE if context.shape is not None:
                return _VALUE_OF_OPERATION.get(context.shape.point, "")
            case InputKind.FRAME_VARIABLE:
                return ": type of the variable"
            case _:
                return ""
    if isinstance(value, typed_tree.LocalValue):
        return ": type of the variable"
    if isinstance(value, typed_tree.FieldValue) and value.type.kind is not Kind.ANY:
        owner = value.target.type.class_name
        return f": field {value.name} of {owner}" if owner else ""
    return ""


def matched_method(context: Context) -> list[Label]:
    """A label that names the method whose types are used, at the pattern that matched it. None before a method is
    known.
    """
    declaration = context.subject.declaration
    if not declaration:
        return []
    for annotation in context.probe.tree.annotations:
        for argument in annotation.arguments:
            if argument.name is not None and argument.name.text == "method":
                span = argument.value.span
                quoted = span.text.startswith('"')
                inside = Span(span.source, span.start + 1, span.end - 1) if quoted else span
                return [Label(inside, f"matched  {declaration}")]
    return []


def reasons(context: Context, value: Expr) -> tuple[Label, ...]:
    origin = origin_of(context, value)
    return (Label(value.span, f"{named(value.type)}{origin}"),) if origin else ()


LITERAL_TYPES = {
    nodes.LiteralKind.INTEGER: LONG,
    nodes.LiteralKind.LONG: LONG,
    nodes.LiteralKind.FLOAT: DOUBLE,
    nodes.LiteralKind.DURATION: DURATION,
    nodes.LiteralKind.SIZE: BYTES,
    nodes.LiteralKind.STRING: STRING,
    nodes.LiteralKind.BOOLEAN: BOOLEAN,
    nodes.LiteralKind.NULL: NULL,
}


def literal(tree: nodes.Literal) -> Expr:
    value = tree.value
    is_int = tree.kind is nodes.LiteralKind.INTEGER and isinstance(value, int) and -(1 << 31) <= value < 1 << 31
    return typed_tree.Constant(INT if is_int else LITERAL_TYPES[tree.kind], tree.span, value)


def typed_null(value: Expr) -> Expr:
    """The literal ``null`` as a value of unknown type; other values unchanged."""
    return replace(value, type=ANY) if value.type.kind is Kind.NULL else value


def boxed(value: Expr) -> Expr:
    value = typed_null(value)
    return value if value.type.is_reference else typed_tree.Convert(ANY, value.span, value)


def _rank(type_: Type) -> int:
    if type_.kind in (Kind.INT, Kind.CHAR):
        return 0
    return 2 if type_.kind is Kind.DOUBLE else 1


def common_type(a: Type, b: Type) -> Type:
    return (INT, LONG, DOUBLE)[max(_rank(a), _rank(b))]


def unit_of(type_: Type) -> Type | None:
    return replace(type_, nullable=False) if type_.kind in (Kind.DURATION, Kind.BYTES) else None


def join_numbers(a: Type, b: Type) -> Type:
    unit = unit_of(a) or unit_of(b)
    common = common_type(a, b)
    return unit if unit is not None and common is LONG else common


def widen(value: Expr, target: Type) -> Expr:
    """A primitive number as the wider ``target``; constants are converted here."""
    source = value.type
    if source.slot == target.slot and source.kind is not Kind.CHAR:
        return value
    if isinstance(value, typed_tree.Constant) and isinstance(value.value, int | float):
        number = float(value.value) if target.kind is Kind.DOUBLE else value.value
        return typed_tree.Constant(target, value.span, number)
    return typed_tree.Convert(target, value.span, value)


def character(value: Expr, other: Expr) -> Expr:
    """A string of one character becomes a char when it is compared with a char."""
    text = value.value if isinstance(value, typed_tree.Constant) else None
    if other.type.kind is Kind.CHAR and isinstance(text, str) and len(text) == 1 and ord(text) < 0x10000:
        return typed_tree.Constant(INT, value.span, ord(text))
    return value


def type_of_name(name: nodes.TypeName) -> Type:
    """The type that a script names. A class name without a package may mean several classes, so its type is a plain
    object.
    """
    base = _NAMED_TYPES.get(name.name)
    if base is None:
        base = Type(Kind.OBJECT, class_name=name.name) if "." in name.name else OBJECT
    for _ in range(name.dimensions):
        base = array_of(base)
    return base.or_null() if name.nullable else base
