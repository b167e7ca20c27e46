"""Maps as a view that is redrawn: their current values and growth rates, in a window of a given size.

      @lat              n▼   rate     p50     p99     max  last 60 s
      SKU-1187         164    9/s  25.2ms   212ms   231ms  ▁▂▂▃▂▅▇▃▂▁▂▂
      SKU-0031          12    1/s  31.5ms  44.0ms  44.1ms  ▁▁▂▁▁▁▁▂▁▁▁▁

:class:`History` keeps the contents of the last minute, :class:`Arrangement` the user's choices, and :class:`LiveText`
turns both into lines. This module does not know the terminal; the caller draws the lines.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field, replace
from itertools import pairwise

from btpy.dataclass import dataclass
from btpy.events.aggregates import Aggregate, Key, MapContent, Number, ranked
from btpy.events.records import StackRef, Value
from btpy.events.sketches import First, Last
from btpy.model.maps import Map, MapKind
from btpy.output.columns import clipped, columns_of, padded, shortened
from btpy.output.maps import MapText
from btpy.output.quantities import per_second
from btpy.output.series import sparkline
from btpy.output.style import Style
from btpy.output.tables import KeyTexts, TableOptions, all_numbers
from btpy.output.values import ValueText

SPAN = 60.0
"""Length of a history in seconds."""

_REMEMBERED = 1000  # entries of a map whose past is kept: those with the most samples
_RATE_SECONDS = 5.0  # seconds over which the current rate is measured
_RATE_HEAD = "  rate"  # the width of the longest rate, so that columns do not move
_SPARKS = 30  # columns of the line of past rates, and the least useful number
_FEWEST_SPARKS = 8
_LEAST_LABEL = 10  # columns that are reserved for a key before figures
_LABEL_WITH_SPARKS = 24  # columns that are reserved for a key before past rates
_PLOTTED = 100  # entries of a map that are drawn as charts
_BLOCKS = (MapKind.TOPK, MapKind.SAMPLE_OF)  # kinds that need more than one row for each entry
_DISTRIBUTIONS = (MapKind.HIST, MapKind.LHIST, MapKind.PCTL)
_WITHOUT_RATE = (MapKind.VALUE, MapKind.TSERIES, MapKind.FIRST, MapKind.LAST)  # their values may be texts


@dataclass(frozen=True, slots=True)
class _Moment:
    """``sizes``: the number of entries of each map. ``complete``: the maps with all their entries; None: all maps."""

    number: int
    seconds: float
    sizes: Mapping[int, Mapping[Hashable, Number]]
    complete: frozenset[int] | None

    def size(self, map_: int, key: Hashable) -> Number | None:
        """0 for an entry that did not exist, None for an entry that may have existed."""
        recorded_size = self.sizes.get(map_, {}).get(key)
        return 0 if recorded_size is None and (self.complete is None or map_ in self.complete) else recorded_size

    def rate_since(self, before: _Moment, map_: int, key: Hashable) -> float | None:
        now, then = self.size(map_, key), before.size(map_, key)
        if now is None or then is None or self.seconds <= before.seconds:
            return None
        # If there are fewer samples than before, the map was cleared.
        return (now - (then if then <= now else 0)) / (self.seconds - before.seconds)


class History:
    """The contents of maps at moments in the last SPAN seconds; ``contents`` are the latest.

    If all maps were empty at a moment (their probes were just added), call :meth:`add` without contents for that
    moment. The first rates then refer to that moment.
    """

    def __init__(self) -> None:
        self.contents: tuple[MapContent, ...] = ()
        self._moments: deque[_Moment] = deque()
        self._count = 0

    def add(self, seconds: float, contents: Sequence[MapContent]) -> None:
        """``seconds``: on any clock that does not jump."""
        self.contents = tuple(contents)
        sizes, complete = {}, set()
        for content in contents:
            entries = content.entries
            if len(entries) > _REMEMBERED:
                entries = tuple(ranked(content, by="count", top=_REMEMBERED))
            else:
                complete.add(content.map.id)
            sizes[content.map.id] = {
                _identity(key): size for key, value in entries if (size := _size(value)) is not None
            }
        self._moments.append(_Moment(self._count, seconds, sizes, frozenset(complete) if contents else None))
        self._count += 1
        while self._moments[-1].seconds - self._moments[0].seconds > SPAN:
            self._moments.popleft()

    def rates(self, map_: Map) -> Callable[[Key], float | None]:
        """Samples a second of a key in the last seconds; None if it is not known yet."""
        if len(self._moments) < 2:
            return lambda key: None
        latest = self._moments[-1]
        before = self._moments[0]
        for moment in self._moments:
            if latest.seconds - moment.seconds >= _RATE_SECONDS:
                before = moment
        return lambda key: latest.rate_since(before, map_.id, _identity(key))

    def past(self, map_: Map, key: Key, most: int) -> list[Number | None]:
        """At most ``most`` numbers, the oldest first: rates, or the values themselves of a map of plain values."""
        moments = list(self._moments)
        if len(moments) < 2 or most < 1 or map_.kind in (MapKind.TSERIES, MapKind.FIRST, MapKind.LAST):
            return []
        identity = _identity(key)
        interval = (moments[-1].seconds - moments[0].seconds) / (len(moments) - 1)
        together = max(1, math.ceil(SPAN / max(interval, 0.001) / most))
        # Groups of moments begin at fixed numbers, and are not counted from the end. Otherwise each new moment would
        # change the whole line.
        marks = [moment for moment in moments if moment.number % together == 0 or moment is moments[-1]]
        if map_.kind is MapKind.VALUE:
            return [mark.sizes.get(map_.id, {}).get(identity) for mark in marks][-most:]
        return [after.rate_since(before, map_.id, identity) for before, after in pairwise(marks)][-most:]


def _identity(key: Key) -> Hashable:
    """The identity of a key in a map: 1, 1.0 and true are three keys."""
    return tuple((type(component), component) for component in key)


def _size(value: Aggregate | Value) -> Number | None:
    """The number of samples, or a plain number itself."""
    if isinstance(value, First | Last):
        return None
    if isinstance(value, Aggregate):
        return value.n
    return value if isinstance(value, int | float) else None


@dataclass(frozen=True, slots=True)
class Order:
    """The user's choices for the rows of one map. ``by``: the order: empty for the default, a figure, ``rate`` or
    ``key``; ``offset``: the number of hidden rows above the first shown row."""

    by: str = ""
    reverse: bool = False
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Arrangement:
    """``focus``: the map to which pressed keys apply; ``plot``: distributions and charts are shown instead of
    tables."""

    orders: Mapping[int, Order] = field(default_factory=dict)
    focus: int | None = None
    plot: bool = False

    def order(self, map_: Map) -> Order:
        return self.orders.get(map_.id, _AS_IT_SUITS)

    def with_order(self, map_: Map, order: Order) -> Arrangement:
        return replace(self, orders={**self.orders, map_.id: order})


_AS_IT_SUITS = Order()
KEYS = ("s", "S", "h", "tab", "up", "down", "pageup", "pagedown", "home", "end")
"""What :meth:`LiveText.pressed` knows."""


@dataclass(frozen=True, slots=True)
class _Column:
    head: str
    by: str
    text: Callable[[Key, Aggregate | Value], str]


@dataclass(frozen=True, slots=True)
class _Part:
    """One map of the view. ``rows``: the number of its rows; ``share``: the number of lines for the rows; ``block``:
    the lines of a map that is not a table."""

    content: MapContent
    rows: int
    block: tuple[str, ...] | None = None
    share: int = 1

    @property
    def heads(self) -> int:
        return int(self.block is None and self.content.map.keys > 0)


class LiveText:
    def __init__(self, values: ValueText, style: Style) -> None:
        self._values = values
        self._style = style
        self._maps = MapText(values, style)

    def lines(self, history: History, arrangement: Arrangement, columns: int, lines: int) -> list[str]:
        """At most ``lines`` lines of at most ``columns`` columns, without sequences that move the cursor."""
        if columns < 1 or lines < 1:
            return []
        parts, left_out = self._parts(history, arrangement, columns, lines)
        if not parts:
            names = " ".join(content.map.title for content in history.contents)
            return [self._style.dim(clipped(f"{names}  (empty)", columns, self._style.ellipsis))]
        focus = self._focused(parts, arrangement).content.map if len(parts) + left_out > 1 else None
        apart = self._height(parts) + len(parts) - 1 <= lines
        drawn: list[str] = []
        for part in parts:
            if drawn and apart and part.heads + part.rows > 1:
                drawn.append("")
            drawn += self._lines_of(part, history, arrangement, columns, focused=part.content.map is focus)
        return [clipped(line, columns, self._style.ellipsis) for line in drawn[:lines]]

    def pressed(
        self, key: str, history: History, arrangement: Arrangement, columns: int, lines: int
    ) -> Arrangement | None:
        """The arrangement after a key was pressed; None for a key without a meaning."""
        if key not in KEYS:
            return None
        parts, _ = self._parts(history, arrangement, columns, lines)
        if not parts:
            return arrangement
        if key == "h":
            return replace(arrangement, plot=not arrangement.plot)
        part = self._focused(parts, arrangement)
        map_ = part.content.map
        order = arrangement.order(map_)
        if key == "tab":
            all_ = [content.map.id for content in history.contents if content.entries]
            return replace(arrangement, focus=all_[(all_.index(map_.id) + 1) % len(all_)])
        if key == "s":
            choices = [*dict.fromkeys(column.by for column in self._columns(part.content, history)), "key"]
            by = self._by(part.content, order)
            at = choices.index(by) if by in choices else 0
            return arrangement.with_order(map_, Order(by=choices[(at + 1) % len(choices)]))
        if key == "S":
            return arrangement.with_order(map_, replace(order, reverse=not order.reverse, offset=0))
        most = max(0, part.rows - self._shown(part))
        page = max(1, self._shown(part))
        steps = {"up": -1, "down": 1, "pageup": -page, "pagedown": page, "home": -part.rows, "end": part.rows}
        offset = max(0, min(most, min(most, order.offset) + steps[key]))
        return arrangement.with_order(map_, replace(order, offset=offset))

    def _parts(self, history: History, arrangement: Arrangement, columns: int, lines: int) -> tuple[list[_Part], int]:
        """The maps that fit, always with the focused map, and the number of other maps."""
        parts = [self._whole(content, history, arrangement, columns) for content in history.contents if content.entries]
        if not parts:
            return [], 0
        every = len(parts)
        focused = self._focused(parts, arrangement)
        while len(parts) > 1 and self._height(parts) > lines:
            parts.remove(next(part for part in reversed(parts) if part is not focused))
        shares = [1] * len(parts)
        room = lines - self._height(parts)
        if room >= 2 * len(parts):
            room -= len(parts) - 1  # empty lines between the maps
        while room > 0 and any(share < part.rows for share, part in zip(shares, parts, strict=True)):
            for at, part in enumerate(parts):
                if room > 0 and shares[at] < part.rows:
                    shares[at] += 1
                    room -= 1
        return [replace(part, share=share) for part, share in zip(parts, shares, strict=True)], every - len(parts)

    @staticmethod
    def _height(parts: Sequence[_Part]) -> int:
        return sum(part.heads + part.share for part in parts)

    @staticmethod
    def _focused(parts: Sequence[_Part], arrangement: Arrangement) -> _Part:
        return next((part for part in parts if part.content.map.id == arrangement.focus), parts[0])

    @staticmethod
    def _shown(part: _Part) -> int:
        """Rows. If some rows are missing, the last line has their number."""
        return part.share if part.share >= part.rows or part.share < 2 else part.share - 1

    def _whole(self, content: MapContent, history: History, arrangement: Arrangement, columns: int) -> _Part:
        map_ = content.map
        keyless = map_.keys == 0
        if not (map_.kind in _BLOCKS or arrangement.plot or (keyless and map_.kind in _DISTRIBUTIONS)):
            return _Part(content, len(content.entries))
        order = arrangement.order(map_)
        by = "" if order.by == "rate" else order.by
        descending = not _descends(map_, by) if order.reverse else None
        options = TableOptions(top=_PLOTTED, by=by, descending=descending)
        text = MapText(self._values, replace(self._style, width=columns))
        plot = arrangement.plot or map_.kind is MapKind.PCTL
        block = [self._one_line(line) for line in text.lines(content, options, plot=plot)]
        if keyless:
            pace = "  ".join(self._pace(map_, (), history))
            if columns_of(block[0]) + 2 + columns_of(pace) <= columns:
                block[0] += f"  {pace}"
            else:
                block.insert(1, f"  {pace}")
        return _Part(content, len(block), tuple(block))

    def _lines_of(
        self, part: _Part, history: History, arrangement: Arrangement, columns: int, *, focused: bool
    ) -> list[str]:
        content = part.content
        order = arrangement.order(content.map)
        visible_rows = self._shown(part)
        offset = min(order.offset, max(0, part.rows - visible_rows))
        if part.block is not None:
            lines = list(part.block[offset : offset + visible_rows])
        elif content.map.keys == 0:
            lines = [self._single(content, history)]
        else:
            lines = self._table(content, order, history, columns, slice(offset, offset + visible_rows), focused=focused)
        if visible_rows < min(part.share, part.rows):
            below = part.rows - offset - visible_rows
            rest = f"{offset} above, {below} below" if offset else f"{below} more"
            lines.append(self._style.dim(f"  {self._style.ellipsis} {rest}"))
        return lines

    def _single(self, content: MapContent, history: History) -> str:
        """A map without keys."""
        (key, value), *_ = content.entries
        cells = map(self._one_line, self._maps.cells(content.map, value))
        return "  ".join([self._style.bold(content.map.title), *cells, *self._pace(content.map, key, history)])

    def _pace(self, map_: Map, key: Key, history: History) -> list[str]:
        """The rate and the line of past rates, where there are any."""
        rate = "" if map_.kind in _WITHOUT_RATE else _rate(history.rates(map_)(key))
        return [text for text in (rate, self._sparks(map_, key, history, _SPARKS)) if text]

    def _sparks(self, map_: Map, key: Key, history: History, most: int) -> str:
        past = history.past(map_, key, most)
        return self._style.bar(sparkline(past, self._style)) if any(value is not None for value in past) else ""

    def _table(
        self, content: MapContent, order: Order, history: History, columns: int, slice_: slice, *, focused: bool
    ) -> list[str]:
        map_ = content.map
        by = self._by(content, order)
        descending = _descends(map_, by) != order.reverse
        rows = _sorted(content, by, descending, history)[slice_]
        texts = KeyTexts(key for key, _ in content.entries)
        labels = [self._label(texts.of(key)) for key, _ in rows]
        title = self._style.marked(map_.title, descending) if by == "key" else map_.title
        title = self._style.focus(title) if focused else self._style.bold(title)
        columns_ = [
            _Drawn.of(
                self._style.marked(column.head, descending) if column.by == by else f"{column.head} ",
                [self._one_line(column.text(key, value)) for key, value in rows],
                needed=at == 0 or column.by == by,
                right=map_.kind not in _WITHOUT_RATE,
            )
            for at, column in enumerate(self._columns(content, history))
        ]
        label, fitting, sparks = _fit(max(map(columns_of, (title, *labels))), columns_, columns)
        past = [self._sparks(map_, key, history, sparks) for key, _ in rows]
        heads = [self._style.dim(padded(column.head, column.width, right=column.right)) for column in fitting]
        heads += [self._style.dim(f"last {SPAN:.0f} s")] if any(past) else []
        lines = ["  ".join([padded(clipped(title, label, self._style.ellipsis), label), *heads])]
        for at, text in enumerate(labels):
            cells = [padded(column.cells[at], column.width, right=column.right) for column in fitting]
            line = "  ".join([padded(shortened(text, label, self._style.ellipsis), label), *cells, past[at]])
            lines.append(line.rstrip())
        return lines

    def _columns(self, content: MapContent, history: History) -> list[_Column]:
        map_ = content.map
        figures = self._maps.figures(map_)
        columns = [
            _Column(figure.name or map_.kind.value, figure.by, lambda key, value, text=figure.text: text(value))  # type: ignore[misc]
            for figure in figures
        ]
        if map_.kind not in _WITHOUT_RATE:
            rates = history.rates(map_)
            columns.append(_Column(_RATE_HEAD, "rate", lambda key, value: _rate(rates(key))))
        return columns

    def _by(self, content: MapContent, order: Order) -> str:
        if order.by:
            return order.by
        if content.map.kind is MapKind.VALUE and not all_numbers(content):
            return "key"
        return self._maps.figures(content.map)[0].by

    def _label(self, key: Key) -> str:
        parts = (
            self._values.inner(component) if isinstance(component, StackRef) else self._values.show(component)
            for component in key
        )
        return self._one_line(", ".join(parts))

    def _one_line(self, text: str) -> str:
        if "\n" in text:
            text = " < ".join(line.strip() for line in text.split("\n"))
        return text if self._style.unicode else text.encode("ascii", "backslashreplace").decode("ascii")


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A column as text. ``needed``: it is shown even in a narrow window."""

    head: str
    cells: Sequence[str]
    width: int
    needed: bool
    right: bool

    @staticmethod
    def of(head: str, cells: Sequence[str], *, needed: bool, right: bool) -> _Drawn:
        return _Drawn(head, cells, max(map(columns_of, (head, *cells))), needed, right)


