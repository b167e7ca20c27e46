"""Weaving classes before they are loaded.

A thread that loads a class to be woven waits about a millisecond for the client's answer. Weaving is the smaller part
of that time. So the client searches the class path of the target for classes that the patterns name, weaves them, and
gives the agent its answers in advance, each with the fingerprint of the bytes for which it is valid. A thread that
loads these bytes does not wait. For other bytes the agent asks as usual.

Answers are given by one version of the instrumentation. Before the probes change, preweaving stops and the agent
forgets its answers. Before the agent reports this, it tells the client which answers it has used.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Container, Iterable

from btpy import interpreter
from btpy.engine.agent import Agent
from btpy.engine.instrumentation import Instrumentation
from btpy.engine.matching import Matching
from btpy.errors import BtpyError
from btpy.events.progress import Work
from btpy.jvm.processes import JvmProcess
from btpy.wire.fingerprint import fingerprint
from btpy.wire.messages import PrewovenAnswer

MOST_CLASSES = 4096
MOST_BYTES = 16 * 1024 * 1024
"""The maximum number of bytes of woven classes. The target keeps them in a file."""

AT_ONCE_BYTES = 128 * 1024
"""The maximum number of bytes of one PREWEAVE message. An answer for a waiting thread may have to wait for this
message."""

LONGEST_REST = 0.1
"""The longest rest, in seconds, after a class or an archive while no caller waits."""

MOST_HANDLERS = 64
"""The largest number of handler classes that are defined for classes that are possibly never loaded."""


class Preweaving:
    """Runs a :class:`Preweaver` for the current version of the program. Any thread may call its methods."""

    def __init__(self, agent: Agent, process: JvmProcess) -> None:
        self._agent = agent
        self._process = process
        self._changing = threading.Lock()
        self._version: Instrumentation | None = None
        self._preweaver: Preweaver | None = None
        self._loaded: set[str] = set()  # the known names of loaded classes that match

    def saw(self, name: str) -> None:
        """Note that a class of this name is loaded, or being loaded."""
        self._loaded.add(name)

    def begin(self, version: Instrumentation, matching: Matching | None = None) -> None:
        """Begin to weave the classes that may be loaded later. ``matching``: the loaded classes."""
        if matching is not None:
            self._loaded.update(matched_class.loaded.name for matched_class in matching.classes)
        if not version.preweaves or not self._process.shares_files:
            return
        with version.weave_state.lock:
            self._loaded.update(name for name, _ in version.weave_state.woven)
        patterns = version.named(self._loaded)
        if patterns:
            is_wanted = names_wanted(patterns, self._loaded)
            with self._changing:
                self._version = version
                self._preweaver = Preweaver(self._agent, self._process, version, is_wanted)

    def end(self) -> None:
        """Stop, and make the agent forget its answers. From now on the agent asks about every class, and the weave
        state knows which answers the agent has used."""
        with self._changing:
            if self._preweaver is not None and self._version is not None:
                self._preweaver.stop()
                self._agent.preweave((), anew=True)
                with self._version.weave_state.lock:
                    self._version.weave_state.forget_prewoven()
                self._preweaver = self._version = None

    def finish(self, seconds: float) -> None:
        """Wait until the classes are woven, for ``seconds`` at most."""
        preweaver = self._preweaver
        if preweaver is not None:
            with self._agent.progress.of(Work.PREWEAVING, 0):
                preweaver.finish(seconds)

    def stop(self) -> None:
        """Afterwards it sends nothing more to the agent, which keeps its answers."""
        preweaver = self._preweaver
        if preweaver is not None:
            preweaver.stop()

    def abandon(self) -> None:
        """Like :meth:`stop`, but without waiting: the connection is about to end."""
        preweaver = self._preweaver
        if preweaver is not None:
            preweaver.abandon()


class Preweaver:
    """For one version. ``wanted``: whether a class name matches. The preweaver takes at most a quarter of a core, and a
    whole core while a caller waits (:meth:`finish`).
    """

    def __init__(
        self, agent: Agent, process: JvmProcess, version: Instrumentation, is_wanted: Callable[[str], bool]
    ) -> None:
        self._agent = agent
        self._process = process
        self._version = version
        self._is_wanted = is_wanted
        self._stopped = threading.Event()
        self._awaited = threading.Event()
        self._class_start = 0.0
        self._digests: set[bytes] = set()
        self._waiting: list[PrewovenAnswer] = []
        self._waiting_bytes = self._bytes = self._classes = self._handlers = 0
        self._thread = threading.Thread(target=self._run, name="btpy-preweave", daemon=True)
        self._thread.start()

    def finish(self, seconds: float) -> None:
        """Wait until all classes are woven, for ``seconds`` at most."""
        self._awaited.set()
        self._thread.join(seconds)
        self._awaited.clear()

    def stop(self) -> None:
        """After the return it sends no further message to the agent."""
        self._stopped.set()
        self._thread.join()

    def abandon(self) -> None:
        """Like :meth:`stop`, but a message may still be on its way: the connection is about to end."""
        self._stopped.set()

    def _run(self) -> None:
        try:
            with interpreter.gc_paused():
                self._preweave()
        except BtpyError:
            pass  # the agent has no room for more, or the connection has ended, which the channel reports

    def _preweave(self) -> None:
        from btpy.engine.class_sources import ClassPath  # while the other parts start

        path = ClassPath(self._process, self._agent.locations())
        self._class_start = time.perf_counter()
        for place in path.places():
            for name, data in place(self._is_wanted):
                self._add(name, data)
                if self._waiting_bytes > AT_ONCE_BYTES:
                    self._send()
                if self._is_over():
                    break
            if self._is_over():
                break
        if not self._stopped.is_set():
            self._send()

    def _is_over(self) -> bool:
        """Whether to stop weaving. If no caller waits, the thread rests first."""
        if not self._awaited.is_set():
            self._stopped.wait(min(LONGEST_REST, 3 * (time.perf_counter() - self._class_start)))
        self._class_start = time.perf_counter()
        return self._stopped.is_set() or self._classes == MOST_CLASSES or self._bytes > MOST_BYTES

    def _add(self, name: str, data: bytes) -> None:
        if not self._version.planner.may_match(data):
            return  # the agent asks about it only if the user has named it
        digest = fingerprint(data)
        if digest in self._digests:  # in several archives
            return
        self._digests.add(digest)
        prewoven = self._version.preweave(name, data, MOST_HANDLERS - self._handlers)
        if prewoven is None:
            return
        answer, handlers = prewoven
        if handlers:
            self._agent.install((), (), handlers)
            self._version.weave_state.add_installed(handler.name for handler in handlers)
            self._handlers += len(handlers)
        self._waiting.append(answer)
        self._waiting_bytes += len(answer.woven)
        self._bytes += len(answer.woven)
        self._classes += 1

    def _send(self) -> None:
        if self._waiting:
            self._agent.preweave(tuple(self._waiting))
            self._waiting.clear()
            self._waiting_bytes = 0


def names_wanted(matches: Iterable[Callable[[str], bool]], loaded_names: Container[str]) -> Callable[[str], bool]:
    """Whether one of the patterns matches a name of a class that is not loaded; ``loaded_names`` may grow."""
    patterns = tuple(matches)
    return lambda name: name not in loaded_names and any(pattern(name) for pattern in patterns)
