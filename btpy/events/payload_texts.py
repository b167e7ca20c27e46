"""Finds the texts of records and maps in a payload (docs/runtime.md, "Records"; docs/protocol.md, ``MapContent``).

It finds only texts of the traced program: keys, strings and the beginnings of strings. Names of classes, fields and
constants are left out.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final, NamedTuple

from btpy.errors import ProtocolError
from btpy.events import aggregates
from btpy.events.exemplars import LAYOUT as EXEMPLAR
from btpy.events.record_runs import LATIN, SIZES, WIDE
from btpy.events.records import END_OF_VALUES, HEADER, MIN_RECORD
from btpy.model.maps import Map, MapKind

_MOST_DEPTH: Final = 32
_U2: Final = struct.Struct("<H").unpack_from
_CUT, _OBJECT, _SEQUENCE, _CONSTANT, _CLOSED, _MAPPING = 9, 10, 11, 13, 14, 17


class PayloadText(NamedTuple):
    """The offsets of the characters of a text; each has one byte, or two if the text is ``wide``. ``cut``: the end of
    the text is missing."""

    start: int
    end: int
    wide: bool
    cut: bool


class BadRecord(NamedTuple):
    """The values of a malformed record."""

    start: int
    end: int


def of_records(payload: bytes) -> tuple[list[PayloadText], list[BadRecord]]:
    """Of ``EVENTS``. Raises ProtocolError if the length of a record is impossible."""
    texts: list[PayloadText] = []
    bad: list[BadRecord] = []
    start = 0
    while start < len(payload):
        size = int.from_bytes(payload[start : start + 4], "little")
        end = start + size
        if size < MIN_RECORD or size & 7 or end > len(payload):
            raise ProtocolError(f"record of {size} bytes at {start} of {len(payload)}")
        in_record: list[PayloadText] = []
        at = start + HEADER.size
        try:
            while payload[at] != END_OF_VALUES:
                at = _value(payload, at, end, 0, in_record)
            texts += in_record
        except (ProtocolError, struct.error, IndexError):
            bad.append(BadRecord(start + HEADER.size, end))
        start = end
    return texts, bad


def of_map(payload: bytes, maps: Mapping[int, Map]) -> list[PayloadText]:
    """The texts in the payload of a ``MAP`` or ``MAPS`` message, which is a list of contents of maps. Raises
    ProtocolError."""
    texts: list[PayloadText] = []
    try:
        (count,) = aggregates.U4.unpack_from(payload)
        at = 4
        for _ in range(count):
            at = _content(payload, at, maps, texts)
    except (struct.error, IndexError):
        raise ProtocolError(f"truncated contents of maps in {len(payload)} bytes") from None
    if at != len(payload):
        raise ProtocolError(f"{len(payload) - at} bytes after the contents of {count} maps")
    return texts


def _content(data: bytes, at: int, maps: Mapping[int, Map], texts: list[PayloadText]) -> int:
    map_ = maps.get(aggregates.CONTENT.unpack_from(data, at)[0])
    if map_ is None:
        raise ProtocolError("content of a map that was never declared")
    at += aggregates.CONTENT.size + aggregates.SKIPS.size
    _, count = aggregates.COUNTS.unpack_from(data, at)
    at += aggregates.COUNTS.size
    for _ in range(count):
        at = _values(data, at, texts)
        if map_.kind is MapKind.VALUE:
            at = _value(data, at, len(data), 0, texts)
            continue
        at = _cells(data, at)
        if map_.kind in aggregates.WITH_VALUES:
            at = _values(data, at, texts)
        at = _cells(data, at)  # weights
    (exemplars,) = aggregates.U4.unpack_from(data, at)
    return at + 4 + EXEMPLAR.size * int(exemplars)


def _values(data: bytes, at: int, texts: list[PayloadText]) -> int:
    (count,) = aggregates.U4.unpack_from(data, at)
    at += 4
    for _ in range(count):
        at = _value(data, at, len(data), 0, texts)
    return at


def _cells(data: bytes, at: int) -> int:
    (count,) = aggregates.U4.unpack_from(data, at)
    return at + 4 + 8 * int(count)


def _value(data: bytes, at: int, limit: int, depth: int, texts: list[PayloadText], *, cut: bool = False) -> int:
    """Adds the texts of the value at offset ``at`` to ``texts``. Returns the offset after it."""
    tag = data[at]
    at += 1
    size = SIZES.get(tag)
    if size is not None:
        return at + size
    if tag in (LATIN, WIDE):
        wide = tag == WIDE
        start = at + 2
        end = start + (1 + wide) * int(_U2(data, at)[0])
        if end > limit:
            raise ProtocolError(f"string at {at} runs over {limit}")
        texts.append(PayloadText(start, end, wide, cut))
        return end
    if tag == _CUT:
        if data[at + 4] not in (LATIN, WIDE):
            raise ProtocolError(f"cut string of tag {data[at + 4]}")
        return _value(data, at + 4, limit, depth, texts, cut=True)
    if depth >= _MOST_DEPTH:
        raise ProtocolError(f"values nested deeper than {_MOST_DEPTH}")
    return _compound(tag, data, at, limit, depth + 1, texts)


def _compound(tag: int, data: bytes, at: int, limit: int, depth: int, texts: list[PayloadText]) -> int:
    names: list[PayloadText] = []
    at = _value(data, at, limit, depth, names)
    if tag == _CONSTANT:
        return _value(data, at, limit, depth, names)
    if tag == _CLOSED:
        return at + 5
    if tag not in (_OBJECT, _SEQUENCE, _MAPPING):
        raise ProtocolError(f"unknown value tag {tag}")
    count = data[at + 4]
    at += 5
    for _ in range(count):
        if tag != _SEQUENCE:
            at = _value(data, at, limit, depth, names if tag == _OBJECT else texts)
        at = _value(data, at, limit, depth, texts)
    return at + (tag == _OBJECT)
