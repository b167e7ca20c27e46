"""Small programs and contexts built by hand, to test outputs without a script."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from btpy.events.aggregates import Aggregate, MapContent
from btpy.events.records import Record, Value
from btpy.events.stacks import StackTable
from btpy.lang.outline import outline_of
from btpy.lang.program import Probe, Program
from btpy.model.attachments import BeginAttachment
from btpy.model.maps import Map, MapKind
from btpy.model.source import Source, Span
from btpy.model.templates import Slot, Template, TemplateKind
from btpy.model.types import ANY, LONG, Type
from btpy.output.stream import Stream
from btpy.output.writer import Clock, Context
from btpy.wire.messages import Stack, StackFrame

SOURCE = Source("slow.bt", "A::b @return\n{ print(x.y) }\n")
SITE = 1 << 24 | 1


@dataclass(frozen=True)
class Place:
    probe: int = 0
    class_name: str = "com.acme.shop.PricingEngine"
    method: str = "quote"
    descriptor: str = "(Ljava/lang/String;I[[J)V"
    line: int = 31
    target_class: str = "com.acme.shop.Money"
    member: str = "plus"
    loader: str = "app"


def probe(id_: int, name: str) -> Probe:
    return Probe(id_, name, BeginAttachment(), None, False, cast(Any, None), Span(SOURCE, 0, 1))


def template(*parts: str | Slot, kind: TemplateKind = TemplateKind.PRINT, **options: Any) -> Template:
    return Template(0, 0, kind, parts, **options)


def slot(
    value: Any, type_: Type = ANY, label: str | None = None, format_: str = "", rest: bool = False, named: bool = False
) -> Slot:
    return Slot(value, type_, label, format_, rest or named, named)


def context(*templates: Template, sites: dict[int, Any] | None = None) -> Context:
    stacks = StackTable()
    stacks.add(Stack(5, (StackFrame("a.B", "c", 12), StackFrame("a.B", "main", 0))))
    program = Program(SOURCE, (probe(0, "slow_quote"),), (), templates)
    return Context(
        outline_of(program),
        {SITE: cast(Any, Place())} if sites is None else sites,
        stacks,
        Clock(1_000, 1_700_000_000_000_000_000),
    )


def record(*values: Value, template: int = 0, site: int = SITE, nanos: int = 1_000) -> Record:
    return Record(template, site, 0, nanos, 42, "http-7", values)


def contents(kind: MapKind, *entries: tuple[Any, Aggregate | Value], type_: Type = LONG, **options: Any) -> MapContent:
    """Keys that are not tuples are keys of one component."""
    keyed = tuple((key if isinstance(key, tuple) else (key,), value) for key, value in entries)
    keys = len(keyed[0][0]) if keyed else 1
    return MapContent(Map(0, options.pop("name", "m"), kind, keys, type_, **options), 0, keyed)


@contextmanager
def captured() -> Iterator[tuple[Stream, Callable[[], str]]]:
    """A stream into a pipe, and a function that reads its output (at most the capacity of a pipe)."""
    reader, writer = os.pipe()
    stream = Stream(writer, "pipe", owned=True)

    def read() -> str:
        stream.close()
        data = b""
        while piece := os.read(reader, 1 << 16):
            data += piece
        return data.decode("utf-8")

    try:
        yield stream, read
    finally:
        os.close(reader)
