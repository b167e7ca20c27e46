"""One probe of a script as a separate script, so that it can be replaced or sampled alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from btpy.lang.link.expansion import expand_source
from btpy.lang.link.parameters import declared, parsed, spelled
from btpy.lang.syntax import nodes, parser
from btpy.model.source import Source

_PROBES = (nodes.Probe, nodes.PointProbe)


def excerpt(script: Source, text: str, *, using: bool = False) -> str:
    """``text`` with the parts of the earlier script that it may use: imports, parameters, functions, maps and settings.
    A text with declarations of its own is returned unchanged. ``using``: keep ``use``, which also activates the probes
    of a library; otherwise import names only. Raises ScriptError if the text or the script does not parse.
    """
    items = parser.parse(Source(script.name, text)).items
    if not all(isinstance(item, _PROBES) for item in items):
        return text
    shared = [item for item in parser.parse(script).items if not isinstance(item, _PROBES)]
    return "\n".join([*(_statement(script.text, item, using) for item in shared), text])


def sampled(text: str, arguments: str) -> str:
    """The text of one probe with ``@Sample``. ``arguments``: the arguments of ``@Sample``. Raises ScriptError."""
    expanded = expand_source(Source("<probe>", text)).strip()
    (item,) = parser.parse(Source("<probe>", expanded)).items
    assert isinstance(item, nodes.Probe)
    for annotation in item.annotations:
        if annotation.name.text == "Sample":
            span = annotation.span
            return f"{expanded[: span.start]}@Sample({arguments}){expanded[span.end :]}"
    return f"@Sample({arguments})\n{expanded}"


def settled(script: Source, arguments: Mapping[str, str]) -> str:
    """The script, with ``arguments`` as the defaults of its parameters. Raises ScriptError where it does not parse."""
    text = script.text
    for item in reversed(parser.parse(script).items):
        if isinstance(item, nodes.ScriptParameter) and item.name.text in arguments:
            parameter = declared(item, [])
            assert parameter is not None  # the user can give values only to valid parameters
            value = spelled(parameter.type, parsed(parameter.type, arguments[parameter.name]))
            start, end = (item.type or item.name).span.end, (item.default or item.type or item.name).span.end
            text = f"{text[:start]} = {value}{text[end:]}"
    return text


def joined(scripts: Iterable[str]) -> str:
    """Joins scripts. Identical declarations appear once. Raises ScriptError if one of the scripts does not parse."""
    declaration_texts: set[str] = set()
    texts: list[str] = []
    for text in scripts:
        rest = text
        items = [item for item in parser.parse(Source("<script>", text)).items if not isinstance(item, _PROBES)]
        for item in reversed(items):
            if item.span.text in declaration_texts:
                rest = rest[: item.span.start] + rest[item.span.end :].lstrip().removeprefix(";").lstrip()
        declaration_texts.update(item.span.text for item in items)
        texts.append(rest.strip())
    return "\n\n".join(texts) + "\n"


def _statement(text: str, item: nodes.Tree, using: bool) -> str:
    """The item with the semicolon after it, which does not belong to its span."""
    rest = text[item.span.end :]
    after = rest.lstrip()
    spelled = item.span.text
    if isinstance(item, nodes.Import) and item.activates and not using:
        spelled = f"import{spelled.removeprefix('use')}"
    return spelled + (";" if after.startswith(";") and not item.span.text.endswith((";", "}")) else "")
