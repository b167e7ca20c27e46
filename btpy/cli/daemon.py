"""``btpy daemon DIRECTORY``: standing probes, for systemd and for containers beside the JVMs."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from btpy.cli.console import Console
from btpy.cli.options import Arguments, Command, Option
from btpy.cli.printing import print_lines
from btpy.cli.unattended import TTL, ttl_of
from btpy.errors import LeftBehind, UsageError

if TYPE_CHECKING:
    from btpy.daemon.placement import Terms
    from btpy.daemon.supervisor import Supervisor

COMMAND = Command(
    name="daemon",
    usage=("daemon DIRECTORY [-o otlp://HOST:4318] [options]",),
    summary="keep the probes of a directory in JVMs, and export what they find",
    about=(
        "Reads a directory of standing probes: each TOML file names JVMs and a script. Puts the probes into each of\n"
        "these JVMs on this machine when it starts, exports their output by OTLP, and follows changes of the files.\n"
        "SIGTERM takes all probes out. If the daemon is killed, the next daemon finds the probes again. btpy help\n"
        "daemon shows a file."
    ),
    options=(
        Option(("-o", "--output"), "where the output goes (default: as OTEL_EXPORTER_OTLP_ENDPOINT says)", "URL"),
        Option(("--scan",), "how often to search for JVMs and to read the directory (default 5s)", "TIME"),
        TTL._replace(help="how long the probes run on if the daemon is killed (default 1h)"),
        Option(("--keep",), "at the end leave the probes in for the next daemon, as long as --ttl"),
        Option(("--check",), "only read the directory, report the errors, and list the JVMs that are named"),
        Option(("-q", "--quiet"), "report errors only"),
    ),
    positionals=(1, 1),
    examples=(
        ("daemon /etc/btpy/probes.d -o otlp://127.0.0.1:4318", "export to the Collector of this machine"),
        ("daemon probes.d --check", "shows the effect of a start"),
    ),
)

SCAN_SECONDS = 5.0
_ENDING_SECONDS = 30.0
_ANSWER_SECONDS = 30.0  # the wait for the first answer of the API server


def run(arguments: Arguments, console: Console) -> int:
    console.verbosity = -1 if arguments.switch("quiet") else 0
    directory = Path(arguments.positionals[0])
    scan = arguments.seconds("scan", SCAN_SECONDS)
    if arguments.switch("check"):
        return _check(directory, console)
    url = arguments.text("output") or "otlp://"
    from btpy.cli.exporting import exporting
    from btpy.daemon.placement import Ending, Terms
    from btpy.daemon.supervisor import Supervisor
    from btpy.output.otlp.settings import is_export

    if not is_export(url):
        problem = f"a daemon exports to a URL of OTLP, and {url!r} is no such URL"
        raise UsageError(problem, help=["-o otlp://127.0.0.1:4318"])
    stop = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        stop.set()

    with exporting(url, console) as exporter:
        assert exporter is not None
        terms = Terms(exporter, threading.Lock(), exporter.settings.interval, ttl_of(arguments), console.say)
        supervisor = Supervisor(directory, terms)
        handlers = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            supervisor.turn()
            console.say(f"btpy: standing probes of {directory}, exported to {exporter.endpoint_text}")
            _watch(supervisor, terms, scan, stop, console)
        finally:
            sessions = supervisor.end(Ending.KEEP if arguments.switch("keep") else Ending.WITHDRAW, _ENDING_SECONDS)
            for number, handler in handlers.items():
                signal.signal(number, handler)
    if sessions:
        raise LeftBehind(f"these sessions did not end in {_ENDING_SECONDS:.0f} s: {', '.join(sessions)}")
    return 0


def _watch(supervisor: Supervisor, terms: Terms, scan: float, stop: threading.Event, console: Console) -> None:
    """Runs until a signal comes. If the directory cannot be read, its probes stay unchanged."""
    scan_due = time.monotonic() + scan
    report_due = time.monotonic() + terms.interval
    trouble = ""
    while not stop.wait(max(0.0, min(scan_due, report_due) - time.monotonic())):
        now = time.monotonic()
        if now >= scan_due:
            scan_due = now + scan
            try:
                supervisor.turn()
                trouble = ""
            except UsageError as error:
                if str(error) != trouble:
                    console.error(error)
                trouble = str(error)
        if now >= report_due:
            report_due = now + terms.interval
            with terms.exporting:
                for notice in terms.exporter.notices():
                    console.warning(notice)
                terms.exporter.report()


def _check(directory: Path, console: Console) -> int:
    from btpy.api.jvms import list_jvms
    from btpy.daemon.pods import Pods
    from btpy.daemon.probes import read_directory
    from btpy.output.quantities import counted

    probes, errors = read_directory(directory)
    lines = []
    processes = [process for process in list_jvms() if not process.is_btpys_own]
    pods = Pods(console.say)
    if any(probe.pods is not None for probe in probes.values()):
        pods.refresh(patience=_ANSWER_SECONDS)
    for probe in probes.values():
        matches = [process for process in processes if probe.is_for(process, pods)]
        jvms = ", ".join(f"{process.short_main} ({process.pid})" for process in matches) or "no such JVM is running"
        expired = "has expired; " if probe.has_expired else ""
        lines.append(f"{probe.name}: {expired}{counted(len(probe.program.own), 'probe')}; {jvms}")
    print_lines(lines, ascii_only=not console.unicode)
    for error in errors.values():
        console.error(error)
    return max((error.exit_status for error in errors.values()), default=0)
