"""Builds class files from nothing.

A method is emitted instruction by instruction.  Meanwhile the assembler tracks the state that the verifier will track:
the types of the local variables and of the operand stack (JVMS §4.10.1).  From that it computes ``max_stack``,
``max_locals`` and the ``StackMapTable``, in one pass and without a class hierarchy:

1. A label collects the type state of every jump to it.  States are joined there: equal types stay, ``null`` and a
   reference become the reference, different references become ``Object``. Other combinations become unusable in a
   local, and an error on the stack.
2. When the label is placed, its state is fixed: it is the frame there.  A jump back to it must fit that frame.
3. The frame of an exception handler holds the locals that have the same type before every instruction of its range.
4. Offsets are computed last. Branches start short. A ``goto`` that does not reach its target becomes ``goto_w``. A
   conditional branch becomes the opposite condition over a ``goto_w``. The instruction after the ``goto_w`` then needs
   a frame, which comes from the stored state. This repeats until nothing grows.

Joining to ``Object`` is enough for code that casts before it calls; a value whose precise type must survive a join
needs a ``checkcast`` after it.  With :attr:`Tracking.OFF` nothing is tracked. Then the assembler can write code that no
verifier accepts, such as ``jsr`` and ``ret``, and the caller must call :meth:`CodeBuilder.limits`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from btpy.classfile import descriptors, frames
from btpy.classfile import opcodes as op
from btpy.classfile.descriptors import OBJECT
from btpy.classfile.jvms import ACC_FINAL, ACC_PUBLIC, ACC_STATIC, ACC_SUPER, FIRST_WITH_FRAMES, MAX_CODE_LENGTH
from btpy.classfile.pool import ConstantPool
from btpy.dataclass import dataclass
from btpy.errors import ClassFileError

_NEAR = 32_767  # the range of a short branch


class Tracking(Enum):
    TYPES = "types"  # track types, compute limits and frames, refuse code that cannot be verified
    OFF = "off"  # write all instructions unchecked


# Verification types (JVMS §4.10.1.2).

TOP = "top"
NULL = "null"
UNINITIALIZED_THIS = "uninitializedThis"


@dataclass(frozen=True, slots=True)
class Uninitialized:
    """The type of the object that ``new`` at ``at`` pushes, until its ``<init>`` has returned."""

    at: Label
    descriptor: str


#: ``I F J D``, a field descriptor of a reference, one of the three names above, or an object under construction.
VerificationType = str | Uninitialized


_PRIMITIVES = frozenset("IJFD")


def _is_reference(type_: VerificationType) -> bool:
    return isinstance(type_, str) and (type_[0] in "L[" or type_ is NULL)


def _kind(type_: VerificationType) -> str:
    """``I J F D``, ``A`` for a value that ``astore`` accepts, or empty."""
    if type_ in _PRIMITIVES:
        return str(type_)
    if isinstance(type_, Uninitialized) or type_ is UNINITIALIZED_THIS or _is_reference(type_):
        return "A"
    return ""


def _join(one: VerificationType, other: VerificationType) -> VerificationType:
    if one is other or one == other:
        return one
    if _is_reference(one) and _is_reference(other):
        if one is NULL:
            return other
        return one if other is NULL else OBJECT
    return TOP


def _fits(type_: VerificationType, frame: VerificationType) -> bool:
    return type_ == frame or frame is TOP or _join(type_, frame) == frame


def _of_descriptor(descriptor: str) -> VerificationType:
    return "I" if descriptor in "ZBCSI" else descriptor


_WIDE = ("J", "D")


def _words(type_: VerificationType) -> int:
    return 2 if type_ in _WIDE else 1


class TypeState(NamedTuple):
    """A type state.  ``locals`` is indexed by slot: the second slot of a ``long`` or ``double`` is TOP."""

    locals: tuple[VerificationType, ...]
    stack: tuple[VerificationType, ...]

    def join(self, other: TypeState) -> TypeState:
        stack = self.stack
        if stack != other.stack:
            if len(stack) != len(other.stack):
                raise ClassFileError(f"stacks of {len(stack)} and {len(other.stack)} values meet")
            stack = tuple(map(_join, stack, other.stack))
            if TOP in stack:
                raise ClassFileError(f"stacks that do not agree meet: {self.stack} and {other.stack}")
        return TypeState(_join_locals(self.locals, other.locals), stack)

    def fits(self, frame: TypeState) -> bool:
        """True if a jump from this state to a place with that frame verifies."""
        if len(self.stack) != len(frame.stack) or not all(map(_fits, self.stack, frame.stack)):
            return False
        return all(
            _fits(self.locals[slot] if slot < len(self.locals) else TOP, type_)
            for slot, type_ in enumerate(frame.locals)
        )


def _join_locals(one: Sequence[VerificationType], other: Sequence[VerificationType]) -> tuple[VerificationType, ...]:
    if one == other:
        result = list(one)
    else:
        result = [a if a is b else _join(a, b) for a, b in zip(one, other, strict=False)]
    while result and result[-1] is TOP and (len(result) < 2 or _words(result[-2]) == 1):
        result.pop()
    return tuple(result)


_EFFECTS = {
    opcode: effect
    for opcode, effect in enumerate(op.EFFECTS)
    if effect is not None and "A" not in effect[1] and "S" not in "".join(effect)
}
"""Kinds popped and pushed by the instructions whose opcode alone determines the pushed types."""

_PLAIN = [bytes((opcode,)) for opcode in range(256)]
_LOADS = {"I": op.ILOAD, "J": op.LLOAD, "F": op.FLOAD, "D": op.DLOAD, "A": op.ALOAD}
_STORES = {"I": op.ISTORE, "J": op.LSTORE, "F": op.FSTORE, "D": op.DSTORE, "A": op.ASTORE}
_LOCAL_KINDS = {opcode: kind for table in (_LOADS, _STORES) for kind, opcode in table.items()}
_SHORT_FORMS = {
    opcode: [_PLAIN[short + 4 * (opcode - first) + slot] for slot in range(4)]
    for table, first, short in ((_LOADS, op.ILOAD, op.ILOAD_0), (_STORES, op.ISTORE, op.ISTORE_0))
    for opcode in table.values()
}
_RETURNS = {"I": op.IRETURN, "J": op.LRETURN, "F": op.FRETURN, "D": op.DRETURN, "A": op.ARETURN, "V": op.RETURN}


def kind_of(descriptor: str) -> str:
    """``I J F D A`` or ``V``: the family of instructions for values of that descriptor."""
    return "I" if descriptor in "ZBCSI" else "A" if descriptor[0] in "L[" else descriptor


@lru_cache(maxsize=1024)
def _effect_of_call(descriptor: str) -> tuple[str, tuple[VerificationType, ...]]:
    """The kinds that a call pops, without its receiver, and the kind that it pushes."""
    parameters, returns = descriptors.parse(descriptor)
    return "".join(map(kind_of, parameters)), () if returns == "V" else (_of_descriptor(returns),)


class Label:
    """A place in a method. Its offset is known once the label is placed."""

    __slots__ = ("_first", "_frame", "_offset", "_placed", "_targeted")

    def __init__(self) -> None:
        self._first: Label = self  # labels at one offset share the frame of the first of these labels
        self._frame: TypeState | None = None
        self._offset = -1
        self._placed = False
        self._targeted = False


@dataclass(slots=True)
class _Branch:
    opcode: int
    target: Label
    after: TypeState | None  # state at the fall-through
    size: int = 3


@dataclass(slots=True)
class _Switch:
    keys: tuple[int, ...]
    targets: tuple[Label, ...]
    default: Label
    size: int = 0


@dataclass(slots=True)
class _Range:
    """An entry of the exception table; its end may not be placed yet."""

    start: Label
    end: Label
    handler: Label
    catch_type: int


class CodeBuilder:
    """The code of one method.  ``local`` slots are numbered as in JVMS §2.6.1: ``this``, parameters, then the rest.

    Raises ClassFileError, at the instruction, for a stack without the values that it needs, a local of another type, or
    an instruction that nothing reaches.
    """

    def __init__(
        self, pool: ConstantPool, major: int, owner: str, access: int, name: str, descriptor: str, tracking: Tracking
    ) -> None:
        self._pool = pool
        self._major = major
        self._name = name
        self._descriptor = descriptor
        self._this = f"L{owner};"
        self._tracking = tracking
        self._items: list[bytearray | _Branch | _Switch | Label] = []
        self._chunk = bytearray()  # the last item, if it is a bytearray
        self._locals: list[VerificationType] = []
        self._stack: list[VerificationType] = []
        self._reachable = True
        self._max_stack = 0
        self._max_locals = 0
        self._ranges: list[_Range] = []
        self._open: list[_Range] = []
        self._locals_changed = False
        self._lines: list[tuple[int, Label]] = []
        self._attributes: list[tuple[str, bytes]] = []
        parameters, _ = descriptors.parse(descriptor)
        if not access & ACC_STATIC:
            self._set_local(0, UNINITIALIZED_THIS if name == "<init>" else self._this)
        for parameter in parameters:
            self._set_local(len(self._locals), _of_descriptor(parameter))
        self._entry = TypeState(tuple(self._locals), ())

    @property
    def reachable(self) -> bool:
        """False after a jump, a return or a throw, until a label that something jumps to is placed."""
        return self._reachable

    @property
    def top(self) -> VerificationType:
        """The type on top of the operand stack."""
        if not self._stack:
            raise self._error("the operand stack is empty")
        return self._stack[-1]

    def limits(self, max_stack: int, max_locals: int) -> None:
        """Sets lower bounds of ``max_stack`` and ``max_locals``."""
        self._max_stack = max(self._max_stack, max_stack)
        self._max_locals = max(self._max_locals, max_locals)

    def _error(self, problem: str) -> ClassFileError:
        return ClassFileError(f"{self._name}{self._descriptor}: {problem}")

    def _frame(self) -> TypeState:
        return TypeState(tuple(self._locals), tuple(self._stack))

    def _set_local(self, slot: int, type_: VerificationType) -> None:
        types = self._locals
        end = slot + _words(type_)
        while len(types) < end:
            types.append(TOP)
        if end > self._max_locals:
            self._max_locals = end
        if types[slot] == type_ and type_ is not TOP:
            return  # the slots beside this slot do not change
        if slot and _words(types[slot - 1]) == 2:
            types[slot - 1] = TOP
        types[slot] = type_
        if end - slot == 2:
            types[slot + 1] = TOP
        self._locals_changed = True

    def _begin(self) -> bool:
        """Called before each instruction; Returns False when types are not tracked."""
        if self._tracking is Tracking.OFF:
            return False
        if not self._reachable:
            raise self._error("nothing reaches this instruction")
        if self._locals_changed:
            for entry in self._open:
                self._cover(entry)
            self._locals_changed = False
        return True

    def _cover(self, entry: _Range) -> None:
        caught = f"L{self._pool.class_at(entry.catch_type)};" if entry.catch_type else "Ljava/lang/Throwable;"
        self._arrive(entry.handler, TypeState(tuple(self._locals), (caught,)))

    def _pop(self, kinds: str) -> None:
        stack = self._stack
        for kind in reversed(kinds):
            if not stack:
                raise self._error(f"the operand stack is empty, {kind} is needed")
            type_ = stack.pop()
            if type_ != kind and (kind != "A" or not _is_reference(type_)):
                raise self._error(f"{type_} is on the operand stack, {kind} is needed")

    def _push(self, *types: VerificationType) -> None:
        stack = self._stack
        stack += types
        if 2 * len(stack) > self._max_stack:
            words = len(stack) + stack.count("J") + stack.count("D")
            if words > self._max_stack:
                self._max_stack = words

    def _arrive(self, label: Label, frame: TypeState) -> None:
        """A jump to ``label`` in the state ``frame``."""
        label = label._first
        label._targeted = True
        if label._frame is None:
            if label._placed:
                raise self._error("a jump back to a place that nothing had reached")
            label._frame = frame
        elif not label._placed:
            label._frame = label._frame.join(frame)
        elif not frame.fits(label._frame):
            raise self._error(f"a jump back does not fit the frame: {frame} is not {label._frame}")

    def _end_block(self) -> None:
        self._reachable = False
        self._stack = []

    def _emit(self, data: bytes) -> None:
        chunk = self._chunk
        if not chunk and data:
            self._items.append(chunk)
        chunk += data

    def _item(self, item: _Branch | _Switch | Label) -> None:
        self._items.append(item)
        self._chunk = bytearray()

    def op(self, opcode: int) -> None:
        """An instruction without operands."""
        if self._begin():
            self._follow(opcode)
        self._emit(_PLAIN[opcode])

    def _follow(self, opcode: int) -> None:
        stack = self._stack
        effect = _EFFECTS.get(opcode)
        if effect is not None:
            if opcode in _RETURNS.values() and opcode != _RETURNS[kind_of(descriptors.parse(self._descriptor)[1])]:
                raise self._error(f"{op.MNEMONICS[opcode]} does not return the type of the descriptor")
            self._pop(effect[0])
            self._push(*effect[1])
            if op.ENDS_FLOW[opcode]:
                self._end_block()
        elif opcode == op.ACONST_NULL:
            self._push(NULL)
        elif opcode in (op.POP, op.POP2):
            self._split(1 if opcode == op.POP else 2)
        elif opcode == op.SWAP:
            top, under = self._split(1), self._split(1)
            self._push(*top, *under)
        elif opcode in op.SHUFFLES:
            depth, pattern = op.SHUFFLES[opcode]
            copied = len(pattern) - depth
            top, under = self._split(copied), self._split(depth - copied)
            self._push(*top, *under, *top)
        elif opcode == op.AALOAD:
            self._pop("I")
            array = stack[-1] if stack else TOP
            self._pop("A")
            self._push(array[1:] if isinstance(array, str) and array.startswith("[") else array)
        else:
            raise self._error(f"{op.MNEMONICS[opcode]} takes operands, or its types cannot be tracked")

    def _split(self, words: int) -> list[VerificationType]:
        """Pops whole values that take ``words`` slots together."""
        types: list[VerificationType] = []
        while words > 0 and self._stack:
            types.insert(0, self._stack.pop())
            words -= _words(types[0])
        if words:
            raise self._error("the operand stack lacks values, or a long or double would be split")
        return types

    def local(self, opcode: int, slot: int) -> None:
        """A load, store or ``ret`` with its slot; short and ``wide`` forms are chosen."""
        kind = _LOCAL_KINDS.get(opcode)
        if self._begin():
            if kind is None:
                raise self._error("the types after a ret cannot be tracked")
            stores = opcode >= op.ISTORE
            type_ = self.top if stores else self._locals[slot] if slot < len(self._locals) else TOP
            if type_ != kind and (kind != "A" or _kind(type_) != "A"):
                raise self._error(f"{op.MNEMONICS[opcode]} {slot} finds {type_}")
            if stores:
                self._stack.pop()
                self._set_local(slot, type_)
            else:
                self._push(type_)
        end = slot + (2 if kind in _WIDE else 1)
        if end > self._max_locals:
            self._max_locals = end
        if slot <= 3 and kind is not None:
            self._emit(_SHORT_FORMS[opcode][slot])
        elif slot <= 0xFF:
            self._emit(bytes((opcode, slot)))
        elif slot <= 0xFFFF:
            self._emit(struct.pack(">BBH", op.WIDE, opcode, slot))
        else:
            raise self._error("a method has at most 65536 local variables (JVMS §4.11)")

    def load(self, descriptor: str, slot: int) -> None:
        """Pushes a local of that descriptor; its kind (``I J F D A``) is enough."""
        self.local(_LOADS[kind_of(descriptor)], slot)

    def store(self, descriptor: str, slot: int) -> None:
        self.local(_STORES[kind_of(descriptor)], slot)

    def iinc(self, slot: int, amount: int) -> None:
        if self._begin() and (slot >= len(self._locals) or self._locals[slot] != "I"):
            raise self._error(f"local {slot} does not hold an int")
        if slot <= 0xFF and -128 <= amount <= 127:
            self._emit(struct.pack(">BBb", op.IINC, slot, amount))
        else:
            self._emit(struct.pack(">BBHh", op.WIDE, op.IINC, slot, amount))

    def constant(self, kind: str, value: int | float | str) -> None:
        """Pushes a constant: kind ``I J F D``, ``S`` for a string (a ``str``) or ``C`` for a class (its internal name).

        The bits of a double are kept, -0.0 included.
        """
        pool = self._pool
        if kind == "I" and isinstance(value, int) and -32_768 <= value <= 32_767:
            self._track("", "I")
            if -1 <= value <= 5:
                self._emit(_PLAIN[op.ICONST_0 + value])
            elif -128 <= value <= 127:
                self._emit(struct.pack(">Bb", op.BIPUSH, value))
            else:
                self._emit(struct.pack(">Bh", op.SIPUSH, value))
        elif kind == "I" and isinstance(value, int):
            self._ldc(pool.integer(value), "I")
        elif kind == "J" and isinstance(value, int):
            self._track("", "J")
            self._emit(bytes((op.LCONST_0 + value,)) if value in (0, 1) else self._ldc2(pool.long(value)))
        elif kind == "F" and not isinstance(value, str):
            self._ldc(pool.float_(value), "F")
        elif kind == "D" and not isinstance(value, str):
            self._track("", "D")
            data = struct.pack(">d", value)
            short = {struct.pack(">d", 0.0): op.DCONST_0, struct.pack(">d", 1.0): op.DCONST_1}.get(data)
            self._emit(bytes((short,)) if short is not None else self._ldc2(pool.double(value)))
        elif kind == "S" and isinstance(value, str):
            self._ldc(pool.string(value), "Ljava/lang/String;")
        elif kind == "C" and isinstance(value, str):
            self._ldc(pool.class_(value), "Ljava/lang/Class;")
        else:
            raise self._error(f"no constant of kind {kind}: {value!r}")

    def _ldc(self, index: int, type_: VerificationType) -> None:
        self._track("", type_)
        self._emit(bytes((op.LDC, index)) if index <= 0xFF else struct.pack(">BH", op.LDC_W, index))

    @staticmethod
    def _ldc2(index: int) -> bytes:
        return struct.pack(">BH", op.LDC2_W, index)

    def _track(self, pops: str, *pushes: VerificationType) -> None:
        if self._begin():
            self._pop(pops)
            self._push(*pushes)

    def field(self, opcode: int, owner: str, name: str, descriptor: str) -> None:
        """``getstatic putstatic getfield putfield``; ``owner`` is an internal name."""
        kind = kind_of(descriptor)
        if opcode in (op.GETSTATIC, op.GETFIELD):
            self._track("" if opcode == op.GETSTATIC else "A", _of_descriptor(descriptor))
        elif self._begin():
            self._pop(kind)
            if opcode == op.PUTFIELD and self._stack and self._stack[-1] is UNINITIALIZED_THIS:
                self._stack.pop()
            elif opcode == op.PUTFIELD:
                self._pop("A")
        self._emit(struct.pack(">BH", opcode, self._pool.fieldref(owner, name, descriptor)))

    def invoke(self, opcode: int, owner: str, name: str, descriptor: str, *, interface: bool = False) -> None:
        """A call.  ``interface``: the owner is an interface (implied by ``invokeinterface``)."""
        interface = interface or opcode == op.INVOKEINTERFACE
        if self._begin():
            pops, pushes = _effect_of_call(descriptor)
            self._pop(pops)
            if name == "<init>":
                self._initialize()
            elif opcode != op.INVOKESTATIC:
                self._pop("A")
            self._push(*pushes)
        pool = self._pool
        index = (pool.interface_methodref if interface else pool.methodref)(owner, name, descriptor)
        if opcode == op.INVOKEINTERFACE:
            count = 1 + descriptors.argument_slots(descriptor)
            self._emit(struct.pack(">BHBB", opcode, index, count, 0))
        else:
            self._emit(struct.pack(">BH", opcode, index))

    def _initialize(self) -> None:
        """From now on the receiver of ``<init>`` is an initialised object, in all slots that hold it."""
        receiver = self.top
        self._stack.pop()
        if isinstance(receiver, Uninitialized):
            initialized: VerificationType = receiver.descriptor
        elif receiver is UNINITIALIZED_THIS:
            initialized = self._this
        else:
            raise self._error(f"<init> is called on {receiver}")
        self._stack = [initialized if type_ == receiver else type_ for type_ in self._stack]
        self._locals = [initialized if type_ == receiver else type_ for type_ in self._locals]
        self._locals_changed = True

    def type(self, opcode: int, class_name: str) -> None:
        """``new anewarray checkcast instanceof`` with an internal name or array descriptor."""
        descriptor = class_name if class_name.startswith("[") else f"L{class_name};"
        if opcode == op.NEW:
            at = Label()
            self.place(at)
            self._track("", Uninitialized(at, descriptor))
        elif opcode == op.ANEWARRAY:
            self._track("I", "[" + descriptor)
        else:
            self._track("A", descriptor if opcode == op.CHECKCAST else "I")
        self._emit(struct.pack(">BH", opcode, self._pool.class_(class_name)))

    def newarray(self, code: int) -> None:
        """A new array of primitives; ``code`` as in JVMS §6.5 (4 is boolean, 11 is long)."""
        self._track("I", "[" + op.NEWARRAY_TYPES[code])
        self._emit(bytes((op.NEWARRAY, code)))

    def raw(self, data: bytes, pops: str = "", pushes: Sequence[VerificationType] = ()) -> None:
        """Adds bytes unchanged, with their effect on the stack (kinds popped, types pushed)."""
        self._track(pops, *pushes)
        self._emit(data)

    def return_(self) -> None:
        """The return instruction of the method's descriptor."""
        self.op(_RETURNS[kind_of(descriptors.parse(self._descriptor)[1])])

    def branch(self, opcode: int, target: Label) -> None:
        """``goto`` or ``if…``; ``jsr`` only if types are not tracked."""
        if self._begin():
            if opcode == op.JSR:
                raise self._error("the types after a jsr cannot be tracked")
            effect = op.EFFECTS[opcode]
            assert effect is not None
            self._pop(effect[0])
        frame = self._frame()
        if self._tracking is Tracking.TYPES:
            self._arrive(target, frame)
        self._item(_Branch(opcode, target, frame))
        if opcode == op.GOTO:
            self._end_block()

    def switch(self, cases: Mapping[int, Label], default: Label) -> None:
        """``tableswitch`` or ``lookupswitch``, whichever is shorter."""
        if self._begin():
            self._pop("I")
            for target in (*cases.values(), default):
                self._arrive(target, self._frame())
        keys = tuple(sorted(cases))
        self._item(_Switch(keys, tuple(cases[key] for key in keys), default))
        self._end_block()

    def place(self, label: Label) -> None:
        """Puts the label here.  Earlier jumps to it are joined with the fall-through."""
        if label._placed:
            raise self._error("a label is placed twice")
        label._placed = True
        last = self._items[-1] if self._items else None
        if isinstance(last, Label):
            label._first = last._first
        self._item(label)
        if self._tracking is Tracking.OFF:
            return
        frame = label._frame
        if self._reachable:
            frame = self._frame() if frame is None else frame.join(self._frame())
        first = label._first
        first._frame = frame
        if frame is not None:
            self._locals = list(frame.locals)
            self._stack = list(frame.stack)
            self._reachable = True
            self._locals_changed = True
            self._push()

    def place_loop(self, label: Label, changing: Iterable[int], free: int) -> None:
        """Places a label for a backward jump.

        At the jump, locals in the slots ``changing`` may hold other references than at the label. Locals from ``free``
        on may hold any value.
        """
        if self._tracking is Tracking.TYPES and self._reachable:
            for slot in changing:
                if slot < len(self._locals) and _is_reference(self._locals[slot]):
                    self._locals[slot] = OBJECT
            del self._locals[free:]
        self.place(label)

    def line(self, number: int) -> None:
        """Sets the source line of the next instructions."""
        label = Label()
        self.place(label)
        self._lines.append((number, label))

    @contextmanager
    def protected(self, handler: Label, catch_type: str | None = None) -> Iterator[None]:
        """``handler`` covers the instructions that are emitted in the ``with`` block; ``catch_type`` is an internal
        name; None: all exceptions.

        Inner ranges come first in the exception table.  A range without instructions is left out.
        """
        start, end = Label(), Label()
        self.place(start)
        entry = _Range(start, end, handler, self._pool.class_(catch_type) if catch_type else 0)
        self._open.append(entry)
        self._locals_changed = True
        yield
        self._open.remove(entry)
        self.place(end)
        self._ranges.append(entry)

    def exception(self, start: Label, end: Label, handler: Label, catch_type: str | None = None) -> None:
        """Adds an entry to the exception table, for code whose types are not tracked."""
        if self._tracking is Tracking.TYPES:
            raise self._error("where types are tracked, protected() makes the exception ranges")
        self._ranges.append(_Range(start, end, handler, self._pool.class_(catch_type) if catch_type else 0))

    def attribute(self, name: str, data: bytes) -> None:
        """Adds an attribute of ``Code`` (JVMS §4.7.3)."""
        self._attributes.append((name, data))

    def to_bytes(self) -> bytes:
        """The payload of the ``Code`` attribute (JVMS §4.7.3)."""
        if self._tracking is Tracking.TYPES and self._reachable:
            raise self._error("the end of the code can be reached (JVMS §4.9.2)")
        length = self._lay_out()
        if length > MAX_CODE_LENGTH or length == 0:
            raise self._error(f"{length} bytes of code, 1 to 65535 are possible (JVMS §4.7.3)")
        states: dict[int, TypeState] = {}
        code = self._encode(states)
        pool = self._pool
        ranges = [
            struct.pack(">HHHH", *map(self._offset, (entry.start, entry.end, entry.handler)), entry.catch_type)
            for entry in self._ranges
            if entry.start._offset < entry.end._offset or self._tracking is Tracking.OFF
        ]
        attributes = list(self._attributes)
        if self._lines:
            table = b"".join(struct.pack(">HH", self._offset(label), number) for number, label in self._lines)
            attributes.append(("LineNumberTable", struct.pack(">H", len(self._lines)) + table))
        if states and self._major >= FIRST_WITH_FRAMES and self._tracking is Tracking.TYPES:
            attributes.append(("StackMapTable", self._stack_map_table(states)))
        return b"".join(
            (
                struct.pack(">HHI", self._max_stack, self._max_locals, len(code)),
                code,
                struct.pack(">H", len(ranges)),
                *ranges,
                _attributes(pool, attributes),
            )
        )

    def _offset(self, label: Label) -> int:
        if not label._placed:
            raise self._error("a label is used and never placed")
        return label._offset

    def _lay_out(self) -> int:
        """Computes the offset of every label and the size of every branch. Returns ``code_length``."""
        while True:
            at = 0
            for item in self._items:
                if isinstance(item, Label):
                    item._offset = at
                elif isinstance(item, bytearray):
                    at += len(item)
                elif isinstance(item, _Branch):
                    at += item.size
                else:
                    item.size = 1 + (-(at + 1) & 3) + self._switch_body(item)
                    at += item.size
            if at <= _NEAR or not self._widen():
                return at

    @staticmethod
    def _switch_body(switch: _Switch) -> int:
        if _is_table(switch.keys):
            return 12 + 4 * (switch.keys[-1] - switch.keys[0] + 1)
        return 8 + 8 * len(switch.keys)

    def _widen(self) -> bool:
        at = 0
        grown = False
        for item in self._items:
            if isinstance(item, _Branch):
                if item.size == 3 and not -_NEAR - 1 <= self._offset(item.target) - at <= _NEAR:
                    item.size = 5 if item.opcode in (op.GOTO, op.JSR) else 8
                    grown = True
                at += item.size
            elif isinstance(item, bytearray):
                at += len(item)
            elif isinstance(item, _Switch):
                at += item.size
        return grown

    def _encode(self, states: dict[int, TypeState]) -> bytes:
        """The code; fills ``states`` with the type state at each offset that needs a frame."""
        code = bytearray()
        for item in self._items:
            at = len(code)
            if isinstance(item, Label):
                if item._targeted and item._first._frame is not None:
                    states[at] = item._first._frame
            elif isinstance(item, bytearray):
                code += item
            elif isinstance(item, _Branch):
                distance = self._offset(item.target) - at
                if item.size == 3:
                    code += struct.pack(">Bh", item.opcode, distance)
                elif item.size == 5:
                    code += struct.pack(">Bi", op.GOTO_W if item.opcode == op.GOTO else op.JSR_W, distance)
                else:
                    code += struct.pack(">BhBi", _inverted(item.opcode), 8, op.GOTO_W, distance - 3)
                    if item.after is not None:
                        states[at + 8] = item.after
            else:
                code.append(op.TABLESWITCH if _is_table(item.keys) else op.LOOKUPSWITCH)
                code += bytes(-(at + 1) & 3)
                distances = {
                    key: self._offset(target) - at for key, target in zip(item.keys, item.targets, strict=True)
                }
                default = self._offset(item.default) - at
                if _is_table(item.keys):
                    low, high = item.keys[0], item.keys[-1]
                    code += struct.pack(">iii", default, low, high)
                    code += b"".join(struct.pack(">i", distances.get(key, default)) for key in range(low, high + 1))
                else:
                    code += struct.pack(">ii", default, len(distances))
                    code += b"".join(struct.pack(">ii", key, distance) for key, distance in distances.items())
        return bytes(code)

    def _stack_map_table(self, states: Mapping[int, TypeState]) -> bytes:
        """The content of the StackMapTable (JVMS §4.7.4)."""
        absolute = [
            frames.Frame(at, self._frame_locals(state), tuple(map(self._frame_type, state.stack)))
            for at, state in sorted(states.items())
        ]
        return frames.encode(absolute, self._frame_locals(self._entry))

    def _frame_locals(self, state: TypeState) -> tuple[bytes, ...]:
        types = []
        is_second = False  # second slot of a long or double: it has no type in the frame
        for type_ in state.locals:
            if is_second:
                is_second = False
                continue
            types.append(_FRAME_TYPES.get(type_) or self._frame_type(type_))
            is_second = type_ in _WIDE
        while types and types[-1] == frames.TOP:
            types.pop()
        return tuple(types)

    def _frame_type(self, type_: VerificationType) -> bytes:
        simple = _FRAME_TYPES.get(type_)
        if simple is not None:
            return simple
        if isinstance(type_, Uninitialized):
            return frames.uninitialized_type(self._offset(type_.at))
        return frames.object_type(self._pool.class_(type_ if type_[0] == "[" else type_[1:-1]))


