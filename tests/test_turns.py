"""Turns are short while anybody wants them so, a channel among others, and afterwards as they were."""

from __future__ import annotations

import sys

import pytest

from btpy import turns
from btpy.wire.messages import Late, LateOutcome
from tests.wire.test_channel import connected


def test_they_are_short_until_the_last_one_has_left() -> None:
    before = sys.getswitchinterval()
    assert before > turns.SHORT
    with turns.short():
        with turns.short():
            assert sys.getswitchinterval() == pytest.approx(turns.SHORT)
        assert sys.getswitchinterval() == pytest.approx(turns.SHORT)
    assert sys.getswitchinterval() == pytest.approx(before)


def test_the_shortest_that_anybody_wants_hold_whoever_leaves_first() -> None:
    before = sys.getswitchinterval()
    first, second = turns.short(), turns.short(turns.SHORT / 2)
    with first:
        second.__enter__()
        assert sys.getswitchinterval() == pytest.approx(turns.SHORT / 2)
    assert sys.getswitchinterval() == pytest.approx(turns.SHORT / 2)
    second.__exit__(None, None, None)
    assert sys.getswitchinterval() == pytest.approx(before)


def test_they_are_short_while_a_connection_is_open() -> None:
    before = sys.getswitchinterval()
    with connected() as both:
        both.peer.send(Late("com.acme.Order", "app", LateOutcome.WOVEN, ""))
        both.delivered.get(timeout=60)
        assert sys.getswitchinterval() == pytest.approx(turns.SHORT)
    assert sys.getswitchinterval() == pytest.approx(before)
