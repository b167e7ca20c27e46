"""Fields and methods of a class, from its class file: for completion."""

from __future__ import annotations

from btpy.classfile.jvms import ACC_ABSTRACT, ACC_BRIDGE, ACC_NATIVE, ACC_SYNTHETIC
from btpy.classfile.reader import ClassFile, Member
from btpy.dataclass import dataclass
from btpy.model.types import Type, from_descriptor
from btpy.plan.listing import ListedMethod, Skipped, described


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: Type
    static: bool


@dataclass(frozen=True, slots=True)
class Members:
    """Names are binary names. Synthetic members are left out."""

    name: str
    superclass: str
    source_file: str
    fields: tuple[Field, ...]
    methods: tuple[ListedMethod, ...]

    @staticmethod
    def parse(data: bytes) -> Members:
        """Raises ClassFileError."""
        file = ClassFile.parse(data)
        return Members(
            name=file.name.replace("/", "."),
            superclass=(file.super_name or "").replace("/", "."),
            source_file=file.source_file or "",
            fields=tuple(
                Field(field.name, from_descriptor(field.descriptor), field.is_static)
                for field in file.fields
                if not field.access_flags & ACC_SYNTHETIC
            ),
            methods=tuple(
                described(method, skipped=_without_code(method))
                for method in file.methods
                if not method.access_flags & (ACC_SYNTHETIC | ACC_BRIDGE)
            ),
        )


def _without_code(method: Member) -> Skipped | None:
    if method.access_flags & ACC_NATIVE:
        return Skipped("", "native")
    return Skipped("", "no code") if method.access_flags & ACC_ABSTRACT else None


_WORDS = {"boolean": "Z", "byte": "B", "char": "C", "short": "S", "int": "I", "long": "J", "float": "F", "double": "D"}


def type_named(java: str) -> Type:
    """The type in the probe language for a Java type."""
    name = java.rstrip("[]")
    dimensions = "[" * ((len(java) - len(name)) // 2)
    return from_descriptor(dimensions + (_WORDS.get(name) or f"L{name.replace('.', '/')};"))


def targets(method: ListedMethod) -> dict[str, str]:
    """The names that ``$name`` can have in a method, with their types: parameters first, then other variables."""
    types = {name: type_ for type_, name in method.parameters if name}
    return types | {local.name: local.type for local in method.locals if local.name not in types}
