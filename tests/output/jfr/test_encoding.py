"""Numbers and texts of JFR read back as they were, by a reader that shares no code with the writer."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from btpy.output.jfr import encoding
from tests.output.jfr.reader import Input

TEXTS = st.text(st.characters(codec="utf-8"))


@given(st.integers(-(1 << 63), (1 << 63) - 1))
@example(-1)
@example((1 << 56) - 1)
@example(1 << 56)
def test_numbers_of_64_bits(value: int) -> None:
    source = Input(encoding.number(value) + b"\xff")
    assert source.long() == value
    assert source.at == len(source.data) - 1 <= 9


@given(st.integers(-(1 << 31), (1 << 31) - 1))
def test_numbers_of_32_bits(value: int) -> None:
    source = Input(encoding.integer(value) + b"\xff")
    assert source.integer() == value
    assert source.at == len(source.data) - 1 <= 5


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (1 << 56, "808080808080808001"), (-1, "ff" * 9)],
)
def test_bytes_of_numbers(value: int, expected: str) -> None:
    """The bytes are those that the JDK's own writer writes (jdk.jfr.internal.event.EventWriter)."""
    assert encoding.number(value).hex() == expected


@given(TEXTS)
def test_texts(value: str) -> None:
    source = Input(encoding.text(value))
    assert source.text(lambda key: None) == value
    assert source.at == len(source.data)


def test_a_text_that_is_not_unicode() -> None:
    assert Input(encoding.text("a\ud800b")).text(lambda key: None) == "a\ufffdb"


@given(st.integers(0, 1 << 40), st.integers(0, 40_000))
@example(100, 125)  # the event has 127 bytes, including its size
@example(100, 126)
def test_the_size_of_an_event_has_its_own_bytes(type_: int, length: int) -> None:
    source = Input(encoding.event(type_, bytes(length)))
    assert source.integer() == len(source.data)
    assert source.long() == type_
    assert len(source.data) - source.at == length
