"""Numbers and texts as bytes of a JFR file."""

from __future__ import annotations

import struct

from btpy.output.values import well_formed

NULL_TEXT = b"\x00"
SHARED_TEXT = b"\x02"
"""Precedes the key of a text in the pool of texts."""

_EMPTY_TEXT, _UTF_8 = b"\x01", b"\x03"

_BYTES = tuple(bytes((number,)) for number in range(128))
_LAST = 56  # bits before the ninth byte, which has eight bits
_MASK = (1 << 64) - 1
_DOUBLE = struct.Struct(">d").pack


def number(value: int) -> bytes:
    """A number of 64 bits as LEB128 of at most nine bytes."""
    if 0 <= value < 128:
        return _BYTES[value]
    value &= _MASK
    encoded = bytearray()
    while value >= 128 and len(encoded) < _LAST // 7:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def integer(value: int) -> bytes:
    """A number of 32 bits."""
    return number(value & 0xFFFFFFFF)


def double(value: float) -> bytes:
    return _DOUBLE(value)


def boolean(value: bool) -> bytes:
    return _BYTES[value]


def text(value: str) -> bytes:
    if not value:
        return _EMPTY_TEXT
    encoded = well_formed(value).encode()
    return _UTF_8 + number(len(encoded)) + encoded


def event(type_: int, content: bytes) -> bytes:
    """An event begins with its size, and the size counts its own bytes."""
    data = number(type_) + content
    for width in range(1, 10):
        size = number(len(data) + width)
        if len(size) <= width:
            return size + data
    raise AssertionError(f"an event of {len(data)} bytes")
