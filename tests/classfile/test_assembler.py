"""Classes from the assembler, verified and run by real JVMs."""

from __future__ import annotations

import random
import struct
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from btpy.classfile import opcodes as op
from btpy.classfile.assembler import ClassBuilder, CodeBuilder, Label, Tracking
from btpy.classfile.jvms import ACC_ABSTRACT, ACC_FINAL, ACC_PRIVATE, ACC_PUBLIC, ACC_STATIC, ACC_SUPER
from btpy.errors import ClassFileError
from tests.jdks import all_jdks, compiled, java

STATIC = ACC_PUBLIC | ACC_STATIC

# Calls every static method without parameters of the classes in its arguments and prints what it returns.
_RUNNER = """
import java.lang.reflect.*;
public class CallAll {
    public static void main(String[] names) throws Exception {
        for (String name : names) {
            Class<?> c = Class.forName(name);
            for (Method m : c.getDeclaredMethods()) {
                if (!Modifier.isStatic(m.getModifiers()) || m.getParameterCount() != 0) continue;
                String result;
                try {
                    result = String.valueOf(m.invoke(null));
                } catch (InvocationTargetException e) {
                    StackTraceElement top = e.getCause().getStackTrace()[0];
                    result = e.getCause() + " at line " + top.getLineNumber();
                }
                System.out.println(m.getName() + " = " + result);
            }
        }
    }
}
"""


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("runner") / "CallAll.java"
    source.write_text(_RUNNER)
    return compiled([source], release=8)


@pytest.fixture
def call_all(runner: Path, tmp_path: Path) -> Callable[..., dict[str, str]]:
    """Runs classes under the verifier: method name → returned text."""

    def run(*classes: tuple[str, bytes], jdk: int = 17) -> dict[str, str]:
        for name, data in classes:
            (tmp_path / f"{name}.class").write_bytes(data)
        names = [name for name, _ in classes]
        command = [str(java(jdk)), "-Xverify:all", "-Xmx256m", "-cp", f"{runner}:{tmp_path}", "CallAll", *names]
        result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert result.returncode == 0, result.stderr
        return dict(line.split(" = ", 1) for line in result.stdout.splitlines())

    return run


def _joined_references(code: CodeBuilder) -> None:
    """String and Class are joined to Object, null joins any type, and the value below them on the stack remains."""
    other, end = Label(), Label()
    code.constant("I", 40)
    code.constant("I", 1)
    code.branch(op.IFEQ, other)
    code.constant("S", "text")
    code.branch(op.GOTO, end)
    code.place(other)
    code.constant("C", "java/lang/Integer")
    code.place(end)
    code.invoke(op.INVOKEVIRTUAL, "java/lang/Object", "toString", "()Ljava/lang/String;")
    code.invoke(op.INVOKEVIRTUAL, "java/lang/String", "length", "()I")
    code.op(op.IADD)
    code.return_()


def _null_and_string(code: CodeBuilder) -> None:
    """null and String are joined to String, so no cast is needed."""
    other, end = Label(), Label()
    code.op(op.ACONST_NULL)
    code.store("A", 0)
    code.constant("I", 0)
    code.branch(op.IFNE, other)
    code.constant("S", "eleven char")
    code.store("A", 0)
    code.place(other)
    code.load("A", 0)
    code.invoke(op.INVOKEVIRTUAL, "java/lang/String", "length", "()I")
    code.branch(op.GOTO, end)
    code.place(end)
    code.constant("I", 3)
    code.return_()


def _unequal_locals(code: CodeBuilder) -> None:
    """A local variable that is an int on one path and a long on the other path becomes unusable; the variables beside
    it stay.
    """
    other, end = Label(), Label()
    code.constant("J", 5)
    code.store("J", 0)
    code.constant("I", 1)
    code.branch(op.IFEQ, other)
    code.constant("J", 7)
    code.store("J", 2)
    code.branch(op.GOTO, end)
    code.place(other)
    code.constant("I", 7)
    code.store("I", 2)
    code.constant("I", 8)
    code.store("I", 3)
    code.place(end)
    code.load("J", 0)
    code.op(op.L2I)
    code.return_()


