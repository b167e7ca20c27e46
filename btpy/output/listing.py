"""The matches of probes, as text and as JSON: classes, their methods, lines, locals, and omitted methods with the
reason.

com.acme.shop.PricingEngine  class · app · shop.jar · 2 of 3 methods
  quote(String sku, int qty): Money                 31-74
  <init>(Catalog catalog)                           22-25
  lambda$quote$0(Money): boolean                    skipped: made by the compiler, …
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from btpy.dataclass import dataclass
from btpy.model.patterns import simple_name
from btpy.output.quantities import counted
from btpy.output.style import Style
from btpy.output.values import visible
from btpy.plan.listing import ListedClass, ListedMethod, ListedProbe, Skipped
from btpy.plan.plan import RefusalReason

_COLUMN = 52  # column of the line numbers of a method, unless its signature is longer


@dataclass(frozen=True, slots=True)
class Detail:
    """The details to show beyond names. ``classes`` and ``methods``: the largest number of classes for each probe, and
    of methods for each class. ``for_more``: the option that lists more classes."""

    full_names: bool = False
    lines: bool = False
    locals: bool = False
    classes: int | None = 50
    methods: int | None = 40
    for_more: str = "--max N lists more"


def listing_lines(probe: ListedProbe, style: Style, detail: Detail) -> list[str]:
    """The lines of the listing, without line ends. Classes beyond the limit are only counted."""
    lines: list[str] = []
    fixed = [] if detail.full_names else [class_ for class_ in probe.classes if _is_fixed(class_)]
    classes = [class_ for class_ in probe.classes if class_ not in fixed]
    first_classes = classes[: detail.classes]
    for class_ in first_classes:
        lines += _class_lines(class_, style, detail)
    rest_count = len(classes) - len(first_classes) + probe.more
    if rest_count:
        lines.append(f"{style.ellipsis} and {counted(rest_count, 'more class')} ({detail.for_more})")
    if fixed:
        lines.append(f"{style.ellipsis} and {counted(len(fixed), 'hidden or lambda class')} that the JVM cannot change")
    if probe.unseen:
        one = probe.unseen == 1
        text = "class is made at run time and has" if one else "classes are made at run time and have"
        when_known = f"known when the JVM shows {'it' if one else 'them'}"
        lines.append(f"{style.ellipsis} and {probe.unseen} {text} no class file: {when_known}")
    return lines


def _is_fixed(class_: ListedClass) -> bool:
    return class_.skipped is not None and class_.skipped.code == RefusalReason.UNMODIFIABLE.value


def _class_lines(class_: ListedClass, style: Style, detail: Detail) -> list[str]:
    source = visible(class_.source if detail.full_names else _short_source(class_.source))
    facts = [class_.kind, visible(class_.loader), source]
    if class_.skipped is not None:
        facts = [class_.kind, visible(class_.loader), _skipped(class_.skipped)]
    elif class_.matching == len(class_.methods):
        facts.append(counted(class_.matching, "method"))
    else:
        facts.append(f"{class_.matching} of {counted(len(class_.methods), 'method')}")
    separator = " · " if style.unicode else " | "
    lines = [f"{style.bold(visible(class_.name))}  {separator.join(filter(None, facts))}"]
    if detail.full_names and class_.supertypes:
        lines.append(style.dim(f"    subtype of {visible(', '.join(class_.supertypes))}"))
    methods = class_.methods[: detail.methods]
    width = min(_COLUMN, max((len(signature(method, detail.full_names)) for method in methods), default=0))
    for method in methods:
        lines += _method_lines(method, width, style, detail)
    if len(class_.methods) > len(methods):
        lines.append(f"  {style.ellipsis} {len(class_.methods) - len(methods)} more methods")
    return lines


def _method_lines(method: ListedMethod, width: int, style: Style, detail: Detail) -> list[str]:
    note = _skipped(method.skipped) if method.skipped is not None else _span(method.lines)
    head = f"  {visible(signature(method, detail.full_names)):<{width}}  {note}".rstrip()
    lines = [head if method.skipped is None else style.dim(head)]
    if detail.lines and method.lines:
        lines.append(f"      lines {ranges(method.lines)}")
    if detail.locals:
        lines += [
            f"      {visible(_simple(local.type, detail.full_names))} {visible(local.name)}"
            + (f"  {_span((local.first, local.last))}" if local.first else "")
            for local in method.locals
        ]
        if not method.locals and method.skipped is None:
            lines.append("      no locals are known (compiled without -g:vars), or there are none")
    lines += [f"      line {place.line or '?'}  {visible(place.what)}".rstrip() for place in method.places]
    return lines


def signature(method: ListedMethod, full_names: bool = False) -> str:
    """``quote(String sku, int qty): Money``."""
    parameters = ", ".join(
        _simple(type_, full_names) + (f" {name}" if name else "") for type_, name in method.parameters
    )
    returns = "" if method.returns == "void" else f": {_simple(method.returns, full_names)}"
    return f"{'static ' if method.static and method.name != '<clinit>' else ''}{method.name}({parameters}){returns}"


def _span(lines: Sequence[int]) -> str:
    """The range from the first to the last line."""
    return "-".join(map(str, dict.fromkeys((*lines[:1], *lines[-1:]))))


def ranges(numbers: Sequence[int]) -> str:
    """``31-33 35`` for ascending numbers."""
    parts: list[list[int]] = []
    for number in dict.fromkeys(numbers):
        if parts and number == parts[-1][-1] + 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return " ".join("-".join(map(str, part)) for part in parts)


def listing_json(probe: ListedProbe, classes: int | None = None) -> Iterable[dict[str, Any]]:
    """An object for each class, and an object for the classes that are not listed."""
    first_classes = probe.classes[:classes]
    for class_ in first_classes:
        yield {
            "type": "class",
            "probe": probe.name,
            "class": class_.name,
            "kind": class_.kind,
            "loader": class_.loader or None,
            "source": class_.source or None,
            "supertypes": list(class_.supertypes),
            "skipped": _skipped_json(class_.skipped),
            "methods": [_method_json(method) for method in class_.methods],
        }
    rest_count = len(probe.classes) - len(first_classes) + probe.more
    if rest_count or probe.unseen:
        yield {"type": "more", "probe": probe.name, "classes": rest_count, "made_at_run_time": probe.unseen}


def _method_json(method: ListedMethod) -> dict[str, Any]:
    return {
        "name": method.name,
        "descriptor": method.descriptor,
        "parameters": [{"type": type_, "name": name} for type_, name in method.parameters],
        "returns": method.returns,
        "static": method.static,
        "lines": list(method.lines),
        "locals": [
            {"name": local.name, "type": local.type, "lines": [local.first, local.last] if local.first else None}
            for local in method.locals
        ],
        "places": [{"line": place.line or None, "what": place.what} for place in method.places],
        "skipped": _skipped_json(method.skipped),
    }


def _skipped_json(skipped: Skipped | None) -> dict[str, str | None] | None:
    return None if skipped is None else {"code": skipped.code or None, "reason": skipped.reason}


def _skipped(skipped: Skipped) -> str:
    code = f" [{skipped.code}]" if skipped.code else ""
    return f"skipped{code}: {visible(skipped.reason)}"


def _simple(java: str, full: bool) -> str:
    return java if full else simple_name(java)


def _short_source(source: str) -> str:
    """The file name of a jar, or the last part of the path of a directory of classes."""
    return source.rstrip("/").rpartition("/")[2]
