"""The output of a run for Prometheus: keeps the maps and the counts of the probes of one target."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence

from btpy.distribution import version
from btpy.events.accounts import ProbeAccount
from btpy.events.aggregates import MapContent
from btpy.model.templates import Template
from btpy.output.map_series import Readings
from btpy.output.origin import Origin
from btpy.output.prometheus.families import PREFIX, TARGET, Families, FamilySample, add_map, add_probes, names_of
from btpy.output.simple_values import SimpleValues
from btpy.output.values import well_formed
from btpy.output.writer import Context, End, ExportWriter


class ExpositionWriter(ExportWriter):
    """One thread puts contents in, others read them. Prints and events are not metrics: they are left out. On several
    hosts, two targets can have the same pid, so the host is a label.
    """

    def __init__(self, context: Context, origin: Origin) -> None:
        self._outline = context.outline
        self._values = SimpleValues(context.stacks)
        self._origin = origin
        self._labels = {"service": well_formed(origin.service), "pid": str(origin.pid)}
        if context.of_hosts:
            self._labels["host"] = well_formed(origin.host)
        self._names = names_of(self._outline, tuple(self._labels))
        self._lock = threading.Lock()
        self._readings = Readings()

    def map(self, content: MapContent, template: Template | None, nanos: int | None) -> None:
        with self._lock:
            self._readings.put(content, flushed=template is not None and content.map.id in template.flushed)

    def joined(self, contents: Sequence[MapContent], template: Template, nanos: int) -> None:
        for content in contents:
            self.map(content, template, nanos)

    def read(self, contents: Iterable[MapContent], accounts: Iterable[ProbeAccount], *, at_end: bool = False) -> None:
        for content in contents:
            self.map(content, None, None)
        self._count(accounts)

    def end(self, end: End) -> None:
        self._count(report.account for report in end.probes)

    def add_to(self, families: Families) -> None:
        """Adds the current values."""
        with self._lock:
            entries = {
                id_: [*self._readings.others(id_).items(), *totals.items()]
                for id_, totals in self._readings.totals().items()
            }
            exemplars = {id_: dict(self._readings.exemplars(id_)) for id_ in entries}
            accounts = list(self._readings.accounts.values())
        about = families.family(PREFIX + TARGET, "info", "the targets of btpy")
        families.add(about, [FamilySample("_info", {**self._labels, **self._described()}, 1)])
        add_probes(families, self._outline, accounts, self._labels)
        for id_, map_entries in entries.items():
            if id_ not in self._names:  # the map of a script that was added later
                self._names = names_of(self._outline, tuple(self._labels))
            map_, names = self._outline.maps[id_], self._names[id_]
            add_map(families, map_, names, map_entries, self._values, self._labels, exemplars[id_])

    def _count(self, accounts: Iterable[ProbeAccount]) -> None:
        with self._lock:
            self._readings.count(accounts)

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
