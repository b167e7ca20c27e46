from __future__ import annotations

from textwrap import dedent
from typing import Any

from btpy.events.aggregates import (
    Average,
    Count,
    Histogram,
    Least,
    MapContent,
    Stats,
    Total,
    bucket_index,
)
from btpy.events.records import StackRef
from btpy.lang.program import Map, MapKind, TemplateKind
from btpy.lang.types import BYTES, DURATION, LONG, Type
from btpy.output.maps import MapText
from btpy.output.style import Style
from btpy.output.tables import TableOptions
from btpy.output.values import ValueText
from tests.output.program import contents, context, template

MS = 1_000_000


def shown(content: MapContent, style: Style | None = None, **options: Any) -> str:
    style = style or Style()
    lines = MapText(ValueText(context().stacks, style), style).lines(content, TableOptions(**options))
    assert not any("\n" in line for line in lines)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def same(text: str) -> str:
    return dedent(text).lstrip("\n")


def histogram(*samples: int) -> Histogram:
    counts = [0] * (1 + max((bucket_index(sample, 2) for sample in samples if sample >= 0), default=-1))
    for sample in samples:
        if sample >= 0:
            counts[bucket_index(sample, 2)] += 1
    negatives = sum(sample < 0 for sample in samples)
    least, greatest = min(samples, default=None), max(samples, default=None)
    return Histogram(2, sum(samples), 0.0, least, greatest, negatives, tuple(counts))


def test_counts_are_ranked_and_aligned() -> None:
    content = contents(MapKind.COUNT, ("SKU-1", Count(2)), ("SKU-1187", Count(1641)), (None, Count(203)))
    assert shown(content) == same("""
        @m[SKU-1187]  1641
        @m[null]       203
        @m[SKU-1]        2
    """)


def test_what_top_leaves_out_is_said() -> None:
    content = contents(MapKind.COUNT, *((f"k{at}", Count(at)) for at in range(20)))
    assert shown(content, top=2) == same("""
        @m[k19]  19
        @m[k18]  18
          … 18 more
    """)
    assert shown(content, top=1, style=Style(unicode=False)).endswith("  ... 19 more\n")


def test_keyless_several_keys_and_empty() -> None:
    assert shown(contents(MapKind.SUM, ((), Total(2, 5 * MS, 0.0)), type_=DURATION)) == "@m  5ms\n"
    assert shown(contents(MapKind.COUNT, (("a", 1, True), Count(3)))) == "@m[a, 1, true]  3\n"
    assert shown(contents(MapKind.COUNT)) == "@m  (empty)\n"


def test_units_of_the_map() -> None:
    content = contents(MapKind.AVG, ("a", Average(3, 10 * MS, 0.0)), ("b", Average(0, 0, 0.0)), type_=DURATION)
    assert shown(content) == "@m[a]  3.33ms\n@m[b]    null\n"
    assert shown(content, unit="us", top=1) == "@m[a]  3333.333us\n  … 1 more\n"
    assert shown(contents(MapKind.SUM, ("a", Total(1, 65536, 0.0)), type_=BYTES)) == "@m[a]  64KB\n"


def test_least_values_come_from_the_least_up() -> None:
    content = contents(MapKind.MIN, ("a", Least(1, 9)), ("b", Least(1, 2)), ("c", Least(0, None)))
    assert shown(content).splitlines()[1:] == ["@m[b]     2", "@m[a]     9"]
    assert shown(content, descending=True).splitlines()[0] == "@m[a]     9"


def test_stats_stand_in_columns() -> None:
    content = contents(
        MapKind.STATS,
        ("a", Stats(2, 30 * MS, 0.0, 10 * MS, 20 * MS)),
        ("bcd", Stats(110, 900 * MS, 0.0, MS, 99 * MS)),
        type_=DURATION,
    )
    assert shown(content) == same("""
        @m[bcd]  n=110  avg 8.18ms  min 1ms   max 99ms  sum 900ms
        @m[a]    n=2    avg 15ms    min 10ms  max 20ms  sum 30ms
    """)
    assert shown(content, by="avg").startswith("@m[a]")


