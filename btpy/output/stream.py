"""The destination of output: standard output or a file, as bytes. The caller decides when to flush."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gzip
import os
import select
import signal
import stat
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NamedTuple

from btpy.errors import OutputError


class ReaderGone(OutputError):  # named like TargetGone
    """The reader of the output has closed it (``btpy … | head``). The user knows that, so btpy prints no error. The
    exit status is the same as for a process that SIGPIPE ended, as the shell reports it."""

    exit_status = 128 + signal.SIGPIPE
    is_told = False


_LOOK_SECONDS = 0.1  # seconds between two checks whether the output still has a reader

SYNC_SECONDS = 1.0
"""Seconds of compressed output that a killed btpy may lose."""


class Rotation(NamedTuple):
    """The time to start a new file: after ``size`` bytes, or ``seconds`` after its beginning. ``keep``: the number of
    old files that are kept (None: all); FILE.1 is the latest of them.
    """

    size: int | None = None
    seconds: float | None = None
    keep: int | None = None


class Document(NamedTuple):
    """The text around and between the records of a file."""

    head: str = ""
    tail: str = ""
    separator: str = ""


class Sink:
    """A file descriptor that writes all data, and detects that its reader has closed it.

    ``name``: its name in errors. ``system_write``: as ``os.write``.
    """

    def __init__(self, descriptor: int, name: str) -> None:
        self.descriptor = descriptor
        self.name = name
        self.system_write: Callable[[int, memoryview], int] = os.write
        self._looked = time.monotonic()

    def write(self, data: bytes) -> None:
        """Raises ReaderGone, OutputError."""
        view = memoryview(data)
        while view:
            try:
                view = view[self.system_write(self.descriptor, view) :]
            except BlockingIOError:
                select.select((), (self.descriptor,), ())
            except OSError as cause:
                if isinstance(cause, BrokenPipeError | ConnectionResetError) or self._has_hung_up():
                    raise self._reader_gone() from cause
                raise OutputError(f"cannot write {self.name}: {reason_of(cause)}", help=remedy_for(cause)) from cause

    def look_for_reader(self) -> None:
        """A run that writes nothing gets no error from a write, so it asks the system. Raises ReaderGone."""
        now = time.monotonic()
        if self.descriptor < 0 or now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        if self._has_hung_up():
            raise self._reader_gone()

    def _has_hung_up(self) -> bool:
        """Whether a pipe, socket or terminal reports that its other end is closed. Regular files never do."""
        poll = select.poll()
        poll.register(self.descriptor, 0)  # errors and hang-ups are always reported
        return any(events & (select.POLLERR | select.POLLHUP) for _, events in poll.poll(0))

    def _reader_gone(self) -> ReaderGone:
        return ReaderGone(f"{self.name} was closed by its reader")


class Stream:
    """Collects text and writes it in batches of whole lines.

    ``sink``: where the bytes go. ``failure``: the error that the first failed write raised. After that error, further
    output is dropped, so that a run can end regularly without output.
    """

    def __init__(
        self,
        descriptor: int,
        name: str,
        *,
        owned: bool,
        encoding: str = "utf-8",
        append: bool = True,
        rotation: Rotation | None = None,
        compress: bool = False,
    ) -> None:
        self.sink = Sink(descriptor, name)
        self._owned = owned
        self._encoding = encoding
        self._append = append
        self._rotation = rotation
        self._compressor = _compressor() if compress else None
        self._document = Document()
        self._pending: list[str | bytes] = []
        self._began = False  # whether data was written to the current file
        self._fresh = True  # no record was
        self._size = os.fstat(descriptor).st_size if owned and append else 0
        self._opened = self._synced = time.monotonic()
        self._beside: dict[str, Stream] = {}
        self._before_flush: list[Callable[[], None]] = []
        self._keeps_whole = False
        self._whole: int | None = None  # bytes of the file to append to that stay; None: all
        self.failure: OutputError | None = None

    @staticmethod
    def stdout(*, ascii_only: bool = False) -> Stream:
        """The stream of the standard output. Raises OutputError when the process was started without it (``>&-``)."""
        if fcntl.fcntl(1, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OutputError("cannot write standard output: it is closed")
        return Stream(1, "standard output", owned=False, encoding="ascii" if ascii_only else "utf-8")

    @staticmethod
    def file(
        path: Path,
        *,
        append: bool,
        ascii_only: bool = False,
        rotation: Rotation | None = None,
        compress: bool = False,
    ) -> Stream:
        """Opens the file at once. Its old content stays until the first write. Raises OutputError."""
        return Stream(
            _open(path, append=append),
            str(path),
            owned=True,
            encoding="ascii" if ascii_only else "utf-8",
            append=append,
            rotation=rotation,
            compress=compress,
        )

    @staticmethod
    def directory(path: Path) -> Stream:
        """A stream for a directory: only the files of :meth:`beside` are written."""
        return Stream(-1, str(path), owned=False)

    @staticmethod
    def nowhere() -> Stream:
        """The stream of a run that writes only a recording."""
        return Stream(-1, "no output", owned=False)

    @property
    def descriptor(self) -> int:
        return self.sink.descriptor

    def beside(self, name: str, open_: Callable[[str], Stream]) -> Stream:
        """The stream for a file in the directory. It is opened at the first call, and flushed and closed together with
        this stream.
        """
        if name not in self._beside:
            self._beside[name] = open_(name)
        return self._beside[name]

    def begin(self, document: Document) -> None:
        """Declares that the output is a document of this form. Call it before the first record. Raises OutputError
        when the file to append to begins differently."""
        if self._append and self._owned and document.head and os.fstat(self.sink.descriptor).st_size:
            self._check_head(document.head)
            self._began, self._fresh = True, False
        self._document = document

    def continue_after(self, whole: Callable[[BinaryIO], int | None]) -> None:
        """If output is appended to a file, the first write removes the end of the file that is not whole. ``whole``:
        returns the length without that end; None: the file has another format. Raises OutputError for another format.
        """
        is_regular = self._owned and stat.S_ISREG(os.fstat(self.sink.descriptor).st_mode)
        if self._began or not self._append or not is_regular:
            return
        with open(self.sink.name, "rb") as file:
            self._whole = whole(file)
        if self._whole is None:
            raise OutputError(
                f"{self.sink.name} has another format than this run",
                help=["write to another file, or leave --append out"],
            )

    def reopen(self, path: Path) -> None:
        """Continue in a new file of this name, because the open file was moved away. Raises OutputError."""
        self.flush()
        self._finish()
        self._continue_in(path, append=True)
        self._append = True

    def before_flush(self, call: Callable[[], None]) -> None:
        """Calls a writer before each flush, so that it can write what it has kept for some time."""
        self._before_flush.append(call)

    def keep_whole(self) -> None:
        """Removes the beginning of data that could not be written completely, for formats whose readers refuse a file
        that is cut off.
        """
        self._keeps_whole = True

    def write(self, text: str | bytes) -> None:
        self._pending.append(text)

    def write_all(self, texts: list[str]) -> None:
        self._pending += texts

    def flush(self) -> None:
        """Raises ReaderGone when the reader has closed a pipe, a socket or a terminal, even when there is nothing to
        write. Raises OutputError for all other errors."""
        if self.failure is not None:
            self._pending.clear()
            return
        for call in self._before_flush:
            call()
        with self._failing():
            for stream in self._beside.values():
                stream.flush()
            if self._pending:
                if self._is_full():
                    self._rotate()
                pieces, self._pending = self._pending, []
                self._emit(self._head() + self._joined(pieces))
            else:
                self.sink.look_for_reader()
            if self._compressor is not None and time.monotonic() - self._synced >= SYNC_SECONDS:
                self._sync()

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        """A context for writing. After a failed write all further output is dropped, so the error is raised once."""
        try:
            yield
        except OutputError as error:
            self.failure = error
            raise

    def close(self) -> None:
        try:
            for stream in self._beside.values():
                stream.close()
            self.flush()
            with self._failing():
                self._finish()
        finally:
            if self._owned:
                self._owned = False
                try:
                    os.close(self.sink.descriptor)
                except OSError as cause:  # NFS and quotas report a full disk here
                    raise OutputError(f"cannot write {self.sink.name}: {reason_of(cause)}") from cause

    def abandon(self) -> None:
        """Closes the file unchanged, because the run never began."""
        if self._owned:
            self._owned = False
            os.close(self.sink.descriptor)

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        with contextlib.suppress(OutputError):  # the first error is the one to report
            if self._began or self._pending or self._beside:
                self.close()
            else:
                self.abandon()

    def _head(self) -> bytes:
        """Writes the head of a file, and removes its old content now."""
        if self._began:
            return b""
        self._began = True
        if not self._append and stat.S_ISREG(os.fstat(self.sink.descriptor).st_mode):
            os.ftruncate(self.sink.descriptor, 0)
        elif self._whole is not None:
            os.ftruncate(self.sink.descriptor, self._whole)
        return self._encoded(self._document.head)

    def _joined(self, pieces: list[str | bytes]) -> bytes:
        separator = self._document.separator
        try:
            text = separator.join(pieces)  # type: ignore[arg-type]
        except TypeError:  # some are bytes
            data = b"".join(part if isinstance(part, bytes) else self._encoded(part) for part in pieces)
        else:
            data = self._encoded(text if self._fresh else separator + text)
        self._fresh = False
        return data

    def _encoded(self, text: str) -> bytes:
        return text.encode(self._encoding, "backslashreplace")

    def _finish(self) -> None:
        """The end of a document."""
        if self.sink.descriptor < 0 or self.failure is not None:
            return
        data = self._head() + self._encoded(self._document.tail)
        if self._compressor is None:
            self.sink.write(data)
        elif self._size or data:
            self.sink.write(self._compressor.compress(data) + self._compressor.flush())
            self._compressor = _compressor()

    def _emit(self, data: bytes) -> None:
        if self._compressor is not None:
            data = self._compressor.compress(data)
        self._size += len(data)
        before = os.fstat(self.sink.descriptor)
        try:
            self.sink.write(data)
        except OutputError:
            if self._keeps_whole and stat.S_ISREG(before.st_mode):
                os.ftruncate(self.sink.descriptor, before.st_size)
            raise

    def _sync(self) -> None:
        """Makes everything written so far readable, even if btpy is killed."""
        assert self._compressor is not None
        self._synced = time.monotonic()
        data = self._compressor.flush(zlib.Z_SYNC_FLUSH) if self._began else b""
        self._size += len(data)
        self.sink.write(data)

    def _check_head(self, head: str) -> None:
        with open(self.sink.name, "rb") as raw, gzip.open(raw) if self._compressor else raw as file:
            try:
                beginning = file.read(len(self._encoded(head)))
            except (OSError, EOFError) as cause:
                raise OutputError(f"cannot append to {self.sink.name}: {cause}") from cause
        if beginning != self._encoded(head):
            raise OutputError(
                f"{self.sink.name} begins differently from this run: {beginning.decode('utf-8', 'replace').strip()!r}",
                help=["write to another file, or leave --append out"],
            )

    def _is_full(self) -> bool:
        rotation = self._rotation
        if rotation is None or self._fresh:
            return False
        if rotation.size is not None and self._size >= rotation.size:
            return True
        return rotation.seconds is not None and time.monotonic() - self._opened >= rotation.seconds

    def _rotate(self) -> None:
        """Renames FILE to FILE.1, and an earlier FILE.1 to FILE.2. Raises OutputError."""
        assert self._rotation is not None
        self._finish()
        path = Path(self.sink.name)
        try:
            turn(path, self._rotation.keep)
        except OSError as cause:
            raise OutputError(f"cannot rotate {path}: {reason_of(cause)}") from cause
        self._continue_in(path, append=False)

    def _continue_in(self, path: Path, *, append: bool) -> None:
        """Raises OutputError."""
        fresh = _open(path, append=append)
        os.dup2(fresh, self.sink.descriptor, inheritable=False)
        os.close(fresh)
        self._began = append and os.fstat(self.sink.descriptor).st_size > 0
        self._fresh, self._size = not self._began, 0
        self._opened = time.monotonic()


def turn(path: Path, keep: int | None) -> None:
    """Moves ``path`` to ``path.1``, ``path.1`` to ``path.2`` …, of which ``keep`` stay; ``x.gz`` to ``x.1.gz``."""
    ending = ".gz" if path.name.endswith(".gz") else ""
    stem = str(path).removesuffix(ending)
    last = 0
    while os.path.lexists(f"{stem}.{last + 1}{ending}"):
        last += 1
    for number in range(last, 0, -1):
        name = f"{stem}.{number}{ending}"
        if keep is not None and number >= keep:
            os.unlink(name)
        else:
            os.rename(name, f"{stem}.{number + 1}{ending}")
    if keep == 0:
        os.unlink(path)
    else:
        os.rename(path, f"{stem}.1{ending}")


def _compressor() -> zlib._Compress:
    return zlib.compressobj(6, zlib.DEFLATED, 16 + zlib.MAX_WBITS)


def _open(path: Path, *, append: bool) -> int:
    """Raises OutputError, also for a pipe without a reader."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_APPEND if append else 0)
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK, 0o600)
        os.set_blocking(descriptor, True)
    except OSError as cause:
        if cause.errno == errno.ENXIO:
            raise OutputError(
                f"cannot write {path}: no process reads this pipe", help=["start its reader first"]
            ) from cause
        raise OutputError(f"cannot write {path}: {reason_of(cause)}") from cause
    return descriptor


def reason_of(cause: OSError) -> str:
    return (cause.strerror or str(cause)).lower()


def remedy_for(cause: OSError) -> tuple[str, ...]:
    if cause.errno in (errno.ENOSPC, errno.EDQUOT):
        return ("free some space, or write elsewhere with -o",)
    return ()
