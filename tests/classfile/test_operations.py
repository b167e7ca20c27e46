"""Operations and the types before them."""

from __future__ import annotations

from pathlib import Path

import pytest

from btpy.classfile import opcodes as op
from btpy.classfile import operations as ops
from btpy.classfile import tables, typeflow
from btpy.classfile.assembler import ClassBuilder, CodeBuilder, Label, Tracking
from btpy.classfile.bytecode import scan
from btpy.classfile.jvms import ACC_PUBLIC, ACC_STATIC
from btpy.classfile.operations import MethodOperations, OperationKind
from btpy.classfile.reader import ClassFile
from btpy.classfile.relocation import relocate
from btpy.errors import ClassFileError
from tests.jdks import compiled

JAVA = Path(__file__).parent.parent / "weave" / "java"
STATIC = ACC_PUBLIC | ACC_STATIC


def kind(value: typeflow.Value) -> typeflow.Value:
    return "reference" if typeflow.is_reference(value) else value


@pytest.mark.parametrize("program", ["Places", "Shapes"])
def test_the_flow_over_all_paths_agrees_with_the_stack_maps(program: str) -> None:
    compared = 0
    for path in compiled([JAVA / f"{program}.java", JAVA / "Recorder.java"]).glob("*.class"):
        file = ClassFile.parse(path.read_bytes())
        bare = ClassFile.parse(file.data.replace(b"\x00\x0dStackMapTable", b"\x00\x0dNothingAtAll!"))
        for method, without in zip(file.methods, bare.methods, strict=True):
            if method.code is None:
                continue
            bytecode = scan(method.code.code)
            table_states = typeflow.states(file, method, bytecode, bytecode.starts)
            states = typeflow.states(bare, without, bytecode, bytecode.starts)
            assert table_states.keys() == states.keys() == set(bytecode.starts)
            for at, state in table_states.items():
                assert list(map(kind, state.stack)) == list(map(kind, states[at].stack)), (method.name, at)
                for slot, value in enumerate(state.locals_):
                    if value is not None:
                        assert kind(states[at].locals_[slot]) == kind(value), (method.name, at, slot)
                compared += 1
    assert compared > 800


def single(code: CodeBuilder, builder: ClassBuilder) -> MethodOperations:
    file = ClassFile.parse(builder.to_bytes())
    method = file.methods[-1]
    assert method.code is not None
    return MethodOperations(file, method, method.code, scan(method.code.code))


def test_constructor_calls_know_their_objects_through_nested_news() -> None:
    builder = ClassBuilder("Odd", major=52, super_name="java/lang/Object")
    code = builder.method(STATIC, "make", "(Z)V", tracking=Tracking.OFF)
    code.limits(6, 2)
    code.type(op.NEW, "java/lang/Thread")  # one reference stays on the stack, and another in variable 1
    code.op(op.DUP)
    code.local(op.ASTORE, 1)
    code.type(op.NEW, "java/lang/Thread")
    code.op(op.DUP)
    code.invoke(op.INVOKESPECIAL, "java/lang/Thread", "<init>", "()V")
    code.invoke(op.INVOKESPECIAL, "java/lang/Thread", "<init>", "(Ljava/lang/Runnable;)V")
    code.op(op.ACONST_NULL)
    code.type(op.NEW, "java/lang/Thread")  # no variable keeps the object, and the value below it is another object
    code.invoke(op.INVOKESPECIAL, "java/lang/Thread", "<init>", "()V")
    code.op(op.RETURN)
    of = single(code, builder)
    results = []
    for call in of.operations:
        state = of.state(call.at)
        assert state is not None
        assert not ops.initializes_this(call, state)
        results.append(ops.new_object(call, state))
    assert results == [ops.NewObject(None), ops.NewObject(1), None]


def test_super_creates_no_object_and_code_before_it_is_visible() -> None:
    file = ClassFile.parse((compiled([JAVA / "Places.java", JAVA / "Recorder.java"]) / "Places.class").read_bytes())
    (method,) = [method for method in file.methods if method.name + method.descriptor == "<init>(I)V"]
    assert method.code is not None
    of = MethodOperations(file, method, method.code, scan(method.code.code))
    calls = [operation for operation in of.operations if operation.kind is OperationKind.CALL]
    assert [(call.name, of.before_super(call.at)) for call in calls] == [("text", True), ("<init>", True)]
    state = of.state(calls[1].at)
    assert state is not None
    assert ops.initializes_this(calls[1], state)
    (field_write,) = [operation for operation in of.operations if operation.kind is OperationKind.SET_FIELD]
    assert not of.before_super(field_write.at)


