"""Code that no Java compiler emits today but class files may contain, woven and run under ``-Xverify:all``."""

from __future__ import annotations

import pytest

from btpy.classfile import frames
from btpy.classfile import opcodes as op
from btpy.classfile.assembler import ClassBuilder, Label, Tracking
from btpy.classfile.bytecode import scan
from btpy.classfile.jvms import ACC_NATIVE, ACC_PUBLIC, ACC_SYNCHRONIZED
from btpy.classfile.reader import ClassFile
from btpy.lang.inputs import InputKind
from btpy.plan.plan import (
    OBJECT,
    Advice,
    ClassPlan,
    Handler,
    MethodPlan,
    Operand,
    OperandKind,
    Point,
    RefusalReason,
    Woven,
)
from btpy.weave.weaver import weave
from tests.weave import advice
from tests.weave.advice import Count
from tests.weave.odd import STATIC, Execute, everything_but_main, main, odd, sum_of


def test_a_constructor_may_choose_between_several_super_calls(execute: Execute) -> None:
    builder = odd(super_name="java/lang/Exception")
    code = builder.method(ACC_PUBLIC, "<init>", "(I)V")
    one, two, end = Label(), Label(), Label()
    code.local(op.ALOAD, 0)
    code.load("I", 1)
    code.switch({1: one, 2: two}, one)
    code.place(one)
    code.constant("S", "one")
    code.invoke(op.INVOKESPECIAL, "java/lang/Exception", "<init>", "(Ljava/lang/String;)V")
    code.branch(op.GOTO, end)
    code.place(two)
    code.type(op.NEW, "java/lang/Exception")
    code.op(op.DUP)
    code.invoke(op.INVOKESPECIAL, "java/lang/Exception", "<init>", "()V")
    code.invoke(op.INVOKESPECIAL, "java/lang/Exception", "<init>", "(Ljava/lang/Throwable;)V")
    code.place(end)
    code.constant("I", 12)
    code.load("I", 1)
    code.op(op.IDIV)
    code.op(op.POP)
    code.op(op.RETURN)
    maker = builder.method(STATIC, "make", "(I)I")
    handler = Label()
    with maker.protected(handler):
        maker.type(op.NEW, "Odd")
        maker.op(op.DUP)
        maker.load("I", 0)
        maker.invoke(op.INVOKESPECIAL, "Odd", "<init>", "(I)V")
        maker.op(op.POP)
    maker.constant("I", 1)
    maker.op(op.IRETURN)
    maker.place(handler)
    maker.op(op.POP)
    maker.constant("I", 100)
    maker.op(op.IRETURN)
    main(builder, lambda code: sum_of(code, "make", range(5)))
    run = execute(builder)
    assert run.output == "104\n"
    assert run.counts("<init>", "(I)V") == (5, 4, 1)
    assert run.report.of("Odd", "<init>", "(I)V", advice.RETURN_SELF).sum == 4
    assert run.report.of("Odd", "<init>", "(I)V", advice.THROW_ARGUMENT).sum == 0
    assert run.report.of("Odd", "<init>", "(I)V", advice.RETURN_ARGUMENT).sum == 1 + 2 + 3 + 4


def test_this_may_wait_for_super_in_another_local_variable(execute: Execute) -> None:
    builder = odd()
    code = builder.method(ACC_PUBLIC, "<init>", "(I)V")
    code.local(op.ALOAD, 0)
    code.local(op.ASTORE, 2)
    code.load("I", 1)
    code.local(op.ISTORE, 0)
    code.constant("I", 5)
    code.local(op.ISTORE, 1)
    code.local(op.ALOAD, 2)
    code.invoke(op.INVOKESPECIAL, "java/lang/Object", "<init>", "()V")
    code.op(op.RETURN)
    maker = builder.method(STATIC, "make", "(I)I")
    maker.type(op.NEW, "Odd")
    maker.op(op.DUP)
    maker.load("I", 0)
    maker.invoke(op.INVOKESPECIAL, "Odd", "<init>", "(I)V")
    maker.invoke(op.INVOKEVIRTUAL, "java/lang/Object", "getClass", "()Ljava/lang/Class;")
    maker.op(op.POP)
    maker.load("I", 0)
    maker.op(op.IRETURN)
    main(builder, lambda code: sum_of(code, "make", range(7)))
    run = execute(builder)
    assert run.counts("<init>", "(I)V") == (7, 7, 0)
    assert run.report.of("Odd", "<init>", "(I)V", advice.RETURN_SELF).sum == 7
    # The code before super has used the argument's slot for another value: entry advice still gets the argument.
    assert run.report.of("Odd", "<init>", "(I)V", advice.ENTRY_ARGUMENT).sum == 21


