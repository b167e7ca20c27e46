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
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from btpy.classfile import opcodes as op
from btpy.classfile.bytecode import Bytecode, switch_table, switch_targets

#: How far a jump with a 16-bit offset can go, either way.
REACH = 32_767


class Insertion(NamedTuple):
    fall: bytes = b""
    always: bytes = b""


class Relocation(NamedTuple):
    """``code`` is the new array.

    ``references``: by old offset, where what pointed there points now; the old length of the code gives the new one.
    ``instructions``: by old offset, where the instruction is now.
    ``new_targets``: old offsets of the instructions that a widened conditional jump falls through to.
    """

    code: bytes
    references: Sequence[int]
    instructions: Sequence[int]
    new_targets: tuple[int, ...]

    def reference(self, offset: int) -> int:
        """``references`` for an offset that may lie behind the code."""
        beyond = offset - len(self.references) + 1
        return self.references[-1] + beyond if beyond > 0 else self.references[offset]

    def instruction(self, offset: int) -> int:
        """``instructions`` for an offset that may lie behind the code."""
        beyond = offset - len(self.instructions) + 1
        return self.instructions[-1] + beyond if beyond > 0 else self.instructions[offset]


def relocate(bytecode: Bytecode, insertions: Mapping[int, Insertion]) -> Relocation:
    """Inserts code. Keys are offsets of instructions. Raises ClassFileError when a jump of the old code leaves it."""
    code = bytecode.code
    targets = bytecode.targets
    widened: set[int] = set()
    while True:
        references, instructions = _layout(bytecode, insertions, widened)
        if references[-1] <= REACH:
            break
        grown = {
            at
            for at, target in zip(bytecode.branches, targets, strict=True)
            if at not in widened
            and code[at] < op.GOTO_W
            and not -REACH <= references[target] - instructions[at] <= REACH
        }
        if not grown:
            break
        widened |= grown
    return _emit(bytecode, insertions, widened, references, instructions)


def _growth(opcode: int) -> int:
    """Bytes that a 16-bit jump gains when it is widened."""
    return 2 if opcode in (op.GOTO, op.JSR) else 5


def _layout(
    bytecode: Bytecode, insertions: Mapping[int, Insertion], widened: set[int]
) -> tuple[Sequence[int], Sequence[int]]:
    """``references`` and ``instructions``."""
    code = bytecode.code
    growing: dict[int, int] = {}  # offset after an instruction that may change size → the instruction
    for at in bytecode.switches:
        growing[switch_table(code, at).end] = at
    for at in widened:
        growing[at + 3] = at
    instructions: list[int] = []
    skipped: list[tuple[int, int]] = []
    shift = last = 0
    for point in sorted({*insertions, *growing}) if growing else sorted(insertions):
        instructions += range(last + shift, point + shift)
        last = point
        grower = growing.get(point)
        if grower is not None:
            # Nothing lies between an instruction and its end, so `shift` is still the instruction's own.
            shift += _growth(code[grower]) if grower in widened else _padding(grower + shift) - _padding(grower)
        insertion = insertions.get(point)
        if insertion is not None:
            fall, always = insertion
            shift += len(fall) + len(always)
            if always:
                skipped.append((point, len(always)))
    instructions += range(last + shift, len(code) + shift + 1)
    if not skipped:
        return instructions, instructions
    references = instructions.copy()
    for point, length in skipped:
        references[point] -= length
    return references, instructions


def _padding(at: int) -> int:
    """Bytes between the opcode of a switch at ``at`` and its operands (JVMS §6.5.tableswitch)."""
    return 3 - (at & 3)


def _emit(
    bytecode: Bytecode,
    insertions: Mapping[int, Insertion],
    widened: set[int],
    references: Sequence[int],
    instructions: Sequence[int],
) -> Relocation:
    code = bytecode.code
    # Old bytes from one edit to the next are copied; an edit replaces the old bytes [start, end).
    edits = [(at, at, fall + always) for at, (fall, always) in insertions.items()]
    for at in bytecode.switches:
        edits.append((at + 1, at + 1 + _padding(at), bytes(_padding(instructions[at]))))
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
    for at, target in zip(bytecode.branches, bytecode.targets, strict=True):
        here = instructions[at]
        distance = references[target] - here
        if at in widened:
            wider = 1 if code[at] in (op.GOTO, op.JSR) else 4  # the goto_w comes after the opposite condition
            struct.pack_into(">i", out, here + wider, distance - wider + 1)
        elif code[at] < op.GOTO_W:
            struct.pack_into(">h", out, here + 1, distance)
        else:
            struct.pack_into(">i", out, here + 1, distance)
    for at in bytecode.switches:
        here = instructions[at]
        growth = here + _padding(here) - at - _padding(at)
        for place, target in zip(switch_table(code, at).places(), switch_targets(code, at), strict=True):
            struct.pack_into(">i", out, place + growth, references[target] - here)
    return Relocation(bytes(out), references, instructions, tuple(sorted(new_targets)))


def _opposite(opcode: int) -> int:
    """The conditional jump that is taken when ``opcode`` is not."""
    if opcode >= op.IFNULL:
        return opcode ^ 1
    return ((opcode + 1) ^ 1) - 1
