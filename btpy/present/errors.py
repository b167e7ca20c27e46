"""Errors of probes: the first error of each kind and place is shown, at most one a second; the rest is counted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from btpy.api.results import ErrorKind
from btpy.output.writer import ProbeError

_SECONDS = 1.0
"""Seconds between two errors that are shown."""

_Key = tuple[ErrorKind, int, int]
"""The kind of an error, and the place in all sources of the program where it begins and ends."""


class ProbeErrors:
    """``totals``: all errors so far, added up by kind and place."""

    def __init__(self) -> None:
        self.totals: dict[_Key, ProbeError] = {}
        self._shown_counts: dict[_Key, int] = {}
        self._last_shown = float("-inf")

    def add(self, error: ProbeError) -> ProbeError | None:
        """The error with its count so far, if it must be shown now; None if it is only counted."""
        base = error.span.source.base
        key = error.kind, base + error.span.start, base + error.span.end
        earlier_error = self.totals.get(key)
        self.totals[key] = total = (
            error if earlier_error is None else replace(error, count=earlier_error.count + error.count)
        )
        now = time.monotonic()
        if key in self._shown_counts or now - self._last_shown < _SECONDS:
            return None
        self._last_shown = now
        self._shown_counts[key] = total.count
        return total

    def remaining(self) -> Iterator[tuple[ProbeError, bool]]:
        """The errors at the end of a run whose last count has not been shown, and whether each was shown before."""
        for key, total in self.totals.items():
            if self._shown_counts.get(key) != total.count:
                yield total, key in self._shown_counts
                self._shown_counts[key] = total.count

    def count(self, probe: str | None = None) -> int:
        """Of one probe; None: of all."""
        return sum(error.count for error in self.totals.values() if probe in (None, error.probe))
