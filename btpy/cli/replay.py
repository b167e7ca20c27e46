"""``btpy replay``: shows a recording like the run, in any format."""

from __future__ import annotations

import contextlib
import heapq
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from btpy.cli.console import Console, wants_color
from btpy.cli.destination import OUTPUT_OPTIONS, Destination, destination
from btpy.cli.exporting import exporting, storing
from btpy.cli.options import Arguments, Command, Option, seconds
from btpy.errors import BtpyError, ProtocolError, UsageError
from btpy.output import formats

if TYPE_CHECKING:
    from btpy.api.recordings import Recorded, Recording
    from btpy.cli.played_target import PlayedTarget, PlayTerms
    from btpy.output.writer import Clock

COMMAND = Command(
    name="replay",
    usage=("replay FILE.btz|FILE.ndjson [options]", "replay RUN-PID.btz RUN-PID.btz … [options]"),
    summary="show what was recorded, in any format",
    about=(
        "Shows a recording (btpy PID FILE.bt -o run.btz) as the run would have shown it: every event, the maps, the\n"
        "errors of probes. No JVM is needed. A recording that was cut off is shown up to this point.\n"
        "Several recordings of one script are shown together: events in the order of their times, and merged maps.\n"
        "Lines of -f ndjson become other formats too; they do not say which numbers are durations."
    ),
    examples=(
        ("replay run.btz -f ndjson | jq .data", "for programs"),
        ("replay run.btz --from 10s --to 20s", "a part of it, as text"),
        ("replay run.btz --only slow_quote -o slow.csv", "one probe, event or map, as a table"),
        ("replay run-4711.btz run-4712.btz", "the events of one script in two JVMs"),
    ),
    options=(
        *OUTPUT_OPTIONS,
        Option(
            ("--from",), "leave out everything before this time: 10s after the start, or 2026-11-21T18:41:22", "TIME"
        ),
        Option(("--to",), "leave out everything after this time", "TIME"),
        Option(("--hits",), "show this many prints and events (default: as the run showed; 0: all)", "N"),
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
    from btpy.cli.played_target import PlayTerms, Span
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
        store = stack.enter_context(storing(where.data_sets, console))
        terms = PlayTerms(
            where,
            stream,
            console,
            color=arguments.text("color"),
            span=Span(start, end),
            hits=arguments.number("hits", None),
            rate=arguments.number("rate", None),
            exporters=tuple(export for export in (exporter, store) if export is not None),
            several=len(recordings) > 1,
            of_hosts=any(recording.host is not None for recording in recordings),
        )
        played = _Played(recordings, terms)
        try:
            for wall_nanos, part, item in played.items():
                if store is not None:
                    store.now = wall_nanos
                played.show(wall_nanos, part, item)
                stream.flush()
            played.cut_off()
        except ProtocolError as error:
            remedy = "the part before the damage is shown"
            raise BtpyError(f"the recording is damaged: {error}", help=[remedy]) from error
        finally:
            played.close()
        played.end()
        stream.flush()
    return 0


def _replay_lines(path: Path, arguments: Arguments, where: Destination, console: Console) -> int:
    """Replays a file of ndjson. Raises UsageError."""
    from btpy.api.recordings import Lines, nanos
    from btpy.api.results import MapContent
    from btpy.cli.played_target import Span
    from btpy.output.ndjson import NdjsonWriter
    from btpy.output.writer import Clock, Context

    for name in ("hits", "rate"):
        if arguments.text(name) is not None:
            raise UsageError(f"--{name} is for recordings (.btz)")
    if where.export is not None or where.data_sets is not None:
        raise UsageError(
            f"{path} has only the shown results of a run, which is too little for an export", help=["replay a FILE.btz"]
        )
    lines = Lines(path)
    clock = Clock(0, 0)
    first = next((nanos(line["ts"]) for line, _ in lines.read() if "ts" in line), 0)
    start, end = (_moment(f"--{name}", arguments.text(name), Clock(0, first)) for name in ("from", "to"))
    span = Span(start, end)
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


class _Played:
    """All recordings, and their maps together."""

    def __init__(self, recordings: Sequence[Recording], terms: PlayTerms) -> None:
        from btpy.cli.merged_maps import FinalMaps
        from btpy.cli.played_target import PlayedTarget

        terms.where.tell(recordings[0].outline, terms.console)
        self._recordings = recordings
        self._parts = [PlayedTarget(recording, recording.host, terms) for recording in recordings]
        self._together = FinalMaps(self._parts[0].context, terms.writer if terms.several else None)

    def items(self) -> Iterator[tuple[int, PlayedTarget, Recorded]]:
        """The items of all parts in the order of their time. Raises ProtocolError."""

        def of(recording: Recording, part: PlayedTarget) -> Iterator[tuple[int, PlayedTarget, Recorded]]:
            return ((wall_nanos, part, item) for wall_nanos, item in recording.items())

        return heapq.merge(*map(of, self._recordings, self._parts), key=lambda timed_item: timed_item[0])

    def show(self, wall_nanos: int, part: PlayedTarget, item: Recorded) -> None:
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
        """Called when everything has been read. Reports the recordings without an end."""
        for recording, part in zip(self._recordings, self._parts, strict=True):
            if not recording.complete:
                torn = recording.torn or "btpy was killed"
                part.cut_off("cut-off")
                part.console.warning(f"the recording is incomplete ({torn}); everything before that is shown")

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

    targets: dict[tuple[str | None, int], Path] = {}
    one_by_one = ["replay them one after the other"]
    for path, recording in zip(paths, recordings, strict=True):
        target = (recording.host, recording.started.pid)
        if target in targets:
            both = f"{targets[target]} and {path}"
            raise UsageError(f"{both} are of one JVM ({recording.started.pid})", help=one_by_one)
        targets[target] = path
        if recording.outline != recordings[0].outline:
            raise UsageError(f"{path} is of another script than {paths[0]}", help=one_by_one)
        if recording.form != recordings[0].form:
            raise UsageError(f"{path} is of another version of btpy than {paths[0]}", help=one_by_one)
    formats.check_several(where.format, one_by_one[0])


def _moment(name: str, text: str | None, clock: Clock) -> int | None:
    """ns since 1970: a time after the start, or a time of day in the zone of this machine. Raises UsageError."""
    from datetime import datetime

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
