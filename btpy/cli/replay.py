"""``btpy replay``: shows a recording as the run would have shown it, in any format."""

from __future__ import annotations

import contextlib
import heapq
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from btpy.cli.destination import OUTPUT_OPTIONS, Destination, destination
from btpy.cli.exporting import exporting
from btpy.cli.options import Arguments, Command, Option, number, seconds
from btpy.output import formats

if TYPE_CHECKING:
    from btpy.api.recordings import Recorded, Recording
    from btpy.api.results import Item, MapContent, Records, StackTable
    from btpy.cli.console import Console
    from btpy.output.otlp.exporter import Exporter
    from btpy.output.stream import Stream
    from btpy.output.writer import Clock, Writer
    from btpy.present.export import Export

COMMAND = Command(
    name="replay",
    usage=("replay FILE.btz|FILE.ndjson [options]", "replay RUN-PID.btz RUN-PID.btz … [options]"),
    summary="show what was recorded, in any format",
    about=(
        "Shows a recording (btpy PID FILE.bt -o run.btz) as the run would have shown it: every event, the maps, the\n"
        "errors of probes. No JVM is needed. A recording that was cut off is shown as far as it goes.\n"
        "Of several, which a script on several JVMs has left, events are shown as they came, and maps merged.\n"
        "Lines of -f ndjson become other formats too; they do not say which numbers are durations."
    ),
    examples=(
        ("replay run.btz -f ndjson | jq .data", "for programs"),
        ("replay run.btz --from 10s --to 20s", "a part of it, as text"),
        ("replay run.btz --only slow_quote -o slow.csv", "one probe, event or map, as a table"),
        ("replay run-4711.btz run-4712.btz", "what one script has seen in two JVMs"),
    ),
    options=(
        *OUTPUT_OPTIONS,
        Option(("--from",), "leave out what came before: 10s after the start, or 2026-11-21T18:41:22", "TIME"),
        Option(("--to",), "leave out what came later", "TIME"),
        Option(("--hits",), "so many prints and events (default: as the run showed; 0: all)", "N"),
        Option(("--rate",), "show at most N events a second of each probe (200 on a terminal; 0: all)", "N"),
        Option(("-q", "--quiet"), "errors and warnings only on standard error"),
        Option(("-v", "--verbose"), "print more details; twice: even more"),
        Option(("--color",), "auto (default), always or never", "WHEN", choices=("auto", "always", "never")),
        Option(("--no-unicode",), "write ASCII only"),
    ),
    positionals=(1, 1000),
)


def run(arguments: Arguments, console: Console) -> int:
    from btpy.api.recordings import Recording
    from btpy.cli.console import wants_color
    from btpy.errors import BtpyError, ProtocolError
    from btpy.output.writer import Clock

    where = destination(arguments, records=False)
    console.verbosity = -1 if arguments.switch("quiet") else arguments.count("verbose")
    console.unicode = console.unicode and not arguments.switch("no_unicode")
    console.color = wants_color(arguments.text("color"), 2)
    paths = [Path(positional) for positional in arguments.positionals]
    if len(paths) == 1 and formats.suggested(paths[0]) is formats.named("ndjson"):
        return _replay_lines(paths[0], arguments, where, console)
    with contextlib.ExitStack() as stack:
        recordings = [stack.enter_context(Recording.open(path)) for path in paths]
        if len(recordings) > 1:
            _require_one_run(paths, recordings, where)
        first = min((recording.started for recording in recordings), key=lambda start: start.wall_nanos)
        clock = Clock(first.nano_time, first.wall_nanos)
        start, end = (_moment(f"--{name}", arguments.text(name), clock) for name in ("from", "to"))
        stream = stack.enter_context(where.open(console))
        exporter = stack.enter_context(exporting(where.export, console, patient=True))
        played = _Played(recordings, _Span(start, end), where, stream, console, arguments, exporter)
        try:
            for wall_nanos, part, item in played.items():
                played.show(wall_nanos, part, item)
                stream.flush()
            played.cut_off()
        except ProtocolError as error:
            raise BtpyError(f"the recording is damaged: {error}", help=["what came before is shown"]) from error
        finally:
            played.close()
        played.end()
        stream.flush()
    return 0


