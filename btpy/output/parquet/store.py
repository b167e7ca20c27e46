"""The data sets below one directory, written by one btpy for all of its targets."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from btpy.errors import OutputError
from btpy.files import open_path
from btpy.output.origin import Origin
from btpy.output.parquet.part_file import PartFile, Row
from btpy.output.parquet.schemas import DATA_SETS, EVENTS, LOSSES, MAPS, DataSet, arrow_schema
from btpy.output.parquet.settings import Bounds
from btpy.output.parquet.writer import ParquetWriter
from btpy.output.quantities import counted
from btpy.output.stream import reason_of
from btpy.output.writer import Context

_ROW_BYTES = 100  # the least memory for the numbers and references of a row


class Outcome(NamedTuple):
    """``written``: a text for the user. ``failure``: the first error; empty: there was none."""

    written: str
    failure: str


class _Waiting(NamedTuple):
    rows: list[Row]
    sizes: list[int]


class Store:
    """The targets share the files of a partition. ``now``: the time of readings of maps, ns since 1970; None: the time
    of this machine. A replay sets it.

    After the first error nothing more is written. Complete files stay, and incomplete files are removed.
    """

    def __init__(self, directory: Path, bounds: Bounds = Bounds()) -> None:  # noqa: B008  # the default is immutable
        self.now: int | None = None
        self._directory = directory
        self._bounds = bounds
        self._id = secrets.token_hex(8)
        self._number = 0
        self._root = -1
        self._schemas = {data_set.name: arrow_schema(data_set) for data_set in DATA_SETS}
        self._files: dict[str, PartFile] = {}  # by path of the partition; the least recently used first
        self._waiting: dict[str, _Waiting] = {}
        self._bytes = 0
        self._rows: Counter[str] = Counter()  # the rows in complete files, by data set
        self._whole = 0
        self._failure = ""
        self._due = float("inf")

    def start(self) -> None:
        """Raises OutputError."""
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._root = open_path(self._directory)
            for data_set in DATA_SETS:  # Spark reads an empty directory, and refuses a directory that does not exist
                with contextlib.suppress(FileExistsError):
                    os.mkdir(data_set.name, 0o700, dir_fd=self._root)
        except OSError as cause:
            raise OutputError(f"cannot write {self._directory}: {reason_of(cause)}") from cause
        if not os.access(self._directory, os.W_OK | os.X_OK):
            raise OutputError(f"cannot write {self._directory}: permission denied", help=["write elsewhere with -o"])
        self._due = time.monotonic() + self._bounds.seconds

    def writer(self, context: Context, origin: Origin) -> ParquetWriter:
        """Raises OutputError for a run that the data sets already contain."""
        writer = ParquetWriter(self, context, origin, self._bounds.hours)
        if self._has_file(writer.losses, _losses_file(writer.run)):
            raise OutputError(
                f"{self._directory} has this run already",
                help=["write to another directory", f"find {self._directory}/losses -name '{writer.run}*'"],
            )
        return writer

    def add(self, data_set: DataSet, partition: str, row: Row, size: int) -> None:
        """``partition``: the path of its directory. ``size``: the bytes of texts and lists in the row. Raises
        OutputError.
        """
        if self._failure:
            return
        batch = self._waiting.get(partition)
        if batch is None:
            batch = self._waiting[partition] = _Waiting([], [])
        size += _ROW_BYTES
        batch.rows.append(row)
        batch.sizes.append(size)
        self._bytes += size
        if len(batch.rows) >= self._bounds.group_rows:
            self._write(data_set.name, partition)
        elif self._bytes > self._bounds.buffered:
            largest = max(self._waiting, key=lambda path: sum(self._waiting[path].sizes))
            self._write(largest.partition("/")[0], largest)

    def end_run(self, run: str, partition: str, rows: list[Row]) -> None:
        """Writes the losses of a run, in a file of its own. Raises OutputError."""
        if self._failure or not rows:
            return
        with self._noting():
            file = PartFile(self._root, partition, _losses_file(run), self._schemas[LOSSES.name])
            file.write(rows)
            file.finish()
        self._count(LOSSES.name, file)

    def begin_report(self) -> bool:
        """Returns whether files are old enough to end."""
        return time.monotonic() >= self._due

    def report(self) -> None:
        """Ends all files. Raises OutputError."""
        self._due = time.monotonic() + self._bounds.seconds
        for partition in [*self._waiting]:
            self._write(partition.partition("/")[0], partition)
        for partition in [*self._files]:
            self._finish(partition)

    def notices(self) -> list[str]:
        return []

    def finish(self) -> Outcome:
        with contextlib.suppress(OutputError):  # the outcome has the error
            self.report()
        if self._root >= 0:
            os.close(self._root)
            self._root = -1
        rows = self._rows
        what = f"{counted(rows[EVENTS.name], 'event')} and {counted(rows[MAPS.name], 'row')} of maps"
        return Outcome(f"{what} in {counted(self._whole, 'file')}", self._failure)

    def _write(self, data_set: str, partition: str) -> None:
        """Writes the waiting rows of a partition. Raises OutputError."""
        if self._failure:
            return
        batch = self._waiting.pop(partition)
        self._bytes -= sum(batch.sizes)
        with self._noting():
            file = self._files.pop(partition, None)
            if file is None:
                if len(self._files) >= self._bounds.open_files:
                    self._finish(next(iter(self._files)))
                self._number += 1
                name = f"{self._id}-{self._number:06}.parquet"
                file = PartFile(self._root, partition, name, self._schemas[data_set])
            file.write(batch.rows)
            self._files[partition] = file
        bounds = self._bounds
        is_old = time.monotonic() - file.opened >= bounds.seconds
        if file.rows >= bounds.rows or file.bytes >= bounds.bytes or is_old:
            self._finish(partition)

    def _finish(self, partition: str) -> None:
        """Raises OutputError."""
        if self._failure:
            return
        file = self._files.pop(partition)
        with self._noting():
            file.finish()
        self._count(partition.partition("/")[0], file)

    def _count(self, data_set: str, file: PartFile) -> None:
        self._rows[data_set] += file.rows
        self._whole += 1

    @contextlib.contextmanager
    def _noting(self) -> Iterator[None]:
        """After an OutputError removes all incomplete files."""
        try:
            yield
        except OutputError as error:
            self._failure = self._failure or str(error)
            self._waiting.clear()
            for file in self._files.values():
                file.abandon()
            self._files.clear()
            raise

    def _has_file(self, directory: str, name: str) -> bool:
        try:
            os.stat(f"{directory}/{name}", dir_fd=self._root, follow_symlinks=False)
        except OSError:
            return False
        return True


def _losses_file(run: str) -> str:
    return f"{run}.parquet"
