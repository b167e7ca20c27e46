"""Finds the code of a constructor in which ``this`` is initialised (JVMS §4.10.1.4, flagThisUninit).

A forward data flow over the instructions.  Its state is one bit for each operand stack slot and each local variable
(does it hold the uninitialised ``this``?) and one for the frame (has ``super(…)`` or ``this(…)`` returned?).  An
``invokespecial`` of an ``<init>`` whose receiver has the bit is the call that initialises ``this``; any other call is
for an object of a ``new``.  Where paths meet, a bit stays only if all paths have it.  Bits are only cleared, never set,
so the analysis ends.

Counting ``new`` against ``<init>`` is not enough: some compilers choose between several ``super(…)`` calls in one
constructor.  Stack map frames are not used, because old class files, and class files that HotSpot gives to a
transformer, may lack them.

Most constructors have one call that initialises ``this``, and no jumps before it or back to it.  Then all code after
the call sees an initialised ``this``, and the analysis of the steps up to the call is enough.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

from btpy.classfile import descriptors
from btpy.classfile import opcodes as op
from btpy.classfile.bytecode import Bytecode, branch_target, switch_targets
from btpy.classfile.pool import ConstantPool
from btpy.classfile.reader import Code
from btpy.errors import ClassFileError

# depth of the operand stack, its bits (bit 0 is the bottom), bits of the locals, initialised
_State = tuple[int, int, int, bool]

_START: Final = (0, 0, 1, False)


class Initialization:
    """The result of the analysis of an ``<init>``.

    ``calls``: offset of the instruction after each initialising call → a local variable that then holds ``this``, None
    when there is none.
    ``uninitialized_returns``: reachable return instructions before which ``this`` is not initialised on all paths.

    The constructor and all members raise ClassFileError when the operand stacks of the code contradict each other.
    """

    def __init__(self, code: Code, bytecode: Bytecode, pool: ConstantPool) -> None:
        self._flow = _Flow(code, bytecode, pool)
        self.calls: dict[int, int | None] = self._flow.straight()
        self.uninitialized_returns: tuple[int, ...] = ()
        if not self.calls:
            self._flow.run()
            self.calls = dict(sorted(self._flow.calls.items()))
            states = self._flow.states
            self.uninitialized_returns = tuple(at for at in bytecode.returns if at in states and not states[at][3])

    @cached_property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """[start, end) of reachable code in which ``this`` is initialised on every path."""
        return self._flow.initialized_ranges()


class _Flow:
    """The work list. ``states``: the state before each instruction reached so far."""

    def __init__(self, code: Code, bytecode: Bytecode, pool: ConstantPool) -> None:
        self._code = code
        self._bytes = code.code
        self._bytecode = bytecode
        self._pool = pool
        self.states: dict[int, _State] = {}
        self.calls: dict[int, int | None] = {}
        self._next: dict[int, int] = {}
        self._pending: list[int] = []

    def straight(self) -> dict[int, int | None]:
        """The initialising call, if the code before it is one straight line without jumps into it; otherwise
        nothing.
        """
        bytecode = self._bytecode
        jumps = [*bytecode.branches[:1], *bytecode.switches[:1], *bytecode.returns[:1]]
        end = min(jumps, default=len(self._bytes))
        at = 0
        state: _State = _START
        while at < end and not state[3] and not op.ENDS_FLOW[self._bytes[at]]:
            state = self._step(at, state)
            at += op.LENGTHS[self._bytes[at]] or (6 if self._bytes[at + 1] == op.IINC else 4)  # wide
        calls = dict(self.calls)
        self.calls.clear()
        targets = [*bytecode.targets, *(row.handler for row in self._code.exceptions)]
        for switch in bytecode.switches:
            targets += switch_targets(self._bytes, switch)
        led_into = any(target < at for target in targets) or any(row.start < at for row in self._code.exceptions)
        return {} if led_into else calls

    def initialized_ranges(self) -> tuple[tuple[int, int], ...]:
        if not self.states:
            self.run()
        ranges: list[tuple[int, int]] = []
        for at, end in self._next.items():
            state = self.states.get(at)
            if state is None or not state[3]:
                continue
            if end < 0:
                end = len(self._bytes)
            if ranges and ranges[-1][1] == at:
                ranges[-1] = (ranges[-1][0], end)
            else:
                ranges.append((at, end))
        return tuple(ranges)

    def run(self) -> None:
        starts = self._bytecode.starts
        self._next = dict(zip(starts, [*starts[1:], -1], strict=True))
        self.states = {0: _START}
        self._pending = [0]
        while self._pending:
            at = self._pending.pop()
            state = self.states[at]
            next_state = self._step(at, state)
            for row in self._code.exceptions:
                if row.start <= at < row.end:
                    # The exception may come before or after the instruction took effect; only a store matters.
                    self._reach(row.handler, (1, 0, state[2] & next_state[2], state[3]))
            opcode = self._bytes[at]
            if opcode == op.WIDE:
                opcode = self._bytes[at + 1]
            if opcode in _SWITCHES:
                targets = switch_targets(self._bytes, at)
            elif opcode in _JUMPS:
                targets = [branch_target(self._bytes, at)]
            else:
                targets = []
            if opcode in (op.JSR, op.JSR_W):
                # The subroutine is entered with the return address on the stack, and is assumed to remove it.
                self._reach(targets[0], (next_state[0] + 1, next_state[1], next_state[2], next_state[3]))
                targets = []
            for target in targets:
                self._reach(target, next_state)
            if not op.ENDS_FLOW[opcode]:
                following = self._next[at]
                if following < 0:
                    raise ClassFileError("control falls off the end of the code (JVMS §4.9.2)")
                self._reach(following, next_state)

    def _reach(self, at: int, state: _State) -> None:
        state_before = self.states.get(at)
        if state_before is None:
            if at not in self._next:
                raise ClassFileError(f"a jump into the middle of an instruction, to offset {at} (JVMS §4.9.1)")
            self.states[at] = state
        else:
            if state_before[0] != state[0]:
                raise ClassFileError(f"paths meet at offset {at} with stacks of different depth (JVMS §4.10.1)")
            merged = (
                state_before[0],
                state_before[1] & state[1],
                state_before[2] & state[2],
                state_before[3] and state[3],
            )
            if merged == state_before:
                return
            self.states[at] = merged
        self._pending.append(at)

    def _step(self, at: int, state: _State) -> _State:
        """The state after the instruction; for ``jsr``, the state after its subroutine has returned."""
        code = self._bytes
        depth, stack, locals_, initialized = state
        opcode = code[at]
        if initialized:
            stack = locals_ = 0
        if opcode == op.WIDE:
            opcode = code[at + 1]
            local = code[at + 2] << 8 | code[at + 3]
        elif op.ILOAD <= opcode <= op.ALOAD or op.ISTORE <= opcode <= op.ASTORE:
            local = code[at + 1]
        elif op.ILOAD_0 <= opcode <= op.ALOAD_3:
            local = opcode - op.ILOAD_0 & 3
            opcode = op.ILOAD + (opcode - op.ILOAD_0 >> 2)
        elif op.ISTORE_0 <= opcode <= op.ASTORE_3:
            local = opcode - op.ISTORE_0 & 3
            opcode = op.ISTORE + (opcode - op.ISTORE_0 >> 2)
        else:
            local = 0
        if opcode in op.SHUFFLES:
            popped, pattern = op.SHUFFLES[opcode]
            depth -= popped
            if depth < 0:
                raise ClassFileError(f"the operand stack is too small at offset {at} (JVMS §4.9.2)")
            values = stack >> depth
            stack &= (1 << depth) - 1
            for source in pattern:
                stack |= (values >> source & 1) << depth
                depth += 1
            return depth, stack, locals_, initialized
        if opcode == op.ALOAD:
            return depth + 1, stack | (locals_ >> local & 1) << depth, locals_, initialized
        if op.ISTORE <= opcode <= op.ASTORE:
            width = 2 if opcode in (op.LSTORE, op.DSTORE) else 1
            value = stack >> (depth - 1) & 1 if opcode == op.ASTORE and depth else 0
            locals_ = locals_ & ~((1 << width) - 1 << local) | value << local
        if opcode in (op.JSR, op.JSR_W):
            return depth, stack, locals_, initialized
        removed, change = self._effect(at, opcode)
        if removed > depth or depth + change < 0:
            raise ClassFileError(f"the operand stack is too small at offset {at} (JVMS §4.9.2)")
        if opcode == op.INVOKESPECIAL and stack >> (depth - removed) & 1:
            name = self._pool.member_at(code[at + 1] << 8 | code[at + 2])[1]
            if name == "<init>":
                slot = (locals_ & -locals_).bit_length() - 1
                self.calls[at + 3] = slot if slot >= 0 else None
                initialized = True
        stack &= (1 << depth - max(removed, -change, 0)) - 1
        depth += change
        return depth, 0 if initialized else stack, 0 if initialized else locals_, initialized

    def _effect(self, at: int, opcode: int) -> tuple[int, int]:
        """The number of slots that the instruction pops, and the change of the depth. If the change alone is enough,
        the number is 0.
        """
        change = op.STACK_CHANGES[opcode]
        if change is not None:
            return 0, change
        code = self._bytes
        if opcode == op.MULTIANEWARRAY:
            return code[at + 3], 1 - code[at + 3]
        index = code[at + 1] << 8 | code[at + 2]
        descriptor = self._pool.descriptor_at(index)
        if opcode in (op.INVOKEVIRTUAL, op.INVOKESPECIAL, op.INVOKEINTERFACE):
            return descriptors.argument_slots(descriptor) + 1, descriptors.call_change(descriptor) - 1
        if opcode in (op.INVOKESTATIC, op.INVOKEDYNAMIC):
            return descriptors.argument_slots(descriptor), descriptors.call_change(descriptor)
        size = descriptors.slots(descriptor)
        if opcode == op.GETSTATIC:
            return 0, size
        if opcode == op.PUTSTATIC:
            return size, -size
        return (1, size - 1) if opcode == op.GETFIELD else (size + 1, -size - 1)


_SWITCHES: Final = (op.TABLESWITCH, op.LOOKUPSWITCH)
_JUMPS: Final = frozenset(
    opcode for opcode, operands in enumerate(op.FORMATS) if operands in ("branch2", "branch4")
)  # conditional or not
