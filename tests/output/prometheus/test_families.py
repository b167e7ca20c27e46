"""Maps as metric families: hostile texts, bounds, and omissions."""

from __future__ import annotations

import subprocess
import sys

from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families as parsed

from btpy.api.programs import outline_of
from btpy.events.aggregates import Count, Histogram
from btpy.events.buckets import Exponential
from btpy.events.stacks import StackTable
from btpy.output.map_series import exact_key
from btpy.output.prometheus.families import Families, add_map, names_of
from btpy.output.simple_values import SimpleValues
from tests.live.scripts import program

TARGET = {"service": "shop", "pid": "7"}
TEXTS = ["", "a", 'a"b', "a\nb", "a\\b", "é", "日本", "a\udc80b", "\x00\x1b[31m", "# EOF", "} 1\nn_total 9", "x" * 5000]


def test_texts_of_a_target_stay_inside_their_label() -> None:
    outline = outline_of(program("A::b { @n[arg0] = count() }"))
    families = Families()
    entries = [(exact_key((text,)), Count(number)) for number, text in enumerate(TEXTS)]
    names = names_of(outline, tuple(TARGET))[0]
    add_map(families, outline.maps[0], names, entries, SimpleValues(StackTable()), {**TARGET, "service": 'a"} 1\n'})
    (family,) = parsed(generate_latest(families).decode())
    assert [sample.value for sample in family.samples] == list(range(len(TEXTS)))
    labels = [sample.labels[names.labels[0]] for sample in family.samples]
    assert labels == [text.replace("\udc80", "\ufffd") for text in TEXTS]
    assert {sample.labels["service"] for sample in family.samples} == {'a"} 1\n'}


def test_durations_are_in_seconds_and_their_counts_exact() -> None:
    outline = outline_of(program("A::b @exit { @took = hist(duration) }"))
    layout = Exponential(6)
    numbers = [0, 1, 1023, 1024, 1025, 1 << 20, (1 << 20) + 1, 1 << 40, (1 << 40) + 1, (1 << 63) - 1]
    counts = tuple((layout.index(number), 1) for number in numbers)
    value = Histogram(layout, sum(numbers), 0.0, 0, max(numbers), tuple(sorted(dict(counts).items())))
    families = Families()
    add_map(
        families,
        outline.maps[0],
        names_of(outline, ())[0],
        [((), value)],
        SimpleValues(StackTable()),
        {},
    )
    (family,) = families.collect()
    buckets = {float(sample.labels["le"]): sample.value for sample in family.samples if "le" in sample.labels}
    assert family.name == "btpy_took_seconds"
    assert len(buckets) == 32
    occupied = dict.fromkeys(layout.index(number) for number in numbers)
    for bound, count in buckets.items():
        assert count == sum(layout.bounds(index)[1] <= bound * 1e9 for index in occupied)
    assert {sample.name: sample.value for sample in family.samples}["btpy_took_seconds_sum"] == sum(numbers) / 1e9


def test_what_finds_no_room_is_left_out_whole_and_counted() -> None:
    outline = outline_of(program("A::b { @n[arg0] = count() }"))
    families = Families(most_samples=11)
    entries = [(exact_key((number,)), Count(1)) for number in range(17)]
    add_map(families, outline.maps[0], names_of(outline, ())[0], entries, SimpleValues(StackTable()), {})
    (family,) = families.collect()
    assert len(family.samples) == 11
    assert families.left_out == 6


def test_nothing_else_imports_the_package() -> None:
    code = "import sys, btpy, btpy.cli.main, btpy.cli.run_loop; sys.exit('prometheus_client' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
