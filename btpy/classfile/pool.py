"""The constant pool (JVMS §4.4): the unchanged entries of a class file, and new entries after them.

Entries are never changed, moved or dropped, so every index in copied code stays valid.  An entry is stored as its
bytes. Equal bytes are one entry, so adding reuses existing entries.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from functools import lru_cache
from typing import Final

from btpy.classfile import mutf8
from btpy.classfile.jvms import MAX_POOL_COUNT, MAX_UTF8_LENGTH
from btpy.errors import ClassFileError

UTF8: Final = 1
INTEGER: Final = 3
FLOAT: Final = 4
LONG: Final = 5
DOUBLE: Final = 6
CLASS: Final = 7
STRING: Final = 8
FIELDREF: Final = 9
METHODREF: Final = 10
INTERFACE_METHODREF: Final = 11
NAME_AND_TYPE: Final = 12
METHOD_HANDLE: Final = 15
METHOD_TYPE: Final = 16
DYNAMIC: Final = 17
INVOKE_DYNAMIC: Final = 18

#: The number of bytes of an entry with its tag; 0: undefined tag. The bytes of a Utf8 text come after these 3 bytes.
_SIZES: Final = bytes((0, 3, 0, 5, 5, 9, 9, 3, 3, 5, 5, 5, 5, 0, 0, 4, 3, 5, 5, 3, 3)) + bytes(235)

MemberKey = tuple[int, str, str, str]
"""Tag, owner, name and descriptor of a reference to a member."""

_WITH_DESCRIPTOR: Final = (FIELDREF, METHODREF, INTERFACE_METHODREF, DYNAMIC, INVOKE_DYNAMIC)

_WIDE_SIZE: Final = 9  # entry of a long or double, which takes two indexes


class PoolOverflowError(ClassFileError):
    """The pool has no index left for a new entry."""


def _utf8(raw: bytes) -> bytes:
    """The entry of a CONSTANT_Utf8."""
    if len(raw) > MAX_UTF8_LENGTH:
        raise ClassFileError(f"a string constant of {len(raw)} bytes: the limit is {MAX_UTF8_LENGTH} (JVMS §4.4.7)")
    return b"\x01" + len(raw).to_bytes(2, "big") + raw


@lru_cache(maxsize=1024)
def _utf8_of(text: str) -> bytes:
    return _utf8(mutf8.encode(text))


class ConstantPool:
    """A pool that can grow.  ``ConstantPool()`` is empty; :meth:`parse` reads a pool.

    ``count`` is ``constant_pool_count``: one more than the highest index.  Methods that add return the index of the
    entry and raise PoolOverflowError when there is no room; methods named ``…_at`` read, and raise ClassFileError when
    the index is out of range or the entry is of another kind.  ``search=False``: the class file seldom has the entry,
    so it is added without a search for an equal one.
    """

    __slots__ = ("_added", "_data", "_indexes", "_named", "_parsed_count", "_starts", "_texts", "count")

    def __init__(self) -> None:
        self._data = b""
        self._starts = [0, 0]  # where each entry starts; the unusable slots (0, after long and double) have no bytes
        self._parsed_count = 1
        self._added: list[bytes] = []
        self._indexes: dict[bytes, int] = {}  # cached indexes of entries
        self._named: dict[str | int | MemberKey, int] = {}  # cached indexes of classes, integers and members
        self._texts: dict[int, str] = {}  # cached texts of entries of the class file, such as names of attributes
        self.count = 1

    @staticmethod
    def parse(data: bytes, offset: int) -> tuple[ConstantPool, int]:
        """Reads ``constant_pool_count`` and the entries at ``offset``; also gives the offset after them."""
        sizes = _SIZES
        if len(data) < offset + 2:
            raise ClassFileError("the class file ends before its constant pool (JVMS §4.1)")
        count = data[offset] << 8 | data[offset + 1]
        at = offset + 2
        starts = [at, at]
        index = 1
        try:
            while index < count:
                tag = data[at]
                if tag == UTF8:
                    at += 3 + (data[at + 1] << 8 | data[at + 2])
                else:
                    size = sizes[tag]
                    if not size:
                        raise ClassFileError(f"constant pool entry {index} has the unknown tag {tag} (JVMS §4.4)")
                    at += size
                    if size == _WIDE_SIZE:
                        starts.append(at)
                        index += 1
                starts.append(at)
                index += 1
        except IndexError:
            raise ClassFileError("the class file ends inside its constant pool (JVMS §4.4)") from None
        count = max(count, 1)
        if at > len(data) or len(starts) != count + 1:
            raise ClassFileError("the class file ends inside its constant pool (JVMS §4.4)")
        pool = ConstantPool()
        pool._data = data
        pool._starts = starts
        pool._parsed_count = pool.count = count
        return pool, at

    def growable_copy(self) -> ConstantPool:
        """A pool that begins with the entries of this pool and grows independently."""
        pool = ConstantPool()
        pool._data = self._data
        pool._starts = self._starts
        pool._parsed_count = self._parsed_count
        pool._texts = self._texts
        pool._added = self._added.copy()
        pool._indexes = self._indexes.copy()
        pool.count = self.count
        return pool

    def utf8(self, value: bytes | str, search: bool = True) -> int:
        """``bytes`` must be modified UTF-8."""
        return self._add(_utf8(value) if isinstance(value, bytes) else _utf8_of(value), search=search)

    def class_(self, internal_name: str, search: bool = True) -> int:
        """``internal_name`` as in JVMS §4.2.1 (slashes), or an array descriptor."""
        index = self._named.get(internal_name)
        if index is None:
            name = self.utf8(internal_name, search)
            index = self._named[internal_name] = self._add(b"\x07" + name.to_bytes(2, "big"), name)
        return index

    def string(self, value: str) -> int:
        text = self.utf8(value)
        return self._add(b"\x08" + text.to_bytes(2, "big"), text)

    def integer(self, value: int, search: bool = True) -> int:
        index = self._named.get(value)
        if index is None:
            index = self._named[value] = self._add(struct.pack(">Bi", INTEGER, value), search=search)
        return index

    def float_(self, value: float) -> int:
        return self._add(struct.pack(">Bf", FLOAT, value))

    def long(self, value: int) -> int:
        return self._add(struct.pack(">Bq", LONG, value))

    def double(self, value: float) -> int:
        return self._add(struct.pack(">Bd", DOUBLE, value))

    def name_and_type(self, name: str, descriptor: str, search: bool = True) -> int:
        return self._pair(NAME_AND_TYPE, self.utf8(name, search), self.utf8(descriptor, search))

    def fieldref(self, owner: str, name: str, descriptor: str) -> int:
        return self.member((FIELDREF, owner, name, descriptor))

    def methodref(self, owner: str, name: str, descriptor: str) -> int:
        return self.member((METHODREF, owner, name, descriptor))

    def interface_methodref(self, owner: str, name: str, descriptor: str) -> int:
        return self.member((INTERFACE_METHODREF, owner, name, descriptor))

    def member(self, key: MemberKey, search: bool = True) -> int:
        """A Fieldref, Methodref or InterfaceMethodref."""
        index = self._named.get(key)
        if index is None:
            tag, owner, name, descriptor = key
            class_index = self.class_(owner, search)
            # A class file that does not mention the class seldom has the two texts, and a search takes time.
            name_and_type = self.name_and_type(name, descriptor, search=class_index < self._parsed_count)
            index = self._named[key] = self._pair(tag, class_index, name_and_type)
        return index

    def _pair(self, tag: int, one: int, other: int) -> int:
        return self._add(struct.pack(">BHH", tag, one, other), one if one > other else other)

    def _add(self, entry: bytes, refers_to: int = 0, search: bool = True) -> int:
        """``refers_to``: the highest index in the entry."""
        index = self._indexes.get(entry)
        if index is not None:
            return index
        # An entry that refers to a new entry is new.
        index = self._parsed_index(entry) if search and refers_to < self._parsed_count > 1 else 0
        if not index:
            index = self.count
            wide = entry[0] in (LONG, DOUBLE)
            count = index + 2 if wide else index + 1
            if count > MAX_POOL_COUNT:
                raise PoolOverflowError(
                    f"the constant pool is full: {MAX_POOL_COUNT} is the limit of its count (JVMS §4.1)"
                )
            self._added.append(entry)
            if wide:
                self._added.append(b"")
            self.count = count
        self._indexes[entry] = index
        return index

    def _parsed_index(self, entry: bytes) -> int:
        """The index of an equal entry in the class file, 0 if there is none.

        It searches for the bytes, because only a few entries are looked up, and a table of all entries would cost more.
        """
        starts = self._starts
        data = self._data
        at = data.find(entry, starts[0], starts[-1])
        while at >= 0:
            index = bisect_right(starts, at) - 1
            if starts[index] == at:
                return index
            at = data.find(entry, at + 1, starts[-1])
        return 0

    def truncate(self, count: int) -> None:
        """Removes the entries that were added since ``count`` had this value."""
        keep = count - self._parsed_count
        if keep < 0:
            raise ValueError("parsed entries cannot be dropped")
        for entry in self._added[keep:]:
            if entry:
                del self._indexes[entry]
        del self._added[keep:]
        self._named.clear()
        self.count = count

    def entry_at(self, index: int) -> bytes:
        """Tag and payload of an entry, empty for an unusable index."""
        if 0 < index < self._parsed_count:
            starts = self._starts
            return self._data[starts[index] : starts[index + 1]]
        if self._parsed_count <= index < self.count:
            return self._added[index - self._parsed_count]
        return b""

    def tag_at(self, index: int) -> int:
        """The tag, 0 for an unusable index."""
        entry = self.entry_at(index)
        return entry[0] if entry else 0

    def utf8_at(self, index: int) -> bytes:
        """The modified UTF-8 of a Utf8 entry."""
        if 0 < index < self._parsed_count:
            start = self._starts[index]
            end = self._starts[index + 1]
            if start < end and self._data[start] == UTF8:
                return self._data[start + 3 : end]
        return self._entry(index, UTF8)[3:]

    def text_at(self, index: int) -> str:
        """The text of a Utf8 entry."""
        text = self._texts.get(index)
        if text is None:
            text = mutf8.decode(self.utf8_at(index))
            if index < self._parsed_count:
                self._texts[index] = text
        return text

    def class_at(self, index: int) -> str:
        """The internal name, or array descriptor, of a Class entry."""
        return self._text_of(self._entry(index, CLASS))

    def string_at(self, index: int) -> str:
        return self._text_of(self._entry(index, STRING))

    def name_and_type_at(self, index: int) -> tuple[str, str]:
        entry = self._entry(index, NAME_AND_TYPE)
        return self.text_at(entry[1] << 8 | entry[2]), self.text_at(entry[3] << 8 | entry[4])

    def member_at(self, index: int) -> tuple[str, str, str]:
        """Owner, name and descriptor of a Fieldref, Methodref or InterfaceMethodref."""
        entry = self.entry_at(index)
        if not entry or not FIELDREF <= entry[0] <= INTERFACE_METHODREF:
            raise ClassFileError(f"constant pool entry {index} is not a field or method reference (JVMS §4.4.2)")
        return (self.class_at(entry[1] << 8 | entry[2]), *self.name_and_type_at(entry[3] << 8 | entry[4]))

    def descriptor_at(self, index: int) -> str:
        """The descriptor alone of a Fieldref, Methodref, InterfaceMethodref, Dynamic or InvokeDynamic entry."""
        entry = self.entry_at(index)
        if not entry or entry[0] not in _WITH_DESCRIPTOR:
            raise ClassFileError(f"constant pool entry {index} has no descriptor (JVMS §4.4)")
        entry = self._entry(entry[3] << 8 | entry[4], NAME_AND_TYPE)
        return self.text_at(entry[3] << 8 | entry[4])

    def dynamic_at(self, index: int) -> tuple[int, str, str]:
        """Bootstrap method index, name and descriptor of a Dynamic or InvokeDynamic entry."""
        entry = self.entry_at(index)
        if not entry or entry[0] not in (DYNAMIC, INVOKE_DYNAMIC):
            raise ClassFileError(f"constant pool entry {index} is not dynamic (JVMS §4.4.10)")
        return (entry[1] << 8 | entry[2], *self.name_and_type_at(entry[3] << 8 | entry[4]))

    def number_at(self, index: int) -> int | float:
        """The value of an Integer, Float, Long or Double entry."""
        entry = self.entry_at(index)
        form = {INTEGER: ">i", FLOAT: ">f", LONG: ">q", DOUBLE: ">d"}.get(entry[0] if entry else 0)
        if form is None:
            raise ClassFileError(f"constant pool entry {index} is not a number (JVMS §4.4.4)")
        value: int | float = struct.unpack(form, entry[1:])[0]
        return value

    def _text_of(self, entry: bytes) -> str:
        return self.text_at(entry[1] << 8 | entry[2])

    def _entry(self, index: int, tag: int) -> bytes:
        entry = self.entry_at(index)
        if not entry or entry[0] != tag:
            actual = entry[0] if entry else "nothing"
            raise ClassFileError(f"constant pool entry {index} has tag {actual}, not {tag} (JVMS §4.4)")
        return entry

    @property
    def added(self) -> bytes:
        """The entries after the entries of the class file."""
        return b"".join(self._added)

    def to_bytes(self) -> bytes:
        """``constant_pool_count`` and the entries."""
        starts = self._starts
        old = self._data[starts[0] : starts[-1]]
        return b"".join((self.count.to_bytes(2, "big"), old, *self._added))
