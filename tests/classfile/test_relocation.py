"""Random code with random insertions keeps its instructions and jumps, and has the insertions at their places."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from btpy.classfile import opcodes as op
from btpy.classfile import relocation as relocating
from btpy.classfile.bytecode import branch_target, scan, switch_table, switch_targets
from btpy.classfile.relocation import relocate
from btpy.errors import ClassFileError
from tests.classfile.strategies import Program, programs
from tests.generated import examples

# Instructions that random code does not use, so that tests recognise insertions.
blocks = st.integers(0, 9).map(lambda size: bytes((op.DCONST_0,) * size))
Insertions = dict[int, tuple[bytes, bytes]]
"""The number of an instruction, and the code inserted before it: a jump to it skips the first part and runs the
second."""

insertions = st.dictionaries(st.integers(0, 29), st.tuples(blocks, blocks), max_size=6)


@given(programs(), insertions)
def test_every_jump_lands_where_it_did(program: Program, insertions_by_number: Insertions) -> None:
    check(
        program,
        {program.starts[number]: it for number, it in insertions_by_number.items() if number < len(program.starts)},
    )


@given(programs(), insertions)
@settings(max_examples=examples(50))
def test_every_jump_lands_where_it_did_when_all_are_widened(program: Program, insertions_by_number: Insertions) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relocating, "REACH", -1)
        check(
            program,
            {program.starts[number]: it for number, it in insertions_by_number.items() if number < len(program.starts)},
        )


def check(program: Program, inserted: Insertions) -> None:
    bytecode = scan(program.code)
    assert tuple(bytecode.starts) == program.starts
    falls = {at: fall for at, (fall, _) in inserted.items()}
    result = relocate(bytecode, falls, {at: always for at, (_, always) in inserted.items()})
    code = result.code
    instructions = scan(code).starts  # the new code consists of whole instructions
    ranges = list(zip(result.inserted[::2], result.inserted[1::2], strict=True))
    for number, old in enumerate(program.starts):
        here = result.instruction(old)
        fixed, targets = program.meanings[number]
        fall, always = inserted.get(old, (b"", b""))
        assert here == result.reference(old) + len(always)
        start = result.reference(old) - len(fall)
        assert code[start:here] == fall + always
        assert ((start, here) in ranges) == (start < here)
        assert here in instructions
        landed = [result.reference(program.starts[target]) for target in targets]
        opcode = fixed[0]
        new = code[here]
        if opcode in (op.TABLESWITCH, op.LOOKUPSWITCH):
            assert new == opcode
            assert switch_targets(code, here) == landed
            keys = switch_table(code, here).default + 4
            old_keys = switch_table(program.code, old).default + 4
            assert code[keys : keys + 4] == program.code[old_keys : old_keys + 4]
        elif targets:
            if new == opcode or new in (op.GOTO_W, op.JSR_W):
                assert branch_target(code, here) == landed[0]
            else:
                # the opposite condition jumps over a goto_w, to the next instruction
                assert opposites(opcode, new)
                assert branch_target(code, here) == here + 8
                assert branch_target(code, here + 3) == landed[0]
                assert old + 3 in result.new_targets
        else:
            assert code[here : here + len(fixed)] == fixed
    assert result.reference(len(program.code)) == len(code)


def opposites(one: int, other: int) -> bool:
    pairs = [(op.IFEQ, op.IFNE), (op.IF_ICMPLT, op.IF_ICMPGE), (op.IFNULL, op.IFNONNULL)]
    return (one, other) in pairs or (other, one) in pairs


@pytest.mark.parametrize(
    "code",
    [
        b"",
        bytes((0xFE,)),
        bytes((op.GOTO, 0)),
        bytes((op.WIDE,)),
        bytes((op.TABLESWITCH, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0)),
        bytes((op.LOOKUPSWITCH, 0, 0, 0, 0, 0, 0, 0, 0x7F, 0xFF, 0xFF, 0xFF)),
        bytes((op.TABLESWITCH, 0, 0, 0, 0, 0, 0, 0, 0x7F, 0xFF, 0xFF, 0xFF, 0x80, 0, 0, 0)),
    ],
)
def test_code_that_is_no_code(code: bytes) -> None:
    with pytest.raises(ClassFileError):
        scan(code)


def test_jumps_out_of_the_code() -> None:
    with pytest.raises(ClassFileError, match="leaves the code"):
        relocate(scan(bytes((op.GOTO, 0, 4, op.RETURN))), {}, {})
    with pytest.raises(ClassFileError, match="leaves the code"):
        relocate(scan(bytes((op.LOOKUPSWITCH, 0, 0, 0, 0xFF, 0, 0, 0, 0, 0, 0, 0))), {}, {})


@given(st.binary(max_size=60))
def test_random_bytes_are_code_or_refused(code: bytes) -> None:
    try:
        bytecode = scan(code)
    except ClassFileError:
        return
    assert bytecode.starts[0] == 0
    try:
        relocate(bytecode, {}, {0: b"\0"})
    except ClassFileError:
        return
