"""The directory of ``-o parquet://DIRECTORY``, and the bounds of its files."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from btpy.errors import UsageError

SCHEME = "parquet://"


class Bounds(NamedTuple):
    """A file ends after this number of rows, bytes or seconds. ``group_rows``: rows that are compressed together.
    ``buffered``: most bytes of rows in memory; ``open_files``: most unfinished files at a time; ``hours``: most hours
    over which the times of one run can spread.
    """

    rows: int = 1 << 20
    bytes: int = 128 << 20
    seconds: float = 600.0
    group_rows: int = 1 << 15
    buffered: int = 64 << 20
    open_files: int = 64
    hours: int = 10_000


def is_parquet(output: str) -> bool:
    """Whether the value of ``-o`` names a directory of data sets."""
    return output.startswith(SCHEME)


def directory_of(url: str) -> Path:
    """Raises UsageError for a URL without a directory."""
    path = url.removeprefix(SCHEME)
    if not path or "\0" in path:
        raise UsageError(f"{SCHEME} needs a directory", help=[f"-o {SCHEME}traces", f"-o {SCHEME}/var/lib/traces"])
    return Path(path)
