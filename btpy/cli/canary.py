"""``--canary``: the options of a staged run on several hosts, and its observation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from btpy.api.hosts import HostSilent
from btpy.api.recordings import Ending, Recorded
from btpy.api.results import Errors, Restrained
from btpy.api.rollout import Bounds, Breach, Observed, Rollout, decide, stages_of
from btpy.cli.canary_options import MAX_ERRORS, SETTLE, THEN
from btpy.cli.options import Arguments
from btpy.errors import BtpyError, UsageError
from btpy.output.quantities import counted, duration

SETTLE_SECONDS = 10.0


class Canary:
    """A run in stages. ``names``: the hosts, in the order in which they begin. ``breaches``: the reason why all probes
    were withdrawn.
    """

    def __init__(self, names: Sequence[str], rollout: Rollout) -> None:
        self.rollout = rollout
        self.breaches: tuple[Breach, ...] = ()
        self._names = names
        self._observed = {name: Observed(name) for name in names}

    @property
    def begun(self) -> Sequence[str]:
        """The hosts of the stages so far."""
        return self._names[: self.rollout.hosts]

    @property
    def goes_on(self) -> bool:
        """Whether further hosts may begin."""
        return not self.rollout.has_passed and not self.breaches

    def traced(self, host: str) -> None:
        self._change(host, is_traced=True)

    def settled(self, host: str) -> None:
        """The probes of the host are in, or the host has ended."""
        self._change(host, is_settled=True)

    def lost(self, host: str, reason: str) -> None:
        """A JVM with probes has gone, or a host that has JVMs with probes."""
        if self._observed[host].is_traced:
            self._change(host, gone=self._observed[host].gone or reason)

    def silent(self, report: HostSilent) -> None:
        if report.seconds:
            self.lost(report.host, f"it has not answered for {report.seconds:.0f} s")

    def item(self, host: str, pid: int, item: Recorded) -> None:
        """An item of the recording of a JVM."""
        before = self._observed[host]
        if isinstance(item, Restrained):
            taken_share, allowed_share = item.taken_ppm / 1e6, item.allowed_ppm / 1e6
            if taken_share - allowed_share > before.taken - before.allowed:
                self._change(host, taken=taken_share, allowed=allowed_share)
        elif isinstance(item, Errors):
            self._change(host, errors=before.errors + sum(failure.count for failure in item.failures))
        elif isinstance(item, Ending) and item.reason == "target-exited":
            self.lost(host, f"the JVM {pid} has ended")

    def turn(self, now: float) -> str:
        """Decides. Returns a message for the user about the change, or an empty text."""
        if self.breaches:
            return ""
        before = self.rollout
        decision = decide(before, [self._observed[name] for name in self.begun], now)
        if not isinstance(decision, Rollout):
            self.breaches = decision
            return f"{before.name} has not kept its bounds: the probes come out of all hosts"
        self.rollout = decision
        if decision.has_passed and not before.has_passed:
            return f"all {counted(before.hosts, 'host')} have kept the bounds"
        if decision.stage != before.stage:
            return f"{decision.name} begins: {decision.hosts} of {counted(len(self._names), 'host')}"
        if decision.settled is not None and before.settled is None:
            wait = duration(round(decision.bounds.seconds * 1e9))
            return f"the probes of {decision.name} are in; it must keep its bounds for {wait}"
        return ""

    def _change(self, host: str, **changes: object) -> None:
        self._observed[host] = replace(self._observed[host], **changes)  # type: ignore[arg-type]


def canary_of(arguments: Arguments, names: Sequence[str], budget: float | None) -> Canary | None:
    """None: the run has no stages. ``budget``: of --budget. Raises UsageError."""
    text = arguments.text("canary")
    if text is None:
        for option in (THEN, SETTLE, MAX_ERRORS):
            if option.key in arguments.given:
                raise UsageError(f"{option.names[0]} needs --canary", help=["--canary 1 --then 10% --then all"])
        return None
    if budget == 0:
        raise UsageError("--canary watches the budget, and --budget off removes the budget", help=["--budget 5%"])
    bounds = Bounds(errors=arguments.number("max_errors", 0), seconds=arguments.seconds("settle", SETTLE_SECONDS))
    return Canary(names, Rollout(stages_of(text, arguments.texts("then"), len(names)), bounds))


class Withdrawn(BtpyError):
    """A stage has not kept its bounds."""

    exit_status = 7

    def __init__(self, breaches: Sequence[Breach]) -> None:
        hosts = ", ".join(dict.fromkeys(breach.host for breach in breaches if breach.host))
        super().__init__(f"the probes were withdrawn from all hosts{f' because of {hosts}' if hosts else ''}")
