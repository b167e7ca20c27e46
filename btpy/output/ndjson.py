"""One JSON object on each line, for programs: ``jq``, pandas, DuckDB.

Every line has ``"v": 1`` and ``"type"``. The shapes of ``attached_probes``, ``printf``, ``map``, ``hist`` and
``stats`` are those of bpftrace's JSON, with more members; ``event`` has the fields of ``emit``. Times are ISO 8601,
UTC; durations are integers of nanoseconds. A string or sequence that was cut at capture is shown in part, and ``"cut"``
has its full length by its path.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from json.encoder import encode_basestring
from typing import Any

from btpy.events.accounts import Cause
from btpy.events.aggregates import (
    Aggregate,
    Average,
    Count,
    Greatest,
    Histogram,
    Key,
    Least,
    LinearHistogram,
    MapContent,
    Number,
    Stats,
    TimeSeries,
    Total,
    intervals,
    part_intervals,
    percentile_interval,
)
from btpy.events.estimates import Interval
from btpy.events.records import (
    ClosedObject,
    CutString,
    EnumValue,
    MappingValue,
    ObjectValue,
    Record,
    SequenceValue,
    StackRef,
    Value,
    Withheld,
)
from btpy.events.sketches import Distinct, Examples, First, Last, Top
from btpy.events.stacks import StackTable
from btpy.model.maps import Map, MapKind, Percents
from btpy.model.templates import SiteFact, Slot, Template, TemplateKind
from btpy.output.histogram import PERCENTILES
from btpy.output.ranges import estimated_text
from btpy.output.stream import Document, Stream
from btpy.output.style import Style
from btpy.output.tables import TableOptions, joined, table
from btpy.output.templates import are_the_values, is_carried, printed
from btpy.output.values import ValueText, timestamp, well_formed
from btpy.output.writer import (
    Arity,
    Attached,
    Context,
    End,
    Loss,
    PerTemplate,
    ProbeError,
    ProbeReport,
    Restraint,
    Writer,
    pairs,
    site_fact,
    slot_value,
)

VERSION = 1

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_encode_ascii = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode


_Renderer = Callable[[Record], str]

_MOST_HEADS = 1 << 14  # of threads


class _Unusual(Exception):  # not an error: the value takes the slow path
    """A value that the fast path cannot write."""


def _quoted(text: str) -> str:
    """A string in JSON. Raises _Unusual for a string that could steer a terminal or split a line."""
    if text.isprintable():
        return encode_basestring(text)
    raise _Unusual


def _unusual(value: object) -> str:
    raise _Unusual


class _Texts(dict[type, Callable[[Any], str]]):
    def __missing__(self, kind: type) -> Callable[[Any], str]:
        return _unusual


_TEXTS = _Texts({int: int.__repr__, str: _quoted, bool: lambda value: "true" if value else "false"})
_TEXTS[type(None)] = lambda value: "null"


class NdjsonWriter(Writer):
    """The ``ndjson`` format."""

    _end = "\n"

    def __init__(self, stream: Stream, context: Context) -> None:
        self._stream = stream
        self._context = context
        self._text = ValueText(context.stacks, Style())
        self._renderers = PerTemplate(context, self._compile)
        self._heads: dict[tuple[str, int, int, str], str] = {}
        self._first: dict[str, Any] = {"v": VERSION}
        if context.host is not None:
            self._first["host"] = context.host
        if context.pid is not None:
            self._first["pid"] = context.pid
        self._opening = _encode(self._first)[:-1]

    def attached(self, attached: Attached) -> None:
        data = {"probes": attached.probes, "methods": attached.methods, "classes": attached.classes}
        self._write({"type": "attached_probes", "count": attached.probes, "data": data})

    def records(self, records: Sequence[Record]) -> None:
        lines = []
        end, renderers = self._end, self._renderers
        for record in records:
            line = renderers[record.template](record)
            if line:
                lines.append(line + end)
        self._stream.write_all(lines)

    def line(self, line: dict[str, Any]) -> None:
        """Writes a record that was read from ndjson."""
        self._write({name: value for name, value in line.items() if name != "v"})

    def tree(self, record: Record, data: dict[str, Any]) -> None:
        """A tree of timed calls; ``record``: the record of its root call."""
        self._write({**self._head("tree", record), "data": data})

    def joined(self, contents: Sequence[MapContent], template: Template, nanos: int) -> None:
        table = joined(contents, TableOptions.of(template))
        keys = _key_texts([key for key, _ in table.rows], self._text)
        rows = {
            text: {
                content.map.title: _shown(value, self._context.stacks)
                for content, value in zip(contents, values, strict=True)
            }
            for text, (_, values) in zip(keys, table.rows, strict=True)
        }
        line: dict[str, Any] = {"type": "table", "ts": self._time(nanos), "data": rows}
        if table.hidden:
            line["hidden"] = table.hidden
        for content in contents:
            _add_skips(line, content)
        for at, content in enumerate(contents):
            shown = [_intervals(content.map, values[at]) for _, values in table.rows]
            _add_some(line, "intervals", content.map.title, keys, shown)
        self._write(line)

    def map(self, content: MapContent, template: Template | None, nanos: int | None) -> None:
        table_ = table(content, TableOptions.of(template))
        map_, name = content.map, content.map.title
        line: dict[str, Any] = {"type": _MAP_TYPES.get(map_.kind, "map")}
        if nanos is not None:
            line["ts"] = self._time(nanos)
        values = [value for _, value in table_.rows]
        keys = _key_texts([key for key, _ in table_.rows], self._text) if map_.keys else None
        line["data"] = {name: _by_key(keys, [_shown(value, self._context.stacks) for value in values])}
        if map_.kind in _DISTRIBUTIONS and (map_.keys or values):
            line["percentiles"] = {name: _by_key(keys, [_percentiles(map_, value) for value in values])}
            _add_some(line, "exemplars", name, keys, [self._exemplars(value) for value in values])
        _add_skips(line, content)
        _add_some(line, "intervals", name, keys, [_intervals(map_, value) for value in values])
        if content.omitted:
            line["omitted"] = content.omitted
        if table_.hidden:
            line["hidden"] = table_.hidden
        if content.full:
            line["full"] = content.full
        self._write(line)

    def _exemplars(self, value: Aggregate | Value) -> list[dict[str, Any]]:
        """Samples with their traces, from the smallest."""
        assert isinstance(value, Histogram | LinearHistogram)
        return [
            {
                "value": finite(exemplar.value),
                "ts": timestamp(exemplar.nanos),
                "trace_id": exemplar.trace_id.hex(),
                "span_id": exemplar.span_id.hex(),
            }
            for exemplar in value.exemplars
        ]

    def probe_error(self, error: ProbeError) -> None:
        line, column = error.span.source.position(error.span.start)
        self._write(
            {
                "type": "probe_error",
                "kind": error.kind_name,
                "probe": error.probe,
                "file": error.span.source.name,
                "line": line,
                "column": column,
                "count": error.count,
                "message": error.message,
            }
        )

    def lost(self, loss: Loss) -> None:
        self._write({"type": "lost", "cause": loss.cause, "probe": loss.probe, "count": loss.count})

    def restrained(self, restraint: Restraint) -> None:
        self._write(
            {
                "type": "budget",
                "probe": restraint.probe,
                "step": restraint.step,
                "one_in": restraint.one_in,
                "taken": restraint.taken,
                "allowed": restraint.allowed,
            }
        )

    def end(self, end: End) -> None:
        self._write(
            {
                "type": "end",
                "reason": end.reason,
                "produced": end.produced,
                "delivered": end.delivered,
                "dropped": end.dropped,
                "restored": end.restored,
                "woven": end.woven,
                "probes": [_report(report) for report in end.probes],
            }
        )

    def _write(self, line: dict[str, Any]) -> None:
        self._stream.write(self._encoded(line) + self._end)

    def _encoded(self, line: dict[str, Any]) -> str:
        members = {**self._first, **line}
        text = _encode(members)
        # JSON may contain C1 controls and U+2028. But terminals execute C1 controls, and some readers split lines at
        # U+2028.
        return text if text.isprintable() else _encode_ascii(members)

    def _compile(self, template: Template) -> _Renderer:
        """A function that renders a record as a line. If the line is empty, nothing is written."""
        if template.kind is TemplateKind.EMIT:
            any_event = self._event(template)
            return self._simple_event(template, lambda record: self._encoded(any_event(record)))
        if template.kind in (TemplateKind.PRINT, TemplateKind.WARN):
            return self._printed(template)
        return lambda record: ""

    def _simple_event(self, template: Template, any_event: _Renderer) -> _Renderer:
        """The fast path for most events: each value is a number or a simple string, which is written without an
        intermediate dictionary.
        """
        slots = [part for part in template.parts if isinstance(part, Slot)]
        labels = [slot.label or "value" for slot in slots]
        if not are_the_values(slots) or any(slot.time for slot in slots) or len(set(labels)) < len(labels):
            return any_event
        if not all(name.isprintable() for name in (template.name, *labels)):
            return any_event
        members = ",".join([encode_basestring(label).replace("%", "%%") + ":%s" for label in labels])
        pattern = f'"name":{encode_basestring(template.name).replace("%", "%%")},"data":{{{members}}}}}'
        count, texts = len(slots), _TEXTS

        def render(record: Record) -> str:
            values = record.values
            if len(values) != count:
                return any_event(record)
            try:
                return self._start("event", record) + pattern % tuple([texts[type(value)](value) for value in values])
            except _Unusual:
                return any_event(record)

        return render

    def _start(self, kind: str, record: Record) -> str:
        """The members that every record of a probe has."""
        key = kind, record.probe, record.tid, record.thread
        rest = self._heads.get(key)
        if rest is None:
            probe = site_fact(self._context, record, SiteFact.PROBE)
            if len(self._heads) >= _MOST_HEADS:
                self._heads.clear()
            rest = self._heads[key] = (
                f'"probe":{_quoted(str(probe))},"tid":{record.tid},"thread":{_quoted(record.thread)},'
            )
        return f'{self._opening},"type":"{kind}","ts":"{self._time(record.nanos)}",{rest}'

    def _head(self, kind: str, record: Record) -> dict[str, Any]:
        return {
            "type": kind,
            "ts": self._time(record.nanos),
            "probe": site_fact(self._context, record, SiteFact.PROBE),
            "tid": record.tid,
            "thread": record.thread,
        }

    def _event(self, template: Template) -> Callable[[Record], dict[str, Any]]:
        members = event_members(template, self._context, self._text)

        def render(record: Record) -> dict[str, Any]:
            data, cuts = members(record)
            line = {**self._head("event", record), "name": template.name, "data": data}
            if cuts:
                line["cut"] = cuts
            return line

        return render

    def _printed(self, template: Template) -> _Renderer:
        text = printed(template, self._context, self._text, carried=False)
        kind = "warn" if template.kind is TemplateKind.WARN else "printf"
        if any(map(is_carried, template.parts)):
            context = event_members(template, self._context, self._text, carried=True)
            return lambda record: self._with_context(kind, record, text(record), *context(record))

        def render(record: Record) -> str:
            line = text(record)
            try:
                return f'{self._start(kind, record)}"data":{_quoted(line)}}}'
            except _Unusual:
                return self._encoded({**self._head(kind, record), "data": well_formed(line)})

        return render

    def _with_context(self, kind: str, record: Record, text: str, values: dict[str, Any], cuts: dict[str, int]) -> str:
        """The line of a PRINT record that has values of ``--with``."""
        line = {**self._head(kind, record), "data": well_formed(text), "context": values}
        return self._encoded({**line, "cut": cuts} if cuts else line)

    def _time(self, nanos: int) -> str:
        return timestamp(self._context.clock.wall(nanos))


class JsonWriter(NdjsonWriter):
    """The ``json`` format: the same objects as one array."""

    _end = ""

    def __init__(self, stream: Stream, context: Context) -> None:
        super().__init__(stream, context)
        stream.begin(Document("[\n", "\n]\n", ",\n"))


Members = tuple[dict[str, Any], dict[str, int]]
"""Values by name, and the full length of each text that was cut, by path."""


def event_members(
    template: Template, context: Context, text: ValueText, *, carried: bool = False
) -> Callable[[Record], Members]:
    """A function that returns the values of a record of EMIT, or with ``carried`` the values of ``--with`` in a record
    of PRINT. That function raises ProtocolError."""
    parts = filter(is_carried, template.parts) if carried else template.parts
    slots = [(part.label or "value", part) for part in parts if isinstance(part, Slot)]
    arity = Arity.of(template)
    stacks = context.stacks

    def members(record: Record) -> Members:
        arity.check(record)
        cuts: dict[str, int] = {}
        data: dict[str, Any] = {}
        for label, slot in slots:
            if slot.named:
                data[label] = {
                    well_formed(name): json_value(value, stacks, cuts, f"{label}.{name}")
                    for name, value in pairs(record, slot, context.outline.redact)
                }
            elif slot.time:
                data[label] = well_formed(text.slot(slot)(slot_value(context, record, slot)))
            else:
                data[label] = json_value(slot_value(context, record, slot), stacks, cuts, label)
        return data, cuts

    return members


_MAP_TYPES = {
    MapKind.HIST: "hist",
    MapKind.PCTL: "hist",
    MapKind.LHIST: "hist",
    MapKind.STATS: "stats",
    MapKind.TSERIES: "tseries",
    MapKind.TOPK: "topk",
    MapKind.SAMPLE_OF: "sample_of",
}
_DISTRIBUTIONS = (MapKind.HIST, MapKind.PCTL, MapKind.LHIST)


def json_value(value: Value, stacks: StackTable, cuts: dict[str, int], path: str) -> Any:
    """A value in JSON. ``cuts`` collects the full length of each text that was cut, by path (``order.items``)."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, float):
        return finite(value)
    if isinstance(value, CutString):
        cuts[path] = value.length
        return well_formed(value.text)
    if isinstance(value, EnumValue):
        return well_formed(value.constant)
    if isinstance(value, Withheld):
        return value.text
    if isinstance(value, StackRef):
        frames = stacks.frames(value.id)
        return None if frames is None else [well_formed(str(frame)) for frame in frames]
    if isinstance(value, ClosedObject):
        return {
            "@class": well_formed(value.class_name),
            "@id": f"{value.identity:x}",
            "@closed": value.why.name.lower(),
        }
    if isinstance(value, SequenceValue):
        if len(value.items) < value.length:
            cuts[path] = value.length
        return [json_value(item, stacks, cuts, f"{path}[{at}]") for at, item in enumerate(value.items)]
    if isinstance(value, MappingValue):
        return _mapping(value, stacks, cuts, path)
    return _object(value, stacks, cuts, path)


