"""Formats of f-strings: the specifications of Python's ``format``, and units for durations and sizes."""

from __future__ import annotations

import re

from btpy.dataclass import dataclass
from btpy.model.types import Kind, Type

UNITS = {
    Kind.DURATION: {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9},
    Kind.BYTES: {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40},
}

MAX_WIDTH = 1000

_SPEC = re.compile(
    r"(?:(?P<fill>.)?(?P<align>[<>^=]))?(?P<sign>[-+ ])?(?P<alternate>#)?(?P<zero>0)?(?P<width>\d+)?(?P<group>[,_])?"
    r"(?:\.(?P<precision>\d+))?(?P<type>[bcdeEfFgGnosxX%])?\Z",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Specification:
    """``type`` is empty for the default of the value. ``precision`` is None if the script does not give it."""

    fill: str
    align: str
    sign: str
    alternate: bool
    width: int
    group: str
    precision: int | None
    type: str


def unit(type_: Type, text: str) -> int | None:
    """The number of nanoseconds or bytes in the unit ``text``, if values of the type can be shown in it."""
    return UNITS.get(type_.kind, {}).get(text)


def specification(text: str) -> Specification | None:
    """None if it is not a specification."""
    match = _SPEC.match(text)
    if match is None:
        return None
    width = int(match["width"] or 0)
    precision = None if match["precision"] is None else int(match["precision"])
    if width > MAX_WIDTH or (precision or 0) > MAX_WIDTH:
        return None
    zero = match["zero"] is not None
    return Specification(
        fill=match["fill"] or ("0" if zero else " "),
        align=match["align"] or ("=" if zero else ""),
        sign=match["sign"] or "-",
        alternate=match["alternate"] is not None,
        width=width,
        group=match["group"] or "",
        precision=precision,
        type=match["type"] or "",
    )
