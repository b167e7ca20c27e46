"""Inserting code into a code array: the new array, and where every old offset went.

Each insertion is straight-line code before one old instruction, in two parts::

        fall    reached only from the instruction before, or on entry at offset 0: jumps miss it
        always  reached by jumps to the instruction too
        instruction

So there are two maps from old offsets to new ones.  *Reference* is where a jump, a handler, a stack map frame, a line
or a range that named the instruction must now point: the start of ``always``.  *Instruction* is where the instruction
itself is: what names the object that a ``new`` made.

Two things change size by themselves: the padding of switches, and jumps that no longer fit in 16 bits.  A ``goto`` or
``jsr`` becomes the 32-bit one; a conditional jump becomes the opposite condition over a ``goto_w``, and the instruction
after it is then a jump target that needs a stack map frame (``new_targets``).  Layout repeats until none has to grow.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

from btpy.classfile import opcodes as op
from btpy.classfile.bytecode import Bytecode, branch_target, switch_table, switch_targets

#: How far a jump with a 16-bit offset can go, either way.
REACH = 32_767


@dataclass(frozen=True, slots=True)
class Insertion:
    fall: bytes = b""
    always: bytes = b""


@dataclass(frozen=True, slots=True)
class Relocation:
    """``code`` is the new array. ``new_targets``: old offsets of the instructions that a widened conditional jump falls
    through to."""

    code: bytes
    new_targets: tuple[int, ...]
    _points: list[int]
    _reference_shifts: list[int]
    _instruction_shifts: list[int]

    def reference(self, offset: int) -> int:
        """Where what pointed to ``offset`` points now; the old length of the code gives the new one."""
        at = bisect_right(self._points, offset) - 1
        if self._points[at] == offset:
            return offset + self._reference_shifts[at]
        return offset + self._instruction_shifts[at]

    def instruction(self, offset: int) -> int:
        """Where the instruction at ``offset`` is now."""
        return offset + self._instruction_shifts[bisect_right(self._points, offset) - 1]


def relocate(bytecode: Bytecode, insertions: Mapping[int, Insertion]) -> Relocation:
    """Inserts code. Keys are offsets of instructions. Raises ClassFileError when a jump of the old code leaves it."""
    code = bytecode.code
    targets = {at: branch_target(code, at) for at in bytecode.branches}
    widened: set[int] = set()
    while True:
        layout = _layout(bytecode, insertions, widened)
        grown = {
            at
            for at, target in targets.items()
            if at not in widened
            and code[at] < op.GOTO_W
            and not -REACH <= layout.reference(target) - layout.instruction(at) <= REACH
        }
        if not grown:
            break
        widened |= grown
    return _emit(bytecode, insertions, targets, widened, layout)


def _growth(opcode: int) -> int:
    """Bytes that a 16-bit jump gains when it is widened."""
    return 2 if opcode in (op.GOTO, op.JSR) else 5


def _layout(bytecode: Bytecode, insertions: Mapping[int, Insertion], widened: set[int]) -> Relocation:
    """The maps, without code."""
    code = bytecode.code
    growing: dict[int, int] = {}  # offset after an instruction that may change size → the instruction
    for at in bytecode.switches:
        growing[switch_table(code, at).end] = at
    for at in widened:
        growing[at + 3] = at
    points = sorted({0, *insertions, *growing})
    reference_shifts = []
    instruction_shifts = []
    shift = 0
    for point in points:
        grower = growing.get(point)
        if grower is not None:
            # Nothing lies between an instruction and its end, so `shift` is still the instruction's own.
            shift += _growth(code[grower]) if grower in widened else _padding(grower + shift) - _padding(grower)
        insertion = insertions.get(point)
        if insertion is not None:
            shift += len(insertion.fall)
        reference_shifts.append(shift)
        if insertion is not None:
            shift += len(insertion.always)
        instruction_shifts.append(shift)
    return Relocation(b"", (), points, reference_shifts, instruction_shifts)


def _padding(at: int) -> int:
    """Bytes between the opcode of a switch at ``at`` and its operands (JVMS §6.5.tableswitch)."""
    return 3 - (at & 3)


def _emit(
    bytecode: Bytecode,
    insertions: Mapping[int, Insertion],
    targets: Mapping[int, int],
    widened: set[int],
    layout: Relocation,
) -> Relocation:
    code = bytecode.code
    reference = layout.reference
    instruction = layout.instruction
    # Old bytes from one edit to the next are copied; an edit replaces the old bytes [start, end).
    edits: list[tuple[int, int, bytes]] = [(at, at, it.fall + it.always) for at, it in insertions.items()]
    for at in bytecode.switches:
        edits.append((at + 1, at + 1 + _padding(at), bytes(_padding(instruction(at)))))
    new_targets = []
    for at in widened:
        opcode = code[at]
        if opcode in (op.GOTO, op.JSR):
            wide = bytes((opcode + (op.GOTO_W - op.GOTO), 0, 0, 0, 0))
        else:
            wide = bytes((_opposite(opcode), 0, 8, op.GOTO_W, 0, 0, 0, 0))
            new_targets.append(at + 3)
        edits.append((at, at + 3, wide))
    edits.sort()
    out = bytearray()
    last = 0
    for start, end, data in edits:
        out += code[last:start]
        out += data
        last = end
    out += code[last:]
    for at, target in targets.items():
        opcode = code[at]
        here = instruction(at)
        if opcode >= op.GOTO_W:
            struct.pack_into(">i", out, here + 1, reference(target) - here)
        elif at not in widened:
            struct.pack_into(">h", out, here + 1, reference(target) - here)
        elif opcode in (op.GOTO, op.JSR):
            struct.pack_into(">i", out, here + 1, reference(target) - here)
        else:
            struct.pack_into(">i", out, here + 4, reference(target) - here - 3)
    for at in bytecode.switches:
        here = instruction(at)
        growth = here + _padding(here) - at - _padding(at)
        for place, target in zip(switch_table(code, at).places(), switch_targets(code, at), strict=True):
            struct.pack_into(">i", out, place + growth, reference(target) - here)
    return Relocation(
        bytes(out),
        tuple(sorted(new_targets)),
        layout._points,
        layout._reference_shifts,
        layout._instruction_shifts,
    )


def _opposite(opcode: int) -> int:
    """The conditional jump that is taken when ``opcode`` is not."""
    if opcode >= op.IFNULL:
        return opcode ^ 1
    return ((opcode + 1) ^ 1) - 1
