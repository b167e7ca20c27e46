"""A suspicious fact about a service."""

from __future__ import annotations

from btpy.api.triage.thresholds import THRESHOLDS, Kind
from btpy.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """``severity``: how many times as large as the threshold its measure is. ``fact``: a phrase. ``place``: the code,
    statement, host or file; empty: there is none. ``command``: what looks closer, after ``btpy PID``.
    """

    kind: Kind
    severity: float
    fact: str
    place: str
    command: str

    @staticmethod
    def of(kind: Kind, measure: float, fact: str, place: str, command: str) -> Finding:
        return Finding(kind, measure / THRESHOLDS[kind].least, fact, place, command)
