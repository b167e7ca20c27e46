"""The ``flame`` format: a flame graph as one HTML page that loads nothing, with search and zoom.

The width of a frame is the weight of its stacks (:mod:`btpy.output.folded`); order and colour have no meaning. Names of
the target reach the page as JSON in a script, with every ``<`` escaped, and are shown as text only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from importlib.resources import files

from btpy.dataclass import dataclass
from btpy.output.folded import FoldedWriter, Frames, Stacks, check_stacks
from btpy.output.stream import Stream
from btpy.output.writer import Context

MAX_DEPTH = 500
"""The largest number of frames of a stack that are drawn."""


class FlameWriter(FoldedWriter):
    def __init__(self, stream: Stream, context: Context) -> None:
        check_stacks(context.outline, "flame")
        super().__init__(stream, context)

    def close(self) -> None:
        self._stream.write(page(self._stacks))


def page(stacks: Stacks) -> str:
    tree = _tree(stacks.weights())
    data = json.dumps(tree.listed(), ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    text = files("btpy.output").joinpath("flame.html").read_text(encoding="utf-8")
    return text.replace("/*DATA*/null", data)


@dataclass(slots=True)
class _Node:
    name: str
    weight: int = 0
    children: dict[str, _Node] = field(default_factory=dict)

    def listed(self) -> list[object]:
        """``[name, weight, [children]]``: a list, because a name such as ``__proto__`` is special in an object."""
        return [self.name, self.weight, [child.listed() for child in self.children.values()]]


def _tree(weights: Mapping[Frames, int]) -> _Node:
    root = _Node("all")
    for frames, weight in sorted(weights.items()):
        if weight:
            node = root
            node.weight += weight
            for frame in frames[:MAX_DEPTH]:
                node = node.children.setdefault(frame, _Node(frame))
                node.weight += weight
    return root