def _replay_lines(path: Path, arguments: Arguments, where: Destination, console: Console) -> int:
    """Replays a file of ndjson. Raises UsageError."""
    from btpy.api.recordings import Lines, nanos
    from btpy.api.results import MapContent
    from btpy.errors import UsageError
    from btpy.output.ndjson import NdjsonWriter
    from btpy.output.writer import Clock, Context

    for name in ("hits", "rate"):
        if arguments.text(name) is not None:
            raise UsageError(f"--{name} is for recordings (.btz)")
    if where.export is not None:
        raise UsageError(
            f"{path} has only what was shown of a run, which is too little for an export", help=["replay a FILE.btz"]
        )
    lines = Lines(path)
    clock = Clock(0, 0)
    first = next((nanos(line["ts"]) for line, _ in lines.read() if "ts" in line), 0)
    start, end = (_moment(f"--{name}", arguments.text(name), Clock(0, first)) for name in ("from", "to"))
    span = _Span(start, end)
    context = Context(lines.outline, {}, lines.stacks, clock)
    with where.open(console) as stream:
        writer = where.writer(stream, context, console, arguments.text("color"))
        try:
            for line, is_shown in lines.read():
                at = nanos(line["ts"]) if "ts" in line else None
                if at is not None and not span.has(at):
                    continue
                if isinstance(writer, NdjsonWriter):
                    writer.line(line)
                elif isinstance(is_shown, MapContent):
                    writer.map(is_shown, None, at)
                elif is_shown is not None:
                    writer.records((is_shown,))
                stream.flush()
        finally:
            writer.close()
    return 0


class _Part:
    """One recording and its output. ``alone``: it is the only one."""

    def __init__(
        self,
        recording: Recording,
        span: _Span,
        where: Destination,
        stream: Stream,
        console: Console,
        arguments: Arguments,
        exporter: Exporter | None,
        *,
        alone: bool,
    ) -> None:
        from btpy.output.writer import Clock, Context
        from btpy.present.presenter import Presenter

        started = recording.started
        self.recording = recording
        self.pid = started.pid
        self.moments: deque[tuple[MapContent, ...]] = deque()  # the maps that were shown before the end
        self.last: tuple[MapContent, ...] | None = None  # the maps at the end
        self.context = Context(
            recording.outline,
            recording.sites,
            recording.stacks,
            Clock(started.nano_time, started.wall_nanos),
            pid=None if alone else self.pid,
            several=not alone,
        )
        self._span = span
        self._alone = alone
        self._console = console if alone else console.of(str(self.pid))
        self._writer = where.writer(stream, self.context, self._console, arguments.text("color"))
        hits, rate = (None if text is None else number(f"--{name}", text) for name, text in _bounds(arguments))
        self.showing = Presenter(
            self.context,
            self._writer,
            self._console,
            hits=(started.hits if hits is None else hits) or None,
            displayed=where.displayed(stream, rate),
        )
        self._export: Export | None = None
        if exporter is not None:
            from btpy.api.export import recorded_origin
            from btpy.present.export import Export

            self._export = Export(exporter, self.context, recorded_origin(started), None)

    def show(self, wall_nanos: int, item: Recorded) -> None:
        """If there are several recordings, maps that can be merged are kept for the end."""
        from btpy.api.recordings import Ending, ProbesAttached, ShownMaps, Totals
        from btpy.api.results import PrintedMaps, Records
        from btpy.output.writer import Attached
        from btpy.present.report import Restoration, unaccounted

        span, showing, clock = self._span, self.showing, self.context.clock
        if isinstance(item, Records):
            self._show(span.cut(item, clock))
        elif isinstance(item, PrintedMaps):
            if span.has(clock.wall(item.nano_time)):
                self._show(item)
        elif isinstance(item, ProbesAttached):
            self._writer.attached(Attached(item.probes, item.methods, item.classes))
        elif isinstance(item, Ending):
            contents = item.contents if item.left is not None and span.has(wall_nanos) else ()
            if item.left is None:
                showing.give_up()
            else:
                showing.close(self._own(contents), item.accounts)
            reports = showing.reports(item.accounts, self.recording.sites.values())
            for line in unaccounted(reports):
                self._console.warning(line)
            restoration = None if item.left is None else Restoration(*item.left)
            showing.end(item.reason, reports, restoration)
            if self._export is not None:
                self._export.end(item.reason, item.contents, reports, restoration)
            self.last = contents
        elif not span.has(wall_nanos):
            pass
        elif isinstance(item, Totals):
            showing.counted(item.accounts)
        elif isinstance(item, ShownMaps):
            self.moments.append(item.contents)
            showing.maps(self._own(item.contents))
        else:
            self._show(item)

    def _show(self, item: Item) -> None:
        self.showing.item(item)
        if self._export is not None:
            self._export.item(item)

    def cut_off(self) -> None:
        """Called when the whole recording has been read, but its end is missing."""
        recording, showing = self.recording, self.showing
        showing.close((), recording.accounts)
        reports = showing.reports(recording.accounts, recording.sites.values())
        showing.end("cut-off", reports, None)
        if self._export is not None:
            self._export.end("cut-off", (), reports, None)
        torn = recording.torn or "btpy was killed"
        self._console.warning(f"the recording is incomplete ({torn}); everything before that is shown")

    def close(self) -> None:
        self._writer.close()

    def _own(self, contents: Iterable[MapContent]) -> list[MapContent]:
        from btpy.api.results import can_be_merged

        return [content for content in contents if self._alone or not can_be_merged(content.map)]


