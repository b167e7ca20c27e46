"""The values of a thread's context that the user adds to every event (``--with``)."""

from __future__ import annotations

from collections.abc import Iterator

from btpy.lang import typed_tree
from btpy.lang.builtins import BAGGAGE, MDC, ON_TARGET, VARIABLES
from btpy.lang.check.context import Context
from btpy.lang.inputs import Ambient
from btpy.lang.typed_tree import Expr
from btpy.model.carried import CarriedKind
from btpy.model.secrets import REDACTED
from btpy.model.source import Span
from btpy.model.types import STRING

TRACE = (Ambient.TRACE_ID, Ambient.SPAN_ID, Ambient.TRACE_FLAGS)


def carried_values(context: Context, span: Span) -> Iterator[tuple[str, Expr]]:
    """The names and values; none where the body does not run on a thread of the traced program."""
    permissions = context.permissions
    if not _runs_in_program(context):
        return
    for carried in permissions.carried:
        if carried.kind is CarriedKind.TRACE:
            for ambient in TRACE:
                yield ambient.value, typed_tree.AmbientValue(VARIABLES[ambient.value].type, span, ambient)
        elif permissions.redact and permissions.secrets.names_secret(carried.key):
            yield carried.label, typed_tree.Constant(STRING, span, REDACTED)
        else:
            function = MDC if carried.kind is CarriedKind.MDC else BAGGAGE
            key = typed_tree.Constant(STRING, span, carried.key)
            yield carried.label, typed_tree.BuiltinCall(STRING, span, function, (key,))


def carries_trace(context: Context) -> bool:
    """Whether samples of distributions carry the trace of the thread."""
    needs_trace = any(carried.kind is CarriedKind.TRACE for carried in context.permissions.carried)
    return needs_trace and _runs_in_program(context)


def _runs_in_program(context: Context) -> bool:
    """Whether the body runs on threads of the traced program only."""
    return bool(context.places) and ON_TARGET.issuperset(context.places)
