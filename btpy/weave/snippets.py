"""Inserted code. It has no branches, so it needs no stack map frames and no class hierarchy.

:class:`Snippet` writes one block.  :class:`Variables` has the locations of the block's values in the frame: in the
method's own local variables, or in new ones after them.  New variables come in two kinds: *kept* ones are set when the
method is entered and read at its exits, so stack map frames must include them; *scratch* ones live inside a block.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from btpy.classfile import descriptors
from btpy.classfile import opcodes as op
from btpy.classfile.jvms import MAX_LOCALS
from btpy.classfile.operations import Operation
from btpy.classfile.pool import FIELDREF, METHODREF, ConstantPool, MemberKey
from btpy.plan.plan import OBJECT, Handler, Operand, OperandKind


class Variable:
    """A local variable. ``size``: its slots; ``load`` and ``store``: the instructions."""

    __slots__ = ("descriptor", "erased", "load", "size", "slot", "store")

    def __init__(self, slot: int, descriptor: str) -> None:
        self.slot = slot
        self.descriptor = descriptor
        self.erased = descriptors.erase(descriptor)
        self.size = descriptors.slots(descriptor)
        self.load = _access(op.LOADS[descriptor[0]], op.ILOAD, op.ILOAD_0, slot)
        self.store = _access(op.STORES[descriptor[0]], op.ISTORE, op.ISTORE_0, slot)


def _access(opcode: int, first: int, first_short: int, slot: int) -> bytes:
    if slot <= 3:
        return bytes((first_short + 4 * (opcode - first) + slot,))
    if slot <= 255:
        return bytes((opcode, slot))
    return bytes((op.WIDE, opcode, slot >> 8, slot & 0xFF))


@lru_cache(maxsize=4096)
def variable(slot: int, descriptor: str) -> Variable:
    """The variable in a slot. Variables are cached, because many methods use the same ones."""
    return Variable(slot, descriptor)


class LocalsOverflowError(Exception):
    """A method has no free slots for kept or computed values."""


class Variables:
    """New local variables, after the method's own. ``limit``: the value of ``max_locals`` after weaving."""

    def __init__(self, first: int) -> None:
        self._next = self.limit = first
        self._scratch: list[Variable] = []
        self.kept: list[Variable] = []

    def keep(self, descriptor: str) -> Variable:
        """A new variable from entry to exit. All kept variables must be created before the first scratch variable."""
        new = self._new(descriptor)
        self.kept.append(new)
        return new

    def scratch(self, descriptor: str) -> Variable:
        new = self._new(descriptor)
        self._scratch.append(new)
        return new

    def _new(self, descriptor: str) -> Variable:
        new = variable(self._next, descriptor)
        self._next += new.size
        if self._next > MAX_LOCALS:
            raise LocalsOverflowError(f"more than {MAX_LOCALS} slots of local variables")
        if self._next > self.limit:
            self.limit = self._next
        return new

    def mark(self) -> int:
        return len(self._scratch)

    def since(self, mark: int) -> list[Variable]:
        """The scratch variables made since ``mark``."""
        return self._scratch[mark:]

    def reuse(self, mark: int) -> None:
        """The slots of the scratch variables made since ``mark`` may be used again, because their block is complete."""
        if mark < len(self._scratch):
            self._next = self._scratch[mark].slot
            del self._scratch[mark:]


Bindings = dict[tuple[OperandKind, int], Variable]
"""The location of each operand of a block, by kind and index."""


