"""While a session needs it the garbage collector is paused and threads switch often; afterwards both settings are
restored.
"""

from __future__ import annotations

import gc
import sys

import pytest

from btpy import interpreter
from btpy.wire.messages import Late, LateOutcome
from tests.wire.test_channel import connected


def test_the_garbage_collector_is_paused_until_the_last_user_ends() -> None:
    assert gc.isenabled()
    with interpreter.gc_paused():
        with interpreter.gc_paused():
            assert not gc.isenabled()
        with pytest.raises(KeyError):
            _fail()
        assert not gc.isenabled()
    assert gc.isenabled()


def _fail() -> None:
    with interpreter.gc_paused():
        raise KeyError


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with interpreter.gc_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_objects_that_were_made_during_the_pause_count_as_old() -> None:
    with interpreter.gc_paused():
        results = [[number] for number in range(20_000)]
    old = set(map(id, gc.get_objects(generation=2)))
    assert all(id(element) in old for element in results)


def test_garbage_of_many_pauses_is_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "_objects", 0)
    monkeypatch.setattr(interpreter, "_most_objects", 0)
    before = len(gc.get_objects())
    for _ in range(20):
        with interpreter.gc_paused():
            for cycle in [[number] for number in range(50_000)]:
                cycle.append(cycle)  # type: ignore[arg-type]
    assert len(gc.get_objects()) < 2 * before + 400_000


def test_objects_that_the_application_has_frozen_stay_frozen() -> None:
    gc.freeze()
    try:
        with interpreter.gc_paused():
            pass
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()


def test_the_switch_interval_is_short_until_the_last_user_ends() -> None:
    before = sys.getswitchinterval()
    assert before > interpreter.SHORT
    with interpreter.switch_interval():
        with interpreter.switch_interval():
            assert sys.getswitchinterval() == pytest.approx(interpreter.SHORT)
        assert sys.getswitchinterval() == pytest.approx(interpreter.SHORT)
    assert sys.getswitchinterval() == pytest.approx(before)


def test_the_shortest_interval_holds_in_whatever_order_users_leave() -> None:
    before = sys.getswitchinterval()
    first, second = interpreter.switch_interval(), interpreter.switch_interval(interpreter.SHORT / 2)
    with first:
        second.__enter__()
        assert sys.getswitchinterval() == pytest.approx(interpreter.SHORT / 2)
    assert sys.getswitchinterval() == pytest.approx(interpreter.SHORT / 2)
    second.__exit__(None, None, None)
    assert sys.getswitchinterval() == pytest.approx(before)


def test_the_interval_is_short_while_a_connection_is_open() -> None:
    before = sys.getswitchinterval()
    with connected() as both:
        both.peer.send(Late("com.acme.Order", "app", LateOutcome.WOVEN, ""))
        both.delivered.get(timeout=60)
        assert sys.getswitchinterval() == pytest.approx(interpreter.SHORT)
    assert sys.getswitchinterval() == pytest.approx(before)
