"""Types of the probe language (``docs/language.md``) and the representation of their values in the JVM."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from btpy.dataclass import dataclass


class Kind(Enum):
    """The value is the spelling used in scripts and messages."""

    BOOLEAN = "boolean"
    CHAR = "char"
    INT = "int"
    LONG = "long"
    DOUBLE = "double"
    DURATION = "duration"
    BYTES = "bytes"
    STRING = "string"
    OBJECT = "object"
    ARRAY = "array"
    STACK = "stack"
    ANY = "any"
    NULL = "null"
    VOID = "void"

    __hash__ = object.__hash__  # the hash of Enum is slow Python code, and kinds are looked up often


@dataclass(frozen=True, slots=True)
class Type:
    """A type: ``class_name`` (binary name, with dots) for OBJECT if it is known, ``element`` for ARRAY.

    ``nullable`` matters for primitives only: a nullable primitive is held boxed (``len(null)`` is null). ANY is a
    value whose type is known when the probe fires: stored as ``Object``, primitives boxed as Long, Double, Boolean or
    Character.
    """

    kind: Kind
    class_name: str | None = None
    element: Type | None = None
    nullable: bool = False

    def __str__(self) -> str:
        if self.kind is Kind.ARRAY:
            return f"{self.element}[]"
        if self.kind is Kind.OBJECT and self.class_name is not None:
            return self.class_name
        return str(self.kind.value)

    @property
    def is_integral(self) -> bool:
        return self.kind in (Kind.INT, Kind.LONG, Kind.DURATION, Kind.BYTES, Kind.CHAR)

    @property
    def is_numeric(self) -> bool:
        return self.is_integral or self.kind is Kind.DOUBLE

    @property
    def is_reference(self) -> bool:
        """Whether the JVM holds the value as a reference. This is true for a nullable primitive, too."""
        return self.nullable or self.kind not in _PRIMITIVE

    @property
    def slot(self) -> str:
        """The JVM descriptor of a local that holds the value: ``I J D`` or ``Ljava/lang/Object;`` (booleans and chars:
        ``I``)."""
        if self.is_reference:
            return "Ljava/lang/Object;"
        return _PRIMITIVE[self.kind]

    def or_null(self) -> Type:
        """The type that also includes null. References always include it."""
        return self if self.is_reference else replace(self, nullable=True)


_PRIMITIVE = {
    Kind.BOOLEAN: "I",
    Kind.CHAR: "I",
    Kind.INT: "I",
    Kind.LONG: "J",
    Kind.DURATION: "J",
    Kind.BYTES: "J",
    Kind.DOUBLE: "D",
    Kind.VOID: "V",
}

BOOLEAN = Type(Kind.BOOLEAN)
CHAR = Type(Kind.CHAR)
INT = Type(Kind.INT)
LONG = Type(Kind.LONG)
DOUBLE = Type(Kind.DOUBLE)
DURATION = Type(Kind.DURATION)
BYTES = Type(Kind.BYTES)
STRING = Type(Kind.STRING)
OBJECT = Type(Kind.OBJECT)
STACK = Type(Kind.STACK)
ANY = Type(Kind.ANY)
NULL = Type(Kind.NULL)
VOID = Type(Kind.VOID)


def array_of(element: Type) -> Type:
    return Type(Kind.ARRAY, element=element)


def from_descriptor(descriptor: str) -> Type:
    """The language type of a JVM field descriptor (JVMS §4.3.2); ``V`` is VOID."""
    first = descriptor[0]
    if first == "[":
        return array_of(from_descriptor(descriptor[1:]))
    if first == "L":
        name = descriptor[1:-1].replace("/", ".")
        return STRING if name == "java.lang.String" else Type(Kind.OBJECT, class_name=name)
    return _DESCRIPTORS[first]


_DESCRIPTORS = {
    "Z": BOOLEAN,
    "C": CHAR,
    "B": INT,
    "S": INT,
    "I": INT,
    "J": LONG,
    "F": DOUBLE,
    "D": DOUBLE,
    "V": VOID,
}


def joined(one: Type, other: Type) -> Type:
    """The type that holds values of both types; ANY if there is no such type."""
    if one == other:
        return one
    plain = (Kind.INT, Kind.LONG, Kind.DOUBLE)
    if one.kind in plain and other.kind in plain:
        return DOUBLE if Kind.DOUBLE in (one.kind, other.kind) else LONG
    return ANY
