"""The bodies of a script: each is typed against an unknown method, and its records get their templates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from btpy.lang.builtins import MAX_STATEMENTS
from btpy.lang.check.attachments import Report
from btpy.lang.check.checking import Checking, Draft
from btpy.lang.check.classes import NOTHING_KNOWN, Classes
from btpy.lang.check.context import MakeTemplate
from btpy.lang.check.elaborate import Body, elaborate, type_declarations
from btpy.lang.program import Probe, TemplatePlace
from btpy.lang.syntax import nodes
from btpy.model.diagnostics import Diagnostic, Label
from btpy.model.jfr import JfrEvent
from btpy.model.templates import Slot, Template, TemplateKind
from btpy.model.types import LONG, Kind, Type, joined


def type_bodies(checking: Checking) -> None:
    """Types every body. The types of maps and thread variables follow from the values that all bodies store in them.

    A body that reads a map or a thread variable shows the unit of the value, which is known only when all bodies are
    typed. Therefore this function types the body without reports, and :func:`type_readers` types it again. The body of
    a subscriber is typed where its host says ``provide``.
    """
    sound = not checking.has_errors
    checking.readers = [
        draft for draft in checking.hosts if _reads_state(draft.probe, *checking.subscribers(draft.probe))
    ]
    readers = {draft.probe.id for draft in checking.readers}
    checking.bodies = [
        _typed(checking, draft, lambda *_: 0, lambda _: None, NOTHING_KNOWN, {})
        if draft.probe.id in readers
        else _reported(checking, draft)
        for draft in checking.hosts
    ]
    shared, trees = checking.shared, checking.trees
    types = _stored_types(checking.bodies)
    checking.maps = shared.maps_typed(checking.maps, types, trees, checking.report if sound else lambda _: None)
    samples = [sample for body in checking.bodies for sample in body.scoped_samples]
    checking.scoped = shared.scoped_typed(checking.scoped, samples, trees, checking.report)


def type_readers(checking: Checking) -> None:
    """Types the bodies that read maps or thread variables, whose types are known now."""
    for draft in checking.readers:
        _reported(checking, draft)


def bound_statements(checking: Checking) -> None:
    """Reports bodies with more statements than a firing may run."""
    for draft in checking.drafts:
        _count_statements(draft.probe.tree, checking.report)


def type_uncalled(checking: Checking) -> None:
    """Types the functions that no probe calls, and each ``static_check`` that stands between probes."""
    called_names = {function.name.span for draft in checking.drafts for function in draft.probe.calls}
    uncalled = [function for function in checking.functions if function.name.span not in called_names]
    linked = checking.linked
    type_declarations(uncalled, linked.checks, checking.maps, checking.scoped, linked.functions, checking.report)


def _typed(
    checking: Checking,
    draft: Draft,
    make_template: MakeTemplate,
    report: Report,
    classes: Classes,
    jfr_events: dict[str, JfrEvent],
) -> Body:
    attached_probe = draft.attached
    return elaborate(
        draft.probe,
        attached_probe.places,
        attached_probe.location,
        None,
        checking.maps,
        make_template,
        report,
        functions=checking.linked.functions,
        subscribers=checking.subscribers(draft.probe),
        scoped=checking.scoped,
        jfr_events=jfr_events,
        outermost=attached_probe.outermost,
        permissions=checking.permissions,
        classes=classes,
    )


def _reported(checking: Checking, draft: Draft) -> Body:
    """The typed body of a probe, with its reports, templates and events."""
    make_template = _template_maker(checking, draft.probe.id)
    return _typed(checking, draft, make_template, checking.report, checking.classes, checking.jfr_events)


def _template_maker(checking: Checking, host: int) -> MakeTemplate:
    def make_template(
        place: TemplatePlace,
        kind: TemplateKind,
        parts: tuple[str | Slot, ...],
        name: str,
        maps: tuple[int, ...],
        options: tuple[tuple[str, object], ...],
        flushed: tuple[int, ...],
    ) -> int:
        shipped_by = host if host != place.probe else None
        id_ = len(checking.templates)
        template = Template(id_, place.probe, kind, parts, name, maps, options, shipped_by, flushed)
        checking.templates.append(template)
        assert (host, place) not in checking.template_ids
        checking.template_ids[host, place] = template.id
        return template.id

    return make_template


def _count_statements(tree: nodes.Probe, report: Report) -> None:
    statements = (
        nodes.Let,
        nodes.Assign,
        nodes.Step,
        nodes.Delete,
        nodes.Return,
        nodes.ExpressionStatement,
        nodes.If,
        nodes.For,
    )
    counted = [node for node in nodes.walk(tree.body) if isinstance(node, statements)]
    if len(counted) > MAX_STATEMENTS:
        report(
            Diagnostic(
                "BT406",
                f"this probe has {len(counted)} statements",
                Label(counted[MAX_STATEMENTS].span, f"number {MAX_STATEMENTS + 1}"),
                notes=(f"one firing can run at most {MAX_STATEMENTS}",),
            )
        )


def _reads_state(*probes: Probe) -> bool:
    """Whether one of the bodies, or a function that they call, reads a map or a variable of a thread or an object."""
    for tree in (tree for probe in probes for tree in (probe.tree, *probe.calls)):
        assigned: set[int] = set()
        for node in nodes.walk(tree):
            if isinstance(node, nodes.ScopedVariable):
                return True
            if isinstance(node, nodes.Assign | nodes.Step):
                assigned.add(id(node.target))
            elif isinstance(node, nodes.MapReference) and id(node) not in assigned:
                return True
    return False


def _stored_types(bodies: Sequence[Body]) -> dict[int, Type]:
    """The value type of each map, from all values that the bodies store in it."""
    types: dict[int, Type] = {}
    for map_id, sample in (sample for body in bodies for sample in body.samples):
        plain = LONG if sample.kind is Kind.INT else replace(sample, nullable=False)
        types[map_id] = plain if map_id not in types else joined(types[map_id], plain)
    return types
