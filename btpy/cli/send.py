"""``btpy send PID SESSION EVENT``: send an event to a session, with or without a client."""

from __future__ import annotations

from btpy.cli.console import Console
from btpy.cli.options import Arguments, Command

COMMAND = Command(
    name="send",
    usage=("send PID|NAME SESSION EVENT",),
    summary="send an event to a session",
    about="Runs the @OnEvent probes of that name in a session of the JVM, whether it has a client or not.",
    options=(),
    positionals=(3, 3),
    examples=(
        ("send shop nightly flush", 'runs @OnEvent("flush")'),
        ("send 4711 1a2b flush", "by the beginning of the id"),
    ),
)


def run(arguments: Arguments, console: Console) -> int:
    from btpy.api import unattended

    unattended.send(*arguments.positionals)
    return 0
