"""The current values of the maps and probes of one target."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from btpy.distribution import version
from btpy.events.accounts import ProbeAccount
from btpy.events.aggregates import Aggregate, MapContent
from btpy.events.records import Value
from btpy.model.outline import Outline
from btpy.output.map_series import ExactKey, Series, Summable, exact_key
from btpy.output.origin import Origin
from btpy.output.prometheus.families import PREFIX, TARGET, Families, add_map, add_probes, names_of
from btpy.output.simple_values import SimpleValues, well_formed


class TargetMetrics:
    """The maps of one target. One thread puts contents in, others read them."""

    def __init__(self, outline: Outline, values: SimpleValues, origin: Origin) -> None:
        self._outline = outline
        self._values = values
        self._origin = origin
        self._labels = {"service": well_formed(origin.service), "pid": str(origin.pid)}
        self._names = names_of(outline, tuple(self._labels))
        self._lock = threading.Lock()
        self._series: dict[int, Series] = {}
        self._gauges: dict[int, dict[ExactKey, Aggregate | Value]] = {}
        self._accounts: dict[int, ProbeAccount] = {}

    def put(self, content: MapContent, *, flushed: bool = False) -> None:
        """``flushed``: it has been taken out of the map."""
        gauges: dict[ExactKey, Aggregate | Value] = {
            exact_key(key): value for key, value in content.entries if not isinstance(value, Summable)
        }
        with self._lock:
            self._gauges[content.map.id] = gauges
            series = self._series.setdefault(content.map.id, Series())
            if flushed:
                series.add(content)
            else:
                series.put(content)

    def count(self, accounts: Sequence[ProbeAccount]) -> None:
        with self._lock:
            self._accounts.update((account.probe, account) for account in accounts)

    def add_to(self, families: Families) -> None:
        with self._lock:
            totals = {id_: series.totals() for id_, series in self._series.items()}
            gauges = dict(self._gauges)
            accounts = list(self._accounts.values())
        about = families.family(PREFIX + TARGET, "info", "the targets of btpy")
        families.add(about, [("_info", {**self._labels, **self._described()}, 1)])
        add_probes(families, self._outline, accounts, self._labels)
        maps = {map_.id: map_ for map_ in self._outline.maps}
        for id_, own in totals.items():
            if id_ not in self._names:  # of a script that was added later
                self._names = names_of(self._outline, tuple(self._labels))
            entries = [*gauges.get(id_, {}).items(), *own.items()]
            add_map(families, maps[id_], self._names[id_], entries, self._values, self._labels)

    def _described(self) -> Mapping[str, str]:
        origin = self._origin
        script = self._outline.sources[0].name if self._outline.sources else ""
        described = {
            "host": origin.host,
            "java_version": origin.java_version,
            "vm_name": origin.vm_name,
            "script": script,
            "btpy_version": version(),
        }
        return {name: well_formed(text) for name, text in described.items()}
