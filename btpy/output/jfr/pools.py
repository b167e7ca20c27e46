"""The constants of one chunk: texts, threads and stack traces, to which its events refer by keys."""

from __future__ import annotations

from collections.abc import Sequence

from btpy.events.stacks import Frame
from btpy.output.jfr import encoding
from btpy.output.jfr.metadata import CHECKPOINT, TYPES

_LONGEST_SHARED = 256  # characters

UNKNOWN_PARAMETERS = "()V"
"""The descriptor of all methods, because a frame has no descriptor, and readers need a descriptor."""

UNKNOWN_FRAME_TYPE = "Unknown"


class _Pool:
    """The constants of one type. Keys begin with 1, because 0 is null."""

    def __init__(self) -> None:
        self.keys: dict[object, bytes] = {}
        self.entries: list[bytes] = []

    def add(self, constant: object, content: bytes) -> bytes:
        """Adds a constant that the pool does not have yet, and returns its key."""
        key = self.keys[constant] = encoding.number(len(self.entries) + 1)
        self.entries.append(key + content)
        return key

    def encoded(self, name: str) -> bytes:
        return encoding.number(TYPES[name]) + encoding.number(len(self.entries)) + b"".join(self.entries)


class Pools:
    no_key = encoding.number(0)
    """The key of a constant that is null."""

    def __init__(self) -> None:
        self._pools = {
            name: _Pool()
            for name in (
                "java.lang.String",
                "jdk.types.Symbol",
                "jdk.types.FrameType",
                "java.lang.Thread",
                "java.lang.Class",
                "jdk.types.Method",
                "jdk.types.StackTrace",
            )
        }
        self._texts = self._pools["java.lang.String"]
        self._threads = self._pools["java.lang.Thread"]
        self._stacks = self._pools["jdk.types.StackTrace"]
        frame_type = self._pools["jdk.types.FrameType"].add(None, encoding.text(UNKNOWN_FRAME_TYPE))
        self._end_of_frame = encoding.number(0) + frame_type  # the index of the bytecode is not known

    def text(self, text: str) -> bytes:
        """The content of a field. Texts that are not long are written once for all fields."""
        if not text or len(text) > _LONGEST_SHARED:
            return encoding.text(text)
        texts = self._texts
        key = texts.keys.get(text)
        if key is None:
            key = texts.add(text, encoding.text(text))
        return encoding.SHARED_TEXT + key

    def thread(self, tid: int, name: str) -> bytes:
        """The key of a thread. A thread that has another name later is another constant."""
        key = self._threads.keys.get((tid, name))
        if key is None:
            encoded = self.text(name)
            key = self._threads.add((tid, name), encoded + encoding.number(tid) + encoded + encoding.number(tid))
        return key

    def stack(self, frames: Sequence[Frame] | None) -> bytes:
        """The key of a stack trace; None: it was not recorded."""
        if frames is None:
            return self.no_key
        frames = tuple(frames)
        key = self._stacks.keys.get(frames)
        if key is None:
            parts = [encoding.boolean(False), encoding.number(len(frames))]
            for frame in frames:
                parts += self._method(frame), encoding.integer(frame.line), self._end_of_frame
            key = self._stacks.add(frames, b"".join(parts))
        return key

    def encoded(self, ticks: int) -> bytes:
        """The event with all constants. ``ticks``: its time."""
        used = {name: pool for name, pool in self._pools.items() if pool.entries}
        head = encoding.number(ticks) + encoding.number(0)  # its duration
        # There is no earlier event with constants in the chunk. The event has all pools, not only a part.
        head += encoding.number(0) + encoding.number(0) + encoding.number(len(used))
        return encoding.event(CHECKPOINT, head + b"".join([pool.encoded(name) for name, pool in used.items()]))

    def _method(self, frame: Frame) -> bytes:
        pool = self._pools["jdk.types.Method"]
        method = frame.class_name, frame.method
        key = pool.keys.get(method)
        if key is None:
            names = self._class(frame.class_name) + self._symbol(frame.method) + self._symbol(UNKNOWN_PARAMETERS)
            key = pool.add(method, names + encoding.number(0) + encoding.boolean(False))
        return key

    def _class(self, name: str) -> bytes:
        pool = self._pools["java.lang.Class"]
        key = pool.keys.get(name)
        return pool.add(name, self._symbol(name.replace(".", "/")) + encoding.number(0)) if key is None else key

    def _symbol(self, text: str) -> bytes:
        pool = self._pools["jdk.types.Symbol"]
        key = pool.keys.get(text)
        return pool.add(text, encoding.text(text)) if key is None else key
