"""The messages of ``docs/protocol.md``, one dataclass each. Parts that a message has thousands of are named tuples.

The order and the annotations of the fields *are* the layout on the wire: :mod:`btpy.wire.codec` derives the layout from
them, so each message is described once. Names, order and widths follow the document; ``list<T>`` is ``tuple[T, ...]``.
"""

from __future__ import annotations

from dataclasses import fields
from enum import IntEnum
from typing import Annotated, Any, ClassVar, NamedTuple

from btpy.dataclass import dataclass
from btpy.model.maps import MapKind
from btpy.model.patterns import ClassPatternKind
from btpy.model.points import Point
from btpy.model.sampling import SampleMode

MAGIC = 0x42545059
VERSION = 15

MAX_FRAME = 16 * 1024 * 1024
"""The largest frame in bytes, with the type, without the length field."""

EVENT_CREDIT = 1024 * 1024
"""Bytes of EVENTS payload that the agent may send before the first RELEASE."""


class Width(IntEnum):
    """Bytes of an unsigned big-endian integer."""

    U1 = 1
    U2 = 2
    U4 = 4
    U8 = 8


@dataclass(frozen=True, slots=True)
class Fixed:
    """``size`` bytes without a count."""

    size: int


@dataclass(frozen=True, slots=True)
class Remainder:
    """All bytes up to the end of the frame. Other modules decode them (``docs/runtime.md``)."""


U1 = Annotated[int, Width.U1]
U2 = Annotated[int, Width.U2]
U4 = Annotated[int, Width.U4]
U8 = Annotated[int, Width.U8]
Hash = Annotated[bytes, Fixed(32)]
HashKey = Annotated[bytes, Fixed(16)]
Fingerprint = Annotated[bytes, Fixed(12)]
Rest = Annotated[bytes, Remainder()]


def field_names(kind: Any) -> tuple[str, ...]:
    """The fields of a message, or of a part of one, in their order on the wire."""
    return getattr(kind, "_fields", None) or tuple(field.name for field in fields(kind))


# Parts of messages.


NO_LEVEL = 0xFFFFFFFF
"""The level of a probe that the message LEVEL does not enable or disable."""


class ProbeState(IntEnum):
    """The reason why a probe is enabled or disabled."""

    ON = 0
    OFF = 1
    HITS_USED_UP = 2
    TIME_IS_UP = 3
    DISABLED_ITSELF = 4
    FAILED_TOO_OFTEN = 5
    OVER_BUDGET = 6


class RestraintStep(IntEnum):
    """The step of the budget against a probe."""

    FREE = 0
    PRINTS_LESS = 1
    SAMPLED = 2
    DISABLED = 3


class HookKind(IntEnum):
    """The event for which a hook is called."""

    EVENT = 0
    CLASS_LOADED = 1
    MEMORY_LOW = 2
    PROBE_FAILED = 3
    THREAD_BUSY = 4
    THREAD_SEEN = 5


class TellKind(IntEnum):
    EVENT = 0
    LEVEL = 1


class Verdict(IntEnum):
    UNCHANGED = 0
    WOVEN = 1


class LoadedRefusal(IntEnum):
    """The reason why the agent refuses to weave a loaded class."""

    NONE = 0
    LOADER = 1
    UNMODIFIABLE = 2


class LateOutcome(IntEnum):
    """CHANGED is never sent: the client uses it for a class that arrived with ``changed`` (:class:`ClassBytes`)."""

    WOVEN = 0
    MISSED_DEADLINE = 1
    REFUSED = 2
    LOST = 3
    UNCHANGED = 4
    CHANGED = 5


UNKNOWN_PROBE = 0xFFFFFFFF
"""The id in ERRORS and COUNTERS if the agent does not know the probe (docs/runtime.md)."""


class ErrorKind(IntEnum):
    """Kinds of probe errors (``docs/runtime.md``)."""

    INTERNAL = 0
    NULL_OPERAND = 1
    BAD_CAST = 2
    INDEX = 3
    DIV_ZERO = 4
    BUDGET = 5
    MAP_FULL = 6
    RING_FULL = 7
    DEPTH = 8
    NOT_ALLOWED = 9
    NULL_SAMPLE = 10
    NO_FIELD = 11
    CUT = 12
    FEWER_SAMPLES = 13
    NO_CONTEXT = 14
    STATE_FULL = 15


@dataclass(frozen=True, slots=True)
class Pattern:
    """``constants``: byte strings that a matching class file must all contain."""

    kind: ClassPatternKind
    text: str
    constants: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class MapDecl:
    id: U4
    kind: MapKind
    keys: U1
    precision: U1
    capacity: U4
    evicts: bool
    parameters: tuple[U8, ...]


