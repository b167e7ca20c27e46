"""Puts probes into hosts in stages: decides when the next stage begins, and when all probes must come out.

The functions are pure. The caller observes the hosts, and does what a decision says.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Union

from btpy.dataclass import dataclass
from btpy.errors import UsageError
from btpy.output.quantities import counted, grouped

_SIZE = re.compile(r"([1-9][0-9]{0,5})|(100|[1-9][0-9]?)%|(all)")


def stages_of(canary: str, then: Sequence[str], hosts: int) -> tuple[int, ...]:
    """The number of hosts that have their probes after each stage; the last number is the number of all hosts.
    ``canary`` and ``then``: a number, a percentage or ``all``. Raises UsageError.
    """
    sizes = [_size("--canary", canary, hosts), *(_size("--then", text, hosts) for text in then), hosts]
    increasing = [size for at, size in enumerate(sizes) if size > max(sizes[:at], default=0)]
    return tuple(increasing)


def _size(option: str, text: str, hosts: int) -> int:
    match = _SIZE.fullmatch(text)
    if match is None:
        raise UsageError(f"{option} takes a number of hosts, not {text!r}", help=["--canary 1 --then 10% --then all"])
    number, percent, _ = match.groups()
    if number is not None:
        return min(int(number), hosts)
    return hosts if percent is None else math.ceil(hosts * int(percent) / 100)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of each stage. ``errors``: the number of probe errors on one host; ``seconds``: the time for which the stage must
    keep the bounds.
    """

    errors: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Observed:
    """What is known about a host so far. ``is_settled``: its probes are in, or it has failed; ``is_traced``: probes
    are, or were, in one of its JVMs. ``taken``, ``allowed``: the used and the allowed share of one core when the probes
    exceeded their budget most. ``gone``: the reason why a JVM with probes, or the host, can no longer be observed.
    """

    host: str
    is_settled: bool = False
    is_traced: bool = False
    errors: int = 0
    taken: float = 0.0
    allowed: float = 0.0
    gone: str = ""


@dataclass(frozen=True, slots=True)
class Breach:
    """``host``: empty if the breach belongs to the whole stage. ``bound``: its name; ``words``: the value, the bound
    and the excess.
    """

    host: str
    bound: str
    words: str


@dataclass(frozen=True, slots=True)
class Rollout:
    """``sizes``: the number of hosts after each stage; ``stage``: the index of the present stage; the number of stages
    when all have passed. ``settled``: the time since which all hosts of the stage are settled; None: they are not.
    """

    sizes: tuple[int, ...]
    bounds: Bounds
    stage: int = 0
    settled: float | None = None

    @property
    def has_passed(self) -> bool:
        return self.stage == len(self.sizes)

    @property
    def hosts(self) -> int:
        """The number of hosts that have begun, or may begin."""
        return self.sizes[min(self.stage, len(self.sizes) - 1)]

    @property
    def name(self) -> str:
        return f"stage {self.stage + 1} of {len(self.sizes)}"


Decision = Union[Rollout, tuple[Breach, ...]]


def decide(rollout: Rollout, observed: Sequence[Observed], now: float) -> Decision:
    """The rollout from now on, or the breaches: all probes must then come out. ``observed``: the hosts of the stages
    that have begun. ``now``: seconds of a monotonic clock.
    """
    if rollout.has_passed:
        return rollout
    breaches = tuple(breach for host in observed for breach in breaches_of(host, rollout.bounds))
    if breaches:
        return breaches
    if not all(host.is_settled for host in observed):
        return replace(rollout, settled=None)
    if not any(host.is_traced for host in observed):
        return (Breach("", "hosts", f"none of {counted(len(observed), 'host')} is traced"),)
    if rollout.settled is None:
        return replace(rollout, settled=now)
    if now - rollout.settled < rollout.bounds.seconds:
        return rollout
    return replace(rollout, stage=rollout.stage + 1, settled=None)


def breaches_of(host: Observed, bounds: Bounds) -> tuple[Breach, ...]:
    """The bounds that a host does not keep."""
    breaches = []
    if host.taken > host.allowed:
        taken_percent, allowed_percent = 100 * host.taken, 100 * host.allowed
        over = (
            f"{taken_percent - allowed_percent:.3g} percentage points too much, "
            f"{host.taken / host.allowed:.3g} times the bound"
            if allowed_percent
            else "too much"
        )
        words = f"its probes took {taken_percent:.3g} % of one core, {allowed_percent:.3g} % are allowed: {over}"
        breaches.append(Breach(host.host, "budget", words))
    if host.errors > bounds.errors:
        over = f"{grouped(host.errors - bounds.errors)} too many"
        words = f"{counted(host.errors, 'probe error')}, {grouped(bounds.errors)} are allowed: {over}"
        breaches.append(Breach(host.host, "errors", words))
    if host.gone:
        breaches.append(Breach(host.host, "lost", host.gone))
    return tuple(breaches)
