from __future__ import annotations

from collections import Counter
from dataclasses import replace
from textwrap import dedent
from typing import Any

from btpy.events.aggregates import (
    Average,
    Count,
    Greatest,
    Histogram,
    Least,
    LinearHistogram,
    MapContent,
    Stats,
    TimeSeries,
    Total,
)
from btpy.events.buckets import Exponential
from btpy.events.records import StackRef
from btpy.events.sketches import Distinct, Examples, First, Frequent, Last, Top
from btpy.model.maps import Linear, Map, MapKind, Most, Percents, Series, SeriesOperator
from btpy.model.templates import TemplateKind
from btpy.model.types import BYTES, DURATION, LONG, Type
from btpy.output.maps import MapText
from btpy.output.style import Style
from btpy.output.tables import TableOptions, joined, table
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
    layout = Exponential(2)
    counts = Counter(map(layout.index, samples))
    least, greatest = min(samples, default=None), max(samples, default=None)
    return Histogram(layout, sum(samples), 0.0, least, greatest, tuple(sorted(counts.items())))


def test_counts_are_ranked_and_aligned() -> None:
    content = contents(MapKind.COUNT, ("SKU-1", Count(2)), ("SKU-1187", Count(1641)), (None, Count(203)))
    assert shown(content) == same("""
        @m[SKU-1187]  1641
        @m[null]       203
        @m[SKU-1]        2
    """)


def test_top_names_the_number_of_omitted_rows() -> None:
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


def test_a_histogram_has_at_most_twelve_rows_or_a_row_for_each_power_of_two() -> None:
    samples = [20 * MS] * 22 + [40 * MS] * 13 + [200 * MS] * 5
    content = contents(MapKind.HIST, ("SKU-1187", histogram(*samples)), type_=DURATION)
    assert shown(content) == same("""
        @m[SKU-1187]  n=40  p50 21.9ms  p90 195ms  p99 195ms  max 200ms  avg 49ms
          <=23.7ms  ████████████████████████████████  22
          <=33.6ms                                     0
          <=47.5ms  ██████████████████▉               13
          <=67.1ms                                     0
          <=94.9ms                                     0
           <=134ms                                     0
           <=190ms                                     0
           <=268ms  ███████▎                           5
    """)
    wide = shown(contents(MapKind.HIST, ((), histogram(-3, 0, 1, 2, 4, 9, 1024, 1025)))).splitlines()[1:]
    labels = ["<=4", "<=8", "<=16", "<=32", "<=64", "<=128", "<=256", "<=512", "<=1024", "<=2048"]
    assert [row.split()[0] for row in wide] == [">=-4", "-2", "-1", "0", "1", "2", *labels]
    assert [row.split()[-1] for row in wide] == [*"10011110100000", "1", "1"]


def test_small_numbers_have_a_row_each() -> None:
    content = contents(MapKind.HIST, ((), histogram(0, 3, 5, 5, 8)))
    assert shown(content, style=Style(unicode=False)) == same("""
        @m  n=5  p50 5  p90 8  p99 8  max 8  avg 4.2
          0  ################                  1
          1                                    0
          2                                    0
          3  ################                  1
          4                                    0
          5  ################################  2
          6                                    0
          7                                    0
          8  ################                  1
    """)


def test_histograms_of_negatives_and_of_nothing() -> None:
    content = contents(MapKind.HIST, ("neg", histogram(-5, -3)), ("none", histogram()))
    assert shown(content) == same("""
        @m[neg]  n=2  p50 -5  p90 -3  p99 -3  max -3  avg -4
          -5  ████████████████████████████████  1
          -4                                    0
          -3  ████████████████████████████████  1
        @m[none]  n=0
    """)


def test_the_smallest_bar_is_visible() -> None:
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


