"""Loops and other constructs that visit elements: ``for``, ``any all none first``, lists.

They visit arrays and collections whose layout is known. The class of the container is known only when the probe fires.
The number of elements is bounded, and so is the number of statements of one firing (``btpy.codegen.work``).
"""

from __future__ import annotations

from collections.abc import Callable

from btpy.lang import typed_tree
from btpy.lang.builtins import FUNCTIONS, MAX_ELEMENTS
from btpy.lang.check.context import Context
from btpy.lang.check.conversions import boxed, condition, convert, reasons, typed_null
from btpy.lang.check.faults import counted, fault, named
from btpy.lang.check.maps import find_map, map_query, map_read
from btpy.lang.check.redaction import is_secret
from btpy.lang.check.variables import refuse_shadowing
from btpy.lang.syntax import nodes
from btpy.lang.typed_tree import Expr, LoopVariable, Statement
from btpy.model.diagnostics import Label
from btpy.model.maps import map_title
from btpy.model.types import ANY, BOOLEAN, INT, LONG, Kind, Type, array_of

_WALKED = (Kind.ANY, Kind.OBJECT, Kind.ARRAY, Kind.NULL)


def for_statement(context: Context, tree: nodes.For) -> Statement:
    limit = None if tree.limit is None else _limit(context, tree.limit)
    if isinstance(tree.iterable, nodes.Range):
        return _for_range(context, tree, tree.iterable, limit)
    if isinstance(tree.iterable, nodes.MapReference) and not tree.iterable.keys:
        return _for_map(context, tree, tree.iterable, limit)
    container = walked(context, tree.iterable)
    if len(tree.variables) > 2:
        raise fault(
            "BT103",
            "a loop has one variable for an element, or two for a key and its value",
            Label(tree.variables[2].span, "unexpected"),
        )
    if len(tree.variables) == 1:
        types = [_element(container)]
    else:
        types = [LONG if container.type.kind is Kind.ARRAY else ANY, _element(container)]
    with context.scope():
        secret = is_secret(context, tree.iterable)
        pairs = zip(tree.variables, types, strict=True)
        variables = tuple(define(context, name, type_, secret=secret) for name, type_ in pairs)
        body = context.block(tree.body)
    return typed_tree.ForEach(tree.iterable.span, variables, container, limit, body)


def _for_range(context: Context, tree: nodes.For, range_: nodes.Range, limit: Expr | None) -> Statement:
    if len(tree.variables) > 1:
        raise fault("BT103", "a range gives one number at a time", Label(tree.variables[1].span, "unexpected"))
    first, last = (context.value(bound) for bound in (range_.first, range_.end))
    type_ = INT if {first.type.kind, last.type.kind} <= {Kind.INT, Kind.CHAR} and first.type == last.type else LONG
    first = convert(context, first, type_, range_.first, "a range")
    last = convert(context, last, type_, range_.end, "a range")
    with context.scope():
        variable = define(context, tree.variables[0], type_)
        body = context.block(tree.body)
    return typed_tree.ForRange(range_.span, variable, first, last, limit, body)


def _for_map(context: Context, tree: nodes.For, reference: nodes.MapReference, limit: Expr | None) -> Statement:
    """``for k in @m``, ``for k, v in @m``: the keys at the start of the loop, each with its value at the time of its
    iteration. A map with several keys needs a variable for each.
    """
    span = reference.span
    for place in context.places:
        if place not in FUNCTIONS["keys"].places:
            raise fault(
                "BT105",
                f"a loop cannot go through a map at {place.value}",
                Label(span, "too much work for a thread of the application"),
                (context.location,) if context.location is not None else (),
                help=("do it in a timer:  @OnTimer(1s) { … }", "the value of one key:  @name[key]"),
            )
    call = nodes.Call(span, nodes.Identifier(span, "keys"), (nodes.Argument(span, None, reference),))
    container = map_query(context, call, FUNCTIONS["keys"])
    map_ = find_map(context, reference)
    names = tree.variables
    if map_.keys == 0 or len(names) not in (map_.keys, map_.keys + 1):
        title = map_title(map_.name)
        keys = ", ".join(f"key{number}" for number in range(1, map_.keys + 1)) if map_.keys > 1 else "key"
        raise fault(
            "BT204",
            f"`{title}` has {counted(map_.keys, 'key')}, here {counted(len(names), 'name')}",
            Label(names[0].span.to(names[-1].span)),
            help=(f"for {keys} in {title} {{ }}", f"for {keys}, value in {title} {{ }}") if map_.keys else (),
        )
    with context.scope():
        first: list[Statement] = []
        if map_.keys == 1:
            variable = define(context, names[0], ANY)
            locals_ = [variable.index]
        else:
            variable = LoopVariable(context.hide(ANY, span).index, ANY)
            locals_ = []
            for number, name in enumerate(names[: map_.keys]):
                key = typed_tree.LocalValue(ANY, name.span, variable.index)
                part = typed_tree.ElementValue(ANY, name.span, key, typed_tree.Constant(LONG, name.span, number))
                locals_.append(define(context, name, ANY).index)
                first.append(typed_tree.Let(locals_[-1], part))
        if len(names) > map_.keys:
            key_values = tuple(typed_tree.LocalValue(ANY, span, index) for index in locals_)
            value = map_read(map_, key_values, names[-1].span)
            first.append(typed_tree.Let(define(context, names[-1], value.type).index, value))
        body = context.block(tree.body)
    return typed_tree.ForEach(span, (variable,), container, limit, (*first, *body))


