"""Weaves a class file before the JVM has shown the class.

When a class is retransformed, the JVM shows its bytes and waits for the woven bytes. These bytes differ from the class
file: the methods, and the attributes of their code, have another order. The client cannot predict them, but it can
predict what is woven into a method: that depends on the version, the constant pool, and the flags and the Code
attribute of the method. So the client weaves the methods of the class file and sends them to the agent together with
all these parts. If the JVM shows the same parts, the agent puts the methods in without asking.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct, pack
from typing import Final

from btpy.classfile.pool import ConstantPool
from btpy.classfile.reader import ClassFile, Member
from btpy.classfile.writer import code_of, name_index
from btpy.dataclass import new_tuple
from btpy.weave.weaver import WovenMethods
from btpy.wire.fingerprint import fingerprint
from btpy.wire.messages import MethodSites, PrewovenMethods, WovenCode

MAX_NAMES_BYTES = 256 * 1024
"""The maximum size of the names of a class's parameters."""

_IN_CODE = ("LineNumberTable", "StackMapTable", "LocalVariableTable", "LocalVariableTypeTable")
"""The attributes that HotSpot keeps of a Code attribute, in the order in which it writes them
(jvmtiClassFileReconstituter.cpp)."""

_NAME_INDEXES: Final = Struct(">HH").unpack_from
"""The indexes of the name and the descriptor of a method."""


def prewoven_methods(
    class_id: int, file: ClassFile, woven_methods: WovenMethods, sites: tuple[MethodSites, ...], names_lost: bool
) -> PrewovenMethods | None:
    """The woven methods, for the agent; None if no method was woven, if a method could not be woven (the reason is
    found again with the bytes of the JVM), if the JVM will certainly show other parts, or if the names of parameters
    are too long. ``names_lost``: whether the JVM omits MethodParameters in the bytes that it shows. Raises
    ClassFileError.
    """
    if not woven_methods.code or woven_methods.refusals:
        return None
    methods = []
    for method, content in woven_methods.code:
        content_shown = _shown(method)
        if content_shown is None:
            return None
        name, descriptor = _NAME_INDEXES(file.data, method.offset + 2)
        row = (method.access_flags, name, descriptor, fingerprint(content_shown), content)
        methods.append(new_tuple(WovenCode, row))
    parameter_names = _parameter_names(file) if names_lost else ()
    if parameter_names is None:
        return None
    code_name = name_index(code_of(woven_methods.code[0][0]))
    beginning = fingerprint(file.data[4 : file.pool_end])
    return PrewovenMethods(
        class_id,
        sites,
        beginning,
        woven_methods.pool.count,
        woven_methods.pool.added,
        code_name,
        parameter_names,
        tuple(methods),
    )


def size_of(prewoven: PrewovenMethods) -> int:
    """The number of bytes of code, constants and names, which is about the size of the message."""
    code = sum([len(method.content) for method in prewoven.methods])
    names = sum(map(len, prewoven.parameter_names))
    for method in prewoven.sites:
        names += len(method.method) + len(method.descriptor)
        names += sum([len(site.target_class) + len(site.member) for site in method.sites])
    return code + names + len(prewoven.constants)


def _parameter_names(file: ClassFile) -> tuple[bytes, ...] | None:
    """None if there are more than MAX_NAMES_BYTES: many parameters of a forged class can have the same long name."""
    if b"MethodParameters" not in file.data:
        return ()
    all_names = []
    size = 0
    for method in file.methods:
        parameters = method.method_parameters
        if parameters is not None:
            names = _names(file, method, parameters)
            all_names.append(names)
            size += len(names)
            if size > MAX_NAMES_BYTES:
                return None
    return tuple(all_names)


def _names(file: ClassFile, method: Member, parameters: tuple[tuple[int, int], ...]) -> bytes:
    """``MethodNames`` (docs/protocol.md)."""
    name, descriptor = _NAME_INDEXES(file.data, method.offset + 2)
    out = [_text(file.pool, name), _text(file.pool, descriptor), bytes((len(parameters),))]
    for index, flags in parameters:
        out += (pack(">H", flags), _text(file.pool, index))
    return b"".join(out)


def _text(pool: ConstantPool, index: int) -> bytes:
    """``Text`` (docs/protocol.md)."""
    content = pool.utf8_at(index) if index else b""
    return pack(">HH", index, len(content)) + content


def _shown(method: Member) -> bytes | None:
    """The Code attribute of a method as HotSpot will write it; None if HotSpot will omit an attribute."""
    code, attribute = method.code, code_of(method)
    assert code is not None
    order = _order(tuple([attribute.name for attribute in code.attributes]))
    if order is None:
        return None
    if not order:
        return attribute.content
    fixed = attribute.data[attribute.start : code.attributes[0].start - 6]
    return fixed + b"".join(code.attributes[at].whole for at in order)


@lru_cache(maxsize=256)
def _order(names: tuple[str, ...]) -> tuple[int, ...] | None:
    """The indexes of the attributes in HotSpot's order. Empty if the order does not change, None if HotSpot omits an
    attribute.
    """
    if any(name not in _IN_CODE for name in names):
        return None
    order = tuple(sorted(range(len(names)), key=lambda at: _IN_CODE.index(names[at])))
    return () if order == tuple(range(len(names))) else order
