"""Where the output of a run or of a replay goes, and as what."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from btpy.cli.options import Arguments, Option
from btpy.errors import UsageError
from btpy.output import formats
from btpy.output.formats import Format

if TYPE_CHECKING:
    from btpy.cli.console import Console
    from btpy.output.stream import Stream
    from btpy.output.style import Style
    from btpy.output.writer import Context, Writer

DISPLAYED = 200
"""Events of a probe in a second, on a terminal."""

OUTPUT_OPTIONS = (
    Option(
        ("-f", "--format"),
        f"{', '.join(formats.NAMES[:-1])} or {formats.NAMES[-1]}",
        "FORMAT",
        choices=formats.NAMES,
    ),
    Option(("-o", "--output"), "write to a file, whose name may say the format; FILE.btz: record", "FILE"),
    Option(("--append",), "add to the file of -o instead of replacing it"),
    Option(("--only",), "leave out all but this probe, event or map (@name)", "NAME", repeat=True),
)

RECORD_OPTIONS = (Option(("--record",), "record beside the output, for btpy replay", "FILE.btz"),)


class Destination(NamedTuple):
    """``path`` None: standard output. ``record``: the file of a recording; ``silent``: which is all there is."""

    format: Format = formats.FORMATS[0]
    path: Path | None = None
    append: bool = False
    only: frozenset[str] = frozenset()
    record: Path | None = None
    silent: bool = False

    @property
    def is_file(self) -> bool:
        return self.path is not None or self.silent

    def open(self, console: Console) -> Stream:
        """Raises OutputError."""
        from btpy.output.stream import Stream

        ascii_only = not console.unicode and self.format.name == "text"
        if self.path is None:
            return Stream.stdout(ascii_only=ascii_only)
        return Stream.file(self.path, append=self.append, ascii_only=ascii_only)

    def writer(self, stream: Stream, context: Context, console: Console, color: str | None) -> Writer:
        """``color``: what --color says. Raises UsageError for what the format cannot show."""
        if self.silent:
            from btpy.output.silent import SilentWriter

            return SilentWriter()
        writer = formats.writer(self.format, stream, context, self.style(stream, console, color))
        if not self.only:
            return writer
        from btpy.output.selection import Selection, check_names

        check_names(self.only, context.outline)
        return Selection(writer, context, self.only)

    @property
    def is_text(self) -> bool:
        return self.format.name == "text" and not self.silent

    def style(self, stream: Stream, console: Console, color: str | None) -> Style:
        """``color``: what --color says."""
        from btpy.cli.console import wants_color
        from btpy.output.style import Style

        return Style(unicode=console.unicode, color=wants_color(color, stream.descriptor))

    def displayed(self, stream: Stream, rate: int | None) -> int | None:
        """Events a second of one probe, ``rate`` being what --rate says; None: all. What is recorded, or read by
        programs, is not cut."""
        if rate is not None:
            return rate or None
        return DISPLAYED if self.is_text and os.isatty(stream.descriptor) else None


def destination(arguments: Arguments, *, records: bool = True) -> Destination:
    """What the flags say; ``records``: RECORD_OPTIONS are among them. Raises UsageError."""
    given, name = arguments.text("output"), arguments.text("format")
    record = arguments.text("record") if records else None
    append = arguments.switch("append")
    if append and given is None:
        raise UsageError("--append needs -o FILE")
    if given is not None and given.endswith(formats.RECORDING) and records:
        return _recording(given, name, record, append)
    if record is not None and not record.endswith(formats.RECORDING):
        raise UsageError(f"--record {record} is no name of a recording", help=[f"--record {record}{formats.RECORDING}"])
    only = frozenset(arguments.texts("only"))
    path = None if given is None else Path(given)
    format_ = formats.named(name) if name else (path and formats.suggested(path)) or formats.FORMATS[0]
    if append and not format_.appends:
        raise UsageError(
            f"--append cannot go on in a file of format {format_.name}, which is one document",
            help=["leave --append out, or write ndjson: btpy replay turns it into the others"],
        )
    return Destination(format_, path, append, only, None if record is None else Path(record))


def _recording(given: str, name: str | None, record: str | None, append: bool) -> Destination:
    if name is not None:
        raise UsageError(
            f"{given} is a recording, which has a format of its own",
            help=[
                f"record:  -o {given}",
                f"then:  btpy replay {given} -f {name}",
                f"both at once:  --record {given} -f {name}",
            ],
        )
    if record is not None:
        raise UsageError(f"both -o {given} and --record {record} are recordings", help=["one of them is enough"])
    if append:
        raise UsageError("--append cannot go on in a recording", help=["give each recording a file of its own"])
    return Destination(record=Path(given), silent=True)
