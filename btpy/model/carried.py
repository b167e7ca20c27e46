"""The parts of a thread's context that every event carries: ``--with trace,mdc:userId,baggage:tenant``."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from btpy.dataclass import dataclass
from btpy.errors import UsageError

MOST = 32
LONGEST_KEY = 64

_HELP = ("--with trace,mdc:userId,baggage:tenant",)


class CarriedKind(Enum):
    """The value is the spelling in ``--with``."""

    TRACE = "trace"
    MDC = "mdc"
    BAGGAGE = "baggage"


@dataclass(frozen=True, slots=True)
class Carried:
    """``key``: the key of the MDC or the baggage; empty for a trace."""

    kind: CarriedKind
    key: str = ""

    @property
    def text(self) -> str:
        """The spelling in ``--with``."""
        return f"{self.kind.value}:{self.key}" if self.key else self.kind.value

    @property
    def label(self) -> str:
        """The name of the field of an event. A trace has three fields with names of their own."""
        return f"{self.kind.value}.{self.key}"


def carried(texts: Iterable[str], source: str = "--with") -> tuple[Carried, ...]:
    """Parses lists with commas. ``source``: the name of their source in messages. Raises UsageError."""
    parts = [part.strip() for text in texts for part in text.split(",")]
    distinct = tuple(dict.fromkeys(_parsed(part, source) for part in parts))
    if len(distinct) > MOST:
        raise UsageError(f"{source} names {len(distinct)} values, and at most {MOST} are possible", help=_HELP)
    return distinct


def _parsed(text: str, source: str) -> Carried:
    name, colon, key = text.partition(":")
    kind = next((kind for kind in CarriedKind if kind.value == name), None)
    if kind is None:
        raise UsageError(f"{source} {text!r}: it must be trace, mdc:KEY or baggage:KEY", help=_HELP)
    if kind is CarriedKind.TRACE:
        if colon:
            raise UsageError(f"{source} {text!r}: trace has no key", help=_HELP)
        return Carried(kind)
    if not key or len(key) > LONGEST_KEY or not key.isprintable():
        raise UsageError(f"{source} {text!r} needs a key of 1 to {LONGEST_KEY} printable characters", help=_HELP)
    return Carried(kind, key)
