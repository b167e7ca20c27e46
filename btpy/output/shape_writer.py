"""The common part of the formats that have columns: the rows of each shape, and the file into which they go."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from btpy.events.aggregates import MapContent
from btpy.events.records import Record
from btpy.model.maps import Map
from btpy.model.templates import Template
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
from btpy.output.stream import Stream
from btpy.output.writer import Context, PerTemplate, Writer


class Rows(Protocol):
    """The file of a shape."""

    def add(self, row: Row) -> None: ...


R = TypeVar("R", bound=Rows)


class ShapeWriter(Writer, ABC, Generic[R]):
    """``files``: makes the file of a shape, in a directory; None: there is one file, and one shape is chosen for it.

    Raises UsageError if it is not clear which shape is meant.
    """

    def __init__(
        self,
        stream: Stream,
        context: Context,
        format_: str,
        only: frozenset[str],
        files: Callable[[str], Stream] | None,
    ) -> None:
        self._stream = stream
        self._context = context
        self._files = files
        self._single_shape = None
        if files is None:
            shape = chosen(context.outline, only, format_)
            self._single_shape = shape.name, shape.columns
        self._tables: dict[tuple[str, tuple[str, ...]], R | None] = {}
        self._rows = PerTemplate(context, self._of_template)

    @abstractmethod
    def _made(self, stream: Stream, columns: tuple[str, ...], of: Template | Map) -> R:
        """Begins the file of a shape. ``of``: a template or the map of the shape."""

    def records(self, records: Sequence[Record]) -> None:
        for record in records:
            table, row = self._rows[record.template]
            if table is not None:
                table.add(row(record))

    def map(self, content: MapContent, template: Template | None, nanos: int | None) -> None:
        table = self._of_map(content.map)
        if table is not None:
            timed = is_timed(content.map, self._context.outline)
            for row in map_rows(content, template, wall(self._context.clock, nanos), timed=timed):
                table.add(row)

    def _begin(self, only: frozenset[str]) -> None:
        """Begins the files of the shapes that ``only`` selects, so that a shape without rows has a file, too. Empty:
        of all shapes."""
        outline = self._context.outline
        wanted = {(shape.name, shape.columns) for shape in shapes(outline) if not only or shape.names & only}
        for template in outline.templates:
            if shape_of(template) in wanted:
                self._of_template(template)
        for map_ in outline.maps:
            if not only or map_.title in only:
                self._of_map(map_)

    def _of_template(self, template: Template) -> tuple[R | None, Callable[[Record], Row]]:
        shape = shape_of(template)
        if shape is None:
            return None, lambda record: ()
        return self._table(*shape, template), event_row(template, self._context)

    def _of_map(self, map_: Map) -> R | None:
        columns = columns_of_map(map_, timed=is_timed(map_, self._context.outline))
        return self._table(map_.title, columns, map_)

    def _table(self, name: str, columns: tuple[str, ...], of: Template | Map) -> R | None:
        """None: this shape is not selected."""
        shape = name, columns
        if shape not in self._tables:
            if self._files is not None:
                stream = self._stream.beside(file_name(name, self._tables), self._files)
                self._tables[shape] = self._made(stream, columns, of)
            else:
                is_chosen = shape == self._single_shape
                self._tables[shape] = self._made(self._stream, columns, of) if is_chosen else None
        return self._tables[shape]
