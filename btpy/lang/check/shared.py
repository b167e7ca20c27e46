"""The state that the scripts of a session share: the maps and thread variables that have the same name.

If an active probe uses a name, the script must use it with the same meaning. A map or variable that only removed probes
used is reused if the script uses it in the same way, so that a new version of a probe continues the maps of the old
version. Otherwise the script gets a new map or variable of that name, and scripts can no longer name the old map or
variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from btpy.dataclass import dataclass
from btpy.lang.check.attachments import Report
from btpy.lang.check.faults import named
from btpy.lang.check.map_declarations import DeclaredMap
from btpy.lang.check.scoped import scoped_variables, typed
from btpy.lang.program import Program, ScopedVariable
from btpy.lang.syntax import nodes
from btpy.model.diagnostics import Diagnostic, Label
from btpy.model.maps import Map, map_title
from btpy.model.scopes import Scope
from btpy.model.source import Source, Span
from btpy.model.types import ANY, Type, joined


@dataclass(frozen=True, slots=True)
class Shared:
    """The earlier program, which is empty for the first script of a session. ``trees``: the syntax trees of its active
    probes."""

    earlier: Program
    trees: tuple[nodes.Tree, ...]

    @staticmethod
    def of(earlier: Program | None) -> Shared:
        program = Program(Source("", ""), (), (), ()) if earlier is None else earlier
        return Shared(program, tuple(tree for probe in program.active for tree in (probe.tree, *probe.calls)))

    def maps_with(
        self,
        new_maps: Mapping[str, Map],
        trees: Sequence[nodes.Tree],
        declared: Mapping[str, DeclaredMap],
        report: Report,
    ) -> dict[str, Map]:
        """All maps that the script may name, by name. ``new_maps``: the maps that the assignments in all scripts
        define; ``trees``: the probes and functions of the script; ``declared``: the declarations of the script.
        """
        maps_by_name = {map_.name: map_ for map_ in self.earlier.maps}
        live = _maps(self.trees)
        used = _maps(trees) if maps_by_name else {}
        fresh = len(self.earlier.maps)
        for name in new_maps:
            earlier, defined = maps_by_name.get(name), new_maps[name]
            if name in live and earlier is not None:
                if name in declared and _storage(defined) != _storage(earlier):
                    place = declared[name].tree.name.span
                    report(_conflict(f"`{map_title(name)}` already exists with another declaration", place, live[name]))
            elif earlier is not None and _definition(defined) == _definition(earlier):
                maps_by_name[name] = replace(defined, id=earlier.id)
            else:
                maps_by_name[name] = replace(defined, id=fresh)
                fresh += 1
        for name, reference in used.items():
            if (
                name in maps_by_name
                and name not in new_maps
                and reference.keys
                and len(reference.keys) != maps_by_name[name].keys
            ):
                keys = f"`{map_title(name)}` has {maps_by_name[name].keys} keys, here {len(reference.keys)}"
                report(Diagnostic("BT204", keys, Label(reference.span)))
        return maps_by_name

    def maps_typed(
        self, maps: Mapping[str, Map], types: Mapping[int, Type], trees: Sequence[nodes.Tree], report: Report
    ) -> dict[str, Map]:
        """The maps with the types of all values that the script puts into them."""
        live = _maps(self.trees)
        used = _maps(trees) if live else {}
        typed_maps = dict(maps)
        for name, map_ in maps.items():
            type_ = types.get(map_.id, map_.type)
            if name not in live:
                typed_maps[name] = replace(map_, type=type_)
            elif map_.type != ANY and joined(map_.type, type_) != map_.type:
                conflict = f"`{map_title(name)}` holds {named(map_.type)}, and {named(type_)} here"
                report(_conflict(conflict, used[name].span, live[name]))
        return typed_maps

    def all_maps(self, maps: Mapping[str, Map]) -> tuple[Map, ...]:
        """All maps by id, including those that can no longer be named."""
        by_id = {map_.id: map_ for map_ in (*self.earlier.maps, *maps.values())}
        return tuple(by_id[id_] for id_ in sorted(by_id))

    def scoped_with(self, trees: Sequence[nodes.Tree], report: Report) -> dict[str, ScopedVariable]:
        """All variables that the script may name, by key."""
        live = _scoped(self.trees)
        first = {scope: sum(variable.scope is scope for variable in self.earlier.scoped_variables) for scope in Scope}
        live_variables = {variable.key: variable for variable in self.earlier.scoped_variables if variable.key in live}
        return scoped_variables(trees, live_variables, first, report)

    def scoped_typed(
        self,
        variables: Mapping[str, ScopedVariable],
        samples: Iterable[tuple[str, Type, bool]],
        trees: Sequence[nodes.Tree],
        report: Report,
    ) -> dict[str, ScopedVariable]:
        """The variables with the types of all values that the script puts into them."""
        live = _scoped(self.trees)
        used = _scoped(trees) if live else {}
        old_variables = {variable.key: variable for variable in self.earlier.scoped_variables}
        typed_variables = typed(variables, samples)
        for key, variable in typed_variables.items():
            earlier = old_variables.get(key)
            if earlier is None:
                continue
            if key in live:
                if variable.type not in (ANY, earlier.type):
                    conflict = f"`{variable.title}` holds {named(earlier.type)}, and {named(variable.type)} here"
                    report(_conflict(conflict, used[key].span, live[key]))
                elif variable.secret and not earlier.secret:
                    report(_conflict(f"`{variable.title}` is given a secret", used[key].span, live[key]))
                typed_variables[key] = earlier
            elif variable.type == earlier.type:  # threads and objects may still hold values of another type
                typed_variables[key] = replace(variable, index=earlier.index)
        return typed_variables

    def all_scoped(self, variables: Mapping[str, ScopedVariable]) -> tuple[ScopedVariable, ...]:
        """All scoped variables, sorted by scope and index."""
        all_variables = {(variable.scope.value, variable.index): variable for variable in self.earlier.scoped_variables}
        all_variables |= {(variable.scope.value, variable.index): variable for variable in variables.values()}
        return tuple(all_variables[place] for place in sorted(all_variables))


def _conflict(message: str, span: Span, running: nodes.Tree) -> Diagnostic:
    return Diagnostic(
        "BT203", message, Label(span), (Label(running.span, "used by a running probe"),), help=("choose another name",)
    )


def _storage(map_: Map) -> tuple[object, ...]:
    return map_.capacity, map_.evicts, map_.key_types


def _definition(map_: Map) -> tuple[object, ...]:
    return map_.kind, map_.keys, map_.precision, map_.parameters, *_storage(map_)


def _maps(trees: Iterable[nodes.Tree]) -> dict[str, nodes.MapReference]:
    """The first reference to each map."""
    references: dict[str, nodes.MapReference] = {}
    for node in _nodes(trees):
        if isinstance(node, nodes.MapReference):
            references.setdefault(node.name, node)
    return references


def _scoped(trees: Iterable[nodes.Tree]) -> dict[str, nodes.ScopedVariable]:
    references: dict[str, nodes.ScopedVariable] = {}
    for node in _nodes(trees):
        if isinstance(node, nodes.ScopedVariable):
            references.setdefault(node.key, node)
    return references


def _nodes(trees: Iterable[nodes.Tree]) -> Iterator[nodes.Tree]:
    return (node for tree in trees for node in nodes.walk(tree))
