"""Writing class files (JVMS §4.1): the old bytes, with another constant pool and other Code attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from struct import pack

from btpy.classfile.reader import Attribute, ClassFile, ExceptionHandler, Member

MAX_CODE_LENGTH = 65_535


def code_attribute(
    max_stack: int,
    max_locals: int,
    code: bytes,
    exceptions: Sequence[ExceptionHandler],
    attributes: Sequence[tuple[int, bytes]],
) -> bytes:
    """The content of a Code attribute (JVMS §4.7.3). ``attributes``: name index and content of each."""
    out = [pack(">HHI", max_stack, max_locals, len(code)), code, pack(">H", len(exceptions))]
    out += [pack(">HHHH", row.start, row.end, row.handler, row.catch_type) for row in exceptions]
    out.append(pack(">H", len(attributes)))
    for name, content in attributes:
        out += (pack(">HI", name, len(content)), content)
    return b"".join(out)


def with_code(file: ClassFile, replacements: Mapping[str, bytes]) -> bytes:
    """The class file with other Code attributes: keys are name and descriptor joined (``run()V``), values the content.

    The pool is written as it is now, with what was added to it. Everything else is the old bytes.
    """
    data = file.data
    out = [data[:8], file.pool.to_bytes()]
    last = file.pool_end
    for method in file.methods:
        content = replacements.get(method.name + method.descriptor)
        if content is not None:
            attribute = _code_of(method)
            out += (data[last : attribute.start - 4], len(content).to_bytes(4), content)
            last = attribute.end
    out.append(data[last:])
    return b"".join(out)


def _code_of(method: Member) -> Attribute:
    attribute = method.attribute("Code")
    if attribute is None:
        raise ValueError(f"{method.name}{method.descriptor} has no code")
    return attribute


def name_index(attribute: Attribute) -> int:
    """The pool index of an attribute's name."""
    return int.from_bytes(attribute.data[attribute.start - 6 : attribute.start - 4])
