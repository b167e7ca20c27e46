"""The records of firings, and the values in them (docs/runtime.md, "Records")."""

from __future__ import annotations

import struct
from enum import Enum
from typing import Final, NamedTuple, Union

from btpy.dataclass import dataclass
from btpy.model.secrets import REDACTED


@dataclass(frozen=True, slots=True)
class CutString:
    """A string longer than the capture limit: its beginning, and its full length in UTF-16 units."""

    text: str
    length: int


@dataclass(frozen=True, slots=True)
class EnumValue:
    class_name: str
    constant: str


@dataclass(frozen=True, slots=True)
class ObjectValue:
    """An object with its fields; ``more``: some fields were left out. ``identity`` is the identity hash."""

    class_name: str
    identity: int
    fields: tuple[tuple[str, Value], ...]
    more: bool


@dataclass(frozen=True, slots=True)
class SequenceValue:
    """An array or a list: the first ``items`` of ``length``."""

    class_name: str
    length: int
    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class MappingValue:
    """A ``java.util`` map: the first ``pairs`` of ``size``."""

    class_name: str
    size: int
    pairs: tuple[tuple[Value, Value], ...]


@dataclass(frozen=True, slots=True)
class StackRef:
    """A stack trace by its id in the session's :class:`~btpy.events.stacks.StackTable`; 0: it was not recorded."""

    id: int


class Closed(Enum):
    """The reason why an object was not opened."""

    DEPTH = 0
    CYCLE = 1
    ROOM = 2


@dataclass(frozen=True, slots=True)
class ClosedObject:
    class_name: str
    identity: int
    why: Closed


class Withheld(Enum):
    """The reason why a value was not captured at all."""

    REDACTED = 15
    UNREADABLE = 16

    @property
    def text(self) -> str:
        """The mark that replaces the value in each output format that has no mark of its own."""
        return REDACTED if self is Withheld.REDACTED else "<unreadable>"


Value = Union[
    None,
    bool,
    int,
    float,
    str,
    CutString,
    EnumValue,
    ObjectValue,
    SequenceValue,
    MappingValue,
    StackRef,
    ClosedObject,
    Withheld,
]


class Record(NamedTuple):
    """One firing. ``nanos``: System.nanoTime of the target; ``thread``: the name of the thread, empty if it is not
    known. It is a tuple because making one costs a third of what a frozen dataclass does."""

    template: int
    site: int
    probe: int
    nanos: int
    tid: int
    thread: str
    values: tuple[Value, ...]


HEADER: Final = struct.Struct("<iiiiqq")
"""The head of a record: size in bytes, template, site, probe, nanos, tid. Its values follow."""

END_OF_VALUES: Final = 0xFF

MIN_RECORD: Final = HEADER.size + 8
"""The least size of a record: its head, the end marker and padding."""
