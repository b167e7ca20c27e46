"""``btpy help``: what a script or library is for, its parameters, and what others can use of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from btpy.cli.options import SCRIPT_OPTIONS, Arguments, Command
from btpy.errors import UsageError

if TYPE_CHECKING:
    from btpy.cli.console import Console
    from btpy.lang.syntax import nodes
    from btpy.model.source import Source

COMMAND = Command(
    name="help",
    usage=("help FILE|LIBRARY|WORD",),
    summary="what a script, a library or a word of the language does",
    about=(
        "Of a script or library: its first comment, its parameters, its probes, and what other scripts can use of it.\n"
        "Of a word of the language (hist, @OnTimer, EXIT, duration, …): what it is, with an example."
    ),
    options=(SCRIPT_OPTIONS[0],),
    positionals=(0, 1),
    examples=(
        ("help hist", "an aggregation, with an example"),
        ("help jdbc", "what a library does and which parameters it has"),
        ("help slow.bt", "the same of a script"),
    ),
)


def run(arguments: Arguments, console: Console) -> int:
    from btpy.cli.script import is_path, libraries, read_source
    from btpy.lang.edit.reference import entries, page
    from btpy.model.diagnostics import did_you_mean
    from btpy.output.stream import Stream

    if not arguments.positionals:
        raise UsageError(
            "usage: btpy help WORD|LIBRARY|FILE.bt", help=["btpy help hist", "btpy help exceptions", "btpy --help"]
        )
    name = arguments.positionals[0]
    text = "" if is_path(name) else page(name)
    if not text:
        try:
            text = manual(read_source(name, (), libraries(arguments)))
        except UsageError as error:
            words = [entry.name for table in entries().values() for entry in table]
            raise UsageError(str(error), help=[*did_you_mean(name.lstrip("@"), words), *error.help]) from error
    stream = Stream.stdout(ascii_only=not console.unicode)
    stream.write(text)
    stream.flush()
    return 0


def manual(source: Source) -> str:
    """The page of a script. Raises ScriptError where it cannot be read."""
    from btpy.lang.link.parameters import declared, shown_default
    from btpy.lang.syntax import nodes, parser

    script = parser.parse(source)
    name = source.path.stem if source.path is not None else source.name
    sections = [script.doc or f"{name}: no description"]
    parameters = [declared(item, []) for item in script.items if isinstance(item, nodes.ScriptParameter)]
    rows = [
        (f"--{each.name} {each.type.upper()}", each.help + _default(shown_default(each)))
        for each in parameters
        if each is not None
    ]
    sections += _section("parameters", rows)
    probes = [nodes.expand(item) if isinstance(item, nodes.PointProbe) else item for item in script.items]
    sections += _section("probes", [_probe(each) for each in probes if isinstance(each, nodes.Probe)])
    functions = [each for each in script.items if isinstance(each, nodes.Function)]
    sections += _section("functions", [(_function(each), "") for each in functions])
    return "\n\n".join(sections) + "\n"


def _default(shown: str) -> str:
    return f" (default {shown})" if shown else " (required)"


def _section(title: str, rows: Iterable[tuple[str, str]]) -> list[str]:
    lines = []
    for head, text in rows:
        first, *more = text.split("\n")
        lines.append(f"  {head:<30}  {first}".rstrip() if len(head) <= 30 else f"  {head}\n{'':34}{first}".rstrip())
        lines += [f"{'':34}{line}" for line in more]
    return ["\n".join([f"{title}:", *lines])] if lines else []


def _probe(tree: nodes.Probe) -> tuple[str, str]:
    from btpy.lang.check.events import provided

    attaching = next((each for each in tree.annotations if each.name.text.startswith("On")), tree.annotations[0])
    notes = {
        each.name.text: " ".join(_text(argument.value) for argument in each.arguments)
        for each in tree.annotations
        if each.name.text in ("Doc", "Unit")
    }
    lines = [notes["Doc"]] if "Doc" in notes else []
    lines.append(attaching.span.text if len(attaching.span.text) < 200 else f"@{attaching.name.text}(…)")
    values = provided(tree)
    if values:
        unit = f" ({notes['Unit']})" if "Unit" in notes else ""
        lines.append("provides " + ", ".join(f"event.{name}" for name in values) + unit)
    return tree.name.text if tree.name is not None else "(without a name)", "\n".join(lines)


def _text(value: nodes.Expression) -> str:
    from btpy.lang.syntax import nodes

    return str(value.value) if isinstance(value, nodes.Literal) else value.span.text


def _function(tree: nodes.Function) -> str:
    formals = ", ".join(formal.span.text for formal in tree.formals)
    return f"{tree.name.text}({formals})" + (f": {tree.result.span.text}" if tree.result is not None else "")
