"""Plans with all advice and operands at every method; the handlers are methods of ``java/Recorder.java``."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from btpy.classfile import descriptors, typeflow
from btpy.classfile.bytecode import scan
from btpy.classfile.operations import MethodOperations
from btpy.classfile.reader import ClassFile, Member
from btpy.lang.inputs import InputKind
from btpy.plan import locations
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

# Probe ids; each one is a kind of count of a site.
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


def points(file: ClassFile, *chosen_points: Point) -> ClassPlan:
    """A call without operands at the points of all methods with code: no value is kept from entry to exit."""
    probes = {Point.ENTRY: ENTRY, Point.RETURN: RETURN, Point.THROW: THROW}
    advice = tuple(_call(RECORDER, point, probes[point], "call") for point in chosen_points)
    methods = [method for method in file.methods if method.code is not None]
    return ClassPlan(file.name, tuple(MethodPlan(m.name, m.descriptor, advice) for m in methods))


def _call(recorder: str, point: Point, probe: int, name: str, *operands: Operand, takes: str | None = None) -> Advice:
    inputs = "".join(operand.descriptor for operand in operands) if takes is None else takes
    return Advice(point, probe, Handler(recorder, name, f"(I{inputs})V"), operands)


def _advice(method: Member, recorder: str) -> tuple[Advice, ...]:
    parameters, returns = descriptors.parse(method.descriptor)
    self_operand = Operand(OperandKind.SELF, 0, OBJECT)
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
        advice.append(_call(recorder, Point.RETURN, RETURN_SELF, "value", self_operand))
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
    self_operands = (Operand(OperandKind.SELF, 0, OBJECT),)
    return (depth, FrameLocal(SELF_LOCAL, Handler(recorder, "enterSelf", f"(I{OBJECT}){OBJECT}"), self_operands))


@dataclass(frozen=True)
class Count:
    calls: int
    sum: int
    depth: int


@dataclass(frozen=True)
class Report:
    """The output of ``Recorder.report``, by site."""

    sites: tuple[Site, ...]
    counts: Mapping[int, Count]

    @staticmethod
    def read(sites: Iterable[Site], text: str) -> Report:
        """Skips lines that do not belong to the report, such as warnings of the JVM."""
        rows = [line.split() for line in text.splitlines()]
        numbers = [list(map(int, row)) for row in rows if len(row) == 4 and all(word.isdigit() for word in row)]
        return Report(tuple(sites), {site: Count(*rest) for site, *rest in numbers})

    def of(self, class_name: str, method: str, descriptor: str, probe: int) -> Count:
        """The sum of the sites of one probe in one method."""
        results = [
            self.counts.get(site.id, Count(0, 0, 0))
            for site in self.sites
            if (site.class_name, site.method, site.descriptor, site.probe) == (class_name, method, descriptor, probe)
        ]
        return Count(sum(c.calls for c in results), sum(c.sum for c in results), sum(c.depth for c in results))

    def methods(self) -> list[tuple[str, str, str]]:
        return sorted({(site.class_name, site.method, site.descriptor) for site in self.sites})


INSIDE_POINTS = tuple(point for point in Point if point in locations.INSIDE)


def inside(
    file: ClassFile, recorder: str = RECORDER, points: Sequence[Point] = INSIDE_POINTS, *, thrifty: bool = False
) -> ClassPlan:
    """All advice with all operands at every place inside every method. Probe ids: :func:`probe_of`.

    ``thrifty``: only the first place of each point gets ``self`` and the arguments, because they are the same
    everywhere.
    """
    plans = []
    for method in file.methods:
        if method.code is not None:
            of = MethodOperations(file, method, method.code, scan(method.code.code))
            advice = tuple(_inside(file, method, of, recorder, points, thrifty))
            plans.append(MethodPlan(method.name, method.descriptor, advice))
    return ClassPlan(file.name, tuple(plans))


def probe_of(point: Point, operand: int = 0) -> int:
    """The probe id of a point without an operand (0), or with the ``operand``-th of :data:`VALUES`."""
    return 1000 * (1 + INSIDE_POINTS.index(point)) + operand


# The first probe id of each operand. An operand with an index uses the ids up to the next operand's.
VALUES = {
    InputKind.SELF: 1,
    InputKind.DURATION: 2,
    InputKind.TARGET: 3,
    InputKind.RETVAL: 4,
    InputKind.EXCEPTION: 5,
    InputKind.OLD_VALUE: 6,
    InputKind.NEW_VALUE: 7,
    InputKind.INDEX: 8,
    InputKind.LENGTH: 20,
    InputKind.TARGET_ARG: 300,
    InputKind.ARG: 600,
    InputKind.FRAME_VARIABLE: 900,
}

_KINDS = {
    InputKind.SELF: OperandKind.SELF,
    InputKind.DURATION: OperandKind.DURATION,
    InputKind.TARGET: OperandKind.TARGET,
    InputKind.RETVAL: OperandKind.RESULT,
    InputKind.EXCEPTION: OperandKind.EXCEPTION,
    InputKind.OLD_VALUE: OperandKind.OLD_VALUE,
    InputKind.NEW_VALUE: OperandKind.NEW_VALUE,
    InputKind.INDEX: OperandKind.INDEX,
    InputKind.LENGTH: OperandKind.LENGTH,
    InputKind.TARGET_ARG: OperandKind.TARGET_ARGUMENT,
    InputKind.ARG: OperandKind.ARGUMENT,
    InputKind.FRAME_VARIABLE: OperandKind.VARIABLE,
}

_CALLS = (Point.CALL_BEFORE, Point.CALL_RETURN, Point.CALL_THROW)
_RESULTS = (Point.CALL_RETURN, Point.FIELD_GET, Point.ARRAY_GET, Point.INSTANCEOF)
_EXCEPTIONS = (Point.CALL_THROW, Point.RAISE, Point.CATCH)
_TIMED = (Point.CALL_RETURN, Point.CALL_THROW, Point.SYNC_ENTER, Point.LINE)


def _inside(
    file: ClassFile, method: Member, of: MethodOperations, recorder: str, points: Sequence[Point], thrifty: bool
) -> Iterator[Advice]:
    selector = locations.Selector(None, lambda name: frozenset())
    for point in points:
        of_method = True
        places = list(locations.places(selector, point, of))
        monitor_place = locations.own_monitor(point, file, method)
        for place in [monitor_place, *places] if monitor_place is not None else places:
            if not place.obstacle:
                yield from _at(method, point, place, of, recorder, of_method)
                of_method = not thrifty


def _at(
    method: Member, point: Point, place: locations.Place, of: MethodOperations, recorder: str, of_method: bool
) -> Iterator[Advice]:
    """A call without operands, and a call for each value of the place. ``of_method``: also for the values that every
    place of the method has.
    """
    facts = (place.at, place.target_class, place.member)
    kinds = {kind for kind, _ in place.missing}
    yield Advice(point, probe_of(point), _handler(recorder, "call"), (), *facts)
    of_place = _offered(point, place, of)
    for kind, index, descriptor in chain(_of_method(method), of_place) if of_method else of_place:
        if kind not in kinds:
            number = index
            if kind is InputKind.FRAME_VARIABLE:
                number = 0
            handler = _handler(recorder, "duration" if kind is InputKind.DURATION else "value", descriptor)
            operand = _operand(_KINDS[kind], index, descriptor)
            yield Advice(point, probe_of(point, VALUES[kind] + number), handler, operand, *facts)


@functools.cache
def _handler(recorder: str, name: str, takes: str = "") -> Handler:
    return Handler(recorder, name, f"(I{takes})V")


@functools.cache
def _operand(kind: OperandKind, index: int, descriptor: str) -> tuple[Operand, ...]:
    return (Operand(kind, index, descriptor),)


def _of_method(method: Member) -> Iterator[tuple[InputKind, int, str]]:
    if not method.is_static:
        yield InputKind.SELF, 0, OBJECT
    for index, parameter in enumerate(descriptors.parse(method.descriptor)[0]):
        yield InputKind.ARG, index, descriptors.erase(parameter)


def _offered(point: Point, place: locations.Place, of: MethodOperations) -> Iterator[tuple[InputKind, int, str]]:
    """The values that a place has according to the docs: kind, index and descriptor."""
    shape = place.operation
    if point in _TIMED and place.at >= 0:
        yield InputKind.DURATION, 0, "J"
    if point in _EXCEPTIONS:
        yield InputKind.EXCEPTION, 0, OBJECT
    if point is Point.LINE:
        for variable in locations.live_variables(of, place.at)[0]:
            yield InputKind.FRAME_VARIABLE, variable.slot, variable.descriptor
    if shape is None:
        return
    if shape.target is not None:
        yield InputKind.TARGET, 0, OBJECT
    if point in _CALLS:
        for index, descriptor in enumerate(shape.argument_descriptors):
            yield InputKind.TARGET_ARG, index, descriptor
    if shape.value is not None:
        if point in _RESULTS:
            yield InputKind.RETVAL, 0, shape.value_descriptor
        if point is Point.FIELD_SET:
            yield InputKind.OLD_VALUE, 0, shape.value_descriptor
        if point in (Point.FIELD_SET, Point.ARRAY_SET):
            yield InputKind.NEW_VALUE, 0, shape.value_descriptor
    if point in (Point.ARRAY_GET, Point.ARRAY_SET):
        yield InputKind.INDEX, 0, "I"
    for index in range(shape.dimensions):
        yield InputKind.LENGTH, index, "I"


def lines_everywhere(file: ClassFile, recorder: str = RECORDER, step: int = 3) -> ClassPlan:
    """LINE advice at each ``step``-th instruction with all local variables: for classes without line numbers."""
    plans = []
    for method in file.methods:
        if method.code is not None:
            starts = scan(method.code.code).starts[::step]
            states = typeflow.states(file, method, scan(method.code.code), set(starts))
            advice = [entry for at in starts for entry in _line(at, states.get(at), recorder)]
            plans.append(MethodPlan(method.name, method.descriptor, tuple(advice)))
    return ClassPlan(file.name, tuple(plans))


def _line(at: int, state: typeflow.State | None, recorder: str) -> Iterator[Advice]:
    probe = probe_of(Point.LINE, VALUES[InputKind.FRAME_VARIABLE])
    duration = _operand(OperandKind.DURATION, 0, "J")
    yield Advice(Point.LINE, probe_of(Point.LINE), _handler(recorder, "duration", "J"), duration, at)
    for slot, value in enumerate(state.locals_ if state is not None else ()):
        descriptor = OBJECT if typeflow.is_reference(value) else value
        if isinstance(descriptor, str) and descriptor in ("I", "J", "F", "D", OBJECT):
            operand = _operand(OperandKind.VARIABLE, slot, descriptor)
            yield Advice(Point.LINE, probe, _handler(recorder, "value", descriptor), operand, at)


def with_advice(method: MethodPlan, *calls: Advice) -> MethodPlan:
    """The plan of a method with other advice."""
    return MethodPlan(method.name, method.descriptor, calls, method.locals)


def joined(*plans: ClassPlan) -> ClassPlan:
    """Merges the advice of all plans into one."""
    methods: dict[tuple[str, str], MethodPlan] = {}
    for plan in plans:
        for method in plan.methods:
            class_ = methods.get((method.name, method.descriptor))
            if class_ is not None:
                both = (*class_.advice, *method.advice)
                method = MethodPlan(method.name, method.descriptor, both, (*class_.locals, *method.locals))
            methods[method.name, method.descriptor] = method
    return ClassPlan(plans[0].class_name, tuple(methods.values()))
