"""The meaning of the line numbers of a class: its SourceDebugExtension (JVMS §4.7.11), a source map (JSR 45).

The line numbers belong to the file that the compiler read.  For a JSP, this file is generated Java code.  Kotlin gives
inlined code line numbers after the end of the file.  The map has the origin of these lines::

    SMAP             then the file that was read, and the default stratum (Kotlin, JSP)
    *S stratum       begins a section
    *F               files: ``id name``, or ``+ id name`` and a path on the next line
    *L               ``line#file,times:number,each``: ``times`` consecutive lines with ``each`` line numbers
    *E               the end

Rows are not expanded, because their counts come from another process.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from btpy.classfile import mutf8
from btpy.classfile.reader import ClassFile
from btpy.errors import ClassFileError

_ROW: Final = re.compile(r"(\d{1,9})(?:#(\d{1,9}))?(?:,(\d{1,9}))?:(\d{1,9})(?:,(\d{1,9}))?", re.ASCII)
_FILE: Final = re.compile(r"(?:\+ )?(\d{1,9}) (.+)", re.ASCII)


class Origin(NamedTuple):
    """A line of a source file. The file has a name, but no path."""

    file: str
    line: int


class _Row(NamedTuple):
    file: str
    first: int
    times: int
    number: int
    each: int


class SourceMap:
    """``source``: the file to which the line numbers belong. ``files``: the original files."""

    def __init__(self, source: str, rows: tuple[_Row, ...]) -> None:
        self.source = source
        self.files = frozenset(row.file for row in rows)
        self._rows = rows

    def origin(self, number: int) -> Origin | None:
        """The origin of a line number of the class; None if it is a line of the source itself, or unknown."""
        for row in self._rows:
            at = number - row.number
            if 0 <= at < row.times * row.each:
                place = Origin(row.file, row.first + at // row.each)
                return None if place == (self.source, number) else place
        return None

    def numbers(self, lines: range, among: Iterable[int]) -> list[int]:
        """The line numbers in ``among`` that come from ``lines`` of the source. If the map has no lines of the source,
        the source is generated; then ``lines`` are lines of any original file.
        """
        is_named = self.source in self.files
        entries = []
        for number in among:
            origin = self.origin(number)
            if origin is not None and origin.line in lines and (origin.file == self.source or not is_named):
                entries.append(number)
        return entries


def source_map(file: ClassFile) -> SourceMap | None:
    """The source map of a class; None if it has no readable map."""
    attribute = file.attribute("SourceDebugExtension")
    if attribute is None:
        return None
    try:
        return parse(mutf8.decode(attribute.content), file.source_file or "")
    except ClassFileError:
        return None


def parse(text: str, source: str) -> SourceMap | None:
    """The section of the stratum. Unreadable lines are skipped."""
    lines = [line.strip() for line in re.split(r"\r\n?|\n", text)]
    if len(lines) < 4 or lines[0] != "SMAP":
        return None
    names: dict[int, str] = {}
    rows: list[_Row] = []
    stratum = section = ""
    file = 0
    for line in lines[3:]:
        if line.startswith("*"):
            section = line[:2]
            stratum = line[2:].strip() if section == "*S" else stratum
            file = 0
        elif stratum != lines[2]:
            continue
        elif section == "*F" and (file_line := _FILE.fullmatch(line)):
            names[int(file_line[1])] = file_line[2].rpartition("/")[2]
        elif section == "*L" and (row := _ROW.fullmatch(line)):
            file = int(row[2] or file)
            if file in names:
                rows.append(_Row(names[file], int(row[1]), int(row[3] or 1), int(row[4]), int(row[5] or 1)))
    return SourceMap(source or lines[1], tuple(rows)) if rows else None