def test_super_may_be_called_in_a_handler(execute: Execute) -> None:
    """The constructor calls ``super()`` on two paths: in normal code, and in the handler of an earlier exception."""
    builder = divider(52)
    code = builder.method(ACC_PUBLIC, "<init>", "(I)V")
    handler = Label()
    with code.protected(handler):
        code.load("I", 1)
        code.invoke(op.INVOKESTATIC, "Odd", "divide", "(I)I")
        code.op(op.POP)
    code.local(op.ALOAD, 0)
    code.invoke(op.INVOKESPECIAL, "java/lang/Object", "<init>", "()V")
    code.op(op.RETURN)
    code.place(handler)
    code.op(op.POP)
    code.local(op.ALOAD, 0)
    code.invoke(op.INVOKESPECIAL, "java/lang/Object", "<init>", "()V")
    code.op(op.RETURN)
    maker = builder.method(STATIC, "make", "(I)I")
    maker.type(op.NEW, "Odd")
    maker.op(op.DUP)
    maker.load("I", 0)
    maker.invoke(op.INVOKESPECIAL, "Odd", "<init>", "(I)V")
    maker.op(op.POP)
    maker.load("I", 0)
    maker.op(op.IRETURN)
    main(builder, lambda code: sum_of(code, "make", range(5)))
    run = execute(builder)
    assert run.counts("<init>", "(I)V") == (5, 5, 0)
    assert run.report.of("Odd", "<init>", "(I)V", advice.RETURN_SELF).sum == 5


def test_a_constructor_that_cannot_end_is_refused() -> None:
    builder = odd()
    code = builder.method(ACC_PUBLIC, "<init>", "()V")
    code.constant("I", 0)
    code.op(op.ACONST_NULL)
    code.op(op.ATHROW)
    result = woven_everything(builder)
    assert [refusal.reason for refusal in result.refusals] == [RefusalReason.NO_SUPER_CALL]
    assert result.data is None


def test_jsr_and_ret(execute: Execute) -> None:
    builder = odd(major=48)
    code = builder.method(STATIC, "finallyOf", "(I)I", tracking=Tracking.OFF)
    code.limits(3, 4)
    cleanup, start, end, handler, zero = Label(), Label(), Label(), Label(), Label()
    code.place(start)
    code.constant("I", 60)
    code.load("I", 0)
    code.op(op.IDIV)
    code.store("I", 1)
    code.branch(op.JSR, cleanup)
    code.load("I", 1)
    code.op(op.IRETURN)
    code.place(end)
    code.place(handler)
    code.local(op.ASTORE, 3)
    code.branch(op.JSR, cleanup)
    code.branch(op.GOTO, zero)
    code.place(cleanup)
    code.local(op.ASTORE, 2)
    code.iinc(0, 1)
    code.local(op.RET, 2)
    code.place(zero)
    code.load("I", 0)
    code.op(op.IRETURN)
    code.exception(start, end, handler)
    main(builder, lambda code: sum_of(code, "finallyOf", range(4)))
    run = execute(builder)
    assert run.output == f"{1 + 60 + 30 + 20}\n"
    assert run.counts("finallyOf", "(I)I") == (4, 4, 0)
    assert run.report.of("Odd", "finallyOf", "(I)I", advice.RETURN_ARGUMENT).sum == 6


