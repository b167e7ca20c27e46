"""Options of a command: one table from which arguments are parsed and help is printed.

This module replaces argparse, because importing argparse takes longer than all other work of ``btpy --help``, and the
errors of argparse look different.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from btpy.errors import UsageError

D = TypeVar("D")


class Option(NamedTuple):
    """``metavar`` empty: a switch, whose occurrences are counted. ``repeat``: may be given more than once. The last
    name is the key.
    """

    names: tuple[str, ...]
    help: str
    metavar: str = ""
    repeat: bool = False
    choices: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return self.names[-1].lstrip("-").replace("-", "_")


class Command(NamedTuple):
    """``usage``: lines after ``btpy``; ``about``: its description, in full sentences; ``examples``: the text after
    ``btpy``, and its purpose.

    ``takes_parameters``: unknown options are parameters of a script, for :class:`Arguments`.
    ``refused``: options that users may expect, with the reason why the command does not have them.
    """

    name: str
    usage: tuple[str, ...]
    summary: str
    about: str
    options: tuple[Option, ...]
    positionals: tuple[int, int]  # least and most
    takes_parameters: bool = False  # of the script: `--name VALUE`, for any name
    takes_command: bool = False  # the arguments after `--` are a separate command
    examples: tuple[tuple[str, str], ...] = ()
    refused: dict[str, str] = {}  # noqa: RUF012 # never changed

    def help(self) -> str:
        lines = [f"{'usage:' if at == 0 else '      '} btpy {line}" for at, line in enumerate(self.usage)]
        lines += ["", self.about, "", "options:"]
        for option in self.options:
            head = ", ".join(option.names) + (f" {option.metavar}" if option.metavar else "")
            lines += _entry(head, option.help)
        lines += _entry("-h, --help", "print this")
        if self.examples:
            lines += ["", "examples:"]
            lines += [
                line for text, description in self.examples for line in (f"  btpy {text}", f"      {description}")
            ]
        return "\n".join(lines) + "\n"


class Arguments:
    """The arguments of the user: texts of options with a value, counts of switches, and the positionals."""

    def __init__(self, command: Command) -> None:
        self._texts: dict[str, list[str]] = {option.key: [] for option in command.options if option.metavar}
        self._switches: dict[str, int] = {option.key: 0 for option in command.options if not option.metavar}
        for name in command.refused:  # the code also reads the values of refused options
            key = name.lstrip("-").replace("-", "_")
            self._texts.setdefault(key, [])
            self._switches.setdefault(key, 0)
        self._options = [name for option in command.options for name in option.names]
        self.positionals: list[str] = []
        self.command: list[str] = []  # after `--`
        self.parameters: dict[str, str | None] = {}  # without `--`; None: the user gave it without a value
        self.taken: list[tuple[str, str]] = []  # name and value of parameters in the form of two arguments
        self.wants_help = False

    def text(self, key: str) -> str | None:
        """The last value of an option; None when it was not given."""
        texts = self._texts[key]
        return texts[-1] if texts else None

    def texts(self, key: str) -> list[str]:
        return self._texts[key]

    def number(self, key: str, default: D) -> int | D:
        """The value of an option that takes a number of at least 0. Raises UsageError."""
        text = self.text(key)
        return default if text is None else number(_flag(key), text)

    def seconds(self, key: str, default: D) -> float | D:
        """The value of an option that takes a duration. Raises UsageError."""
        text = self.text(key)
        return default if text is None else seconds(_flag(key), text)

    def share(self, key: str, default: D) -> float | D:
        """The value of an option that takes a part of one core. Raises UsageError."""
        text = self.text(key)
        return default if text is None else share(_flag(key), text)

    def switch(self, key: str) -> bool:
        return self._switches[key] > 0

    def count(self, key: str) -> int:
        return self._switches[key]

    @property
    def given(self) -> set[str]:
        """Keys of the options that were given."""
        return {key for key, texts in self._texts.items() if texts} | {key for key, n in self._switches.items() if n}

    def add_text(self, option: Option, name: str, value: str) -> None:
        if option.choices and value not in option.choices:
            raise UsageError(f"{name} is {value!r}: it can be {_any_of(option.choices)}")
        if self._texts[option.key] and not option.repeat:
            raise UsageError(f"{name} is given twice")
        self._texts[option.key].append(value)

    def add_parameter(self, name: str, value: str | None, rest: list[str]) -> None:
        """A parameter of the script. The next argument is its value, unless it is an option."""
        if name in self.parameters:
            raise UsageError(f"--{name} is given twice")
        if value is None and rest and (not rest[0].startswith("-") or _is_number(rest[0])):
            value = rest.pop(0)
            self.taken.append((name, value))
        self.parameters[name] = value

    def missing(self, message: str, help: Sequence[str]) -> UsageError:
        """The error for a missing argument. Possibly a parameter took the argument as its value."""
        hints = [f"--{name} took {value!r} as its value: write --{name}=VALUE" for name, value in self.taken]
        return UsageError(message, help=[*hints, *help])

    def unknown(self, name: str, declared: Iterable[str], described: Sequence[str]) -> UsageError:
        """The error for a name that is neither a parameter of the script nor an option of the command."""
        from difflib import get_close_matches

        names = [*(f"--{parameter}" for parameter in declared), *self._options]
        near = get_close_matches(f"--{name}", names, 1)
        help_ = [f"did you mean {near[0]}?"] if near else []
        return UsageError(f"--{name} is neither an option nor a parameter of the script", help=[*help_, *described])

    def add_switch(self, option: Option) -> None:
        self._switches[option.key] += 1


def parse(command: Command, arguments: Sequence[str]) -> Arguments:
    """Options and positionals in any order; ``--name=value``, ``-ovalue``, ``-qv`` and ``--`` as usual.

    Raises UsageError.
    """
    options = {name: option for option in command.options for name in option.names}
    parsed = Arguments(command)
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            if command.takes_command:
                parsed.command = rest
            else:
                parsed.positionals += rest
            break
        if argument in ("-h", "--help"):
            parsed.wants_help = True
            return parsed
        if argument == "-" or not argument.startswith("-"):
            parsed.positionals.append(argument)
            continue
        if argument.startswith("--"):
            name, assigned, value = argument.partition("=")
            option = options.get(name)
            if option is None and command.takes_parameters and len(name) > 2:
                parsed.add_parameter(name[2:], value if assigned else None, rest)
                continue
            if option is None:
                raise _unknown(name, command)
            if option.metavar:
                parsed.add_text(option, name, value if assigned else _take(rest, name, option))
            elif assigned:
                raise UsageError(f"{name} takes no value")
            else:
                parsed.add_switch(option)
            continue
        _parse_letters(command, options, argument, rest, parsed)
        if parsed.wants_help:
            return parsed
    least, most = command.positionals
    count = len(parsed.positionals)
    if count > most:
        raise UsageError(f"one argument too many: {parsed.positionals[most]!r}", help=_usage(command))
    if count < least:
        raise parsed.missing("an argument is missing", _usage(command))
    return parsed


def _parse_letters(
    command: Command, options: dict[str, Option], argument: str, rest: list[str], parsed: Arguments
) -> None:
    """``-q``, ``-qv``, ``-o FILE``, ``-oFILE``."""
    for at, letter in enumerate(argument[1:], 1):
        name = "-" + letter
        if letter == "h":
            parsed.wants_help = True
            return
        option = options.get(name)
        if option is None:
            raise _unknown(name if len(argument) > 2 else argument, command)
        if option.metavar:
            value = argument[at + 1 :]
            parsed.add_text(option, name, value or _take(rest, name, option))
            return
        parsed.add_switch(option)


def _flag(key: str) -> str:
    return f"--{key.replace('_', '-')}"


def _is_number(text: str) -> bool:
    return text[1:2].isdecimal()


def _take(rest: list[str], name: str, option: Option) -> str:
    if not rest:
        raise UsageError(f"{name} needs a value: {name} {option.metavar}")
    return rest.pop(0)


def _unknown(name: str, command: Command) -> UsageError:
    if name in command.refused:
        return UsageError(f"{name} is not for btpy {command.name}: {command.refused[name]}")
    from difflib import get_close_matches

    names = [spelling for option in command.options for spelling in option.names]
    near = get_close_matches(name, names, 1)
    help_ = [f"did you mean {near[0]}?"] if near else []
    help_command = f"btpy {command.name} --help" if command.name else "btpy --help"
    return UsageError(f"unknown option {name}", help=[*help_, f"{help_command} lists the options"])


def _usage(command: Command) -> list[str]:
    return [f"usage: btpy {line}" for line in command.usage]


def _any_of(choices: Sequence[str]) -> str:
    return " or ".join([", ".join(choices[:-1]), choices[-1]] if len(choices) > 1 else choices)


_INDENT, _WIDTH = 24, 100


def _entry(head: str, text: str) -> list[str]:
    """An option and its description, in a separate column."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > _WIDTH - _INDENT:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    if len(head) > _INDENT - 4:
        return [f"  {head}", *(" " * _INDENT + line for line in lines)]
    return [f"  {head:<{_INDENT - 4}}  {lines[0]}", *(" " * _INDENT + line for line in lines[1:])]


