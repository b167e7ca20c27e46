"""Lines at the bottom of a terminal that are drawn again and again, while everything else scrolls by above them.

The cursor rests where the lines begin. There a terminal keeps it in place when its window is resized, whether it wraps
what is on it anew or cuts it off, so that the lines are always drawn over themselves. What is written in between goes
where they begin, and they follow it, in one write: nothing flickers.
"""

from __future__ import annotations

import contextlib
import os
import select
from collections.abc import Sequence

_ERASE_BELOW = "\x1b[J"
_ERASE_RIGHT = "\x1b[K"
_NEXT_ROW = "\x1b[B"
_SAVE, _RESTORE = "\x1b7", "\x1b8"  # the position of the cursor
_CUT, _WRAP = "\x1b[?7l", "\x1b[?7h"  # what is too wide for a row


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
        """Replaces the lines on the screen. None of them may be wider than ``size``."""
        columns = self.size[0]
        # A terminal that has wrapped rows to another width remembers that they belong together until they are erased.
        before = self._erasing() if columns != self._columns or len(lines) != len(self._drawn) else b"\r"
        self._drawn = tuple(lines)
        self._columns = columns
        self._put(before + self._drawing())

    def clear(self) -> None:
        """The lines go, and the cursor is where the next line of output belongs."""
        if self._drawn:
            self._put(self._erasing())
            self._drawn = ()

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        """As ``os.write``, of whole lines: above those that are drawn, if it is the same terminal. Raises OSError."""
        if not self._drawn or not self._is_mine(descriptor):
            return os.write(descriptor, data)
        _write_all(self._descriptor, b"".join((self._erasing(), data, self._drawing())))
        return len(data)

    def _drawing(self) -> bytes:
        """The control sequences that draw the lines from the cursor on, and put the cursor back. Of lines that were
        made for a larger window, as many as fit: they are made anew in a moment."""
        lines = self._drawn[: self.size[1]]
        rows = "\r\n".join(f"{line}{_ERASE_RIGHT}" for line in lines)
        up = f"\x1b[{len(lines) - 1}A" if len(lines) > 1 else ""
        return f"{_CUT}{rows}{_ERASE_BELOW}{_WRAP}{up}\r".encode("utf-8", "backslashreplace")

    def _erasing(self) -> bytes:
        """The control sequences that erase the rows that are drawn. Row by row: tmux moves into its history what is
        erased from the first row of the screen on."""
        rows = _NEXT_ROW.join([_ERASE_RIGHT] * max(1, len(self._drawn)))
        return f"\r{_SAVE}{rows}{_RESTORE}{_ERASE_BELOW}".encode()

    def _is_mine(self, descriptor: int) -> bool:
        try:
            return os.isatty(descriptor) and os.fstat(descriptor).st_rdev == os.fstat(self._descriptor).st_rdev
        except OSError:
            return False

    def _put(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            _write_all(self._descriptor, data)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            select.select((), (descriptor,), ())
