"""The commands, as a table: used to run them, and for help, completion and the man page."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from btpy.cli.options import Command

# Modules of btpy.cli that have COMMAND and run(arguments, console), in the order in which help lists them.
_MODULES = {
    "ps": "ps",
    "ls": "ls",
    "doctor": "doctor",
    "triage": "triage",
    "slow": "slow",
    "run": "run",
    "count": "verbs.count",
    "latency": "verbs.latency",
    "trace": "verbs.trace",
    "args": "verbs.args",
    "stacks": "verbs.stacks",
    "fields": "verbs.fields",
    "sessions": "sessions",
    "attach": "attach",
    "stop": "stop",
    "send": "send",
    "level": "level",
    "daemon": "daemon",
    "node": "node",
    "check": "check",
    "explain": "explain",
    "help": "manual",
    "lib": "lib",
    "test": "test",
    "fmt": "fmt",
    "lsp": "lsp",
    "weave": "weave",
    "replay": "replay",
    "completion": "completion",
    "demo": "demo",
}
_DEFAULT = "run_script"  # used when no command is named

EXIT_CODES = {
    0: "done, even after Ctrl-C",
    1: "internal error, the output cannot be written, or something was left behind in the target",
    2: "an error in the script or on the command line",
    3: "cannot attach; no JVM, or more than one, of that name",
    4: "nothing matches",
    5: "the target ended during the run",
    6: "the budget disabled all probes",
    7: "a stage of --canary has not kept its bounds",
    130: "ended by a second Ctrl-C",
    141: "the reader of the output has closed the pipe, as in btpy … | head -1",
}
"""exit(n) in a script ends btpy with the status n, which should be 64 to 119."""

NAMES = tuple(_MODULES)


def module(name: str) -> ModuleType:
    """The module of the command of that name; for any other name, the module that runs a script."""
    return import_module(f"btpy.cli.{_MODULES.get(name, _DEFAULT)}")


def command(name: str) -> Command:
    definition: Command = module(name).COMMAND
    return definition


def overview() -> str:
    """The text of ``btpy --help``."""
    width = max(map(len, NAMES))
    lines = [f"  btpy {name:<{width}}  {command(name).summary}" for name in NAMES]
    codes = [f"  {code:>3}  {meaning}" for code, meaning in EXIT_CODES.items()]
    return "\n".join(
        [
            command("").help(),
            "commands:",
            *lines,
            "",
            "exit codes:",
            *codes,
            "    n  exit(n) of the script",
            "",
            "btpy COMMAND --help tells more about a command.\n",
        ]
    )


_FIRST = """\
btpy traces running JVMs and leaves them as they were.

  btpy ps                            the JVMs here, and why one cannot be traced
  btpy triage NAME                   what is wrong with this service?
  btpy slow NAME                     its slowest requests, as trees
  btpy ls NAME 'Class'               the methods of a class; touches nothing
  btpy count NAME 'com.acme.**::*'   which methods are called, and how often
  btpy latency NAME 'Class::method'  how long calls take (trace, args, stacks)
  btpy NAME -e 'Class::method { print(args) }'
                                     a script of yours; a file; a library
  btpy doctor NAME                   find out why attaching fails
  btpy --help  ·  btpy help WORD     all commands  ·  help on a word
  btpy demo                          see it work on a small shop

NAME: a pid, part of the main class, jar or -Dbtpy.name, or pod/NAME.
Ctrl-C ends a run and puts everything back.
"""

_JVMS_SHOWN = 5  # the remaining lines on a screen of 24 lines


def first_contact() -> Iterator[str]:
    """One screen for a user who has typed only ``btpy``: first steps, and the JVMs of this machine."""
    yield from _FIRST.rstrip("\n").split("\n")
    yield ""
    from btpy.api.jvms import list_jvms
    from btpy.cli.ps import table, terminal_width
    from btpy.errors import AttachError

    try:
        processes = [process for process in list_jvms() if not process.is_btpys_own]
    except AttachError as error:
        yield str(error)
        return
    if not processes:
        yield "no JVM visible to this user: btpy demo starts one"
        return
    jvms = processes[:_JVMS_SHOWN]
    lines = table(jvms, terminal_width(1))
    yield from lines if len(lines) <= _JVMS_SHOWN + 1 else lines[: _JVMS_SHOWN + 1]
    if len(processes) > len(jvms):
        yield f"… and {len(processes) - len(jvms)} more: btpy ps"
