"""Keeps the standing probes of a directory in the JVMs of this machine that their rules name."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from btpy.api import jvms, unattended
from btpy.api.jvms import JvmProcess
from btpy.daemon.placement import Ending, Outcome, Placement, Terms
from btpy.daemon.pods import Pods
from btpy.daemon.probes import StandingProbe, read_directory
from btpy.errors import BtpyError

_FIRST_RETRY, _LAST_RETRY = 5.0, 600.0
"""The first and the longest wait, in seconds, until a placement that failed is tried again."""

Key = tuple[int, int, str, str]
"""The identity of a placement: pid and start of the process, name and digest of the probe."""


class Supervisor:
    """``list_jvms`` returns the running JVMs. One thread calls all methods."""

    def __init__(
        self, directory: Path, terms: Terms, list_jvms: Callable[[], Iterable[JvmProcess]] = jvms.list_jvms
    ) -> None:
        self._directory = directory
        self._terms = terms
        self._list_jvms = list_jvms
        self._pods = Pods(terms.report)
        self._owner = f"daemon {hashlib.sha256(str(directory.resolve()).encode()).hexdigest()[:8]}"
        self._probes: dict[str, StandingProbe] = {}
        self._errors: dict[str, str] = {}
        self._placements: dict[Key, Placement] = {}
        self._retries: dict[Key, tuple[float, float]] = {}  # the time of the next attempt, and the length of the wait
        self._stopped: set[Key] = set()
        self._was_in: set[Key] = set()
        self._known_processes: set[tuple[int, int]] = set()

    def turn(self) -> None:
        """Compares the directory with the JVMs, and begins and ends placements. It does not wait until they have begun
        or ended.

        Raises UsageError when the directory cannot be used.
        """
        self._read()
        processes = {
            (process.pid, process.start_ticks): process
            for process in self._list_jvms()
            if not process.is_btpys_own and process.attachable
        }
        if any(probe.pods is not None and not probe.has_expired for probe in self._probes.values()):
            self._pods.refresh()
        self._pods.forget(set(processes))
        placements: dict[Key, tuple[JvmProcess, StandingProbe]] = {}
        undecided: set[tuple[int, int]] = set()  # processes, as long as the API server has not answered
        for identity, process in processes.items():
            for probe in self._probes.values():
                is_for = not probe.has_expired and probe.is_for(process, self._pods)
                if is_for:
                    placements[(*identity, probe.name, probe.digest)] = (process, probe)
                elif is_for is None:
                    undecided.add(identity)
        self._collect(processes.keys())
        for key, placement in self._placements.items():
            if key not in placements:
                placement.ask(Ending.WITHDRAW)
        self._clear_new(processes, placements, undecided)
        for key, (process, probe) in placements.items():
            if self._may_begin(key):
                self._begin(key, process, probe)

    def _clear_new(
        self,
        processes: dict[tuple[int, int], JvmProcess],
        placements: dict[Key, tuple[JvmProcess, StandingProbe]],
        undecided: set[tuple[int, int]],
    ) -> None:
        """Ends old sessions in each new process, once all rules are decided for the process."""
        for identity in processes.keys() - self._known_processes - undecided:
            self._known_processes.add(identity)
            names = {self._session_name(probe) for key, (_, probe) in placements.items() if key[:2] == identity}
            arguments = (processes[identity], names)
            threading.Thread(target=self._clear, args=arguments, name="btpy-clearing", daemon=True).start()

    def end(self, ending: Ending, seconds: float) -> list[str]:
        """Ends all placements. Returns the placements that did not end within ``seconds``."""
        deadline = time.monotonic() + seconds
        for placement in self._placements.values():
            placement.ask(ending)
        return [
            placement.title
            for placement in self._placements.values()
            if not placement.wait(max(0.0, deadline - time.monotonic()))
        ]

    def _session_name(self, probe: StandingProbe) -> str:
        return f"{self._owner} {probe.name} {probe.digest}"

    def _read(self) -> None:
        """If a file has become faulty, its probes stay, and each fault is reported once."""
        probes, errors = read_directory(self._directory)
        texts = {name: _text(error) for name, error in errors.items()}
        for name, text in texts.items():
            if self._errors.get(name) != text:
                kept = ": its probes stay as they were" if name in self._probes else ""
                self._terms.report(f"{name}{kept}: {text}")
        self._errors = texts
        self._probes = {**{name: self._probes[name] for name in errors if name in self._probes}, **probes}

    def _may_begin(self, key: Key) -> bool:
        if key in self._stopped or any(placed[:3] == key[:3] for placed in self._placements):
            return False  # an older version of the probe must have ended
        return key not in self._retries or time.monotonic() >= self._retries[key][0]

    def _begin(self, key: Key, process: JvmProcess, probe: StandingProbe) -> None:
        placement = Placement(process, probe, self._session_name(probe), self._terms, was_in=key in self._was_in)
        self._placements[key] = placement
        placement.start()

    def _collect(self, processes: Iterable[tuple[int, int]]) -> None:
        """Records the placements that have ended."""
        for key, placement in list(self._placements.items()):
            if placement.is_in:
                self._was_in.add(key)
            outcome = placement.outcome
            if outcome is None:
                continue
            del self._placements[key]
            self._retries.pop(key, None) if outcome is not Outcome.FAILED else self._retry(key)
            if outcome is Outcome.STOPPED:
                self._stopped.add(key)
            elif outcome is Outcome.ENDED:
                self._was_in.discard(key)
            self._terms.report(f"{placement.title}: {_ended(placement, self._retries.get(key, (0.0, 0.0))[1])}")
        alive = set(processes)
        for keys in (self._stopped, self._was_in):
            keys.difference_update([key for key in keys if key[:2] not in alive])
        for key in [key for key in self._retries if key[:2] not in alive]:
            del self._retries[key]
        self._known_processes &= alive

    def _retry(self, key: Key) -> None:
        wait = min(_LAST_RETRY, 2 * self._retries[key][1] if key in self._retries else _FIRST_RETRY)
        self._retries[key] = (time.monotonic() + wait, wait)

    def _clear(self, process: JvmProcess, keys: set[str]) -> None:
        """Ends the sessions that an earlier daemon of this directory left in a JVM, except those in ``keys``. Runs on a
        separate thread, because the JVM might not answer."""
        try:
            for session in unattended.listed(process):
                is_ours = session.name.startswith(f"{self._owner} ")
                if is_ours and session.name not in keys and not session.clients:
                    unattended.discard(process, session.id)
                    place = f"{process.short_main} ({process.pid})"
                    self._terms.report(f"{session.name}: an old session was taken out of {place}")
        except BtpyError as error:
            self._terms.report(f"{process.short_main} ({process.pid}): {_text(error)}")


def _ended(placement: Placement, wait: float) -> str:
    reason = _text(placement.error) if placement.error is not None else ""
    match placement.outcome:
        case Outcome.GONE:
            return "the JVM has ended"
        case Outcome.STOPPED:
            return "its session has ended (by btpy stop, or by itself); it begins again when its file changes"
        case Outcome.FAILED:
            return f"{reason}; tried again in {wait:.0f} s"
    return reason or "the probes were taken out"


def _text(error: BtpyError) -> str:
    """One line."""
    return " ".join(str(error).split())