@dataclass(frozen=True, slots=True)
class ProbeDecl:
    """``parameter``: bits of a double. ``group``: the probe with which it shares sampling decisions. The limits are the
    firings in all, the firings a second, and the ns and the failures after which it is disabled; 0: no limit. ``host``:
    the probe whose hits run this probe, usually itself. ``maps``: the maps to which it writes.
    """

    id: U4
    enabled: bool
    sampling: SampleMode
    parameter: U8
    adaptive: bool
    group: U4
    most_firings: U8
    most_per_second: U8
    lifetime_ns: U8
    most_failures: U8
    level: U4 = NO_LEVEL
    host: U4 = NO_LEVEL
    maps: tuple[U4, ...] = ()


@dataclass(frozen=True, slots=True)
class HandlerClass:
    name: str  # binary, dots
    data: bytes


class Site(NamedTuple):
    id: U4
    probe: U4
    point: Point
    line: U4
    target_class: str  # empty if the instruction names no class
    member: str


class MethodSites(NamedTuple):
    method: str
    descriptor: str
    sites: tuple[Site, ...]


class WovenCode(NamedTuple):
    """The old content of the Code attribute of a method (``shown``: its fingerprint), and the new content; ``name`` and
    ``descriptor`` are indexes of the constant pool.
    """

    flags: U2
    name: U2
    descriptor: U2
    shown: Fingerprint
    content: bytes


@dataclass(frozen=True, slots=True)
class PrewovenMethods:
    """Methods woven before the JVM has shown the class. ``beginning``: the fingerprint of the original class file from
    its version to the end of its constant pool.

    ``pool_count``: ``constant_pool_count``, and the new ``constants`` after the old ones. ``code_name``: index of the
    text ``Code``. ``parameter_names``: ``MethodNames`` of docs/protocol.md, for each method that has MethodParameters.
    """

    class_id: U4
    sites: tuple[MethodSites, ...]
    beginning: Fingerprint
    pool_count: U2
    constants: bytes
    code_name: U2
    parameter_names: tuple[bytes, ...]
    methods: tuple[WovenCode, ...]


@dataclass(frozen=True, slots=True)
class PrewovenClass:
    """The woven form of a class file. The target keeps it undecoded until a thread loads the class."""

    data: bytes
    sites: tuple[MethodSites, ...]


@dataclass(frozen=True, slots=True)
class PrewovenAnswer:
    """``woven``: an encoded :class:`PrewovenClass`; empty: the class stays unchanged."""

    id: U4
    shown: Fingerprint
    woven: bytes


@dataclass(frozen=True, slots=True)
class LoadedClass:
    id: U4
    name: str
    loader: str
    superclass: str
    interfaces: tuple[str, ...]
    access_flags: U2
    modifiable: bool
    code_source: str
    refusal: LoadedRefusal


@dataclass(frozen=True, slots=True)
class TypeFact:
    """``superclass`` is empty for ``java.lang.Object``."""

    name: str
    superclass: str
    interfaces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClassFileOf:
    """``data`` is empty when the class has no resource."""

    class_id: U4
    data: bytes


@dataclass(frozen=True, slots=True)
class ClassFailure:
    class_id: U4
    error: str


@dataclass(frozen=True, slots=True)
class StackFrame:
    class_name: str
    method: str
    line: U4


@dataclass(frozen=True, slots=True)
class Stack:
    id: U4
    frames: tuple[StackFrame, ...]


@dataclass(frozen=True, slots=True)
class ProbeFailure:
    """``count``: the number of failures since the last report. ``position``: ``Span.packed``. ``message``: the text
    of the last failure."""

    probe: U4
    position: U4
    kind: ErrorKind
    count: U8
    message: str


@dataclass(frozen=True, slots=True)
class ProbeCounters:
    """Totals since the session began. ``produced``: the delivered records and all dropped records. ``skipped``: hits
    that sampling or the budget skipped. ``rested_ns``: the time in which the budget disabled the probe, so that hits
    were not even counted. ``untrue``: hits for which a predicate was false. At most 1,000 are counted.

    ``cost_*``: the mean cost of the ``timed`` firings and its standard deviation in ps, and their 99th percentile in
    ns. ``cpu_ns``: the time of all firings. If a predicate may be slow, the costs include runs for which it was false.
    """

    probe: U4
    produced: U8
    dropped_full: U8
    dropped_large: U8
    dropped_stalled: U8
    dropped_unattended: U8
    dropped_budget: U8
    map_full: U8
    fired: U8
    skipped: U8
    limited: U8
    untrue: U4
    timed: U8
    cost_ps: U8
    cost_error_ps: U8
    cost_p99_ns: U8
    cpu_ns: U8
    rested_ns: U8
    state: ProbeState


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """``ttl_ns`` 0: the session ends with its client. ``waiting``: events that no client has received yet."""

    id: U4
    name: str
    age_ns: U8
    ttl_ns: U8
    clients: U1
    probes: U4
    enabled: U4
    classes: U4
    waiting: U4