def _half_of_a_long(code: CodeBuilder) -> None:
    """Storing into the second slot of a long makes the long unusable, which the frame must say."""
    end = Label()
    code.constant("J", 5)
    code.store("J", 0)
    code.constant("I", 13)
    code.store("I", 1)
    code.load("I", 1)
    code.branch(op.IFEQ, end)
    code.place(end)
    code.load("I", 1)
    code.return_()


def _handler_locals(code: CodeBuilder) -> None:
    """At the handler the type of local 0 is known. The type of local 1 is unknown, because the range stores into it."""
    caught = Label()
    code.constant("I", 17)
    code.store("I", 0)
    with code.protected(caught, "java/lang/ArithmeticException"):
        code.constant("S", "inside")
        code.store("A", 1)
        code.constant("I", 1)
        code.constant("I", 0)
        code.op(op.IDIV)
        code.return_()
    code.place(caught)
    code.op(op.POP)
    code.load("I", 0)
    code.return_()


def _nested_handlers(code: CodeBuilder) -> None:
    """The inner handler comes first; its exceptions go to the outer handler."""
    inner, outer = Label(), Label()
    code.constant("I", 0)
    code.store("I", 0)
    with code.protected(outer):
        with code.protected(inner, "java/lang/ArithmeticException"):
            code.constant("I", 1)
            code.load("I", 0)
            code.op(op.IREM)
            code.return_()
        code.place(inner)
        code.op(op.POP)
        code.iinc(0, 19)
        code.op(op.ACONST_NULL)
        code.op(op.ATHROW)
    code.place(outer)
    code.op(op.POP)
    code.load("I", 0)
    code.return_()


def _handler_that_covers_itself(code: CodeBuilder) -> None:
    """The handler's own first instructions are in its range, as in the code that javac emits for monitors."""
    caught, retry = Label(), Label()
    code.constant("I", 0)
    code.store("I", 0)
    with code.protected(retry):
        code.op(op.ACONST_NULL)
        code.op(op.ATHROW)
        code.place(retry)
        code.op(op.POP)
        code.iinc(0, 1)
        code.load("I", 0)
        code.constant("I", 5)
        code.branch(op.IF_ICMPGE, caught)
        code.op(op.ACONST_NULL)
        code.op(op.ATHROW)
    code.place(caught)
    code.load("I", 0)
    code.return_()


def _loop(code: CodeBuilder) -> None:
    """Sums 1 … 10 with a jump back to offset 0 of the loop, with a value on the stack."""
    head, end = Label(), Label()
    code.constant("I", 0)
    code.store("I", 0)
    code.constant("I", 0)
    code.place(head)
    code.load("I", 0)
    code.constant("I", 10)
    code.branch(op.IF_ICMPGE, end)
    code.iinc(0, 1)
    code.load("I", 0)
    code.op(op.IADD)
    code.branch(op.GOTO, head)
    code.place(end)
    code.return_()


def _switch(keys: dict[int, int], value: int) -> Callable[[CodeBuilder], None]:
    def write(code: CodeBuilder) -> None:
        labels = {key: Label() for key in keys}
        default = Label()
        code.constant("I", value)
        code.switch(labels, default)
        for key, label in labels.items():
            code.place(label)
            code.constant("I", keys[key])
            code.return_()
        code.place(default)
        code.constant("I", -1)
        code.return_()

    return write


def _padding(code: CodeBuilder, bytes_: int) -> None:
    for _ in range(bytes_):
        code.op(op.NOP)


def _long_branches(code: CodeBuilder) -> None:
    """Conditional and unconditional branches over 40 000 bytes, forwards and back, while the operand stack holds a
    value.
    """
    far, back, end = Label(), Label(), Label()
    code.constant("I", 0)
    code.store("I", 0)
    code.constant("I", 23)
    code.place(back)
    code.iinc(0, 1)
    code.load("I", 0)
    code.constant("I", 3)
    code.branch(op.IF_ICMPEQ, far)
    _padding(code, 20_000)
    code.load("I", 0)
    code.constant("I", 1)
    code.branch(op.IF_ICMPNE, end)
    _padding(code, 20_000)
    code.branch(op.GOTO, back)
    code.place(end)
    code.op(op.POP)
    code.constant("I", 29)
    code.load("I", 0)
    code.branch(op.IFGT, back)
    code.place(far)
    code.return_()


