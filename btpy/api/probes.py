"""A probe of a session. It keeps its number."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from btpy.api.probe_figures import ProbeFigures
from btpy.errors import UsageError
from btpy.events.accounts import Cause, Cost, ProbeAccount
from btpy.lang import program
from btpy.model.attachments import (
    BeginAttachment,
    ClassLoadAttachment,
    EndAttachment,
    ErrorAttachment,
    EventAttachment,
    LowMemoryAttachment,
    MethodAttachment,
    ProbeAttachment,
    SampleAttachment,
    TimerAttachment,
)
from btpy.model.points import Point
from btpy.model.sampling import Limit, SampleMode, Sampling
from btpy.output.quantities import duration
from btpy.wire.messages import ProbeState

if TYPE_CHECKING:
    from pathlib import Path

    from btpy.model.source import Source

STATES = {
    ProbeState.ON: "on",
    ProbeState.OFF: "off",
    ProbeState.HITS_USED_UP: "limit reached",
    ProbeState.TIME_IS_UP: "time is up",
    ProbeState.DISABLED_ITSELF: "disabled itself",
    ProbeState.FAILED_TOO_OFTEN: "failed too often",
    ProbeState.OVER_BUDGET: "over budget",
}

_LOCATIONS = {
    (Point.RETURN, Point.THROW): "EXIT",
    (Point.CALL_RETURN, Point.CALL_THROW): "CALL",
    (Point.CALL_BEFORE,): "CALL",
    (Point.SYNC_ENTER_BEFORE,): "SYNC_ENTER",
    (Point.SYNC_EXIT_AFTER,): "SYNC_EXIT",
}


class ProbeOwner(Protocol):
    """The session of a probe (:class:`btpy.Session`)."""

    def remove(self, probe: Probe) -> int: ...
    def replace(self, probe: Probe, script: str | Path) -> list[Probe]: ...


class ProbeSwitches(Protocol):
    """The part of :class:`btpy.api.scripts.Scripts` that a probe needs."""

    def source(self, probe: Probe) -> Source: ...
    def enable(self, probe: Probe, on: bool) -> None: ...
    def sample(self, probe: Probe, rate: str | None) -> None: ...
    def limit(self, probe: Probe, limit: str | int | None) -> None: ...


class Probe:
    """Made by :meth:`btpy.Session.add`. Its figures are sums over all its versions, as the target has reported them
    last (every second).
    """

    def __init__(
        self,
        session: ProbeOwner,
        switches: ProbeSwitches,
        figures: ProbeFigures,
        number: int,
        checked: program.Probe,
        *,
        enabled: bool,
    ) -> None:
        self._session = session
        self._switches = switches
        self._figures = figures
        self.number = number
        self.ids: tuple[int, ...] = ()
        self.removed = False
        self.become(checked, enabled=enabled)

    @property
    def id(self) -> int:
        """The id of the current version in records."""
        return self.ids[-1]

    @property
    def name(self) -> str:
        return self._checked.name

    @property
    def text(self) -> str:
        """The source of the probe alone."""
        return self._checked.span.text

    @property
    def script(self) -> str:
        """The whole script with the probe; for a probe of a library, the script that uses the library."""
        return self._switches.source(self).text

    @property
    def source(self) -> str:
        """The name of its source: a path, or the given name."""
        return self._checked.span.source.name

    @property
    def where(self) -> str:
        """``PricingEngine.quote RETURN``, ``Throwable.<init> ×5``, ``every 5s``."""
        return where(self._checked, self.methods)

    @property
    def methods(self) -> list[tuple[str, str]]:
        """Class and name of the methods that contain it."""
        return self._figures.methods(self.id)

    @property
    def sampling(self) -> str:
        """``1/10``, ``5%``, ``50/s``; empty if every hit fires."""
        return self._sampling

    @property
    def rate_limit(self) -> str:
        """``50/s``: the largest rate of firings; empty if no rate is set."""
        return f"{self._limit.rate}/s" if self._limit.rate else ""

    @property
    def state(self) -> str:
        """``on``, ``off``, ``removed``, or why it is disabled: ``limit reached``, ``time is up``, ``disabled itself``,
        ``failed too often``, ``over budget``."""
        if self.removed or not self.enabled:
            return "removed" if self.removed else "off"
        latest = self._latest  # may be a second old
        return "on" if latest is None or latest.state is ProbeState.OFF else STATES[latest.state]

    @property
    def fired(self) -> int:
        """Hits that passed its predicate and its limits."""
        return sum(account.fired for account in self._accounts)

    @property
    def hits(self) -> int:
        """The hits, without hits for which a predicate was false."""
        return sum(account.hits for account in self._accounts)

    @property
    def skipped(self) -> int:
        return sum(account.skipped for account in self._accounts)

    @property
    def limited(self) -> int:
        """Hits that did not fire because of a limit."""
        return sum(account.limited for account in self._accounts)

    @property
    def errors(self) -> int:
        """Firings that failed or counted an error."""
        return self._figures.errors(self.ids)

    @property
    def lost(self) -> Mapping[str, int]:
        """Lost records by cause (``ring``, ``large``, ``stalled``, ``unattended``, ``budget``), and samples that did
        not fit into a map (``map``).
        """
        records = {cause.value: sum(account.dropped_by[cause] for account in self._accounts) for cause in Cause}
        return {**records, "map": sum(account.map_full for account in self._accounts)}

    @property
    def uncommitted(self) -> int:
        """Records that it held back (``speculate``) and that are not shown: discarded, or never committed."""
        return self._figures.uncommitted(self.ids)

    @property
    def cost(self) -> Cost:
        """The durations of firings of the current version."""
        return self._latest.cost if self._latest is not None else Cost()

    def enable(self) -> None:
        self._switches.enable(self, True)

    def disable(self) -> None:
        self._switches.enable(self, False)

    def remove(self) -> None:
        self._session.remove(self)

    def replace(self, script: str | Path) -> list[Probe]:
        return self._session.replace(self, script)

    def sample(self, rate: str | None) -> None:
        """``"1/10"`` or ``"10%"``: this share of its hits fires; ``"50/s"``: at most 50 hits a second fire; None: all.

        Its maps keep their content. From now on each sample counts for the hits that it represents.
        """
        self._switches.sample(self, rate)

    def limit(self, limit: str | int | None) -> None:
        """``"50/s"``: at most 50 firings a second. A number: the probe is disabled after so many further firings; None:
        no limit.
        """
        self._switches.limit(self, limit)

    def __repr__(self) -> str:
        return f"<Probe {self.number} {self.name} {self.where} {self.state}>"

    def become(self, checked: program.Probe, *, enabled: bool) -> None:
        """Called with its first version, and when a new version has replaced it."""
        self._checked = checked
        self.enabled = enabled
        self._sampling = _spelled(checked.sampling)
        self._limit = checked.limit
        self.ids = (*self.ids, checked.id)

    def sampled_as(self, rate: str) -> None:
        """Called when its sampling has changed."""
        self._sampling = rate

    def limited_as(self, limit: Limit) -> None:
        """Called when its limit has changed."""
        self._limit = limit

    @property
    def checked(self) -> program.Probe:
        """The checked probe."""
        return self._checked

    @property
    def _accounts(self) -> list[ProbeAccount]:
        accounts = self._figures.accounts
        return [accounts[id_] for id_ in self.ids if id_ in accounts]

    @property
    def _latest(self) -> ProbeAccount | None:
        return self._figures.accounts.get(self.id)


def where(probe: program.Probe, methods: list[tuple[str, str]]) -> str:
    """In words. ``methods``: class and name of the methods that contain it."""
    match probe.attachment:
        case TimerAttachment(period=period):
            return f"every {duration(period)}"
        case SampleAttachment(per_second=per_second, waiting=waiting):
            return f"{'all' if waiting else 'busy'} threads, {per_second} times a second"
        case BeginAttachment():
            return "at the start"
        case EndAttachment():
            return "at the end"
        case EventAttachment(name=name):
            return f'event "{name}"'
        case ClassLoadAttachment(classes=classes):
            return f"class loaded: {', '.join(class_.text for class_ in classes)}"
        case LowMemoryAttachment(pool=pool, per_mille=number):
            return f"memory above {number / 10:g}%" + (f" of {pool.text}" if pool is not None else "")
        case ErrorAttachment():
            return "a probe failed"
        case ProbeAttachment():
            return "event of a library"
        case MethodAttachment() as attachment:
            return _methods(attachment, methods)


def _methods(attachment: MethodAttachment, methods: list[tuple[str, str]]) -> str:
    points = attachment.points
    location = _LOCATIONS.get(points) or " ".join(point.name for point in points)
    if attachment.operation is not None and attachment.operation.lines is not None:
        first, last = attachment.operation.lines
        location = f"LINE {first}" if first == last else f"LINE {first}-{last}"
    pairs = list(dict.fromkeys((class_name.rpartition(".")[2], method) for class_name, method in methods))
    if not pairs:
        spelled = f"{attachment.classes[0].shown.rpartition('.')[2]}.{attachment.methods[0].text}"
        return f"{spelled} {location}"
    classes, names = {class_name for class_name, _ in pairs}, {method for _, method in pairs}
    class_name = pairs[0][0] if len(classes) == 1 else attachment.classes[0].shown
    method = pairs[0][1] if len(names) == 1 else "*"
    times = f" ×{len(methods)}" if len(methods) > 1 else ""
    suffix = "" if location == "ENTRY" and times else f" {location}"
    return f"{class_name}.{method}{suffix}{times}"


_ONE_IN = re.compile(r"1[/:](\d+)")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)%")
_A_SECOND = re.compile(r"(\d+)/s")


def sampling_of(text: str | None, group: int) -> Sampling:
    """Raises UsageError."""
    if text is None:
        return Sampling(SampleMode.EVERY, 1, False, False, group)
    if (match := _ONE_IN.fullmatch(text)) and 1 <= int(match[1]) <= 1 << 20:
        return Sampling(SampleMode.EVERY, int(match[1]), False, False, group)
    if (match := _PERCENT.fullmatch(text)) and 0 < float(match[1]) <= 100:
        return Sampling(SampleMode.RATE, float(match[1]) / 100, False, False, group)
    if (match := _A_SECOND.fullmatch(text)) and 1 <= int(match[1]) <= 1 << 20:
        return Sampling(SampleMode.MAX_RATE, int(match[1]), False, False, group)
    raise UsageError(f"{text!r} is not a sampling", help=['"1/10", "5%", "50/s", or None for all'])


def sampling_text(sampling: Sampling) -> str:
    """The arguments of ``@Sample``."""
    number = f"{sampling.number:.9f}".rstrip("0").rstrip(".")
    return f"{sampling.mode.value}={number}"


def _spelled(sampling: Sampling | None) -> str:
    if sampling is None:
        return ""
    match sampling.mode:
        case SampleMode.ALL:
            return ""
        case SampleMode.EVERY:
            return "" if sampling.number == 1 else f"1/{sampling.number:g}"
        case SampleMode.RATE:
            return f"{100 * sampling.number:g}%"
        case SampleMode.MAX_RATE:
            return f"{sampling.number:g}/s"


def limit_of(limit: str | int | None) -> Limit:
    """Raises UsageError."""
    if limit is None:
        return Limit()
    if isinstance(limit, str) and (match := _A_SECOND.fullmatch(limit)) and int(match[1]):
        return Limit(rate=int(match[1]))
    if (isinstance(limit, int) or limit.isdigit()) and int(limit) > 0:
        return Limit(hits=int(limit))
    raise UsageError(f"{limit!r} is not a limit", help=['"50/s", 100, or None for none'])
