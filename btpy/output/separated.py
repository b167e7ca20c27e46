r"""The ``csv`` and ``tsv`` formats: a header, then a line for each row; a file has one shape
(:mod:`btpy.output.shapes`).

``csv`` is RFC 4180 with ``\n`` at the end of lines: cells with a comma, a quote or a line end are quoted, null is an
empty cell and an empty string ``""``. In ``tsv`` a backslash always begins an escape: null, and only null, is ``\N``; a
tab, a line feed, a carriage return and a backslash are ``\t``, ``\n``, ``\r`` and ``\\``; any other control character
for terminals is ``\e``, ``\xHH``, ``\uHHHH`` or ``\UHHHHHHHH``. So every text can be read back exactly.

With several targets, ``pid`` is the first column, and on several hosts ``host`` stands before it. They are null for
rows of all targets together. Objects, arrays and maps are JSON; a stack is its frames, innermost first, with ``;``
between. Times are ISO 8601, UTC; durations and sizes are numbers of nanoseconds and of bytes.

``safe``: for spreadsheets, which execute a cell that begins with ``=``, ``+``, ``-`` or ``@``. Such a text from the
    traced program gets an apostrophe before it, so it can no longer be read back exactly. Numbers stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum

from btpy.events.aggregates import can_be_merged
from btpy.events.records import Value
from btpy.events.stacks import StackTable
from btpy.model.maps import Map
from btpy.model.templates import Template
from btpy.output.cells import cell_text
from btpy.output.shape_writer import ShapeWriter
from btpy.output.shapes import Row, is_timed
from btpy.output.stream import Document, Stream
from btpy.output.values import timestamp, visible
from btpy.output.writer import Context


class Dialect(Enum):
    CSV = "csv"
    TSV = "tsv"


class SeparatedWriter(ShapeWriter["_Rows"]):
    def __init__(
        self,
        stream: Stream,
        context: Context,
        dialect: Dialect,
        only: frozenset[str],
        files: Callable[[str], Stream] | None,
        *,
        safe: bool = False,
    ) -> None:
        super().__init__(stream, context, dialect.value, only, files)
        self._dialect = dialect
        self._safe = safe
        pid = None if context.pid is None else str(context.pid)
        self._source = {"host": context.host, "pid": pid} if context.of_hosts else {"pid": pid}
        self._begin(only)

    def _made(self, stream: Stream, columns: tuple[str, ...], of: Template | Map) -> _Rows:
        # One table shows the merged content of a map. Otherwise each target writes its own rows.
        is_merged = isinstance(of, Map) and can_be_merged(of) and not is_timed(of, self._context.outline)
        source = self._source if self._context.several and not is_merged else {}
        return _Rows(stream, self._context.stacks, self._dialect, source, columns, safe=self._safe)


class _Rows:
    """The lines of one shape. ``source``: the first columns with their cells, which name the target."""

    def __init__(
        self,
        stream: Stream,
        stacks: StackTable,
        dialect: Dialect,
        source: Mapping[str, str | None],
        columns: Sequence[str],
        *,
        safe: bool,
    ) -> None:
        self._stream = stream
        self._stacks = stacks
        self._dialect = dialect
        self._separator, self._delimited = (",", _quoted) if dialect is Dialect.CSV else ("\t", _escaped)
        self._source = [*map(self._delimited, source.values())]
        self._timed = columns[0] == "ts"
        self._safe = safe
        stream.begin(Document(self._line([*map(self._delimited, (*source, *columns))])))

    def add(self, row: Row) -> None:
        text, delimited = self._text, self._delimited
        cells = [str(cell) if type(cell) is int else delimited(text(cell)) for cell in row]
        if self._timed and isinstance(row[0], int):
            cells[0] = timestamp(row[0])
        self._stream.write(self._line([*self._source, *cells]))

    def _line(self, cells: Sequence[str]) -> str:
        return self._separator.join(cells) + "\n"

    def _text(self, value: Value) -> str | None:
        """The text of a value that is no integer; None: null. In ``csv``, control characters for terminals are escaped,
        except line ends and tabs. ``tsv`` escapes characters when it writes a cell.
        """
        text = value if type(value) is str else cell_text(value, self._stacks)
        if self._safe and text and text[0] in _FORMULA and not isinstance(value, int | float):
            text = f"'{text}"
        if text is None or text.isprintable() or self._dialect is Dialect.TSV:
            return text
        return "".join([char if char in "\n\r\t" else visible(char) for char in text])


_FORMULA = frozenset("=+-@\t\r\n")
"""A spreadsheet starts a formula at these characters, or ignores them before the start of one."""

_SPECIAL = re.compile(r'[,"\n\r]').search


def _quoted(cell: str | None) -> str:
    if cell is None:
        return ""
    if not cell or _SPECIAL(cell) or cell[0] == " " or cell[-1] == " ":
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _escaped(cell: str | None) -> str:
    if cell is None:
        return "\\N"
    if "\\" in cell:
        return "\\\\".join([visible(part) for part in cell.split("\\")])
    return visible(cell)
