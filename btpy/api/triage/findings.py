"""A suspicious fact about a service."""

from __future__ import annotations

from btpy.api.triage.thresholds import THRESHOLDS, Kind
from btpy.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """``severity``: the measure divided by its threshold. ``fact``: a phrase. ``place``: the code, statement, host or
    file; empty: there is none. ``command``: the arguments of ``btpy PID`` that show more about it.
    """

    kind: Kind
    severity: float
    fact: str
    place: str
    command: str

    @staticmethod
    def of(kind: Kind, measure: float, fact: str, place: str, command: str) -> Finding:
        return Finding(kind, measure / THRESHOLDS[kind].least, fact, place, command)
