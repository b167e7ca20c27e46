"""From planned methods to the plan of the weaver: every bound probe becomes handler classes and advice.

A probe at RETURN and THROW is bound twice but computes its entry values and its depth once: the two bindings share the
frame locals.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from btpy.codegen.handler import (
    ParameterOverflowError,
    compile_entry,
    compile_fire,
    depth_handlers,
    flow_handlers,
    sampling_handlers,
    self_time_handlers,
    span_handlers,
)
from btpy.codegen.handler_class import HandlerClass
from btpy.dataclass import dataclass
from btpy.lang.inputs import Input, InputKind
from btpy.lang.program import Program
from btpy.lang.typed_tree import BoundProbe
from btpy.plan.plan import (
    Advice,
    ClassPlan,
    FrameLocal,
    Handler,
    MethodPlan,
    Operand,
    OperandKind,
    Point,
    Refusal,
    RefusalReason,
)
from btpy.plan.planner import PlannedAdvice, PlannedClass, PlannedMethod

_OPERANDS = {
    InputKind.SELF: OperandKind.SELF,
    InputKind.ARG: OperandKind.ARGUMENT,
    InputKind.RETVAL: OperandKind.RESULT,
    InputKind.EXCEPTION: OperandKind.EXCEPTION,
    InputKind.DURATION: OperandKind.DURATION,
    InputKind.START: OperandKind.START,
    InputKind.TARGET: OperandKind.TARGET,
    InputKind.TARGET_ARG: OperandKind.TARGET_ARGUMENT,
    InputKind.OLD_VALUE: OperandKind.OLD_VALUE,
    InputKind.NEW_VALUE: OperandKind.NEW_VALUE,
    InputKind.INDEX: OperandKind.INDEX,
    InputKind.LENGTH: OperandKind.LENGTH,
}


@dataclass(frozen=True, slots=True)
class AdvisedClass:
    """``handlers``: every handler class that the plan calls; some may be defined already.
    ``refusals``: methods whose probe takes more values than a handler can have parameters."""

    plan: ClassPlan
    handlers: tuple[HandlerClass, ...]
    refusals: tuple[Refusal, ...] = ()

    @property
    def handler_names(self) -> Iterator[str]:
        return (handler.class_name for handler in self.handlers)


class _AtEnds(NamedTuple):
    """The advice for methods in which the same probes have the same bindings, and no probe is at an instruction.

    ``planned``: the plan of the first method. This reference keeps the bound probes alive, so no other object gets
    their id.
    """

    planned: tuple[PlannedAdvice, ...]
    advice: tuple[Advice, ...]
    locals_: tuple[FrameLocal, ...]
    handlers: dict[str, HandlerClass]


class HandlerFactory:
    """Compiles each bound probe of one program once. Equal bindings share the code. For example, a body that uses no
    values of its method has the same code at RETURN and at THROW, and in methods of all shapes.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._fire: dict[int, tuple[BoundProbe, HandlerClass]] = {}
        self._alike: dict[tuple[int, bool | None, tuple[Input, ...]], tuple[BoundProbe, HandlerClass]] = {}
        self._entries: dict[tuple[int, int], tuple[BoundProbe, HandlerClass]] = {}
        self._depth: dict[int, tuple[HandlerClass, HandlerClass]] = {}
        self._sampling: dict[int, tuple[HandlerClass, HandlerClass]] = {}
        self._self_times: dict[int, tuple[HandlerClass, HandlerClass]] = {}
        self._at_ends: dict[tuple[int, ...], _AtEnds] = {}

    def advise(self, planned: PlannedClass) -> AdvisedClass:
        """Raises ``CompileError`` when a probe is too large for a method of the JVM."""
        used: dict[str, HandlerClass] = {}
        methods: list[MethodPlan] = []
        refusals: list[Refusal] = []
        for method in planned.methods:
            try:
                methods.append(self._method(method, used))
            except ParameterOverflowError as error:
                class_name, label = planned.class_name.replace("/", "."), method.name + method.descriptor
                refusals.append(Refusal(RefusalReason.TOO_LARGE, class_name, label, str(error)))
        return AdvisedClass(ClassPlan(planned.class_name, tuple(methods)), tuple(used.values()), tuple(refusals))

    def fire(self, bound: BoundProbe) -> HandlerClass:
        # The planner has one object for each binding; the reference in the entry keeps its id valid.
        entry = self._fire.get(id(bound))
        if entry is None:
            entry = self._fire[id(bound)] = (bound, self._compiled(bound))
        return entry[1]

    def _compiled(self, bound: BoundProbe) -> HandlerClass:
        key = (bound.probe.id, None if bound.shape is None else bound.shape.in_jdk, bound.inputs)
        alike = self._alike.get(key)
        if alike is not None and _same_code(alike[0], bound):
            return alike[1]
        compiled = compile_fire(self._program, bound)
        self._alike[key] = (bound, compiled)
        return compiled

    def _around(self, probe: int, probe_input: Input) -> tuple[HandlerClass, HandlerClass | None] | None:
        """The handlers at entry and exit for an input that begins and ends with the method; None for other inputs."""
        match probe_input.kind:
            case InputKind.DEPTH:
                return self._depth_of(probe)
            case InputKind.SAMPLED:
                return self._sampling_of(probe)
            case InputKind.FLOW:
                return flow_handlers(probe, probe_input.index)
            case InputKind.SPAN:
                return span_handlers(probe, encloses=probe_input.index == 0)
            case InputKind.NESTED:
                return self._self_time_of(probe)
            case _:
                return None

    def _method(self, method: PlannedMethod, used: dict[str, HandlerClass]) -> MethodPlan:
        if any(planned.at is not None for planned in method.advice):
            return MethodPlan(method.name, method.descriptor, *self._advised(method.advice, used))
        key = tuple(id(planned.bound) for planned in method.advice)
        ends = self._at_ends.get(key)
        if ends is None:
            handlers: dict[str, HandlerClass] = {}
            advice, locals_ = self._advised(method.advice, handlers)
            ends = self._at_ends[key] = _AtEnds(method.advice, advice, locals_, handlers)
        used.update(ends.handlers)
        return MethodPlan(method.name, method.descriptor, ends.advice, ends.locals_)

    def _advised(
        self, placed: tuple[PlannedAdvice, ...], used: dict[str, HandlerClass]
    ) -> tuple[tuple[Advice, ...], tuple[FrameLocal, ...]]:
        locals_: list[FrameLocal] = []
        numbers: dict[tuple[int, InputKind, int], int] = {}

        def handler(compiled: HandlerClass) -> Handler:
            used.setdefault(compiled.class_name, compiled)
            return Handler(compiled.class_name.replace(".", "/"), "fire", compiled.descriptor)

        def frame_local(bound: BoundProbe, probe_input: Input) -> int:
            key = (bound.probe.id, probe_input.kind, probe_input.index)
            if key not in numbers:
                around = self._around(bound.probe.id, probe_input)
                if around is not None:
                    enter, leave = around
                    local = FrameLocal(bound.probe.id, handler(enter), (), None if leave is None else handler(leave))
                else:
                    entry = next(entry for entry in bound.entries if entry.index == probe_input.index)
                    operands = tuple(operand(bound, input_) for input_ in entry.inputs)
                    local = FrameLocal(bound.probe.id, handler(self._entry(bound, probe_input.index)), operands)
                numbers[key] = len(locals_)
                locals_.append(local)
            return numbers[key]

        def operand(bound: BoundProbe, probe_input: Input) -> Operand:
            if probe_input.kind is InputKind.EXCEPTION and bound.shape is not None and bound.shape.point is Point.ENTRY:
                return Operand(
                    OperandKind.ARGUMENT, 0, probe_input.descriptor
                )  # @OnUncaught: the parameters of the method
            kind = _OPERANDS.get(probe_input.kind)
            if kind is not None:
                return Operand(kind, probe_input.index, probe_input.descriptor)
            if probe_input.kind is InputKind.FRAME_VARIABLE:
                assert bound.shape is not None
                return Operand(
                    OperandKind.VARIABLE, bound.shape.variables[probe_input.index].slot, probe_input.descriptor
                )
            return Operand(OperandKind.LOCAL, frame_local(bound, probe_input), probe_input.descriptor)

        advice = tuple(
            Advice(
                bound.shape.point,
                bound.probe.id,
                handler(self.fire(bound)),
                tuple(operand(bound, probe_input) for probe_input in bound.inputs),
                planned.at,
                planned.target_class,
                planned.member,
            )
            for planned in placed
            for bound in (planned.bound,)
            if bound.shape is not None
        )
        return advice, tuple(locals_)

    def _entry(self, bound: BoundProbe, index: int) -> HandlerClass:
        key = (id(bound), index)
        if key not in self._entries:
            entry = next(entry for entry in bound.entries if entry.index == index)
            self._entries[key] = (bound, compile_entry(self._program, bound, entry))
        return self._entries[key][1]

    def _depth_of(self, probe: int) -> tuple[HandlerClass, HandlerClass]:
        if probe not in self._depth:
            self._depth[probe] = depth_handlers(probe)
        return self._depth[probe]

    def _self_time_of(self, probe: int) -> tuple[HandlerClass, HandlerClass]:
        if probe not in self._self_times:
            self._self_times[probe] = self_time_handlers(probe)
        return self._self_times[probe]

    def _sampling_of(self, probe: int) -> tuple[HandlerClass, HandlerClass]:
        if probe not in self._sampling:
            self._sampling[probe] = sampling_handlers(probe)
        return self._sampling[probe]


def _same_code(one: BoundProbe, other: BoundProbe) -> bool:
    """Whether two bindings of a probe with the same inputs have the same code."""
    return (
        one.thrown == other.thrown
        and one.predicate == other.predicate
        and one.body == other.body
        and one.locals_ == other.locals_
    )
