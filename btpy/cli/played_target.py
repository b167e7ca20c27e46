"""Shows the recording of one target like its run: from a file, or as it arrives from a host."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from btpy.api.recordings import Ending, Playback, ProbesAttached, Recorded, ShownMaps, Totals
from btpy.api.results import Item, MapContent, PrintedMaps, Receipt, Records, can_be_merged, with_exemplars_of
from btpy.cli.console import Console
from btpy.cli.destination import Destination
from btpy.output.values import visible
from btpy.output.writer import Attached, Clock, Context, Writer
from btpy.present.presenter import Presenter
from btpy.present.report import unaccounted

if TYPE_CHECKING:
    from btpy.output.stream import Stream
    from btpy.present.export import Export, Exporter

_MAX_HOST = 255  # the maximum number of characters of the name of a host


class Span(NamedTuple):
    """From ``start`` to ``end``, ns since 1970; None: without bound."""

    start: int | None = None
    end: int | None = None

    def has(self, wall_nanos: int) -> bool:
        return (self.start is None or wall_nanos >= self.start) and (self.end is None or wall_nanos < self.end)

    def cut(self, item: Records, clock: Clock) -> Records:
        if self.start is None and self.end is None:
            return item
        return replace(item, records=[record for record in item.records if self.has(clock.wall(record.nanos))])


class PlayTerms(NamedTuple):
    """The settings that all targets share. ``hits``: the number of prints and events to show for each target; 0: all;
    None: as many as in its run. ``rate``: of --rate. ``several``: there are several targets; ``of_hosts``: whether the
    targets are on several hosts. ``console``: for messages of the targets.
    """

    where: Destination
    stream: Stream
    console: Console
    color: str | None = None
    span: Span = Span()
    hits: int | None = None
    rate: int | None = None
    exporters: tuple[Exporter, ...] = ()
    several: bool = False
    of_hosts: bool = False

    def writer(self, context: Context) -> Writer:
        """Raises UsageError for output that the format cannot show."""
        return self.where.writer(self.stream, context, self.console, self.color)


class PlayedTarget:
    """``host``: the name of the host in a run on several hosts. ``moments``: the maps that were shown before the end;
    ``latest``: the maps of the last reading, by their ids; ``last``: the maps at the end, once the end was shown.
    """

    def __init__(self, playback: Playback, host: str | None, terms: PlayTerms) -> None:
        start = playback.started
        self.moments: deque[tuple[MapContent, ...]] = deque()
        self.last: tuple[MapContent, ...] | None = None
        self.context = Context(
            playback.outline,
            playback.sites,
            playback.stacks,
            Clock(start.nano_time, start.wall_nanos),
            pid=start.pid if terms.several else None,
            several=terms.several,
            host=visible(host[:_MAX_HOST]) if host is not None and terms.several else None,
            of_hosts=terms.of_hosts,
        )
        about = "  ".join(map(str, self.context.source))
        self.console = terms.console.of(about) if about else terms.console
        self._playback = playback
        self._terms = terms
        self._writer = terms.writer(self.context)
        self.showing = Presenter(
            self.context,
            self._writer,
            self.console,
            hits=(start.hits if terms.hits is None else terms.hits) or None,
            displayed=terms.where.displayed(terms.stream, terms.rate),
        )
        self.latest: dict[int, MapContent] = {}
        self._exports: list[Export] = []
        if terms.exporters:
            from btpy.api.export import recorded_origin
            from btpy.present.export import Export

            origin = recorded_origin(start, host)
            self._exports = [Export(exporter, self.context, origin, None) for exporter in terms.exporters]

    def show(self, wall_nanos: int, item: Recorded) -> None:
        """``wall_nanos``: the time of the record. If there are several targets, maps that can be merged are kept for
        the end.

        Raises ProtocolError, OutputError.
        """
        span, showing, clock = self._terms.span, self.showing, self.context.clock
        if isinstance(item, Records):
            self._show(span.cut(item, clock))
        elif isinstance(item, PrintedMaps):
            if span.has(clock.wall(item.nano_time)):
                self._show(item)
        elif isinstance(item, ProbesAttached):
            self._writer.attached(Attached(item.probes, item.methods, item.classes))
        elif isinstance(item, Ending):
            self._end(item, span.has(wall_nanos))
        elif not span.has(wall_nanos):
            pass
        elif isinstance(item, Totals):
            showing.counted(item.accounts)
        elif isinstance(item, ShownMaps):
            self.moments.append(item.contents)
            self.keep(item.contents)
            showing.maps(self.own(item.contents))
        else:
            self._show(item)

    def keep(self, contents: Iterable[MapContent]) -> None:
        """Keeps the contents of the last reading, for exports. The target sends each exemplar only once, so the map
        keeps it until the next exemplar of the same size arrives.
        """
        for content in contents:
            self.latest[content.map.id] = with_exemplars_of(content, self.latest.get(content.map.id))

    def read_for_export(self, due: Collection[Exporter]) -> None:
        """Passes the maps of the last reading to these exports."""
        for exporter, export in zip(self._terms.exporters, self._exports, strict=True):
            if exporter in due:
                export.read(self.latest.values(), self._playback.accounts)

    def _show(self, item: Item) -> None:
        self.showing.item(item)
        for export in self._exports:
            export.item(item)

    def _end(self, ending: Ending, is_shown: bool) -> None:
        showing = self.showing
        contents = ending.contents if ending.left is not None and is_shown else ()
        if ending.left is None:
            showing.give_up()
        else:
            showing.close(self.own(contents), ending.accounts)
        reports = showing.reports(ending.accounts, self._playback.sites.values())
        for line in unaccounted(reports):
            self.console.warning(line)
        receipt = None if ending.left is None else Receipt(*ending.left)
        showing.end(ending.reason, reports, receipt)
        latest = () if ending.left is not None or ending.contents else tuple(self.latest.values())
        self.keep(ending.contents)
        at_end = [self.latest[content.map.id] for content in ending.contents]
        for export in self._exports:
            export.end(ending.reason, at_end, reports, receipt, latest=latest)
        self.last = contents

    def cut_off(self, reason: str) -> None:
        """Called when the recording stops without an end."""
        playback, showing = self._playback, self.showing
        showing.close((), playback.accounts)
        reports = showing.reports(playback.accounts, playback.sites.values())
        showing.end(reason, reports, None)
        for export in self._exports:
            export.end(reason, (), reports, None, latest=tuple(self.latest.values()))

    def close(self) -> None:
        self._writer.close()

    def own(self, contents: Iterable[MapContent]) -> list[MapContent]:
        """The maps that are shown for this target alone, because they are not merged."""
        return [content for content in contents if not self._terms.several or not can_be_merged(content.map)]
