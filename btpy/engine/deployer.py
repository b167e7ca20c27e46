"""Puts the probes of a session into its target, changes them, and takes them out.

Loading a program has these steps: search for the classes that its patterns match → read their class files and plan →
define its handlers → run ``@OnBegin`` → watch for classes being loaded → weave → start its timers. Nothing in the
target changes before the plan is known to be correct; then the last of many classes may be planned while the first ones
are woven (:mod:`btpy.engine.planning`). A further script extends the program of the session
(:class:`btpy.lang.program.Program`) in the same steps. One retransformation replaces an old probe with the new probe.
If the new probe fails, the old probe stays.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import NamedTuple

from btpy import interpreter, timeline
from btpy.dataclass import dataclass
from btpy.engine import retransformation
from btpy.engine.agent import Agent, together
from btpy.engine.agent_probes import AgentProbe, Hook, hooks
from btpy.engine.declarations import map_declarations, probe_declarations
from btpy.engine.description import Description, Place
from btpy.engine.instrumentation import Instrumentation, handler_classes
from btpy.engine.matcher import Matcher
from btpy.engine.matching import Matching, listed
from btpy.engine.planning import Plans
from btpy.engine.preweave import Preweaving
from btpy.engine.target import Limits, Target, without_effect
from btpy.engine.weave_state import WeaveState
from btpy.errors import BtpyError, ProtocolError, ScriptError, TargetGone, UsageError
from btpy.jvm import procfs
from btpy.lang.outline import grow
from btpy.lang.program import Probe, Program
from btpy.model.attachments import BeginAttachment, EndAttachment, LowMemoryAttachment
from btpy.model.diagnostics import Diagnostic
from btpy.model.outline import Outline
from btpy.plan.diagnose import no_pool
from btpy.plan.listing import ListedProbe
from btpy.plan.plan import MAX_SLOT, Refusal, Site
from btpy.wire.messages import HandlerClass, WeaveResult

MAX_PROBES = MAX_MAPS = 4096
"""The maximum number of probes of a session, including removed probes."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """A program in its target. ``weave_ns``: the time in which its classes were retransformed, in batches;
    ``waited_ns``: the part of that time that the agent waited for woven bytes; ``longest_pause_ns``: the longest time
    that a batch stopped the target. ``put_back``: the number of classes that have their original bytes again because
    their last probe was removed. ``loaded_meanwhile``: classes that were loaded while no client was connected, and got
    their probes only now."""

    program: Program
    matching: Matching
    sites: tuple[Site, ...]
    refusals: tuple[Refusal, ...]
    warnings: tuple[Diagnostic, ...]
    batches: int
    longest_pause_ns: int
    weave_ns: int
    waited_ns: int
    put_back: int
    loaded_meanwhile: tuple[str, ...] = ()

    @property
    def classes(self) -> int:
        return len({site.class_name for site in self.sites})

    @property
    def methods(self) -> int:
        return len({(site.class_name, site.method, site.descriptor) for site in self.sites})

    @staticmethod
    def of(
        version: Instrumentation,
        matching: Matching,
        result: WeaveResult,
        warnings: tuple[Diagnostic, ...] = (),
        loaded_meanwhile: tuple[str, ...] = (),
    ) -> Deployment:
        """The deployment of a version, from the ``result`` of its WEAVE."""
        return Deployment(
            program=version.program,
            matching=matching,
            sites=version.weave_state.all_sites,
            refusals=version.weave_state.all_refusals,
            warnings=warnings,
            batches=result.batches,
            longest_pause_ns=result.longest_ns,
            weave_ns=result.total_ns,
            waited_ns=result.waited_ns,
            put_back=result.put_back,
            loaded_meanwhile=loaded_meanwhile,
        )


class _PreparedVersion(NamedTuple):
    """The parts of a version that are known before the target changes. ``matching``: None if the last classes are
    planned while the first ones are woven."""

    version: Instrumentation
    matcher: Matcher
    plans: Plans
    matching: Matching | None
    warnings: tuple[Diagnostic, ...]
    handlers: tuple[HandlerClass, ...]


class Deployer:
    """Any thread may call its methods; the lock ``changing`` lets one method run at a time. ``version``: the version of
    the program in the target, None before the first. ``outline`` grows with the program. ``limits``: the limits of the
    session; None for a session that another client has begun, because its limits are not known. ``late_bound``: texts
    about the fields that are looked up at each firing although the class of the object is known.

    All methods raise TargetGone when the target has ended or does not answer, and ProtocolError when its agent broke
    the protocol.
    """

    def __init__(self, target: Target, agent: Agent, preweaving: Preweaving, outline: Outline) -> None:
        self.changing = threading.RLock()
        self.version: Instrumentation | None = None
        self.weave_state = WeaveState(0, target.java_version)
        self.limits: Limits | None = None
        self.late_bound: tuple[str, ...] = ()
        self._target = target
        self._agent = agent
        self._preweaving = preweaving
        self._outline = outline

    def begin(self, slot: int, limits: Limits | None = None) -> None:
        """The agent has begun the session in this slot, or it has let this client join it. Raises ProtocolError for a
        slot that no session can have."""
        if not 1 <= slot <= MAX_SLOT:
            raise ProtocolError(f"the agent gives the session slot {slot}, of 1 to {MAX_SLOT}")
        self.weave_state = WeaveState(slot, self._target.java_version)
        self.limits = limits

    @property
    def program(self) -> Program | None:
        """The program in the target; the next program must extend it. None before the first program."""
        return self.version.program if self.version is not None else None

    @property
    def place(self) -> Place:
        """The session's identity, for its description."""
        return Place(procfs.boot_id(), self._target.process.start_ticks, self.weave_state.slot)

    def match(self, program: Program, *, allow: Iterable[str] = ()) -> Matching:
        """The classes and methods of the target that the probes of the program match. If the program extends the
        session's program, only the probes of its last script count.

        Raises UsageError for a malformed pattern or for a pattern that matches more than MAX_CLASSES classes.
        """
        return self._matched(program, allow)[1]

    def listing(
        self, program: Program, *, allow: Iterable[str] = (), first: int | None = None
    ) -> tuple[Matching, tuple[ListedProbe, ...]]:
        """The matches of the program's method probes, for people to read.

        ``first``: the number of classes to look at, in the order of their names. Raises UsageError like :meth:`match`,
        except that with ``first`` any number of classes may match.
        """
        matcher, matching = self._matched(program, allow, first)
        version = matcher.instrumentation
        return matching, listed(program, version.planner, matching, version.weave_state.hierarchy.ancestors)

    def rehearse(
        self, program: Program, *, missing: str = "error", allow: Iterable[str] = (), replacing: Collection[int] = ()
    ) -> None:
        """Do the steps of :meth:`load` that come before the target changes. Raises the same errors as :meth:`load`."""
        with self.changing, interpreter.gc_paused():
            self._prepared(program, missing, allow, replacing)

    def _matched(self, program: Program, allow: Iterable[str], first: int | None = None) -> tuple[Matcher, Matching]:
        with self.changing, interpreter.gc_paused():
            earlier = self.version if program.earlier is not None else None
            weave_state = self.weave_state
            if earlier is None:
                weave_state = WeaveState(weave_state.slot, self._target.java_version)
            version = Instrumentation(program, weave_state, frozenset(allow), earlier)
            probes = [probe for probe in program.own if probe.id not in program.removed]
            matcher = Matcher(self._agent, self._target, version, probes)
            with self._planning(version):
                return matcher, matcher.match(first)

    @contextmanager
    def _planning(self, version: Instrumentation) -> Iterator[None]:
        """While the block plans classes, the planner may read further classes."""
        knowledge = version.planner.knowledge
        with knowledge.asking(self._agent):
            yield
        self.late_bound = tuple(knowledge.late_bound)

    def _prepared(
        self,
        program: Program,
        missing: str,
        allow: Iterable[str],
        replacing: Collection[int],
        *,
        first_part: bool = False,
    ) -> _PreparedVersion:
        """``first_part``: plan only the first part of the classes if this is enough to begin."""
        if self.version is not None and program.earlier is None:
            raise UsageError("this session has a program already", help=["extend it: check_source(…, earlier=…)"])
        new_program = program.without(replacing)
        if len(new_program.probes) > MAX_PROBES or len(new_program.maps) > MAX_MAPS:
            raise UsageError("there is no room for more probes in this session", help=["detach, and attach again"])
        version = Instrumentation(new_program, self.weave_state, frozenset(allow), self.version)
        matcher = Matcher(self._agent, self._target, version, new_program.own)
        with self._planning(version):
            plans = matcher.search()
            matching = None
            if not (first_part and matcher.plan_first_part(plans)):
                matcher.plan_all(plans)
                matching = matcher.judge(plans, suggestions=False)
        warnings = matcher.check(matching, missing) if matching is not None else ()
        if self.limits is not None:
            warnings = (*warnings, *without_effect(new_program, self.limits))
        handlers = handler_classes(version.prepare(plans.classes, frozenset(probe.id for probe in new_program.own)))
        return _PreparedVersion(version, matcher, plans, matching, warnings, tuple(handlers))

    @timeline.timed("put the probes in")
    def load(
        self,
        program: Program,
        *,
        missing: str = "error",
        allow: Iterable[str] = (),
        level: int = 0,
        replacing: Collection[int] = (),
    ) -> Deployment:
        """Put the probes of a program in. A further program extends the program of the session (``program.earlier``).

        ``missing``: the reaction to a probe that matches no code now: ``error``, ``warn``, ``ignore``, or ``all`` (an
        error if no other probe matches either, else nothing). A probe with ``pending`` may always wait for its classes.
        ``allow``: capabilities given with ``--allow``. ``level``: probes with a higher ``@Level`` start disabled.
        ``replacing``: probes that the new probes replace. Activations that began with the old probes still fire them,
        so no hit is lost.

        Raises ScriptError when a probe does not fit a method that it matches, NothingMatched, and CompileError. Raises
        UsageError like :meth:`match`, and for a program that does not extend the program of the session. After an
        error, the earlier probes continue.
        """
        with self.changing, interpreter.gc_paused():
            old_version = self.version
            prepared = self._prepared(program, missing, allow, replacing, first_part=True)
            version, new_program = prepared.version, prepared.version.program
            ids = frozenset(probe.id for probe in new_program.own)
            version.weave_state.add_told(prepared.warnings)
            grow(self._outline, new_program)
            self._preweaving.end()
            try:
                self._install(prepared, level)
                deployment = self._weave(prepared, ids, missing, replacing)
                for timer, period in version.timers(ids):
                    self._agent.run_every(period, timer.site, timer.handler.class_name)
            except (TargetGone, ProtocolError):
                raise
            except BtpyError:
                self._go_back(old_version, version, ids)
                raise
            if old_version is not None:
                self._end_replaced(old_version, replacing)
            self._preweaving.begin(version, deployment.matching)
            return deployment

    def _install(self, prepared: _PreparedVersion, level: int) -> None:
        """Declare the maps and probes of a version, define its handlers, run ``@OnBegin`` and set its hooks."""
        version, program = prepared.version, prepared.version.program
        maps = program.maps[len(program.earlier.maps) if program.earlier is not None else 0 :]
        probes = probe_declarations(program.own, program.maps, dict(program.settings), level)
        self._agent.install(map_declarations(maps), probes, prepared.handlers)
        version.weave_state.add_installed(handler.name for handler in prepared.handlers)
        ids = frozenset(probe.id for probe in program.own)
        self._run_once(version.begin_probes(ids))
        for hook in hooks(program, version.on_agent(ids)):
            self._hook(hook, program)

    def _weave(
        self, prepared: _PreparedVersion, ids: frozenset[int], missing: str, replacing: Collection[int]
    ) -> Deployment:
        """Make a version the current one and weave it into the loaded classes."""
        version, matcher = prepared.version, prepared.matcher
        old_version, self.version = self.version, version
        watches = bool(version.watched or (old_version is not None and old_version.watched))
        watched = self._agent.watch(version.watched) if watches else None
        matching, result = self._weave_planned(prepared, replacing, watches)
        notes = () if prepared.matching is not None else matching.warnings
        version.weave_state.add_told(notes)
        if watched is not None:
            watched()
            matching, extra_result = retransformation.weave_loaded_meanwhile(self._agent, version, matcher, matching)
            result = together(result, extra_result)
        retransformation.weave_callers_of_loaded(self._agent, version, ids)
        warnings = (*prepared.warnings, *notes, *matcher.missed_after_all(matching, missing))
        return Deployment.of(version, matching, result, warnings)

    def _weave_planned(
        self, prepared: _PreparedVersion, replacing: Collection[int], searches: bool
    ) -> tuple[Matching, WeaveResult]:
        """Weave the loaded classes of a version, and meanwhile plan the classes that are not planned yet."""
        version, plans, matching = prepared.version, prepared.plans, prepared.matching
        change = partial(retransformation.change, self._agent, version, removed=replacing, searches=searches)
        if matching is not None:
            version.weave_state.add_refusals(matching.refusals)
            return matching, change(matching.to_weave)
        first_part = [class_.loaded for class_ in plans.classes if class_.is_to_weave]
        with self._planning(version):
            result = change(chain(first_part, plans.planned_meanwhile(version)), most=len(plans.usable))
            matching = prepared.matcher.judge(plans)
        version.weave_state.add_refusals(matching.refusals)
        with version.weave_state.lock:
            version.weave_state.find(matching.problems)
        return matching, result

    def _go_back(self, before: Instrumentation | None, failed: Instrumentation, ids: frozenset[int]) -> None:
        """Return from a failed version to the probes before it."""
        removed = before.program.removed if before is not None else frozenset()
        program = replace(failed.program, removed=removed | ids)
        version = Instrumentation(program, self.weave_state, failed.allow, before or failed)
        self.version = version
        self._agent.remove(sorted(ids), [probe.site for probe in failed.on_agent(ids)])
        if failed.watched:
            self._agent.watch(version.watched)()
        retransformation.change(self._agent, version, (), ids)
        self._preweaving.begin(version)

    def _end_replaced(self, before: Instrumentation, replaced: Collection[int]) -> None:
        """End the timers and hooks of replaced probes, and run their ``@OnEnd``."""
        on_agent = before.on_agent(replaced)
        ends = before.end_probes(replaced)
        if on_agent:
            stopped = [probe for probe in on_agent if probe not in ends]
            self._agent.remove([probe.probe for probe in stopped], [probe.site for probe in stopped])
            self._run_once(ends)
            self._agent.remove([probe.probe for probe in ends], [])

    def remove(self, probes: Collection[int]) -> int:
        """Take probes out. When this method returns, the probes no longer fire, and classes without probes have their
        original bytes. A script that has only ``@OnBegin`` and ``@OnEnd`` probes left ends: its ``@OnEnd`` probes run
        and are removed. Returns the number of classes that were put back.
        """
        with self.changing, interpreter.gc_paused():
            old_version = self.version
            if old_version is None:
                return 0
            removed = frozenset(probes) - old_version.program.removed
            scripts = _over(old_version.program, removed)
            self._preweaving.end()
            self._agent.remove(sorted(removed), [probe.site for probe in old_version.on_agent(removed)])
            version = Instrumentation(
                old_version.program.without(removed | scripts), self.weave_state, old_version.allow, old_version
            )
            self.version = version
            if old_version.watched:
                self._agent.watch(version.watched)()
            result = retransformation.change(self._agent, version, (), removed)
            self._run_once(old_version.end_probes(scripts))
            self._agent.remove(sorted(scripts), [])
            self._preweaving.begin(version)
            return result.put_back

    def resume(self, description: Description) -> Deployment:
        """Continue the program of an unattended session. Weaves the classes that were loaded in the meantime."""
        program, weave_state = description.program, self.weave_state
        version = Instrumentation(program, weave_state, program.permissions.allow)
        version.resume(description.agent_sites)
        with weave_state.lock:
            weave_state.resume(description.sites, [site for _, site in description.agent_sites])
            woven_classes = set(weave_state.woven)
        grow(self._outline, program)
        self.version = version
        if version.watched:
            self._agent.watch(version.watched)()
        matcher = Matcher(self._agent, self._target, version, program.active)
        with version.planner.knowledge.asking(self._agent):
            matching = matcher.match()
        version.weave_state.add_refusals(matching.refusals)
        fresh = [
            loaded_class
            for loaded_class in matching.to_weave
            if (loaded_class.name, loaded_class.loader) not in woven_classes
        ]
        result = retransformation.weave(self._agent, version, fresh)
        with weave_state.lock:
            names = sorted({name for name, _ in weave_state.woven} - {name for name, _ in woven_classes})
        self._preweaving.begin(version, matching)
        return Deployment.of(version, matching, result, loaded_meanwhile=tuple(names))

    def run_end_probes(self) -> None:
        """Run the ``@OnEnd`` probes of the program."""
        if self.version is not None:
            self._run_once(self.version.end_probes(frozenset(probe.id for probe in self.version.program.active)))

    def _run_once(self, probes: Iterable[AgentProbe]) -> None:
        for probe in probes:
            self._agent.run_every(0, probe.site, probe.handler.class_name)

    def _hook(self, hook: Hook, program: Program) -> None:
        """Raises ScriptError for a memory pool that the JVM does not have."""
        error = self._agent.hook(hook)
        if error and isinstance(hook.probe.attachment, LowMemoryAttachment):
            raise ScriptError([no_pool(program.probes[hook.probe.probe], error)])
        if error:
            raise BtpyError(f"the agent refused HOOK: {error}")

    @property
    def sites(self) -> Mapping[int, Site]:
        """Every woven place by its id in records; grows as classes are loaded."""
        return self.weave_state.sites

    def methods(self, probe: int) -> list[tuple[str, str]]:
        """Class and name of the methods that contain the probe."""
        with self.weave_state.lock:
            return [(class_name, method) for class_name, _, method, _ in self.weave_state.methods(probe)]

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """Code that was not woven so far, with the reasons."""
        return self.weave_state.all_refusals

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        """The reasons why probes do not fit methods of classes that were loaded after the program."""
        return self.weave_state.all_problems


def _over(program: Program, to_remove: Collection[int]) -> frozenset[int]:
    """The remaining probes of the scripts that end when these probes are removed."""
    over: set[int] = set()
    for script in program.scripts:
        probes = [probe for probe in script.own if probe.id not in program.removed and probe.id not in to_remove]
        touched = any(probe.id in to_remove for probe in script.own)
        if touched and all(_is_begin_or_end(probe) for probe in probes):
            over.update(probe.id for probe in probes)
    return frozenset(over)


def _is_begin_or_end(probe: Probe) -> bool:
    return isinstance(probe.attachment, BeginAttachment | EndAttachment)