def test_a_linear_histogram() -> None:
    linear = Linear(0.0, 30.0, 10.0)
    value = LinearHistogram(linear, 84, 0.0, -3, 37, (1, 5, 0, 2, 3))
    content = contents(MapKind.LHIST, (("k",), value), parameters=linear)
    assert shown(content) == same("""
        @m[k]  n=11  p50 5  p90 33  p99 33  max 37  avg 7.636
            <0  ██████▍                           1
             0  ████████████████████████████████  5
            10                                    0
            20  ████████████▊                     2
          >=30  ███████████████████▎              3
    """)


def test_percentiles_in_columns() -> None:
    content = contents(MapKind.PCTL, (("k",), histogram(1, 2, 3)), parameters=Percents((50.0, 99.9)))
    assert shown(content) == "@m[k]  n=3  p50 2  p99.9 3  max 3  avg 2\n"


def series(*values: int | None) -> TimeSeries:
    definition = Series(1_000_000_000, len(values), SeriesOperator.MAX)
    windows = tuple((at, Greatest(1, value)) for at, value in enumerate(values, 1) if value is not None)
    return TimeSeries(len(windows), definition, len(values), windows)


def test_a_series_as_a_line_and_as_a_chart() -> None:
    value = series(1, 8, None, 4, 2)
    content = contents(MapKind.TSERIES, (("k",), value), parameters=value.series)
    assert shown(content) == "@m[k]  ▁█ ▄▂  max of 5 × 1s  now 2  min 1  max 8\n"
    assert shown(content, Style(unicode=False)) == "@m[k]  _# -.  max of 5 x 1s  now 2  min 1  max 8\n"
    chart = MapText(ValueText(context().stacks, Style()), Style()).lines(content, TableOptions(), plot=True)
    assert chart == ["@m[k]  max of 5 × 1s  now 2  min 1  max 8", "   █", "   █", "   █ ▄", "   █ █▂", "  ▅█ ██"]


def test_a_series_of_nothing() -> None:
    value = series(None, None)
    assert shown(contents(MapKind.TSERIES, ((), value), parameters=value.series)) == "@m      max of 2 × 1s\n"


def test_the_most_frequent_values_show_their_bounds() -> None:
    value = Top(1009, 2, 3, (Frequent("SKU-1", 700, 0), Frequent("SKU-22", 205, 5), Frequent("x", 4, 3)))
    assert shown(contents(MapKind.TOPK, (("k",), value), parameters=Most(2))) == same("""
        @m[k]  n=1009
          SKU-1       700
          SKU-22  200…205
          …
    """)


def test_distinct_first_last_and_examples() -> None:
    distinct = Distinct(1009, bytes([1, 2, *(0,) * 2046]))
    assert shown(contents(MapKind.DISTINCT, ((), distinct), type_=DURATION)) == "@m  ≈2  n=1009\n"
    first = contents(MapKind.FIRST, (("a",), First(1, "x")), (("b",), First(2, None)))
    assert shown(first) == "@m[a]  x\n@m[b]  null\n"
    last = contents(MapKind.LAST, (("a",), Last(1, 5 * MS)), (("b",), Last(2, 70 * MS)), type_=DURATION)
    assert shown(last) == "@m[b]  70ms\n@m[a]   5ms\n"
    examples = contents(MapKind.SAMPLE_OF, (("a",), Examples(17, 2, ("select 1", StackRef(5)))), parameters=Most(2))
    assert shown(examples) == same("""
        @m[a]  n=17, 2 of them:
          select 1
              a.B.c:12
              a.B.main
    """)


def test_estimates_are_marked() -> None:
    assert shown(contents(MapKind.COUNT, (("a",), Count(100)), estimated="100")) == same("""
        @m[a]  ≈100
          ≈ ×100: estimated from sampled hits
    """)
    stats = contents(MapKind.STATS, ((), Stats(200, 400, 0.0, 1, 3)), estimated="?")
    assert shown(stats, Style(unicode=False)) == same("""
        @m  n~200  avg 2  min 1  max 3  sum ~400
          ~ x?: estimated from sampled hits
    """)


