"""The exports of a run, from their first connection to the report of losses."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from btpy.cli.console import Console
from btpy.errors import OutputError
from btpy.output.quantities import counted, grouped

if TYPE_CHECKING:
    from btpy.cli.destination import Destination
    from btpy.output.otlp.export import OtlpExport
    from btpy.output.otlp.exporter import Tally
    from btpy.output.parquet.store import Store
    from btpy.output.prometheus.exposition import Exposition
    from btpy.output.prometheus.settings import ExpositionSettings
    from btpy.present.export import Exporter


@contextlib.contextmanager
def all_exports(destination: Destination, console: Console) -> Iterator[tuple[Exporter, ...]]:
    """All exports of a run. Raises UsageError; OutputError if something was lost."""
    with (
        exporting(destination.export, console) as exporter,
        exposing(destination.exposition, console) as exposition,
        storing(destination.data_sets, console) as store,
    ):
        yield tuple(export for export in (exporter, exposition, store) if export is not None)


def report_when_due(
    exporters: Sequence[Exporter], read: Callable[[Sequence[Exporter]], None], console: Console
) -> None:
    """Reports the metrics of the exporters for which a report is due, and shows the messages of all exporters. ``read``
    passes the current maps of all targets to exporters.
    """
    for exporter in exporters:
        for notice in exporter.notices():
            console.warning(notice)
    due = [exporter for exporter in exporters if exporter.begin_report()]
    if due:
        read(due)
    for exporter in due:
        exporter.report()


@contextlib.contextmanager
def storing(directory: Path | None, console: Console) -> Iterator[Store | None]:
    """A context with the data sets of Parquet files; None without a directory. Raises UsageError, OutputError."""
    if directory is None:
        yield None
        return
    from btpy.api.export import store_in

    store = store_in(directory)
    store.start()
    completed = False
    try:
        yield store
        completed = True
    finally:
        outcome = store.finish()
        console.say(f"{directory}: {outcome.written}")
    if completed and outcome.failure:
        raise OutputError(outcome.failure)


@contextlib.contextmanager
def exposing(settings: ExpositionSettings | None, console: Console) -> Iterator[Exposition | None]:
    """A context with the exposition; None without settings. Raises UsageError."""
    if settings is None:
        yield None
        return
    from btpy.api.export import exposition_at

    exposition = exposition_at(settings)
    exposition.start()
    others = ", as can all users of this machine" if settings.is_open else ""
    console.say(f"btpy: Prometheus can scrape {exposition.address}{others}")
    try:
        yield exposition
    finally:
        exposition.close()
        console.say(f"{exposition.address}: scraped {counted(exposition.scrapes, 'time')}")


@contextlib.contextmanager
def exporting(url: str | None, console: Console, *, patient: bool = False) -> Iterator[OtlpExport | None]:
    """A context with the export; None without a URL. At its end, the context sends everything and reports the numbers
    to the user. ``patient``: the run waits for the backend. Raises UsageError, and OutputError if records were lost.
    """
    if url is None:
        yield None
        return
    from btpy.api.export import exporter as export_to

    exporter = export_to(url, os.environ, patient=patient)
    exporter.start()
    completed = False
    try:
        yield exporter
        completed = True
    finally:
        tally = exporter.close()
        for notice in exporter.notices():
            console.warning(notice)
        console.say(f"{exporter.endpoint_text}: {_delivered(tally)}")
        if not completed and not tally.is_complete:
            console.warning(_lost(tally))
    if not tally.is_complete:
        raise OutputError(f"the export to {exporter.endpoint_text} is incomplete: {_lost(tally)}")


def _delivered(tally: Tally) -> str:
    spans = f"{counted(tally.spans, 'span')}, " if tally.spans else ""
    return f"{spans}{counted(tally.log_records, 'log record')} and {counted(tally.points, 'point')} of metrics exported"


def _lost(tally: Tally) -> str:
    parts = [f"{grouped(count)} log records lost ({cause.value})" for cause, count in tally.lost.items()]
    parts += [f"{grouped(count)} spans lost ({cause.value})" for cause, count in tally.lost_spans.items()]
    if tally.rejected_points:
        parts.append(f"{counted(tally.rejected_points, 'point')} rejected")
    if tally.unsent_reports:
        parts.append("the last values of the metrics were not sent")
    return ", ".join(parts)
