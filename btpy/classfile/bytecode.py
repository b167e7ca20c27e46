"""Walking the code array of a method (JVMS §4.7.3): the offsets of instructions, and the jumps with their targets."""

from __future__ import annotations

from typing import Final, NamedTuple

from btpy.classfile import opcodes as op
from btpy.errors import ClassFileError

# The special treatment of an opcode by a walk.
_PLAIN, _RETURN, _BRANCH, _SWITCH, _WIDE, _UNDEFINED = range(6)


def _class_of(opcode: int) -> int:
    if opcode >= len(op.FORMATS):
        return _UNDEFINED
    if op.IRETURN <= opcode <= op.RETURN:
        return _RETURN
    operands = op.FORMATS[opcode]
    if operands in ("branch2", "branch4"):
        return _BRANCH
    return {"tableswitch": _SWITCH, "lookupswitch": _SWITCH, "wide": _WIDE}.get(operands, _PLAIN)


_CLASSES: Final = bytes(_class_of(opcode) for opcode in range(256))

#: Length of a plain instruction in bytes; 0 for other instructions.
_STEPS: Final = bytes(length if kind == _PLAIN else 0 for length, kind in zip(op.LENGTHS, _CLASSES, strict=True))


class Bytecode:
    """A code array and the result of one walk over it: offsets of instructions, ascending."""

    __slots__ = ("_starts", "_targets", "branches", "code", "returns", "switches")

    def __init__(self, code: bytes, branches: list[int], switches: list[int], returns: list[int]) -> None:
        self.code = code
        self.branches = branches
        self.switches = switches
        self.returns = returns
        self._starts: list[int] | None = None
        self._targets: list[int] | None = None

    @property
    def starts(self) -> list[int]:
        """All instructions."""
        if self._starts is None:
            self._starts = _starts(self.code)
        return self._starts

    @property
    def targets(self) -> list[int]:
        """The jump targets of each of the ``branches``. Raises ClassFileError when a target is outside of the code."""
        if self._targets is None:
            self._targets = [branch_target(self.code, at) for at in self.branches]
        return self._targets


def scan(code: bytes) -> Bytecode:
    """Walks ``code`` once.

    Raises ClassFileError for undefined opcodes, code that ends inside an instruction, and no code at all (JVMS §4.9.1).
    """
    classes = _CLASSES
    steps = code.translate(_STEPS)
    branches: list[int] = []
    switches: list[int] = []
    returns: list[int] = []
    end = len(code)
    at = 0
    while at < end:
        step = steps[at]
        if step:
            at += step
            continue
        kind = classes[code[at]]
        if kind == _BRANCH:
            branches.append(at)
            at += op.LENGTHS[code[at]]
        elif kind == _RETURN:
            returns.append(at)
            at += 1
        elif kind == _SWITCH:
            switches.append(at)
            at = switch_table(code, at).end
        elif kind == _WIDE:
            at += _wide_length(code, at)
        else:
            raise ClassFileError(f"undefined opcode 0x{code[at]:02x} at offset {at} (JVMS §6.5)")
    if at != end or not end:
        raise ClassFileError("the code ends inside an instruction (JVMS §4.9.1)")
    return Bytecode(code, branches, switches, returns)


def _starts(code: bytes) -> list[int]:
    """All instructions of code that was walked before."""
    lengths = code.translate(op.LENGTHS)
    starts: list[int] = []
    append = starts.append
    end = len(code)
    at = 0
    while at < end:
        append(at)
        at += lengths[at] or (_wide_length(code, at) if code[at] == op.WIDE else switch_table(code, at).end - at)
    return starts


def _wide_length(code: bytes, at: int) -> int:
    return 6 if code[at + 1 : at + 2] == b"\x84" else 4  # iinc


class SwitchTable(NamedTuple):
    """The layout of the jumps of a switch: the default offset is an ``i4`` at ``default``. ``cases`` more offsets
    follow: the first at ``first``, and one every ``stride`` bytes. ``end`` is the offset after the instruction.
    """

    default: int
    first: int
    cases: int
    stride: int
    end: int

    def places(self) -> list[int]:
        """Offsets of all the ``i4`` jump offsets."""
        return [self.default, *range(self.first, self.first + self.cases * self.stride, self.stride)]


def switch_table(code: bytes, at: int) -> SwitchTable:
    """The table of the switch at ``at``. Raises ClassFileError when the table passes the end of the code."""
    default = (at & ~3) + 4
    if code[at] == op.TABLESWITCH:
        low = _signed4(code, default + 4)
        high = _signed4(code, default + 8)
        table = SwitchTable(default, default + 12, high - low + 1, 4, default + 12 + 4 * (high - low + 1))
    else:
        count = _signed4(code, default + 4)
        table = SwitchTable(default, default + 12, count, 8, default + 8 + 8 * count)
    if table.cases < 0 or table.end > len(code):
        raise ClassFileError(f"the switch at offset {at} passes the end of the code (JVMS §4.9.1)")
    return table


def _signed4(code: bytes, at: int) -> int:
    return int.from_bytes(code[at : at + 4], signed=True)


def branch_target(code: bytes, at: int) -> int:
    """The offset that the branch instruction at ``at`` jumps to. Raises ClassFileError when the target is outside of
    the code.
    """
    if code[at] < op.GOTO_W:
        target = at + (code[at + 1] << 8 | code[at + 2])
        if code[at + 1] >= 0x80:
            target -= 0x10000
    else:
        target = at + _signed4(code, at + 1)
    if not 0 <= target < len(code):
        raise ClassFileError(f"the branch at offset {at} leaves the code (JVMS §4.9.1)")
    return target


def switch_targets(code: bytes, at: int) -> list[int]:
    """The offsets that the switch at ``at`` jumps to, default first. Raises ClassFileError."""
    targets = [at + _signed4(code, place) for place in switch_table(code, at).places()]
    if min(targets) < 0 or max(targets) >= len(code):
        raise ClassFileError(f"the switch at offset {at} leaves the code (JVMS §4.9.1)")
    return targets
