"""A session on a running JVM, for Python programs: any thread may call it at any time.

    import btpy

    with btpy.attach("OrderApp") as session:
        session.add("com.acme.PricingEngine::quote @return when duration > 50ms { @slow[$sku] = hist(duration) }")
        for event in session.events(timeout=60):
            print(event.time, event.text)
        print(session.maps["@slow"])

Leaving the block takes every probe out and puts every class back, also after an exception.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from btpy.api.classes import LoadedClasses
from btpy.api.events import Event, EventMaker, EventReader
from btpy.api.feed import KEPT, Feed, Reader
from btpy.api.maps import Maps, MapView
from btpy.api.probe_figures import ErrorLog, ProbeFigures
from btpy.api.probes import Probe
from btpy.api.scripts import Scripts, parameter_texts, source_of
from btpy.engine.deployer import Deployment as Deployment
from btpy.engine.matching import Matching as Matching
from btpy.engine.matching import check_limits as check_limits
from btpy.engine.receipt import Receipt as Receipt
from btpy.engine.session import JoinedSession
from btpy.engine.session import Session as EngineSession
from btpy.engine.target import CPU_BUDGET as CPU_BUDGET
from btpy.engine.target import Limits as Limits
from btpy.engine.target import Target as Target
from btpy.errors import BtpyError, NothingMatched, ScriptError, TargetGone, UsageError
from btpy.events.items import Item, Records
from btpy.events.progress import Progress
from btpy.events.reading_limit import ReadingLimit
from btpy.events.records import Record
from btpy.events.speculation import Speculations
from btpy.jvm.connecting import Connecting
from btpy.jvm.launching import Launching
from btpy.jvm.processes import JvmProcess
from btpy.lang.link.libraries import Libraries
from btpy.model.attach_method import AttachMethod
from btpy.model.diagnostics import Diagnostic
from btpy.model.permissions import DEFAULT_PERMISSIONS, Permissions
from btpy.model.secrets import NO_SECRETS, Secrets
from btpy.model.secrets_file import configured
from btpy.model.source import Source
from btpy.output.writer import Clock, Context, ProbeError
from btpy.plan.listing import ListedProbe
from btpy.plan.plan import Refusal
from btpy.wire.channel import GoesOn
from btpy.wire.channel import Tap as Tap
from btpy.wire.messages import Errors, Exiting, Message

MOST_WAITING = 100_000
"""The largest number of events that wait for one reader."""


def attach(
    target: int | str | JvmProcess | Connecting | Launching,
    *,
    allow: Iterable[str] = (),
    redact: bool = True,
    secrets: Secrets | Iterable[str] = (),
    frameworks: Iterable[str] = (),
    libraries: Libraries | Sequence[str | Path] = (),
    limits: Limits | None = None,
    kept: int = KEPT,
    tap: Tap | None = None,
    method: AttachMethod = AttachMethod.DIRECT,
) -> Session:
    """Attach to a running JVM: a pid; a part of the main class, the jar or ``-Dbtpy.name`` that only one JVM has;
    ``container/ID`` or ``pod/NAME``. Or continue an attach or a launch that was begun before.

    ``allow``: capabilities, as for ``--allow`` (``core``, ``call:com.acme.Foo.bar`` …). ``redact``: values under the
    names of secrets are hidden. ``secrets``: names and regular expressions of further secrets, as for ``--secret``
    (``customerNumber``, ``/AC-[0-9]{6}/``), in addition to the user's file. ``frameworks``: globs of further classes
    whose frames ``app_frame()`` skips. ``libraries``: directories where imports are looked for first. ``limits``:
    bounds on captured values and buffers, and the time that the target waits for the client. ``kept``: the number of
    past events that are kept for a reader that subscribes later. ``tap``: called with each message to and from the
    target, its bytes, and whether it was sent, on threads of btpy; secrets in texts are not masked in these messages.
    ``method``: as for ``--attach``, if the attach has not begun.

    Raises AttachError with the obstacle and its remedy, and UsageError for ``secrets`` that are neither names nor
    regular expressions.
    """
    permissions = _permissions(allow, redact, frameworks, secrets)
    engine = _attached(target, limits, tap, permissions, method)
    return Session(engine, permissions, _search(libraries), kept)


def attach_pulled(
    target: int | str | JvmProcess | Connecting | Launching,
    permissions: Permissions = DEFAULT_PERMISSIONS,
    *,
    limits: Limits | None = None,
    tap: Tap | None = None,
    method: AttachMethod = AttachMethod.DIRECT,
) -> PulledSession:
    """Like :func:`attach`, for a caller that reads the messages of the target at its own pace. ``permissions``: the
    permissions of the program that the caller will load."""
    return PulledSession(_attached(target, limits, tap, permissions, method), permissions, _search(()))


def launch(
    command: Sequence[str],
    *,
    allow: Iterable[str] = (),
    redact: bool = True,
    secrets: Secrets | Iterable[str] = (),
    libraries: Sequence[str | Path] = (),
    limits: Limits | None = None,
) -> Session:
    """Start a JVM (``["java", "-jar", "app.jar"]``) and attach to it before its main method runs: :meth:`Session.go`
    starts main. Few classes are loaded until then: add probes with ``missing="ignore"``. The JVM goes on after the
    session.

    Raises UsageError if the command does not start Java, and AttachError.
    """
    permissions = _permissions(allow, redact, (), secrets)
    with Launching(command) as launching:
        try:
            engine = _attached(launching, limits, None, permissions)
        except BtpyError:
            launching.child.terminate()  # the program must not run without its probes
            raise
        return Session(engine, permissions, _search(libraries), KEPT)


def _permissions(
    allow: Iterable[str], redact: bool, frameworks: Iterable[str], secrets: Secrets | Iterable[str]
) -> Permissions:
    """Raises UsageError."""
    return Permissions(frozenset(allow), redact, tuple(frameworks), _secrets(secrets, redact))


def _secrets(secrets: Secrets | Iterable[str], redact: bool) -> Secrets:
    """Raises UsageError."""
    if isinstance(secrets, Secrets):
        return secrets
    extra_secrets = Secrets.of(secrets, "secrets:")
    if not redact and extra_secrets != NO_SECRETS:
        raise UsageError("secrets= hides values, and redact=False shows all values", help=["leave out redact=False"])
    return extra_secrets.with_(configured(os.environ)) if redact else NO_SECRETS


def _search(libraries: Libraries | Iterable[str | Path]) -> Libraries:
    if isinstance(libraries, Libraries):
        return libraries
    return Libraries.of(os.environ, [Path(directory) for directory in libraries])


def _attached(
    target: int | str | JvmProcess | Connecting | Launching,
    limits: Limits | None,
    tap: Tap | None,
    permissions: Permissions,
    method: AttachMethod = AttachMethod.DIRECT,
) -> EngineSession:
    """Raises AttachError."""
    limits = replace(limits or Limits(), redact=permissions.redact, secret_names=permissions.secrets.names)
    if isinstance(target, Connecting | Launching):
        return EngineSession.connected(target, limits, tap)
    with Connecting(target, allow=permissions.allow, method=method) as connecting:
        return EngineSession.connected(connecting, limits, tap)


class BaseSession:
    """The common part of all sessions. All methods raise TargetGone when the target has ended or does not answer.

    ``probes`` are added from scripts (:meth:`add`); ``scripts`` takes checked scripts. ``classes``: the classes of the
    target. ``maps``: the maps by name; after the session they have their final content. ``figures``: the accounts of
    hits and records of probes. ``context``: the names and places that records refer to. ``libraries``: the search path
    of imports. ``joined``: the session that this client has joined; None: this client has begun the session.
    """

    def __init__(self, engine: EngineSession, permissions: Permissions, libraries: Libraries) -> None:
        engine.delivery.hide(permissions)
        self._engine = engine
        self._permissions = permissions
        delivery = engine.delivery
        clock = Clock(engine.target.nano_time, engine.target.wall_nanos)
        self._speculations = Speculations(delivery.outline.templates)
        self._error_log = ErrorLog(delivery.outline)
        self.libraries = libraries
        self.context = Context(delivery.outline, engine.deployer.sites, delivery.stacks, clock)
        self.figures = ProbeFigures(engine, self._error_log, self._speculations)
        self.scripts = Scripts(engine, permissions, libraries, self, self.figures)
        self.maps = Maps(delivery)
        self.classes = LoadedClasses(engine.agent)
        self.joined: JoinedSession | None = engine.joined
        self._script_names = 0
        self._receipt: Receipt | None = None
        self._is_left = False
        self._loss: TargetGone | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            if not self._is_left:
                self.detach()
        except TargetGone:
            pass  # all classes are restored; readers of events get the error
        except BtpyError:
            if error is None:
                raise
        finally:
            self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.target.main} ({self.target.pid}), {len(self.probes)} probes>"

    @property
    def target(self) -> Target:
        return self._engine.target

    @property
    def probes(self) -> Mapping[int, Probe]:
        """The probes by number, in order. A probe keeps its number when it is replaced; numbers are not given twice."""
        return MappingProxyType(dict(sorted(self.scripts.probes.items())))

    def add(
        self,
        script: str | Path,
        *,
        name: str = "",
        parameters: Mapping[str, object] | None = None,
        missing: str | None = None,
        level: int | None = None,
    ) -> list[Probe]:
        """Put the probes of a script in. The script is a text, or the file of a :class:`~pathlib.Path`.

        ``name``: the name of the text in messages. ``parameters``: values for the parameters that the script declares
        (``250`` or ``"250ms"``). ``missing``: the reaction to a probe that matches no code now: ``error``, ``warn``
        (``warnings``) or ``ignore``; None: the setting of the script, else an error. ``level``: probes with a higher
        ``@Level`` start disabled; None: the level of the session.

        Returns all its probes, in order. Raises ScriptError, NothingMatched, CompileError and UsageError; the target is
        then unchanged.
        """
        with self.scripts.changing:
            program = self.scripts.check(self._source(script, name), parameter_texts(parameters))
            return self.scripts.load(program, missing=missing, level=level)

    def replace(
        self,
        probe: Probe | Sequence[Probe],
        script: str | Path,
        *,
        name: str = "",
        parameters: Mapping[str, object] | None = None,
        missing: str | None = None,
    ) -> list[Probe]:
        """Replace a probe, or several, by a new version in one step: no hit of a running method is lost or counted
        twice. Activations that began with the old version end with it.

        A new probe takes the number of the old probe that has the same name; the other new probes take the remaining
        numbers in order. A text with only probes may use the imports and declarations of the old probe's script, with
        that script's parameters.

        Returns the new probes. If the new version cannot be installed for any reason, the old probes stay; raises like
        :meth:`add`.
        """
        with self.scripts.changing:
            old = [probe] if isinstance(probe, Probe) else list(probe)
            for replaced in old:
                self.scripts.require(replaced)
            source = self._source(script, name or old[0].source)
            if isinstance(script, str) and len(old) == 1:
                from btpy.lang.link.excerpt import excerpt

                source = Source(source.name, excerpt(self.scripts.source(old[0]), source.text))
            arguments = self.scripts.arguments(old[0], source) | parameter_texts(parameters)
            program = self.scripts.check(source, arguments, old)
            return self.scripts.load(program, missing=missing, replacing=old)

    def remove(self, probe: Probe | Sequence[Probe]) -> int:
        """Take probes out. When this method returns, the probes no longer fire, and classes without probes have their
        original bytes. Returns the number of these classes. A script that has only ``@OnBegin`` and ``@OnEnd`` probes
        left ends: its ``@OnEnd`` runs.
        """
        return self.scripts.remove([probe] if isinstance(probe, Probe) else list(probe))

    def run(self, statements: str) -> None:
        """Run statements once, on the agent's thread: ``clear(@slow);``. Returns when they have run; raises as
        :meth:`add`."""
        self.scripts.run_once(Source("<statements>", f"@OnBegin {{ {statements} }}"))

    def check(
        self,
        script: str | Path,
        *,
        name: str = "",
        parameters: Mapping[str, object] | None = None,
        match: bool = True,
    ) -> list[Diagnostic]:
        """The diagnostics of a script, and of its probes that would match nothing if it were added now. Changes
        nothing. ``match`` False: the method does not ask the target, so it never waits, and the result has nothing
        about matching.
        """
        with self.scripts.changing if match else contextlib.nullcontext():
            try:
                program = self.scripts.check(self._source(script, name), parameter_texts(parameters))
                return [*program.warnings, *(self.scripts.unfit(program) if match else ())]
            except (ScriptError, NothingMatched) as error:
                return list(error.diagnostics)

    def listing(self, pattern: str, *, most: int | None = None) -> tuple[ListedProbe, ...]:
        """The classes and methods that ``com.acme.*`` or ``com.acme.Foo::bar*`` matches now; ``most``: the maximum
        number of classes, in the order of their names. Touches nothing. Raises ScriptError if the text is not a
        pattern, and UsageError.
        """
        from btpy.lang.check.checker import check_source

        text = pattern if "::" in pattern else f"{pattern}::*"
        program = check_source(Source("<pattern>", f"{text} @entry {{ }}"), self.libraries, {}, self._permissions)
        return self.scripts.listing(program, most=most)[1]

    def go(self) -> None:
        """Let a launched JVM run its main method; has no effect on other JVMs."""
        self._engine.go()

    def level(self, level: int) -> None:
        """Enable the probes with ``@Level`` up to this level, and disable the others; also in later scripts."""
        self.scripts.set_level(level)

    def send(self, event: str) -> None:
        """Run the ``@OnEvent`` probes of that name; returns when they have run."""
        self._engine.agent.send(event)

    def snapshot(self) -> dict[str, MapView]:
        """All maps, by name."""
        return {name: self.maps[name] for name in self.maps}

    @property
    def deployment(self) -> Deployment | None:
        """The deployment of the latest script; in a session that was joined, of all scripts."""
        return self.scripts.deployment

    @property
    def errors(self) -> list[ProbeError]:
        """The latest 1000 reports of errors in probes, without the older reports that ``errors_forgotten`` counts.
        :attr:`Probe.errors` counts all errors.
        """
        return list(self._error_log.latest)

    @property
    def errors_forgotten(self) -> int:
        """The number of error reports before the reports in ``errors``."""
        return self._error_log.forgotten

    @property
    def warnings(self) -> list[Diagnostic]:
        """Warnings about probes that matched no code when they were added (``missing="warn"``), and about probes that
        are not in methods of classes loaded later.
        """
        return [*self.scripts.warnings, *self.scripts.problems]

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """Code that was not woven so far, with the reasons."""
        return self._engine.deployer.refusals

    @property
    def progress(self) -> Progress:
        """The progress of a long operation in the target, on any thread."""
        return self._engine.agent.progress

    def leave(self, seconds: float, name: str = "") -> str:
        """Leave, and keep the probes in the target for at most ``seconds``; then the agent restores all classes itself.
        The session should have been attached with ``limits=Limits(unattended=True)``.

        Returns the id of the session: ``btpy attach PID ID`` reads the output of its probes, ``btpy stop PID ID`` ends
        it. The maps of this moment can still be read from this object. Raises UsageError when the target refuses; the
        session is then unchanged.
        """
        with self.scripts.changing:
            last_maps = self._engine.delivery.snapshots()
            number = self._engine.departure.leave(seconds, name)
            self._is_left = True
            self.maps.freeze(last_maps)
        self._wait_for_end()
        return f"{number:08x}"

    def detach(self) -> Receipt:
        """Take all probes out, put every class back and leave. Returns the receipt of the target. Maps, and events that
        have arrived, can still be read. Later calls return the same receipt. Raises UsageError after :meth:`leave`."""
        with self.scripts.changing:
            if self._is_left:
                raise UsageError("this client has left the session", help=["btpy stop PID ID ends it"])
            if self._receipt is None:
                if self._loss is not None:
                    raise self._loss
                self._engine.departure.restore()
                self.maps.freeze(self._engine.delivery.snapshots())
                self._receipt = self._engine.departure.detach()
        self._wait_for_end()
        return self._receipt

    def close(self) -> None:
        """Cut the connection; the agent then puts back the woven classes and leaves. :meth:`detach` also returns the
        receipt."""
        self._engine.close()

    def _wait_for_end(self) -> None:
        """Wait until btpy's own thread, if there is one, has taken all messages that had arrived."""

    def _source(self, script: str | Path, name: str) -> Source:
        """Raises UsageError."""
        if not name and isinstance(script, str):
            self._script_names += 1
            name = f"<script {self._script_names}>"
        return source_of(script, name)


