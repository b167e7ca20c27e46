"""Writes docs/commands.md from the tables of the commands: python docs/build_commands.py"""

from __future__ import annotations

import sys
from pathlib import Path

from btpy.cli import commands
from btpy.cli.options import Command, Option

PAGE = Path(__file__).parent / "commands.md"
_HEAD = """# Commands

<!-- Written by docs/build_commands.py: do not edit -->

For everybody who uses btpy on the command line. The page lists every command with its options, as
`btpy COMMAND --help` prints them, and the exit statuses.

A target is a process id, or a part of the main class, the jar or `-Dbtpy.name` that only one JVM
has. Options may stand before or after the other arguments.
"""


def page() -> str:
    main = commands.command("")
    parts = [_HEAD, "## btpy PID|NAME", _usage(main), _prose(main.about), _options(main.options), _examples(main)]
    for name in commands.NAMES:
        command = commands.command(name)
        options = tuple(option for option in command.options if option not in main.options)
        parts += [f"## btpy {name}", _usage(command), _prose(command.about), _options(options)]
        if len(options) < len(command.options):
            parts.append("The other options are those of [btpy PID|NAME](#btpy-pidname).")
        parts.append(_examples(command))
    rows = [f"| {code} | {meaning.replace('|', '&#124;')} |" for code, meaning in commands.EXIT_CODES.items()]
    status = "\n".join(["| status | meaning |", "|---|---|", *rows, "| n | what `exit(n)` of the script says |"])
    return "\n\n".join(part.strip() for part in (*parts, "## Exit status", status) if part) + "\n"


def _usage(command: Command) -> str:
    return "\n".join(
        ["<!-- not run: usage, with placeholders -->", "```text", *(f"btpy {line}" for line in command.usage), "```"]
    )


def _prose(text: str) -> str:
    return text.replace("*", "\\*").replace("<", "&lt;")


def _options(options: tuple[Option, ...]) -> str:
    """A table of Markdown, with vertical bars escaped, because they end a cell."""
    if not options:
        return ""
    rows = []
    for option in options:
        name = ", ".join(option.names) + (f" {option.metavar}" if option.metavar else "")
        rows.append(f"| <code>{_cell(name)}</code> | {_cell(option.help)} |")
    return "\n".join(["| option | |", "|---|---|", *rows])


def _cell(text: str) -> str:
    return _prose(text).replace("|", "&#124;")


def _examples(command: Command) -> str:
    if not command.examples:
        return ""
    lines = [line for text, what in command.examples for line in (f"# {what}", f"btpy {text}")]
    return "\n".join(["<!-- not run: examples for your own programs -->", "```sh", *lines, "```"])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
