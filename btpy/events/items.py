"""What a session yields, from the messages of the agent: for the one who shows it, and for the one who replays it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Union

from btpy.errors import ProtocolError
from btpy.events.aggregates import MapContent, decode_contents
from btpy.events.allowance import Allowance
from btpy.events.records import Record, RecordDecoder
from btpy.frozen import dataclass
from btpy.model.outline import Outline
from btpy.wire import messages
from btpy.wire.messages import (
    UNKNOWN_PROBE,
    Counters,
    ErrorKind,
    Errors,
    Events,
    Exiting,
    Late,
    Message,
    ProbeFailure,
    ProbeState,
    Restrained,
)


@dataclass(frozen=True, slots=True)
class Unread:
    """Firings of which only the number is known, by probe."""

    counts: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Records:
    """Firings, in the order in which the agent drained them. ``unread``: others that came with them. ``malformed``: an
    error for each record that could not be read."""

    records: list[Record]
    unread: Unread | None = None
    malformed: Errors | None = None


@dataclass(frozen=True, slots=True)
class PrintedMaps:
    """``print(@m)``, ``plot(@m)`` or ``table(@a, @b, …)`` ran at ``nano_time``."""

    template: int
    nano_time: int
    contents: tuple[MapContent, ...]


Item = Union[Records, Unread, PrintedMaps, Errors, Counters, Late, Exiting, Restrained]


@dataclass(frozen=True, slots=True)
class Cost:
    """What firings of one probe took, in ns: the mean of the ``timed`` ones and its standard deviation, their 99th
    percentile, and all firings together."""

    timed: int = 0
    mean: float = 0.0
    error: float = 0.0
    p99: int = 0
    cpu: int = 0


@dataclass(frozen=True, slots=True)
class ProbeTally:
    """What became of the hits and records of one probe; ``produced`` by the agent's count, ``delivered`` by ours.
    ``skipped``: hits that sampling or the budget did not look at. ``rested_ns``: how long the budget had it disabled.

    ``produced`` leaves out what went to clients that were there before. ``dropped_unattended``: no client came in time.
    ``untrue``: hits for which a predicate was false, at least: no more than 1,000 are counted; None: not known.
    """

    probe: int
    fired: int
    skipped: int
    limited: int
    state: ProbeState
    produced: int
    delivered: int
    dropped_full: int
    dropped_large: int
    dropped_stalled: int
    map_full: int
    dropped_unattended: int = 0
    dropped_budget: int = 0
    cost: Cost = Cost()
    untrue: int | None = None
    rested_ns: int = 0

    @property
    def dropped(self) -> int:
        lost = self.dropped_full + self.dropped_large + self.dropped_stalled
        return lost + self.dropped_unattended + self.dropped_budget


def cost_of(counters: messages.ProbeCounters) -> Cost:
    return Cost(
        timed=counters.timed,
        mean=counters.cost_ps / 1000,
        error=counters.cost_error_ps / 1000,
        p99=counters.cost_p99_ns,
        cpu=counters.cpu_ns,
    )


class ItemDecoder:
    """Of one session: its messages have to come in order, because records refer to threads that were named before.
    ``tells_skips``: as for :func:`~btpy.events.aggregates.decode_content`."""

    def __init__(self, *, tells_skips: bool = True) -> None:
        self._records = RecordDecoder()
        self._tells_skips = tells_skips

    def item(self, message: Message, outline: Outline, allowance: Allowance | None = None) -> Item:
        """``outline``: of the program. ``allowance``: None, all records are read. Raises ProtocolError."""
        if isinstance(message, Events):
            self._records.expect(outline.templates, len(outline.probes))
            unread: Mapping[int, int] = {}
            if allowance is None:
                records = self._records.decode(message.records)
            else:
                records, unread = self._records.decode_some(message.records, allowance)
            return Records(records, Unread(unread) if unread else None, self._malformed(outline))
        if isinstance(message, messages.Map):
            maps = {map_.id: map_ for map_ in outline.maps}
            contents = tuple(decode_contents(message.contents, maps, tells_skips=self._tells_skips))
            return PrintedMaps(message.template, message.nano_time, contents)
        if isinstance(message, (Errors, Counters, Late, Exiting, Restrained)):
            return message
        raise ProtocolError(f"{type(message).__name__} from the agent")

    def _malformed(self, outline: Outline) -> Errors | None:
        """What could not be read since the last call, as errors of the probes."""
        malformed = self._records.malformed
        if not malformed:
            return None
        self._records.malformed = []
        return Errors(
            tuple(
                ProbeFailure(
                    probe if 0 <= probe < len(outline.probes) else UNKNOWN_PROBE,
                    0,
                    ErrorKind.INTERNAL,
                    1,
                    f"a record that cannot be read: {why}",
                )
                for probe, why in malformed
            )
        )
