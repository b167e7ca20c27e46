"""``btpy check``: whether a script is right as far as the script alone tells. Needs no JVM."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from btpy.cli.options import SCRIPT_OPTIONS, Arguments, Command, Option

if TYPE_CHECKING:
    from btpy.cli.console import Console
    from btpy.lang.diagnostics import Diagnostic
    from btpy.lang.source import Source

COMMAND = Command(
    name="check",
    usage=("check FILE [--expand] [--error-format text|json]",),
    summary="check a script without a JVM",
    about="Checks a script (- for standard input) and prints what is wrong. Exit code 0: nothing, 2: errors.",
    options=(
        Option(("--expand",), "print the script with its short forms written out"),
        Option(
            ("--error-format",),
            "text (default), or json: one object a line on standard output",
            "FORMAT",
            choices=("text", "json"),
        ),
        *SCRIPT_OPTIONS,
    ),
    positionals=(1, 1),
    takes_parameters=True,
)


def run(arguments: Arguments, console: Console) -> int:
    from btpy.cli.script import compile_source, libraries, read_source
    from btpy.errors import ScriptError

    source = read_source(arguments.positionals[0], (), libraries(arguments))
    as_json = arguments.text("error_format") == "json"
    try:
        program = compile_source(source, arguments)
    except ScriptError as error:
        if not as_json:
            raise
        _print_json(error.diagnostics)
        return error.exit_status
    if arguments.switch("expand"):
        _print_expanded(source)
    if as_json:
        _print_json(program.warnings)
    else:
        if program.warnings:
            console.diagnostics(program.warnings)
        probes, maps = len(program.probes), len(program.maps)
        console.say(f"{source.name}: {probes} probe{'s' * (probes != 1)}, {maps} map{'s' * (maps != 1)}, no errors")
    return 0


def _print_expanded(source: Source) -> None:
    from btpy.lang.expansion import expand_source
    from btpy.output.stream import Stream

    stream = Stream.stdout()
    stream.write(expand_source(source))
    stream.flush()


def _print_json(diagnostics: Sequence[Diagnostic]) -> None:
    from btpy.lang.diagnostics import to_json
    from btpy.output.stream import Stream

    stream = Stream.stdout()
    for diagnostic in diagnostics:
        stream.write(json.dumps(to_json(diagnostic), ensure_ascii=False) + "\n")
    stream.flush()
