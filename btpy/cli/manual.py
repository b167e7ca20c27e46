"""``btpy help``: describes a word of the language, a command, a script or a library."""

from __future__ import annotations

from btpy.cli.console import Console
from btpy.cli.options import SCRIPT_OPTIONS, Arguments, Command
from btpy.cli.printing import print_text
from btpy.errors import UsageError

COMMAND = Command(
    name="help",
    usage=("help FILE|LIBRARY|WORD|COMMAND|otlp",),
    summary="explain a script, a library, a command or a word of the language",
    about=(
        "For a script or library: shows its first comment, its parameters, its probes, and its names for others.\n"
        "For a word of the language (hist, @OnTimer, EXIT, duration, …): explains it, with an example."
    ),
    options=(SCRIPT_OPTIONS[0],),
    positionals=(0, 1),
    examples=(
        ("help hist", "an aggregation, with an example"),
        ("help jdbc", "a library and its parameters"),
        ("help slow.bt", "a script and its parameters"),
        ("help weave", "a command; the same as btpy weave --help"),
        ("help otlp", "how to send the results to OpenTelemetry backends"),
    ),
)


def run(arguments: Arguments, console: Console) -> int:
    from btpy.api.reference import entries, manual, page
    from btpy.cli import commands
    from btpy.cli.script import is_path, libraries, read_source
    from btpy.model.diagnostics import did_you_mean
    from btpy.topics import topics

    if not arguments.positionals:
        raise UsageError(
            "usage: btpy help WORD|LIBRARY|FILE.bt", help=["btpy help hist", "btpy help exceptions", "btpy --help"]
        )
    name = arguments.positionals[0]
    text = "" if is_path(name) else page(name) or topics().get(name, "")
    if not text and name in commands.NAMES:
        text = commands.command(name).help()
    if not text:
        try:
            text = manual(read_source(name, (), libraries(arguments)))
        except UsageError as error:
            words = [entry.name for table in entries().values() for entry in table]
            raise UsageError(str(error), help=[*did_you_mean(name.lstrip("@"), words), *error.help]) from error
    print_text(text, ascii_only=not console.unicode)
    return 0
