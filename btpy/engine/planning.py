"""The plans of the loaded classes that the probes of a program match.

Nothing is woven before all classes are planned, because any of them can show that the program is wrong. There is one
exception. If the probes fit every method, only a limit on their methods could still refuse the program. If the first
part of many classes keeps far below the limits, and the client can read the class files itself, this part is woven
while the other classes are planned. These are then treated like classes that are loaded later: a method beyond a limit
gets no probe, and the user is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from itertools import islice

from btpy import timeline
from btpy.dataclass import dataclass
from btpy.engine.agent import READ_AT_ONCE
from btpy.engine.instrumentation import Instrumentation
from btpy.engine.matching import MatchedClass
from btpy.engine.method_limits import MethodCount, limits_classes
from btpy.lang.program import Program
from btpy.model.attachments import MethodAttachment
from btpy.plan.plan import Refusal
from btpy.plan.planner import PlannedClass, Planner
from btpy.wire.messages import Classes, LoadedClass

LARGE = 512
"""The smallest number of classes of which a part is woven first."""

PARTS = 8
"""The first part is one of so many."""

MARGIN = 2
"""All classes together must be expected to have at most a MARGIN-th of the methods that a limit allows."""


@dataclass(slots=True)
class Plans:
    """``found``: the answer to the SEARCH. ``usable``: the classes in it that can be woven; ``classes``: the planned
    ones of these; ``rest`` plans the others. ``unusable``: the reasons why other classes cannot be woven. ``beyond``:
    the number of matching classes that are not examined.
    """

    found: Classes
    usable: Sequence[LoadedClass]
    unusable: Sequence[Refusal]
    rest: Iterator[MatchedClass]
    beyond: int = 0
    classes: list[MatchedClass] = field(default_factory=list)

    @property
    def refusals(self) -> list[Refusal]:
        of_methods = [refusal for class_ in self.classes if class_.planned for refusal in class_.planned.refusals]
        return [*self.unusable, *of_methods]

    def plan(self, count: int) -> int:
        """Plans ``count`` further classes, or those that are left. Returns their number."""
        planned_before = len(self.classes)
        self.classes.extend(islice(self.rest, count))
        return len(self.classes) - planned_before

    def has_parts(self, program: Program, planner: Planner) -> bool:
        """Whether a first part may be enough to begin with."""
        return len(self.usable) >= LARGE and planner.fits_every_method and not limits_classes(program)

    def plan_first_part(self, program: Program) -> bool:
        """Plans the first part. Returns whether each probe is in it and all classes promise to keep to the limits."""
        self.plan(len(self.usable) // PARTS)
        planned_classes = planned(self.classes)
        counts = MethodCount(program, planned_classes).by_probe
        return not any(class_.problems for class_ in planned_classes) and all(
            counts[probe.id] > 0 and counts[probe.id] * PARTS * MARGIN <= probe.attachment.max_methods
            for probe in program.active
            if isinstance(probe.attachment, MethodAttachment)
        )

    def planned_meanwhile(self, version: Instrumentation) -> Iterator[LoadedClass]:
        """The classes to weave after a first part. Each is planned when it is asked for, without the methods that
        exceed the limit of a probe."""
        counted = MethodCount(version.program, planned(self.classes))
        while part := self._plan_within_limits(counted):
            version.prepare(part, frozenset())
            yield from (class_.loaded for class_ in part if class_.is_to_weave)

    @timeline.timed("read and plan classes")
    def _plan_within_limits(self, counted: MethodCount) -> list[MatchedClass]:
        part = [within_limits(counted, class_) for class_ in islice(self.rest, READ_AT_ONCE)]
        self.classes += part
        return part


def planned(classes: Iterable[MatchedClass]) -> list[PlannedClass]:
    """The plans of the classes that have one."""
    return [class_.planned for class_ in classes if class_.planned is not None]


def within_limits(counted: MethodCount, class_: MatchedClass) -> MatchedClass:
    """The class without the methods that would exceed the limit of a probe. Adds the others to ``counted``."""
    if class_.planned is None:
        return class_
    fitting = counted.within_limits(class_.planned)
    return class_ if fitting is class_.planned else replace(class_, planned=fitting)
