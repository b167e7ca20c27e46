"""The body of one probe → a typed tree, against the shape of one traced method or, before any class is known, against
none.

Without a shape, everything that depends on the method has the type ANY, or the type that the probe's parameters
declare. So an error found without a shape is an error for every method. Both runs visit the same code, so the first
creates the templates, and the second finds them by their place.

A fault ends its statement, so that it is reported once. The parts are ``statements.py``,
``expressions.py`` and the modules below them, down to ``context.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from btpy.dataclass import dataclass
from btpy.lang import program, typed_tree
from btpy.lang.builtins import Place
from btpy.lang.check.attachments import Report
from btpy.lang.check.classes import ANY_METHOD, NOTHING_KNOWN, Classes, Subject
from btpy.lang.check.context import Context, MakeTemplate
from btpy.lang.check.conversions import condition
from btpy.lang.check.expressions import value
from btpy.lang.check.functions import type_uncalled
from btpy.lang.check.printing import begin_speculation
from btpy.lang.check.statements import block
from btpy.lang.check.static_check import check_static
from btpy.lang.inputs import Input, InputKind
from btpy.lang.syntax import nodes
from btpy.lang.typed_tree import Entry, Expr, Shape, Statement
from btpy.model.attachments import BeginAttachment
from btpy.model.diagnostics import Label
from btpy.model.jfr import JfrEvent
from btpy.model.maps import Map
from btpy.model.permissions import Permissions
from btpy.model.types import BOOLEAN, INT, Type


@dataclass(frozen=True, slots=True)
class Body:
    """The result of elaboration. ``samples``: the type of each value for a map, by map id, in order;
    ``scoped_samples``: the type of each value for a thread variable, by its name, and whether it is a secret."""

    inputs: tuple[Input, ...]
    entries: tuple[Entry, ...]
    predicate: Expr | None
    statements: tuple[Statement, ...]
    locals_: tuple[str, ...]
    samples: tuple[tuple[int, Type], ...]
    scoped_samples: tuple[tuple[str, Type, bool], ...]


def elaborate(
    probe: program.Probe,
    places: tuple[Place, ...],
    location: Label | None,
    shape: Shape | None,
    maps: dict[str, Map],
    make_template: MakeTemplate,
    report: Report,
    *,
    functions: Mapping[str, nodes.Function],
    subscribers: tuple[program.Probe, ...] = (),
    scoped: Mapping[str, program.ScopedVariable],
    jfr_events: dict[str, JfrEvent],
    outermost: bool = False,
    thrown: bool = False,
    permissions: Permissions,
    classes: Classes = NOTHING_KNOWN,
    subject: Subject = ANY_METHOD,
) -> Body:
    """Types the body of ``probe`` for ``shape``. Errors go to ``report``.

    ``places``: where it runs; ``location``: the label that explains the places. ``outermost``: it fires only when depth
    is 0. ``thrown``: the exception is always an input, because THROW(type=…) tests it. ``subscribers``: the probes
    whose bodies run where this probe says ``provide``. ``jfr_events``: as in :class:`Context`.
    """
    context = Context(
        probe,
        places,
        location,
        shape,
        maps,
        make_template,
        report,
        value,
        block,
        functions,
        subscribers,
        permissions=permissions,
        classes=classes,
        subject=subject,
        scoped=scoped,
        jfr_events=jfr_events,
    )
    predicate: Expr | None = _outermost(context) if outermost else None
    tree = probe.tree
    if tree.when is not None:
        with context.reporting():
            when = condition(context, tree.when, "`when`")
            if predicate is not None:
                when = typed_tree.Logical(BOOLEAN, when.span, "&&", predicate, when)
            predicate = when
    statements = (*begin_speculation(context, probe), *block(context, tree.body))
    if thrown:
        context.input(InputKind.EXCEPTION, 0, "Ljava/lang/Object;")
    if probe.sampling is not None and probe.sampling.by_thread:
        context.input(InputKind.SAMPLED, 0, "I")
    return Body(
        tuple(context.inputs),
        tuple(context.entries),
        predicate,
        statements,
        tuple(context.locals),
        tuple(context.samples),
        tuple(context.scoped_samples),
    )


def type_declarations(
    uncalled: Sequence[nodes.Function],
    checks: Sequence[nodes.StaticCheck],
    maps: dict[str, Map],
    scoped: Mapping[str, program.ScopedVariable],
    functions: Mapping[str, nodes.Function],
    report: Report,
) -> None:
    """Types functions that nothing calls, with no assumption about the caller, and the static checks between the
    probes.
    """
    declarations: tuple[nodes.Function | nodes.StaticCheck, ...] = (*uncalled, *checks)
    for declaration in declarations:
        tree = nodes.Probe(declaration.span, (), None, None, False, None, nodes.Block(declaration.span, ()))
        probe = program.Probe(-1, "", BeginAttachment(), None, False, tree, declaration.span)
        context = Context(probe, (), None, None, maps, lambda *_: 0, report, value, block, functions, scoped=scoped)
        if isinstance(declaration, nodes.Function):
            type_uncalled(context, declaration)
        else:
            with context.reporting():
                check_static(context, declaration.call)


def _outermost(context: Context) -> Expr:
    span = next(annotation.span for annotation in context.probe.tree.annotations if annotation.name.text == "Outermost")
    depth = typed_tree.InputValue(INT, span, context.input(InputKind.DEPTH, 0, "I"))
    return typed_tree.Binary(BOOLEAN, span, "==", depth, typed_tree.Constant(INT, span, 0))