def test_calls_on_an_object_after_a_subroutine(execute: Execute) -> None:
    """After the subroutine the types of local variables are unknown: the receiver of the call can be any object."""
    builder = odd(major=48)
    code = builder.method(STATIC, "lengthOf", "(I)I", tracking=Tracking.OFF)
    code.limits(2, 4)
    cleanup, start, end, handler = Label(), Label(), Label(), Label()
    code.load("I", 0)
    code.invoke(op.INVOKESTATIC, "java/lang/String", "valueOf", "(I)Ljava/lang/String;")
    code.local(op.ASTORE, 1)
    code.branch(op.JSR, cleanup)
    code.place(start)
    code.local(op.ALOAD, 1)
    code.invoke(op.INVOKEVIRTUAL, "java/lang/String", "length", "()I")
    code.op(op.IRETURN)
    code.place(end)
    code.place(handler)
    code.op(op.ATHROW)
    code.place(cleanup)
    code.local(op.ASTORE, 2)
    code.local(op.RET, 2)
    code.exception(start, end, handler)
    main(builder, lambda code: sum_of(code, "lengthOf", range(7, 12)))
    run = execute(builder)
    assert run.output == "7\n"
    probe = advice.probe_of(Point.CALL_RETURN, advice.VALUES[InputKind.TARGET])
    assert run.report.of("Odd", "lengthOf", "(I)I", probe) == Count(5, 7, 0)


def test_the_lock_of_a_static_method_has_no_name_in_an_old_class_file(execute: Execute) -> None:
    builder = odd(major=48)
    code = builder.method(STATIC | ACC_SYNCHRONIZED, "alone", "(I)I")
    code.load("I", 0)
    code.op(op.IRETURN)
    main(builder, lambda code: sum_of(code, "alone", range(3)))
    run = execute(builder)
    assert run.report.of("Odd", "alone", "(I)I", advice.probe_of(Point.SYNC_ENTER)).calls == 3
    target = advice.probe_of(Point.SYNC_ENTER, advice.VALUES[InputKind.TARGET])
    assert run.report.of("Odd", "alone", "(I)I", target).calls == 0


def test_old_class_files_get_no_stack_maps() -> None:
    result = woven_everything(divider(major=49))
    assert result.data is not None
    assert b"StackMapTable" not in result.data


def test_code_without_jumps_gets_the_frame_of_the_handler(execute: Execute) -> None:
    builder = divider(major=52)
    assert b"StackMapTable" not in builder.to_bytes()
    main(builder, lambda code: sum_of(code, "divide", range(1, 4)))
    assert execute(builder).counts("divide", "(I)I") == (3, 3, 0)


def divider(major: int) -> ClassBuilder:
    builder = odd(major=major)
    code = builder.method(STATIC, "divide", "(I)I")
    code.constant("I", 12)
    code.load("I", 0)
    code.op(op.IDIV)
    code.op(op.IRETURN)
    return builder


def test_return_with_more_on_the_stack_than_the_result(execute: Execute) -> None:
    builder = odd()
    code = builder.method(STATIC, "deep", "(I)I")
    code.constant("J", 7)
    code.constant("S", "left behind")
    code.load("I", 0)
    code.op(op.IRETURN)
    main(builder, lambda code: sum_of(code, "deep", range(3)))
    run = execute(builder)
    assert run.report.of("Odd", "deep", "(I)I", advice.RESULT).sum == 3


def test_dead_code_with_a_frame_of_its_own(execute: Execute) -> None:
    builder = odd()
    code = builder.method(STATIC, "dead", "(I)I", tracking=Tracking.OFF)
    code.limits(1, 1)
    code.load("I", 0)
    code.op(op.IRETURN)
    code.op(op.NOP)
    code.op(op.ATHROW)
    throwable = frames.object_type(builder.pool.class_("java/lang/Throwable"))
    frame = frames.Frame(2, (), (throwable,))
    code.attribute("StackMapTable", frames.encode([frame], (frames.INTEGER,)))
    main(builder, lambda code: sum_of(code, "dead", range(3)))
    assert execute(builder).counts("dead", "(I)I") == (3, 3, 0)


