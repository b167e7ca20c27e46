"""The limits on the methods and classes of a probe: ``max=`` of its location and ``--max-classes``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from btpy.engine.weave_state import WeaveState
from btpy.lang.program import Probe, Program
from btpy.model.attachments import MethodAttachment
from btpy.plan.plan import Refusal, RefusalReason
from btpy.plan.planner import PlannedClass, PlannedMethod


def within_limits(program: Program, weave_state: WeaveState, planned_class: PlannedClass) -> PlannedClass:
    """The plan without the probes that would exceed their limits."""
    passed = {
        id_: detail
        for id_, more in _methods(planned_class).items()
        if (detail := _passed(program, weave_state, id_, more))
    }
    return _without(planned_class, passed) if passed else planned_class


class MethodCount:
    """The number of methods that each probe is in, in the classes that are planned so far."""

    def __init__(self, program: Program, planned_classes: Iterable[PlannedClass]) -> None:
        self._program = program
        self._planned_classes = list(planned_classes)
        self._methods = sum(len(planned_class.methods) for planned_class in self._planned_classes)
        attachments = [probe.attachment for probe in program.active]
        self._lowest_limit = min(
            (attachment.max_methods for attachment in attachments if isinstance(attachment, MethodAttachment)),
            default=0,
        )

    @cached_property
    def by_probe(self) -> Counter[int]:
        counts: Counter[int] = Counter()
        for planned_class in self._planned_classes:
            counts += _methods(planned_class)
        return counts

    def within_limits(self, planned_class: PlannedClass) -> PlannedClass:
        """Counts a further class, without the probes that would exceed the limit of their methods."""
        self._methods += len(planned_class.methods)
        if self._methods <= self._lowest_limit:  # then the probes need not be counted one by one
            self._planned_classes.append(planned_class)
            return planned_class
        methods = _methods(planned_class)
        passed = {
            id_: _too_many(probe, limit, self.by_probe[id_], more)
            for id_, more in methods.items()
            if self.by_probe[id_] + more > (limit := _limit(probe := self._program.probes[id_]))
        }
        self.by_probe.update({id_: more for id_, more in methods.items() if id_ not in passed})
        return _without(planned_class, passed) if passed else planned_class


def _limit(probe: Probe) -> int:
    assert isinstance(probe.attachment, MethodAttachment)
    return probe.attachment.max_methods


def _too_many(probe: Probe, most: int, count: int, more: int) -> str:
    return f"{probe.name} may be in {most} methods (max=), is in {count}, and {more} more match"


def _without(planned_class: PlannedClass, passed: Mapping[int, str]) -> PlannedClass:
    """The plan without the probes that would exceed a limit. ``passed``: the limits, by probe."""
    name = planned_class.class_name.replace("/", ".")
    methods = [
        PlannedMethod(
            method.name,
            method.descriptor,
            tuple(advice for advice in method.advice if advice.bound.probe.id not in passed),
        )
        for method in planned_class.methods
    ]
    refusals = [Refusal(RefusalReason.TOO_MANY, name, None, detail) for detail in passed.values()]
    return replace(
        planned_class,
        methods=tuple(method for method in methods if method.advice),
        refusals=(*planned_class.refusals, *refusals),
    )


def _passed(program: Program, weave_state: WeaveState, id_: int, more: int) -> str:
    """The limit that a probe exceeds with ``more`` methods of a further class; empty: none."""
    probe, methods = program.probes[id_], weave_state.methods(id_)
    attachment = probe.attachment
    if not isinstance(attachment, MethodAttachment):
        return ""
    most, most_classes = attachment.max_methods, attachment.max_classes
    if len(methods) + more > most:
        return _too_many(probe, most, len(methods), more)
    if most_classes is not None and len({(class_name, loader) for class_name, loader, *_ in methods}) >= most_classes:
        return f"{probe.name} may be in {most_classes} classes (--max-classes), and is in so many already"
    return ""


def may_pass_limit(program: Program, weave_state: WeaveState, planned_class: PlannedClass) -> bool:
    """Whether a probe would exceed its ``max=`` if all prewoven classes were loaded."""
    return any(
        room < weave_state.prewoven_method_count(id_) for id_, room in _room(program, weave_state, planned_class)
    )


def depends_on_prewoven(program: Program, weave_state: WeaveState, planned_class: PlannedClass) -> bool:
    """Whether a class fits into the limit of a probe, but would exceed it if all prewoven classes were loaded."""
    return any(
        0 <= room < weave_state.prewoven_method_count(id_) for id_, room in _room(program, weave_state, planned_class)
    )


def limits_classes(program: Program) -> bool:
    """Whether a probe has a limit of classes."""
    attachments = [probe.attachment for probe in program.active]
    return any(
        isinstance(attachment, MethodAttachment) and attachment.max_classes is not None for attachment in attachments
    )


def _room(program: Program, weave_state: WeaveState, planned_class: PlannedClass) -> Iterator[tuple[int, int]]:
    """For each probe of a class, the number of methods that ``max=`` still allows after the methods of the class."""
    for id_, more in _methods(planned_class).items():
        yield id_, _limit(program.probes[id_]) - len(weave_state.methods(id_)) - more


def _methods(planned_class: PlannedClass) -> Counter[int]:
    """The number of methods of the class that each probe is in."""
    return Counter(probe for method in planned_class.methods for probe in method.probes)
