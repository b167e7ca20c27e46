"""The place where the parser stopped."""

from __future__ import annotations

import re

from btpy.dataclass import dataclass
from btpy.model.diagnostics import Diagnostic, Fix, Label
from btpy.model.source import Source, Span


@dataclass(frozen=True, slots=True)
class Failure:
    """The place where the parser stopped. ``accepts``: names of the terminals that are possible there."""

    source: Source
    start: int  # of the item
    at: int
    end: int  # offset of the text that the parser could not read
    token: str  # name of the terminal; "" if no token could be read
    accepts: frozenset[str]

    @property
    def span(self) -> Span:
        return Span(self.source, self.at, self.end)

    @property
    def rest(self) -> str:
        return self.source.text[self.at : self.at + 400]

    @property
    def before(self) -> str:
        """Text of the item before the place, at most 400 characters, without blanks at its end."""
        return self.source.text[max(self.start, self.at - 400) : self.at].rstrip()

    @property
    def statement(self) -> str:
        """The text between the last ``;``, ``{`` or ``}`` and the place."""
        return re.split(r"[;{}]", self.before)[-1].strip()

    @property
    def after_previous(self) -> Span:
        end = self.behind(0).end
        return Span(self.source, end, end + 1)

    def between(self, start: int, end: int) -> Span:
        return Span(self.source, start, end)

    def ahead(self, length: int) -> Span:
        """The next characters."""
        return Span(self.source, self.at, self.at + length)

    def behind(self, length: int) -> Span:
        """The last ``length`` characters before the place, without the blanks directly before it."""
        end = len(self.source.text[: self.at].rstrip())
        return Span(self.source, end - length, end)


def advised(code: str, message: str, place: Span, *help: str) -> Diagnostic:
    """The diagnostic for a text that the user must rewrite by hand."""
    return Diagnostic(code, message, Label(place), help=help)


def rewritten(code: str, message: str, place: Span, replacement: str, notes: tuple[str, ...] = ()) -> Diagnostic:
    """The diagnostic for a text whose replacement is known."""
    return Diagnostic(
        code, message, Label(place), help=(f"write {replacement}",), notes=notes, fixes=(Fix(place, replacement),)
    )