def test_a_jump_back_to_the_first_instruction_with_a_value_on_the_stack(execute: Execute) -> None:
    builder = odd()
    code = builder.method(STATIC, "loop", "(I)I")
    start, loop, end = Label(), Label(), Label()
    code.place(start)
    code.iinc(0, -1)
    code.load("I", 0)
    code.place(loop)
    code.op(op.DUP)
    code.branch(op.IFLE, end)
    code.constant("I", 1)
    code.op(op.ISUB)
    code.op(op.DUP)
    code.constant("I", 2)
    code.branch(op.IF_ICMPGT, loop)
    code.op(op.POP)
    code.branch(op.GOTO, start)
    code.place(end)
    code.op(op.IRETURN)
    main(builder, lambda code: sum_of(code, "loop", range(11)))
    run = execute(builder)
    assert run.counts("loop", "(I)I") == (11, 11, 0)
    assert run.report.of("Odd", "loop", "(I)I", advice.RETURN_ARGUMENT).sum == 55


def test_local_variables_beyond_255(execute: Execute) -> None:
    builder = odd()
    code = builder.method(STATIC, "many", "(I)I")
    code.load("I", 0)
    code.store("I", 300)
    code.load("I", 300)
    code.op(op.IRETURN)
    main(builder, lambda code: sum_of(code, "many", range(3)))
    assert execute(builder).report.of("Odd", "many", "(I)I", advice.RETURN_ARGUMENT).sum == 3


@pytest.mark.parametrize("opcode", [op.IFEQ, op.IFNE, op.IFLT, op.IFGE, op.IFGT, op.IFLE])
def test_a_conditional_jump_that_no_longer_reaches(opcode: int, execute: Execute) -> None:
    """The code jumps over 32,760 bytes; a woven return among them moves the target out of reach."""
    builder = odd()
    code = builder.method(STATIC, "far", "(I)I")
    far, early = Label(), Label()
    code.constant("J", 5)
    code.store("J", 1)
    code.load("I", 0)
    code.branch(opcode, far)
    code.load("I", 0)
    code.constant("I", 1)
    code.branch(op.IF_ICMPEQ, early)
    for _ in range(10_916):
        code.iinc(0, 1)
    code.place(early)
    code.load("I", 0)
    code.op(op.IRETURN)
    code.place(far)
    code.constant("I", 3)
    code.op(op.IRETURN)
    main(builder, lambda code: sum_of(code, "far", range(-3, 4)))
    assert op.GOTO_W not in codes(builder.to_bytes(), "far")
    run = execute(builder)
    result = woven_everything(builder)
    assert result.data is not None
    assert op.GOTO_W in codes(result.data, "far")
    assert run.counts("far", "(I)I") == (7, 7, 0)


def codes(data: bytes, name: str) -> set[int]:
    """The opcodes of a method."""
    (code,) = [method.code for method in ClassFile.parse(data).methods if method.name == name]
    assert code is not None
    return {code.code[at] for at in scan(code.code).starts}


def test_a_goto_that_no_longer_reaches(execute: Execute) -> None:
    builder = odd()
    code = builder.method(STATIC, "around", "(I)I")
    far, end = Label(), Label()
    code.load("I", 0)
    code.branch(op.IFNE, end)
    code.branch(op.GOTO, far)
    code.place(end)
    for _ in range(10_918):
        code.iinc(0, 1)
    code.load("I", 0)
    code.op(op.IRETURN)
    code.place(far)
    code.constant("I", 9)
    code.op(op.IRETURN)
    main(builder, lambda code: sum_of(code, "around", range(3)))
    assert op.GOTO_W not in codes(builder.to_bytes(), "around")
    assert execute(builder).counts("around", "(I)I") == (3, 3, 0)


