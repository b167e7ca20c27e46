"""The description of the types in a chunk: a tree of elements with attributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from btpy.output.jfr import encoding
from btpy.output.jfr.types import CATEGORY, EventType, Field, FieldType

METADATA, CHECKPOINT = 0, 1
"""The ids of the two types of events that every chunk has, and that no metadata describes."""

_ANNOTATION = "java.lang.annotation.Annotation"
_EVENT = "jdk.jfr.Event"
_LABEL, _CATEGORY, _CONTENT_TYPE = "jdk.jfr.Label", "jdk.jfr.Category", "jdk.jfr.ContentType"
_UNITS = ("jdk.jfr.Timespan", "jdk.jfr.Timestamp", "jdk.jfr.DataAmount")


class _Part(NamedTuple):
    """A field of a structure. ``pooled``: it has the key of a constant. ``array``: it has any number of values."""

    name: str
    class_name: str
    pooled: bool = False
    array: bool = False


_PRIMITIVES = ("boolean", "int", "long", "double", "java.lang.String")
_SIMPLE = {"jdk.types.Symbol": "string", "jdk.types.FrameType": "description"}
_STRUCTURES = {
    "java.lang.Thread": (
        _Part("osName", "java.lang.String"),
        _Part("osThreadId", "long"),
        _Part("javaName", "java.lang.String"),
        _Part("javaThreadId", "long"),
    ),
    "java.lang.Class": (
        _Part("name", "jdk.types.Symbol", pooled=True),
        _Part("modifiers", "int"),
    ),
    "jdk.types.Method": (
        _Part("type", "java.lang.Class", pooled=True),
        _Part("name", "jdk.types.Symbol", pooled=True),
        _Part("descriptor", "jdk.types.Symbol", pooled=True),
        _Part("modifiers", "int"),
        _Part("hidden", "boolean"),
    ),
    "jdk.types.StackFrame": (
        _Part("method", "jdk.types.Method", pooled=True),
        _Part("lineNumber", "int"),
        _Part("bytecodeIndex", "int"),
        _Part("type", "jdk.types.FrameType", pooled=True),
    ),
    "jdk.types.StackTrace": (
        _Part("truncated", "boolean"),
        _Part("frames", "jdk.types.StackFrame", array=True),
    ),
}

TYPES: Mapping[str, int] = {
    name: id_
    for id_, name in enumerate(
        (*_PRIMITIVES, *_SIMPLE, *_STRUCTURES, _LABEL, _CATEGORY, _CONTENT_TYPE, *_UNITS), CHECKPOINT + 1
    )
}
"""The ids of the types that every chunk describes, by name."""

FIRST_EVENT_TYPE = 100


class _Element(NamedTuple):
    name: str
    attributes: Mapping[str, str]
    children: tuple[_Element, ...] = ()


def metadata_event(types: Iterable[tuple[int, EventType]], ticks: int, number: int) -> bytes:
    """``types``: the types of events, with their ids. ``ticks``: the time of the description. ``number``: if two
    successive chunks have the same number, the JDK uses the constants of the first for the second, too."""
    root = _Element(
        "root",
        {},
        (
            _Element("metadata", {}, (*_common_types(), *[_event_type(id_, type_) for id_, type_ in types])),
            _Element("region", {"locale": "en_US", "gmtOffset": "0"}),
        ),
    )
    texts: dict[str, int] = {}
    tree = _encoded(root, texts)
    head = encoding.number(ticks) + encoding.number(0) + encoding.number(number)  # 0: its duration
    table = encoding.number(len(texts)) + b"".join(map(encoding.text, texts))
    return encoding.event(METADATA, head + table + tree)


def _encoded(element: _Element, texts: dict[str, int]) -> bytes:
    """Gives each text a number in ``texts``."""

    def index(text: str) -> bytes:
        return encoding.number(texts.setdefault(text, len(texts)))

    parts = [index(element.name), encoding.number(len(element.attributes))]
    for name, value in element.attributes.items():
        parts += index(name), index(value)
    parts.append(encoding.number(len(element.children)))
    parts += [_encoded(child, texts) for child in element.children]
    return b"".join(parts)


@cache
def _common_types() -> tuple[_Element, ...]:
    elements = [_class(name) for name in _PRIMITIVES]
    for name, part in _SIMPLE.items():
        elements.append(_class(name, _field(_Part(part, "java.lang.String")), simpleType="true"))
    elements += [_class(name, *map(_field, parts)) for name, parts in _STRUCTURES.items()]
    value, values = _field(_Part("value", "java.lang.String")), _field(_Part("value", "java.lang.String", array=True))
    elements.append(_class(_LABEL, value, superType=_ANNOTATION))
    elements.append(_class(_CATEGORY, values, superType=_ANNOTATION))
    elements.append(_class(_CONTENT_TYPE, superType=_ANNOTATION))
    content_type = _annotation(_CONTENT_TYPE)
    return (*elements, *[_class(name, value, content_type, superType=_ANNOTATION) for name in _UNITS])


def _event_type(id_: int, type_: EventType) -> _Element:
    children = (
        *map(_event_field, type_.fields),
        _annotation(_LABEL, value=type_.label),
        _annotation(_CATEGORY, **{"value-0": CATEGORY}),
    )
    return _Element("class", {"name": type_.name, "superType": _EVENT, "id": str(id_)}, children)


def _event_field(field: Field) -> _Element:
    type_: FieldType = field.type
    element = _field(_Part(field.name, type_.class_name, type_.pooled))
    annotations = [_annotation(_LABEL, value=field.label)]
    if type_.unit:
        annotations.append(_annotation(type_.unit, value=type_.unit_value))
    return element._replace(children=tuple(annotations))


def _class(name: str, *children: _Element, **attributes: str) -> _Element:
    return _Element("class", {"name": name, **attributes, "id": str(TYPES[name])}, children)


def _field(part: _Part) -> _Element:
    attributes = {"name": part.name, "class": str(TYPES[part.class_name])}
    if part.pooled:
        attributes["constantPool"] = "true"
    if part.array:
        attributes["dimension"] = "1"
    return _Element("field", attributes)


def _annotation(name: str, **values: str) -> _Element:
    return _Element("annotation", {"class": str(TYPES[name]), **values})
