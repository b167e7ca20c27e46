"""``span(name, key=value, …)``: the activation of a method, as a span of a trace. Without a name, the span has the name
of its method."""

from __future__ import annotations

from collections.abc import Iterator

from btpy.classfile.descriptors import OBJECT as REFERENCE
from btpy.lang import builtins, typed_tree
from btpy.lang.builtins import EXITS, FUNCTIONS, VARIABLES
from btpy.lang.check.context import Context
from btpy.lang.check.faults import fault
from btpy.lang.check.printing import Record, emitted, kind_of_event, named_values
from btpy.lang.check.variables import variable_value
from btpy.lang.inputs import InputKind
from btpy.lang.syntax import nodes
from btpy.lang.typed_tree import Expr, Statement
from btpy.model.attachments import MethodAttachment
from btpy.model.diagnostics import Label
from btpy.model.points import Point
from btpy.model.sampling import NO_LIMIT
from btpy.model.source import Span
from btpy.model.templates import SPAN, SPAN_OF_METHOD, SpanField, TemplateKind
from btpy.model.types import BOOLEAN, DURATION, INT, LONG, OBJECT, STACK, STRING

_FRAMES = 32
_EXAMPLE = 'span("price", items=$count)'


def span(context: Context, call: nodes.Call) -> Statement:
    """Writes the record of the span, unless its trace is not sampled or the probe was disabled at entry."""
    _check_place(context, call)
    is_named = bool(call.arguments) and call.arguments[0].name is None
    name = kind_of_event(call, "the name of the span", _EXAMPLE) if is_named else "span"
    record = Record(context)
    place = call.function.span
    record.value(context.input_value(LONG, place, InputKind.START), None)
    opened = context.input(InputKind.SPAN, 0 if _is_certain(context, call) else 1, REFERENCE)
    span_value = typed_tree.InputValue(OBJECT, place, opened)
    for field, value in _values(context, span_value, place):
        record.value(value, field.value)
    named_values(record, call.arguments[1 if is_named else 0 :], dict.fromkeys(record.labels, place))
    written = emitted(context, call, TemplateKind.EMIT, record, name, (SPAN if is_named else SPAN_OF_METHOD,))
    return typed_tree.If(typed_tree.BuiltinCall(BOOLEAN, place, builtins.SPAN_TAKE, (span_value,)), (written,), ())


def _values(context: Context, begun: Expr, place: Span) -> Iterator[tuple[SpanField, Expr]]:
    yield SpanField.TRACE_ID, typed_tree.BuiltinCall(STRING, place, builtins.SPAN_TRACE_ID, (begun,))
    yield SpanField.SPAN_ID, typed_tree.BuiltinCall(STRING, place, builtins.SPAN_OWN_ID, (begun,))
    yield SpanField.PARENT_ID, typed_tree.BuiltinCall(STRING, place, builtins.SPAN_PARENT_ID, (begun,))
    yield SpanField.FLAGS, typed_tree.BuiltinCall(LONG, place, builtins.SPAN_FLAGS, (begun,))
    yield SpanField.DURATION, context.input_value(DURATION, place, InputKind.DURATION)
    if Point.THROW in _ends(context):
        exception = variable_value(context, VARIABLES["exception"], place)
        frames = typed_tree.Constant(INT, place, _FRAMES)
        yield SpanField.EXCEPTION, typed_tree.BuiltinCall(STRING, place, "typeof", (exception,))
        yield SpanField.MESSAGE, typed_tree.BuiltinCall(STRING, place, "message", (exception,))
        yield SpanField.STACK, typed_tree.BuiltinCall(STACK, place, "stack", (exception, frames))


def _ends(context: Context) -> tuple[Point, ...]:
    """The ends of methods at which the probe fires: EXIT is both."""
    attachment = context.probe.attachment
    return attachment.points if isinstance(attachment, MethodAttachment) else ()


def _is_certain(context: Context, call: nodes.Call) -> bool:
    """Whether each activation certainly writes its span. Only such a span may be the parent of other spans."""
    probe = context.probe
    if len(_ends(context)) < 2 or probe.sampling is not None or probe.limit != NO_LIMIT:
        return False
    tree = probe.tree
    if tree.when is not None or nodes.annotation_of(tree, "Outermost") is not None:
        return False
    for statement in tree.body.statements:
        if isinstance(statement, nodes.ExpressionStatement) and statement.value is call:
            return True
        if any(_may_end(node) for node in nodes.walk(statement)):
            return False
    return False


def _may_end(node: nodes.Tree) -> bool:
    """Whether the statement may end the firing. A function of the script may call ``skip``."""
    return isinstance(node, nodes.Return) or (
        isinstance(node, nodes.Call) and (node.function.text == "skip" or node.function.text not in FUNCTIONS)
    )


def _check_place(context: Context, call: nodes.Call) -> None:
    places = [place for place in context.places if place not in EXITS]
    if not places or context.shape is not None:
        return
    raise fault(
        "BT105",
        f"`span` does not run at {places[0].value}",
        Label(call.function.span, "a span is written when the method ends: EXIT, RETURN or THROW"),
        (context.location,) if context.location is not None else (),
        help=("change the location:  location=EXIT", f"values from entry:  {_EXAMPLE[:-1]}, first=entry(arg0))"),
    )
