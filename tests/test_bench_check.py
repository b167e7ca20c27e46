"""`make bench-check` reports slower ratios only."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.check import is_worse, keep_ratios, kept_ratios, table


@pytest.mark.parametrize(
    ("kept", "now", "worse"),
    [
        ([1.0, 1.1, 1.2], [1.0, 1.1, 1.2], False),
        ([1.0, 1.1, 1.2], [1.19, 1.5, 1.5], False),  # within the noise
        ([1.0, 1.1, 1.2], [1.25, 1.3, 1.3], False),  # within the margin
        ([1.0, 1.1, 1.2], [1.27, 1.3, 1.4], True),
        ([1.0, 1.1, 1.2], [0.5, 0.5, 0.5], False),
        ([0.001, 0.001, 0.002], [0.02, 0.02, 0.02], False),  # nearly nothing
        ([-0.01, 0.0, 0.0], [0.03, 0.03, 0.04], True),
    ],
)
def test_what_is_worse(kept: list[float], now: list[float], worse: bool) -> None:
    assert is_worse(kept, now) == worse


def test_the_worse_ones_are_reported_first() -> None:
    ratios = {"a": [1.0, 1.1], "b": [2.0, 2.1]}
    now = {"a": [1.0, 1.05], "b": [3.0, 3.1], "c": [0.5, 0.7]}
    assert [line.split() for line in table(ratios, now)] == [
        ["WORSE", "2.00", "…", "2.10", "→", "3.00", "…", "3.10", "b"],
        ["1.00", "…", "1.10", "→", "1.00", "…", "1.05", "a"],
        ["new", "→", "0.50", "…", "0.70", "c"],
    ]


def test_each_model_of_processor_has_its_ratios(tmp_path: Path) -> None:
    file = tmp_path / "ratios.json"
    assert kept_ratios("A", file) == {}
    keep_ratios("A", "from here", {"start": [1.0, 1.0004], "line": [2.0]}, file)
    keep_ratios("B", "from there", {"start": [7.0]}, file)
    keep_ratios("A", "from here, later", {"start": [1.1]}, file)
    assert kept_ratios("A", file) == {"start": [1.1], "line": [2.0]}
    assert kept_ratios("B", file) == {"start": [7.0]}
