"""``--watch``: when the file of a script changes, its new version takes the place of the old in one step. One that
cannot come leaves the old one running."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from btpy.errors import BtpyError, ProtocolError, TargetGone, UsageError
from btpy.output.quantities import counted

if TYPE_CHECKING:
    from btpy.cli.console import Console
    from btpy.cli.destination import Destination
    from btpy.lang.program import Program
    from btpy.live.session import Session

FORMATS = ("text", "ndjson", "json")
"""Those that take what a program does not say when it begins."""

_INTERVAL = 0.25  # seconds between two looks at the files; what has changed must then have stayed so

State = tuple[tuple[int, int, int] | None, ...]
"""Of each file: its inode, size and time of change; None: it is not there."""


def check(path: Path | None, destination: Destination) -> Path:
    """The file to be watched. Raises UsageError."""
    if path is None:
        raise UsageError("--watch needs the file of a script", help=["btpy PID FILE.bt --watch"])
    if destination.format.name not in FORMATS and not destination.silent:
        raise UsageError(
            f"--watch does not fit the format {destination.format.name}, which has to know the script when it begins",
            help=[f"-f {', '.join(FORMATS)}; -o run.btz records, and btpy replay makes any format of that"],
        )
    return path


class Watching:
    """``compile_``: the script as its file has it, after what it is given. ``missing``: as for
    :meth:`btpy.Session.add`."""

    def __init__(
        self, path: Path, compile_: Callable[[Program | None], Program], console: Console, missing: str | None
    ) -> None:
        self._path = path
        self._compile = compile_
        self._console = console
        self._missing = missing
        self._files: tuple[Path, ...] = (path,)
        self._running = self._seen = _state(self._files)
        self._due = 0.0

    def follow(self, program: Program) -> None:
        """Its libraries are watched, too."""
        self._files = (self._path, *(each.path for each in program.libraries if each.path is not None))
        self._running = self._seen = _state(self._files)

    def turn(self, session: Session) -> None:
        """Swaps the probes if it is time to look, and there is a new version. Raises TargetGone, ProtocolError."""
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + _INTERVAL
        before, self._seen = self._seen, _state(self._files)
        if self._seen == self._running or self._seen != before or None in self._seen:
            return  # as it was; or somebody is writing it
        self._running = self._seen
        try:
            self._swap(session)
        except (TargetGone, ProtocolError):
            raise
        except BtpyError as error:
            self._console.error(error)
            self._console.say(f"btpy: the version of {self._path} that ran before runs on")

    def _swap(self, session: Session) -> None:
        old = list(session.probes.values())
        program = self._compile(session.without(old))
        if program.warnings and self._console.verbosity >= 0:
            self._console.diagnostics(program.warnings)
        session.load(program, replacing=old, missing=self._missing)
        deployment = session.deployment
        assert deployment is not None
        if deployment.warnings and self._console.verbosity >= 0:
            self._console.diagnostics(deployment.warnings)
        where = f"{counted(deployment.methods, 'method')} in {counted(deployment.classes, 'class')}"
        self._console.say(
            f"btpy: {self._path} has changed: {counted(len(program.own), 'probe')} → {where},"
            f" retransformed in {deployment.weave_ns / 1e6:.0f} ms"
        )
        self.follow(program)


def _state(files: Iterable[Path]) -> State:
    return tuple(_state_of(path) for path in files)


def _state_of(path: Path) -> tuple[int, int, int] | None:
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_ino, about.st_size, about.st_mtime_ns
