"""Passes the whole output of one target or recording to an export, independently of the terminal."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from btpy.api.results import Item, MapContent, ProbeAccount, Receipt
from btpy.model.diagnostics import Diagnostic
from btpy.model.sites import Site
from btpy.output.writer import Context, ExportWriter, ProbeReport
from btpy.present.presenter import Presenter, why_over

if TYPE_CHECKING:
    from btpy.output.origin import Origin


class Exporter(Protocol):
    """A backend, to which all targets of a run export."""

    def writer(self, context: Context, origin: Origin) -> ExportWriter: ...

    def begin_report(self) -> bool:
        """Begins a report and returns True, if a report is due. Then the caller reads the maps and calls
        :meth:`report`.
        """

    def report(self) -> None:
        """Ends the report: the maps of all targets have just been read."""

    def notices(self) -> list[str]:
        """Messages for the user, since the last call."""


class _NoConsole:
    """Ignores messages for the user: another presenter shows them on the terminal."""

    verbosity = -1
    unicode = True

    def diagnostics(self, diagnostics: Sequence[Diagnostic]) -> None:
        pass

    def warning(self, text: str, help: Sequence[str] = ()) -> None:
        pass

    script = notice = say = detail = warning


class Export:
    """``hits``: how many prints and events of method probes are exported; None: all."""

    def __init__(self, exporter: Exporter, context: Context, origin: Origin, hits: int | None) -> None:
        alone = replace(context, several=False)  # the attributes of the resource name the target
        self._outline = context.outline
        self._writer = exporter.writer(alone, origin)
        self._presenter = Presenter(alone, self._writer, _NoConsole(), hits=hits, displayed=None)

    def item(self, item: Item) -> None:
        """Raises ProtocolError, OutputError."""
        self._presenter.item(item)

    @property
    def why_over(self) -> str:
        """As :func:`~btpy.present.presenter.why_over`."""
        return why_over(self._presenter)

    def reports(self, accounts: Iterable[ProbeAccount], sites: Iterable[Site]) -> tuple[ProbeReport, ...]:
        """As :meth:`Presenter.reports`."""
        return self._presenter.reports(accounts, sites)

    def read(self, contents: Iterable[MapContent], accounts: Iterable[ProbeAccount]) -> None:
        """The current content of all maps. Maps that the script flushes are left out until the end: each flush sends
        their samples, and a reading could arrive before an earlier flush.
        """
        flushed = self._outline.flushed_maps
        self._writer.read([content for content in contents if content.map.id not in flushed], accounts)

    def end(
        self,
        reason: str,
        contents: Iterable[MapContent],
        reports: tuple[ProbeReport, ...],
        receipt: Receipt | None,
        *,
        latest: Collection[MapContent] = (),
    ) -> None:
        """``contents``: all maps at the end; ``latest``: the maps to use if the target has ended without sending its
        last ones.
        """
        self._presenter.give_up()
        if latest:
            self.read(latest, ())
        self._writer.read(contents, (report.account for report in reports), at_end=True)
        self._presenter.end(reason, reports, receipt)