def _far_null_check(code: CodeBuilder) -> None:
    end = Label()
    code.op(op.ACONST_NULL)
    code.branch(op.IFNULL, end)
    _padding(code, 33_000)
    code.constant("I", 0)
    code.return_()
    code.place(end)
    code.constant("I", 29)
    code.return_()


def _wide_locals(code: CodeBuilder) -> None:
    code.constant("J", 1 << 40)
    code.store("J", 700)
    code.constant("I", 30_000)
    code.store("I", 300)
    code.iinc(300, 1_000)
    code.load("J", 700)
    code.constant("I", 40)
    code.op(op.LSHR)
    code.op(op.L2I)
    code.load("I", 300)
    code.op(op.IADD)
    code.return_()


def _many_constants(code: CodeBuilder) -> None:
    """Beyond index 255 of the pool `ldc_w` is needed."""
    code.constant("I", 0)
    for number in range(400):
        code.constant("I", 100_000 + number)
        code.op(op.IADD)
    code.return_()


def _construction(code: CodeBuilder) -> None:
    """A branch between `new` and `<init>`: the frame names the `new` instruction."""
    other, end = Label(), Label()
    code.type(op.NEW, "java/lang/StringBuilder")
    code.op(op.DUP)
    code.constant("I", 1)
    code.branch(op.IFEQ, other)
    code.constant("S", "yes")
    code.branch(op.GOTO, end)
    code.place(other)
    code.constant("S", "no")
    code.place(end)
    code.invoke(op.INVOKESPECIAL, "java/lang/StringBuilder", "<init>", "(Ljava/lang/String;)V")
    code.invoke(op.INVOKEVIRTUAL, "java/lang/StringBuilder", "length", "()I")
    code.return_()


def _construction_in_a_local(code: CodeBuilder) -> None:
    """The object under construction is also in a local variable. After `<init>` has returned, the variable has its
    type.
    """
    code.type(op.NEW, "java/lang/StringBuilder")
    code.store("A", 0)
    code.load("A", 0)
    code.constant("S", "in a local")
    code.invoke(op.INVOKESPECIAL, "java/lang/StringBuilder", "<init>", "(Ljava/lang/String;)V")
    code.load("A", 0)
    code.invoke(op.INVOKEVIRTUAL, "java/lang/StringBuilder", "length", "()I")
    code.return_()


def _interface_call(code: CodeBuilder) -> None:
    code.constant("S", "characters")
    code.invoke(op.INVOKEINTERFACE, "java/lang/CharSequence", "length", "()I")
    code.return_()


def _arrays(code: CodeBuilder) -> None:
    code.constant("I", 2)
    code.type(op.ANEWARRAY, "[J")
    code.op(op.DUP)
    code.constant("I", 1)
    code.constant("I", 3)
    code.newarray(11)
    code.op(op.AASTORE)
    code.constant("I", 1)
    code.op(op.AALOAD)
    code.op(op.ARRAYLENGTH)
    code.return_()


def _stack_shuffles(code: CodeBuilder) -> None:
    """((3L dup2_x1 over 4) …) = 3 + 4 + 3."""
    code.constant("I", 4)
    code.constant("J", 3)
    code.op(op.DUP2_X1)  # 3L 4 3L
    code.op(op.L2I)
    code.op(op.IADD)  # 3L 7
    code.op(op.DUP_X2)  # 7 3L 7
    code.op(op.POP)
    code.op(op.L2I)
    code.op(op.SWAP)
    code.op(op.ISUB)  # 3 - 7
    code.return_()


def _line_numbers(code: CodeBuilder) -> None:
    code.line(4711)
    code.op(op.NOP)
    code.line(4712)
    code.constant("I", 1)
    code.constant("I", 0)
    code.op(op.IDIV)
    code.return_()


def _unreached_label(code: CodeBuilder) -> None:
    """A label without a jump to it, behind code that never falls through, adds nothing."""
    code.constant("I", 31)
    code.return_()
    code.place(Label())


