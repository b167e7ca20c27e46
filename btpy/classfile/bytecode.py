"""Walking the code array of a method (JVMS §4.7.3): where instructions start, which ones jump, and where to."""

from __future__ import annotations

from dataclasses import dataclass

from btpy.classfile import opcodes as op
from btpy.errors import ClassFileError

# What a walk has to do at an opcode beyond stepping over it.
_PLAIN, _BRANCH, _SWITCH, _WIDE, _UNDEFINED = range(5)


def _class_of(opcode: int) -> int:
    if opcode >= len(op.FORMATS):
        return _UNDEFINED
    operands = op.FORMATS[opcode]
    if operands in ("branch2", "branch4"):
        return _BRANCH
    return {"tableswitch": _SWITCH, "lookupswitch": _SWITCH, "wide": _WIDE}.get(operands, _PLAIN)


_CLASSES = bytes(_class_of(opcode) for opcode in range(256))


@dataclass(frozen=True, slots=True)
class Bytecode:
    """A code array and what one walk over it found. All numbers are offsets of instructions, ascending."""

    code: bytes
    starts: list[int]
    branches: list[int]
    switches: list[int]


def scan(code: bytes) -> Bytecode:
    """Walks ``code`` once.

    Raises ClassFileError for undefined opcodes, code that ends inside an instruction, and no code at all (JVMS §4.9.1).
    """
    lengths = op.LENGTHS
    classes = _CLASSES
    starts: list[int] = []
    branches: list[int] = []
    switches: list[int] = []
    end = len(code)
    at = 0
    while at < end:
        starts.append(at)
        opcode = code[at]
        kind = classes[opcode]
        if not kind:
            at += lengths[opcode]
        elif kind == _BRANCH:
            branches.append(at)
            at += lengths[opcode]
        elif kind == _SWITCH:
            switches.append(at)
            at = switch_table(code, at).end
        elif kind == _WIDE:
            at += 6 if code[at + 1 : at + 2] == b"\x84" else 4
        else:
            raise ClassFileError(f"undefined opcode 0x{opcode:02x} at offset {at} (JVMS §6.5)")
    if at != end or not end:
        raise ClassFileError("the code ends inside an instruction (JVMS §4.9.1)")
    return Bytecode(code, starts, branches, switches)


@dataclass(frozen=True, slots=True)
class SwitchTable:
    """Where a switch keeps its jumps: the default offset is an ``i4`` at ``default``, ``count`` more follow from
    ``first``, one every ``stride`` bytes. ``end`` is the offset after the instruction."""

    default: int
    first: int
    count: int
    stride: int
    end: int

    def places(self) -> list[int]:
        """Offsets of all the ``i4`` jump offsets."""
        return [self.default, *range(self.first, self.first + self.count * self.stride, self.stride)]


def switch_table(code: bytes, at: int) -> SwitchTable:
    """The table of the switch at ``at``. Raises ClassFileError when it passes the end of the code."""
    default = (at & ~3) + 4
    if code[at] == op.TABLESWITCH:
        low = _signed4(code, default + 4)
        high = _signed4(code, default + 8)
        table = SwitchTable(default, default + 12, high - low + 1, 4, default + 12 + 4 * (high - low + 1))
    else:
        count = _signed4(code, default + 4)
        table = SwitchTable(default, default + 12, count, 8, default + 8 + 8 * count)
    if table.count < 0 or table.end > len(code):
        raise ClassFileError(f"the switch at offset {at} passes the end of the code (JVMS §4.9.1)")
    return table


def _signed4(code: bytes, at: int) -> int:
    return int.from_bytes(code[at : at + 4], signed=True)


def branch_target(code: bytes, at: int) -> int:
    """The offset that the branch instruction at ``at`` jumps to. Raises ClassFileError when it leaves the code."""
    size = 4 if code[at] >= op.GOTO_W else 2
    target = at + int.from_bytes(code[at + 1 : at + 1 + size], signed=True)
    if not 0 <= target < len(code):
        raise ClassFileError(f"the branch at offset {at} leaves the code (JVMS §4.9.1)")
    return target


def switch_targets(code: bytes, at: int) -> list[int]:
    """The offsets that the switch at ``at`` jumps to, default first. Raises ClassFileError."""
    targets = [at + _signed4(code, place) for place in switch_table(code, at).places()]
    if min(targets) < 0 or max(targets) >= len(code):
        raise ClassFileError(f"the switch at offset {at} leaves the code (JVMS §4.9.1)")
    return targets
