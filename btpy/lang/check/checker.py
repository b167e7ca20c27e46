"""Linked script → checked program.

The check needs no JVM. It is a list of passes over one :class:`~btpy.lang.check.checking.Checking`. It types bodies for
an unknown method, so it reports only faults that exist for every method. :mod:`btpy.lang.check.binding` types a body
for one method; the errors that it finds are errors for that method alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from btpy.errors import ScriptError
from btpy.lang.check.bodies import bound_statements, type_bodies, type_readers, type_uncalled
from btpy.lang.check.checking import Checking
from btpy.lang.check.classes import NOTHING_KNOWN, Classes
from btpy.lang.check.drafts import draft_probes
from btpy.lang.check.estimates import mark_estimates
from btpy.lang.check.jfr_events import running_events
from btpy.lang.check.sending import check_sending
from btpy.lang.check.settings import read_settings
from btpy.lang.check.shared import Shared
from btpy.lang.check.state import declare_maps, declare_scoped
from btpy.lang.link.libraries import Libraries
from btpy.lang.link.linker import Linked, link
from btpy.lang.program import Given, Program
from btpy.model.diagnostics import Diagnostic
from btpy.model.permissions import DEFAULT_PERMISSIONS, Permissions
from btpy.model.source import Source, Span

PASSES: tuple[Callable[[Checking], None], ...] = (
    read_settings,
    draft_probes,
    declare_maps,
    declare_scoped,
    type_bodies,
    mark_estimates,
    type_readers,
    bound_statements,
    check_sending,
    type_uncalled,
)
"""The passes in order. Each pass reads the results of the earlier passes. A pass reports faults and continues."""


def check_source(
    source: Source,
    libraries: Libraries | None = None,
    arguments: Mapping[str, str] | None = None,
    permissions: Permissions = DEFAULT_PERMISSIONS,
    classes: Classes = NOTHING_KNOWN,
    earlier: Program | None = None,
) -> Program:
    """Parses, links and checks a script. ``arguments``: texts that the command line gives for its parameters;
    ``permissions``: the permissions of the user; ``classes``: classes of the traced program that messages may name;
    ``earlier``: the program that the script extends.

    Raises ScriptError, and UsageError for a parameter without a fitting value.
    """
    program = check(link(source, libraries, arguments, earlier), permissions, classes, earlier)
    inputs = Given(tuple((arguments or {}).items()), (libraries or Libraries()).directories)
    return replace(program, given=inputs)


def check(
    linked: Linked,
    permissions: Permissions = DEFAULT_PERMISSIONS,
    classes: Classes = NOTHING_KNOWN,
    earlier: Program | None = None,
) -> Program:
    """The checked program; warnings are in it. Raises ``ScriptError`` with all errors and warnings.

    ``earlier``: the program that the script extends. Both share the maps and thread variables that the earlier probes
    use, and the script must use them with the same types. The script may redefine the maps and variables that only
    removed probes used.
    """
    shared = Shared.of(earlier)
    checking = Checking(
        linked,
        permissions,
        classes,
        shared,
        list(linked.diagnostics),
        templates=list(shared.earlier.templates),
        template_ids=dict(shared.earlier.template_ids),
        jfr_events=running_events(shared.earlier.jfr_events, shared.trees),
    )
    for check_pass in PASSES:
        check_pass(checking)
    diagnostics = _in_order(linked, checking.diagnostics)
    if checking.has_errors:
        raise ScriptError(diagnostics)
    return Program(
        source=linked.source,
        probes=(*shared.earlier.probes, *(draft.probe for draft in checking.drafts)),
        maps=shared.all_maps(checking.maps),
        templates=tuple(checking.templates),
        doc=linked.doc,
        settings=tuple(checking.settings.items()),
        warnings=tuple(diagnostics),
        permissions=checking.permissions,
        functions=linked.functions,
        libraries=linked.libraries,
        parameters=linked.parameters,
        scoped_variables=shared.all_scoped(checking.scoped),
        earlier=earlier,
        removed=shared.earlier.removed,
        template_ids=checking.template_ids,
        jfr_events=checking.jfr_events,
    )


def _in_order(linked: Linked, diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """Each fault once, in the order of the text. Faults in libraries say which import brought the library in."""
    by_place: dict[tuple[str, Span, str], Diagnostic] = {}
    for diagnostic in diagnostics:
        by_place.setdefault((diagnostic.code, diagnostic.primary.span, diagnostic.message), diagnostic)
    ordered = sorted(
        by_place.values(), key=lambda diagnostic: (diagnostic.primary.span.source.base, diagnostic.primary.span.start)
    )
    return [_with_imports(linked, diagnostic) for diagnostic in ordered]


def _with_imports(linked: Linked, diagnostic: Diagnostic) -> Diagnostic:
    sources = {id(label.span.source) for label in (diagnostic.primary, *diagnostic.secondary)}
    chain = [label for label in linked.came_by(diagnostic.primary.span.source) if id(label.span.source) not in sources]
    return replace(diagnostic, secondary=(*diagnostic.secondary, *chain)) if chain else diagnostic
