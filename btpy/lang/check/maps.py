"""Expressions and statements that store, read and print maps."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace

from btpy.lang import program, typed_tree
from btpy.lang.builtins import (
    AGGREGATIONS,
    EMPTYING,
    FLUSH,
    FUNCTIONS,
    MAX_TABLE_MAPS,
    NO_RATE_KINDS,
    ORDERS,
    PRINT_MAP_OPTIONS,
    READABLE_KINDS,
    TABLE_OPTIONS,
    UNITS,
    Function,
)
from btpy.lang.check.aggregations import same_unit, signature_of, units_of
from btpy.lang.check.calls import match_arguments
from btpy.lang.check.carrying import carries_trace
from btpy.lang.check.context import Context
from btpy.lang.check.conversions import boxed, convert, may_be_number, mistyped, widen
from btpy.lang.check.faults import FaultError, arity, counted, fault, named, with_article
from btpy.lang.check.redaction import concealed
from btpy.lang.syntax import nodes
from btpy.lang.typed_tree import Expr, MapView, Statement
from btpy.model.diagnostics import Label, did_you_mean, quote
from btpy.model.maps import Map, MapKind, map_title
from btpy.model.source import Span
from btpy.model.templates import TemplateKind
from btpy.model.types import ANY, LONG, Kind, Type

_WITH_EXEMPLARS = (MapKind.HIST, MapKind.PCTL, MapKind.LHIST)


def store(context: Context, target: nodes.MapReference, tree: nodes.Assign) -> Statement:
    map_, keys = map_and_keys(context, target)
    operator = tree.operator.text
    value = tree.value
    if operator == "=" and isinstance(value, nodes.Call) and value.function.text in AGGREGATIONS:
        return _aggregate(context, map_, keys, value)
    typed_value = concealed(context, value, context.value(value))
    context.samples.append((map_.id, typed_value.type))
    if operator == "=":
        return typed_tree.MapStore(map_.id, keys, boxed(typed_value))
    if not may_be_number(typed_value.type) and not (operator == "+=" and typed_value.type.kind is Kind.STRING):
        raise FaultError(
            mistyped(context, typed_value, value, f"`{operator}` needs a number, not {named(typed_value.type)}")
        )
    return typed_tree.MapAdd(map_.id, keys, operator, boxed(typed_value))


def _aggregate(context: Context, map_: Map, keys: tuple[Expr, ...], call: nodes.Call) -> Statement:
    rule = AGGREGATIONS[call.function.text]
    arguments = match_arguments(context, call, rule.name, rule.synopsis, (signature_of(call),))[0]
    if not rule.sampled or arguments[0] is None:
        context.samples.append((map_.id, LONG))
        return typed_tree.Aggregate(map_.id, keys, None)
    value = context.value(arguments[0])
    if rule.kind is MapKind.DISTINCT:
        context.samples.append((map_.id, LONG))
        return typed_tree.Collect(map_.id, keys, boxed(value))
    if rule.of_any_type:
        value = concealed(context, arguments[0], value)
        context.samples.append((map_.id, value.type))
        return typed_tree.Collect(map_.id, keys, boxed(value))
    if not may_be_number(value.type):
        raise FaultError(
            mistyped(context, value, arguments[0], f"`{rule.name}` takes numbers, not {named(value.type)}")
        )
    for bound, type_ in units_of(call):
        if bound.span.text != "0" and not same_unit(value.type, type_):
            raise fault(
                "BT202" if type_.kind is Kind.LONG else "BT201",
                f"a bound of `{rule.name}` is {with_article(type_)}, but its samples are {named(value.type)}",
                Label(bound.span, named(type_)),
                (Label(arguments[0].span, named(value.type)),),
                help=("lhist(duration, 0, 100ms, 10ms)",) if value.type.kind is Kind.DURATION else (),
            )
    context.samples.append((map_.id, value.type))
    if not value.type.is_reference and value.type.kind is not Kind.DOUBLE:
        value = widen(value, LONG)
    return typed_tree.Aggregate(map_.id, keys, value, rule.kind in _WITH_EXEMPLARS and carries_trace(context))


def map_query(context: Context, call: nodes.Call, function: Function) -> Expr:
    """``size(@m)``, ``keys(@m)``, ``rate(@m)``, ``has(@m, key, …)``."""
    if function.name == FLUSH:
        raise fault(
            "BT108",
            "`flush` gives a whole map, not one value",
            Label(call.span),
            help=(f"print({call.span.text})", f"table({call.span.text}, …)"),
        )
    queried_map = whole_map(context, call, function) if function.name != "has" else None
    misplaced = [place for place in context.places if place not in function.places]
    if misplaced:
        raise fault(
            "BT105",
            f"`{function.name}` does not exist at {misplaced[0].value}",
            Label(call.function.span, "looks at all keys, too much work for a thread of the application"),
            (context.location,) if context.location is not None else (),
            help=("call it in a timer:  @OnTimer(1s) { … }",),
        )
    if queried_map is None:
        first = call.arguments[0] if call.arguments else None
        reference = first.value if first is not None else None
        if not isinstance(reference, nodes.MapReference) or reference.keys or len(call.arguments) < 2:
            raise fault(
                "BT103", "`has` takes a map and a key", Label(call.span, function.synopsis), help=("has(@map, key)",)
            )
        map_ = find_map(context, reference)
        keys = tuple(_key(context, argument.value) for argument in call.arguments[1:])
        if len(keys) != map_.keys:
            raise fault(
                "BT204",
                f"`@{map_.name}` has {counted(map_.keys, 'key')}, here {len(keys)}",
                Label(call.span, function.synopsis),
            )
        return typed_tree.MapQuery(function.result, call.span, function.name, map_.id, keys)
    map_ = find_map(context, queried_map)
    if function.name == "rate" and map_.kind in NO_RATE_KINDS:
        raise fault(
            "BT108",
            f"a {'plain' if map_.kind is MapKind.VALUE else f'`{map_.kind.value}`'} map has no rate",
            Label(queried_map.span, "counts no samples"),
            help=("count as well:  @hits = count();",),
        )
    return typed_tree.MapQuery(function.result, call.span, function.name, map_.id)


def view_of(context: Context, tree: nodes.Expression) -> tuple[Map, MapView] | None:
    """``@m`` or ``flush(@m)`` as an argument of ``print``, ``plot`` and ``table``; None when it is anything else."""
    flush = isinstance(tree, nodes.Call) and tree.function.text == FLUSH
    if isinstance(tree, nodes.Call) and flush:
        reference = whole_map(context, tree, FUNCTIONS[FLUSH])
    elif isinstance(tree, nodes.MapReference) and not tree.keys:
        reference = tree
    else:
        return None
    map_ = find_map(context, reference)
    return map_, MapView(map_.id, flush)


def whole_map(context: Context, call: nodes.Call, function: Function) -> nodes.MapReference:
    if len(call.arguments) == 1 and isinstance(call.arguments[0].value, nodes.MapReference):
        reference = call.arguments[0].value
        if not reference.keys:
            return reference
        raise fault(
            "BT108",
            f"`{function.name}` takes a whole map",
            Label(reference.span, "this is one key"),
            help=(
                f"write {function.name}({map_title(reference.name)})",
                f"to remove one key:  delete {reference.span.text}",
            ),
        )
    if len(call.arguments) != 1:
        raise FaultError(arity(call, function.name, function.synopsis, 1, 1))
    span = call.arguments[0].span
    of_objects = (f"elements of a value:  len({span.text})", f"bytes of an object:  shallow_size({span.text})")
    raise fault(
        "BT103",
        f"`{function.name}` takes a map",
        Label(span, "not one"),
        help=(f"write {function.synopsis}", *(of_objects if function.name == "size" else ())),
    )


def print_map(context: Context, call: nodes.Call, map_: Map, view: MapView) -> Statement:
    """``print(@m, …)`` and ``plot(@m, …)``."""
    name = call.function.text
    options = _options(call, PRINT_MAP_OPTIONS, ORDERS[map_.kind], f"a `{map_.kind.value}` map")
    kind = TemplateKind.MAP if name == "print" else TemplateKind.PLOT
    template = context.template(call.span, kind, maps=(map_.id,), options=options, flushed=_flushed((view,)))
    return typed_tree.PrintMaps(template, (view,))


def plot(context: Context, call: nodes.Call) -> Statement:
    positional = [argument.value for argument in call.arguments if argument.name is None]
    viewed = view_of(context, positional[0]) if len(positional) == 1 else None
    if viewed is None:
        raise fault("BT103", "`plot` takes a map", Label(call.span), help=("plot(@map)",))
    return print_map(context, call, *viewed)


def table(context: Context, call: nodes.Call) -> Statement:
    """``table(@a, @b, …)``: a row for each key, a column for each map."""
    views: list[tuple[Map, MapView]] = []
    for argument in call.arguments:
        if argument.name is not None:
            continue
        viewed = view_of(context, argument.value)
        if viewed is None:
            raise fault("BT108", "`table` takes whole maps", Label(argument.span), help=("table(@a, flush(@b))",))
        if viewed[0].id in [map_.id for map_, _ in views]:
            raise fault("BT102", f"`@{viewed[0].name}` is given twice", Label(argument.span))
        views.append(viewed)
    if not 1 <= len(views) <= MAX_TABLE_MAPS:
        raise fault("BT103", f"`table` takes 1 to {MAX_TABLE_MAPS} maps", Label(call.span), help=("table(@a, @b)",))
    first = views[0][0]
    for map_, _ in views[1:]:
        if map_.keys != first.keys:
            raise fault(
                "BT204",
                f"`@{map_.name}` has {counted(map_.keys, 'key')}, `@{first.name}` {counted(first.keys, 'key')}",
                Label(call.span, "rows are joined by their keys"),
            )
    names = [map_.name.rpartition(".")[2] for map_, _ in views]
    columns = {
        spelt: map_
        for (map_, _), name in zip(views, names, strict=True)
        for spelt in ([map_.name, name] if names.count(name) == 1 else [map_.name])
    }
    orders = {"key": "key"}
    for spelt, map_ in columns.items():
        orders |= {f"{spelt}{order}": f"{map_.name}{order}" for order in ("", *_measures(map_))}
    options = tuple(
        (name, orders[str(value)] if name == "by" else value)
        for name, value in _options(call, TABLE_OPTIONS, tuple(orders), "this table")
    )
    maps = tuple(map_.id for map_, _ in views)
    map_views = tuple(view for _, view in views)
    template = context.template(call.span, TemplateKind.TABLE, maps=maps, options=options, flushed=_flushed(map_views))
    return typed_tree.PrintMaps(template, map_views)


def _flushed(views: tuple[MapView, ...]) -> tuple[int, ...]:
    return tuple(view.map for view in views if view.flush)


def _measures(map_: Map) -> tuple[str, ...]:
    return tuple(f".{order}" for order in ORDERS[map_.kind] if order not in ("key", "value"))


def _options(
    call: nodes.Call, arguments: dict[str, str], orders: tuple[str, ...], purpose: str
) -> tuple[tuple[str, object], ...]:
    """The named arguments of a call that shows maps. ``orders``: the possible values of ``by=``."""
    options: list[tuple[str, object]] = []
    for argument in call.arguments:
        if argument.name is None:
            continue
        key, value = argument.name.text, argument.value
        expected = arguments.get(key)
        if expected is None:
            of = "`print` of a map" if call.function.text == "print" else f"`{call.function.text}`"
            raise fault(
                "BT107",
                f"{of} has no argument `{key}`",
                Label(argument.name.span),
                help=did_you_mean(key, arguments),
                notes=("arguments: " + quote(f"{name}=" for name in arguments),),
            )
        options.append((key, _option(argument.name, value, expected, orders, purpose)))
    return tuple(options)


def _option(
    key: nodes.Identifier, value: nodes.Expression, expected: str, orders: tuple[str, ...], whose: str
) -> object:
    constant = value.value if isinstance(value, nodes.Literal) else None
    fits = {
        "integer": isinstance(constant, int) and not isinstance(constant, bool) and constant > 0,
        "string": isinstance(constant, str),
        "boolean": isinstance(constant, bool),
        "number": isinstance(constant, int | float) and not isinstance(constant, bool),
    }[expected]
    if not fits:
        raise fault("BT107", f"`{key.text}` takes a constant {expected}", Label(value.span))
    choices: tuple[str, ...] = {"by": orders, "unit": UNITS}.get(key.text, ())
    if choices and constant not in choices:
        message = f"{whose} has no `{constant}`" if key.text == "by" else f"unknown unit `{constant}`"
        raise fault(
            "BT107", message, Label(value.span), help=did_you_mean(str(constant), choices), notes=(quote(choices, 20),)
        )
    return constant


def find_map(context: Context, reference: nodes.MapReference) -> Map:
    map_ = context.maps.get(reference.name)
    if map_ is None:
        raise fault(
            "BT109",
            f"unknown map `{map_title(reference.name)}`",
            Label(reference.name_span, "never assigned"),
            help=did_you_mean(f"{map_title(reference.name)}", [map_title(name) for name in context.maps])
            or (f"a map exists after a statement has assigned to it:  {reference.span.text} = …",),
            notes=("maps: " + quote(map_title(name) for name in context.maps),) if context.maps else (),
        )
    return map_


def map_and_keys(context: Context, reference: nodes.MapReference) -> tuple[Map, tuple[Expr, ...]]:
    map_ = find_map(context, reference)
    types = map_.key_types if len(map_.key_types) == len(reference.keys) else (ANY,) * len(reference.keys)
    return map_, tuple(_key(context, key, type_) for key, type_ in zip(reference.keys, types, strict=True))


def _key(context: Context, tree: nodes.Expression, declared_type: Type = ANY) -> Expr:
    value = concealed(context, tree, context.value(tree))
    if declared_type.kind is not Kind.ANY:
        value = convert(context, value, declared_type.or_null(), tree, "this key")
    kind = value.type.kind
    if value.type.is_reference:
        return replace(value, type=ANY) if kind is Kind.NULL else value
    if kind is Kind.CHAR:
        return typed_tree.Convert(ANY, value.span, value)
    return widen(value, LONG) if kind is Kind.INT else value


def map_value(context: Context, tree: nodes.MapReference) -> Expr:
    map_, keys = map_and_keys(context, tree)
    if map_.keys != len(keys):
        raise fault(
            "BT204",
            f"`{map_title(tree.name)}` has {counted(map_.keys, 'key')}, here {len(keys)}",
            Label(tree.span),
            help=(f"to print the whole map:  print({map_title(tree.name)})",) if not keys else (),
        )
    return map_read(map_, keys, tree.span)


def map_read(map_: Map, keys: tuple[Expr, ...], span: Span) -> Expr:
    """The value of the map for the keys. Raises FaultError where that is not a single value."""
    if map_.kind not in READABLE_KINDS:
        title = map_title(map_.name)
        raise fault(
            "BT108",
            f"a `{map_.kind.value}` map has no single value",
            Label(span, "cannot stand in an expression"),
            help=(f"print it:  print({title})",),
        )
    return typed_tree.MapValue(ANY, span, map_.id, keys)


def emptied_maps(checked: program.Program) -> frozenset[int]:
    """Ids of the maps that a probe empties with ``clear`` or ``flush``. Each print of such a map shows a new
    interval.
    """
    names = {
        argument.value.name
        for probe in checked.probes
        for tree in (probe.tree, *probe.calls)
        for call in nodes.walk(tree)
        if isinstance(call, nodes.Call) and call.function.text in EMPTYING
        for argument in call.arguments
        if isinstance(argument.value, nodes.MapReference)
    }
    return frozenset(map_.id for map_ in checked.maps if map_.name in names)


_EVENTS = {TemplateKind.PRINT, TemplateKind.EMIT, TemplateKind.WARN}


def filled_maps(checked: program.Program) -> dict[str, str]:
    """For a program that prints no events: the maps that each probe fills, such as ``@a and @b``, by the name of the
    probe. Empty for other programs.
    """
    if any(template.kind in _EVENTS for template in checked.templates):
        return {}
    declared = {map_.name for map_ in checked.maps}
    filled = {}
    for probe in checked.active:
        titles = dict.fromkeys(_title(reference, probe.name, declared) for reference in _written(probe))
        if titles:
            *most, last = titles
            filled[probe.name] = f"{', '.join(most)} and {last}" if most else last
    return filled


def _written(probe: program.Probe) -> Iterator[nodes.MapReference]:
    """The maps that a probe and the functions that it calls write to."""
    for tree in (probe.tree.body, *(function.body for function in probe.calls)):
        for node in nodes.walk(tree):
            if isinstance(node, nodes.Assign | nodes.Step) and isinstance(node.target, nodes.MapReference):
                yield node.target


def _title(reference: nodes.MapReference, probe: str, declared: Container[str]) -> str:
    """The title of a map to which a probe of this name refers."""
    library = probe.rpartition(".")[0] if reference.library is None else reference.library.text
    title = f"{library}.{reference.name}"
    return map_title(title if title in declared else reference.name)
