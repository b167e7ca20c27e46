"""``btpy run``: start a JVM with the probes in place before its main method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from btpy.cli import run_script
from btpy.cli.console import Console
from btpy.cli.options import Arguments, Command, Option
from btpy.cli.overrides import bounded, checked
from btpy.cli.settings import present, settings_of

if TYPE_CHECKING:
    from btpy.api.attaching import Launching

_SOON = 1.0  # seconds that a JVM may take to end after its shutdown hooks

_OF_RUNNING_JVMS = {"all", "attach", "check", "list", "plan", "repl_script"}

COMMAND = Command(
    name="run",
    usage=("run FILE.bt [options] -- java …", "run -e 'TEXT' [options] -- java …"),
    summary="start a JVM with probes in place",
    about=(
        "Starts java with the agent in it; its main method runs when the probes are in, so that nothing is missed.\n"
        "btpy waits for classes that are not loaded yet. When the tracing ends first, the program goes on.\n"
        "To see what the probes will match: btpy check FILE.bt --cp app.jar --plan."
    ),
    options=(
        *(option for option in run_script.COMMAND.options if option.key not in _OF_RUNNING_JVMS),
        Option(("--propagate",), "exit with the status of the program"),
    ),
    positionals=(0, 1),
    takes_parameters=True,
    takes_command=True,
    examples=(
        ("run exceptions -- java -jar app.jar", "every exception from the first line of main on"),
        ("run -e 'App::main @entry { print(args) }' -- java App a b", "code that ends before anybody can attach"),
    ),
)


def run(arguments: Arguments, console: Console) -> int:
    from btpy.cli.script import compile_source, read_script
    from btpy.errors import BtpyError, LeftBehind, OutputError, TargetGone

    files = arguments.positionals
    if not arguments.command:
        raise arguments.missing("no program to start", ["btpy run FILE.bt -- java -jar app.jar"])
    # The program uses the same terminal.
    settings = settings_of(arguments, files, missing="ignore")._replace(keys=False, in_place=False)
    present(arguments, console)
    source = read_script(arguments, files)
    watching = run_script.watching_of(source, arguments, settings, console)
    program = bounded(checked(lambda: compile_source(source, arguments), console), settings)
    settings.destination.check(program, console)
    from btpy.api.attaching import Launching

    left_behind = 0
    with Launching(arguments.command) as launching:
        from btpy.cli.run_loop import RunLoop  # while the JVM starts

        tracing = RunLoop(program, [launching], settings, console, watching=watching)
        try:
            code = tracing.run()
        except TargetGone:
            code = 0
        except LeftBehind as error:  # the program goes on
            console.error(error)
            code = left_behind = error.exit_status
        except BtpyError as error:
            if not (tracing.has_begun and isinstance(error, OutputError)):
                launching.child.terminate()  # the program must not run without its probes
                raise
            if error.is_told:  # the program goes on
                console.error(error)
            code = error.exit_status
        status = _wait(launching, console)
    return status or left_behind if arguments.switch("propagate") else code


def _wait(launching: Launching, console: Console) -> int:
    """The exit status of the program, as a shell gives it. Ctrl-C also reaches the program, which handles it itself."""
    import signal

    from btpy.children import TimeoutExpired

    child = launching.child
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        try:
            status = child.wait(_SOON)
        except TimeoutExpired:
            console.say(f"the tracing has ended; process {child.pid} goes on")
            status = child.wait()
    finally:
        signal.signal(signal.SIGINT, handler)
    return status if status >= 0 else 128 - status
