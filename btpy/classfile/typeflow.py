"""The types of local variables and of the operand stack before an instruction (JVMS §4.10).

Each instruction is one step over types, which are written as field descriptors: ``I`` for everything that is an ``int``
to the JVM, ``Ljava/lang/String;``, ``[Z``. Instead of a type, a slot may hold

- ``""``: the second half of the ``long`` or ``double`` before it,
- ``NULL``, ``THIS`` (uninitialised), ``ADDRESS`` (of a ``jsr``),
- an ``int``: the offset of the ``new`` that made an object whose constructor has not returned,
- ``None``: unusable.

With a StackMapTable the flow is one straight walk: the table has the types at all joins of paths.  Without a
StackMapTable (class files older than version 50, and boot classes as HotSpot passes them) the flow is a work list over
all paths. Where paths join with different types, a reference is an ``Object`` and other values are unusable.  Types
only become less precise, so the analysis ends.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

from btpy.classfile import descriptors, frames
from btpy.classfile import opcodes as op
from btpy.classfile import pool as constants
from btpy.classfile.bytecode import Bytecode, branch_target, switch_targets
from btpy.classfile.frames import Frame
from btpy.classfile.pool import ConstantPool
from btpy.classfile.reader import ClassFile, Code, ExceptionHandler, Member
from btpy.errors import ClassFileError

NULL: Final = "null"
THIS: Final = "this"
ADDRESS: Final = "address"
_OBJECT: Final = descriptors.OBJECT
_THROWABLE: Final = "Ljava/lang/Throwable;"

Value = str | int | None
_Reach = Callable[[int, "State"], None]


class State(NamedTuple):
    """Slot by slot, the bottom of the stack first."""

    locals_: tuple[Value, ...]
    stack: tuple[Value, ...]


def is_reference(value: Value) -> bool:
    """True for a value that may be passed as an ``Object``."""
    return isinstance(value, str) and (value[:1] in ("L", "[") or value == NULL)


def states(file: ClassFile, method: Member, bytecode: Bytecode, positions: Collection[int]) -> dict[int, State]:
    """The states before the instructions at ``positions``, without unreachable instructions.

    Raises ClassFileError when the operand stacks contradict each other. Nothing is added to the pool.
    """
    code = method.code
    if code is None or not positions:
        return {}
    initial = _initial(file, method)
    walk = _Walk(bytecode.code, f"L{file.name};", file.pool)
    table = next((attribute for attribute in code.attributes if attribute.name == "StackMapTable"), None)
    try:
        if table is not None:
            return _along_frames(walk, bytecode, initial, _frames(table.content, initial, file.pool), positions)
        if not (bytecode.branches or bytecode.switches or code.exceptions):
            return _along_frames(walk, bytecode, initial, {}, positions)
        return _over_all_paths(walk, code, bytecode, initial, positions)
    except IndexError:
        raise ClassFileError("the operand stack or the constant pool is too small for the code (JVMS §4.9)") from None


def _initial(file: ClassFile, method: Member) -> list[Value]:
    values: list[Value] = []
    if not method.is_static:
        uninitialized = method.name == "<init>" and file.name != "java/lang/Object"
        values.append(THIS if uninitialized else f"L{file.name};")
    for parameter in descriptors.parse(method.descriptor)[0]:
        values += _pushed(parameter)
    return values


def _pushed(descriptor: str) -> tuple[Value, ...]:
    """The slots of a value of a type, none for ``V``."""
    return _PUSHED.get(descriptor) or (descriptor,)


_PUSHED: Final[dict[str, tuple[Value, ...]]] = {
    **dict.fromkeys("ZBCSI", ("I",)),
    "J": ("J", ""),
    "F": ("F",),
    "D": ("D", ""),
}


def verification_types(locals_: Sequence[Value], pool: ConstantPool) -> tuple[bytes, ...]:
    """Local variables in the form of a stack map frame; adds classes to the pool. An object that a ``new`` made and
    whose constructor has not returned is omitted, because its type changes after the constructor call."""
    return _encoded([None if isinstance(value, int) else value for value in locals_], pool, trim=True)


def frame_at(
    offset: int,
    bytecode: Bytecode,
    declared_frames: Sequence[Frame],
    initial: tuple[bytes, ...],
    class_name: str,
    pool: ConstantPool,
) -> Frame:
    """The frame at an instruction without a frame of its own. ``declared_frames``: the frames of the method;
    ``initial``: its locals on entry.

    Between two frames there are no jump targets, so no paths join. A conditional jump that was widened needs this: the
    instruction after it has become a jump target. Classes of the types that the frame names are added to the pool.
    Raises ClassFileError when the code does not verify.
    """
    start = Frame(0, initial, ())
    for frame in declared_frames:
        if frame.offset > offset:
            break
        start = frame
    walk = _Walk(bytecode.code, f"L{class_name};", pool)
    names = dict(_BASIC_TYPES)
    walk.locals_ += _spread(start.locals_, names, pool)
    walk.stack += _spread(start.stack, names, pool)
    try:
        for at in bytecode.starts:
            if start.offset <= at < offset:
                walk.step(at)
    except IndexError:
        raise ClassFileError(f"the operand stack is too small before offset {offset} (JVMS §4.9.2)") from None
    return Frame(offset, _encoded(walk.locals_, pool, trim=True), _encoded(walk.stack, pool))


_BASIC_TYPES: Final[dict[bytes, Value]] = {
    frames.TOP: None,
    frames.INTEGER: "I",
    frames.FLOAT: "F",
    frames.LONG: "J",
    frames.DOUBLE: "D",
    frames.NULL: NULL,
    frames.UNINITIALIZED_THIS: THIS,
}
"""Verification types without a class."""

_BASIC_NAMES: Final = {value: name for name, value in _BASIC_TYPES.items()} | {ADDRESS: frames.TOP}


def _encoded(values: Sequence[Value], pool: ConstantPool, *, trim: bool = False) -> tuple[bytes, ...]:
    """Slots as the verification types of a frame; ``trim``: leaves out unusable slots at the end."""
    types = []
    for value in values:
        if value == "":
            continue
        name = _BASIC_NAMES.get(value)
        if name is None:
            name = frames.uninitialized_type(value) if isinstance(value, int) else frames.type_of(str(value), pool)
        types.append(name)
    while trim and types and types[-1] == frames.TOP:
        types.pop()
    return tuple(types)


def _frames(content: bytes, initial: Sequence[Value], pool: ConstantPool) -> dict[int, State]:
    # The initial types of the method may have classes that are not in the pool. A type of four bytes represents each of
    # them.
    names = dict(_BASIC_TYPES)
    types = {name: kind for kind, name in names.items()}
    before = []
    for number, value in enumerate(value for value in initial if value != ""):
        kind = types.get(value) or b"\x07\x00" + number.to_bytes(2)
        names[kind] = value
        before.append(kind)
    out = {}
    for frame in frames.decode(content, tuple(before)):
        out[frame.offset] = State(_spread(frame.locals_, names, pool), _spread(frame.stack, names, pool))
    return out


def _spread(types: Sequence[bytes], names: dict[bytes, Value], pool: ConstantPool) -> tuple[Value, ...]:
    out: list[Value] = []
    for kind in types:
        if kind in names:
            value = names[kind]
        else:
            number = kind[1] << 8 | kind[2]
            value = number if kind[0] == frames.UNINITIALIZED else descriptors.of_class(pool.class_at(number))
            names[kind] = value
        out.append(value)
        if value in ("J", "D"):
            out.append("")
    return tuple(out)


def _along_frames(
    walk: _Walk,
    bytecode: Bytecode,
    initial: Sequence[Value],
    declared_states: dict[int, State],
    positions: Collection[int],
) -> dict[int, State]:
    code = bytecode.code
    states = {}
    walk.locals_ = list(initial)
    reached = True
    for at in bytecode.starts:
        frame = declared_states.get(at)
        if frame is not None:
            walk.locals_ = list(frame.locals_)
            walk.stack = list(frame.stack)
            reached = True
        if not reached:
            continue
        if at in positions:
            states[at] = walk.state()
        walk.step(at)
        reached = not op.ENDS_FLOW[code[at]]
    return states


def _over_all_paths(
    walk: _Walk, code: Code, bytecode: Bytecode, initial: Sequence[Value], positions: Collection[int]
) -> dict[int, State]:
    array = bytecode.code
    following = dict(zip(bytecode.starts, [*bytecode.starts[1:], -1], strict=True))
    states = {0: State(tuple(initial), ())}
    queue = [0]

    def reach(at: int, state: State) -> None:
        if at not in following:
            raise ClassFileError(f"control leaves the code or jumps into an instruction, at {at} (JVMS §4.9)")
        before = states.get(at)
        merged = state if before is None else _merged(before, state, at)
        if merged != before:
            states[at] = merged
            queue.append(at)

    while queue:
        at = queue.pop()
        before = states[at]
        walk.locals_ = list(before.locals_)
        walk.stack = list(before.stack)
        walk.step(at)
        after = walk.state()
        for row in code.exceptions:
            if row.start <= at < row.end:
                _reach_handler(row, before, after, at, walk.pool, reach)
        opcode = array[at + 1] if array[at] == op.WIDE else array[at]
        if opcode in (op.TABLESWITCH, op.LOOKUPSWITCH):
            for target in switch_targets(array, at):
                reach(target, after)
        elif opcode in (op.JSR, op.JSR_W):
            # The analysis assumes that the subroutine leaves the stack unchanged, and that all local variables are
            # unknown after it.
            reach(branch_target(array, at), after)
            reach(following[at], State((), before.stack))
        elif op.FORMATS[opcode] in ("branch2", "branch4"):
            reach(branch_target(array, at), after)
        if not op.ENDS_FLOW[opcode] and opcode not in (op.JSR, op.JSR_W):
            reach(following[at], after)
    return {at: states[at] for at in positions if at in states}


def _reach_handler(
    row: ExceptionHandler, before: State, after: State, at: int, pool: ConstantPool, reach: _Reach
) -> None:
    caught = descriptors.of_class(pool.class_at(row.catch_type)) if row.catch_type else _THROWABLE
    reach(row.handler, State(before.locals_, (caught,)))
    if after.locals_ != before.locals_:
        reach(row.handler, State(after.locals_, (caught,)))


def _merged(one: State, other: State, at: int) -> State:
    if len(one.stack) != len(other.stack):
        raise ClassFileError(f"paths meet at offset {at} with stacks of different depth (JVMS §4.10.1)")
    locals_ = [_meet(*pair) for pair in zip(one.locals_, other.locals_, strict=False)]
    for index, value in enumerate(locals_):
        half = locals_[index - 1] not in ("J", "D") if value == "" else locals_[index + 1 : index + 2] != [""]
        if half and value in ("", "J", "D"):
            locals_[index] = None
    return State(tuple(locals_), tuple(_meet(*pair) for pair in zip(one.stack, other.stack, strict=True)))


def _meet(one: Value, other: Value) -> Value:
    if one == other:
        return one
    if is_reference(one) and is_reference(other):
        return other if one == NULL else one if other == NULL else _OBJECT
    return None


class _Walk:
    """The current state of the walk."""

    def __init__(self, code: bytes, owner: str, pool: ConstantPool) -> None:
        self._code = code
        self._owner = owner
        self._members: dict[int, tuple[str, int, tuple[Value, ...]]] = {}
        self.pool = pool
        self.locals_: list[Value] = []
        self.stack: list[Value] = []

    def state(self) -> State:
        return State(tuple(self.locals_), tuple(self.stack))

    def step(self, at: int) -> None:
        """Runs the instruction at ``at``. Raises IndexError when the stack is too small."""
        code = self._code
        opcode = code[at]
        effect = _EFFECTS[opcode]
        if effect is not None:
            pops, pushed = effect
            self._pop(pops)
            self.stack += pushed
        elif op.INVOKEVIRTUAL <= opcode <= op.INVOKEDYNAMIC:
            self._call(opcode, code[at + 1] << 8 | code[at + 2])
        elif op.ALOAD_0 <= opcode <= op.ALOAD_3:
            self._load(opcode - op.ALOAD_0)
        elif opcode == op.ALOAD:
            self._load(code[at + 1])
        elif op.ISTORE_0 <= opcode <= op.ASTORE_3:
            self._store(opcode - op.ISTORE_0 & 3, _STORE_WIDTHS[opcode - op.ISTORE_0 >> 2])
        elif op.ISTORE <= opcode <= op.ASTORE:
            self._store(code[at + 1], _STORE_WIDTHS[opcode - op.ISTORE])
        elif op.GETSTATIC <= opcode <= op.PUTFIELD:
            self._access(opcode, code[at + 1] << 8 | code[at + 2])
        elif opcode in op.SHUFFLES:
            depth, pattern = op.SHUFFLES[opcode]
            values = self._pop(depth)
            self.stack += [values[source] for source in pattern]
        elif opcode == op.WIDE:
            self._wide(code[at + 1], code[at + 2] << 8 | code[at + 3])
        else:
            self._other(at, opcode)

    def _pop(self, slots: int) -> list[Value]:
        if slots > len(self.stack):
            raise IndexError
        at = len(self.stack) - slots
        values = self.stack[at:]
        del self.stack[at:]
        return values

    def _load(self, local: int) -> None:
        self.stack.append(self.locals_[local] if local < len(self.locals_) else None)

    def _store(self, local: int, width: int) -> None:
        values = self._pop(width)
        locals_ = self.locals_
        end = local + width
        locals_ += [None] * (end - len(locals_))
        if locals_[local] == "":
            locals_[local - 1] = None
        if end < len(locals_) and locals_[end] == "":
            locals_[end] = None
        locals_[local:end] = values

    def _wide(self, opcode: int, local: int) -> None:
        if opcode == op.ALOAD:
            self._load(local)
        elif op.ISTORE <= opcode <= op.ASTORE:
            self._store(local, _STORE_WIDTHS[opcode - op.ISTORE])
        else:
            effect = _EFFECTS[opcode]
            if effect is not None:
                self.stack += effect[1]

    def _member(self, opcode: int, index: int) -> tuple[str, int, tuple[Value, ...]]:
        """Name, slots of the arguments or of the field's value, and the type of the result."""
        member = self._members.get(index)
        if member is None:
            pool = self.pool
            name, descriptor = pool.dynamic_at(index)[1:] if opcode == op.INVOKEDYNAMIC else pool.member_at(index)[1:]
            if descriptor[:1] == "(":
                returns = descriptors.parse(descriptor)[1]
                pushed = () if returns == "V" else _pushed(returns)
                member = name, descriptors.argument_slots(descriptor), pushed
            else:
                member = name, descriptors.slots(descriptor), _pushed(descriptor)
            self._members[index] = member
        return member

    def _call(self, opcode: int, index: int) -> None:
        name, arguments, pushed = self._member(opcode, index)
        self._pop(arguments)
        if opcode not in (op.INVOKESTATIC, op.INVOKEDYNAMIC):
            (receiver,) = self._pop(1)
            if opcode == op.INVOKESPECIAL and name == "<init>" and (receiver == THIS or isinstance(receiver, int)):
                self._initialize(receiver)
        self.stack += pushed

    def _initialize(self, receiver: str | int) -> None:
        type_ = self._owner
        if isinstance(receiver, int):
            type_ = descriptors.of_class(self.pool.class_at(self._code[receiver + 1] << 8 | self._code[receiver + 2]))
        self.stack = [type_ if value == receiver else value for value in self.stack]
        self.locals_ = [type_ if value == receiver else value for value in self.locals_]

    def _access(self, opcode: int, index: int) -> None:
        _, slots, pushed = self._member(opcode, index)
        if opcode in (op.PUTSTATIC, op.PUTFIELD):
            self._pop(slots)
        if opcode in (op.GETFIELD, op.PUTFIELD):
            self._pop(1)
        if opcode in (op.GETSTATIC, op.GETFIELD):
            self.stack += pushed

    def _other(self, at: int, opcode: int) -> None:
        code = self._code
        pool = self.pool
        if opcode == op.LDC:
            self.stack += self._constant(code[at + 1])
        elif opcode in (op.LDC_W, op.LDC2_W):
            self.stack += self._constant(code[at + 1] << 8 | code[at + 2])
        elif opcode == op.NEW:
            self.stack.append(at)
        elif opcode == op.AALOAD:
            array = self._pop(2)[0]
            self.stack.append(NULL if array == NULL else element_type(array))
        elif opcode == op.CHECKCAST:
            self._pop(1)
            self.stack.append(descriptors.of_class(pool.class_at(code[at + 1] << 8 | code[at + 2])))
        elif opcode == op.NEWARRAY:
            self._pop(1)
            self.stack.append("[" + primitive_element(code[at + 1]))
        elif opcode == op.ANEWARRAY:
            self._pop(1)
            self.stack.append("[" + descriptors.of_class(pool.class_at(code[at + 1] << 8 | code[at + 2])))
        elif opcode == op.MULTIANEWARRAY:
            self._pop(code[at + 3])
            self.stack.append(descriptors.of_class(pool.class_at(code[at + 1] << 8 | code[at + 2])))
        else:  # jsr, jsr_w
            self.stack.append(ADDRESS)

    def _constant(self, index: int) -> tuple[Value, ...]:
        tag = self.pool.tag_at(index)
        if tag == constants.DYNAMIC:
            return _pushed(self.pool.dynamic_at(index)[2])
        descriptor = _CONSTANTS.get(tag)
        if descriptor is None:
            raise ClassFileError(f"constant pool entry {index} cannot be loaded (JVMS §4.4)")
        return _pushed(descriptor)


