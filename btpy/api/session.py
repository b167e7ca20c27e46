"""A session on a running JVM, for Python programs: any thread may call it at any time.

    import btpy

    with btpy.attach("OrderApp") as session:
        session.add("com.acme.PricingEngine::quote @return when duration > 50ms { @slow[$sku] = hist(duration) }")
        for event in session.events(timeout=60):
            print(event.time, event.text)
        print(session.maps["@slow"])

One thread in the background takes what the target sends and hands it to whoever reads events. Leaving the block takes
every probe out and puts every class back, also after an exception.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, TracebackType

from btpy.api.events import Event, EventMaker, EventReader
from btpy.api.feed import KEPT, Feed, Reader
from btpy.api.maps import Maps, MapView
from btpy.api.probes import Probe, limit_of, sampling_of, sampling_text
from btpy.api.scripts import parameter_texts, source_of
from btpy.engine import session as core
from btpy.engine.declarations import is_enabled
from btpy.engine.matching import Matching as Matching
from btpy.engine.matching import check_limits as check_limits
from btpy.engine.session import Deployment as Deployment
from btpy.engine.session import Limits as Limits
from btpy.engine.session import Receipt as Receipt
from btpy.engine.target import CPU_BUDGET as CPU_BUDGET
from btpy.engine.target import Target as Target
from btpy.errors import BtpyError, NothingMatched, ScriptError, TargetGone, UsageError
from btpy.events.aggregates import MapContent
from btpy.events.allowance import Allowance
from btpy.events.items import Item, ProbeTally, Records
from btpy.events.progress import Progress
from btpy.events.records import Record
from btpy.events.speculation import Speculations
from btpy.jvm.connecting import Connecting
from btpy.jvm.launching import Launching
from btpy.jvm.processes import JvmProcess
from btpy.lang.check.checker import check_source
from btpy.lang.link.libraries import Libraries
from btpy.lang.link.linker import parameters as declared_parameters
from btpy.lang.program import Probe as CheckedProbe
from btpy.lang.program import Program
from btpy.model.attachments import MethodAttachment
from btpy.model.diagnostics import Diagnostic
from btpy.model.maps import Map
from btpy.model.permissions import DEFAULT_PERMISSIONS, Permissions
from btpy.model.secrets import NO_SECRETS, Secrets
from btpy.model.secrets_file import configured
from btpy.model.source import Source, Span
from btpy.output.writer import Clock, Context, ProbeError
from btpy.plan.diagnose import together
from btpy.plan.listing import ListedProbe
from btpy.plan.plan import Refusal, Site
from btpy.wire import messages
from btpy.wire.channel import Tap as Tap
from btpy.wire.messages import UNKNOWN_PROBE, Classes, Errors, Exiting, LoadedClass, Message

MOST_WAITING = 100_000
"""Events that wait for one reader."""

MOST_ERRORS = 1000
"""Reports of errors that are kept, the latest."""

_NOTHING_RUNS = "there is no probe in this"


def attach(
    target: int | str | JvmProcess | Connecting | Launching,
    *,
    allow: Iterable[str] = (),
    redact: bool = True,
    secrets: Secrets | Iterable[str] = (),
    frameworks: Iterable[str] = (),
    libraries: Libraries | Sequence[str | Path] = (),
    limits: Limits | None = None,
    kept: int | None = KEPT,
    tap: Tap | None = None,
) -> Session:
    """Attach to a running JVM: a pid, or a part of the main class, the jar or ``-Dbtpy.name`` that only one JVM has; or
    go on with an attach, or a launch, that was begun before.

    ``allow``: capabilities as of ``--allow`` (``core``, ``call:com.acme.Foo.bar`` …). ``redact``: values under the
    names of secrets are hidden. ``secrets``: names and regular expressions of further secrets, as of ``--secret``
    (``customerNumber``, ``/AC-[0-9]{6}/``), beside those of the user's file. ``frameworks``: globs of classes whose
    frames ``app_frame()`` skips, beside those that btpy knows. ``libraries``: directories where imports are looked for
    first. ``limits``: of what is captured and buffered, and how long the target waits for this side. ``kept``: so many
    events, for readers to come; None: there are no readers, the caller takes what the target sends, at its own pace
    (:meth:`Session.received`).
    ``tap``: called with each message to and from the target, its bytes, and whether it was sent, on threads of btpy.

    Raises AttachError with what stands in the way and what to do about it, and UsageError for ``secrets`` that are
    neither names nor regular expressions.
    """
    secrets = _secrets(secrets, redact)
    permissions = Permissions(frozenset(allow), redact, tuple(frameworks), secrets)
    settings = replace(limits or Limits(), redact=redact, secret_names=secrets.names)
    search = libraries if isinstance(libraries, Libraries) else _search(libraries)
    if isinstance(target, Connecting | Launching):
        return Session(core.Session.connected(target, settings, tap), permissions, search, kept)
    with Connecting(target, allow=permissions.allow) as connecting:
        return Session(core.Session.connected(connecting, settings, tap), permissions, search, kept)


def launch(
    command: Sequence[str],
    *,
    allow: Iterable[str] = (),
    redact: bool = True,
    secrets: Secrets | Iterable[str] = (),
    libraries: Sequence[str | Path] = (),
    limits: Limits | None = None,
) -> Session:
    """Start a JVM (``["java", "-jar", "app.jar"]``) and attach to it before its main method runs: that begins with
    :meth:`Session.go`. Few classes are loaded until then: add probes with ``missing="ignore"``. The JVM goes on after
    the session.

    Raises UsageError: the command is not one that starts Java; AttachError.
    """
    secrets = _secrets(secrets, redact)
    with Launching(command) as launching:
        try:
            return attach(launching, allow=allow, redact=redact, secrets=secrets, libraries=libraries, limits=limits)
        except BtpyError:
            launching.child.terminate()  # it was not meant to run without its probes
            raise


def _secrets(given: Secrets | Iterable[str], redact: bool) -> Secrets:
    """Raises UsageError."""
    if isinstance(given, Secrets):
        return given
    added = Secrets.of(given, "secrets:")
    if not redact and added != NO_SECRETS:
        raise UsageError("secrets= adds to what redact=False shows", help=["leave out redact=False"])
    return added.with_(configured(os.environ)) if redact else NO_SECRETS


def _search(directories: Iterable[str | Path]) -> Libraries:
    return Libraries.of(os.environ, [Path(each) for each in directories])


class Session:
    """Made by :func:`attach`. All methods raise TargetGone when the target has ended or does not answer.

    ``libraries``: where imports are looked for. ``deployment``: what became of the latest script that was put in; of a
    session that was joined (:func:`btpy.api.unattended.join`), of all. ``errors_forgotten``: reports of errors that
    came before those of ``errors``. ``kept``: as of :func:`attach`.
    """

    def __init__(
        self,
        running: core.Session,
        permissions: Permissions = DEFAULT_PERMISSIONS,
        libraries: Libraries | None = None,
        kept: int | None = KEPT,
    ) -> None:
        self._core = running
        self._permissions = permissions
        self.libraries = libraries or Libraries()
        self.deployment: Deployment | None = running.deployment
        self.errors_forgotten = 0
        self._warned: list[Diagnostic] = []
        running.hide(permissions)
        clock = Clock(running.target.nano_time, running.target.wall_nanos)
        self.context = Context(running.outline, running.sites, running.stacks, clock)
        self._maker = EventMaker(self.context, running.target.pid)
        self._speculations = Speculations(running.outline.templates)
        self._changing = threading.RLock()
        self._probes: dict[int, Probe] = {}
        self._numbers = 0
        self._scripts = 0
        self._level = 0
        self._errors: Counter[int] = Counter()
        self._failures: deque[ProbeError] = deque()
        self._counters: Mapping[int, ProbeTally] = {}
        self._counted: object = None
        self._final: list[messages.Maps] | None = None
        self._receipt: Receipt | None = None
        self._left = False
        self._gone: TargetGone | None = None
        if running.program is not None:
            for probe in running.program.active:
                self._numbered(probe, self._level)
        self._feed: Feed[Record | Item] = Feed(kept or 0)
        self._thread: threading.Thread | None = None
        if kept is not None:
            self._thread = threading.Thread(target=self._run, name="btpy-live", daemon=True)
            self._thread.start()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            if not self._left:
                self.detach()
        except TargetGone:
            pass  # nothing is left to be put back; whoever reads events is told
        except BtpyError:
            if error is None:
                raise
        finally:
            self.close()

    def __repr__(self) -> str:
        return f"<Session {self.target.main} ({self.target.pid}), {len(self._probes)} probes>"

    @property
    def target(self) -> Target:
        return self._core.target

    @property
    def ended(self) -> bool:
        """Whether nothing more can come: after :meth:`detach`, and when the target is gone."""
        return self._feed.ended

    # ---------------------------------------------------------------- probes

    @property
    def probes(self) -> Mapping[int, Probe]:
        """By number, in order. A probe keeps its number when it is replaced; numbers are not given twice."""
        return MappingProxyType(dict(sorted(self._probes.items())))

    def add(
        self,
        script: str | Path,
        *,
        name: str = "",
        parameters: Mapping[str, object] | None = None,
        missing: str | None = None,
        level: int | None = None,
    ) -> list[Probe]:
        """Put the probes of a script in: a text, or the file of a :class:`~pathlib.Path`.

        ``name``: what messages call the text. ``parameters``: values for those that the script declares (``250`` or
        ``"250ms"``). ``missing``: what it is when a probe matches no code now: ``error``, ``warn`` (``warnings``) or
        ``ignore``; None: what the script says of it, else an error. ``level``: probes with a higher ``@Level`` start
        disabled; None: that of the session.

        Returns all its probes, in order. Raises ScriptError, NothingMatched, CompileError and UsageError; nothing in
        the target has changed then.
        """
        with self._changing:
            checked = self._checked(self._source(script, name), parameters)
            if not checked.own:
                raise UsageError(_NOTHING_RUNS, help=["for example: com.acme.Foo::bar @return { print(duration); }"])
            return self.load(checked, missing=missing, level=level)

    def load(
        self,
        program: Program,
        *,
        missing: str | None = None,
        level: int | None = None,
        replacing: Sequence[Probe] = (),
    ) -> list[Probe]:
        """As :meth:`add`, for a script that has been checked: alone if it is the first, else after :attr:`program`, or
        after what that is :meth:`without` probes. ``replacing``: as :meth:`replace`, these."""
        with self._changing:
            if replacing:
                return self._swapped(replacing, program, missing)
            at = self._level if level is None else level
            self._load(program, missing, at, ())
            return [self._numbered(probe, at) for probe in program.own]

    def rehearse(self, program: Program, *, missing: str | None = None, replacing: Sequence[Probe] = ()) -> None:
        """Raise what :meth:`load` would before it touches anything in the target."""
        with self._changing:
            running = self._core.program
            gone = [] if running is None else self._ids(replacing, running)
            allow = self._permissions.allow
            self._core.rehearse(program, missing=self._missing(program, missing), allow=allow, replacing=gone)

    def without(self, probes: Sequence[Probe]) -> Program | None:
        """What a script that replaces these comes after."""
        running = self._core.program
        return None if running is None else running.without(self._ids(probes, running))

    def replace(
        self,
        probe: Probe | Sequence[Probe],
        script: str | Path,
        *,
        name: str = "",
        parameters: Mapping[str, object] | None = None,
        missing: str | None = None,
    ) -> list[Probe]:
        """Put a new version in the place of a probe, or of several, in one step: no hit is lost or counted twice by a
        method that is running meanwhile. Activations that began with the old version end with it.

        The new probes take the numbers of the old, by name where they have the same, else in order. Where the text is
        nothing but probes, it may use what the script of the old probe imports and declares, with the parameters that
        were given to that.

        Returns the new probes. When they cannot come, for whatever reason, the old ones stay; raises as :meth:`add`.
        """
        with self._changing:
            old = [probe] if isinstance(probe, Probe) else list(probe)
            for each in old:
                self._require(each)
            source = self._source(script, name or old[0].source)
            if isinstance(script, str) and len(old) == 1:
                from btpy.lang.link.excerpt import excerpt

                source = Source(source.name, excerpt(self.script_of(old[0]), source.text))
            given = self._given(old[0], source) | parameter_texts(parameters)
            return self._replaced(old, source, given, missing)

    def remove(self, probe: Probe | Sequence[Probe]) -> int:
        """Take probes out. They fire no more when this returns, and classes without a probe have their original bytes
        again; how many, is returned. A script of which only ``@OnBegin`` and ``@OnEnd`` probes are left is over: its
        ``@OnEnd`` runs."""
        with self._changing:
            old = [probe] if isinstance(probe, Probe) else list(probe)
            for each in old:
                self._require(each)
            count = self._core.remove([id_ for each in old for id_ in each.ids])
            running = self._core.program
            gone = running.removed if running is not None else frozenset()
            for each in [each for each in self._probes.values() if each.id in gone]:
                each.removed = True
                del self._probes[each.number]
            return count

    def run(self, statements: str) -> None:
        """Run statements once, on the agent's thread: ``clear(@slow);``. Returns when they have run; raises as
        :meth:`add`."""
        with self._changing:
            checked = self._checked(Source("<statements>", f"@OnBegin {{ {statements} }}"), None)
            self._load(checked, "error", self._level, ())
            self._core.remove([probe.id for probe in checked.own])

    def check(
        self,
        script: str | Path,
        *,
        name: str = "",
        parameters: Mapping[str, object] | None = None,
        match: bool = True,
    ) -> list[Diagnostic]:
        """What is wrong with a script, and which of its probes would match nothing, were it added now; touches
        nothing. ``match`` False: does not ask the target, and so says nothing of matching; never waits."""
        if not match:
            try:
                return list(self._checked(self._source(script, name), parameters).warnings)
            except ScriptError as error:
                return list(error.diagnostics)
        with self._changing:
            try:
                checked = self._checked(self._source(script, name), parameters)
                return [*checked.warnings, *self.unfit(checked)]
            except (ScriptError, NothingMatched) as error:
                return list(error.diagnostics)

    def unfit(self, checked: Program) -> list[Diagnostic]:
        """What of a checked script does not fit the target, or which of its probes match nothing there. Touches
        nothing; raises as :meth:`match`."""
        matching = self.match(checked)
        if matching.problems:
            return list(together(matching.problems))
        return [
            matching.missing[probe.id]
            for probe in checked.own
            if probe.id in matching.missing
            and isinstance(probe.attachment, MethodAttachment)
            and not probe.attachment.pending
        ]

    def match(self, program: Program) -> Matching:
        """What a checked script matches now. Touches nothing. Raises UsageError for patterns that match too much."""
        return self._core.match(program, allow=self._permissions.allow)

    def listed(self, program: Program, *, most: int | None = None) -> tuple[Matching, tuple[ListedProbe, ...]]:
        """As :meth:`match`, and as :meth:`listing` of its probes."""
        return self._core.listing(program, allow=self._permissions.allow, first=most)

    def listing(self, pattern: str, *, most: int | None = None) -> tuple[ListedProbe, ...]:
        """The classes and methods that ``com.acme.*`` or ``com.acme.Foo::bar*`` matches now; ``most``: of more classes
        only so many, by name. Touches nothing. Raises ScriptError for what is no pattern, and UsageError."""
        text = pattern if "::" in pattern else f"{pattern}::*"
        checked = check_source(Source("<pattern>", f"{text} @entry {{ }}"), self.libraries, {}, self._permissions)
        return self.listed(checked, most=most)[1]

    def go(self) -> None:
        """Let a JVM that was launched run its main method; does nothing to others."""
        self._core.go()

    def level(self, level: int) -> None:
        """Enable the probes with ``@Level`` up to this one, disable those above; also of scripts to come."""
        with self._changing:
            self._core.set_level(level)
            self._level = level
            for probe in self._probes.values():
                if probe.checked.level:
                    probe.enabled = is_enabled(probe.checked, level)

    def send(self, event: str) -> None:
        """Run the ``@OnEvent`` probes of that name; returns when they have run."""
        self._core.send(event)

    def enable(self, probe: Probe, on: bool) -> None:
        with self._changing:
            self._require(probe)
            for id_ in probe.ids:
                self._core.enable(id_, on)
            probe.enabled = on

    def sample(self, probe: Probe, rate: str | None) -> None:
        """As :meth:`Probe.sample`."""
        with self._changing:
            self._require(probe)
            wanted = sampling_of(rate, probe.id)
            if not isinstance(probe.checked.attachment, MethodAttachment):
                raise UsageError(f"#{probe.number} is not in a method: it has no hits to sample")
            if probe.checked.sampling is not None:
                self._core.sample(probe.id, wanted)
            elif rate is not None:
                from btpy.lang.link.excerpt import excerpt, sampled

                script, text = self.script_of(probe), sampled(probe.text, sampling_text(wanted))
                if not self.is_own(probe):
                    raise UsageError(
                        f"#{probe.number} {probe.name} is a probe of a library that does not sample it",
                        help=["limit it instead, or write a probe of your own for that place"],
                    )
                source = Source(script.name, excerpt(script, text))
                self._replaced([probe], source, self._given(probe, source), "ignore")
            probe.sampled_as("" if rate is None else rate)

    def limit(self, probe: Probe, limit: str | int | None) -> None:
        """As :meth:`Probe.limit`."""
        with self._changing:
            self._require(probe)
            wanted = limit_of(limit)
            self._core.limit(probe.id, wanted)
            probe.limited_as(wanted)

    # ---------------------------------------------------------------- what probes produce

    def events(self, timeout: float | None = None, *, most: int = MOST_WAITING, from_start: bool = True) -> EventReader:
        """What probes print and emit, for ``timeout`` seconds (None: until the session ends), in order.

        Every reader gets all events. ``from_start``: those that came before, too, as far as they are kept
        (the last 10,000). ``most``: events that may wait for this reader, 10,000 at least; when it is slower, the
        oldest of them go, counted in its ``dropped``.

        When the target is gone, everything that it sent is yielded first; then TargetGone is raised.
        """
        return EventReader(self._feed.reader(most, from_start=from_start), self._maker, timeout)

    def items(self, *, most: int = MOST_WAITING) -> Reader[Record | Item]:
        """As :meth:`events`, from the start, what the target sends as it is decoded, for who shows it: records, of
        which speculations are settled, maps to be printed, errors, counters. ``context`` says what they refer to."""
        return self._feed.reader(most)

    def read_at_most(self, records: int) -> None:
        """From now on read so many records of a probe in a second; :meth:`items` says how many the others were
        (``Unread``). For who only shows events: what is not read costs little, so nothing is lost before it is here."""
        self._core.allowance = Allowance(records, self._core.outline.templates)

    def events_async(self, *, most: int = MOST_WAITING, from_start: bool = True) -> AsyncIterator[Event]:
        """As :meth:`events`, for ``async for``."""
        return self.events(most=most, from_start=from_start)

    def __aiter__(self) -> AsyncIterator[Event]:
        return self.events_async()

    def received(self, timeout: float | None = None) -> Iterator[Message]:
        """Of a session without readers (``kept=None``), the messages that come within ``timeout`` seconds (None: until
        the session ends), for who keeps them as they are, or shows what :meth:`item` makes of each.

        The target sends as much as is taken, and drops and counts the rest: nothing is lost on this side. Raises
        TargetGone and ProtocolError once everything that came before has been taken. When :class:`Exiting` comes, the
        JVM waits for :meth:`detach`.
        """
        return self._core.received(timeout)

    def item(self, message: Message) -> Item:
        """What a received message says; they have to be given in order, each once. Raises ProtocolError."""
        item = self._core.item(message)
        self._note(item)
        return item

    @property
    def maps(self) -> Maps:
        """By name. Can be read after the session, as they were at its end."""
        return Maps(self._declared, self._read, self._core.stacks)

    @property
    def has_last_maps(self) -> bool:
        """Whether maps are as they were when the probes had gone: after :meth:`detach`, and when the target ended in
        order. One that is killed leaves none."""
        return self._final is not None

    def snapshot(self) -> dict[str, MapView]:
        """All maps, by name."""
        maps = self.maps
        return {name: maps[name] for name in maps}

    def map_messages(self) -> list[messages.Maps]:
        """All maps as the target sends them, one in each; after the session as they were at its end."""
        return self._core.snapshots() if self._final is None else self._final

    def contents(self, answer: messages.Maps) -> list[MapContent]:
        return self._core.contents(answer)

    @property
    def tallies(self) -> tuple[ProbeTally, ...]:
        """What became of the hits and records of all probes; exact after :meth:`detach`."""
        return self._core.tallies

    def refresh(self) -> None:
        """Has the target say now what became of hits and records, which it otherwise does once a second. After the
        session nothing happens: what there is is exact. Raises TargetGone."""
        if not self.ended:
            self._core.refresh()

    @property
    def counters(self) -> Mapping[int, ProbeTally]:
        """What became of the hits and records of probes, by id; at most a second old, or as of :meth:`refresh`."""
        reported = self._core.counters
        if reported is not self._counted or len(self._counters) != len(self._core.outline.probes):
            self._counters = {tally.probe: tally for tally in self._core.tallies}
            self._counted = reported
        return self._counters

    @property
    def errors(self) -> list[ProbeError]:
        """What went wrong in probes, as it was reported: the latest 1000 reports, ``errors_forgotten`` came before.
        :attr:`Probe.errors` counts all."""
        return list(self._failures)

    @property
    def warnings(self) -> list[Diagnostic]:
        """What was in no code when it was added (``missing="warn"``), and why probes do not fit, or are not in, methods
        of classes that were loaded after them."""
        return [*self._warned, *self.problems]

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        """Of :attr:`warnings`, those about classes that were loaded later."""
        return self._core.problems

    @property
    def sites(self) -> Mapping[int, Site]:
        """Every woven place by the id that records carry; grows as classes are loaded."""
        return self._core.sites

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """Code that was left alone so far, and why."""
        return self._core.refusals

    @property
    def late_bound(self) -> tuple[str, ...]:
        """Fields that are looked up at each firing although the class of the object is known, in words."""
        return self._core.late_bound

    @property
    def progress(self) -> Progress:
        """Of what takes long, whichever thread has asked for it."""
        return self._core.progress

    # ---------------------------------------------------------------- leaving

    def leave(self, seconds: float, name: str = "") -> str:
        """Go, and let the probes stay, for ``seconds`` at most; then the target puts everything back by itself. The
        session should have been attached to with ``limits=Limits(unattended=True)``.

        Returns its id: ``btpy attach PID ID`` takes up what its probes produce meanwhile, ``btpy stop PID ID`` ends it.
        Maps can still be read here, as they were. Raises UsageError when the target refuses; the session is as it was
        then."""
        with self._changing:
            final = self._core.snapshots()
            number = self._core.leave(seconds, name)
            self._left, self._final = True, final
        self._wait_for_end()
        return f"{number:08x}"

    def detach(self) -> Receipt:
        """Take all probes out, put every class back and leave; what the target says of that. Maps can still be read,
        and events that have come. Once only: later calls return the same. Raises UsageError after :meth:`leave`."""
        with self._changing:
            if self._left:
                raise UsageError("this client has left the session", help=["btpy stop PID ID ends it"])
            if self._receipt is None:
                if self._gone is not None:
                    raise self._gone
                self._core.restore()
                self._final = self._core.snapshots()
                self._receipt = self._core.detach()
        self._wait_for_end()
        return self._receipt

    def close(self) -> None:
        """Cut the connection; the agent then puts back what is still woven and leaves. :meth:`detach` does more."""
        self._core.close()

    # ---------------------------------------------------------------- for probes, and those who show them

    @property
    def program(self) -> Program | None:
        """Everything that was added."""
        return self._core.program

    @property
    def name(self) -> str:
        """Of a session that was joined."""
        return self._core.name

    @property
    def ttl(self) -> float:
        """Of a session that was joined: seconds that were left of its time."""
        return self._core.ttl

    @property
    def age(self) -> float:
        """Of a session that was joined: seconds that it had been going on."""
        return self._core.age

    def loaded_classes(self, since: int = 0) -> Classes:
        """The classes that are loaded; ``since``: ``request`` of an earlier answer, only those loaded after it."""
        return self._core.loaded_classes(since)

    def named(self, name: str) -> tuple[LoadedClass, ...]:
        """The loaded classes of a name: several where several loaders have one."""
        return self._core.named(name)

    def class_file(self, name: str) -> bytes | None:
        """Of a loaded class; None when none of that name is loaded, or it has no class file."""
        return self._core.class_file(name)

    def probe(self, id_: int) -> Probe | None:
        """Which has this id, as records carry it, if it is in the session."""
        return next((probe for probe in self._probes.values() if id_ in probe.ids), None)

    def methods_of(self, probe: int) -> list[tuple[str, str]]:
        """Class and name of the methods that the probe is in, or the one in whose handler it fires."""
        running = self._core.program
        host = running.fires_in(running.probes[probe]).id if running is not None else probe
        return self._core.methods(host)

    def errors_of(self, ids: Iterable[int]) -> int:
        return sum(self._errors[id_] for id_ in ids)

    def uncommitted_of(self, ids: Iterable[int]) -> int:
        return sum(self._speculations.dropped[id_] for id_ in ids)

    def script_of(self, probe: Probe) -> Source:
        """What the probe was added with."""
        running = self._core.program
        assert running is not None
        return running.script_of(probe.checked).source

    def arguments_of(self, probe: Probe) -> dict[str, str]:
        """What was given for parameters of its script."""
        running = self._core.program
        assert running is not None
        return dict(running.script_of(probe.checked).given.arguments)

    def is_own(self, probe: Probe) -> bool:
        """Whether it stands in its script, not in a library that the script uses."""
        return probe.checked.span.source.base == self.script_of(probe).base

    def is_whole(self, probe: Probe) -> bool:
        """Whether no probe of its script has been taken out or replaced."""
        running = self._core.program
        assert running is not None
        return not any(each.id in running.removed for each in running.script_of(probe.checked).own)

    def mates(self, probe: Probe) -> list[Probe]:
        """The probes of its script that are in, itself among them, in the order of the script."""
        found = {each.id: each for each in self._probes.values() if self.script_of(each) == self.script_of(probe)}
        return [each for _, each in sorted(found.items())]

    # ---------------------------------------------------------------- inside

    def _wait_for_end(self) -> None:
        """Until all that had come has been taken."""
        if self._thread is not None and threading.current_thread() is not self._thread:
            self._thread.join()

    def _given(self, probe: Probe, source: Source) -> dict[str, str]:
        """What was given to the script of the probe, as far as ``source`` declares it too."""
        given = self.arguments_of(probe)
        declared = {each.name for each in declared_parameters(source)} if given else set()
        return {name: text for name, text in given.items() if name in declared}

    def _source(self, script: str | Path, name: str) -> Source:
        """Raises UsageError."""
        if not name and isinstance(script, str):
            self._scripts += 1
            name = f"<script {self._scripts}>"
        return source_of(script, name)

    def _checked(self, source: Source, parameters: Mapping[str, object] | None, without: Iterable[int] = ()) -> Program:
        """The script after all that runs. Raises ScriptError, UsageError."""
        running = self._core.program
        earlier = running.without(without) if running is not None else None
        given = parameter_texts(parameters)
        return check_source(source, self.libraries, given, self._permissions, earlier=earlier)

    def _load(self, checked: Program, missing: str | None, level: int, replacing: Sequence[int]) -> None:
        allow = self._permissions.allow
        settings = dict(checked.settings)
        missing = self._missing(checked, missing)
        self.deployment = self._core.load(checked, missing=missing, allow=allow, level=level, replacing=replacing)
        self.context.outline.print_maps = bool(settings.get("print_maps_on_exit", self.context.outline.print_maps))
        self._warned += self.deployment.warnings

    @staticmethod
    def _missing(checked: Program, given: str | None) -> str:
        return given or str(dict(checked.settings).get("on_missing", "error"))

    @staticmethod
    def _ids(probes: Iterable[Probe], running: Program) -> list[int]:
        return [id_ for each in probes for id_ in each.ids if id_ not in running.removed]

    def _replaced(
        self, old: Sequence[Probe], source: Source, parameters: Mapping[str, object] | None, missing: str | None
    ) -> list[Probe]:
        running = self._core.program
        assert running is not None
        return self._swapped(old, self._checked(source, parameters, self._ids(old, running)), missing)

    def _swapped(self, old: Sequence[Probe], checked: Program, missing: str | None) -> list[Probe]:
        running = self._core.program
        assert running is not None
        gone = self._ids(old, running)
        if not checked.own:
            raise UsageError(_NOTHING_RUNS, help=["to take a probe out, remove it"])
        level = self._level if any(each.enabled for each in old) else -1
        self._load(checked, missing, level, gone)
        by_name = {each.name: each for each in old}
        found = [by_name.pop(probe.name, None) for probe in checked.own]
        rest = list(by_name.values())
        probes = []
        for before, probe in zip(found, checked.own, strict=True):
            taken = before or (rest.pop(0) if rest else None)
            if taken is None:
                probes.append(self._numbered(probe, level))
            else:
                taken.become(probe, enabled=is_enabled(probe, level))
                probes.append(taken)
        for each in rest:
            each.removed = True
            del self._probes[each.number]
        return probes

    def _numbered(self, checked: CheckedProbe, level: int) -> Probe:
        self._numbers += 1
        probe = Probe(self, self._numbers, checked, enabled=is_enabled(checked, level))
        self._probes[probe.number] = probe
        return probe

    def _require(self, probe: Probe) -> None:
        if self._probes.get(probe.number) is not probe:
            raise UsageError(f"#{probe.number} {probe.name} is not in this session")

    def _declared(self) -> list[Map]:
        return list(self._core.outline.maps)

    def _read(self, map_: int) -> MapContent | None:
        if self._final is None:
            try:
                return next(iter(self._core.snapshot([map_])), None)
            except TargetGone:
                if self._final is None:
                    raise
        contents = (content for answer in self._final for content in self._core.contents(answer))
        return next((content for content in contents if content.map.id == map_), None)

    # ---------------------------------------------------------------- on the thread in the background

    def _run(self) -> None:
        failure: BtpyError | None = None
        try:
            for item in self._core.items():
                self._take(item)
        except BtpyError as error:
            failure = error
            if isinstance(error, TargetGone):
                self._gone = self._gone or error
        self._feed.end(self._gone or failure)
        self._core.close()

    def _take(self, item: Item) -> None:
        if isinstance(item, Records):
            settled: list[Record | Item] = [*self._speculations.settle(item.records)]
            self._feed.put(settled if item.unread is None else [*settled, item.unread])
            if item.malformed is not None:
                self._take(item.malformed)
            return
        self._note(item)
        if isinstance(item, Exiting):
            self._see_off()
        self._feed.put([item])

    def _note(self, item: Item) -> None:
        if isinstance(item, Errors):
            for failure in item.failures:
                self._errors[failure.probe] += failure.count
                span = Span.unpack(self._core.outline.sources, failure.position)
                name = "" if failure.probe == UNKNOWN_PROBE else self._core.outline.probes[failure.probe].name
                self._failures.append(ProbeError(name, failure.kind, span, failure.count, failure.message))
                if len(self._failures) > MOST_ERRORS:
                    self._failures.popleft()
                    self.errors_forgotten += 1

    def _see_off(self) -> None:
        """The JVM is exiting, and waits until everything has been taken."""
        pid = self.target.pid
        gone = TargetGone(f"the JVM {pid} has ended; everything its probes had recorded is shown")
        with contextlib.suppress(BtpyError):
            self._core.restore()
            self._final = self._core.snapshots()
            self._core.detach()
        self._gone = gone
