"""Frozen dataclasses as JSON and back, by their annotations.

A dataclass becomes a list of its fields, and an enum becomes its value. If the annotation allows several types, the
value has the name of its type: ``{"Slot": […]}``. Reading checks every value against its annotation, so the result is
an object that btpy could have written. Otherwise it raises ProtocolError.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from btpy.errors import ProtocolError

T = TypeVar("T")

_SCALARS = (bool, int, float, str, NoneType)


def dump(value: object, kind: Any) -> str:
    """A value of the annotation ``kind`` as JSON."""
    return json.dumps(_plain(value, kind), ensure_ascii=True, separators=(",", ":"))


def load(text: str, kind: type[T]) -> T:
    """The value from its JSON. Raises ProtocolError."""
    try:
        document = json.loads(text)
        value: T = _made(document, kind)
    except (ValueError, RecursionError) as cause:
        raise ProtocolError(f"not what btpy writes: {cause}") from cause
    return value


def _plain(value: Any, kind: Any) -> Any:
    choices = _choices(kind)
    if len(choices) > 1:
        chosen = next(choice for choice in choices if type(value) is choice)
        plain = _plain(value, chosen)
        return plain if chosen in _SCALARS else {chosen.__name__: plain}
    if get_origin(kind) is tuple:
        kinds = get_args(kind)
        each_kind = (kinds[0],) * len(value) if kinds[-1] is Ellipsis else kinds
        return [_plain(item, item_kind) for item, item_kind in zip(value, each_kind, strict=True)]
    if isinstance(value, Enum):
        return value.value
    if kind is object or kind in _SCALARS:
        return value
    return [_plain(getattr(value, name), hint) for name, hint in _fields(kind)]


def _made(document: Any, kind: Any) -> Any:
    choices = _choices(kind)
    if len(choices) > 1:
        return _chosen(document, choices)
    if get_origin(kind) is tuple:
        return _tuple(document, get_args(kind))
    if kind is object:
        return _chosen(document, _SCALARS)
    if kind in _SCALARS:
        if type(document) is not kind and not (kind is float and type(document) is int):
            raise ProtocolError(f"{str(document)[:40]!r} is not a {kind.__name__}")
        return document
    if issubclass(kind, Enum):
        if not isinstance(document, str):
            raise ProtocolError(f"{str(document)[:40]!r} is not a {kind.__name__}")
        return kind(document)  # ValueError: the value is not a member of the enum
    hints = _fields(kind)
    if not isinstance(document, list) or not _required(kind) <= len(document) <= len(hints):
        raise ProtocolError(f"{str(document)[:40]!r} is not a {kind.__name__}")
    return kind(*[_made(item, hint) for item, (_, hint) in zip(document, hints, strict=False)])


def _chosen(document: Any, choices: tuple[Any, ...]) -> Any:
    if isinstance(document, dict):
        if len(document) == 1:
            ((name, inner),) = document.items()
            for choice in choices:
                if choice not in _SCALARS and choice.__name__ == name:
                    return _made(inner, choice)
        raise ProtocolError(f"{str(document)[:40]} is not one of the possible values")
    for choice in choices:
        if choice in _SCALARS and type(document) is choice:
            return document
    raise ProtocolError(f"{str(document)[:40]!r} is not one of the possible values")


def _tuple(document: Any, kinds: tuple[Any, ...]) -> tuple[Any, ...]:
    if not isinstance(document, list):
        raise ProtocolError(f"{str(document)[:40]!r} is not a list")
    each_kind = (kinds[0],) * len(document) if kinds[-1] is Ellipsis else kinds
    if len(document) != len(each_kind):
        raise ProtocolError(f"{len(document)} where {len(each_kind)} belong")
    return tuple(_made(item, kind) for item, kind in zip(document, each_kind, strict=True))


@cache
def _required(kind: Any) -> int:
    """The least number of fields of a document: later versions of btpy have added fields, each with a default."""
    return sum(field.default is MISSING and field.default_factory is MISSING for field in fields(kind))


@cache
def _choices(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


@cache
def _fields(kind: Any) -> tuple[tuple[str, Any], ...]:
    hints = get_type_hints(kind)
    return tuple((field.name, hints[field.name]) for field in fields(kind))
