"""``-d STAGE``: shows the result of each stage for a script, on standard error.

The stages: the tree of the script, the tree with its libraries, the checked program, the plan, handlers and woven
methods as bytecode, the reports of the agent, every message.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from btpy.cli.console import Console
from btpy.errors import UsageError

if TYPE_CHECKING:
    from btpy.api.programs import Program
    from btpy.api.results import Message
    from btpy.api.session import Deployment

STAGES = ("ast", "link", "check", "plan", "bytecode", "agent", "wire")
ALL = "all"

_MOST = 300  # the maximum number of characters of a message of the agent


def stages_of(text: str | None) -> frozenset[str]:
    """Of ``ast,plan``. Raises UsageError."""
    stages = [] if text is None else text.split(",")
    for stage in stages:
        if stage not in (*STAGES, ALL):
            advice = [f"stages: {', '.join(STAGES)}, {ALL}"]
            if stage[:1].isdecimal():  # -d is the time for btpy slow and btpy triage
                advice.append(f"to end after a time: --for {stage}")
            raise UsageError(f"-d {stage} is not a stage", help=advice)
    return frozenset(STAGES if ALL in stages else stages)


class Debugging:
    def __init__(self, stages: frozenset[str], console: Console) -> None:
        self._stages = stages
        self._console = console
        self._began = time.monotonic()

    def checked(self, program: Program) -> None:
        from btpy.api import stages

        if "ast" in self._stages:
            self._print("ast", stages.parsed(program.source))
        if "link" in self._stages:
            self._print("link", stages.linked(program))
        if "check" in self._stages:
            self._print("check", stages.checked(program))

    def deployed(self, deployment: Deployment) -> None:
        from btpy.api.preview import bytecode, planned

        if "plan" in self._stages:
            self._print("plan", planned(deployment))
        if "bytecode" in self._stages:
            self._print("bytecode", bytecode(deployment.program, deployment.matching))

    def message(self, message: Message, size: int, sent: bool) -> None:
        """Called for each message on the wire, by the sending and receiving threads."""
        milliseconds = (time.monotonic() - self._began) * 1000
        name = type(message).__name__
        if "wire" in self._stages:
            self._print("wire", [f"{milliseconds:9.1f} ms {'→' if sent else '←'} {name:<12} {size:>8} bytes"])
        if "agent" in self._stages and not sent and name not in _DATA:
            text = repr(message)
            self._print("agent", [text if len(text) <= _MOST else f"{text[:_MOST]}…"])

    @property
    def wants_messages(self) -> bool:
        return bool(self._stages & {"agent", "wire"})

    def _print(self, stage: str, lines: Iterator[str] | list[str]) -> None:
        self._console.script("\n".join(f"{stage}| {line}" for line in lines))


_DATA = frozenset(
    ("Events", "Errors", "ClassBytes", "ClassFiles", "Classes", "Stacks", "Maps", "Map", "Pong", "Supertypes")
)
"""Messages of the agent that are not reports, or that contain texts of the program with unmasked secrets."""
