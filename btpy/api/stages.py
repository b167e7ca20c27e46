"""The stages of a script as lines of text, for developers of btpy (``-d parse``, ``-d link``, ``-d check``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from btpy.lang.program import Program
from btpy.lang.syntax.nodes import Tree
from btpy.lang.syntax.parser import parse
from btpy.model.sampling import NO_LIMIT
from btpy.model.source import Source


def parsed(source: Source) -> Iterator[str]:
    """The syntax tree. Raises ScriptError."""
    for item in parse(source).items:
        yield from _tree_lines(item)


def linked(program: Program) -> Iterator[str]:
    """The probes of the script, each with the functions that it calls, in one flat script: with constants where the
    script has parameters."""
    for probe in program.own:
        yield f"{probe.id} {probe.name}"
        for tree in (probe.tree, *probe.calls):
            yield from _tree_lines(tree, indent=1)


def checked(program: Program) -> Iterator[str]:
    """The attachments of the probes, and the maps and templates of the script."""
    for probe in program.own:
        fires = [value for value in (probe.sampling, probe.limit) if value not in (None, NO_LIMIT)]
        yield " ".join([f"probe {probe.id} {probe.name}", *map(repr, (probe.attachment, *fires))])
    for declaration in (*program.maps, *program.scoped_variables, *program.templates):
        yield repr(declaration)


def _tree_lines(node: Tree, name: str = "", indent: int = 0) -> Iterator[str]:
    """A node with its place and its own values, and its children below it."""
    line, column = node.span.source.position(node.span.start)
    below: list[tuple[str, Tree]] = []
    words = [f"{name}:"] if name else []
    words.append(type(node).__name__)
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, Tree):
            below.append((field.name, value))
        elif isinstance(value, tuple) and all(isinstance(child, Tree) for child in value):
            below += [(f"{field.name}[{at}]", child) for at, child in enumerate(value)]
        elif field.name != "span" and value is not None:
            words.append(f"{field.name}={value!r}")
    yield f"{'  ' * indent}{' '.join(words)}  {line}:{column}"
    for step, child in below:
        yield from _tree_lines(child, step, indent + 1)
