"""Random methods with random advice: their results stay, and every entry has an exit, every call a return."""

from __future__ import annotations

import random
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from btpy.classfile import opcodes as op
from btpy.classfile.assembler import ClassBuilder, CodeBuilder, Label
from btpy.classfile.jvms import ACC_PUBLIC, ACC_STATIC
from btpy.classfile.reader import ClassFile
from btpy.plan.plan import ClassPlan, MethodPlan, Point, Woven
from btpy.weave.weaver import weave
from tests.jdks import compiled, java
from tests.weave import advice
from tests.weave.advice import Report, probe_of
from tests.weave.odd import main

JAVA = Path(__file__).parent / "java"
STATIC = ACC_PUBLIC | ACC_STATIC
ARGUMENTS = range(-2, 5)

# A statement: its kind, a number, and the statements inside it.
Statement = tuple[str, int, list]  # type: ignore[type-arg]

_SIMPLE = ("add", "call", "fails", "field", "static", "array", "wide array", "make", "cast", "long", "raise")
_NESTED = ("if", "loop", "try", "finally", "lock", "switch")


def _nested(inner: st.SearchStrategy[Statement]) -> st.SearchStrategy[Statement]:
    return st.tuples(st.sampled_from(_NESTED), st.integers(0, 4), st.lists(inner, max_size=4))


statements: st.SearchStrategy[Any] = st.recursive(
    st.tuples(st.sampled_from(_SIMPLE), st.integers(0, 4), st.just([])), _nested, max_leaves=12
)


