"""Converts messages to frames and back, according to the field annotations of :mod:`btpy.wire.messages`.

For every annotation there is one :class:`Layout`, which appends and reads values. A count alone never causes an
allocation: lists are read item by item, and every item has at least a byte in the frame.

Decoding is strict. ProtocolError is the only exception. It is raised for a payload that is too short or too long, for
an unknown type, for text that is not UTF-8, for a boolean other than 0 and 1, and for a number outside its table.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import cache
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, get_args, get_origin, get_type_hints

from btpy.dataclass import dataclass
from btpy.errors import ProtocolError
from btpy.model.words import NumberedWord
from btpy.wire import messages
from btpy.wire.messages import MAX_FRAME, Fixed, Message, Remainder, Width, field_names


@dataclass(frozen=True, slots=True)
class Layout:
    """``read`` takes the payload and an offset, and returns the value and the offset after it. ``number``: the format
    character of ``struct`` for an integer.
    """

    append: Callable[[bytearray, Any], None]
    read: Callable[[bytes, int], tuple[Any, int]]
    number: str = ""


def encode(message: Message) -> bytes:
    """The whole frame of a message: length, type, payload.

    Raises ProtocolError when a value does not fit its field or the frame would exceed MAX_FRAME.
    """
    kind: Any = type(message)
    frame = bytearray(5)
    try:
        _layout(kind).append(frame, message)
    except (struct.error, ValueError) as error:
        raise ProtocolError(f"{kind.__name__} cannot be encoded: {error}") from None
    length = len(frame) - 4
    if length > MAX_FRAME:
        raise ProtocolError(f"{kind.__name__} of {length} bytes exceeds the limit of {MAX_FRAME}")
    struct.pack_into(">IB", frame, 0, length, message.code)
    return bytes(frame)


def encode_part(part: Any) -> bytes:
    """Encodes a part of a message without the rest. Raises ProtocolError when a value does not fit its field."""
    kind: Any = type(part)
    content = bytearray()
    try:
        _layout(kind).append(content, part)
    except (struct.error, ValueError) as error:
        raise ProtocolError(f"{kind.__name__} cannot be encoded: {error}") from None
    return bytes(content)


def decode(code: int, payload: bytes, kinds: Mapping[int, type[Message]] | None = None) -> Message:
    """The message of type ``code`` in ``payload`` (a frame without length and type). Raises ProtocolError.

    ``kinds``: the allowed messages by code; None: all messages of the protocol.
    """
    kind: Any = (_BY_CODE if kinds is None else kinds).get(code)
    if kind is None:
        raise ProtocolError(f"unknown message type 0x{code:02x}")
    try:
        message, end = _layout(kind).read(payload, 0)
    except (struct.error, IndexError):
        raise ProtocolError(f"{kind.__name__} is too short") from None
    except ProtocolError as error:
        raise ProtocolError(f"{kind.__name__}: {error}") from None
    if end != len(payload):
        raise ProtocolError(f"{kind.__name__} has {len(payload) - end} bytes left over")
    assert isinstance(message, Message)
    return message


def frame_length(header: bytes) -> int:
    """The length that the four bytes of ``header`` announce. Raises ProtocolError outside 1 … MAX_FRAME."""
    length = int.from_bytes(header, "big")
    if not 1 <= length <= MAX_FRAME:
        raise ProtocolError(f"a frame of {length} bytes")
    return length


def _integer(width: Width) -> Layout:
    number = {1: "B", 2: "H", 4: "I", 8: "Q"}[width]
    layout = struct.Struct(f">{number}")

    def append(out: bytearray, value: int) -> None:
        out += layout.pack(value)

    def read(data: bytes, at: int) -> tuple[int, int]:
        return layout.unpack_from(data, at)[0], at + width

    return Layout(append, read, number)


def _enumeration(kind: type[IntEnum] | type[NumberedWord]) -> Layout:
    """If several words have one number, that number is read as the first of them."""
    words: list[Any] = list(kind)
    numbers = {word: getattr(word, "number", word.value) for word in words}
    by_number = {numbers[word]: word for word in words[::-1]}

    def append(out: bytearray, value: Any) -> None:
        out.append(numbers[value])

    def read(data: bytes, at: int) -> tuple[Any, int]:
        try:
            return by_number[data[at]], at + 1
        except KeyError:
            raise ProtocolError(f"{data[at]} is not a {kind.__name__}") from None

    return Layout(append, read, "B" if issubclass(kind, IntEnum) else "")


def _boolean() -> Layout:
    def append(out: bytearray, value: bool) -> None:
        out.append(1 if value else 0)

    def read(data: bytes, at: int) -> tuple[bool, int]:
        if data[at] > 1:
            raise ProtocolError(f"{data[at]} is not a boolean")
        return data[at] == 1, at + 1

    return Layout(append, read)


def _fixed(size: int) -> Layout:
    def append(out: bytearray, value: bytes) -> None:
        if len(value) != size:
            raise ProtocolError(f"{len(value)} bytes where {size} belong")
        out += value

    def read(data: bytes, at: int) -> tuple[bytes, int]:
        end = at + size
        if end > len(data):
            raise IndexError
        return data[at:end], end

    return Layout(append, read)


def _remainder() -> Layout:
    def append(out: bytearray, value: bytes) -> None:
        out += value

    def read(data: bytes, at: int) -> tuple[bytes, int]:
        return data[at:], len(data)

    return Layout(append, read)


def _counted() -> Layout:
    def append(out: bytearray, value: bytes) -> None:
        out += _COUNT.pack(len(value))
        out += value

    def read(data: bytes, at: int) -> tuple[bytes, int]:
        (length,) = _COUNT.unpack_from(data, at)
        start = at + 4
        end = start + length
        if end > len(data):
            raise IndexError
        return data[start:end], end

    return Layout(append, read)


def _text() -> Layout:
    empty = _COUNT.pack(0)

    def append(out: bytearray, value: str) -> None:
        if value:
            content = value.encode("utf-8", "surrogatepass")
            out += _COUNT.pack(len(content))
            out += content
        else:  # most sites have two empty texts
            out += empty

    def read(data: bytes, at: int) -> tuple[str, int]:
        (length,) = _COUNT.unpack_from(data, at)
        end = at + 4 + length
        if end > len(data):
            raise IndexError
        try:
            return data[at + 4 : end].decode("utf-8", "surrogatepass"), end
        except UnicodeDecodeError:
            raise ProtocolError("a string that is not UTF-8") from None

    return Layout(append, read)


def _list(item: Layout) -> Layout:
    def append(out: bytearray, value: Sequence[Any]) -> None:
        out += _COUNT.pack(len(value))
        for element in value:
            item.append(out, element)

    def read(data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
        (count,) = _COUNT.unpack_from(data, at)
        at += 4
        elements = []
        for _ in range(count):
            element, at = item.read(data, at)
            elements.append(element)
        return tuple(elements), at

    return Layout(append, read)


def _record(kind: type[Any]) -> Layout:
    hints = get_type_hints(kind, include_extras=True)
    names = field_names(kind)
    layouts = [_layout(hints[name]) for name in names]
    getter = _item_getter(names) if issubclass(kind, tuple) else attrgetter
    writers = list(_writers(list(zip(names, layouts, strict=True)), getter))
    readers = [layout.read for layout in layouts]

    def append(out: bytearray, value: Any) -> None:
        for get, write in writers:
            write(out, get(value))

    def read(data: bytes, at: int) -> tuple[Any, int]:
        values = []
        for reader in readers:
            value, at = reader(data, at)
            values.append(value)
        return kind(*values), at

    return Layout(append, read)


def _item_getter(names: Sequence[str]) -> _Getter:
    """Like ``attrgetter``, for the fields of a named tuple, which are faster to get by their places."""
    return lambda *fields: itemgetter(*(names.index(name) for name in fields))


_Getter = Callable[..., Callable[[Any], Any]]
"""Makes a function that returns the fields of the given names."""


def _writers(
    columns: Sequence[tuple[str, Layout]], getter: _Getter
) -> Iterator[tuple[Callable[[Any], Any], Callable[..., None]]]:
    """Functions that get and append the fields of a record. Adjacent numbers are packed together."""
    for are_numbers, neighbours in groupby(columns, key=lambda column: bool(column[1].number)):
        fields_ = list(neighbours)
        if are_numbers and len(fields_) > 1:
            get = getter(*(name for name, _ in fields_))
            yield get, _numbers("".join(layout.number for _, layout in fields_))
        else:
            for name, layout in fields_:
                yield getter(name), layout.append


def _numbers(formats: str) -> Callable[[bytearray, Any], None]:
    pack = struct.Struct(f">{formats}").pack

    def append(out: bytearray, values: tuple[int, ...]) -> None:
        out += pack(*values)

    return append


@cache
def _layout(annotation: Any) -> Layout:
    """The layout of a field annotation, of a part or of a whole message."""
    metadata = getattr(annotation, "__metadata__", None)
    if metadata is not None:
        (mark,) = metadata
        if isinstance(mark, Width):
            return _integer(mark)
        if isinstance(mark, Fixed):
            return _fixed(mark.size)
        assert isinstance(mark, Remainder)
        return _remainder()
    if get_origin(annotation) is tuple:
        return _list(_layout(get_args(annotation)[0]))
    if annotation is str:
        return _text()
    if annotation is bytes:
        return _counted()
    if annotation is bool:
        return _boolean()
    if issubclass(annotation, IntEnum | NumberedWord):
        return _enumeration(annotation)
    return _record(annotation)


_COUNT = struct.Struct(">I")
_BY_CODE: dict[int, Any] = {
    kind.code: kind for kind in (*messages.HANDSHAKE, *messages.FROM_CLIENT, *messages.FROM_AGENT)
}
