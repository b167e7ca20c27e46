"""The state of a script: its maps and thread variables, from the places where it uses them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from btpy.dataclass import dataclass
from btpy.lang.builtins import AGGREGATIONS, DEFAULT_MAP_KEYS, MAX_KEYS
from btpy.lang.check.aggregations import PLAIN, Definition, definition
from btpy.lang.check.attachments import Report
from btpy.lang.check.checking import Checking
from btpy.lang.check.key_names import key_names
from btpy.lang.check.map_declarations import DeclaredMap, apply, declared_maps
from btpy.lang.syntax import nodes
from btpy.model.diagnostics import Diagnostic, Label
from btpy.model.maps import Map, MapKind, map_title
from btpy.model.types import ANY, LONG


def declare_maps(checking: Checking) -> None:
    """Determines the kind and the keys of each map that the script may name. The type of its values is not known
    yet.
    """
    capacity = checking.settings.get("max_map_keys", DEFAULT_MAP_KEYS)
    assert isinstance(capacity, int)
    report, shared = checking.report, checking.shared
    maps = declared_maps(checking.linked.maps, report)
    defined = _maps([*shared.trees, *checking.trees], capacity, maps, report)
    checking.maps = shared.maps_with(defined, checking.trees, maps, report)


def declare_scoped(checking: Checking) -> None:
    """Determines which thread variables the script may name."""
    checking.scoped = checking.shared.scoped_with(checking.trees, checking.report)


@dataclass(frozen=True, slots=True)
class _Use:
    """One appearance of a map. ``definition``: None unless the script assigns to the map here."""

    reference: nodes.MapReference
    definition: Definition | None
    call: nodes.Call | None


def _maps(
    trees: Sequence[nodes.Tree], capacity: int, declared: Mapping[str, DeclaredMap], report: Report
) -> dict[str, Map]:
    """All maps that are assigned somewhere: kind and number of keys are those of the first assignment."""
    uses = [use for tree in trees for use in _uses(tree, report)]
    first: dict[str, _Use] = {}
    for use in uses:
        if use.definition is not None:
            first.setdefault(use.reference.name, use)
    maps: dict[str, Map] = {}
    for name, use in first.items():
        definition = use.definition or PLAIN
        type_ = LONG if definition.kind is MapKind.COUNT else ANY
        keys = len(use.reference.keys)
        maps[name] = Map(
            len(maps),
            name,
            definition.kind,
            keys,
            type_,
            definition.precision,
            capacity,
            definition.parameters,
            key_names=key_names(use.reference.keys),
        )
        if len(use.reference.keys) > MAX_KEYS:
            report(Diagnostic("BT103", f"a map can have at most {MAX_KEYS} keys", Label(use.reference.span)))
        if name in declared:
            maps[name] = apply(declared[name], maps[name], use.reference, report)
    for use in uses:
        defining = first.get(use.reference.name)
        if defining is None or defining is use:
            continue
        if use.definition is not None and use.definition != defining.definition:
            report(_conflict(use, defining))
        elif use.definition is None and not use.reference.keys:
            continue  # it names the whole map; elaboration refuses it as a value
        elif len(use.reference.keys) != len(defining.reference.keys):
            report(_other_keys(use, defining))
    return maps


def _uses(tree: nodes.Tree, report: Report) -> Iterator[_Use]:
    assigned: dict[int, _Use] = {}
    for node in nodes.walk(tree):
        if isinstance(node, nodes.Assign | nodes.Step) and isinstance(node.target, nodes.MapReference):
            assigned[id(node.target)] = _assignment(node, node.target, report)
        elif isinstance(node, nodes.MapReference):
            yield assigned.get(id(node)) or _Use(node, None, None)


def _assignment(node: nodes.Assign | nodes.Step, target: nodes.MapReference, report: Report) -> _Use:
    value = node.value if isinstance(node, nodes.Assign) and node.operator.text == "=" else None
    if not isinstance(value, nodes.Call) or value.function.text not in AGGREGATIONS:
        return _Use(target, PLAIN, None)
    return _Use(target, definition(value, report), value)


def _stored(use: _Use) -> str:
    if use.call is not None:
        return f"`{use.call.function.text}`"
    return "a plain value"


def _conflict(use: _Use, defining: _Use) -> Diagnostic:
    name = map_title(use.reference.name)
    assert use.definition is not None
    assert defining.definition is not None
    if use.definition.kind is defining.definition.kind:
        message = f"`{name}` is defined in two ways"
        if use.definition.kind is MapKind.HIST:
            message = f"`{name}` has two precisions"
    else:
        message = f"`{name}` cannot hold both {_stored(defining)} and {_stored(use)}"
    span = use.call.function.span if use.call is not None else use.reference.span
    first_span = defining.call.function.span if defining.call is not None else defining.reference.span
    return Diagnostic(
        "BT203",
        message,
        Label(span, f"{_stored(use)} here"),
        (Label(first_span, f"{_stored(defining)} here"),),
        help=("take two maps",),
    )


def _other_keys(use: _Use, defining: _Use) -> Diagnostic:
    name, count, first = map_title(use.reference.name), len(use.reference.keys), len(defining.reference.keys)
    return Diagnostic(
        "BT204",
        f"`{name}` has {_keys(first)}, here {count}",
        Label(use.reference.span, _keys(count)),
        (Label(defining.reference.span, f"first assigned with {_keys(first)}"),),
    )


def _keys(count: int) -> str:
    return "no key" if count == 0 else "1 key" if count == 1 else f"{count} keys"
