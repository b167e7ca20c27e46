"""One attached target.

    with Session.attach("OrderApp") as session:
        session.load(program)
        for item in session.items(timeout=10):
            …
        receipt = session.detach()

Loading a program goes: search for the classes that its patterns match → read their class files and plan → define its
handlers → run ``@OnBegin`` → watch for classes being loaded → weave → start its timers. Nothing of the target is
touched before the plan is known to be right.

The thread that reads what the target sends also weaves, at once and whatever the caller is doing: an application thread
may be waiting. Leaving the ``with`` block without :meth:`Session.detach` (an exception, Ctrl-C in the middle
of anything) closes the connection, and the agent puts every class back by itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import TypeVar

from btpy.classfile.reader import ClassFile
from btpy.errors import (
    BtpyError,
    ClassFileError,
    NothingMatched,
    ScriptError,
    TargetGone,
    UsageError,
)
from btpy.events.aggregates import MapContent, decode_contents
from btpy.events.items import Item as Item
from btpy.events.items import ItemDecoder, cost_of
from btpy.events.items import PrintedMaps as PrintedMaps
from btpy.events.items import ProbeTally as ProbeTally
from btpy.events.items import Records as Records
from btpy.events.stacks import StackTable
from btpy.jvm.processes import JvmProcess
from btpy.lang.diagnostics import Diagnostic
from btpy.lang.program import LowMemoryAttachment, Map, MethodAttachment, Probe, Program, event_number
from btpy.plan import diagnose
from btpy.plan.diagnose import TargetFacts, no_pool
from btpy.plan.listing import ListedProbe
from btpy.plan.patterns import class_patterns
from btpy.plan.plan import Refusal, RefusalReason, Site
from btpy.session.connecting import Connecting
from btpy.session.declarations import is_enabled, map_declarations, probe_declarations
from btpy.session.inbox import Inbox
from btpy.session.instrumentation import AgentProbe, Hook, Instrumentation, handler_classes
from btpy.session.launching import Launching
from btpy.session.matching import Inventory, MatchedClass, Matching, listed, why_missing
from btpy.values import dataclass
from btpy.wire import messages
from btpy.wire.channel import Channel
from btpy.wire.messages import (
    ClassBytes,
    Classes,
    ClassFiles,
    Configure,
    Done,
    Farewell,
    Install,
    LoadedClass,
    LoadedRefusal,
    Maps,
    Message,
    NotRestored,
    Pattern,
    PatternKind,
    ProbeState,
    Restored,
    Search,
    Stacks,
    Trouble,
    Welcome,
)

ANSWER_SECONDS = 30.0
"""How long the agent may take for what touches no class."""

RESTORE_SECONDS = 120.0
"""How long it may take to put all classes back; the longest part of leaving."""

MAX_CLASSES = 20_000
"""Loaded classes that the patterns of a program may match."""

INSTALL_BYTES = 4 * 1024 * 1024
"""Handler classes in one INSTALL; more go in further ones."""

LOOK_UP_AT_ONCE = 500
"""Types in one LOOK_UP; the agent answers with their supertypes too."""

READ_AT_ONCE = 64
"""Classes in one READ; the agent answers with as many as fit into a frame."""

Answer = TypeVar("Answer", bound=Message)


@dataclass(frozen=True, slots=True)
class Limits:
    """What CONFIGURE says; milliseconds, bytes and counts."""

    lease_ms: int = 10_000
    class_load_deadline_ms: int = 1_000
    event_buffer_bytes: int = 8 * 1024 * 1024
    string_chars: int = 200
    depth: int = 2
    elements: int = 20
    fields: int = 20
    stack_frames: int = 32
    pause_budget_ms: int = 20
    redact: bool = True

    @staticmethod
    def of(settings: Mapping[str, object]) -> Limits:
        """What the ``config`` of a script asks for."""
        given = {name: settings[setting] for name, setting in _LIMIT_OF_SETTING.items() if setting in settings}
        return replace(Limits(), **given)  # type: ignore[arg-type]  # the checker has seen to the types


_LIMIT_OF_SETTING = {
    "string_chars": "string_length",
    "depth": "depth",
    "elements": "elements",
    "fields": "fields",
    "stack_frames": "stack_frames",
}


@dataclass(frozen=True, slots=True)
class Target:
    """The attached JVM. ``nano_time``: its System.nanoTime when it was ``wall_nanos`` (ns since 1970)."""

    pid: int
    main: str
    java_version: str
    vm_name: str
    loaded_classes: int
    nano_time: int
    wall_nanos: int
    agent_build: str
    process: JvmProcess


@dataclass(frozen=True, slots=True)
class Deployment:
    """A program in its target. ``weave_ns``: in which its classes were retransformed, in batches; ``waited_ns``: of
    that, for woven bytes; ``longest_pause_ns``: the longest that a batch stopped the target."""

    program: Program
    matching: Matching
    sites: tuple[Site, ...]
    refusals: tuple[Refusal, ...]
    warnings: tuple[Diagnostic, ...]
    batches: int
    longest_pause_ns: int
    weave_ns: int
    waited_ns: int

    @property
    def classes(self) -> int:
        return len({site.class_name for site in self.sites})

    @property
    def methods(self) -> int:
        return len({(site.class_name, site.method, site.descriptor) for site in self.sites})


@dataclass(frozen=True, slots=True)
class Receipt:
    """What detaching found. ``restored``: classes that have their original bytes again, by their hash."""

    woven: int
    restored: int
    unloaded: int
    not_restored: tuple[NotRestored, ...]
    left_behind: tuple[str, ...]
    handler_classes: int
    agent_classes: int
    tallies: tuple[ProbeTally, ...]
    messages_dropped: int

    @property
    def clean(self) -> bool:
        return not self.not_restored and not self.left_behind and self.restored + self.unloaded == self.woven


class Session:
    """Made by :meth:`attach`; its methods are for one thread.

    All of them raise TargetGone when the target has ended or does not answer, and ProtocolError when its agent broke
    the protocol; the connection is over then, and the agent restores the classes if it still runs.
    """

    def __init__(self, process: JvmProcess, connection: socket.socket, welcome: Welcome, limits: Limits) -> None:
        self.target = Target(
            pid=process.pid,
            main=process.short_main,
            java_version=welcome.java_version,
            vm_name=welcome.vm_name,
            loaded_classes=welcome.loaded_classes,
            nano_time=welcome.nano_time,
            wall_nanos=welcome.wall_nanos,
            agent_build=welcome.build,
            process=process,
        )
        self.stacks = StackTable()
        self.deployment: Deployment | None = None
        self._instrumentation: Instrumentation | None = None
        self._decoder = ItemDecoder()
        self._restored: Restored | None = None
        self._late_bound: tuple[str, ...] = ()
        self._searched = 0
        self._inbox = Inbox(self._release)
        self._others = threading.Lock()
        self._ready = threading.Event()
        self._channel = Channel(connection, self._deliver, self._ended)
        self._ready.set()
        try:
            self._slot = self._channel.configure(_configure(limits), ANSWER_SECONDS).slot
        except BaseException:
            self.close()
            raise

    @staticmethod
    def attach(target: JvmProcess | int | str, limits: Limits | None = None) -> Session:
        """Attach to a JVM: one that was found, a pid, or a name as :func:`btpy.jvm.processes.find` takes it.

        Raises AttachError with what stands in the way and what to do about it.
        """
        with Connecting(target) as connecting:
            return Session.connected(connecting, limits)

    @staticmethod
    def connected(connecting: Connecting | Launching, limits: Limits | None = None) -> Session:
        """The session of an attach that was begun before. Raises AttachError as :meth:`attach`."""
        connection, welcome = connecting.take()
        return Session(connecting.process, connection, welcome, limits or Limits())

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    # ---------------------------------------------------------------- putting probes in

    def match(self, program: Program, *, allow: Iterable[str] = ()) -> Matching:
        """What the program's probes match in the target. Touches nothing there.

        Raises UsageError for a malformed pattern or for one that matches more than MAX_CLASSES classes.
        """
        instrumentation = self._instrument(program, allow)
        with instrumentation.planner.knowledge.asking(self):
            matching = self._match(instrumentation)
        self._late_bound = tuple(instrumentation.planner.knowledge.late_bound)
        return matching

    def listing(
        self, program: Program, *, allow: Iterable[str] = (), first: int | None = None
    ) -> tuple[Matching, tuple[ListedProbe, ...]]:
        """What the program's method probes match, for people to read. Touches nothing in the target.

        ``first``: of more classes only so many, by name, are looked at. Raises UsageError as :meth:`match`, but where
        ``first`` is given not for too many classes.
        """
        instrumentation = self._instrument(program, allow)
        with instrumentation.planner.knowledge.asking(self):
            matching = self._match(instrumentation, first)
        return matching, listed(program, instrumentation.planner, matching, instrumentation.hierarchy.ancestors)

    def load(
        self, program: Program, *, missing: str = "error", allow: Iterable[str] = (), level: int = 0
    ) -> Deployment:
        """Put the probes of a program in.

        ``missing``: what it is when a probe matches no code now (``error``, ``warn``, ``ignore``; ``all``: an error
        where no other matches either, else nothing); a probe with
        ``pending`` may always wait for its classes. ``allow``: capabilities given with ``--allow``.
        ``level``: probes with a higher ``@Level`` start disabled.

        Raises ScriptError when a probe does not fit a method that it matches, NothingMatched, CompileError, UsageError
        as :meth:`match` and for a second program; nothing in the target has been touched then.
        """
        if self._instrumentation is not None:
            raise UsageError("this session has a program already")
        instrumentation = self._instrument(program, allow)
        with instrumentation.planner.knowledge.asking(self):
            matching = self._match(instrumentation)
        self._late_bound = tuple(instrumentation.planner.knowledge.late_bound)
        warnings = _settle_missing(program, matching, missing)
        handlers = handler_classes(instrumentation.prepare(matching.classes))
        instrumentation.refused(matching.refusals)
        self._instrumentation = instrumentation
        maps, probes = map_declarations(program), probe_declarations(program, level)
        self._install(maps, probes, handlers)
        instrumentation.installed(handler.name for handler in handlers)
        self._run_once(instrumentation.begin_probes())
        for hook in instrumentation.hooks():
            self._hook(hook)
        watched = (*instrumentation.patterns, *instrumentation.owner_patterns)
        if watched:
            self._done(lambda request: messages.Watch(request, watched))
            matching = self._match_loaded_meanwhile(instrumentation, matching)
        result = self._weave_loaded(matching.to_weave)
        self._weave_callers_of_loaded(instrumentation)
        warnings += self._matched_nothing_after_all(instrumentation, matching, missing)
        for probe, period in instrumentation.timers():
            self._start(probe, period)
        self.deployment = Deployment(
            program=program,
            matching=matching,
            sites=instrumentation.woven_sites(),
            refusals=instrumentation.refused_code(),
            warnings=warnings,
            batches=result.batches,
            longest_pause_ns=result.longest_ns,
            weave_ns=result.total_ns,
            waited_ns=result.waited_ns,
        )
        return self.deployment

    def set_level(self, level: int) -> None:
        """Enable the probes of this level and below, disable those above; ``@Disabled`` ones stay as they are."""
        for probe in self._instrumentation.program.probes if self._instrumentation is not None else ():
            if probe.level:
                self.enable(probe.id, is_enabled(probe, level))

    def go(self) -> None:
        """Let a JVM that was started with the agent run its main method; does nothing to others."""
        self._channel.send(messages.Go())

    def enable(self, probe: int, on: bool) -> None:
        self._done(lambda request: messages.Enable(request, probe, on))

    def send(self, event: str) -> None:
        """Run the ``@OnEvent`` probes of that name; returns when they have run."""
        self._done(lambda request: messages.Send(request, event_number(event) & 0xFFFFFFFF))

    @property
    def sites(self) -> Mapping[int, Site]:
        """Every woven place by the id that records carry; grows as classes are loaded."""
        return self._instrumentation.sites if self._instrumentation is not None else {}

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """Code that was left alone so far, and why."""
        return self._instrumentation.refused_code() if self._instrumentation is not None else ()

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        """Why probes do not fit methods of classes that were loaded after the program was."""
        return self._instrumentation.late_problems() if self._instrumentation is not None else ()

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
        """As :meth:`items`, the messages as they came."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (message := self._inbox.take(deadline)) is not None:
            yield message
            if deadline is not None and time.monotonic() >= deadline:
                return
        if self._inbox.exhausted and self._inbox.failure is not None:
            raise self._inbox.failure

    def item(self, message: Message) -> Item:
        """What a message says; they have to be given in order, each once."""
        return self._decoder.item(message, {each.id: each for each in self._program_maps()})

    def snapshot(self, maps: Iterable[int] | None = None) -> list[MapContent]:
        """The maps of the program as they are now; ``maps``: ids, None for all."""
        return [content for answer in self.snapshots(maps) for content in self.contents(answer)]

    def snapshots(self, maps: Iterable[int] | None = None) -> list[Maps]:
        """As :meth:`snapshot`, the messages as they came: one by one, so that each map has a frame for itself."""
        wanted = [each.id for each in self._program_maps()] if maps is None else maps
        return [self._snapshot(each) for each in wanted]

    def contents(self, answer: Maps) -> list[MapContent]:
        return decode_contents(answer.contents, {each.id: each for each in self._program_maps()})

    def _snapshot(self, wanted: int) -> Maps:
        return self._call(lambda request: messages.Snapshot(request, (wanted,)), Maps, ANSWER_SECONDS)

    @property
    def tallies(self) -> tuple[ProbeTally, ...]:
        """Records by probe as far as the target has reported; exact after :meth:`detach`."""
        delivered = self._inbox.delivered.copy()
        reported = {each.probe: each for each in self._inbox.counters.probes}
        probes = self._instrumentation.program.probes if self._instrumentation is not None else ()
        nothing = messages.ProbeCounters(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ProbeState.OFF)
        tallies = []
        for probe in probes:
            counters = reported.get(probe.id, nothing)
            tallies.append(
                ProbeTally(
                    probe=probe.id,
                    fired=counters.fired,
                    sampled_out=counters.sampled_out,
                    limited=counters.limited,
                    state=counters.state,
                    produced=counters.produced,
                    delivered=delivered[probe.id],
                    dropped_full=counters.dropped_full,
                    dropped_large=counters.dropped_large,
                    dropped_stalled=counters.dropped_stalled,
                    map_full=counters.map_full,
                    cost=cost_of(counters),
                )
            )
        return tuple(tallies)

    # ---------------------------------------------------------------- leaving

    def restore(self) -> Restored:
        """Stop all probes, put every class back, then run ``@OnEnd``. Maps can still be read. Once only."""
        if self._restored is None:
            self._inbox.accept_all()
            self._restored = self._call(messages.Restore, Restored, RESTORE_SECONDS)
            if self._instrumentation is not None:
                self._run_once(self._instrumentation.end_probes())
        return self._restored

    def detach(self) -> Receipt:
        """Restore if that was not done, have the agent empty its buffers and leave; what it says is the receipt.

        Items that had not been taken can still be taken afterwards.
        """
        restored = self.restore()
        farewell = self._call(messages.Detach, Farewell, RESTORE_SECONDS)
        self.close()
        return Receipt(
            woven=restored.woven,
            restored=restored.restored,
            unloaded=restored.unloaded,
            not_restored=restored.not_restored,
            left_behind=farewell.left_behind,
            handler_classes=farewell.handler_classes,
            agent_classes=farewell.agent_classes,
            tallies=self.tallies,
            messages_dropped=self._inbox.dropped,
        )

    def close(self) -> None:
        """Close the connection, whatever state it is in; the agent then puts back what is still woven and leaves."""
        self._channel.close()

    # ---------------------------------------------------------------- inside

    def _instrument(self, program: Program, allow: Iterable[str]) -> Instrumentation:
        return Instrumentation(program, self._slot, self.target.java_version, frozenset(allow))

    def _match(self, instrumentation: Instrumentation, first: int | None = None) -> Matching:
        program, planner = instrumentation.program, instrumentation.planner
        for loaded in self._found(instrumentation.owner_patterns).classes:
            instrumentation.learn(loaded)
        found = self._found(instrumentation.patterns, refuse_more=first is None)
        self._searched = found.request
        wanted = found.classes if first is None else sorted(found.classes, key=lambda each: each.name)[:first]
        classes, refusals = self._planned(instrumentation, wanted)
        problems_ = dict.fromkeys(each for known in classes if known.planned for each in known.planned.problems)
        beyond = found.matched - len(wanted)
        matching = Matching(found.loaded, tuple(classes), tuple(refusals), tuple(problems_), {}, beyond)
        # A class that was not looked at, or has no class file, may turn out to match.
        hidden = beyond > 0 or any(each.planned is None for each in classes)
        inventory = self._inventory(instrumentation, found.loaded)
        missing = {
            probe.id: why_missing(
                probe, planner, self._looked_at(instrumentation, probe.id, classes), refusals, inventory
            )
            for probe in program.probes
            if isinstance(probe.attachment, MethodAttachment) and not matching.methods(probe.id) and not hidden
        }
        return replace(matching, missing=missing)

    def _looked_at(
        self, instrumentation: Instrumentation, probe: int, classes: Sequence[MatchedClass]
    ) -> Sequence[MatchedClass]:
        """What a diagnosis goes by. Of classes in which the operation cannot be, the target has listed none: some are
        fetched."""
        planner = instrumentation.planner
        if not planner.constants_of(probe):
            return classes
        patterns = tuple(Pattern(PatternKind(each.kind), each.text) for each in planner.class_patterns_of(probe))
        known = {each.loaded.id for each in classes}
        found = self._search(patterns, READ_AT_ONCE).classes
        more, _ = self._planned(instrumentation, [loaded for loaded in found if loaded.id not in known])
        return [*classes, *more]

    def _planned(
        self, instrumentation: Instrumentation, found: Sequence[LoadedClass]
    ) -> tuple[list[MatchedClass], list[Refusal]]:
        for loaded in found:
            instrumentation.learn(loaded)
        refusals = []
        usable = []
        for loaded in found:
            refusal = _refusal(loaded)
            if refusal is None:
                usable.append(loaded)
            else:
                refusals.append(refusal)
        classes = [_matched(instrumentation, loaded, data) for loaded, data in self._class_files(usable)]
        again = set(self._look_up(instrumentation))
        classes = [
            _matched(instrumentation, each.loaded, each.file.data) if each.file and each.loaded.name in again else each
            for each in classes
        ]
        refusals += [refusal for each in classes if each.planned for refusal in each.planned.refusals]
        return classes, refusals

    def _match_loaded_meanwhile(self, instrumentation: Instrumentation, matching: Matching) -> Matching:
        """Adds the classes that were loaded between SEARCH and WATCH."""
        known = {each.loaded.id for each in matching.classes}
        refused = {refusal.class_name for refusal in matching.refusals}
        found = self._search(instrumentation.patterns, MAX_CLASSES, since=self._searched)
        fresh = [loaded for loaded in found.classes if loaded.id not in known and loaded.name not in refused]
        classes, refusals = self._planned(instrumentation, fresh)
        instrumentation.refused(refusals)
        return replace(matching, classes=(*matching.classes, *classes), refusals=(*matching.refusals, *refusals))

    def _matched_nothing_after_all(
        self, instrumentation: Instrumentation, matching: Matching, missing: str
    ) -> tuple[Diagnostic, ...]:
        """Diagnoses probes that are nowhere, now that the JVM has shown the bytes of classes without a class file, and
        that methods which match have been refused.

        Raises NothingMatched.
        """
        woven = {site.probe for site in instrumentation.woven_sites()}
        inventory = self._inventory(instrumentation, matching.loaded)
        found = []
        for probe in instrumentation.program.probes:
            attachment = probe.attachment
            if not isinstance(attachment, MethodAttachment) or attachment.pending:
                continue
            if probe.id in woven or probe.id in matching.missing:
                continue
            if not matching.methods(probe.id):
                looked_at = self._looked_at(instrumentation, probe.id, matching.classes)
                found.append(why_missing(probe, instrumentation.planner, looked_at, matching.refusals, inventory))
                continue
            refusal = matching.refusal(probe.id, instrumentation.refused_code())
            if refusal is not None:
                found.append(diagnose.place_refused(probe, refusal))
        if found and missing == "error":
            raise NothingMatched(tuple(found))
        return tuple(found) if missing in ("error", "warn") else ()

    def _found(self, patterns: tuple[Pattern, ...], *, refuse_more: bool = True) -> Classes:
        """All loaded classes that match. Raises UsageError when they are too many, unless some are enough."""
        found = self._search(patterns, MAX_CLASSES) if patterns else Classes(0, self.target.loaded_classes, 0, ())
        if refuse_more and found.matched > len(found.classes):
            raise UsageError(
                f"the patterns match {found.matched} of {found.loaded} loaded classes; the limit is {MAX_CLASSES}",
                help=["name the packages that you are interested in"],
            )
        return found

    def _inventory(self, instrumentation: Instrumentation, loaded: int) -> Inventory:
        everything = (Pattern(PatternKind.REGEX, ".*"),)
        return Inventory(
            facts=TargetFacts(loaded, 0, self.target.pid, self.target.main),
            names=lambda: self._search(everything, MAX_CLASSES).classes,
            subtypes=lambda name: [
                each.name
                for each in self._search((Pattern(PatternKind.SUBTYPE, name),), 100).classes
                if each.name != name
            ],
            ancestors=instrumentation.hierarchy.ancestors,
            class_file=self.class_file,
        )

    def _class_files(self, classes: Sequence[LoadedClass]) -> Iterator[tuple[LoadedClass, bytes]]:
        """The target reads the next ones while the caller works on these."""
        chunks = [classes[start : start + READ_AT_ONCE] for start in range(0, len(classes), READ_AT_ONCE)]
        reads = [self._read(chunk) for chunk in chunks[:1]]
        for number, chunk in enumerate(chunks, 1):
            reads += [self._read(following) for following in chunks[number : number + 1]]
            files = self._answered(reads.pop(0))
            while unread := [loaded for loaded in chunk if loaded.id not in files]:
                rest = self._answered(self._read(unread))
                if not rest:
                    break
                files.update(rest)
            for loaded in chunk:
                yield loaded, files.get(loaded.id, b"")

    def _read(self, classes: Sequence[LoadedClass]) -> Callable[[float | None], ClassFiles]:
        ids = tuple(loaded.id for loaded in classes)
        return self._channel.ask(lambda request: messages.Read(request, ids), ClassFiles)

    def _answered(self, read: Callable[[float | None], ClassFiles]) -> dict[int, bytes]:
        """The class files that fitted into the answer."""
        return {file.class_id: file.data for file in self._wait(read, ANSWER_SECONDS).files}

    def _search(self, patterns: tuple[Pattern, ...], most: int, since: int = 0) -> Classes:
        return self._call(lambda request: Search(request, patterns, most, since), Classes, ANSWER_SECONDS)

    def _weave_loaded(self, classes: Sequence[LoadedClass]) -> messages.WeaveResult:
        if not classes:
            return messages.WeaveResult(0, (), 0, 0, 0, 0)
        assert self._instrumentation is not None
        ids = tuple(loaded.id for loaded in classes)
        # As long as it takes: the end of the connection ends the wait.
        result = self._call(lambda request: messages.Weave(request, ids), messages.WeaveResult, None)
        names = {loaded.id: loaded.name for loaded in classes}
        self._instrumentation.refused(
            Refusal(RefusalReason.REJECTED, names.get(failure.class_id, "?"), None, failure.error)
            for failure in result.failures
        )
        return result

    def _install(
        self,
        maps: tuple[messages.MapDecl, ...],
        probes: tuple[messages.ProbeDecl, ...],
        handlers: Sequence[messages.HandlerClass],
    ) -> None:
        """In as many messages as the handlers take."""
        batch: list[messages.HandlerClass] = []
        size = 0
        for handler in handlers:
            if batch and size + len(handler.data) > INSTALL_BYTES:
                self._done(partial(Install, maps=maps, probes=probes, handlers=tuple(batch)))
                maps, probes, batch, size = (), (), [], 0
            batch.append(handler)
            size += len(handler.data)
        self._done(partial(Install, maps=maps, probes=probes, handlers=tuple(batch)))

    def _weave_callers_of_loaded(self, instrumentation: Instrumentation) -> None:
        """For types that operations are about and that were loaded between the first SEARCH and WATCH."""
        for loaded in self._found(instrumentation.owner_patterns).classes:
            instrumentation.learn(loaded)
            self._weave_callers(instrumentation.callers(loaded.name))

    def _weave_callers(self, names: Sequence[str]) -> None:
        """Weaves loaded classes, by name, again or for the first time."""
        if names:
            found = self._search(tuple(Pattern(PatternKind.EXACT, name) for name in names), MAX_CLASSES)
            self._weave_loaded([loaded for loaded in found.classes if _refusal(loaded) is None])

    def _look_up(self, instrumentation: Instrumentation) -> tuple[str, ...]:
        """Has the supertypes of undecided types looked up; the classes that are planned otherwise then."""
        found: dict[str, None] = {}
        for loader, names in instrumentation.undecided():
            for start in range(0, len(names), LOOK_UP_AT_ONCE):
                types = self._supertypes(loader, names[start : start + LOOK_UP_AT_ONCE])
                found.update(dict.fromkeys(instrumentation.looked_up(types)))
        return tuple(found)

    def _supertypes(self, loader: str, names: tuple[str, ...]) -> tuple[messages.TypeFact, ...]:
        answer = self._call(
            lambda request: messages.LookUp(request, loader, names), messages.Supertypes, ANSWER_SECONDS
        )
        return answer.types

    def _answer_with_others(self, instrumentation: Instrumentation, asked: ClassBytes) -> None:
        """For a class that others depend on, or that depends on types which have to be looked up.

        A class that is being loaded waits for that, not longer than for any answer. One that is loaded and being
        retransformed is answered for at once: the agent retransforms, and looks up, in one thread.
        """
        # One at a time: what one has looked up the next one may count on.
        with self._others, contextlib.suppress(BtpyError):  # the end of the connection is reported in its place
            if asked.class_id:
                self._channel.send(instrumentation.answer(asked))
                self._weave_callers(instrumentation.callers(asked.name))
                return
            others = (*self._look_up(instrumentation), *instrumentation.callers(asked.name))
            self._weave_callers([name for name in others if name != asked.name])
            self._channel.send(instrumentation.answer(asked))

    def _run_once(self, probes: Sequence[AgentProbe]) -> None:
        for probe in probes:
            self._start(probe, 0)

    def _start(self, probe: AgentProbe, period: int) -> None:
        name = probe.handler.class_name
        self._done(lambda request: messages.Timer(request, probe.site, period, name))

    @property
    def late_bound(self) -> tuple[str, ...]:
        """Fields that are looked up at each firing although the class of the object is known, in words."""
        return tuple(self._late_bound)

    def loaded(self, patterns: Iterable[str], most: int = MAX_CLASSES) -> tuple[LoadedClass, ...]:
        """Loaded classes that match one of the patterns, as ``class=`` takes them. Raises UsageError for a malformed
        one."""
        found = [each for text in patterns for each in class_patterns(text)]
        return self._search(tuple(Pattern(PatternKind(each.kind), each.text) for each in found), most).classes

    def class_file(self, name: str) -> bytes | None:
        """Of a loaded class; None when none of that name is loaded, or it has no class file."""
        return next(iter(self._read_files(Pattern(PatternKind.EXACT, name), 1)), None)

    def subtypes(self, name: str, most: int) -> list[bytes]:
        """Class files of loaded subtypes."""
        return self._read_files(Pattern(PatternKind.SUBTYPE, name), most)

    def _read_files(self, pattern: Pattern, most: int) -> list[bytes]:
        found = self._search((pattern,), most)
        return [data for _, data in self._class_files(found.classes) if data]

    def _hook(self, hook: Hook) -> None:
        """Raises ScriptError for a memory pool that is not there."""
        probe = hook.probe
        name = probe.handler.class_name
        answer = self._call(
            lambda request: messages.Hook(
                request, probe.probe, probe.site, name, hook.kind, hook.number, hook.patterns, hook.lines
            ),
            Done,
            ANSWER_SECONDS,
        )
        if answer.error and isinstance(probe.attachment, LowMemoryAttachment):
            assert self._instrumentation is not None
            raise ScriptError([no_pool(self._instrumentation.program.probes[probe.probe], answer.error)])
        if answer.error:
            raise BtpyError(f"the agent refused HOOK: {answer.error}")

    def _done(self, build: Callable[[int], Message]) -> None:
        answer = self._call(build, Done, ANSWER_SECONDS)
        if answer.error:
            raise BtpyError(f"the agent refused {type(build(0)).__name__.upper()}: {answer.error}")

    def _call(self, build: Callable[[int], Message], answer: type[Answer], timeout: float | None) -> Answer:
        return self._wait(self._channel.ask(build, answer), timeout)

    def _wait(self, answering: Callable[[float | None], Answer], timeout: float | None) -> Answer:
        try:
            return answering(timeout)
        except TimeoutError:
            self.close()
            raise TargetGone(f"the target {self.target.pid} has not answered for {timeout:.0f} s") from None

    def _program_maps(self) -> tuple[Map, ...]:
        return self._instrumentation.program.maps if self._instrumentation is not None else ()

    # ---------------------------------------------------------------- on the thread that reads

    def _deliver(self, message: Message) -> None:
        self._ready.wait()
        if isinstance(message, ClassBytes):
            instrumentation = self._instrumentation
            if instrumentation is not None and instrumentation.depends(message):
                work = (instrumentation, message)  # needs answers, and this is the thread that reads
                threading.Thread(target=self._answer_with_others, args=work, name="btpy-others", daemon=True).start()
            else:
                self._channel.reply(self._woven(message))
        elif isinstance(message, Stacks):
            for stack in message.stacks:
                self.stacks.add(stack)
        elif not isinstance(message, Trouble):  # the channel reports that one
            self._inbox.put(message)

    def _ended(self, failure: BtpyError | None) -> None:
        self._inbox.end(failure)

    def _release(self, size: int) -> None:
        with contextlib.suppress(BtpyError):  # the connection is over: what ended it is reported in its place
            self._channel.send(messages.Release(size))

    def _woven(self, asked: ClassBytes) -> messages.Woven:
        if self._instrumentation is not None:
            return self._instrumentation.answer(asked)
        digest = hashlib.sha256(asked.data).digest()
        return messages.Woven(asked.request, digest, messages.Verdict.UNCHANGED, (), (), b"")