@dataclass(frozen=True, slots=True)
class HandedOver:
    """Records of a probe that were sent to earlier clients."""

    probe: U4
    records: U8


@dataclass(frozen=True, slots=True)
class NotRestored:
    class_name: str
    reason: str


# Handshake.


class Message:
    """Base of all messages; ``code`` is the type byte."""

    __slots__ = ()
    code: ClassVar[int]


@dataclass(frozen=True, slots=True)
class Hello(Message):
    code = 0x01
    magic: U4
    version: U2
    nonce: Hash


@dataclass(frozen=True, slots=True)
class Proof(Message):
    code = 0x02
    nonce: Hash
    mac: Hash


@dataclass(frozen=True, slots=True)
class Welcome(Message):
    """``wall_nanos``: since 1970, at ``nano_time`` of the target's System.nanoTime."""

    code = 0x03
    mac: Hash
    build: str
    pid: U4
    java_version: str
    vm_name: str
    main_command: str
    nano_time: U8
    wall_nanos: U8
    loaded_classes: U4
    retransformation: bool


# Client → agent.


@dataclass(frozen=True, slots=True)
class Configure(Message):
    code = 0x10
    lease_ms: U4
    class_load_deadline_ms: U4
    event_buffer_bytes: U4
    string_chars: U4
    depth: U4
    elements: U4
    fields: U4
    stack_frames: U4
    pause_budget_ms: U4
    redact: bool = True
    unattended: bool = False
    cpu_budget_ppm: U4 = 0
    hash_key: HashKey = bytes(16)
    secret_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Search(Message):
    """``since``: the previous SEARCH; classes that were loaded then are left out of the answer. ``since`` 0: no classes
    are left out."""

    code = 0x11
    request: U4
    patterns: tuple[Pattern, ...]
    max_results: U4
    since: U4


@dataclass(frozen=True, slots=True)
class Read(Message):
    code = 0x12
    request: U4
    class_ids: tuple[U4, ...]


@dataclass(frozen=True, slots=True)
class LookUp(Message):
    code = 0x1F
    request: U4
    loader: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Install(Message):
    code = 0x13
    request: U4
    maps: tuple[MapDecl, ...]
    probes: tuple[ProbeDecl, ...]
    handlers: tuple[HandlerClass, ...]


@dataclass(frozen=True, slots=True)
class Watch(Message):
    code = 0x14
    request: U4
    patterns: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Weave(Message):
    """``prewoven``: methods of some of the classes; the agent asks for the other classes. ``searches``: whether the
    client will search afterwards for the classes that the agent loads meanwhile. ``loses_names``: whether classes are
    retransformed even if they lose the names of their parameters.
    """

    code = 0x15
    request: U4
    class_ids: tuple[U4, ...]
    prewoven: tuple[PrewovenMethods, ...] = ()
    searches: bool = False
    loses_names: bool = False


