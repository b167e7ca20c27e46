"""The probes of a script: their annotations, names, parameters and limits."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from btpy.lang.builtins import VARIABLES
from btpy.lang.check import events
from btpy.lang.check.attachments import Attached, Report, attach
from btpy.lang.check.checking import Checking, Draft
from btpy.lang.check.frameworks import APPLICATION, frameworks
from btpy.lang.check.sampling import decide_together, firing
from btpy.lang.program import Formal, Probe
from btpy.lang.syntax import nodes
from btpy.model.attachments import MethodAttachment, ProbeAttachment
from btpy.model.diagnostics import Diagnostic, Label, Severity
from btpy.model.permissions import Permissions


def draft_probes(checking: Checking) -> None:
    """Reads the annotations of the probes, names the probes, and finds out which are subscribers."""
    report, shared = checking.report, checking.shared
    drafts: list[Draft] = []
    used = {probe.name for probe in shared.earlier.active}
    names: dict[str, nodes.Identifier | None] = {}
    own_numbers: dict[str, int] = {}
    numbers: dict[str, int] = {}
    for linked in checking.linked.probes:
        tree = linked.tree
        attached_probe = attach(tree, report)
        if attached_probe is None:
            continue
        attached_probe = _with_application(attached_probe, checking.permissions)
        chosen = tree.name or attached_probe.name
        if chosen is not None:
            name = _qualified(linked.prefix, chosen.text)
        else:
            name = _unlike(_plain_name(linked.prefix, attached_probe), names, own_numbers)
        first = names.get(name)
        if chosen is not None and first is not None:
            report(
                Diagnostic(
                    "BT102",
                    f"two probes are called `{chosen.text}`",
                    Label(chosen.span, "the second"),
                    (Label(first.span, "the first"),),
                )
            )
        names[name] = chosen
        _check_formals(tree, attached_probe, report)
        formals = tuple(Formal(_spelled(formal.type), formal.name.text, formal.span) for formal in tree.formals or ())
        probe = Probe(
            len(shared.earlier.probes) + len(drafts),
            _unlike(name, used, numbers),
            attached_probe.attachment,
            None if tree.formals is None else formals,
            tree.open_formals,
            tree,
            tree.span,
            linked.calls,
            attached_probe.doc,
            attached_probe.unit,
            attached_probe.tested,
        )
        fires = firing(tree, attached_probe.attachment, report)
        if fires.sampling is not None:
            probe = replace(probe, sampling=replace(fires.sampling, group=probe.id))
        used.add(probe.name)
        drafts.append(Draft(replace(probe, limit=fires.limit, level=fires.level), name, attached_probe))
    decided = decide_together([draft.probe for draft in drafts], report)
    drafts = [replace(draft, probe=probe) for draft, probe in zip(drafts, decided, strict=True)]
    checking.drafts = _subscribed(drafts, report)
    for draft in checking.drafts:
        if isinstance(draft.probe.attachment, ProbeAttachment):
            checking.subscribed.setdefault(draft.probe.attachment.host, []).append(draft.probe)


def _with_application(attached_probe: Attached, permissions: Permissions) -> Attached:
    """Puts the pattern of the classes of the application in the place of ``<app>``."""
    attachment = attached_probe.attachment
    if not isinstance(attachment, MethodAttachment):
        return attached_probe
    if all(pattern.text != APPLICATION for pattern in attachment.classes):
        return attached_probe
    text = frameworks(permissions.frameworks).application
    classes = tuple(
        replace(pattern, text=text, written=APPLICATION) if pattern.text == APPLICATION else pattern
        for pattern in attachment.classes
    )
    return replace(attached_probe, attachment=replace(attachment, classes=classes))


def _subscribed(drafts: list[Draft], report: Report) -> list[Draft]:
    """Finds the host of each subscriber."""
    hosts = {draft.spelled: draft for draft in drafts}
    settled = []
    for draft in drafts:
        name = draft.attached.host
        if name is not None:
            host = hosts.get(name.text)
            if host is not None:
                problem = events.unfit_host(name, host.probe)
                if problem is not None:
                    report(problem)
                draft = replace(draft, probe=replace(draft.probe, attachment=ProbeAttachment(host.probe.id)))
        settled.append(draft)
    return settled


def _qualified(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _spelled(type_: nodes.TypeName) -> str:
    return type_.name + "[]" * type_.dimensions


def _plain_name(prefix: str, attached_probe: Attached) -> str:
    """The default name of a probe without a name, if it is free."""
    attachment = attached_probe.attachment
    if isinstance(attachment, MethodAttachment):
        pattern = attachment.methods[0].text
        base = pattern if pattern.isidentifier() else {"<init>": "init", "<clinit>": "clinit"}.get(pattern, "probe")
    else:
        base = attached_probe.places[0].value.removeprefix("@On").lower()
    return _qualified(prefix, base)


def _unlike(name: str, used: Container[str], numbers: dict[str, int]) -> str:
    """The name, or the name with a number if it is already used. ``numbers``: the first free number of each name."""
    number = numbers.get(name, 1)
    candidate = name if number == 1 else f"{name}_{number}"
    while candidate in used:
        number += 1
        candidate = f"{name}_{number}"
    numbers[name] = number
    return candidate


_RESULTS = ("duration", "retval", "exception")
"""Values that a probe reads without a parameter. A parameter with such a name is a parameter of the method instead."""


def _check_formals(tree: nodes.Probe, attached_probe: Attached, report: Report) -> None:
    if tree.formals is None:
        return
    if not isinstance(attached_probe.attachment, MethodAttachment):
        span = tree.formals[0].span.to(tree.formals[-1].span) if tree.formals else tree.span
        report(Diagnostic("BT113", f"a probe at {attached_probe.places[0].value} cannot have parameters", Label(span)))
        return
    formals_by_name: dict[str, nodes.Identifier] = {}
    for formal in tree.formals:
        first = formals_by_name.setdefault(formal.name.text, formal.name)
        if first is not formal.name:
            report(
                Diagnostic(
                    "BT102",
                    f"two parameters are called `{formal.name.text}`",
                    Label(formal.name.span, "the second"),
                    (Label(first.span, "the first"),),
                )
            )
        name = formal.name.text
        if name in _RESULTS and not VARIABLES[name].places.isdisjoint(attached_probe.places):
            report(
                Diagnostic(
                    "BT102",
                    f"`{name}` is a parameter of the method here",
                    Label(formal.name.span, f"hides the built-in `{name}`"),
                    help=(f"`{name}` needs no parameter: leave it out, and use it in the body",),
                    notes=("the names in the list are new names of the parameters of the method, in their order",),
                    severity=Severity.WARNING,
                )
            )
