"""Stack traces, interned: the agent sends each once (``STACKS``) and events refer to it by id."""

from __future__ import annotations

from typing import Final, NamedTuple

from btpy.errors import ProtocolError
from btpy.wire import messages


class Frame(NamedTuple):
    """``line`` 0: not known (no line numbers, a native method)."""

    class_name: str
    method: str
    line: int

    def __str__(self) -> str:
        if self.line > 0:
            return f"{self.class_name}.{self.method}:{self.line}"
        return f"{self.class_name}.{self.method}"


MAX_BYTES: Final = 256 * 1024 * 1024
"""The approximate limit of memory for the definitions of one session."""

_STACK_BYTES, _FRAME_BYTES, _REFERENCE_BYTES = 256, 320, 8


class StackTable:
    """The stacks of one session. A frame that many stacks share is stored once. ``capacity`` (stacks) and MAX_BYTES
    limit the memory that a target can make the client use.
    """

    def __init__(self, capacity: int = 1 << 20) -> None:
        self._stacks: dict[int, tuple[Frame, ...]] = {}
        self._order: list[int] = []
        self._frames: dict[Frame, Frame] = {}
        self._interned: dict[tuple[Frame, ...], int] = {}
        self._capacity = capacity
        self._bytes = 0

    def add(self, stack: messages.Stack) -> None:
        """Raises ProtocolError when there are more than ``capacity``, when they take more than MAX_BYTES, or when the
        id is 0, which means "no stack"."""
        if stack.id == 0:
            raise ProtocolError("a definition of stack 0")
        if len(self._stacks) >= self._capacity and stack.id not in self._stacks:
            raise ProtocolError(f"more than {self._capacity} stacks")
        # StackTraceElement has −1 for unknown and −2 for native; JVMS §4.7.12 gives a line number two bytes.
        self._stacks[stack.id] = tuple(
            self._shared(Frame(frame.class_name, frame.method, frame.line if frame.line <= 0xFFFF else 0))
            for frame in stack.frames
        )
        self._order.append(stack.id)
        self._bytes += _STACK_BYTES + _REFERENCE_BYTES * len(stack.frames)
        if self._bytes > MAX_BYTES:
            raise ProtocolError(f"more than {MAX_BYTES >> 20} MiB of stacks")

    def _shared(self, frame: Frame) -> Frame:
        shared = self._frames.setdefault(frame, frame)
        if shared is frame:
            self._bytes += _FRAME_BYTES + len(frame.class_name) + len(frame.method)
        return shared

    def intern(self, frames: tuple[Frame, ...]) -> int:
        """A new id for a stack of another session, for tables that combine sessions."""
        number = self._interned.get(frames)
        if number is None:
            number = self._interned[frames] = len(self._interned) + 1
            self._stacks[number] = frames
        return number

    def __len__(self) -> int:
        """The number of definitions so far."""
        return len(self._order)

    def since(self, count: int) -> list[tuple[int, tuple[Frame, ...]]]:
        """Id and frames of the definitions after the first ``count``."""
        return [(id_, self._stacks[id_]) for id_ in self._order[count:]]

    def frames(self, id_: int) -> tuple[Frame, ...] | None:
        """The frames, innermost first; None when the stack was not recorded."""
        return self._stacks.get(id_)
