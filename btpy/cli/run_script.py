"""``btpy PID FILE``: attach, show the output of the probes, and restore the target."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from btpy import timeline
from btpy.cli.canary_options import CANARY_OPTIONS
from btpy.cli.console import Console
from btpy.cli.destination import OUTPUT_OPTIONS, PROMETHEUS_OPTIONS, RECORD_OPTIONS
from btpy.cli.options import SCRIPT_OPTIONS, TEXT, Arguments, Command, Option
from btpy.cli.overrides import bounded, checked
from btpy.cli.permissions import ALLOW, FRAMEWORKS, NO_REDACT, SECRET, WITH
from btpy.cli.settings import (
    ATTACH,
    CONSOLE_OPTIONS,
    LIMIT_OPTIONS,
    RATE,
    Settings,
    attach_method,
    begin_attach,
    present,
    settings_of,
)
from btpy.cli.timeline import TIMELINE, recorded
from btpy.cli.unattended import KEEP, NAME, TTL, UNATTENDED
from btpy.errors import BtpyError, NothingMatched, ScriptError, UsageError

if TYPE_CHECKING:
    from btpy.api.jvms import JvmProcess
    from btpy.api.programs import Program
    from btpy.cli.target_run import Companion
    from btpy.cli.watching import Watching
    from btpy.model.source import Source

WATCH = Option(("--watch",), "replace the probes when FILE changes; while it has errors, the old probes keep running")
DEBUG = Option(
    ("-d", "--debug"),
    "print what a stage does with the script: ast, link, check, plan, bytecode, agent, wire or all; two: ast,plan",
    "STAGE",
)
HOSTS = Option(
    ("--hosts",),
    "trace on these hosts, through ssh, with the btpy of each host: web[1-40],db-a or @group, as in ClusterShell",
    "HOSTS",
)
PODS = Option(
    ("--pods",), "trace in these pods, through kubectl exec: names, or '-l app=shop -n prod' as for kubectl", "PODS"
)
KUBECTL = Option(("--kubectl",), "the command of kubectl for --pods, such as 'kubectl --context NAME'", "COMMAND")
REMOTE_BTPY = Option(("--remote-btpy",), "the command of btpy on each host or pod, such as 'sudo -n btpy'", "COMMAND")
PUSH = Option(
    ("--push",), "with --hosts: send this btpy where it is missing or has another version (Python 3.11 runs it)"
)
REMOTE_PYTHON = Option(("--remote-python",), "the command of Python that runs the btpy of --push (python3)", "COMMAND")
SSH = Option(("--ssh",), "the command of ssh for --hosts, such as 'ssh -F FILE -J JUMP' (ssh)", "COMMAND")
FAN_OUT = Option(("--fan-out",), "how many hosts or pods connect and attach at a time (32)", "N")
_NEEDS = {
    SSH: {"hosts"},
    KUBECTL: {"pods"},
    **{option: {"hosts", "pods"} for option in (REMOTE_BTPY, PUSH, REMOTE_PYTHON, FAN_OUT, *CANARY_OPTIONS)},
}
"""Each of these options needs one of the options of its set."""

COMMAND = Command(
    name="",
    usage=(
        "PID|NAME FILE.bt [options]     trace a running JVM with a script (- for standard input) or a library",
        "PID|NAME -e 'TEXT' [options]   … with a one-liner",
        "PID,PID… FILE.bt [options]     … several JVMs; --all NAME: every JVM that NAME fits",
        "--hosts HOSTS NAME FILE.bt     … on several hosts, through ssh",
        "--pods PODS NAME FILE.bt       … in several pods, through kubectl",
        "PID|NAME                       … at a prompt: enter probes, look around",
        "COMMAND …",
    ),
    summary="trace a running JVM",
    about=(
        "NAME is a part of the main class, the jar or -Dbtpy.name that only one JVM has; or container/ID, the\n"
        "beginning of the id of its container; or pod/NAME. Only the output of the script goes to standard output.\n"
        "Ctrl-C ends the tracing and puts every class back; a second Ctrl-C leaves this to the agent.\n"
        "Parameters of the script are given as --name VALUE; btpy help FILE lists them."
    ),
    options=(
        TEXT,
        Option(("--all",), "trace every JVM that NAME fits: each line has the pid, and maps are merged"),
        HOSTS,
        PODS,
        KUBECTL,
        REMOTE_BTPY,
        PUSH,
        REMOTE_PYTHON,
        SSH,
        FAN_OUT,
        *CANARY_OPTIONS,
        Option(("--check",), "only check the script, as btpy check does, without asking the JVM"),
        Option(("--dry-run", "--plan"), "show what would be woven or refused, and the cost; change nothing"),
        Option(("-l", "--list"), "list what the probes match and end; -lv: with types, lines and locals"),
        *LIMIT_OPTIONS,
        *OUTPUT_OPTIONS,
        *PROMETHEUS_OPTIONS,
        *RECORD_OPTIONS,
        Option(("--until",), "end when this condition is true, such as '@n > 1000' (with keys: for any key)", "EXPR"),
        Option(("--sample",), "fire only for a part of the hits: 1/100, 5%, 50/s (overrides @Sample)", "RATE"),
        Option(("--max-methods",), "at most so many methods for one probe (default 500, or its max=)", "N"),
        Option(
            ("--max-classes",), "at most so many classes for one probe (default: limited by --max-methods only)", "N"
        ),
        Option(("-i", "--interval"), "show all maps at this interval, on a terminal in place (0: only at end)", "5s"),
        Option(
            ("--missing",),
            "a pattern that matches nothing: error (default), warn or ignore",
            "WHAT",
            choices=("error", "warn", "ignore"),
        ),
        Option(("--pending",), "as --missing=ignore: wait for classes that are loaded later"),
        ALLOW,
        SECRET,
        NO_REDACT,
        FRAMEWORKS,
        WITH,
        RATE,
        WATCH,
        DEBUG,
        TIMELINE,
        Option(("--repl-script",), "run the prompt commands of a file, without a terminal", "FILE"),
        Option(
            ("--budget",),
            "share of one core that probes may use before the budget restrains them (2%), or off",
            "SHARE",
        ),
        Option(("--level",), "enable the probes with @Level up to this level (default 0)", "N"),
        ATTACH,
        UNATTENDED,
        KEEP,
        TTL,
        NAME,
        *SCRIPT_OPTIONS,
        *CONSOLE_OPTIONS,
    ),
    positionals=(1, 2),
    takes_parameters=True,
    examples=(
        (
            "OrderApp -e 'com.acme.shop.PricingEngine::quote @return when duration > 20ms { print($sku, duration) }'",
            "slow calls, with an argument",
        ),
        ("4711 slow.bt --slow 250ms --for 1m -o slow.ndjson", "a script with a parameter, a minute long, to a file"),
        ("OrderApp slow.bt -f ndjson | jq .data", "for programs; the name of -o chooses the format: -o slow.csv"),
        ("OrderApp slow.bt -o run.btz", "record all of it, for btpy replay run.btz -f FORMAT"),
        ("--hosts web[1-40] OrderApp slow.bt --for 1m", "the same script on forty hosts: their maps are merged"),
        ("OrderApp jdbc", "a library that comes with btpy"),
    ),
)


def run(arguments: Arguments, console: Console) -> int:
    with recorded(arguments, console):
        return _run(arguments, console)


def _run(arguments: Arguments, console: Console) -> int:
    several_meant = _several_meant(arguments)
    on_hosts = bool({"hosts", "pods"} & arguments.given)
    if {"hosts", "pods"} <= arguments.given:
        raise UsageError("--hosts and --pods cannot be used together")
    for option, needed in _NEEDS.items():
        if option.key in arguments.given and not needed & arguments.given:
            raise UsageError(f"{option.names[-1]} needs --{' or --'.join(sorted(needed))}")
    if len(arguments.positionals) == 1 and not arguments.texts("e") and not several_meant and not on_hosts:
        from btpy.cli import prompt

        return prompt.run(arguments, console)
    find = cache(lambda: _find(arguments))
    if not arguments.switch("check") and not on_hosts:
        with timeline.step("load the modules of attaching"):
            from btpy.api.attaching import prepare
        process = None if several_meant else _found(find)
        prepare(process, attach_method(arguments))  # its process starts while the modules of the language are loaded
    from btpy.cli.script import compile_source, read_script

    with timeline.step("load the language, read the flags"):
        settings = settings_of(arguments, arguments.positionals[1:])
        present(arguments, console)
    with timeline.step("read the script"):
        source = read_script(arguments, arguments.positionals[1:])
    if arguments.switch("check"):
        from btpy.cli.check import faultless

        console.say(faultless(source, checked(lambda: compile_source(source, arguments), console)))
        return 0
    if on_hosts:
        from btpy.cli import hosts

        return hosts.run(lambda: compile_source(source, arguments), arguments, settings, console, COMMAND.options)
    if arguments.switch("list") and not several_meant:
        return _list(source, find(), arguments, settings, console)
    watching = watching_of(source, arguments, settings, console)
    return start(lambda: compile_source(source, arguments), arguments, settings, console, watching=watching, find=find)


def _find(arguments: Arguments) -> JvmProcess:
    """The JVM that the arguments name. Raises BtpyError."""
    from btpy.api import jvms

    with timeline.step("find the JVM"):
        return jvms.find(arguments.positionals[0])


def _found(find: Callable[[], JvmProcess]) -> JvmProcess | None:
    """None if there is no such JVM. :func:`start` looks again and reports this, after errors of the script."""
    with contextlib.suppress(BtpyError):
        return find()
    return None


def watching_of(source: Source, arguments: Arguments, settings: Settings, console: Console) -> Watching | None:
    """What --watch wants. Raises UsageError."""
    if not arguments.switch("watch"):
        return None
    from btpy.cli import watching
    from btpy.cli.script import compile_source, read_script

    def compile_(earlier: Program | None) -> Program:
        changed = read_script(arguments, [str(path)])
        return bounded(compile_source(changed, arguments, earlier=earlier), settings)

    path = watching.check(source.path, settings.destination)
    return watching.Watching(path, compile_, console, settings.missing)


def start(
    compile_: Callable[[], Program],
    arguments: Arguments,
    settings: Settings,
    console: Console,
    companion: Companion | None = None,
    watching: Watching | None = None,
    find: Callable[[], JvmProcess] | None = None,
) -> int:
    """Runs a script on the JVM, or the JVMs, that the arguments name; returns the exit code. ``find``: returns the JVM,
    which may be found already. Raises BtpyError."""
    if _several_meant(arguments):
        from btpy.cli import multi_target

        if companion is not None:
            raise UsageError(
                f"this command works on one JVM, and {arguments.positionals[0]} names several",
                help=["run it once for each PID"],
            )
        return multi_target.run(compile_, arguments, settings, console, watching)
    process = _find(arguments) if find is None else find()
    if arguments.switch("plan"):
        return _plan(compile_, process, settings, console)
    return trace(compile_, process, settings, console, companion, watching)


def _several_meant(arguments: Arguments) -> bool:
    return "," in arguments.positionals[0] or arguments.switch("all")


def _list(source: Source, process: JvmProcess, arguments: Arguments, settings: Settings, console: Console) -> int:
    from btpy.cli import ls
    from btpy.output.listing import Detail

    is_verbose = arguments.switch("verbose")
    detail = Detail(
        full_names=is_verbose, lines=is_verbose, locals=is_verbose, methods=None if is_verbose else Detail().methods
    )
    return ls.show(source, process, arguments, detail, console, as_json=settings.destination.format.name != "text")


def _plan(compile_: Callable[[], Program], process: JvmProcess, settings: Settings, console: Console) -> int:
    """Does everything that a run does before it changes the target. Raises BtpyError."""
    from btpy.api.scripts import missing_now
    from btpy.cli.plan import plan_lines
    from btpy.cli.printing import print_lines

    begin_attach(process, settings.attach)
    program = bounded(checked(compile_, console), settings)
    from btpy.api.session import attach_pulled  # while the process that attaches starts

    with attach_pulled(process, program.permissions, method=settings.attach) as session:
        matching = session.scripts.match(program)
    if matching.problems:
        raise ScriptError(matching.problems)
    print_lines(plan_lines(program, matching))
    if missing := missing_now(program, matching):
        raise NothingMatched(tuple(missing))
    console.say(f"btpy: nothing was touched in {process.short_main} ({process.pid})")
    return 0


def trace(
    compile_: Callable[[], Program],
    process: JvmProcess,
    settings: Settings,
    console: Console,
    companion: Companion | None = None,
    watching: Watching | None = None,
) -> int:
    """The exit code. ``compile_`` runs while the process that attaches starts. Raises BtpyError."""
    begin_attach(process, settings.attach)
    program = bounded(checked(compile_, console), settings)
    settings.destination.check(program, console)
    from btpy.api.attaching import Connecting

    with Connecting(process, allow=program.permissions.allow, method=settings.attach) as connecting:
        with timeline.step("load the modules of a session"):
            from btpy.cli.run_loop import RunLoop  # while the agent starts

        return RunLoop(program, [connecting], settings, console, companion=companion, watching=watching).run()
