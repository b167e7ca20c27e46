"""Records as rows of the data set of events."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from btpy.events.records import Record
from btpy.model.templates import Template, TemplateKind
from btpy.output.ndjson import event_members
from btpy.output.style import Style
from btpy.output.templates import printed
from btpy.output.values import ValueText, well_formed
from btpy.output.writer import Context

encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


class Content(NamedTuple):
    """The columns of a row that depend on its values; each is None if this kind of record has no such value."""

    text: str | None = None
    data: str | None = None
    cut: str | None = None
    context: str | None = None

    @property
    def size(self) -> int:
        return sum(len(part) for part in self if part is not None)


class Kind(NamedTuple):
    """A template: the columns that all its rows share, and the function for the other columns, which raises
    ProtocolError."""

    kind: str
    name: str | None
    content: Callable[[Record], Content]


def kind_of(template: Template, context: Context) -> Kind | None:
    """The columns of a template; None if its records only control the output."""
    text = ValueText(context.stacks, Style())
    members = event_members(template, context, text, carried=template.kind is not TemplateKind.EMIT)
    if template.kind is TemplateKind.EMIT:

        def event(record: Record) -> Content:
            data, cuts = members(record)
            return Content(data=encode(data), cut=_encoded(cuts))

        return Kind("event", well_formed(template.name), event)
    if template.kind not in (TemplateKind.PRINT, TemplateKind.WARN):
        return None
    line = printed(template, context, text, carried=False)

    def print_(record: Record) -> Content:
        values, cuts = members(record)
        return Content(text=well_formed(line(record)), cut=_encoded(cuts), context=_encoded(values))

    return Kind("print" if template.kind is TemplateKind.PRINT else "warn", None, print_)


def _encoded(members: dict[str, Any]) -> str | None:
    return encode(members) if members else None
