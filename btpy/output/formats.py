"""The formats: the values of ``-f``, the file names that suggest them, and their abilities."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from btpy.model.outline import Outline
    from btpy.output.stream import Stream
    from btpy.output.style import Style
    from btpy.output.writer import Context, Writer


class Format(NamedTuple):
    """``suffixes``: file names that choose the format without ``-f``. ``appends``: output can be added to a file.
    ``rotates``: output can continue in another file. ``tables``: one shape a file, and a directory may take several.
    """

    name: str
    summary: str
    suffixes: tuple[str, ...] = ()
    appends: bool = True
    rotates: bool = True
    tables: bool = False
    binary: bool = False


FORMATS = (
    Format("text", "lines for people (default)"),
    Format("ndjson", "one JSON object a line", (".ndjson", ".jsonl")),
    Format("json", "one JSON array", (".json",), appends=False),
    Format("csv", "events, or a map, as comma-separated values", (".csv",), tables=True),
    Format("tsv", "the same, separated by tabs", (".tsv",), tables=True),
    Format("folded", "stacks and their weights, for flame graph tools", (".folded",), appends=False, rotates=False),
    Format("flame", "a flame graph: one HTML page", (".html",), appends=False, rotates=False),
    Format("parquet", "events, or a map, as Parquet (needs pyarrow)", (".parquet",), False, False, True, True),
    Format("arrow", "the same as an Arrow file", (".arrow", ".feather"), False, False, True, True),
    Format("chrome", "a trace for Perfetto and chrome://tracing", (".trace.json",), appends=False),
)

NAMES = tuple(format_.name for format_ in FORMATS)

RECORDING = ".btz"
"""Suffix of recordings, which are no format of output: they are replayed into one."""


def named(name: str) -> Format:
    return next(format_ for format_ in FORMATS if format_.name == name)


def suggested(path: Path) -> Format | None:
    """The format that the name of a file suggests, compressed or not."""
    name = path.name.removesuffix(".gz")
    fitting = [(len(suffix), format_) for format_ in FORMATS for suffix in format_.suffixes if name.endswith(suffix)]
    return max(fitting, default=(0, None))[1]


def check(format_: Format, outline: Outline, only: frozenset[str], *, single: bool) -> None:
    """``single``: there is one file. Raises UsageError for a program that the format cannot show."""
    if format_.binary:
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
        case _:
            from btpy.output.text import TextWriter

            return TextWriter(stream, context, style)
