"""``x in container``: a list in the script, with ranges in it, or an array or collection of the traced program."""

from __future__ import annotations

from functools import reduce

from btpy.lang import typed_tree
from btpy.lang.builtins import MEMBER
from btpy.lang.check.context import Context
from btpy.lang.check.conversions import boxed, typed_null
from btpy.lang.check.faults import fault
from btpy.lang.check.loops import once, walked
from btpy.lang.check.operators import Operand, binary, equality
from btpy.lang.syntax import nodes
from btpy.lang.typed_tree import Expr
from btpy.model.diagnostics import Label
from btpy.model.types import BOOLEAN, NULL


def membership(context: Context, tree: nodes.Membership) -> Expr:
    element = context.value(tree.element)
    if not isinstance(tree.container, nodes.ListDisplay):
        container = walked(context, tree.container)
        return typed_tree.BuiltinCall(BOOLEAN, tree.span, MEMBER, (container, boxed(typed_null(element))))
    if not tree.container.elements:
        raise fault("BT209", "nothing is in an empty list", Label(tree.container.span))
    element, bound = once(context, element)
    tested = Operand(element, tree.element)
    result: Expr | None = None
    for item in tree.container.elements:
        if item.name is not None:
            raise fault("BT107", "elements of a list cannot have names", Label(item.name.span))
        test = _one(context, tree, tested, item.value)
        result = test if result is None else typed_tree.Logical(BOOLEAN, tree.span, "||", result, test)
    assert result is not None
    return bound(result)


def _one(context: Context, tree: nodes.Membership, element: Operand, candidate: nodes.Expression) -> Expr:
    if not isinstance(candidate, nodes.Range):
        return equality(context, "==", element, Operand(context.value(candidate), candidate), tree.span)
    sides = [
        binary(context, operator, element, Operand(context.value(side), side), tree.span)
        for operator, side in ((">=", candidate.first), ("<=", candidate.end))
    ]
    if element.type.is_reference:  # no container contains null
        null = typed_tree.Constant(NULL, tree.span, None)
        sides.insert(0, typed_tree.Binary(BOOLEAN, tree.span, "!=", element.value, null))
    return reduce(lambda one, other: typed_tree.Logical(BOOLEAN, tree.span, "&&", one, other), sides)
