"""The classes that are loaded in a target."""

from __future__ import annotations

from btpy.engine.agent import Agent
from btpy.model.patterns import ClassPatternKind
from btpy.wire.messages import Classes, LoadedClass, Pattern

MOST_LISTED = 200_000
"""The number of classes in one message of a listing."""


class LoadedClasses:
    """All methods raise TargetGone and ProtocolError."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def all(self, since: int = 0) -> Classes:
        """All loaded classes; ``since``: the ``request`` of an earlier answer, to get only the classes loaded later."""
        return self._agent.search((Pattern(ClassPatternKind.REGEX, ".*"),), MOST_LISTED, since)

    def named(self, name: str) -> tuple[LoadedClass, ...]:
        """The classes of this name. Several loaders can have a class of the same name."""
        return self._agent.named((name,))

    def matching(self, patterns: tuple[Pattern, ...], most: int) -> tuple[LoadedClass, ...]:
        """At most ``most`` classes that a pattern matches."""
        return self._agent.search(patterns, most).classes

    def class_file(self, name: str) -> bytes | None:
        """The class file of a class; None when no class of that name is loaded, or it has no class file."""
        return self._agent.class_file(name)
