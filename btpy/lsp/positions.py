"""Positions in a text in the form of editors: lines from 0, and code units of an encoding in the line."""

from __future__ import annotations

import re
from bisect import bisect_right

_LINE_END = re.compile(r"\r\n|\r|\n")


class Positions:
    """``encoding``: ``utf-8``, ``utf-16`` or ``utf-32``, as client and server have agreed (LSP 3.17,
    PositionEncodingKind)."""

    def __init__(self, text: str, encoding: str) -> None:
        self._text = text
        self._encoding = encoding
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and units of an offset in code points."""
        line = bisect_right(self._starts, min(offset, len(self._text))) - 1
        return line, self._units(self._text[self._starts[line] : offset])

    def offset(self, line: int, units: int) -> int:
        """The offset in code points; positions after a line become its end, and positions after the text become the end
        of the text.
        """
        if line >= len(self._starts):
            return len(self._text)
        at = self._starts[line]
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self._text)
        while at < end and units > 0 and self._text[at] not in "\r\n":
            units -= self._units(self._text[at])
            at += 1
        return at

    def _units(self, text: str) -> int:
        if self._encoding == "utf-16":
            return len(text) + sum(char > "\uffff" for char in text)
        return len(text.encode("utf-8", "surrogatepass")) if self._encoding == "utf-8" else len(text)
