"""The program text: from a file, from standard input, from ``-e``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from btpy.errors import UsageError

if TYPE_CHECKING:
    from btpy.lang.program import Permissions, Program
    from btpy.lang.source import Source

COMMAND_LINE = "<command line>"
STANDARD_INPUT = "<standard input>"

_MAX_BYTES = 1 << 20  # Span.packed has 20 bits for a place in the script


def read_source(path: str | None, texts: Sequence[str]) -> Source:
    """``path``: a file, ``-`` for standard input; else ``texts`` are those of ``-e``. Raises UsageError."""
    from btpy.lang.source import Source

    if path is None:
        return Source(COMMAND_LINE, "\n".join(texts))
    name = STANDARD_INPUT if path == "-" else path
    try:
        if path == "-":
            data = sys.stdin.buffer.read(_MAX_BYTES + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(_MAX_BYTES + 1)
    except OSError as cause:
        raise UsageError(f"cannot read {name}: {(cause.strerror or str(cause)).lower()}") from cause
    if len(data) > _MAX_BYTES:
        raise UsageError(f"{name} is longer than {_MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        raise UsageError(f"{name} is not text: byte 0x{data[cause.start]:02x} at {cause.start} is not UTF-8") from cause
    if "\0" in text:
        raise UsageError(f"{name} is not text: it has a zero byte at {text.index(chr(0))}")
    return Source(name, text)


def compile_source(source: Source, permissions: Permissions | None = None) -> Program:
    """The checked program. Raises ScriptError for what is wrong in it, UsageError when there is nothing in it."""
    if not source.text.strip():
        raise UsageError(f"{source.name} is empty", help=[f"an example: {EXAMPLE}"])
    from btpy.lang.checker import check_source

    program = check_source(source) if permissions is None else check_source(source, permissions)
    if not program.probes:
        raise UsageError(f"{source.name} has no probes", help=[f"an example: {EXAMPLE}"])
    return program


EXAMPLE = "com.acme.Foo::bar @return { print(method, duration); }"
