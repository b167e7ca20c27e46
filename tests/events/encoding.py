"""Encodes the messages of an agent by docs/runtime.md, without code of the decoder."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from btpy.events.records import (
    ClosedObject,
    CutString,
    EnumValue,
    MappingValue,
    ObjectValue,
    SequenceValue,
    StackRef,
    Value,
    Withheld,
)


class Char(str):
    """A one-character string that is written as a ``char``."""

    __slots__ = ()


def encode_text(text: str) -> bytes:
    if all(ord(char) < 0x100 for char in text):
        return b"\x07" + struct.pack("<H", len(text)) + bytes(ord(char) for char in text)
    units = text.encode("utf-16-le", "surrogatepass")
    return b"\x08" + struct.pack("<H", len(units) // 2) + units


def encode_value(value: Value, *, int32: bool = False) -> bytes:
    match value:
        case None:
            return b"\x00"
        case bool():
            return b"\x02" if value else b"\x01"
        case int():
            return b"\x03" + struct.pack("<i", value) if int32 else b"\x04" + struct.pack("<q", value)
        case float():
            return b"\x05" + struct.pack("<d", value)
        case Char():
            return b"\x06" + struct.pack("<H", ord(value))
        case str():
            return encode_text(value)
        case CutString(text, length):
            return b"\x09" + struct.pack("<I", length) + encode_text(text)
        case EnumValue(class_name, constant):
            return b"\x0d" + encode_text(class_name) + encode_text(constant)
        case ObjectValue(class_name, identity, fields, more):
            body = b"".join(encode_text(name) + encode_value(field) for name, field in fields)
            return b"\x0a" + encode_text(class_name) + struct.pack("<IB", identity, len(fields)) + body + bytes([more])
        case SequenceValue(class_name, length, items):
            body = b"".join(encode_value(item) for item in items)
            return b"\x0b" + encode_text(class_name) + struct.pack("<IB", length, len(items)) + body
        case MappingValue(class_name, size, pairs):
            body = b"".join(encode_value(key) + encode_value(item) for key, item in pairs)
            return b"\x11" + encode_text(class_name) + struct.pack("<IB", size, len(pairs)) + body
        case StackRef(id_):
            return b"\x0c" + struct.pack("<I", id_)
        case ClosedObject(class_name, identity, why):
            return b"\x0e" + encode_text(class_name) + struct.pack("<IB", identity, why.value)
        case Withheld():
            return bytes([value.value])
    raise TypeError(type(value).__name__)


def encode_record(
    values: Iterable[Value],
    *,
    template: int = 0,
    site: int = 1 << 24,
    probe: int = 0,
    nanos: int = 0,
    tid: int = 1,
) -> bytes:
    body = b"".join(encode_value(value) for value in values) + b"\xff"
    size = (32 + len(body) + 7) // 8 * 8
    return struct.pack("<iiiiqq", size, template, site, probe, nanos, tid) + body.ljust(size - 32, b"\x00")


def encode_thread_name(tid: int, name: str) -> bytes:
    return encode_record([name], template=-1, site=0, probe=0, tid=tid)


def encode_content(
    map_id: int,
    full: int,
    entries: Iterable[tuple[tuple[Value, ...], bytes]],
    *,
    skips: tuple[int, int, int, int] = (0, 1, 0, 0),
    weights: bytes | None = b"\0\0\0\0",
    exemplars: bytes = b"\0\0\0\0",
) -> bytes:
    """``entries``: each key with its encoded value; some kinds of map have cells, or cells and values, instead of the
    value. ``weights``: the weights of each entry; None: the map has plain values.
    """
    entries = list(entries)
    data = struct.pack(">IQQQIQQII", map_id, full, 0, *skips, 0, len(entries))
    for key, rest in entries:
        data += struct.pack(">I", len(key)) + b"".join(encode_value(part) for part in key) + rest + (weights or b"")
    return data + exemplars


def encode_cells(*cells: int | float) -> bytes:
    """Integers unchanged, floats as their IEEE bits."""
    return struct.pack(">I", len(cells)) + b"".join(
        struct.pack(">d" if isinstance(cell, float) else ">q", cell) for cell in cells
    )


def encode_values(*values: Value) -> bytes:
    return struct.pack(">I", len(values)) + b"".join(encode_value(value) for value in values)


def segment(number: int, *cells: int) -> tuple[int, ...]:
    """A segment of buckets or registers, in the form that it has among the cells."""
    return (number, *cells, *(0,) * (64 - len(cells)))
