"""Decodes the records that handlers write: the payload of ``EVENTS`` (docs/runtime.md, "Records").

The bytes come from another process and are not trusted: bytes that do not follow the layout cause a ProtocolError, and
a length that exceeds the payload causes no allocation.

This is the hot path of the client, so it makes one pass with integers and slices, and has no reader object.
:mod:`btpy.events.record_runs` reads most records of a large payload.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from typing import Final

from btpy.dataclass import new_tuple
from btpy.errors import ProtocolError
from btpy.events.reading_limit import DECISIONS, ReadingLimit
from btpy.events.record_runs import RunReader, run_reader, tags_of
from btpy.events.records import (
    END_OF_VALUES,
    HEADER,
    MIN_RECORD,
    Closed,
    ClosedObject,
    CutString,
    EnumValue,
    MappingValue,
    ObjectValue,
    Record,
    SequenceValue,
    StackRef,
    Value,
    Withheld,
)
from btpy.model.templates import Slot, Template

THREAD_NAME: Final = -1
"""Template of the records that name a thread."""

_LARGE: Final = 16 * 1024
"""Bytes of a payload from which on it pays to make readers of runs."""

_MOST_CHANGES: Final = 16
"""How often a template may get another reader, because the kinds of its values have changed."""

_MAX_DEPTH: Final = 32  # limit for nested values; the capture depth is much smaller
_MAX_THREADS: Final = 1 << 17  # in the cache of names; the agent sends a name again when it has forgotten the thread
_MAX_NAME_CHARS: Final = 1 << 24  # the maximum number of characters of these names together

_KIND: Final = struct.Struct("<iiii").unpack_from
_I4: Final = struct.Struct("<i").unpack_from
_U4: Final = struct.Struct("<I").unpack_from
_I8: Final = struct.Struct("<q").unpack_from
_F8: Final = struct.Struct("<d").unpack_from
_U2: Final = struct.Struct("<H").unpack_from


def tally(payload: bytes) -> Counter[tuple[int, int]]:
    """The number of records in a payload, by template and probe, without names of threads. Raises ProtocolError.

    When btpy only records, this is the only code that reads a record before it is on disk. Records of one kind have the
    same size, and often follow each other. Two slices of every n-th word count a run of equal records, without decoding
    numbers.
    """
    return Counter({kind: n for kind, n in _kinds(payload).items() if kind[0] != THREAD_NAME})


def _kinds(payload: bytes) -> Counter[tuple[int, int]]:
    """Like :func:`tally`, with the names of threads."""
    end = len(payload)
    if end % 8:
        raise ProtocolError(f"records of {end} bytes")
    counts: Counter[tuple[int, int]] = Counter()
    words = memoryview(payload).cast("q")
    at, single = 0, 0
    while at < end:
        size, template, _, probe = _KIND(payload, at) if end - at >= MIN_RECORD else (0, 0, 0, 0)
        if size < MIN_RECORD or size & 7 or at + size > end:
            raise ProtocolError(f"record of {size} bytes at {at} of {end}")
        if single:
            single -= 1
            counts[template, probe] += 1
            at += size
            continue
        step, first = size >> 3, at >> 3
        run = min(_RUN, (end - at) // size)
        stop = first + run * step
        sizes = words[first:stop:step].tobytes()  # and templates
        probes = words[first + 1 : stop : step].tobytes()  # after sites
        is_uniform = sizes == sizes[:8] * run
        if is_uniform and (probes == probes[:8] * run or _half(probes, 1) == probes[4:8] * run):
            counts[template, probe] += run
        elif is_uniform or _half(sizes, 0) == sizes[:4] * run:
            kinds = Counter(zip(_integers(sizes)[1::2], _integers(probes)[1::2], strict=True))
            for kind, count in kinds.items():
                counts[kind] += count
        else:
            single = _RUN // 4
            continue
        at += run * size
    return counts


_RUN: Final = 256  # records


def _half(words: bytes, which: int) -> bytes:
    """The first four (``which`` 0) or the last four (1) bytes of each eight bytes."""
    return memoryview(words).cast("i")[which::2].tobytes()


def _integers(words: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(words) // 4}i", words)


class RecordDecoder:
    """Decodes the ``EVENTS`` payloads of one session, in order, and remembers the names of threads."""

    __slots__ = ("_changes_left", "_fewest", "_name_chars", "_named", "_probes", "_readers", "_threads", "malformed")

    def __init__(self) -> None:
        self._threads: dict[int, str] = {}
        self._name_chars = 0  # characters of all names together
        self._fewest: list[int] = []  # by template, the least number of values in its records
        self._named: dict[int, int] = {}  # by template, the index of its first pair of name and value
        self._probes = 0
        self._readers: dict[int, RunReader] = {}  # by template
        self._changes_left: dict[int, int] = {}  # by template, how often it may still get another reader
        self.malformed: list[tuple[int, str]] = []
        """The probe of each malformed record that was left out, and the reason. The caller empties this list."""

    def expect(self, templates: Sequence[Template], probes: int) -> None:
        """Sets the templates of the program so far, by id, and the number of its probes. A record of any other template
        or probe is malformed.
        """
        self._probes = probes
        for template in templates[len(self._fewest) :]:
            self._fewest.append(fewest_values(template))
            for part in template.parts:
                if isinstance(part, Slot) and part.named and isinstance(part.value, int):
                    self._named[template.id] = template.speculative + part.value
            if template.id not in self._named:
                self._changes_left[template.id] = _MOST_CHANGES

    def decode(self, payload: bytes) -> list[Record]:
        """The records of one payload, with the names of their threads.

        A malformed record is left out and added to :attr:`malformed`. Its length tells where the next record begins.
        Raises ProtocolError if a length is impossible.
        """
        records: list[Record] = []
        append, new, name = records.append, new_tuple, self._threads.get
        header, fewest, first_pairs, probes = HEADER.unpack_from, self._fewest, self._named, self._probes
        templates = len(fewest)
        end_of_payload = len(payload)
        is_large = end_of_payload >= _LARGE
        readers = self._readers if is_large else {}
        changes_left = self._changes_left if is_large else {}
        start = 0
        while start < end_of_payload:
            if end_of_payload - start < MIN_RECORD:
                raise ProtocolError(f"truncated record at {start} of {end_of_payload}")
            if readers:
                (template,) = _I4(payload, start + 4)
                if template in readers:
                    start_of_run = start
                    start = readers[template](payload, start, template, probes, name, append)
                    if start != start_of_run:
                        continue
            size, template, site, probe, nanos, tid = header(payload, start)
            end = start + size
            if size < MIN_RECORD or size & 7 or end > end_of_payload:
                raise ProtocolError(f"record of {size} bytes at {start} of {end_of_payload}")
            try:
                values = _values(payload, start + 32, end)
                if template == THREAD_NAME:
                    self._name_thread(tid, values)
                else:
                    record = new(Record, (template, site, probe, nanos, tid, name(tid, ""), values))
                    if templates and not (0 <= template < templates and 0 <= probe < probes):
                        raise ProtocolError(
                            f"record of template {template} and probe {probe}, of {templates} and {probes}"
                        )
                    if templates and len(values) < fewest[template]:
                        raise ProtocolError(
                            f"record of template {template} with {len(values)} of {fewest[template]} values"
                        )
                    if template in first_pairs:
                        check_pairs(record, first_pairs[template])
                    append(record)
                    if template in changes_left:
                        self._choose_reader(template, payload, start + HEADER.size)
            except (ProtocolError, struct.error, IndexError, UnicodeDecodeError) as cause:
                self.malformed.append((probe, str(cause) or type(cause).__name__))
            start = end
        return records

    def _choose_reader(self, template: int, payload: bytes, at: int) -> None:
        """Sets the reader of a template to one for the kinds of values at ``at``, which the present reader refuses."""
        self._changes_left[template] -= 1
        if not self._changes_left[template]:
            del self._changes_left[template]
        tags = tags_of(payload, at)
        reader = None if tags is None else run_reader(tags)
        if reader is not None:
            self._readers[template] = reader

    def decode_some(self, payload: bytes, limit: ReadingLimit) -> tuple[list[Record], Counter[int]]:
        """Like :meth:`decode`, but decodes only the allowed number of records of each probe; also gives the number of
        records that were not decoded, by probe.
        """
        kinds = _kinds(payload)
        room = {kind: n if kind[0] == THREAD_NAME else limit.take(*kind, n) for kind, n in kinds.items()}
        unread: Counter[int] = Counter()
        for kind, count in kinds.items():
            if room[kind] < count:
                unread[kind[1]] += count - room[kind]
        if not unread:
            return self.decode(payload), unread
        records: list[bytes] = []
        at, total = 0, sum(room.values())
        while len(records) < total:
            size, template, _, probe = _KIND(payload, at)
            if room[template, probe]:
                room[template, probe] -= 1
                records.append(payload[at : at + size])
            at += size
        return self.decode(b"".join(records)), unread

    def _name_thread(self, tid: int, values: tuple[Value, ...]) -> None:
        if len(values) != 1:
            raise ProtocolError(f"thread name record with {len(values)} values")
        threads = self._threads
        name = _string(values[0])
        self._name_chars += len(name) - len(threads.pop(tid, ""))
        threads[tid] = name
        while len(threads) > _MAX_THREADS or self._name_chars > _MAX_NAME_CHARS:
            self._name_chars -= len(threads.pop(next(iter(threads))))


def fewest_values(template: Template) -> int:
    """The least number of values in the records of a template."""
    ids = int(template.speculative)
    fewest = int(template.speculative or template.kind in DECISIONS)
    for part in template.parts:
        if isinstance(part, Slot) and isinstance(part.value, int):
            fewest = max(fewest, ids + part.value + (not part.rest))
            if part.width is not None:
                fewest = max(fewest, ids + part.width + 1)
    return fewest


def check_pairs(record: Record, first: int) -> None:
    """Raises ProtocolError if the values from ``first`` on are not pairs of a name and a value."""
    rest = record.values[first:]
    if len(rest) % 2 or not all(isinstance(name, str) for name in rest[::2]):
        raise ProtocolError(f"record of template {record.template} does not have pairs of names and values")


def read_value(data: bytes, at: int) -> tuple[Value, int]:
    """One value at offset ``at`` and the offset after it.  Raises ProtocolError."""
    try:
        value, end = _value(data, at, 0)
    except (struct.error, IndexError) as cause:
        raise ProtocolError(f"truncated value at {at} of {len(data)}") from cause
    if end > len(data):
        raise ProtocolError(f"value at {at} runs over the end of {len(data)} bytes")
    return value, end


def _values(data: bytes, at: int, end: int) -> tuple[Value, ...]:
    """The values of the record that ends at ``end``. Values that extend beyond ``end`` are noticed at the end
    marker."""
    values: list[Value] = []
    append = values.append
    while True:
        tag = data[at]
        if tag == 4:
            append(_I8(data, at + 1)[0])
            at += 9
        elif tag == 7:
            stop = at + 3 + _U2(data, at + 1)[0]
            append(data[at + 3 : stop].decode("latin-1"))
            at = stop
        elif tag == 3:
            append(_I4(data, at + 1)[0])
            at += 5
        elif tag == END_OF_VALUES:
            if end - at > 8 or at >= end:
                raise ProtocolError(f"values of a record end at {at}, the record at {end}")
            return tuple(values)
        else:
            value, at = _value(data, at, 0)
            append(value)


def _value(data: bytes, at: int, depth: int) -> tuple[Value, int]:
    """Slices may silently read past the end of ``data``, so the caller must compare the returned offset."""
    tag = data[at]
    at += 1
    if tag == 4:
        return _I8(data, at)[0], at + 8
    if tag == 3:
        return _I4(data, at)[0], at + 4
    if tag == 7:
        end = at + 2 + _U2(data, at)[0]
        return data[at + 2 : end].decode("latin-1"), end
    if tag == 8:
        end = at + 2 + 2 * _U2(data, at)[0]
        if end > len(data):
            raise ProtocolError(f"string at {at} runs over the end of {len(data)} bytes")
        return data[at + 2 : end].decode("utf-16-le", "surrogatepass"), end
    if tag == 0:
        return None, at
    if tag <= 2:
        return tag == 2, at
    if tag == 5:
        return _F8(data, at)[0], at + 8
    if tag == 6:
        return chr(_U2(data, at)[0]), at + 2
    if tag == 12:
        return StackRef(_U4(data, at)[0]), at + 4
    if tag == 15:
        return Withheld.REDACTED, at
    if tag == 16:
        return Withheld.UNREADABLE, at
    if depth >= _MAX_DEPTH:
        raise ProtocolError(f"values nested deeper than {_MAX_DEPTH}")
    return _compound(tag, data, at, depth + 1)


def _compound(tag: int, data: bytes, at: int, depth: int) -> tuple[Value, int]:
    if tag == 9:
        (length,) = _U4(data, at)
        if data[at + 4] not in (7, 8):
            raise ProtocolError(f"cut string of tag {data[at + 4]}")
        text, at = _value(data, at + 4, depth)
        return CutString(_string(text), length), at
    name, at = _value(data, at, depth)
    class_name = _string(name)
    if tag == 10:
        (identity,) = _U4(data, at)
        count = data[at + 4]
        at += 5
        fields: list[tuple[str, Value]] = []
        for _ in range(count):
            field_name, at = _value(data, at, depth)
            value, at = _value(data, at, depth)
            fields.append((_string(field_name), value))
        if data[at] > 1:
            raise ProtocolError(f"object ends with {data[at]}")
        return ObjectValue(class_name, identity, tuple(fields), data[at] == 1), at + 1
    if tag == 11:
        (length,) = _U4(data, at)
        count = data[at + 4]
        at += 5
        if count > length:
            raise ProtocolError(f"sequence shows {count} of {length}")
        items: list[Value] = []
        for _ in range(count):
            value, at = _value(data, at, depth)
            items.append(value)
        return SequenceValue(class_name, length, tuple(items)), at
    if tag == 13:
        constant, at = _value(data, at, depth)
        return EnumValue(class_name, _string(constant)), at
    if tag == 14:
        (identity,) = _U4(data, at)
        why = data[at + 4]
        if why > 2:
            raise ProtocolError(f"object closed for reason {why}")
        return ClosedObject(class_name, identity, Closed(why)), at + 5
    if tag == 17:
        (size,) = _U4(data, at)
        count = data[at + 4]
        at += 5
        pairs: list[tuple[Value, Value]] = []
        for _ in range(count):
            key, at = _value(data, at, depth)
            value, at = _value(data, at, depth)
            pairs.append((key, value))
        return MappingValue(class_name, size, tuple(pairs)), at
    raise ProtocolError(f"unknown value tag {tag}")


def _string(value: Value) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, CutString):
        return value.text
    raise ProtocolError(f"a name is {type(value).__name__}")
