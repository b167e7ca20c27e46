"""What there is to know of a program to show what its probes record: all but their code.

A recording carries it instead of the program, so that it can be read by a btpy whose language has moved on.
"""

from __future__ import annotations

from dataclasses import dataclass as plain_dataclass
from enum import Enum

from btpy.lang.program import (
    NO_LIMIT,
    EndAttachment,
    EventAttachment,
    Limit,
    Map,
    MethodAttachment,
    Probe,
    Program,
    Sampling,
    Template,
    TimerAttachment,
)
from btpy.lang.source import Source
from btpy.values import dataclass


class Moment(Enum):
    """When a probe fires; of a subscriber, when its host does."""

    METHOD = "method"
    TIMER = "timer"
    END = "end"
    EVENT = "event"
    OTHER = "other"


_MOMENTS = {
    MethodAttachment: Moment.METHOD,
    TimerAttachment: Moment.TIMER,
    EndAttachment: Moment.END,
    EventAttachment: Moment.EVENT,
}


@dataclass(frozen=True, slots=True)
class ProbeOutline:
    """``event``: of EVENT, its name. ``host``: id of the probe in whose handler it fires. ``conditional``: it has a
    predicate."""

    name: str
    moment: Moment
    host: int
    event: str = ""
    conditional: bool = False
    sampling: Sampling | None = None
    limit: Limit = NO_LIMIT

    @staticmethod
    def of(program: Program, probe: Probe) -> ProbeOutline:
        host = program.fires_in(probe)
        return ProbeOutline(
            name=probe.name,
            moment=_MOMENTS.get(type(host.attachment), Moment.OTHER),
            host=host.id,
            event=probe.attachment.name if isinstance(probe.attachment, EventAttachment) else "",
            conditional=probe.tree is not None and probe.tree.when is not None,
            sampling=probe.sampling,
            limit=probe.limit,
        )


@plain_dataclass(slots=True)
class Outline:
    """Ids index the lists, which grow with the program. ``redact``: values under the names of secrets are hidden.
    ``print_maps``: at the end, without being asked."""

    probes: list[ProbeOutline]
    templates: list[Template]
    maps: list[Map]
    sources: list[Source]
    redact: bool = True
    print_maps: bool = True

    @staticmethod
    def of(program: Program) -> Outline:
        settings = dict(program.settings)
        outline = Outline([], [], [], [], program.permissions.redact, bool(settings.get("print_maps_on_exit", True)))
        outline.grow(program)
        return outline

    def grow(self, program: Program) -> None:
        """Adds what ``program`` has more than the one before, which it begins with."""
        self.probes += [ProbeOutline.of(program, probe) for probe in program.probes[len(self.probes) :]]
        self.templates += program.templates[len(self.templates) :]
        self.maps[:] = program.maps  # a later script may tell more of one
        self.sources += program.sources[len(self.sources) :]
