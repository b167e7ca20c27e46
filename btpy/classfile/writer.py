"""Writing class files (JVMS §4.1): the old bytes, with another constant pool and other Code attributes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import starmap
from struct import Struct
from typing import Final

from btpy.classfile.pool import ConstantPool
from btpy.classfile.reader import Attribute, ClassFile, ExceptionHandler, Member

_CODE: Final = Struct(">HHI").pack
_EXCEPTION_HANDLER: Final = Struct(">HHHH").pack
_ATTRIBUTE: Final = Struct(">HI").pack


def code_attribute(
    max_stack: int,
    max_locals: int,
    code: bytes,
    exceptions: list[ExceptionHandler],
    attributes: list[tuple[int, bytes]],
) -> bytes:
    """The content of a Code attribute (JVMS §4.7.3). ``attributes``: name index and content of each."""
    out = [_CODE(max_stack, max_locals, len(code)), code, len(exceptions).to_bytes(2, "big")]
    if exceptions:
        out += starmap(_EXCEPTION_HANDLER, exceptions)
    out.append(len(attributes).to_bytes(2, "big"))
    for name, content in attributes:
        out.append(_ATTRIBUTE(name, len(content)))
        out.append(content)
    return b"".join(out)


def with_code(file: ClassFile, pool: ConstantPool, replacements: Iterable[tuple[Attribute, bytes]]) -> bytes:
    """The class file with an extended pool and new content for some Code attributes, in their order.

    All other bytes stay.
    """
    data = file.data
    out = [data[:8], pool.to_bytes()]
    last = file.pool_end
    for attribute, content in replacements:
        out += (data[last : attribute.start - 4], len(content).to_bytes(4, "big"), content)
        last = attribute.end
    out.append(data[last:])
    return b"".join(out)


def code_of(method: Member) -> Attribute:
    """The Code attribute of a method that has code."""
    attribute = method.attribute("Code")
    if attribute is None:
        raise ValueError(f"{method.name}{method.descriptor} has no code")
    return attribute


def name_index(attribute: Attribute) -> int:
    """The pool index of an attribute's name."""
    data, start = attribute.data, attribute.start
    return data[start - 6] << 8 | data[start - 5]
