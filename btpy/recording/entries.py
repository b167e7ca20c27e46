"""The entries of a recording that are not messages of the agent. They have the layout of such messages
(docs/recording.md)."""

from __future__ import annotations

from btpy.dataclass import dataclass
from btpy.errors import ProtocolError
from btpy.events.accounts import Cause, Cost, ProbeAccount
from btpy.wire.messages import U4, U8, Message, ProbeState, Rest


@dataclass(frozen=True, slots=True)
class Started(Message):
    """The target, and the time: ``nano_time`` of its System.nanoTime was ``wall_nanos`` (ns since 1970). ``hits``: the
    limit of events of methods in the run; 0: no limit.
    """

    code = 0x80
    btpy: str
    pid: U4
    main: str
    java_version: str
    vm_name: str
    nano_time: U8
    wall_nanos: U8
    redact: bool
    print_maps: bool
    hits: U8


@dataclass(frozen=True, slots=True)
class OnHost(Message):
    """The host of the target, by its name in a run on several hosts. It comes second."""

    code = 0x88
    name: str


@dataclass(frozen=True, slots=True)
class SourceText:
    name: str
    text: str
    base: U4


@dataclass(frozen=True, slots=True)
class Program(Message):
    """An addition to the program: ``outline`` is JSON of the probes, templates and maps."""

    code = 0x81
    sources: tuple[SourceText, ...]
    outline: str


@dataclass(frozen=True, slots=True)
class WovenSite:
    id: U4
    probe: U4
    class_name: str
    method: str
    descriptor: str
    line: U4
    target_class: str
    member: str
    loader: str


@dataclass(frozen=True, slots=True)
class Sites(Message):
    """Woven places. They come before the events that refer to them."""

    code = 0x82
    sites: tuple[WovenSite, ...]


@dataclass(frozen=True, slots=True)
class ProbesAttached(Message):
    code = 0x83
    probes: U4
    methods: U4
    classes: U4


@dataclass(frozen=True, slots=True)
class MapsShown(Message):
    """Maps that were read during the run; ``contents``: as in MAPS."""

    code = 0x84
    contents: Rest


@dataclass(frozen=True, slots=True)
class MapsAtEnd(Message):
    """The final maps; ``contents``: as in MAPS."""

    code = 0x85
    contents: Rest


@dataclass(frozen=True, slots=True)
class Dropped:
    """Records; ``cause``: one of the values of CAUSES."""

    cause: str
    count: U8


@dataclass(frozen=True, slots=True)
class ProbeCount:
    """The totals of one probe, as in COUNTERS; ``delivered``: the number of records that the client got."""

    probe: U4
    fired: U8
    skipped: U8
    limited: U8
    state: ProbeState
    produced: U8
    delivered: U8
    dropped: tuple[Dropped, ...]
    map_full: U8
    timed: U8
    cost_ps: U8
    cost_error_ps: U8
    cost_p99_ns: U8
    cpu_ns: U8

    @staticmethod
    def of(account: ProbeAccount) -> ProbeCount:
        cost = account.cost
        return ProbeCount(
            probe=account.probe,
            fired=account.fired,
            skipped=account.skipped,
            limited=account.limited,
            state=account.state,
            produced=account.produced,
            delivered=account.delivered,
            dropped=tuple(Dropped(CAUSES[cause], count) for cause, count in account.dropped_by.items()),
            map_full=account.map_full,
            timed=cost.timed,
            cost_ps=round(cost.mean * 1000),
            cost_error_ps=round(cost.error * 1000),
            cost_p99_ns=cost.p99,
            cpu_ns=cost.cpu,
        )

    @property
    def account(self) -> ProbeAccount:
        """Raises ProtocolError for a cause that this btpy does not know."""
        causes = {spelled: cause for cause, spelled in CAUSES.items()}
        counts = {dropped.cause: dropped.count for dropped in self.dropped}
        if not counts.keys() <= causes.keys():
            raise ProtocolError(f"records dropped for {', '.join(counts.keys() - causes.keys())}")
        return ProbeAccount(
            probe=self.probe,
            fired=self.fired,
            skipped=self.skipped,
            limited=self.limited,
            state=self.state,
            produced=self.produced,
            delivered=self.delivered,
            dropped_by=dict.fromkeys(Cause, 0) | {causes[spelled]: count for spelled, count in counts.items()},
            map_full=self.map_full,
            cost=Cost(
                timed=self.timed,
                mean=self.cost_ps / 1000,
                error=self.cost_error_ps / 1000,
                p99=self.cost_p99_ns,
                cpu=self.cpu_ns,
            ),
        )


@dataclass(frozen=True, slots=True)
class Counted(Message):
    """The content of COUNTERS: probes whose totals have changed."""

    code = 0x87
    probes: tuple[ProbeCount, ...]


@dataclass(frozen=True, slots=True)
class Ended(Message):
    """``orderly``: whether the target reported its state at the end. Otherwise the numbers of classes have no
    meaning.
    """

    code = 0x86
    reason: str
    orderly: bool
    woven: U4
    restored: U4
    unloaded: U4
    probes: tuple[ProbeCount, ...]


CAUSES = {cause: "full" if cause is Cause.RING else cause.value for cause in Cause}
"""The causes of dropped records, in the spelling of recordings."""

ENTRIES: tuple[type[Message], ...] = (
    *(Started, OnHost, Program, Sites, ProbesAttached, MapsShown, MapsAtEnd, Counted, Ended),
)
