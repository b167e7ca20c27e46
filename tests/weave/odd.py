"""A class built with btpy's assembler, run unwoven and woven."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from btpy.classfile import opcodes as op
from btpy.classfile.assembler import ClassBuilder, CodeBuilder, Tracking
from btpy.classfile.jvms import ACC_PUBLIC, ACC_STATIC
from btpy.classfile.reader import ClassFile
from btpy.plan.plan import ClassPlan
from btpy.weave.weaver import weave
from tests.jdks import compiled, java
from tests.weave import advice
from tests.weave.advice import Report

STATIC = ACC_PUBLIC | ACC_STATIC
PRINT_STREAM = "Ljava/io/PrintStream;"


@dataclass(frozen=True)
class Run:
    """``woven``: the woven class file."""

    output: str
    report: Report
    woven: bytes

    def counts(self, method: str, descriptor: str) -> tuple[int, int, int]:
        """Entries, returns and throws."""
        probes = (advice.ENTRY, advice.RETURN, advice.THROW)
        entries, returns, throws = (self.report.of("Odd", method, descriptor, probe).calls for probe in probes)
        return entries, returns, throws


def odd(*, major: int = 52, super_name: str = "java/lang/Object") -> ClassBuilder:
    return ClassBuilder("Odd", major=major, super_name=super_name)


def main(builder: ClassBuilder, body: Callable[[CodeBuilder], None]) -> None:
    """A main method: ``body`` pushes an ``int`` to be printed; then the recorder reports."""
    code = builder.method(STATIC, "main", "([Ljava/lang/String;)V", tracking=Tracking.OFF)
    code.limits(8, 4)
    code.field(op.GETSTATIC, "java/lang/System", "out", PRINT_STREAM)
    body(code)
    code.invoke(op.INVOKEVIRTUAL, "java/io/PrintStream", "println", "(I)V")
    code.field(op.GETSTATIC, "java/lang/System", "err", PRINT_STREAM)
    code.invoke(op.INVOKESTATIC, "Recorder", "report", f"({PRINT_STREAM})V")
    code.op(op.RETURN)


def sum_of(code: CodeBuilder, method: str, arguments: range) -> None:
    code.constant("I", 0)
    for argument in arguments:
        code.constant("I", argument)
        code.invoke(op.INVOKESTATIC, "Odd", method, "(I)I")
        code.op(op.IADD)


class Execute(Protocol):
    """Runs a class unwoven and woven, with all advice unless there is a plan. Both runs must print the same text."""

    def __call__(self, builder: ClassBuilder, plan: ClassPlan | None = None) -> Run: ...


def executing(directory: Path) -> Execute:
    recorder = compiled([Path(__file__).parent / "java" / "Recorder.java"])

    def java_main(data: bytes) -> subprocess.CompletedProcess[str]:
        (directory / "Odd.class").write_bytes(data)
        command = [
            str(java(17)),
            "-Xmx256m",
            "-XX:+UseSerialGC",
            "-Xverify:all",
            "-cp",
            f"{directory}:{recorder}",
            "Odd",
        ]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert result.returncode == 0, result.stdout + result.stderr
        return result

    def run(builder: ClassBuilder, plan: ClassPlan | None = None) -> Run:
        data = builder.to_bytes()
        result = weave(data, plan or everything_but_main(data), 0)
        assert result.refusals == ()
        assert result.data is not None
        before = java_main(data)
        after = java_main(result.data)
        assert after.stdout == before.stdout
        return Run(after.stdout, Report.read(result.sites, after.stderr), result.data)

    return run


def everything_but_main(data: bytes) -> ClassPlan:
    file = ClassFile.parse(data)
    plan = advice.joined(advice.everything(file), advice.inside(file))
    return ClassPlan(plan.class_name, tuple(method for method in plan.methods if method.name != "main"))