def _object(value: ObjectValue, stacks: StackTable, cuts: dict[str, int], path: str) -> dict[str, Any]:
    members: dict[str, Any] = {"@class": well_formed(value.class_name)} if value.class_name else {}
    for name, field in value.fields:
        label = _unused(well_formed(name), members)
        members[label] = json_value(field, stacks, cuts, f"{path}.{label}")
    if value.more:
        members["@more"] = True
    return members


def _mapping(value: MappingValue, stacks: StackTable, cuts: dict[str, int], path: str) -> Any:
    """An object where every key is a string, else a list of pairs."""
    if len(value.pairs) < value.size:
        cuts[path] = value.size
    if all(isinstance(key, str) for key, _ in value.pairs):
        members: dict[str, Any] = {}
        for key, item in value.pairs:
            label = _unused(well_formed(str(key)), members)
            members[label] = json_value(item, stacks, cuts, f"{path}.{label}")
        return members
    return [
        [json_value(key, stacks, cuts, f"{path}[{at}][0]"), json_value(item, stacks, cuts, f"{path}[{at}][1]")]
        for at, (key, item) in enumerate(value.pairs)
    ]


def _shown(value: Aggregate | Value, stacks: StackTable) -> Any:
    """The value of one key of a map."""
    if isinstance(value, Histogram):
        return [{"min": bucket.low, "max": bucket.high, "count": bucket.count} for bucket in value.occupied()]
    if isinstance(value, LinearHistogram):
        return [
            {"min": bucket.low, "max": bucket.high, "count": bucket.count} for bucket in value.buckets() if bucket.count
        ]
    if isinstance(value, TimeSeries):
        return {
            "interval": value.series.interval,
            "operator": value.series.operator.value,
            "end": value.epoch + 1,
            "count": value.n,
            "values": [finite(window) for window in value.values()],
        }
    if isinstance(value, Top):
        return {
            "count": value.n,
            "unseen": value.unseen,
            "values": [
                {"value": json_value(frequent.value, stacks, {}, ""), "count": frequent.count, "error": frequent.error}
                for frequent in value.shown
            ],
        }
    if isinstance(value, Distinct):
        return value.estimate
    if isinstance(value, First | Last):
        return json_value(value.value, stacks, {}, "")
    if isinstance(value, Examples):
        return {"count": value.n, "values": [json_value(sample, stacks, {}, "") for sample in value.values]}
    if isinstance(value, Stats):
        return {
            "count": value.n,
            "average": finite(value.mean),
            "total": finite(value.total),
            "min": finite(value.least),
            "max": finite(value.greatest),
        }
    if isinstance(value, Least | Greatest):
        return finite(value.value)
    if isinstance(value, Count | Total | Average):
        return finite(value.number) if value.n else 0 if isinstance(value, Total) else None
    return json_value(value, stacks, {}, "")


