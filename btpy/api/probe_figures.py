"""The accounts and errors of the probes of a session."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping

from btpy.engine.session import Session as EngineSession
from btpy.events.accounts import ProbeAccount
from btpy.events.speculation import Speculations
from btpy.model.outline import Outline
from btpy.output.writer import ProbeError
from btpy.wire.messages import UNKNOWN_PROBE, Errors

MOST_ERRORS = 1000
"""The number of latest error reports that are kept."""


def probe_name(outline: Outline, probe: int) -> str:
    """``probe``: the id of a probe in messages. Empty if the target does not know which probe it was."""
    return "" if probe == UNKNOWN_PROBE else outline.probes[probe].name


class ErrorLog:
    """Errors as the target has reported them. ``latest``: the last MOST_ERRORS reports; ``forgotten``: the number of
    reports before them."""

    def __init__(self, outline: Outline) -> None:
        self.latest: deque[ProbeError] = deque()
        self.forgotten = 0
        self._outline = outline
        self._counts: Counter[int] = Counter()

    def add(self, errors: Errors) -> None:
        for failure in errors.failures:
            self._counts[failure.probe] += failure.count
            name = probe_name(self._outline, failure.probe)
            self.latest.append(ProbeError.of(failure, self._outline.sources, name))
            if len(self.latest) > MOST_ERRORS:
                self.latest.popleft()
                self.forgotten += 1

    def count(self, probe: int) -> int:
        return self._counts[probe]


class ProbeFigures:
    """Figures by the id of a probe in records."""

    def __init__(self, engine: EngineSession, errors: ErrorLog, speculations: Speculations) -> None:
        self._engine = engine
        self._errors = errors
        self._speculations = speculations

    @property
    def accounts(self) -> Mapping[int, ProbeAccount]:
        """The account of the probe: at most a second old, current after :meth:`Session.refresh`; exact after
        :meth:`Session.detach`."""
        return self._engine.delivery.accounts

    def errors(self, probes: Iterable[int]) -> int:
        """The number of firings of these probes that failed or counted an error."""
        return sum(self._errors.count(probe) for probe in probes)

    def uncommitted(self, probes: Iterable[int]) -> int:
        """Records that these probes held back (``speculate``) and that are not shown: discarded, or never committed."""
        return sum(self._speculations.dropped[probe] for probe in probes)

    def methods(self, probe: int) -> list[tuple[str, str]]:
        """Class and name of the methods that contain the probe, or the probe that fires it (``@OnProbe``)."""
        deployer = self._engine.deployer
        program = deployer.program
        host = program.fires_in(program.probes[probe]).id if program is not None else probe
        return deployer.methods(host)
