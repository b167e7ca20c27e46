"""``btpy PID FILE``: attach, show what the probes produce, leave the target as it was."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from btpy.cli.debugging import stages_of
from btpy.cli.destination import OUTPUT_OPTIONS, RECORD_OPTIONS, Destination, destination
from btpy.cli.options import SCRIPT_OPTIONS, TEXT, Arguments, Command, Option, number, seconds, share
from btpy.cli.permissions import ALLOW, FRAMEWORKS, NO_REDACT, REDACT, permissions
from btpy.cli.staying import KEEP, NAME, TTL, UNATTENDED, Stay, stay_of
from btpy.errors import UsageError

if TYPE_CHECKING:
    from btpy.cli.console import Console
    from btpy.cli.traced import Companion
    from btpy.cli.watching import Watching
    from btpy.jvm.processes import JvmProcess
    from btpy.lang.program import MethodAttachment, Program, Sampling
    from btpy.lang.source import Source

LIMIT_OPTIONS = (
    Option(("--for",), "end after this time", "30s"),
    Option(("--hits",), "end after N prints and events (default with -e: 100; 0: no limit)", "N"),
)
WATCH = Option(("--watch",), "replace the probes when FILE changes; while it has errors, the old probes keep running")
DEBUG = Option(
    ("-d", "--debug"),
    "print what a stage does with the script: ast, plan, bytecode, agent, wire or all; two: ast,plan",
    "STAGE",
)
RATE = Option(("--rate",), "show at most N events a second of each probe (200 on a terminal; 0: all)", "N")
CONSOLE_OPTIONS = (
    Option(("-q", "--quiet"), "no banner and no summary; at the prompt: no greeting, no echo of --repl-script"),
    Option(("-v", "--verbose"), "print more details; twice: even more"),
    Option(("--color",), "auto (default), always or never", "WHEN", choices=("auto", "always", "never")),
    Option(("--no-unicode",), "write ASCII only"),
)

COMMAND = Command(
    name="",
    usage=(
        "PID|NAME FILE.bt [options]     trace a running JVM with a script (- for standard input) or a library",
        "PID|NAME -e 'TEXT' [options]   … with a one-liner",
        "PID,PID… FILE.bt [options]     … several JVMs; --all NAME: every one that NAME fits",
        "PID|NAME                       … at a prompt: enter probes, look around",
        "COMMAND …",
    ),
    summary="trace a running JVM",
    about=(
        "NAME is a part of the main class, the jar or -Dbtpy.name that only one JVM has. Standard output is the\n"
        "script's alone. Ctrl-C ends the tracing and puts every class back; a second one leaves that to the agent.\n"
        "Parameters of the script are given as --name VALUE; btpy help FILE lists them."
    ),
    options=(
        TEXT,
        Option(("--all",), "trace every JVM that NAME fits: what they print has the pid, maps are merged"),
        Option(("--check",), "only check the script, as btpy check does, without asking the JVM"),
        Option(("--dry-run", "--plan"), "show what would be woven or refused, and the cost; change nothing"),
        Option(("-l", "--list"), "list what the probes match and end; -lv: with types, lines and locals"),
        *LIMIT_OPTIONS,
        *OUTPUT_OPTIONS,
        *RECORD_OPTIONS,
        Option(("--until",), "end when this holds, such as '@n > 1000'; for maps with keys: for any key", "EXPR"),
        Option(("--sample",), "fire only for a part of the hits: 1/100, 5%, 50/s (overrides @Sample)", "RATE"),
        Option(("--max-methods",), "most methods that one probe may match (default 500, or its max=)", "N"),
        Option(
            ("--max-classes",), "most classes that one probe may match (default: limited by --max-methods only)", "N"
        ),
        Option(("-i", "--interval"), "show all maps each time: on a terminal in place (0: only at the end)", "5s"),
        Option(
            ("--missing",),
            "a pattern that matches nothing: error (default), warn or ignore",
            "WHAT",
            choices=("error", "warn", "ignore"),
        ),
        Option(("--pending",), "as --missing=ignore: wait for classes that are loaded later"),
        ALLOW,
        REDACT,
        NO_REDACT,
        FRAMEWORKS,
        RATE,
        WATCH,
        DEBUG,
        Option(("--repl-script",), "run the prompt commands of a file, without a terminal", "FILE"),
        Option(("--budget",), "share of one core that probes may take before they are held back (2%), or off", "SHARE"),
        Option(("--level",), "enable the probes with @Level up to this one (default 0)", "N"),
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
        ("OrderApp slow.bt -f ndjson | jq .data", "for programs; the name of -o says the format too: -o slow.csv"),
        ("OrderApp slow.bt -o run.btz", "record all of it, for btpy replay run.btz -f FORMAT"),
        ("OrderApp jdbc", "a library that comes with btpy"),
    ),
)

ONE_LINER_HITS = 100


class Settings(NamedTuple):
    """What the flags say. ``limit`` in seconds; ``hits`` None: no limit; ``color`` None: as the terminal suggests;
    ``missing`` None: as the script says; ``rate`` None: as is usual where the output goes; ``interval`` in seconds, 0:
    never, None: as suits the script and the terminal; ``keys``: those of the terminal are for btpy; ``in_place``: so
    are its lines; ``stay``: the session goes on when btpy ends; ``ends``: it is joined only to be ended;
    ``budget``: share of one core, 0: no bound, None: as the script says."""

    limit: float | None = None
    hits: int | None = None
    hits_by_default: bool = False
    destination: Destination = Destination()
    missing: str | None = None
    allow: frozenset[str] = frozenset()
    color: str | None = None
    level: int = 0
    rate: int | None = None
    interval: float | None = None
    keys: bool = True
    in_place: bool = True
    stay: Stay | None = None
    ends: bool = False
    budget: float | None = None
    until: str | None = None
    max_methods: int | None = None
    max_classes: int | None = None
    sample: str | None = None
    debug: frozenset[str] = frozenset()


def run(arguments: Arguments, console: Console) -> int:
    from btpy.cli.script import compile_source, read_script
    from btpy.jvm import processes

    several_meant = _several_meant(arguments)
    if len(arguments.positionals) == 1 and not arguments.texts("e") and not several_meant:
        from btpy.cli import prompt

        return prompt.run(arguments, console)
    settings = settings_of(arguments, arguments.positionals[1:])
    present(settings, arguments, console)
    source = read_script(arguments, arguments.positionals[1:])
    if arguments.switch("check"):
        from btpy.cli.check import faultless

        console.say(faultless(source, checked(lambda: compile_source(source, arguments), console)))
        return 0
    if arguments.switch("list") and not several_meant:
        return _list(source, processes.find(arguments.positionals[0]), arguments, settings, console)
    watching = watching_of(source, arguments, settings, console)
    return start(lambda: compile_source(source, arguments), arguments, settings, console, watching=watching)


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
) -> int:
    """Runs a script on the JVM, or the JVMs, that the arguments name; the exit code. Raises BtpyError."""
    from btpy.jvm import processes

    if _several_meant(arguments):
        from btpy.cli import several

        if companion is not None:
            raise UsageError(
                f"this command works on one JVM, and {arguments.positionals[0]} names several",
                help=["run it once for each PID"],
            )
        return several.run(compile_, arguments, settings, console, watching)
    process = processes.find(arguments.positionals[0])
    if arguments.switch("plan"):
        return _plan(compile_, process, settings, console)
    return trace(compile_, process, settings, console, companion, watching)


def _several_meant(arguments: Arguments) -> bool:
    return "," in arguments.positionals[0] or arguments.switch("all")


def _list(source: Source, process: JvmProcess, arguments: Arguments, settings: Settings, console: Console) -> int:
    from btpy.cli import ls
    from btpy.output.listing import Detail

    more = arguments.switch("verbose")
    detail = Detail(full_names=more, lines=more, locals=more, methods=None if more else Detail().methods)
    return ls.show(source, process, arguments, detail, console, as_json=settings.destination.format.name != "text")


def _plan(compile_: Callable[[], Program], process: JvmProcess, settings: Settings, console: Console) -> int:
    """What a run would do, up to the moment at which it would touch something. Raises BtpyError."""
    from btpy.cli.plan import print_plan
    from btpy.errors import NothingMatched, ScriptError
    from btpy.jvm import attach

    if process.obstacle is not None:
        raise process.obstacle
    attach.prepare()
    program = bounded(checked(compile_, console), settings)
    from btpy.live.session import attach as attached  # while the Java that attaches is starting

    with attached(process, allow=settings.allow, kept=None) as session:
        matching = session.match(program)
    if matching.problems:
        raise ScriptError(matching.problems)
    print_plan(program, matching)
    if matching.missing:
        raise NothingMatched(tuple(matching.missing.values()))
    console.say(f"btpy: nothing was touched in {process.short_main} ({process.pid})")
    return 0


def present(settings: Settings, arguments: Arguments, console: Console) -> None:
    """Has the console say as much, and in such a way, as the flags want."""
    from btpy.cli.console import wants_color

    console.verbosity = -1 if arguments.switch("quiet") else arguments.count("verbose")
    console.unicode = console.unicode and not arguments.switch("no_unicode")
    console.color = wants_color(settings.color, 2)


def trace(
    compile_: Callable[[], Program],
    process: JvmProcess,
    settings: Settings,
    console: Console,
    companion: Companion | None = None,
    watching: Watching | None = None,
) -> int:
    """The exit code. ``compile_`` runs while btpy's own JVM is starting. Raises BtpyError."""
    from btpy.jvm import attach

    if process.obstacle is not None:
        raise process.obstacle
    attach.prepare()
    program = bounded(checked(compile_, console), settings)
    settings.destination.check(program, console)
    from btpy.jvm.connecting import Connecting

    with Connecting(process, allow=program.permissions.allow) as connecting:
        from btpy.cli.tracing import Tracing  # while the agent starts

        return Tracing(program, [connecting], settings, console, companion=companion, watching=watching).run()