class Snippet:
    """A block of code. ``max_depth``: operand stack slots that it needs above the depth at its start.

    It is written without a constant pool and without knowing the numbers of its sites, so that one snippet serves many
    methods: ``_parts`` are code, site numbers, and descriptions of constants.
    """

    __slots__ = ("_code", "_depth", "_parts", "max_depth")

    def __init__(self, depth: int = 0) -> None:
        """``depth``: slots on the stack that the block may consume."""
        self._code = b""  # the code after the last of the parts
        self._depth = depth
        self._parts: list[bytes | int | Constant] = []
        self.max_depth = depth

    def assembled(self, assembler: Assembler, first: int, first_of_method: int) -> bytes:
        """The code. Site 0 of the block gets the number ``first``, site −1 the number ``first_of_method``, site −2 the
        next one, and so on."""
        out = b""
        for part in self._parts:
            if isinstance(part, int):
                out += assembler.site(first + part if part >= 0 else first_of_method - 1 - part)
            elif isinstance(part, Constant):
                out += assembler.instruction(part)
            else:
                out += part
        return out + self._code

    def _emit(self, change: int, code: bytes) -> None:
        self._code += code
        self._move(change)

    def _move(self, change: int) -> None:
        self._depth += change
        if self._depth > self.max_depth:
            self.max_depth = self._depth

    def _part(self, change: int, part: int | Constant) -> None:
        if self._code:
            self._parts.append(self._code)
            self._code = b""
        self._parts.append(part)
        self._move(change)

    def instruction(self, opcode: int) -> None:
        """An instruction without operands."""
        change = op.STACK_CHANGES[opcode]
        if change is None or op.LENGTHS[opcode] != 1:
            raise ValueError(f"{op.MNEMONICS[opcode]} has operands")
        self._emit(change, bytes((opcode,)))

    def _site(self, number: int) -> None:
        self._part(_SITE_DEPTH, number)
        self._depth -= _SITE_DEPTH - 1

    def zero(self, descriptor: str) -> None:
        """Pushes the default value of a type."""
        opcode = {"J": op.LCONST_0, "F": op.FCONST_0, "D": op.DCONST_0, "L": op.ACONST_NULL, "[": op.ACONST_NULL}
        self.instruction(opcode.get(descriptor[0], op.ICONST_0))

    def load(self, variable: Variable) -> None:
        self._emit(variable.size, variable.load)

    def store(self, variable: Variable) -> None:
        self._emit(-variable.size, variable.store)

    def duplicate(self, descriptor: str) -> None:
        """Duplicates the value on top of the stack; ``type`` is its type."""
        self.instruction(op.DUP2 if descriptors.slots(descriptor) == 2 else op.DUP)

    def copy(self, source: Variable, target: Variable) -> None:
        self.load(source)
        self.store(target)

    def nano_time(self) -> None:
        """Pushes ``System.nanoTime()``."""
        self._invoke(_NANO_TIME, search=True)

    def call(self, handler: Handler, site: int, operands: tuple[Operand, ...], bindings: Bindings) -> None:
        """Calls a handler and leaves its result on the stack."""
        self._site(site)
        for operand in operands:
            self.load(bound(operand, bindings))
        self._invoke(handler)

    def release(self, handler: Handler, site: int, value: Variable) -> None:
        """Calls the handler that releases a frame local."""
        self._site(site)
        self.load(value)
        self._invoke(handler)

    def class_constant(self, name: str) -> None:
        """Pushes the ``Class`` of an internal name (class files of version 49 and later)."""
        self._part(1, constant(_LDC, name))

    def read_field(self, written: Operation) -> None:
        """Reads the field that an instruction writes; takes the object off the stack unless the field is static."""
        size = descriptors.slots(written.descriptor)
        opcode, change = (op.GETSTATIC, size) if written.static else (op.GETFIELD, size - 1)
        owner = descriptors.class_name(written.owner)
        self._part(change, constant(bytes((opcode,)), (FIELDREF, owner, written.name, written.descriptor)))

    def _invoke(self, handler: Handler, search: bool = False) -> None:
        """``search``: as in ``Constant``. A class file does not mention the handlers of probes."""
        change = descriptors.call_change(handler.descriptor)
        self._part(change, constant(_INVOKESTATIC, (METHODREF, *handler), search))


class Constant:
    """An instruction with its constant: a member, or for ``ldc`` the name of a class. ``search``: whether the class
    file may have the constant.
    """

    __slots__ = ("key", "opcode", "search")

    def __init__(self, opcode: bytes, key: MemberKey | str, search: bool = True) -> None:
        self.opcode = opcode
        self.key = key
        self.search = search


