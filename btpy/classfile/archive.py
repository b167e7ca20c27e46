"""Class files in archives, by their names (PKWARE's APPNOTE.TXT 4.3; JAR File Specification).

``zipfile`` creates an object for every entry before it can read the first, which takes 0.1 s for the archive of a
server. This module scans the directory once for names and offsets, and parses an entry when it is requested. Rare forms
(Zip64, encryption, methods other than *deflate*) are not read.
"""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from struct import Struct
from typing import Final

MAX_CLASS_BYTES: Final = 1024 * 1024
"""The maximum number of bytes of a class file that a target names. javac writes class files of at most half this
size."""

MAX_ENTRY_BYTES: Final = 16 * 1024 * 1024
"""The maximum number of bytes of an entry in an archive that the user has named: the length limit of a frame to the
agent."""

MAX_DIRECTORY_BYTES: Final = 64 * 1024 * 1024

# end of the central directory: signature, entries, size, offset, length of the comment
_END: Final = Struct("<4s6xHLLH")
_END_SIGNATURE: Final = b"PK\5\6"
_LONGEST_COMMENT: Final = 65_535

_ENTRY: Final = Struct("<4s4xHH4xLLLHHH8xL")
_ENTRY_SIGNATURE: Final = b"PK\1\2"
_LOCAL: Final = Struct("<4s22xHH")  # signature, lengths of the name and of the extra field
_LOCAL_SIGNATURE: Final = b"PK\3\4"
_EXTRA: Final = 64  # the length of an extra field for which a reader reserves room

_PIECE: Final = 256 * 1024
_MAX_PACKED: Final = MAX_CLASS_BYTES + 64 * 1024  # deflate adds at most its headers to the data
_STORED, _DEFLATED = 0, 8
_ENCRYPTED: Final = 1
_MANY, _FAR = 0xFFFF, 0xFFFFFFFF  # the numbers are in a Zip64 record
_VERSIONS: Final = b"META-INF/versions/"


UNREADABLE: Final = (
    *(OSError, EOFError, ValueError, IndexError, NotImplementedError, OverflowError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error, struct.error),
)
"""The errors of ``zipfile`` for an archive that is damaged, encrypted, written in an unknown way, or gone."""


class Archive:
    """An open archive. Raises OSError when the archive cannot be opened, and ValueError when btpy cannot read it."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # do not wait for a pipe
        try:
            self._directory, self._shift = _directory(self._file)
            self._entries, self._versioned = _entries(self._directory)
        except BaseException as failure:
            os.close(self._file)
            if isinstance(failure, struct.error):
                raise ValueError("a damaged directory") from None
            raise

    def close(self) -> None:
        os.close(self._file)

    def read(self, path: str) -> bytes | None:
        """The content of a class file; None if there is none of that path, if there are others for later versions of
        Java (JEP 238), if it cannot be read, or if it is too large for a class file.
        """
        encoded = path.encode("utf-8", "surrogatepass")
        at = self._entries.get(encoded)
        if at is None or encoded in self._versioned:
            return None
        signature, flags, method, crc, packed, size, *_, offset = _ENTRY.unpack_from(self._directory, at)
        if signature != _ENTRY_SIGNATURE or flags & _ENCRYPTED or size > MAX_CLASS_BYTES or packed > _MAX_PACKED:
            return None
        try:
            # One read for the local header and the content: the extra field is seldom longer than the reserve.
            start = offset + self._shift
            local = os.pread(self._file, _LOCAL.size + len(path) + _EXTRA + packed, start)
            signature, name, extra = _LOCAL.unpack_from(local)
            if signature != _LOCAL_SIGNATURE:
                return None
            content = _LOCAL.size + name + extra
            data = local[content : content + packed]
            if len(data) < packed:
                data = os.pread(self._file, packed, start + content)
            if method == _DEFLATED:
                data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, size + 1)
            elif method != _STORED:
                return None
        except (OSError, OverflowError, struct.error, zlib.error):
            return None
        return data if len(data) == size and zlib.crc32(data) == crc else None


def read_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limit: int) -> bytes:
    """The content of an entry. ``zipfile`` inflates the whole entry before it tests the length, and the result can be
    1,000 times as long as the entry. Raises BadZipFile for an entry that is longer than ``limit``, and the errors of
    ``zipfile``.
    """
    if entry.file_size > limit:
        raise zipfile.BadZipFile(f"{entry.filename!r} has {entry.file_size} bytes, more than {limit}")
    with archive.open(entry) as file:
        content = file.read(entry.file_size + 1)
        file.read(1)  # at the end of the entry zipfile compares the checksum
    return content


def pieces(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    """The content of an entry of any length, a piece at a time. Raises the errors of ``zipfile``."""
    with archive.open(entry) as file:
        while piece := file.read(_PIECE):
            yield piece


def _directory(file: int) -> tuple[bytes, int]:
    """The central directory, and a correction for its offsets, because a program may precede the archive."""
    length = os.fstat(file).st_size
    before = max(0, length - _END.size - _LONGEST_COMMENT)
    tail = os.pread(file, length - before, before)
    at = len(tail)
    while (at := tail.rfind(_END_SIGNATURE, 0, at)) >= 0:
        comment = len(tail) - at - _END.size
        if int.from_bytes(tail[at + _END.size - 2 : at + _END.size], "little") == comment:
            break  # otherwise these are bytes of the comment
    else:
        raise ValueError("no end of a central directory")
    _, entries, size, offset, _ = _END.unpack_from(tail, at)
    start = before + at - size
    if entries == _MANY or offset == _FAR or size > MAX_DIRECTORY_BYTES or start < offset:
        raise ValueError("its directory has a form that btpy does not read")
    return os.pread(file, size, start), start - offset


def _entries(directory: bytes) -> tuple[dict[bytes, int], frozenset[bytes]]:
    """The offset of each class file's entry by its name, and the names of the class files that also exist for a later
    version of Java.
    """
    lengths = Struct("<28xHHH").unpack_from
    names: dict[bytes, int] = {}
    at = 0
    while at < len(directory):
        name, extra, comment = lengths(directory, at)
        start = at + _ENTRY.size
        text = directory[start : start + name]
        if text.endswith(b".class"):
            names[text] = at
        at = start + name + extra + comment
    versioned = [entry[len(_VERSIONS) :].partition(b"/")[2] for entry in names if entry.startswith(_VERSIONS)]
    return names, frozenset(versioned)
