"""``map @name[types] = storage(keys);``: the types of the keys, the capacity, and what happens when the map is full."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from btpy.lang.builtins import AGGREGATIONS, MAX_KEYS, MAX_MAP_KEYS
from btpy.lang.check.attachments import Report
from btpy.lang.check.conversions import type_of_name
from btpy.lang.syntax import nodes
from btpy.model.diagnostics import Diagnostic, Label, did_you_mean
from btpy.model.maps import Map, MapKind, map_title
from btpy.model.types import Type

LRU, FIXED = "lru", "fixed"
"""Storages. A full ``lru`` map forgets the least recently used key; a full ``fixed`` map accepts no new keys."""


@dataclass(frozen=True, slots=True)
class DeclaredMap:
    """``kind``: where the storage is an aggregation; None: the first use says. ``tree``: the declaration."""

    keys: tuple[Type, ...]
    capacity: int
    evicts: bool
    kind: MapKind | None
    tree: nodes.MapDeclaration


def declared_maps(trees: Iterable[nodes.MapDeclaration], report: Report) -> dict[str, DeclaredMap]:
    """The declarations by name; what is wrong is reported and left out."""
    found: dict[str, DeclaredMap] = {}
    for tree in trees:
        name = tree.name.text
        if name in found:
            report(
                Diagnostic(
                    "BT102",
                    f"`{map_title(name)}` is declared twice",
                    Label(tree.name.span, "again here"),
                    (Label(found[name].tree.name.span, "first here"),),
                )
            )
            continue
        declared = _declared(tree, report)
        if declared is not None:
            found[name] = declared
    return found


def _declared(tree: nodes.MapDeclaration, report: Report) -> DeclaredMap | None:
    title, storage = map_title(tree.name.text), tree.storage.text
    aggregation = AGGREGATIONS.get(storage)
    if aggregation is None and storage not in (LRU, FIXED):
        report(
            Diagnostic(
                "BT101",
                f"unknown storage `{storage}`",
                Label(tree.storage.span),
                help=did_you_mean(storage, (LRU, FIXED, *AGGREGATIONS)),
                notes=(
                    "lru(keys): the key that was used least recently goes; fixed(keys): no new ones come",
                    "or the name of an aggregation, as fixed: count(keys)",
                ),
            )
        )
        return None
    if len(tree.keys) > MAX_KEYS:
        report(Diagnostic("BT103", f"a map has at most {MAX_KEYS} keys", Label(tree.keys[MAX_KEYS].span)))
        return None
    if not tree.keys:
        report(
            Diagnostic(
                "BT111",
                f"`{title}` has no keys, so there is nothing to declare",
                Label(tree.name.span),
                help=(f"write map {title}[string] = {storage}(…);",),
            )
        )
        return None
    value = tree.arguments[0].value if len(tree.arguments) == 1 and tree.arguments[0].name is None else None
    number = value.value if isinstance(value, nodes.Literal) else None
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number <= MAX_MAP_KEYS:
        report(
            Diagnostic(
                "BT107",
                f"`{storage}` takes a number of keys from 1 to {MAX_MAP_KEYS}",
                Label(tree.storage.span if value is None else value.span),
                help=(f"write {storage}(10_000)",),
            )
        )
        return None
    kind = aggregation.kind if aggregation is not None else None
    return DeclaredMap(tuple(map(type_of_name, tree.keys)), number, storage == LRU, kind, tree)


def apply(declared: DeclaredMap, used: Map, first: nodes.MapReference, report: Report) -> Map:
    """The map as it is declared; ``first``: where it is first assigned."""
    place = Label(declared.tree.name.span, "declared here")
    if used.keys != len(declared.keys):
        report(
            Diagnostic(
                "BT204",
                f"`{used.title}` is declared with {len(declared.keys)} keys, here {used.keys}",
                Label(first.span),
                (place,),
            )
        )
        return used
    if declared.kind is not None and declared.kind is not used.kind:
        held = "a plain value" if used.kind is MapKind.VALUE else f"`{used.kind.value}`"
        report(
            Diagnostic(
                "BT203",
                f"`{used.title}` is declared for `{declared.kind.value}` and holds {held}",
                Label(first.span, f"{held} here"),
                (place,),
            )
        )
    return replace(used, capacity=declared.capacity, evicts=declared.evicts, key_types=declared.keys)