class Body:
    """Writes statements: slot 0 is the argument, 1 an int, 2 a long, 4 an Odd."""

    def __init__(self, code: CodeBuilder) -> None:
        self._code = code
        self._next = 5
        self._line = 1

    def write(self, statement: Statement) -> None:
        kind, number, inner = statement
        code = self._code
        code.line(self._line)
        self._line += 1
        getattr(self, "_" + kind.replace(" ", "_"))(number, inner)

    def all(self, inner: list[Statement]) -> None:
        for block in inner:
            self.write(block)

    def _temporary(self, descriptor: str) -> int:
        slot = self._next
        self._next += 2 if descriptor == "J" else 1
        return slot

    def _accumulate(self) -> None:
        """Adds the int on the stack to slot 1."""
        self._code.load("I", 1)
        self._code.op(op.IADD)
        self._code.store("I", 1)

    def _add(self, number: int, inner: list[Statement]) -> None:
        self._code.constant("I", number)
        self._accumulate()

    def _call(self, number: int, inner: list[Statement]) -> None:
        self._code.load("I", 1)
        self._code.constant("J", number)
        self._code.load("L", 4)
        self._code.invoke(op.INVOKESTATIC, "Odd", "helper", "(IJLOdd;)I")
        self._accumulate()

    def _fails(self, number: int, inner: list[Statement]) -> None:
        """Fails when the argument is the number."""
        self._code.load("I", 0)
        self._code.constant("I", number)
        self._code.op(op.ISUB)
        self._code.invoke(op.INVOKESTATIC, "Odd", "fails", "(I)I")
        self._accumulate()

    def _field(self, number: int, inner: list[Statement]) -> None:
        code = self._code
        code.load("L", 4)
        code.load("L", 4)
        code.field(op.GETFIELD, "Odd", "wide", "J")
        code.constant("J", number)
        code.op(op.LADD)
        code.field(op.PUTFIELD, "Odd", "wide", "J")

    def _static(self, number: int, inner: list[Statement]) -> None:
        self._code.load("I", 1)
        self._code.field(op.PUTSTATIC, "Odd", "count", "I")
        self._code.field(op.GETSTATIC, "Odd", "count", "I")
        self._accumulate()

    def _array(self, number: int, inner: list[Statement]) -> None:
        code = self._code
        code.constant("I", 3)
        code.newarray(8)  # byte
        code.op(op.DUP)
        code.constant("I", number)  # 3 and 4 are out of bounds
        code.load("I", 1)
        code.op(op.BASTORE)
        code.constant("I", number)
        code.op(op.BALOAD)
        self._accumulate()

    def _wide_array(self, number: int, inner: list[Statement]) -> None:
        code = self._code
        code.constant("I", number)
        code.newarray(11)  # long
        code.op(op.DUP)
        code.constant("I", 0)  # out of bounds when the number is 0
        code.load("J", 2)
        code.op(op.LASTORE)
        code.constant("I", 0)
        code.op(op.LALOAD)
        code.store("J", 2)

    def _make(self, number: int, inner: list[Statement]) -> None:
        """new Odd(n, argument > 0 ? new Odd(…) : null): paths meet between a new and its constructor."""
        code = self._code
        none, end = Label(), Label()
        code.type(op.NEW, "Odd")
        code.op(op.DUP)
        code.constant("I", number)
        code.load("I", 0)
        code.branch(op.IFLE, none)
        code.type(op.NEW, "Odd")
        code.op(op.DUP)
        code.load("I", 0)
        code.op(op.ACONST_NULL)
        code.invoke(op.INVOKESPECIAL, "Odd", "<init>", "(ILOdd;)V")
        code.branch(op.GOTO, end)
        code.place(none)
        code.load("L", 4)
        code.place(end)
        code.invoke(op.INVOKESPECIAL, "Odd", "<init>", "(ILOdd;)V")
        code.store("L", 4)

    def _cast(self, number: int, inner: list[Statement]) -> None:
        """Fails when the number is 0: an Odd is not a String."""
        code = self._code
        code.load("L", 4)
        code.op(op.DUP)
        code.type(op.INSTANCEOF, "java/lang/Comparable")
        self._accumulate()
        code.type(op.CHECKCAST, "java/lang/String" if number == 0 else "java/lang/Object")
        code.op(op.POP)

    def _long(self, number: int, inner: list[Statement]) -> None:
        code = self._code
        code.load("J", 2)
        code.constant("J", number)
        code.op(op.LADD)
        code.op(op.DUP2)
        code.store("J", 2)
        code.op(op.L2I)
        self._accumulate()

    def _raise(self, number: int, inner: list[Statement]) -> None:
        code = self._code
        past = Label()
        code.load("I", 0)
        code.constant("I", number)
        code.branch(op.IF_ICMPNE, past)
        code.type(op.NEW, "java/lang/IllegalStateException")
        code.op(op.DUP)
        code.invoke(op.INVOKESPECIAL, "java/lang/IllegalStateException", "<init>", "()V")
        code.op(op.ATHROW)
        code.place(past)

    def _if(self, number: int, inner: list[Statement]) -> None:
        code = self._code
        past = Label()
        code.load("I", 0)
        code.constant("I", number)
        code.branch(op.IF_ICMPLT, past)
        self.all(inner)
        code.place(past)

    def _loop(self, number: int, inner: list[Statement]) -> None:
        code = self._code
        counter = self._temporary("I")
        loop, end = Label(), Label()
        code.constant("I", number)
        code.store("I", counter)
        code.place(loop)
        code.load("I", counter)
        code.branch(op.IFLE, end)
        code.iinc(counter, -1)
        self.all(inner)
        code.branch(op.GOTO, loop)
        code.place(end)

    def _try(self, number: int, inner: list[Statement]) -> None:
        code = self._code
        handler, end = Label(), Label()
        with code.protected(handler, "java/lang/RuntimeException"):
            code.op(op.NOP)
            self.all(inner)
        code.branch(op.GOTO, end)
        code.place(handler)
        code.op(op.POP)
        code.constant("I", 100 + number)
        self._accumulate()
        code.place(end)

    def _finally(self, number: int, inner: list[Statement]) -> None:
        code = self._code
        handler, end = Label(), Label()
        failure = self._temporary("L")
        with code.protected(handler):
            code.op(op.NOP)
            self.all(inner)
        code.branch(op.GOTO, end)
        code.place(handler)
        code.store("L", failure)
        self._call(number, [])
        code.load("L", failure)
        code.op(op.ATHROW)
        code.place(end)

    def _lock(self, number: int, inner: list[Statement]) -> None:
        code = self._code
        handler, end = Label(), Label()
        lock = self._temporary("L")
        code.load("L", 4)
        code.op(op.DUP)
        code.store("L", lock)
        code.op(op.MONITORENTER)
        with code.protected(handler):
            self.all(inner)
            code.load("L", lock)
            code.op(op.MONITOREXIT)
        code.branch(op.GOTO, end)
        code.place(handler)
        code.load("L", lock)
        code.op(op.MONITOREXIT)
        code.op(op.ATHROW)
        code.place(end)

    def _switch(self, number: int, inner: list[Statement]) -> None:
        code = self._code
        cases = {key: Label() for key in range(min(len(inner), 3))}
        default, end = Label(), Label()
        code.load("I", 0)
        code.switch(cases, default)
        for key, label in cases.items():
            code.place(label)
            self.write(inner[key])
            code.branch(op.GOTO, end)
        code.place(default)
        self._add(number, [])
        code.place(end)