SHAPES: dict[str, tuple[Callable[[CodeBuilder], None], str]] = {
    "joinedReferences": (_joined_references, "44"),
    "nullAndString": (_null_and_string, "3"),
    "unequalLocals": (_unequal_locals, "5"),
    "halfOfALong": (_half_of_a_long, "13"),
    "handlerLocals": (_handler_locals, "17"),
    "nestedHandlers": (_nested_handlers, "19"),
    "handlerThatCoversItself": (_handler_that_covers_itself, "5"),
    "loop": (_loop, "55"),
    "table": (_switch({1: 10, 2: 20, 4: 40}, 4), "40"),
    "tableHole": (_switch({1: 10, 2: 20, 4: 40}, 3), "-1"),
    "lookup": (_switch({-(2**31): 1, 0: 2, 2**31 - 1: 3}, -(2**31)), "1"),
    "lookupNone": (_switch({}, 3), "-1"),
    "longBranches": (_long_branches, "29"),
    "farNullCheck": (_far_null_check, "29"),
    "wideLocals": (_wide_locals, "31001"),
    "manyConstants": (_many_constants, str(sum(range(100_000, 100_400)))),
    "construction": (_construction, "3"),
    "constructionInALocal": (_construction_in_a_local, "10"),
    "interfaceCall": (_interface_call, "10"),
    "arrays": (_arrays, "3"),
    "stackShuffles": (_stack_shuffles, "-4"),
    "lineNumbers": (_line_numbers, "java.lang.ArithmeticException: / by zero at line 4712"),
    "unreachedLabel": (_unreached_label, "31"),
}


def _shapes(major: int) -> bytes:
    builder = ClassBuilder("Shapes", major=major)
    for name, (write, _) in SHAPES.items():
        write(builder.method(STATIC, name, "()I"))
    return builder.to_bytes()


@all_jdks
def test_shapes_verify_and_run(call_all: Callable[..., dict[str, str]], jdk: int) -> None:
    results = call_all(("Shapes", _shapes(52)), jdk=jdk)
    assert results == {name: expected for name, (_, expected) in SHAPES.items()}


@pytest.mark.parametrize("major", [49, 50, 51, 61])
def test_versions(call_all: Callable[..., dict[str, str]], major: int) -> None:
    """Class files before version 50 have no StackMapTable; the old verifier infers the types."""
    data = _shapes(major)
    assert (b"StackMapTable" in data) == (major >= 50)
    assert call_all(("Shapes", data))["loop"] == "55"


def test_constants_keep_their_bits(call_all: Callable[..., dict[str, str]]) -> None:
    builder = ClassBuilder("Constants")
    doubles = [0.0, -0.0, 1.0, -1.0, 5e-324, 1.7976931348623157e308, float("inf"), float("-inf"), float("nan"), 0.1]
    longs = [0, 1, 2, -1, 2**63 - 1, -(2**63), 1 << 31]
    ints = [*range(-2, 7), 127, 128, -128, -129, 32_767, 32_768, -32_768, -32_769, 2**31 - 1, -(2**31)]
    for index, real in enumerate(doubles):
        code = builder.method(STATIC, f"d{index}", "()J")
        code.constant("D", real)
        code.invoke(op.INVOKESTATIC, "java/lang/Double", "doubleToRawLongBits", "(D)J")
        code.return_()
    for kind, numbers in (("J", longs), ("I", ints)):
        for index, number in enumerate(numbers):
            code = builder.method(STATIC, f"{kind}{index}", f"(){kind}")
            code.constant(kind, number)
            code.return_()
    code = builder.method(STATIC, "text", "()I")
    code.constant("S", "\0 \ud800 ü €\U0001f600")
    code.invoke(op.INVOKEVIRTUAL, "java/lang/String", "length", "()I")
    code.return_()
    code = builder.method(STATIC, "half", "()F")
    code.constant("F", 0.5)
    code.return_()
    results = call_all(("Constants", builder.to_bytes()))
    for index, real in enumerate(doubles):
        assert results[f"d{index}"] == str(struct.unpack(">q", struct.pack(">d", real))[0])
    assert [results[f"J{index}"] for index in range(len(longs))] == list(map(str, longs))
    assert [results[f"I{index}"] for index in range(len(ints))] == list(map(str, ints))
    assert results["text"] == "9"
    assert results["half"] == "0.5"


