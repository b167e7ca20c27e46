"""``btpy fmt``: formats scripts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from btpy.cli.console import Console
from btpy.cli.options import Arguments, Command, Option
from btpy.cli.printing import print_text
from btpy.errors import ScriptError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from btpy.model.diagnostics import Diagnostic
    from btpy.model.source import Source

COMMAND = Command(
    name="fmt",
    usage=("fmt [--check] [--fix] FILE…",),
    summary="format scripts",
    about=(
        "Formats scripts: comments and meaning stay the same, blanks and line breaks become regular. - reads\n"
        "standard input and writes standard output. A script that does not parse is left as it is (exit code 2)."
    ),
    options=(
        Option(("--check",), "change nothing; exit code 2 if a script is not formatted"),
        Option(("--fix",), "also apply the replacements that errors and warnings offer"),
    ),
    positionals=(1, 1000),
    examples=(
        ("fmt slow.bt", "format a script"),
        ("fmt --check *.bt", "in a continuous build"),
    ),
)

EXIT_NOT_FORMATTED = 2


def run(arguments: Arguments, console: Console) -> int:
    from btpy.cli.script import read_source

    status = 0
    for path in arguments.positionals:
        status = max(status, _format(read_source(path, ()), path, arguments, console))
    return status


def _format(source: Source, path: str, arguments: Arguments, console: Console) -> int:
    from btpy.api.editing import format_source
    from btpy.model.source import Source

    fixed = _fixed(source, console) if arguments.switch("fix") else source.text
    text = format_source(Source(source.name, fixed))
    if arguments.switch("check"):
        if text == source.text:
            return 0
        console.say(f"{source.name} is not formatted")
        return EXIT_NOT_FORMATTED
    if path == "-":
        print_text(text)
    elif text != source.text:
        _replace(path, text)
        console.say(f"{source.name}: formatted")
    return 0


def _fixed(source: Source, console: Console) -> str:
    """Applies the replacements of the text's diagnostics, repeatedly until there are none."""
    from btpy.api.programs import check_source
    from btpy.model.source import Source

    applied = 0
    while True:
        try:
            diagnostics: Sequence[Diagnostic] = check_source(source).warnings
        except ScriptError as error:
            diagnostics = error.diagnostics
        except UsageError:  # a parameter has no value: the text needs no correction
            diagnostics = ()
        fixes = sorted(
            {
                (fix.span.start, fix.span.end, fix.text)
                for diagnostic in diagnostics
                for fix in diagnostic.fixes
                if fix.span.source == source
            }
        )
        text, end = source.text, len(source.text) + 1
        for start, stop, replacement in reversed(fixes):
            if stop <= end:  # it does not overlap the replacement after it
                text, end = text[:start] + replacement + text[stop:], start
                applied += 1
        if text == source.text or applied > _MOST_FIXES:
            break
        source = Source(source.name, text)
    if applied:
        console.say(f"{source.name}: {applied} replacement{'s' * (applied != 1)} applied")
    return source.text


_MOST_FIXES = 1000


def _replace(path: str, text: str) -> None:
    """Writes a new file and renames it, so that the script is never incomplete. Raises UsageError."""
    import tempfile

    target = os.path.realpath(path)
    try:
        handle, beside = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".btpy-fmt-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            os.chmod(beside, os.stat(target).st_mode & 0o7777)
            os.replace(beside, target)
        except OSError:
            os.unlink(beside)
            raise
    except OSError as cause:
        raise UsageError(f"cannot write {path}: {(cause.strerror or str(cause)).lower()}") from cause
