"""Counts are exact with any interleaving of the writers."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from btpy.events.aggregates import Average, Count, Greatest, Histogram, Least, Stats, Total
from btpy.events.buckets import MAX_SCALE, Exponential, roots
from btpy.events.records import Closed, ClosedObject, CutString
from btpy.model.maps import MapKind
from tests.runtime.harness import Outcome

SAMPLES = range(8 * 50_000)  # 8 writers add each sample once
N = len(SAMPLES)


def keyless(outcome: Outcome, id_: int, kind: MapKind) -> object:
    ((key, value),) = outcome.map("exact", id_, kind).entries
    assert key == ()
    return value


def test_keyless(outcome: Outcome) -> None:
    assert keyless(outcome, 1, MapKind.COUNT) == Count(N)
    assert keyless(outcome, 2, MapKind.SUM) == Total(N, sum(SAMPLES), 0.0)
    assert keyless(outcome, 3, MapKind.AVG) == Average(N, sum(SAMPLES), 0.0)
    assert keyless(outcome, 4, MapKind.MIN) == Least(N, 0)
    assert keyless(outcome, 5, MapKind.MAX) == Greatest(N, N - 1)
    assert keyless(outcome, 6, MapKind.STATS) == Stats(N, sum(SAMPLES), 0.0, 0, N - 1)


def histogram(samples: list[int] | range, precision: int) -> Histogram:
    layout = Exponential(precision)
    wrapped = (sum(samples) + 2**63) % 2**64 - 2**63
    counts = Counter(map(layout.index, samples))
    return Histogram(layout, wrapped, 0.0, min(samples), max(samples), tuple(sorted(counts.items())))


def test_histogram_of_many_writers(outcome: Outcome) -> None:
    assert keyless(outcome, 7, MapKind.HIST) == histogram(SAMPLES, 2)


@pytest.mark.parametrize("precision", range(MAX_SCALE + 1))
def test_buckets(outcome: Outcome, precision: int) -> None:
    samples = [2**62 + 2**61, 2**63 - 2, 2**63 - 1, -(2**63)]
    for exponent in range(63):
        magnitudes = [2**exponent - 1, 2**exponent, 2**exponent + 1]
        for part in range(64):
            bound = roots(MAX_SCALE)[part - 1] << exponent >> 52 if part else 2**exponent
            magnitudes += [bound, bound + 1]
        samples += [sample for magnitude in magnitudes for sample in (magnitude, -magnitude)]
    ((_, value),) = outcome.map("histogram", precision, MapKind.HIST, precision=precision).entries
    assert value == histogram(samples, precision)


def test_keyed(outcome: Outcome) -> None:
    by_key = {key: [i * 8 + w for i in range(key, 50_000, 7) for w in range(8)] for key in range(7)}
    counts = dict(outcome.map("exact", 11, MapKind.COUNT, 1).entries)
    assert counts == {(key,): Count(len(samples)) for key, samples in by_key.items()}
    for (key,), value in outcome.map("exact", 12, MapKind.SUM, 1).entries:
        assert isinstance(key, int)
        assert isinstance(value, Total)
        integral = sum(sample for sample in by_key[key] if sample // 8 % 2 == 0)
        assert value == Total(len(by_key[key]), integral, float(sum(by_key[key]) - integral))
    for (key,), value in outcome.map("exact", 14, MapKind.MIN, 1).entries:
        assert isinstance(key, int)
        assert isinstance(value, Least)
        assert (value.n, value.value) == (len(by_key[key]), min(by_key[key]))
    for (key,), value in outcome.map("exact", 15, MapKind.MAX, 1).entries:
        assert isinstance(key, int)
        assert isinstance(value, Greatest)
        assert (value.n, value.value) == (len(by_key[key]), max(by_key[key]))
    for (key,), value in outcome.map("exact", 17, MapKind.HIST, 1).entries:
        assert isinstance(key, int)
        assert isinstance(value, Histogram)
        assert value.counts == histogram(by_key[key], 2).counts


def test_equal_keys_are_one(outcome: Outcome) -> None:
    entries = outcome.map("keys", 0, MapKind.COUNT, 1).entries
    counts = {key: value for (key,), value in entries if not isinstance(key, (float, ClosedObject, bool))}
    assert counts == {
        None: Count(1),
        "text": Count(2),
        1: Count(3),
        "c": Count(1),
        "RED": Count(2),
        CutString("java.lan", 17): Count(1),
        CutString("a long s", 15): Count(2),
    }
    floats = [(key, value) for (key,), value in entries if isinstance(key, float)]
    assert sorted((math.isnan(key), value.n) for key, value in floats if isinstance(value, Count)) == [
        (False, 2),
        (True, 2),
    ]
    assert [value for (key,), value in entries if key is True] == [Count(1)]
    objects = [(key, value) for (key,), value in entries if isinstance(key, ClosedObject)]
    assert {key.why for key, _ in objects} == {Closed.DEPTH}
    assert sorted(value.n for _, value in objects if isinstance(value, Count)) == [1, 2]


def test_compound_keys(outcome: Outcome) -> None:
    components = ("a", 1, True, "c", None)
    for arity in range(2, 6):
        entries = outcome.map("keys", arity - 1, MapKind.COUNT, arity).entries
        assert entries == ((components[:arity], Count(2)),)
    assert outcome.fact("keys", "absent") == "-1"
    assert outcome.fact("keys", "value") == "2"


def test_a_full_map_counts_dropped_keys(outcome: Outcome) -> None:
    content = outcome.map("full", 0, MapKind.COUNT, 1)
    assert 1000 <= len(content.entries) < 1000 + 8  # each writer may pass the capacity by one
    count = sum(value.n for _, value in content.entries if isinstance(value, Count))
    assert count + content.full == 8 * 2000
    assert sum(row.map_full for row in outcome.counters("full").values()) > 0


def test_deleted_keys_give_their_room_back(outcome: Outcome) -> None:
    content = outcome.map("deletion", 0, MapKind.COUNT, 1)
    assert content.full == 0
    assert content.entries == ((("after",), Count(1)),)


def test_update_after_delete_is_dropped(outcome: Outcome) -> None:
    assert outcome.fact("deletion", "after-delete") == "-1"
    assert outcome.fact("deletion", "fresh") == "null"


def test_plain_values(outcome: Outcome) -> None:
    results = {key: value for (key,), value in outcome.map("plain", 0, MapKind.VALUE, 1).entries}
    shared = results.pop("shared")
    objects = results.pop("object")
    assert shared == 80_000
    assert isinstance(objects, ClosedObject)
    assert results == {"null": None, "int": 14, "cut": CutString("a long s", 13), "double": 1.5, "text": "0ab"}
    assert outcome.fact("plain", "unset") == "null"
    assert outcome.fact("plain", "cut") == "a long s"
    assert outcome.fact("plain", "null-operand") == "true"
