"""Classes in which a test can make each instruction fail: a call of ``Injection.at`` stands before it.

A variant is the same class with straight-line code between its instructions. Exception handlers, stack map frames and
jumps keep their targets. So the tests run the code of a real session, and errors arise at its instructions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from btpy.classfile import frames
from btpy.classfile import opcodes as op
from btpy.classfile.bytecode import scan
from btpy.classfile.pool import ConstantPool
from btpy.classfile.reader import ClassFile, ExceptionHandler
from btpy.classfile.relocation import relocate
from btpy.classfile.writer import code_attribute, code_of, name_index, with_code
from tests.codegen.target import runtime_classes

INJECTION = "Injection"
HANDLER = 1 << 20
CALL = 1 << 19

_CALLS = frozenset({op.INVOKEVIRTUAL, op.INVOKESPECIAL, op.INVOKESTATIC, op.INVOKEINTERFACE, op.INVOKEDYNAMIC})

#: Instructions that fail when stack or heap are full: calls and allocations, and entering a monitor, which may
# allocate.
FALLIBLE = _CALLS | {op.NEW, op.NEWARRAY, op.ANEWARRAY, op.MULTIANEWARRAY, op.MONITORENTER}

#: Instructions that never fail when stack or heap are full: they use only locals, the operand stack and jumps.
INFALLIBLE = frozenset(
    {
        *range(op.ACONST_NULL, op.LDC),
        op.LDC_W,
        op.LDC,  # unboxing of a number that the handler has checked for null
        op.LDC2_W,
        *range(op.ILOAD, op.IALOAD),
        *range(op.ISTORE, op.IASTORE),
        *range(op.POP, op.IADD),
        op.IINC,
        op.WIDE,
        op.LCMP,
        *range(op.IFEQ, op.JSR),
        *range(op.IRETURN, op.GETSTATIC),
        op.IFNULL,
        op.IFNONNULL,
        op.GOTO_W,
        # The emergency path calls nothing: it uses array elements and fields that were used before, and a monitor that
        # other threads hold only briefly.
        *(
            op.LAND,
            op.LOR,
            op.ISUB,
            op.ISHR,
            op.L2I,
            op.LALOAD,
            op.LASTORE,
            op.GETSTATIC,
            op.MONITORENTER,
            op.MONITOREXIT,
        ),
        op.CHECKCAST,  # checkcast of null only: handlers use it outside of their ranges, for the type of a local
    }
)


@dataclass(frozen=True)
class Place:
    """An instruction. ``protected``: whether an exception handler of its method covers it."""

    class_name: str
    method: str
    offset: int
    opcode: int
    protected: bool
    called: str = ""

    @property
    def fallible(self) -> bool:
        return self.opcode in FALLIBLE

    def __str__(self) -> str:
        return f"{self.class_name}.{self.method} at {self.offset}: {op.MNEMONICS[self.opcode]}"


Points = dict[int, Place]


def handler_variant(data: bytes) -> tuple[bytes, Points]:
    """Returns the handler, changed so that every instruction covered by an exception handler can fail, and all its
    places.

    The copy and the store of a call's result cannot fail: only the call itself needs stack or heap.
    """
    return _variant(data, HANDLER, everywhere=True)


def runtime_variant(target: Path) -> Points:
    """Writes the run-time classes to ``target``; in them each call and each allocation can fail."""
    points: Points = {}
    source = runtime_classes()
    for path in sorted(source.rglob("*.class")):
        data = path.read_bytes()
        if path.parent != source and not path.name.startswith(("Memory", "InternalMemory", "SunMemory")):
            data, class_points = _variant(data, len(points), everywhere=False)
            points.update(class_points)
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(data)
    assert len(points) < CALL
    return points


def _variant(data: bytes, first: int, *, everywhere: bool) -> tuple[bytes, Points]:
    file = ClassFile.parse(data)
    pool = file.pool.growable_copy()
    points: Points = {}
    replacements = []
    for method in file.methods:
        code = method.code
        if code is None:
            continue
        bytecode = scan(code.code)
        blocks = {}
        after_call = False
        for at in bytecode.starts:
            opcode = code.code[at]
            keeps = after_call and (opcode == op.DUP or op.ISTORE <= opcode < op.IASTORE)
            after_call = opcode in _CALLS or (keeps and opcode == op.DUP)
            covered = any(row.start <= at < row.end for row in code.exceptions)
            if not everywhere and opcode not in FALLIBLE:
                continue
            point = first + len(points) + (CALL if everywhere and opcode in _CALLS else 0)
            called = pool.member_at(int.from_bytes(code.code[at + 1 : at + 3]))[1] if opcode in _CALLS else ""
            points[point] = Place(file.name, method.name, at, opcode, covered, called)
            if (covered or not everywhere) and not keeps:
                blocks[at] = _asking(pool, point)
        if blocks:
            relocation = relocate(bytecode, {}, blocks)
            assert not relocation.new_targets
            rows = [
                ExceptionHandler(
                    relocation.reference(row.start),
                    relocation.reference(row.end),
                    relocation.reference(row.handler),
                    row.catch_type,
                )
                for row in code.exceptions
            ]
            maps = [
                (name_index(attribute), frames.shift(attribute.content, relocation)[0])
                for attribute in code.attributes
                if attribute.name == "StackMapTable"
            ]
            content = code_attribute(code.max_stack + 1, code.max_locals, relocation.code, rows, maps)
            replacements.append((code_of(method), content))
    return with_code(file, pool, replacements), points


def _asking(pool: ConstantPool, point: int) -> bytes:
    at = pool.methodref(INJECTION, "at", "(I)V")
    return bytes((op.LDC_W, *pool.integer(point).to_bytes(2), op.INVOKESTATIC, *at.to_bytes(2)))


def uncovered(points: Points) -> Iterable[Place]:
    """Places that can fail although no exception handler covers them."""
    return (place for place in points.values() if not place.protected and place.opcode not in INFALLIBLE)
