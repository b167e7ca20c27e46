"""``btpy attach PID SID``: joins an unattended session."""

from __future__ import annotations

from btpy.cli import unattended
from btpy.cli.console import Console
from btpy.cli.destination import OUTPUT_OPTIONS, PROMETHEUS_OPTIONS, RECORD_OPTIONS
from btpy.cli.options import Arguments, Command
from btpy.cli.settings import CONSOLE_OPTIONS, LIMIT_OPTIONS, RATE, limited, present, shown_settings

COMMAND = Command(
    name="attach",
    usage=("attach PID|NAME SESSION [options]",),
    summary="join a session that was left running",
    about=(
        "Joins a session that was left with -x or --keep, by its id (or the beginning of it) or its name. Shows the\n"
        "newest 5,000 events from before the join, and then all new events. Ctrl-C leaves the session running."
    ),
    options=(
        *LIMIT_OPTIONS,
        *OUTPUT_OPTIONS,
        *PROMETHEUS_OPTIONS,
        *RECORD_OPTIONS,
        RATE,
        *CONSOLE_OPTIONS,
        unattended.TTL._replace(help="how long the session may run on without btpy (default: the rest of its time)"),
    ),
    positionals=(2, 2),
    examples=(
        ("attach shop nightly", "the events from before the join, and all new events"),
        (
            "attach 4711 1a2b -f ndjson -o nightly.ndjson",
            "a session by the beginning of its id; the output goes to a file",
        ),
    ),
)


def run(arguments: Arguments, console: Console) -> int:
    from btpy.api.jvms import find

    settings = limited(shown_settings(arguments), arguments)
    present(arguments, console)
    ttl = unattended.ttl_of(arguments) if arguments.text("ttl") is not None else None
    process = find(arguments.positionals[0])
    from btpy.api.unattended import join_pulled
    from btpy.cli.run_loop import RunLoop

    session = join_pulled(process, arguments.positionals[1])
    assert session.joined is not None
    stay = unattended.Stay(ttl or session.joined.ttl, session.joined.name)
    return RunLoop(None, [session], settings._replace(stay=stay), console).run()