_FRAME_TYPES: dict[VerificationType, bytes] = {
    TOP: frames.TOP,
    "I": frames.INTEGER,
    "F": frames.FLOAT,
    "D": frames.DOUBLE,
    "J": frames.LONG,
    NULL: frames.NULL,
    UNINITIALIZED_THIS: frames.UNINITIALIZED_THIS,
}


def _is_table(keys: Sequence[int]) -> bool:
    return bool(keys) and 12 + 4 * (keys[-1] - keys[0] + 1) <= 8 + 8 * len(keys)


def _inverted(opcode: int) -> int:
    """The opposite condition. The opcodes of a pair are neighbours. The first opcode is odd, except that ifnull is
    even.
    """
    if opcode >= op.IFNULL:
        return op.IFNULL + op.IFNONNULL - opcode
    return ((opcode + 1) ^ 1) - 1


def _attributes(pool: ConstantPool, attributes: Sequence[tuple[str, bytes]]) -> bytes:
    parts = [struct.pack(">H", len(attributes))]
    for name, data in attributes:
        parts += (struct.pack(">HI", pool.utf8(name), len(data)), data)
    return b"".join(parts)


@dataclass(slots=True)
class _Member:
    access: int
    name: str
    descriptor: str
    code: CodeBuilder | None
    attributes: list[tuple[str, bytes]]


