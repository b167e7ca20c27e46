"""Field and method descriptors (JVMS §4.3)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from btpy.errors import ClassFileError

OBJECT: Final = "Ljava/lang/Object;"


@lru_cache(maxsize=8192)
def parse(descriptor: str) -> tuple[tuple[str, ...], str]:
    """The field descriptors of the parameters and the return descriptor of a method descriptor (JVMS §4.3.3).

    Raises ClassFileError when the text is not a method descriptor.
    """
    if descriptor[:1] != "(":
        raise ClassFileError(f"not a method descriptor: {descriptor!r}")
    parameters = []
    at = 1
    while descriptor[at : at + 1] != ")":
        end = _field_end(descriptor, at)
        parameters.append(descriptor[at:end])
        at = end
    returns = descriptor[at + 1 :]
    if returns != "V" and _field_end(descriptor, at + 1) != len(descriptor):
        raise ClassFileError(f"not a method descriptor: {descriptor!r}")
    return tuple(parameters), returns


def _field_end(descriptor: str, start: int) -> int:
    at = start
    while descriptor[at : at + 1] == "[":
        at += 1
    first = descriptor[at : at + 1]
    if first and first in "BCDFIJSZ":
        return at + 1
    end = descriptor.find(";", at)
    if first != "L" or end < 0:
        raise ClassFileError(f"not a descriptor: {descriptor!r}")
    return end + 1


def is_field(descriptor: str) -> bool:
    """True for a field descriptor (JVMS §4.3.2)."""
    try:
        return _field_end(descriptor, 0) == len(descriptor)
    except ClassFileError:
        return False


def slots(descriptor: str) -> int:
    """Local variables, or operand stack slots, that a value takes: 0 for ``V``, 2 for ``J`` and ``D``, else 1."""
    if descriptor in ("J", "D"):
        return 2
    return 0 if descriptor == "V" else 1


@lru_cache(maxsize=8192)
def argument_slots(descriptor: str) -> int:
    """Slots of the declared parameters of a method descriptor, without the receiver."""
    return sum(map(slots, parse(descriptor)[0]))


@lru_cache(maxsize=8192)
def call_change(descriptor: str) -> int:
    """Change of the operand stack by a call, in slots, without the receiver."""
    return slots(parse(descriptor)[1]) - argument_slots(descriptor)


def erase(descriptor: str) -> str:
    """The descriptor with every reference as ``Object``."""
    return OBJECT if descriptor[0] in "L[" else descriptor


@lru_cache(maxsize=8192)
def erase_all(descriptor: str) -> str:
    """A method descriptor with every reference as ``Object``."""
    return _REFERENCE.sub(OBJECT, descriptor)


_REFERENCE: Final = re.compile(r"\[*L[^;]*;|\[+[BCDFIJSZ]")


def of_class(name: str) -> str:
    """The descriptor of the type in a Class entry. The entry has an internal name, or the descriptor of an array."""
    return name if name[:1] == "[" else f"L{name};"


def class_name(descriptor: str) -> str:
    """The internal name, or array type, in the form of a Class entry; the inverse of :func:`of_class`."""
    return descriptor if descriptor[:1] == "[" else descriptor[1:-1]
