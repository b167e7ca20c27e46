"""The known classes of the traced program while a body is typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from btpy.dataclass import dataclass
from btpy.model.types import Type


@dataclass(frozen=True, slots=True)
class ClassFields:
    """Instance fields of a class and its superclasses, as far as they could be read. ``complete``: all fields could be
    read, so an object of exactly this class has no other fields. ``supertypes``: superclasses and interfaces, as far as
    they could be read. ``final``: the class has no subclasses. ``statics``: names of static fields.
    """

    name: str
    fields: Mapping[str, Type]
    statics: frozenset[str]
    supertypes: frozenset[str]
    complete: bool
    final: bool


@dataclass(frozen=True, slots=True)
class MethodFacts:
    """The code of a method that a call would run. ``place``: ``Order.java:88``, empty if it is not known. ``calls``: a
    method that is called on this line, such as ``List.size``, or empty. ``field``: the field whose value it returns, if
    this is its only effect.
    """

    place: str
    calls: str
    field: str


class Classes(Protocol):
    def fields(self, name: str) -> ClassFields | None:
        """None: no class of that name is known."""

    def subtype_with(self, name: str, field: str) -> str | None:
        """A subtype that has a field of that name. Empty when none is known; None: none has."""

    def method(self, owner: str, name: str) -> MethodFacts | None:
        """The code of a method without parameters; None: it is not known."""

    def parameter_names(self, owner: str, name: str) -> tuple[str, ...]:
        """The parameter names of the only method of that name. Empty when there are several methods, or the class file
        has no names of parameters.
        """


class _Nothing:
    def fields(self, name: str) -> ClassFields | None:
        return None

    def subtype_with(self, name: str, field: str) -> str | None:
        return None

    def method(self, owner: str, name: str) -> MethodFacts | None:
        return None

    def parameter_names(self, owner: str, name: str) -> tuple[str, ...]:
        return ()


NOTHING_KNOWN: Classes = _Nothing()
"""No class is known: every field is looked up when a probe fires."""


class Subject(Protocol):
    """The traced method, for messages."""

    @property
    def name(self) -> str:
        """``PricingEngine.quote``."""

    @property
    def declaration(self) -> str:
        """``Money quote(String sku, int qty)``; empty if it is not a Java method."""


@dataclass(frozen=True, slots=True)
class _AnyMethod:
    name: str = "the traced method"
    declaration: str = ""


ANY_METHOD: Subject = _AnyMethod()
