"""``provide`` in the probe of a library. The bodies of its ``@OnProbe`` subscribers run at this place."""

from __future__ import annotations

from btpy.lang import program, typed_tree
from btpy.lang.builtins import OFF_TARGET, Place
from btpy.lang.check.context import Context, Local
from btpy.lang.check.conversions import condition, typed_null
from btpy.lang.check.faults import FaultError, fault, repeated
from btpy.lang.check.printing import begin_speculation
from btpy.lang.check.redaction import is_secret
from btpy.lang.syntax import nodes
from btpy.lang.typed_tree import Expr, Statement
from btpy.model.attachments import ProbeAttachment
from btpy.model.diagnostics import Diagnostic, Label, did_you_mean, quote
from btpy.model.types import ANY

EVENT = "event"
"""The name by which a subscriber reads the provided values."""


def provided(probe: nodes.Probe) -> dict[str, nodes.Identifier]:
    """The names of all values that a probe provides anywhere."""
    names: dict[str, nodes.Identifier] = {}
    for call in nodes.calls(probe.body, "provide"):
        for argument in call.arguments:
            if argument.name is not None:
                names.setdefault(argument.name.text, argument.name)
    return names


def wanted(probe: nodes.Probe, functions: tuple[nodes.Function, ...]) -> set[str]:
    """The names of all values that a subscriber asks for."""
    return {
        node.name.text
        for tree in (probe, *functions)
        for node in nodes.walk(tree)
        if isinstance(node, nodes.Field) and isinstance(node.target, nodes.Name) and node.target.text == EVENT
    }


def provide(context: Context, call: nodes.Call) -> list[Statement]:
    """Evaluates the values that subscribers ask for, then runs their bodies. Raises FaultError."""
    if context.frame is not None or context.event is not None:
        where = "a function" if context.frame is not None else "a subscriber"
        raise fault(
            "BT117",
            f"`provide` cannot stand in {where}",
            Label(call.function.span, "possible only in the body of a probe"),
        )
    if context.probe.tree.name is None:
        raise fault(
            "BT117",
            "a probe that provides values needs a name",
            Label(call.function.span),
            help=("@OnMethod(…) probe name { provide(…) }",),
        )
    requested = {name for subscriber in context.subscribers for name in wanted(subscriber.tree, subscriber.calls)}
    statements: list[Statement] = []
    event: dict[str, Local | None] = dict.fromkeys(provided(context.probe.tree))
    by_name: dict[str, nodes.Identifier] = {}
    for argument in call.arguments:
        if argument.name is None:
            raise fault("BT107", "provided values must have names", Label(argument.span), help=("provide(name=value)",))
        name = argument.name.text
        if name in by_name:
            raise FaultError(repeated(f"`{name}` is given twice", argument.name.span, by_name[name].span))
        by_name[name] = argument.name
        value = typed_null(context.value(argument.value))
        if name in requested:
            local = context.hide(value.type, argument.name.span, secret=is_secret(context, argument.value))
            event[name] = local
            statements.append(typed_tree.Let(local.index, value))
    for subscriber in context.subscribers:
        statements.append(_subscriber(context, call, subscriber, event))
    return statements


def _subscriber(
    context: Context, provide: nodes.Call, probe: program.Probe, event: dict[str, Local | None]
) -> typed_tree.Subscriber:
    outer = context.probe, context.places, context.location, context.scopes, context.speculation, context.calls
    off_target = any(place in OFF_TARGET for place in context.places)
    annotation = probe.tree.annotations[0]
    context.probe = probe
    context.calls = (*context.calls, provide.span.packed)
    context.places = (Place.AGENT_PROBE if off_target else Place.PROBE,)
    context.location = Label(annotation.span, "the library chooses the values: event.name")
    context.scopes = [{}]
    context.event = event
    predicate: Expr | None = None
    try:
        if probe.tree.when is not None:
            with context.reporting():
                predicate = condition(context, probe.tree.when, "`when`")
        body = (*begin_speculation(context, probe), *context.block(probe.tree.body))
    finally:
        context.probe, context.places, context.location, context.scopes, context.speculation, context.calls = outer
        context.event = None
    return typed_tree.Subscriber(probe, predicate, body)


def event_value(context: Context, tree: nodes.Field) -> Expr:
    """``event.name``. Raises FaultError."""
    name, event = tree.name.text, context.event
    if event is None:
        raise fault(
            "BT105",
            f"`{EVENT}` exists in `@OnProbe` only",
            Label(tree.target.span),
            help=("subscribe to the probe of a library:  @OnProbe(library.probe) { … }",),
        )
    if name not in event:
        raise fault(
            "BT101",
            f"the event has no `{name}`",
            Label(tree.name.span, "not provided"),
            help=did_you_mean(name, event),
            notes=("it has: " + (quote(event, 12) or "nothing"),),
        )
    local = event[name]
    if local is None:
        return typed_tree.Constant(ANY, tree.span, None)
    return typed_tree.LocalValue(local.type, tree.span, local.index)


def unfit_host(name: nodes.Name, host: program.Probe) -> Diagnostic | None:
    """The reason why no probe can subscribe to the probe that ``@OnProbe`` names; None if it is possible."""
    label = host.tree.name.span if host.tree.name is not None else host.span
    if isinstance(host.attachment, ProbeAttachment):
        return Diagnostic(
            "BT117",
            f"`{name.span.text}` is itself a subscriber",
            Label(name.span),
            (Label(label, "runs with another probe"),),
            help=(f"subscribe to the probe that `{name.span.text}` subscribes to",),
        )
    if any(True for _ in nodes.calls(host.tree.body, "provide")):
        return None
    return Diagnostic(
        "BT117",
        f"`{name.span.text}` provides nothing to subscribe to",
        Label(name.span),
        (Label(label, "no `provide` in its body"),),
        help=("a probe gives values to others by  provide(name=value)",),
    )
