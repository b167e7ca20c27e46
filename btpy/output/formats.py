"""The formats: what ``-f`` can say, which names of files suggest them, and what each can do."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from btpy.output.stream import Stream
from btpy.output.style import Style
from btpy.output.writer import Context, Writer


class Format(NamedTuple):
    """``suffixes``: of files that are written in it unless ``-f`` says otherwise. ``appends``: output can be added to
    a file, or go on in another one."""

    name: str
    summary: str
    suffixes: tuple[str, ...] = ()
    appends: bool = True


FORMATS = (
    Format("text", "lines for people (default)"),
    Format("ndjson", "one JSON object a line", (".ndjson", ".jsonl")),
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


def writer(format_: Format, stream: Stream, context: Context, style: Style) -> Writer:
    match format_.name:
        case "ndjson":
            from btpy.output.ndjson import NdjsonWriter

            return NdjsonWriter(stream, context)
        case _:
            from btpy.output.text import TextWriter

            return TextWriter(stream, context, style)