@lru_cache(maxsize=4096)
def constant(opcode: bytes, key: MemberKey | str, search: bool = True) -> Constant:
    """The instruction with this constant. Many snippets share it, so an assembler finds most instructions by it."""
    return Constant(opcode, key, search)


class Assembler:
    """Writes the instructions of snippets that have constants, and adds the constants to the pool of a class. It
    remembers these instructions, so it is valid until constants are removed from the pool.
    """

    def __init__(self, pool: ConstantPool) -> None:
        self._pool = pool
        self._instructions: dict[Constant, bytes] = {}
        self._bases: dict[int, bytes] = {}

    def instruction(self, constant: Constant) -> bytes:
        code = self._instructions.get(constant)
        if code is None:
            key = constant.key
            if isinstance(key, str):
                code = _load_constant(self._pool.class_(key))
            else:
                code = constant.opcode + self._pool.member(key, constant.search).to_bytes(2, "big")
            self._instructions[constant] = code
        return code

    def site(self, number: int) -> bytes:
        """Pushes the number of a site. 32,768 sites share one constant, so sites cannot fill the constant pool."""
        offset = number & 0x7FFF
        small = _SIPUSH + offset.to_bytes(2, "big") if offset > 127 else _SMALL[offset]
        if offset == number:
            return small
        base = self._bases.get(number - offset)
        if base is None:
            base = self._bases[number - offset] = _load_constant(self._pool.integer(number - offset, search=False))
        return base + small + _IADD if offset else base


_LDC: Final = bytes((op.LDC,))
_INVOKESTATIC: Final = bytes((op.INVOKESTATIC,))
_NANO_TIME: Final = Handler("java/lang/System", "nanoTime", "()J")

_SITE_DEPTH: Final = 2  # two slots, for the base and the offset


#: Push each ``int`` of 7 bits.
_SMALL: Final = [bytes((op.ICONST_0 + value,)) if value <= 5 else bytes((op.BIPUSH, value)) for value in range(128)]


def _load_constant(index: int) -> bytes:
    """Pushes a constant of one slot."""
    return bytes((op.LDC, index)) if index <= 255 else bytes((op.LDC_W, index >> 8, index & 0xFF))


_SIPUSH: Final = bytes((op.SIPUSH,))
_IADD: Final = bytes((op.IADD,))


def bound(operand: Operand, bindings: Bindings) -> Variable:
    """The variable of an operand. Raises ValueError if the plan asks for an operand that the place does not have."""
    if operand.kind is OperandKind.VARIABLE:
        return variable(operand.number, operand.descriptor)
    value = bindings.get(operand_key(operand))
    if value is None:
        raise ValueError(f"the place has no {operand.kind.value} {operand.number}")
    if value.erased != operand.descriptor and value.erased != descriptors.erase(operand.descriptor):
        raise ValueError(f"{operand.kind.value} {operand.number} is {value.descriptor}, not {operand.descriptor}")
    return value


_INDEXED: Final = (OperandKind.ARGUMENT, OperandKind.LOCAL, OperandKind.TARGET_ARGUMENT, OperandKind.LENGTH)


def operand_key(operand: Operand) -> tuple[OperandKind, int]:
    """The key of an operand in bindings."""
    return operand.kind, operand.number if operand.kind in _INDEXED else 0


@lru_cache(maxsize=4096)
def parameters(descriptor: str, static: bool) -> tuple[Variable, ...]:
    """The local variables of the declared parameters on entry (JVMS §2.6.1)."""
    slot = 0 if static else 1
    variables = []
    for parameter in descriptors.parse(descriptor)[0]:
        variables.append(variable(slot, parameter))
        slot += descriptors.slots(parameter)
    return tuple(variables)


def receiver(slot: int = 0) -> Variable:
    return variable(slot, OBJECT)
