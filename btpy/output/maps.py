"""Maps as text: a line for each key with its values in columns, or a block of lines for each key."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from btpy.dataclass import dataclass
from btpy.events.aggregates import (
    Aggregate,
    Average,
    Count,
    Greatest,
    Histogram,
    Key,
    Least,
    LinearHistogram,
    MapContent,
    Number,
    Stats,
    TimeSeries,
    Total,
    intervals,
    measure,
    part_intervals,
)
from btpy.events.estimates import Interval
from btpy.events.records import StackRef, Value
from btpy.events.sketches import Distinct, Examples, First, Last, Top
from btpy.model.maps import Map, MapKind, Percents, SeriesOperator
from btpy.model.types import Kind
from btpy.output.columns import columns_of, padded, shortened
from btpy.output.histogram import PERCENTILES, bars, figures, longest_bar, padded_bar
from btpy.output.quantities import duration, mean, quantity
from btpy.output.ranges import estimate, skip_notes
from btpy.output.series import chart, sparkline
from btpy.output.style import Style
from btpy.output.tables import Joined, TableOptions, joined, table
from btpy.output.values import ValueText

_LABEL_COLUMNS = 60  # a wider label does not move the values of the other rows to the right
_SPARKS = 60  # intervals of a series in a line
_CHART_LINES = 5
_BLOCKS = (MapKind.HIST, MapKind.LHIST, MapKind.TOPK, MapKind.SAMPLE_OF)


@dataclass(frozen=True, slots=True)
class Figure:
    """A column of a table: a number or text for each value. ``name``: empty for the main value of the map; ``by``: the
    order of rows by this column (:func:`btpy.events.aggregates.measure`).
    """

    name: str
    by: str
    text: Callable[[Aggregate | Value], str]


class MapText:
    def __init__(self, values: ValueText, style: Style) -> None:
        self._values = values
        self._style = style

    def lines(self, content: MapContent, options: TableOptions, *, plot: bool = False) -> list[str]:
        """The printed text of the map, or its chart, without line ends."""
        table_ = table(content, options)
        map_, unit = content.map, options.unit
        kind = _unit_kind(map_)
        if not content.entries:
            return [f"{self._name(map_)}  (empty)", *self._skips(content)]
        if map_.kind in _BLOCKS or (plot and map_.kind in (MapKind.TSERIES, MapKind.PCTL)):
            lines = [line for key, value in table_.rows for line in self._block(map_, key, value, kind, unit)]
        elif plot:
            lines = self._bars(map_, table_.rows, options, kind, unit)
        else:
            rows = [(self._label(map_, key), self.cells(map_, value, unit)) for key, value in table_.rows]
            lines = self._columns(rows, to_the_right=all(_is_number(value) for _, value in table_.rows))
        lines += self._notes(content, table_.hidden)
        return lines

    def joined(self, contents: Sequence[MapContent], options: TableOptions) -> list[str]:
        """Several maps as one table, with a line of their names above."""
        table = joined(contents, options)
        if not table.rows:
            names = "  ".join(self._name(content.map) for content in contents)
            return [f"{names}  (empty)", *(line for content in contents for line in self._skips(content, named=True))]
        return [
            *self._grid(table, contents, options.unit),
            *([f"  {self._style.ellipsis} {table.hidden} more"] if table.hidden else []),
            *(line for content in contents for line in self._skips(content, named=True)),
        ]

    def _skips(self, content: MapContent, *, named: bool = False) -> list[str]:
        name = f"{content.map.title}: " if named else ""
        return [f"  {name}{note}" for note in skip_notes(content, self._style)]

    def _grid(self, table: Joined, contents: Sequence[MapContent], unit: str) -> list[str]:
        columns: list[list[str]] = []
        maps = [content.map for content in contents]
        names = [map_.name.rpartition(".")[2] for map_ in maps]
        for at, map_ in enumerate(maps):
            name = names[at] if names.count(names[at]) == 1 else map_.name  # without its library if the name is unique
            for figure in self.figures(map_, unit):
                cells = ["-" if row[at] is None else figure.text(row[at]) for _, row in table.rows]
                columns.append([f"{name} {figure.name}".rstrip(), *cells])
        labels = ["", *(self._key(key) for key, _ in table.rows)]
        width = min(_LABEL_COLUMNS, max(columns_of(label) for label in labels))
        widths = [max(columns_of(cell) for cell in column) for column in columns]
        lines = []
        for row, label in enumerate(labels):
            *above, last = label.split("\n")
            cells = [padded(column[row], widths[at], right=True) for at, column in enumerate(columns)]
            lines += [*above, f"{padded(last, width)}  {'  '.join(cells)}".rstrip()]
        lines[0] = self._style.bold(lines[0])
        return lines

    def figures(self, map_: Map, unit: str = "") -> list[Figure]:
        """The columns of a map in a table."""
        kind = _unit_kind(map_)
        measures: tuple[str, ...]
        if map_.kind is MapKind.STATS:
            measures = ("count", "avg", "max")
        elif map_.kind in (MapKind.HIST, MapKind.PCTL, MapKind.LHIST):
            percents = map_.parameters.of if isinstance(map_.parameters, Percents) else PERCENTILES
            measures = ("count", *(f"p{percent:g}" for percent in percents), "max")
        else:
            return [Figure("", "", lambda value: "  ".join(self.cells(map_, value, unit)))]

        def of(by: str) -> Callable[[Aggregate | Value], str]:
            figure_kind = Kind.ANY if by == "count" else kind
            return lambda value: self._about(value) + mean(measure(value, by), figure_kind, unit)

        return [Figure("n" if by == "count" else by, by, of(by)) for by in measures]

    def _about(self, value: Aggregate | Value) -> str:
        return self._style.about if isinstance(value, Aggregate) and value.weights is not None else ""

    def _notes(self, content: MapContent, hidden: int) -> list[str]:
        map_, omitted = content.map, content.omitted
        notes = []
        if hidden:
            notes.append(f"  {self._style.ellipsis} {hidden} more")
        if omitted:
            notes.append(f"  {self._style.ellipsis} {omitted} keys were too many for one message")
        if map_.estimated is not None and content.skips is None:
            times = "×" if self._style.unicode else "x"
            notes.append(f"  {self._style.about} {times}{map_.estimated}: estimated from sampled hits")
        return notes + self._skips(content)

    def _block(self, map_: Map, key: Key, value: Aggregate | Value, kind: Kind, unit: str) -> list[str]:
        *above, last = self._label(map_, key).split("\n")
        equals = "=" if map_.estimated is None else self._style.about
        if isinstance(value, Histogram | LinearHistogram):
            head = "  ".join(self.cells(map_, value, unit))
            below = bars(value, kind, self._style, unit)
        elif isinstance(value, TimeSeries):
            head = "  ".join(self._series_figures(value, kind, unit))
            below = ["  " + line.rstrip() for line in chart(value.values(), self._style, _CHART_LINES)]
        elif isinstance(value, Top):
            head, below = self._samples(value, value.n, equals), self._frequent(value, kind)
        else:
            assert isinstance(value, Examples)
            head = f"{self._samples(value, value.n, '=')}, {len(value.values)} of them:"
            below = [line for sample in value.values for line in self._indented(self._values.show(sample, kind))]
        return [*above, f"{last}  {head}", *below]

    def _samples(self, value: Aggregate, n: int, equals: str) -> str:
        """``n=42``, or ``n≈4200 (3900…4500)``."""
        bounds = intervals(value)
        return f"n{'' if bounds else equals}{estimate(str(n), bounds.get('count'), str, self._style)}"

    def _frequent(self, top: Top, kind: Kind) -> list[str]:
        rows = []
        ranges: list[Interval] | list[None] = part_intervals(top) or [None] * len(top.shown)
        for frequent, interval in zip(top.shown, ranges, strict=True):
            count = (
                str(frequent.count) if not frequent.error else f"{frequent.least}{self._style.ellipsis}{frequent.count}"
            )
            rows.append((self._values.show(frequent.value, kind), [estimate(count, interval, str, self._style)]))
        lines = [line for row in self._columns(rows, to_the_right=True) for line in self._indented(row)]
        if len(top.values) > len(top.shown):
            lines.append(f"  {self._style.ellipsis}")
        return lines

    @staticmethod
    def _indented(text: str) -> list[str]:
        return [f"  {line}" for line in text.split("\n")]

    def _series_figures(self, value: TimeSeries, kind: Kind, unit: str) -> list[str]:
        """``last 60 × 1s``, the current value and the extremes."""
        counts = value.series.operator is SeriesOperator.COUNT
        figure_kind = Kind.ANY if counts else kind
        windows = [window for window in value.values() if window is not None]
        times = "×" if self._style.unicode else "x"
        about = self._about(value)
        cells = [f"{value.series.operator.value} of {value.series.windows} {times} {duration(value.series.interval)}"]
        if windows:
            cells.append(f"now {about}{mean(windows[-1], figure_kind, unit)}")
            cells.append(f"min {about}{mean(min(windows), figure_kind, unit)}")
            cells.append(f"max {about}{mean(max(windows), figure_kind, unit)}")
        return cells

    def _bars(
        self,
        map_: Map,
        rows: Sequence[tuple[Key, Aggregate | Value]],
        options: TableOptions,
        kind: Kind,
        unit: str,
    ) -> list[str]:
        """One bar for each key, as long as the value by which the map is ranked."""
        by = "" if options.by == "key" else options.by
        sizes = [measure(value, by) for _, value in rows]
        most = max(sizes, default=0)
        beside = [(self._label(map_, key), self.cells(map_, value, unit)) for key, value in rows]
        lines = self._columns([(label.rpartition("\n")[2], cells) for label, cells in beside], to_the_right=False)
        columns = longest_bar(self._style, max(map(columns_of, lines), default=0) + 2)
        drawn = [
            (label, [padded_bar(size, most, self._style, columns), *cells])
            for (label, cells), size in zip(beside, sizes, strict=True)
        ]
        return self._columns(drawn, to_the_right=False)

    def cells(self, map_: Map, value: Aggregate | Value, unit: str = "") -> list[str]:
        """The cells that show a value; the first cell may be a stack of several lines."""
        kind = _unit_kind(map_)
        about = "" if map_.estimated is None else self._style.about
        equals = about or "="
        bounds = intervals(value)

        def exactly(number: Number) -> str:
            return quantity(number, kind, unit)

        def rounded(number: Number) -> str:
            return mean(number, kind, unit)

        def of(name: str, number: Number, text: Callable[[Number], str], before: str = "") -> str:
            interval = bounds.get(name)
            cell = estimate(text(number), interval, text, self._style)
            return cell if interval is not None else before + cell

        if isinstance(value, Stats):
            cells = [self._samples(value, value.n, equals)]
            if value.least is not None and value.greatest is not None:
                cells.append(f"avg {of('average', value.mean, rounded)}")
                cells.append(f"min {of('min', value.least, exactly)}")
                cells.append(f"max {of('max', value.greatest, exactly)}")
                cells.append(f"sum {of('total', value.total, exactly, about)}")
            return cells
        if isinstance(value, Count):
            return [of("", value.n, str, about)]
        if isinstance(value, Average):
            return [of("", value.number, rounded) if value.n else "null"]
        if isinstance(value, Total):
            return [of("", value.number, exactly, about)]
        if isinstance(value, Least | Greatest):
            return ["null" if value.value is None else of("", value.value, exactly)]
        if isinstance(value, Histogram | LinearHistogram):
            percents = map_.parameters.of if isinstance(map_.parameters, Percents) else PERCENTILES
            return figures(value, kind, unit, percents=percents, equals=equals, style=self._style)
        if isinstance(value, TimeSeries):
            sparks = sparkline(value.values()[-_SPARKS:], self._style)
            return [self._style.bar(sparks), *self._series_figures(value, kind, unit)]
        if isinstance(value, Distinct):
            different = f"{self._style.about}{value.estimate}"
            if value.weights is not None:
                different += f" ({self._style.at_least}{value.surely})"
            return [different, f"n{equals}{value.n}"]
        if isinstance(value, Top | Examples):
            return [self._samples(value, value.n, "=")]
        if isinstance(value, First | Last):
            return self.cells(map_, value.value, unit)
        assert not isinstance(value, Aggregate)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return [quantity(value, kind, unit)]
        return [self._values.show(value, kind)]

    def _columns(self, rows: Sequence[tuple[str, list[str]]], *, to_the_right: bool) -> list[str]:
        widths = [
            max((columns_of(cells[index]) for _, cells in rows if index < len(cells)), default=0)
            for index in range(max((len(cells) for _, cells in rows), default=0))
        ]
        most = _LABEL_COLUMNS
        if self._style.window is not None:  # lines fit into the window: a long package name is shortened
            most = max(_LABEL_COLUMNS // 2, self._style.window - sum(2 + width for width in widths))
            rows = [(self._fitted(label, most), cells) for label, cells in rows]
        label_width = min(most, max((columns_of(label) for label, _ in rows), default=0))
        lines: list[str] = []
        for label, cells in rows:
            *above, last = label.split("\n")
            filled = [
                padded(cell, widths[index], right=to_the_right and len(widths) == 1) for index, cell in enumerate(cells)
            ]
            if cells and "\n" in cells[0]:  # a stack as value is shown below its key
                lines += [*above, last, *cells[0].split("\n")]
            else:
                lines += [*above, f"{padded(last, label_width)}  {'  '.join(filled)}".rstrip()]
        return lines

    def _fitted(self, label: str, most: int) -> str:
        """The last line of a label. If it is too wide, the middle of package names is removed. Other text stays."""
        *above, last = label.split("\n")
        short = shortened(last, most, self._style.ellipsis) if columns_of(last) > most else last
        return "\n".join([*above, short if columns_of(last) <= most or _has_place(last) else last])

    def _name(self, map_: Map) -> str:
        return self._style.bold(map_.title)

    def _label(self, map_: Map, key: Key) -> str:
        """``@name[a, b]``; a stack in the key takes lines of its own."""
        return f"{self._name(map_)}[{self._key(key)}]" if key else self._name(map_)

    def _key(self, key: Key) -> str:
        parts = []
        for component in key:
            if isinstance(component, StackRef):
                parts.append("\n" + "\n".join(self._values.frames(component)) + "\n")
            else:
                parts.append(self._values.show(component))
        return ", ".join(parts).replace("\n, ", "\n")


_IN_PACKAGE = re.compile(r"(?:[a-z_][\w$]*\.){2,}[\w$<]")


def _has_place(label: str) -> bool:
    """Whether the label contains the name of a class with its package."""
    return _IN_PACKAGE.search(label) is not None


def _unit_kind(map_: Map) -> Kind:
    return Kind.ANY if map_.kind in (MapKind.COUNT, MapKind.DISTINCT) else map_.type.kind


def _is_number(value: Aggregate | Value) -> bool:
    if isinstance(value, First | Last):
        return _is_number(value.value)
    if isinstance(value, Count | Total | Average | Least | Greatest):
        return True
    return isinstance(value, int | float) and not isinstance(value, bool)