def test_data_flow_distinguishes_byte_and_boolean_arrays() -> None:
    builder = ClassBuilder("Odd", major=52, super_name="java/lang/Object")
    code = builder.method(STATIC, "take", "([Z[BLjava/lang/Object;)V")
    for slot in (0, 1):
        code.load("L", slot)
        code.constant("I", 0)
        code.op(op.BALOAD)
        code.op(op.POP)
    code.op(op.RETURN)
    of = single(code, builder)
    assert [ops.element_type(operation, of.state(operation.at)) for operation in of.operations] == ["Z", "B"]


def test_a_table_that_is_wrong_about_a_variable_is_not_believed() -> None:
    builder = ClassBuilder("Odd", major=52, super_name="java/lang/Object")
    code = builder.method(STATIC, "take", "(I)V")
    rows = [("number", "I", 0), ("text", "Ljava/lang/String;", 0), ("late", "J", 1)]
    table = len(rows).to_bytes(2)
    for name, descriptor, slot in rows:
        table += b"\0\0\0\2" + builder.pool.utf8(name).to_bytes(2) + builder.pool.utf8(descriptor).to_bytes(2)
        table += slot.to_bytes(2)
    code.line(7)
    code.op(op.NOP)
    code.op(op.RETURN)
    code.attribute("LocalVariableTable", table)
    of = single(code, builder)
    state = of.state(0)
    assert state is not None
    assert of.variables is not None
    assert [(row.name, ops.holds(state, row)) for row in of.variables] == [
        ("number", True),
        ("text", False),
        ("late", False),
    ]


def test_a_line_begins_wherever_the_code_says() -> None:
    builder = ClassBuilder("Odd", major=52, super_name="java/lang/Object")
    code = builder.method(STATIC, "take", "(I)V")
    for line in (3, 4, 4, 3):
        code.line(line)
        code.op(op.NOP)
    code.line(5)
    code.line(6)
    code.op(op.RETURN)
    assert single(code, builder).lines == [(0, 3), (1, 4), (3, 3), (4, 6)]


def test_an_instruction_that_is_not_an_operation() -> None:
    with pytest.raises(ClassFileError, match="not an operation"):
        ops.operation_at(bytes((op.NOP,)), 0, ClassBuilder("Odd", major=52).pool)


def test_an_annotation_of_a_handler_follows_its_row() -> None:
    """catch_target (JVMS §4.7.20.1) is the number of a row of the exception table."""
    content = b"\0\1" + b"\x42\0\3" + b"\0" + b"\0\5\0\0"
    relocation = relocate(scan(bytes((op.NOP, op.RETURN))), {0: b"\0"}, {})
    for name in ("RuntimeVisibleTypeAnnotations", "RuntimeInvisibleTypeAnnotations"):
        assert tables.relocated(name, content, relocation, 2) == b"\0\1" + b"\x42\0\5" + b"\0" + b"\0\5\0\0"
        assert tables.relocated(name, content, relocation) == content


def test_paths_that_meet_keep_their_common_types() -> None:
    builder = ClassBuilder("Odd", major=49, super_name="java/lang/Object")
    code = builder.method(STATIC, "meet", "(ILjava/lang/String;Ljava/lang/Integer;)V", tracking=Tracking.OFF)
    code.limits(2, 6)
    other, end = Label(), Label()
    code.load("I", 0)
    code.branch(op.IFEQ, other)
    code.load("L", 1)
    code.local(op.ASTORE, 3)
    code.constant("J", 1)
    code.local(op.LSTORE, 4)
    code.branch(op.GOTO, end)
    code.place(other)
    code.load("L", 2)
    code.local(op.ASTORE, 3)
    code.constant("I", 1)
    code.local(op.ISTORE, 4)
    code.place(end)
    code.op(op.NOP)
    code.op(op.RETURN)
    file = ClassFile.parse(builder.to_bytes())
    (method,) = file.methods
    assert method.code is not None
    bytecode = scan(method.code.code)
    at = len(method.code.code) - 2
    state = typeflow.states(file, method, bytecode, [at])[at]
    assert state.locals_[:5] == ("I", "Ljava/lang/String;", "Ljava/lang/Integer;", "Ljava/lang/Object;", None)
    assert state.stack == ()
