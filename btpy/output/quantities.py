"""Numbers with units, as text: durations (nanoseconds), sizes (bytes), plain numbers."""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import cache
from typing import Final

from btpy.model.types import Kind

_NANOS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_BYTES = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}


def is_unit(kind: Kind, unit: str) -> bool:
    """Whether values of this kind can be shown in ``unit``."""
    return unit in (_NANOS if kind is Kind.DURATION else _BYTES if kind is Kind.BYTES else ())


def quantity(number: int | float, kind: Kind, unit: str = "") -> str:
    """A number of the language's ``kind``; DURATION and BYTES get a suitable unit, or ``unit``."""
    if kind is Kind.DURATION:
        return _in_unit(number, unit, _NANOS) if unit in _NANOS else duration(number)
    if kind is Kind.BYTES:
        return _in_unit(number, unit, _BYTES) if unit in _BYTES else size(number)
    return plain(number)


def duration(nanos: int | float) -> str:
    """Three significant digits: ``312ns``, ``12.3ms``, ``1.02s``; from a minute on ``1m12s``, ``2h05m``, ``3d04h``."""
    if type(nanos) is int and 1000 <= nanos < _MINUTE:
        step = _STEPS[bisect_right(_ENDS, nanos)]
        return _rounded_duration((nanos + step // 2) // step * step)
    return _duration(nanos)


_MINUTE: Final = 59_950_000_000
"""From here on a duration is shown in minutes."""

_STEPS: Final = [10**power for power in range(1, 9)]
"""The third digit of a duration in nanoseconds, from 1 us on."""

_ENDS: Final = [1999 * step // 2 for step in _STEPS]
"""Durations from here on are rounded to the next step."""


def _duration(nanos: int | float) -> str:
    if nanos < 0:
        return "-" + duration(-nanos)
    if nanos < 999.5:
        return f"{nanos}ns" if isinstance(nanos, int) else _three_digits(nanos) + "ns"
    if nanos < 999_500:
        return f"{nanos / 1e3:.3g}us"
    if nanos < 999_500_000:
        return f"{nanos / 1e6:.3g}ms"
    if nanos < _MINUTE:
        return f"{nanos / 1e9:.3g}s"
    if not math.isfinite(nanos):
        return plain(nanos)
    seconds = round(nanos / 1e9)
    if seconds < 3600:
        return f"{seconds // 60}m{seconds % 60:02d}s"
    minutes = round(nanos / 60e9)
    if minutes < 24 * 60:
        return f"{minutes // 60}h{minutes % 60:02d}m"
    hours = round(nanos / 3600e9)
    return f"{hours // 24}d{hours % 24:02d}h"


_rounded_duration = cache(_duration)  # about 7,000 texts, which most lines and tables share


def size(count: int | float) -> str:
    """Three significant digits of bytes in powers of 1024: ``512B``, ``1.5KB``, ``64MB``."""
    if count < 0:
        return "-" + size(-count)
    if count < 999.5:
        return f"{count}B" if isinstance(count, int) else _three_digits(count) + "B"
    if not math.isfinite(count):
        return plain(count)
    for unit in ("KB", "MB", "GB"):
        if count < 999.5 * _BYTES[unit]:
            return _three_digits(count / _BYTES[unit]) + unit
    return _three_digits(count / _BYTES["TB"]) + "TB"


def per_second(rate: float) -> str:
    """Three significant digits: ``0.2/s``, ``12.3/s``, ``1.2k/s``, ``45M/s``."""
    for unit, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if rate >= 0.9995 * factor:
            return f"{_three_digits(rate / factor)}{unit}/s"
    return _three_digits(rate) + "/s"


def plain(number: int | float) -> str:
    """A number without a unit: integers in full, floating point as the shortest text that reads back as the same
    number."""
    if isinstance(number, int):
        return str(number)
    if number != number:
        return "NaN"
    if number in (math.inf, -math.inf):
        return "Inf" if number > 0 else "-Inf"
    return repr(number)


def mean(number: int | float, kind: Kind, unit: str = "") -> str:
    """A computed average: like :func:`quantity`, without insignificant digits."""
    if kind in (Kind.DURATION, Kind.BYTES) or isinstance(number, int) or not math.isfinite(number):
        return quantity(number, kind, unit)
    return _strip(f"{number:.3f}") if abs(number) >= 1 else f"{number:.3g}"


def _in_unit(number: int | float, unit: str, units: dict[str, int]) -> str:
    if not math.isfinite(number):
        return plain(number)
    return _strip(f"{number / units[unit]:.3f}") + unit


def _three_digits(number: float) -> str:
    if 1 <= number < 999.5:
        return f"{number:.3g}"
    if not number >= 0:
        return plain(number)
    return _strip(f"{number:.2f}") if number < 1 else f"{number:.0f}"


def _strip(digits: str) -> str:
    return digits.rstrip("0").rstrip(".")


def grouped(number: int) -> str:
    """``12 408``."""
    return f"{number:,}".replace(",", " ")


def counted(number: int, noun: str) -> str:
    """``1 class``, ``7 methods``."""
    plural = noun + ("es" if noun.endswith(("s", "ch")) else "s")
    return f"{grouped(number)} {noun if number == 1 else plural}"


def limited(number: int) -> int:
    """The nearest number of 64 bits, because a target can send any number."""
    return max(-(1 << 63), min((1 << 63) - 1, number))
