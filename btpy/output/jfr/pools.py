"""The constants of one chunk: texts, threads and stack traces, to which its events refer by keys."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from btpy.events.stacks import Frame
from btpy.output.jfr import encoding
from btpy.output.jfr.metadata import CHECKPOINT, TYPES

_LONGEST_SHARED = 256  # characters

UNKNOWN_PARAMETERS = "()V"
"""The descriptor of all methods, because a frame has no descriptor, and readers need a descriptor."""

UNKNOWN_FRAME_TYPE = "Unknown"


C = TypeVar("C", bound=Hashable)


class _Pool(dict[C, bytes]):
    """The keys of the constants of one type. A constant that is looked up for the first time is added. Keys begin with
    1, because 0 is null. ``content``: makes the bytes of a constant. It may add constants to other pools."""

    def __init__(self, type_: str, content: Callable[[C], bytes]) -> None:
        self._type = type_
        self._content = content
        self._entries: list[bytes] = []

    def __missing__(self, constant: C) -> bytes:
        content = self._content(constant)
        key = self[constant] = encoding.number(len(self) + 1)
        self._entries.append(key + content)
        return key

    def encoded(self) -> bytes:
        return encoding.number(TYPES[self._type]) + encoding.number(len(self)) + b"".join(self._entries)


class Pools:
    no_key = encoding.number(0)
    """The key of a constant that is null."""

    def __init__(self) -> None:
        self._texts = _Pool("java.lang.String", encoding.text)
        self._symbols = _Pool("jdk.types.Symbol", encoding.text)
        self._frame_types = _Pool("jdk.types.FrameType", encoding.text)
        self._threads = _Pool("java.lang.Thread", self._thread)
        self._classes = _Pool("java.lang.Class", self._class)
        self._methods = _Pool("jdk.types.Method", self._method)
        self._stacks = _Pool("jdk.types.StackTrace", self._stack)
        # The index of the bytecode is not known.
        self._end_of_frame = encoding.number(0) + self._frame_types[UNKNOWN_FRAME_TYPE]

    def text(self, text: str) -> bytes:
        """The content of a field. Texts that are not long are written once for all fields."""
        if not text or len(text) > _LONGEST_SHARED:
            return encoding.text(text)
        return encoding.SHARED_TEXT + self._texts[text]

    def thread(self, tid: int, name: str) -> bytes:
        """The key of a thread. A thread that has another name later is another constant."""
        return self._threads[tid, name]

    def stack(self, frames: Sequence[Frame] | None) -> bytes:
        """The key of a stack trace; None: it was not recorded."""
        return self.no_key if frames is None else self._stacks[tuple(frames)]

    def encoded(self, ticks: int) -> bytes:
        """The event with all constants. ``ticks``: its time."""
        pools: tuple[_Pool[Any], ...] = (
            *(self._texts, self._symbols, self._frame_types, self._threads),
            *(self._classes, self._methods, self._stacks),
        )
        used = [pool for pool in pools if pool]
        head = encoding.number(ticks) + encoding.number(0)  # its duration
        # There is no earlier event with constants in the chunk. The event has all pools, not only a part.
        head += encoding.number(0) + encoding.number(0) + encoding.number(len(used))
        return encoding.event(CHECKPOINT, head + b"".join([pool.encoded() for pool in used]))

    def _thread(self, thread: tuple[int, str]) -> bytes:
        tid, name = encoding.number(thread[0]), self.text(thread[1])
        return name + tid + name + tid

    def _class(self, name: str) -> bytes:
        return self._symbols[name.replace(".", "/")] + encoding.number(0)

    def _method(self, method: tuple[str, str]) -> bytes:
        class_name, name = method
        names = self._classes[class_name] + self._symbols[name] + self._symbols[UNKNOWN_PARAMETERS]
        return names + encoding.number(0) + encoding.boolean(False)

    def _stack(self, frames: tuple[Frame, ...]) -> bytes:
        parts = [encoding.boolean(False), encoding.number(len(frames))]
        for frame in frames:
            method = self._methods[frame.class_name, frame.method]
            parts += method, encoding.integer(frame.line), self._end_of_frame
        return b"".join(parts)
