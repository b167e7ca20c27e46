"""The counts of a map since the export began, including values that the script has removed.

A target sends the current content of a map. A script may empty it (``flush``, ``clear``, ``delete``), but a cumulative
metric must only grow. So this module keeps the removed values and adds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from btpy.events.accounts import ProbeAccount
from btpy.events.aggregates import (
    Aggregate,
    Average,
    Count,
    Histogram,
    Key,
    LinearHistogram,
    MapContent,
    Stats,
    Total,
    merged,
)
from btpy.events.exemplars import Exemplar, newest
from btpy.events.records import Value
from btpy.model.maps import MapKind

NOT_EXPORTED = (MapKind.SAMPLE_OF, MapKind.TSERIES)
"""Kinds of maps that fit no kind of metric."""

MOST_KEYS = 10_000
"""The largest number of keys of a map that are kept separately. Samples of other keys are added under
:data:`OVERFLOW`."""

_WithSums = Total | Average | Stats | Histogram | LinearHistogram
Summable = Count | _WithSums
ExactKey = tuple[tuple[type, Value], ...]
"""The components of a key with their types: 1, 1.0 and true are different keys, but equal in Python."""

OVERFLOW: ExactKey = ()
"""The key for samples beyond the limit of keys, in a map that has keys."""


class Series:
    """The values of one map by key."""

    def __init__(self, most_keys: int = MOST_KEYS) -> None:
        self._most_keys = most_keys
        self._keys: set[ExactKey] = set()
        self._emptied: dict[ExactKey, Summable] = {}
        self._present: dict[ExactKey, Summable] = {}  # in the map at the last reading
        self.exemplars: dict[ExactKey, tuple[Exemplar, ...]] = {}
        """The newest exemplar of each size, by key. Each reading of the map brings only new exemplars."""

    def add(self, content: MapContent) -> None:
        """Adds the content that a flush has taken out of the map: no other content includes it."""
        for key, value in self._keyed(content):
            self._emptied[key] = _sum(self._emptied.get(key), value)

    def put(self, content: MapContent) -> None:
        """Sets the current content of the map. A key that is missing, or has fewer samples than before, was removed
        meanwhile.
        """
        present: dict[ExactKey, Summable] = {}
        for key, value in self._keyed(content):
            present[key] = _sum(present.get(key), value)
        for key, value in self._present.items():
            if key not in present and content.omitted:
                present[key] = value  # the key may still exist: the message had no room for all keys
            elif key not in present or present[key].n < value.n:
                self._emptied[key] = _sum(self._emptied.get(key), value)
        self._present = present

    def totals(self) -> dict[ExactKey, Summable]:
        """The counts since the start, by key."""
        totals = dict(self._emptied)
        for key, value in self._present.items():
            totals[key] = _sum(totals.get(key), value)
        return totals

    def _keyed(self, content: MapContent) -> Iterator[tuple[ExactKey, Summable]]:
        for key, value in content.entries:
            if not isinstance(value, Summable):
                continue
            exact = exact_key(key)
            if exact not in self._keys and len(self._keys) >= self._most_keys:
                exact = OVERFLOW
            self._keys.add(exact)
            if isinstance(value, Histogram | LinearHistogram) and value.exemplars:
                self.exemplars[exact] = newest((*self.exemplars.get(exact, ()), *value.exemplars))
                value = replace(value, exemplars=())
            yield exact, value


class Readings:
    """The maps of one target at their last reading, and the counts of its probes, by their ids. The caller holds a lock
    if several threads use this object.
    """

    def __init__(self) -> None:
        self.accounts: dict[int, ProbeAccount] = {}
        self._series: dict[int, Series] = {}
        self._others: dict[int, dict[ExactKey, Aggregate | Value]] = {}  # the values that cannot be added

    def put(self, content: MapContent, *, flushed: bool) -> None:
        """``flushed``: the content has been taken out of the map. Maps that fit no metric are left out."""
        if content.map.kind in NOT_EXPORTED:
            return
        self._others[content.map.id] = {
            exact_key(key): value for key, value in content.entries if not isinstance(value, Summable)
        }
        series = self._series.setdefault(content.map.id, Series())
        if flushed:
            series.add(content)
        else:
            series.put(content)

    def count(self, accounts: Iterable[ProbeAccount]) -> None:
        self.accounts.update((account.probe, account) for account in accounts)

    def totals(self) -> dict[int, dict[ExactKey, Summable]]:
        """The counts since the start, by map and key."""
        return {id_: series.totals() for id_, series in self._series.items()}

    def exemplars(self, id_: int) -> dict[ExactKey, tuple[Exemplar, ...]]:
        """The newest exemplars of a map, by key."""
        series = self._series.get(id_)
        return {} if series is None else series.exemplars

    def others(self, id_: int) -> dict[ExactKey, Aggregate | Value]:
        """The values of a map that cannot be added, by key."""
        return self._others.get(id_, {})


def exact_key(key: Key) -> ExactKey:
    return tuple(
        (type(component), component if component == component else "NaN")  # NaN is not equal to itself
        for component in key
    )


def _sum(a: Summable | None, b: Summable) -> Summable:
    if a is None:
        return b
    both = merged(a, b)
    assert isinstance(both, Summable)
    return both


def difference(value: Summable, before: Summable) -> Summable:
    """The samples of ``value`` that ``before``, an earlier value of the same key, did not have. Their extremes are
    unknown, so the result has the extremes of all samples.
    """
    if isinstance(value, Count) and isinstance(before, Count):
        return replace(value, n=value.n - before.n)
    if isinstance(value, Histogram) and isinstance(before, Histogram):
        counts = dict(value.counts)
        for bucket, count in before.counts:
            counts[bucket] = counts.get(bucket, 0) - count
        return replace(
            value,
            **_sums(value, before),
            counts=tuple(sorted((bucket, count) for bucket, count in counts.items() if count)),
        )
    if isinstance(value, LinearHistogram) and isinstance(before, LinearHistogram):
        counts_ = tuple(a - b for a, b in zip(value.counts, before.counts, strict=True))
        return replace(value, **_sums(value, before), counts=counts_)
    if isinstance(value, Total | Average | Stats) and isinstance(before, type(value)):
        return replace(value, n=value.n - before.n, **_sums(value, before))
    raise ValueError(f"{type(before).__name__} before {type(value).__name__}")


def _sums(value: _WithSums, before: _WithSums) -> dict[str, Any]:
    return {"integral": value.integral - before.integral, "floating": value.floating - before.floating}
