"""Samples of distributions with the trace in which they were added, for backends that link a bucket to a trace."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final, NamedTuple

from btpy.errors import ProtocolError

LAYOUT: Final = struct.Struct(">IQ8sq16s8s")
_AS_LONG, _AS_DOUBLE = struct.Struct(">q"), struct.Struct(">d")


class Exemplar(NamedTuple):
    """``value``: the sample; ``nanos``: the time when it was added, ns since 1970, by the clock of the target.
    ``trace_id`` has 16 bytes, ``span_id`` 8.
    """

    value: int | float
    nanos: int
    trace_id: bytes
    span_id: bytes

    @property
    def size(self) -> int:
        """The size class of the sample: the number of bits of its value. The agent keeps one exemplar of each size
        between two readings."""
        magnitude = int(self.value) if abs(self.value) < 1 << 64 else 1 << 64
        return (~magnitude if magnitude < 0 else magnitude).bit_length()


def read_exemplar(data: bytes, at: int) -> tuple[int, Exemplar]:
    """The index of the entry of the map, and the exemplar. Raises ProtocolError, and ``struct.error`` if the data ends
    too early.
    """
    index, is_double, bits, nanos, trace_id, span_id = LAYOUT.unpack_from(data, at)
    if is_double > 1:
        raise ProtocolError(f"an exemplar of kind {is_double}")
    (value,) = (_AS_DOUBLE if is_double else _AS_LONG).unpack(bits)
    return index, Exemplar(value, nanos, trace_id, span_id)


class Newest:
    """The newest exemplar of each size."""

    def __init__(self) -> None:
        self._by_size: dict[int, Exemplar] = {}

    def add(self, exemplar: Exemplar) -> None:
        older_exemplar = self._by_size.get(exemplar.size)
        if older_exemplar is None or older_exemplar.nanos <= exemplar.nanos:
            self._by_size[exemplar.size] = exemplar

    def all(self) -> tuple[Exemplar, ...]:
        """The exemplars in ascending order of their sizes."""
        return tuple(self._by_size[size] for size in sorted(self._by_size))


def newest(exemplars: Iterable[Exemplar]) -> tuple[Exemplar, ...]:
    """The newest exemplar of each size, in ascending order."""
    result = Newest()
    for exemplar in exemplars:
        result.add(exemplar)
    return result.all()
