"""Maps of a program: the kind of their values, and how they are shown."""

from __future__ import annotations

import math
from enum import Enum

from btpy.dataclass import dataclass
from btpy.model.types import Type
from btpy.model.words import NumberedWord


class MapKind(NumberedWord):
    """The kind of value that a map keeps for each key. The agent keeps ``pctl`` as ``hist``. Only the output
    differs.
    """

    VALUE = "value", 0
    COUNT = "count", 1
    SUM = "sum", 2
    AVG = "avg", 3
    MIN = "min", 4
    MAX = "max", 5
    STATS = "stats", 6
    HIST = "hist", 7
    PCTL = "pctl", 7
    LHIST = "lhist", 8
    TSERIES = "tseries", 9
    TOPK = "topk", 10
    DISTINCT = "distinct", 11
    FIRST = "first", 12
    LAST = "last", 13
    SAMPLE_OF = "sample_of", 14


@dataclass(frozen=True, slots=True)
class Linear:
    """The parameters of LHIST: buckets of width ``step`` from ``low`` (inclusive) to ``high`` (exclusive)."""

    low: float
    high: float
    step: float

    @property
    def buckets(self) -> int:
        return round((self.high - self.low) / self.step)

    @property
    def bounds(self) -> list[float]:
        """The bounds between the buckets, with the outer bounds. A bucket contains its lower bound, but not its upper
        bound."""
        return [self.low + self.step * bucket for bucket in range(self.buckets + 1)]

    @property
    def inclusive_bounds(self) -> list[float]:
        """The largest numbers below the bounds, for formats in which a bucket contains its upper bound."""
        return [math.nextafter(bound, -math.inf) for bound in self.bounds]


class SeriesOperator(Enum):
    """The operator of a window of TSERIES over its samples. The protocol numbers the operators in this order."""

    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    COUNT = "count"


@dataclass(frozen=True, slots=True)
class Series:
    """The parameters of TSERIES: the last ``windows`` intervals of ``interval`` ns."""

    interval: int
    windows: int
    operator: SeriesOperator


@dataclass(frozen=True, slots=True)
class Most:
    """The parameter of TOPK and SAMPLE_OF: the number of values."""

    count: int


@dataclass(frozen=True, slots=True)
class Percents:
    """The parameters of PCTL: the percentiles that are shown."""

    of: tuple[float, ...]


def map_title(name: str) -> str:
    """A map as scripts spell it: ``@name``, or ``library.@name`` for a map of a library."""
    library, _, short_name = name.rpartition(".")
    return f"{library}.@{short_name}" if library else f"@{short_name}"


@dataclass(frozen=True, slots=True)
class Map:
    """``type``: the known type of the aggregated or stored value. It has the unit for the output.

    ``estimated``: a sampled probe adds weighted samples, so the values are estimates for all hits. The text is the
        weight (``100``, ``1…100``, ``?`` if it changes).
    """

    id: int
    name: str
    kind: MapKind
    keys: int
    type: Type
    precision: int = 2  # hist: 2**precision buckets for each power of two
    capacity: int = 4096
    parameters: Linear | Series | Most | Percents | None = None
    estimated: str | None = None
    evicts: bool = False  # a full map forgets the least recently used key; otherwise it accepts no new key
    key_types: tuple[Type, ...] = ()  # the declared types; empty: any
    imported: bool = False  # of a library that the script only imports: printed at the end only if a probe prints it
    key_names: tuple[str, ...] = ()  # names for the components of a key; empty: not known

    @property
    def title(self) -> str:
        return map_title(self.name)
