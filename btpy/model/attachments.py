"""The attachment of a probe: places in methods, timers, or events of the session or of the JVM."""

from __future__ import annotations

import zlib
from typing import Union

from btpy.dataclass import dataclass
from btpy.model.patterns import OperationPattern, Pattern
from btpy.model.points import Point


@dataclass(frozen=True, slots=True)
class MethodAttachment:
    """``@OnMethod``. ``points``: EXIT is (RETURN, THROW), CALL(when=AFTER) is (CALL_RETURN, CALL_THROW).

    ``thrown``: type pattern of THROW(type=…), RAISE(type=…) and CATCH(type=…); the handler tests the exception itself.
    ``operation``: the operations, for a point inside the method. ``uncaught``: ``@OnUncaught``, whose exception is the
    first argument.
    """

    classes: tuple[Pattern, ...]
    methods: tuple[Pattern, ...]
    exclude: tuple[Pattern, ...]
    signature: Pattern | None
    loader: Pattern | None
    points: tuple[Point, ...]
    thrown: Pattern | None
    pending: bool
    max_methods: int
    max_classes: int | None = None  # None: these pools have no bound
    operation: OperationPattern | None = None
    uncaught: bool = False


@dataclass(frozen=True, slots=True)
class TimerAttachment:
    period: int  # ns


@dataclass(frozen=True, slots=True)
class SampleAttachment:
    """``@OnSample``: samples threads ``per_second`` times a second; ``waiting``: also threads that use no processor."""

    per_second: int
    waiting: bool


@dataclass(frozen=True, slots=True)
class BeginAttachment:
    pass


@dataclass(frozen=True, slots=True)
class EndAttachment:
    pass


def event_number(name: str) -> int:
    """The number of the event for the agent: the CRC-32 of its name in UTF-8, as a signed ``int``."""
    number = zlib.crc32(name.encode("utf-8", "surrogatepass"))
    return number - (number >> 31 << 32)


@dataclass(frozen=True, slots=True)
class EventAttachment:
    name: str


@dataclass(frozen=True, slots=True)
class ClassLoadAttachment:
    classes: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class LowMemoryAttachment:
    """``pool``: None means every bounded pool, except those that always fill up between two collections. ``per_mille``:
    thousandths of the pool's bound.
    """

    pool: Pattern | None
    per_mille: int


@dataclass(frozen=True, slots=True)
class ErrorAttachment:
    pass


@dataclass(frozen=True, slots=True)
class ProbeAttachment:
    """``@OnProbe``: ``host`` is the probe in whose handler the body runs."""

    host: int


Attachment = Union[
    MethodAttachment,
    TimerAttachment,
    SampleAttachment,
    BeginAttachment,
    EndAttachment,
    EventAttachment,
    ClassLoadAttachment,
    LowMemoryAttachment,
    ErrorAttachment,
    ProbeAttachment,
]
