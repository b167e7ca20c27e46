"""The live view without a terminal: contents over time, a window and keys in, lines out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from btpy.events.aggregates import Aggregate, Count, MapContent, Stats, Total
from btpy.events.records import StackRef, Value
from btpy.events.sketches import Frequent, Top
from btpy.model.maps import MapKind, Most, Percents
from btpy.model.types import ANY, DURATION
from btpy.output.columns import columns_of
from btpy.output.live import Arrangement, History, LiveText, Order
from btpy.output.style import Style
from btpy.output.values import ValueText
from tests.output.program import contents, context
from tests.output.test_maps import MS, histogram, same

HOSTILE = "\x1b[2J\x1b]0;owned\x07\r\n\u202eevil\u200b\x9b31m"


def live(style: Style | None = None) -> LiveText:
    style = style or Style()
    return LiveText(ValueText(context().stacks, style), style)


def numbered(id_: int, content: MapContent) -> MapContent:
    return replace(content, map=replace(content.map, id=id_))


def counts(*entries: tuple[Any, int], name: str = "m", id_: int = 0) -> MapContent:
    return numbered(id_, contents(MapKind.COUNT, *((key, Count(n)) for key, n in entries), name=name))


def history(*contents_: MapContent, seconds: float = 1.0) -> History:
    """One refresh of maps that were empty before."""
    past = History()
    past.add(0.0, [])
    past.add(seconds, contents_)
    return past


def shown(past: History, arrangement: Arrangement | None = None, columns: int = 79, lines: int = 23) -> str:
    drawn = live().lines(past, arrangement or Arrangement(), columns, lines)
    assert len(drawn) <= lines
    assert all(columns_of(line) <= columns for line in drawn), drawn
    return "".join(line.rstrip() + "\n" for line in drawn)


def pressed(past: History, *keys: str, columns: int = 79, lines: int = 23) -> Arrangement:
    arrangement = Arrangement()
    for key in keys:
        result = live().pressed(key, past, arrangement, columns, lines)
        assert result is not None
        arrangement = result
    return arrangement


def test_a_table_with_rates_of_the_last_seconds_and_of_the_last_minute() -> None:
    past = History()
    past.add(100.0, [])
    a = b = 0
    for second in range(1, 31):
        a += 20 if second <= 15 else 10
        b += second > 20
        past.add(100.0 + second, [counts(("漢字 🙂", a), ("b", b))])
    assert shown(past) == same("""
        @m       count▼    rate   last 60 s
        漢字 🙂     450     10/s  ███████▆▄▄▄▄▄▄▄
        b            10      1/s  ▁▁▁▁▁▁▁▁▁▁█████
    """)


def test_distributions_have_their_percentiles_in_columns() -> None:
    entries = (("a", histogram(*[20 * MS] * 22, *[200 * MS] * 5)), ("b", histogram(*[3 * MS] * 97)))
    past = history(contents(MapKind.HIST, *entries, type_=DURATION, name="lat"))
    lines = shown(past).splitlines()
    assert lines[0].split() == ["@lat", "n▼", "p50", "p90", "p99", "max", "rate", "last", "60", "s"]
    assert lines[1].split()[:7] == ["b", "97", "3ms", "3ms", "3ms", "3ms", "97/s"]
    assert lines[2].split()[:7] == ["a", "27", "21.9ms", "195ms", "195ms", "200ms", "27/s"]


def test_without_keys_a_distribution_is_drawn_and_a_number_is_a_line() -> None:
    past = history(
        contents(MapKind.HIST, ((), histogram(*[20 * MS] * 22, *[40 * MS] * 11)), type_=DURATION, name="lat"),
        counts(((), 41), name="n", id_=1),
        numbered(2, contents(MapKind.STATS, ((), Stats(2, 30, 0.0, 10, 20)), name="s")),
    )
    assert shown(past, columns=60).startswith("@lat  n=33  p50 ")
    assert "████" in shown(past)
    assert "@n  41  41/s  █\n" in shown(past)
    assert "@s  n=2  avg 15  min 10  max 20  sum 30  2/s  █\n" in shown(past)


def test_a_cleared_map_counts_from_zero() -> None:
    past = History()
    past.add(0.0, [counts(("a", 500))])
    past.add(10.0, [counts(("a", 20))])
    assert "2/s" in shown(past)


def test_the_first_look_has_no_rates_unless_the_maps_were_empty_before() -> None:
    past = History()
    past.add(0.0, [counts(("a", 500))])
    assert shown(past) == "@m  count▼    rate\na      500\n"


def test_values_older_than_a_minute_are_forgotten() -> None:
    past = History()
    for second in range(200):
        past.add(float(second), [counts(("a", second * 7))])
    assert past.past(past.contents[0].map, ("a",), 1000) == [7.0] * 60


def test_of_too_many_keys_to_remember_the_others_have_no_rate() -> None:
    many = [(f"k{at:05}", at) for at in range(3000)]
    past = history(counts(*many))
    past.add(9.0, [counts(*many)])
    rate = past.rates(past.contents[0].map)
    assert rate(("k02999",)) == 0.0
    assert rate(("k00001",)) is None


def test_s_goes_through_the_columns_and_capital_s_turns_them() -> None:
    past = history(counts(("b", 1), ("a", 3), ("c", 2)))
    first = [line[0] for line in shown(past).splitlines()[1:]]
    assert first == ["a", "c", "b"]
    by_rate, by_key = pressed(past, "s"), pressed(past, "s", "s")
    assert by_rate.orders[0].by == "rate"
    assert [line[0] for line in shown(past, by_key).splitlines()[1:]] == ["a", "b", "c"]
    assert shown(past, by_key).startswith("@m▲ ")
    assert [line[0] for line in shown(past, pressed(past, "s", "s", "S")).splitlines()[1:]] == ["c", "b", "a"]
    assert pressed(past, "s", "s", "s").orders[0] == Order("")


def test_rows_scroll_to_the_last_and_no_further() -> None:
    past = history(counts(*((f"k{at:02}", 100 - at) for at in range(30))))
    assert shown(past, lines=6).splitlines()[-1] == "  … 26 more"
    down = pressed(past, "down", "down", lines=6)
    assert shown(past, down, lines=6).splitlines()[1].startswith("k02 ")
    assert shown(past, down, lines=6).splitlines()[-1] == "  … 2 above, 24 below"
    end = pressed(past, "pagedown", "end", "down", "down", lines=6)
    assert shown(past, end, lines=6).splitlines()[-2].startswith("k29 ")
    assert pressed(past, "end", "up", lines=6).orders[0].offset == 25
    assert pressed(past, "end", "home", lines=6).orders[0].offset == 0


def test_several_maps_share_the_window_and_keys_are_about_one() -> None:
    past = history(
        counts(*((f"a{at}", at) for at in range(50)), name="a"),
        counts(*((f"b{at}", at) for at in range(4)), name="b", id_=1),
    )
    lines = shown(past, lines=16).splitlines()
    assert lines[0].startswith("▸ @a ")
    assert [line.split()[0] for line in lines[-5:]] == ["@b", "b3", "b2", "b1", "b0"]
    assert "▸ @b" in shown(past, pressed(past, "tab"))
    assert "▸ @a" in shown(past, pressed(past, "tab", "tab"))
    scrolled = pressed(past, "tab", "down", lines=8)
    assert scrolled.orders.keys() == {1}


def test_the_map_that_keys_are_about_is_the_last_to_go() -> None:
    past = history(*(counts(("k", at + 1), name=f"m{at}", id_=at) for at in range(9)))
    assert shown(past, pressed(past, "tab", "tab", lines=4), lines=3).startswith("▸ @m2")


def test_charts_instead_of_tables() -> None:
    past = history(counts(("a", 30), ("b", 15)))
    assert shown(past, pressed(past, "h")).splitlines()[0].startswith("@m[a]  ████")
    assert pressed(past, "h", "h") == Arrangement()


def test_a_chart_is_as_wide_as_the_window() -> None:
    past = history(contents(MapKind.HIST, ((), histogram(*[1] * 50, *[1000] * 25))))
    narrow = live().lines(past, Arrangement(), 24, 20)
    assert all(columns_of(line) <= 24 for line in narrow)
    assert narrow[1] == "  75/s  █"  # the chart does not fit beside the percentiles
    assert narrow[2].endswith("50")


def test_percentiles_without_keys_are_drawn_as_the_distribution_that_they_are() -> None:
    past = history(contents(MapKind.PCTL, ((), histogram(*[20] * 22, *[40] * 11)), parameters=Percents((50.0,))))
    lines = shown(past).splitlines()
    assert lines[0] == "@m  n=33  p50 21  max 40  avg 26.667  33/s  █"
    assert [line.split()[0] for line in lines[1:]] == ["<=22", "<=26", "<=32", "<=38", "<=45"]


def test_the_most_frequent_keys_keep_their_lines() -> None:
    top = Top(44, 3, 0, (Frequent("GET", 41, 0), Frequent("PUT", 3, 0)))
    past = history(contents(MapKind.TOPK, ("a", top), parameters=Most(3), type_=ANY))
    assert [line.split() for line in shown(past).splitlines()] == [["@m[a]", "n=44"], ["GET", "41"], ["PUT", "3"]]


def test_a_stack_is_one_line() -> None:
    past = history(counts((StackRef(5), 3)), numbered(1, contents(MapKind.VALUE, ("k", StackRef(5)))))
    assert "a.B.c:12 < a.B.main" in shown(past)
    assert len(shown(past).splitlines()) == 5


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 9, 20, 79, 300])
@pytest.mark.parametrize("lines", [1, 2, 3, 7, 24, 100])
@pytest.mark.parametrize("style", [Style(), Style(color=True), Style(unicode=False)], ids=["plain", "colour", "ascii"])
def test_no_window_is_too_small_and_nothing_of_the_target_steers_the_terminal(
    columns: int, lines: int, style: Style
) -> None:
    distribution = histogram(*range(1, 4000, 7))
    zalgo = "a" + "\u0301" * 300
    past = history(
        contents(MapKind.HIST, (HOSTILE, distribution), ("漢字🙂" * 9, distribution), (zalgo, distribution)),
        counts((HOSTILE, 3), ("x", 2), name="c", id_=1),
        numbered(2, contents(MapKind.VALUE, ("k", HOSTILE), (None, "👩‍👩‍👧 🇦🇶 ❤️"))),
        numbered(3, contents(MapKind.HIST, ((), distribution))),
        numbered(4, contents(MapKind.SUM, ((), Total(3, 1 << 62, 0.0)))),
        numbered(5, contents(MapKind.TOPK, ((), Top(3, 3, 0, (Frequent(HOSTILE, 3, 0),))), parameters=Most(3))),
    )
    text = live(style)
    arrangement = Arrangement()
    for key in ("", "s", "s", "down", "end", "tab", "S", "pagedown", "h", "tab", "end", "tab"):
        if key:
            result = text.pressed(key, past, arrangement, columns, lines)
            assert result is not None
            arrangement = result
        drawn = text.lines(past, arrangement, columns, lines)
        assert 0 < len(drawn) <= lines
        for line in drawn:
            assert columns_of(line) <= columns
            plain = line
            for colour in ("\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[36m") if style.color else ():
                plain = plain.replace(colour, "")
            assert plain.isprintable(), plain
            assert len(plain) <= 10 * columns
            assert style.unicode or plain.isascii()


def test_unknown_keys_are_left_to_other_handlers() -> None:
    assert live().pressed("q", history(counts(("a", 1))), Arrangement(), 79, 23) is None


def test_nothing_yet() -> None:
    past = history(contents(MapKind.COUNT), contents(MapKind.COUNT))
    assert shown(past) == "@m @m  (empty)\n"


def kinds() -> list[tuple[MapKind, Aggregate | Value]]:
    return [(MapKind.SUM, Total(2, 5, 0.0)), (MapKind.VALUE, 5), (MapKind.COUNT, Count(5))]


@pytest.mark.parametrize(("kind", "value"), kinds(), ids=lambda parameter: getattr(parameter, "value", ""))
def test_each_column_can_be_sorted_by(kind: MapKind, value: Aggregate | Value) -> None:
    past = history(contents(kind, ("a", value)))
    arrangement = Arrangement()
    for _ in range(6):
        assert any(mark in shown(past, arrangement).splitlines()[0] for mark in "▼▲")
        result = live().pressed("s", past, arrangement, 79, 23)
        assert result is not None
        arrangement = result
