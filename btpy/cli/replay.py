"""``btpy replay``: what was recorded, shown as the run would have shown it, in any format."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from btpy.cli.destination import OUTPUT_OPTIONS, Destination, destination
from btpy.cli.options import Arguments, Command, Option, number, seconds
from btpy.output import formats

if TYPE_CHECKING:
    from btpy.cli.console import Console
    from btpy.cli.showing import Showing
    from btpy.events.items import Records
    from btpy.output.stream import Stream
    from btpy.output.writer import Clock, Writer
    from btpy.recording.player import Recorded, Recording

COMMAND = Command(
    name="replay",
    usage=("replay FILE.btz|FILE.ndjson [options]",),
    summary="show what was recorded, in any format",
    about=(
        "Shows a recording (btpy PID FILE.bt -o run.btz) as the run would have shown it: every event, the maps, the\n"
        "errors of probes. No JVM is needed. A recording that was cut off is shown as far as it goes.\n"
        "Lines of -f ndjson become other formats too; they do not say which numbers are durations."
    ),
    examples=(
        ("replay run.btz -f ndjson | jq .data", "for programs"),
        ("replay run.btz --from 10s --to 20s", "a part of it, as text"),
        ("replay run.btz --only slow_quote -o slow.csv", "one probe, event or map, as a table"),
    ),
    options=(
        *OUTPUT_OPTIONS,
        Option(("--from",), "leave out what came before: 10s after the start, or 2026-11-21T18:41:22", "TIME"),
        Option(("--to",), "leave out what came later", "TIME"),
        Option(("--hits",), "so many prints and events (default: as the run showed; 0: all)", "N"),
        Option(("--rate",), "display at most so many events a second of a probe (200 on a terminal; 0: all)", "N"),
        Option(("-q", "--quiet"), "errors and warnings only on standard error"),
        Option(("-v", "--verbose"), "say more; twice: still more"),
        Option(("--color",), "auto (default), always or never", "WHEN", choices=("auto", "always", "never")),
        Option(("--no-unicode",), "write ASCII only"),
    ),
    positionals=(1, 1),
)


def run(arguments: Arguments, console: Console) -> int:
    from btpy.cli.console import wants_color
    from btpy.output.writer import Clock
    from btpy.recording.player import Recording

    where = destination(arguments, records=False)
    console.verbosity = -1 if arguments.switch("quiet") else arguments.count("verbose")
    console.unicode = console.unicode and not arguments.switch("no_unicode")
    console.color = wants_color(arguments.text("color"), 2)
    path = Path(arguments.positionals[0])
    if formats.suggested(path) is formats.named("ndjson"):
        return _replay_lines(path, arguments, where, console)
    with Recording.open(path) as recording:
        started = recording.started
        clock = Clock(started.nano_time, started.wall_nanos)
        hits, rate = arguments.text("hits"), arguments.text("rate")
        span = _Span(
            clock,
            _moment("--from", arguments.text("from"), clock),
            _moment("--to", arguments.text("to"), clock),
        )
        shown = started.hits if hits is None else number("--hits", hits)
        with where.open(console) as stream:
            _replay(recording, span, where, stream, console, arguments.text("color"), shown or None, rate)
    return 0


def _replay(
    recording: Recording,
    span: _Span,
    where: Destination,
    stream: Stream,
    console: Console,
    color: str | None,
    hits: int | None,
    rate: str | None,
) -> None:
    from btpy.cli.showing import Showing
    from btpy.errors import BtpyError, ProtocolError
    from btpy.output.writer import Context

    context = Context(recording.outline, recording.sites, recording.stacks, span.clock)
    where.tell(recording.outline, console)
    writer = where.writer(stream, context, console, color)
    displayed = where.displayed(stream, None if rate is None else number("--rate", rate))
    showing = Showing(context, writer, console, hits=hits, displayed=displayed)
    try:
        for wall_nanos, item in recording.items():
            _show(item, wall_nanos, span, showing, writer, recording, console)
            stream.flush()
        if not recording.complete:
            showing.close((), recording.tallies)
            showing.end("cut-off", showing.tallies(recording.tallies, recording.sites.values()), None)
            console.warning(f"the recording has no end: {recording.torn or 'btpy was killed'}; all before is shown")
    except ProtocolError as error:
        raise BtpyError(f"the recording is damaged: {error}", help=["what came before is shown"]) from error
    finally:
        writer.close()
    showing.errors.close()


def _replay_lines(path: Path, arguments: Arguments, where: Destination, console: Console) -> int:
    """Of a file of ndjson. Raises UsageError."""
    from btpy.errors import UsageError
    from btpy.events.aggregates import MapContent
    from btpy.output.ndjson import NdjsonWriter
    from btpy.output.writer import Clock, Context
    from btpy.recording.lines import Lines, nanos

    for name in ("hits", "rate"):
        if arguments.text(name) is not None:
            raise UsageError(f"--{name} is for recordings (.btz)")
    lines = Lines(path)
    clock = Clock(0, 0)
    first = next((nanos(line["ts"]) for line, _ in lines.read() if "ts" in line), 0)
    start, end = (_moment(f"--{name}", arguments.text(name), Clock(0, first)) for name in ("from", "to"))
    span = _Span(clock, start, end)
    context = Context(lines.outline, {}, lines.stacks, clock)
    with where.open(console) as stream:
        writer = where.writer(stream, context, console, arguments.text("color"))
        try:
            for line, shown in lines.read():
                at = nanos(line["ts"]) if "ts" in line else None
                if at is not None and not span.has(at):
                    continue
                if isinstance(writer, NdjsonWriter):
                    writer.line(line)
                elif isinstance(shown, MapContent):
                    writer.map(shown, None, at)
                elif shown is not None:
                    writer.records((shown,))
                stream.flush()
        finally:
            writer.close()
    return 0


def _show(
    item: Recorded,
    wall_nanos: int,
    span: _Span,
    showing: Showing,
    writer: Writer,
    recording: Recording,
    console: Console,
) -> None:
    from btpy.cli.report import Left, unaccounted
    from btpy.events.items import PrintedMaps, Records
    from btpy.output.writer import Attached
    from btpy.recording.entries import ProbesAttached
    from btpy.recording.player import Ending, ShownMaps, Totals

    if isinstance(item, Records):
        showing.item(span.cut(item))
    elif isinstance(item, PrintedMaps):
        if span.has_target_time(item.nano_time):
            showing.item(item)
    elif isinstance(item, ProbesAttached):
        writer.attached(Attached(item.probes, item.methods, item.classes))
    elif isinstance(item, Ending):
        if item.left is None:
            showing.give_up()
        else:
            showing.close(item.contents if span.has(wall_nanos) else (), item.tallies)
        tallies = showing.tallies(item.tallies, recording.sites.values())
        left = None if item.left is None else Left(*item.left)
        for line in unaccounted(tallies):
            console.warning(line)
        showing.end(item.reason, tallies, left)
    elif not span.has(wall_nanos):
        pass
    elif isinstance(item, Totals):
        showing.counted(item.tallies)
    elif isinstance(item, ShownMaps):
        showing.maps(item.contents)
    else:
        showing.item(item)


class _Span(NamedTuple):
    """From ``start`` to ``end``, ns since 1970; None: without bound."""

    clock: Clock
    start: int | None
    end: int | None

    def has(self, wall_nanos: int) -> bool:
        return (self.start is None or wall_nanos >= self.start) and (self.end is None or wall_nanos < self.end)

    def has_target_time(self, nanos: int) -> bool:
        return self.has(self.clock.wall(nanos))

    def cut(self, item: Records) -> Records:
        if self.start is None and self.end is None:
            return item
        return type(item)([record for record in item.records if self.has_target_time(record.nanos)])


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
