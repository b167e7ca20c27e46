"""The page of a script or library: its purpose, its parameters, and the declarations that other scripts can use."""

from __future__ import annotations

from collections.abc import Iterable

from btpy.lang.check.events import provided
from btpy.lang.link.parameters import declared, shown_default
from btpy.lang.syntax import nodes, parser
from btpy.model.source import Source


def manual(source: Source) -> str:
    """The page of a script. Raises ScriptError where it cannot be read."""
    script = parser.parse(source)
    name = source.path.stem if source.path is not None else source.name
    sections = [script.doc or f"{name}: no description"]
    parameters = [declared(item, []) for item in script.items if isinstance(item, nodes.ScriptParameter)]
    rows = [
        (f"--{parameter.name} {parameter.type.upper()}", parameter.help + _default(shown_default(parameter)))
        for parameter in parameters
        if parameter is not None
    ]
    sections += _section("parameters", rows)
    probes = [nodes.expand(item) if isinstance(item, nodes.PointProbe) else item for item in script.items]
    sections += _section("probes", [_probe(probe) for probe in probes if isinstance(probe, nodes.Probe)])
    functions = [item for item in script.items if isinstance(item, nodes.Function)]
    sections += _section("functions", [(_function(function), "") for function in functions])
    return "\n\n".join(sections) + "\n"


def _default(text: str) -> str:
    return f" (default {text})" if text else " (required)"


def _section(title: str, rows: Iterable[tuple[str, str]]) -> list[str]:
    lines = []
    for head, text in rows:
        first, *more = text.split("\n")
        lines.append(f"  {head:<30}  {first}".rstrip() if len(head) <= 30 else f"  {head}\n{'':34}{first}".rstrip())
        lines += [f"{'':34}{line}" for line in more]
    return ["\n".join([f"{title}:", *lines])] if lines else []


def _probe(tree: nodes.Probe) -> tuple[str, str]:
    attaching = next(
        (annotation for annotation in tree.annotations if annotation.name.text.startswith("On")), tree.annotations[0]
    )
    notes = {
        annotation.name.text: " ".join(_text(argument.value) for argument in annotation.arguments)
        for annotation in tree.annotations
        if annotation.name.text in ("Doc", "Unit", "Tested")
    }
    lines = [notes["Doc"]] if "Doc" in notes else []
    lines.append(attaching.span.text if len(attaching.span.text) < 200 else f"@{attaching.name.text}(…)")
    values = provided(tree)
    if values:
        unit = f" ({notes['Unit']})" if "Unit" in notes else ""
        lines.append("provides " + ", ".join(f"event.{name}" for name in values) + unit)
    if "Tested" in notes:
        lines.append(f"tested with {notes['Tested']}")
    return tree.name.text if tree.name is not None else "(without a name)", "\n".join(lines)


def _text(value: nodes.Expression) -> str:
    return str(value.value) if isinstance(value, nodes.Literal) else value.span.text


def _function(tree: nodes.Function) -> str:
    formals = ", ".join(formal.span.text for formal in tree.formals)
    return f"{tree.name.text}({formals})" + (f": {tree.result.span.text}" if tree.result is not None else "")