def _percentiles(map_: Map, value: Aggregate | Value) -> dict[str, Any]:
    """``p50`` … with the bounds between which they lie."""
    assert isinstance(value, Histogram | LinearHistogram)
    members: dict[str, Any] = {
        "count": value.n,
        "average": finite(value.mean) if value.n else None,
        "min": finite(value.least),
        "max": finite(value.greatest),
    }
    for percent in map_.parameters.of if isinstance(map_.parameters, Percents) else PERCENTILES:
        at = value.percentile(percent)
        if isinstance(at, int | float):
            members[f"p{percent:g}"] = {"value": finite(at)}
        elif at is not None:
            members[f"p{percent:g}"] = {"value": at.estimate, "low": at.low, "high": at.high}
    return members


def _by_key(keys: Sequence[str] | None, shown: Sequence[Any]) -> Any:
    """The shown value of each key. A map without keys has one value, or no value before its first sample."""
    if keys is None:
        return shown[0] if shown else None
    return dict(zip(keys, shown, strict=True))


def _add_some(line: dict[str, Any], member: str, name: str, keys: Sequence[str] | None, shown: Sequence[Any]) -> None:
    """Adds a member that only some values of a map have."""
    if keys is None and any(shown):
        line.setdefault(member, {})[name] = shown[0]
    elif keys is not None and any(shown):
        line.setdefault(member, {})[name] = {key: item for key, item in zip(keys, shown, strict=True) if item}


