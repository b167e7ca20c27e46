"""``-d STAGE``: what each stage makes of a script, on standard error.

The stages: its tree, the tree with its libraries, the checked program, the plan, handlers and woven methods as
bytecode, what the agent reports, every message.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING

from btpy.errors import UsageError
from btpy.model.sampling import NO_LIMIT

if TYPE_CHECKING:
    from btpy.api.session import Deployment
    from btpy.cli.console import Console
    from btpy.lang.program import Probe, Program
    from btpy.lang.syntax.nodes import Tree
    from btpy.wire.messages import Message

STAGES = ("ast", "link", "check", "plan", "bytecode", "agent", "wire")
ALL = "all"

_MOST = 300  # characters of a message of the agent


def stages_of(text: str | None) -> frozenset[str]:
    """Of ``ast,plan``. Raises UsageError."""
    given = [] if text is None else text.split(",")
    for each in given:
        if each not in (*STAGES, ALL):
            raise UsageError(f"-d {each} is no stage", help=[f"stages: {', '.join(STAGES)}, {ALL}"])
    return frozenset(STAGES if ALL in given else given)


class Debugging:
    def __init__(self, stages: frozenset[str], console: Console) -> None:
        self._stages = stages
        self._console = console
        self._began = time.monotonic()

    def checked(self, program: Program) -> None:
        if "ast" in self._stages:
            from btpy.lang.syntax.parser import parse

            items = parse(program.source).items
            self._print("ast", [line for item in items for line in tree_lines(item)])
        if "link" in self._stages:
            self._print("link", [line for probe in program.own for line in _linked_lines(probe)])
        if "check" in self._stages:
            self._print("check", _checked_lines(program))

    def deployed(self, deployment: Deployment) -> None:
        from btpy.api.preview import bytecode, planned

        if "plan" in self._stages:
            self._print("plan", planned(deployment))
        if "bytecode" in self._stages:
            self._print("bytecode", bytecode(deployment.program, deployment.matching))

    def message(self, message: Message, size: int, sent: bool) -> None:
        """One passed on the wire; from the threads that send and receive."""
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
"""What the agent sends that is no report, or holds texts of the program, in which secrets are not masked yet."""


def _linked_lines(probe: Probe) -> Iterator[str]:
    """A probe and the functions that it calls, with constants where the script has parameters."""
    yield f"{probe.id} {probe.name}"
    for tree in (probe.tree, *probe.calls):
        yield from tree_lines(tree, indent=1)


def _checked_lines(program: Program) -> Iterator[str]:
    """What the probes are attached to, and what the script keeps and prints."""
    for probe in program.own:
        fires = [value for value in (probe.sampling, probe.limit) if value not in (None, NO_LIMIT)]
        yield " ".join([f"probe {probe.id} {probe.name}", *map(repr, (probe.attachment, *fires))])
    for kept in (*program.maps, *program.thread_variables, *program.templates):
        yield repr(kept)


def tree_lines(node: Tree, name: str = "", indent: int = 0) -> Iterator[str]:
    """A node with its place and its own values, and below it what it is made of."""
    from btpy.lang.syntax.nodes import Tree

    line, column = node.span.source.position(node.span.start)
    below: list[tuple[str, Tree]] = []
    words = [f"{name}:"] if name else []
    words.append(type(node).__name__)
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, Tree):
            below.append((field.name, value))
        elif isinstance(value, tuple) and all(isinstance(each, Tree) for each in value):
            below += [(f"{field.name}[{at}]", each) for at, each in enumerate(value)]
        elif field.name != "span" and value is not None:
            words.append(f"{field.name}={value!r}")
    yield f"{'  ' * indent}{' '.join(words)}  {line}:{column}"
    for called, each in below:
        yield from tree_lines(each, called, indent + 1)
