"""Records that a script holds back (``speculate``) until it shows them (``commit``) or drops them (``discard``).

The client holds these records, not the target. It holds a limited number for a limited time. Every held record that is
not shown is counted for its probe.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import field
from typing import Final

from btpy.dataclass import dataclass
from btpy.errors import ProtocolError
from btpy.events.records import Record
from btpy.model.templates import Template, TemplateKind

MAX_RECORDS: Final = 1 << 16
"""The largest number of held records. If there are more, the oldest speculation is dropped."""

MAX_NANOS: Final = 60 * 10**9
"""A speculation is dropped this long after its first record, by the clock of the records."""


@dataclass(slots=True)
class _Held:
    since: int
    records: list[Record] = field(default_factory=list)


class Speculations:
    """The speculations of one session, whose templates may grow. ``dropped`` counts the records that were held and will
    not be shown, by probe. ``controls`` counts the records that commit or discard a speculation, by probe."""

    def __init__(self, templates: Sequence[Template]) -> None:
        self._templates = templates
        self._looked_at = 0
        self._is_needed = False
        self._speculations: dict[Hashable, _Held] = {}  # oldest first
        self._count = 0
        self.dropped: Counter[int] = Counter()
        self.controls: Counter[int] = Counter()

    def settle(self, records: list[Record]) -> list[Record]:
        """The records to show now, in order: some of the new ``records`` and of the held records. Raises
        ProtocolError."""
        if not self._needed():
            return records
        visible: list[Record] = []
        for record in records:
            template = self._template(record)
            if template.kind is TemplateKind.COMMIT:
                visible += self._taken(record)
            elif template.kind is TemplateKind.DISCARD:
                self._drop(self._taken(record))
            elif template.speculative:
                id_, record_content = _split(record)
                if id_ is None:
                    visible.append(record_content)
                else:
                    self._hold(id_, record_content)
            else:
                visible.append(record)
            self._expire(record.nanos)
        return visible

    def close(self) -> None:
        """Called at the end: the remaining records are dropped."""
        for speculation in self._speculations.values():
            self._drop(speculation.records)
        self._speculations.clear()

    def _needed(self) -> bool:
        """Whether a template has speculative records. New templates may have been added."""
        if self._looked_at < len(self._templates):
            deciding = (TemplateKind.COMMIT, TemplateKind.DISCARD)
            fresh = self._templates[self._looked_at :]
            self._is_needed |= any(template.speculative or template.kind in deciding for template in fresh)
            self._looked_at = len(self._templates)
        return self._is_needed

    def _template(self, record: Record) -> Template:
        if not 0 <= record.template < len(self._templates):
            raise ProtocolError(f"record of template {record.template}, of {len(self._templates)}")
        return self._templates[record.template]

    def _taken(self, record: Record) -> list[Record]:
        self.controls[record.probe] += 1
        id_, _ = _split(record)
        speculation = self._speculations.pop(id_, None)
        if speculation is None:
            return []
        self._count -= len(speculation.records)
        return speculation.records

    def _hold(self, id_: Hashable, record: Record) -> None:
        self._speculations.setdefault(id_, _Held(record.nanos)).records.append(record)
        self._count += 1
        if self._count > MAX_RECORDS:
            self._give_up(next(iter(self._speculations)))

    def _expire(self, now: int) -> None:
        while self._speculations:
            oldest = next(iter(self._speculations))
            if now - self._speculations[oldest].since <= MAX_NANOS:
                return
            self._give_up(oldest)

    def _give_up(self, id_: Hashable) -> None:
        speculation = self._speculations.pop(id_)
        self._count -= len(speculation.records)
        self._drop(speculation.records)

    def _drop(self, records: Iterable[Record]) -> None:
        self.dropped.update(record.probe for record in records)


def _split(record: Record) -> tuple[Hashable, Record]:
    """The id at the beginning of a record, and the record without it."""
    if not record.values:
        raise ProtocolError(f"record of template {record.template} without an id")
    return record.values[0], record._replace(values=record.values[1:])
