"""The options of a staged run on several hosts."""

from __future__ import annotations

from btpy.cli.options import Option

CANARY = Option(
    ("--canary",), "put the probes into N hosts or pods first, or N%; withdraw them if they cost too much or fail", "N"
)
THEN = Option(("--then",), "then into N hosts in all, N% or all; can be given several times", "N", repeat=True)
SETTLE = Option(("--settle",), "time for which each stage must keep its bounds before the next begins (10s)", "TIME")
MAX_ERRORS = Option(("--max-errors",), "the number of probe errors that --canary allows on one host (0)", "N")
CANARY_OPTIONS = (CANARY, THEN, SETTLE, MAX_ERRORS)
