"""The formats: the values of ``-f``, the file names that suggest them, and their abilities."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from btpy.dataclass import dataclass
from btpy.errors import UsageError

if TYPE_CHECKING:
    from btpy.model.outline import Outline
    from btpy.output.stream import Stream
    from btpy.output.style import Style
    from btpy.output.writer import Context, Writer


@dataclass(frozen=True, slots=True)
class Format:
    """``suffixes``: file names that choose the format without ``-f``. ``appends``: output can be added to a file.
    ``rotates``: output can continue in another file. ``tables``: a file holds records of one shape; a directory may
    hold several files. ``several``: several JVMs can write to one file. ``grows``: shows probes that are added later.
    """

    name: str
    summary: str
    suffixes: tuple[str, ...] = ()
    appends: bool = False
    rotates: bool = False
    tables: bool = False
    binary: bool = False
    several: bool = False
    grows: bool = False


FORMATS = (
    Format(name="text", summary="lines for people (default)", appends=True, rotates=True, several=True, grows=True),
    Format(
        name="ndjson",
        summary="one JSON object on each line",
        suffixes=(".ndjson", ".jsonl"),
        appends=True,
        rotates=True,
        several=True,
        grows=True,
    ),
    Format(name="json", summary="one JSON array", suffixes=(".json",), rotates=True, several=True, grows=True),
    Format(
        name="csv",
        summary="events, or a map, as comma-separated values",
        suffixes=(".csv",),
        appends=True,
        rotates=True,
        tables=True,
        several=True,
    ),
    Format(
        name="tsv",
        summary="events, or a map, as tab-separated values",
        suffixes=(".tsv",),
        appends=True,
        rotates=True,
        tables=True,
        several=True,
    ),
    Format(
        name="logfmt",
        summary="one line of key=value pairs for each event and row of a map",
        suffixes=(".logfmt",),
        appends=True,
        rotates=True,
        several=True,
        grows=True,
    ),
    Format(name="folded", summary="stacks and their weights, for flame graph tools", suffixes=(".folded",)),
    Format(name="flame", summary="a flame graph: one HTML page", suffixes=(".html",)),
    Format(
        name="parquet",
        summary="events, or a map, as Parquet (needs pyarrow)",
        suffixes=(".parquet",),
        tables=True,
        binary=True,
    ),
    Format(
        name="arrow",
        summary="events, or a map, as an Arrow file (needs pyarrow)",
        suffixes=(".arrow", ".feather"),
        tables=True,
        binary=True,
    ),
    Format(name="chrome", summary="a trace for Perfetto and chrome://tracing", suffixes=(".trace.json",), rotates=True),
    Format(
        name="jfr",
        summary="a recording for JDK Mission Control and the tool jfr",
        suffixes=(".jfr",),
        appends=True,
        rotates=True,
        binary=True,
        several=True,
        grows=True,
    ),
)

NAMES = tuple(format_.name for format_ in FORMATS)
SEVERAL = tuple(format_.name for format_ in FORMATS if format_.several)
"""Formats in which several JVMs can write to one file."""

GROWING = tuple(format_.name for format_ in FORMATS if format_.grows)
"""Formats that show probes which are added later."""

RECORDING = ".btz"
"""Suffix of recordings. A recording is not a format of output, but a replay converts it into one."""


def named(name: str) -> Format:
    return next(format_ for format_ in FORMATS if format_.name == name)


def suggested(path: Path) -> Format | None:
    """The format that the name of a file suggests, compressed or not."""
    name = path.name.removesuffix(".gz")
    fitting = [(len(suffix), format_) for format_ in FORMATS for suffix in format_.suffixes if name.endswith(suffix)]
    return max(fitting, key=lambda pair: pair[0], default=(0, None))[1]


def check_several(format_: Format, instead: str) -> None:
    """Raises UsageError if several JVMs cannot write to one file. ``instead``: another way to use this format."""
    if not format_.several:
        raise UsageError(
            f"{format_.name} is one document about one JVM",
            help=[instead, f"for all JVMs together:  -f {', '.join(SEVERAL)}, which show the pid"],
        )


def check(format_: Format, outline: Outline, only: frozenset[str], *, single: bool) -> None:
    """``single``: there is one file. Raises UsageError for a program that the format cannot show."""
    if format_.name in ("parquet", "arrow"):
        from btpy.output.arrow import load

        load()
    if format_.tables and single:
        from btpy.output.shapes import chosen

        chosen(outline, only, format_.name)
    elif format_.name in ("folded", "flame"):
        from btpy.output.folded import check_stacks

        check_stacks(outline, format_.name)


def writer(
    format_: Format,
    stream: Stream,
    context: Context,
    style: Style,
    only: frozenset[str],
    files: Callable[[str], Stream] | None,
    *,
    csv_safe: bool = False,
) -> Writer:
    """``only``: names of the wanted shapes; empty: all. ``files``: for a format of tables, creates the file of a shape
    by its name, if each shape has one. Raises UsageError for a program that the format cannot show.
    """
    match format_.name:
        case "ndjson":
            from btpy.output.ndjson import NdjsonWriter

            return NdjsonWriter(stream, context)
        case "json":
            from btpy.output.ndjson import JsonWriter

            return JsonWriter(stream, context)
        case "csv" | "tsv":
            from btpy.output.separated import Dialect, SeparatedWriter

            return SeparatedWriter(stream, context, Dialect(format_.name), only, files, safe=csv_safe)
        case "logfmt":
            from btpy.output.logfmt import LogfmtWriter

            return LogfmtWriter(stream, context)
        case "folded":
            from btpy.output.folded import FoldedWriter

            return FoldedWriter(stream, context)
        case "flame":
            from btpy.output.flame import FlameWriter

            return FlameWriter(stream, context)
        case "parquet" | "arrow":
            from btpy.output.arrow import ArrowWriter

            return ArrowWriter(stream, context, format_.name, only, files)
        case "chrome":
            from btpy.output.chrome import ChromeWriter

            return ChromeWriter(stream, context)
        case "jfr":
            from btpy.output.jfr.writer import JfrWriter

            return JfrWriter(stream, context)
        case _:
            from btpy.output.text import TextWriter

            return TextWriter(stream, context, style)
