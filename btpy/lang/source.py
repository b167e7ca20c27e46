"""Source text and places in it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class Source:
    """One script: ``name`` is what messages print (a path, ``<command line>``, ``<repl:7>``)."""

    name: str
    text: str = field(repr=False)

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(at + 1 for at, char in enumerate(self.text) if char == "\n")]

    def position(self, offset: int) -> tuple[int, int]:
        """1-based line and column (code points) of an offset."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a 1-based line, without its end."""
        start = self._line_starts[number - 1]
        end = self._line_starts[number] - 1 if number < len(self._line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r")


@dataclass(frozen=True, slots=True)
class Span:
    """Offsets ``start`` (inclusive) to ``end`` (exclusive) in code points of ``source``."""

    source: Source = field(repr=False)
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    @property
    def packed(self) -> int:
        """The span as one non-negative ``int`` that a handler can carry: 20 bits of start, 11 of length (cut)."""
        return self.start << 11 | min(self.end - self.start, 0x7FF)

    @staticmethod
    def unpack(source: Source, packed: int) -> Span:
        start = packed >> 11
        return Span(source, start, start + (packed & 0x7FF))

    def to(self, other: Span) -> Span:
        return Span(self.source, self.start, other.end)
