"""A real terminal for tests: a program in a tmux window of known size, real keys, and the screen as text.

    with terminal(["btpy", str(pid), "script.bt"], columns=80, lines=24) as screen:
        screen.wait_for("Ctrl-C to end")
        screen.press("s", "Down", "C-c")
        assert screen.wait_for_end() == 0
        golden.check("terminal/sorted.txt", normalised(screen.text()))

Each terminal is a separate tmux server. Tests wait for a text instead of sleeping.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import tempfile
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from tests.targets import PATIENCE

_LOOK_SECONDS = 0.03  # the shortest time between two readings of the screen
_IDLE_SECONDS = 0.3  # the time between two readings if the program has written nothing
_OPTIONS = {
    "status": "off",
    "history-limit": "20000",
    "remain-on-exit": "on",
    "remain-on-exit-format": "",
    "escape-time": "0",
}


_AND_THEN = """trap : INT QUIT TSTP; "$@"; echo status=$? >"$0.new"; stty -a >>"$0.new"; mv "$0.new" "$0" """
"""Runs a program, then writes its status, which tmux may miss, and the state of the terminal, which tmux forgets."""


_ENDED = "#{pane_dead}"


class TerminalError(AssertionError):
    """The screen did not show the expected text; the message has the screen."""


class Terminal:
    """A program on a terminal of ``columns`` × ``lines``. The environment is the test's own, with ``env`` over it;
    None removes a variable."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        columns: int = 80,
        lines: int = 24,
        env: Mapping[str, str | None] | None = None,
        term: str = "tmux-256color",
    ) -> None:
        self.command = list(command)
        self._directory = tempfile.TemporaryDirectory(
            prefix="btpy-tmux-"
        )  # the directory of the socket, whose path must be short
        self._left = Path(self._directory.name) / "left"
        self._output = Path(self._directory.name) / "output"
        variables = {**_ENVIRONMENT, **(env or {})}
        inherited = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}
        self._env = {**inherited, "LC_ALL": "C.UTF-8"}
        words = ["env", *(word for name in variables if variables[name] is None for word in ("-u", name))]
        words += [f"{name}={value}" for name, value in variables.items() if value is not None]
        status_file = str(self._left)
        line = "exec " + shlex.join([*words, "sh", "-c", _AND_THEN, status_file, *self.command])
        options = {**_OPTIONS, "default-terminal": term}
        settings = [word for name, value in options.items() for word in ("set-option", "-g", name, value, ";")]
        size = ("-x", str(columns), "-y", str(lines))
        # A window whose size is "manual" from the start makes tmux 3.3a crash.
        sized = (";", "set-option", "-g", "window-size", "manual")
        copied = (";", "pipe-pane", shlex.join(["dd", f"of={self._output}", "status=none"]))
        first = ("-f", "/dev/null", "start-server", ";")
        try:
            self._tmux(*first, *settings, "new-session", "-d", *size, line, *sized, *copied)
        except BaseException:
            self.close()
            raise

    def text(self, *, styled: bool = False, scrolled: bool = False) -> str:
        """The lines of the screen, without trailing blanks and without empty lines at the end. Lines that the terminal
        has wrapped are joined. ``styled``: with the escape sequences of colours; ``scrolled``: with the lines that have
        scrolled off.
        """
        flags = [*(["-e"] if styled else []), *(["-S", "-"] if scrolled else [])]
        return _stripped(self._tmux("capture-pane", "-p", "-J", *flags))

    def wait_for(
        self,
        condition: str | re.Pattern[str] | Callable[[str], object],
        *,
        scrolled: bool = False,
        patience: float = PATIENCE,
    ) -> str:
        """The screen, once it contains a text, matches an expression, or satisfies a function. Raises TerminalError."""
        pattern = re.compile(re.escape(condition)) if isinstance(condition, str) else condition
        fits = pattern.search if isinstance(pattern, re.Pattern) else pattern
        deadline = time.monotonic() + patience
        while True:
            signs = self._signs()
            flags = ["-S", "-"] if scrolled else []
            answer = self._tmux("display-message", "-p", _ENDED, ";", "capture-pane", "-p", "-J", *flags)
            has_ended, screen = answer.startswith("1"), _stripped(answer.partition("\n")[2])
            if fits(screen):
                return screen
            if has_ended or time.monotonic() > deadline:
                self._fail(f"waited for {condition!r}", screen)
            idle = time.monotonic() + _IDLE_SECONDS
            while True:
                time.sleep(_LOOK_SECONDS)
                if self._signs() != signs or time.monotonic() > idle:
                    break

    def _signs(self) -> tuple[int, bool]:
        """They change when the program writes or ends. To compare them costs less than to ask tmux for the screen."""
        return self._output.stat().st_size if self._output.exists() else 0, self._left.exists()

    def wait_until_gone(self, unwanted: str, *, patience: float = PATIENCE) -> str:
        return self.wait_for(lambda screen: unwanted not in screen, patience=patience)

    @property
    def cursor(self) -> tuple[int, int]:
        """Column and line, from 0."""
        column, line = self.ask("#{cursor_x} #{cursor_y}").split()
        return int(column), int(line)

    @property
    def cooked(self) -> bool:
        """Whether the terminal is in the usual state of a shell: it echoes, and passes whole lines."""
        if self.ended:
            words = self._left.read_text().replace(";", " ").split()
            return {"icanon", "echo", "isig"} <= set(words)
        descriptor = os.open(self.ask("#{pane_tty}"), os.O_RDONLY | os.O_NOCTTY)
        try:
            local = termios.tcgetattr(descriptor)[3]
        finally:
            os.close(descriptor)
        return bool(local & termios.ECHO and local & termios.ICANON and local & termios.ISIG)

    def ask(self, format_: str) -> str:
        """A format of tmux, such as ``#{cursor_flag}`` or ``#{alternate_on}``, for this terminal."""
        return self._tmux("display-message", "-p", format_).rstrip("\n")

    def press(self, *keys: str) -> None:
        """Keys by tmux's names: ``q``, ``Enter``, ``C-c``, ``Up``, ``M-Enter``, ``F2``, ``Tab``, ``Escape``."""
        self._tmux("send-keys", "--", *keys)

    def type(self, text: str) -> None:
        """Each character as a key."""
        self._tmux("send-keys", "-l", "--", text)

    def enter(self, line: str = "") -> None:
        if line:
            self.type(line)
        self.press("Enter")

    def paste(self, text: str) -> None:
        """Pastes the text at once, bracketed if the program has requested that."""
        self._tmux("load-buffer", "-", typed=text)
        self._tmux("paste-buffer", "-p", "-d")

    def resize(self, columns: int, lines: int) -> None:
        self._tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def close_window(self) -> None:
        """Closes the terminal, as a user closes a window: the program gets SIGHUP, and its output is gone."""
        self._tmux("kill-window")

    @property
    def pid(self) -> int:
        """Of the program."""
        shell = self.ask("#{pane_pid}")
        return int(Path(f"/proc/{shell}/task/{shell}/children").read_text().split()[0])

    @property
    def ended(self) -> bool:
        """Whether the programs on the terminal have ended, and the screen has all their output."""
        return self.ask(_ENDED) == "1"

    def wait_for_end(self, patience: float = PATIENCE) -> int:
        """The exit status, or 128 plus the number of the signal, as in a shell. Raises TerminalError."""
        deadline = time.monotonic() + patience
        while not (self._left.exists() and self.ended):
            if time.monotonic() > deadline:
                self._fail("still running", self.text())
            time.sleep(_LOOK_SECONDS)
        first, *_ = self._left.read_text().split()
        return int(first.removeprefix("status="))

    def close(self) -> None:
        with contextlib.suppress(AssertionError):
            self._tmux("kill-server")
        self._directory.cleanup()

    def _fail(self, problem: str, screen: str) -> NoReturn:
        raise TerminalError(f"{problem} in: {shlex.join(self.command)}\n--- screen\n{screen}--- end of screen")

    def _tmux(self, *words: str, typed: str | None = None) -> str:
        result = subprocess.run(
            ["tmux", "-S", f"{self._directory.name}/socket", *words],
            input=typed,
            capture_output=True,
            encoding="utf-8",
            env=self._env,
            timeout=PATIENCE,
        )
        if result.returncode != 0:
            raise TerminalError(f"tmux {shlex.join(words)}: {result.stderr.strip()}")
        return result.stdout


