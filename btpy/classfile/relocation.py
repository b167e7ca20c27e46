"""Inserting code into a code array: the new array, and the new offset for every old offset.

Two kinds of straight-line code can be inserted before an old instruction::

        fall    reached only from the instruction before, or on entry at offset 0: jumps miss it
        always  reached by jumps to the instruction too
        instruction

Therefore there are two maps from old offsets to new ones. *Reference* is the new target of a jump, a handler, a stack
map frame, a line or a range that named the instruction: the start of ``always``. *Instruction* is the new place of the
instruction itself: it identifies the object of a ``new``.

Two kinds of code change their size without an insertion: the padding of switches, and jumps that no longer fit in 16
bits. A ``goto`` or ``jsr`` becomes its 32-bit form; a conditional jump becomes the opposite condition over a
``goto_w``, and the instruction after it is then a jump target that needs a stack map frame (``new_targets``). Layout
repeats until no jump has to grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import pack_into
from typing import Final

from btpy.classfile import opcodes as op
from btpy.classfile.bytecode import Bytecode, switch_table, switch_targets

#: The range of a jump with a 16-bit offset, in both directions.
REACH: Final = 32_767


class Relocation:
    """``code`` is the new array.

    ``references``: by old offset, the new target of all references to it. The old length of the code maps to
        the new length.
    ``instructions``: by old offset, the new offset of the instruction.
    ``new_targets``: old offsets of the instructions that a widened conditional jump falls through to.
    ``inserted``: start, end, start, end, … of the inserted code, in the new code.
    """

    def __init__(
        self,
        code: bytes,
        references: list[int],
        instructions: list[int],
        new_targets: tuple[int, ...] = (),
        inserted: Sequence[int] = (),
    ) -> None:
        self.code = code
        self.references = references
        self.instructions = instructions
        self.new_targets = new_targets
        self.inserted = inserted

    def reference(self, offset: int) -> int:
        """``references`` for an offset that may be after the code."""
        beyond = offset - len(self.references) + 1
        return self.references[-1] + beyond if beyond > 0 else self.references[offset]

    def instruction(self, offset: int) -> int:
        """``instructions`` for an offset that may be after the code."""
        beyond = offset - len(self.instructions) + 1
        return self.instructions[-1] + beyond if beyond > 0 else self.instructions[offset]


def relocate(bytecode: Bytecode, falls: dict[int, bytes], always: dict[int, bytes]) -> Relocation:
    """Inserts code. Keys are offsets of instructions. Raises ClassFileError when a jump of the old code leaves it."""
    code = bytecode.code
    widened: set[int] = set()
    while True:
        new, references, instructions, inserted = _laid_out(bytecode, falls, always, widened)
        if len(new) <= REACH:
            break
        grown = {
            at
            for at, target in zip(bytecode.branches, bytecode.targets, strict=True)
            if at not in widened
            and code[at] < op.GOTO_W
            and not -REACH <= references[target] - instructions[at] <= REACH
        }
        if not grown:
            break
        widened |= grown
    if bytecode.branches or bytecode.switches:
        new = _aimed(new, bytecode, widened, references, instructions)
    new_targets = sorted(at + 3 for at in widened if code[at] not in (op.GOTO, op.JSR)) if widened else ()
    return Relocation(new, references, instructions, tuple(new_targets), inserted)


def _laid_out(
    bytecode: Bytecode, falls: dict[int, bytes], always: dict[int, bytes], widened: set[int]
) -> tuple[bytes, list[int], list[int], list[int]]:
    """The new code with unchanged jumps, ``references``, ``instructions`` and ``inserted``."""
    code = bytecode.code
    growing: dict[int, int] = {}  # offset after an instruction that may change size → the instruction
    for at in bytecode.switches:
        growing[switch_table(code, at).end] = at
    for at in widened:
        growing[at + 3] = at
    pieces: list[bytes] = []
    instructions: list[int] = []
    inserted: list[int] = []
    last = position = 0
    for point in sorted({*falls, *always, *growing}):
        instructions += _range(position, position + point - last)
        grower = growing.get(point) if growing else None
        if grower is None:
            pieces.append(code[last:point])
            position += point - last
        else:
            # The piece ends with the instruction that grows, because no point is inside an instruction.
            pieces.append(code[last:grower])
            position += grower - last
            larger = _widened(code[grower]) if grower in widened else _aligned(code[grower:point], grower, position)
            pieces.append(larger)
            position += len(larger)
        last = point
        block = falls.get(point, b"") + always.get(point, b"")
        if block:
            pieces.append(block)
            inserted.append(position)
            position += len(block)
            inserted.append(position)
    instructions += _range(position, position + len(code) - last + 1)
    pieces.append(code[last:])
    references = instructions
    if always:
        references = instructions.copy()
        for point, block in always.items():
            references[point] -= len(block)
    return b"".join(pieces), references, instructions, inserted


_known_numbers: list[int] = []  # 0, 1, 2, …


def _range(start: int, stop: int) -> list[int]:
    """Like ``range``, but faster, because the numbers already exist."""
    global _known_numbers
    numbers = _known_numbers
    if stop > len(numbers):
        numbers = _known_numbers = list(range(2 * stop))
    return numbers[start:stop]


def _widened(opcode: int) -> bytes:
    """The replacement for a jump that does not reach its target, without the distance."""
    if opcode in (op.GOTO, op.JSR):
        return bytes((opcode + (op.GOTO_W - op.GOTO), 0, 0, 0, 0))
    return bytes((_opposite(opcode), 0, 8, op.GOTO_W, 0, 0, 0, 0))


def _aligned(switch: bytes, old: int, new: int) -> bytes:
    """A switch from offset ``old``, with the padding for offset ``new``."""
    return switch[:1] + bytes(_padding(new)) + switch[1 + _padding(old) :]


def _aimed(new: bytes, bytecode: Bytecode, widened: set[int], references: list[int], instructions: list[int]) -> bytes:
    """The new code with the targets of the jumps."""
    code = bytecode.code
    out = bytearray(new)
    for at, target in zip(bytecode.branches, bytecode.targets, strict=True):
        instruction = instructions[at]
        distance = references[target] - instruction
        if distance == target - at and at not in widened:
            continue  # nothing was inserted between the two offsets
        if at in widened:
            wider = 1 if code[at] in (op.GOTO, op.JSR) else 4  # the goto_w comes after the opposite condition
            pack_into(">i", out, instruction + wider, distance - wider + 1)
        elif code[at] < op.GOTO_W:
            pack_into(">h", out, instruction + 1, distance)
        else:
            pack_into(">i", out, instruction + 1, distance)
    for at in bytecode.switches:
        instruction = instructions[at]
        growth = instruction + _padding(instruction) - at - _padding(at)
        for place, target in zip(switch_table(code, at).places(), switch_targets(code, at), strict=True):
            pack_into(">i", out, place + growth, references[target] - instruction)
    return bytes(out)


def _padding(at: int) -> int:
    """Bytes between the opcode of a switch at ``at`` and its operands (JVMS §6.5.tableswitch)."""
    return 3 - (at & 3)


def _opposite(opcode: int) -> int:
    """The conditional jump that is taken when the jump ``opcode`` is not taken."""
    if opcode >= op.IFNULL:
        return opcode ^ 1
    return ((opcode + 1) ^ 1) - 1
