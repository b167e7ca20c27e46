"""The accounts of the probes, and the result of leaving."""

from __future__ import annotations

from collections.abc import Mapping

from btpy.dataclass import dataclass
from btpy.errors import LeftBehind
from btpy.events.accounts import ProbeAccount
from btpy.wire.messages import Counters, Farewell, NotRestored, Restored


def accounts(
    probes: int, counters: Counters, delivered: Mapping[int, int], sent_before: Mapping[int, int]
) -> dict[int, ProbeAccount]:
    """By id. ``probes``: the number of probes. ``delivered``: records that have arrived, by probe; ``sent_before``:
    records that went to earlier clients of the session.
    """
    reported = {counted.probe: counted for counted in counters.probes}
    return {
        id_: ProbeAccount.of(reported[id_], delivered.get(id_, 0), sent_before.get(id_, 0))
        if id_ in reported
        else ProbeAccount(id_, delivered=delivered.get(id_, 0))
        for id_ in range(probes)
    }


@dataclass(frozen=True, slots=True)
class Receipt:
    """What detaching found. ``woven``: classes with probes at the end; ``restored``: the classes that have their
    original bytes again, by their hash. ``accounts``: the accounts of all probes.
    """

    woven: int
    restored: int
    unloaded: int
    not_restored: tuple[NotRestored, ...] = ()
    left_behind: tuple[str, ...] = ()
    handler_classes: int = 0
    agent_classes: int = 0
    accounts: tuple[ProbeAccount, ...] = ()
    messages_dropped: int = 0

    @staticmethod
    def of(
        restored: Restored, farewell: Farewell, accounts: tuple[ProbeAccount, ...], messages_dropped: int
    ) -> Receipt:
        return Receipt(
            woven=restored.woven,
            restored=restored.restored,
            unloaded=restored.unloaded,
            not_restored=restored.not_restored,
            left_behind=farewell.left_behind,
            handler_classes=farewell.handler_classes,
            agent_classes=farewell.agent_classes,
            accounts=accounts,
            messages_dropped=messages_dropped,
        )

    @property
    def clean(self) -> bool:
        return not self.not_restored and not self.left_behind and self.restored + self.unloaded == self.woven

    def require_clean(self, pid: int) -> None:
        """Raises LeftBehind with the classes or threads that stay in the target, and the remedy."""
        if self.clean:
            return
        reasons = [f"{class_.class_name}: {class_.reason}" for class_ in self.not_restored]
        back = f"{self.restored} of {self.woven - self.unloaded} classes have their original bytes"
        problems = self.left_behind or tuple(reasons) or (back,)
        raise LeftBehind(
            f"the session left something behind in the JVM {pid}: {'; '.join(problems)}",
            help=[
                "no probe fires any more; restarting the JVM removes the rest",
                f"btpy doctor {pid} lists other agents in the JVM and known problems of its version",
            ],
        )
