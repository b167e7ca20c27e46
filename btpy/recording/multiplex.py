"""Current recordings of several targets in one stream: a node sends them to ``btpy --hosts``.

A stream begins with a magic number and a version. Then come frames: the pid of a target, and a chunk of its recording.
The head of the file comes before the first chunk of a target. Frames of pid 0 are about the node: an empty frame
reports that the node is alive. A frame with one byte reports that the node has tried to trace all its targets. A login
shell may print something before the stream begins; the reader skips it.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator, Sequence

from btpy.dataclass import dataclass
from btpy.errors import ProtocolError
from btpy.recording.file import MAX_CHUNK, ChunkReader, ChunkWriter, Entry, GrowingFile, write_all

MAGIC = b"\x89BTN\r\n\x1a\n"
VERSION = 1

_HEAD = struct.Struct(">8sH")
_FRAME = struct.Struct(">II")
_MAX_FRAME = MAX_CHUNK + 64  # the heads of the chunk and of the file
_MAX_NOISE = 64 * 1024  # bytes before the stream
_ALIVE = _FRAME.pack(0, 0)
_READY = _FRAME.pack(0, 1) + b"\1"
MAX_TARGETS = 10_000

ALIVE_SECONDS = 1.0
"""Seconds between two signs of life of the client, and of a node."""


class StreamWriter:
    """Writes the stream of a node; several threads can use it. ``descriptor``: the file descriptor of the stream."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Raises OSError."""
        self._write([_HEAD.pack(MAGIC, VERSION)])

    def report_alive(self) -> None:
        """Reports that the node is alive. Raises OSError."""
        self._write([_ALIVE])

    def report_ready(self) -> None:
        """Reports that the probes are in every target that can be traced. Raises OSError."""
        self._write([_READY])

    def chunk(self, pid: int, pieces: Sequence[bytes]) -> None:
        """A chunk of the recording of a target. Raises OSError."""
        self._write([_FRAME.pack(pid, sum(map(len, pieces))), *pieces])

    def _write(self, pieces: Sequence[bytes]) -> None:
        with self._lock:
            write_all(self._descriptor, pieces)

    def recording(self, pid: int) -> ChunkWriter:
        """The recording of a target."""
        return _Channel(self, pid)


class _Channel(ChunkWriter):
    def __init__(self, stream: StreamWriter, pid: int) -> None:
        super().__init__(-1, "standard output")
        self._stream = stream
        self._pid = pid

    def _write(self, pieces: Sequence[bytes]) -> None:
        self._stream.chunk(self._pid, pieces)

    def close(self) -> None:
        pass  # other channels still use the stream


@dataclass(frozen=True, slots=True)
class Part:
    """An entry of the recording of one target. ``version``: the version of its format."""

    pid: int
    version: int
    entry: Entry


class StreamReader:
    """Reads the stream of a node, in the client. ``has_begun``: whether the head has come; ``is_ready``: whether the
    node has tried all targets."""

    def __init__(self) -> None:
        self.has_begun = False
        self.is_ready = False
        self._waiting = bytearray()
        self._files: dict[int, tuple[GrowingFile, ChunkReader | None]] = {}

    def feed(self, data: bytes) -> Iterator[Part]:
        """The entries that these further bytes of the stream complete. Raises ProtocolError."""
        self._waiting += data
        if not self.has_begun and not self._begin():
            return
        while len(self._waiting) >= _FRAME.size:
            pid, size = _FRAME.unpack_from(self._waiting)
            if size > _MAX_FRAME:
                raise ProtocolError(f"a frame of {size} bytes")
            if len(self._waiting) < _FRAME.size + size:
                return
            chunk = bytes(self._waiting[_FRAME.size : _FRAME.size + size])
            del self._waiting[: _FRAME.size + size]
            if not pid:
                self.is_ready = self.is_ready or chunk == b"\1"
            elif size:
                yield from self._parts(pid, chunk)

    def _begin(self) -> bool:
        """Whether the head has come. If so, the bytes up to its end are dropped."""
        at = self._waiting.find(MAGIC)
        if at < 0:
            if len(self._waiting) > _MAX_NOISE:
                raise ProtocolError(f"{_MAX_NOISE} bytes before the stream")
            return False
        if len(self._waiting) < at + _HEAD.size:
            return False
        _, version = _HEAD.unpack_from(self._waiting, at)
        if version != VERSION:
            raise ProtocolError(f"a stream of version {version}; this btpy reads version {VERSION}")
        del self._waiting[: at + _HEAD.size]
        self.has_begun = True
        return True

    def _parts(self, pid: int, chunk: bytes) -> Iterator[Part]:
        file, reader = self._files.get(pid, (GrowingFile(), None))
        file.add(chunk)
        if reader is None:
            if len(self._files) >= MAX_TARGETS:
                raise ProtocolError(f"more than {MAX_TARGETS} targets")
            reader = ChunkReader(file, f"the stream of pid {pid}")
            self._files[pid] = file, reader
        for entry in reader.entries():
            yield Part(pid, reader.version, entry)
        if reader.torn or file.rest:
            raise ProtocolError(f"a chunk of pid {pid} that is not whole")
