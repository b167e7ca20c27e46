"""One Parquet file: it is written under a temporary name, which no reader of data sets looks at, and renamed when it is
complete."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from btpy.errors import OutputError
from btpy.files import directory_below
from btpy.output.stream import reason_of, remedy_for

if TYPE_CHECKING:
    import pyarrow

_MODE, _DIRECTORY_MODE = 0o600, 0o700

Row = tuple[Any, ...]


class PartFile:
    """``root``: the open directory of all data sets. The constructor and all methods remove the file and raise
    OutputError if they fail."""

    def __init__(self, root: int, directory: str, name: str, schema: pyarrow.Schema) -> None:
        from pyarrow import parquet

        self.rows = 0
        self.opened = time.monotonic()
        self._schema = schema
        self._name = name
        self._temporary = f".{name}.tmp"
        self._path = f"{directory}/{name}"
        try:
            self._directory = directory_below(root, directory.split("/"), _DIRECTORY_MODE)
        except OSError as cause:
            raise self._error(cause) from cause
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._file = os.fdopen(os.open(self._temporary, flags, _MODE, dir_fd=self._directory), "wb")
        except OSError as cause:
            os.close(self._directory)
            raise self._error(cause) from cause
        self._writer: Any = parquet.ParquetWriter(self._file, schema, compression="zstd")

    @property
    def bytes(self) -> int:
        return self._file.tell()

    def write(self, rows: Sequence[Row]) -> None:
        """Writes the rows as one group."""
        import pyarrow as arrow

        columns = zip(*rows, strict=True)
        arrays = [arrow.array(cells, type=field.type) for field, cells in zip(self._schema, columns, strict=True)]
        try:
            self._writer.write_batch(arrow.record_batch(arrays, schema=self._schema))
        except OSError as cause:
            self.abandon()
            raise self._error(cause) from cause
        self.rows += len(rows)

    def finish(self) -> None:
        """Gives the file its name, with all of its rows."""
        try:
            self._writer.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            with contextlib.suppress(FileNotFoundError):
                os.stat(self._name, dir_fd=self._directory, follow_symlinks=False)
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), self._name)
            os.rename(self._temporary, self._name, src_dir_fd=self._directory, dst_dir_fd=self._directory)
        except OSError as cause:
            self.abandon()
            raise self._error(cause) from cause
        os.close(self._directory)

    def abandon(self) -> None:
        """Removes the incomplete file."""
        with contextlib.suppress(OSError):
            os.unlink(self._temporary, dir_fd=self._directory)
        with contextlib.suppress(OSError):
            self._writer.close()
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            os.close(self._directory)

    def _error(self, cause: OSError) -> OutputError:
        return OutputError(f"cannot write {self._path}: {reason_of(cause)}", help=remedy_for(cause))
