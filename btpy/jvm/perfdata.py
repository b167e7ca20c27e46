"""The counters that a HotSpot JVM keeps in ``/tmp/hsperfdata_<user>/<pid>`` (perfMemory.hpp, version 2).

    prologue (32 bytes)             entry (20 bytes, then the name and the value)
    ─────────────────────────       ───────────────────────────────────────────
     0 u4 magic, big-endian          0 u4 length of the entry
     4 u1 byte order (1 little)      4 u4 offset of the name, from the entry
     5 u1 major version (2)          8 u4 length of a vector, 0: a scalar
     6 u1 minor version             12 u1 type of the value (a descriptor: B, J)
     7 u1 accessible                13 u1 flags
     8 u4 bytes used                14 u1 unit
    12 u4 overflow                  15 u1 variability
    16 u8 time stamp                16 u4 offset of the value, from the entry
    24 u4 offset of the first entry
    28 u4 number of entries

Reading the file starts no JVM, and does not disturb the JVM that writes it. That JVM may write an incomplete or false
file, so invalid entries are omitted.
"""

from __future__ import annotations

import struct

MAGIC = b"\xca\xfe\xc0\xc0"
MAX_SIZE = 1024 * 1024
"""The largest number of bytes that btpy reads from a file. HotSpot's file has 32 kB, unless -XX:PerfDataMemorySize
changes it."""

MAX_NAME = 1024
MAX_STRINGS = MAX_SIZE
"""The largest number of bytes of all strings together. Entries that overlap could repeat the same bytes many times."""

Counters = dict[str, str | int]


def parse(data: bytes) -> Counters | None:
    """Strings (``B`` vectors) and numbers (``J`` scalars) by name."""
    if len(data) < 32 or data[:4] != MAGIC or data[5] != 2:
        return None
    order = "<" if data[4] == 1 else ">"
    at, count = struct.unpack_from(order + "II", data, 24)
    layout = struct.Struct(order + "III4BI")
    counters: Counters = {}
    room = MAX_STRINGS
    for _ in range(count):
        if at + layout.size > len(data):
            break
        length, name_offset, vector, kind, _, _, _, value_offset = layout.unpack_from(data, at)
        if length < layout.size:
            break
        name = _string(data, at + name_offset, MAX_NAME)
        value = at + value_offset
        room -= len(name)
        if kind == ord("B") and vector:
            text = _string(data, value, vector)
            room -= len(text)
            if room < 0:
                break
            counters[name] = text
        elif kind == ord("J") and not vector and value + 8 <= len(data):
            counters[name] = struct.unpack_from(order + "q", data, value)[0]
        at += length
    return counters


def number(counters: Counters, name: str) -> int:
    """The counter of this name; 0 if there is no such number."""
    value = counters.get(name, 0)
    return value if isinstance(value, int) else 0


def _string(data: bytes, at: int, longest: int) -> str:
    """The text before the first zero byte, of ``longest`` bytes at most."""
    end = data.find(b"\0", at, at + longest)
    return data[at : at + longest if end < 0 else end].decode("utf-8", "replace")
