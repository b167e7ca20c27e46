"""Writes out the short forms of a script."""

from __future__ import annotations

import json

from btpy.lang.edit.formatter import format_source
from btpy.lang.syntax import nodes, parser
from btpy.model.source import Source


def expand_source(source: Source) -> str:
    """The script with each ``Class::method @location`` as the ``@OnMethod(…)`` that it becomes, each ``@Outermost`` as
    the condition that it adds, and each ``@Span`` as the statement, formatted. Raises ``ScriptError`` if the script
    does not parse."""
    script = parser.parse(source)
    text = source.text
    for item in reversed(script.items):
        if isinstance(item, nodes.PointProbe):
            written = _probe(nodes.expand(item))
        elif isinstance(item, nodes.Probe) and any(map(_is_short, item.annotations)):
            written = _probe(item)
        else:
            continue
        text = text[: item.span.start] + written + text[item.span.end :]
    return format_source(Source(source.name, text))


def _is_short(annotation: nodes.Annotation) -> bool:
    return annotation.name.text == "Outermost" or nodes.is_span(annotation)


def _probe(probe: nodes.Probe) -> str:
    annotations = [annotation for annotation in probe.annotations if not _is_short(annotation)]
    lines = [_annotation(annotation) for annotation in annotations]
    if probe.name is not None or probe.formals is not None:
        lines.append(_head(probe))
    conditions = ["depth == 0"] if nodes.annotation_of(probe, "Outermost") else []
    if probe.when is not None:
        text = probe.when.span.text
        conditions.append(f"({text})" if conditions and _binds_weaker_than_and(probe.when) else text)
    if conditions:
        lines.append("when " + " && ".join(conditions))
    spans = [
        f"span({', '.join(map(_argument, annotation.arguments))});"
        for annotation in filter(nodes.is_span, probe.annotations)
    ]
    return "\n".join([*lines, "".join(["{", *spans, probe.body.span.text[1:]])])


def _head(probe: nodes.Probe) -> str:
    name = f"probe {probe.name.text}" if probe.name is not None else "probe"
    if probe.formals is None:
        return name
    formals = [f"{formal.type.span.text} {formal.name.text}" for formal in probe.formals]
    return f"{name}({', '.join([*formals, '..'] if probe.open_formals else formals)})"


def _binds_weaker_than_and(tree: nodes.Expression) -> bool:
    return isinstance(tree, nodes.Conditional) or (
        isinstance(tree, nodes.Binary) and tree.operator.text in ("||", "??")
    )


def _annotation(annotation: nodes.Annotation) -> str:
    if not annotation.arguments:
        return f"@{annotation.name.text}"
    return f"@{annotation.name.text}({', '.join(map(_argument, annotation.arguments))})"


def _argument(argument: nodes.Argument) -> str:
    value = _expression(argument.value)
    return value if argument.name is None else f"{argument.name.text}={value}"


def _expression(tree: nodes.Expression) -> str:
    """Writes the nodes of :func:`btpy.lang.syntax.nodes.expand`, which have no source text."""
    match tree:
        case nodes.Literal(kind=nodes.LiteralKind.STRING):
            return _string(str(tree.value))
        case nodes.Name():
            return tree.text
        case nodes.Call():
            return f"{tree.function.text}({', '.join(map(_argument, tree.arguments))})"
        case nodes.Range():
            return f"{_expression(tree.first)}..{_expression(tree.end)}"
        case _:
            return tree.span.text


def _string(value: str) -> str:
    if value.startswith("/"):  # a regular expression keeps its backslashes
        return '"' + value.replace('"', '\\"') + '"'
    return json.dumps(value, ensure_ascii=False)
