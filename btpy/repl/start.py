"""``btpy PID`` without a script: the prompt, or a file of commands."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from btpy.api.attaching import Connecting, agent_build
from btpy.api.libraries import Libraries
from btpy.api.session import Limits, Session, attach
from btpy.dataclass import dataclass
from btpy.errors import BtpyError, LeftBehind, OutputError, UsageError
from btpy.files import open_trusted
from btpy.model.permissions import Permissions
from btpy.model.source import read_text
from btpy.output.quantities import grouped
from btpy.output.stream import Stream
from btpy.output.style import Style
from btpy.repl.commands import Line
from btpy.repl.entry import Kind, is_complete, kind_of
from btpy.repl.repl import Repl
from btpy.repl.screen import Screen


@dataclass(frozen=True, slots=True)
class Settings:
    """``budget``: share of one core that probes may take; 0: no bound. ``quiet``: no greeting, no echo of the entries
    of a file, and no message at a regular end. ``typed_as``: the arguments of the command.
    """

    libraries: Libraries
    permissions: Permissions
    style: Style
    budget: float
    quiet: bool
    typed_as: Sequence[str]


def prompt(name: str, connecting: Connecting, settings: Settings) -> int:
    """A session with a user. Returns the exit code when the user has left. Raises AttachError."""
    from btpy.repl.prompt import Prompt, open_history  # while the agent starts

    style = settings.style
    with closing(_attached(connecting, settings, unattended=True)) as session:
        user_prompt: Prompt | None = None

        def put(text: str) -> None:
            if user_prompt is not None:
                user_prompt.put(text if style.unicode else text.encode("ascii", "backslashreplace").decode())

        screen = Screen(put, style, settings.typed_as)
        repl = Repl(name, session, screen, carry_out, quiet=settings.quiet)
        user_prompt = Prompt(repl, open_history())
        repl.terminal = user_prompt
        _greet(repl)
        try:
            user_prompt.run()
        finally:
            repl.close()
    return LeftBehind.exit_status if repl.left_behind else 0


def commands(source: Path | None, connecting: Connecting, settings: Settings) -> int:
    """Runs the entries of a file (None: standard input). Returns the exit code. Raises AttachError, UsageError."""
    text = _read(source)
    with (
        closing(_attached(connecting, settings, unattended=False)) as session,
        Stream.stdout(ascii_only=not settings.style.unicode) as stream,
    ):

        def put(line: str) -> None:
            stream.write(line)
            stream.flush()

        screen = Screen(put, settings.style, settings.typed_as)
        repl = Repl("btpy", session, screen, carry_out, quiet=settings.quiet)
        try:
            for entry in entries(text):
                if not settings.quiet:
                    screen.note(f"> {entry}")
                repl.enter(entry)
                if stream.failure is not None:  # the thread that shows events may have failed to write
                    raise stream.failure
                if repl.ended:
                    break
            if not repl.ended:
                repl.enter(":quit")
        except OutputError:
            with contextlib.suppress(BtpyError):
                session.detach()
            raise
        finally:
            repl.close()
    if repl.left_behind:
        return LeftBehind.exit_status
    return UsageError.exit_status if repl.failures else 0


def carry_out(repl: Repl, line: Line) -> None:
    """Executes a command of the prompt. Raises BtpyError."""
    from btpy.repl.actions import ACTIONS  # the module imports much for commands that few sessions use

    ACTIONS[line.command.name](repl, line)


def _attached(connecting: Connecting, settings: Settings, *, unattended: bool) -> Session:
    permissions = settings.permissions
    return attach(
        connecting,
        allow=permissions.allow,
        redact=permissions.redact,
        secrets=permissions.secrets,
        frameworks=permissions.frameworks,
        libraries=settings.libraries,
        limits=Limits(unattended=unattended, cpu_budget=settings.budget),
        kept=0,
    )


def entries(text: str) -> list[str]:
    """The entries of a file of commands: a command is one line, a probe can have several. Comments are left out."""
    commands: list[str] = []
    entry = ""
    for line in text.split("\n"):
        if not entry and (not line.strip() or line.lstrip().startswith(("//", "#"))):
            continue
        entry = f"{entry}\n{line}" if entry else line
        if kind_of(entry) is not Kind.PROBES or (is_complete(entry) and line.strip()):
            commands.append(entry.strip())
            entry = ""
    if entry.strip():
        commands.append(entry.strip())
    return commands


def _read(source: Path | None) -> str:
    name = "standard input" if source is None else str(source)
    try:
        if source is None:
            return read_text(sys.stdin.buffer)
        with open_trusted(source, named=True) as file:
            return read_text(file)
    except OSError as error:
        raise UsageError(f"cannot read {name}: {(error.strerror or str(error)).lower()}") from None
    except ValueError as error:
        raise UsageError(f"{name} is {error}") from None


def _greet(repl: Repl) -> None:
    target = repl.session.target
    classes = f"{grouped(target.loaded_classes)} classes"
    if not repl.quiet:
        repl.screen.say(f"attached to {target.main} ({target.pid}, JDK {target.java_version}, {classes})")
    if target.agent_build != agent_build():
        repl.screen.warning(
            "the agent of another build of btpy was loaded into this JVM before, and stays until it ends;"
            " if anything looks wrong, use that btpy or restart the JVM"
        )
    if not repl.quiet:
        repl.screen.note("enter a probe, or :help; Tab completes; :quit puts everything back")
