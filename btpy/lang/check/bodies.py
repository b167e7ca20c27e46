"""The bodies of a script: each is typed against an unknown method, and its records get their templates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from btpy.lang.builtins import MAX_STATEMENTS
from btpy.lang.check.attachments import Report
from btpy.lang.check.checking import Checking, Draft
from btpy.lang.check.classes import NOTHING_KNOWN, Classes
from btpy.lang.check.context import Context, MakeTemplate
from btpy.lang.check.elaborate import elaborate
from btpy.lang.check.expressions import value
from btpy.lang.check.functions import type_function
from btpy.lang.check.statements import block
from btpy.lang.check.static_check import check_static
from btpy.lang.program import Probe, TemplatePlace
from btpy.lang.syntax import nodes
from btpy.model.attachments import BeginAttachment
from btpy.model.diagnostics import Diagnostic, Label
from btpy.model.jfr import JfrEvent
from btpy.model.templates import Template
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
    bodies = [
        _typed(checking, draft, lambda *_: 0, lambda _: None, NOTHING_KNOWN, {})
        if draft.probe.id in readers
        else _reported(checking, draft)
        for draft in checking.hosts
    ]
    shared, trees = checking.shared, checking.trees
    types = _stored_types(bodies)
    checking.maps = shared.maps_typed(checking.maps, types, trees, checking.report if sound else lambda _: None)
    samples = [sample for body in bodies for sample in body.scoped_samples]
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
    """Types the functions that no probe calls, with no assumption about the caller, and each ``static_check`` that
    stands between probes."""
    called_names = {function.name.span for draft in checking.drafts for function in draft.probe.calls}
    uncalled = [function for function in checking.functions if function.name.span not in called_names]
    declarations: tuple[nodes.Function | nodes.StaticCheck, ...] = (*uncalled, *checking.linked.checks)
    for declaration in declarations:
        tree = nodes.Probe(declaration.span, (), None, None, False, None, nodes.Block(declaration.span, ()))
        probe = Probe(-1, "", BeginAttachment(), None, False, tree, declaration.span)
        context = Context(
            value,
            block,
            probe,
            (),
            None,
            None,
            checking.maps,
            lambda *_: 0,
            checking.report,
            checking.linked.functions,
            scoped=checking.scoped,
        )
        if isinstance(declaration, nodes.Function):
            type_function(context, declaration)
        else:
            with context.reporting():
                check_static(context, declaration.call)


def _typed(
    checking: Checking,
    draft: Draft,
    make_template: MakeTemplate,
    report: Report,
    classes: Classes,
    jfr_events: dict[str, JfrEvent],
) -> Context:
    context = Context(
        value,
        block,
        draft.probe,
        draft.attached.places,
        draft.attached.location,
        None,
        checking.maps,
        make_template,
        report,
        checking.linked.functions,
        checking.subscribers(draft.probe),
        scoped=checking.scoped,
        jfr_events=jfr_events,
        permissions=checking.permissions,
        classes=classes,
    )
    elaborate(context)
    return context


def _reported(checking: Checking, draft: Draft) -> Context:
    """The typed body of a probe, with its reports, templates and events."""
    make_template = _template_maker(checking, draft.probe.id)
    return _typed(checking, draft, make_template, checking.report, checking.classes, checking.jfr_events)


def _template_maker(checking: Checking, host: int) -> MakeTemplate:
    def make_template(place: TemplatePlace, template: Template) -> int:
        assert (host, place) not in checking.template_ids
        id_ = checking.template_ids[host, place] = len(checking.templates)
        checking.templates.append(replace(template, id=id_, host=host if host != place.probe else None))
        return id_

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


def _stored_types(bodies: Sequence[Context]) -> dict[int, Type]:
    """The value type of each map, from all values that the bodies store in it."""
    types: dict[int, Type] = {}
    for map_id, sample in (sample for body in bodies for sample in body.samples):
        plain = LONG if sample.kind is Kind.INT else replace(sample, nullable=False)
        types[map_id] = plain if map_id not in types else joined(types[map_id], plain)
    return types
