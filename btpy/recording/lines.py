"""Reads the lines of ``-f ndjson`` back, for any other format.

The lines have less information than a recording: durations and sizes become numbers without a unit, and several keys of
a map become one text. All other information is kept, so ndjson can be converted to the same ndjson.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from btpy.errors import UsageError
from btpy.events.aggregates import MapContent
from btpy.events.records import (
    Closed,
    ClosedObject,
    CutString,
    MappingValue,
    ObjectValue,
    Record,
    SequenceValue,
    StackRef,
    Value,
    Withheld,
)
from btpy.events.stacks import StackTable
from btpy.model.outline import Moment, Outline, ProbeOutline
from btpy.model.secrets import REDACTED
from btpy.model.source import Source
from btpy.model.templates import Slot, Template, TemplateKind
from btpy.model.types import ANY, STACK, STRING
from btpy.recording.line_maps import MAPS, content
from btpy.wire import messages

VERSION = 1
MAX_LINE = 1 << 26
"""Bytes."""

MAX_TEMPLATES = 1 << 12

_FRAME = re.compile(r"(?P<owner>[^\s:]+)\.(?P<method>[^\s.:]+)(?::(?P<line>\d{1,5}))?\Z")


class Lines:
    """``outline`` and ``stacks`` describe all lines of the file."""

    def __init__(self, path: Path) -> None:
        """Raises UsageError for a missing file, and for a line that does not follow docs/events.md."""
        self.outline = Outline([], [], [], [Source("", "")])
        self.stacks = StackTable()
        self._path = path
        self._probes: dict[str, int] = {}
        self._templates: dict[tuple[object, ...], int] = {}
        self._map_ids: dict[str, int] = {}
        self._stack_ids: dict[tuple[str, ...], int] = {}
        for _ in self.read():
            pass

    def read(self) -> Iterator[tuple[dict[str, Any], Record | MapContent | None]]:
        """Each line, with its record or map if it has one. Raises UsageError."""
        try:
            file = self._path.open("rb")
        except OSError as cause:
            raise UsageError(f"cannot read {self._path}: {(cause.strerror or str(cause)).lower()}") from cause
        with file:
            number = 0
            while text := file.readline(MAX_LINE):
                number += 1
                try:
                    line = json.loads(text)
                    if "ts" in line:
                        nanos(line["ts"])
                    if line["v"] != VERSION or not isinstance(line["type"], str):
                        raise ValueError(f"version {line['v']}")
                    yield line, self._shown(line)
                except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as cause:
                    why = str(cause)[:80] or type(cause).__name__
                    raise UsageError(
                        f"line {number} of {self._path} is not a record of btpy: {why}",
                        help=["docs/events.md describes the format; btpy PID FILE.bt -f ndjson writes them"],
                    ) from cause

    def _shown(self, line: dict[str, Any]) -> Record | MapContent | None:
        if line["type"] not in MAPS:
            return self._record(line)
        (title,) = line["data"]
        if title not in self._map_ids:
            if len(self._map_ids) >= MAX_TEMPLATES:
                raise ValueError(f"more than {MAX_TEMPLATES} maps")
            self._map_ids[title] = len(self._map_ids)
        map_content = content(line, self._map_ids[title])
        if map_content.map.id == len(self.outline.maps):
            self.outline.maps.append(map_content.map)
        elif map_content.map.keys:  # for example a map that was empty at first
            self.outline.maps[map_content.map.id] = map_content.map
        return map_content

    def _record(self, line: dict[str, Any]) -> Record | None:
        kind = line["type"]
        if kind in ("printf", "warn"):
            parts = str(line["data"]).split("\n")
            values: list[Value] = list(parts)
            cuts, context = dict(line.get("cut", {})), dict(line.get("context", {}))
            values += [self._value(value, label, cuts) for label, value in context.items()]
            labels = (*("" for _ in parts), *map(str, context))
            template = self._template(kind, line["probe"], "", labels, values)
        elif kind == "event":
            cuts = dict(line.get("cut", {}))
            data = line["data"].items()
            values = [self._value(value, label, cuts) for label, value in data]
            template = self._template(kind, line["probe"], str(line["name"]), tuple(label for label, _ in data), values)
        else:
            return None
        tid, thread = int(line["tid"]), str(line["thread"])
        return Record(template, 0, self._probes[line["probe"]], nanos(line["ts"]), tid, thread, tuple(values))

    def _template(self, kind: str, probe: str, name: str, labels: tuple[str, ...], values: list[Value]) -> int:
        key = kind, probe, name, labels
        number = self._templates.get(key)
        if number is not None:
            return number
        if len(self._templates) >= MAX_TEMPLATES:
            raise ValueError(f"more than {MAX_TEMPLATES} kinds of events")
        if probe not in self._probes:
            self._probes[str(probe)] = len(self.outline.probes)
            self.outline.probes.append(ProbeOutline(str(probe), Moment.OTHER, len(self.outline.probes)))
        id_ = self._templates[key] = len(self.outline.templates)
        slots: list[str | Slot] = []
        for at, (label, value) in enumerate(zip(labels, values, strict=True)):
            if kind == "event":
                slots.append(Slot(at, STACK if isinstance(value, StackRef) else ANY, label))
            elif label:
                slots.append(Slot(at, ANY, label, carried=True))
            else:
                slots += ["\n", Slot(at, STRING)] if at else [Slot(at, STRING)]
        kinds = {"printf": TemplateKind.PRINT, "warn": TemplateKind.WARN, "event": TemplateKind.EMIT}
        self.outline.templates.append(Template(id_, self._probes[probe], kinds[kind], tuple(slots), name))
        return id_

    def _value(self, value: Any, path: str, cuts: dict[str, int]) -> Value:
        if isinstance(value, str):
            if path in cuts:
                return CutString(value, int(cuts[path]))
            return Withheld.REDACTED if value == REDACTED else value
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, list):
            stack = self._stack(value)
            if stack is not None:
                return stack
            items = tuple(self._value(item, f"{path}[{at}]", cuts) for at, item in enumerate(value))
            return SequenceValue("", int(cuts.get(path, len(items))), items)
        fields = {
            name: self._value(item, f"{path}.{name}", cuts) for name, item in value.items() if not name.startswith("@")
        }
        if "@closed" in value:
            return ClosedObject(str(value["@class"]), int(value["@id"], 16), Closed[str(value["@closed"]).upper()])
        if "@class" in value:
            return ObjectValue(str(value["@class"]), 0, tuple(fields.items()), bool(value.get("@more", False)))
        return MappingValue("", int(cuts.get(path, len(fields))), tuple(fields.items()))

    def _stack(self, items: list[Any]) -> StackRef | None:
        """The stack of a list of strings; None if they are not stack frames. Only frames with line numbers have a
        colon."""
        if not items or not all(isinstance(item, str) for item in items) or ":" not in items[0]:
            return None
        matches = [_FRAME.match(item) for item in items]
        frames = [match for match in matches if match is not None]
        if len(frames) < len(items):
            return None
        key = tuple(items)
        id_ = self._stack_ids.get(key)
        if id_ is None:
            id_ = self._stack_ids[key] = len(self._stack_ids) + 1
            self.stacks.add(
                messages.Stack(
                    id_, tuple(messages.StackFrame(m["owner"], m["method"], int(m["line"] or 0)) for m in frames)
                )
            )
        return StackRef(id_)


def nanos(text: str) -> int:
    """The time of a record in ns since 1970. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    return int(moment.replace(microsecond=0).timestamp()) * 10**9 + moment.microsecond * 1000
