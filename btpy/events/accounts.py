"""The account of one probe: its hits and its records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from types import MappingProxyType
from typing import Final

from btpy.dataclass import dataclass
from btpy.wire.messages import ProbeCounters, ProbeState


class Cause(Enum):
    """The causes of dropped records. Every output format and the recordings use these values.

    RING: the event buffer was full. LARGE: the record did not fit a chunk. STALLED: the client was too slow.
    UNATTENDED: no client connected in time. BUDGET: the budget was used up.
    """

    RING = "ring"
    LARGE = "large"
    STALLED = "stalled"
    UNATTENDED = "unattended"
    BUDGET = "budget"


NOTHING_DROPPED: Final[Mapping[Cause, int]] = MappingProxyType(dict.fromkeys(Cause, 0))


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of firings of one probe, in ns: the mean of the ``timed`` firings and its standard deviation, their 99th
    percentile, and the sum of all firings.
    """

    timed: int = 0
    mean: float = 0.0
    error: float = 0.0
    p99: int = 0
    cpu: int = 0


@dataclass(frozen=True, slots=True)
class ProbeAccount:
    """``fired``: hits that passed the predicate and the limits of the probe. ``skipped``: hits that sampling or the
    budget skipped. ``limited``: hits that did not fire because of a limit. ``untrue``: hits for which the predicate was
    false. At most 1,000 untrue hits are counted; None: not known. ``rested_ns``: the time for which the budget had the
    probe disabled, so that its hits were not counted.

    ``produced``: records, as the agent counts them; ``delivered``: records that have arrived here; ``dropped_by``: the
    dropped records, by cause. Records for earlier clients of the session are not included. ``map_full``: samples that
    were lost because a map was full.
    """

    probe: int
    fired: int = 0
    skipped: int = 0
    limited: int = 0
    state: ProbeState = ProbeState.OFF
    produced: int = 0
    delivered: int = 0
    dropped_by: Mapping[Cause, int] = NOTHING_DROPPED
    map_full: int = 0
    cost: Cost = Cost()
    untrue: int | None = None
    rested_ns: int = 0

    @staticmethod
    def of(counters: ProbeCounters, delivered: int = 0, sent_before: int = 0) -> ProbeAccount:
        """The account from the counts of the agent. ``sent_before``: records that went to earlier clients."""
        return ProbeAccount(
            probe=counters.probe,
            fired=counters.fired,
            skipped=counters.skipped,
            limited=counters.limited,
            state=counters.state,
            produced=max(0, counters.produced - sent_before),
            delivered=delivered,
            dropped_by={
                Cause.RING: counters.dropped_full,
                Cause.LARGE: counters.dropped_large,
                Cause.STALLED: counters.dropped_stalled,
                Cause.UNATTENDED: counters.dropped_unattended,
                Cause.BUDGET: counters.dropped_budget,
            },
            map_full=counters.map_full,
            cost=Cost(
                timed=counters.timed,
                mean=counters.cost_ps / 1000,
                error=counters.cost_error_ps / 1000,
                p99=counters.cost_p99_ns,
                cpu=counters.cpu_ns,
            ),
            untrue=counters.untrue,
            rested_ns=counters.rested_ns,
        )

    def with_delivered(self, delivered: int) -> ProbeAccount:
        return replace(self, delivered=delivered)

    @property
    def hits(self) -> int:
        """The counted hits, without hits for which the predicate was false, and without hits while the probe rested."""
        return self.fired + self.skipped + self.limited

    @property
    def dropped(self) -> int:
        """Records dropped for any cause."""
        return sum(self.dropped_by.values())
