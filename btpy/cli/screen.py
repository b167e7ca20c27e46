"""Lines at the bottom of a terminal that are redrawn, while other output scrolls above them.

The cursor stays where the lines begin. A terminal keeps the cursor at this position when its window is resized, whether
it rewraps or cuts rows. So btpy always draws new lines over the old lines. Other output is written at this position,
followed by the lines, in one write, so nothing flickers.
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
_CUT, _WRAP = "\x1b[?7l", "\x1b[?7h"  # a line that is too wide for a row


class Screen:
    """The terminal of a descriptor. Drawing never raises: other code notices a closed terminal."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: tuple[str, ...] = ()
        self._columns = 0

    @staticmethod
    def can_be(descriptor: int) -> bool:
        """Whether the output is a terminal that can move its cursor."""
        return os.isatty(descriptor) and os.environ.get("TERM", "dumb") not in ("", "dumb")

    @property
    def in_foreground(self) -> bool:
        """Whether btpy may draw on the terminal now. A background job only writes to it."""
        try:
            return os.tcgetpgrp(self._descriptor) == os.getpgrp()
        except OSError:  # it is not the terminal that controls this process, so no shell shares it
            return True

    @property
    def size(self) -> tuple[int, int]:
        """The usable columns and lines. One column less than the terminal has, because terminals differ in the last
        column.
        """
        try:
            size = os.get_terminal_size(self._descriptor)
        except OSError:
            return 79, 24
        return max(1, size.columns - 1), max(1, size.lines)

    def draw(self, lines: Sequence[str]) -> None:
        """Replaces the lines on the screen. No line may be wider than ``size``."""
        columns = self.size[0]
        # A terminal that has wrapped rows to another width remembers that they belong together until they are erased.
        before = self._erasing() if columns != self._columns or len(lines) != len(self._lines) else b"\r"
        self._lines = tuple(lines)
        self._columns = columns
        self._put(before + self._drawing())

    def clear(self) -> None:
        """Erases the lines. The cursor is then at the position for the next line of output."""
        if self._lines:
            self._put(self._erasing())
            self._lines = ()

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        """Like ``os.write``, for whole lines. On the same terminal they appear above the drawn lines. Raises
        OSError.
        """
        if not self._lines or not self._is_mine(descriptor):
            return os.write(descriptor, data)
        _write_all(self._descriptor, b"".join((self._erasing(), data, self._drawing())))
        return len(data)

    def _drawing(self) -> bytes:
        """The control sequences that draw the lines from the cursor on, and put the cursor back. If the lines were made
        for a larger window, it draws only the lines that fit; the caller soon makes them again.
        """
        lines = self._lines[: self.size[1]]
        rows = "\r\n".join(f"{line}{_ERASE_RIGHT}" for line in lines)
        up = f"\x1b[{len(lines) - 1}A" if len(lines) > 1 else ""
        return f"{_CUT}{rows}{_ERASE_BELOW}{_WRAP}{up}\r".encode("utf-8", "backslashreplace")

    def _erasing(self) -> bytes:
        """The control sequences that erase the rows that are drawn. The sequences erase row by row, because tmux moves
        rows to its history when everything from the first row on is erased.
        """
        rows = _NEXT_ROW.join([_ERASE_RIGHT] * max(1, len(self._lines)))
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
