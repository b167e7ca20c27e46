from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from btpy.model.types import ANY, BYTES, DURATION, LONG, Kind
from btpy.output.style import Style
from btpy.output.values import ValueText, visible
from tests.events.strategies import VALUES
from tests.output.program import context

TEXT = ValueText(context().stacks, Style())
ASCII = ValueText(context().stacks, Style(unicode=False))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (7, "7"),
        (0.1, "0.1"),
        (float("-inf"), "-Inf"),
        ("as it is", "as it is"),
        (CutString("abc", 10_000), "abc…"),
        (EnumValue("com.acme.Status", "SHIPPED"), "SHIPPED"),
        (ObjectValue("com.acme.Money", 5, (("amount", 12.5),), False), "com.acme.Money{amount=12.5}"),
        (ObjectValue("A", 5, (("s", "x"), ("n", None)), True), 'A{s="x", n=null, …}'),
        (ObjectValue("A", 5, (), False), "A{}"),
        (ObjectValue("java.math.BigDecimal", 5, (("intCompact", 125), ("scale", 1)), False), "12.5"),
        (ObjectValue("java.math.BigDecimal", 5, (("scale", 1),), False), "java.math.BigDecimal{scale=1}"),
        (ObjectValue("java.io.File", 5, (("path", "/a\x1b"),), False), "/a\\e"),
        (ObjectValue("X", 5, (("detailMessage", "a\nb"), ("cause", None)), False), "X: a\\nb"),
        (
            ObjectValue(
                "X", 5, (("code", 7), ("detailMessage", None), ("cause", ClosedObject("Y", 1, Closed.DEPTH))), True
            ),
            "X {code=7, …}, caused by Y@1",
        ),
        (SequenceValue("[I", 2, (1, 2)), "[1, 2]"),
        (SequenceValue("[I", 10_000, (1, 2, 3)), "[1, 2, 3, … 3 of 10000]"),
        (SequenceValue("[I", 10_000, ()), "[0 of 10000]"),
        (SequenceValue("A", 2, ("a", CutString("b", 9))), '["a", "b"…]'),
        (MappingValue("java.util.HashMap", 3, (("k", 1), (2, None))), '{"k": 1, 2: null, … 2 of 3}'),
        (ClosedObject("com.acme.Order", 0x1B2C, Closed.DEPTH), "com.acme.Order@1b2c"),
        (ClosedObject("com.acme.Order", 0x1B2C, Closed.ROOM), "com.acme.Order@1b2c"),
        (ClosedObject("com.acme.Order", 0x1B2C, Closed.CYCLE), "<cycle>"),
        (Withheld.REDACTED, "•••"),
        (Withheld.UNREADABLE, "<unreadable>"),
        (StackRef(5), "    a.B.c:12\n    a.B.main"),
        (StackRef(0), "    <stack not recorded>"),
        (SequenceValue("A", 1, (StackRef(5),)), "[a.B.c:12 < a.B.main]"),
    ],
)
def test_each_kind_of_value(value: Value, text: str) -> None:
    assert TEXT.show(value) == text


def test_units_come_from_the_type() -> None:
    assert TEXT.show(12_345_678, Kind.DURATION) == "12.3ms"
    assert TEXT.show(65536, Kind.BYTES) == "64KB"
    assert TEXT.show(None, Kind.DURATION) == "null"


@pytest.mark.parametrize(
    ("hostile", "text"),
    [
        ("\x1b]0;owned\x07", "\\e]0;owned\\x07"),
        ("\x1b[2J", "\\e[2J"),
        ("a\r\nb\tc", "a\\r\\nb\\tc"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202eevil", "\\u202eevil"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\ud800", "\\ud800"),
        ("\U000e0001", "\\U000e0001"),
        ("\x7f\x00", "\\x7f\\x00"),
        ("naïve 日本 😀\u00a0", "naïve 日本 😀\u00a0"),
    ],
)
def test_control_sequences_are_escaped(hostile: str, text: str) -> None:
    assert visible(hostile) == text
    assert TEXT.show(hostile) == text
    assert TEXT.show(ObjectValue(hostile, 1, ((hostile, hostile),), False)) == f'{text}{{{text}="{text}"}}'
    assert TEXT.show(EnumValue("A", hostile)) == text
    assert TEXT.formatter("%s", ANY)(hostile) == text
    assert TEXT.formatter("<4", ANY)(hostile).rstrip(" ") == text


