"""Maps of probes as Python mappings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

from btpy.engine.delivery import Delivery
from btpy.errors import TargetGone, UsageError
from btpy.events import aggregates
from btpy.events.aggregates import Aggregate, Bucket, Key, LinearBucket, LinearHistogram, MapContent, Number, Stats
from btpy.events.estimates import Skips
from btpy.events.records import Value
from btpy.events.sketches import Distinct, Examples, First, Last, Top
from btpy.events.stacks import StackTable
from btpy.model.maps import Map, MapKind, map_title
from btpy.model.types import Kind
from btpy.output.histogram import PERCENTILES, bars, headline, rows
from btpy.output.maps import MapText
from btpy.output.ndjson import json_value
from btpy.output.style import Style
from btpy.output.tables import TableOptions
from btpy.output.values import ValueText
from btpy.wire import messages

_UNITS = {Kind.DURATION: "ns", Kind.BYTES: "bytes"}


class Histogram:
    """A distribution, from ``hist``, ``pctl`` or ``lhist``. Numbers are in ``unit`` (``ns``, ``bytes`` or nothing)."""

    def __init__(self, histogram: aggregates.Histogram | LinearHistogram, kind: Kind) -> None:
        self._histogram = histogram
        self._kind = kind

    @property
    def unit(self) -> str:
        return _UNITS.get(self._kind, "")

    @property
    def count(self) -> int:
        return self._histogram.n

    @property
    def total(self) -> Number:
        return self._histogram.total

    @property
    def mean(self) -> Number:
        """NaN without samples."""
        return self._histogram.mean

    @property
    def min(self) -> Number | None:
        """Exact; None without samples."""
        return self._histogram.least

    @property
    def max(self) -> Number | None:
        """Exact; None without samples."""
        return self._histogram.greatest

    def percentile(self, percent: float) -> Number | None:
        """The sample that ``percent`` of the samples do not exceed, with the precision of its bucket; None without
        samples.
        """
        at = self._histogram.percentile(percent)
        return at if at is None or isinstance(at, int | float) else at.estimate

    @property
    def percentiles(self) -> dict[float, Number | None]:
        """The 50th, 90th and 99th percentile."""
        return {percent: self.percentile(percent) for percent in PERCENTILES}

    @property
    def buckets(self) -> list[Bucket] | list[LinearBucket]:
        """The buckets from the first occupied bucket to the last: ``low``, ``high`` and ``count``."""
        return self._histogram.buckets()

    def __repr__(self) -> str:
        return f"<Histogram {headline(self._histogram, self._kind)}>"

    def __str__(self) -> str:
        return "\n".join([headline(self._histogram, self._kind), *bars(self._histogram, self._kind, Style())])

    def _repr_html_(self) -> str:
        histogram_rows = rows(self._histogram, self._kind)
        most = max((count for _, count in histogram_rows), default=1)
        table = "".join(
            f'<tr><td style="text-align:right">{_escaped(label)}</td>'
            f'<td style="text-align:left"><div style="background:#4c78a8;height:0.8em;'
            f'width:{max(1, round(240 * count / most)) if count else 0}px"></div></td>'
            f'<td style="text-align:right">{count}</td></tr>'
            for label, count in histogram_rows
        )
        return f"<div>{_escaped(headline(self._histogram, self._kind))}</div><table>{table}</table>"


class MapView(Mapping[Any, Any]):
    """The content of a map when it was read.

    A key is a Python value, a tuple if the map has several keys, and ``()`` if it has none. Values are numbers for
    ``count sum avg min max distinct``, :class:`btpy.events.aggregates.Stats` for ``stats``, :class:`Histogram` for
    ``hist pctl lhist``, a list of numbers for ``tseries`` (None: no samples), a list of pairs of value and count for
    ``topk``, and a list of values for ``sample_of``. Values of other kinds are the stored values. Keys are in the order
    in which they are printed.

    ``content``: the original aggregates, which can be merged. ``full``: samples lost because the map was full.
    """

    def __init__(self, content: MapContent, stacks: StackTable) -> None:
        self.content = content
        self._stacks = stacks
        self._entries = {self._key(key): self._value(value) for key, value in aggregates.ranked(content)}

    @property
    def name(self) -> str:
        return self.content.map.title

    @property
    def kind(self) -> str:
        """``count``, ``hist`` …; ``value`` of a plain map."""
        return str(self.content.map.kind.value)

    @property
    def unit(self) -> str:
        """``ns``, ``bytes`` or nothing."""
        return _UNITS.get(self.content.map.type.kind, "")

    @property
    def full(self) -> int:
        return self.content.full

    @property
    def skips(self) -> Skips | None:
        """Hits that sampling or the budget skipped; None: the map is exact."""
        return self.content.skips

    def intervals(self, key: Any = ()) -> dict[str, tuple[Number | None, Number | None]]:
        """The intervals that contain the numbers of a value with 99 % confidence. They have the names ``count``,
        ``average``, ``total``, ``min`` and ``max``, or ``value`` if the value is one number. None in an interval means
        that there is no bound. An exact value has no intervals. For a map without keys, leave out ``key``. Raises
        KeyError.
        """
        for own, value in self.content.entries:
            if self._key(own) == key:
                return {
                    name or "value": (interval.low, interval.high)
                    for name, interval in aggregates.intervals(value).items()
                }
        raise KeyError(key)

    @property
    def value(self) -> Any:
        """The value of a map without keys; None if it is empty."""
        return self._entries.get(())

    def __getitem__(self, key: Any) -> Any:
        return self._entries[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<{self.name} {self._entries!r}>"

    def __str__(self) -> str:
        style = Style()
        return "\n".join(MapText(ValueText(self._stacks, style), style).lines(self.content, TableOptions()))

    def _repr_html_(self) -> str:
        if self.content.map.kind in (MapKind.HIST, MapKind.PCTL, MapKind.LHIST):
            parts = [
                f"<div><b>{_escaped(self.name)}</b> {_escaped('' if key == () else str(key))}</div>"
                f"{value._repr_html_()}"
                for key, value in self.items()
            ]
            return "".join(parts)
        rows = self.rows()
        heads = "".join(f"<th>{_escaped(str(name))}</th>" for name in (rows[0] if rows else {}))
        cells = "".join(
            "<tr>" + "".join(f"<td>{_escaped(str(value))}</td>" for value in row.values()) + "</tr>" for row in rows
        )
        return f"<div><b>{_escaped(self.name)}</b></div><table><tr>{heads}</tr>{cells}</table>"

    def rows(self) -> list[dict[str, Any]]:
        """A row for each key: ``key`` (``key0``, ``key1`` … where there are several) and the value: ``value``, or
        several columns of ``stats`` and distributions.
        """
        table = []
        for key, value in self.items():
            if self.content.map.keys > 1:
                row = {f"key{index}": component for index, component in enumerate(key)}
            else:
                row = {} if key == () else {"key": key}
            table.append({**row, **_columns(value), **self._bounds(key)})
        return table

    def _bounds(self, key: Any) -> dict[str, Any]:
        """The further columns of a map that is not exact."""
        if self.skips is None:
            return {}
        intervals = self.intervals(key)
        low, high = intervals.get("value", intervals.get("count", (None, None)))
        return {"skipped": self.skips.skipped, "low": low, "high": high}

    def to_pandas(self) -> Any:
        """:meth:`rows` as a DataFrame of pandas. Raises UsageError when pandas is not installed."""
        return _installed("pandas").DataFrame(self.rows())

    def to_polars(self) -> Any:
        """:meth:`rows` as a DataFrame of polars; where values of one column are of different types, they are text.
        Raises UsageError when polars is not installed.
        """
        return _installed("polars").DataFrame(self.rows(), infer_schema_length=None, strict=False)

    def _key(self, key: Key) -> Any:
        components = tuple(self._component(component) for component in key)
        return components[0] if len(components) == 1 else components

    def _component(self, value: Value) -> Any:
        component = self._python(value)
        if isinstance(component, list):
            return tuple(component)
        return ValueText(self._stacks, Style()).show(value) if isinstance(component, dict) else component

    def _value(self, value: Aggregate | Value) -> Any:
        if isinstance(value, aggregates.Histogram | LinearHistogram):
            return Histogram(value, self.content.map.type.kind)
        if isinstance(value, Stats):
            return value
        if isinstance(value, aggregates.TimeSeries):
            return value.values()
        if isinstance(value, Top):
            return [(self._python(frequent.value), frequent.count) for frequent in value.shown]
        if isinstance(value, Distinct):
            return value.estimate
        if isinstance(value, First | Last):
            return self._python(value.value)
        if isinstance(value, Examples):
            return [self._python(sample) for sample in value.values]
        if isinstance(value, aggregates.Least | aggregates.Greatest):
            return value.value
        if isinstance(value, Aggregate):
            return value.number
        return self._python(value)

    def _python(self, value: Value) -> Any:
        return value if isinstance(value, float) else json_value(value, self._stacks, {}, "")


def _columns(value: Any) -> dict[str, Any]:
    if isinstance(value, Histogram):
        percentiles = {f"p{percent:g}": at for percent, at in value.percentiles.items()}
        return {"count": value.count, "mean": value.mean, **percentiles, "min": value.min, "max": value.max}
    if isinstance(value, Stats):
        return {
            "count": value.n,
            "mean": value.mean,
            "total": value.total,
            "min": value.least,
            "max": value.greatest,
        }
    return {"value": value}


def _installed(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise UsageError(f"{package} is not installed", help=[f"pip install {package}"]) from None


class Maps(Mapping[str, MapView]):
    """The maps of a session by name: ``"@lat"``, ``"lat"`` or, of a library, ``"jdbc.@sql"``. Each access reads the map
    again. If two maps have the same name, the name means the later map.

    ``frozen``: whether the maps have their final content: after the session, and when the target has ended regularly. A
        target that is killed leaves no maps.
    """

    def __init__(self, delivery: Delivery) -> None:
        self._delivery = delivery
        self._last: list[messages.Maps] | None = None

    def __getitem__(self, name: str) -> MapView:
        """Raises KeyError, and TargetGone when the target was killed."""
        content = self._read(self._named()[name if "@" in name else map_title(name)].id)
        if content is None:
            raise KeyError(name)
        return MapView(content, self._delivery.stacks)

    def __iter__(self) -> Iterator[str]:
        return iter(self._named())

    def __len__(self) -> int:
        return len(self._named())

    def __repr__(self) -> str:
        return f"<Maps {', '.join(self)}>"

    @property
    def frozen(self) -> bool:
        return self._last is not None

    def freeze(self, answers: list[messages.Maps]) -> None:
        """From now on use these contents, which the target has sent."""
        self._last = answers

    def answers(self) -> list[messages.Maps]:
        """All maps in the form of the target, one in each message."""
        return self._delivery.snapshots() if self._last is None else self._last

    def contents(self, answers: Iterable[messages.Maps]) -> list[MapContent]:
        """The content of each map that the target has sent, decoded. Raises ProtocolError."""
        return [content for answer in answers for content in self._delivery.contents(answer)]

    def _read(self, map_: int) -> MapContent | None:
        if self._last is None:
            try:
                return next(iter(self._delivery.snapshot([map_])), None)
            except TargetGone:
                if self._last is None:  # the target may have ended regularly in the meantime
                    raise
        return next((content for content in self.contents(self._last) if content.map.id == map_), None)

    def _named(self) -> dict[str, Map]:
        return {map_.title: map_ for map_ in self._delivery.outline.maps}


def _escaped(text: str) -> str:
    from html import escape  # imported late: it loads a table of two thousand entities

    return escape(text)
