"""A chunk: a part of a JFR file that has everything to which its events refer. A file is a sequence of chunks."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from hashlib import blake2b
from typing import BinaryIO

from btpy.events.stacks import StackTable
from btpy.output.jfr.metadata import metadata_event
from btpy.output.jfr.pools import Pools
from btpy.output.jfr.rows import Encoder, Pending
from btpy.output.quantities import limited
from btpy.output.writer import Clock

_HEADER = struct.Struct(">4sHHqqqqqqqi")
_LENGTH = 3  # the place of the length of the chunk in it
_MAGIC, _MAJOR, _MINOR = b"FLR\0", 2, 1
_TICKS_PER_SECOND = 1_000_000_000  # a tick is a nanosecond of System.nanoTime
_COMPRESSED_INTEGERS = 1
_DIGEST_BYTES = 7
_EVENT_BYTES, _VALUE_BYTES = 16, 8


class Chunk:
    """Events that are not written yet. ``size``: the approximate number of their bytes."""

    def __init__(self) -> None:
        self.size = 0
        self._events: list[Pending] = []

    @property
    def is_empty(self) -> bool:
        return not self._events

    def add(self, event: Pending) -> None:
        self._events.append(event)
        self.size += _EVENT_BYTES + _VALUE_BYTES * len(event.row)
        for value in event.row:
            if type(value) is str:
                self.size += len(value)

    def encoded(self, stacks: StackTable, clock: Clock, ids: Callable[[str], int], starts: set[int]) -> bytes:
        """``ids``: the id of the type of events of a name. ``starts``: the starts of the chunks before; Mission Control
        ignores a chunk with the same start as an earlier one.
        """
        start = limited(min((event.start for event in self._events), default=clock.nano_time))
        end = max((event.start + event.duration for event in self._events), default=start)
        while start in starts:
            start -= 1
        starts.add(start)
        pools = Pools()
        events, types = Encoder(pools, stacks, clock).encode(self._events, ids)
        constants = pools.encoded(start)
        digest = blake2b(events + constants, digest_size=_DIGEST_BYTES).digest()
        metadata = metadata_event(types.items(), start, int.from_bytes(digest))
        constants_at = _HEADER.size + len(events)
        metadata_at = constants_at + len(constants)
        header = _HEADER.pack(
            *(_MAGIC, _MAJOR, _MINOR),
            metadata_at + len(metadata),
            constants_at,
            metadata_at,
            limited(clock.wall(start)),
            limited(end - start),
            limited(start),
            _TICKS_PER_SECOND,
            _COMPRESSED_INTEGERS,
        )
        return header + events + constants + metadata


def whole_chunks(file: BinaryIO) -> int | None:
    """The bytes of the chunks that the file has whole, without the beginning of a chunk that a killed run has left at
    the end; None: it is not a file of JFR."""
    size, at = file.seek(0, os.SEEK_END), 0
    while at < size:
        file.seek(at)
        header = file.read(_HEADER.size)
        if not header.startswith(_MAGIC[: len(header)]):
            return None
        if len(header) < _HEADER.size:
            break
        length = _HEADER.unpack(header)[_LENGTH]
        if length < _HEADER.size:
            return None
        if length > size - at:
            break
        at += length
    return at
