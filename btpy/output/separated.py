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
from collections.abc import Callable, Sequence
from enum import Enum

from btpy.events.aggregates import MapContent, can_be_merged
from btpy.events.records import Record, Value
from btpy.model.templates import Template
from btpy.output.cells import cell_text
from btpy.output.shapes import (
    Row,
    chosen,
    columns_of_map,
    event_row,
    file_name,
    is_timed,
    map_rows,
    shape_of,
    shapes,
    wall,
)
from btpy.output.stream import Document, Stream
from btpy.output.values import timestamp, visible
from btpy.output.writer import Context, Writer, template_of


class Dialect(Enum):
    CSV = "csv"
    TSV = "tsv"


class SeparatedWriter(Writer):
    """``files``: makes the file of a shape, in a directory; None: there is one file, and one shape is chosen for it.

    Raises UsageError if it is not clear which shape is meant.
    """

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
        self._stream = stream
        self._context = context
        self._dialect = dialect
        self._separator, self._delimited = (",", _quoted) if dialect is Dialect.CSV else ("\t", _escaped)
        self._files = files
        self._safe = safe
        self._single_shape = chosen(context.outline, only, dialect.value) if files is None else None
        pid = None if context.pid is None else str(context.pid)
        self._source = {"host": context.host, "pid": pid} if context.of_hosts else {"pid": pid}
        self._merged = {
            map_.title
            for map_ in context.outline.maps
            if can_be_merged(map_) and not is_timed(map_, context.outline)  # otherwise each target writes its own
        }
        self._streams: dict[tuple[str, tuple[str, ...]], Stream | None] = {}
        self._rows: dict[int, tuple[Stream | None, Callable[[Record], Row]]] = {}
        if self._single_shape is not None:
            self._stream_of(self._single_shape.name, self._single_shape.columns)
        else:
            for shape in shapes(context.outline):
                if not only or shape.names & only:
                    self._stream_of(shape.name, shape.columns)

    def records(self, records: Sequence[Record]) -> None:
        for record in records:
            make_row = self._rows.get(record.template)
            if make_row is None:
                make_row = self._rows[record.template] = self._row(template_of(self._context, record))
            stream, row = make_row
            if stream is not None:
                self._write(stream, row(record), timed=True, source=self._context.several)

    def map(self, content: MapContent, template: Template | None, nanos: int | None) -> None:
        timed = is_timed(content.map, self._context.outline)
        stream = self._stream_of(content.map.title, columns_of_map(content.map, timed=timed))
        if stream is not None:
            source = self._tells_source(content.map.title)
            for row in map_rows(content, template, wall(self._context.clock, nanos), timed=timed):
                self._write(stream, row, timed=timed, source=source)

    def _row(self, template: Template) -> tuple[Stream | None, Callable[[Record], Row]]:
        shape = shape_of(template)
        if shape is None:
            return None, lambda record: ()
        return self._stream_of(*shape), event_row(template, self._context)

    def _stream_of(self, name: str, columns: tuple[str, ...]) -> Stream | None:
        """None: this shape is not selected."""
        if (name, columns) not in self._streams:
            self._streams[name, columns] = self._made(name, columns)
        return self._streams[name, columns]

    def _made(self, name: str, columns: tuple[str, ...]) -> Stream | None:
        if self._files is not None:
            stream = self._stream.beside(file_name(name, self._streams), self._files)
        elif self._single_shape is not None and (name, columns) == (
            self._single_shape.name,
            self._single_shape.columns,
        ):
            stream = self._stream
        else:
            return None
        header = (*self._source, *columns) if self._tells_source(name) else columns
        stream.begin(Document(self._line([*map(self._delimited, header)])))
        return stream

    def _tells_source(self, name: str) -> bool:
        return self._context.several and name not in self._merged

    def _write(self, stream: Stream, row: Row, *, timed: bool, source: bool) -> None:
        text, delimited = self._text, self._delimited
        cells = [str(cell) if type(cell) is int else delimited(text(cell)) for cell in row]
        if timed and isinstance(row[0], int):
            cells[0] = timestamp(row[0])
        stream.write(self._line([*map(delimited, self._source.values()), *cells] if source else cells))

    def _line(self, cells: Sequence[str]) -> str:
        return self._separator.join(cells) + "\n"

    def _text(self, value: Value) -> str | None:
        """The text of a value that is no integer; None: null. In ``csv``, control characters for terminals are escaped,
        except line ends and tabs. ``tsv`` escapes characters when it writes a cell.
        """
        text = value if type(value) is str else cell_text(value, self._context.stacks)
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
