"""Values over time as a line of blocks, or as a chart a few lines high.

    ▁▁▂▅█▃▁

Blocks begin at zero if no value is negative, otherwise at the smallest value. A missing value has no block.
"""

from __future__ import annotations

from collections.abc import Sequence

from btpy.events.aggregates import Number
from btpy.output.style import Style

_BLOCKS = "▁▂▃▄▅▆▇█"
_ASCII = "_.:-=+*#"


def sparkline(values: Sequence[Number | None], style: Style) -> str:
    return chart(values, style, 1)[0]


def chart(values: Sequence[Number | None], style: Style, height: int) -> list[str]:
    """Lines from the top down. Each line has a column for each value."""
    numbers = [value for value in values if value is not None and value == value]
    base = min(0, *numbers) if len(numbers) > 1 else min([0, *numbers])
    span = max(numbers, default=0) - base
    steps = 8 * height
    levels = [_level(value, base, span, steps) for value in values]
    lines = []
    for row in reversed(range(height)):
        cells = [_cell(level - 8 * row, style) for level in levels]
        lines.append("".join(cells))
    return lines


def _level(value: Number | None, base: Number, span: Number, steps: int) -> int:
    """The height in eighths of a line: at least one for a value, none for a missing value."""
    if value is None or value != value:
        return 0
    return max(1, round((value - base) / span * steps)) if span > 0 else 1


def _cell(eighths: int, style: Style) -> str:
    if eighths <= 0:
        return " "
    at = min(eighths, 8) - 1
    return _BLOCKS[at] if style.unicode else _ASCII[at]
