"""The ``parquet`` and ``arrow`` formats, through ``pyarrow``, with one shape for each file (:mod:`btpy.output.shapes`).

Times have the type timestamp in UTC, and durations the type duration, both in nanoseconds. If the script does not
determine the type of a column, its first rows do. Stacks are lists of text; objects, arrays and maps are JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from btpy.distribution import install_command
from btpy.errors import OutputError, UsageError
from btpy.events.records import CutString, EnumValue, StackRef, Value, Withheld
from btpy.model.maps import Map
from btpy.model.templates import Slot, Template
from btpy.model.types import Kind
from btpy.output.ndjson import json_value
from btpy.output.shape_writer import ShapeWriter
from btpy.output.shapes import Row
from btpy.output.stream import Stream
from btpy.output.values import well_formed
from btpy.output.writer import Context

if TYPE_CHECKING:
    import pyarrow

ROWS = 1 << 15
"""The number of rows of a batch, which btpy keeps in memory."""

_TIMESTAMP = "timestamp[ns, tz=UTC]"
_TEXTS = "list<item: string>"
_KINDS = {
    Kind.INT: "int64",
    Kind.LONG: "int64",
    Kind.BYTES: "int64",
    Kind.DURATION: "duration[ns]",
    Kind.DOUBLE: "double",
    Kind.BOOLEAN: "bool",
    Kind.CHAR: "string",
    Kind.STRING: "string",
    Kind.STACK: _TEXTS,
}


def load() -> Any:
    """The module pyarrow. Raises UsageError when it is not installed."""
    try:
        import pyarrow
    except ImportError as cause:
        raise UsageError(
            "the formats parquet and arrow need the package pyarrow",
            help=[install_command("arrow"), "or record with -o run.btz, and replay it where pyarrow is installed"],
        ) from cause
    return pyarrow


class _Batches(Protocol):
    """The common interface of pyarrow's writers for both formats."""

    def write_batch(self, batch: Any) -> None: ...

    def close(self) -> None: ...


class ArrowWriter(ShapeWriter["_Table"]):
    """Also raises UsageError without pyarrow."""

    def __init__(
        self,
        stream: Stream,
        context: Context,
        format_: str,
        only: frozenset[str],
        files: Callable[[str], Stream] | None,
    ) -> None:
        load()
        super().__init__(stream, context, format_, only, files)
        self._format = format_
        self._begin(only)

    def close(self) -> None:
        for table in self._tables.values():
            if table is not None:
                table.close()

    def _made(self, stream: Stream, columns: tuple[str, ...], of: Template | Map) -> _Table:
        kinds: list[str | None]
        if isinstance(of, Map):
            kinds = [_TIMESTAMP if column == "ts" else None for column in columns]
            kinds[-3:] = ["int64", "double", "double"]  # columns that are empty in most runs
        else:
            slots = [_KINDS.get(part.type.kind) for part in of.parts if isinstance(part, Slot)]
            kinds = [_TIMESTAMP, "string", "int64", "string", *(slots if of.name else ["string"])]
        return _Table(stream, self._context, self._format, columns, kinds)


class _Table:
    def __init__(
        self, stream: Stream, context: Context, format_: str, columns: tuple[str, ...], kinds: list[str | None]
    ) -> None:
        self._sink = _Sink(stream)
        self._context = context
        self._format = format_
        self._columns = columns
        self._kinds = kinds
        self._rows: list[Row] = []
        self._batches: _Batches | None = None
        self._schema: pyarrow.Schema | None = None

    def add(self, row: Row) -> None:
        self._rows.append(row)
        if len(self._rows) >= ROWS:
            self._write()

    def close(self) -> None:
        self._write()
        assert self._batches is not None
        self._batches.close()

    def _write(self) -> None:
        """Raises OutputError when a value is not of the type that its column has by now."""
        arrow = load()
        columns = [[self._cell(cell) for cell in column] for column in zip(*self._rows, strict=True)]
        columns = columns or [[] for _ in self._columns]
        self._rows = []
        if self._schema is None:
            types = [_type(arrow, kind, cells) for kind, cells in zip(self._kinds, columns, strict=True)]
            self._schema = arrow.schema(list(zip(self._columns, types, strict=True)))
            self._batches = self._opened(arrow)
        arrays = []
        for field, cells in zip(self._schema, columns, strict=True):
            if field.type == arrow.string():
                cells = [cell if cell is None or isinstance(cell, str) else json.dumps(cell) for cell in cells]
            try:
                arrays.append(arrow.array(cells, type=field.type))
            except (arrow.ArrowInvalid, arrow.ArrowTypeError, OverflowError) as cause:
                raise OutputError(
                    f"the column {field.name} began as {field.type} and now has something else: {cause}",
                    help=["csv and ndjson take any value; a recording (-o run.btz) can be replayed as any of them"],
                ) from cause
        assert self._batches is not None
        if columns[0]:
            self._batches.write_batch(arrow.record_batch(arrays, schema=self._schema))

    def _opened(self, arrow: Any) -> _Batches:
        batches: _Batches
        if self._format == "parquet":
            from pyarrow import parquet

            batches = parquet.ParquetWriter(self._sink, self._schema)
        else:
            batches = arrow.ipc.new_file(self._sink, self._schema)
        return batches

    def _cell(self, value: Value) -> Any:
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, str):
            return well_formed(value)
        if isinstance(value, CutString):
            return self._cell(f"{value.text}…")
        if isinstance(value, EnumValue):
            return value.constant
        if isinstance(value, Withheld):
            return None
        if isinstance(value, StackRef):
            frames = self._context.stacks.frames(value.id)
            return None if frames is None else [self._cell(str(frame)) for frame in frames]
        return json.dumps(json_value(value, self._context.stacks, {}, ""), separators=(",", ":"))


def _type(arrow: Any, kind: str | None, cells: list[Any]) -> Any:
    """The type from the script, or from the first rows."""
    kind = kind or _kind_of({type(cell) for cell in cells if cell is not None})
    if kind == _TIMESTAMP:
        return arrow.timestamp("ns", tz="UTC")
    return arrow.list_(arrow.string()) if kind == _TEXTS else arrow.type_for_alias(kind)


def _kind_of(types: set[type]) -> str:
    if types and types <= {int, float}:
        return "int64" if types == {int} else "double"
    if types == {bool}:
        return "bool"
    return _TEXTS if types == {list} else "string"


class _Sink:
    """A stream with the interface of a file, for pyarrow."""

    closed = False

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._at = 0

    def write(self, data: Any) -> int:
        part = bytes(data)
        self._stream.write(part)
        self._at += len(part)
        return len(part)

    def tell(self) -> int:
        return self._at

    def flush(self) -> None:
        self._stream.flush()

    def close(self) -> None:
        self.closed = True

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False