def _bounds(arguments: Arguments) -> Iterator[tuple[str, str | None]]:
    return ((name, arguments.text(name)) for name in ("hits", "rate"))


class _Played:
    """All recordings, and their maps together."""

    def __init__(
        self,
        recordings: Sequence[Recording],
        span: _Span,
        where: Destination,
        stream: Stream,
        console: Console,
        arguments: Arguments,
        exporter: Exporter | None,
    ) -> None:
        from btpy.cli.merged_maps import AtEnd

        alone = len(recordings) == 1
        where.tell(recordings[0].outline, console)
        self._parts = [
            _Part(recording, span, where, stream, console, arguments, exporter, alone=alone) for recording in recordings
        ]
        first = self._parts[0].context

        def writer(stacks: StackTable) -> Writer:
            context = replace(first, sites={}, stacks=stacks, pid=None)
            return where.writer(stream, context, console, arguments.text("color"))

        self._together = AtEnd(first, None if alone else writer)

    def items(self) -> Iterator[tuple[int, _Part, Recorded]]:
        """The items of all parts in the order of their time. Raises ProtocolError."""

        def of(part: _Part) -> Iterator[tuple[int, _Part, Recorded]]:
            return ((wall_nanos, part, item) for wall_nanos, item in part.recording.items())

        return heapq.merge(*map(of, self._parts), key=lambda timed_item: timed_item[0])

    def show(self, wall_nanos: int, part: _Part, item: Recorded) -> None:
        part.show(wall_nanos, item)
        # A part is read in pieces of a quarter of a second, so maps that all parts showed at the same time may arrive
        # one after the other.
        while any(part.moments for part in self._parts) and all(
            part.moments or part.last is not None for part in self._parts
        ):
            self._together.shown(
                {part: part.moments.popleft() if part.moments else part.last or () for part in self._parts}
            )

    def cut_off(self) -> None:
        """Called when everything has been read. Says which recordings lack their end."""
        for part in self._parts:
            if not part.recording.complete:
                part.cut_off()

    def end(self) -> None:
        for part in self._parts:
            part.showing.show_remaining_errors()
            self._together.left(part, part.last or ())
        self._together.end()

    def close(self) -> None:
        for part in self._parts:
            part.close()


def _require_one_run(paths: Sequence[Path], recordings: Sequence[Recording], where: Destination) -> None:
    """Raises UsageError for recordings that cannot be shown together."""
    from btpy.errors import UsageError

    pids: dict[int, Path] = {}
    one_by_one = ["replay them one after the other"]
    for path, recording in zip(paths, recordings, strict=True):
        if recording.started.pid in pids:
            both = f"{pids[recording.started.pid]} and {path}"
            raise UsageError(f"{both} are of one JVM ({recording.started.pid})", help=one_by_one)
        pids[recording.started.pid] = path
        if recording.outline != recordings[0].outline:
            raise UsageError(f"{path} is of another script than {paths[0]}", help=one_by_one)
        if recording.form != recordings[0].form:
            raise UsageError(f"{path} is of another version of btpy than {paths[0]}", help=one_by_one)
    formats.check_several(where.format, one_by_one[0])


class _Span(NamedTuple):
    """From ``start`` to ``end``, ns since 1970; None: without bound."""

    start: int | None
    end: int | None

    def has(self, wall_nanos: int) -> bool:
        return (self.start is None or wall_nanos >= self.start) and (self.end is None or wall_nanos < self.end)

    def cut(self, item: Records, clock: Clock) -> Records:
        if self.start is None and self.end is None:
            return item
        return replace(item, records=[record for record in item.records if self.has(clock.wall(record.nanos))])


def _moment(name: str, text: str | None, clock: Clock) -> int | None:
    """ns since 1970: a time after the start, or a time of day where this machine is. Raises UsageError."""
    from datetime import datetime

    from btpy.errors import UsageError

    if text is None:
        return None
    if re.fullmatch(r"[\d.]+[a-z]+", text):
        return clock.wall_nanos + int(seconds(name, text) * 1e9)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{name} takes a time, not {text!r}", help=[f"{name} 10s (after the start), {name} 2026-11-21T18:41:22"]
        ) from None
    return int(moment.timestamp() * 1_000_000) * 1000
