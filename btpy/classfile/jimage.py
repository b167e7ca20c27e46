"""Reading the modules file of a Java runtime, ``lib/modules``: the classes of the JDK without starting a JVM.

Only the source code of the JDK specifies the format (``jdk.internal.jimage``).  The file has, in this order: a header,
a hash table that is not needed to read everything, the place of the attributes of each resource, the attributes, the
strings, the resources.  An attribute is a byte with its kind and length, then a big-endian number of that length.  All
other numbers are little-endian on the machines that Java runs on today.  ``jlink --compress`` may have deflated
resources.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Final

from btpy.classfile.archive import MAX_ENTRY_BYTES
from btpy.errors import ClassFileError

_MAGIC: Final = 0xCAFEDADA
_COMPRESSED_MAGIC: Final = 0xCAFEFAFA
_COMPRESSED_HEADER: Final = struct.Struct("<IQQIIB")  # magic, size, inflated size, name, configuration, last stage

_MAX_STAGES: Final = 4  # jlink has two compressions, and applies each once
_MAX_STRING: Final = 64 * 1024  # the longest name in a class file
_MOST_STRINGS: Final = 8 * 1024  # the largest number of names in the cache: packages and modules

# Kinds of attributes.
_END, _MODULE, _PARENT, _BASE, _EXTENSION, _OFFSET, _COMPRESSED, _UNCOMPRESSED = range(8)


def classes(modules: Path) -> Iterator[tuple[str, str, Callable[[], bytes]]]:
    """Module, internal name and a function that reads the class file, for every class of the image.

    The function is valid until the next class is requested. Raises ClassFileError and OSError; the
    function raises ClassFileError.
    """
    with _understood(modules), modules.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        image = _Image(data)
        for module, name, attributes in image.classes():
            yield module, name, partial(_content, modules, image, attributes)


def _content(modules: Path, image: _Image, attributes: list[int]) -> bytes:
    with _understood(modules):
        return image.content(attributes)


@contextmanager
def _understood(modules: Path) -> Iterator[None]:
    try:
        yield
    except (IndexError, ValueError, struct.error, zlib.error) as cause:
        raise ClassFileError(f"{modules} is not a modules file that btpy can read: {cause}") from cause


class _Image:
    def __init__(self, data: mmap.mmap) -> None:
        magic, _, _, _, self._length, locations_size, strings_size = struct.unpack_from("<7I", data)
        if magic != _MAGIC:
            raise ValueError("it begins with another number")
        self._offsets = 28 + 4 * self._length
        self._locations = self._offsets + 4 * self._length
        self._strings = self._locations + locations_size
        self._resources = self._strings + strings_size
        self._data = data
        self._index = data[: self._resources]  # reading the mapped file directly takes twice as long

    def classes(self) -> Iterator[tuple[str, str, list[int]]]:
        """Module, internal name and attributes."""
        string = lru_cache(_MOST_STRINGS)(self._string)
        for location in struct.unpack_from(f"<{self._length}I", self._index, self._offsets):
            attributes = _attributes(self._index, self._locations + location)
            if string(attributes[_EXTENSION]) == "class":
                package, name = string(attributes[_PARENT]), self._string(attributes[_BASE])
                yield string(attributes[_MODULE]), f"{package}/{name}" if package else name, attributes

    def content(self, attributes: list[int]) -> bytes:
        start = self._resources + attributes[_OFFSET]
        size = attributes[_COMPRESSED] or attributes[_UNCOMPRESSED]
        if size > MAX_ENTRY_BYTES:
            raise ValueError(f"a class of {size} bytes")
        content = self._data[start : start + size]
        if attributes[_COMPRESSED]:
            content = self._inflated(content)
        if len(content) != attributes[_UNCOMPRESSED]:
            name = f"{self._string(attributes[_PARENT])}/{self._string(attributes[_BASE])}"
            raise ValueError(f"{name} has {len(content)} bytes, not {attributes[_UNCOMPRESSED]}")
        return content

    def _inflated(self, content: bytes) -> bytes:
        """The decompressed resource; the last compression is undone first."""
        for _ in range(_MAX_STAGES):
            magic, size, _, name, _, _ = _COMPRESSED_HEADER.unpack_from(content)
            if magic != _COMPRESSED_MAGIC:
                raise ValueError("a compressed resource without its header")
            method = self._string(name)
            if method != "zip":
                raise ValueError(f"a resource is compressed by {method!r}")
            packed = content[_COMPRESSED_HEADER.size : _COMPRESSED_HEADER.size + size]
            content = zlib.decompressobj().decompress(packed, MAX_ENTRY_BYTES)
            if content[:4] == b"\xca\xfe\xba\xbe":
                return content
        raise ValueError(f"a resource is compressed more than {_MAX_STAGES} times")

    def _string(self, offset: int) -> str:
        start = self._strings + offset
        return self._index[start : self._index.index(b"\0", start, start + _MAX_STRING)].decode()


def _attributes(index: bytes, at: int) -> list[int]:
    values = [0] * 8
    while head := index[at] & ~7:
        end = at + 2 + (index[at] & 7)
        values[head >> 3] = int.from_bytes(index[at + 1 : end])
        at = end
    return values
