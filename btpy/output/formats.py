"""The formats: what ``-f`` can say, which names of files suggest them, and what each can do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from btpy.output.stream import Stream
    from btpy.output.style import Style
    from btpy.output.writer import Context, Writer


class Format(NamedTuple):
    """``suffixes``: of files that are written in it unless ``-f`` says otherwise. ``appends``: output can be added to
    a file. ``rotates``: it can go on in another one. ``tables``: one shape a file, and a directory may take several."""

    name: str
    summary: str
    suffixes: tuple[str, ...] = ()
    appends: bool = True
    rotates: bool = True
    tables: bool = False


FORMATS = (
    Format("text", "lines for people (default)"),
    Format("ndjson", "one JSON object a line", (".ndjson", ".jsonl")),
    Format("json", "one JSON array", (".json",), appends=False),
    Format("csv", "events, or a map, as comma-separated values", (".csv",), tables=True),
    Format("tsv", "the same, separated by tabs", (".tsv",), tables=True),
)

NAMES = tuple(each.name for each in FORMATS)

RECORDING = ".btz"
"""Suffix of recordings, which are no format of output: they are replayed into one."""


def named(name: str) -> Format:
    return next(each for each in FORMATS if each.name == name)


def suggested(path: Path) -> Format | None:
    """The format that the name of a file suggests, compressed or not."""
    name = path.name.removesuffix(".gz")
    return next((each for each in FORMATS if name.endswith(each.suffixes or ("\0",))), None)


def writer(
    format_: Format,
    stream: Stream,
    context: Context,
    style: Style,
    only: frozenset[str],
    files: Callable[[str], Stream] | None,
) -> Writer:
    """``only``: names of what is wanted, empty: all. ``files``: of a format of tables, makes one by its name where each
    shape has its own. Raises UsageError for a program that the format cannot show."""
    match format_.name:
        case "ndjson":
            from btpy.output.ndjson import NdjsonWriter

            return NdjsonWriter(stream, context)
        case "json":
            from btpy.output.ndjson import JsonWriter

            return JsonWriter(stream, context)
        case "csv" | "tsv":
            from btpy.output.separated import Dialect, SeparatedWriter

            return SeparatedWriter(stream, context, Dialect(format_.name), only, files)
        case _:
            from btpy.output.text import TextWriter

            return TextWriter(stream, context, style)