def program(methods: list[list[Statement]]) -> ClassBuilder:
    builder = ClassBuilder("Odd", major=52, super_name="java/lang/Object")
    builder.field(ACC_PUBLIC, "wide", "J")
    builder.field(STATIC, "count", "I")
    code = builder.method(ACC_PUBLIC, "<init>", "(ILOdd;)V")
    code.load("L", 0)
    code.invoke(op.INVOKESPECIAL, "java/lang/Object", "<init>", "()V")
    code.load("L", 0)
    code.load("I", 1)
    code.op(op.I2L)
    code.field(op.PUTFIELD, "Odd", "wide", "J")
    code.op(op.RETURN)
    code = builder.method(STATIC, "helper", "(IJLOdd;)I")
    code.load("I", 0)
    code.load("J", 1)
    code.op(op.L2I)
    code.op(op.IADD)
    code.load("L", 3)
    code.field(op.GETFIELD, "Odd", "wide", "J")
    code.op(op.L2I)
    code.op(op.IADD)
    code.op(op.IRETURN)
    code = builder.method(STATIC, "fails", "(I)I")
    code.constant("I", 60)
    code.load("I", 0)
    code.op(op.IDIV)
    code.op(op.IRETURN)
    for number, body in enumerate(methods):
        code = builder.method(STATIC, f"body{number}", "(I)I")
        code.constant("I", 0)
        code.store("I", 1)
        code.constant("J", 7)
        code.store("J", 2)
        code.type(op.NEW, "Odd")
        code.op(op.DUP)
        code.constant("I", 5)
        code.op(op.ACONST_NULL)
        code.invoke(op.INVOKESPECIAL, "Odd", "<init>", "(ILOdd;)V")
        code.store("L", 4)
        Body(code).all(body)
        code.load("I", 1)
        code.op(op.IRETURN)
        code = builder.method(STATIC, f"safe{number}", "(I)I")
        handler = Label()
        with code.protected(handler, "java/lang/RuntimeException"):
            code.load("I", 0)
            code.invoke(op.INVOKESTATIC, "Odd", f"body{number}", "(I)I")
            code.op(op.IRETURN)
        code.place(handler)
        code.op(op.POP)
        code.constant("I", 1_000_003)
        code.op(op.IRETURN)

    def print_sum(code: CodeBuilder) -> None:
        code.constant("I", 0)
        for number in range(len(methods)):
            for argument in ARGUMENTS:
                code.constant("I", 31)
                code.op(op.IMUL)
                code.constant("I", argument)
                code.invoke(op.INVOKESTATIC, "Odd", f"safe{number}", "(I)I")
                code.op(op.IADD)

    main(builder, print_sum)
    return builder


def run(directory: Path, data: bytes, recorder: Path, major: int) -> subprocess.CompletedProcess[str]:
    (directory / "Odd.class").write_bytes(data)
    flags = ["-Xmx256m", "-XX:+UseSerialGC", "-Xverify:all", "-cp", f"{directory}:{recorder}"]
    result = subprocess.run([str(java(major)), *flags, "Odd"], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stdout + result.stderr
    return result


def woven(data: bytes, plan: ClassPlan) -> Woven:
    methods = tuple(method for method in plan.methods if method.name != "main")
    result = weave(data, ClassPlan(plan.class_name, methods), 0)
    assert result.refusals == ()
    assert result.data is not None
    return result


def some(plan: ClassPlan, share: float, generator: random.Random) -> ClassPlan:
    """A random part of the advice, in the same order."""

    def part(method: MethodPlan) -> MethodPlan:
        return advice.with_advice(method, *(block for block in method.advice if generator.random() < share))

    return replace(plan, methods=tuple(map(part, plan.methods)))


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    phases=(Phase.generate,),  # no shrinking, because each example starts three JVMs
)
@given(
    methods=st.lists(st.lists(statements, min_size=1, max_size=5), min_size=6, max_size=6),
    seed=st.integers(0, 1_000_000),
    share=st.sampled_from((0.1, 0.5)),
    major=st.sampled_from((11, 17, 21, 25)),
)
def test_random_methods_keep_their_results(methods: list[list[Statement]], seed: int, share: float, major: int) -> None:
    recorder = compiled([JAVA / "Recorder.java"])
    data = program(methods).to_bytes()
    file = ClassFile.parse(data)
    everything = advice.joined(advice.everything(file), advice.inside(file))
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        before = run(directory, data, recorder, major)
        full = woven(data, everything)
        assert full.data is not None
        after = run(directory, full.data, recorder, major)
        assert after.stdout == before.stdout
        check(Report.read(full.sites, after.stderr))
        part = woven(data, some(advice.joined(everything, advice.lines_everywhere(file)), share, random.Random(seed)))
        assert part.data is not None
        assert run(directory, part.data, recorder, major).stdout == before.stdout


def check(report: Report) -> None:
    """Properties that hold for every program."""
    for method in report.methods():

        def calls(probe: int, method: tuple[str, str, str] = method) -> int:
            return report.of(*method, probe).calls

        inside = {point: calls(probe_of(point)) for point in advice.INSIDE_POINTS}
        assert calls(advice.ENTRY) == calls(advice.RETURN) + calls(advice.THROW), method
        # advice cannot see exceptions of super(…), but in this test it throws none
        assert inside[Point.CALL_BEFORE] == inside[Point.CALL_RETURN] + inside[Point.CALL_THROW], method
        assert inside[Point.SYNC_ENTER_BEFORE] == inside[Point.SYNC_ENTER] == inside[Point.SYNC_EXIT], method
        assert inside[Point.SYNC_EXIT] == inside[Point.SYNC_EXIT_AFTER], method
    entered = sum(report.of(*method, advice.ENTRY).calls for method in report.methods() if method[1].startswith("body"))
    assert entered == len(ARGUMENTS) * 6
