"""Sessions on several JVMs as one: a script in each, their events in one stream, their maps merged."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, TypeVar

from btpy.errors import BtpyError, TargetGone, UsageError
from btpy.events.aggregates import MapContent, merge
from btpy.events.records import StackRef
from btpy.events.stacks import StackTable
from btpy.jvm.processes import JvmProcess
from btpy.live.events import Event
from btpy.live.feed import Feed, Reader
from btpy.live.maps import MapView
from btpy.live.probes import Probe
from btpy.live.session import MOST_WAITING, Session, attach
from btpy.session.session import Limits, Receipt

Result = TypeVar("Result")


def attach_all(
    targets: Iterable[int | str | JvmProcess],
    *,
    allow: Iterable[str] = (),
    redact: bool = True,
    libraries: Sequence[str | Path] = (),
    limits: Limits | None = None,
) -> Sessions:
    """Attach to several JVMs at once, as :func:`btpy.attach` does to one. One that cannot be attached to does not keep
    the others from it: ``failures`` says why.

    Raises what the first failed with when all did, and UsageError when there are none.
    """
    wanted = list(targets)
    capabilities = tuple(allow)
    found: dict[int, Session] = {}
    failures: dict[object, BtpyError] = {}

    def try_(target: int | str | JvmProcess) -> None:
        try:
            session = attach(target, allow=capabilities, redact=redact, libraries=libraries, limits=limits)
            found[session.target.pid] = session
        except BtpyError as error:
            failures[target.pid if isinstance(target, JvmProcess) else target] = error

    threads = [threading.Thread(target=try_, args=(target,), name="btpy-attaching") for target in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not found:
        raise next(iter(failures.values()), UsageError("there is nothing to attach to"))
    order = [session for _, session in sorted(found.items())]
    return Sessions(order, failures)


class Sessions:
    """Made by :func:`attach_all`. What is done, is done in each that has not ended.

    ``failures``: what one failed with last while others did not, by pid, or by what was given where there is no pid.
    """

    def __init__(self, sessions: Sequence[Session], failures: Mapping[object, BtpyError] | None = None) -> None:
        self.failures: dict[object, BtpyError] = dict(failures or {})
        self._sessions = {session.target.pid: session for session in sessions}
        self._feed: Feed[Event] = Feed()
        self._left = len(self._sessions)
        self._state = threading.Lock()
        for session in self._sessions.values():
            threading.Thread(target=self._pump, args=(session,), name="btpy-several", daemon=True).start()

    def __enter__(self) -> Sessions:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.detach()

    @property
    def sessions(self) -> Mapping[int, Session]:
        """By pid: all that were attached to."""
        return MappingProxyType(self._sessions)

    @property
    def running(self) -> list[Session]:
        """Those that have not ended."""
        return [session for session in self._sessions.values() if not session.ended]

    def add(self, script: str | Path, **options: Any) -> dict[int, list[Probe]]:
        """:meth:`Session.add` in each that runs; the probes by pid. Raises what the first failed with when all did."""
        return self._each(lambda session: session.add(script, **options))

    def level(self, level: int) -> None:
        self._each(lambda session: session.level(level))

    def send(self, event: str) -> None:
        """Run the ``@OnEvent`` probes of that name in each."""
        self._each(lambda session: session.send(event))

    def events(self, timeout: float | None = None, *, most: int = MOST_WAITING) -> Iterator[Event]:
        """The events of all, as they come; ``Event.pid`` says whose. Ends when all have ended. Raises TargetGone when
        all targets are gone."""
        return _events(self._feed.reader(most), timeout)

    @property
    def maps(self) -> Mapping[str, MapView]:
        """All maps, those of a name merged: as if all samples had gone into one. Of plain values the last one wins."""
        contents: dict[str, list[MapContent]] = {}
        stacks = StackTable()
        for pid, session in self._sessions.items():
            try:
                snapshot = session.snapshot()
            except TargetGone as error:
                self.failures.setdefault(pid, error)
                continue
            for name, view in snapshot.items():
                contents.setdefault(name, []).append(with_stacks(view.content, session.context.stacks, stacks))
        return {name: MapView(merge(each), stacks) for name, each in contents.items()}

    def detach(self) -> dict[int, Receipt]:
        """:meth:`Session.detach` of each; the receipts of those that are not gone, by pid."""
        receipts: dict[int, Receipt] = {}
        for pid, session in self._sessions.items():
            try:
                receipts[pid] = session.detach()
            except BtpyError as error:
                self.failures.setdefault(pid, error)
            finally:
                session.close()
        return receipts

    def _each(self, do: Callable[[Session], Result]) -> dict[int, Result]:
        """Raises what the first failed with when all did."""
        done: dict[int, Result] = {}
        failed: dict[object, BtpyError] = {}
        for session in self.running:
            try:
                done[session.target.pid] = do(session)
            except BtpyError as error:
                failed[session.target.pid] = error
        if failed and not done:
            raise next(iter(failed.values()))
        self.failures.update(failed)
        return done

    def _pump(self, session: Session) -> None:
        try:
            for event in session.events():
                self._feed.put([event])
        except BtpyError as error:
            self.failures.setdefault(session.target.pid, error)
        with self._state:
            self._left -= 1
            if self._left == 0:
                gone = all(isinstance(self.failures.get(pid), TargetGone) for pid in self._sessions)
                self._feed.end(TargetGone("all targets have ended") if gone else None)


def _events(reader: Reader[Event], timeout: float | None) -> Iterator[Event]:
    deadline = None if timeout is None else time.monotonic() + timeout
    try:
        while (event := reader.take(deadline)) is not None:
            yield event
    finally:
        reader.close()


def with_stacks(content: MapContent, own: StackTable, common: StackTable) -> MapContent:
    """With the stacks by their ids in ``common``: each session counts its own."""

    def moved(value: Any) -> Any:
        if isinstance(value, StackRef):
            frames = own.frames(value.id)
            return StackRef(0 if frames is None else common.intern(frames))
        if isinstance(value, tuple):
            return tuple(moved(each) for each in value)
        if is_dataclass(value) and not isinstance(value, type):
            changed = {each.name: moved(getattr(value, each.name)) for each in fields(value)}
            return replace(value, **changed)
        return value

    return replace(content, entries=moved(content.entries))
