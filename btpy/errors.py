"""The errors that btpy raises.

    BtpyError
    ├── ScriptError            the script has diagnostics                      exit 2
    ├── UsageError             a flag or an argument makes no sense            exit 2
    ├── AttachError            no JVM, more than one, or it cannot be traced   exit 3
    ├── NothingMatched         patterns are right but match no code            exit 4
    ├── TargetGone             the target ended or cut the connection          exit 5
    ├── BudgetExceeded         the budget disabled every probe                 exit 6
    ├── OutputError            the output cannot be written (disk full, …)     exit 1
    ├── LeftBehind             leaving the target left something in it         exit 1
    ├── ClassFileError         a class file breaks JVMS chapter 4
    ├── CompileError           a checked program that cannot become bytecode
    └── ProtocolError          a frame on the wire breaks docs/protocol.md

Each carries ``help``: what the user can do next, one line for each remedy.  Only ``btpy.cli`` prints them.
"""

from __future__ import annotations

from collections.abc import Sequence

TYPE_CHECKING = False  # importing typing would take a tenth of the start of a helper process

if TYPE_CHECKING:
    from btpy.model.diagnostics import Diagnostic


class BtpyError(Exception):
    """Base of all errors that btpy raises on purpose.

    ``code`` is the stable diagnostic code (``BT501``) where there is one; ``exit_status`` is the exit status of the
    command. ``is_told``: whether the command prints it.
    """

    exit_status = 1
    is_told = True

    def __init__(self, message: str, *, help: Sequence[str] = (), code: str | None = None) -> None:
        super().__init__(message)
        self.help = tuple(help)
        self.code = code


def _summary(diagnostics: Sequence[Diagnostic]) -> str:
    """The text in a traceback: the first diagnostic with its place and remedy, and the number of other diagnostics."""
    if not diagnostics:
        return "the script was refused"
    first = diagnostics[0]
    span = first.primary.span
    line, column = span.source.position(span.start)
    remedy = f" ({first.help[0]})" if first.help else ""
    more = f"; and {len(diagnostics) - 1} more" if len(diagnostics) > 1 else ""
    return f"{span.source.name}:{line}:{column}: {first.message} [{first.code}]{remedy}{more}"


class _Diagnosed(BtpyError):
    """``diagnostics`` say where and why."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__(_summary(diagnostics))
        self.diagnostics = tuple(diagnostics)


class ScriptError(_Diagnosed):
    """A script was refused; ``diagnostics`` say where and why."""

    exit_status = 2


class UsageError(BtpyError):
    exit_status = 2


class AttachError(BtpyError):
    exit_status = 3


class NothingMatched(_Diagnosed):
    """Probes match no code in the target; ``diagnostics`` say which and why."""

    exit_status = 4


class TargetGone(BtpyError):
    exit_status = 5


class NotAnswered(BtpyError):
    """The caller no longer waits for an answer of the target, which may still come."""


class BudgetExceeded(BtpyError):
    exit_status = 6


class OutputError(BtpyError):
    """The output cannot be written."""


class LeftBehind(BtpyError):
    """The receipt of a session is not clean: a class still has probes, or a part of the agent remains."""


class ClassFileError(BtpyError):
    """A class file breaks JVMS chapter 4."""


class CompileError(BtpyError):
    """A checked program cannot become bytecode."""


class ProtocolError(BtpyError):
    """A frame on the wire breaks docs/protocol.md."""
