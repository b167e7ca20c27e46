"""The buckets follow the definition of OpenTelemetry, and the agent has the same ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btpy.events.buckets import MAX_SCALE, Buckets, Exponential, LogLinear, otlp_index, roots
from btpy.lang.builtins import MAX_PRECISION

LONGS = st.integers(-(2**63), 2**63 - 1)
SCALES = st.integers(0, MAX_SCALE)
LAYOUTS = st.one_of(SCALES.map(Exponential), st.integers(0, 16).map(LogLinear))
AGENT = Path(__file__).parents[2] / "agent-java/src/main/java/btpy/runtime/ExponentialBuckets.java"


@given(st.integers(1, 2**53), SCALES)
def test_the_index_in_otlp_is_that_of_the_data_model(number: int, scale: int) -> None:
    """base**index < number <= base**(index + 1), where base is 2**2**-scale. The test computes this without roots."""
    index = otlp_index(number, scale)
    if number > 1:
        assert 2**index < number**2**scale <= 2 ** (index + 1)
    else:
        assert index == -1


@given(st.integers(2**53, 2**63 - 1), SCALES)
def test_bounds_beyond_the_whole_doubles_are_rounded_down_to_doubles(number: int, scale: int) -> None:
    index = otlp_index(number, scale)
    assert 2**index < (number + (number >> 52) + 1) ** 2**scale
    assert number**2**scale <= 2 ** (index + 1)


@given(st.integers(1, 2**63 - 1), st.integers(1, MAX_SCALE))
def test_the_scale_below_has_the_pairs_of_buckets(number: int, scale: int) -> None:
    assert otlp_index(number, scale - 1) == otlp_index(number, scale) >> 1


@given(LONGS, LAYOUTS)
def test_a_bucket_holds_its_numbers(number: int, layout: Buckets) -> None:
    index = layout.index(number)
    low, high = layout.bounds(index)
    assert low <= number <= high
    assert layout.index(low) == layout.index(high) == index


@given(st.integers(-500, 500), LAYOUTS)
def test_buckets_touch(index: int, layout: Buckets) -> None:
    if isinstance(layout, LogLinear):
        index = max(index, -1)
    index = min(max(index, -layout.last), layout.last - 1)
    assert layout.bounds(index)[1] + 1 == layout.bounds(index + 1)[0]


@pytest.mark.parametrize("scale", range(MAX_SCALE + 1))
def test_the_first_and_the_last_bucket(scale: int) -> None:
    layout = Exponential(scale)
    assert layout.index(2**63 - 1) == layout.last == -layout.index(-(2**63))
    assert layout.bounds(layout.last)[1] == 2**63 - 1
    assert layout.bounds(-layout.last)[0] == -(2**63)


@given(SCALES, st.data())
def test_small_numbers_have_a_bucket_of_their_own(scale: int, data: st.DataObject) -> None:
    number = data.draw(st.integers(-(2 ** (scale + 1)), 2 ** (scale + 1)))
    assert Exponential(scale).bounds(number) == (number, number)


def test_buckets_of_hist() -> None:
    """docs/runtime.md and docs/language.md state these limits."""
    layout = Exponential(2)
    bounds = [layout.bounds(index) for index in range(8, 16)]
    assert bounds == [(8, 8), (9, 9), (10, 11), (12, 13), (14, 16), (17, 19), (20, 22), (23, 26)]


def test_the_agent_has_the_same_bounds() -> None:
    table = re.search(r"ROOTS = \{(.*?)\}", AGENT.read_text(), re.DOTALL)
    assert table is not None
    agent = [int(root, 16) for root in re.findall(r"0x([0-9A-F]+)L", table[1])]
    assert agent == [root - (1 << 52) for root in roots(MAX_SCALE)]
    assert MAX_SCALE == MAX_PRECISION
