"""``btpy PID,PID FILE`` and ``btpy --all NAME FILE``: one script in several JVMs. Each JVM can fail or end alone."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from btpy.api import jvms
from btpy.api.attaching import Connecting, prepare
from btpy.api.jvms import JvmProcess
from btpy.api.programs import Program
from btpy.cli.console import Console
from btpy.cli.options import Arguments
from btpy.cli.overrides import bounded, checked
from btpy.cli.settings import Settings
from btpy.errors import BtpyError, UsageError
from btpy.output import formats

if TYPE_CHECKING:
    from btpy.cli.watching import Watching


def run(
    compile_: Callable[[], Program],
    arguments: Arguments,
    settings: Settings,
    console: Console,
    watching: Watching | None = None,
) -> int:
    """The exit code. Raises BtpyError: nothing could be traced, or all targets are gone."""
    _refuse_what_is_for_one(arguments, settings)
    processes, failures = _found(arguments.positionals[0], every=arguments.switch("all"))
    for process in processes:
        prepare(process, settings.attach)
    program = bounded(checked(compile_, console), settings)
    settings.destination.check(program, console, several=True)
    with contextlib.ExitStack() as stack:
        attempts = []
        for process in processes:
            try:
                attempt = Connecting(process, allow=program.permissions.allow, method=settings.attach)
                attempts.append(stack.enter_context(attempt))
            except BtpyError as error:
                failures.append(error)
        for failure in failures:
            console.error(failure)
        from btpy.cli.run_loop import RunLoop  # while the agents start

        return RunLoop(program, attempts, settings, console, failures=failures, several=True, watching=watching).run()


def _refuse_what_is_for_one(arguments: Arguments, settings: Settings) -> None:
    """Raises UsageError."""
    destination = settings.destination
    for_all = arguments.positionals[0]
    rest = "FILE" if len(arguments.positionals) > 1 else "-e 'TEXT'"
    for switch, flag, why in (
        ("list", "--list", "lists the matches of probes in one JVM"),
        ("plan", "--dry-run", "shows the changes to one JVM"),
    ):
        if arguments.switch(switch):
            raise UsageError(f"{flag} {why}, and {for_all} names several", help=[f"btpy PID {rest} {flag}"])
    if not destination.silent:
        name = destination.format.name
        formats.check_several(
            destination.format, f"record each, and replay:  -o run.btz, then btpy replay run-PID.btz -f {name}"
        )


def _found(text: str, *, every: bool) -> tuple[list[JvmProcess], list[BtpyError]]:
    """The selected JVMs that can be traced, and the errors of the other JVMs. Raises AttachError, UsageError."""
    if every:
        processes_by_name = jvms.find_all(text)
        failures = [process.obstacle for process in processes_by_name if process.obstacle is not None]
        return [process for process in processes_by_name if process.obstacle is None], list(failures)
    processes: dict[int, JvmProcess] = {}
    errors: list[BtpyError] = []
    for name in filter(None, text.split(",")):
        try:
            process = jvms.find(name)
            if process.obstacle is not None:
                raise process.obstacle
            processes[process.pid] = process
        except BtpyError as error:
            errors.append(error)
    if not processes and not errors:
        raise UsageError(f"{text!r} does not name a JVM", help=["btpy 4711,4712 FILE.bt"])
    return list(processes.values()), errors
