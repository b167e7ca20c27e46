"""The file of a recording: chunks with a checksum each (docs/recording.md).

One call writes a chunk, so a killed process leaves complete chunks and at most one incomplete chunk at the end. A
length that exceeds the file causes no allocation.
"""

from __future__ import annotations

import contextlib
import errno
import os
import struct
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol

from btpy.dataclass import dataclass
from btpy.errors import OutputError, ProtocolError, UsageError
from btpy.wire.messages import MAX_FRAME

MAGIC = b"\x89BTZ\r\n\x1a\n"
VERSION = 5
OLDEST = 2
"""Recordings of format 2 lack skipped hits. Recordings of formats 2 and 3 have log-linear histograms, and recordings of
formats 2 to 4 have no exemplars."""

CHUNK_BYTES = 256 * 1024
"""The size in bytes from which a chunk is written."""

MAX_CHUNK = CHUNK_BYTES + MAX_FRAME + 4
"""The largest chunk: one message may be as long as a frame."""

_HEAD = struct.Struct(">8sHH")
_CHUNK = struct.Struct(">IIBQ")
_SUM = struct.Struct(">I")
_ENTRY = struct.Struct(">IB")
_STORED, _DEFLATED = 0, 1
_MAX_PIECES = 512  # in one call of writev; IOV_MAX is 1024


@dataclass(frozen=True, slots=True)
class Entry:
    """``wall_nanos``: the time when its chunk was written, ns since 1970, by the clock of the client."""

    code: int
    payload: bytes
    wall_nanos: int


