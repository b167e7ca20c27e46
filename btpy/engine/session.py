"""One attached target.

    with Session.attach("OrderApp") as session:
        session.load(program)
        for item in session.items(timeout=10):
            …
        receipt = session.detach()

Loading a program goes: search for the classes that its patterns match → read their class files and plan → define its
handlers → run ``@OnBegin`` → watch for classes being loaded → weave → start its timers. Nothing of the target is
touched before the plan is known to be right. A further script extends the program of the session
(:class:`btpy.lang.program.Program`) and goes the same way; what it replaces leaves each class in the very
retransformation that brings the new, and goes nowhere when the new cannot come.

The thread that reads what the target sends also weaves, at once and whatever the caller is doing: an application thread
may be waiting. Leaving the ``with`` block without :meth:`Session.detach` (an exception, Ctrl-C in the middle
of anything) closes the connection, and the agent puts every class back by itself.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import NamedTuple

from btpy import interpreter
from btpy.engine import sessions
from btpy.engine.agent import ANSWER_SECONDS, MAX_CLASSES, NOTHING_WOVEN, Agent, together
from btpy.engine.declarations import map_declarations, probe_declarations, sampling_declaration
from btpy.engine.description import Description, Place
from btpy.engine.event_queue import EventQueue
from btpy.engine.instrumentation import LOST_PARAMETER_NAMES, AgentProbe, Hook, Instrumentation, handler_classes
from btpy.engine.matcher import Matcher, look_up, refused
from btpy.engine.matching import Matching, listed
from btpy.engine.preweave import Preweaver, names_wanted
from btpy.engine.receipt import Receipt as Receipt
from btpy.engine.receipt import tallies
from btpy.engine.secret_messages import AnyMessage, mask
from btpy.engine.target import Limits as Limits
from btpy.engine.target import Target, without_effect
from btpy.engine.target import lost as target_lost
from btpy.engine.weave_state import WeaveState
from btpy.errors import AttachError, BtpyError, ProtocolError, ScriptError, TargetGone, UsageError
from btpy.events.added_secrets import AddedSecrets
from btpy.events.aggregates import MapContent, decode_contents
from btpy.events.allowance import Allowance
from btpy.events.items import Item as Item
from btpy.events.items import ItemDecoder
from btpy.events.items import PrintedMaps as PrintedMaps
from btpy.events.items import ProbeTally as ProbeTally
from btpy.events.items import Records as Records
from btpy.events.progress import Progress, Work
from btpy.events.stacks import StackTable
from btpy.frozen import dataclass
from btpy.jvm import endings, problems, processes, procfs
from btpy.jvm.connecting import Connecting, silent
from btpy.jvm.launching import Launching
from btpy.jvm.processes import JvmProcess
from btpy.lang.outline import grow
from btpy.lang.program import Probe, Program
from btpy.model.attachments import BeginAttachment, EndAttachment, LowMemoryAttachment, event_number
from btpy.model.diagnostics import Diagnostic
from btpy.model.outline import Outline
from btpy.model.patterns import ClassPatternKind, class_patterns
from btpy.model.permissions import Permissions
from btpy.model.sampling import Limit, Sampling
from btpy.model.secrets import NO_SECRETS
from btpy.plan.diagnose import no_pool
from btpy.plan.listing import ListedProbe
from btpy.plan.plan import Refusal, Site, failure_reason
from btpy.wire import messages
from btpy.wire.channel import Channel, Tap
from btpy.wire.fingerprint import fingerprint
from btpy.wire.messages import (
    ClassBytes,
    Classes,
    Late,
    LateOutcome,
    LoadedClass,
    Maps,
    Message,
    Pattern,
    Restored,
    SessionInfo,
    Stacks,
    TellKind,
    Trouble,
    Welcome,
)

MAX_PROBES = MAX_MAPS = 4096
"""What a session takes, those that have been removed included."""

LOOKS = 5
MOST_LISTED = 200_000
"""Classes in one listing of all."""

FORESEEING_SECONDS = 2.0
"""What a JVM that starts may wait for classes to be woven before it loads them."""

BETWEEN_LOOKS = 0.05
"""How often, and seconds between, a class is looked for that was being loaded while the probes changed."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """A program in its target. ``weave_ns``: in which its classes were retransformed, in batches; ``waited_ns``: of
    that, for woven bytes; ``longest_pause_ns``: the longest that a batch stopped the target. ``put_back``: classes that
    have their original bytes again because the last probe in them has gone. ``loaded_meanwhile``: classes that were
    loaded while no client was connected, and got their probes only now."""

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


class _PreparedVersion(NamedTuple):
    """A program as far as it is known before anything of the target is touched."""

    program: Program
    version: Instrumentation
    matcher: Matcher
    matching: Matching
    warnings: tuple[Diagnostic, ...]
    handlers: tuple[messages.HandlerClass, ...]


class Session:
    """Made by :meth:`attach` or :meth:`join`. Probes may be changed by any thread, one at a time; items are for one
    thread to take. One that was joined has a ``deployment`` already, a ``name``, and ``ttl`` seconds left of its time;
    it was ``age`` seconds old then.
    ``outline``: of all that the target may send anything of. ``allowance``: for records that are taken; None: for all.

    All methods raise TargetGone when the target has ended or does not answer, and ProtocolError when its agent broke
    the protocol; the connection is over then, and the agent restores the classes if it still runs.
    """

    def __init__(
        self, process: JvmProcess, connection: socket.socket, welcome: Welcome, tap: Tap | None = None
    ) -> None:
        self.target = Target.of(process, welcome)
        self.stacks = StackTable()
        self.outline = Outline([], [], [], [])
        self._added_secrets: AddedSecrets | None = None
        self._instrumentation: Instrumentation | None = None
        self.allowance: Allowance | None = None
        self._limits: Limits | None = None  # of one that was joined they are not known
        self._decoder = ItemDecoder()
        self._restored: Restored | None = None
        self._late_bound: tuple[str, ...] = ()
        self._event_queue = EventQueue(self._release)
        self._changing = threading.RLock()
        self._others = threading.Lock()
        self._preweaving = threading.Lock()
        self._ready = threading.Event()
        lost = partial(target_lost, process)
        self._channel = Channel(connection, self._deliver, self._ended, tap, lost)
        self._agent = Agent(self._channel, lost, self.target.loaded_classes)
        self._ready.set()
        self._weave_state = WeaveState(0, self.target.java_version)
        self._sent_before: dict[int, int] = {}  # records of a probe that went to clients who have left
        self._preweaver: Preweaver | None = None
        self._loaded: set[str] = set()  # names of classes that match and are there: not all of them
        self._starting = False
        self.deployment: Deployment | None = None
        self.name, self.ttl, self.age = "", 0.0, 0.0

    @staticmethod
    def attach(target: JvmProcess | int | str, limits: Limits | None = None) -> Session:
        """Attach to a JVM: one that was found, a pid, or a name as :func:`btpy.jvm.processes.find` takes it.

        Raises AttachError with what stands in the way and what to do about it.
        """
        with Connecting(target) as connecting:
            return Session.connected(connecting, limits)

    @staticmethod
    def connected(connecting: Connecting | Launching, limits: Limits | None = None, tap: Tap | None = None) -> Session:
        """The session of an attach that was begun before; ``tap``: as of :class:`Channel`. Raises AttachError as
        :meth:`attach`."""
        session = Session._connected(connecting, tap)
        session._starting = isinstance(connecting, Launching)
        session._limits = limits or Limits()
        with session._beginning():
            configured = session._channel.configure(session._limits.message, ANSWER_SECONDS)
        session._weave_state = WeaveState(configured.slot, session.target.java_version)
        return session

    @staticmethod
    def join(connecting: Connecting, wanted: str, *, take_over: bool = False, read: bool = True) -> Session:
        """The session that was left under this id or name (:meth:`leave`), with its program, its maps, and
        what its probes produced since. Classes that it is about and that were loaded meanwhile are woven.

        ``take_over``: from a client that has joined it. ``read`` False: without its program, only to end it.

        Raises UsageError when there is none, or it cannot be joined; AttachError as :meth:`attach`; Unreadable when it
        is not known what its ids mean.
        """
        session = Session._connected(connecting)
        with session._beginning():
            found = sessions.chosen(session.others(), wanted)
            description = session._join(found, take_over)
            session.age = found.age_ns / 1e9
            if read:
                session._take_up(Description.decode(description, session.target.agent_build, session._place))
        return session

    @staticmethod
    def enquire(connecting: Connecting) -> Session:
        """A connection that has no session of its own: for :meth:`others`, :meth:`tell`, and to be closed."""
        return Session._connected(connecting)

    @staticmethod
    def _connected(connecting: Connecting | Launching, tap: Tap | None = None) -> Session:
        connection, welcome = connecting.take()  # first: it says best why there is none
        try:
            process = connecting.process
        except AttachError:
            connection.close()
            raise
        return Session(process, connection, welcome, tap)

    @contextlib.contextmanager
    def _beginning(self) -> Iterator[None]:
        """Closes the connection where it does not come to a session. Raises AttachError where that is because the JVM
        ends (BT507) or stands still (BT513)."""
        process = self.target.process
        try:
            yield
        except TimeoutError:
            self.close()
            raise silent(process, ANSWER_SECONDS) from None
        except BaseException as error:
            self.close()
            if isinstance(error, TargetGone) and not processes.is_alive(process):
                raise problems.ended(process.pid, endings.likely_causes(process)) from None
            raise

    def others(self) -> tuple[SessionInfo, ...]:
        """The sessions in the target; only before this one has begun."""
        return self._agent.sessions()

    def tell(self, other: SessionInfo, kind: TellKind, number: int) -> None:
        """Send an event to another session, or set its level; only before this one has begun."""
        self._agent.tell(other.id, kind, number)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    # ---------------------------------------------------------------- what would be

    def match(self, program: Program, *, allow: Iterable[str] = ()) -> Matching:
        """What the program's probes match in the target; of one that extends the session's, those of its last script.
        Touches nothing there.

        Raises UsageError for a malformed pattern or for one that matches more than MAX_CLASSES classes.
        """
        return self._matched(program, allow)[1]

    def listing(
        self, program: Program, *, allow: Iterable[str] = (), first: int | None = None
    ) -> tuple[Matching, tuple[ListedProbe, ...]]:
        """What the program's method probes match, for people to read. Touches nothing in the target.

        ``first``: of more classes only so many, by name, are looked at. Raises UsageError as :meth:`match`, but where
        ``first`` is given not for too many classes.
        """
        matcher, matching = self._matched(program, allow, first)
        hierarchy = matcher.instrumentation.weave_state.hierarchy
        return matching, listed(program, matcher.instrumentation.planner, matching, hierarchy.ancestors)

    def _matched(self, program: Program, allow: Iterable[str], first: int | None = None) -> tuple[Matcher, Matching]:
        with self._changing, interpreter.gc_paused():
            earlier = self._instrumentation if program.earlier is not None else None
            weave_state = (
                self._weave_state
                if earlier is not None
                else WeaveState(self._weave_state.slot, self.target.java_version)
            )
            instrumentation = Instrumentation(program, weave_state, frozenset(allow), earlier)
            matcher = Matcher(self._agent, self.target, instrumentation, program.own)
            with instrumentation.planner.knowledge.asking(self._agent):
                matching = matcher.match(first)
            self._late_bound = tuple(instrumentation.planner.knowledge.late_bound)
        return matcher, matching

    def loaded_classes(self, since: int = 0) -> Classes:
        """The classes that are loaded; ``since``: ``request`` of an earlier answer, only those loaded after it."""
        return self._agent.search((Pattern(ClassPatternKind.REGEX, ".*"),), MOST_LISTED, since)

    def named(self, name: str) -> tuple[LoadedClass, ...]:
        """The loaded classes of a name: several where several loaders have one."""
        return self._agent.named((name,))

    # ---------------------------------------------------------------- putting probes in, taking them out

    @property
    def program(self) -> Program | None:
        """What runs: extend it to load more. None before the first."""
        return self._instrumentation.program if self._instrumentation is not None else None

    def load(
        self,
        program: Program,
        *,
        missing: str = "error",
        allow: Iterable[str] = (),
        level: int = 0,
        replacing: Collection[int] = (),
    ) -> Deployment:
        """Put the probes of a program in; a further one extends the session's (``program.earlier``).

        ``missing``: what it is when a probe matches no code now (``error``, ``warn``, ``ignore``; ``all``: an error
        where no other matches either, else nothing); a probe with
        ``pending`` may always wait for its classes. ``allow``: capabilities given with ``--allow``.
        ``level``: probes with a higher ``@Level`` start disabled. ``replacing``: probes that go when the new ones come.
        Those in methods still fire in the activations that began with them, so that no hit is lost.

        Raises ScriptError when a probe does not fit a method that it matches, NothingMatched, CompileError, UsageError
        as :meth:`match` and for a program that does not extend the session's. What ran before runs on then.
        """
        with self._changing, interpreter.gc_paused():
            before = self._instrumentation
            ready = self._prepared(program, missing, allow, replacing)
            after, version, matcher, matching = ready.program, ready.version, ready.matcher, ready.matching
            warnings, handlers = ready.warnings, ready.handlers
            own = after.own
            ids = frozenset(probe.id for probe in own)
            version.refused(matching.refusals)
            version.told(warnings)
            maps = after.maps[len(program.earlier.maps) if program.earlier is not None else 0 :]
            declared = probe_declarations(own, after.maps, dict(after.settings), level)
            grow(self.outline, after)
            self._stop_foreseeing()
            try:
                self._agent.install(map_declarations(maps), declared, handlers)
                version.installed(handler.name for handler in handlers)
                self._run_once(version.begin_probes(ids))
                for hook in version.hooks(ids):
                    self._hook(hook, after)
                self._instrumentation = version
                watches = bool(version.watched or (before is not None and before.watched))
                watched = self._agent.watch(version.watched) if watches else None
                result = self._change(version, matching.to_weave, replacing, searches=watches)
                if watched is not None:
                    watched()
                    matching, more = self._weave_loaded_meanwhile(version, matcher, matching)
                    result = together(result, more)
                self._weave_callers_of_loaded(version, ids)
                warnings += matcher.missed_after_all(matching, missing)
                for probe, period in version.timers(ids):
                    self._agent.run_every(period, probe.site, probe.handler.class_name)
            except (TargetGone, ProtocolError):
                raise
            except BtpyError:
                self._go_back(before, version, ids)
                raise
            if before is not None:
                self._end(before, replacing)
            self._foresee(version, matching)
            return Deployment(
                program=after,
                matching=matching,
                sites=version.woven_sites(),
                refusals=version.refused_code(),
                warnings=warnings,
                batches=result.batches,
                longest_pause_ns=result.longest_ns,
                weave_ns=result.total_ns,
                waited_ns=result.waited_ns,
                put_back=result.put_back,
            )

    def rehearse(
        self, program: Program, *, missing: str = "error", allow: Iterable[str] = (), replacing: Collection[int] = ()
    ) -> None:
        """What :meth:`load` does before it touches anything. Raises what it would."""
        with self._changing, interpreter.gc_paused():
            self._prepared(program, missing, allow, replacing)

    def _prepared(
        self, program: Program, missing: str, allow: Iterable[str], replacing: Collection[int]
    ) -> _PreparedVersion:
        before = self._instrumentation
        if before is not None and program.earlier is None:
            raise UsageError("this session has a program already", help=["extend it: check_source(…, earlier=…)"])
        after = program.without(replacing)
        if len(after.probes) > MAX_PROBES or len(after.maps) > MAX_MAPS:
            raise UsageError("there is no room for more probes in this session", help=["detach, and attach again"])
        version = Instrumentation(after, self._weave_state, frozenset(allow), before)
        matcher = Matcher(self._agent, self.target, version, after.own)
        with version.planner.knowledge.asking(self._agent):
            matching = matcher.match()
        self._late_bound = tuple(version.planner.knowledge.late_bound)
        warnings = matcher.settle(matching, missing)
        if self._limits is not None:
            warnings = (*warnings, *without_effect(after, self._limits))
        handlers = handler_classes(version.prepare(matching.classes, frozenset(probe.id for probe in after.own)))
        return _PreparedVersion(after, version, matcher, matching, warnings, tuple(handlers))

    def remove(self, probes: Collection[int]) -> int:
        """Take probes out: they fire no more when this returns, and classes without a probe have their original bytes
        again. A script of which only ``@OnBegin`` and ``@OnEnd`` are left is over: its ``@OnEnd`` probes run and go.

        Returns how many classes were put back.
        """
        with self._changing, interpreter.gc_paused():
            before = self._instrumentation
            if before is None:
                return 0
            gone = frozenset(probes) - before.program.removed
            ended = self._over(before.program, gone)
            self._stop_foreseeing()
            self._agent.remove(sorted(gone), [each.site for each in before.on_agent(gone)])
            version = Instrumentation(before.program.without(gone | ended), self._weave_state, before.allow, before)
            self._instrumentation = version
            if before.watched:
                self._agent.watch(version.watched)()
            result = self._change(version, (), gone)
            self._run_once(before.end_probes(ended))
            self._agent.remove(sorted(ended), [])
            self._foresee(version)
            return result.put_back

    @staticmethod
    def _over(program: Program, gone: Collection[int]) -> frozenset[int]:
        """What is left of the scripts that are over without these probes."""
        over: set[int] = set()
        for script in program.scripts:
            left = [probe for probe in script.own if probe.id not in program.removed and probe.id not in gone]
            touched = any(probe.id in gone for probe in script.own)
            if touched and all(isinstance(probe.attachment, BeginAttachment | EndAttachment) for probe in left):
                over.update(probe.id for probe in left)
        return frozenset(over)

    def _end(self, before: Instrumentation, replaced: Collection[int]) -> None:
        """Ends what is left of replaced probes: timers, hooks, and ``@OnEnd``, which runs."""
        on_agent = before.on_agent(replaced)
        ends = before.end_probes(replaced)
        if on_agent:
            stopped = [each for each in on_agent if each not in ends]
            self._agent.remove([each.probe for each in stopped], [each.site for each in stopped])
            self._run_once(ends)
            self._agent.remove([each.probe for each in ends], [])

    def _go_back(self, before: Instrumentation | None, failed: Instrumentation, ids: frozenset[int]) -> None:
        """To what ran before probes came that could not stay."""
        removed = before.program.removed if before is not None else frozenset()
        program = replace(failed.program, removed=removed | ids)
        version = Instrumentation(program, self._weave_state, failed.allow, before or failed)
        self._instrumentation = version
        self._agent.remove(sorted(ids), [each.site for each in failed.on_agent(ids)])
        if failed.watched:
            self._agent.watch(version.watched)()
        self._change(version, (), ids)
        self._foresee(version)

    def _weave_loaded_meanwhile(
        self, version: Instrumentation, matcher: Matcher, matching: Matching
    ) -> tuple[Matching, messages.WeaveResult]:
        """Weaves what was loaded before WATCH, and what the agent has loaded as it wove: the JVM verifies classes with
        others."""
        result = NOTHING_WOVEN
        for left in reversed(range(LOOKS)):
            later = matcher.loaded_meanwhile(matching)
            if not later.classes and not later.refusals:
                break
            matching = matching.with_those_of(later)
            fitting = [each for each in later.classes if each.planned is not None and not each.planned.problems]
            handlers = handler_classes(version.prepare(fitting, frozenset()))
            if handlers:
                self._agent.install((), (), handlers)
                version.installed(handler.name for handler in handlers)
            result = together(result, self._weave(version, later.to_weave, searches=left > 0))
        return matching, result

    def _change(
        self,
        version: Instrumentation,
        matched: Iterable[LoadedClass],
        gone: Collection[int],
        *,
        searches: bool = False,
    ) -> messages.WeaveResult:
        """Weaves the classes that the version wants otherwise: those that match, and those that hold what is gone or a
        handler in which one of these ran. ``searches``: as of :meth:`_weave`."""
        weave_state, hosts = (
            self._weave_state,
            {version.program.fires_in(version.program.probes[id_]).id for id_ in gone},
        )
        with weave_state.lock:
            stale = set(weave_state.holding((*gone, *hosts)))
        classes = {each.id: each for each in matched}
        for each in self._agent.named(sorted({name for name, _ in stale})):
            if (each.name, each.loader) in stale and refused(each) is None:
                classes[each.id] = each
        result = self._weave(version, list(classes.values()), searches=searches)
        self._weave_arrived(version)
        return result

    def _weave_arrived(self, version: Instrumentation) -> None:
        """Weaves classes that an earlier version was asked about while they were being loaded, and that may not have
        been found among the loaded ones yet."""
        with self._weave_state.lock:
            wanted = self._weave_state.take_arriving(version)
        for look in range(LOOKS):
            named = self._agent.named(sorted({name for name, _ in wanted}))
            found = [each for each in named if (each.name, each.loader) in wanted]
            self._weave(version, [each for each in found if refused(each) is None])
            wanted -= {(each.name, each.loader) for each in found}
            if not wanted:
                return
            if look + 1 < LOOKS:
                time.sleep(BETWEEN_LOOKS)

    def _foresee(self, version: Instrumentation, matching: Matching | None = None) -> None:
        """Begins to weave what may be loaded later."""
        if matching is not None:
            self._loaded.update(each.loaded.name for each in matching.classes)
        if version.foresees and self.target.process.shares_files:
            with self._weave_state.lock:
                self._loaded.update(name for name, _ in self._weave_state.woven)
            named = version.named(self._loaded)
            if named:
                wanted = names_wanted(named, self._loaded)
                with self._preweaving:
                    self._preweaver = Preweaver(self._agent, self.target.process, version, wanted)

    def _stop_foreseeing(self) -> None:
        """From now on the agent asks about every class; which ones it has not asked about is known."""
        with self._preweaving:
            if self._preweaver is not None:
                self._preweaver.stop()
                self._agent.foresee((), anew=True)
                with self._weave_state.lock:
                    self._weave_state.forget_foreseen()
                self._preweaver = None

    def _weave(
        self, version: Instrumentation, classes: Iterable[LoadedClass], *, searches: bool = False
    ) -> messages.WeaveResult:
        """``searches``: classes that the agent loads on the way are looked for here; else it weaves them itself."""
        listed = list(classes)
        loses_names = LOST_PARAMETER_NAMES in version.allow
        result = self._agent.weave(listed, version.weave_ahead, searches=searches, loses_names=loses_names)
        version.retransformed(listed, {failure.class_id for failure in result.failures})
        names = {loaded.id: loaded.name for loaded in listed}
        version.refused(
            Refusal(failure_reason(failure.error), names.get(failure.class_id, "?"), None, failure.error)
            for failure in result.failures
        )
        return result

    def _weave_callers_of_loaded(self, version: Instrumentation, ids: Collection[int]) -> None:
        """For types that operations are about and that were loaded between the first SEARCH and WATCH."""
        for loaded in self._agent.found(version.owner_patterns(ids)).classes:
            version.learn(loaded)
            self._weave_named(version, version.callers(loaded.name))

    def _weave_named(self, version: Instrumentation, names: Iterable[str]) -> None:
        """Weaves loaded classes, by name, again or for the first time."""
        self._weave(version, [loaded for loaded in self._agent.named(list(names)) if refused(loaded) is None])

    def _run_once(self, probes: Iterable[AgentProbe]) -> None:
        for probe in probes:
            self._agent.run_every(0, probe.site, probe.handler.class_name)

    def _hook(self, hook: Hook, program: Program) -> None:
        """Raises ScriptError for a memory pool that is not there."""
        error = self._agent.hook(hook)
        if error and isinstance(hook.probe.attachment, LowMemoryAttachment):
            raise ScriptError([no_pool(program.probes[hook.probe.probe], error)])
        if error:
            raise BtpyError(f"the agent refused HOOK: {error}")

    # ---------------------------------------------------------------- running probes

    def set_level(self, level: int) -> None:
        """Enable the probes of this level and below, disable those above; ``@Disabled`` ones stay as they are."""
        self._agent.level(level)

    def go(self) -> None:
        """Let a JVM that was started with the agent run its main method; does nothing to others. It waits until classes
        that it is going to load are woven, FORESEEING_SECONDS at most."""
        if self._starting:
            self.finish_foreseeing(FORESEEING_SECONDS)
        self._agent.go()

    def finish_foreseeing(self, seconds: float) -> None:
        """Wait until classes that may be loaded later are woven, so long at most."""
        preweaver = self._preweaver
        if preweaver is not None:
            with self.progress.of(Work.FORESEEING, 0):
                preweaver.finish(seconds)

    def enable(self, probe: int, on: bool) -> None:
        self._agent.enable(probe, on)

    def sample(self, probe: int, sampling: Sampling) -> None:
        """Change which hits of a probe fire; it must sample already (``Probe.sampling``)."""
        self._agent.sample(probe, *sampling_declaration(sampling))

    def limit(self, probe: int, limit: Limit) -> None:
        """Change how often a probe may fire, counted from now on."""
        self._agent.limit(probe, limit.hits, limit.rate, limit.lifetime)

    def send(self, event: str) -> None:
        """Run the ``@OnEvent`` probes of that name; returns when they have run."""
        self._agent.send(event_number(event) & 0xFFFFFFFF)

    def loaded(self, patterns: Iterable[str], most: int = MAX_CLASSES) -> tuple[LoadedClass, ...]:
        """Loaded classes that match one of the patterns, as ``class=`` takes them. Raises UsageError for a malformed
        one."""
        found = [each for text in patterns for each in class_patterns(text)]
        return self._agent.search(tuple(Pattern(each.kind, each.text) for each in found), most).classes

    def class_file(self, name: str) -> bytes | None:
        """Of a loaded class; None when none of that name is loaded, or it has no class file."""
        return self._agent.class_file(name)

    def subtypes(self, name: str, most: int) -> list[bytes]:
        """Class files of loaded subtypes."""
        return self._agent.subtypes(name, most)

    @property
    def sites(self) -> Mapping[int, Site]:
        """Every woven place by the id that records carry; grows as classes are loaded."""
        return self._weave_state.sites

    @property
    def progress(self) -> Progress:
        """Of what takes long, whichever thread has asked for it."""
        return self._agent.progress

    def methods(self, probe: int) -> list[tuple[str, str]]:
        """Class and name of the methods that the probe has been put into."""
        with self._weave_state.lock:
            return [(class_name, method) for class_name, _, method, _ in self._weave_state.methods(probe)]

    def refresh(self) -> None:
        """Has the target report its counters now."""
        self._agent.refresh()

    @property
    def counters(self) -> messages.Counters:
        """As the target has reported them last."""
        return self._event_queue.counters

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """Code that was left alone so far, and why."""
        return self._instrumentation.refused_code() if self._instrumentation is not None else ()

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        """Why probes do not fit methods of classes that were loaded after the program was."""
        return self._instrumentation.late_problems() if self._instrumentation is not None else ()

    @property
    def late_bound(self) -> tuple[str, ...]:
        """Fields that are looked up at each firing although the class of the object is known, in words."""
        return self._late_bound

    # ---------------------------------------------------------------- what comes back

    def items(self, timeout: float | None = None) -> Iterator[Item]:
        """What arrives within ``timeout`` seconds (None: until the session ends), in order.

        When the time is over the iteration ends even if more is waiting, after at least one item if there was one.
        Taking the next item gives the target credit for more events. When the connection has ended, everything that
        came before is yielded first; then what ended it is raised, unless it was :meth:`detach` or :meth:`close`.
        """
        for message in self.received(timeout):
            yield self.item(message)

    def received(self, timeout: float | None = None) -> Iterator[Message]:
        """As :meth:`items`, the messages as they came, with secrets in texts masked."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (message := self._event_queue.take(deadline)) is not None:
            yield self._without_secrets(message)
            if deadline is not None and time.monotonic() >= deadline:
                return
        if self._event_queue.exhausted and self._event_queue.failure is not None:
            raise self._event_queue.failure

    def _without_secrets(self, message: AnyMessage) -> AnyMessage:
        if not self.outline.redact:
            return message
        return mask(message, self._added_secrets, {each.id: each for each in self.outline.maps})

    def hide(self, permissions: Permissions) -> None:
        """Hide in what comes back, from now on, what these say. By default what btpy knows as secrets is hidden."""
        self.outline.redact = permissions.redact
        secrets = permissions.secrets
        self._added_secrets = AddedSecrets(secrets) if secrets != NO_SECRETS else None

    def item(self, message: Message) -> Item:
        """What a message says; they have to be given in order, each once."""
        return self._decoder.item(message, self.outline, self.allowance)

    def snapshot(self, maps: Iterable[int] | None = None) -> list[MapContent]:
        """The maps of the program as they are now; ``maps``: ids, None for all."""
        return [content for answer in self.snapshots(maps) for content in self.contents(answer)]

    def snapshots(self, maps: Iterable[int] | None = None) -> list[Maps]:
        """As :meth:`snapshot`, the messages as they came: one by one, so that each map has a frame for itself."""
        wanted = [each.id for each in self.outline.maps] if maps is None else maps
        answers = [self._agent.snapshot(each) for each in wanted]
        return [self._without_secrets(answer) for answer in answers]

    def contents(self, answer: Maps) -> list[MapContent]:
        return decode_contents(answer.contents, {each.id: each for each in self.outline.maps})

    @property
    def tallies(self) -> tuple[ProbeTally, ...]:
        """Records by probe as far as the target has reported; exact after :meth:`detach`."""
        probes = self._instrumentation.program.probes if self._instrumentation is not None else ()
        return tallies(probes, self._event_queue.counters, self._event_queue.delivered.copy(), self._sent_before)

    # ---------------------------------------------------------------- leaving

    def restore(self) -> Restored:
        """Stop all probes, put every class back, then run ``@OnEnd``. Maps can still be read. Once only."""
        with self._changing:
            if self._restored is None:
                preweaver = self._preweaver
                if preweaver is not None:
                    preweaver.stop()
                self._event_queue.accept_all()
                with self.progress.of(Work.RESTORING, len(self._weave_state.woven)):
                    self._restored = self._agent.restore()
                if self._instrumentation is not None:
                    active = frozenset(probe.id for probe in self._active)
                    self._run_once(self._instrumentation.end_probes(active))
            return self._restored

    def leave(self, ttl: float, name: str = "") -> int:
        """Go, and let the probes stay: for ``ttl`` seconds at most, then the agent puts everything back by itself.

        What they produce is kept, as far as there is room, for who joins the session by the id that is returned, or by
        ``name``. Its limits should have said ``unattended``. Items that had not been taken can still be taken.

        Raises UsageError when the target refuses; the session is as it was then.
        """
        with self._changing:
            version = self._instrumentation
            if version is None:
                raise UsageError("a session without a program cannot be left")
            self._stop_foreseeing()
            with self._weave_state.lock:
                agent_sites = tuple((each.probe, each.site) for each in version.agent_probes)
                description = Description(version.program, tuple(self._weave_state.sites.values()), agent_sites)
            data = description.encode(self.target.agent_build, self._place)
            self._event_queue.accept_all()
            answer = self._agent.leave(max(1, min(round(ttl * 1000), 0x7FFFFFFF)), name, data)
            if answer.error:
                raise UsageError(f"the session cannot be left: {answer.error}")
            self.close()
            return answer.session

    def detach(self) -> Receipt:
        """Restore if that was not done, have the agent empty its buffers and leave; what it says is the receipt.

        Items that had not been taken can still be taken afterwards.
        """
        restored = self.restore()
        farewell = self._agent.detach()
        self.close()
        return Receipt.of(restored, farewell, self.tallies, self._event_queue.dropped)

    def close(self) -> None:
        """Close the connection, whatever state it is in; the agent then puts back what is still woven and leaves."""
        preweaver = self._preweaver
        if preweaver is not None:
            preweaver.abandon()
        self._channel.close()

    # ---------------------------------------------------------------- inside

    def _join(self, wanted: SessionInfo, take_over: bool) -> bytes:
        """What the client that left has to say to the next one."""
        joined = self._agent.join(wanted.id, take_over)
        if joined.error:
            raise UsageError(
                f"session {sessions.id_text(wanted)} cannot be joined: {joined.error}",
                help=["btpy sessions PID shows who is there"],
            )
        self.name, self.ttl = sessions.name_of(joined), joined.ttl_ns / 1e9
        self._weave_state = WeaveState(joined.slot, self.target.java_version)
        self._sent_before = {each.probe: each.records for each in joined.handed_over}
        return joined.description

    def _take_up(self, description: Description) -> None:
        program, weave_state = description.program, self._weave_state
        version = Instrumentation(program, weave_state, program.permissions.allow)
        version.resume(description.agent_sites)
        with weave_state.lock:
            weave_state.resume(description.sites, [site for _, site in description.agent_sites])
            woven = set(weave_state.woven)
        grow(self.outline, program)
        self._instrumentation = version
        if version.watched:
            self._agent.watch(version.watched)()
        matcher = Matcher(self._agent, self.target, version, program.active)
        with version.planner.knowledge.asking(self._agent):
            matching = matcher.match()
        version.refused(matching.refusals)
        result = self._weave(version, [each for each in matching.to_weave if (each.name, each.loader) not in woven])
        with weave_state.lock:
            fresh = sorted({name for name, _ in weave_state.woven} - {name for name, _ in woven})
        self.deployment = Deployment(
            program=program,
            matching=matching,
            sites=version.woven_sites(),
            refusals=version.refused_code(),
            warnings=(),
            batches=result.batches,
            longest_pause_ns=result.longest_ns,
            weave_ns=result.total_ns,
            waited_ns=result.waited_ns,
            put_back=result.put_back,
            loaded_meanwhile=tuple(fresh),
        )
        self._foresee(version, matching)

    @property
    def _place(self) -> Place:
        return Place(procfs.boot_id(), self.target.process.start_ticks, self._weave_state.slot)

    @property
    def _active(self) -> tuple[Probe, ...]:
        return self._instrumentation.program.active if self._instrumentation is not None else ()

    def _answer_with_others(self, asked: ClassBytes) -> None:
        """For a class that others depend on, or that depends on types which have to be looked up.

        A class that is being loaded waits for that, not longer than for any answer. One that is loaded and being
        retransformed is answered for at once: the agent retransforms, and looks up, in one thread.
        """
        # One at a time: what one has looked up the next one may count on.
        with self._others, contextlib.suppress(BtpyError):  # the end of the connection is reported in its place
            version = self._instrumentation
            assert version is not None
            if asked.class_id:
                self._answer(asked)
                self._weave_named(version, version.callers(asked.name))
                return
            others = (*look_up(self._agent, version), *version.callers(asked.name))
            self._weave_named(version, [name for name in others if name != asked.name])
            self._answer(asked)

    def _answer_with_room(self, asked: ClassBytes) -> None:
        """For a class that is being loaded and that may leave no room for those that are foreseen."""
        with contextlib.suppress(BtpyError):  # likewise
            self._answer(asked)

    def _answer(self, asked: ClassBytes) -> None:
        while (answer := self._woven(asked)) is None:
            self._stop_foreseeing()
        self._channel.send(answer)

    # ---------------------------------------------------------------- on the thread that reads

    def _deliver(self, message: Message) -> None:
        self._ready.wait()
        if isinstance(message, ClassBytes):
            self._loaded.add(message.name)
            if message.class_id:
                self.progress.advance()
            instrumentation = self._instrumentation
            if instrumentation is not None and instrumentation.depends(message):
                # It needs answers, and this is the thread that reads them.
                threading.Thread(
                    target=self._answer_with_others, args=(message,), name="btpy-others", daemon=True
                ).start()
            else:
                answer = self._woven(message)
                if answer is not None:
                    self._channel.reply(answer)
                else:
                    threading.Thread(
                        target=self._answer_with_room, args=(message,), name="btpy-others", daemon=True
                    ).start()
        elif isinstance(message, Late) and message.foreseen:
            with self._weave_state.lock:
                if not self._weave_state.arrived(message.foreseen, message.loader):
                    raise ProtocolError(f"LATE tells of {message.foreseen}, which was not foreseen")
            if message.outcome is LateOutcome.WOVEN:
                self._event_queue.put(message)
        elif isinstance(message, Stacks):
            for stack in message.stacks:
                self.stacks.add(stack)
        elif not isinstance(message, Trouble):  # the channel reports that one
            self._event_queue.put(message)

    def _ended(self, failure: BtpyError | None) -> None:
        self._event_queue.end(failure)

    def _release(self, size: int) -> None:
        with contextlib.suppress(BtpyError):  # the connection is over: what ended it is reported in its place
            self._channel.send(messages.Release(size))

    def _woven(self, asked: ClassBytes) -> messages.Woven | None:
        """None: what is foreseen has to be taken back first (:meth:`Instrumentation.answer`)."""
        with self._weave_state.lock:
            before = self._weave_state.places(asked.name, asked.loader)
        while (version := self._instrumentation) is not None:
            answer = version.answer(asked)
            if version is self._instrumentation:  # who replaced it meanwhile counts on no more answers of it
                if asked.changed:
                    self._event_queue.put(version.changed(asked, before))
                return answer
        return messages.Woven(asked.request, fingerprint(asked.data), messages.Verdict.UNCHANGED, (), (), b"")
