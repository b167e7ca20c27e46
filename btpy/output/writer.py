"""The interface of output formats, and the data that they get."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from btpy.dataclass import dataclass
from btpy.errors import ProtocolError
from btpy.events.accounts import Cause, ProbeAccount
from btpy.events.aggregates import MapContent
from btpy.events.records import ObjectValue, Record, SequenceValue, Value, Withheld
from btpy.events.stacks import StackTable
from btpy.model.outline import Outline
from btpy.model.secrets import names_secret
from btpy.model.sites import Site
from btpy.model.source import Source, Span
from btpy.model.templates import SiteFact, Slot, Template
from btpy.wire.messages import ErrorKind, ProbeFailure, Restrained


@dataclass(frozen=True, slots=True)
class Clock:
    """The target's ``System.nanoTime`` and its wall clock (ns since 1970) at one moment."""

    nano_time: int
    wall_nanos: int

    def wall(self, nanos: int) -> int:
        return self.wall_nanos + (nanos - self.nano_time)


@dataclass(frozen=True, slots=True)
class Context:
    """The data to which records refer. Everything except the clock grows while the session runs. ``several``: whether
    the output has several targets. ``pid``: the pid of the target, if there are several; None if the output is about
    all targets. ``host``: the host of the target, if they are on several hosts. ``of_hosts``: whether the output has
    several hosts.
    """

    outline: Outline
    sites: Mapping[int, Site]
    stacks: StackTable
    clock: Clock
    pid: int | None = None
    several: bool = False
    host: str | None = None
    of_hosts: bool = False

    @property
    def source(self) -> tuple[str | int, ...]:
        """The target, if there are several targets: its host, if there are several hosts, and its pid. Empty: all
        targets."""
        return tuple(part for part in (self.host, self.pid) if part is not None)


@dataclass(frozen=True, slots=True)
class Attached:
    """The amount of woven code when the probes were added."""

    probes: int
    methods: int
    classes: int


@dataclass(frozen=True, slots=True)
class ProbeError:
    """Errors of one kind at one place of the script: their ``count`` since the last report, and the ``message`` of the
    last error."""

    probe: str
    kind: ErrorKind
    span: Span
    count: int
    message: str

    @staticmethod
    def of(failure: ProbeFailure, sources: Sequence[Source], probe: str) -> ProbeError:
        """``probe``: the name of the probe."""
        return ProbeError(probe, failure.kind, Span.unpack(sources, failure.position), failure.count, failure.message)

    @property
    def kind_name(self) -> str:
        """The spelling in scripts and messages: ``null-operand``."""
        return self.kind.name.lower().replace("_", "-")


@dataclass(frozen=True, slots=True)
class Loss:
    """The losses of one probe; ``cause``: ``ring``, ``large``, ``stalled``, ``unattended``, ``budget``, ``speculation``
    (records), or ``map`` (samples of a full map).
    """

    probe: str
    cause: str
    count: int


@dataclass(frozen=True, slots=True)
class Restraint:
    """The step of the budget against a probe from now on; ``step``: ``free``, ``prints-less``, ``sampled`` (one hit in
    ``one_in`` fires), ``disabled``, ``taken-out``. ``taken`` and ``allowed``: the share of one core that all probes
    took, and may take.
    """

    probe: str
    step: str
    one_in: int
    taken: float
    allowed: float

    @staticmethod
    def of(message: Restrained, probe: str) -> Restraint:
        """``probe``: the name of the probe."""
        return Restraint(
            probe=probe,
            step="taken-out" if message.rest_ppm else message.step.name.lower().replace("_", "-"),
            one_in=message.one_in,
            taken=message.taken_ppm / 1e6,
            allowed=message.allowed_ppm / 1e6,
        )


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """The report about one probe at the end of a run.

    ``account``: its records without control records (speculations, ``exit()``). Of the delivered records, ``withheld``
    are not shown because of ``--hits``, and ``withheld_by_display`` because of the rate limit of the display.
    ``discarded``: records that were held back (``speculate``) and never committed. ``methods``: the number of its woven
    methods; −1: it is not a method probe. ``conditional``: whether it has a predicate. ``restraints``: the number of
    further restraints by the budget.
    """

    probe: str
    account: ProbeAccount
    methods: int = -1
    errors: int = 0
    sampling: str = ""
    conditional: bool = False
    discarded: int = 0
    withheld: int = 0
    withheld_by_display: int = 0
    restraints: int = 0

    @property
    def dropped(self) -> int:
        return self.account.dropped + self.discarded

    def counts(self, written: int) -> dict[str, int]:
        """The counts by name, for formats that have a column for each. ``written``: the number of its records in the
        output."""
        account = self.account
        return {
            "fired": account.fired,
            "skipped": account.skipped,
            "limited": account.limited,
            "errors": self.errors,
            "produced": account.produced,
            "delivered": account.delivered,
            "written": written,
            "withheld": self.withheld,
            "discarded": self.discarded,
            **{f"dropped_{cause.value}": account.dropped_by.get(cause, 0) for cause in Cause},
            "map_full": account.map_full,
            "restraints": self.restraints,
        }


@dataclass(frozen=True, slots=True)
class End:
    """``reason``: one of ``interrupt exit for hits limit target-exited left stopped error``. The other fields are the
    counts of the summary."""

    reason: str
    produced: int
    delivered: int
    dropped: int
    restored: int
    woven: int
    probes: tuple[ProbeReport, ...] = ()


