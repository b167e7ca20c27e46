"""The disabled probes, and the steps of the budget against probes."""

from __future__ import annotations

from collections import Counter

from btpy.api.results import ProbeAccount, ProbeState, Restrained
from btpy.model.outline import Moment, Outline
from btpy.output.writer import Restraint
from btpy.present.report import USED_UP, disabled


class ProbeStates:
    """The states of the probes of one session. ``restraints``: the number of further restraints by the budget, by
    probe."""

    def __init__(self, outline: Outline) -> None:
        self.restraints: Counter[int] = Counter()
        self._outline = outline
        self._states: dict[int, ProbeState] = {}
        self._taken_out: set[int] = set()  # by the budget
        self._announced_steps: set[tuple[str, str]] = set()  # probes and the steps of the budget against them

    def change(self, account: ProbeAccount) -> str:
        """The reason why a probe is disabled now; empty if it was reported before."""
        if account.probe in self._taken_out or account.probe >= len(self._outline.probes):
            return ""
        if account.state is self._states.get(account.probe):
            return ""
        self._states[account.probe] = account.state
        return disabled(self._outline.probes[account.probe], account.state)

    def restrain(self, message: Restrained, name: str) -> Restraint:
        """``name``: the name of the probe."""
        restraint = Restraint.of(message, name)
        if message.rest_ppm:
            self._states[message.probe] = ProbeState.OVER_BUDGET
            self._taken_out.add(message.probe)
        self.restraints[message.probe] += restraint.taken > restraint.allowed
        return restraint

    def is_news(self, restraint: Restraint) -> bool:
        """Whether the budget takes this step against the probe for the first time: from then on the maps of the probe
        are not exact. Many steps of the same kind follow.
        """
        step = restraint.probe, restraint.step
        if restraint.taken <= restraint.allowed or step in self._announced_steps:
            return False
        self._announced_steps.add(step)
        return True

    @property
    def all_used_up(self) -> bool:
        """Whether every method probe has been disabled by its limits or by itself, and no other probe produces
        output."""
        if any(probe.moment is Moment.TIMER for probe in self._outline.probes):
            return False
        states = self._on_methods
        return bool(states) and all(state in USED_UP for state in states)

    @property
    def all_over_budget(self) -> bool:
        """Whether the budget has disabled every method probe."""
        states = self._on_methods
        return bool(states) and all(state is ProbeState.OVER_BUDGET for state in states)

    @property
    def _on_methods(self) -> list[ProbeState | None]:
        return [
            self._states.get(id_)
            for id_, probe in enumerate(self._outline.probes)
            if probe.moment is Moment.METHOD and probe.host == id_
        ]
