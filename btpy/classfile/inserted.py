"""The code that was woven into a method: the attribute ``btpy.Inserted`` of a Code attribute.

If several sessions weave a class, their weavers run one after the other. No weaver may treat the inserted code of
another weaver as code of the program. The JVM ignores attributes that it does not know (JVMS §4.7.1)::

    u4 checksum        CRC-32 of the code; a tool that changes code and copies unknown attributes leaves a wrong one
    u2 count
    { u2 start, u2 end } [count]
"""

from __future__ import annotations

import zlib
from typing import Final

from btpy.classfile.reader import Code, table_bytes, table_items
from btpy.errors import ClassFileError

NAME: Final = "btpy.Inserted"


def ranges(code: Code) -> tuple[tuple[int, int], ...]:
    """Ranges [start, end) of inserted code; none if the attribute is missing or belongs to other code."""
    for attribute in code.attributes:
        if attribute.name == NAME:
            content = attribute.content
            if content[:4] != _checksum(code.code):
                return ()
            try:
                items = table_items(content[4:], 2)
            except ClassFileError:
                return ()
            return tuple(zip(items[1::2], items[2::2], strict=True))
    return ()


def content(code: bytes, inserted: list[int]) -> bytes:
    """The content of the attribute for ``code``; ``inserted``: start, end, start, end, …. If there are more ranges than
    the attribute can hold, the rest is omitted.
    """
    count = min(len(inserted) // 2, 65_535)
    return _checksum(code) + table_bytes([count, *inserted[: 2 * count]])


def _checksum(code: bytes) -> bytes:
    return zlib.crc32(code).to_bytes(4, "big")