def bounded(program: Program, settings: Settings) -> Program:
    """With what --max-methods, --max-classes and --sample say of every method probe. Raises UsageError for what they or
    --until cannot say."""
    if settings.until is not None:
        from btpy.cli.until import Until

        Until(settings.until, program)
    if settings.sample is not None:
        from btpy.lang.checker import resampled

        program = resampled(program, _sampling(settings.sample))
    from dataclasses import replace

    if settings.budget is not None:  # it goes before what the script says
        program = replace(program, settings=tuple(each for each in program.settings if each[0] != "cpu_budget"))
    if settings.max_methods is None and settings.max_classes is None:
        return program
    from btpy.lang.program import MethodAttachment

    probes = tuple(
        replace(probe, attachment=_bounded(probe.attachment, settings))
        if isinstance(probe.attachment, MethodAttachment)
        else probe
        for probe in program.probes
    )
    return replace(program, probes=probes)


def _bounded(attachment: MethodAttachment, settings: Settings) -> MethodAttachment:
    from dataclasses import replace

    most = attachment.max_methods if settings.max_methods is None else settings.max_methods
    return replace(attachment, max_methods=most, max_classes=settings.max_classes)


def _sampling(text: str) -> Sampling:
    """Of ``1/100``, ``5%`` or ``50/s``. Raises UsageError."""
    import re

    from btpy.errors import UsageError
    from btpy.lang.program import SampleMode, Sampling

    forms = (
        (SampleMode.EVERY, r"1/([1-9]\d{0,8})", 1.0),
        (SampleMode.RATE, r"(\d{1,2}(?:\.\d{1,6})?)%", 0.01),
        (SampleMode.MAX_RATE, r"([1-9]\d{0,6})/s", 1.0),
    )
    for mode, form, scale in forms:
        match = re.fullmatch(form, text)
        if match is not None and float(match[1]) > 0:
            return Sampling(mode, float(match[1]) * scale, by_thread=False, adaptive=False, group=0)
    raise UsageError(f"--sample {text} is not a sampling rate", help=["--sample 1/100, --sample 5%, --sample 50/s"])


