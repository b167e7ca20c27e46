"""``btpy lsp``: the language server, which editors start."""

from __future__ import annotations

import os

from btpy.cli.console import Console
from btpy.cli.options import LIBRARY_DIRECTORY, Arguments, Command, Option
from btpy.cli.permissions import ALLOW, FRAMEWORKS, NO_REDACT, SECRET, permissions
from btpy.distribution import install_command
from btpy.errors import UsageError

COMMAND = Command(
    name="lsp",
    usage=("lsp [--pid PID|NAME]",),
    summary="serve editors: diagnostics, completion, hover, formatting",
    about=(
        "Speaks the Language Server Protocol on standard input and output; an editor starts it (docs/editors). No JVM\n"
        "is needed. With --pid the server reads classes, methods and variables from a JVM, which it does not\n"
        f"change. When this JVM ends, the server searches for the next JVM. Needs {install_command('lsp')}."
    ),
    options=(
        Option(("--pid",), "complete and check with the loaded classes of a JVM", "PID|NAME"),
        ALLOW,
        SECRET,
        NO_REDACT,
        FRAMEWORKS,
        LIBRARY_DIRECTORY,
    ),
    positionals=(0, 0),
    examples=(
        ("lsp", "the command that an editor runs for files *.bt"),
        ("lsp --pid OrderApp", "with the classes of a JVM"),
    ),
)


def run(arguments: Arguments, console: Console) -> int:
    from btpy.cli.script import libraries

    search, allowed = libraries(arguments), permissions(arguments)
    try:
        from btpy.lsp.server import Server
    except ModuleNotFoundError as cause:
        if (cause.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise UsageError("btpy lsp needs the package pygls", help=[install_command("lsp")]) from cause
    if os.isatty(0):
        console.say("btpy lsp waits for an editor on standard input: docs/editors says how to set one up")
    Server(arguments.text("pid"), search, allowed).serve()
    return 0
