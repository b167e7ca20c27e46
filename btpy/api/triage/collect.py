"""Runs the looks in a session: scripts that measure a service with the libraries of btpy, as one program."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from btpy.api.applicability import applicability
from btpy.api.libraries import PACKAGED, Libraries, Library
from btpy.api.maps import MapView
from btpy.api.session import Session
from btpy.api.triage.judge import findings
from btpy.api.triage.measurements import Key, Measurements, Total, figure_of, total_of
from btpy.api.triage.report import Report, times
from btpy.api.triage.scheduling import scheduling_of
from btpy.api.triage.service import describe
from btpy.api.triage.thresholds import SLOW
from btpy.dataclass import dataclass
from btpy.errors import BtpyError, TargetGone
from btpy.events.aggregates import Stats
from btpy.jvm.processes import JvmProcess

_BUDGET = 0.01
"""The share of each processor of the JVM that the probes may take."""

LOOKS = Path(__file__).parent / "looks"
"""The directory of the scripts."""

_OF_EVERY_JVM = "jvm"
_STEP = 0.1
"""Seconds between two checks whether to stop."""

_OF_HITS = ("count", "stats")
"""Kinds of maps whose values grow with the number of hits."""

_OF_LIBRARIES = {"pools.@out": "out"}
"""Maps of libraries that are used if they are exact."""

_MOST_SCALED = 10.0
"""The largest factor by which counts are multiplied, to estimate the hits that the budget skipped."""

_FIGURES = ("heap_used", "heap_max", "threads_first", "threads_last", "deadlocks")
_GROWTHS = {"collections": "gc_count", "collecting": "gc_time", "heap": "heap_range"}
"""Maps with samples of a counter of the JVM, and the name of the figure for the largest sample minus the smallest."""


def processors(process: JvmProcess) -> int:
    """The number of processors that the JVM can use."""
    try:
        return len(os.sched_getaffinity(process.pid))
    except (OSError, AttributeError):  # it has ended, or this is not Linux
        return 1


def budget_of(process: JvmProcess) -> float:
    """The share of one core that the probes may take: 1 % of the processors that the JVM can use."""
    return _BUDGET * processors(process)


@dataclass(frozen=True, slots=True)
class Looks:
    """``fitting``: the libraries that apply to the JVM. ``running``: the looks that were put in. ``failed``: the looks
    that could not be put in, with the reason.
    """

    fitting: tuple[str, ...]
    running: tuple[str, ...]
    failed: Mapping[str, str]


def put_in(session: Session, search: Libraries) -> Looks:
    """Starts to measure with the looks whose library applies to the JVM. A look that does not fit is left out.

    Raises TargetGone and ProtocolError.
    """
    applying = [
        library for library in search.all() if applicability(session, library, search, compare_versions=False).applies
    ]
    names = [_OF_EVERY_JVM, *(_look_of(library) for library in applying if _has_look(library))]
    failures: dict[str, str] = {}
    try:
        _add(session, names)
    except TargetGone:
        raise
    except BtpyError:
        for name in names:  # a look does not fit this JVM, and the other looks shall still run
            try:
                _add(session, [name])
            except TargetGone:
                raise
            except BtpyError as error:
                failures[name] = str(error)
    fitting = tuple(_look_of(library) for library in applying)
    return Looks(fitting, tuple(name for name in names if name not in failures), failures)


def _look_of(library: Library) -> str:
    return library.name.removeprefix(f"{PACKAGED}.")


def _has_look(library: Library) -> bool:
    """Libraries of users have no look, even if they have the name of a library of btpy."""
    return library.name.startswith(f"{PACKAGED}.") and (LOOKS / f"{_look_of(library)}.bt").is_file()


def _add(session: Session, names: Iterable[str]) -> None:
    text = "\n".join((LOOKS / f"{name}.bt").read_text(encoding="utf-8") for name in names)
    rates = {name: value for name, value in SLOW.items() if name in text}
    parameters = "".join(f"param {name}: duration;\n" for name in rates)
    session.add(parameters + text, name="<triage>", parameters=rates, missing="ignore")


def measure(session: Session, looks: Looks, seconds: float, is_stopped: Callable[[], bool]) -> Measurements:
    """Waits for this time, or until the caller stops it or the JVM ends, and reads the maps.

    Raises TargetGone if the JVM was killed, and ProtocolError.
    """
    figures = {"processors": float(processors(session.target.process))}
    began, before = time.monotonic(), scheduling_of(session.target.pid)
    while (passed := time.monotonic() - began) < seconds and not is_stopped() and not session.ended:
        time.sleep(min(_STEP, seconds - passed))
    seconds = time.monotonic() - began
    scheduled = scheduling_of(session.target.pid).since(before)
    figures |= {"ran": scheduled.ran, "not_run": scheduled.waited}
    figures |= {"periods": scheduled.periods, "throttled": scheduled.throttled}
    maps: dict[str, Mapping[Key, Total]] = {}
    for title in session.maps:
        name = title.removeprefix("@")
        view = session.maps[title]
        if name in _FIGURES:
            figures[name] = figure_of(view.value)
        elif name in _GROWTHS:
            figures[_GROWTHS[name]] = _growth(view)
        elif title in _OF_LIBRARIES and view.skips is None:
            maps[_OF_LIBRARIES[title]] = {_key(key): total_of(value, 1.0) for key, value in view.items()}
        elif title.startswith("@"):  # the other maps belong to libraries
            scale = _scale(view, seconds) if view.kind in _OF_HITS else 1.0
            maps[name] = {_key(key): total_of(value, scale) for key, value in view.items() if _is_number(value)}
    return Measurements(seconds, maps, figures, looks.fitting)


def _scale(view: MapView, seconds: float) -> float:
    """A factor for counts. It adds estimated hits for the time in which the budget disabled the probe. The estimate
    uses the rate of the rest of the run.
    """
    rested = 0.0 if view.skips is None else view.skips.rested_ns / 1e9
    return seconds / max(seconds - rested, seconds / _MOST_SCALED)


def _growth(view: MapView) -> float:
    value = view.value
    return figure_of(value.greatest) - figure_of(value.least) if isinstance(value, Stats) else 0.0


def _key(key: Any) -> Key:
    return tuple("" if part is None else str(part) for part in (key if isinstance(key, tuple) else (key,)))


def _is_number(value: Any) -> bool:
    return isinstance(value, Stats | int | float) and not isinstance(value, bool)


def examine(
    session: Session,
    search: Libraries,
    seconds: float,
    *,
    is_stopped: Callable[[], bool],
    begun: Callable[[Looks], None],
) -> Report:
    """The whole triage of a JVM. ``is_stopped``: whether to end earlier. ``begun``: called when the measuring begins.

    Raises TargetGone and ProtocolError.
    """
    service = describe(session)
    looks = put_in(session, search)
    begun(looks)
    measured = measure(session, looks, seconds, is_stopped)
    skips = any(session.maps[title].skips is not None for title in session.maps if title.startswith("@"))
    return Report(service, looks.fitting, looks.failed, measured, times(measured), tuple(findings(measured)), skips)
