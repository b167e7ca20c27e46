"""The settings of a run, from the flags of the command line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from btpy.cli.console import Console, wants_color
from btpy.cli.debugging import stages_of
from btpy.cli.destination import Destination, destination, exposition_of
from btpy.cli.options import Arguments, Option, number
from btpy.cli.permissions import permissions
from btpy.cli.unattended import Stay, stay_of
from btpy.errors import UsageError
from btpy.model.attach_method import AttachMethod

if TYPE_CHECKING:
    from btpy.api.jvms import JvmProcess

LIMIT_OPTIONS = (
    Option(("--for",), "end after this time", "30s"),
    Option(("--hits",), "end after N prints and events (default with -e: 100; 0: no limit)", "N"),
)
RATE = Option(("--rate",), "show at most N events a second of each probe (200 on a terminal; 0: all)", "N")
ATTACH = Option(
    ("--attach",),
    "directly, without Java (direct, the default), or through Java's own API (jpype)",
    "WAY",
    choices=("direct", "jpype"),
)
ATTACH_VARIABLE = "BTPY_ATTACH"
STYLE_OPTIONS = (
    Option(("--color",), "auto (default), always or never", "WHEN", choices=("auto", "always", "never")),
    Option(("--no-unicode",), "write ASCII only"),
)
CONSOLE_OPTIONS = (
    Option(("-q", "--quiet"), "no banner and no summary; at the prompt: no greeting, no echo of --repl-script"),
    Option(("-v", "--verbose"), "print more details; twice: even more"),
    *STYLE_OPTIONS,
)

ONE_LINER_HITS = 100


class Settings(NamedTuple):
    """The values of the flags. ``limit`` in seconds; ``hits``: None means no limit; ``color``: None means that the
    terminal decides; ``missing``: None means that the script decides; ``rate``: None means the default for the
    destination; ``interval`` in seconds, 0: never, None: the default for the script and the terminal; ``keys``: btpy
    reads the keys of the terminal; ``in_place``: btpy draws on the terminal; ``stay``: the session continues when btpy
    ends; ``ends``: btpy joins the session only to end it; ``budget``: share of one core, 0: no bound, None: the script
    decides; ``attach``: the value of --attach.
    """

    limit: float | None = None
    hits: int | None = None
    hits_by_default: bool = False
    destination: Destination = Destination()
    missing: str | None = None
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
    attach: AttachMethod = AttachMethod.DIRECT


def present(arguments: Arguments, console: Console) -> None:
    """Sets the verbosity and the style of the console from CONSOLE_OPTIONS."""
    console.verbosity = -1 if arguments.switch("quiet") else arguments.count("verbose")
    console.unicode = console.unicode and not arguments.switch("no_unicode")
    console.color = wants_color(arguments.text("color"), 2)


def settings_of(arguments: Arguments, files: Sequence[str], *, missing: str | None = None) -> Settings:
    """The values of the flags; ``files``: the scripts among the arguments. Raises UsageError."""
    name = Path(files[0]).stem if files else "one-liner"
    settings = flags(arguments, name, one_liner=bool(arguments.texts("e")), missing=missing)
    level = number("--level", arguments.text("level") or "0")
    return settings._replace(keys="-" not in files, level=level)


def flags(arguments: Arguments, name: str, *, one_liner: bool, missing: str | None = None) -> Settings:
    """The values of the flags for a run of any kind; ``name``: the default name of a session. Raises UsageError."""
    text = arguments.text("missing")
    if text not in (None, "ignore") and arguments.switch("pending"):
        raise UsageError(f"--pending and --missing={text} contradict each other")
    permissions(arguments)  # report errors before searching for a JVM
    settings = shown_settings(arguments)
    return limited(settings, arguments, one_liner=one_liner and not settings.destination.silent)._replace(
        missing="ignore" if arguments.switch("pending") else text or missing,
        stay=stay_of(arguments, name),
        until=arguments.text("until"),
        sample=arguments.text("sample"),
        debug=stages_of(arguments.text("debug")),
        max_methods=arguments.number("max_methods", None),
        max_classes=arguments.number("max_classes", None),
        interval=0.0 if arguments.text("interval") == "0" else arguments.seconds("interval", None),
        budget=arguments.share("budget", None),
        attach=attach_method(arguments),
    )


def attach_method(arguments: Arguments) -> AttachMethod:
    """The value of ATTACH, else of ``BTPY_ATTACH``; DIRECT for a command that starts its JVM. Raises UsageError."""
    if "attach" in arguments.given:
        return AttachMethod(arguments.text("attach"))
    default = os.environ.get(ATTACH_VARIABLE) or "direct"
    if default not in ATTACH.choices:
        raise UsageError(f"{ATTACH_VARIABLE}={default}: it must be one of {', '.join(ATTACH.choices)}")
    return AttachMethod(default)


def begin_attach(process: JvmProcess, method: AttachMethod) -> None:
    """Starts the process that attaches to a JVM, while the caller goes on. Raises AttachError if btpy cannot trace the
    JVM.
    """
    from btpy.api.attaching import prepare

    if process.obstacle is not None:
        raise process.obstacle
    prepare(process, method)


def shown_settings(arguments: Arguments) -> Settings:
    """The values of OUTPUT_OPTIONS, RECORD_OPTIONS, RATE and CONSOLE_OPTIONS. Raises UsageError."""
    return Settings(
        destination=destination(arguments)._replace(exposition=exposition_of(arguments)),
        color=arguments.text("color"),
        rate=arguments.number("rate", None),
    )


def limited(settings: Settings, arguments: Arguments, *, one_liner: bool = False) -> Settings:
    """Adds the values of LIMIT_OPTIONS. Raises UsageError."""
    return settings._replace(
        limit=arguments.seconds("for", None),
        hits=arguments.number("hits", ONE_LINER_HITS if one_liner else 0) or None,
        hits_by_default=arguments.text("hits") is None,
    )
