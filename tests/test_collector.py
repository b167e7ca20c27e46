"""The collector is off while anybody wants it so, and afterwards as it was."""

from __future__ import annotations

import gc

import pytest

from btpy import collector


def test_it_is_off_until_the_last_one_has_left() -> None:
    assert gc.isenabled()
    with collector.put_off():
        with collector.put_off():
            assert not gc.isenabled()
        with pytest.raises(KeyError):
            _fail()
        assert not gc.isenabled()
    assert gc.isenabled()


def _fail() -> None:
    with collector.put_off():
        raise KeyError


def test_it_stays_off_where_it_was_off() -> None:
    gc.disable()
    try:
        with collector.put_off():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_was_made_meanwhile_counts_as_old() -> None:
    with collector.put_off():
        made = [[number] for number in range(20_000)]
    old = set(map(id, gc.get_objects(generation=2)))
    assert all(id(each) in old for each in made)


def test_what_is_thrown_away_again_and_again_is_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "_bound", 0)
    before = len(gc.get_objects())
    for _ in range(20):
        with collector.put_off():
            for each in [[number] for number in range(50_000)]:
                each.append(each)  # type: ignore[arg-type]
    assert len(gc.get_objects()) < 2 * before + 400_000


def test_what_somebody_else_has_frozen_stays_frozen() -> None:
    gc.freeze()
    try:
        with collector.put_off():
            pass
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()
