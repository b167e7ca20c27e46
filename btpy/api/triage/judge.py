"""Ranks suspicious facts. Pure: the same measurements give the same facts, in the same order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from btpy.api.triage.findings import Finding
from btpy.api.triage.measurements import Measurements
from btpy.api.triage.suspicions import SUSPICIONS
from btpy.api.triage.thresholds import THREADS, THRESHOLDS, Kind

_WORK = {Kind.SLOW_SQL, Kind.REPEATED_SQL, Kind.LOCK_WAITS, Kind.SLOW_CALLS, Kind.DNS, Kind.RETRIES, Kind.FILES}
_FAILURES = {Kind.DNS, Kind.FAILED_SQL, Kind.FAILED_CALLS, Kind.FAILED_FILES, Kind.RETRIES, Kind.REJECTED_TASKS}
_WASTE = {Kind.EXCEPTIONS, Kind.LOGGING, Kind.SINGLE_BYTES, Kind.REPEATED_SQL, Kind.ALLOCATIONS, Kind.GC_CALLS}
_STARVED = {Kind.STARVED, Kind.THROTTLED}

CAUSES: Mapping[Kind, frozenset[Kind]] = {
    Kind.POOL_WAITS: frozenset({Kind.SLOW_SQL, Kind.REPEATED_SQL, Kind.CONNECTION_LEAK}),
    Kind.QUEUED_TASKS: frozenset(_WORK | {Kind.POOL_WAITS, Kind.GC_TIME, Kind.HOT_CODE} | _STARVED),
    Kind.REJECTED_TASKS: frozenset(_WORK | {Kind.POOL_WAITS, Kind.HOT_CODE} | _STARVED),
    Kind.GC_TIME: frozenset({Kind.GC_CALLS, Kind.ALLOCATIONS}),
    Kind.HOT_CODE: frozenset(_WASTE),
    Kind.THROTTLED: frozenset(_WASTE | {Kind.HOT_CODE, Kind.GC_TIME}),
    Kind.SLOW_LOGGING: frozenset({Kind.LOGGING}),
    Kind.ALLOCATIONS: frozenset({Kind.GC_CALLS, Kind.EXCEPTIONS, Kind.LOGGING, Kind.SINGLE_BYTES, Kind.REPEATED_SQL}),
    Kind.FAILED_CALLS: frozenset({Kind.RETRIES}),
    Kind.SLOW_CALLS: frozenset({Kind.DNS}),
    Kind.EXCEPTIONS: frozenset(_FAILURES),
    Kind.FAILED_REQUESTS: frozenset(Kind) - {Kind.FAILED_REQUESTS},
}
"""By the kind of a symptom: the kinds of facts that can cause it. A symptom comes after its cause."""

LEAST_SECONDS = 1.0
"""A shorter measurement finds nothing suspicious: one event would count as thousands a second."""

_LEAST_SHARE = 0.05
"""A smaller share of the time of requests does not make a service slow."""

_MUCH_LESS = 10
"""A fact that is this many times less severe than another fact is not its cause."""


def findings(measured: Measurements) -> list[Finding]:
    """All suspicious facts, the most suspicious first."""
    if measured.seconds < LEAST_SECONDS:
        return []
    return ranked(
        finding for suspicion in SUSPICIONS for finding in suspicion(measured) if _is_large(finding, measured)
    )


def _is_large(finding: Finding, measured: Measurements) -> bool:
    """Whether the finding can explain a notable part of the time of requests. On a machine that is too busy, everything
    in a request takes longer.
    """
    threshold = THRESHOLDS[finding.kind]
    if threshold.unit != THREADS:
        return True
    return finding.severity * threshold.least >= _LEAST_SHARE * measured.threads(measured.all("requests"))


def ranked(candidates: Iterable[Finding]) -> list[Finding]:
    """The worst finding of each kind, if it reaches its threshold: first causes, then their symptoms, by severity."""
    worst: dict[Kind, Finding] = {}
    for finding in candidates:
        if finding.severity >= max(1.0, worst[finding.kind].severity if finding.kind in worst else 0.0):
            worst[finding.kind] = finding
    return sorted(worst.values(), key=lambda finding: (_is_symptom(finding, worst.values()), -finding.severity))


def _is_symptom(finding: Finding, others: Iterable[Finding]) -> bool:
    causes = CAUSES.get(finding.kind, frozenset())
    return any(other.kind in causes and other.severity * _MUCH_LESS >= finding.severity for other in others)
