"""An error of a probe while it ran, as a diagnostic with its place in the script."""

from __future__ import annotations

from collections.abc import Sequence

from btpy.model.diagnostics import Diagnostic, Label, Severity
from btpy.output.writer import ProbeError
from btpy.wire.messages import ErrorKind


def probe_error(error: ProbeError) -> Diagnostic:
    """A run-time error with its place in the script."""
    text = _shorten(error.span.text) or error.probe
    message, label, help_ = _WORDS[error.kind]
    again = f" ({error.count} times)" if error.count > 1 else ""
    detail = f": {error.message}" if error.message and error.kind in _TOLD else ""
    return Diagnostic(
        code=error.kind_name,
        message=message.format(text=text) + detail + again,
        primary=Label(error.span, label),
        help=tuple(line.format(text=text) for line in help_),
        severity=Severity.WARNING,
    )


_WORDS: dict[ErrorKind, tuple[str, str, tuple[str, ...]]] = {
    ErrorKind.INTERNAL: ("`{text}` failed", "this firing ended here", ()),
    ErrorKind.NULL_OPERAND: ("null in `{text}`", "null here", ("choose a value for null:  x ?? 0",)),
    ErrorKind.BAD_CAST: ("the type of `{text}` does not fit its use here", "here", ("typeof(x) shows its type",)),
    ErrorKind.INDEX: ("index out of range in `{text}`", "null is used instead", ()),
    ErrorKind.DIV_ZERO: ("division by zero in `{text}`", "this firing ended here", ()),
    ErrorKind.BUDGET: ("`{text}` used up its budget", "this firing ended here", ()),
    ErrorKind.MAP_FULL: ("a map is full at `{text}`", "samples of new keys are dropped", ("use fewer keys",)),
    ErrorKind.RING_FULL: ("events are dropped at `{text}`", "the buffer is full", ("count or aggregate instead",)),
    ErrorKind.DEPTH: ("the stack is too deep for `{text}`", "this firing ended here", ()),
    ErrorKind.NO_FIELD: ("`{text}` does not exist", "this firing ended here", ("print the object to see its fields",)),
    ErrorKind.NOT_ALLOWED: (
        "`{text}` is not called on this class",
        "this firing ended here",
        ("allow it by name:  --allow call:com.acme.Foo.bar",),
    ),
    ErrorKind.CUT: (
        "`{text}` has more than 100 elements",
        "the remaining elements were not visited",
        ("raise the limit:  for x in c limit 1000",),
    ),
    ErrorKind.FEWER_SAMPLES: ("`{text}` samples at another rate", "a sample also counts for missing samples", ()),
    ErrorKind.NO_CONTEXT: (
        "`{text}` has no context",
        "btpy reports this once, and tries again when a library with a context is loaded",
        (),
    ),
    ErrorKind.STATE_FULL: (
        "too many objects have state at `{text}`",
        "the value is dropped",
        ("forget an object that is no longer used:  clear_state(object)",),
    ),
    ErrorKind.NULL_SAMPLE: ("null is not a sample in `{text}`", "skipped", ("choose a value for null:  x ?? 0",)),
}

# Kinds of errors whose message is more specific than the kind.
_TOLD = (
    ErrorKind.INTERNAL,
    ErrorKind.NO_FIELD,
    ErrorKind.NOT_ALLOWED,
    ErrorKind.FEWER_SAMPLES,
    ErrorKind.NO_CONTEXT,
)


def _shorten(text: str, limit: int = 60) -> str:
    first: Sequence[str] = text.split("\n")
    return first[0] if len(first) == 1 and len(text) <= limit else first[0][: limit - 1].rstrip() + "…"
