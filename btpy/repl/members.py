"""Fields, methods, lines and local variables of a class, from its class file: what completion and ``:ls`` show."""

from __future__ import annotations

from btpy.classfile import descriptors
from btpy.classfile.reader import ClassFile, Member
from btpy.plan.patterns import simple_name
from btpy.plan.planner import java_signature
from btpy.values import dataclass

_ACC_PRIVATE, _ACC_STATIC, _ACC_BRIDGE, _ACC_NATIVE, _ACC_ABSTRACT = 0x2, 0x8, 0x40, 0x100, 0x400
_ACC_SYNTHETIC = 0x1000


@dataclass(frozen=True, slots=True)
class Variable:
    """A local variable or a parameter. ``first`` and ``last``: the source lines in which it is live; 0: not known."""

    name: str
    descriptor: str
    first: int = 0
    last: int = 0


@dataclass(frozen=True, slots=True)
class Method:
    """``parameters``: types as Java spells them; ``names``: those that are known, else None. ``why_not``: why no probe
    can go into it; empty where one can."""

    name: str
    descriptor: str
    parameters: tuple[str, ...]
    names: tuple[str | None, ...]
    result: str
    static: bool
    lines: tuple[int, ...]
    locals_: tuple[Variable, ...]
    why_not: str = ""

    @property
    def signature(self) -> str:
        """``quote(String sku, int quantity)``, with simple names of types."""
        shown = [
            f"{simple_name(type_)} {name}" if name else simple_name(type_)
            for type_, name in zip(self.parameters, self.names, strict=True)
        ]
        return f"{self.name}({', '.join(shown)})"

    @property
    def targets(self) -> tuple[Variable, ...]:
        """What ``$name`` can say in it: its parameters, then its other variables."""
        types = descriptors.parse(self.descriptor)[0]
        named = [Variable(name, type_) for name, type_ in zip(self.names, types, strict=True) if name]
        known = {each.name for each in named}
        return (*named, *(each for each in self.locals_ if each.name not in known))


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    descriptor: str
    static: bool


@dataclass(frozen=True, slots=True)
class Members:
    """Names are binary names."""

    name: str
    superclass: str
    interfaces: tuple[str, ...]
    source_file: str
    fields: tuple[Field, ...]
    methods: tuple[Method, ...]

    @staticmethod
    def parse(data: bytes) -> Members:
        """Raises ClassFileError."""
        file = ClassFile.parse(data)
        return Members(
            name=_dotted(file.name),
            superclass=_dotted(file.super_name or ""),
            interfaces=tuple(map(_dotted, file.interfaces)),
            source_file=file.source_file or "",
            fields=tuple(
                Field(each.name, each.descriptor, each.is_static)
                for each in file.fields
                if not each.access_flags & _ACC_SYNTHETIC
            ),
            methods=tuple(_method(file, each) for each in file.methods),
        )

    def named(self, method: str) -> list[Method]:
        return [each for each in self.methods if each.name == method]


def _dotted(name: str) -> str:
    return name.replace("/", ".")


def _method(file: ClassFile, method: Member) -> Method:
    parameters, result = java_signature(method.descriptor)
    code = method.code
    lines = tuple(sorted({line for _, line in code.lines})) if code is not None else ()
    return Method(
        name=method.name,
        descriptor=method.descriptor,
        parameters=parameters,
        names=method.parameter_names,
        result=result,
        static=method.is_static,
        lines=lines,
        locals_=_variables(method),
        why_not=_why_not(method),
    )


def _why_not(method: Member) -> str:
    if method.access_flags & _ACC_NATIVE:
        return "native"
    if method.access_flags & _ACC_ABSTRACT:
        return "no code"
    if method.access_flags & _ACC_BRIDGE:
        return "bridge"
    if method.access_flags & _ACC_SYNTHETIC:
        return "lambda" if method.name.startswith("lambda$") else "made by the compiler"
    return ""


def _variables(method: Member) -> tuple[Variable, ...]:
    """Of the LocalVariableTable (JVMS §4.7.13)."""
    code = method.code
    if code is None:
        return ()
    found: dict[str, Variable] = {}
    for attribute in code.attributes:
        if attribute.name != "LocalVariableTable":
            continue
        content = attribute.content
        for row in range(int.from_bytes(content[:2])):
            start, length, name, descriptor, _ = (
                int.from_bytes(content[at : at + 2]) for at in range(2 + 10 * row, 12 + 10 * row, 2)
            )
            text = method.pool.text_at(name)
            if text == "this":
                continue
            live = [line for offset, line in code.lines if start <= offset < start + length]
            known = found.get(text)
            if known is None:
                lines = (min(live), max(live)) if live else (0, 0)
                found[text] = Variable(text, method.pool.text_at(descriptor), *lines)
    return tuple(found.values())