class Session(BaseSession):
    """Made by :func:`btpy.attach` and :func:`btpy.launch`.

    A background thread takes the messages of the target and hands them to every reader of :meth:`events`.
    """

    def __init__(
        self, engine: EngineSession, permissions: Permissions, libraries: Libraries | None = None, kept: int = KEPT
    ) -> None:
        super().__init__(engine, permissions, libraries or Libraries())
        self._maker = EventMaker(self.context, engine.target.pid)
        self._feed: Feed[Record | Item] = Feed(kept)
        self._thread = threading.Thread(target=self._run, name="btpy-live", daemon=True)
        self._thread.start()

    @property
    def ended(self) -> bool:
        """Whether no more messages can arrive: after :meth:`detach`, and when the target is gone."""
        return self._feed.ended

    def events(self, timeout: float | None = None, *, most: int = MOST_WAITING, from_start: bool = True) -> EventReader:
        """The events of probes, for ``timeout`` seconds (None: until the session ends), in order. Works also with
        ``async for``.

        Every reader gets all events. ``from_start``: also the events before this call, as far as they are kept (the
        last 10,000). ``most``: the number of events that may wait for this reader, 10,000 at least. A slower reader
        loses the oldest events; its ``dropped`` counts them.

        If the target is gone, yields everything that it sent, then raises TargetGone.
        """
        return EventReader(self._feed.reader(most, from_start=from_start), self._maker, timeout)

    def events_async(self, *, most: int = MOST_WAITING, from_start: bool = True) -> AsyncIterator[Event]:
        """Like :meth:`events`, for ``async for``."""
        return self.events(most=most, from_start=from_start)

    def __aiter__(self) -> AsyncIterator[Event]:
        return self.events_async()

    def items(self, *, most: int = MOST_WAITING) -> Reader[Record | Item]:
        """Like :meth:`events` from the start, but yields decoded items, for a program that shows them: records after
        their speculation is settled, maps to print, errors, counters. ``context`` resolves the ids in the items.
        """
        return self._feed.reader(most)

    def read_at_most(self, records: int) -> None:
        """From now on decode at most this number of records of a probe in a second; :meth:`items` counts the other
        records (``Unread``). For a program that only shows events: a record that is not decoded costs little, so the
        client keeps up and no record is lost on the way.
        """
        self._engine.delivery.reading_limit = ReadingLimit(records, self._engine.delivery.outline.templates)

    def refresh(self) -> None:
        """Request the accounts of hits and records now; otherwise the target sends them once a second. After the
        session it does nothing: the accounts are exact. Raises TargetGone.
        """
        if not self.ended:
            self._engine.agent.refresh()

    def _wait_for_end(self) -> None:
        if threading.current_thread() is not self._thread:
            self._thread.join()

    # The methods below run on the background thread.

    def _run(self) -> None:
        failure: BtpyError | None = None
        try:
            for item in self._engine.delivery.items():
                self._take(item)
        except BtpyError as error:
            failure = error
            if isinstance(error, TargetGone):
                self._loss = self._loss or error
        self._feed.end(self._loss or failure)
        self._engine.close()

    def _take(self, item: Item) -> None:
        if isinstance(item, Records):
            settled: list[Record | Item] = [*self._speculations.settle(item.records)]
            self._feed.put(settled if item.unread is None else [*settled, item.unread])
            if item.malformed is not None:
                self._take(item.malformed)
            return
        if isinstance(item, Errors):
            self._error_log.add(item)
        if isinstance(item, Exiting):
            self._see_off()
        self._feed.put([item])

    def _see_off(self) -> None:
        """The JVM is exiting, and waits until the client has taken all messages."""
        error = TargetGone(f"the JVM {self.target.pid} has ended; everything its probes had recorded is shown")
        with contextlib.suppress(BtpyError):
            self._engine.departure.restore()
            self.maps.freeze(self._engine.delivery.snapshots())
            self._engine.departure.detach()
        self._loss = error


class PulledSession(BaseSession):
    """Made by :func:`attach_pulled`: the caller takes the messages of the target at its own pace. The target sends only
    as much as the caller takes, and drops and counts the rest, so the client loses nothing.
    """

    def received(self, timeout: float | None = None) -> Iterator[Message]:
        """The messages of the next ``timeout`` seconds (None: until the session ends), for a program that stores them,
        or shows their :meth:`item`.

        Raises TargetGone and ProtocolError once the caller has taken all earlier messages. When :class:`Exiting` comes,
        the JVM waits for :meth:`detach`.
        """
        return self._engine.delivery.received(timeout)

    def while_silent(self, goes_on: GoesOn | None) -> None:
        """Calls this function ten times a second while the target does not answer a request for maps, with the seconds
        of the wait. When the function returns False, the request raises NotAnswered. None: no function is called.
        """
        self._engine.agent.goes_on = goes_on

    def item(self, message: Message) -> Item:
        """Decodes a received message. The caller must pass every message once, in order. Raises ProtocolError."""
        item = self._engine.delivery.item(message)
        if isinstance(item, Errors):
            self._error_log.add(item)
        return item