TEXT = Option(("-e",), "the program; may be given more than once", "TEXT", repeat=True)
LIBRARY_DIRECTORY = Option(("-I",), "a directory of libraries, searched before all others", "DIR", repeat=True)
SCRIPT_OPTIONS = (
    LIBRARY_DIRECTORY,
    Option(("-P",), "a parameter of the script, as --NAME VALUE", "NAME=VALUE", repeat=True),
)
"""Options of commands that take a script."""

_NANOS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}


def seconds(name: str, text: str) -> float:
    """A positive duration with a unit (``30s``, ``500ms``, ``2m``, ``1.5h``) in seconds. Raises UsageError."""
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text[len(digits) :]
    if digits.replace(".", "", 1).isdecimal() and digits.isascii():
        if not unit:
            raise UsageError(f"{name} {text} has no unit", help=[f"{name} {text}s, {name} {text}ms"])
        if unit in _NANOS and float(digits) > 0:
            return float(digits) * _NANOS[unit] / 1e9
        if unit in _NANOS:
            raise UsageError(
                f"{name} {text} is too short: a time above 0 is needed", help=[f"{name} 30s, {name} 500ms"]
            )
    if text.startswith("-") and text[1:2].isdecimal():
        raise UsageError(f"{name} {text} is negative: a time above 0 is needed", help=[f"{name} 30s, {name} 500ms"])
    raise UsageError(f"{name} takes a duration, not {text!r}", help=[f"{name} 30s, {name} 500ms, {name} 2m"])


def share(name: str, text: str) -> float:
    """A part of one core: ``2%``, ``0.5%``; 0 for ``off``. Raises UsageError."""
    digits = text.removesuffix("%")
    if text == "off":
        return 0.0
    if digits != text and digits.isascii() and digits.replace(".", "", 1).isdecimal() and 0 < float(digits) <= 100:
        return float(digits) / 100
    raise UsageError(f"{name} takes a share of one core, not {text!r}", help=[f"{name} 5%, {name} off"])


def number(name: str, text: str) -> int:
    """A number of at least 0. Raises UsageError."""
    if text.isascii() and text.isdecimal() and len(text) < 19:
        return int(text)
    raise UsageError(f"{name} takes a number, not {text!r}")
