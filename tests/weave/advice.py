"""Plans that ask for everything at every method, with the calls of ``java/Recorder.java`` as handlers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from btpy.classfile import descriptors
from btpy.classfile.reader import ClassFile, Member
from btpy.plan.plan import (
    OBJECT,
    Advice,
    ClassPlan,
    FrameLocal,
    Handler,
    MethodPlan,
    Operand,
    OperandKind,
    Point,
    Site,
)

RECORDER = "Recorder"

# Probe ids: what a site counts.
DEPTH, ENTRY, RETURN, RETURN_TIME, RESULT, RETURN_SELF, THROW, THROW_TIME, EXCEPTION, SELF_LOCAL = range(10)
ENTRY_ARGUMENT = 100
RETURN_ARGUMENT = 200
THROW_ARGUMENT = 300


def everything(file: ClassFile, recorder: str = RECORDER) -> ClassPlan:
    """All advice, operands and frame locals on all methods with code. ``recorder``: the class of the handlers."""
    methods = [method for method in file.methods if method.code is not None]
    return ClassPlan(
        file.name, tuple(MethodPlan(m.name, m.descriptor, _advice(m, recorder), _locals(m, recorder)) for m in methods)
    )


def points(file: ClassFile, *wanted: Point) -> ClassPlan:
    """A plain call at the points of all methods with code: nothing has to be kept from entry to exit."""
    probes = {Point.ENTRY: ENTRY, Point.RETURN: RETURN, Point.THROW: THROW}
    advice = tuple(_call(RECORDER, point, probes[point], "call") for point in wanted)
    methods = [method for method in file.methods if method.code is not None]
    return ClassPlan(file.name, tuple(MethodPlan(m.name, m.descriptor, advice) for m in methods))


def _call(recorder: str, point: Point, probe: int, name: str, *operands: Operand, takes: str | None = None) -> Advice:
    taken = "".join(operand.descriptor for operand in operands) if takes is None else takes
    return Advice(point, probe, Handler(recorder, name, f"(I{taken})V"), operands)


def _advice(method: Member, recorder: str) -> tuple[Advice, ...]:
    parameters, returns = descriptors.parse(method.descriptor)
    this = Operand(OperandKind.SELF, 0, OBJECT)
    duration = Operand(OperandKind.DURATION, 0, "J")
    advice = [
        _call(recorder, Point.ENTRY, ENTRY, "call"),
        _call(recorder, Point.RETURN, RETURN, "call"),
        _call(recorder, Point.THROW, THROW, "call"),
    ]
    advice.append(_call(recorder, Point.RETURN, RETURN_TIME, "duration", duration))
    advice.append(_call(recorder, Point.THROW, THROW_TIME, "duration", duration))
    advice.append(_call(recorder, Point.THROW, EXCEPTION, "value", Operand(OperandKind.EXCEPTION, 0, OBJECT)))
    if returns != "V":
        advice.append(
            _call(recorder, Point.RETURN, RESULT, "value", Operand(OperandKind.RESULT, 0, descriptors.erase(returns)))
        )
    if not method.is_static:
        advice.append(_call(recorder, Point.RETURN, RETURN_SELF, "value", this))
    for index, parameter in enumerate(parameters):
        operand = Operand(OperandKind.ARGUMENT, index, descriptors.erase(parameter))
        advice.append(_call(recorder, Point.ENTRY, ENTRY_ARGUMENT + index, "value", operand))
        advice.append(_call(recorder, Point.RETURN, RETURN_ARGUMENT + index, "value", operand))
        advice.append(_call(recorder, Point.THROW, THROW_ARGUMENT + index, "value", operand))
    return tuple(advice)


def _locals(method: Member, recorder: str) -> tuple[FrameLocal, ...]:
    depth = FrameLocal(DEPTH, Handler(recorder, "enter", "(I)I"), (), Handler(recorder, "leave", "(II)V"))
    if method.is_static:
        return (depth,)
    this = (Operand(OperandKind.SELF, 0, OBJECT),)
    return (depth, FrameLocal(SELF_LOCAL, Handler(recorder, "enterSelf", f"(I{OBJECT}){OBJECT}"), this))


@dataclass(frozen=True)
class Count:
    calls: int
    sum: int
    depth: int


@dataclass(frozen=True)
class Report:
    """What ``Recorder.report`` printed, by site."""

    sites: tuple[Site, ...]
    counts: Mapping[int, Count]

    @staticmethod
    def read(sites: Iterable[Site], text: str) -> Report:
        """Lines that are not of the report (warnings of the JVM) are passed over."""
        rows = [line.split() for line in text.splitlines()]
        numbers = [list(map(int, row)) for row in rows if len(row) == 4 and all(word.isdigit() for word in row)]
        return Report(tuple(sites), {site: Count(*rest) for site, *rest in numbers})

    def of(self, class_name: str, method: str, descriptor: str, probe: int) -> Count:
        """The sum of the sites of one probe in one method."""
        found = [
            self.counts.get(site.id, Count(0, 0, 0))
            for site in self.sites
            if (site.class_name, site.method, site.descriptor, site.probe) == (class_name, method, descriptor, probe)
        ]
        return Count(sum(c.calls for c in found), sum(c.sum for c in found), sum(c.depth for c in found))

    def methods(self) -> list[tuple[str, str, str]]:
        return sorted({(site.class_name, site.method, site.descriptor) for site in self.sites})