def test_constructors_and_fields(call_all: Callable[..., dict[str, str]]) -> None:
    """`this` is uninitialised across a branch before super(…), and a field may be set before that call (JVMS
    §4.10.1.9).
    """
    builder = ClassBuilder("Made")
    builder.field(ACC_PRIVATE, "value", "I")
    results = builder.method(ACC_PUBLIC, "<init>", "(I)V")
    other, end = Label(), Label()
    results.load("A", 0)
    results.load("I", 1)
    results.field(op.PUTFIELD, "Made", "value", "I")
    results.load("A", 0)
    results.load("I", 1)
    results.branch(op.IFEQ, other)
    results.branch(op.GOTO, end)
    results.place(other)
    results.op(op.NOP)
    results.place(end)
    results.invoke(op.INVOKESPECIAL, "java/lang/Object", "<init>", "()V")
    results.return_()
    code = builder.method(STATIC, "make", "()I")
    code.type(op.NEW, "Made")
    code.op(op.DUP)
    code.constant("I", 37)
    code.invoke(op.INVOKESPECIAL, "Made", "<init>", "(I)V")
    code.field(op.GETFIELD, "Made", "value", "I")
    code.return_()
    assert call_all(("Made", builder.to_bytes()))["make"] == "37"


def test_unfollowed_code_can_hold_subroutines(call_all: Callable[..., dict[str, str]]) -> None:
    builder = ClassBuilder("Subroutine", major=48)
    code = builder.method(STATIC, "twice", "()I", tracking=Tracking.OFF)
    subroutine = Label()
    code.constant("I", 1)
    code.store("I", 0)
    code.branch(op.JSR, subroutine)
    code.branch(op.JSR, subroutine)
    code.load("I", 0)
    code.op(op.IRETURN)
    code.place(subroutine)
    code.store("A", 1)
    code.load("I", 0)
    code.constant("I", 3)
    code.op(op.IMUL)
    code.store("I", 0)
    code.local(op.RET, 1)
    code.limits(2, 2)
    assert call_all(("Subroutine", builder.to_bytes()))["twice"] == "9"


def test_raw_members_and_attributes(call_all: Callable[..., dict[str, str]]) -> None:
    builder = ClassBuilder("Raw", access=ACC_PUBLIC | ACC_ABSTRACT | ACC_SUPER, interfaces=["java/io/Serializable"])
    builder.attribute("SourceFile", struct.pack(">H", builder.pool.utf8("Odd.source")))
    builder.field(STATIC | ACC_FINAL, "LIMIT", "I", [("ConstantValue", struct.pack(">H", builder.pool.integer(41)))])
    builder.raw_method(ACC_PUBLIC | ACC_ABSTRACT, "none", "()V")
    code = struct.pack(">HHI", 1, 0, 2) + bytes((op.ICONST_5, op.IRETURN)) + bytes(4)
    builder.raw_method(STATIC, "five", "()I", [("Code", code)])
    builder.method_attribute("Deprecated", b"")
    limit = builder.method(STATIC, "limit", "()I")
    limit.field(op.GETSTATIC, "Raw", "LIMIT", "I")
    limit.return_()
    assert call_all(("Raw", builder.to_bytes())) == {"five": "5", "limit": "41"}


def test_the_same_calls_give_the_same_bytes() -> None:
    assert _shapes(52) == _shapes(52)


def _method() -> CodeBuilder:
    return ClassBuilder("Refused").method(STATIC, "refused", "(IJ)I")


def _wrong_return(code: CodeBuilder) -> None:
    code.constant("J", 1)
    code.op(op.LRETURN)


def _empty_stack(code: CodeBuilder) -> None:
    code.op(op.IADD)


def _wrong_operand(code: CodeBuilder) -> None:
    code.load("J", 1)
    code.op(op.INEG)


def _wrong_local(code: CodeBuilder) -> None:
    code.load("A", 0)


def _unset_local(code: CodeBuilder) -> None:
    code.load("I", 9)


def _dead(code: CodeBuilder) -> None:
    code.load("I", 0)
    code.return_()
    code.op(op.NOP)


def _falls_off(code: CodeBuilder) -> None:
    code.op(op.NOP)
    code.to_bytes()


def _unplaced(code: CodeBuilder) -> None:
    code.branch(op.GOTO, Label())
    code.to_bytes()


def _twice(code: CodeBuilder) -> None:
    label = Label()
    code.place(label)
    code.place(label)


def _stacks_disagree(code: CodeBuilder) -> None:
    end = Label()
    code.load("I", 0)
    code.branch(op.IFEQ, end)
    code.load("I", 0)
    code.place(end)


