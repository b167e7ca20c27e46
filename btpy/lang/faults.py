"""What ends the elaboration of a statement, and how messages name types and numbers."""

from __future__ import annotations

from btpy.lang.diagnostics import Diagnostic
from btpy.lang.types import Type


class FaultError(Exception):
    """Ends the elaboration of a statement."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


def counted(number: int, noun: str) -> str:
    if number == 0:
        return f"no {noun}s"
    return f"{number} {noun}" + ("" if number == 1 else "s")


def were(number: int) -> str:
    return "was" if number == 1 else "were"


def named(type_: Type) -> str:
    return f"`{type_}`"


def with_article(type_: Type) -> str:
    return f"{'an' if str(type_)[0] in 'aeio' else 'a'} {named(type_)}"
