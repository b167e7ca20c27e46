"""The command-line options that all benchmarks share."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path

from tests.background import accept_ctrl_c
from tests.jdks import MAJORS


def options(about: str | None, *, jdk: bool = True) -> ArgumentParser:
    """``--quick``, ``--stdout`` and, for a benchmark of one JDK, ``--jdk``. ``about``: the documentation of the
    module."""
    accept_ctrl_c()
    parser = ArgumentParser(description=about, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: to see that it works, not to quote")
    if jdk:
        parser.add_argument("--jdk", type=int, choices=MAJORS, default=17)
    parser.add_argument("--stdout", action="store_true", help="print what was found, leave RESULTS.md alone")
    return parser


def add_parts(parser: ArgumentParser, parts: Sequence[str]) -> None:
    """Adds the parts of a benchmark as arguments; without arguments all parts run."""

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
