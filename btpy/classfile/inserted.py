"""The code that was woven into a method: the attribute ``btpy.Inserted`` of a Code attribute.

If several sessions weave a class, their weavers run one after the other. No weaver may treat the inserted code of
another weaver as code of the program. The JVM ignores attributes that it does not know (JVMS §4.7.1)::

    u4 checksum        CRC-32 of the code; a tool that changes code and copies unknown attributes leaves a wrong one
    u2 count
    { u2 start, u2 end } [count]
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

from btpy.classfile.reader import Code

NAME = "btpy.Inserted"

_HEADER = struct.Struct(">IH")


def ranges(code: Code) -> tuple[tuple[int, int], ...]:
    """Ranges [start, end) of inserted code; none if the attribute is missing or belongs to other code."""
    for attribute in code.attributes:
        if attribute.name == NAME:
            content = attribute.content
            if len(content) < _HEADER.size:
                return ()
            checksum, count = _HEADER.unpack_from(content)
            if checksum == zlib.crc32(code.code) and len(content) == _HEADER.size + 4 * count:
                offsets = struct.unpack_from(f">{2 * count}H", content, _HEADER.size)
                return tuple(zip(offsets[::2], offsets[1::2], strict=True))
    return ()


def content(code: bytes, inserted: Sequence[int]) -> bytes:
    """The content of the attribute for ``code``; ``inserted``: start, end, start, end, …. If there are more ranges than
    the attribute can hold, the rest is omitted.
    """
    offsets = inserted[: 2 * 65_535]
    return struct.pack(f">IH{len(offsets)}H", zlib.crc32(code), len(offsets) // 2, *offsets)
