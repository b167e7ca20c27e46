"""The types of events, and of the values in them."""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

CATEGORY = "btpy"


class FieldType(Enum):
    """The class of a field and the annotation that gives its unit. ``pooled``: the field has a key of a constant."""

    BOOLEAN = "boolean", "", ""
    INT = "int", "", ""
    LONG = "long", "", ""
    DOUBLE = "double", "", ""
    TEXT = "java.lang.String", "", ""
    DURATION = "long", "jdk.jfr.Timespan", "NANOSECONDS"
    TICKS = "long", "jdk.jfr.Timespan", "TICKS"
    INSTANT = "long", "jdk.jfr.Timestamp", "TICKS"
    BYTES = "long", "jdk.jfr.DataAmount", "BYTES"
    STACK = "jdk.types.StackTrace", "", ""
    THREAD = "java.lang.Thread", "", ""

    def __init__(self, class_name: str, unit: str, unit_value: str) -> None:
        self.class_name = class_name
        self.unit = unit
        self.unit_value = unit_value
        self.pooled = class_name in ("jdk.types.StackTrace", "java.lang.Thread")

    __hash__ = object.__hash__  # the hash of Enum is slow Python code


class Field(NamedTuple):
    """``label``: the name in the script."""

    name: str
    label: str
    type: FieldType


class EventType(NamedTuple):
    name: str
    label: str
    fields: tuple[Field, ...]


START = Field("startTime", "Start Time", FieldType.INSTANT)
DURATION = Field("duration", "Duration", FieldType.TICKS)
THREAD = Field("eventThread", "Event Thread", FieldType.THREAD)
STACK = Field("stackTrace", "Stack Trace", FieldType.STACK)
IMPLICIT_NAMES = tuple(field.name for field in (START, DURATION, THREAD, STACK))

_NOT_OF_A_NAME = re.compile(r"\W", re.ASCII)
_OTHERS = ("jdk", "btpy")  # the events of the JDK, for which tools have rules, and of btpy itself


def own_name(name: str) -> str:
    """The name of an event that btpy itself defines."""
    return f"btpy.{name}"


def event_name(name: str) -> str:
    """The name of the events that ``emit(name, …)`` writes: ``com.acme.Order`` stays, ``slow`` is
    ``btpy.event.slow``."""
    parts = [identifier(part) for part in name.split(".")]
    if len(parts) > 1 and parts[0] not in _OTHERS:
        return ".".join(parts)
    return ".".join(["btpy.event", *parts])


def map_name(name: str) -> str:
    """The name of the events that are the rows of a map."""
    return ".".join(["btpy.map", *map(identifier, name.split("."))])


def identifier(text: str) -> str:
    """The text as an identifier of Java."""
    word = _NOT_OF_A_NAME.sub("_", text) or "_"
    return f"_{word}" if word[0].isdigit() else word
