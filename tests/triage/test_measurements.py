"""The numbers of triage, which a hostile JVM may send."""

from __future__ import annotations

import math

import pytest

from btpy.api.triage.measurements import Total, figure_of, total_of
from btpy.errors import ProtocolError
from btpy.events.aggregates import Stats


@pytest.mark.parametrize("value", ["7", True, math.inf, math.nan, [1], {"a": 1}])
def test_a_figure_that_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(ProtocolError, match="instead of a number"):
        figure_of(value)


def test_figures() -> None:
    assert [figure_of(value) for value in (None, 7, 2.5)] == [0.0, 7.0, 2.5]


def test_totals_are_scaled() -> None:
    assert total_of(3, 1.5) == Total(4)
    assert total_of(Stats(4, 100, 0.0, 7, 60), 2.0) == Total(8, 200.0, 60.0)


@pytest.mark.parametrize("value", [math.nan, Stats(1, 0, math.inf, 0, 0), Stats(1, 0, 0.0, 0, math.nan)])
def test_a_total_that_is_not_finite_is_refused(value: Stats | float) -> None:
    with pytest.raises(ProtocolError, match="instead of a number"):
        total_of(value, 1.0)
