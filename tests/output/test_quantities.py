from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btpy.model.types import Kind
from btpy.output.quantities import duration, mean, plain, quantity, size


@pytest.mark.parametrize(
    ("nanos", "text"),
    [
        (0, "0ns"),
        (312, "312ns"),
        (999, "999ns"),
        (1_000, "1us"),
        (1_234, "1.23us"),
        (1_015, "1.02us"),
        (9_994, "9.99us"),
        (9_995, "10us"),
        (99_949, "99.9us"),
        (99_950, "100us"),
        (12_345_678, "12.3ms"),
        (999_499, "999us"),
        (999_500, "1ms"),
        (50_000_000, "50ms"),
        (1_020_000_000, "1.02s"),
        (59_949_999_999, "59.9s"),
        (59_950_000_000, "1m00s"),
        (72_000_000_000, "1m12s"),
        (3_599_600_000_000, "1h00m"),
        (7_500_000_000_000, "2h05m"),
        (24 * 3600 * 10**9, "1d00h"),
        (76 * 3600 * 10**9, "3d04h"),
        (-1_500, "-1.5us"),
        (2**63 - 1, "106752d00h"),
        (12.5, "12.5ns"),
        (math.nan, "NaN"),
        (math.inf, "Inf"),
        (-math.inf, "-Inf"),
    ],
)
def test_durations(nanos: int | float, text: str) -> None:
    assert duration(nanos) == text


@given(st.integers(0, 10**13), st.integers(0, 10**13))
def test_a_longer_duration_never_reads_shorter(one: int, other: int) -> None:
    def read(text: str) -> float:
        for suffix, factor in (("ns", 1), ("us", 1e3), ("ms", 1e6)):
            if text.endswith(suffix):
                return float(text.removesuffix(suffix)) * factor
        total = 0.0
        number = ""
        for char in text:
            if char in "dhms":
                total += float(number) * {"d": 86400e9, "h": 3600e9, "m": 60e9, "s": 1e9}[char]
                number = ""
            else:
                number += char
        return total

    low, high = sorted((one, other))
    assert read(duration(low)) <= read(duration(high))


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0B"),
        (512, "512B"),
        (1023, "1KB"),
        (1536, "1.5KB"),
        (65536, "64KB"),
        (10 * 2**20, "10MB"),
        (2**63, "8388608TB"),
    ],
)
def test_sizes(count: int, text: str) -> None:
    assert size(count) == text


def test_a_unit_of_choice() -> None:
    assert quantity(12_345_678, Kind.DURATION, "us") == "12345.678us"
    assert quantity(12_000_000, Kind.DURATION, "ms") == "12ms"
    assert quantity(1536, Kind.BYTES, "KB") == "1.5KB"
    assert quantity(1536, Kind.LONG, "KB") == "1536"
    assert quantity(1536, Kind.DURATION, "KB") == "1.54us"


def test_plain_numbers_and_means() -> None:
    assert [plain(value) for value in (3, 0.1, 1e300, math.nan, -math.inf)] == ["3", "0.1", "1e+300", "NaN", "-Inf"]
    assert mean(24.333333333, Kind.LONG) == "24.333"
    assert mean(24.0, Kind.LONG) == "24"
    assert mean(0.000123456, Kind.LONG) == "0.000123"
    assert mean(1_500_000.5, Kind.DURATION) == "1.5ms"