def _stack_types_disagree(code: CodeBuilder) -> None:
    end = Label()
    code.constant("S", "reference")
    code.load("I", 0)
    code.branch(op.IFEQ, end)
    code.op(op.POP)
    code.load("I", 0)
    code.place(end)


def _back_jump_does_not_fit(code: CodeBuilder) -> None:
    head = Label()
    code.place(head)
    code.constant("J", 1)
    code.store("J", 0)
    code.branch(op.GOTO, head)


def _splits_a_long(code: CodeBuilder) -> None:
    code.load("J", 1)
    code.op(op.POP)


def _jsr(code: CodeBuilder) -> None:
    code.branch(op.JSR, Label())


def _init_of_an_object(code: CodeBuilder) -> None:
    code.constant("S", "made already")
    code.invoke(op.INVOKESPECIAL, "java/lang/String", "<init>", "()V")


def _too_long(code: CodeBuilder) -> None:
    _padding(code, 65_534)
    code.load("I", 0)
    code.return_()
    code.to_bytes()


def _too_many_locals(code: CodeBuilder) -> None:
    code.load("I", 0)
    code.store("I", 65_536)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (_wrong_return, "does not return the type of the descriptor"),
        (_empty_stack, "the operand stack is empty"),
        (_wrong_operand, "J is on the operand stack, I is needed"),
        (_wrong_local, "aload 0 finds I"),
        (_unset_local, "iload 9 finds top"),
        (_dead, "nothing reaches"),
        (_falls_off, "the end of the code can be reached"),
        (_unplaced, "never placed"),
        (_twice, "placed twice"),
        (_stacks_disagree, "stacks of 0 and 1 values meet"),
        (_stack_types_disagree, "stacks that do not agree"),
        (_back_jump_does_not_fit, "does not fit the frame"),
        (_splits_a_long, "would be split"),
        (_jsr, "the types after a jsr cannot be tracked"),
        (_init_of_an_object, "<init> is called on"),
        (_too_long, "65536 bytes of code"),
        (_too_many_locals, "at most 65536 local variables"),
    ],
)
def test_unverifiable_code_is_refused(write: Callable[[CodeBuilder], None], message: str) -> None:
    with pytest.raises(ClassFileError, match=message):
        write(_method())


