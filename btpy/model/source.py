"""Source text and places in it."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass as dataclass_with_attributes
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from btpy.dataclass import dataclass


@dataclass_with_attributes(frozen=True)
class Source:
    """One script: ``name``: the name in messages (a path, ``<command line>``, ``<repl:7>``).

    ``base``: the number of code points in the sources before it, if a program has several. ``path``: the file, if there
        is one.
    """

    name: str
    text: str = field(repr=False)
    base: int = field(default=0, repr=False)
    path: Path | None = field(default=None, repr=False)

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(at + 1 for at, char in enumerate(self.text) if char == "\n")]

    @property
    def digest(self) -> str:
        """SHA-256 of the text, in hexadecimal digits."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()

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
        """The span as one non-negative ``int`` that a handler can carry: 20 bits of start (counted through all sources
        of the program), 11 bits of length (a larger length is cut)."""
        return (self.source.base + self.start) << 11 | min(self.end - self.start, 0x7FF)

    @staticmethod
    def unpack(sources: Sequence[Source], packed: int) -> Span:
        """The place of a packed span, limited to the text. ``sources`` are in the order of their bases."""
        place = packed >> 11
        source = next((source for source in reversed(sources) if source.base <= place), sources[0])
        start = min(place - source.base, len(source.text))
        return Span(source, start, min(start + (packed & 0x7FF), len(source.text)))

    def to(self, other: Span) -> Span:
        return Span(self.source, self.start, other.end)


MAX_FILE_BYTES = 1 << 20
"""Longest file of a script: a place in the text is a packed :class:`Span`, which has 20 bits for its start."""


_BEGINNINGS = (
    (
        b"\xca\xfe\xba\xbe",
        "a class file, not a script: name the class in a probe, and give its directory with --cp DIRECTORY",
    ),
    (
        b"PK\x03\x04",
        "a jar or zip file, not a script: name its classes in a probe, and give the file with --cp FILE",
    ),
    (b"\x7fELF", "a program, not a script"),
    (b"\x89BTZ", "a recording, not a script: btpy replay FILE shows it"),
    (b"\x1f\x8b", "a compressed file, not a script"),
    (b"\xff\xfe", "UTF-16: save it as UTF-8"),
    (b"\xfe\xff", "UTF-16: save it as UTF-8"),
)


def read_text(file: BinaryIO) -> str:
    """The text of a script file. Raises OSError, and ValueError with the reason if the file is not a script."""
    data = file.read(MAX_FILE_BYTES + 1)
    for beginning, kind in _BEGINNINGS:
        if data.startswith(beginning):
            raise ValueError(kind)
    if len(data) > MAX_FILE_BYTES:
        raise ValueError(f"longer than {MAX_FILE_BYTES} bytes: split it into libraries and import them")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        place = f"byte 0x{data[cause.start]:02x} at {cause.start} is not UTF-8"
        raise ValueError(f"not text: {place}; if it is a script, save it as UTF-8") from cause
    if "\0" in text:
        raise ValueError(f"not text: it has a zero byte at {text.index(chr(0))}")
    return text if "\n" in text else text.replace("\r", "\n")