def _add_skips(line: dict[str, Any], content: MapContent) -> None:
    """Adds the facts about a map whose values are not exact."""
    estimated = estimated_text(content)
    if estimated is not None:
        line["estimated"] = estimated
    skips = content.skips
    if skips is not None:
        line.setdefault("skips", {})[content.map.title] = {
            "skipped": skips.skipped,
            "factor": skips.factor,
            **({"rested_ns": skips.rested_ns, "lower_bound": True} if skips.rested_ns else {}),
        }


def _intervals(map_: Map, value: Aggregate | Value) -> Any:
    """``[low, high]``, null where there is no bound; several numbers have their names as keys. None: the value is
    exact."""
    bounds = intervals(value)
    if not bounds:
        return None
    if "" in bounds:
        return _pair(bounds[""])
    members: dict[str, Any] = {name: _pair(interval) for name, interval in bounds.items()}
    if isinstance(value, Histogram | LinearHistogram):
        for percent in map_.parameters.of if isinstance(map_.parameters, Percents) else PERCENTILES:
            interval = percentile_interval(value, percent)
            if interval is not None:
                members[f"p{percent:g}"] = _pair(interval)
    if isinstance(value, TimeSeries | Top):
        members["values"] = [_pair(interval) for interval in part_intervals(value)]
    return members