@given(VALUES, st.sampled_from(["", ">12", ".2f", "%d", "%-8s", "x", "ms"]), st.sampled_from([ANY, LONG, DURATION]))
def test_no_value_with_any_format_puts_a_control_character_on_the_terminal(value: Value, spec: str, type_: Any) -> None:
    text = TEXT.formatter(spec, type_)(value)
    assert all(char.isprintable() or char in "\n\u00a0\u3000 " or char.isspace() for char in text)
    assert not set(text) & {"\x1b", "\x07", "\r", "\t", "\x9b"}
    text.encode("utf-8")


def test_without_unicode_decorations_are_ascii() -> None:
    assert ASCII.show(CutString("a", 9)) == "a..."
    assert ASCII.show(Withheld.REDACTED) == "***"
    assert ASCII.show(SequenceValue("[I", 9, (1,))) == "[1, ... 1 of 9]"


@pytest.mark.parametrize(
    ("spec", "type_", "value", "text"),
    [
        (">6", ANY, "ab", "    ab"),
        ("<6", ANY, 7, "7     "),
        ("*^7", ANY, "abc", "**abc**"),
        (".2", ANY, "abcdef", "ab"),
        ("05", LONG, 42, "00042"),
        ("5", LONG, 42, "   42"),
        (",", LONG, 1234567, "1,234,567"),
        (".2f", ANY, 3.14159, "3.14"),
        (".1f", LONG, 2, "2.0"),
        ("x", LONG, 255, "ff"),
        ("#06x", LONG, 255, "0x00ff"),
        ("d", ANY, 3.0, "3"),
        ("+", LONG, 5, "+5"),
        (">10", DURATION, 12_345_678, "    12.3ms"),
        ("us", DURATION, 12_345_678, "12345.678us"),
        ("KB", BYTES, 1536, "1.5KB"),
        ("d", DURATION, 1500, "1500"),
        (".1f", ANY, None, "null"),
        (">8.1f", ANY, None, "    null"),
        ("d", ANY, "text", "text"),
        ("ms", DURATION, None, "null"),
        ("x", ANY, 2.5, "2.5"),
        ("c", ANY, -1, "-1"),
        ("d", ANY, float("nan"), "NaN"),
        ("06.1f", ANY, True, "  true"),
    ],
)
def test_formats_of_f_strings(spec: str, type_: Any, value: Value, text: str) -> None:
    assert TEXT.formatter(spec, type_)(value) == text


@pytest.mark.parametrize(
    ("conversion", "type_", "value", "text"),
    [
        ("%s", ANY, "a", "a"),
        ("%-5s", ANY, "a", "a    "),
        ("%5s", ANY, None, " null"),
        ("%.2s", ANY, "abc", "ab"),
        ("%d", ANY, 7, "7"),
        ("%05d", ANY, 7, "00007"),
        ("%ld", ANY, 7, "7"),
        ("%5d", ANY, None, " null"),
        ("%d", ANY, 7.9, "7"),
        ("%x", ANY, 255, "ff"),
        ("%,d", ANY, 1234567, "1,234,567"),
        ("%,12.1f", ANY, 1234567.25, " 1,234,567.2"),
        ("%-,12d", ANY, 1234567, "1,234,567   "),
        ("%b", ANY, True, "true"),
        ("%.2f", ANY, 1, "1.00"),
        ("%d", ANY, float("inf"), "Inf"),
        ("%c", ANY, 65, "A"),
        ("%c", ANY, 27, "\\e"),
        ("%s", DURATION, 1500, "1.5us"),
        ("%d", DURATION, 1500, "1500"),
        ("%d", ANY, True, "true"),
    ],
)
def test_conversions_of_printf(conversion: str, type_: Any, value: Value, text: str) -> None:
    assert TEXT.formatter(conversion, type_)(value) == text


def test_a_width_cannot_be_used_to_fill_memory() -> None:
    assert len(TEXT.formatter("999999999", ANY)("a")) == 1000
    assert len(TEXT.formatter("%999999999s", ANY)("a")) == 1000
    assert len(TEXT.formatter(".999999999f", ANY)(1.0)) == 1002
