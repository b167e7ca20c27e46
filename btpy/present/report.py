"""The texts around a run: banner, probe errors, summary, receipt. Pure functions from facts to lines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from btpy.api.results import Cause, Cost, ProbeAccount, ProbeState
from btpy.dataclass import dataclass
from btpy.model.attachments import (
    Attachment,
    ClassLoadAttachment,
    EventAttachment,
    LowMemoryAttachment,
    MethodAttachment,
    SampleAttachment,
    TimerAttachment,
)
from btpy.output.quantities import counted, duration, grouped

if TYPE_CHECKING:
    from btpy.api.programs import CheckedProbe, Program
    from btpy.api.session import Deployment, Receipt, Target
    from btpy.model.outline import ProbeOutline
    from btpy.model.sampling import Sampling
    from btpy.output.writer import ProbeReport, Restraint


@dataclass(frozen=True, slots=True)
class Summary:
    """``receipt`` is None if the connection ended before the target could report it. The target may still run
    (``alive``), or has ``exited`` after all records were taken.

    ``stays``: a text about a session that continues.

    ``age``: seconds from the beginning of the session until this client joined it. Costs are those of the whole
    session. ``fillers``: for a program that prints nothing, the maps that each probe fills.

    ``recorded``: the events are recorded and not shown. ``drawn``: the output in place of the events, such as "3
    trees"; empty: none.
    ``maps_full``: samples dropped by map, ``maps_evicted``: keys that were replaced by other keys.
    """

    reports: tuple[ProbeReport, ...]
    receipt: Receipt | None
    seconds: float
    maps_full: Mapping[str, int] = field(default_factory=dict)
    maps_evicted: Mapping[str, int] = field(default_factory=dict)
    errors: int = 0
    alive: bool = False
    exited: bool = False
    recorded: bool = False
    drawn: str = ""
    stays: str = ""
    age: float = 0.0
    fillers: Mapping[str, str] = field(default_factory=dict)


_CAUSES = {
    Cause.RING: "buffer full",
    Cause.LARGE: "too large",
    Cause.STALLED: "stalled",
    Cause.UNATTENDED: "nobody was connected",
    Cause.BUDGET: "budget",
}


def banner(
    deployment: Deployment,
    target: Target,
    *,
    nanos: tuple[int, int] = (0, 0),
    refused: int = 0,
    end: str = " Ctrl-C to end.",
) -> str:
    """``3 probes → 7 methods in 4 classes of OrderApp (31337): 9 places, about 60 ns a firing once compiled,
    microseconds before, 1 refused, retransformed in 41 ms. Ctrl-C to end.``

    ``nanos``: the range of expected costs of firings after HotSpot has compiled their handlers. The first thousand
    firings cost some microseconds each (benchmarks/RESULTS.md, "Cost of the first firings"). ``refused``: classes and
    methods that match and cannot be woven. ``end``: the way to end the run.
    """
    probes = counted(len(deployment.program.probes), "probe")
    whose = f"{target.main} ({target.pid})"
    has_method_probes = any(isinstance(probe.attachment, MethodAttachment) for probe in deployment.program.probes)
    if has_method_probes and not deployment.methods:
        if refused:
            return f"btpy: {probes} of classes that cannot be traced in {whose}: {grouped(refused)} refused.{end}"
        return f"btpy: {probes} of classes that are not loaded yet in {whose}.{end}"
    if not has_method_probes and not deployment.methods:
        return f"btpy: {probes} in {whose}, without changes to its methods.{end}"
    where = f"{counted(deployment.methods, 'method')} in {counted(deployment.classes, 'class')} of {whose}"
    facts = [counted(len(deployment.sites), "place")] if deployment.sites else []
    if nanos[1]:
        low, high = nanos
        hot = grouped(low) if low == high else f"{grouped(low)} to {grouped(high)}"
        facts.append(f"about {hot} ns a firing once compiled, microseconds before")
    if refused:
        facts.append(f"{grouped(refused)} refused")
    if deployment.classes:
        facts.append(f"retransformed in {deployment.weave_ns / 1e6:.0f} ms")
    return f"btpy: {probes} → {where}{': ' if facts else ''}{', '.join(facts)}.{end}"


def summary_lines(summary: Summary) -> list[str]:
    """The summary: events, losses, samples that maps dropped, classes put back."""
    accounts = [report.account for report in summary.reports]
    produced = sum(account.produced for account in accounts)
    delivered = sum(account.delivered for account in accounts)
    causes = {cause: sum(account.dropped_by[cause] for account in accounts) for cause in _CAUSES}
    lost = ", ".join(f"{grouped(count)} lost ({_CAUSES[cause]})" for cause, count in causes.items() if count)
    discarded = sum(report.discarded for report in summary.reports)
    withheld = sum(report.withheld for report in summary.reports)
    unseen = sum(report.withheld_by_display for report in summary.reports)
    events = delivered - withheld - unseen
    text = f"events {grouped(events)} {'recorded' if summary.recorded else 'shown'}"
    if summary.drawn:
        text = f"{summary.drawn} drawn of {counted(events, 'event')}"
    if withheld:
        text += f", {grouped(withheld)} after the limit"
    if unseen:
        text += f", {grouped(unseen)} not displayed"
    if discarded:
        text += f", {grouped(discarded)} not committed"
    dropped = sum(causes.values()) + discarded
    if summary.fillers and not produced and not dropped:
        parts = _firings(summary)
    else:
        parts = [f"{text}, {lost or '0 lost'}"]
        parts.append(f"{grouped(produced)} produced = {grouped(delivered)} delivered + {grouped(dropped)} dropped")
    parts += _skipped(accounts)
    if summary.errors:
        parts.append(counted(summary.errors, "probe error"))
    parts += [f"map {name} full: {grouped(count)} samples dropped" for name, count in summary.maps_full.items()]
    parts += [f"map {name}: {counted(count, 'key')} evicted" for name, count in summary.maps_evicted.items()]
    lines = [" · ".join(parts)]
    cpu = _cpu([account.cost for account in accounts], summary.age + summary.seconds)
    lines.append(" · ".join([*cpu, *_receipt(summary), f"ran {clock(summary.seconds)}"]))
    if summary.receipt is not None:
        lines += [f"not restored: {class_.class_name}: {class_.reason}" for class_ in summary.receipt.not_restored]
    return lines


def _skipped(accounts: Sequence[ProbeAccount]) -> list[str]:
    """``26 115 hits = 182 fired + 25 933 skipped``, and the time in which hits were not counted. Empty if no hit was
    skipped."""
    sampled = [account for account in accounts if account.skipped]
    fired, limited = sum(account.fired for account in sampled), sum(account.limited for account in sampled)
    skipped = sum(account.skipped for account in sampled)
    rested = max((account.rested_ns for account in accounts), default=0)
    parts = []
    if skipped:
        over = f" + {grouped(limited)} over the limit" if limited else ""
        total = counted(fired + limited + skipped, "hit")
        parts.append(f"{total} = {grouped(fired)} fired{over} + {grouped(skipped)} skipped")
    if rested:
        parts.append(f"for {duration(rested)} no hit was looked at (budget)")
    return parts


def _firings(summary: Summary) -> list[str]:
    """``1 312 firings into @c``, without the empty maps, unless all are empty."""
    into: dict[str, int] = {}
    for report in summary.reports:
        maps = summary.fillers.get(report.probe)
        if maps is not None:
            into[maps] = into.get(maps, 0) + report.account.fired
    filled = {maps: fired for maps, fired in into.items() if fired} or into
    return [f"{counted(fired, 'firing')} into {maps}" for maps, fired in filled.items()]


def status(
    *,
    seconds: float,
    events: int | None,
    lost: int,
    unseen: str,
    paused: bool,
    level: int | None,
    running: tuple[int, int] = (1, 1),
) -> str:
    """``00:01:12 · 2 of 3 JVMs · 12 408 events · 3 lost · level 1 · paused, 1 204 events not shown``."""
    parts = [clock(seconds)]
    present, of = running
    if of > 1:
        parts.append(counted(of, "JVM") if present == of else f"{present} of {counted(of, 'JVM')}")
    if events is not None:
        parts.append(counted(events, "event"))
    if lost:
        parts.append(f"{grouped(lost)} lost")
    if level is not None:
        parts.append(f"level {level}")
    if paused:
        parts.append(f"paused, {unseen} not shown" if unseen else "paused")
    return " · ".join(parts)


def accounts(reports: Sequence[ProbeReport], *, all_: bool = False) -> list[str]:
    """``quote: 12 fired · 88 skipped`` for each probe with hits of more than one kind, or with ``all_`` for every probe
    that was hit; ``silent`` explains the other probes. If two probes have one name, the later has replaced the
    other."""
    lines = []
    last = {report.probe: report for report in reports}
    for report in reports:
        account = report.account
        parts = [f"{grouped(account.fired)} fired"]
        if report.sampling:
            parts.append(f"{grouped(account.skipped)} skipped ({report.sampling})")
        if account.limited:
            parts.append(f"{grouped(account.limited)} over the limit")
        if report.restraints and not report.sampling and account.skipped:
            parts.append(f"{grouped(account.skipped)} skipped")
        if report.restraints:
            parts.append(f"restrained {counted(report.restraints, 'time')} by the budget")
        if account.rested_ns:
            parts.append(f"disabled for {duration(account.rested_ns)} of it")
        interesting = len(parts) > 1
        if report.errors:
            parts.append(counted(report.errors, "error"))
        if account.produced:
            parts.append(f"{counted(account.delivered, 'event')} delivered, {grouped(report.dropped)} dropped")
        if account.cost.timed:
            parts.append(f"{_each(account.cost)} by {counted(account.cost.timed, 'measurement')}")
        if interesting or (all_ and (account.fired or len(parts) > 1)):
            replaced = "" if report is last[report.probe] else " (replaced)"
            lines.append(f"{report.probe}{replaced}: {' · '.join(parts)}")
    return lines


def sampling_words(sampling: Sampling) -> str:
    """``1:100``, ``5%``, ``at most 50/s``."""
    match sampling.mode.value:
        case "every":
            words = f"1:{grouped(int(sampling.number))}"
        case "rate":
            words = f"{sampling.number:.4%}".rstrip("0%").rstrip(".") + "%"
        case _:
            words = f"at most {grouped(int(sampling.number))}/s"
    return words + (" by thread" if sampling.by_thread else "") + (", adaptive" if sampling.adaptive else "")


USED_UP = frozenset(
    {ProbeState.HITS_USED_UP, ProbeState.TIME_IS_UP, ProbeState.DISABLED_ITSELF, ProbeState.FAILED_TOO_OFTEN}
)
"""A probe leaves these states only by a command of the user."""


def disabled(probe: ProbeOutline, state: ProbeState) -> str:
    """The reason why a probe is disabled now; empty if it was reported before."""
    match state:
        case ProbeState.HITS_USED_UP:
            return f"{probe.name}: disabled after {grouped(probe.limit.hits)} firings (@Limit)"
        case ProbeState.TIME_IS_UP:
            return f"{probe.name}: disabled after {duration(probe.limit.lifetime)} (@Limit)"
        case ProbeState.DISABLED_ITSELF:
            return f"{probe.name}: disabled by its own disable()"
        case ProbeState.FAILED_TOO_OFTEN:
            return f'{probe.name}: disabled because it kept failing (on_error = "disable")'
        case _:
            return ""


def unaccounted(reports: Iterable[ProbeReport]) -> list[str]:
    """A line for each probe whose shown and lost records are not all that it produced, which is a defect of btpy."""
    return [
        f"{report.probe}: {account.produced} produced, but {account.delivered} shown and {report.dropped} lost"
        for report in reports
        if (account := report.account).produced != account.delivered + report.dropped
    ]


def silent(reports: Iterable[ProbeReport], reasons: Mapping[str, str] | None = None) -> list[str]:
    """The reasons for missing output: a line for each probe that never fired. ``reasons``: the reasons of
    :func:`script_reasons`, by probe."""
    lines = []
    for report in reports:
        why = (reasons or {}).get(report.probe, "") or _why_no_hit(report)
        if why and not report.account.fired:
            lines.append(f"{report.probe}: 0 hits: {why}")
    return lines


def _why_no_hit(report: ProbeReport) -> str:
    """The reason why a method probe had no hits. Empty for other probes."""
    account = report.account
    if report.methods < 0:
        return ""
    if report.methods == 0:
        return "no class with a matching method was loaded"
    summary = f"matched {counted(report.methods, 'method')}"
    why = report.sampling or "budget"
    skipped = [f"{grouped(account.skipped)} skipped ({why})"] if account.skipped else []
    skipped += [f"no hits recorded for {duration(account.rested_ns)} (budget)"] if account.rested_ns else []
    skipped += [f"{grouped(account.limited)} over the limit"] if account.limited else []
    skipped += [f"filtered by `when` at least {counted(account.untrue, 'time')}"] if account.untrue else []
    if skipped:
        return f"{summary}; of its calls {' and '.join(skipped)}"
    reason = {1: "it was not called", 2: "neither was called"}.get(report.methods, "none was called")
    unknown = report.conditional and account.untrue is None
    note = "" if report.methods > 1 else " (a call that began earlier continues without probes)"
    return f"{summary}; {reason} while attached{note}" + (", or its predicate was never true" if unknown else "")


def script_reasons(program: Program, level: int) -> dict[str, str]:
    """Reasons why probes outside of methods may never fire, by name. ``level``: the level of the session."""
    reasons = {}
    for probe in program.probes:
        why = _why_disabled(probe, level) or _what_did_not_happen(probe.attachment)
        if why:
            reasons[probe.name] = why
    return reasons


def refusal_reasons(deployment: Deployment, refused: Mapping[str, str]) -> dict[str, str]:
    """Reasons why probes are in no method although matching classes are loaded, by name of the probe. ``refused``: the
    codes, or "", of classes by their names."""
    from btpy.api.listings import RefusalReason

    reasons = {}
    for probe in deployment.program.probes if refused else ():
        if isinstance(probe.attachment, MethodAttachment):
            patterns = [parsed for pattern in probe.attachment.classes for parsed in pattern.classes]
            codes_there = [code for name, code in refused.items() if any(pattern.matches(name) for pattern in patterns)]
            if codes_there:
                code = next(filter(None, codes_there), "")
                reasons[probe.name] = "its methods cannot be traced" + (f" [{code}]" if code else "")
    codes = {reason.value for reason in RefusalReason}
    missing = deployment.matching.missing
    for probe in deployment.program.probes:
        if probe.id in missing and missing[probe.id].code in codes:
            reasons[probe.name] = f"its methods cannot be traced [{missing[probe.id].code}]"
    return reasons


def _why_disabled(probe: CheckedProbe, level: int) -> str:
    if probe.level is None:
        return "it is disabled (@Disabled)"
    return f"it is disabled: --level {probe.level} enables it (@Level)" if probe.level > level else ""


def _what_did_not_happen(attachment: Attachment) -> str:
    match attachment:
        case MethodAttachment(classes=classes) if all(pattern.text == "none" for pattern in classes):
            return "the parameter `none` switches it off"
        case TimerAttachment(period=period):
            return f"its {duration(period)} had not passed"
        case SampleAttachment():
            return "no thread of the application used a processor"
        case EventAttachment(name=""):
            return "its event was not sent (kill -USR1 to btpy sends it)"
        case EventAttachment(name=name):
            return f"its event {name!r} was not sent (btpy send sends it)"
        case ClassLoadAttachment():
            return "no matching class was loaded"
        case LowMemoryAttachment(per_mille=per_mille):
            return f"no matching memory pool was more than {per_mille / 10:g} % full"
        case _:
            return ""


def _cpu(costs: Sequence[Cost], seconds: float) -> list[str]:
    """``probe cpu 0.4 % of one core, mean of all firings 212 ns (p99 1.9 us)``; of several probes each has its own
    line."""
    timed = [cost for cost in costs if cost.timed]
    if not timed or seconds <= 0:
        return []
    share = sum(cost.cpu for cost in costs) / seconds / 1e7
    words = f"probe cpu {'<0.1' if share < 0.05 else f'{share:.1f}'} % of one core"
    if len(timed) == 1:
        words += f", mean of all firings {_spaced(timed[0].mean)} (p99 {_spaced(timed[0].p99)})"
    return [words]


def restraint_words(restraint: Restraint) -> str:
    """A text about a step of the budget, its reason, and how to change it."""
    allowed = f"{100 * restraint.allowed:.3g} %"
    match restraint.step:
        case "free":
            return f"budget: {restraint.probe} is no longer restrained"
        case "prints-less":
            effect = "makes at most 200 events a second"
        case "sampled":
            effect = f"fires for one hit in {grouped(restraint.one_in)}, and its maps show estimates"
        case "disabled":
            effect = "is disabled for some seconds, and its maps show lower bounds"
        case _:
            effect = "is taken out, because its methods would still take too much: its maps show lower bounds"
    if restraint.taken <= restraint.allowed:
        return f"budget: there is room again: {restraint.probe} {effect}"
    cost = f"{100 * restraint.taken:.3g} %"
    remedy = "--budget 10% or --budget off allows more; `when`, @Sample or fewer methods take less"
    return f"budget: probes took {cost} of one core, {allowed} are allowed: {restraint.probe} {effect} ({remedy})"


def _each(cost: Cost) -> str:
    """``mean 212 ns ± 4 ns a firing (p99 1.9 us)``: ± is followed by two standard deviations of the mean. The mean
    includes the first firings, before HotSpot has compiled the handler.
    """
    if cost.timed == 1:  # one measurement has no deviation
        return f"{_spaced(cost.mean)} a firing"
    mean = f"mean {_spaced(cost.mean)} ± {_spaced(math.ceil(2 * cost.error))}"
    return f"{mean} a firing (p99 {_spaced(cost.p99)})"


def _spaced(nanos: float) -> str:
    """``1.9 us``."""
    text = duration(round(nanos))
    unit = text.lstrip("0123456789.")
    return f"{text.removesuffix(unit)} {unit}"


def _receipt(summary: Summary) -> list[str]:
    if summary.stays:
        return [summary.stays]
    if summary.receipt is not None:
        return _receipt_parts(summary.receipt)
    if summary.exited:
        return ["the target has exited"]
    if summary.alive:
        return ["the connection was lost: the agent restores the classes by itself"]
    return ["the target ended before its classes were restored"]


def restored_classes(receipt: Receipt) -> str:
    """``classes restored 4/4``."""
    woven = receipt.woven - receipt.unloaded
    return f"classes restored {receipt.restored}/{woven}" if woven else "no class to restore"


def _receipt_parts(receipt: Receipt) -> list[str]:
    """``classes restored 4/4``, and the parts that remain in the target."""
    parts = [restored_classes(receipt)]
    if receipt.unloaded:
        parts.append(f"{grouped(receipt.unloaded)} unloaded meanwhile")
    parts += [f"left behind: {leftover}" for leftover in receipt.left_behind]
    classes = receipt.handler_classes + receipt.agent_classes
    if not receipt.left_behind and classes:
        parts.append(f"{counted(classes, 'idle agent class')} {'remains' if classes == 1 else 'remain'}")
    return parts


def clock(seconds: float) -> str:
    """``00:01:12``."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours:02d}:{minute:02d}:{second:02d}"