def _limit(context: Context, tree: nodes.Expression) -> Expr:
    limit = convert(context, context.value(tree), INT, tree, "`limit`")
    if isinstance(limit, typed_tree.Constant) and isinstance(limit.value, int) and not 0 < limit.value <= MAX_ELEMENTS:
        raise fault(
            "BT222",
            f"the limit of a loop must be from 1 to {MAX_ELEMENTS}",
            Label(tree.span, "more than one firing may visit" if limit.value > 0 else "nothing"),
            notes=("a firing runs on a thread of the traced program, so its work is limited",),
        )
    return limit


def quantified(context: Context, tree: nodes.Quantified) -> Expr:
    quantifier = tree.quantifier.text
    container = walked(context, tree.container)
    element = _element(container)
    with context.scope():
        variable = define(context, tree.variable, element)
        test = condition(context, tree.test, f"`{quantifier}`")
    result = element.or_null() if quantifier == "first" else BOOLEAN
    return typed_tree.Quantified(result, tree.span, quantifier, variable, container, test)


def list_display(context: Context, tree: nodes.ListDisplay) -> Expr:
    elements: list[Expr] = []
    for element in tree.elements:
        if element.name is not None:
            raise fault("BT107", "elements of a list cannot have names", Label(element.name.span))
        if isinstance(element.value, nodes.Range):
            raise fault(
                "BT108",
                "a range cannot be kept in a list",
                Label(element.span),
                help=(f"for x in {element.span.text} {{ }} and x in [{element.span.text}] work",),
            )
        elements.append(typed_null(context.value(element.value)))
    types = {element.type for element in elements}
    common = types.pop() if len(types) == 1 else ANY
    return typed_tree.ListValue(array_of(common), tree.span, tuple(map(boxed, elements)))


def walked(context: Context, tree: nodes.Expression) -> Expr:
    """A value whose elements can be visited, as far as its static type shows."""
    value = context.value(tree)
    if value.type.kind not in _WALKED:
        help_: tuple[str, ...] = ()
        if value.type.kind is Kind.STRING:
            help_ = ("to test for a part:  contains(text, part)", "to loop over its parts:  split(text, separator, n)")
        raise fault(
            "BT201", f"{named(value.type)} has no elements", Label(tree.span), reasons(context, value), help=help_
        )
    return typed_null(value)


def define(context: Context, name: nodes.Identifier, type_: Type, *, secret: bool = False) -> LoopVariable:
    refuse_shadowing(context, name)
    local = context.define(name.text, type_, name.span, secret=secret)
    return LoopVariable(local.index, type_)


def _element(container: Expr) -> Type:
    """A null may be among references; elements of a primitive array are never null."""
    return container.type.element or ANY


def once(context: Context, value: Expr) -> tuple[Expr, Callable[[Expr], Expr]]:
    """An expression for ``value`` that can be used several times, and a function. The function wraps the expression
    that uses it, so that ``value`` is evaluated once.
    """
    if isinstance(value, typed_tree.Constant | typed_tree.InputValue | typed_tree.LocalValue):
        return value, lambda body: body
    value = typed_null(value)
    local = context.hide(value.type, value.span)
    local_value = typed_tree.LocalValue(value.type, value.span, local.index)
    return local_value, lambda body: typed_tree.Bound(body.type, body.span, local.index, value, body)
