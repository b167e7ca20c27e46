"""The data that the scripts report about a request. Times are nanoseconds of one clock."""

from __future__ import annotations

from btpy.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """Something that a thread did for a request. ``kind``: sql, http, lock, pool. ``site``: the place in the
    application. ``failed``: why it failed. ``tid`` and ``thread``: the thread on which it ended.
    """

    kind: str
    what: str
    site: str
    failed: str
    tid: int
    thread: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Run:
    """The work of one thread for a request, after another thread handed the work over. ``by``: the number of the run
    that handed it over; 0: the request itself. ``running``: the run had not ended when the request ended.
    """

    number: int
    by: int
    tid: int
    thread: str
    handed: int
    began: int
    ended: int
    running: bool


@dataclass(frozen=True, slots=True)
class Blocked:
    """A sample that saw a thread wait for a monitor. ``waited``: the time since a sample first saw this wait;
    ``sampled``: the time that this sample represents.
    """

    nanos: int
    tid: int
    lock: str
    id: int
    site: str
    owner: str
    owner_site: str
    waited: int
    sampled: int


@dataclass(frozen=True, slots=True)
class Short:
    """The parts of a kind that were too short to be reported one by one."""

    kind: str
    count: int
    total: int


@dataclass(frozen=True, slots=True)
class Request:
    """``left_out``: the number of parts that were not kept. ``collecting``: the time of garbage collections while it
    ran."""

    flow: int
    what: str
    result: str
    tid: int
    thread: str
    start: int
    end: int
    parts: tuple[Part, ...] = ()
    runs: tuple[Run, ...] = ()
    blocked: tuple[Blocked, ...] = ()
    short: tuple[Short, ...] = ()
    left_out: int = 0
    collecting: int = 0

    @property
    def duration(self) -> int:
        return self.end - self.start
