"""``btpy PID`` without a script: the prompt."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from btpy.cli.permissions import permissions

if TYPE_CHECKING:
    from btpy.cli.console import Console
    from btpy.cli.options import Arguments


def run(arguments: Arguments, console: Console) -> int:
    """The exit code. Raises AttachError, UsageError."""
    from btpy.cli.console import wants_color
    from btpy.cli.script import libraries
    from btpy.jvm import attach, processes
    from btpy.jvm.connecting import Connecting

    name = arguments.positionals[0]
    file = arguments.text("repl_script")
    allowed, search = permissions(arguments), libraries(arguments)
    unicode = console.unicode and not arguments.switch("no_unicode")
    process = processes.find(name)
    if process.obstacle is not None:
        raise process.obstacle
    attach.prepare()
    with Connecting(process) as connecting:
        from btpy.output.style import Style  # while the agent starts
        from btpy.repl import start

        style = Style(unicode=unicode, color=wants_color(arguments.text("color"), 1))
        if file is not None or not os.isatty(0):
            return start.commands(None if file is None else Path(file), connecting, search, allowed, style)
        shown = (process.short_main if name.isdecimal() else name).removesuffix(".jar")
        return start.prompt(shown, connecting, search, allowed, style)
