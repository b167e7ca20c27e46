"""The values of maps: aggregates that can be read, merged and ranked.

The agent sends the cells of docs/runtime.md ("Cells of an aggregation"). This module turns them into a small class for
each kind. Two values of one kind can be merged, as if one value had all samples. btpy merges values to combine
intervals and targets.

A percentile of a histogram is exact up to the width of its bucket: :class:`Percentile` has these bounds.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final, TypeVar

from btpy.dataclass import dataclass
from btpy.errors import ProtocolError
from btpy.events import estimates
from btpy.events.buckets import Buckets, Exponential, LogLinear
from btpy.events.estimates import Interval, Skips, Weights, joined_skips, joined_weights
from btpy.events.exemplars import LAYOUT as EXEMPLAR
from btpy.events.exemplars import Exemplar, Newest, newest, read_exemplar
from btpy.events.record_decoder import read_value
from btpy.events.records import Value
from btpy.events.sketches import REGISTER_BITS, Distinct, Examples, First, Frequent, Last, Top, by_frequency
from btpy.model.maps import Linear, Map, MapKind, Most, Series, SeriesOperator

Number = int | float
N = TypeVar("N", bound=Number)

_LONG_MIN: Final = -(1 << 63)
_LONG_MAX: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Count:
    n: int
    weights: Weights | None = None

    @property
    def number(self) -> Number:
        return self.n

    def merge(self, other: Count) -> Count:
        return Count(_wrap(self.n + other.n))


@dataclass(frozen=True, slots=True)
class Total:
    """``sum(x)``; integral samples are summed exactly (wrapping at 64 bits), and doubles separately."""

    n: int
    integral: int
    floating: float
    weights: Weights | None = None

    @property
    def number(self) -> Number:
        return _joined(self.integral, self.floating)

    def merge(self, other: Total) -> Total:
        return Total(self.n + other.n, _wrap(self.integral + other.integral), self.floating + other.floating)


@dataclass(frozen=True, slots=True)
class Average:
    n: int
    integral: int
    floating: float
    weights: Weights | None = None

    @property
    def number(self) -> Number:
        """The mean; NaN without samples."""
        return (self.integral + self.floating) / self.n if self.n else float("nan")

    def merge(self, other: Average) -> Average:
        return Average(self.n + other.n, _wrap(self.integral + other.integral), self.floating + other.floating)


@dataclass(frozen=True, slots=True)
class Least:
    """``min(x)``; ``value`` is None if there are no samples."""

    n: int
    value: Number | None
    weights: Weights | None = None

    @property
    def number(self) -> Number:
        return float("nan") if self.value is None else self.value

    def merge(self, other: Least) -> Least:
        return Least(self.n + other.n, _choose(min, self.value, other.value))


@dataclass(frozen=True, slots=True)
class Greatest:
    """``max(x)``; ``value`` is None if there are no samples."""

    n: int
    value: Number | None
    weights: Weights | None = None

    @property
    def number(self) -> Number:
        return float("nan") if self.value is None else self.value

    def merge(self, other: Greatest) -> Greatest:
        return Greatest(self.n + other.n, _choose(max, self.value, other.value))


@dataclass(frozen=True, slots=True)
class Stats:
    n: int
    integral: int
    floating: float
    least: Number | None
    greatest: Number | None
    weights: Weights | None = None

    @property
    def number(self) -> Number:
        """The rank of stats in a table: the sum."""
        return self.total

    @property
    def total(self) -> Number:
        return _joined(self.integral, self.floating)

    @property
    def mean(self) -> Number:
        return (self.integral + self.floating) / self.n if self.n else float("nan")

    def merge(self, other: Stats) -> Stats:
        return Stats(
            self.n + other.n,
            _wrap(self.integral + other.integral),
            self.floating + other.floating,
            _choose(min, self.least, other.least),
            _choose(max, self.greatest, other.greatest),
        )


@dataclass(frozen=True, slots=True)
class Percentile:
    """The sample of this rank lies in ``low … high`` (both inclusive); ``estimate`` is the middle of this range."""

    estimate: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Bucket:
    """``count`` samples in ``low … high``, both inclusive."""

    low: int
    high: int
    count: int


@dataclass(frozen=True, slots=True)
class Histogram:
    """``counts``: each bucket with samples and their number, in ascending order; most buckets are empty. The extremes
    are exact.
    """

    layout: Buckets
    integral: int
    floating: float
    least: int | None
    greatest: int | None
    counts: tuple[tuple[int, int], ...]
    weights: Weights | None = None
    exemplars: tuple[Exemplar, ...] = ()

    @property
    def n(self) -> int:
        return sum(count for _, count in self.counts)

    @property
    def number(self) -> Number:
        """The rank of a histogram in a table: the number of samples."""
        return self.n

    @property
    def total(self) -> Number:
        return _joined(self.integral, self.floating)

    @property
    def mean(self) -> Number:
        n = self.n
        return (self.integral + self.floating) / n if n else float("nan")

    def percentile(self, percent: float) -> Percentile | None:
        """The smallest sample that at least ``percent`` of the samples do not exceed; None without samples.

        The estimate is the middle of its bucket. With exponential buckets of precision k it differs from the sample by
        ``(2 ** 2**-k - 1) / 2`` of the sample at most, plus 1/2 because it is a whole number.
        """
        n = self.n
        if n == 0 or self.least is None or self.greatest is None:
            return None
        rank = max(1, -int(-percent * n // 100))
        below = 0
        for index, count in self.counts:
            below += count
            if rank <= below:
                low, high = self._bounds(index)
                low, high = max(low, self.least), min(high, self.greatest)
                return Percentile((low + high) // 2, low, high)
        return Percentile(self.greatest, self.greatest, self.greatest)

    def buckets(self) -> list[Bucket]:
        """The buckets from the first occupied bucket to the last, with the empty buckets between."""
        counts = dict(self.counts)
        if not counts:
            return []
        return [Bucket(*self._bounds(index), counts.get(index, 0)) for index in range(min(counts), max(counts) + 1)]

    def occupied(self) -> list[Bucket]:
        """The buckets that have samples."""
        return [Bucket(*self._bounds(index), count) for index, count in self.counts]

    def _bounds(self, index: int) -> tuple[int, int]:
        low, high = self.layout.bounds(index)
        if index < 0 and isinstance(self.layout, LogLinear) and self.least is not None:
            low = self.least  # one bucket holds all negatives
        return low, high

    def coarser(self, precision: int) -> Histogram:
        """The same samples with this precision, or with the histogram's own precision if it is lower: adjacent buckets
        are joined. 0 gives a bucket for each power of two.
        """
        if precision >= self.layout.precision:
            return self
        layout = replace(self.layout, precision=precision)
        counts: dict[int, int] = {}
        for index, count in self.counts:
            into = layout.index(self.layout.bounds(index)[1])
            counts[into] = counts.get(into, 0) + count
        return replace(self, layout=layout, counts=tuple(sorted(counts.items())))

    def merge(self, other: Histogram) -> Histogram:
        """The exact histogram of all samples, with the lower precision of the two."""
        if type(self.layout) is not type(other.layout):
            raise ValueError(f"cannot merge histograms of {self.layout} and {other.layout}")
        left, right = self.coarser(other.layout.precision), other.coarser(self.layout.precision)
        counts = dict(left.counts)
        for index, count in right.counts:
            counts[index] = counts.get(index, 0) + count
        return Histogram(
            left.layout,
            _wrap(self.integral + other.integral),
            self.floating + other.floating,
            _choose(min, self.least, other.least),
            _choose(max, self.greatest, other.greatest),
            tuple(sorted(counts.items())),
            exemplars=newest((*self.exemplars, *other.exemplars)),
        )


@dataclass(frozen=True, slots=True)
class LinearBucket:
    """``count`` samples from ``low`` (inclusive) to ``high`` (exclusive); None: without bound."""

    low: Number | None
    high: Number | None
    count: int


@dataclass(frozen=True, slots=True)
class LinearHistogram:
    """``lhist(x, low, high, step)``. ``counts``: the samples below all buckets, in each bucket, and above all
    buckets."""

    linear: Linear
    integral: int
    floating: float
    least: Number | None
    greatest: Number | None
    counts: tuple[int, ...]
    weights: Weights | None = None
    exemplars: tuple[Exemplar, ...] = ()

    @property
    def n(self) -> int:
        return sum(self.counts)

    @property
    def number(self) -> Number:
        return self.n

    @property
    def total(self) -> Number:
        return _joined(self.integral, self.floating)

    @property
    def mean(self) -> Number:
        n = self.n
        return (self.integral + self.floating) / n if n else float("nan")

    def buckets(self) -> list[LinearBucket]:
        """The buckets from the first occupied bucket to the last, with the empty buckets between."""
        occupied = [index for index, count in enumerate(self.counts) if count]
        if not occupied:
            return []
        return [
            LinearBucket(
                None if index == 0 else self._bound(index - 1),
                None if index > self.linear.buckets else self._bound(index),
                self.counts[index],
            )
            for index in range(occupied[0], occupied[-1] + 1)
        ]

    def percentile(self, percent: float) -> Number | None:
        """The middle of the bucket with the sample of this rank, limited by the extremes; None without samples."""
        n = self.n
        if n == 0 or self.least is None or self.greatest is None:
            return None
        rank = max(1, -int(-percent * n // 100))
        for bucket in self.buckets():
            rank -= bucket.count
            if rank <= 0:
                low = self.least if bucket.low is None else max(bucket.low, self.least)
                high = self.greatest if bucket.high is None else min(bucket.high, self.greatest)
                middle = (low + high) / 2
                return middle if isinstance(low, float) or isinstance(high, float) else int(middle)
        return self.greatest

    def merge(self, other: LinearHistogram) -> LinearHistogram:
        if self.linear != other.linear:
            raise ValueError(f"cannot merge histograms of {self.linear} and {other.linear}")
        return LinearHistogram(
            self.linear,
            _wrap(self.integral + other.integral),
            self.floating + other.floating,
            _choose(min, self.least, other.least),
            _choose(max, self.greatest, other.greatest),
            tuple(a + b for a, b in zip(self.counts, other.counts, strict=True)),
            exemplars=newest((*self.exemplars, *other.exemplars)),
        )

    def _bound(self, bucket: int) -> Number:
        bound = self.linear.low + bucket * self.linear.step
        return int(bound) if bound.is_integer() else bound


Window = Total | Average | Least | Greatest | Count
"""The result of one interval of a time series."""


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """``tseries(x, interval, windows, operator)``: the results by epoch (the number of the interval since 1970).
    ``epoch`` is the current epoch, which has not ended.
    """

    n: int
    series: Series
    epoch: int
    windows: tuple[tuple[int, Window], ...]
    weights: Weights | None = None

    @property
    def number(self) -> Number:
        return self.n

    def values(self) -> list[Number | None]:
        """The values, oldest first, with the value of the current epoch last; None: no samples. A sum or a count
        without samples is 0.
        """
        empty = 0 if self.series.operator in (SeriesOperator.SUM, SeriesOperator.COUNT) else None
        numbers = {epoch: window.number for epoch, window in self.windows}
        return [numbers.get(epoch, empty) for epoch in range(self.epoch - self.series.windows + 1, self.epoch + 1)]

    def merge(self, other: TimeSeries) -> TimeSeries:
        if self.series != other.series:
            raise ValueError(f"cannot merge series of {self.series} and {other.series}")
        epoch = max(self.epoch, other.epoch)
        return TimeSeries(
            self.n + other.n, self.series, epoch, _joined_windows((*self.windows, *other.windows), epoch, self.series)
        )


def _joined_windows(
    windows: Iterable[tuple[int, Window]], epoch: int, series: Series
) -> tuple[tuple[int, Window], ...]:
    result: dict[int, Window] = {}
    for at, window in windows:
        if epoch - series.windows < at <= epoch:
            earlier_window = result.get(at)
            result[at] = window if earlier_window is None else earlier_window.merge(window)  # type: ignore[arg-type]  # of one kind
    return tuple(sorted(result.items()))


Aggregate = (
    Count
    | Total
    | Average
    | Least
    | Greatest
    | Stats
    | Histogram
    | LinearHistogram
    | TimeSeries
    | Top
    | Distinct
    | First
    | Last
    | Examples
)
Key = tuple[Value, ...]


def merged(value: Aggregate, other: Aggregate) -> Aggregate:
    """Two values of one kind, merged as if one value had all samples."""
    merged_value = value.merge(other)  # type: ignore[arg-type]  # of one kind
    weights = joined_weights(value.weights, other.weights)
    return merged_value if weights is None else replace(merged_value, weights=weights)


@dataclass(frozen=True, slots=True)
class MapContent:
    """The content of one map at one moment. The entries are in the agent's order.

    ``full``: samples dropped since the start because there was no room for their key. The values are :data:`Aggregate`,
    or plain :data:`~btpy.events.records.Value` for a map of kind VALUE. ``omitted``: keys that did not fit into the
    message. ``evicted``: keys that were replaced by other keys since the start. ``skips``: the skipped hits; None: the
    values are exact.
    """

    map: Map
    full: int
    entries: tuple[tuple[Key, Aggregate | Value], ...]
    omitted: int = 0
    evicted: int = 0
    skips: Skips | None = None


@dataclass(frozen=True, slots=True)
class ContentForm:
    """The form of map contents: of the agent, or of a recording of an older format.

    ``skips``: whether the contents have skipped hits and weights. ``exponential``: whether the buckets of ``hist`` and
    ``pctl`` are exponential. In older formats the buckets are log-linear, and a cell before the buckets counts the
    negative samples. ``exemplars``: whether exemplars follow the entries.
    """

    skips: bool = True
    exponential: bool = True
    exemplars: bool = True


PRESENT_FORM: Final = ContentForm()


def decode_content(data: bytes, maps: Mapping[int, Map], form: ContentForm = PRESENT_FORM) -> MapContent:
    """The content of a ``MAP`` message (docs/protocol.md). ``maps``: the maps the client declared, by id.

    Raises ProtocolError for any other map, and for bytes that do not follow the layout.
    """
    content, end = _content(data, 0, maps, form)
    if end != len(data):
        raise ProtocolError(f"the content of @{content.map.name} has {len(data) - end} bytes left over")
    return content


def decode_contents(data: bytes, maps: Mapping[int, Map], form: ContentForm = PRESENT_FORM) -> list[MapContent]:
    """The contents in a ``MAPS`` message, each decoded as by :func:`decode_content`."""
    if len(data) < 4:
        raise ProtocolError("the list of map contents ends too early")
    (count,) = U4.unpack_from(data)
    if count > len(maps):
        raise ProtocolError(f"the message has contents of {count} maps, but {len(maps)} are declared")
    contents: list[MapContent] = []
    at = 4
    for _ in range(count):
        content, at = _content(data, at, maps, form)
        contents.append(content)
    if at != len(data):
        raise ProtocolError(f"the contents of {count} maps have {len(data) - at} bytes left over")
    return contents


def _content(data: bytes, at: int, maps: Mapping[int, Map], form: ContentForm) -> tuple[MapContent, int]:
    skips: Skips | None = None
    try:
        map_id, full, evicted = CONTENT.unpack_from(data, at)
        at += CONTENT.size
        if form.skips:
            skips = _skips(*SKIPS.unpack_from(data, at))
            at += SKIPS.size
        omitted, count = COUNTS.unpack_from(data, at)
        map_ = maps.get(map_id)
        if map_ is None:
            raise ProtocolError(f"the message has the content of map {map_id}, which was never declared")
        at += COUNTS.size
        entries: list[tuple[Key, Aggregate | Value]] = []
        for _ in range(count):
            key, at = _key(data, at, map_.keys)
            if map_.kind is MapKind.VALUE:
                plain, at = read_value(data, at)
                entries.append((key, plain))
            else:
                (cells,) = U4.unpack_from(data, at)
                end = at + 4 + 8 * cells
                if end > len(data):
                    raise ProtocolError(f"{cells} cells at {at} do not fit into {len(data)} bytes")
                values: list[Value] = []
                if map_.kind in WITH_VALUES:
                    values, end_of_values = _read_values(data, end)
                    value = _sketch(map_, data[at + 4 : end], values)
                    at = end_of_values
                else:
                    value = _aggregate(map_, data[at + 4 : end], form)
                    at = end
                if form.skips:
                    weights, at = _weights(data, at, skips)
                    value = value if weights is None else replace(value, weights=weights)
                entries.append((key, value))
        if form.exemplars:
            at = _exemplars(data, at, entries)
    except struct.error as cause:
        raise ProtocolError(f"the content of a map ends too early, at {at} of {len(data)} bytes") from cause
    return MapContent(map_, full, tuple(entries), omitted, evicted, skips), at


def _skips(skipped: int, factor: int, pending: int, rested_ns: int) -> Skips | None:
    return Skips(skipped, factor, pending, rested_ns) if skipped or rested_ns else None


def _exemplars(data: bytes, at: int, entries: list[tuple[Key, Aggregate | Value]]) -> int:
    """Adds the exemplars at ``at`` to the entries. Returns the offset after them."""
    (count,) = U4.unpack_from(data, at)
    at += 4
    by_index: dict[int, Newest] = {}
    for _ in range(count):
        index, exemplar = read_exemplar(data, at)
        if index >= len(entries) or not isinstance(entries[index][1], Histogram | LinearHistogram):
            raise ProtocolError(f"entry {index} has an exemplar, but is not a distribution")
        by_index.setdefault(index, Newest()).add(exemplar)
        at += EXEMPLAR.size
    for index, exemplars in by_index.items():
        key, value = entries[index]
        assert isinstance(value, Histogram | LinearHistogram)
        entries[index] = key, replace(value, exemplars=exemplars.all())
    return at


def _weights(data: bytes, at: int, skips: Skips | None) -> tuple[Weights | None, int]:
    (count,) = U4.unpack_from(data, at)
    at += 4
    if not count:
        return None if skips is None else Weights(skips), at
    if count != _WEIGHTS_CELLS:
        raise ProtocolError(f"a value has {count} numbers about weights")
    weights = Weights(skips or Skips(0, 1), *_WEIGHTS.unpack_from(data, at))
    if weights.samples < 0 or weights.hits < weights.samples or not weights.spread >= 0:
        raise ProtocolError(f"a value has {weights.samples} samples for {weights.hits} hits")
    return weights, at + _WEIGHTS.size


def _read_values(data: bytes, at: int) -> tuple[list[Value], int]:
    (count,) = U4.unpack_from(data, at)
    at += 4
    values: list[Value] = []
    for _ in range(count):
        value, at = read_value(data, at)
        values.append(value)
    return values, at


def merge(contents: Iterable[MapContent]) -> MapContent:
    """Merges contents of the same map from several targets or intervals; of several plain values, the last stays.

    Raises ValueError when they are not of the same kind, or there are none.
    """
    result: dict[object, tuple[Key, Aggregate | Value]] = {}
    full = omitted = evicted = 0
    skips: Skips | None = None
    first: MapContent | None = None
    for content in contents:
        if first is None:
            first = content
        elif content.map.kind is not first.map.kind:
            raise ValueError(f"cannot merge {content.map.kind.value} into {first.map.kind.value}")
        full += content.full
        omitted += content.omitted
        evicted += content.evicted
        skips = joined_skips(skips, content.skips)
        for key, value in content.entries:
            exact = _exact(key)
            present = result.get(exact)
            if present is not None and isinstance(present[1], Aggregate) and isinstance(value, Aggregate):
                value = merged(present[1], value)
            result[exact] = key, value
    if first is None:
        raise ValueError("nothing to merge")
    entries = result.values() if skips is None else [(key, _of_all(value, skips)) for key, value in result.values()]
    return MapContent(first.map, full, tuple(entries), omitted, evicted, skips)


def _exact(key: Key) -> object:
    """1, 1.0 and true are different keys, but equal in Python."""
    return tuple((type(component), component) for component in key)


def with_exemplars_of(content: MapContent, earlier: MapContent | None) -> MapContent:
    """The content with the newest exemplar of each size, from this reading of the map and an earlier reading."""
    exemplars_by_key = {
        _exact(key): value.exemplars
        for key, value in (() if earlier is None else earlier.entries)
        if isinstance(value, Histogram | LinearHistogram) and value.exemplars
    }
    if not exemplars_by_key:
        return content
    entries = tuple(
        (key, replace(value, exemplars=newest((*exemplars_by_key.get(_exact(key), ()), *value.exemplars))))
        if isinstance(value, Histogram | LinearHistogram)
        else (key, value)
        for key, value in content.entries
    )
    return replace(content, entries=entries)


def _of_all(value: Aggregate | Value, skips: Skips) -> Aggregate | Value:
    """Hits of a key may have been skipped even if none fired."""
    if not isinstance(value, Aggregate):
        return value
    return replace(value, weights=Weights(skips) if value.weights is None else replace(value.weights, skips=skips))


def intervals(value: Aggregate | Value) -> dict[str, Interval]:
    """The confidence intervals (:data:`~btpy.events.estimates.CONFIDENCE`) for the numbers of a value, by the name of
    the number. If the value is one number, its name is empty. Empty for exact values, and for values that do not count
    hits or samples.
    """
    if not isinstance(value, Aggregate) or value.weights is None:
        return {}
    weights = value.weights
    match value:
        case Count():
            return {"": estimates.of_count(value.n, weights)}
        case Total():
            return {"": estimates.of_sum(value.number, value.n, weights)}
        case Average():
            return {"": estimates.of_mean(value.number, value.n, weights)}
        case Least():
            return {"": Interval(None, value.value)}
        case Greatest():
            return {"": Interval(value.value, None)}
        case Distinct():
            return {"": Interval(value.surely, None)}
        case Stats() | Histogram() | LinearHistogram():
            return {
                "count": estimates.of_count(value.n, weights),
                "average": estimates.of_mean(value.mean, value.n, weights),
                "total": estimates.of_sum(value.total, value.n, weights),
                "min": Interval(None, value.least),
                "max": Interval(value.greatest, None),
            }
        case TimeSeries() | Top():
            return {"count": estimates.of_count(value.n, weights)}
        case Examples():
            most = None if weights.skips.rested_ns else value.n + weights.skips.skipped
            return {"count": Interval(value.n, most)}
        case _:
            return {}


def percentile_interval(value: Histogram | LinearHistogram, percent: float) -> Interval | None:
    """The interval that contains a percentile of all hits; None: only the width of its bucket limits the precision."""
    if value.weights is None:
        return None
    low_rank, high_rank = estimates.of_rank(percent, value.n, value.weights)
    low = value.percentile(low_rank) if low_rank > 0 else None
    high = value.percentile(high_rank) if high_rank < 100 else None
    return Interval(
        low.low if isinstance(low, Percentile) else low, high.high if isinstance(high, Percentile) else high
    )


def part_intervals(value: TimeSeries | Top) -> list[Interval]:
    """The intervals for each window, or for each value that is shown."""
    if value.weights is None:
        return []
    if isinstance(value, Top):
        return [estimates.of_part(frequent.count, value.n, value.weights) for frequent in value.shown]
    windows_of = dict(value.windows)
    epochs = range(value.epoch - value.series.windows + 1, value.epoch + 1)
    return [_of_window(windows_of.get(epoch), value.series.operator, value.n, value.weights) for epoch in epochs]


def _of_window(window: Window | None, operator: SeriesOperator, n: int, weights: Weights) -> Interval:
    match window:
        case Count():
            return estimates.of_part(window.n, n, weights)
        case Total():
            return estimates.of_series(window.number, window.n, n, weights)
        case Least():
            return Interval(None, window.value)
        case Greatest():
            return Interval(window.value, None)
        case None if operator in (SeriesOperator.SUM, SeriesOperator.COUNT):
            return estimates.of_part(0, n, weights) if operator is SeriesOperator.COUNT else Interval(None, None)
        case _:
            return Interval(None, None)


def can_be_merged(map_: Map) -> bool:
    """Whether the values of several targets under one key can be merged. Plain values cannot."""
    return map_.kind is not MapKind.VALUE


def measure(value: Aggregate | Value, by: str) -> Number:
    """The number by which an entry is ranked.

    ``by``: "" (the usual figure of the kind), ``count sum avg min max`` or ``p<percent>``. A missing figure ranks as
    −∞.
    """
    number: Number | None
    if not isinstance(value, Aggregate):
        number = value if isinstance(value, int | float) else None
    elif isinstance(value, First | Last):
        number = value.value if isinstance(value.value, int | float) and by in ("", "value") else None
    elif by == "value" or not by:
        number = value.number
    elif by == "count":
        number = value.n
    elif by in ("sum", "avg"):
        number = _total_or_mean(value, by)
    elif by in ("min", "max"):
        number = _extreme(value, by)
    elif by.startswith("p") and isinstance(value, Histogram):
        at = value.percentile(percent_of(by))
        number = None if at is None else at.estimate
    elif by.startswith("p") and isinstance(value, LinearHistogram):
        number = value.percentile(percent_of(by))
    else:
        number = None
    return float("-inf") if number is None or number != number else number


def percent_of(by: str) -> float:
    """99.9 of ``p999`` and ``p99.9``, 5 of ``p5``."""
    digits = by[1:]
    return float(digits) if "." in digits or len(digits) < 3 else float(f"{digits[:2]}.{digits[2:]}")


def ranked(
    content: MapContent,
    *,
    top: int | None = None,
    by: str = "",
    descending: bool = True,
    least: Number | None = None,
) -> list[tuple[Key, Aggregate | Value]]:
    """Entries in the order in which they are shown: by :func:`measure` (``by="key"``: by key), ties by key.

    ``top`` limits the list, ``least`` omits smaller entries.
    """
    entries = sorted(content.entries, key=lambda entry: tuple(map(_component_order, entry[0])))
    if by == "key":
        if descending:
            entries.reverse()
    else:
        entries.sort(key=lambda entry: measure(entry[1], by), reverse=descending)
    if least is not None:
        entries = [entry for entry in entries if measure(entry[1], "" if by == "key" else by) >= least]
    return entries if top is None else entries[:top]


WITH_VALUES: Final = (MapKind.TOPK, MapKind.FIRST, MapKind.LAST, MapKind.SAMPLE_OF)

CONTENT: Final = struct.Struct(">IQQ")
SKIPS: Final = struct.Struct(">QIQQ")
COUNTS: Final = struct.Struct(">II")
_WEIGHTS: Final = struct.Struct(">qqddd")
_WEIGHTS_CELLS: Final = _WEIGHTS.size // 8
U4: Final = struct.Struct(">I")


def _key(data: bytes, at: int, size: int) -> tuple[Key, int]:
    (count,) = U4.unpack_from(data, at)
    if count != size:
        raise ProtocolError(f"a key has {count} components, in a map of {size}")
    at += 4
    components: list[Value] = []
    for _ in range(count):
        component, at = read_value(data, at)
        components.append(component)
    return tuple(components), at


def _aggregate(map_: Map, cells: bytes, form: ContentForm) -> Aggregate:
    kind = map_.kind
    if kind in (MapKind.HIST, MapKind.PCTL):
        return _histogram(map_, cells, form)
    if kind is MapKind.LHIST:
        return _linear(map_, cells)
    if kind is MapKind.TSERIES:
        return _series(map_, cells)
    if kind is MapKind.DISTINCT:
        return _distinct(map_, cells)
    layout, make = _FIXED[kind]
    if len(cells) != layout.size:
        raise ProtocolError(f"{kind.value} of map @{map_.name} has {len(cells) // 8} cells")
    aggregate = make(*layout.unpack(cells))
    if aggregate.n < 0:
        raise ProtocolError(f"map @{map_.name} has {aggregate.n} samples")
    return aggregate


def _histogram(map_: Map, cells: bytes, form: ContentForm) -> Aggregate:
    head = _HIST_HEAD if form.exponential else _OLD_HIST_HEAD
    if len(cells) < head.size:
        raise ProtocolError(f"a histogram of @{map_.name} has {len(cells) // 8} cells")
    integral, floating, least, greatest, *negatives = head.unpack_from(cells)
    segments = cells[head.size :]
    layout = Exponential(map_.precision) if form.exponential else LogLinear(map_.precision)
    if form.exponential:
        counts = _signed(_occupied(map_, segments, 2 * _half(layout)), layout)
    else:
        counts = [(-1, *negatives), *_occupied(map_, segments, layout.last + 1)]
        counts = counts if counts[0][1] else counts[1:]
    if any(count < 0 for _, count in counts):
        raise ProtocolError("a histogram has a negative count")
    has_extremes = least <= greatest  # otherwise the extremes have their first values
    return Histogram(
        layout, integral, floating, least if has_extremes else None, greatest if has_extremes else None, tuple(counts)
    )


def _half(layout: Buckets) -> int:
    """The number of cells for the buckets of zero and positive numbers, rounded up to whole segments. The cells of
    negative numbers follow."""
    return -(-(layout.last + 1) // _SEGMENT_CELLS) * _SEGMENT_CELLS


def _signed(occupied: Iterable[tuple[int, int]], layout: Buckets) -> list[tuple[int, int]]:
    """The number and the count of each bucket, in ascending order, from the cells of the agent."""
    half = _half(layout)
    counts = []
    for cell, count in occupied:
        magnitude = cell % half
        if magnitude > layout.last:
            raise ProtocolError(f"a histogram has no bucket {cell}")
        counts.append((magnitude if cell < half else -magnitude, count))
    return sorted(counts)


def _linear(map_: Map, cells: bytes) -> Aggregate:
    linear = map_.parameters
    assert isinstance(linear, Linear)
    if len(cells) < _LHIST_HEAD.size:
        raise ProtocolError(f"a histogram of @{map_.name} has {len(cells) // 8} cells")
    integral, floating, low, low_floating, high, high_floating = _LHIST_HEAD.unpack_from(cells)
    size = linear.buckets + 2
    counts = _laid_out(_occupied(map_, cells[_LHIST_HEAD.size :], size), size)
    if any(count < 0 for count in counts):
        raise ProtocolError("a histogram has a negative count")
    n = sum(counts)
    return LinearHistogram(
        linear,
        integral,
        floating,
        _least(n, low, low_floating).value,
        _greatest(n, high, high_floating).value,
        counts,
    )


def _occupied(map_: Map, segments: bytes, most: int) -> Iterator[tuple[int, int]]:
    """The cells that are not 0, with their numbers. The input has segments of cells, each after its number."""
    if len(segments) % _SEGMENT.size:
        raise ProtocolError(f"map @{map_.name} has {len(segments) // 8} cells of buckets")
    end = 0
    for number, *cells in _SEGMENT.iter_unpack(segments):
        at = number * _SEGMENT_CELLS
        if not end <= at < most:
            raise ProtocolError(f"map @{map_.name} has a wrong segment of buckets: {number}")
        end = at + len(cells)
        for index, cell in enumerate(cells, at):
            if cell:
                if index >= most:
                    raise ProtocolError(f"map @{map_.name} has {index + 1} buckets")
                yield index, cell


def _laid_out(occupied: Iterable[tuple[int, int]], size: int) -> tuple[int, ...]:
    """So many cells. If no cell is occupied, all calls return the same tuple."""
    cells = dict(occupied)
    return tuple(cells.get(index, 0) for index in range(size)) if cells else _zeros(size)


@lru_cache(maxsize=16)
def _zeros(size: int) -> tuple[int, ...]:
    return (0,) * size


def _series(map_: Map, cells: bytes) -> Aggregate:
    series = map_.parameters
    assert isinstance(series, Series)
    if len(cells) < 16 or (len(cells) - 16) % _WINDOW.size:
        raise ProtocolError(f"a series of @{map_.name} has {len(cells) // 8} cells")
    n, epoch = struct.unpack_from(">qq", cells)
    windows = []
    for at, samples, integral, bits in _WINDOW.iter_unpack(cells[16:]):
        (floating,) = struct.unpack(">d", struct.pack(">q", bits))
        windows.append((at, _window(series.operator, samples, integral, floating)))
    return TimeSeries(n, series, epoch, _joined_windows(windows, epoch, series))


def _window(operator: SeriesOperator, n: int, integral: int, floating: float) -> Window:
    match operator:
        case SeriesOperator.SUM:
            return Total(n, integral, floating)
        case SeriesOperator.AVG:
            return Average(n, integral, floating)
        case SeriesOperator.MIN:
            return _least(n, integral, floating)
        case SeriesOperator.MAX:
            return _greatest(n, integral, floating)
        case SeriesOperator.COUNT:
            return Count(n)


def _distinct(map_: Map, cells: bytes) -> Aggregate:
    size = 1 << REGISTER_BITS
    if len(cells) < 8:
        raise ProtocolError(f"distinct values of @{map_.name} have no cells")
    (n,) = struct.unpack_from(">q", cells)
    registers = struct.pack(f"<{size // 8}q", *_laid_out(_occupied(map_, cells[8:], size // 8), size // 8))
    if max(registers) > 64 - REGISTER_BITS + 1:
        raise ProtocolError(f"map @{map_.name} has a register of {max(registers)}")
    return Distinct(n, registers)


def _sketch(map_: Map, cells: bytes, values: list[Value]) -> Aggregate:
    """An aggregate that holds values."""
    numbers = struct.unpack(f">{len(cells) // 8}q", cells)
    kind, most = map_.kind, map_.parameters
    if kind is MapKind.TOPK and isinstance(most, Most) and len(numbers) == 2 + 2 * len(values):
        entries = zip(values, numbers[2::2], numbers[3::2], strict=True)
        frequent = [Frequent(value, count, error) for value, count, error in entries]
        if any(not 0 <= value.error <= value.count for value in frequent):
            raise ProtocolError(f"map @{map_.name} has a count below its error")
        return Top(numbers[0], most.count, numbers[1], by_frequency(frequent))
    if kind is MapKind.SAMPLE_OF and isinstance(most, Most) and len(numbers) == 1:
        return Examples(numbers[0], most.count, tuple(values[: most.count]))
    if kind in (MapKind.FIRST, MapKind.LAST) and len(numbers) == 1 and len(values) == 1:
        return First(numbers[0], values[0]) if kind is MapKind.FIRST else Last(numbers[0], values[0])
    raise ProtocolError(f"{kind.value} of map @{map_.name} has {len(numbers)} cells and {len(values)} values")


def _least(n: int, integral: int, floating: float) -> Least:
    return Least(n, _choose(min, *_extremes(n, integral, _LONG_MAX, floating, float("inf"))))


def _greatest(n: int, integral: int, floating: float) -> Greatest:
    return Greatest(n, _choose(max, *_extremes(n, integral, _LONG_MIN, floating, float("-inf"))))


def _stats(
    n: int, total: int, total_floating: float, low: int, low_floating: float, high: int, high_floating: float
) -> Stats:
    return Stats(
        n,
        total,
        total_floating,
        _least(n, low, low_floating).value,
        _greatest(n, high, high_floating).value,
    )


_HIST_HEAD: Final = struct.Struct(">qdqq")
_OLD_HIST_HEAD: Final = struct.Struct(">qdqqq")
_LHIST_HEAD: Final = struct.Struct(">qdqdqd")
_SEGMENT_CELLS: Final = 64
_SEGMENT: Final = struct.Struct(f">{1 + _SEGMENT_CELLS}q")
_WINDOW: Final = struct.Struct(">qqqq")
_FIXED: Final[dict[MapKind, tuple[struct.Struct, Callable[..., Window | Stats]]]] = {
    MapKind.COUNT: (struct.Struct(">q"), Count),
    MapKind.SUM: (struct.Struct(">qqd"), Total),
    MapKind.AVG: (struct.Struct(">qqd"), Average),
    MapKind.MIN: (struct.Struct(">qqd"), _least),
    MapKind.MAX: (struct.Struct(">qqd"), _greatest),
    MapKind.STATS: (struct.Struct(">qqdqdqd"), _stats),
}


def _extremes(
    n: int, integral: int, integral_start: int, floating: float, floating_start: float
) -> tuple[Number | None, Number | None]:
    """The extremes of integral and of floating samples; None if the initial value shows that there were no samples."""
    if n == 0:
        return None, None
    if integral == integral_start and floating == floating_start:
        # All samples equal one of the two initial values, and it is unknown which one.
        return integral, None
    return (
        None if integral == integral_start else integral,
        None if floating == floating_start else floating,
    )


def _choose(pick: Callable[[N, N], N], left: N | None, right: N | None) -> N | None:
    if left is None:
        return right
    return left if right is None else pick(left, right)


def _joined(integral: int, floating: float) -> Number:
    """The integral sum L, or L + D when the floating sum D is not +0.0 (docs/runtime.md)."""
    return integral if floating == 0 and struct.pack(">d", floating) == bytes(8) else integral + floating


def _wrap(value: int) -> int:
    return (value - _LONG_MIN) % (1 << 64) + _LONG_MIN


def _total_or_mean(value: Aggregate, by: str) -> Number | None:
    if isinstance(value, Stats | Histogram | LinearHistogram):
        return value.total if by == "sum" else value.mean
    if isinstance(value, Total):
        return value.number if by == "sum" else None
    if isinstance(value, Average):
        return _joined(value.integral, value.floating) if by == "sum" else value.number
    return None


def _extreme(value: Aggregate, by: str) -> Number | None:
    if isinstance(value, Stats | Histogram | LinearHistogram):
        return value.least if by == "min" else value.greatest
    if isinstance(value, Least):
        return value.value if by == "min" else None
    if isinstance(value, Greatest):
        return value.value if by == "max" else None
    return None


def _component_order(component: Value) -> tuple[int, Number, str]:
    """An order over keys of any mixture of types: null, numbers by value, text, then all other keys by their printed
    form.
    """
    if component is None:
        return 0, 0, ""
    if isinstance(component, float) and component != component:
        return 1, float("inf"), ""
    if isinstance(component, bool | int | float):
        return 1, component, ""
    if isinstance(component, str):
        return 2, 0, component
    return 3, 0, repr(component)
