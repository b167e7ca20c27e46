"""Where output goes: standard output or a file, as bytes, flushed when the caller says so."""

from __future__ import annotations

import contextlib
import errno
import os
import select
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from btpy.errors import OutputError


class ReaderGone(OutputError):  # not an error to the user; named like TargetGone
    """Whoever read the pipe has closed it (``btpy … | head``): the tracing is over, and nothing is wrong."""

    exit_status = 0


class Stream:
    """Collects text and writes it in whole batches, so that a reader of the pipe sees whole lines as they come.

    ``system_write``: as ``os.write``.
    """

    def __init__(self, descriptor: int, name: str, *, owned: bool, encoding: str = "utf-8") -> None:
        self._descriptor = descriptor
        self._name = name
        self._owned = owned
        self._encoding = encoding
        self._pending: list[str] = []
        self.system_write: Callable[[int, memoryview], int] = os.write

    @staticmethod
    def stdout(*, ascii_only: bool = False) -> Stream:
        return Stream(1, "standard output", owned=False, encoding="ascii" if ascii_only else "utf-8")

    @staticmethod
    def file(path: Path, *, append: bool, ascii_only: bool = False) -> Stream:
        """Opens the file at once. Raises OutputError."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_APPEND if append else os.O_TRUNC)
        try:
            descriptor = os.open(path, flags, 0o666)
        except OSError as cause:
            raise OutputError(f"cannot write {path}: {_reason(cause)}") from cause
        return Stream(descriptor, str(path), owned=True, encoding="ascii" if ascii_only else "utf-8")

    @property
    def descriptor(self) -> int:
        return self._descriptor

    def reopen(self, path: Path) -> None:
        """Go on in a file of that name: the one that was open has been moved away. Raises OutputError."""
        self.flush()
        fresh = Stream.file(path, append=True)
        os.dup2(fresh._descriptor, self._descriptor, inheritable=False)
        fresh.close()

    def write(self, text: str) -> None:
        self._pending.append(text)

    def flush(self) -> None:
        """Raises ReaderGone when the other end of a pipe was closed, OutputError for anything else."""
        if not self._pending:
            return
        data = "".join(self._pending).encode(self._encoding, "backslashreplace")
        # What cannot be written now will not be written later: the error is reported once.
        self._pending.clear()
        view = memoryview(data)
        while view:
            try:
                view = view[self.system_write(self._descriptor, view) :]
            except BlockingIOError:
                select.select((), (self._descriptor,), ())
            except BrokenPipeError as cause:
                raise ReaderGone(f"{self._name} was closed by its reader") from cause
            except OSError as cause:
                raise OutputError(f"cannot write {self._name}: {_reason(cause)}", help=_remedy(cause)) from cause

    def close(self) -> None:
        try:
            self.flush()
        finally:
            if self._owned:
                self._owned = False
                try:
                    os.close(self._descriptor)
                except OSError as cause:  # NFS and quotas report a full disk here
                    raise OutputError(f"cannot write {self._name}: {_reason(cause)}") from cause

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        with contextlib.suppress(OutputError):  # the first error is the one to report
            self.close()


def _reason(cause: OSError) -> str:
    return (cause.strerror or str(cause)).lower()


def _remedy(cause: OSError) -> tuple[str, ...]:
    if cause.errno in (errno.ENOSPC, errno.EDQUOT):
        return ("free some space, or write elsewhere with -o",)
    return ()