@dataclass(frozen=True, slots=True)
class Woven(Message):
    """Answers CLASS_BYTES; ``shown``: the fingerprint of the bytes that were woven."""

    code = 0x16
    request: U4
    shown: Fingerprint
    verdict: Verdict
    handlers: tuple[HandlerClass, ...]
    sites: tuple[MethodSites, ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class Timer(Message):
    """``period_ns`` 0: the handler runs once, now."""

    code = 0x17
    request: U4
    site: U4
    period_ns: U8
    handler: str


@dataclass(frozen=True, slots=True)
class Snapshot(Message):
    code = 0x18
    request: U4
    map_ids: tuple[U4, ...]


@dataclass(frozen=True, slots=True)
class Release(Message):
    code = 0x19
    size: U4


@dataclass(frozen=True, slots=True)
class Ping(Message):
    code = 0x1A
    request: U4


@dataclass(frozen=True, slots=True)
class Restore(Message):
    code = 0x1B
    request: U4


@dataclass(frozen=True, slots=True)
class Detach(Message):
    code = 0x1C
    request: U4


@dataclass(frozen=True, slots=True)
class Enable(Message):
    code = 0x1D
    request: U4
    probe: U4
    on: bool


@dataclass(frozen=True, slots=True)
class Hook(Message):
    """``number``: the number of an event, thousandths of a memory pool, or samples of threads a second. ``lines``:
    packed position and number of each line of the script.
    """

    code = 0x20
    request: U4
    probe: U4
    site: U4
    handler: str
    kind: HookKind
    number: U4
    patterns: tuple[Pattern, ...]
    lines: tuple[U4, ...]


@dataclass(frozen=True, slots=True)
class Send(Message):
    code = 0x21
    request: U4
    event: U4


@dataclass(frozen=True, slots=True)
class Remove(Message):
    """``sites``: the sites of timers and hooks."""

    code = 0x22
    request: U4
    probes: tuple[U4, ...]
    sites: tuple[U4, ...]


@dataclass(frozen=True, slots=True)
class Sample(Message):
    """The fields are as in :class:`ProbeDecl`, for a probe whose handler samples."""

    code = 0x23
    request: U4
    probe: U4
    sampling: SampleMode
    parameter: U8
    adaptive: bool


@dataclass(frozen=True, slots=True)
class Limit(Message):
    """The limits are as in :class:`ProbeDecl`, and count from now on."""

    code = 0x24
    request: U4
    probe: U4
    most_firings: U8
    most_per_second: U8
    lifetime_ns: U8


@dataclass(frozen=True, slots=True)
class ListSessions(Message):
    """The client may send it before CONFIGURE, like TELL."""

    code = 0x25
    request: U4


@dataclass(frozen=True, slots=True)
class Join(Message):
    """Sent instead of CONFIGURE: this connection takes over an unattended session."""

    code = 0x26
    request: U4
    session: U4
    take_over: bool


@dataclass(frozen=True, slots=True)
class Leave(Message):
    """The session goes on without a client, for ``ttl_ms`` at most. ``description`` is for a client that joins it."""

    code = 0x27
    request: U4
    ttl_ms: U4
    name: str
    description: bytes


@dataclass(frozen=True, slots=True)
class Level(Message):
    """Enables the probes up to this level, and disables those above it."""

    code = 0x28
    request: U4
    level: U4


@dataclass(frozen=True, slots=True)
class Tell(Message):
    """A request for a session of another client. ``number``: the number of an event, or a level."""

    code = 0x29
    request: U4
    session: U4
    kind: TellKind
    number: U4


@dataclass(frozen=True, slots=True)
class Preweave(Message):
    """The answers for class files that no thread has loaded yet. ``anew``: whether it replaces earlier answers."""

    code = 0x2A
    request: U4
    anew: bool
    classes: tuple[PrewovenAnswer, ...]


@dataclass(frozen=True, slots=True)
class Locate(Message):
    """The places where the target's own loaders look for classes."""

    code = 0x2B
    request: U4


@dataclass(frozen=True, slots=True)
class Go(Message):
    """The probes are in place, so a JVM that was started with the agent may run its main method."""

    code = 0x1E


# Agent → client.


@dataclass(frozen=True, slots=True)
class Configured(Message):
    code = 0x30
    slot: U1


@dataclass(frozen=True, slots=True)
class Classes(Message):
    code = 0x31
    request: U4
    loaded: U4
    matched: U4
    classes: tuple[LoadedClass, ...]


@dataclass(frozen=True, slots=True)
class ClassFiles(Message):
    code = 0x32
    request: U4
    files: tuple[ClassFileOf, ...]


@dataclass(frozen=True, slots=True)
class Supertypes(Message):
    code = 0x42
    request: U4
    types: tuple[TypeFact, ...]


@dataclass(frozen=True, slots=True)
class Done(Message):
    """``error`` is empty after success."""

    code = 0x33
    request: U4
    error: str


@dataclass(frozen=True, slots=True)
class ClassBytes(Message):
    """A class to be woven; ``class_id`` 0 means that it is being loaded. ``changed``: whether another agent has changed
    the loaded class since btpy saw it last.
    """

    code = 0x34
    request: U4
    class_id: U4
    name: str
    loader: str
    superclass: str
    interfaces: tuple[str, ...]
    data: bytes
    changed: bool = False


@dataclass(frozen=True, slots=True)
class WeaveResult(Message):
    """``put_back``: classes without probes that have their original bytes again, according to their hash.
    ``longest_ns``: an upper bound of the longest stop of the application; ``total_ns``: the time inside
    ``retransformClasses``; ``waited_ns``: the part of this time in which the agent waited for WOVEN.
    """

    code = 0x35
    request: U4
    failures: tuple[ClassFailure, ...]
    put_back: U4
    batches: U4
    longest_ns: U8
    total_ns: U8
    waited_ns: U8


@dataclass(frozen=True, slots=True)
class Events(Message):
    """Whole records of ``docs/runtime.md``; their bytes count against the credit."""

    code = 0x36
    records: Rest


@dataclass(frozen=True, slots=True)
class Stacks(Message):
    code = 0x37
    stacks: tuple[Stack, ...]


@dataclass(frozen=True, slots=True)
class Map(Message):
    """``contents`` is a ``list<MapContent>``, its count included. The shape of each content depends on the kind of the
    map, which the script knows."""

    code = 0x38
    template: U4
    nano_time: U8
    contents: Rest


@dataclass(frozen=True, slots=True)
class Maps(Message):
    """``contents`` is a ``list<MapContent>``, its count included."""

    code = 0x39
    request: U4
    contents: Rest


@dataclass(frozen=True, slots=True)
class Errors(Message):
    code = 0x3A
    failures: tuple[ProbeFailure, ...]


@dataclass(frozen=True, slots=True)
class Counters(Message):
    code = 0x3B
    probes: tuple[ProbeCounters, ...]


@dataclass(frozen=True, slots=True)
class Pong(Message):
    code = 0x3C
    request: U4


@dataclass(frozen=True, slots=True)
class Late(Message):
    """``prewoven``: the id of the preweaving of the class; 0: the agent asked the client."""

    code = 0x3D
    class_name: str
    loader: str
    outcome: LateOutcome
    reason: str
    prewoven: U4 = 0


@dataclass(frozen=True, slots=True)
class Restored(Message):
    """``restored``: classes whose bytes have the original hash again."""

    code = 0x3E
    request: U4
    woven: U4
    restored: U4
    unloaded: U4
    not_restored: tuple[NotRestored, ...]


@dataclass(frozen=True, slots=True)
class Farewell(Message):
    code = 0x3F
    request: U4
    left_behind: tuple[str, ...]
    handler_classes: U4
    agent_classes: U4


@dataclass(frozen=True, slots=True)
class Restrained(Message):
    """The budget changed its step for a probe: all probes used ``taken_ppm`` millionths of a core, and ``allowed_ppm``
    are allowed. SAMPLED: one hit of ``one_in`` fires. ``rest_ppm``: the share that woven code uses although the probe
    is disabled. The agent sets it only if this share is too much; the client then removes the probe.
    """

    code = 0x48
    probe: U4
    step: RestraintStep
    one_in: U4
    taken_ppm: U4
    allowed_ppm: U4
    rest_ppm: U4


@dataclass(frozen=True, slots=True)
class Trouble(Message):
    code = 0x40
    reason: str


@dataclass(frozen=True, slots=True)
class Exiting(Message):
    """The JVM is shutting down, and waits for a few seconds until the session is ended."""

    code = 0x41


@dataclass(frozen=True, slots=True)
class Sessions(Message):
    code = 0x43
    request: U4
    sessions: tuple[SessionInfo, ...]


@dataclass(frozen=True, slots=True)
class Joined(Message):
    """``error``: the reason for a failure, or empty. ``description``: the description that the former client gave with
    LEAVE.
    """

    code = 0x44
    request: U4
    error: str
    slot: U1
    name: str
    ttl_ns: U8
    description: bytes
    handed_over: tuple[HandedOver, ...]


@dataclass(frozen=True, slots=True)
class Left(Message):
    """The last message of a connection after LEAVE, unless there is an ``error``."""

    code = 0x45
    request: U4
    error: str
    session: U4


@dataclass(frozen=True, slots=True)
class Locations(Message):
    """Absolute paths in the target: its class path and its module path."""

    code = 0x49
    request: U4
    paths: tuple[str, ...]


HANDSHAKE: tuple[type[Message], ...] = (Hello, Proof, Welcome)
FROM_CLIENT: tuple[type[Message], ...] = (
    Configure,
    Search,
    Read,
    LookUp,
    Install,
    Watch,
    Weave,
    Woven,
    Timer,
    Snapshot,
    Release,
    Ping,
    Restore,
    Detach,
    Enable,
    Hook,
    Send,
    Remove,
    Sample,
    Limit,
    ListSessions,
    Join,
    Leave,
    Level,
    Tell,
    Preweave,
    Locate,
    Go,
)
FROM_AGENT: tuple[type[Message], ...] = (
    Configured,
    Classes,
    ClassFiles,
    Supertypes,
    Done,
    ClassBytes,
    WeaveResult,
    Events,
    Stacks,
    Map,
    Maps,
    Errors,
    Counters,
    Pong,
    Late,
    Restored,
    Farewell,
    Trouble,
    Exiting,
    Sessions,
    Joined,
    Left,
    Restrained,
    Locations,
)