def _pair(interval: Interval) -> list[int | float | str | None]:
    return [finite(interval.low), finite(interval.high)]


def _key_texts(keys: Sequence[Key], text: ValueText) -> list[str]:
    """Keys in the form of bpftrace, with components joined by commas. Equal texts get a suffix."""
    members: dict[str, Any] = {}
    for key in keys:
        label = _unused(
            ",".join([text.show(component).replace("\\", "\\\\").replace(",", "\\,") for component in key]), members
        )
        members[label] = None
    return list(members)


def _unused(name: str, members: dict[str, Any]) -> str:
    label, number = name, 1
    while label in members:
        number += 1
        label = f"{name}#{number}"
    return label


def finite(number: Number | None) -> int | float | str | None:
    """JSON has no NaN and no infinities: they are strings."""
    if number is None or isinstance(number, int) or math.isfinite(number):
        return number
    return "NaN" if number != number else "Infinity" if number > 0 else "-Infinity"


def _report(report: ProbeReport) -> dict[str, Any]:
    account = report.account
    always = (Cause.RING, Cause.LARGE, Cause.STALLED)
    return {
        "probe": report.probe,
        "hits": account.hits,
        "fired": account.fired,
        "skipped": account.skipped,
        **({"rested_ns": account.rested_ns} if account.rested_ns else {}),
        "limited": account.limited,
        "errors": report.errors,
        "produced": account.produced,
        "delivered": account.delivered,
        "dropped": {cause.value: count for cause, count in account.dropped_by.items() if count or cause in always},
        **({"restraints": report.restraints} if report.restraints else {}),
        "timed": account.cost.timed,
        "ns": round(account.cost.mean, 1),
        "ns_error": round(account.cost.error, 1),
        "p99_ns": account.cost.p99,
        "cpu_ns": account.cost.cpu,
    }
