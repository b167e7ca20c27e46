"""``--watch``: when the file of a script changes, its new version replaces the old version in one step. If the new
version fails in one of several targets, the old version continues in all of them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from btpy.cli.console import Console
from btpy.errors import BtpyError, ProtocolError, TargetGone, UsageError
from btpy.output.formats import GROWING
from btpy.output.quantities import counted

if TYPE_CHECKING:
    from btpy.api.probes import Probe
    from btpy.api.programs import Program
    from btpy.cli.destination import Destination
    from btpy.cli.target_run import TargetRun

_INTERVAL = 0.25  # seconds between two checks of the files; a change must be the same in two checks

State = tuple[tuple[int, int, int] | None, ...]
"""The inode, size and time of change of each file; None: it does not exist."""


def check(path: Path | None, destination: Destination) -> Path:
    """The file to watch. Raises UsageError."""
    if path is None:
        raise UsageError("--watch needs the file of a script", help=["btpy PID FILE.bt --watch"])
    if not destination.format.grows and not destination.silent:
        raise UsageError(
            f"--watch cannot be used with the format {destination.format.name}, which fixes its columns at the start",
            help=[f"-f {', '.join(GROWING)}; -o run.btz records, and btpy replay makes any format of that"],
        )
    return path


class Watching:
    """``compile_``: compiles the current text of the file as an extension of the given program. ``missing``: as for
    :meth:`btpy.Session.add`."""

    def __init__(
        self, path: Path, compile_: Callable[[Program | None], Program], console: Console, missing: str | None
    ) -> None:
        self._path = path
        self._compile = compile_
        self._console = console
        self._missing = missing
        self._files: tuple[Path, ...] = (path,)
        self._running_state = self._last_state = _state(self._files)
        self._due = 0.0

    def follow(self, program: Program) -> None:
        """Its libraries are watched, too."""
        self._files = (self._path, *(library.path for library in program.libraries if library.path is not None))
        self._running_state = self._last_state = _state(self._files)

    def turn(self, targets: Sequence[TargetRun]) -> None:
        """If a check is due and there is a new version, replaces the probes in all targets. Raises ProtocolError."""
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + _INTERVAL
        last_state, self._last_state = self._last_state, _state(self._files)
        if self._last_state == self._running_state or self._last_state != last_state or None in self._last_state:
            return  # the file is unchanged, or a program is still writing it
        self._running_state = self._last_state
        versions: list[_Version] = []
        for target in targets:
            with target.noticing():
                console = self._console  # an error of the script itself does not belong to one target
                try:
                    version = self._compiled(target, warn=not versions)
                    console = target.console
                    target.session.scripts.rehearse(version.program, replacing=version.old, missing=self._missing)
                except (TargetGone, ProtocolError):
                    raise
                except BtpyError as error:
                    self._tell(error, console)
                    return
                versions.append(version)
        for version in versions:
            with version.target.noticing():
                self._swap(version)

    def _compiled(self, target: TargetRun, *, warn: bool) -> _Version:
        """Raises BtpyError."""
        old = list(target.session.probes.values())
        program = self._compile(target.session.scripts.without(old))
        if warn and program.warnings and self._console.verbosity >= 0:
            self._console.diagnostics(program.warnings)
        return _Version(target, program, old)

    def _swap(self, version: _Version) -> None:
        session, console = version.target.session, version.target.console
        try:
            session.scripts.load(version.program, replacing=version.old, missing=self._missing)
        except (TargetGone, ProtocolError):
            raise
        except BtpyError as error:
            self._tell(error, console)
            return
        deployment = session.deployment
        assert deployment is not None
        if deployment.warnings and console.verbosity >= 0:
            console.diagnostics(deployment.warnings)
        where = f"{counted(deployment.methods, 'method')} in {counted(deployment.classes, 'class')}"
        console.say(
            f"btpy: {self._path} has changed: {counted(len(version.program.own), 'probe')} → {where},"
            f" retransformed in {deployment.weave_ns / 1e6:.0f} ms"
        )
        self.follow(version.program)

    def _tell(self, error: BtpyError, console: Console) -> None:
        console.error(error)
        self._console.say(f"btpy: still running the previous version of {self._path}")


class _Version(NamedTuple):
    """``old``: the probes that the new version replaces."""

    target: TargetRun
    program: Program
    old: list[Probe]


def _state(files: Iterable[Path]) -> State:
    return tuple(_state_of(path) for path in files)


def _state_of(path: Path) -> tuple[int, int, int] | None:
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_ino, about.st_size, about.st_mtime_ns
