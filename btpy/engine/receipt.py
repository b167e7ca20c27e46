"""What became of the records of probes, and what leaving found."""

from __future__ import annotations

from collections.abc import Mapping

from btpy.errors import LeftBehind
from btpy.events.items import ProbeTally, cost_of
from btpy.frozen import dataclass
from btpy.wire.messages import Counters, Farewell, NotRestored, ProbeCounters, ProbeState, Restored


def accounts(
    probes: int, counters: Counters, delivered: Mapping[int, int], before: Mapping[int, int]
) -> dict[int, ProbeTally]:
    """``probes``: how many there are. ``delivered``: records that have come, by probe; ``before``: records that went to
    clients which have left the session."""
    reported = {counted.probe: counted for counted in counters.probes}
    nothing = ProbeCounters(*(0,) * 18, ProbeState.OFF)
    made = {}
    for probe in range(probes):
        counted = reported.get(probe, nothing)
        made[probe] = ProbeTally(
            probe=probe,
            fired=counted.fired,
            skipped=counted.skipped,
            limited=counted.limited,
            state=counted.state,
            produced=max(0, counted.produced - before.get(probe, 0)),
            delivered=delivered.get(probe, 0),
            dropped_full=counted.dropped_full,
            dropped_large=counted.dropped_large,
            dropped_stalled=counted.dropped_stalled,
            map_full=counted.map_full,
            dropped_unattended=counted.dropped_unattended,
            dropped_budget=counted.dropped_budget,
            cost=cost_of(counted),
            untrue=counted.untrue,
            rested_ns=counted.rested_ns,
        )
    return made


@dataclass(frozen=True, slots=True)
class Receipt:
    """What detaching found. ``woven``: classes that probes were in at the end; ``restored``: those of them that have
    their original bytes again, by their hash."""

    woven: int
    restored: int
    unloaded: int
    not_restored: tuple[NotRestored, ...]
    left_behind: tuple[str, ...]
    handler_classes: int
    agent_classes: int
    tallies: tuple[ProbeTally, ...]
    messages_dropped: int

    @staticmethod
    def of(restored: Restored, farewell: Farewell, tallies: tuple[ProbeTally, ...], messages_dropped: int) -> Receipt:
        return Receipt(
            woven=restored.woven,
            restored=restored.restored,
            unloaded=restored.unloaded,
            not_restored=restored.not_restored,
            left_behind=farewell.left_behind,
            handler_classes=farewell.handler_classes,
            agent_classes=farewell.agent_classes,
            tallies=tallies,
            messages_dropped=messages_dropped,
        )

    @property
    def clean(self) -> bool:
        return not self.not_restored and not self.left_behind and self.restored + self.unloaded == self.woven

    def require_clean(self, pid: int) -> None:
        """Raises LeftBehind with what stays in the target, and what to do about it."""
        if self.clean:
            return
        named = [f"{each.class_name}: {each.reason}" for each in self.not_restored]
        back = f"{self.restored} of {self.woven - self.unloaded} classes have their original bytes"
        things = self.left_behind or tuple(named) or (back,)
        raise LeftBehind(
            f"the session left something behind in the JVM {pid}: {'; '.join(things)}",
            help=[
                "no probe fires any more; restarting the JVM removes the rest",
                f"btpy doctor {pid} lists other agents in the JVM and known problems of its version",
            ],
        )
