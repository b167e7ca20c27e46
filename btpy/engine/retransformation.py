"""Has the agent retransform loaded classes, so that they contain the probes of a version of the program."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator

from btpy.engine.agent import NOTHING_WOVEN, Agent, together
from btpy.engine.instrumentation import Instrumentation, handler_classes
from btpy.engine.jdk_faults import LOST_PARAMETER_NAMES
from btpy.engine.matcher import Matcher, refused
from btpy.engine.matching import Matching
from btpy.plan.plan import Refusal, failure_reason
from btpy.wire.messages import LoadedClass, WeaveResult

LOOKS = 5
"""The number of searches for a class that was being loaded while the probes changed."""

BETWEEN_LOOKS = 0.05
"""Seconds between two of these searches."""


def weave(
    agent: Agent,
    version: Instrumentation,
    classes: Iterable[LoadedClass],
    *,
    most: int | None = None,
    searches: bool = False,
) -> WeaveResult:
    """Weave loaded classes. ``most``: the largest number of classes, if they are found meanwhile. ``searches``: the
    caller looks for classes that the agent loads meanwhile; otherwise the agent weaves them itself."""
    selection: list[LoadedClass] = []
    if most is None:
        classes = list(classes)
        most = len(classes)
    loses_names = LOST_PARAMETER_NAMES in version.allow
    result = agent.weave(
        _collected(classes, selection),
        version.preweave_methods,
        most=most,
        searches=searches,
        loses_names=loses_names,
    )
    version.retransformed(selection, {failure.class_id for failure in result.failures})
    names = {loaded_class.id: loaded_class.name for loaded_class in selection}
    version.weave_state.add_refusals(
        Refusal(failure_reason(failure.error), names.get(failure.class_id, "?"), None, failure.error)
        for failure in result.failures
    )
    return result


def _collected(classes: Iterable[LoadedClass], selection: list[LoadedClass]) -> Iterator[LoadedClass]:
    """The classes, which are added to ``selection`` one by one."""
    for loaded_class in classes:
        selection.append(loaded_class)
        yield loaded_class


def weave_named(agent: Agent, version: Instrumentation, names: Iterable[str]) -> None:
    """Weave the loaded classes of these names, again or for the first time."""
    weave(agent, version, [loaded_class for loaded_class in agent.named(list(names)) if refused(loaded_class) is None])


def change(
    agent: Agent,
    version: Instrumentation,
    matched: Iterable[LoadedClass],
    removed: Collection[int],
    *,
    most: int | None = None,
    searches: bool = False,
) -> WeaveResult:
    """Weave the classes that change with this version: the ``matched`` classes, and the classes that contain a
    ``removed`` probe, or the probe that a removed probe subscribed to. ``most`` and ``searches``: as for :func:`weave`.
    """
    weave_state, program = version.weave_state, version.program
    hosts = {program.fires_in(program.probes[id_]).id for id_ in removed}
    with weave_state.lock:
        stale = set(weave_state.holding((*removed, *hosts)))
    stale_classes = [
        loaded
        for loaded in agent.named(sorted({name for name, _ in stale}))
        if (loaded.name, loaded.loader) in stale and refused(loaded) is None
    ]
    if stale_classes:
        matched = {loaded.id: loaded for loaded in (*matched, *stale_classes)}.values()
    result = weave(agent, version, matched, most=None if stale_classes else most, searches=searches)
    _weave_arrived(agent, version)
    return result


def weave_loaded_meanwhile(
    agent: Agent, version: Instrumentation, matcher: Matcher, matching: Matching
) -> tuple[Matching, WeaveResult]:
    """Weave the classes that were loaded before the agent watched for them, and the classes that the agent itself
    loaded while it wove: the JVM loads classes to verify other classes.
    """
    result = NOTHING_WOVEN
    for looks_left in reversed(range(LOOKS)):
        later = matcher.loaded_meanwhile(matching)
        if not later.classes and not later.refusals:
            break
        matching = matching.with_those_of(later)
        fitting = [
            matched_class
            for matched_class in later.classes
            if matched_class.planned is not None and not matched_class.planned.problems
        ]
        handlers = handler_classes(version.prepare(fitting, frozenset()))
        if handlers:
            agent.install((), (), handlers)
            version.weave_state.add_installed(handler.name for handler in handlers)
        result = together(result, weave(agent, version, later.to_weave, searches=looks_left > 0))
    return matching, result


def weave_callers_of_loaded(agent: Agent, version: Instrumentation, probes: Collection[int]) -> None:
    """Weave the callers of types that an operation of ``probes`` names, if the types were loaded between the first
    SEARCH and WATCH."""
    loaded_classes = agent.matching_classes(version.owner_patterns(probes)).classes
    version.weave_state.learn(loaded_classes)
    for loaded_class in loaded_classes:
        weave_named(agent, version, version.callers(loaded_class.name))


def _weave_arrived(agent: Agent, version: Instrumentation) -> None:
    """Weave classes about which the agent asked an earlier version while they were being loaded. They are possibly not
    among the loaded classes yet."""
    with version.weave_state.lock:
        arriving = version.weave_state.take_arriving(version)
    for look in range(LOOKS):
        loaded_classes = agent.named(sorted({name for name, _ in arriving}))
        arrived = [
            loaded_class for loaded_class in loaded_classes if (loaded_class.name, loaded_class.loader) in arriving
        ]
        weave(agent, version, [loaded_class for loaded_class in arrived if refused(loaded_class) is None])
        arriving -= {(loaded_class.name, loaded_class.loader) for loaded_class in arrived}
        if not arriving:
            return
        if look + 1 < LOOKS:
            time.sleep(BETWEEN_LOOKS)
