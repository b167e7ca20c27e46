"""Fields of the classes that scripts navigate, read from class files when a script asks for them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from btpy.classfile.bytecode import scan
from btpy.classfile.jvms import ACC_ABSTRACT, ACC_FINAL, ACC_INTERFACE
from btpy.classfile.operations import OperationKind, operations
from btpy.classfile.reader import ClassFile
from btpy.errors import ClassFileError
from btpy.lang.check.classes import ClassFields, MethodFacts
from btpy.model.patterns import java_type, simple_name
from btpy.model.types import Type, from_descriptor

_MAX_SUPERTYPES: Final = 500
_MAX_SUBTYPES: Final = 200
_GETTER_BYTES: Final = 5  # aload_0, getfield, return of the value

OBJECT: Final = "java.lang.Object"


class ClassFiles(Protocol):
    def class_file(self, name: str) -> bytes | None:
        """The class file of a class by its binary name; None if there is none."""

    def subtypes(self, name: str, most: int) -> Iterable[bytes]:
        """Class files of at most ``most`` known subtypes of a class."""


class Knowledge:
    """``btpy.lang.check.classes.Classes`` over class files. It caches the fields that it has read. It reads further
    class files only inside :meth:`asking`, on the thread that called it.
    """

    def __init__(self) -> None:
        self._files: dict[str, ClassFile | None] = {}
        self._fields: dict[str, ClassFields | None] = {}
        self._subtypes: dict[tuple[str, str], str | None] = {}
        self._source: ClassFiles | None = None
        self._asking_thread = 0
        self.late_bound: dict[str, None] = {}  # an ordered set of sentences about such fields

    @contextmanager
    def asking(self, source: ClassFiles) -> Iterator[None]:
        """While the block runs, this thread reads classes from ``source``."""
        self._source, self._asking_thread = source, threading.get_ident()
        try:
            yield
        finally:
            self._source, self._asking_thread = None, 0

    def add(self, file: ClassFile) -> None:
        self._files.setdefault(file.name.replace("/", "."), file)

    def fields(self, name: str) -> ClassFields | None:
        if name == OBJECT:
            return None
        entry = self._fields.get(name)
        if entry is None and name not in self._fields:
            entry = self._read(name)
            if entry is not None or self._may_ask:
                self._fields[name] = entry
        return entry

    def subtype_with(self, name: str, field: str) -> str | None:
        key = name, field
        if key not in self._subtypes and self._source is not None and self._may_ask:
            subtype = None
            for data in self._source.subtypes(name, _MAX_SUBTYPES):
                file = _parsed(data)
                if file is not None and any(
                    candidate.name == field and not candidate.is_static for candidate in file.fields
                ):
                    subtype = file.name.replace("/", ".")
                    self.late_bound[f"`{field}` is a field of {subtype}, not of {name}: dynamic"] = None
                    break
            self._subtypes[key] = subtype
        # The empty string: no class could be read, so a subtype possibly has the field.
        return self._subtypes.get(key, "" if key not in self._subtypes else None)

    def method(self, owner: str, name: str) -> MethodFacts | None:
        file = self._file(owner)
        methods = () if file is None else file.methods
        code = next(
            (method.code for method in methods if method.name == name and method.descriptor.startswith("()")), None
        )
        if file is None or code is None:
            return None
        try:
            steps = list(operations(scan(code.code), file.pool))
        except ClassFileError:
            return None
        call = next((operation for operation in steps if operation.kind is OperationKind.CALL), None)
        reads = [
            operation.name for operation in steps if operation.kind is OperationKind.GET_FIELD and not operation.static
        ]
        only_reads = len(steps) == len(reads) == 1 and len(code.code) == _GETTER_BYTES
        line = code.line_at(call.at if call is not None else 0)
        return MethodFacts(
            f"{file.source_file}:{line}" if file.source_file and line else "",
            "" if call is None else f"{simple_name(java_type(call.owner))}.{call.name}",
            reads[0] if only_reads else "",
        )

    def parameter_names(self, owner: str, name: str) -> tuple[str, ...]:
        file = self._file(owner)
        same_name = [method for method in (file.methods if file is not None else ()) if method.name == name]
        return tuple(filter(None, same_name[0].parameter_names)) if len(same_name) == 1 else ()

    @property
    def _may_ask(self) -> bool:
        return self._source is not None and self._asking_thread == threading.get_ident()

    def _read(self, name: str) -> ClassFields | None:
        file = self._file(name)
        if file is None:
            return None
        fields: dict[str, Type] = {}
        statics: set[str] = set()
        supertypes: dict[str, None] = {}
        # Objects of these types belong to subtypes, which are possibly not loaded yet.
        complete = not file.access_flags & (ACC_INTERFACE | ACC_ABSTRACT) and file.name != "java/lang/Object"
        queue = [file]
        while queue and len(supertypes) < _MAX_SUPERTYPES:  # superclasses first: the nearest field of a name counts
            at = queue.pop(0)
            for field in at.fields:
                if field.is_static:
                    statics.add(field.name)
                else:
                    fields.setdefault(field.name, from_descriptor(field.descriptor))
            for above in (*((at.super_name,) if at.super_name else ()), *at.interfaces):
                spelled = above.replace("/", ".")
                if spelled in supertypes or spelled == OBJECT:
                    continue
                supertypes[spelled] = None
                parent = self._file(spelled)
                complete = complete and (parent is not None or above != at.super_name)
                if parent is not None:
                    queue.append(parent)
        class_name = file.name.replace("/", ".")
        final = bool(file.access_flags & ACC_FINAL)
        return ClassFields(class_name, fields, frozenset(statics), frozenset(supertypes), complete, final)

    def _file(self, name: str) -> ClassFile | None:
        """A member class may be spelled with dots."""
        if name not in self._files and self._source is not None and self._may_ask:
            self._files[name] = None
            spelled = name
            while self._files[name] is None and spelled:
                data = self._source.class_file(spelled)
                self._files[name] = None if data is None else _parsed(data)
                outer, dot, inner = spelled.rpartition(".")
                spelled = f"{outer}${inner}" if dot and outer.rpartition(".")[2][:1].isupper() else ""
        return self._files.get(name)


def _parsed(data: bytes) -> ClassFile | None:
    try:
        return ClassFile.parse(data)
    except ClassFileError:
        return None