class Writer:
    """Writes one format to one stream. It ignores everything that a format does not override. The methods raise
    OutputError, and ProtocolError for errors of the agent."""

    def attached(self, attached: Attached) -> None:
        pass

    def records(self, records: Sequence[Record]) -> None:
        """Writes prints, events and warnings. The presenter also shows warnings on standard error."""

    def map(self, content: MapContent, template: Template | None, nanos: int | None) -> None:
        """``template`` is None at the end, where no statement of the script prints the map. ``nanos``:
        ``System.nanoTime`` of the target when the script printed the map (:meth:`Clock.wall` converts it), None at the
        end."""

    def joined(self, contents: Sequence[MapContent], template: Template, nanos: int) -> None:
        """Writes several maps as one table, by their keys. A format without such tables writes each map."""
        for content in contents:
            self.map(content, None, nanos)

    def note(self, text: str) -> None:
        """Writes a remark for the user about the display."""

    def probe_error(self, error: ProbeError) -> None:
        pass

    def lost(self, loss: Loss) -> None:
        pass

    def restrained(self, restraint: Restraint) -> None:
        pass

    def end(self, end: End) -> None:
        pass

    def close(self) -> None:
        """Writes the end of the document. It is called once, even after an error."""


class ExportWriter(Writer):
    """The output of one target for a backend."""

    def read(self, contents: Iterable[MapContent], accounts: Iterable[ProbeAccount], *, at_end: bool = False) -> None:
        """Takes the current maps and the counts of the probes. ``at_end``: whether this is the last reading, which is
        complete."""


def template_of(context: Context, id_: int) -> Template:
    """Raises ProtocolError for a template that the program does not have."""
    templates = context.outline.templates
    if not 0 <= id_ < len(templates):
        raise ProtocolError(f"record of template {id_}, of {len(templates)}")
    return templates[id_]


T = TypeVar("T")


class PerTemplate(dict[int, T]):
    """What a format makes of each template, by its id. It is made when it is looked up for the first time. The look-up
    raises ProtocolError for a template that the program does not have."""

    def __init__(self, context: Context, make: Callable[[Template], T]) -> None:
        self._context = context
        self._make = make

    def __missing__(self, id_: int) -> T:
        made = self[id_] = self._make(template_of(self._context, id_))
        return made


@dataclass(frozen=True, slots=True)
class Arity:
    """The number of values in a record of a template: ``least``, or more if there is a rest slot."""

    least: int
    open: bool

    @staticmethod
    def of(template: Template) -> Arity:
        shipped = [part for part in template.parts if isinstance(part, Slot) and isinstance(part.value, int)]
        rest = any(slot.rest for slot in shipped)
        fixed = [slot.value + (not slot.rest) for slot in shipped if isinstance(slot.value, int)]
        widths = [part.width + 1 for part in template.parts if isinstance(part, Slot) and part.width is not None]
        return Arity(max((*fixed, *widths), default=0), rest)

    def check(self, record: Record) -> None:
        """Raises ProtocolError when the record has values that no slot shows, or lacks values."""
        count = len(record.values)
        if count < self.least or (count > self.least and not self.open):
            raise ProtocolError(f"record of template {record.template} has {count} values, not {self.least}")


def slot_value(context: Context, record: Record, slot: Slot) -> Value:
    """The value of a slot without names. The rest of a record is a sequence. For ``fields(x)`` the value is the object
    without its class. Raises ProtocolError."""
    if isinstance(slot.value, SiteFact):
        return site_fact(context, record, slot.value)
    if slot.rest:
        rest = record.values[slot.value :]
        return SequenceValue("", len(rest), rest)
    value = record.values[slot.value]
    return replace(value, class_name="") if slot.bare and isinstance(value, ObjectValue) else value


def pairs(record: Record, slot: Slot, redact: bool) -> list[tuple[str, Value]]:
    """Names and values of a named rest. Raises ProtocolError."""
    rest = record.values[slot.value :] if isinstance(slot.value, int) else ()
    names = [name for name in rest[::2] if isinstance(name, str)]
    if 2 * len(names) != len(rest):
        raise ProtocolError(f"record of template {record.template} does not have pairs of names and values")
    return [
        (name, Withheld.REDACTED if redact and names_secret(name) else value)
        for name, value in zip(names, rest[1::2], strict=True)
    ]


def site_fact(context: Context, record: Record, fact: SiteFact) -> str | int:
    """A fact that is not in the record because the client knows it. Raises ProtocolError for a site that was never
    woven.
    """
    if fact is SiteFact.PROBE:
        probes = context.outline.probes
        if not 0 <= record.probe < len(probes):
            raise ProtocolError(f"record of probe {record.probe}, of {len(probes)}")
        return probes[record.probe].name
    site = context.sites.get(record.site)
    if site is None:
        raise ProtocolError(f"record of site {record.site}, which was never woven")
    if fact is SiteFact.CLS:
        return site.class_name
    if fact is SiteFact.METHOD:
        return site.method
    if fact is SiteFact.LINE:
        return site.line
    if fact is SiteFact.TARGET_CLASS:
        return site.target_class
    if fact is SiteFact.LOADER:
        return site.loader
    if fact in (SiteFact.TARGET_METHOD, SiteFact.FIELD):
        return site.member
    return site.descriptor
