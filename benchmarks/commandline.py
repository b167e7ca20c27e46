"""What the benchmarks have in common on the command line."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path

from tests.jdks import MAJORS


def options(about: str | None, *, jdk: bool = True) -> ArgumentParser:
    """``--quick``, ``--stdout`` and, where it is of one, ``--jdk``. ``about``: the documentation of the module."""
    parser = ArgumentParser(description=about, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: to see that it works, not to quote")
    if jdk:
        parser.add_argument("--jdk", type=int, choices=MAJORS, default=17)
    parser.add_argument("--stdout", action="store_true", help="print what was found, leave RESULTS.md alone")
    return parser


def add_parts(parser: ArgumentParser, parts: Sequence[str]) -> None:
    """Which parts of a benchmark are to be run; without any, all."""

    def part(word: str) -> str:
        if word not in parts:
            raise ArgumentTypeError(f"no part {word}")
        return word

    parser.add_argument(
        "parts", nargs="*", metavar="PART", type=part, default=parts, help=f"of {', '.join(parts)}; default: all"
    )


def repeated() -> str:
    """The command that measures this again."""
    words = [word for word in sys.argv[1:] if word != "--stdout"]
    return " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *words])