# ---------------------------------------------------------------- facts to facts


def _configure(limits: Limits) -> Configure:
    return Configure(
        lease_ms=limits.lease_ms,
        class_load_deadline_ms=limits.class_load_deadline_ms,
        event_buffer_bytes=limits.event_buffer_bytes,
        string_chars=limits.string_chars,
        depth=limits.depth,
        elements=limits.elements,
        fields=limits.fields,
        stack_frames=limits.stack_frames,
        pause_budget_ms=limits.pause_budget_ms,
        redact=limits.redact,
    )


def _matched(instrumentation: Instrumentation, loaded: LoadedClass, data: bytes) -> MatchedClass:
    if not data:
        return MatchedClass(loaded, None, None)
    try:
        file = ClassFile.parse(data)
        return MatchedClass(loaded, file, instrumentation.plan(loaded, file))
    except ClassFileError:
        return MatchedClass(loaded, None, None)  # not the class that was loaded: the JVM's own bytes decide


def _refusal(loaded: LoadedClass) -> Refusal | None:
    if loaded.refusal is LoadedRefusal.LOADER:
        detail = f"its loader {loaded.loader} does not see btpy's run-time classes"
        return Refusal(RefusalReason.LOADER, loaded.name, None, detail)
    if loaded.refusal is LoadedRefusal.UNMODIFIABLE or not loaded.modifiable:
        return Refusal(RefusalReason.UNMODIFIABLE, loaded.name, None, "the JVM does not let this class be changed")
    return None


def _settle_missing(program: Program, matching: Matching, missing: str) -> tuple[Diagnostic, ...]:
    """The warnings. Raises ScriptError for problems and for what matches too much, NothingMatched."""
    if matching.problems:
        raise ScriptError(matching.problems)
    warnings = []
    for probe in program.probes:
        attachment = probe.attachment
        if not isinstance(attachment, MethodAttachment):
            continue
        methods = matching.methods(probe.id)
        if methods > attachment.max_methods:
            raise UsageError(
                f"{probe.name} matches {methods} methods; the limit is {attachment.max_methods}",
                help=[f"narrow its patterns, or allow as many: @OnMethod(…, max={methods})"],
            )
        if probe.id in matching.missing and not attachment.pending:
            warnings.append(matching.missing[probe.id])
    alone = missing == "all" and len(warnings) == sum(_is_on_method(probe) for probe in program.probes)
    if warnings and (missing == "error" or alone):
        raise NothingMatched(warnings)
    return tuple(warnings) if missing in ("error", "warn") else ()


def _is_on_method(probe: Probe) -> bool:
    return isinstance(probe.attachment, MethodAttachment)
