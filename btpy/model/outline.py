"""The meaning of a program's records and how they are shown: the program without its code.

A recording carries it instead of the program, so that a later btpy with a changed language can read it.
"""

from __future__ import annotations

from enum import Enum

from btpy.dataclass import dataclass
from btpy.model.maps import Map
from btpy.model.sampling import NO_LIMIT, Limit, Sampling
from btpy.model.source import Source
from btpy.model.templates import Template


class Moment(Enum):
    """The event at which a probe fires. A subscriber fires when its host fires."""

    METHOD = "method"
    TIMER = "timer"
    END = "end"
    EVENT = "event"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ProbeOutline:
    """``event``: the name of the event of EVENT. ``host``: id of the probe in whose handler it fires. ``conditional``:
    it has a predicate."""

    name: str
    moment: Moment
    host: int
    event: str = ""
    conditional: bool = False
    sampling: Sampling | None = None
    limit: Limit = NO_LIMIT


@dataclass(slots=True)
class Outline:
    """Ids index the lists, which grow with the program. ``redact``: values under the names of secrets are hidden.
    ``print_maps``: maps are printed at the end by default."""

    probes: list[ProbeOutline]
    templates: list[Template]
    maps: list[Map]
    sources: list[Source]
    redact: bool = True
    print_maps: bool = True

    @property
    def flushed_maps(self) -> frozenset[int]:
        """The ids of the maps that the program flushes."""
        return frozenset(id_ for template in self.templates for id_ in template.flushed)
