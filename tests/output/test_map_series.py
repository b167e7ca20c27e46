"""No count of a map is lost or sent twice, even if the script empties the map."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btpy.events.aggregates import Count, Key, LinearHistogram, MapContent, Stats, Total, merged
from btpy.events.exemplars import Exemplar
from btpy.events.sketches import Distinct
from btpy.model.maps import Linear, Map, MapKind
from btpy.model.types import LONG
from btpy.output.map_series import OVERFLOW, Series, Summable, difference, exact_key
from tests.events.test_aggregates import histogram_of

MAP = Map(0, "n", MapKind.COUNT, 1, LONG)


def counts(entries: dict[Key, int], omitted: int = 0) -> MapContent:
    return MapContent(MAP, 0, tuple((key, Count(count)) for key, count in entries.items()), omitted)


def totals(series: Series) -> dict[object, int]:
    return {tuple(component for _, component in key): value.n for key, value in series.totals().items()}


def steps(*others: str) -> st.SearchStrategy[list[tuple[str, str, int]]]:
    """A step of a script: it counts under a key, or empties the map in some way."""
    count = st.tuples(st.just("count"), st.sampled_from("abc"), st.integers(1, 5))
    return st.lists(st.one_of(count, st.tuples(st.sampled_from(others), st.just(""), st.just(0))), max_size=60)


def test_exemplars_of_earlier_readings_stay_until_there_are_newer_ones() -> None:
    series = Series()
    map_ = Map(0, "n", MapKind.HIST, 1, LONG)
    first, second = (Exemplar(value, 7, bytes(16), bytes(8)) for value in (3, 100))
    newer = Exemplar(2, 11, bytes(16), bytes(8))
    for reading in ((first,), (second,), (), (newer,)):
        value = replace(histogram_of([3, 100], 2), exemplars=reading)
        series.put(MapContent(map_, 0, ((("a",), value), (("b",), histogram_of([3], 2)))))
    assert series.exemplars == {exact_key(("a",)): (newer, second)}


@given(steps("flush"))
def test_flushes_and_the_last_read_add_up_to_the_count(script: list[tuple[str, str, int]]) -> None:
    series, total_counts, present = Series(), Counter[Key](), Counter[Key]()
    for step, key, number in script:
        if step == "count":
            total_counts[key,] += number
            present[key,] += number
        else:
            series.add(counts(present))
            present.clear()
    series.put(counts(present))
    assert totals(series) == dict(total_counts)


@given(steps("read", "clear"))
def test_counts_read_before_a_clear_stay(script: list[tuple[str, str, int]]) -> None:
    series, read_counts, present = Series(), Counter[Key](), Counter[Key]()
    for step, key, number in script:
        if step == "count":
            present[key,] += number
        else:
            series.put(counts(present))
        if step == "clear":
            read_counts += present
            present.clear()
            series.put(counts(present))
    series.put(counts(present))
    assert totals(series) == dict(read_counts + present)


def test_a_key_with_fewer_samples_was_emptied_meanwhile() -> None:
    series = Series()
    series.put(counts({("a",): 7, ("b",): 5}))
    series.put(counts({("a",): 3, ("b",): 11}))
    assert totals(series) == {("a",): 10, ("b",): 11}


def test_a_key_for_which_the_message_had_no_room_was_not_emptied() -> None:
    series = Series()
    series.put(counts({("a",): 7, ("b",): 5}))
    series.put(counts({("b",): 6}, omitted=1))
    series.put(counts({("a",): 8, ("b",): 6}))
    assert totals(series) == {("a",): 8, ("b",): 6}


def test_keys_of_different_types_are_different_and_nan_is_one_key() -> None:
    series = Series()
    for _ in range(3):
        keys: list[Key] = [(1,), (True,), (1.0,), (float("nan"),)]
        entries = tuple((key, Count(count)) for key, count in zip(keys, (2, 3, 5, 7), strict=True))
        series.put(MapContent(MAP, 0, entries))
    assert sorted(value.n for value in series.totals().values()) == [2, 3, 5, 7]


def test_keys_beyond_the_limit_are_added_up() -> None:
    series = Series(most_keys=3)
    series.put(counts({(key,): 1 for key in range(7)}))
    series.put(counts({(key,): 2 for key in range(7)}))
    series.put(counts({(6,): 1}))
    result = series.totals()
    assert result.pop(OVERFLOW) == Count(9)  # the 8 samples of keys 3 to 6 were emptied, and 1 came later
    assert result == {exact_key((key,)): Count(2) for key in range(3)}


def test_values_that_do_not_add_up_are_left_out() -> None:
    series = Series()
    distinct = MapContent(Map(0, "d", MapKind.DISTINCT, 0, LONG), 0, (((), Distinct(3, bytes(2048))),))
    series.put(distinct)
    assert series.totals() == {}


def linear(*counts: int) -> LinearHistogram:
    return LinearHistogram(Linear(0, 10, 10), sum(counts), 0.5, 0, 10, counts)


PAIRS: list[tuple[Summable, Summable]] = [
    (Count(3), Count(4)),
    (Total(2, 10, 0.5), Total(3, -4, 0.25)),
    (Stats(2, 7, 0.0, 1, 6), Stats(1, 100, 0.5, 0, 100)),
    (histogram_of([1, 5, 900, -3]), histogram_of([5, 17])),
    (linear(2, 3, 0), linear(0, 4, 1)),
]


@pytest.mark.parametrize(("before", "addition"), PAIRS, ids=lambda value: type(value).__name__)
def test_the_difference_has_only_newer_counts(before: Summable, addition: Summable) -> None:
    both = merged(before, addition)
    assert isinstance(both, type(addition))
    new = difference(both, before)
    assert new.n == addition.n
    for name in ("integral", "floating", "negatives", "counts"):
        assert getattr(new, name, None) == getattr(addition, name, None)


def test_the_difference_of_two_kinds_is_refused() -> None:
    with pytest.raises(ValueError, match="Count before Total"):
        difference(Total(1, 1, 0.0), Count(1))


def test_exact_keys_have_the_types_of_their_components() -> None:
    assert exact_key((1, "x", None)) == ((int, 1), (str, "x"), (type(None), None))
