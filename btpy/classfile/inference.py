"""The frame at an instruction that has none (JVMS §4.10.1).

Between two stack map frames code runs straight on, so types follow from the frame before by one step an instruction:
no paths meet and no class hierarchy is needed.  A conditional jump that was widened needs this: the instruction after
it has become a jump target.

Types stand slot by slot here: the second slot of a ``long`` or ``double`` is empty bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from btpy.classfile import descriptors, frames
from btpy.classfile import opcodes as op
from btpy.classfile import pool as constants
from btpy.classfile.bytecode import Bytecode
from btpy.classfile.frames import DOUBLE, FLOAT, INTEGER, LONG, NULL, TOP, UNINITIALIZED_THIS, Frame
from btpy.classfile.pool import ConstantPool
from btpy.errors import ClassFileError

_SECOND = b""


def frame_at(
    offset: int,
    bytecode: Bytecode,
    known: Sequence[Frame],
    initial: tuple[bytes, ...],
    class_name: str,
    pool: ConstantPool,
) -> Frame:
    """The frame at ``offset``. ``known``: the method's frames; ``initial``: its locals on entry.

    Classes of the types that it names are added to the pool. Raises ClassFileError when the code does not verify.
    """
    start = Frame(0, initial, ())
    for frame in known:
        if frame.offset > offset:
            break
        start = frame
    walk = _Walk(bytecode.code, start, class_name, pool)
    try:
        for at in bytecode.starts:
            if start.offset <= at < offset:
                walk.step(at)
    except IndexError:
        raise ClassFileError(f"the operand stack is too small before offset {offset} (JVMS §4.9.2)") from None
    return Frame(offset, _joined(walk.locals_, trim=True), _joined(walk.stack))


def _spread(types: Iterable[bytes]) -> list[bytes]:
    out = []
    for kind in types:
        out.append(kind)
        if kind in (LONG, DOUBLE):
            out.append(_SECOND)
    return out


def _joined(types: Iterable[bytes], *, trim: bool = False) -> tuple[bytes, ...]:
    out = [kind for kind in types if kind]
    while trim and out and out[-1] == TOP:
        out.pop()
    return tuple(out)


class _Walk:
    """The types while walking."""

    def __init__(self, code: bytes, start: Frame, class_name: str, pool: ConstantPool) -> None:
        self._code = code
        self._class_name = class_name
        self._pool = pool
        self.locals_ = _spread(start.locals_)
        self.stack = _spread(start.stack)

    def _type(self, descriptor: str) -> list[bytes]:
        return [] if descriptor == "V" else _spread([frames.type_of(descriptor, self._pool)])

    def _reference(self, class_name: str) -> list[bytes]:
        return [frames.object_type(self._pool.class_(class_name))]

    def step(self, at: int) -> None:
        code = self._code
        opcode = code[at]
        local = code[at + 1] if op.LENGTHS[opcode] == 2 else 0
        if opcode == op.WIDE:
            opcode = code[at + 1]
            local = code[at + 2] << 8 | code[at + 3]
        elif op.ILOAD_0 <= opcode <= op.ALOAD_3:
            opcode, local = op.ILOAD + (opcode - op.ILOAD_0 >> 2), opcode - op.ILOAD_0 & 3
        elif op.ISTORE_0 <= opcode <= op.ASTORE_3:
            opcode, local = op.ISTORE + (opcode - op.ISTORE_0 >> 2), opcode - op.ISTORE_0 & 3
        if op.ISTORE <= opcode <= op.ASTORE:
            self._store(local, 2 if opcode in (op.LSTORE, op.DSTORE) else 1)
        elif opcode in op.SHUFFLES:
            taken, pattern = op.SHUFFLES[opcode]
            values = self._pop(taken)
            self.stack += [values[source] for source in pattern]
        elif op.INVOKEVIRTUAL <= opcode <= op.INVOKEDYNAMIC:
            self._call(opcode, code[at + 1] << 8 | code[at + 2])
        else:
            pushed = self._pushed(at, opcode, local)
            change = op.STACK_CHANGES[opcode]
            if change is None:
                change = self._change(at, opcode)
            self._pop(len(pushed) - change)
            self.stack += pushed

    def _pop(self, slots: int) -> list[bytes]:
        if slots > len(self.stack):
            raise IndexError
        at = len(self.stack) - slots
        values = self.stack[at:]
        del self.stack[at:]
        return values

    def _store(self, local: int, slots: int) -> None:
        values = self._pop(slots)
        locals_ = self.locals_
        locals_ += [TOP] * (local + slots - len(locals_))
        if locals_[local] == _SECOND:
            locals_[local - 1] = TOP
        end = local + slots
        if end < len(locals_) and locals_[end] == _SECOND:
            locals_[end] = TOP
        locals_[local:end] = values

    def _call(self, opcode: int, index: int) -> None:
        pool = self._pool
        name, descriptor = pool.dynamic_at(index)[1:] if opcode == op.INVOKEDYNAMIC else pool.member_at(index)[1:]
        self._pop(descriptors.argument_slots(descriptor))
        if opcode not in (op.INVOKESTATIC, op.INVOKEDYNAMIC):
            (receiver,) = self._pop(1)
            if opcode == op.INVOKESPECIAL and name == "<init>":
                self._initialize(receiver)
        self.stack += self._type(descriptors.parse(descriptor)[1])

    def _initialize(self, receiver: bytes) -> None:
        if receiver == UNINITIALIZED_THIS:
            (made,) = self._reference(self._class_name)
        else:
            new = receiver[1] << 8 | receiver[2]
            made = frames.object_type(self._code[new + 1] << 8 | self._code[new + 2])
        self.stack = [made if kind == receiver else kind for kind in self.stack]
        self.locals_ = [made if kind == receiver else kind for kind in self.locals_]

    def _change(self, at: int, opcode: int) -> int:
        """Change of the stack in slots by an access to a field or a ``multianewarray``."""
        if opcode == op.MULTIANEWARRAY:
            return 1 - self._code[at + 3]
        size = descriptors.slots(self._pool.member_at(self._code[at + 1] << 8 | self._code[at + 2])[2])
        changes = {op.GETSTATIC: size, op.PUTSTATIC: -size, op.GETFIELD: size - 1, op.PUTFIELD: -size - 1}
        return changes[opcode]

    def _pushed(self, at: int, opcode: int, local: int) -> list[bytes]:
        """What the instruction leaves on the stack in place of what it took."""
        code = self._code
        pool = self._pool
        if opcode == op.ALOAD:
            return [self.locals_[local]]
        if opcode in _PUSHED:
            return _PUSHED[opcode]
        if opcode == op.AALOAD:
            array = self.stack[-2]
            if array == NULL:
                return [NULL]
            return self._type(pool.class_at(array[1] << 8 | array[2])[1:])
        if opcode == op.NEW:
            return [frames.uninitialized_type(at)]
        if opcode == op.NEWARRAY:
            return self._reference("[" + _ELEMENTS[code[at + 1] - 4])
        if opcode == op.LDC:
            return self._constant(code[at + 1])
        if op.LENGTHS[opcode] < 3:
            return []
        index = code[at + 1] << 8 | code[at + 2]
        if opcode in (op.LDC_W, op.LDC2_W):
            return self._constant(index)
        if opcode in (op.GETSTATIC, op.GETFIELD):
            return self._type(pool.member_at(index)[2])
        if opcode == op.ANEWARRAY:
            element = pool.class_at(index)
            return self._reference("[" + (element if element[0] == "[" else f"L{element};"))
        if opcode in (op.CHECKCAST, op.MULTIANEWARRAY):
            return [frames.object_type(index)]
        return []

    def _constant(self, index: int) -> list[bytes]:
        tag = self._pool.tag_at(index)
        if tag == constants.DYNAMIC:
            return self._type(self._pool.dynamic_at(index)[2])
        descriptor = _CONSTANTS.get(tag)
        if descriptor is None:
            raise ClassFileError(f"constant pool entry {index} cannot be loaded (JVMS §4.4)")
        return self._type(descriptor)


_ELEMENTS = "ZCFDBSIJ"  # of newarray, from type 4

_CONSTANTS = {
    constants.INTEGER: "I",
    constants.FLOAT: "F",
    constants.LONG: "J",
    constants.DOUBLE: "D",
    constants.STRING: "Ljava/lang/String;",
    constants.CLASS: "Ljava/lang/Class;",
    constants.METHOD_TYPE: "Ljava/lang/invoke/MethodType;",
    constants.METHOD_HANDLE: "Ljava/lang/invoke/MethodHandle;",
}


def _computed() -> dict[int, list[bytes]]:
    """What loads, constants, arithmetic, conversions and comparisons push: their mnemonics say it."""
    types = {"i": [INTEGER], "l": [LONG, _SECOND], "f": [FLOAT], "d": [DOUBLE, _SECOND]}
    table = {op.BIPUSH: types["i"], op.SIPUSH: types["i"], op.ACONST_NULL: [NULL]}
    for opcode in (*range(op.ICONST_M1, op.BIPUSH), *range(op.ILOAD, op.ALOAD), *range(op.IALOAD, op.AALOAD)):
        table[opcode] = types[op.MNEMONICS[opcode][0]]
    table.update(dict.fromkeys((op.BALOAD, op.CALOAD, op.SALOAD), types["i"]))
    for opcode in range(op.IADD, op.LXOR + 1):
        table[opcode] = types[op.MNEMONICS[opcode][0]]
    for opcode in range(op.I2L, op.I2S + 1):
        table[opcode] = types.get(op.MNEMONICS[opcode][2], types["i"])
    for opcode in (*range(op.LCMP, op.DCMPG + 1), op.ARRAYLENGTH, op.INSTANCEOF):
        table[opcode] = types["i"]
    return table


_PUSHED = _computed()
