"""Checks the types of values in records. The records come from another process, so their values may be of any type.

Each function returns the value, and raises ProtocolError if the value has another type.
"""

from __future__ import annotations

from btpy.errors import ProtocolError
from btpy.events.records import CutString


def number(value: object) -> int:
    if type(value) is not int:
        raise ProtocolError(f"{type(value).__name__} instead of a number")
    return value


def nanos(value: object) -> int:
    """A duration, which is not negative."""
    duration = number(value)
    if duration < 0:
        raise ProtocolError(f"a duration of {duration} ns")
    return duration


def flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ProtocolError(f"{type(value).__name__} instead of true or false")
    return value


def text(value: object) -> str:
    """null is the empty text."""
    if isinstance(value, CutString):
        return value.text
    if value is not None and not isinstance(value, str):
        raise ProtocolError(f"{type(value).__name__} instead of a text")
    return value or ""
