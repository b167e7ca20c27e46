"""``btpy PID`` without a script: the prompt."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from btpy.cli.console import Console, wants_color
from btpy.cli.destination import choose_time_zone
from btpy.cli.permissions import permissions
from btpy.cli.settings import attach_method, begin_attach
from btpy.errors import UsageError

if TYPE_CHECKING:
    from btpy.cli.options import Arguments


_TAKEN = {
    *("I", "allow", "attach", "budget", "color", "no_redact", "no_unicode", "quiet", "repl_script", "secret", "utc"),
    "with",
}
_INSTEAD = {"verbose": "btpy doctor PID shows every step of an attach"}


def run(arguments: Arguments, console: Console) -> int:
    """The exit code. Raises AttachError, UsageError."""
    from btpy.api import jvms
    from btpy.api.attaching import Connecting
    from btpy.cli.script import libraries

    _refuse(arguments)
    choose_time_zone(arguments)
    name = arguments.positionals[0]
    budget = arguments.share("budget", None)
    file = arguments.text("repl_script")
    allowed, search = permissions(arguments), libraries(arguments)
    unicode = console.unicode and not arguments.switch("no_unicode")
    process, method = jvms.find(name), attach_method(arguments)
    begin_attach(process, method)
    with Connecting(process, allow=allowed.allow, method=method) as connecting:
        from btpy.api.session import CPU_BUDGET  # while the agent starts
        from btpy.output.style import Style
        from btpy.repl import start

        settings = start.Settings(
            search,
            allowed,
            Style(unicode=unicode, color=wants_color(arguments.text("color"), 1)),
            CPU_BUDGET if budget is None else budget,
            arguments.switch("quiet"),
            console.typed,
        )
        if file is not None or not os.isatty(0):
            return start.commands(None if file is None else Path(file), connecting, settings)
        title = (process.short_main if name.isdecimal() else name).removesuffix(".jar")
        return start.prompt(title, connecting, settings)


def _refuse(arguments: Arguments) -> None:
    """The options of the prompt, without options that have no effect there. Raises UsageError."""
    for name, value in arguments.parameters.items():
        raise UsageError(
            f"--{name} is a parameter of a script, and there is no script",
            help=[
                f"at the prompt: :param {name}={value or 'VALUE'}",
                f"with a script: btpy PID FILE.bt --{name} VALUE",
            ],
        )
    for key in sorted(arguments.given - _TAKEN):
        option = key.replace("_", "-")
        flag = f"--{option}" if len(option) > 1 else f"-{option}"
        instead = [_INSTEAD[key]] if key in _INSTEAD else []
        raise UsageError(
            f"the prompt takes no {flag}", help=[*instead, "with a script: btpy PID FILE.bt", "at the prompt: :help"]
        )
