"""Changes the attributes of a Code attribute that hold offsets into the code, after code was inserted.

``LineNumberTable`` (JVMS §4.7.12), ``LocalVariableTable`` (§4.7.13), ``LocalVariableTypeTable`` (§4.7.14), type
annotations (§4.7.20) and javac's ``CharacterRangeTable``.  ``StackMapTable`` is in ``frames``.  Other attributes stay
unchanged, because no other attribute of the specification has such offsets.
"""

from __future__ import annotations

import struct
from struct import pack, unpack_from
from typing import Final

from btpy.classfile.reader import annotation_end, table_bytes, table_items
from btpy.classfile.relocation import Relocation
from btpy.errors import ClassFileError


def relocated(name: str, content: bytes, relocation: Relocation, rows_before: int = 0) -> bytes:
    """The content of the attribute ``name`` for the new code; unchanged if the attribute has no offsets.

    ``rows_before``: the number of new rows before the old rows of the exception table. Raises ClassFileError.
    """
    try:
        relocate = _RELOCATORS.get(name)
        if relocate is not None:
            return relocate(content, relocation)
        if name in ("RuntimeVisibleTypeAnnotations", "RuntimeInvisibleTypeAnnotations"):
            return _type_annotations(content, relocation, rows_before)
        return content
    except (IndexError, struct.error):
        raise ClassFileError(f"the {name} ends too early or its offsets leave the code (JVMS §4.7)") from None


def with_line(content: bytes, offset: int, line: int) -> bytes:
    """A LineNumberTable with one more row, if there is room for it."""
    (count,) = unpack_from(">H", content)
    if count == 65_535:
        return content
    return pack(">H", count + 1) + content[2:] + pack(">HH", offset, line)


def _start(offset: int, relocation: Relocation) -> int:
    """The new start of a range. A range from offset 0 still begins at 0, so entry code has the first line and sees the
    parameters.
    """
    return relocation.reference(offset) if offset else 0


def _lines(content: bytes, relocation: Relocation) -> bytes:
    items = table_items(content, 2)
    references = relocation.references
    for at in range(1, len(items), 2):
        if items[at]:
            items[at] = references[items[at]]
    return table_bytes(items)


def _variables(content: bytes, relocation: Relocation) -> bytes:
    items = table_items(content, 5)
    references = relocation.references
    for at in range(1, len(items), 5):
        start = items[at]
        new = references[start] if start else 0
        items[at] = new
        items[at + 1] = references[start + items[at + 1]] - new
    return table_bytes(items)


def _character_ranges(content: bytes, relocation: Relocation) -> bytes:
    out = bytearray(content)
    for row in range(unpack_from(">H", content)[0]):
        start, end = unpack_from(">HH", content, 2 + 14 * row)  # `end` is the last byte, not the byte after it
        struct.pack_into(">HH", out, 2 + 14 * row, _start(start, relocation), max(relocation.reference(end + 1) - 1, 0))
    return bytes(out)


def _type_annotations(content: bytes, relocation: Relocation, rows_before: int) -> bytes:
    out = bytearray(content)
    at = 2
    for _ in range(unpack_from(">H", content)[0]):
        target = content[at]
        at += 1
        if target in (0x40, 0x41):  # localvar_target
            (count,) = unpack_from(">H", content, at)
            for row in range(count):
                start, length = unpack_from(">HH", content, at + 2 + 6 * row)
                new = _start(start, relocation)
                struct.pack_into(">HH", out, at + 2 + 6 * row, new, relocation.reference(start + length) - new)
            at += 2 + 6 * count
        elif target == 0x42:  # catch_target: a row of the exception table
            struct.pack_into(">H", out, at, unpack_from(">H", content, at)[0] + rows_before)
            at += 2
        elif 0x43 <= target <= 0x4B:  # offset_target, type_argument_target
            struct.pack_into(">H", out, at, relocation.instruction(unpack_from(">H", content, at)[0]))
            at += 2 if target <= 0x46 else 3
        else:
            raise ClassFileError(f"type annotation with the target 0x{target:02x} in code (JVMS §4.7.20.1)")
        at += 1 + 2 * content[at]  # type_path
        at = annotation_end(content, at)
    if at != len(content):
        raise ClassFileError("type annotations with bytes left over (JVMS §4.7.20)")
    return bytes(out)


_RELOCATORS: Final = {
    "LineNumberTable": _lines,
    "LocalVariableTable": _variables,
    "LocalVariableTypeTable": _variables,
    "CharacterRangeTable": _character_ranges,
}
