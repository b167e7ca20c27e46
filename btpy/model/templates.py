"""Templates: the meaning of the values of a record, and how they are shown."""

from __future__ import annotations

from enum import Enum

from btpy.dataclass import dataclass
from btpy.model.types import Type


class SiteFact(Enum):
    """Facts about the instrumented place. The client knows them, so records do not contain them."""

    CLS = "cls"
    METHOD = "method"
    SIGNATURE = "signature"
    LINE = "line"
    PROBE = "probe"
    TARGET_CLASS = "target_class"  # as named in the bytecode of the operation
    TARGET_METHOD = "target_method"
    FIELD = "field"
    LOADER = "loader"


class SpanField(Enum):
    """The fields of every span, by the labels of the slots. A span without an exception lacks the fields of
    exceptions."""

    TRACE_ID = "trace_id"
    SPAN_ID = "span_id"
    PARENT_ID = "parent_span_id"
    FLAGS = "trace_flags"
    DURATION = "duration"
    EXCEPTION = "exception"
    MESSAGE = "exception_message"
    STACK = "exception_stack"


class TemplateKind(Enum):
    PRINT = "print"  # parts are joined without separators
    EMIT = "emit"  # a named event with named fields
    WARN = "warn"  # like PRINT, on standard error
    MAP = "map"  # a map snapshot
    PLOT = "plot"  # a map snapshot, as a chart
    TABLE = "table"  # several maps, joined on their keys
    EXIT = "exit"
    COMMIT = "commit"  # its value: the id of the speculation whose records are shown now
    DISCARD = "discard"  # its value: the id of the speculation whose records are never shown


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of a value in the output: number ``value`` of the shipped values, or a site fact.

    ``format`` is the part after ``:`` in an f-string, or a printf conversion with its ``%``; ``type``: the type, as far
    as the script determines it. It has the unit (DURATION, BYTES). ``rest``: the slot shows all values from number
    ``value`` to the end of the record (``args``, ``targs``); with ``named`` they are pairs of a name and a value
    (``locals()``). ``bare``: an object is shown without its class (``fields(x)``).
    ``time``: the value is a point in time, nanoseconds since 1970, shown by this format of strftime. ``width``: number
    of the shipped value that is the width of a printf conversion with ``*``; None if the conversion itself contains the
    width. ``carried``: the value is a part of the thread's context that the user, not the script, asked for.
    """

    value: int | SiteFact
    type: Type
    label: str | None = None
    format: str = ""
    rest: bool = False
    named: bool = False
    bare: bool = False
    time: str = ""
    width: int | None = None
    carried: bool = False


SPECULATIVE = ("speculative", True)
SPAN = ("span", True)
SPAN_OF_METHOD = ("span", "method")
"""Options of a template."""


@dataclass(frozen=True, slots=True)
class Template:
    """The rendering of one kind of record by the client. ``parts``: text and slots, in order (for EMIT only slots with
    labels). ``flushed``: the maps that are emptied when they are shown."""

    id: int
    probe: int
    kind: TemplateKind
    parts: tuple[str | Slot, ...]
    name: str = ""  # of an EMIT
    maps: tuple[int, ...] = ()
    options: tuple[tuple[str, object], ...] = ()  # top=, by=, desc=, unit=, scale=, min= of maps
    host: int | None = None  # for a subscriber: the probe whose handler sends it
    flushed: tuple[int, ...] = ()

    @property
    def speculative(self) -> bool:
        """The first value of a record is the id of its speculation, which no slot shows. null: the record is not
        speculative.
        """
        return SPECULATIVE in self.options

    @property
    def is_span(self) -> bool:
        """The event is a span. The first value is System.nanoTime at its start, which no slot shows. The labels of the
        slots are those of :class:`SpanField`, and then those of the script.
        """
        return SPAN in self.options or self.is_span_of_method

    @property
    def is_span_of_method(self) -> bool:
        """The event is a span, and its name in an export is ``Class.method``."""
        return SPAN_OF_METHOD in self.options
