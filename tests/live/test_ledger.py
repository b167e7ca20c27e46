"""What the versions of a session's instrumentation share."""

from __future__ import annotations

import pytest

from btpy.lang.program import Point
from btpy.plan.plan import Site
from btpy.session.ledger import ARRIVING_SECONDS, Ledger


def site(number: int, probe: int, method: str = "run") -> Site:
    return Site(1 << 24 | number, probe, Point.ENTRY, "acme.Till", method, "()V", 7)


def test_it_knows_which_probes_are_in_a_class_now() -> None:
    ledger = Ledger(1, "17.0.15")
    ledger.wove("acme.Till", "app", [site(1, 0), site(2, 3)])
    ledger.wove("acme.Till", "other", [site(3, 0)])
    assert ledger.holding([3]) == [("acme.Till", "app")]
    assert ledger.holding([0]) == [("acme.Till", "app"), ("acme.Till", "other")]
    ledger.wove("acme.Till", "app", [site(4, 3)])
    ledger.wove("acme.Till", "other", [])
    assert ledger.holding([0]) == []
    assert ledger.holding([3]) == [("acme.Till", "app")]
    assert len(ledger.sites) == 4  # what old woven code still sends can be read
    assert len(ledger.methods(0)) == 2


def test_the_same_probes_in_the_same_bytes_have_the_same_sites() -> None:
    ledger = Ledger(1, "17.0.15")
    assert ledger.take_sites(3) == 1 << 24 | 1
    assert ledger.first_site("acme.Till", "app", b"hash", frozenset({0})) is None
    ledger.keep_sites("acme.Till", "app", b"hash", frozenset({0}), 2)
    assert ledger.first_site("acme.Till", "app", b"hash", frozenset({0})) == 1 << 24 | 4
    assert ledger.first_site("acme.Till", "app", b"hash", frozenset({0, 1})) is None
    assert ledger.next_site == 1 << 24 | 6


def test_classes_being_loaded_are_told_to_the_next_version(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("btpy.session.ledger.time.monotonic", lambda: now[0])
    ledger = Ledger(1, "17.0.15")
    before, after = object(), object()
    ledger.arrives("acme.Old", "app", before)
    now[0] += ARRIVING_SECONDS + 1
    ledger.arrives("acme.Till", "app", before)
    ledger.arrives("acme.Own", "app", after)
    assert ledger.take_arriving(after) == {("acme.Till", "app")}
    assert ledger.take_arriving(after) == set()
    assert ledger.take_arriving(object()) == {("acme.Own", "app")}
