"""btpy for the weaving benchmark, as a separate program: ``PROCESSES CORPUS ROUNDS TASK``.

Tasks and output are those of ``java/weaving/WithAsm.java``. Several processes share the work, as in ``btpy weave``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from btpy import interpreter, parallel
from btpy.classfile import descriptors
from btpy.classfile.bytecode import scan
from btpy.classfile.jvms import ACC_ABSTRACT, ACC_NATIVE
from btpy.classfile.reader import ClassFile, Member
from btpy.plan.plan import Advice, ClassPlan, Handler, MethodPlan, Operand, OperandKind, Point
from btpy.weave.weaver import weave

_HANDLER = "btpy/runtime/Handler"
_DURATION = Operand(OperandKind.DURATION, 0, "J")

Found = tuple[int, int, int]
"""The number of methods, of sites or instructions, and of written bytes."""


def corpus(file: Path) -> list[bytes]:
    """The class files in ``file``, each with its length before it."""
    data = file.read_bytes()
    classes = []
    at = 0
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4])
        classes.append(data[at + 4 : end])
        at = end
    return classes


def members(data: bytes) -> Found:
    methods = names = 0
    for method in ClassFile.parse(data).methods:
        methods += not method.access_flags & (ACC_NATIVE | ACC_ABSTRACT)
        names += len(method.name) + len(method.descriptor)
    return methods, names, 0


def instructions(data: bytes) -> Found:
    methods = count = 0
    for method in ClassFile.parse(data).methods:
        code = method.code
        if code is not None:
            methods += 1
            count += len(scan(code.code).starts)
    return methods, count, 0


_FIRE = Handler(_HANDLER, "fire", "(I)V")
_CALLED = (Advice(Point.ENTRY, 1, _FIRE, ()), Advice(Point.RETURN, 2, _FIRE, ()))


def called(method: Member) -> tuple[Advice, ...]:
    """A handler is called at entry and before each return."""
    return _CALLED


def timed(method: Member) -> tuple[Advice, ...]:
    """The handler at entry gets the first argument, the handlers at returns get the duration and the result."""
    return _timed(descriptors.erase_all(method.descriptor))


@cache
def _timed(descriptor: str) -> tuple[Advice, ...]:
    parameters, returns = descriptors.parse(descriptor)
    arguments: tuple[Operand, ...] = ()
    if parameters:
        arguments = (Operand(OperandKind.ARGUMENT, 0, parameters[0]),)
    left: tuple[Operand, ...] = (_DURATION,)
    if returns != "V":
        left = (_DURATION, Operand(OperandKind.RESULT, 0, returns))
    return (_advice(Point.ENTRY, 1, arguments), _advice(Point.RETURN, 2, left))


def _advice(point: Point, probe: int, operands: tuple[Operand, ...]) -> Advice:
    descriptor = "".join(operand.descriptor for operand in operands)
    return Advice(point, probe, Handler(_HANDLER, "fire", f"(I{descriptor})V"), operands)


def woven(data: bytes, advice: Callable[[Member], tuple[Advice, ...]]) -> Found:
    file = ClassFile.parse(data)
    plans = [
        MethodPlan(method.name, method.descriptor, advice(method))
        for method in file.methods
        if not method.access_flags & (ACC_NATIVE | ACC_ABSTRACT)
    ]
    result = weave(file, ClassPlan(file.name, tuple(plans)), 1)
    return len(plans), len(result.sites), len(result.data or data)


_TASKS: dict[str, Callable[[bytes], Found]] = {
    "members": members,
    "instructions": instructions,
    "called": lambda data: woven(data, called),
    "timed": lambda data: woven(data, timed),
}


def main() -> None:
    processes, passes = int(sys.argv[1]), int(sys.argv[3])
    classes = corpus(Path(sys.argv[2]))
    task = _TASKS[sys.argv[4]]
    for _ in range(passes):
        start = time.perf_counter_ns()
        with interpreter.gc_paused():  # attaching and `btpy weave` pause it, too
            results = list(parallel.in_order(task, lambda: classes, processes=processes))
        spent = time.perf_counter_ns() - start
        print("round", spent, *map(sum, zip(*results, strict=True)), flush=True)


if __name__ == "__main__":
    main()