def checked(compile_: Callable[[], Program], console: Console) -> Program:
    """The program, its warnings told. Raises ScriptError, UsageError."""
    started = time.monotonic()
    program = compile_()
    console.detail(f"script checked in {(time.monotonic() - started) * 1000:.0f} ms")
    if program.warnings and console.verbosity >= 0:
        console.diagnostics(program.warnings)
    return program


def settings_of(arguments: Arguments, files: Sequence[str], *, missing: str | None = None) -> Settings:
    """What the flags say; ``files``: the scripts among the arguments. Raises UsageError."""
    name = Path(files[0]).stem if files else "one-liner"
    settings = flags(arguments, name, one_liner=bool(arguments.texts("e")), missing=missing)
    level = number("--level", arguments.text("level") or "0")
    return settings._replace(keys="-" not in files, level=level)


def flags(arguments: Arguments, name: str, *, one_liner: bool, missing: str | None = None) -> Settings:
    """What the flags say of a run, whatever runs; ``name``: of a session where they give none. Raises UsageError."""
    budget = arguments.text("budget")
    said = arguments.text("missing")
    if said not in (None, "ignore") and arguments.switch("pending"):
        raise UsageError(f"--pending and --missing={said} contradict each other")
    interval = arguments.text("interval")
    methods, classes = arguments.text("max_methods"), arguments.text("max_classes")
    shown = shown_settings(arguments)
    return limited(shown, arguments, one_liner=one_liner and not shown.destination.silent)._replace(
        missing="ignore" if arguments.switch("pending") else said or missing,
        allow=permissions(arguments).allow,
        stay=stay_of(arguments, name),
        until=arguments.text("until"),
        sample=arguments.text("sample"),
        debug=stages_of(arguments.text("debug")),
        max_methods=None if methods is None else number("--max-methods", methods),
        max_classes=None if classes is None else number("--max-classes", classes),
        interval=None if interval is None else 0.0 if interval == "0" else seconds("--interval", interval),
        budget=None if budget is None else share("--budget", budget),
    )


def shown_settings(arguments: Arguments) -> Settings:
    """What OUTPUT_OPTIONS, RECORD_OPTIONS, RATE and CONSOLE_OPTIONS say. Raises UsageError."""
    rate = arguments.text("rate")
    return Settings(
        destination=destination(arguments),
        color=arguments.text("color"),
        rate=None if rate is None else number("--rate", rate),
    )


def limited(settings: Settings, arguments: Arguments, *, one_liner: bool = False) -> Settings:
    """And what LIMIT_OPTIONS say. Raises UsageError."""
    limit, hits = arguments.text("for"), arguments.text("hits")
    return settings._replace(
        limit=None if limit is None else seconds("--for", limit),
        hits=_hits(hits, one_liner=one_liner),
        hits_by_default=hits is None,
    )


def _hits(given: str | None, *, one_liner: bool) -> int | None:
    if given is None:
        return ONE_LINER_HITS if one_liner else None
    return number("--hits", given) or None
