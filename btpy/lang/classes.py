"""What is known of the classes of the traced program while a body is typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from btpy.lang.types import Type
from btpy.values import dataclass


@dataclass(frozen=True, slots=True)
class ClassFields:
    """Instance fields of a class and its superclasses, as far as they could be read. ``complete``: all of them could,
    and an object of the class has those only, if it is not of a subclass. ``supertypes``: superclasses and interfaces,
    likewise. ``final``: it has no subclasses."""

    name: str
    fields: Mapping[str, Type]
    supertypes: frozenset[str]
    complete: bool
    final: bool


class Classes(Protocol):
    def fields(self, name: str) -> ClassFields | None:
        """None: nothing is known of a class of that name."""

    def subtype_with(self, name: str, field: str) -> str | None:
        """A subtype that has a field of that name, empty when nobody can tell; None: none has."""


class _Nothing:
    def fields(self, name: str) -> ClassFields | None:
        return None

    def subtype_with(self, name: str, field: str) -> str | None:
        return None


NOTHING_KNOWN: Classes = _Nothing()
"""No class is known: every field is looked up when a probe fires."""
