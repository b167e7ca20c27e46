"""The body of one probe → a typed tree, against the shape of one traced method or, before any class is known, against
none.

Without a shape, everything that depends on the method has the type ANY, or the type that the probe's parameters
declare. So an error found without a shape is an error for every method. Both runs visit the same code, so the first
creates the templates, and the second finds them by their place.

A fault ends its statement, so that it is reported once. The parts are ``statements.py``,
``expressions.py`` and the modules below them, down to ``context.py``.
"""

from __future__ import annotations

from btpy.lang import typed_tree
from btpy.lang.check.context import Context
from btpy.lang.check.conversions import condition
from btpy.lang.check.printing import begin_speculation
from btpy.lang.inputs import InputKind
from btpy.lang.syntax import nodes
from btpy.lang.typed_tree import Expr, Statement
from btpy.model.source import Span
from btpy.model.types import BOOLEAN, INT


def elaborate(context: Context, *, thrown: bool = False) -> tuple[Expr | None, tuple[Statement, ...]]:
    """The typed predicate and statements of the probe. ``thrown``: the exception is always an input, because
    THROW(type=…) tests it.
    """
    probe, tree = context.probe, context.probe.tree
    outermost = nodes.annotation_of(tree, "Outermost")
    predicate: Expr | None = None if outermost is None else _outermost(context, outermost.span)
    if tree.when is not None:
        with context.reporting():
            when = condition(context, tree.when, "`when`")
            if predicate is not None:
                when = typed_tree.Logical(BOOLEAN, when.span, "&&", predicate, when)
            predicate = when
    statements = (*begin_speculation(context, probe), *context.block(tree.body))
    if thrown:
        context.input(InputKind.EXCEPTION, 0, "Ljava/lang/Object;")
    if probe.sampling is not None and probe.sampling.by_thread:
        context.input(InputKind.SAMPLED, 0, "I")
    return predicate, statements


def _outermost(context: Context, span: Span) -> Expr:
    depth = context.input_value(INT, span, InputKind.DEPTH)
    return typed_tree.Binary(BOOLEAN, span, "==", depth, typed_tree.Constant(INT, span, 0))
