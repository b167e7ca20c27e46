"""The output of the prompt: whole lines above the line that the user is typing, which stays intact.

Lines to be written wait in one bounded queue. While the user types a line, the loop of the prompt writes them: it
erases the prompt, writes, and draws the prompt again, at most several times a second. While a command runs, lines are
written at once. While a view, an editor or a question uses the terminal, lines wait. So no line is lost
or written twice.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from btpy.errors import BtpyError, NothingMatched, ScriptError
from btpy.model.diagnostics import Diagnostic, render_all
from btpy.output.style import Style
from btpy.output.values import visible

MOST_LINES = 2000
"""The maximum number of lines that wait to be written. If there are more, only their number is written."""


class Screen:
    """``put`` writes text to the terminal. ``wake``: set while a line is typed; it causes a call of :meth:`drain`.
    ``typed_as``: the arguments of the command that started the prompt."""

    def __init__(self, put: Callable[[str], None], style: Style, typed_as: Sequence[str] = ()) -> None:
        self.style = style
        self._typed_as = typed_as
        self._put = put
        self._wake: Callable[[], None] | None = None
        self._waiting: deque[str] = deque()
        self._unwritten = 0
        self._is_suspended = False
        self._state = threading.Lock()
        self._writing = threading.Lock()

    def typing(self, wake: Callable[[], None] | None) -> None:
        """The prompt calls this when the user begins to type a line, and with None when the user ends it."""
        with self._state:
            self._wake = wake
        if wake is None:
            self.drain()

    @contextmanager
    def held(self) -> Iterator[None]:
        """While another program has the terminal, lines wait and are written afterwards."""
        with self._writing, self._state:
            self._is_suspended = True
        try:
            yield
        finally:
            with self._state:
                self._is_suspended = False
            self.drain()

    @property
    def waiting(self) -> int:
        """Lines that are not written yet."""
        with self._state:
            return len(self._waiting) + self._unwritten

    def drain(self) -> None:
        """Write what waits."""
        with self._writing:
            with self._state:
                if self._is_suspended:
                    return
                lines, unwritten = list(self._waiting), self._unwritten
                self._waiting.clear()
                self._unwritten = 0
            if unwritten:
                lines.append(self.style.dim(f"{self.style.ellipsis} {unwritten:,} more lines came too fast to show"))
            if lines:
                self._put("".join(f"{line}\n" for line in lines))

    def lines(self, lines: Iterable[str]) -> None:
        """Writes lines, which must be fit for a terminal."""
        visible = [part for line in lines for part in line.split("\n")]
        with self._state:
            room = max(0, MOST_LINES - len(self._waiting))
            wake = self._wake
            if wake is not None or self._is_suspended:
                self._unwritten += max(0, len(visible) - room)
                visible = visible[:room]
            self._waiting += visible
        if wake is None:
            self.drain()
        else:
            wake()

    def say(self, text: str) -> None:
        self.lines(visible(line) for line in text.split("\n"))

    def note(self, text: str) -> None:
        self.lines(self.style.dim(visible(line)) for line in text.split("\n"))

    def warning(self, text: str) -> None:
        self.lines([f"{self._painted('warning', '1;33')}: {visible(text)}"])

    def error(self, error: BtpyError) -> None:
        """Writes an error with its code and its remedies, and diagnostics with their source."""
        if isinstance(error, ScriptError | NothingMatched):
            self.diagnostics(error.diagnostics)
            return
        code = f"[{error.code}]" if error.code else ""
        self.lines(
            [
                f"{self._painted(f'error{code}', '1;31')}: {visible(str(error))}",
                *(f"  = help: {visible(line)}" for remedy in error.help for line in remedy.split("\n")),
            ]
        )

    def diagnostics(self, diagnostics: Sequence[Diagnostic]) -> None:
        if diagnostics:
            if self._typed_as:
                diagnostics = [diagnostic.as_typed(self._typed_as) for diagnostic in diagnostics]
            self.lines([render_all(diagnostics, colour=self.style.color, unicode=self.style.unicode).rstrip("\n")])

    def _painted(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.style.color else text
