"""The requests of a session to the agent: a method for each, which returns the answer as plain data.

The methods may be called by any thread. All methods raise TargetGone when the target has ended or does not answer, and
ProtocolError when its agent broke the protocol; the connection is over then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TypeVar

from btpy import timeline
from btpy.engine.agent_probes import Hook
from btpy.errors import BtpyError, ProtocolError, TargetGone, UsageError
from btpy.events.progress import Progress, Work
from btpy.model.attachments import event_number
from btpy.model.patterns import ClassPatternKind
from btpy.model.sampling import SampleMode
from btpy.wire import messages
from btpy.wire.channel import Channel, GoesOn
from btpy.wire.messages import Classes, ClassFiles, Done, LoadedClass, Message, Pattern

ANSWER_SECONDS = 30.0
"""Seconds that the agent may take for a request that changes no class."""

RESTORE_SECONDS = 120.0
"""Seconds that the agent may take to put all classes back, the longest part of leaving."""

WEAVE_SECONDS = 600.0
"""Seconds that one WEAVE may take. HotSpot needs seconds for its classes, and minutes on a busy machine."""

MAX_CLASSES = 20_000
"""The largest number of loaded classes that the patterns of a program may match."""

INSTALL_BYTES = 256 * 1024
"""The maximum number of bytes of handler classes in one INSTALL; more handler classes go into further INSTALL messages.
"""

LOOK_UP_AT_ONCE = 500
"""Types in one LOOK_UP; the agent answers with their supertypes too."""

WEAVE_AT_ONCE = 256
"""Classes in one WEAVE; after each WEAVE, the agent reports the time for which it has stopped the target."""

WEAVE_FIRST = 16
"""Classes in the first WEAVE of a session: it is small, so that the target can begin soon. Each further WEAVE may have
four times as many classes. The batches of the agent grow at the same rate, so that each WEAVE fills its batches.
"""

READ_AT_ONCE = 64
"""Classes in one READ; the agent answers with as many class files as fit into a frame."""

Answer = TypeVar("Answer", bound=Message)
Waited = TypeVar("Waited")

PreweaveMethods = Callable[[Sequence[LoadedClass]], tuple[messages.PrewovenMethods, ...]]

ClassFileOf = Callable[[LoadedClass], bytes | None]
"""The class file of a class, None if it is not known."""

_Reading = Callable[[float], dict[int, bytes]]
"""A function that waits for class files, by class id."""

_UnderWay = tuple[Callable[[float], messages.WeaveResult], int]
"""A function that waits for the answer to a WEAVE, and the number of prewoven classes in this WEAVE."""


NOTHING_WOVEN = messages.WeaveResult(0, (), 0, 0, 0, 0, 0)


def together(one: messages.WeaveResult, other: messages.WeaveResult) -> messages.WeaveResult:
    """Adds up the results of two retransformations."""
    return messages.WeaveResult(
        other.request,
        one.failures + other.failures,
        one.put_back + other.put_back,
        one.batches + other.batches,
        max(one.longest_ns, other.longest_ns),
        one.total_ns + other.total_ns,
        one.waited_ns + other.waited_ns,
    )


_OF_JFR, _WITHOUT_JFR = "JFR: ", "no JFR: "  # texts of the agent (JfrEvents.java)
JFR_HELP = (
    "send the event to btpy instead:  emit(…)",
    "a runtime image gets JFR by  jlink --add-modules jdk.jfr, a program by  java --add-modules jdk.jfr",
)


def _accepted(request: type[Message], answer: Done) -> None:
    """Raises BtpyError when the agent refused the request."""
    if answer.error.startswith(_WITHOUT_JFR):
        raise UsageError(f"the target writes no JFR events: {answer.error.removeprefix(_WITHOUT_JFR)}", help=JFR_HELP)
    if answer.error.startswith(_OF_JFR):
        raise UsageError(f"the target writes no such JFR event: {answer.error.removeprefix(_OF_JFR)}")
    if answer.error:
        raise BtpyError(f"the agent refused {request.__name__.upper()}: {answer.error}")


def _unknown(loaded_class: LoadedClass) -> bytes | None:
    return None


class Agent:
    """``lost``: as in :class:`Channel`. ``loaded``: classes of the target at the time of the attach. ``progress``: the
    progress of long requests. ``goes_on``: called while the target does not answer a request for maps, which raises
    NotAnswered when it returns False; None: the request waits. ``reads``: the number of READs so far.
    """

    def __init__(self, channel: Channel, lost: Callable[[str], TargetGone], loaded: int) -> None:
        self.progress = Progress()
        self.reads = 0
        self.goes_on: GoesOn | None = None
        self._channel = channel
        self._lost = lost
        self._loaded = loaded
        self._weave_at_once = WEAVE_FIRST

    def matching_classes(self, patterns: tuple[Pattern, ...], *, refuse_more: bool = True) -> Classes:
        """All loaded classes that match. Raises UsageError if there are too many, unless a part of them is enough."""
        classes = self.search(patterns, MAX_CLASSES) if patterns else Classes(0, self._loaded, 0, ())
        if refuse_more and classes.matched > len(classes.classes):
            raise UsageError(
                f"the patterns match {classes.matched} of {classes.loaded} loaded classes; the limit is {MAX_CLASSES}",
                help=["add the package to the patterns"],
            )
        return classes

    def named(self, names: Sequence[str]) -> tuple[LoadedClass, ...]:
        """The loaded classes of these names; there may be several classes of one name."""
        patterns = tuple(Pattern(ClassPatternKind.EXACT, name) for name in names)
        return self.search(patterns, MAX_CLASSES).classes if names else ()

    @timeline.timed("search loaded classes")
    def search(self, patterns: tuple[Pattern, ...], most: int, since: int = 0) -> Classes:
        return self.call(lambda request: messages.Search(request, patterns, most, since), Classes, ANSWER_SECONDS)

    def class_files(
        self, classes: Sequence[LoadedClass], local_file: ClassFileOf = _unknown
    ) -> Iterator[tuple[LoadedClass, bytes]]:
        """Each class with its class file. ``local_file`` returns the files that the client itself can read. The target
        reads the other files, one chunk before the caller needs them.
        """
        chunks = [classes[start : start + READ_AT_ONCE] for start in range(0, len(classes), READ_AT_ONCE)]
        readings = [self._begin_reading(chunk, local_file) for chunk in chunks[:1]]
        for number, chunk in enumerate(chunks, 1):
            readings += [self._begin_reading(following, local_file) for following in chunks[number : number + 1]]
            files, read = readings.pop(0)
            if read is not None:
                files.update(self._answered(read))
            while unread := [loaded_class for loaded_class in chunk if loaded_class.id not in files]:
                rest = self._answered(self._read(unread))
                if not rest:
                    break
                files.update(rest)
            for loaded in chunk:
                yield loaded, files.get(loaded.id, b"")

    def _begin_reading(
        self, classes: Sequence[LoadedClass], local_file: ClassFileOf
    ) -> tuple[dict[int, bytes], _Reading | None]:
        """The known class files of these classes, and a function that waits for the other class files."""
        with timeline.step("read class files", classes=len(classes)):
            files = {
                loaded_class.id: data for loaded_class in classes if (data := local_file(loaded_class)) is not None
            }
        unread = [loaded_class for loaded_class in classes if loaded_class.id not in files]
        return files, self._read(unread) if unread else None

    def _read(self, classes: Sequence[LoadedClass]) -> _Reading:
        """A function that waits for the class files that fit into the answer. Raises ProtocolError when the agent
        answers with a class that the client has not requested: requests for the missing classes would never end.
        """
        self.reads += 1
        ids = tuple(loaded_class.id for loaded_class in classes)
        answering = self._channel.ask(lambda request: messages.Read(request, ids), ClassFiles)

        def wait(timeout: float) -> dict[int, bytes]:
            files = {file.class_id: file.data for file in answering(timeout).files}
            if not files.keys() <= set(ids):
                self._channel.close()
                raise ProtocolError("CLASS_FILES has a class that was not requested")
            return files

        return wait

    @timeline.timed("wait for class files")
    def _answered(self, read: _Reading) -> dict[int, bytes]:
        return self._wait(read, WEAVE_SECONDS)  # the target may be retransforming

    def class_file(self, name: str) -> bytes | None:
        """The class file of a loaded class; None if no class of that name is loaded, or it has no class file."""
        return next(iter(self._files(Pattern(ClassPatternKind.EXACT, name), 1)), None)

    def subtypes(self, name: str, most: int) -> list[bytes]:
        """Class files of loaded subtypes."""
        return self._files(Pattern(ClassPatternKind.SUBTYPE, name), most)

    def _files(self, pattern: Pattern, most: int) -> list[bytes]:
        return [data for _, data in self.class_files(self.search((pattern,), most).classes) if data]

    def supertypes(self, loader: str, names: Sequence[str]) -> Iterator[tuple[messages.TypeFact, ...]]:
        """Class files of types that are possibly not loaded, as the loader finds them."""
        for start in range(0, len(names), LOOK_UP_AT_ONCE):
            part = tuple(names[start : start + LOOK_UP_AT_ONCE])
            build = partial(messages.LookUp, loader=loader, names=part)
            yield self.call(build, messages.Supertypes, ANSWER_SECONDS).types

    def locations(self) -> tuple[str, ...]:
        """The places where the target's own loaders search for classes."""
        return self.call(messages.Locate, messages.Locations, ANSWER_SECONDS).paths

    def preweave(self, classes: tuple[messages.PrewovenAnswer, ...], *, anew: bool = False) -> None:
        """Gives the agent answers for classes that no thread has loaded yet; ``anew``: the agent forgets all earlier
        answers, after it has reported the used answers in LATE messages. Raises BtpyError when the target has no room
        for them.
        """
        self.done(lambda request: messages.Preweave(request, anew, classes))

    def watch(self, patterns: tuple[Pattern, ...]) -> Callable[[], None]:
        """From now on the agent looks for these patterns, and no others, among classes being loaded. The returned
        function waits until the agent does so. The agent handles later requests after this one.
        """
        answering = self._channel.ask(lambda request: messages.Watch(request, patterns), Done)
        return lambda: _accepted(messages.Watch, self._wait(answering, ANSWER_SECONDS))

    def weave(
        self,
        classes: Iterable[LoadedClass],
        prewoven: PreweaveMethods,
        *,
        most: int,
        searches: bool = False,
        loses_names: bool = False,
    ) -> messages.WeaveResult:
        """Have classes retransformed. ``prewoven`` weaves some classes of a chunk in advance, while the target
        retransforms the previous chunk. ``most``: the largest number of classes. ``searches``: the caller searches for
        classes loaded in the meantime. ``loses_names``: as in :class:`~btpy.wire.messages.Weave`.
        """
        total = NOTHING_WOVEN
        under_way: _UnderWay | None = None
        with self.progress.of(Work.WEAVING, most):
            for chunk in self._chunks(classes):
                with timeline.step("weave", classes=len(chunk)):
                    woven = prewoven(chunk)
                build = partial(
                    messages.Weave,
                    class_ids=tuple(loaded_class.id for loaded_class in chunk),
                    prewoven=woven,
                    searches=searches,
                    loses_names=loses_names,
                )
                question = self._channel.ask(build, messages.WeaveResult)
                if under_way is not None:
                    total = together(total, self._woven(*under_way))
                under_way = question, len(woven)
            return total if under_way is None else together(total, self._woven(*under_way))

    def _chunks(self, classes: Iterable[LoadedClass]) -> Iterator[Sequence[LoadedClass]]:
        rest = iter(classes)
        while chunk := list(islice(rest, self._weave_at_once)):
            yield chunk
            self._weave_at_once = min(4 * self._weave_at_once, WEAVE_AT_ONCE)

    def _woven(self, answering: Callable[[float], messages.WeaveResult], prewoven: int) -> messages.WeaveResult:
        with timeline.step("wait for retransformation"):
            result = self._wait(answering, WEAVE_SECONDS)
        self.progress.advance(result.longest_ns, done=prewoven)
        return result

    @timeline.timed("install handlers")
    def install(
        self,
        maps: tuple[messages.MapDecl, ...],
        probes: tuple[messages.ProbeDecl, ...],
        handlers: Sequence[messages.HandlerClass],
    ) -> None:
        """Installs maps, probes and handlers, in as many messages as the handlers need."""
        batch: list[messages.HandlerClass] = []
        size = 0
        for handler in handlers:
            if batch and size + len(handler.data) > INSTALL_BYTES:
                self.done(partial(messages.Install, maps=maps, probes=probes, handlers=tuple(batch)))
                maps, probes, batch, size = (), (), [], 0
            batch.append(handler)
            size += len(handler.data)
        self.done(partial(messages.Install, maps=maps, probes=probes, handlers=tuple(batch)))

    def run_every(self, period: int, site: int, handler: str) -> None:
        """Run a handler on the event thread each ``period`` ns. 0: run it once, and return when it has run."""
        self.done(lambda request: messages.Timer(request, site, period, handler))

    def enable(self, probe: int, on: bool) -> None:
        self.done(lambda request: messages.Enable(request, probe, on))

    def remove(self, probes: Sequence[int], sites: Sequence[int]) -> None:
        """Removes probes; ``sites``: the sites of the timers and hooks that end."""
        self.done(lambda request: messages.Remove(request, tuple(probes), tuple(sites)))

    def send(self, event: str) -> None:
        """Run the ``@OnEvent`` probes of that name; returns when they have run."""
        self.done(lambda request: messages.Send(request, event_number(event) & 0xFFFFFFFF))

    def go(self) -> None:
        self._channel.send(messages.Go())

    def snapshot(self, map_: int) -> messages.Maps:
        build = partial(messages.Snapshot, map_ids=(map_,))
        return self._wait(self._channel.ask(build, messages.Maps, self.goes_on), ANSWER_SECONDS)

    def refresh(self) -> None:
        """Returns when this process has the current COUNTERS and ERRORS of the target."""
        self.call(lambda request: messages.Snapshot(request, ()), messages.Maps, ANSWER_SECONDS)

    def hook(self, hook: Hook) -> str:
        """From now on the probe runs at these events. Returns the reason why it cannot, or an empty text."""
        probe = hook.probe
        build = partial(
            messages.Hook,
            probe=probe.probe,
            site=probe.site,
            handler=probe.handler.class_name,
            kind=hook.kind,
            number=hook.number,
            patterns=hook.patterns,
            lines=hook.lines,
        )
        return self.call(build, Done, ANSWER_SECONDS).error

    def sample(self, probe: int, sampling: SampleMode, parameter: int, adaptive: bool) -> None:
        """Change which hits of a probe fire. Its handler samples."""
        self.done(lambda request: messages.Sample(request, probe, sampling, parameter, adaptive))

    def limit(self, probe: int, most_firings: int, most_per_second: int, lifetime_ns: int) -> None:
        """Change how often a probe may fire; 0: no limit."""
        self.done(lambda request: messages.Limit(request, probe, most_firings, most_per_second, lifetime_ns))

    def level(self, level: int) -> None:
        self.done(lambda request: messages.Level(request, level))

    def sessions(self) -> tuple[messages.SessionInfo, ...]:
        return self.call(messages.ListSessions, messages.Sessions, ANSWER_SECONDS).sessions

    def tell(self, session: int, kind: messages.TellKind, number: int) -> None:
        self.done(lambda request: messages.Tell(request, session, kind, number))

    def join(self, session: int, take_over: bool) -> messages.Joined:
        return self.call(lambda request: messages.Join(request, session, take_over), messages.Joined, ANSWER_SECONDS)

    def leave(self, ttl_ms: int, name: str, description: bytes) -> messages.Left:
        return self.call(
            lambda request: messages.Leave(request, ttl_ms, name, description), messages.Left, RESTORE_SECONDS
        )

    def restore(self) -> messages.Restored:
        return self.call(messages.Restore, messages.Restored, RESTORE_SECONDS)

    def detach(self) -> messages.Farewell:
        return self.call(messages.Detach, messages.Farewell, RESTORE_SECONDS)

    def done(self, build: Callable[[int], Message]) -> None:
        """A request that is answered by DONE. Raises BtpyError when the agent refuses it."""
        _accepted(type(build(0)), self.call(build, Done, ANSWER_SECONDS))

    def call(self, build: Callable[[int], Message], answer: type[Answer], timeout: float) -> Answer:
        return self._wait(self._channel.ask(build, answer), timeout)

    def _wait(self, answering: Callable[[float], Waited], timeout: float) -> Waited:
        try:
            return answering(timeout)
        except TimeoutError as error:
            self._channel.close()
            raise self._lost(f"the target has not answered for {timeout:.0f} s: {error}") from None