def _fit(label: int, columns: Sequence[_Drawn], room: int) -> tuple[int, list[_Drawn], int]:
    """The width of the label, the columns that fit, and the remaining width, for the line of past rates."""
    fitting = list(columns)

    def left() -> int:
        return room - sum(2 + column.width for column in fitting)

    while left() < min(label, _LEAST_LABEL):
        at = next((at for at in reversed(range(len(fitting))) if not fitting[at].needed), None)
        if at is None:
            break
        del fitting[at]
    with_sparks = left() - 2 - _FEWEST_SPARKS
    if with_sparks >= min(label, _LABEL_WITH_SPARKS):
        label = min(label, with_sparks)
        return label, fitting, min(_SPARKS, left() - 2 - label)
    return max(1, min(label, left())), fitting, 0


def _sorted(
    content: MapContent, by: str, descending: bool, history: History
) -> Sequence[tuple[Key, Aggregate | Value]]:
    if by != "rate":
        return ranked(content, by=by, descending=descending)
    rates = history.rates(content.map)
    by_key = ranked(content, by="key", descending=False)
    return sorted(by_key, key=lambda entry: rates(entry[0]) or 0.0, reverse=descending)


def _descends(map_: Map, by: str) -> bool:
    return by != "key" and not (by == "" and map_.kind is MapKind.MIN)


def _rate(rate: float | None) -> str:
    return "" if rate is None else per_second(rate)
