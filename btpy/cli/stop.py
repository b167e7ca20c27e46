"""``btpy stop PID SID``: ends unattended sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from btpy.cli.console import Console
from btpy.cli.destination import OUTPUT_OPTIONS, PROMETHEUS_OPTIONS, RECORD_OPTIONS
from btpy.cli.options import Arguments, Command, Option
from btpy.cli.settings import CONSOLE_OPTIONS, RATE, present, shown_settings

if TYPE_CHECKING:
    from btpy.api.jvms import JvmProcess
    from btpy.cli.settings import Settings

COMMAND = Command(
    name="stop",
    usage=("stop PID|NAME SESSION", "stop PID|NAME --all"),
    summary="end a session that was left running",
    about=(
        "Ends a session that was left with -x or --keep, even if a client has joined it: the probes come out, its\n"
        "last events and its maps are printed, and every class is as it was."
    ),
    options=(
        Option(("--all",), "end all unattended sessions; sessions that end with their client stay"),
        *OUTPUT_OPTIONS,
        *RECORD_OPTIONS,
        RATE,
        *CONSOLE_OPTIONS,
    ),
    positionals=(1, 2),
    refused={name: "nothing is left to scrape" for option in PROMETHEUS_OPTIONS for name in option.names},
    examples=(
        ("stop shop nightly", "its last events, its maps, and the receipt"),
        ("stop 4711 --all", "as it was before btpy"),
    ),
)


def run(arguments: Arguments, console: Console) -> int:
    from btpy.api.jvms import find
    from btpy.errors import LeftBehind, UsageError

    everything = arguments.switch("all")
    if everything == (len(arguments.positionals) == 2):
        raise UsageError(
            "no session given", help=["btpy stop PID SESSION, or btpy stop PID --all", "btpy sessions PID"]
        )
    settings = shown_settings(arguments)._replace(ends=True)
    present(arguments, console)
    process = find(arguments.positionals[0])
    wanted_ones = _all(process) if everything else [arguments.positionals[1]]
    if not wanted_ones:
        console.say(f"no session is running unattended in {process.short_main} ({process.pid})")
    code = 0
    for name in wanted_ones:
        try:
            code = max(code, _stop(process, name, settings, console))
        except LeftBehind as error:  # also end the other sessions
            console.error(error)
            code = max(code, error.exit_status)
    return code


def _all(process: JvmProcess) -> list[str]:
    from btpy.api import unattended

    return [session.id for session in unattended.listed(process) if session.ttl is not None]


def _stop(process: JvmProcess, name: str, settings: Settings, console: Console) -> int:
    from btpy.api import unattended
    from btpy.cli.run_loop import RunLoop
    from btpy.present.report import restored_classes

    try:
        session = unattended.join_pulled(process, name, take_over=True)
    except unattended.Unreadable as unreadable:
        console.warning(f"{unreadable}: its results are lost")
    else:
        return RunLoop(None, [session], settings, console).run()
    receipt = unattended.discard(process, name)
    console.say(restored_classes(receipt))
    receipt.require_clean(process.pid)
    return 0