class ChunkWriter:
    """``compress``: makes the file smaller, but writing takes about ten times as long."""

    def __init__(self, descriptor: int, name: str, *, compress: bool = False) -> None:
        self._descriptor = descriptor
        self._name = name
        self._compress = compress
        self._pieces: list[bytes] = []
        self._size = 0
        self._begun = False
        self._failed = False

    @staticmethod
    def create(path: Path, *, compress: bool = False) -> ChunkWriter:
        """Opens the file, which keeps its content until the first chunk is written. Only the user can read a new file,
        because it has data of the program. Raises OutputError."""
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as cause:
            raise OutputError(f"cannot write {path}: {(cause.strerror or str(cause)).lower()}") from cause
        return ChunkWriter(descriptor, str(path), compress=compress)

    @property
    def waiting(self) -> int:
        """The number of bytes that are not written yet."""
        return self._size

    def add(self, code: int, payload: bytes) -> None:
        """Raises OutputError."""
        self._pieces.append(_ENTRY.pack(len(payload) + 1, code))
        self._pieces.append(payload)
        self._size += _ENTRY.size + len(payload)

    def write(self, wall_nanos: int) -> None:
        """Writes the added entries as one chunk. Raises OutputError at the first error. After an error, added entries
        are dropped."""
        pieces, size = self._pieces, self._size
        self._pieces, self._size = [], 0
        if not pieces or self._failed:
            return
        kind, stored = _STORED, size
        if self._compress:
            packed = zlib.compress(b"".join(pieces), 1)
            if len(packed) < size:
                pieces, kind, stored = [packed], _DEFLATED, len(packed)
        head = _CHUNK.pack(stored, size, kind, wall_nanos)
        checksum = zlib.crc32(head)
        for piece in pieces:
            checksum = zlib.crc32(piece, checksum)
        before = [] if self._begun else [_HEAD.pack(MAGIC, VERSION, 0)]
        try:
            if not self._begun:
                self._begun = True
                if os.path.isfile(self._name):
                    os.ftruncate(self._descriptor, 0)
            self._write([*before, head, *pieces, _SUM.pack(checksum)])
        except OSError as cause:
            self._failed = True
            full = cause.errno in (errno.ENOSPC, errno.EDQUOT)
            raise OutputError(
                f"cannot write {self._name}: {(cause.strerror or str(cause)).lower()}",
                help=["free some space, or record to another place; the file so far can be replayed"] if full else (),
            ) from cause

    def __enter__(self) -> ChunkWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Writes the waiting entries, unless an earlier write failed."""
        try:
            if error is None:
                self.write(time.time_ns())
            else:
                with contextlib.suppress(OutputError):
                    self.write(time.time_ns())
        finally:
            self.close()

    def _write(self, pieces: Sequence[bytes]) -> None:
        write_all(self._descriptor, pieces)

    def close(self) -> None:
        """Entries that are not written are lost."""
        os.close(self._descriptor)


def write_all(descriptor: int, pieces: Sequence[bytes]) -> None:
    """Raises OSError."""
    for start in range(0, len(pieces), _MAX_PIECES):
        some = pieces[start : start + _MAX_PIECES]
        size = os.writev(descriptor, some)
        if size < sum(map(len, some)):
            rest = memoryview(b"".join(some))[size:]
            while rest:
                rest = rest[os.write(descriptor, rest) :]


class Readable(Protocol):
    """The methods of a file that a recording needs. ``read`` gives fewer bytes only at the end of the file."""

    def read(self, size: int, /) -> bytes: ...

    def close(self) -> None: ...


class GrowingFile:
    """A file in memory that grows at its end. Bytes that were read are dropped."""

    def __init__(self) -> None:
        self._content = b""
        self._at = 0

    def add(self, data: bytes) -> None:
        self._content, self._at = self._content[self._at :] + data, 0

    @property
    def rest(self) -> int:
        """The number of bytes that were not read."""
        return len(self._content) - self._at

    def read(self, size: int, /) -> bytes:
        data = self._content[self._at : self._at + size]
        self._at += len(data)
        return data

    def close(self) -> None:
        self._content, self._at = b"", 0


class ChunkReader:
    """The entries of a file, in order. ``version``: the version of its format. ``torn``: the reason why the file is
    incomplete, which is known after the last entry."""

    def __init__(self, file: Readable, name: str) -> None:
        """Raises UsageError if it is not a recording, or a recording of another version."""
        self._file = file
        self._name = name
        self.torn = ""
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size or not head.startswith(MAGIC):
            raise UsageError(f"{name} is not a recording of btpy", help=["btpy PID FILE.bt -o run.btz records one"])
        _, version, _ = _HEAD.unpack(head)
        self.version = int(version)
        if not OLDEST <= version <= VERSION:
            raise UsageError(
                f"{name} is a recording of format {version}; this btpy reads the formats {OLDEST} to {VERSION}",
                help=["replay it with the btpy that recorded it" + (", or a later one" if version > VERSION else "")],
            )

    @staticmethod
    def open(path: Path) -> ChunkReader:
        """Raises UsageError."""
        with contextlib.ExitStack() as unless_opened:
            try:
                reader = ChunkReader(unless_opened.enter_context(path.open("rb")), str(path))
            except OSError as cause:
                raise UsageError(f"cannot read {path}: {(cause.strerror or str(cause)).lower()}") from cause
            unless_opened.pop_all()
            return reader

    def __enter__(self) -> ChunkReader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def entries(self) -> Iterator[Entry]:
        """Yields the entries up to the last complete chunk. If the file grows, another call continues there. Raises
        ProtocolError for a complete chunk that btpy cannot have written."""
        number = 0
        while True:
            chunk = self._chunk()
            if chunk is None:
                if self.torn:
                    self.torn = f"{self.torn} after {number} whole chunks"
                return
            number += 1
            yield from _entries(*chunk)

    def _chunk(self) -> tuple[bytes, int] | None:
        head = self._file.read(_CHUNK.size)
        if not head:
            return None
        if len(head) < _CHUNK.size:
            self.torn = "the file ends in the middle of a chunk"
            return None
        stored, size, kind, wall_nanos = _CHUNK.unpack(head)
        if stored > MAX_CHUNK or size > MAX_CHUNK or kind > _DEFLATED:
            self.torn = "the file is damaged"
            return None
        data = self._read(stored + _SUM.size)
        if data is None:
            self.torn = "the file ends in the middle of a chunk"
            return None
        body = memoryview(data)[:stored]
        if zlib.crc32(body, zlib.crc32(head)) != _SUM.unpack_from(data, stored)[0]:
            self.torn = "the file is damaged"
            return None
        content = bytes(body) if kind == _STORED else _inflated(body, size)
        if len(content) != size:
            raise ProtocolError(f"a chunk of {len(content)} bytes instead of {size}")
        return content, wall_nanos

    def _read(self, size: int) -> bytes | None:
        """Reads in steps, so that a false length causes no large allocation; None: the file has less."""
        pieces = []
        while size:
            piece = self._file.read(min(size, 1 << 20))
            if not piece:
                return None
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)


def _inflated(packed: memoryview, size: int) -> bytes:
    stream = zlib.decompressobj()
    try:
        return stream.decompress(packed, size + 1)  # at most the stated size, which is limited
    except zlib.error as cause:
        raise ProtocolError(f"a chunk that cannot be decompressed: {cause}") from cause


def _entries(content: bytes, wall_nanos: int) -> Iterator[Entry]:
    at, end = 0, len(content)
    while at < end:
        if at + _ENTRY.size > end:
            raise ProtocolError("an entry without its head")
        length, code = _ENTRY.unpack_from(content, at)
        stop = at + 4 + length
        if not 1 <= length <= MAX_FRAME or stop > end:
            raise ProtocolError(f"an entry of {length} bytes in a chunk of {end}")
        yield Entry(code, content[at + 5 : stop], wall_nanos)
        at = stop
