"""``btpy``: finds the command, runs it, turns errors into messages and exit codes."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from btpy.cli.console import Console
    from btpy.cli.options import Command

ENTERED_NS = time.monotonic_ns()
"""The time when Python had started, for the timeline."""

YOUNG_OBJECTS = 200_000
"""The number of new objects after which Python looks for cycles. The imports alone create so many objects that a search
after each 700 takes a tenth of the time to the first event. The imports leave no cycles.
"""

EXIT_INTERNAL = 1
EXIT_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code (docs: 0 done, 1 internal, 2 usage or script, 3 attach, 4 no match, 5 target gone, 6 budget)."""
    gc.set_threshold(YOUNG_OBJECTS)
    open_standard_descriptors()
    from btpy.cli.console import Console, speaks_unicode, wants_color
    from btpy.errors import BtpyError

    words = list(sys.argv[1:] if arguments is None else arguments)
    console = Console(unicode=speaks_unicode(), color=wants_color(None, 2))
    try:
        return _run(words, console)
    except BtpyError as error:
        if error.is_told:
            console.error(error)
        return error.exit_status
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:
        import traceback

        console.warning("btpy failed; this is a bug in btpy, not in your script")
        console.error(BtpyError(f"internal error: {type(error).__name__}: {error}"))
        if console.verbosity >= 1:
            console.say(traceback.format_exc().rstrip())
        return EXIT_INTERNAL


def open_standard_descriptors() -> None:
    """Opens the descriptors 0, 1 and 2 if they were closed when the process started (``2>&-``). Otherwise the
    next file or socket would get their number, and messages for the user would go there. Standard input is empty,
    writing to standard output is an error, and messages to standard error are lost.
    """
    for descriptor, mode in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, mode)  # gets the lowest free number, which is `descriptor`


def _run(words: list[str], console: Console) -> int:
    from btpy.cli import commands
    from btpy.cli.options import parse
    from btpy.cli.printing import print_lines, print_text

    if not words:
        print_lines(commands.first_contact(), ascii_only=not console.unicode)
        return 0
    if words[0] in ("-h", "--help"):
        print_text(commands.overview())
        return 0
    if words[0] == "--version":
        from btpy.distribution import build, version

        print_text(f"btpy {version()} ({build()})\n")
        return 0
    module = commands.module(words[0])
    command: Command = module.COMMAND
    parsed = parse(command, words[1:] if command.name else words)
    if parsed.wants_help:
        print_text(command.help())
        return 0
    if any("--allow" in option.names for option in command.options):
        console.typed = words
    code: int = module.run(parsed, console)
    return code
