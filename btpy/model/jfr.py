"""Types of JFR events that a program writes into the recordings of its target."""

from __future__ import annotations

from btpy.dataclass import dataclass
from btpy.model.types import Type

MOST_EVENTS = 64
"""The largest number of event types of one session. A type stays a class of the target after the session has ended."""

MOST_FIELDS = 64
MOST_CHARACTERS = 128
"""The longest name of an event or of a field."""

THREAD = "java.lang.Thread"
CLASS = "java.lang.Class"
OBJECTS = (THREAD, CLASS)
"""The classes of objects that JFR can write."""

RESERVED_PREFIX = "jdk."
IMPLICIT_FIELDS = {
    "startTime": "startedAt",
    "duration": "took",
    "eventThread": "who",
    "stackTrace": "stack",
}
"""The fields that JFR itself gives to every event, and a name that a script may use instead."""

OWN_PACKAGES = ("jdk.jfr.", "jdk.internal.event.", "jdk.internal.jfr.")
"""Packages of JFR. An event that is written while a method of these packages runs could disturb the recording."""


@dataclass(frozen=True, slots=True)
class JfrField:
    """``type``: a type of the language: a number, BOOLEAN, CHAR, STRING, or OBJECT of one of ``OBJECTS``; only a
    reference may be nullable."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class JfrEvent:
    name: str
    fields: tuple[JfrField, ...]
