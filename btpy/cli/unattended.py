"""``-x``, ``--keep``, ``--ttl``, ``--name``: the probes stay when btpy ends."""

from __future__ import annotations

from typing import NamedTuple

from btpy.cli.options import Arguments, Option
from btpy.errors import UsageError

DEFAULT_TTL = 3600.0
LONGEST_TTL = 24 * 3600.0

UNATTENDED = Option(("-x", "--unattended"), "start the probes, print the session's id, and leave them running")
KEEP = Option(("--keep",), "leave the probes running at the end: btpy attach joins them again, btpy stop ends them")
TTL = Option(("--ttl",), "how long they may run without btpy, at most 24h (default 1h)", "TIME")
NAME = Option(("--name",), "the name of the session", "NAME")


class Stay(NamedTuple):
    """The session continues after btpy, for ``ttl`` seconds at most; ``at_once``: btpy ends as soon as the probes are
    in."""

    ttl: float = DEFAULT_TTL
    name: str = ""
    at_once: bool = False


def stay_of(arguments: Arguments, script: str) -> Stay | None:
    """The values of the flags; ``script``: the default name of the session. Raises UsageError."""
    at_once, keep = arguments.switch("unattended"), arguments.switch("keep")
    if not at_once and not keep:
        for name in ("ttl", "name"):
            if arguments.text(name) is not None:
                raise UsageError(f"--{name} needs -x or --keep")
        return None
    if at_once and keep:
        raise UsageError("-x leaves at once and --keep at the end: use one of them")
    if at_once and arguments.switch("watch"):
        raise UsageError("-x leaves at once, so --watch cannot follow the file", help=["--keep in place of -x"])
    for name in ("for", "hits", "output", "format", "record", "interval") if at_once else ():
        if arguments.text(name) is not None:
            raise UsageError(
                f"-x prints only the session's id, so --{name} has no effect",
                help=["give it to btpy attach, or use --keep in place of -x"],
            )
    return Stay(ttl_of(arguments), name_of(arguments) or script, at_once)


def ttl_of(arguments: Arguments) -> float:
    """Seconds. Raises UsageError."""
    ttl, text = arguments.seconds("ttl", DEFAULT_TTL), arguments.text("ttl")
    if ttl > LONGEST_TTL:
        raise UsageError(f"--ttl {text} is longer than 24h", help=["btpy attach gives a session a new time: --ttl 24h"])
    return ttl


def name_of(arguments: Arguments) -> str:
    """The value of --name, or an empty text. Raises UsageError."""
    name = arguments.text("name") or ""
    if len(name) > 100 or not name.isprintable():
        raise UsageError("--name takes up to 100 printable characters")
    return name
