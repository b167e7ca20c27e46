"""Regular expressions as tables, against a matcher that backtracks."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from btpy.automaton import MAX_STATES, PatternError, compile_regex
from tests.generated import examples

_ATOMS = [
    "a",
    "b",
    ".",
    r"\.",
    "[ab]",
    "[^a]",
    r"\d",
    r"\w",
    r"\S",
    "[a-c1]",
    "é",
    "😀",
    "[😀-😄b]",
    "[^😀]",
    r"\u0062",
]
_TIMES = ["*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}", "*?", "{0}"]
_PATTERNS = st.recursive(
    st.sampled_from(_ATOMS),
    lambda parts: (
        st.tuples(parts, parts).map("".join)
        | st.tuples(parts, parts).map(lambda both: f"(?:{both[0]}|{both[1]})")
        | st.tuples(parts, st.sampled_from(_TIMES)).map(lambda both: f"({both[0]}){both[1]}")
    ),
    max_leaves=6,
)


def matches(table: str, text: str) -> bool:
    """What ``btpy.runtime.Patterns.automaton`` does."""
    intervals, classes, states = map(ord, table[:3])
    accepting = 3 + 2 * intervals
    state = 1
    units = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        unit = int.from_bytes(units[at : at + 2], "big")
        interval = max(index for index in range(intervals) if ord(table[3 + 2 * index]) <= unit)
        state = ord(table[accepting + states + state * classes + ord(table[4 + 2 * interval])])
    return table[accepting + state] != "\0"


@settings(max_examples=examples(211), deadline=None)
@given(_PATTERNS, st.lists(st.text("abc1.é😀😁\n", max_size=7), min_size=7, max_size=7))
def test_the_table_matches_the_same_texts_as_the_expression(pattern: str, texts: list[str]) -> None:
    table = compile_regex(pattern)
    for text in texts:
        assert matches(table, text) == (re.fullmatch(pattern, text, re.ASCII) is not None), text


@pytest.mark.parametrize(
    ("pattern", "fitting", "other"),
    [
        ("(?i)ab[c-d]", "aBD", "aBe"),
        ("^a+$", "aa", "aab"),
        (r"\x41\t", "A\t", "At"),
        ("[]a-]+", "]-a", "b"),
        (r"[\d-]", "-", "a"),
        ("a.c", "a\x0bc", "a\u2028c"),
        ("(?<name>x|)y", "y", "x"),
        (".", "\U0010ffff", "\ud800"),
        ("\ud800.", "\ud800a", "a\ud800"),
        ("a{0}b", "b", "ab"),
    ],
)
def test_spellings_of_java(pattern: str, fitting: str, other: str) -> None:
    table = compile_regex(pattern)
    assert matches(table, fitting)
    assert not matches(table, other)


@pytest.mark.parametrize(
    ("pattern", "at"),
    [
        ("a)", 1),
        ("(a", 0),
        ("(" * 101, 100),
        ("*a", 0),
        ("a++", 2),
        ("a{2", 1),
        ("a{3,2}", 1),
        ("a{x}", 1),
        (r"a\b", 1),
        (r"\p{L}", 0),
        (r"(a)\1", 3),
        ("(?=a)", 0),
        ("a^b", 1),
        ("a$b", 1),
        ("[b-a]", 1),
        (r"[\d-z]", 1),
        ("[a[b]]", 2),
        ("[a&&b]", 2),
        ("[a", 0),
        (r"\u12", 0),
        ("\\", 0),
        ("(?<a", 0),
        ("(a{60}){100}", 0),
        ("(a|b)*a(a|b){12}", 0),
    ],
)
def test_unsupported_expressions(pattern: str, at: int) -> None:
    with pytest.raises(PatternError) as error:
        compile_regex(pattern)
    assert error.value.at == at


def test_size_is_bounded() -> None:
    table = compile_regex("(a|b)*a(a|b){7}")
    assert 1 << 7 < ord(table[2]) <= MAX_STATES
