"""Reading the modules file of a Java runtime, ``lib/modules``: the classes of the JDK without starting a JVM.

The format has no specification but the sources of the JDK (``jdk.internal.jimage``).  A header, a hash table that is
not needed to read everything, for each resource the place of its attributes, the attributes, strings; then the
resources.  An attribute is a byte with its kind and length and that many bytes of a big-endian number; all other
numbers are little-endian on the machines that Java runs on today.  ``jlink --compress`` may have deflated resources.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from btpy.errors import ClassFileError

_MAGIC = 0xCAFEDADA
_COMPRESSED_MAGIC = 0xCAFEFAFA
_COMPRESSED_HEADER = struct.Struct("<IQQIIB")  # magic, size, size when inflated, name, configuration, last stage

# Kinds of attributes.
_END, _MODULE, _PARENT, _BASE, _EXTENSION, _OFFSET, _COMPRESSED, _UNCOMPRESSED = range(8)


def classes(modules: Path) -> Iterator[tuple[str, str, bytes]]:
    """(module, internal name, class file) of every class of the image. Raises ClassFileError and OSError."""
    with modules.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            yield from _classes(data)
        except (IndexError, ValueError, struct.error, zlib.error) as cause:
            raise ClassFileError(f"{modules} is not a modules file that btpy can read: {cause}") from cause


def _classes(data: mmap.mmap) -> Iterator[tuple[str, str, bytes]]:
    magic, _, _, _, length, locations_size, strings_size = struct.unpack_from("<7I", data)
    if magic != _MAGIC:
        raise ValueError("it begins with another number")
    offsets = 28 + 4 * length
    locations = offsets + 4 * length
    strings = locations + locations_size
    resources = strings + strings_size
    index = data[:resources]  # in it are thousands of looks, which take twice as long in a mapped file

    @cache
    def string(offset: int) -> str:
        return _string(index, strings + offset)

    for location in struct.unpack_from(f"<{length}I", index, offsets):
        attributes = _attributes(index, locations + location)
        if string(attributes[_EXTENSION]) != "class":
            continue
        package = string(attributes[_PARENT])
        name = _string(index, strings + attributes[_BASE])
        start = resources + attributes[_OFFSET]
        content = data[start : start + (attributes[_COMPRESSED] or attributes[_UNCOMPRESSED])]
        if attributes[_COMPRESSED]:
            content = _inflated(content, index, strings)
        if len(content) != attributes[_UNCOMPRESSED]:
            raise ValueError(f"{package}/{name} has {len(content)} bytes, not {attributes[_UNCOMPRESSED]}")
        yield string(attributes[_MODULE]), f"{package}/{name}" if package else name, content


def _attributes(index: bytes, at: int) -> list[int]:
    values = [0] * 8
    while head := index[at] & ~7:
        end = at + 2 + (index[at] & 7)
        values[head >> 3] = int.from_bytes(index[at + 1 : end])
        at = end
    return values


def _string(index: bytes, at: int) -> str:
    return index[at : index.index(b"\0", at)].decode()


def _inflated(content: bytes, index: bytes, strings: int) -> bytes:
    """The resource with its compressions undone, the last one first."""
    while True:
        magic, size, _, name, _, _ = _COMPRESSED_HEADER.unpack_from(content)
        if magic != _COMPRESSED_MAGIC:
            raise ValueError("a compressed resource without its header")
        method = _string(index, strings + name)
        if method != "zip":
            raise ValueError(f"a resource is compressed by {method!r}")
        content = zlib.decompress(content[_COMPRESSED_HEADER.size : _COMPRESSED_HEADER.size + size])
        if content[:4] == b"\xca\xfe\xba\xbe":
            return content
