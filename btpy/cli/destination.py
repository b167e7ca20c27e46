"""The destination and the format of the output of a run or a replay."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from btpy.cli.console import Console, wants_color
from btpy.cli.options import Arguments, Option, number, seconds
from btpy.errors import OutputError, UsageError
from btpy.output import formats
from btpy.output.formats import Format
from btpy.output.parquet.settings import directory_of, is_parquet

if TYPE_CHECKING:
    from btpy.api.programs import Program
    from btpy.api.recordings import StreamWriter
    from btpy.model.outline import Outline
    from btpy.output.prometheus.settings import ExpositionSettings
    from btpy.output.stream import Rotation, Stream
    from btpy.output.style import Style
    from btpy.output.writer import Context, Writer

DISPLAYED = 200
"""The maximum number of events of a probe in a second that a terminal shows."""

OUTPUT_OPTIONS = (
    Option(
        ("-f", "--format"),
        f"{', '.join(formats.NAMES[:-1])} or {formats.NAMES[-1]}",
        "FORMAT",
        choices=formats.NAMES,
    ),
    Option(
        ("-o", "--output"),
        "write to a file, whose ending may choose the format (FILE.btz records), or also to otlp://HOST:4318 or "
        "parquet://DIR",
        "FILE",
        repeat=True,
    ),
    Option(("--append",), "append to the file of -o instead of replacing it"),
    Option(("--rotate",), "start a new file after a size or a time, and keep this many", "100MB[:10]|1h[:24]"),
    Option(("--compress",), "compress -o FILE by gzip"),
    Option(("--width",), "width of charts, and the greatest width of a live view, in columns", "N"),
    Option(("--only",), "show only this probe, event or map (@name)", "NAME", repeat=True),
    Option(("--csv-safe",), "csv and tsv for spreadsheets: a text that looks like a formula begins with '"),
    Option(("--utc",), "times in UTC, not in the local time zone"),
)

PROMETHEUS_OPTIONS = (
    Option(("--prometheus",), "serve the maps for Prometheus to scrape, at 127.0.0.1 or HOST", "[HOST:]PORT"),
    Option(("--prometheus-token-file",), "the file of the token that a scrape must have", "FILE"),
    Option(("--prometheus-cert-file",), "serve HTTPS with this certificate in PEM format", "FILE"),
    Option(("--prometheus-key-file",), "the key of the certificate, if it is in a file of its own", "FILE"),
    Option(("--prometheus-client-ca-file",), "refuse clients without a certificate of a CA in this file", "FILE"),
)

RECORD_OPTIONS = (Option(("--record",), "also write a recording, for btpy replay", "FILE.btz"),)


class Channel(NamedTuple):
    """Takes the recordings of a run on one of several hosts. ``host``: the name that the client uses for the host."""

    host: str
    stream: StreamWriter


class Destination(NamedTuple):
    """``path``: None means standard output. ``record``: the file of a recording; ``silent``: the recording is the only
    output. ``slash``: the path ends in a slash, so it is a directory. ``width``: columns that charts fill; None: the
    default.
    ``export``: the URL of a backend that also gets everything; ``data_sets``: the directory of Parquet files.
    ``exposition``: the address at which Prometheus scrapes the run. ``channel``: replaces ``record``.
    """

    format: Format = formats.FORMATS[0]
    path: Path | None = None
    append: bool = False
    only: frozenset[str] = frozenset()
    rotation: Rotation | None = None
    compress: bool = False
    record: Path | None = None
    silent: bool = False
    slash: bool = False
    width: int | None = None
    csv_safe: bool = False
    export: str | None = None
    data_sets: Path | None = None
    exposition: ExpositionSettings | None = None
    channel: Channel | None = None

    @property
    def is_file(self) -> bool:
        return self.path is not None or self.silent

    @property
    def is_directory(self) -> bool:
        return self.path is not None and self.format.tables and (self.slash or self.path.is_dir())

    def check(self, program: Program, console: Console, *, several: bool = False) -> None:
        """Checks before anything in a target changes; ``several``: targets. Raises UsageError if the format cannot show
        the output, and OutputError.
        """
        from btpy.api.programs import outline_of
        from btpy.api.results import StackTable
        from btpy.output.selection import check_names
        from btpy.output.writer import Clock, Context

        outline = outline_of(program)
        check_names(self.only, outline)
        if not self.silent:
            formats.check(self.format, outline, self.only, single=not self.is_directory)
        self.tell(outline, console)
        if self.path is None:
            self.open(console)
        for path in (self.path, self.record):
            if path is not None and not self.is_directory:
                _check_writable(path)
        if self.append and self.path is not None and self.path.is_file():
            stream = self.open(console)
            self.writer(stream, Context(outline, {}, StackTable(), Clock(0, 0), several=several), console, None)
            stream.abandon()

    def tell(self, outline: Outline, console: Console) -> None:
        """Tells the user which results an export, or a file with fixed columns, leaves out. Raises UsageError."""
        if self.export is not None or self.exposition is not None:
            from btpy.output.map_series import NOT_EXPORTED

            for map_ in outline.maps:
                if map_.kind in NOT_EXPORTED:
                    console.say(f"{map_.title} is not exported: no metric can hold {map_.kind.value}")
        if self.silent or not self.format.tables or self.is_directory:
            return
        from btpy.output.shapes import left_out

        name, others = left_out(outline, self.only, self.format.name)
        if others:
            remedy = "--only NAME chooses, -o DIRECTORY/ has all"
            console.say(f"{self.format.name} has only the columns of {name}; missing: {', '.join(others)} ({remedy})")

    def open(self, console: Console) -> Stream:
        """Raises OutputError."""
        from btpy.output.stream import Stream

        if self.silent:
            return Stream.nowhere()
        if self.path is None:
            return Stream.stdout(ascii_only=not console.unicode and self.format.name == "text")
        if not self.is_directory:
            return self._file(self.path, console)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as cause:
            raise OutputError(f"cannot make {self.path}: {(cause.strerror or str(cause)).lower()}") from cause
        return Stream.directory(self.path)

    def _file(self, path: Path, console: Console) -> Stream:
        from btpy.output.stream import Stream

        return Stream.file(
            path,
            append=self.append,
            ascii_only=not console.unicode and self.format.name == "text",
            rotation=self.rotation,
            compress=self.compress,
        )

    def writer(self, stream: Stream, context: Context, console: Console, color: str | None) -> Writer:
        """``color``: the value of --color. Raises UsageError for output that the format cannot show."""
        if self.silent:
            from btpy.output.writer import Writer

            return Writer()
        directory = self.path if self.is_directory else None
        suffix = f".{self.format.name}{'.gz' if self.compress else ''}"
        files = None if directory is None else lambda name: self._file(directory / f"{name}{suffix}", console)
        style = self.style(stream, console, color)
        writer = formats.writer(self.format, stream, context, style, self.only, files, csv_safe=self.csv_safe)
        if not self.only:
            return writer
        from btpy.output.selection import Selection, check_names

        check_names(self.only, context.outline)
        return Selection(writer, context, self.only)

    @property
    def is_text(self) -> bool:
        return self.format.name == "text" and not self.silent

    def style(self, stream: Stream, console: Console, color: str | None) -> Style:
        """``color``: the value of --color."""
        from btpy.output.style import Style

        window = None
        if os.isatty(stream.descriptor):
            window = os.get_terminal_size(stream.descriptor).columns - 1 or None
        usual = Style(unicode=console.unicode, color=wants_color(color, stream.descriptor), window=window)
        if self.width is None:
            return usual
        return Style(usual.unicode, usual.color, self.width, fills=True, window=self.width)

    def displayed(self, stream: Stream, rate: int | None) -> int | None:
        """Events a second of one probe; ``rate``: the value of --rate; None: all. Recordings and formats for programs
        have no limit.
        """
        if rate is not None:
            return rate or None
        return DISPLAYED if self.is_text and os.isatty(stream.descriptor) else None


def choose_time_zone(arguments: Arguments) -> None:
    """The time zone of this process is UTC with ``--utc``."""
    if arguments.switch("utc"):
        os.environ["TZ"] = "UTC"
        time.tzset()


def destination(arguments: Arguments, *, records: bool = True) -> Destination:
    """The values of the flags; ``records``: RECORD_OPTIONS are among them. Chooses the time zone. Raises UsageError."""
    choose_time_zone(arguments)
    outputs, export, data_sets = _outputs(arguments.texts("output"))
    name = arguments.text("format")
    record = arguments.text("record") if records else None
    append = arguments.switch("append")
    if append and outputs is None:
        raise UsageError("--append needs -o FILE")
    width = arguments.text("width")
    if outputs is not None and outputs.endswith(formats.RECORDING) and records:
        if width is not None:
            raise UsageError("--width has no effect on a recording, which has no layout", help=["btpy replay takes it"])
        return _recording(outputs, arguments)._replace(export=export, data_sets=data_sets)
    if record is not None and not record.endswith(formats.RECORDING):
        raise UsageError(
            f"--record {record}: a recording ends with .btz", help=[f"--record {record}{formats.RECORDING}"]
        )
    only = frozenset(arguments.texts("only"))
    rotate, compress = arguments.text("rotate"), arguments.switch("compress")
    if outputs is None and (rotate is not None or compress):
        raise UsageError(f"{'--rotate' if rotate is not None else '--compress'} needs -o FILE")
    path = None if outputs is None else Path(outputs)
    format_ = formats.named(name) if name else (path and formats.suggested(path)) or formats.FORMATS[0]
    _check_options(format_, arguments)
    if format_.binary and path is None and os.isatty(1):
        raise UsageError(f"{format_.name} is binary: not for a terminal", help=[f"-o FILE.{format_.name}"])
    compress |= path is not None and path.name.endswith(".gz")
    directory = path is not None and format_.tables and (str(outputs).endswith("/") or path.is_dir())
    if path is not None and compress and not path.name.endswith(".gz") and not directory:
        path = path.with_name(f"{path.name}.gz")
    return Destination(
        format_,
        path,
        append,
        only,
        None if rotate is None else _rotation(rotate),
        compress,
        None if record is None else Path(record),
        slash=outputs is not None and outputs.endswith("/"),
        width=_width(width, format_),
        csv_safe=arguments.switch("csv_safe"),
        export=export,
        data_sets=data_sets,
    )


def _check_options(format_: Format, arguments: Arguments) -> None:
    """Raises UsageError for an option that does not fit the format."""
    if arguments.switch("csv_safe") and format_.name not in ("csv", "tsv"):
        raise UsageError(f"--csv-safe is for csv and tsv, not for {format_.name}")
    if arguments.switch("append") and not format_.appends:
        raise UsageError(
            f"--append cannot continue a file of format {format_.name}: such a file is one document",
            help=["leave --append out, or write ndjson, which btpy replay converts to other formats"],
        )
    if arguments.text("rotate") is not None and not format_.rotates:
        raise UsageError(f"--rotate does not fit the format {format_.name}, which is one document")
    if arguments.switch("compress") and format_.binary:
        raise UsageError(f"--compress does not fit the format {format_.name}, which is binary")


def _outputs(outputs: Sequence[str]) -> tuple[str | None, str | None, Path | None]:
    """The file, the URL of an export, and the directory of Parquet files. Raises UsageError for two destinations of one
    kind, and for a URL that cannot be used.
    """
    exports: list[str] = []
    directories = [output for output in outputs if is_parquet(output)]
    files = outputs = [output for output in outputs if not is_parquet(output)]
    if any("://" in output for output in outputs):
        from btpy.output.otlp.settings import is_export, settings_of

        exports = [output for output in outputs if is_export(output)]
        files = [output for output in outputs if not is_export(output)]
        for export in exports:
            settings_of(export, os.environ)
    for several in (exports, files, directories):
        if len(several) > 1:
            raise UsageError(
                f"both -o {several[0]} and -o {several[1]}: there can be one of each kind",
                help=["record with -o run.btz, and replay the recording into any number of formats"],
            )
    data_sets = directory_of(directories[0]) if directories else None
    return files[0] if files else None, exports[0] if exports else None, data_sets


def exposition_of(arguments: Arguments) -> ExpositionSettings | None:
    """The settings of PROMETHEUS_OPTIONS; None: the user gave no settings. Raises UsageError."""
    address = arguments.text("prometheus")
    if address is None:
        for option in PROMETHEUS_OPTIONS:
            if option.key in arguments.given:
                raise UsageError(f"{option.names[-1]} needs --prometheus [HOST:]PORT")
        return None
    from btpy.output.prometheus.settings import AccessFiles, settings_of

    files = AccessFiles(*(arguments.text(option.key) for option in PROMETHEUS_OPTIONS[1:]))
    return settings_of(address, files, os.environ)


_LEAST_WIDTH = 20


def _width(text: str | None, format_: Format) -> int | None:
    """Raises UsageError."""
    if text is None:
        return None
    if format_.name != "text":
        raise UsageError(f"--width has no effect on {format_.name}, which has no layout")
    width = number("--width", text)
    if width < _LEAST_WIDTH:
        raise UsageError(f"--width {text} is too narrow to draw anything in", help=[f"--width {_LEAST_WIDTH} or more"])
    return width


_SIZES = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}


def _rotation(text: str) -> Rotation:
    """``100MB``, ``1h``, ``100MB:10``. Raises UsageError."""
    from btpy.output.stream import Rotation

    when, limited, most = text.partition(":")
    keep = number("--rotate N:", most) if limited else None
    size = re.fullmatch(r"(\d{1,9})([KMG]B)", when)
    if size is not None and int(size[1]):
        return Rotation(size=int(size[1]) * _SIZES[size[2]], keep=keep)
    if re.fullmatch(r"[\d.]+(s|m|min|h)", when):
        return Rotation(seconds=seconds("--rotate", when), keep=keep)
    raise UsageError(
        f"--rotate takes a size or a time, not {text!r}", help=["--rotate 100MB:10, --rotate 1h, --rotate 1h:24"]
    )


def _check_writable(path: Path) -> None:
    """Raises OutputError. Finds the errors that opening the file would raise, without changing the file."""
    if path.is_dir():
        raise OutputError(f"cannot write {path}: is a directory", help=["name a file in it"])
    if not path.parent.is_dir():
        raise OutputError(f"cannot write {path}: no such file or directory", help=[f"mkdir -p {path.parent}"])
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise OutputError(f"cannot write {path}: permission denied", help=["write elsewhere with -o"])


def _recording(text: str, arguments: Arguments) -> Destination:
    """A run that only records, into the file of -o. Raises UsageError."""
    name, record = arguments.text("format"), arguments.text("record")
    if name is not None:
        raise UsageError(
            f"{text} is a recording: -f has no effect on it",
            help=[
                f"record:  -o {text}",
                f"then:  btpy replay {text} -f {name}",
                f"both at once:  --record {text} -f {name}",
            ],
        )
    if record is not None:
        raise UsageError(f"both -o {text} and --record {record} are recordings", help=["one recording is enough"])
    if arguments.switch("append"):
        raise UsageError("--append cannot continue a recording", help=["give each recording a file of its own"])
    if arguments.text("rotate") is not None:
        raise UsageError("--rotate does not fit a recording, which is one file", help=["--for 1h ends it after a time"])
    return Destination(record=Path(text), compress=arguments.switch("compress"), silent=True)