def test_a_subroutine_that_is_no_longer_reached(execute: Execute) -> None:
    """The return address is in a local variable beyond the 255th."""
    builder = odd(major=48)
    code = builder.method(STATIC, "away", "(I)I", tracking=Tracking.OFF)
    code.limits(1, 301)
    far = Label()
    code.branch(op.JSR, far)
    code.load("I", 0)
    code.op(op.IRETURN)
    for _ in range(10_918):
        code.iinc(0, 1)
    code.place(far)
    code.local(op.ASTORE, 300)
    code.iinc(0, 100)
    code.local(op.RET, 300)
    main(builder, lambda code: sum_of(code, "away", range(3)))
    assert op.JSR_W not in codes(builder.to_bytes(), "away")
    run = execute(builder)
    assert op.JSR_W in codes(run.woven, "away")
    assert run.output == "303\n"
    assert run.counts("away", "(I)I") == (3, 3, 0)


def woven_everything(builder: ClassBuilder) -> Woven:
    data = builder.to_bytes()
    return weave(data, advice.everything(ClassFile.parse(data)), 0)


def test_a_method_that_would_be_too_large_is_left_alone_and_the_others_are_woven(execute: Execute) -> None:
    builder = divider(major=52)
    big = builder.method(STATIC, "big", "()V")
    for _ in range(65_530):
        big.op(op.NOP)
    big.op(op.RETURN)
    result = woven_everything(builder)
    assert [(refusal.reason, refusal.method) for refusal in result.refusals] == [(RefusalReason.TOO_LARGE, "big()V")]
    assert result.data is not None
    assert {site.method for site in result.sites} == {"divide"}
    assert [site.id for site in result.sites] == list(range(len(result.sites)))


def test_a_full_constant_pool_refuses_the_method() -> None:
    builder = divider(major=52)
    builder.to_bytes()  # adds every entry that the class needs to the pool
    while builder.pool.count < 65_534:
        builder.pool.integer(1_000_000 + builder.pool.count)
    result = woven_everything(builder)
    assert [refusal.reason for refusal in result.refusals] == [RefusalReason.POOL_FULL]
    assert result.data is None


@pytest.mark.parametrize("first", [0, 1 << 24 | 1, (1 << 24) + 30_011, 127 << 24 | 1])
def test_thousands_of_sites_need_a_handful_of_constants(first: int) -> None:
    builder = divider(major=52)
    for number in range(7):
        code = builder.method(STATIC, f"calls{number}", "()V", tracking=Tracking.OFF)
        code.limits(1, 0)
        for _ in range(1009):
            code.invoke(op.INVOKESTATIC, "Odd", "nothing", "()V")
        code.op(op.RETURN)
    data = builder.to_bytes()
    result = weave(data, advice.inside(ClassFile.parse(data), points=(Point.CALL_BEFORE,)), first)
    assert result.refusals == ()
    assert result.data is not None
    assert [site.id for site in result.sites] == list(range(first, first + 7 * 1009))
    assert ClassFile.parse(result.data).pool.count <= ClassFile.parse(data).pool.count + 11


def test_abstract_and_native_methods_have_no_code() -> None:
    builder = odd()
    builder.raw_method(ACC_PUBLIC | ACC_NATIVE, "native0", "()V")
    call = Advice(Point.ENTRY, 1, Handler("Recorder", "call", "(I)V"), ())
    plan = ClassPlan("Odd", (MethodPlan("native0", "()V", (call,)),))
    result = weave(builder.to_bytes(), plan, 0)
    assert [refusal.reason for refusal in result.refusals] == [RefusalReason.NO_CODE]
    assert result.data is None


def test_an_empty_finalizer_stays_empty() -> None:
    """HotSpot would register every new object of the class for finalization. For Object, these are the objects of all
    classes."""
    builder = odd()
    builder.method(ACC_PUBLIC, "finalize", "()V").op(op.RETURN)
    result = woven_everything(builder)
    assert [refusal.reason for refusal in result.refusals] == [RefusalReason.PROTECTED]
    assert result.data is None


