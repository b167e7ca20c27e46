"""Writes docs/man/btpy.1 from the tables of the commands: python docs/build_man.py"""

from __future__ import annotations

import sys
from pathlib import Path

from btpy.cli import commands
from btpy.cli.options import Command, Option

PAGE = Path(__file__).parent / "man" / "btpy.1"


def page() -> str:
    """The page in the macros of man(7)."""
    main = commands.command("")
    lines = [
        '.\\" Written by docs/build_man.py: do not edit',
        ".TH BTPY 1",
        ".SH NAME",
        "btpy \\- trace running JVMs with small scripts",
        ".SH SYNOPSIS",
        *_synopsis(main),
        ".SH DESCRIPTION",
        *_text(main.about),
        ".SH OPTIONS",
        *(line for option in main.options for line in _option(option)),
        *_examples(main),
        ".SH COMMANDS",
    ]
    for name in commands.NAMES:
        command = commands.command(name)
        lines += [f".SS {_plain(f'btpy {name}')}", *_text(f"{command.summary[0].upper()}{command.summary[1:]}.")]
        lines += [*_synopsis(command), ".PP", *_text(command.about)]
        options = [option for option in command.options if option not in main.options]
        lines += [line for option in options for line in _option(option)]
        if len(options) < len(command.options):
            lines += [".PP", "Further options are those of tracing, above."]
        lines += _examples(command)
    lines += [".SH EXIT STATUS"]
    for code, meaning in commands.EXIT_CODES.items():
        lines += [".TP", f".B {code}", *_text(meaning)]
    lines += [".TP", ".I n", "what exit(n) of the script says"]
    lines += [
        ".SH ENVIRONMENT",
        *(line for name, what in _ENVIRONMENT.items() for line in (".TP", f".B {name}", *_text(what))),
        ".SH SEE ALSO",
        "java(1), jcmd(1), jps(1)",
    ]
    return "\n".join(lines) + "\n"


_ENVIRONMENT = {
    "JAVA_HOME": "the Java runtime of btpy demo and --attach jpype; else that of java on PATH",
    "BTPY_PATH": "directories of libraries, searched after those of -I",
    "BTPY_TRUST": "users, separated by commas, whose scripts and libraries are run as your own",
    "BTPY_ATTACH": "direct or jpype, as --attach",
    "BTPY_COLOR": "auto, always or never, as --color",
    "NO_COLOR": "no colours, whatever its value",
}


def _synopsis(command: Command) -> list[str]:
    return [line for usage in command.usage for line in (".nf", f".B {_plain(f'btpy {usage}')}", ".fi")]


def _option(option: Option) -> list[str]:
    names = ", ".join(f"\\fB{_plain(name)}\\fR" for name in option.names)
    value = f" \\fI{_plain(option.metavar)}\\fR" if option.metavar else ""
    return [".TP", names + value, *_text(option.help)]


def _examples(command: Command) -> list[str]:
    lines = []
    for text, what in command.examples:
        lines += [".TP", f".B {_plain(f'btpy {text}')}", *_text(what)]
    return [".PP", "Examples:", *lines] if lines else []


def _text(text: str) -> list[str]:
    return [_plain(line) for line in text.split("\n")]


def _plain(text: str) -> str:
    """Escapes hyphens, and a mark at the beginning of a line that would make the line a request."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...").replace("→", "\\(->")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
