"""Maps of several targets as one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from btpy.events.aggregates import MapContent, can_be_merged, merge
from btpy.events.records import StackRef
from btpy.events.stacks import StackTable
from btpy.model.maps import Map

Identity = tuple[object, ...]
Source = tuple[str | int, ...]
"""A target: its pid, or its host and its pid."""


class Shares:
    """The last contents of the maps of each target, also of targets that have ended.

    Maps of the same name and kind are merged, as if one map had all samples. Values that are not aggregates cannot be
    merged. The rows of these values have the source before the key. ``stacks``: the stacks that the contents refer to.
    """

    def __init__(self, stacks: StackTable | None = None) -> None:
        self.stacks = StackTable() if stacks is None else stacks
        self._contents: dict[Identity, dict[Source, MapContent]] = {}

    def put(self, source: Source, contents: Iterable[MapContent], stacks: StackTable) -> None:
        """Replaces the earlier contents of these maps; ``stacks``: the stacks of the target."""
        for content in contents:
            shares = self._contents.setdefault(_identity(content.map), {})
            shares[source] = with_stacks(content, stacks, self.stacks)

    def of(self, source: Source) -> list[MapContent]:
        return [contents[source] for contents in self._contents.values() if source in contents]

    @property
    def unmerged(self) -> list[MapContent]:
        """Of all targets."""
        return [content for contents in list(self._contents.values()) for content in list(contents.values())]

    def merged(self, maps: Iterable[Map]) -> list[MapContent]:
        """The merged content of these maps, each once."""
        return [_merged(self._contents[identity]) for identity in dict.fromkeys(map(_identity, maps))]


def _identity(map_: Map) -> Identity:
    """The properties that must be equal for maps to be merged. A map may change its kind with its script, but not its
    title.
    """
    return map_.title, map_.kind, map_.keys, map_.precision, map_.parameters


def _merged(shares: dict[Source, MapContent]) -> MapContent:
    first = next(iter(shares.values())).map
    if can_be_merged(first):
        return merge(list(shares.values()))
    apart = replace(first, keys=first.keys + len(next(iter(shares))), key_types=())
    return merge(
        replace(content, map=apart, entries=tuple(((*source, *key), value) for key, value in content.entries))
        for source, content in list(shares.items())
    )


def with_stacks(content: MapContent, own: StackTable, common: StackTable) -> MapContent:
    """The content with its stacks under their ids in ``common``, because each session numbers its own stacks."""

    def moved(value: Any) -> Any:
        if isinstance(value, StackRef):
            frames = own.frames(value.id)
            return StackRef(0 if frames is None else common.intern(frames))
        if isinstance(value, tuple):
            return tuple(moved(part) for part in value)
        if is_dataclass(value) and not isinstance(value, type):
            changed = {field.name: moved(getattr(value, field.name)) for field in fields(value)}
            return replace(value, **changed)
        return value

    return content if own is common or not len(own) else replace(content, entries=moved(content.entries))