def test_a_histogram_has_a_row_for_each_power_of_two() -> None:
    samples = [20 * MS] * 22 + [40 * MS] * 13 + [200 * MS] * 5
    content = contents(MapKind.HIST, ("SKU-1187", histogram(*samples)), type_=DURATION)
    assert shown(content) == same("""
        @m[SKU-1187]  n=40  p50 20.5ms  p90 184ms  p99 184ms  max 200ms  avg 49ms
          16.8ms  ████████████████████████████████  22
          33.6ms  ██████████████████▉               13
          67.1ms                                     0
           134ms  ███████▎                           5
    """)


def test_a_narrow_histogram_shows_its_finer_buckets() -> None:
    content = contents(MapKind.HIST, ((), histogram(5, 5, 6)))
    assert shown(content, style=Style(unicode=False)) == same("""
        @m  n=3  p50 5  p90 6  p99 6  max 6  avg 5.333
          5  ################################  2
          6  ################                  1
    """)


def test_histograms_of_negatives_and_of_nothing() -> None:
    content = contents(MapKind.HIST, ("neg", histogram(-5, -3)), ("none", histogram()))
    assert shown(content) == same("""
        @m[neg]  n=2  p50 -4  p90 -4  p99 -4  max -3  avg -4
          <0  ████████████████████████████████  2
        @m[none]  n=0
    """)


def test_the_least_bar_is_still_seen() -> None:
    content = contents(MapKind.HIST, ((), histogram(*[1] * 100_000, 100)))
    assert "▏" in shown(content).splitlines()[-1]


def test_stacks_in_keys_and_values() -> None:
    assert shown(contents(MapKind.COUNT, ((StackRef(5), "x"), Count(3)))) == same("""
        @m[
            a.B.c:12
            a.B.main
        x]  3
    """)
    assert shown(contents(MapKind.VALUE, ("k", StackRef(5)))) == same("""
        @m[k]
            a.B.c:12
            a.B.main
    """)


def test_plain_values_go_by_value_when_all_are_numbers_else_by_key() -> None:
    numbers = contents(MapKind.VALUE, ("a", 1), ("b", 5))
    assert shown(numbers) == "@m[b]  5\n@m[a]  1\n"
    texts = contents(MapKind.VALUE, ("b", "x"), ("a", 5))
    assert shown(texts) == "@m[a]  5\n@m[b]  x\n"


def test_scale_min_and_order() -> None:
    content = contents(MapKind.COUNT, ("a", Count(2)), ("b", Count(7)))
    assert shown(content, scale=1000) == "@m[b]  7000\n@m[a]  2000\n"
    assert shown(content, least=3) == "@m[b]  7\n  … 1 more\n"
    assert shown(content, by="key") == "@m[a]  2\n@m[b]  7\n"


def test_hostile_keys_stay_on_their_line() -> None:
    assert shown(contents(MapKind.COUNT, ("a\n@m[b]  9\x1b[0m", Count(1)))) == "@m[a\\n@m[b]  9\\e[0m]  1\n"


def test_wide_characters_are_aligned_by_columns() -> None:
    content = contents(MapKind.COUNT, ("日本", Count(1)), ("abcd", Count(2)))
    assert shown(content) == "@m[abcd]  2\n@m[日本]  1\n"


def test_options_come_from_the_template() -> None:
    options = (("top", 3), ("by", "p99"), ("desc", False), ("unit", "us"), ("scale", 10), ("min", 5))
    assert TableOptions.of(template(kind=TemplateKind.MAP, options=options)) == TableOptions(
        3, "p99", False, "us", 10, 5
    )
    assert TableOptions.of(None) == TableOptions()


def test_colours_do_not_move_columns() -> None:
    content = contents(MapKind.COUNT, ("a", Count(5)), ("bbb", Count(1)))
    coloured = shown(content, style=Style(color=True))
    assert coloured.replace("\x1b[1m", "").replace("\x1b[0m", "") == shown(content)


def test_the_type_of_counts_has_no_unit() -> None:
    duration: Type = DURATION
    content = MapContent(Map(0, "m", MapKind.COUNT, 0, duration), 0, (((), Count(5)),))
    assert shown(content) == "@m  5\n"
    assert LONG.kind is not duration.kind
