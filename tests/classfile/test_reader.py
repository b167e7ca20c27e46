"""Class files from javac, intact and damaged."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from btpy.classfile import opcodes as op
from btpy.classfile.assembler import ClassBuilder, Label, Tracking
from btpy.classfile.bytecode import scan
from btpy.classfile.disassembler import disassemble, disassemble_class
from btpy.classfile.initialized import Initialization
from btpy.classfile.jvms import ACC_PUBLIC, ACC_STATIC
from btpy.classfile.reader import ClassFile, Code, Member
from btpy.classfile.relocation import relocate
from btpy.classfile.tables import relocated, with_line
from btpy.errors import ClassFileError
from btpy.weave.weaver import weave
from tests.jdks import compiled
from tests.weave import advice

SOURCE = Path(__file__).parent / "java" / "Described.java"


@pytest.fixture(scope="module")
def directory() -> Path:
    return compiled([SOURCE])


@pytest.fixture(scope="module")
def class_file(directory: Path) -> ClassFile:
    return ClassFile.parse((directory / "Described.class").read_bytes())


def method(file: ClassFile, name: str) -> Member:
    (results,) = [method for method in file.methods if method.name == name]
    return results


def code_of(file: ClassFile, name: str) -> Code:
    code = method(file, name).code
    assert code is not None
    return code


def test_header_and_members(class_file: ClassFile) -> None:
    assert (class_file.name, class_file.super_name, class_file.interfaces) == ("Described", "java/lang/Object", ())
    assert (class_file.major, class_file.source_file) == (55, "Described.java")
    assert [(m.name, m.descriptor) for m in class_file.methods] == [
        ("<init>", "()V"),
        ("parameters", "(JLjava/lang/String;[I)J"),
        ("typed", "(Ljava/lang/Object;)I"),
    ]
    assert method(class_file, "parameters").is_static


def test_lines(class_file: ClassFile) -> None:
    source = SOURCE.read_text().splitlines()
    code = code_of(class_file, "parameters")
    assert source[code.line_at(0) - 1].strip() == "int local = rest.length;"
    assert source[code.line_at(len(code.code) - 1) - 1].strip() == "return local;"


def test_annotations(class_file: ClassFile) -> None:
    assert set(class_file.annotations) == {"java.lang.Deprecated", "Described$Hidden"}
    assert method(class_file, "parameters").annotations == ("java.lang.Deprecated",)
    assert method(class_file, "typed").annotations == ()


@pytest.mark.parametrize(
    ("flags", "names", "bare", "recorded"),
    [
        (["-g"], ("wide", "name", "rest"), (None,), False),
        (["-g:none"], (None, None, None), (None,), False),
        (["-g:none", "-parameters"], ("wide", "name", "rest"), ("unnamed",), True),
    ],
)
def test_parameter_names(
    flags: list[str], names: tuple[str | None, ...], bare: tuple[str | None, ...], recorded: bool
) -> None:
    classes = compiled([SOURCE], flags=flags)
    file = ClassFile.parse((classes / "Described.class").read_bytes())
    assert method(file, "parameters").parameter_names == names
    parameters = method(file, "parameters").method_parameters
    recorded_names = None if parameters is None else [file.pool.text_at(index) for index, _ in parameters]
    assert recorded_names == (list(names) if recorded else None)
    other = ClassFile.parse((classes / "Described$Bare.class").read_bytes())
    assert method(other, "nothing").code is None
    assert method(other, "nothing").parameter_names == bare


def test_damaged_class_files_are_refused_and_nothing_else(directory: Path) -> None:
    """Cuts and changes bytes: every question about the class is answered with a value or a ClassFileError."""
    chance = random.Random(4)
    refusals = reads = 0
    for path in sorted(directory.glob("*.class")):
        data = path.read_bytes()
        for _ in range(400):
            damaged = bytearray(data[: chance.randrange(len(data))] if chance.random() < 0.2 else data)
            for _ in range(chance.choice((1, 1, 2, 5)) if damaged else 0):
                damaged[chance.randrange(len(damaged))] = chance.choice((0, 1, 0xFF, chance.randrange(256)))
            try:
                inspect(bytes(damaged))
                reads += 1
            except ClassFileError:
                refusals += 1
    assert refusals > 200
    assert reads > 200


def inspect(data: bytes) -> None:
    file = ClassFile.parse(data)
    result = weave(data, advice.everything(file), 1)
    assert result.data is not None or result.refusals or not result.sites
    for look in (lambda: file.annotations, lambda: file.source_file, lambda: disassemble_class(file)):
        look()
    for item in file.methods:
        assert len(item.parameter_names) >= 0
        assert len(item.annotations) >= 0


def test_tables_move_with_the_code(class_file: ClassFile) -> None:
    """Every row points at the same instruction as before, or at the code inserted before it."""
    for name in ("parameters", "typed"):
        code = code_of(class_file, name)
        bytecode = scan(code.code)
        blocks = {at: bytes((op.NOP,) * (1 + at % 3)) for at in bytecode.starts}
        del blocks[0]
        moved = relocate(bytecode, {0: bytes((op.NOP,) * 4)}, blocks)
        tables = set()
        for attribute in code.attributes:
            content = relocated(attribute.name, attribute.content, moved)
            assert len(content) == len(attribute.content)
            old = attribute.content
            if attribute.name in ("LocalVariableTable", "LocalVariableTypeTable"):
                for row in range(old[0] << 8 | old[1]):
                    was, length = struct.unpack_from(">HH", old, 2 + 10 * row)
                    start, new_length = struct.unpack_from(">HH", content, 2 + 10 * row)
                    assert start == (moved.reference(was) if was else 0)
                    assert start + new_length == moved.reference(was + length)
                    assert content[6 + 10 * row : 12 + 10 * row] == old[6 + 10 * row : 12 + 10 * row]
            elif attribute.name == "LineNumberTable":
                rows = list(struct.iter_unpack(">HH", old[2:]))
                new = [((moved.reference(at) if at else 0), line) for at, line in rows]
                assert list(struct.iter_unpack(">HH", content[2:])) == new
                assert with_line(content, 500, 9)[:2] == struct.pack(">H", len(rows) + 1)
                assert with_line(content, 500, 9)[-4:] == struct.pack(">HH", 500, 9)
            tables.add(attribute.name)
        if name == "typed":
            assert {"RuntimeVisibleTypeAnnotations", "LineNumberTable", "LocalVariableTypeTable"} <= tables


def test_type_annotations_name_the_instruction_itself(class_file: ClassFile) -> None:
    code = code_of(class_file, "typed")
    (attribute,) = [a for a in code.attributes if a.name == "RuntimeVisibleTypeAnnotations"]
    bytecode = scan(code.code)
    moved = relocate(bytecode, {}, dict.fromkeys(bytecode.starts, b"\0\0"))
    content = relocated(attribute.name, attribute.content, moved)
    opcodes = {0x43: op.INSTANCEOF, 0x44: op.NEW, 0x45: op.INVOKEDYNAMIC, 0x47: op.CHECKCAST}
    results = {}
    for at in range(2, len(content) - 2):
        target = content[at]
        if target in opcodes and content[at] == attribute.content[at] and content[at + 1 : at + 3] != b"\0\0":
            (where,) = struct.unpack_from(">H", content, at + 1)
            if where < len(moved.code) and moved.code[where] == opcodes[target]:
                results[target] = where
    assert set(results) == set(opcodes)
    for length in range(1, len(attribute.content)):
        with pytest.raises(ClassFileError):
            relocated(attribute.name, attribute.content[:length], moved)


def test_where_this_is_initialized() -> None:
    """Code as Groovy emits it: it chooses one of two super calls, and creates another object of the superclass in
    between.
    """
    builder = ClassBuilder("Chooser", super_name="java/lang/Exception")
    code = builder.method(ACC_PUBLIC, "<init>", "(I)V")
    other, end = Label(), Label()
    code.local(op.ALOAD, 0)
    code.load("I", 1)
    code.branch(op.IFEQ, other)
    code.invoke(op.INVOKESPECIAL, "java/lang/Exception", "<init>", "()V")
    code.branch(op.GOTO, end)
    code.place(other)
    code.type(op.NEW, "java/lang/Exception")
    code.op(op.DUP)
    code.invoke(op.INVOKESPECIAL, "java/lang/Exception", "<init>", "()V")
    code.invoke(op.INVOKESPECIAL, "java/lang/Exception", "<init>", "(Ljava/lang/Throwable;)V")
    code.place(end)
    code.op(op.RETURN)
    file = ClassFile.parse(builder.to_bytes())
    results = file.methods[0].code
    assert results is not None
    result = Initialization(results, scan(results.code), file.pool)
    assert result.calls == {8: 0, 21: 0}
    assert result.ranges == ((8, 11), (21, 22))
    assert result.uninitialized_returns == ()


def test_a_return_that_super_was_not_called_before_is_found() -> None:
    builder = ClassBuilder("Early")
    code = builder.method(ACC_PUBLIC, "<init>", "(I)V", tracking=Tracking.OFF)
    code.limits(1, 2)
    late = Label()
    code.load("I", 1)
    code.branch(op.IFEQ, late)
    code.local(op.ALOAD, 0)
    code.invoke(op.INVOKESPECIAL, "java/lang/Object", "<init>", "()V")
    code.place(late)
    code.op(op.RETURN)
    file = ClassFile.parse(builder.to_bytes())
    result = file.methods[0].code
    assert result is not None
    assert Initialization(result, scan(result.code), file.pool).uninitialized_returns == (8,)


def test_disassembly() -> None:
    builder = ClassBuilder("Shown")
    code = builder.method(ACC_PUBLIC | ACC_STATIC, "shown", "(I)J")
    zero, handler = Label(), Label()
    code.line(10)
    with code.protected(handler, "java/lang/RuntimeException"):
        code.load("I", 0)
        code.branch(op.IFEQ, zero)
        code.constant("S", "text")
        code.invoke(op.INVOKEVIRTUAL, "java/lang/String", "length", "()I")
        code.op(op.POP)
    code.line(11)
    code.place(zero)
    code.constant("J", 7)
    code.op(op.LRETURN)
    code.place(handler)
    code.op(op.POP)
    code.constant("J", 1)
    code.op(op.LRETURN)
    file = ClassFile.parse(builder.to_bytes())
    assert disassemble(file, file.methods[0]).splitlines() == [
        "shown(I)J  stack=2 locals=1",
        "       0: iload_0                                            // line 10",
        "       1: ifeq 10",
        "       4: ldc 'text'",
        "       6: invokevirtual java/lang/String.length ()I",
        "       9: pop",
        "      10: ldc2_w 7L                                          // line 11",
        "      13: lreturn",
        "      14: pop",
        "      15: lconst_1",
        "      16: lreturn",
        "  catch [0, 10) -> 14 java/lang/RuntimeException",
        "  frame 10: [int] []",
        "  frame 14: [int] [java/lang/RuntimeException]",
    ]


@pytest.mark.parametrize(("name", "annotated"), [("Annotated", True), ("Plain", False)])
def test_annotated_components(name: str, annotated: bool) -> None:
    classes = compiled([Path(__file__).parents[1] / "java" / "Recorded.java"], release=17)
    assert ClassFile.parse((classes / f"Recorded${name}.class").read_bytes()).has_annotated_components is annotated
