"""The exception that ends the check of a statement, and texts for types and numbers in messages."""

from __future__ import annotations

import re

from btpy.lang.syntax import nodes
from btpy.model.diagnostics import Diagnostic, Fix, Label
from btpy.model.source import Span
from btpy.model.types import Type


class FaultError(Exception):
    """Ends the elaboration of a statement."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


def fault(
    code: str,
    message: str,
    primary: Label,
    secondary: tuple[Label, ...] = (),
    *,
    help: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
    fixes: tuple[Fix, ...] = (),
) -> FaultError:
    """The exception for a new diagnostic, with the fields of :class:`Diagnostic`."""
    return FaultError(Diagnostic(code, message, primary, secondary, help, notes, fixes))


def repeated(message: str, again: Span, first: Span, help: tuple[str, ...] = ()) -> Diagnostic:
    """The diagnostic for a name that may be given only once."""
    return Diagnostic("BT102", message, Label(again, "again here"), (Label(first, "first here"),), help)


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


def arity(call: nodes.Call, name: str, synopsis: str, least: int, most: int) -> Diagnostic:
    count = len(call.arguments)
    takes = f"{least} or {most} arguments" if most == least + 1 else f"{least} to {most} arguments"
    if least == most:
        takes = counted(least, "argument")
    return Diagnostic(
        "BT103",
        f"`{name}` takes {takes} but {count} {were(count)} given",
        Label(call.function.span, re.sub(r"(?<=\w)=(?=\w)", " = ", synopsis)),
        tuple(Label(argument.span, "unexpected") for argument in call.arguments[most:][:1]),
        help=("for linear buckets use  lhist(duration, 0, 100ms, 10ms)",) if name == "hist" and count > most else (),
    )
