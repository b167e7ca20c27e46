"""A writer that writes nothing: used for runs that only record, and as a base class of formats that omit parts."""

from __future__ import annotations

from collections.abc import Sequence

from btpy.events.aggregates import MapContent
from btpy.events.records import Record
from btpy.model.templates import Template
from btpy.output.writer import Attached, End, Loss, ProbeError, Restraint


class SilentWriter:
    def attached(self, attached: Attached) -> None:
        pass

    def records(self, records: Sequence[Record]) -> None:
        pass

    def map(self, content: MapContent, template: Template | None, nanos: int | None) -> None:
        pass

    def joined(self, contents: Sequence[MapContent], template: Template, nanos: int) -> None:
        pass

    def note(self, text: str) -> None:
        pass

    def probe_error(self, error: ProbeError) -> None:
        pass

    def lost(self, loss: Loss) -> None:
        pass

    def restrained(self, restraint: Restraint) -> None:
        pass

    def end(self, end: End) -> None:
        pass

    def close(self) -> None:
        pass
