"""Objects of the JDK that are values, such as a number, a point in time or a path. For these objects, btpy shows the
value, which it computes from the fields.

It calls no method of these objects in the traced program. If a field was not captured or has an unexpected value, the
object is shown like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from btpy.events.records import Closed, ClosedObject, CutString, ObjectValue, SequenceValue, Value
from btpy.output.quantities import duration

Fields = Mapping[str, Value]
_INFLATED = -(1 << 63)
_MAX_DIGITS = 200  # the maximum number of digits of a number; a longer one is shown by its fields
_OF_THROWABLES = frozenset(("detailMessage", "cause"))


class _OtherwiseError(Exception):
    """The fields have unexpected values."""


def text(value: ObjectValue) -> str | None:
    """The object as text, without escapes; None if it is shown by its fields."""
    to_text = _TEXTS.get(value.class_name)
    if to_text is None:
        return None
    try:
        return to_text(dict(value.fields))
    except (_OtherwiseError, ValueError, OverflowError, ArithmeticError):
        return None


class Thrown(NamedTuple):
    """An exception; ``cause`` is None if it has no cause; ``own``: the additional fields of its type."""

    message: str | CutString | None
    cause: ObjectValue | ClosedObject | None
    own: tuple[tuple[str, Value], ...]


def exception(value: ObjectValue) -> Thrown | None:
    """The texts of an exception; None if it is not an exception."""
    fields = dict(value.fields)
    if not value.class_name or not fields.keys() >= _OF_THROWABLES:
        return None
    message, cause = fields["detailMessage"], fields["cause"]
    if not isinstance(message, str | CutString | None) or not isinstance(cause, ObjectValue | ClosedObject | None):
        return None
    if isinstance(cause, ClosedObject) and cause.why is Closed.CYCLE:  # Throwable's mark for a missing cause
        cause = None
    return Thrown(message, cause, tuple(field for field in value.fields if field[0] not in _OF_THROWABLES))


def _integer(fields: Fields, name: str) -> int:
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _OtherwiseError
    return value


def _string(fields: Fields, name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise _OtherwiseError
    return value


def _object(fields: Fields, name: str, class_name: str) -> Fields:
    value = fields.get(name)
    if not isinstance(value, ObjectValue) or value.class_name != class_name:
        raise _OtherwiseError
    return dict(value.fields)


def _big(fields: Fields) -> int:
    magnitude = fields.get("mag")
    if not isinstance(magnitude, SequenceValue) or len(magnitude.items) < magnitude.length:
        raise _OtherwiseError
    number = 0
    for word in magnitude.items:
        if not isinstance(word, int):
            raise _OtherwiseError
        number = number << 32 | word & 0xFFFFFFFF
    return number * _integer(fields, "signum")


def _big_decimal(fields: Fields) -> str:
    from decimal import Decimal  # slow to import

    unscaled = _integer(fields, "intCompact")
    if unscaled == _INFLATED:
        unscaled = _big(_object(fields, "intVal", "java.math.BigInteger"))
    digits = str(abs(unscaled))
    if len(digits) > _MAX_DIGITS:
        raise _OtherwiseError
    return str(Decimal((int(unscaled < 0), tuple(map(int, digits)), -_integer(fields, "scale"))))


def _uuid(fields: Fields) -> str:
    from uuid import UUID  # slow to import

    most, least = _integer(fields, "mostSigBits"), _integer(fields, "leastSigBits")
    mask = (1 << 64) - 1
    return str(UUID(int=(most & mask) << 64 | least & mask))


def _date(fields: Fields) -> str:
    return f"{_integer(fields, 'year'):04}-{_integer(fields, 'month'):02}-{_integer(fields, 'day'):02}"


def _time(fields: Fields) -> str:
    second, nano = _integer(fields, "second"), _integer(fields, "nano")
    rest = f":{second:02}{_fraction(nano)}" if second or nano else ""
    return f"{_integer(fields, 'hour'):02}:{_integer(fields, 'minute'):02}{rest}"


def _fraction(nanos: int) -> str:
    """Three, six or nine digits, like java.time."""
    digits = f"{nanos:09}"
    while digits.endswith("000"):
        digits = digits[:-3]
    return f".{digits}" if digits else ""


def _date_time(fields: Fields) -> str:
    day, clock = _object(fields, "date", "java.time.LocalDate"), _object(fields, "time", "java.time.LocalTime")
    return f"{_date(day)}T{_time(clock)}"


def _instant(fields: Fields) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=_integer(fields, "seconds"))
    return f"{moment:%Y-%m-%dT%H:%M:%S}{_fraction(_integer(fields, 'nanos'))}Z"


def _old_date(fields: Fields) -> str:
    if fields.get("cdate") is not None:  # deprecated methods set it, and `fastTime` is not up to date then
        raise _OtherwiseError
    seconds, millis = divmod(_integer(fields, "fastTime"), 1000)
    return _instant({"seconds": seconds, "nanos": millis * 1_000_000})


def _duration(fields: Fields) -> str:
    return duration(_integer(fields, "seconds") * 10**9 + _integer(fields, "nanos"))


def _url(fields: Fields) -> str:
    authority, fragment = fields.get("authority"), fields.get("ref")
    host = f"//{authority}" if isinstance(authority, str) and authority else ""
    after = f"#{fragment}" if isinstance(fragment, str) else ""
    return f"{_string(fields, 'protocol')}:{host}{_string(fields, 'file')}{after}"


def _unix_path(fields: Fields) -> str:
    path = fields.get("path")
    if isinstance(fields.get("stringValue"), str):
        return _string(fields, "stringValue")
    if not isinstance(path, SequenceValue) or len(path.items) < path.length:
        raise _OtherwiseError
    return bytes(item & 0xFF for item in path.items if isinstance(item, int)).decode("utf-8", "replace")


_TEXTS: dict[str, Callable[[Fields], str]] = {
    "java.math.BigDecimal": _big_decimal,
    "java.math.BigInteger": lambda fields: str(_big(fields)),
    "java.util.UUID": _uuid,
    "java.util.Date": _old_date,
    "java.time.LocalDate": _date,
    "java.time.LocalTime": _time,
    "java.time.LocalDateTime": _date_time,
    "java.time.Instant": _instant,
    "java.time.Duration": _duration,
    "java.net.URL": _url,
    "java.net.URI": lambda fields: _string(fields, "string"),
    "java.io.File": lambda fields: _string(fields, "path"),
    "sun.nio.fs.UnixPath": _unix_path,
    "java.util.concurrent.atomic.AtomicInteger": lambda fields: str(_integer(fields, "value")),
    "java.util.concurrent.atomic.AtomicLong": lambda fields: str(_integer(fields, "value")),
    "java.util.concurrent.atomic.AtomicBoolean": lambda fields: "true" if _integer(fields, "value") else "false",
}
