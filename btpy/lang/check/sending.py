"""Events that probes send to each other. Each event needs a listener, and must not return to its sender."""

from __future__ import annotations

from collections.abc import Iterator

from btpy.lang.check.checking import Checking
from btpy.lang.program import Probe
from btpy.lang.syntax import nodes
from btpy.model.attachments import EventAttachment
from btpy.model.diagnostics import Diagnostic, Label, did_you_mean


def check_sending(checking: Checking) -> None:
    """Reports events that no probe listens to, and circles of events. Probes of other scripts listen, too."""
    probes, others = [draft.probe for draft in checking.drafts], checking.shared.earlier.active
    report = checking.report
    listeners: dict[str, list[Probe]] = {}
    for probe in (*probes, *others):
        if isinstance(probe.attachment, EventAttachment):
            listeners.setdefault(probe.attachment.name, []).append(probe)
    sent = {probe.id: list(_sent(probe)) for probe in (*probes, *others)}
    for probe in probes:
        event_name = probe.attachment.name if isinstance(probe.attachment, EventAttachment) else None
        for literal in sent[probe.id]:
            event = str(literal.value)
            if event not in listeners:
                report(
                    Diagnostic(
                        "BT120",
                        f'no probe listens to the event "{event}"',
                        Label(literal.span, "sent here"),
                        help=did_you_mean(event, listeners) or (f'add a probe:  @OnEvent("{event}") {{ … }}',),
                    )
                )
                continue
            reached, queue = {event}, [event]
            while queue:
                for listener in listeners.get(queue.pop(), ()):
                    further = {str(literal.value) for literal in sent[listener.id]} - reached
                    reached |= further
                    queue += further
            if event_name in reached:
                report(
                    Diagnostic(
                        "BT410",
                        f'the event "{event_name}" sends itself',
                        Label(literal.span, "leads back to this probe"),
                        (Label(probe.tree.annotations[0].span, "this probe"),),
                        help=("repeat with a timer:  @OnTimer(1s)",),
                    )
                )


def _sent(probe: Probe) -> Iterator[nodes.Literal]:
    for tree in (probe.tree.body, *probe.calls):
        for call in nodes.calls(tree, "send"):
            value = call.arguments[0].value if call.arguments else None
            if isinstance(value, nodes.Literal) and isinstance(value.value, str):
                yield value
