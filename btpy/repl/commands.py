"""The commands of the prompt, as a table: for help, for completion, and for :mod:`btpy.repl.actions`, which executes
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Protocol

from btpy.completion.metadata import Metadata, Word
from btpy.completion.suggestions import Wanted
from btpy.dataclass import dataclass
from btpy.errors import UsageError
from btpy.explanations import explanations
from btpy.model.diagnostics import did_you_mean


class Takes(Enum):
    """The kind of arguments of a command, for completion."""

    NOTHING = "nothing"
    PROBE = "probe"
    PLACE = "class or method"
    MAP = "map"
    LIBRARY = "library"
    EVENT = "event"
    SETTING = "setting"
    PARAMETER = "parameter"
    TOPIC = "topic"
    CODE = "code"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Command:
    """``least`` and ``most``: the number of words; ``most`` −1: the rest of the line."""

    name: str
    arguments: str
    doc: str
    takes: Takes = Takes.NOTHING
    least: int = 0
    most: int = 0
    example: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        return f":{self.name} {self.arguments}".rstrip()


_P = Takes.PROBE

COMMANDS = {
    command.name: command
    for command in (
        Command("probes", "", "the probes: where, state, hits, rate, cost, errors, lost", aliases=("p",)),
        Command("show", "N", "the script of a probe, and the methods that it is in", _P, 1, 1, ":show 1"),
        Command("enable", "N…", "probes fire again; a number, a name, or * for all", _P, 1, -1, ":enable quote"),
        Command("disable", "N…", "probes stay in place but do not fire", _P, 1, -1, ":disable *"),
        Command("rm", "N…", "removes probes and restores their classes", _P, 1, -1, ":rm 2"),
        Command(
            "edit",
            "N",
            "edits the script of a probe in $EDITOR; a version that fails leaves the probe as it is",
            _P,
            1,
            1,
            ":edit 1",
        ),
        Command("sample", "N 1/100", "fires for this share of the hits; 1/1 for all", _P, 2, 2, ":sample 2 1/10"),
        Command("limit", "N 50/s", "at most this many firings a second; off for all", _P, 2, 2, ":limit 1 50/s"),
        Command("level", "N", "enables the probes with @Level up to N, disables those above", Takes.TEXT, 1, 1),
        Command(
            "ls",
            "PATTERN",
            "loaded classes; with :: their methods, with signatures and lines",
            Takes.PLACE,
            1,
            1,
            ":ls PricingEngine::*",
        ),
        Command(
            "cls",
            "CLASS",
            "a class: loader, supertypes, annotations, fields, methods",
            Takes.PLACE,
            1,
            1,
            ":cls PricingEngine",
        ),
        Command("lines", "CLASS::METHOD", "the source lines that have code", Takes.PLACE, 1, 1),
        Command(
            "locals",
            "CLASS::METHOD [LINE]",
            "parameters and local variables, and where they are live",
            Takes.PLACE,
            1,
            2,
        ),
        Command(
            "src",
            "CLASS::METHOD",
            "the source, where it can be found beside the code",
            Takes.PLACE,
            1,
            1,
            ":src PricingEngine::quote",
        ),
        Command("maps", "", "the maps, their kinds and their sizes"),
        Command(
            "print",
            "@MAP [top=N] [by=p99] [unit=ms]",
            "a map as a table or histogram",
            Takes.MAP,
            1,
            -1,
            ":print @lat top=5 by=p99",
        ),
        Command("clear", "@MAP", "removes all keys of a map", Takes.MAP, 1, 1),
        Command("flush", "@MAP", "prints a map and removes its keys", Takes.MAP, 1, 1),
        Command(
            "watch", "@MAP [1s]", "shows a map and redraws it until q is pressed", Takes.MAP, 1, 2, ":watch @lat 2s"
        ),
        Command("plot", "@MAP", "a map as a chart", Takes.MAP, 1, 1),
        Command("last", "[N]", "the latest events (10), by number", Takes.TEXT, 0, 1, ":last 20"),
        Command("get", "N", "one event: when, where, which thread", Takes.TEXT, 1, 1, ":get 17"),
        Command("grep", "REGEX", "recent events whose text matches", Takes.TEXT, 1, -1, ":grep SKU-1\\d"),
        Command("wait", "TIME", "waits for this time; useful in a file of commands", Takes.TEXT, 1, 1, ":wait 10s"),
        Command("send", "EVENT", "runs the @OnEvent probes of that name", Takes.EVENT, 1, 1, ":send reset"),
        Command(
            "set",
            "[NAME [VALUE]]",
            "settings of the prompt: vi, rate, show, src",
            Takes.SETTING,
            0,
            2,
            ":set rate 50",
        ),
        Command("param", "[NAME=VALUE]", "sets parameters of the scripts entered from now on", Takes.PARAMETER, 0, 1),
        Command(
            "use",
            "LIBRARY[(name=value)]",
            "adds the probes of a library",
            Takes.LIBRARY,
            1,
            -1,
            ":use btpy.exceptions(top=5)",
        ),
        Command("errors", "", "errors in probes: their places, counts and remedies"),
        Command("lost", "", "lost records, by probe and cause"),
        Command("save", "FILE", "writes all probes to a script", Takes.TEXT, 1, 1, ":save mine.bt"),
        Command("load", "FILE", "adds the probes of a script", Takes.TEXT, 1, 1, ":load mine.bt"),
        Command("history", "[N]", "the latest entries; !! repeats the last one", Takes.TEXT, 0, 1),
        Command("doctor", "", "tests every step of an attach to the target"),
        Command("detach", "", "removes all probes and leaves the target; maps can still be read"),
        Command("quit", "", "detaches and ends btpy", aliases=("q", "exit")),
        Command("help", "[TOPIC]", "a command, or a word of the language", Takes.TOPIC, 0, 1, ":help hist"),
        Command("explain", "CODE", "the meaning of a diagnostic code", Takes.CODE, 1, 1, ":explain BT301"),
    )
}

_BY_ALIAS = {alias: command for command in COMMANDS.values() for alias in command.aliases}

BARE = ("help", "quit", "exit", "ls")
"""Commands that can be entered without the colon."""

SETTINGS = {
    "vi": ("on, off", "vi keys instead of emacs keys"),
    "rate": ("N", "events a second that are shown"),
    "show": ("on, off", "whether events are shown when they arrive; :last always shows them"),
    "src": ("DIRECTORY", "where :src looks for sources, too"),
}


@dataclass(frozen=True, slots=True)
class Line:
    """A command with its words. ``rest``: the typed text after the name."""

    command: Command
    words: tuple[str, ...]
    rest: str


def parse(text: str) -> Line:
    """Parses ``:name word …``, also without the colon. Raises UsageError with what to enter instead."""
    name, _, rest = text.strip().removeprefix(":").partition(" ")
    name, rest = name.strip(), rest.strip()
    command = find(name)
    if command is None:
        near = did_you_mean(name, [*COMMANDS, *_BY_ALIAS])
        raise UsageError(f"there is no command :{name}", help=[*near, ":help lists all commands"])
    words = tuple(rest.split())
    if len(words) < command.least:
        raise UsageError(f":{command.name} needs {_needs(command)}", help=_usage(command))
    if 0 <= command.most < len(words):
        raise UsageError(f":{command.name} takes {_counted(command.most)}, not {len(words)}", help=_usage(command))
    return Line(command, words, rest)


def find(name: str) -> Command | None:
    return COMMANDS.get(name) or _BY_ALIAS.get(name)


def _needs(command: Command) -> str:
    return {Takes.PROBE: "a probe", Takes.MAP: "a map", Takes.PLACE: "a class or a method"}.get(
        command.takes, command.arguments
    )


def _counted(most: int) -> str:
    return {0: "nothing", 1: "one word"}.get(most, f"{most} words")


def _usage(command: Command) -> list[str]:
    return [f"usage: {command.usage}", *([f"example: {command.example}"] if command.example else [])]


def command_words() -> list[Word]:
    """For completion."""
    return [Word(command.name, f"{command.arguments}  {command.doc}".strip()) for command in COMMANDS.values()]


class SessionMetadata(Metadata, Protocol):
    @property
    def probes(self) -> Sequence[Word]:
        """The probe with this number, otherwise the probes with this name."""

    @property
    def events(self) -> Sequence[Word]:
        """The events that ``send`` can run."""


def argument_words(name: str, metadata: SessionMetadata) -> Sequence[Word] | Wanted:
    """As :meth:`Metadata.arguments_of`."""
    command = find(name)
    match command.takes if command is not None else Takes.NOTHING:
        case Takes.PLACE:
            return Wanted.CLASS
        case Takes.PROBE:
            return metadata.probes
        case Takes.MAP:
            return metadata.maps
        case Takes.LIBRARY:
            return metadata.libraries
        case Takes.EVENT:
            return metadata.events
        case Takes.SETTING:
            return [Word(setting, f"{values}: {doc}") for setting, (values, doc) in SETTINGS.items()]
        case Takes.PARAMETER:
            return [Word(f"{parameter.text}=", parameter.about) for parameter in metadata.parameters]
        case Takes.TOPIC:
            return [*command_words(), *_language_words()]
        case Takes.CODE:
            return [Word(code, explanation.title) for code, explanation in explanations().items()]
        case _:
            return ()


def _language_words() -> list[Word]:
    from btpy.api.reference import entries

    return [Word(entry.name, entry.doc) for rows in entries().values() for entry in rows]
