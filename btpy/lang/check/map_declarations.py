"""``map @name[type key, …] = storage(keys);``: the types and names of the keys, the capacity, and the behaviour of a
full map."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from btpy.dataclass import dataclass
from btpy.lang.builtins import AGGREGATIONS, MAX_KEYS, MAX_MAP_KEYS
from btpy.lang.check.attachments import Report
from btpy.lang.check.conversions import type_of_name
from btpy.lang.check.faults import FaultError, fault, repeated
from btpy.lang.check.key_names import key_names
from btpy.lang.syntax import nodes
from btpy.model.diagnostics import Diagnostic, Label, did_you_mean
from btpy.model.maps import Map, MapKind, map_title
from btpy.model.types import Type

LRU, FIXED = "lru", "fixed"
"""Storages. A full ``lru`` map forgets the least recently used key; a full ``fixed`` map accepts no new keys."""


@dataclass(frozen=True, slots=True)
class DeclaredStorage:
    """``kind``: the kind of aggregation, if the storage is one; None: the first use decides."""

    capacity: int
    evicts: bool
    kind: MapKind | None


@dataclass(frozen=True, slots=True)
class DeclaredMap:
    """``storage``: None if the declaration names no storage. ``tree``: the declaration."""

    keys: tuple[Type, ...]
    storage: DeclaredStorage | None
    tree: nodes.MapDeclaration


def declared_maps(trees: Iterable[nodes.MapDeclaration], report: Report) -> dict[str, DeclaredMap]:
    """The declarations by name. A wrong declaration is reported and left out."""
    declarations: dict[str, DeclaredMap] = {}
    for tree in trees:
        name = tree.name.text
        if name in declarations:
            first = declarations[name].tree.name.span
            report(repeated(f"`{map_title(name)}` is declared twice", tree.name.span, first))
            continue
        try:
            declarations[name] = _declared(tree)
        except FaultError as fault:
            report(fault.diagnostic)
    return declarations


def _declared(tree: nodes.MapDeclaration) -> DeclaredMap:
    storage = None if tree.storage is None else _storage(tree.storage, tree.arguments)
    if len(tree.keys) > MAX_KEYS:
        raise fault("BT103", f"a map can have at most {MAX_KEYS} keys", Label(tree.keys[MAX_KEYS].span))
    if not tree.keys:
        title = map_title(tree.name.text)
        policy = f" = {tree.storage.text}(…)" if tree.storage else ""
        raise fault(
            "BT111",
            f"`{title}` has no keys, so there is nothing to declare",
            Label(tree.name.span),
            help=(f"write map {title}[string]{policy};",),
        )
    names: dict[str, nodes.Identifier] = {}
    for key in tree.keys:
        if key.name is not None and names.setdefault(key.name.text, key.name) is not key.name:
            first = names[key.name.text].span
            raise FaultError(repeated(f"two keys have the name `{key.name.text}`", key.name.span, first))
    return DeclaredMap(tuple(type_of_name(key.type) for key in tree.keys), storage, tree)


def _storage(name: nodes.Identifier, arguments: Sequence[nodes.Argument]) -> DeclaredStorage:
    storage = name.text
    aggregation = AGGREGATIONS.get(storage)
    if aggregation is None and storage not in (LRU, FIXED):
        raise fault(
            "BT101",
            f"unknown storage `{storage}`",
            Label(name.span),
            help=did_you_mean(storage, (LRU, FIXED, *AGGREGATIONS)),
            notes=(
                "lru(keys) forgets the key that was used least recently; fixed(keys) accepts no new keys",
                "or the name of an aggregation, for a map that accepts no new keys:  count(keys)",
            ),
        )
    value = arguments[0].value if len(arguments) == 1 and arguments[0].name is None else None
    number = value.value if isinstance(value, nodes.Literal) else None
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number <= MAX_MAP_KEYS:
        raise fault(
            "BT107",
            f"`{storage}` takes a number of keys from 1 to {MAX_MAP_KEYS}",
            Label(name.span if value is None else value.span),
            help=(f"write {storage}(10_000)",),
        )
    return DeclaredStorage(number, storage == LRU, aggregation.kind if aggregation is not None else None)


def apply(declaration: DeclaredMap, used: Map, first: nodes.MapReference, report: Report) -> Map:
    """The map with the key types and the storage of its declaration. ``first``: the place of its first assignment."""
    place = Label(declaration.tree.name.span, "declared here")
    if used.keys != len(declaration.keys):
        report(
            Diagnostic(
                "BT204",
                f"`{used.title}` is declared with {len(declaration.keys)} keys, here {used.keys}",
                Label(first.span),
                (place,),
            )
        )
        return used
    names = key_names(first.keys, [None if key.name is None else key.name.text for key in declaration.tree.keys])
    typed_map = replace(used, key_types=declaration.keys, key_names=names)
    storage = declaration.storage
    if storage is None:
        return typed_map
    if storage.kind is not None and storage.kind is not used.kind:
        value = "a plain value" if used.kind is MapKind.VALUE else f"`{used.kind.value}`"
        report(
            Diagnostic(
                "BT203",
                f"`{used.title}` is declared for `{storage.kind.value}` and holds {value}",
                Label(first.span, f"{value} here"),
                (place,),
            )
        )
    return replace(typed_map, capacity=storage.capacity, evicts=storage.evicts)