def primitive_element(kind: int) -> str:
    """The descriptor of the element type of a ``newarray``. Raises ClassFileError."""
    if kind not in op.NEWARRAY_TYPES:
        raise ClassFileError(f"newarray of the unknown type {kind} (JVMS §6.5.newarray)")
    return op.NEWARRAY_TYPES[kind]


def element_type(array: Value) -> str:
    """The element type of an array of references, ``Object`` if it is not known."""
    return array[1:] if isinstance(array, str) and array[:2] in ("[L", "[[") else _OBJECT


_STORE_WIDTHS: Final = (1, 2, 1, 2, 1)  # types of istore, lstore, fstore, dstore, astore

_CONSTANTS: Final = {
    constants.INTEGER: "I",
    constants.FLOAT: "F",
    constants.LONG: "J",
    constants.DOUBLE: "D",
    constants.STRING: "Ljava/lang/String;",
    constants.CLASS: "Ljava/lang/Class;",
    constants.METHOD_TYPE: "Ljava/lang/invoke/MethodType;",
    constants.METHOD_HANDLE: "Ljava/lang/invoke/MethodHandle;",
}

_Effect = tuple[int, tuple[Value, ...]]


def _effects() -> list[_Effect | None]:
    """Popped slots and pushed values for each instruction whose opcode determines both; None for other instructions."""
    out: list[_Effect | None] = [None] * 256
    for opcode, effect in enumerate(op.EFFECTS):
        if effect is None or op.ISTORE <= opcode <= op.ASTORE_3:
            continue
        pops, pushes = effect
        if "A" not in pushes and "S" not in pushes:
            out[opcode] = op.slots(pops), tuple(value for kind in pushes for value in _pushed(kind))
    out[op.ACONST_NULL] = 0, (NULL,)
    return out


_EFFECTS: Final = _effects()
