"""Constant expressions: calculations in places that need a constant."""

from __future__ import annotations

import pytest

from btpy.errors import ScriptError
from btpy.lang.check.checker import check_source
from btpy.lang.link.parameters import constant
from btpy.lang.syntax.parser import parse_expression
from btpy.model.attachments import TimerAttachment
from btpy.model.maps import Linear, Series, SeriesOperator
from btpy.model.source import Source


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("7 / 2.0", 3.5),
        ("-7.5 % 2", -1.5),
        ("10 * 5ms", 50_000_000),
        ("1s / 4", 250_000_000),
        ("1.5 * 1KB", 1536),
        ("1s / 1ms", 1000),
        ("1s % 300ms", 100_000_000),
        ("1s - 1ms", 999_000_000),
    ],
)
def test_calculated(text: str, value: float) -> None:
    result = constant(parse_expression(Source("x", text)))
    assert result is not None
    assert (result.value, type(result.value)) == (value, type(value))
    assert result.span.text == text


@pytest.mark.parametrize(
    "text",
    [
        *("1 / 0", "1s % 0", "1s + 1", "1s * 1s", "1s + 1KB", "1 / 1s", "9223372036854775807 + 1", "1e308 * 100"),
        *('"a" + "b"', "true + 1", "tid + 1", "null + 1", "1 << 3"),
    ],
)
def test_no_constant(text: str) -> None:
    assert constant(parse_expression(Source("x", text))) is None


def test_places_that_need_constants() -> None:
    program = check_source(
        Source(
            "probe.bt",
            """
            param step: duration = 2 * 5ms;
            param many: long = 100;
            A::b @return {
              @a = lhist(duration, 0, 10 * step, step);
              @b = lhist(arg0 as int, -many, many, many / 10);
              @c = tseries(duration, step * 100, 6 * 10);
            }
            @OnTimer(step * 100) { print(@a) }
            """,
        )
    )
    assert [map_.parameters for map_ in program.maps] == [
        Linear(0, 1e8, 1e7),
        Linear(-100, 100, 10),
        Series(1_000_000_000, 60, SeriesOperator.SUM),
    ]
    assert program.probes[1].attachment == TimerAttachment(1_000_000_000)


def test_a_value_that_is_none() -> None:
    with pytest.raises(ScriptError) as caught:
        check_source(Source("probe.bt", "A::b @return { @c = hist(duration, arg0) }"))
    assert caught.value.diagnostics[0].primary.text == "not a constant"