def test_a_plan_without_a_method_of_the_class_changes_nothing() -> None:
    call = Advice(Point.ENTRY, 1, Handler("Recorder", "call", "(I)V"), ())
    plan = ClassPlan("Odd", (MethodPlan("absent", "()V", (call,)), MethodPlan("divide", "(I)I", ())))
    assert weave(divider(52).to_bytes(), plan, 0) == Woven(None, (), ())


def test_another_class_is_refused_whole() -> None:
    result = weave(divider(52).to_bytes(), ClassPlan("Other", ()), 0)
    assert [(refusal.reason, refusal.method) for refusal in result.refusals] == [(RefusalReason.MALFORMED, None)]


def test_code_cut_short_refuses_the_method_and_not_the_class() -> None:
    builder = divider(52)
    method = builder.method(STATIC, "cut", "()V", tracking=Tracking.OFF)
    method.op(op.GETSTATIC)
    result = woven_everything(builder)
    assert [(refusal.reason, refusal.method) for refusal in result.refusals] == [(RefusalReason.MALFORMED, "cut()V")]
    assert {site.method for site in result.sites} == {"divide"}


@pytest.mark.parametrize(
    ("point", "kind", "index", "descriptor"),
    [
        (Point.ENTRY, OperandKind.SELF, 0, OBJECT),
        (Point.ENTRY, OperandKind.RESULT, 0, "I"),
        (Point.ENTRY, OperandKind.DURATION, 0, "J"),
        (Point.RETURN, OperandKind.EXCEPTION, 0, OBJECT),
        (Point.RETURN, OperandKind.ARGUMENT, 1, "I"),
        (Point.RETURN, OperandKind.RESULT, 0, "J"),
        (Point.THROW, OperandKind.RESULT, 0, "I"),
        (Point.THROW, OperandKind.LOCAL, 0, "I"),
    ],
)
def test_operands_that_a_place_does_not_have(point: Point, kind: OperandKind, index: int, descriptor: str) -> None:
    operand = Operand(kind, index, descriptor)
    call = Advice(point, 1, Handler("Recorder", "value", f"(I{descriptor})V"), (operand,))
    plan = ClassPlan("Odd", (MethodPlan("divide", "(I)I", (call,)),))
    with pytest.raises(ValueError, match=kind.value):
        weave(divider(52).to_bytes(), plan, 0)


def test_unknown_attributes_stay() -> None:
    builder = divider(52)
    code = builder.method(STATIC, "other", "()V")
    code.attribute("Unheard", b"of \x00 this")
    code.op(op.RETURN)
    builder.method_attribute("OfMethod", b"1")
    builder.attribute("OfClass", b"22")
    result = woven_everything(builder)
    assert result.data is not None
    file = ClassFile.parse(result.data)
    method = file.methods[1]
    assert method.code is not None
    assert [(a.name, a.content) for a in method.code.attributes][:1] == [("Unheard", b"of \x00 this")]
    assert [(a.name, a.content) for a in (*method.attributes[1:], *file.attributes)] == [
        ("OfMethod", b"1"),
        ("OfClass", b"22"),
    ]


def test_the_same_input_gives_the_same_bytes() -> None:
    assert woven_everything(divider(52)) == woven_everything(divider(52))


def test_a_class_can_be_woven_again(execute: Execute) -> None:
    """Another session or another agent may have woven the class already."""
    builder = divider(52)
    main(builder, lambda code: sum_of(code, "divide", range(1, 4)))
    once = weave(builder.to_bytes(), everything_but_main(builder.to_bytes()), 1000)
    assert once.data is not None

    class Again(ClassBuilder):
        def to_bytes(self) -> bytes:
            assert once.data is not None
            return once.data

    assert execute(Again("Odd")).counts("divide", "(I)I") == (3, 3, 0)
