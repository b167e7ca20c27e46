"""A small reader of the JFR file format, version 2. It shares no code with the writer."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Element = tuple[str, dict[str, str], list["Element"]]

_HEADER = struct.Struct(">4sHHqqqqqqqi")


@dataclass
class Input:
    data: bytes
    at: int = 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def take(self, count: int) -> bytes:
        self.at += count
        assert self.at <= len(self.data)
        return self.data[self.at - count : self.at]

    def long(self) -> int:
        """LEB128 with at most nine bytes. The ninth has eight bits."""
        number = 0
        for shift in range(0, 56, 7):
            byte = self.byte()
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
        number |= self.byte() << 56
        return number - (1 << 64) if number >> 63 else number

    def integer(self) -> int:
        number = self.long() & 0xFFFFFFFF
        return number - (1 << 32) if number >> 31 else number

    def text(self, shared: Callable[[int], Any]) -> Any:
        match self.byte():
            case 0:
                return None
            case 1:
                return ""
            case 2:
                return shared(self.long())
            case 3:
                return self.take(self.long()).decode()
            case 4:
                return "".join(chr(self.long()) for _ in range(self.long()))
            case 5:
                return self.take(self.long()).decode("latin-1")
            case other:
                raise AssertionError(f"a string of encoding {other}")


@dataclass
class Type:
    id: int
    name: str
    fields: list[Element]
    annotations: dict[str, Any]
    simple: bool


@dataclass
class Event:
    """``annotations``: the annotations of a field, by the simple names of their classes."""

    type: Type
    values: dict[str, Any]

    def annotations(self, name: str) -> dict[str, str]:
        event_field = next(element for element in self.type.fields if element[1]["name"] == name)
        return {self.type.annotations["names"][at["class"]]: at.get("value", "") for _, at, _ in event_field[2]}


@dataclass
class Chunk:
    start_nanos: int
    duration_nanos: int
    start_ticks: int
    types: dict[int, Type] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)

    def named(self, name: str) -> list[dict[str, Any]]:
        return [event.values for event in self.events if event.type.name == name]


def chunks(data: bytes) -> Iterator[Chunk]:
    while data:
        magic, major, _, size, checkpoint, metadata, nanos, duration, ticks, frequency, features = _HEADER.unpack_from(
            data
        )
        assert (magic, major, frequency, features & 1) == (b"FLR\0", 2, 10**9, 1)
        assert 0 < size <= len(data)
        yield _Reader(data[:size], Chunk(nanos, duration, ticks)).read(checkpoint, metadata)
        data = data[size:]


class _Reader:
    def __init__(self, data: bytes, chunk: Chunk) -> None:
        self.data = data
        self.chunk = chunk
        self.pools: dict[int, dict[int, Any]] = {}

    def read(self, checkpoint: int, metadata: int) -> Chunk:
        root = self.metadata(metadata)
        names = {}
        for tag, attributes, children in root[2][0][2]:
            assert tag == "class"
            id_ = int(attributes["id"])
            names[str(id_)] = attributes["name"].rpartition(".")[2]
            fields = [child for child in children if child[0] == "field"]
            assert id_ not in self.chunk.types
            annotations_by_class = {at["class"]: at for kind, at, _ in children if kind == "annotation"}
            self.chunk.types[id_] = Type(
                id_,
                attributes["name"],
                fields,
                {"own": annotations_by_class, "names": names},
                attributes.get("simpleType") == "true",
            )
        while True:
            delta = self.checkpoint(checkpoint)
            if not delta:
                break
            checkpoint += delta
        source = Input(self.data, _HEADER.size)
        while source.at < len(self.data):
            start = source.at
            end = start + source.integer()
            id_ = source.long()
            if id_ > 1:
                type_ = self.chunk.types[id_]
                values = {one["name"]: self.field(source, one) for _, one, _ in type_.fields}
                self.chunk.events.append(Event(type_, values))
                assert source.at == end
            source.at = end
        for event in self.chunk.events:
            event.values = {name: self.resolved(value) for name, value in event.values.items()}
        return self.chunk

    def metadata(self, at: int) -> Element:
        source = Input(self.data, at)
        source.integer()
        assert source.long() == 0
        for _ in range(3):
            source.long()
        strings = [source.text(lambda key: None) for _ in range(source.integer())]

        def element() -> Element:
            name = strings[source.integer()]
            attributes = {strings[source.integer()]: strings[source.integer()] for _ in range(source.integer())}
            return name, attributes, [element() for _ in range(source.integer())]

        return element()

    def checkpoint(self, at: int) -> int:
        source = Input(self.data, at)
        end = at + source.integer()
        assert source.long() == 1
        source.long()
        source.long()
        delta = source.long()
        source.byte()
        for _ in range(source.integer()):
            type_ = self.chunk.types[source.long()]
            pool = self.pools.setdefault(type_.id, {})
            count = source.integer()
            assert count
            for _ in range(count):
                key = source.long()
                pool[key] = self.value(source, type_)
        assert source.at == end
        return delta

    def field(self, source: Input, attributes: dict[str, str]) -> Any:
        type_ = self.chunk.types[int(attributes["class"])]
        if attributes.get("constantPool") == "true":
            read: Callable[[], Any] = lambda: (type_.id, source.long())  # noqa: E731
        else:
            read = lambda: self.value(source, type_)  # noqa: E731
        if attributes.get("dimension") == "1":
            return [read() for _ in range(source.integer())]
        return read()

    def value(self, source: Input, type_: Type) -> Any:
        match type_.name:
            case "boolean":
                return source.byte() == 1
            case "char":
                return chr(source.long())
            case "byte":
                return source.byte()
            case "int" | "short":
                return source.integer()
            case "long":
                return source.long()
            case "double":
                return struct.unpack(">d", source.take(8))[0]
            case "float":
                return struct.unpack(">f", source.take(4))[0]
            case "java.lang.String":
                return source.text(lambda key: (type_.id, key))
        values = {one["name"]: self.field(source, one) for _, one, _ in type_.fields}
        return next(iter(values.values())) if type_.simple else values

    def resolved(self, value: Any) -> Any:
        """The value with the entries of constant pools instead of their keys."""
        if isinstance(value, tuple):
            pool, key = value
            return self.resolved(self.pools.get(pool, {})[key]) if key else None
        if isinstance(value, dict):
            return {name: self.resolved(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self.resolved(one) for one in value]
        return value