class ClassBuilder:
    """A class file under construction.  Names are internal (slashes).  The same calls give the same bytes."""

    def __init__(
        self,
        name: str,
        *,
        access: int = ACC_PUBLIC | ACC_FINAL | ACC_SUPER,
        super_name: str = "java/lang/Object",
        interfaces: Sequence[str] = (),
        major: int = 52,
    ) -> None:
        self.pool = ConstantPool()
        self._name = name
        self._major = major
        self._header = struct.pack(">HHH", access, self.pool.class_(name), self.pool.class_(super_name))
        self._interfaces = [self.pool.class_(interface) for interface in interfaces]
        self._fields: list[_Member] = []
        self._methods: list[_Member] = []
        self._attributes: list[tuple[str, bytes]] = []

    def method(self, access: int, name: str, descriptor: str, *, tracking: Tracking = Tracking.TYPES) -> CodeBuilder:
        """Adds a method and returns its code, which is empty."""
        code = CodeBuilder(self.pool, self._major, self._name, access, name, descriptor, tracking)
        self._methods.append(_Member(access, name, descriptor, code, []))
        return code

    def raw_method(self, access: int, name: str, descriptor: str, attributes: Sequence[tuple[str, bytes]] = ()) -> None:
        """Adds a native or abstract method, or a method with the bytes of a ``Code`` attribute."""
        self._methods.append(_Member(access, name, descriptor, None, list(attributes)))

    def method_attribute(self, name: str, data: bytes) -> None:
        """An attribute of the method added last, besides ``Code``."""
        self._methods[-1].attributes.append((name, data))

    def field(self, access: int, name: str, descriptor: str, attributes: Sequence[tuple[str, bytes]] = ()) -> None:
        self._fields.append(_Member(access, name, descriptor, None, list(attributes)))

    def attribute(self, name: str, data: bytes) -> None:
        """An attribute of the class (JVMS §4.7)."""
        self._attributes.append((name, data))

    def to_bytes(self) -> bytes:
        """The class file (JVMS §4.1).  Raises ClassFileError when a limit of JVMS §4.11 is passed."""
        members = self._members(self._fields) + self._members(self._methods)
        attributes = _attributes(self.pool, self._attributes)
        return b"".join(
            (
                struct.pack(">IHH", 0xCAFEBABE, 0, self._major),
                self.pool.to_bytes(),
                self._header,
                struct.pack(f">H{len(self._interfaces)}H", len(self._interfaces), *self._interfaces),
                members,
                attributes,
            )
        )

    def _members(self, members: Sequence[_Member]) -> bytes:
        parts = [struct.pack(">H", len(members))]
        for member in members:
            attributes = member.attributes
            if member.code is not None:
                attributes = [("Code", member.code.to_bytes()), *attributes]
            head = struct.pack(">HHH", member.access, self.pool.utf8(member.name), self.pool.utf8(member.descriptor))
            parts += (head, _attributes(self.pool, attributes))
        return b"".join(parts)
