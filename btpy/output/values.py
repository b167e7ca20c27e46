"""Captured values as text, and the formats of f-strings and ``printf``.

Strings of the target are not trusted: everything that a terminal could execute (control characters, escape sequences,
direction marks, invisible characters, lone surrogates) is shown as its escape.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from btpy.errors import ProtocolError
from btpy.events.records import (
    Closed,
    ClosedObject,
    CutString,
    EnumValue,
    MappingValue,
    ObjectValue,
    SequenceValue,
    StackRef,
    Value,
    Withheld,
)
from btpy.events.stacks import StackTable
from btpy.model.templates import Slot
from btpy.model.types import Kind, Type
from btpy.output import wellknown
from btpy.output.quantities import duration, is_unit, plain, quantity, size
from btpy.output.style import Style

Format = Callable[[Value], str]

_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e"}
_MAX_WIDTH = 1000

_SPEC = re.compile(
    r"(?:(?P<fill>.)?(?P<align>[<>^=]))?(?P<sign>[-+ ])?(?P<alternate>#)?(?P<zero>0)?(?P<width>\d+)?(?P<group>[,_])?"
    r"(?:\.(?P<precision>\d+))?(?P<type>[bcdeEfFgGnosxX%])?\Z",
    re.DOTALL,
)
_CONVERSION = re.compile(r"%(?P<flags>[-+ 0#,]*)(?P<width>\d*)(?:\.(?P<precision>\d+))?[hlqLz]*(?P<type>[a-zA-Z])\Z")


def visible(text: str) -> str:
    """``text`` with unprintable characters escaped."""
    if text.isprintable():
        return text
    return "".join([char if char.isprintable() else _escape(char) for char in text])


def well_formed(text: str) -> str:
    """Lone surrogates cannot be written as UTF-8: they become the replacement character."""
    if text.isascii() or text.isprintable():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _escape(char: str) -> str:
    escape = _ESCAPES.get(char)
    if escape is not None:
        return escape
    if unicodedata.category(char) == "Zs":
        return char
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def at(nanos: int, format_: str) -> str:
    """A point in time, nanoseconds since 1970, in the local time zone. Raises ProtocolError."""
    seconds, rest = divmod(nanos, 10**9)
    try:
        moment = datetime.fromtimestamp(seconds, UTC) + timedelta(microseconds=rest // 1000)
        return moment.astimezone().strftime(format_)
    except (ValueError, OverflowError, OSError) as cause:
        raise ProtocolError(f"a time {seconds} s after 1970") from cause


def timestamp(nanos: int) -> str:
    """The time ``nanos`` after 1970 in UTC, in the form of ISO 8601. Raises ProtocolError for a time beyond the
    calendar of Python."""
    seconds, rest = divmod(nanos, 10**9)
    return f"{_second(seconds)}.{rest // 1000:06d}Z"


@lru_cache(maxsize=64)  # many events have the same second
def _second(seconds: int) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"
    except (ValueError, OverflowError, OSError) as cause:
        raise ProtocolError(f"a record from {seconds} s after 1970") from cause


def integers(kind: Kind) -> Callable[[int], str]:
    """The text of an integer of ``kind``. Most shown values are integers, so callers use this function first."""
    return {Kind.DURATION: duration, Kind.BYTES: size}.get(kind, str)


class ValueText:
    """Renders values for one terminal style and one session's stacks."""

    def __init__(self, stacks: StackTable, style: Style) -> None:
        self._stacks = stacks
        self._style = style

    def show(self, value: Value, kind: Kind = Kind.ANY) -> str:
        """A single value: strings without quotes, numbers with the unit of ``kind``."""
        if isinstance(value, str):
            return visible(value)
        if isinstance(value, CutString):
            return visible(value.text) + self._style.ellipsis
        if isinstance(value, StackRef):
            return "\n".join(self.frames(value))
        return self.inner(value, kind)

    def frames(self, stack: StackRef) -> list[str]:
        """One indented line for each frame."""
        frames = self._stacks.frames(stack.id)
        if frames is None:
            return ["    <stack not recorded>"]
        if not frames:
            return ["    <no Java frames>"]
        return [f"    {visible(str(frame))}" for frame in frames]

    def slot(self, slot: Slot) -> Format:
        """The function with which a slot shows its value."""
        format_ = self.formatter(slot.format, slot.type)
        if not slot.time:
            return format_
        return lambda value: format_(at(value, slot.time) if isinstance(value, int) else value)

    def formatter(self, format_: str, type_: Type) -> Format:
        """The function with which a slot shows its value: ``format_`` is the text after the colon of an f-string, or a
        printf conversion.

        A format that does not fit the value (``%d`` of null, ``.2f`` of a string) keeps its width and shows the value.
        """
        kind = type_.kind
        if not format_:
            integer_formatter = integers(kind)
            return lambda value: integer_formatter(value) if type(value) is int else self.show(value, kind)
        if format_.startswith("%"):
            return self._conversion(format_, kind)
        if is_unit(kind, format_):
            return lambda value: (
                quantity(value, kind, format_)
                if isinstance(value, int | float) and not isinstance(value, bool)
                else self.show(value, kind)
            )
        match = _SPEC.match(format_)
        if match is None:
            return lambda value: self.show(value, kind)
        return self._specification(match, kind)

    def _specification(self, match: re.Match[str], kind: Kind) -> Format:
        """A format specification, as in Python's ``format``."""
        width = min(int(match["width"] or 0), _MAX_WIDTH)
        precision = None if match["precision"] is None else min(int(match["precision"]), _MAX_WIDTH)
        fill = visible(match["fill"] or ("0" if match["zero"] else " "))[0]
        align = match["align"] or ("=" if match["zero"] else "")
        conversion = match["type"] or ""
        head = (fill + align if align else "") + (match["sign"] or "") + (match["alternate"] or "")
        tail = (match["group"] or "") + ("" if precision is None else f".{precision}") + conversion
        number_spec = f"{head}{width or ''}{tail}"
        text_align = {"=": ">", "": "<"}.get(align, align)
        text_spec = f"{fill if align and not match['zero'] else ''}{text_align}{width or ''}"

        def numeric(value: Value) -> bool:
            if conversion == "s" or isinstance(value, bool) or not isinstance(value, int | float):
                return False
            return bool(conversion) or kind not in (Kind.DURATION, Kind.BYTES)

        def render(value: Value) -> str:
            if numeric(value):
                assert isinstance(value, int | float)
                operand = int(value) if conversion in "bcdoxXn" and conversion and value == value // 1 else value
                try:
                    return visible(format(operand, number_spec))
                except (ValueError, OverflowError):
                    pass
            text = self.show(value, kind)
            if precision is not None and isinstance(value, str | CutString):
                text = text[:precision]
            return format(text, text_spec)

        return render

    def _conversion(self, format_: str, kind: Kind) -> Format:
        """A conversion of C's printf."""
        match = _CONVERSION.match(format_)
        if match is None:
            return lambda value: self.show(value, kind)
        flags, conversion = match["flags"], match["type"]
        width = min(int(match["width"] or 0), _MAX_WIDTH)
        precision = "" if match["precision"] is None else f".{min(int(match['precision']), _MAX_WIDTH)}"
        as_text = f"%{'-' if '-' in flags else ''}{width or ''}{precision if conversion == 's' else ''}s"
        # The flag `,` exists in Java's printf, but not in Python's `%`. So a format specification groups the digits.
        sign = next((flag for flag in "+ " if flag in flags), "")
        pad = "<" if "-" in flags else "0>" if "0" in flags else ">"
        as_grouped = f"{pad}{sign}{width or ''},{precision}{'d' if conversion in 'iuoxX' else conversion}"
        as_number = f"%{flags}{width or ''}{precision}{'d' if conversion in 'iu' else conversion}"

        def render(value: Value) -> str:
            if conversion in "diuoxXeEfFgG" and isinstance(value, int | float) and not isinstance(value, bool):
                try:
                    operand = value if conversion in "eEfFgG" else int(value)
                    return format(operand, as_grouped) if "," in flags else as_number % operand
                except (ValueError, OverflowError):
                    pass
            if conversion == "c" and isinstance(value, int) and 0 <= value <= 0x10FFFF:
                return as_text % visible(chr(value))
            return as_text % self.show(value, kind)

        return render

    def inner(self, value: Value, kind: Kind = Kind.ANY) -> str:
        """A value inside another value: strings get quotes."""
        if isinstance(value, str):
            return f'"{visible(value)}"'
        if value is None:
            return "null"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int | float):
            return plain(value) if kind is Kind.ANY else quantity(value, kind)
        if isinstance(value, CutString):
            return f'"{visible(value.text)}"{self._style.ellipsis}'
        if isinstance(value, EnumValue):
            return visible(value.constant)
        if isinstance(value, Withheld):
            return self._style.redacted if value is Withheld.REDACTED else value.text
        if isinstance(value, ClosedObject):
            return self._closed(value)
        if isinstance(value, StackRef):
            return " < ".join(frame.strip() for frame in self.frames(value))
        if isinstance(value, SequenceValue):
            items = ", ".join([self.inner(item) for item in value.items])
            return f"[{items}{self._cut(len(value.items), value.length)}]"
        if isinstance(value, MappingValue):
            pairs = ", ".join([f"{self.inner(key)}: {self.inner(item)}" for key, item in value.pairs])
            return f"{{{pairs}{self._cut(len(value.pairs), value.size)}}}"
        return self._object(value)

    def _object(self, value: ObjectValue) -> str:
        special = wellknown.text(value)
        if special is not None:
            return visible(special)
        thrown = wellknown.exception(value)
        return self._fields(value) if thrown is None else self._exception(value, thrown)

    def _exception(self, value: ObjectValue, thrown: wellknown.Thrown) -> str:
        """``type: message`` as in Java, then the fields of the type, and the cause."""
        message = "" if thrown.message is None else f": {self.show(thrown.message)}"
        fields = (
            f" {self._fields(replace(value, class_name='', fields=thrown.own))}" if thrown.own or value.more else ""
        )
        cause = "" if thrown.cause is None else f", caused by {self.inner(thrown.cause)}"
        return f"{visible(value.class_name)}{message}{fields}{cause}"

    def _fields(self, value: ObjectValue) -> str:
        fields = [f"{visible(name)}={self.inner(item)}" for name, item in value.fields]
        if value.more:
            fields.append(self._style.ellipsis)
        return f"{visible(value.class_name)}{{{', '.join(fields)}}}"

    def _closed(self, value: ClosedObject) -> str:
        if value.why is Closed.CYCLE:
            return "<cycle>"
        return f"{visible(value.class_name)}@{value.identity:x}"

    def _cut(self, count: int, length: int) -> str:
        if count >= length:
            return ""
        before = f", {self._style.ellipsis} " if count else ""
        return f"{before}{count} of {length}"
