"""Maps as text: a line a key with its values in columns, or a histogram a key."""

from __future__ import annotations

from collections.abc import Sequence

from btpy.events.aggregates import Aggregate, Average, Count, Greatest, Histogram, Key, Least, MapContent, Stats, Total
from btpy.events.records import StackRef, Value
from btpy.lang.program import Map, MapKind
from btpy.lang.types import Kind
from btpy.output.histogram import bars, headline
from btpy.output.quantities import mean, quantity
from btpy.output.style import Style
from btpy.output.tables import TableOptions, table
from btpy.output.values import ValueText

_LABEL_COLUMNS = 60  # labels wider than this do not push the values of the others to the right


class MapText:
    def __init__(self, values: ValueText, style: Style) -> None:
        self._values = values
        self._style = style

    def lines(self, content: MapContent, options: TableOptions) -> list[str]:
        """The map as it is printed, without line ends."""
        shown = table(content, options)
        map_, unit = content.map, shown.unit
        kind = Kind.ANY if map_.kind is MapKind.COUNT else map_.type.kind
        if not content.entries:
            return [f"{self._name(map_)}  (empty)"]
        if map_.kind is MapKind.HIST:
            lines = [line for key, value in shown.rows for line in self._histogram(map_, key, value, kind, unit)]
        else:
            rows = [(self._label(map_, key), self._cells(value, kind, unit)) for key, value in shown.rows]
            lines = self._columns(rows, to_the_right=all(_is_number(value) for _, value in shown.rows))
        if shown.hidden:
            lines.append(f"  {self._style.ellipsis} {shown.hidden} more")
        return lines

    def _histogram(self, map_: Map, key: Key, value: Aggregate | Value, kind: Kind, unit: str) -> list[str]:
        assert isinstance(value, Histogram)
        label = self._label(map_, key).split("\n")
        return [*label[:-1], f"{label[-1]}  {headline(value, kind, unit)}", *bars(value, kind, self._style, unit)]

    def _cells(self, value: Aggregate | Value, kind: Kind, unit: str) -> list[str]:
        if isinstance(value, Stats):
            cells = [f"n={value.n}"]
            if value.least is not None and value.greatest is not None:
                cells.append(f"avg {mean(value.mean, kind, unit)}")
                cells.append(f"min {quantity(value.least, kind, unit)}")
                cells.append(f"max {quantity(value.greatest, kind, unit)}")
                cells.append(f"sum {quantity(value.total, kind, unit)}")
            return cells
        if isinstance(value, Count):
            return [str(value.n)]
        if isinstance(value, Average):
            return [mean(value.number, kind, unit) if value.n else "null"]
        if isinstance(value, Total):
            return [quantity(value.number, kind, unit)]
        if isinstance(value, Least | Greatest):
            return ["null" if value.value is None else quantity(value.value, kind, unit)]
        if isinstance(value, int | float) and not isinstance(value, bool):
            return [quantity(value, kind, unit)]
        assert not isinstance(value, Histogram)
        return [self._values.show(value, kind)]

    def _columns(self, rows: Sequence[tuple[str, list[str]]], *, to_the_right: bool) -> list[str]:
        label_width = min(_LABEL_COLUMNS, max((_columns_of(label) for label, _ in rows), default=0))
        widths = [
            max((_columns_of(cells[index]) for _, cells in rows if index < len(cells)), default=0)
            for index in range(max((len(cells) for _, cells in rows), default=0))
        ]
        lines: list[str] = []
        for label, cells in rows:
            *above, last = label.split("\n")
            padded = [
                _pad(cell, widths[index], right=to_the_right and len(widths) == 1) for index, cell in enumerate(cells)
            ]
            if cells and "\n" in cells[0]:  # a stack as value stands below its key
                lines += [*above, last, *cells[0].split("\n")]
            else:
                lines += [*above, f"{_pad(last, label_width)}  {'  '.join(padded)}".rstrip()]
        return lines

    def _name(self, map_: Map) -> str:
        return self._style.bold(map_.title)

    def _label(self, map_: Map, key: Key) -> str:
        """``@name[a, b]``; a stack in the key takes lines of its own."""
        if not key:
            return self._name(map_)
        parts = []
        for component in key:
            if isinstance(component, StackRef):
                parts.append("\n" + "\n".join(self._values.frames(component)) + "\n")
            else:
                parts.append(self._values.show(component))
        text = ", ".join(parts).replace("\n, ", "\n")
        return f"{self._name(map_)}[{text}]"


def _is_number(value: Aggregate | Value) -> bool:
    if isinstance(value, Count | Total | Average | Least | Greatest):
        return True
    return isinstance(value, int | float) and not isinstance(value, bool)


def _columns_of(text: str) -> int:
    """Columns of the last line on a terminal; colours take none."""
    line = text.rsplit("\n", 1)[-1]
    if "\x1b" in line:
        line = line.replace("\x1b[1m", "").replace("\x1b[0m", "")
    if line.isascii():
        return len(line)
    from wcwidth import wcswidth

    width: int = wcswidth(line)
    return width if width >= 0 else len(line)


def _pad(text: str, width: int, *, right: bool = False) -> str:
    space = " " * (width - _columns_of(text))
    return space + text if right else text + space
