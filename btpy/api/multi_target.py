"""Sessions on several JVMs as one: a script in each, their events in one stream, their maps merged."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, TypeVar

from btpy.api.events import Event
from btpy.api.feed import Feed, Reader
from btpy.api.maps import MapView
from btpy.api.merged_maps import Shares
from btpy.api.probes import Probe
from btpy.api.session import MOST_WAITING, Session, attach
from btpy.engine.receipt import Receipt
from btpy.engine.target import Limits
from btpy.errors import BtpyError, TargetGone, UsageError
from btpy.jvm.processes import JvmProcess
from btpy.model.secrets import Secrets

Result = TypeVar("Result")


def attach_all(
    targets: Iterable[int | str | JvmProcess],
    *,
    allow: Iterable[str] = (),
    redact: bool = True,
    secrets: Secrets | Iterable[str] = (),
    libraries: Sequence[str | Path] = (),
    limits: Limits | None = None,
) -> Sessions:
    """Attach to several JVMs at once, as :func:`btpy.attach` does to one. If a JVM cannot be traced, the others are
    traced: ``failures`` has the error.

    If all targets fail, raises the error of the first target; raises UsageError if there are no targets.
    """
    all_targets = list(targets)
    capabilities = tuple(allow)
    reusable_secrets = secrets if isinstance(secrets, Secrets) else tuple(secrets)
    sessions: dict[int, Session] = {}
    failures: dict[object, BtpyError] = {}

    def try_(target: int | str | JvmProcess) -> None:
        try:
            session = attach(
                target, allow=capabilities, redact=redact, secrets=reusable_secrets, libraries=libraries, limits=limits
            )
            sessions[session.target.pid] = session
        except BtpyError as error:
            failures[target.pid if isinstance(target, JvmProcess) else target] = error

    threads = [threading.Thread(target=try_, args=(target,), name="btpy-attaching") for target in all_targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not sessions:
        raise next(iter(failures.values()), UsageError("there is nothing to attach to"))
    order = [session for _, session in sorted(sessions.items())]
    return Sessions(order, failures)


class Sessions:
    """Made by :func:`attach_all`. A method acts on every target that has not ended.

    ``failures``: the last error of each target that failed while other targets did not, by pid, or by the given name
        if there is no pid.
    """

    def __init__(self, sessions: Sequence[Session], failures: Mapping[object, BtpyError] | None = None) -> None:
        self.failures: dict[object, BtpyError] = dict(failures or {})
        self._sessions = {session.target.pid: session for session in sessions}
        self._shares = Shares()
        self._feed: Feed[Event] = Feed()
        self._running_count = len(self._sessions)
        self._state = threading.Lock()
        for session in self._sessions.values():
            threading.Thread(target=self._pump, args=(session,), name="btpy-several", daemon=True).start()

    def __enter__(self) -> Sessions:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.detach()

    @property
    def sessions(self) -> Mapping[int, Session]:
        """All attached sessions by pid."""
        return MappingProxyType(self._sessions)

    @property
    def running(self) -> list[Session]:
        """The targets that have not ended."""
        return [session for session in self._sessions.values() if not session.ended]

    def add(self, script: str | Path, **options: Any) -> dict[int, list[Probe]]:
        """Calls :meth:`Session.add` for each running target, and returns the probes by pid. If all targets
        fail, raises the error of the first target.
        """
        return self._each(lambda session: session.add(script, **options))

    def level(self, level: int) -> None:
        self._each(lambda session: session.level(level))

    def send(self, event: str) -> None:
        """Run the ``@OnEvent`` probes of that name in each target."""
        self._each(lambda session: session.send(event))

    def events(self, timeout: float | None = None, *, most: int = MOST_WAITING) -> Iterator[Event]:
        """The events of all targets in order of arrival. ``Event.pid`` is the pid of the target. The iteration ends
        when all targets have ended. Raises TargetGone if all targets are gone.
        """
        return _events(self._feed.reader(most), timeout)

    @property
    def maps(self) -> Mapping[str, MapView]:
        """All maps. Maps of one name are merged, as if all samples had gone into one map. In maps of plain values, each
        target has separate keys, with the pid first. The last content of a target that has ended is kept.
        """
        for pid, session in self._sessions.items():
            try:
                contents = [view.content for view in session.snapshot().values()]
            except TargetGone as error:
                self.failures.setdefault(pid, error)
            else:
                self._shares.put((pid,), contents, session.context.stacks)
        merged = self._shares.merged(content.map for content in self._shares.unmerged)
        return {content.map.title: MapView(content, self._shares.stacks) for content in merged}

    def detach(self) -> dict[int, Receipt]:
        """Calls :meth:`Session.detach` for each target; returns the receipts of the targets that still run, by pid."""
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
        """If all targets fail, raises the error of the first target."""
        results: dict[int, Result] = {}
        errors: dict[object, BtpyError] = {}
        for session in self.running:
            try:
                results[session.target.pid] = do(session)
            except BtpyError as error:
                errors[session.target.pid] = error
        if errors and not results:
            raise next(iter(errors.values()))
        self.failures.update(errors)
        return results

    def _pump(self, session: Session) -> None:
        try:
            for event in session.events():
                self._feed.put([event])
        except BtpyError as error:
            self.failures.setdefault(session.target.pid, error)
        with self._state:
            self._running_count -= 1
            if self._running_count == 0:
                all_gone = all(isinstance(self.failures.get(pid), TargetGone) for pid in self._sessions)
                self._feed.end(TargetGone("all targets have ended") if all_gone else None)


def _events(reader: Reader[Event], timeout: float | None) -> Iterator[Event]:
    deadline = None if timeout is None else time.monotonic() + timeout
    try:
        while (event := reader.take(deadline)) is not None:
            yield event
    finally:
        reader.close()
