"""``btpy level PID SESSION N``: enables the probes up to a ``@Level``."""

from __future__ import annotations

from btpy.cli.console import Console
from btpy.cli.options import Arguments, Command, number

COMMAND = Command(
    name="level",
    usage=("level PID|NAME SESSION N",),
    summary="set the level of a session",
    about=(
        "Enables the probes of a session with @Level up to N and disables probes with a higher level.\n"
        "Other probes stay as they are."
    ),
    options=(),
    positionals=(3, 3),
    examples=(
        ("level shop nightly 2", "the probes with @Level(1) and @Level(2) too"),
        ("level shop nightly 0", "only the probes without a level again"),
    ),
)


def run(arguments: Arguments, console: Console) -> int:
    name, session, text = arguments.positionals
    level = number("N", text)
    from btpy.api import unattended

    unattended.set_level(name, session, level)
    return 0
