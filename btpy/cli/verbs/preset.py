"""The common parts of the verbs: their options, the pattern, and running the script that a verb has written."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from btpy.cli import run_script
from btpy.cli.console import Console
from btpy.cli.options import Arguments, Option, number
from btpy.cli.settings import Settings, flags, present
from btpy.errors import UsageError
from btpy.output import formats

if TYPE_CHECKING:
    from btpy.api.programs import Program
    from btpy.cli.target_run import Companion
    from btpy.model.permissions import Permissions

_OWN = {"for": ("-d", "--for"), "hits": ("-n", "--hits"), "debug": ("--debug",)}
_WRITTEN = "this command writes the script and shows it: copy it to a file to change it"
REFUSED = {
    **dict.fromkeys(("-e", "-I", "-P", "--level"), _WRITTEN),
    **dict.fromkeys(("-l", "--list"), "btpy ls PID PATTERN lists what a pattern matches"),
    "--watch": _WRITTEN,
    "--repl-script": "this command has no prompt",
}
"""The common options of runs that do not suit a verb, with the reasons."""

WHEN = Option(("--when",), "only calls for which this is true, such as 'duration > 20ms' or '$qty > 5'", "EXPR")
KEY = Option(("-k", "--key"), "by this expression, such as '$sku' or 'thread_name'; may be given again", "EXPR", True)
TOP = Option(("--top",), "this many keys, the greatest first (default 10)", "N")
JSON = Option(("--json",), "as -f ndjson: one JSON object a line")
RUNNING = tuple(
    option._replace(names=_OWN.get(option.key, option.names))
    for option in run_script.COMMAND.options
    if not REFUSED.keys() & option.names
)
"""The options of every run that suit a verb."""

_DEFAULT_TOP = "10"


class Point(NamedTuple):
    """``Class::method`` of the command line."""

    owner: str
    method: str

    @staticmethod
    def parse(text: str) -> Point:
        """Raises UsageError."""
        owner, separator, method = text.strip().partition("::")
        if not (owner and separator and method):
            likely = text.replace("#", "::") if "#" in text else f"{text}::*"
            raise UsageError(f"{text!r} names no method", help=[f"write Class::method, for example {likely!r}"])
        if " @" in text:
            raise UsageError(f"{text!r} has a location", help=["this command chooses the location: leave it out"])
        return Point(owner, method)

    @property
    def keys(self) -> list[str]:
        """The key that distinguishes the matching methods, if there are several."""
        return ["cls"] * _is_wide(self.owner) + ["method"] * _is_wide(self.method)

    def __str__(self) -> str:
        return f"{self.owner}::{self.method}"


def _is_wide(pattern: str) -> bool:
    return pattern[:1] in ("+", "@", "/") or "*" in pattern or "?" in pattern


def subject(arguments: Arguments) -> Point:
    """The pattern. Raises UsageError."""
    target, pattern = arguments.positionals[:2]
    if "::" in target and "::" not in pattern:
        raise UsageError(
            f"{target!r} is a pattern, and the JVM comes first",
            help=[f"write the JVM before the pattern:  {pattern} '{target}'"],
        )
    return Point.parse(pattern)


def key(arguments: Arguments, automatic: list[str]) -> str:
    """``[cls, method, $sku]``, or empty if no key is needed."""
    parts = [*automatic, *arguments.texts("key")]
    return f"[{', '.join(parts)}]" if parts else ""


def when(arguments: Arguments) -> str:
    """The condition, with a blank before it."""
    text = arguments.text("when")
    return "" if text is None else f" when {text}"


def quoted(pattern: str) -> str:
    """A pattern as a string literal of the language. Backslashes of a regular expression are kept."""
    return '"' + pattern.replace('"', '\\"') + '"'


def top(arguments: Arguments) -> int:
    return number("--top", arguments.text("top") or _DEFAULT_TOP)


def settings_of(name: str, arguments: Arguments, *, prints_each: bool = False, missing: str | None = None) -> Settings:
    """``prints_each``: the script prints a line for each call, so a limit applies. ``missing``: as for
    :meth:`btpy.Session.add`. Raises UsageError.
    """
    settings = flags(arguments, name, one_liner=prints_each, missing=missing)
    if arguments.switch("json"):
        if arguments.text("format") not in (None, "ndjson"):
            raise UsageError(f"--json and -f {arguments.text('format')} contradict each other")
        settings = settings._replace(destination=settings.destination._replace(format=formats.named("ndjson")))
    return settings


def run(
    name: str,
    script: str,
    arguments: Arguments,
    console: Console,
    *,
    prints_each: bool = False,
    missing: str | None = None,
) -> int:
    """Shows the script that was written, runs it, and returns the exit code. The other parameters are as for
    :func:`settings_of`.
    """
    settings = settings_of(name, arguments, prints_each=prints_each, missing=missing)
    return start(name, script, arguments, settings, console)


def start(
    name: str,
    script: str,
    arguments: Arguments,
    settings: Settings,
    console: Console,
    companion: Companion | None = None,
) -> int:
    from btpy.cli.permissions import permissions

    present(arguments, console)
    # Users can copy and change the script.
    console.say("\n".join(f"    {line}" for line in script.rstrip("\n").split("\n")))
    allowed = permissions(arguments)
    return run_script.start(lambda: compiled(name, script, allowed), arguments, settings, console, companion)


def compiled(name: str, script: str, allowed: Permissions, earlier: Program | None = None) -> Program:
    from btpy.api.programs import check_source
    from btpy.model.source import Source

    return check_source(Source(f"<{name}>", script), permissions=allowed, earlier=earlier)