def test_keys_omitted_from_a_message_are_reported() -> None:
    content = contents(MapKind.COUNT, (("a",), Count(1)))
    assert shown(replace(content, omitted=7)) == "@m[a]  1\n  … 7 keys were too many for one message\n"


def test_a_plot_is_a_bar_a_key() -> None:
    content = contents(MapKind.COUNT, (("a",), Count(8)), (("bb",), Count(4)), (("c",), Count(0)))
    lines = MapText(ValueText(context().stacks, Style()), Style()).lines(content, TableOptions(), plot=True)
    assert lines == [
        f"@m[a]   {'█' * 32}  8",
        f"@m[bb]  {'█' * 16}{' ' * 16}  4",
        f"@m[c]   {' ' * 32}  0",
    ]


def test_maps_side_by_side() -> None:
    hits = named("hits", contents(MapKind.COUNT, (("/a",), Count(7)), (("/b",), Count(101)), (("/c",), Count(1))))
    times = named("took", contents(MapKind.STATS, (("/a",), Stats(2, 6 * MS, 0.0, MS, 5 * MS)), type_=DURATION))
    text = MapText(ValueText(context().stacks, Style()), Style())
    assert [line.rstrip() for line in text.joined([hits, times], TableOptions(top=2))] == [
        "    hits  took n  took avg  took max",
        "/b   101       -         -         -",
        "/a     7       2       3ms       5ms",
        "  … 1 more",
    ]
    by_time = text.joined([hits, times], TableOptions(by="took.avg", top=1))
    assert by_time[1].startswith("/a ")
    assert text.joined([named("hits", contents(MapKind.COUNT))], TableOptions()) == ["@hits  (empty)"]


def test_maps_of_libraries_side_by_side() -> None:
    """Headings name the library only where its name distinguishes columns; ``by=`` always names the library."""
    own_map = named("hits", contents(MapKind.COUNT, (("/a",), Count(7)), (("/b",), Count(3))))
    library_map = named("web.hits", contents(MapKind.COUNT, (("/a",), Count(11)), (("/b",), Count(13))))
    took = named("web.took", contents(MapKind.SUM, (("/a",), Total(5, 17, 0.0)), (("/b",), Total(1, 19, 0.0))))
    text = MapText(ValueText(context().stacks, Style()), Style())
    assert text.joined([own_map, library_map, took], TableOptions(by="web.hits")) == [
        "    hits  web.hits  took",
        "/b     3        13    19",
        "/a     7        11    17",
    ]
    assert text.joined([library_map, took], TableOptions(by="web.took"))[:2] == ["    hits  took", "/b    13    19"]


def named(name: str, content: MapContent) -> MapContent:
    return replace(content, map=replace(content.map, name=name))


def test_wide_characters_keep_the_columns() -> None:
    content = contents(MapKind.COUNT, (("東京",), Count(5)), (("abcd",), Count(17)))
    assert shown(content) == "@m[abcd]  17\n@m[東京]   5\n"


def test_a_text_and_a_number_are_two_keys_in_every_format() -> None:
    """All formats show the rows of ``table`` and ``joined``."""
    mixed = contents(MapKind.COUNT, (("1", True), Count(2)), ((1, False), Count(3)), (("x", True), Count(5)))
    expected = {((1, False), Count(3)), (('"1"', True), Count(2)), (('"x"', True), Count(5))}
    assert set(table(mixed, TableOptions()).rows) == expected
    assert {key for key, _ in joined([mixed, mixed], TableOptions()).rows} == {key for key, _ in expected}
    texts = contents(MapKind.COUNT, (("1",), Count(2)), (("x",), Count(5)), ((None,), Count(7)))
    assert {key for key, _ in table(texts, TableOptions()).rows} == {("1",), ("x",), (None,)}
