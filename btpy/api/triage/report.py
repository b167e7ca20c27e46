"""The result of a triage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from btpy.api.triage.findings import Finding
from btpy.api.triage.measurements import Key, Measurements, Total
from btpy.api.triage.service import Service
from btpy.api.triage.suspicions import short
from btpy.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TimeSpent:
    """``what``: an activity. ``threads``: the number of threads that were busy with it on average. ``total``: how often
    the activity happened, and its time. The number is 0 if the activity was sampled. ``most``: the places with most
    time, and their share.
    """

    what: str
    threads: float
    total: Total
    most: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """``libraries``: the libraries of btpy that apply to the JVM. ``failed``: the looks that were left out, with the
    reasons. ``findings``: all findings, the most suspicious first. ``is_estimated``: whether the budget has skipped
    hits.
    """

    service: Service
    libraries: tuple[str, ...]
    failed: Mapping[str, str]
    measured: Measurements
    times: tuple[TimeSpent, ...]
    findings: tuple[Finding, ...]
    is_estimated: bool


_ACTIVITIES = {
    "requests": "requests",
    "gRPC calls served": "grpc_served",
    "SQL": "sql",
    "HTTP calls": "calls",
    "gRPC calls": "grpc_calls",
    "Redis": "redis",
    "waits for connections": "borrowed",
    "tasks that wait": "queued",
    "files": "files",
    "log messages": "logged",
}
"""The activities, and their maps."""

_WITH_FRAMES = {"sql", "calls", "borrowed", "processor"}
"""Maps whose last key is a frame of the application."""

_SHOWN = 3
"""The number of places that are shown for an activity."""


def times(measured: Measurements) -> tuple[TimeSpent, ...]:
    """The share of time that the service spends on each activity. Activities that did not happen are left out."""
    spent = [_spent(measured, what, name) for what, name in _ACTIVITIES.items() if measured.all(name).count]
    locks = measured.all("locked")
    if locks.sum:
        spent.append(TimeSpent("waits for locks", measured.threads(locks), Total(0, locks.sum)))
    processor = measured.all("processor")
    if processor.count:
        spent.append(replace(_spent(measured, "processor", "processor"), total=Total(0, processor.sum)))
    collecting = measured.figure("gc_time")
    if measured.figure("gc_count"):
        total = Total(round(measured.figure("gc_count")), collecting)
        spent.append(TimeSpent("garbage collections", collecting / 1e9 / measured.seconds, total))
    return tuple(spent)


def _spent(measured: Measurements, what: str, name: str) -> TimeSpent:
    total = measured.all(name)
    most = sorted(measured.of(name).items(), key=lambda entry: -entry[1].sum)[:_SHOWN]
    shares = tuple((_place(name, key), entry.sum / total.sum) for key, entry in most if total.sum)
    return TimeSpent(what, measured.threads(total), total, shares)


def _place(name: str, key: Key) -> str:
    """The frame comes first, because it is short, and a statement can be long."""
    return "  ".join([short(key[-1]), *key[:-1]] if name in _WITH_FRAMES else key)
