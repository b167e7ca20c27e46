"""Supertypes of the classes seen so far.

The agent sends every loaded class that matches a pattern. The types between a class and the type ``T`` of a ``+T``
pattern are subtypes of ``T``, too, so they match and are sent. Therefore all ancestors that a pattern can name are
known. The supertypes of a class that is being loaded are possibly not loaded yet. In this case the agent reads the
supertypes from class files on request.
"""

from __future__ import annotations

from collections.abc import Iterable


class Hierarchy:
    """Names are binary names; types of the same name in several loaders share an entry, which has the data of the
    newest type."""

    def __init__(self) -> None:
        self._parents: dict[str, tuple[str, ...]] = {}

    def add(self, name: str, superclass: str, interfaces: Iterable[str]) -> None:
        """``superclass`` is empty for ``java.lang.Object``."""
        self._parents[name] = (*((superclass,) if superclass else ()), *interfaces)

    def unknown(self, name: str) -> tuple[str, ...]:
        """The supertypes that have not been resolved yet."""
        return tuple(sorted(ancestor for ancestor in self.ancestors(name) if ancestor not in self._parents))

    def ancestors(self, name: str) -> frozenset[str]:
        """All known supertypes of ``name``, without ``name`` itself."""
        names: set[str] = set()
        queue = list(self._parents.get(name, ()))
        while queue:
            parent = queue.pop()
            if parent not in names:
                names.add(parent)
                queue += self._parents.get(parent, ())
        names.discard(name)
        return frozenset(names)
