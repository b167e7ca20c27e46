"""Reading class files (JVMS §4.1): it parses the header and methods at once, and fields and the attributes of methods
on first use.

    file = ClassFile.parse(data)
    for method in file.methods:
        if method.code is not None:
            print(method.name, method.descriptor, method.code.line_at(0))

The bytes come from another process: any fault in them is a ClassFileError.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property, wraps
from itertools import starmap
from struct import iter_unpack, unpack_from
from typing import Final, NamedTuple, ParamSpec, TypeVar

from btpy.classfile import descriptors, mutf8
from btpy.classfile.jvms import ACC_STATIC
from btpy.classfile.pool import ConstantPool
from btpy.errors import ClassFileError

CLASS_CONSTANTS_SINCE: Final = 49
"""The class-file version from which ``ldc`` may push a class (JVMS §4.4)."""

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _bounded(read: Callable[_P, _R]) -> Callable[_P, _R]:
    """Reading past the end always means a broken class file."""

    @wraps(read)
    def reading(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return read(*args, **kwargs)
        except (IndexError, struct.error):
            raise ClassFileError("the class file ends too early (JVMS §4.1)") from None

    return reading


_ATTRIBUTE: Final[Callable[[bytes, int], tuple[int, int]]] = struct.Struct(">HI").unpack_from
_MEMBER: Final[Callable[[bytes, int], tuple[int, int, int]]] = struct.Struct(">HHH").unpack_from
_CODE: Final[Callable[[bytes, int], tuple[int, int, int]]] = struct.Struct(">HHI").unpack_from


class Attribute:
    """One attribute (JVMS §4.7): ``data`` is the class file, the content lies from ``start`` to ``end``."""

    __slots__ = ("data", "end", "name", "start")

    def __init__(self, name: str, data: bytes, start: int, end: int) -> None:
        self.name = name
        self.data = data
        self.start = start
        self.end = end

    @property
    def content(self) -> bytes:
        return self.data[self.start : self.end]

    @property
    def whole(self) -> bytes:
        """The attribute with its name index and length."""
        return self.data[self.start - 6 : self.end]


class ExceptionHandler(NamedTuple):
    """A row of the exception table: offsets in the code; ``catch_type`` is a pool index, 0 for any."""

    start: int
    end: int
    handler: int
    catch_type: int


class Code:
    """A Code attribute (JVMS §4.7.3)."""

    def __init__(
        self,
        max_stack: int,
        max_locals: int,
        code: bytes,
        exceptions: tuple[ExceptionHandler, ...],
        attributes: tuple[Attribute, ...],
    ) -> None:
        self.max_stack = max_stack
        self.max_locals = max_locals
        self.code = code
        self.exceptions = exceptions
        self.attributes = attributes
        self._line_columns: tuple[list[int], list[int]] | None = None

    @property
    def lines(self) -> tuple[tuple[int, int], ...]:
        """(offset, source line) of all LineNumberTables (JVMS §4.7.12), ordered by offset."""
        return tuple(zip(*self._lines(), strict=True))

    def line_at(self, offset: int) -> int:
        """The source line of the instruction at ``offset``, 0 where it is not known."""
        offsets, lines = self._lines()
        at = bisect_right(offsets, offset)
        return lines[at - 1] if at else 0

    def _lines(self) -> tuple[list[int], list[int]]:
        columns = self._line_columns
        if columns is None:
            columns = self._line_columns = _lines(self.attributes)
        return columns


class Member:
    """A field or a method (JVMS §4.5, §4.6). ``offset``: where it begins in ``data``, the class file.

    Properties that read attributes raise ClassFileError if these are malformed.
    """

    def __init__(
        self, data: bytes, offset: int, access_flags: int, name: str, descriptor: str, pool: ConstantPool
    ) -> None:
        self._data = data
        self.offset = offset
        self.access_flags = access_flags
        self.name = name
        self.descriptor = descriptor
        self.pool = pool
        self._attributes: tuple[Attribute, ...] | None = None
        self._code: Code | None = None

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        if self._attributes is None:
            self._attributes = _attributes(self._data, self.offset + 6, len(self._data), self.pool)[0]
        return self._attributes

    def attribute(self, name: str) -> Attribute | None:
        return _find(self.attributes, name)

    @property
    def code(self) -> Code | None:
        """The Code of a method, None for fields, native and abstract methods."""
        if self._code is None:
            attribute = _find(self.attributes, "Code")
            if attribute is not None:
                self._code = _code(attribute, self.pool)
        return self._code

    @property
    def is_static(self) -> bool:
        return bool(self.access_flags & ACC_STATIC)

    @cached_property
    def annotations(self) -> tuple[str, ...]:
        """Binary names of the annotations of the member, visible and invisible (JVMS §4.7.16, §4.7.17)."""
        return _annotations(self.attributes, self.pool)

    @property
    def method_parameters(self) -> tuple[tuple[int, int], ...] | None:
        """The pool index of the name (0: no name) and the access flags of each parameter (JVMS §4.7.24); None without
        the attribute MethodParameters."""
        attribute = self.attribute("MethodParameters")
        return None if attribute is None else _method_parameters(attribute)

    @cached_property
    def parameter_names(self) -> tuple[str | None, ...]:
        """Source names of the parameters of a method, None where unknown: MethodParameters, else LocalVariableTable."""
        return _parameter_names(self)


class ClassFile:
    """A class file. Names are internal (slashes); ``pool_end`` is the offset in ``data`` after the constant pool."""

    def __init__(
        self,
        data: bytes,
        major: int,
        pool: ConstantPool,
        pool_end: int,
        access_flags: int,
        name: str,
        super_name: str | None,
        interfaces: tuple[str, ...],
        fields_at: int,
        methods: tuple[Member, ...],
        attributes: tuple[Attribute, ...],
    ) -> None:
        self.data = data
        self.major = major
        self.pool = pool
        self.pool_end = pool_end
        self.access_flags = access_flags
        self.name = name
        self.super_name = super_name
        self.interfaces = interfaces
        self._fields_at = fields_at
        self.methods = methods
        self.attributes = attributes

    @staticmethod
    def parse(data: bytes) -> ClassFile:
        """Parses everything except fields and attributes of methods. Raises ClassFileError."""
        return _parse(data)

    def attribute(self, name: str) -> Attribute | None:
        return _find(self.attributes, name)

    @cached_property
    def fields(self) -> tuple[Member, ...]:
        return _members(self.data, self._fields_at, self.pool)[0]

    @cached_property
    def annotations(self) -> tuple[str, ...]:
        """Binary names of the annotations of the class, visible and invisible."""
        return _annotations(self.attributes, self.pool)

    @cached_property
    def source_file(self) -> str | None:
        attribute = self.attribute("SourceFile")
        return None if attribute is None else self.pool.text_at(int.from_bytes(attribute.content))

    @property
    def has_annotated_components(self) -> bool:
        """True for a record with a component (JVMS §4.7.30) whose type is annotated, which some JDKs break on
        retransformation (JDK-8376185). Raises ClassFileError."""
        record = self.attribute("Record")
        return record is not None and _has_annotated_components(record, self.pool)


@_bounded
def _parse(data: bytes) -> ClassFile:
    if data[:4] != b"\xca\xfe\xba\xbe":
        raise ClassFileError("not a class file: it does not begin with 0xCAFEBABE (JVMS §4.1)")
    major = data[6] << 8 | data[7]
    pool, pool_end = ConstantPool.parse(data, 8)
    access_flags, this_class, super_class, count = unpack_from(">HHHH", data, pool_end)
    at = pool_end + 8
    interfaces = tuple(map(pool.class_at, unpack_from(f">{count}H", data, at)))
    at += 2 * count
    fields_at = at
    methods, at = _members(data, _after_members(data, at), pool)
    attributes, at = _attributes(data, at, len(data), pool)
    if at != len(data):
        raise ClassFileError("the class file has bytes left over (JVMS §4.8)")
    return ClassFile(
        data,
        major,
        pool,
        pool_end,
        access_flags,
        pool.class_at(this_class),
        pool.class_at(super_class) if super_class else None,
        interfaces,
        fields_at,
        methods,
        attributes,
    )


def _members(data: bytes, at: int, pool: ConstantPool) -> tuple[tuple[Member, ...], int]:
    count = data[at] << 8 | data[at + 1]
    at += 2
    members = []
    for _ in range(count):
        access_flags, name, descriptor = _MEMBER(data, at)
        members.append(Member(data, at, access_flags, pool.text_at(name), pool.text_at(descriptor), pool))
        at = _after_attributes(data, at + 6)
    return tuple(members), at


def _after_members(data: bytes, at: int) -> int:
    """The offset after the fields or methods at ``at``."""
    count = data[at] << 8 | data[at + 1]
    at += 2
    for _ in range(count):
        at = _after_attributes(data, at + 6)
    return at


def _after_attributes(data: bytes, at: int) -> int:
    """The offset after the attributes table at ``at``."""
    count = data[at] << 8 | data[at + 1]
    at += 2
    for _ in range(count):
        at += 6 + (data[at + 2] << 24 | data[at + 3] << 16 | data[at + 4] << 8 | data[at + 5])
    return at


def _attributes(data: bytes, at: int, end: int, pool: ConstantPool) -> tuple[tuple[Attribute, ...], int]:
    """The attributes table at ``at`` and the offset after it."""
    count = data[at] << 8 | data[at + 1]
    at += 2
    attributes: list[Attribute] = []
    for _ in range(count):
        name, length = _ATTRIBUTE(data, at)
        at += 6 + length
        if at > end:
            raise ClassFileError("an attribute passes the end of its structure (JVMS §4.7)")
        attributes.append(Attribute(pool.text_at(name), data, at - length, at))
    return tuple(attributes), at


@_bounded
def _code(attribute: Attribute, pool: ConstantPool) -> Code:
    data = attribute.data
    at = attribute.start
    end = attribute.end
    max_stack, max_locals, length = _CODE(data, at)
    at += 8
    code = data[at : at + length]
    at += length
    if at > end or not 0 < length < 65_536:
        raise ClassFileError("the code passes the end of its attribute or the limit of 65535 bytes (JVMS §4.7.3)")
    count = data[at] << 8 | data[at + 1]
    at += 2
    exceptions: tuple[ExceptionHandler, ...] = ()
    if count:
        rows = at
        at += 8 * count
        if at > end:
            raise ClassFileError("the exception table passes the end of its attribute (JVMS §4.7.3)")
        exceptions = tuple(starmap(ExceptionHandler, iter_unpack(">HHHH", data[rows:at])))
        for row in exceptions:
            if not (row.start <= row.end <= length and row.handler < length):
                raise ClassFileError("the exception table leaves the code (JVMS §4.7.3)")
    attributes, at = _attributes(data, at, end, pool)
    if at != end:
        raise ClassFileError("the Code attribute has bytes left over (JVMS §4.7.3)")
    return Code(max_stack, max_locals, code, exceptions, attributes)


def table_items(content: bytes, width: int) -> list[int]:
    """The ``u2`` items of a table with ``width`` items in each row. The first item is the number of rows (JVMS §4.7.12
    and others). Raises ClassFileError if the length of the table does not match this number.
    """
    items: list[int] = list(_items(len(content) >> 1).unpack_from(content))
    if not items or len(content) != 2 + 2 * width * items[0]:
        raise ClassFileError("a table ends too early or has bytes left over (JVMS §4.7)")
    return items


def table_bytes(items: list[int]) -> bytes:
    """The inverse of :func:`table_items`. Raises struct.error when an item needs more than two bytes."""
    return _items(len(items)).pack(*items)


_layouts: Final[dict[int, struct.Struct]] = {}
_MOST_LAYOUTS: Final = 512


def _items(count: int) -> struct.Struct:
    """The layout of ``count`` items."""
    layout = _layouts.get(count)
    if layout is None:
        layout = struct.Struct(f">{count}H")
        if len(_layouts) < _MOST_LAYOUTS:
            _layouts[count] = layout
    return layout


def _lines(attributes: Sequence[Attribute]) -> tuple[list[int], list[int]]:
    """The columns of all LineNumberTables, ordered by offset."""
    offsets: list[int] = []
    lines: list[int] = []
    for attribute in attributes:
        if attribute.name == "LineNumberTable":
            items = table_items(attribute.content, 2)
            offsets += items[1::2]
            lines += items[2::2]
    if offsets != sorted(offsets):
        order = sorted(range(len(offsets)), key=offsets.__getitem__)
        return [offsets[row] for row in order], [lines[row] for row in order]
    return offsets, lines


def _find(attributes: Sequence[Attribute], name: str) -> Attribute | None:
    for attribute in attributes:
        if attribute.name == name:
            return attribute
    return None


@_bounded
def _has_annotated_components(record: Attribute, pool: ConstantPool) -> bool:
    at = record.start + 2
    for _ in range(int.from_bytes(record.data[record.start : at])):
        attributes, at = _attributes(record.data, at + 4, record.end, pool)
        if any(attribute.name.endswith("TypeAnnotations") for attribute in attributes):
            return True
    return False


@_bounded
def _method_parameters(attribute: Attribute) -> tuple[tuple[int, int], ...]:
    content = attribute.content
    return tuple([unpack_from(">HH", content, 1 + 4 * i) for i in range(content[0])])


@_bounded
def _parameter_names(method: Member) -> tuple[str | None, ...]:
    parameters = descriptors.parse(method.descriptor)[0]
    named = method.method_parameters
    if named is not None and len(named) == len(parameters):
        return tuple(method.pool.text_at(index) if index else None for index, _ in named)
    names: list[str | None] = [None] * len(parameters)
    variables = None if method.code is None else _find(method.code.attributes, "LocalVariableTable")
    if variables is None:
        return tuple(names)
    slots = {}
    slot = 0 if method.is_static else 1
    for index, parameter in enumerate(parameters):
        slots[slot] = index
        slot += descriptors.slots(parameter)
    content = variables.content
    for row in range(unpack_from(">H", content)[0]):
        start, _, name, _, slot = unpack_from(">HHHHH", content, 2 + 10 * row)
        # A variable of a block may reuse the slot of a parameter. The parameter is the variable that is live from
        # offset 0.
        if start == 0 and slot in slots:
            names[slots[slot]] = method.pool.text_at(name)
    return tuple(names)


@_bounded
def _annotations(attributes: Sequence[Attribute], pool: ConstantPool) -> tuple[str, ...]:
    names = []
    for attribute in attributes:
        if attribute.name in ("RuntimeVisibleAnnotations", "RuntimeInvisibleAnnotations"):
            content = attribute.content
            (count,) = unpack_from(">H", content)
            at = 2
            for _ in range(count):
                descriptor = mutf8.decode(pool.utf8_at(unpack_from(">H", content, at)[0]))
                if not descriptors.is_field(descriptor):
                    raise ClassFileError(f"{descriptor!r} is not the type of an annotation (JVMS §4.7.16)")
                names.append(descriptor[1:-1].replace("/", "."))
                at = annotation_end(content, at)
    return tuple(names)


def annotation_end(content: bytes, at: int) -> int:
    """The offset after the annotation at ``at`` (JVMS §4.7.16). Raises IndexError or struct.error past the end."""
    stack = [(unpack_from(">H", content, at + 2)[0], True)]  # remaining element values, and whether they have names
    at += 4
    while stack:
        count, has_name = stack.pop()
        if not count:
            continue
        stack.append((count - 1, has_name))
        if has_name:
            at += 2
        tag = content[at]
        at += 1
        if tag == 0x5B:  # [
            stack.append((unpack_from(">H", content, at)[0], False))
            at += 2
        elif tag == 0x40:  # @
            stack.append((unpack_from(">H", content, at + 2)[0], True))
            at += 4
        else:
            at += 4 if tag == 0x65 else 2  # an enum constant is two indexes
    return at
