"""Code at the limits of the class-file format, all points woven, run under ``-Xverify:all``."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from btpy.classfile import frames
from btpy.classfile import opcodes as op
from btpy.classfile.assembler import ClassBuilder, CodeBuilder, Label, Tracking
from btpy.classfile.bytecode import branch_target, scan
from btpy.classfile.reader import ClassFile
from btpy.lang.inputs import InputKind
from btpy.plan.plan import Point, RefusalReason, Woven
from btpy.weave.weaver import weave
from tests.jdks import compiled, java
from tests.weave import advice
from tests.weave.advice import VALUES, probe_of
from tests.weave.odd import STATIC, Execute, main, odd, sum_of


def longest(data: bytes, name: str) -> int:
    """The longest jump with a 16-bit offset in a method."""
    (code,) = [method.code for method in ClassFile.parse(data).methods if method.name == name]
    assert code is not None
    bytecode = scan(code.code)
    short = [at for at in bytecode.branches if code.code[at] < op.GOTO_W]
    return max(abs(branch_target(code.code, at) - at) for at in short)


def calls_twice(builder: ClassBuilder) -> None:
    code = builder.method(STATIC, "twice", "(I)I")
    code.load("I", 0)
    code.op(op.DUP)
    code.op(op.IADD)
    code.op(op.IRETURN)


def twice(code: CodeBuilder) -> None:
    code.load("I", 0)
    code.invoke(op.INVOKESTATIC, "Odd", "twice", "(I)I")


@pytest.mark.parametrize("opcode", [op.IFGT, op.GOTO])
@pytest.mark.parametrize("distance", [32_767, 32_766])
def test_a_jump_forward_as_far_as_it_can_go(opcode: int, distance: int, execute: Execute) -> None:
    builder = odd()
    calls_twice(builder)
    code = builder.method(STATIC, "far", "(I)I", tracking=Tracking.TYPES)
    far, near = Label(), Label()
    code.load("I", 0)
    if opcode == op.GOTO:
        code.branch(op.IFLE, near)
        code.branch(op.GOTO, far)
        code.place(near)
    else:
        code.branch(op.IFGT, far)
    # 3 bytes of the jump, 5 of the call and its return
    for _ in range(distance - 3 - 5):
        code.op(op.NOP)
    twice(code)
    code.op(op.IRETURN)
    code.place(far)
    code.constant("I", 1000)
    code.op(op.IRETURN)
    main(builder, lambda code: sum_of(code, "far", range(-2, 3)))
    data = builder.to_bytes()
    assert longest(data, "far") == distance
    run = execute(builder)
    assert run.output == f"{-4 - 2 + 0 + 2000}\n"
    assert run.counts("far", "(I)I") == (5, 5, 0)
    assert run.report.of("Odd", "far", "(I)I", probe_of(Point.CALL_RETURN)).calls == 3


@pytest.mark.parametrize("distance", [32_766, 32_767, 32_768])
def test_a_jump_back_as_far_as_it_can_go(distance: int, execute: Execute) -> None:
    builder = odd()
    calls_twice(builder)
    code = builder.method(STATIC, "loop", "(I)I")
    loop = Label()
    code.op(op.NOP)
    code.place(loop)
    for _ in range(distance - 9):  # 9 more bytes follow before the jump
        code.op(op.NOP)
    twice(code)
    code.op(op.POP)
    code.iinc(0, -1)
    code.load("I", 0)
    code.branch(op.IFGT, loop)
    code.load("I", 0)
    code.op(op.IRETURN)
    main(builder, lambda code: sum_of(code, "loop", range(1, 6)))
    assert longest(builder.to_bytes(), "loop") == distance
    run = execute(builder)
    assert run.output == "0\n"
    assert run.report.of("Odd", "loop", "(I)I", probe_of(Point.CALL_RETURN)).calls == 15


def test_jumps_that_are_wide_already(execute: Execute) -> None:
    builder = odd(major=48)
    calls_twice(builder)
    code = builder.method(STATIC, "wide", "(I)I", tracking=Tracking.OFF)
    code.limits(3, 3)
    far, cleanup = Label(), Label()
    code.branch(op.GOTO, far)
    code.place(cleanup)
    code.local(op.ASTORE, 1)
    twice(code)
    code.store("I", 0)
    code.local(op.RET, 1)
    for _ in range(33_000):
        code.op(op.NOP)
    code.place(far)
    code.branch(op.JSR, cleanup)
    twice(code)
    code.op(op.IRETURN)
    main(builder, lambda code: sum_of(code, "wide", range(5)))
    result = opcodes(builder.to_bytes(), "wide")
    assert {op.GOTO_W, op.JSR_W} <= result
    run = execute(builder)
    assert run.output == "40\n"
    assert run.report.of("Odd", "wide", "(I)I", probe_of(Point.CALL_RETURN)).calls == 10


def opcodes(data: bytes, name: str) -> set[int]:
    (code,) = [method.code for method in ClassFile.parse(data).methods if method.name == name]
    assert code is not None
    return {code.code[at] for at in scan(code.code).starts}


@pytest.mark.parametrize("step", [1, 1000], ids=["tableswitch", "lookupswitch"])
@pytest.mark.parametrize("phase", range(4))
def test_switches_at_every_alignment(phase: int, step: int, execute: Execute) -> None:
    builder = odd()
    calls_twice(builder)
    code = builder.method(STATIC, "choose", "(I)I")
    cases = {number * step: Label() for number in range(3)}
    default = Label()
    for _ in range(phase):
        code.op(op.NOP)
    twice(code)
    code.constant("I", step)
    code.op(op.IMUL)
    code.switch(cases, default)
    for number, label in enumerate(cases.values()):
        code.place(label)
        twice(code)
        code.constant("I", number)
        code.op(op.IADD)
        code.op(op.IRETURN)
    code.place(default)
    code.constant("I", 100)
    code.op(op.IRETURN)
    main(builder, lambda code: sum_of(code, "choose", range(3)))
    run = execute(builder)
    assert run.output == f"{0 + (2 + 2) + 100}\n"
    assert run.report.of("Odd", "choose", "(I)I", probe_of(Point.CALL_RETURN)).calls == 5


def full(size: int) -> bytes:
    """A class with a method of ``size`` bytes."""
    builder = odd()
    code = builder.method(STATIC, "full", "(I)I", tracking=Tracking.OFF)
    code.limits(1, 1)
    for _ in range(size - 2):
        code.op(op.NOP)
    code.load("I", 0)
    code.op(op.IRETURN)
    main(builder, lambda code: sum_of(code, "full", range(3)))
    return builder.to_bytes()


def entered(data: bytes) -> Woven:
    plan = advice.points(ClassFile.parse(data), Point.ENTRY)
    return weave(data, replace(plan, methods=tuple(method for method in plan.methods if method.name == "full")), 7)


def test_a_method_may_become_as_long_as_one_can_be(tmp_path: Path) -> None:
    grown = longer(full(100)) - 100
    limit = 65_535 - grown
    woven = entered(full(limit))
    assert woven.refusals == ()
    assert woven.data is not None
    assert longer(full(limit)) == 65_535
    (tmp_path / "Odd.class").write_bytes(woven.data)
    recorder = compiled([Path(__file__).parent / "java" / "Recorder.java"])
    command = [str(java(17)), "-Xverify:all", "-cp", f"{tmp_path}:{recorder}", "Odd"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (result.stdout, result.stderr) == ("3\n", "7 3 0 0\n")
    longer_result = entered(full(limit + 1))
    assert [(refusal.reason, refusal.method) for refusal in longer_result.refusals] == [
        (RefusalReason.TOO_LARGE, "full(I)I")
    ]
    assert longer_result.data is None


def longer(data: bytes) -> int:
    """The length of the woven method."""
    result = entered(data)
    assert result.data is not None
    (code,) = [method.code for method in ClassFile.parse(result.data).methods if method.name == "full"]
    assert code is not None
    return len(code.code)


def test_a_constant_pool_may_become_as_full_as_one_can_be() -> None:
    def crowded(room: int) -> Woven:
        builder = odd()
        calls_twice(builder)
        builder.to_bytes()  # adds every entry that the class needs to the pool
        while builder.pool.count < 65_535 - room:
            builder.pool.integer(1_000_000 + builder.pool.count)
        data = builder.to_bytes()
        assert ClassFile.parse(data).pool.count == 65_535 - room
        return weave(data, advice.points(ClassFile.parse(data), Point.ENTRY), 1 << 24 | 1)

    needed = next(room for room in range(20) if crowded(room).data is not None)
    result = crowded(needed)
    assert result.data is not None
    assert ClassFile.parse(result.data).pool.count == 65_535
    assert [refusal.reason for refusal in crowded(needed - 1).refusals] == [RefusalReason.POOL_FULL]


def test_operations_beyond_255_local_variables(execute: Execute) -> None:
    builder = odd()
    calls_twice(builder)
    code = builder.method(STATIC, "many", "(I)I")
    code.load("I", 0)
    code.store("I", 300)
    code.constant("I", 2)
    code.newarray(11)  # long
    code.local(op.ASTORE, 301)
    code.local(op.ALOAD, 301)
    code.constant("I", 1)
    code.load("I", 300)
    code.op(op.I2L)
    code.op(op.LASTORE)
    code.local(op.ALOAD, 301)
    code.constant("I", 1)
    code.op(op.LALOAD)
    code.op(op.L2I)
    code.iinc(300, 1000)
    code.invoke(op.INVOKESTATIC, "Odd", "twice", "(I)I")
    code.load("I", 300)
    code.op(op.IADD)
    code.op(op.IRETURN)
    main(builder, lambda code: sum_of(code, "many", range(3)))
    run = execute(builder)
    assert run.output == f"{3 * 3 + 3000}\n"
    for point, value, total in (
        (Point.ARRAY_SET, InputKind.NEW_VALUE, 3),
        (Point.ARRAY_GET, InputKind.RETVAL, 3),
        (Point.CALL_RETURN, InputKind.RETVAL, 6),
    ):
        assert run.report.of("Odd", "many", "(I)I", probe_of(point, VALUES[value])).sum == total


def test_operations_that_no_path_reaches_in_an_old_class_file(execute: Execute) -> None:
    builder = odd(major=48)
    calls_twice(builder)
    code = builder.method(STATIC, "dead", "(I)I", tracking=Tracking.OFF)
    code.limits(4, 2)
    start, end, handler = Label(), Label(), Label()
    code.place(start)
    twice(code)
    code.op(op.IRETURN)
    code.type(op.NEW, "java/lang/Object")
    code.op(op.DUP)
    code.invoke(op.INVOKESPECIAL, "java/lang/Object", "<init>", "()V")
    code.op(op.DUP)
    code.op(op.MONITORENTER)
    code.type(op.CHECKCAST, "java/lang/Error")
    code.op(op.ATHROW)
    code.place(end)
    code.place(handler)
    code.op(op.ATHROW)
    code.exception(start, end, handler)
    main(builder, lambda code: sum_of(code, "dead", range(4)))
    run = execute(builder)
    assert run.output == "12\n"
    assert run.report.of("Odd", "dead", "(I)I", probe_of(Point.CALL_RETURN)).calls == 4


def test_operations_that_only_a_stack_map_frame_reaches(execute: Execute) -> None:
    builder = odd()
    calls_twice(builder)
    code = builder.method(STATIC, "dead", "(I)I", tracking=Tracking.OFF)
    code.limits(1, 1)
    twice(code)
    code.op(op.IRETURN)
    twice(code)
    code.op(op.IRETURN)
    code.attribute("StackMapTable", frames.encode([frames.Frame(5, (frames.INTEGER,), ())], (frames.INTEGER,)))
    main(builder, lambda code: sum_of(code, "dead", range(4)))
    run = execute(builder)
    assert run.output == "12\n"
    assert run.report.of("Odd", "dead", "(I)I", probe_of(Point.CALL_RETURN)).calls == 4


def test_a_handler_that_covers_itself(execute: Execute) -> None:
    """The handler runs again for its own exception. With the argument 2 it divides by zero, because its first run makes
    the 2 a 3.
    """
    builder = odd()
    calls_twice(builder)
    code = builder.method(STATIC, "again", "(I)I", tracking=Tracking.OFF)
    code.limits(3, 1)
    start, handler, end = Label(), Label(), Label()
    code.place(start)
    code.op(op.ACONST_NULL)
    code.op(op.ATHROW)
    code.place(handler)
    code.op(op.POP)
    code.iinc(0, 1)
    twice(code)
    code.op(op.POP)
    code.constant("I", 12)
    code.load("I", 0)
    code.constant("I", 3)
    code.op(op.ISUB)
    code.op(op.IDIV)
    code.op(op.IRETURN)
    code.place(end)
    code.exception(start, end, handler)
    throwable = frames.object_type(builder.pool.class_("java/lang/Throwable"))
    table = frames.encode([frames.Frame(2, (frames.INTEGER,), (throwable,))], (frames.INTEGER,))
    code.attribute("StackMapTable", table)
    main(builder, lambda code: sum_of(code, "again", range(5)))
    run = execute(builder)
    assert run.output == f"{-6 - 12 + 12 + 12 + 6}\n"
    assert run.counts("again", "(I)I") == (5, 5, 0)
    assert run.report.of("Odd", "again", "(I)I", probe_of(Point.CALL_RETURN)).calls == 6


def test_a_jump_past_a_call_is_no_return_of_it(execute: Execute) -> None:
    builder = odd()
    calls_twice(builder)
    code = builder.method(STATIC, "perhaps", "(I)I")
    past = Label()
    code.load("I", 0)
    code.op(op.DUP)
    code.branch(op.IFLE, past)
    code.invoke(op.INVOKESTATIC, "Odd", "twice", "(I)I")
    code.place(past)
    code.op(op.IRETURN)
    main(builder, lambda code: sum_of(code, "perhaps", range(-3, 3)))
    run = execute(builder)
    assert run.output == f"{-6 + 6}\n"
    for point in (Point.CALL_BEFORE, Point.CALL_RETURN):
        assert run.report.of("Odd", "perhaps", "(I)I", probe_of(point)).calls == 2


def test_names_that_are_not_text(execute: Execute) -> None:
    """The JVM accepts half a surrogate pair as a name, although it is not valid Unicode."""
    half = "half \ud800"
    builder = odd()
    builder.field(STATIC, half, "I")
    code = builder.method(STATIC, half, "(I)I")
    code.load("I", 0)
    code.field(op.PUTSTATIC, "Odd", half, "I")
    code.field(op.GETSTATIC, "Odd", half, "I")
    code.op(op.IRETURN)
    main(builder, lambda code: sum_of(code, half, range(4)))
    run = execute(builder)
    assert run.output == "6\n"
    assert run.report.of("Odd", half, "(I)I", probe_of(Point.FIELD_SET, VALUES[InputKind.NEW_VALUE])).sum == 6
