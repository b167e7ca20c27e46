"""The report on one target of a run, on standard error: the banner, later findings, the summary."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from btpy.api import jvms
from btpy.api.listings import RefusalReason
from btpy.api.preview import expected_range
from btpy.api.programs import Program, filled_maps
from btpy.api.results import ProbeAccount
from btpy.api.session import BaseSession, Deployment, Receipt
from btpy.cli.console import Console
from btpy.model.attachments import EndAttachment, TimerAttachment
from btpy.model.diagnostics import Diagnostic, Severity
from btpy.output.quantities import counted, grouped
from btpy.output.writer import ProbeReport
from btpy.present.presenter import Presenter
from btpy.present.report import (
    Summary,
    banner,
    refusal_reasons,
    script_reasons,
    silent,
    summary_lines,
    unaccounted,
)
from btpy.present.report import accounts as account_lines

if TYPE_CHECKING:
    from btpy.cli.settings import Settings

_UNIMPORTANT = {
    RefusalReason.NO_CODE: "abstract and native methods are not traced: they have no bytecode",
    RefusalReason.UNMODIFIABLE: "hidden and lambda classes are not traced: the JVM keeps them as they are",
}
"""The reasons of refusals that only ``-v`` shows. The text stands for many refusals for one reason, after their number.
"""
_LISTED = 10  # the maximum number of lines of one kind that are shown; the others are counted


class Drawing(Protocol):
    """The drawing that a verb makes from the events of its script."""

    @property
    def drawn(self) -> str:
        """The drawing: ``5 trees``."""

    def explain(self) -> str:
        """The reason why the run has nothing to show, or what the drawing lacks; otherwise empty."""


class RunReport:
    """``alone``: no other target is traced, so lines need not name the target. ``drawing``: the drawing of a verb, if
    one runs.
    """

    def __init__(
        self,
        session: BaseSession,
        presenter: Presenter,
        settings: Settings,
        console: Console,
        *,
        alone: bool,
        drawing: Drawing | None,
        start: float,
    ) -> None:
        self._session = session
        self._presenter = presenter
        self._settings = settings
        self._console = console
        self._alone = alone
        self._drawing = drawing
        self._started = start
        self._problems = self._refusals = 0  # told so far

    def show_findings(self) -> None:
        """New findings about classes loaded during the run: probes that do not fit, code that is not traced."""
        problems, refusals = self._session.scripts.problems, self._session.refusals
        if problems[self._problems :]:
            self._warn(problems[self._problems :])
        for refusal in refusals[self._refusals :]:
            if refusal.reason in self._unimportant:
                self._console.detail(str(refusal))
            else:
                self._console.warning(str(refusal))
        self._problems, self._refusals = len(problems), len(refusals)

    @property
    def _unimportant(self) -> Collection[RefusalReason]:
        """The reasons that the report omits. The user has not written the probes of a drawing, so the report also omits
        the core classes that these probes name.
        """
        return _UNIMPORTANT if self._drawing is None else (*_UNIMPORTANT, RefusalReason.PROTECTED)

    def _warn(self, diagnostics: Sequence[Diagnostic]) -> None:
        if diagnostics and self._console.verbosity >= 0:
            self._console.diagnostics([replace(diagnostic, severity=Severity.WARNING) for diagnostic in diagnostics])

    def announce(self, deployment: Deployment) -> None:
        """Shows the banner when the probes are in, and the code that could not be traced."""
        console, session = self._console, self._session
        self._warn(deployment.warnings)
        self._problems, self._refusals = len(session.scripts.problems), len(deployment.refusals)
        refusals = [refusal for refusal in deployment.refusals if refusal.reason not in self._unimportant]
        for refusal in refusals[:_LISTED]:
            console.warning(str(refusal))
        if len(refusals) > _LISTED:
            console.warning(f"… and {len(refusals) - _LISTED} more that cannot be traced (-v lists them)")
        counts = Counter(refusal.reason for refusal in deployment.refusals if refusal.reason in _UNIMPORTANT)
        summed_up = {reason: count for reason, count in counts.items() if count > _LISTED}
        for refusal in deployment.refusals:
            if refusal not in refusals[:_LISTED] and refusal.reason not in summed_up:
                console.detail(str(refusal))
        for reason, count in summed_up.items():
            console.detail(f"{grouped(count)} {_UNIMPORTANT[reason]}")
        for field in session.scripts.late_bound:
            console.detail(field)
        for name in deployment.loaded_meanwhile:
            console.say(f"{name} was loaded while nobody was connected: its probes come in now")
        console.say(
            banner(
                deployment,
                session.target,
                nanos=expected_range(deployment.program),
                refused=len(refusals),
                end=self._what_ends_it(),
            )
        )
        target = session.target
        console.detail(
            f"JDK {target.java_version}, {target.vm_name}, {grouped(target.loaded_classes)} classes loaded;"
            f" {counted(deployment.batches, 'batch')}, the longest stop {deployment.longest_pause_ns / 1e6:.1f} ms,"
            f" {deployment.waited_ns / 1e6:.0f} of {deployment.weave_ns / 1e6:.0f} ms waiting for woven classes"
        )

    def _what_ends_it(self) -> str:
        stay = self._settings.stay
        if not self._alone or self._settings.ends or (stay is not None and stay.at_once):
            return ""
        return " Ctrl-C to end." if stay is None else " Ctrl-C leaves it running."

    @property
    def _program(self) -> Program:
        """The program with all probes in the target."""
        assert self._session.deployment is not None
        return self._session.deployment.program

    @property
    def accounts(self) -> list[ProbeAccount]:
        """The accounts of all probes."""
        return list(self._session.figures.accounts.values())

    @property
    def reports(self) -> tuple[ProbeReport, ...]:
        return self._presenter.reports(self.accounts, list(self._session.context.sites.values()))

    def summarize(self, receipt: Receipt | None, stays: str = "") -> None:
        """Show the end of the run. ``receipt``: None means the target could not report its restoration. ``stays``:
        a text about a session that continues.
        """
        console, presenter, program = self._console, self._presenter, self._program
        presenter.show_remaining_errors()
        reports = self.reports
        if receipt is not None:
            for line in unaccounted(reports):
                console.warning(line)
        if console.verbosity < 0:
            return
        for line in self._why_silent(() if stays else reports)[:_LISTED]:
            console.say(line)
        ends = {probe.name for probe in program.probes if isinstance(probe.attachment, EndAttachment)}
        ends |= self._not_due(reports)
        telling = [report for report in reports if report.probe not in ends or report.account.produced or report.errors]
        accounted = reports if console.verbosity > 0 else telling
        several = len(accounted) > 1 and self._drawing is None  # the user has not written the probes of a drawing
        for line in account_lines(accounted, all_=several or console.verbosity > 0):
            console.say(line)
        exited = receipt is None and presenter.exiting
        alive = receipt is None and not exited and jvms.is_alive(self._session.target.process)
        summary = Summary(
            reports,
            receipt,
            time.monotonic() - self._started,
            presenter.maps_full,
            presenter.maps_evicted,
            presenter.errors.count(),
            alive,
            exited,
            recorded=self._settings.destination.silent,
            drawn="" if self._drawing is None else self._drawing.drawn,
            stays=stays,
            age=0.0 if self._session.joined is None else self._session.joined.age,
            fillers=filled_maps(program),
        )
        for line in summary_lines(summary):
            console.say(line)

    def _why_silent(self, reports: Sequence[ProbeReport]) -> list[str]:
        if self._drawing is not None:
            why = self._drawing.explain()
            return [why] if why and reports else []
        served = self._settings.missing == "all" and any(report.account.fired for report in reports)
        probe_names = {probe.name for probe in self._program.active}  # others were replaced
        expected = [] if served else [report for report in reports if report.probe in probe_names]
        not_due = self._not_due(reports)
        expected = [report for report in expected if report.probe not in not_due]
        deployment = self._session.deployment
        classes = dict(self._presenter.late.refused)
        classes |= {refusal.class_name: refusal.reason.value for refusal in self._session.refusals}
        reasons = refusal_reasons(deployment, classes) if deployment is not None else {}
        nowhere = {
            report.probe: reasons[report.probe] for report in expected if not report.methods and report.probe in reasons
        }
        return silent(expected, {**nowhere, **script_reasons(self._program, self._settings.level)})

    def _not_due(self, reports: Sequence[ProbeReport]) -> set[str]:
        """Timers that never fired although other probes did: the run was shorter than their period, so nothing is
        reported."""
        timers = {probe.name for probe in self._program.probes if isinstance(probe.attachment, TimerAttachment)}
        if not any(report.account.fired for report in reports if report.probe not in timers):
            return set()
        return {report.probe for report in reports if report.probe in timers and not report.account.fired}
