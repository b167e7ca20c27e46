"""``--until``: a run ends when a condition on maps is true."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterable

from btpy.api import map_expressions
from btpy.errors import UsageError
from btpy.events.aggregates import MapContent
from btpy.lang.program import Program
from btpy.lang.syntax import nodes
from btpy.lang.syntax.parser import parse_expression
from btpy.model.source import Source

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_INTERVAL = 0.25  # seconds between two readings of the maps, which the target has to send

EXAMPLE = "--until '@n > 1000'"


class StopCondition:
    """A comparison of expressions over maps. For maps with keys, the comparison must be true for one key.

    Raises ScriptError if the text cannot be parsed, and UsageError if it is not a comparison or names a map that the
    program does not have.
    """

    def __init__(self, text: str, program: Program) -> None:
        tree = parse_expression(Source("<--until>", text))
        if not (isinstance(tree, nodes.Binary) and tree.operator.text in _COMPARISONS):
            raise UsageError(f"--until {text!r} is not a comparison", help=[f"for example {EXAMPLE}"])
        self._left, self._right = (
            map_expressions.parse(Source("<--until>", side.span.text)) for side in (tree.left, tree.right)
        )
        self._holds = _COMPARISONS[tree.operator.text]
        names = {*map_expressions.maps_in(self._left), *map_expressions.maps_in(self._right)}
        titles = {map_.name: map_.title for map_ in program.maps}
        unknown_names = sorted(names - titles.keys())
        if unknown_names:
            map_names = ", ".join(f"@{name}" for name in titles) or "none"
            raise UsageError(f"--until: the script has no map @{unknown_names[0]}", help=[f"its maps: {map_names}"])
        self._titles = {name: titles[name] for name in sorted(names)}
        self._next = 0.0

    def begin_look(self) -> bool:
        """Whether it is time to read the maps again. If so, the next reading is due after the interval."""
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + _INTERVAL
        return True

    @property
    def titles(self) -> list[str]:
        """The names of the maps that the condition reads."""
        return list(self._titles.values())

    def holds(self, contents: Iterable[MapContent]) -> bool:
        """Tests the condition. ``contents``: the current contents of the maps that it reads."""
        by_title = {content.map.title: content for content in contents}
        if by_title.keys() < set(self.titles):
            return False  # no target can answer any more
        by_name = {name: by_title[title] for name, title in self._titles.items()}
        left, right = (map_expressions.evaluate(side, by_name).values for side in (self._left, self._right))
        keys = left if len(left) >= len(right) else right
        return any(self._compares(left.get(key, left.get(())), right.get(key, right.get(()))) for key in keys)

    def _compares(self, one: float | None, other: float | None) -> bool:
        return one is not None and other is not None and self._holds(one, other)