@dataclass
class _RandomMethod:
    """Random structured code over int, long and String locals, and its return value, computed by a model."""

    seed: int
    ints: list[int] = field(default_factory=lambda: [1, 2, 3])
    longs: list[int] = field(default_factory=lambda: [4, 5])

    def write(self, code: CodeBuilder) -> int:
        chance = random.Random(self.seed)
        for slot, value in enumerate(self.ints):
            code.constant("I", value)
            code.store("I", slot)
        for index, value in enumerate(self.longs):
            code.constant("J", value)
            code.store("J", 3 + 2 * index)
        self._block(code, chance, 3, live=True)
        code.constant("J", 0)
        for slot in range(3):
            code.load("I", slot)
            code.op(op.I2L)
            code.op(op.LADD)
        for index in range(2):
            code.load("J", 3 + 2 * index)
            code.op(op.LXOR)
        code.return_()
        result = _i64(sum(self.ints))
        for value in self.longs:
            result ^= value
        return result

    def _block(self, code: CodeBuilder, chance: random.Random, depth: int, *, live: bool) -> None:
        """``live``: whether the program executes this block, so that the model must execute it, too."""
        for _ in range(chance.randint(1, 4)):
            choice = chance.choice(
                ["int", "long", "scratch", "if", "loop", "try", "switch"] if depth else ["int", "long"]
            )
            getattr(self, f"_{choice}")(code, chance, depth, live)

    def _int(self, code: CodeBuilder, chance: random.Random, depth: int, live: bool) -> None:
        to, left, right = (chance.randrange(3) for _ in range(3))
        opcode = chance.choice([op.IADD, op.ISUB, op.IMUL, op.IXOR])
        code.load("I", left)
        code.load("I", right)
        code.op(opcode)
        code.store("I", to)
        if live:
            self.ints[to] = _i32(_OPERATIONS[opcode](self.ints[left], self.ints[right]))

    def _long(self, code: CodeBuilder, chance: random.Random, depth: int, live: bool) -> None:
        to, left = chance.randrange(2), chance.randrange(2)
        right = chance.randrange(3)
        code.load("J", 3 + 2 * left)
        code.load("I", right)
        code.op(op.I2L)
        code.op(op.LADD)
        code.store("J", 3 + 2 * to)
        if live:
            self.longs[to] = _i64(self.longs[left] + self.ints[right])

    def _scratch(self, code: CodeBuilder, chance: random.Random, depth: int, live: bool) -> None:
        """A local variable that the model does not know, and whose type changes during the method."""
        slot = chance.randrange(7, 11)
        kind = chance.choice("IJDA")
        if kind == "A":
            code.constant("S", "scratch")
        else:
            code.constant(kind, 1)
        code.store(kind, slot)

    def _if(self, code: CodeBuilder, chance: random.Random, depth: int, live: bool) -> None:
        variable = chance.randrange(3)
        other, end = Label(), Label()
        code.load("I", variable)
        code.branch(op.IFLT, other)
        taken = self.ints[variable] >= 0
        self._block(code, chance, depth - 1, live=live and taken)
        if chance.random() < 0.5:
            code.branch(op.GOTO, end)
            code.place(other)
            self._block(code, chance, depth - 1, live=live and not taken)
            code.place(end)
        else:
            code.place(other)

    def _loop(self, code: CodeBuilder, chance: random.Random, depth: int, live: bool) -> None:
        """A loop of two rounds: the body is generated once, and the model executes it twice with the same choices."""
        counter = 20 + depth
        head, end = Label(), Label()
        code.constant("I", 2)
        code.store("I", counter)
        code.place(head)
        code.load("I", counter)
        code.branch(op.IFLE, end)
        state = chance.getstate()
        self._block(code, chance, 0, live=live)
        after = chance.getstate()
        chance.setstate(state)
        self._block(_Nowhere(), chance, 0, live=live)  # type: ignore[arg-type]
        chance.setstate(after)
        code.iinc(counter, -1)
        code.branch(op.GOTO, head)
        code.place(end)

    def _try(self, code: CodeBuilder, chance: random.Random, depth: int, live: bool) -> None:
        caught, end = Label(), Label()
        with code.protected(caught, chance.choice([None, "java/lang/ArithmeticException"])):
            self._block(code, chance, depth - 1, live=live)
            divisor = chance.randrange(3)
            code.constant("I", 7)
            code.load("I", divisor)
            code.op(op.IDIV)
            code.op(op.POP)
            throws = self.ints[divisor] == 0
        code.branch(op.GOTO, end)
        code.place(caught)
        code.op(op.POP)
        self._block(code, chance, depth - 1, live=live and throws)
        code.place(end)

    def _switch(self, code: CodeBuilder, chance: random.Random, depth: int, live: bool) -> None:
        variable = chance.randrange(3)
        keys = chance.sample(range(-2, 6), 3)
        labels = {key: Label() for key in keys}
        end = Label()
        code.load("I", variable)
        code.constant("I", 3)
        code.op(op.IAND)
        code.switch(labels, end)
        value = self.ints[variable] & 3
        for key, label in labels.items():
            code.place(label)
            self._block(code, chance, depth - 1, live=live and key == value)
            code.branch(op.GOTO, end)
        code.place(end)


class _Nowhere:
    """Accepts instructions and discards them."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None


_OPERATIONS: dict[int, Callable[[int, int], int]] = {
    op.IADD: lambda a, b: a + b,
    op.ISUB: lambda a, b: a - b,
    op.IMUL: lambda a, b: a * b,
    op.IXOR: lambda a, b: a ^ b,
}


def _i32(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def _i64(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def _random_methods(seeds: range) -> Iterator[tuple[str, bytes, dict[str, str]]]:
    for first in range(seeds.start, seeds.stop, 100):
        builder = ClassBuilder(f"Random{first}")
        expected = {}
        for seed in range(first, first + 100):
            name = f"m{seed}"
            expected[name] = str(_RandomMethod(seed).write(builder.method(STATIC, name, "()J")))
        yield f"Random{first}", builder.to_bytes(), expected


def test_random_programs_verify_and_agree_with_the_model(
    call_all: Callable[..., dict[str, str]],
) -> None:
    methods = list(_random_methods(range(600)))
    results = call_all(*((name, data) for name, data, _ in methods))
    expected = {name: value for _, _, values in methods for name, value in values.items()}
    assert results == expected
