"""Frames that an attacker could send: right, nearly right and wrong messages of the protocol, chosen by a seed."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any, get_args, get_origin, get_type_hints

from btpy.wire import codec
from btpy.wire.messages import Fixed, Message, Remainder, Width, field_names

_NUMBERS = (0, 1, 2, 7, 100, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 63, (1 << 64) - 1)
_TEXTS = ("", "a", "Subject", "java.lang.String", "**", "(a+)+$", "[", "\ud800", "é\U0001f600", "\x1b[2J", "x" * 300)


class Frames:
    """A sequence that depends on the seed alone. ``kinds``: the types of the messages."""

    def __init__(self, seed: int, kinds: Sequence[type[Message]]) -> None:
        self._random = random.Random(seed)
        self._kinds = kinds
        self._hints = {kind: get_type_hints(kind, include_extras=True) for kind in kinds}

    def frame(self) -> bytes:
        data = codec.encode(self.message())
        choice = self._random.random()
        if choice < 0.4:
            return data
        if choice < 0.5:
            return self._random.randbytes(self._random.randrange(1, 64))
        frame = bytearray(data)
        if choice < 0.75:
            for _ in range(self._random.randrange(1, 5)):
                frame[self._random.randrange(4, len(frame))] = self._random.randrange(256)
            return bytes(frame)
        if choice < 0.85:
            beginning = frame[4 : self._random.randrange(5, len(frame) + 1)]
            return struct.pack(">I", len(beginning)) + beginning
        if choice < 0.95:
            longer = frame[4:] + self._random.randbytes(self._random.randrange(1, 9))
            return struct.pack(">I", len(longer)) + longer
        return struct.pack(">I", self._random.choice(_NUMBERS) & 0xFFFFFFFF) + frame[4:]

    def message(self) -> Message:
        kind = self._random.choice(self._kinds)
        message: Message = self._built(kind)
        return message

    def payloads(self) -> Iterator[tuple[int, bytes]]:
        """Type and payload of frames whose length is right."""
        while True:
            frame = self.frame()
            if len(frame) > 4:
                yield frame[4], frame[5:]

    def _built(self, kind: Any) -> Any:
        hints = self._hints.get(kind) or get_type_hints(kind, include_extras=True)
        self._hints[kind] = hints
        return kind(*(self._value(hints[name]) for name in field_names(kind)))

    def _value(self, annotation: Any) -> Any:
        choose = self._random
        metadata = getattr(annotation, "__metadata__", None)
        if metadata is not None:
            mark = metadata[0]
            if isinstance(mark, Width):
                return choose.choice(_NUMBERS) % 256**mark
            if isinstance(mark, Fixed):
                return choose.randbytes(mark.size)
            assert isinstance(mark, Remainder)
            return choose.randbytes(choose.randrange(64))
        if get_origin(annotation) is tuple:
            return tuple(self._value(get_args(annotation)[0]) for _ in range(choose.randrange(3)))
        if annotation is str:
            return choose.choice(_TEXTS)
        if annotation is bytes:
            return choose.randbytes(choose.randrange(40))
        if annotation is bool:
            return choose.random() < 0.5
        if issubclass(annotation, Enum):
            return choose.choice(list(annotation))
        return self._built(annotation)
