"""Messages for the user, on standard error only: standard output belongs to the script."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from btpy.errors import BtpyError
    from btpy.model.diagnostics import Diagnostic


class Console:
    """``verbosity``: −1 quiet (errors and warnings only), 0, 1 for ``-v`` and so on. ``write``: as ``os.write``.
    ``about``: a prefix for each line.

    Never raises: btpy must restore the target even if the terminal has been closed.
    """

    def __init__(self, *, unicode: bool = True, color: bool = False, verbosity: int = 0, about: str = "") -> None:
        self.unicode = unicode
        self.color = color
        self.verbosity = verbosity
        self.about = about
        self.typed: Sequence[str] = ()  # the command line, if the command has --allow
        self.write: Callable[[int, bytes], int] = os.write

    def error(self, error: BtpyError) -> None:
        """The error with its code and its remedies; diagnostics with their source."""
        from btpy.errors import NothingMatched, ScriptError

        if isinstance(error, ScriptError | NothingMatched):
            self.diagnostics(error.diagnostics)
            return
        code = f"[{error.code}]" if error.code else ""
        self._print(
            "\n".join([self._paint(f"error{code}", "1;31") + f": {self._clean(str(error))}", *self._help(error.help)])
        )

    def diagnostics(self, diagnostics: Sequence[Diagnostic]) -> None:
        from btpy.model.diagnostics import render_all

        if self.typed:
            diagnostics = [diagnostic.as_typed(self.typed) for diagnostic in diagnostics]
        self._print(render_all(diagnostics, colour=self.color, unicode=self.unicode).rstrip("\n"))

    def warning(self, text: str, help: Sequence[str] = ()) -> None:
        """``help``: remedies, as in :class:`BtpyError`."""
        self._print("\n".join([self._paint("warning", "1;33") + f": {self._clean(text)}", *self._help(help)]))

    def _help(self, remedies: Sequence[str]) -> list[str]:
        from btpy.remedies import as_typed

        texts = as_typed(remedies, self.typed) if self.typed else remedies
        return [f"  = help: {self._clean(remedy)}" for remedy in texts]

    def script(self, text: str) -> None:
        """A line that the script writes to standard error."""
        self._print(self._clean(text))

    def notice(self, text: str) -> None:
        """Like :meth:`say`, but -q does not hide the message."""
        self._print(self._clean(text))

    def say(self, text: str) -> None:
        if self.verbosity >= 0:
            self._print(self._clean(text))

    def detail(self, text: str) -> None:
        if self.verbosity >= 1:
            self._print(self._paint(self._clean(text), "2"))

    def _clean(self, text: str) -> str:
        """Replaces control characters, which the target could send to the terminal in names of classes and threads."""
        if text.isprintable():
            return text
        from btpy.output.values import visible

        return "\n".join(visible(line) for line in text.split("\n"))

    def _paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color else text

    def of(self, about: str) -> Console:
        """A console for messages about one of several JVMs."""
        console = Console(unicode=self.unicode, color=self.color, verbosity=self.verbosity, about=f"{about}  ")
        console.typed = self.typed
        console.write = lambda descriptor, data: self.write(descriptor, data)  # uses the current target of the parent
        return console

    def _print(self, text: str) -> None:
        if self.about:
            text = "\n".join(self.about + line for line in text.split("\n"))
        if not self.unicode:
            text = text.translate(_ASCII)
        data = (text + "\n").encode("utf-8" if self.unicode else "ascii", "backslashreplace")
        try:
            while data:
                data = data[self.write(2, data) :]
        except OSError:
            pass


_ASCII = {
    ord("·"): "|",
    ord("…"): "...",
    ord("→"): "->",
    ord("≈"): "~",
    ord("•"): "*",
    ord("–"): "-",
    ord("−"): "-",
    ord("×"): "x",
}


def speaks_unicode() -> bool:
    """Whether the terminal shows UTF-8, according to the locale."""
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        value = os.environ.get(name)
        if value:
            return "utf-8" in value.lower() or "utf8" in value.lower()
    return sys.platform == "darwin" or sys.getfilesystemencoding().lower() == "utf-8"


def wants_color(choice: str | None, descriptor: int) -> bool:
    """``choice``: the value of ``--color``. Without it ``BTPY_COLOR`` decides, then ``NO_COLOR``, then whether the
    output is a terminal.
    """
    choice = choice or os.environ.get("BTPY_COLOR") or "auto"
    if choice in ("always", "never"):
        return choice == "always"
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and os.isatty(descriptor)