_ENVIRONMENT: Mapping[str, str | None] = dict.fromkeys(
    ("NO_COLOR", "BTPY_COLOR", "COLUMNS", "LINES", "EDITOR", "VISUAL", "PYTEST_CURRENT_TEST")
)


@contextmanager
def terminal(
    command: Sequence[str],
    *,
    columns: int = 80,
    lines: int = 24,
    env: Mapping[str, str | None] | None = None,
    term: str = "tmux-256color",
) -> Iterator[Terminal]:
    """A :class:`Terminal`, which is closed at the end of the block."""
    opened = Terminal(command, columns=columns, lines=lines, env=env, term=term)
    try:
        yield opened
    finally:
        opened.close()


def _stripped(screen: str) -> str:
    return "\n".join(line.rstrip() for line in screen.split("\n")).rstrip("\n") + "\n"


_VARYING = (
    (re.compile(r"(?<=\()\d+(?=\))"), "PID"),
    (re.compile(r"(?<=\bin )\d+ ms\b"), "N ms"),
    (re.compile(r"(?<=\bran )\d\d:\d\d:\d\d\b"), "HH:MM:SS"),
    (re.compile(r"\b\d\d:\d\d:\d\d\.\d{3}\b"), "HH:MM:SS.mmm"),
    (re.compile(r"\b\d+ idle agent classes"), "N idle agent classes"),
    (re.compile(r"\bprobe cpu [^·]+ ·"), "probe cpu N ·"),
)


def normalised(screen: str, *varying: tuple[str, str]) -> str:
    """The screen, in which the parts that differ from run to run are replaced: first the expressions in ``varying``,
    each by its replacement, then pids, milliseconds and times of day."""
    for expression, replacement in varying:
        screen = re.sub(expression, replacement, screen)
    for pattern, replacement in _VARYING:
        screen = pattern.sub(replacement, screen)
    return screen
