"""Names for the components of a map's keys: those in its declaration, or else names from the expressions of the script.
``@slow[$sku, method]`` has the keys ``sku`` and ``method``."""

from __future__ import annotations

from collections.abc import Sequence

from btpy.lang.syntax import nodes


def key_names(keys: Sequence[nodes.Expression], declared: Sequence[str | None] = ()) -> tuple[str, ...]:
    """A different name for each key: the declared name, else the name of a variable, a field or a method, else
    ``key1``, ``key2`` by position. ``declared``: a name or None for each key, or empty; the names differ."""
    used = {name for name in declared if name}
    names: list[str] = []
    for position, key in enumerate(keys, 1):
        name = declared[position - 1] if declared else None
        if name is None:
            name = _name(key) or f"key{position}"
            while name in used:
                name += str(position)
            used.add(name)
        names.append(name)
    return tuple(names)


def _name(tree: nodes.Expression) -> str:
    """Empty for an expression that has no name in it."""
    match tree:
        case nodes.Name(text=name) | nodes.TargetVariable(name=name) | nodes.ScopedVariable(name=name):
            return name.lstrip("$")
        case nodes.Field(name=identifier) | nodes.MethodCall(method=identifier):
            return identifier.text
        case nodes.Call(function=identifier, arguments=arguments):
            inner = _name(arguments[0].value) if len(arguments) == 1 else ""
            return inner or identifier.text
        case nodes.Cast(operand=operand):
            return _name(operand)
        case nodes.Index(target=target):
            return _name(target)
        case _:
            return ""
