"""The operations of a method, instruction by instruction, as plain data: calls, accesses, arrays, casts, monitors.

    for operation in operations(code, bytecode, pool):
        print(operation.at, operation.kind, operation.owner, operation.name)

An :class:`Operation` has the types that the instruction pops from and pushes to the operand stack.  Types are field
descriptors.  Some facts need data flow: the object of a constructor call, the element type of an array, the live local
variables. They come from the states of ``typeflow``.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterator
from enum import Enum
from functools import cached_property
from struct import unpack_from
from typing import Final, NamedTuple

from btpy.classfile import descriptors, inserted, typeflow
from btpy.classfile import opcodes as op
from btpy.classfile.bytecode import Bytecode
from btpy.classfile.initialized import Initialization
from btpy.classfile.pool import ConstantPool
from btpy.classfile.reader import ClassFile, Code, Member
from btpy.classfile.typeflow import State
from btpy.errors import ClassFileError

_OBJECT: Final = descriptors.OBJECT


class OperationKind(Enum):
    CALL = "call"  # any invoke instruction except invokedynamic
    GET_FIELD = "get field"
    SET_FIELD = "set field"
    NEW_ARRAY = "new array"
    GET_ELEMENT = "get element"
    SET_ELEMENT = "set element"
    CAST = "cast"
    INSTANCE_OF = "instance of"
    THROW = "throw"
    ENTER_MONITOR = "enter monitor"
    EXIT_MONITOR = "exit monitor"


class Operation(NamedTuple):
    """One instruction. ``end`` is the offset after the instruction.

    ``owner``: the type in the instruction: the class of a call or field, the type of CAST and INSTANCE_OF, the element
    type of arrays; empty for other operations. The instruction alone does not distinguish ``byte`` from ``boolean``
    elements (``B``), or references of different types (``Object``). ``name`` and ``descriptor``: the member of a call
    or field access. ``operands``: the types that the instruction pops, the deepest first. ``result``: the type that it
    pushes, or ``V``.
    """

    at: int
    end: int
    kind: OperationKind
    owner: str
    name: str
    descriptor: str
    static: bool
    operands: tuple[str, ...]
    result: str

    @property
    def is_constructor_call(self) -> bool:
        return self.kind is OperationKind.CALL and self.name == "<init>"


_KINDS: Final[dict[int, OperationKind]] = {
    **dict.fromkeys(range(op.IALOAD, op.SALOAD + 1), OperationKind.GET_ELEMENT),
    **dict.fromkeys(range(op.IASTORE, op.SASTORE + 1), OperationKind.SET_ELEMENT),
    **dict.fromkeys((op.GETSTATIC, op.GETFIELD), OperationKind.GET_FIELD),
    **dict.fromkeys((op.PUTSTATIC, op.PUTFIELD), OperationKind.SET_FIELD),
    **dict.fromkeys(range(op.INVOKEVIRTUAL, op.INVOKEINTERFACE + 1), OperationKind.CALL),
    **dict.fromkeys((op.NEWARRAY, op.ANEWARRAY, op.MULTIANEWARRAY), OperationKind.NEW_ARRAY),
    op.CHECKCAST: OperationKind.CAST,
    op.INSTANCEOF: OperationKind.INSTANCE_OF,
    op.ATHROW: OperationKind.THROW,
    op.MONITORENTER: OperationKind.ENTER_MONITOR,
    op.MONITOREXIT: OperationKind.EXIT_MONITOR,
}

_ELEMENTS: Final = ("I", "J", "F", "D", _OBJECT, "B", "C", "S")  # of iaload … saload and iastore … sastore


def operations(bytecode: Bytecode, pool: ConstantPool) -> Iterator[Operation]:
    """The operations of a method in the order of its code. Raises ClassFileError."""
    code = bytecode.code
    kinds = _KINDS
    for at in bytecode.starts:
        if code[at] in kinds:
            yield operation_at(code, at, pool)


def operation_at(code: bytes, at: int, pool: ConstantPool) -> Operation:
    """The operation of the instruction at ``at``. Raises ClassFileError when the instruction is no operation."""
    opcode = code[at]
    kind = _KINDS.get(opcode)
    if kind is None:
        raise ClassFileError(f"the instruction at offset {at} is not an operation")
    end = at + op.LENGTHS[opcode]
    if kind is OperationKind.CALL:
        owner, name, descriptor = pool.member_at(code[at + 1] << 8 | code[at + 2])
        static = opcode == op.INVOKESTATIC
        parameters, returns = descriptors.parse(descriptor)
        owner = descriptors.of_class(owner)
        operands = parameters if static else (owner, *parameters)
        return Operation(at, end, kind, owner, name, descriptor, static, operands, returns)
    if kind in (OperationKind.GET_FIELD, OperationKind.SET_FIELD):
        owner, name, descriptor = pool.member_at(code[at + 1] << 8 | code[at + 2])
        if not descriptors.is_field(descriptor):
            raise ClassFileError(f"{descriptor!r} is not the type of a field (JVMS §4.3.2)")
        static = opcode in (op.GETSTATIC, op.PUTSTATIC)
        owner = descriptors.of_class(owner)
        target = () if static else (owner,)
        if kind is OperationKind.GET_FIELD:
            return Operation(at, end, kind, owner, name, descriptor, static, target, descriptor)
        return Operation(at, end, kind, owner, name, descriptor, static, (*target, descriptor), "V")
    return Operation(at, end, kind, *_plain(code, at, opcode, kind, pool))


def _plain(
    code: bytes, at: int, opcode: int, kind: OperationKind, pool: ConstantPool
) -> tuple[str, str, str, bool, tuple[str, ...], str]:
    """Owner, name, descriptor, static, operands and result of an operation that is neither a call nor a field
    access.
    """
    owner = ""
    operands: tuple[str, ...] = (_OBJECT,)
    result = "V"
    if kind is OperationKind.GET_ELEMENT:
        owner = result = _ELEMENTS[opcode - op.IALOAD]
        operands = (f"[{owner}", "I")
    elif kind is OperationKind.SET_ELEMENT:
        owner = _ELEMENTS[opcode - op.IASTORE]
        operands = (f"[{owner}", "I", owner)
    elif opcode == op.NEWARRAY:
        owner = typeflow.primitive_element(code[at + 1])
        operands, result = ("I",), f"[{owner}"
    elif opcode == op.MULTIANEWARRAY:
        result = pool.class_at(code[at + 1] << 8 | code[at + 2])
        owner = result[1:]
        operands = ("I",) * code[at + 3]
        if result[:1] != "[" or not operands:
            raise ClassFileError(f"multianewarray of {result!r} (JVMS §6.5.multianewarray)")
    elif opcode in (op.ANEWARRAY, op.CHECKCAST, op.INSTANCEOF):
        owner = descriptors.of_class(pool.class_at(code[at + 1] << 8 | code[at + 2]))
        if opcode == op.ANEWARRAY:
            operands, result = ("I",), f"[{owner}"
        else:
            result = owner if opcode == op.CHECKCAST else "Z"
    return owner, "", "", False, operands, result


def line_starts(code: Code, bytecode: Bytecode) -> list[tuple[int, int]]:
    """(offset, line) for each beginning of a source line, in the order of the code.

    A line may begin several times: a loop has its condition at the end, a ``finally`` block may have several copies.
    """
    starts = set(bytecode.starts)
    out: list[tuple[int, int]] = []
    last = None
    for at, line in code.lines:
        if line != last and at in starts:
            if out and out[-1][0] == at:  # two rows for one instruction: a stack trace shows the line of the last row
                out.pop()
            out.append((at, line))
        last = line
    return out


def catches(code: Code, pool: ConstantPool) -> list[tuple[int, str]]:
    """(offset, descriptor of the type) of the exception handlers that catch a type, each once, in order.

    Handlers for any exception are left out: compilers write them for ``finally`` and ``synchronized``, and ``catch
    (Throwable)`` names its type. A handler of several types has a row for each.
    """
    rows = {(row.handler, row.catch_type): None for row in code.exceptions if row.catch_type}
    return sorted((at, descriptors.of_class(pool.class_at(catch_type))) for at, catch_type in rows)


class NewObject(NamedTuple):
    """The location of the new object after a constructor call. ``local``: None means the value is on top of the
    stack."""

    local: int | None


def initializes_this(call: Operation, state: State) -> bool:
    """True for a constructor call that is ``super(…)`` or ``this(…)``. ``state``: the state before the call."""
    return state.stack[_receiver(call, state)] == typeflow.THIS


def new_object(call: Operation, state: State) -> NewObject | None:
    """The object of a constructor call; None if nothing reachable refers to the object after the call."""
    at = _receiver(call, state)
    receiver = state.stack[at]
    if receiver is not None:
        if at and state.stack[at - 1] == receiver:
            return NewObject(None)
        if receiver in state.locals_:
            return NewObject(state.locals_.index(receiver))
    return None


def _receiver(call: Operation, state: State) -> int:
    at = len(state.stack) - descriptors.argument_slots(call.descriptor) - 1
    if at < 0:
        raise ClassFileError(f"the operand stack is too small at offset {call.at} (JVMS §4.9.2)")
    return at


def operand_value(operation: Operation, index: int, state: State) -> typeflow.Value:
    """The type of an operand in the state (of its first slot)."""
    at = len(state.stack) - sum(map(descriptors.slots, operation.operands[index:]))
    if at < 0:
        raise ClassFileError(f"the operand stack is too small at offset {operation.at} (JVMS §4.9.2)")
    return state.stack[at]


def may_be_uninitialized(operation: Operation, state: State, before_super: bool) -> bool:
    """True when the object may be an object whose constructor has not called ``super(…)`` or ``this(…)`` yet: then the
    constructor may only write its own fields and enter a monitor (JVMS §4.10.1.9).
    """
    may = operation.kind in (OperationKind.ENTER_MONITOR, OperationKind.EXIT_MONITOR)
    may = may or (before_super and operation.kind is OperationKind.SET_FIELD and not operation.static)
    return may and not typeflow.is_reference(operand_value(operation, 0, state))


def element_type(operation: Operation, state: State | None) -> str:
    """The element type of GET_ELEMENT and SET_ELEMENT as far as data flow knows it."""
    if state is not None and operation.owner in ("B", _OBJECT):
        array = operand_value(operation, 0, state)
        if isinstance(array, str) and array[:1] == "[":
            is_reference = array[1:2] in ("L", "[")
            if is_reference == (operation.owner == _OBJECT):
                return array[1:]
    return operation.owner


class LocalVariable(NamedTuple):
    """A row of the LocalVariableTable (JVMS §4.7.13)."""

    start: int
    end: int
    name: str
    descriptor: str
    slot: int


def local_variables(method: Member) -> tuple[LocalVariable, ...] | None:
    """The rows of the LocalVariableTables of a method, None when it has none. Raises ClassFileError."""
    code = method.code
    tables = (
        [] if code is None else [attribute for attribute in code.attributes if attribute.name == "LocalVariableTable"]
    )
    if not tables:
        return None
    rows = []
    try:
        for table in tables:
            content = table.content
            for row in range(unpack_from(">H", content)[0]):
                start, length, name, descriptor, slot = unpack_from(">HHHHH", content, 2 + 10 * row)
                text = method.pool.text_at(descriptor)
                if not descriptors.is_field(text):
                    raise ClassFileError(f"{text!r} is not the type of a variable (JVMS §4.7.13)")
                rows.append(LocalVariable(start, start + length, method.pool.text_at(name), text, slot))
    except struct.error:
        raise ClassFileError("the LocalVariableTable ends too early (JVMS §4.7.13)") from None
    return tuple(rows)


def holds(state: State, variable: LocalVariable) -> bool:
    """Whether the slot of a variable holds a value of its kind according to data flow, because tables may be wrong."""
    if not variable.slot < len(state.locals_):
        return False
    value = state.locals_[variable.slot]
    if variable.descriptor[0] in "L[":
        return typeflow.is_reference(value)
    return value == ("I" if variable.descriptor in "ZBCS" else variable.descriptor)


class MethodOperations:
    """The operations of one method with their states, which are computed on first use.

    Code that another weaver inserted is left out.
    """

    def __init__(self, file: ClassFile, method: Member, code: Code, bytecode: Bytecode) -> None:
        self._file = file
        self._method = method
        self._bytecode = bytecode
        self._states: dict[int, State] | None = None
        self.code = code
        self.lines = line_starts(code, bytecode)
        self.catches = catches(code, file.pool)
        self.operations = tuple(operations(bytecode, file.pool))
        ranges = inserted.ranges(code)
        if ranges:
            starts = sorted(set(bytecode.starts).difference(*(range(start, end) for start, end in ranges)))
            # A line that begins with inserted code begins at the instruction after it.
            begins = [(bisect_left(starts, at), line) for at, line in self.lines]
            self.lines = [(starts[index], line) for index, line in begins if index < len(starts)]
            own_positions = set(starts)
            self.operations = tuple(operation for operation in self.operations if operation.at in own_positions)
        self._constructs = method.name == "<init>" and file.name != "java/lang/Object"
        self._initialized: tuple[tuple[int, int], ...] | None = None

    @cached_property
    def variables(self) -> tuple[LocalVariable, ...] | None:
        """The LocalVariableTable, None when there is none."""
        return local_variables(self._method)

    def before_super(self, at: int) -> bool:
        """True in a constructor where ``super(…)`` or ``this(…)`` has not returned on every path."""
        if not self._constructs:
            return False
        if self._initialized is None:
            self._initialized = Initialization(self.code, self._bytecode, self._file.pool).ranges
        return not any(start <= at < end for start, end in self._initialized)

    def state(self, at: int) -> State | None:
        """The state before the instruction at ``at``, if an operation or a line is there; None if it is unreachable."""
        if self._states is None:
            positions = {operation.at for operation in self.operations}
            positions.update(at for at, _ in self.lines)
            positions.update(at for at, _ in self.catches)
            self._states = typeflow.states(self._file, self._method, self._bytecode, positions)
        return self._states.get(at)
