"""Lies: wrong contents of one kind of message from an agent or a client.

They are made from the fields of the message, so a new message of the protocol gets all of them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any, Protocol, cast, get_args, get_origin, get_type_hints

from btpy.wire import codec, messages
from btpy.wire.messages import Fixed, Message, Remainder, Width, field_names

CONTROLS = "".join(map(chr, (*range(0x20), *range(0x7F, 0xA0))))
HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07\x1b]52;c;cm0gLXJm\x07\x9b31m\x90q\x9c<script>alert(1)</script>"
    f'\u202eevil\u2066\u200b\u2028\u2029\ufeff\U000e0041\ud800,"=1+1\n\r\t|{CONTROLS}'
)
"""All control characters of C0 and C1, escape sequences of terminals, marks of direction, invisible characters, a lone
surrogate, and text that means something to HTML, CSV and spreadsheets."""


class Sender(Protocol):
    """One side of a connection. ``owed``: frames that a lie has not sent yet."""

    owed: list[bytes]

    def hang_up(self) -> bytes:
        """Ends the connection after the frames sent so far; gives an empty frame."""


Change = Callable[[Message, Sender], Sequence[bytes]]
"""Takes the honest message and gives the frames that the liar sends in its place."""


def _frame(message: Message, content: bytes) -> bytes:
    return struct.pack(">IB", 1 + len(content), message.code) + content


def _raw(change: Callable[[bytes], bytes]) -> Change:
    """Changes the bytes behind the request id; the length of the frame stays right."""

    def lie(message: Message, sender: Sender) -> Sequence[bytes]:
        content = codec.encode(message)[5:]
        unchanged = 4 if hasattr(message, "request") else 0
        return [_frame(message, content[:unchanged] + change(content[unchanged:]))]

    return lie


def _fields(numbers: int | None = None, text: str | None = None, data: bytes | None = None) -> Change:
    """Puts the same value into all numbers but the request id, into all texts, or into all runs of bytes. A list gets
    at least one element."""

    def changed(value: Any, annotation: Any, is_request: bool) -> Any:
        metadata = getattr(annotation, "__metadata__", None)
        if metadata is not None:
            mark = metadata[0]
            if isinstance(mark, Width):
                return value if numbers is None or is_request else numbers % 256**mark
            if isinstance(mark, Fixed):
                return value
            assert isinstance(mark, Remainder)
            return value if data is None else data
        if get_origin(annotation) is tuple:
            (element,) = [part for part in get_args(annotation) if part is not Ellipsis]
            return tuple(changed(part, element, False) for part in value or (blank(element),))
        if annotation is str:
            return value if text is None else text
        if annotation is bytes:
            return value if data is None else data
        if isinstance(annotation, type) and (annotation is bool or issubclass(annotation, Enum)):
            return value
        return rebuilt(value)

    def rebuilt(value: Any) -> Any:
        hints = get_type_hints(type(value), include_extras=True)
        names = field_names(type(value))
        return type(value)(*(changed(getattr(value, name), hints[name], name == "request") for name in names))

    def lie(message: Message, sender: Sender) -> Sequence[bytes]:
        lied = rebuilt(message)
        if isinstance(message, messages.Welcome | messages.Hello):
            lied = replace(lied, **_proof(message))
        return [codec.encode(lied)]

    return lie


def _proof(message: Any) -> dict[str, Any]:
    """The fields of a handshake that must be right, or else the client ends the connection at once."""
    names = ("mac", "magic", "version", "nonce", "retransformation")
    return {name: getattr(message, name) for name in field_names(type(message)) if name in names}


def blank(annotation: Any) -> Any:
    """The zero, the empty text or the empty record of that type."""
    metadata = getattr(annotation, "__metadata__", None)
    if metadata is not None:
        mark = metadata[0]
        return 0 if isinstance(mark, Width) else bytes(mark.size) if isinstance(mark, Fixed) else b""
    if get_origin(annotation) is tuple:
        return ()
    if annotation in (str, bytes, bool):
        return annotation()
    if issubclass(annotation, Enum):
        return next(iter(annotation))
    hints = get_type_hints(annotation, include_extras=True)
    return annotation(*(blank(hints[name]) for name in field_names(annotation)))


def _other_request(difference: int) -> Change:
    def lie(message: Message, sender: Sender) -> Sequence[bytes]:
        request = getattr(message, "request", None)
        if request is None:
            return _twice(message, sender)
        lie_message: Message = replace(cast(Any, message), request=(request + difference) & 0xFFFFFFFF)
        return [codec.encode(lie_message)]

    return lie


def _twice(message: Message, sender: Sender) -> Sequence[bytes]:
    return [codec.encode(message)] * 2


def _late(message: Message, sender: Sender) -> Sequence[bytes]:
    """The liar sends the message before its next message of another kind."""
    sender.owed.append(codec.encode(message))
    return []


def _other_kind(message: Message, sender: Sender) -> Sequence[bytes]:
    """An answer of another kind to the same request."""
    request = getattr(message, "request", 1)
    other = messages.Pong(request) if isinstance(message, messages.Done) else messages.Done(request, "")
    return [codec.encode(other)]


def _half(message: Message, sender: Sender) -> Sequence[bytes]:
    data = codec.encode(message)
    return [data[: len(data) // 2 + 1], sender.hang_up()]


def _too_long(message: Message, sender: Sender) -> Sequence[bytes]:
    return [b"\xff\xff\xff\xff" + codec.encode(message)[4:]]


def _of_other_side(message: Message) -> Message:
    return messages.Done(1, "") if type(message) in messages.FROM_CLIENT else messages.Restore(1)


LIES: dict[str, Change] = {
    "greatest numbers": _fields(numbers=(1 << 64) - 1),
    "numbers with the highest bit": _fields(numbers=1 << 63 | 1 << 31 | 1 << 15 | 1 << 7),
    "zeros": _fields(numbers=0),
    "hostile texts": _fields(text=HOSTILE, data=HOSTILE.encode("utf-8", "surrogatepass")),
    "empty texts": _fields(text="", data=b""),
    "long texts": _fields(text="A$" * 200_000, data=b"\xca\xfe\xba\xbe" + bytes(400_000)),
    "sent twice": _twice,
    "sent late": _late,
    "answer to no request": _other_request(1_000_000),
    "answer to an old request": _other_request(-1),
    "answer of another kind": _other_kind,
    "one byte missing": _raw(lambda content: content[:-1]),
    "one byte too many": _raw(lambda content: content + b"\0"),
    "first count 2^31": _raw(lambda content: b"\x7f\xff\xff\xff" + content[4:] + bytes(64)),
    "each count 2^31": _raw(lambda content: content.replace(b"\0\0\0\1", b"\x7f\xff\xff\xff")),
    "all bits set": _raw(lambda content: b"\xff" * max(4, len(content))),
    "text that is not UTF-8": _raw(lambda content: b"\0\0\0\2\xc3\x28" * 8),
    "frame of length 0": lambda message, sender: [bytes(4)],
    "frame too long": _too_long,
    "unknown kind": lambda message, sender: [struct.pack(">IB", 5, 0xEE) + bytes(4)],
    "half a frame": _half,
    "message of the other side": lambda message, sender: [codec.encode(_of_other_side(message))],
}


def about(kind: type[Message], change: Change, told: list[Message]) -> Change:
    """Lies in messages of that kind only. ``told`` gets the changed messages."""

    def lie(message: Message, sender: Sender) -> Sequence[bytes]:
        if not isinstance(message, kind):
            owed, sender.owed = sender.owed, []
            return [*owed, codec.encode(message)]
        told.append(message)
        return change(message, sender)

    return lie
