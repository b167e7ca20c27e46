"""Templates: what the values of a record mean, and how they are shown."""

from __future__ import annotations

from enum import Enum

from btpy.frozen import dataclass
from btpy.model.types import Type


class SiteFact(Enum):
    """Facts of the instrumented place; the client knows them, so they are never shipped with an event."""

    CLS = "cls"
    METHOD = "method"
    SIGNATURE = "signature"
    LINE = "line"
    PROBE = "probe"
    TARGET_CLASS = "target_class"  # as named in the bytecode of the operation
    TARGET_METHOD = "target_method"
    FIELD = "field"
    LOADER = "loader"


class TemplateKind(Enum):
    PRINT = "print"  # parts are joined as they stand
    EMIT = "emit"  # a named event with named fields
    WARN = "warn"  # as PRINT, on standard error
    MAP = "map"  # a map snapshot
    PLOT = "plot"  # a map snapshot, as a chart
    TABLE = "table"  # several maps, joined on their keys
    EXIT = "exit"
    COMMIT = "commit"  # its value: id of the records that are to be shown now
    DISCARD = "discard"  # … that are never to be shown


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a value of a record is shown: number ``value`` of the shipped values, or a site fact.

    ``format`` is the part after ``:`` in an f-string, or a printf conversion with its ``%``; ``type`` is the type as
    far as the script alone tells (it carries the unit: DURATION, BYTES). ``rest``: the slot stands for all values from
    number ``value`` to the end of the record, however many (``args``, ``targs``); with ``named`` they are pairs of a
    name and a value (``locals()``). ``bare``: an object is shown without its class (``fields(x)``).
    ``time``: the value is a point in time, nanoseconds since 1970, shown by this format of strftime. ``width``: number
    of the shipped value that is the width of a printf conversion with ``*``; None: the conversion has its own.
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


SPECULATIVE = ("speculative", True)
"""Option of a template."""


@dataclass(frozen=True, slots=True)
class Template:
    """How the client renders one kind of record. ``parts``: text and slots, in order (for EMIT only slots with
    labels). ``flushed``: those of ``maps`` whose content is taken away when it is shown."""

    id: int
    probe: int
    kind: TemplateKind
    parts: tuple[str | Slot, ...]
    name: str = ""  # of an EMIT
    maps: tuple[int, ...] = ()
    options: tuple[tuple[str, object], ...] = ()  # top=, by=, desc=, unit=, scale=, min= of maps
    host: int | None = None  # the probe whose handler ships it, where that is not `probe`: of a subscriber
    flushed: tuple[int, ...] = ()

    @property
    def speculative(self) -> bool:
        """The first value of a record is no value of the template, but the id under which the record is held back;
        null: it is not."""
        return SPECULATIVE in self.options
