"""Lines at the bottom of a terminal that are drawn again and again, while everything else scrolls by above them.

The cursor rests at the end of the last line. What is written in between goes where the lines begin, and they follow it,
in one write: nothing flickers, and nothing is ever drawn over. The terminal keeps what has scrolled by, as always.
"""

from __future__ import annotations

import contextlib
import os
import select
from collections.abc import Sequence

from btpy.output.columns import columns_of

_ERASE_BELOW = "\x1b[J"
_ERASE_RIGHT = "\x1b[K"


class Screen:
    """The terminal of a descriptor. Drawing never raises: a terminal that is gone is noticed elsewhere."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._drawn: tuple[str, ...] = ()
        self._columns = 0

    @staticmethod
    def can_be(descriptor: int) -> bool:
        """Whether it is a terminal that can move its cursor."""
        return os.isatty(descriptor) and os.environ.get("TERM", "dumb") not in ("", "dumb")

    @property
    def in_foreground(self) -> bool:
        """Whether the terminal is ours to draw on now: a job in the background only writes to it."""
        try:
            return os.tcgetpgrp(self._descriptor) == os.getpgrp()
        except OSError:  # it is not the terminal that controls this process, so no shell shares it
            return True

    @property
    def size(self) -> tuple[int, int]:
        """Columns that may be used, one less than there are (in the last one, terminals differ), and lines."""
        try:
            size = os.get_terminal_size(self._descriptor)
        except OSError:
            return 79, 24
        return max(1, size.columns - 1), max(1, size.lines)

    def draw(self, lines: Sequence[str]) -> None:
        """In place of those that are there. None of them may be wider than ``size``."""
        body = "\r\n".join(f"{line}{_ERASE_RIGHT}" for line in lines)
        columns = self.size[0]
        # A terminal that has wrapped lines to another width keeps that in mind until they are erased.
        clear = _ERASE_BELOW if columns != self._columns else ""
        self._put(f"{self._home()}{clear}{body}{_ERASE_BELOW}")
        self._drawn = tuple(lines)
        self._columns = columns

    def clear(self) -> None:
        if self._drawn:
            self._put(self._home() + _ERASE_BELOW)
            self._drawn = ()

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        """As ``os.write``, of whole lines: above those that are drawn, if it is the same terminal. Raises OSError."""
        if not self._drawn or not self._is_mine(descriptor):
            return os.write(descriptor, data)
        before = f"{self._home()}{_ERASE_BELOW}".encode()
        after = "\r\n".join(self._drawn).encode("utf-8", "backslashreplace")
        _write_all(self._descriptor, b"".join((before, data, after)))
        return len(data)

    def _is_mine(self, descriptor: int) -> bool:
        try:
            return os.isatty(descriptor) and os.fstat(descriptor).st_rdev == os.fstat(self._descriptor).st_rdev
        except OSError:
            return False

    def _home(self) -> str:
        """To the beginning of the first line, wherever the terminal has put it if it is narrower by now."""
        if not self._drawn:
            return "\r"
        columns = self.size[0] + 1
        rows = sum(max(1, -(-columns_of(line) // columns)) for line in self._drawn)
        return f"\r\x1b[{rows - 1}A" if rows > 1 else "\r"

    def _put(self, text: str) -> None:
        with contextlib.suppress(OSError):
            _write_all(self._descriptor, text.encode("utf-8", "backslashreplace"))


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            select.select((), (descriptor,), ())
