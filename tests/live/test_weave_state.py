"""What the versions of a session's instrumentation share."""

from __future__ import annotations

import pytest

from btpy.engine.weave_state import ARRIVING_SECONDS, Foreseen, Ledger
from btpy.model.points import Point
from btpy.plan.plan import Site


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
    monkeypatch.setattr("btpy.engine.weave_state.time.monotonic", lambda: now[0])
    ledger = Ledger(1, "17.0.15")
    before, after = object(), object()
    ledger.arrives("acme.Old", "app", before)
    now[0] += ARRIVING_SECONDS + 1
    ledger.arrives("acme.Till", "app", before)
    ledger.arrives("acme.Own", "app", after)
    assert ledger.take_arriving(after) == {("acme.Till", "app")}
    assert ledger.take_arriving(after) == set()
    assert ledger.take_arriving(object()) == {("acme.Own", "app")}


def foreseen(ledger: Ledger, name: str, methods: int) -> int:
    first = ledger.first_foreseen_site()
    sites = tuple(Site(first + at, 0, Point.ENTRY, name, f"m{at}", "()V", 7) for at in range(methods))
    id_ = ledger.foresee(Foreseen(name, "java.lang.Object", (), b"print", None, frozenset({0}), sites, (), ()))
    assert id_ is not None
    return id_


def test_what_is_foreseen_is_woven_when_it_has_been_loaded() -> None:
    ledger = Ledger(1, "17.0.15")
    till, order = foreseen(ledger, "acme.Till", 3), foreseen(ledger, "acme.Order", 2)
    assert ledger.foreseen_methods(0) == 5
    assert not ledger.sites
    assert ledger.arrived(till, "app")
    assert ledger.foreseen_methods(0) == 2
    assert ledger.holding([0]) == [("acme.Till", "app")]
    assert {site.loader for site in ledger.sites.values()} == {"app"}
    assert ledger.first_site("acme.Till", "app", b"print", frozenset({0})) == min(ledger.sites)
    assert not ledger.arrived(till, "other"), "its sites are those of one class"
    ledger.forget_foreseen()
    assert ledger.foreseen_methods(0) == 0
    assert not ledger.arrived(order, "app")


def test_a_class_that_is_foreseen_to_stay_as_it_is_may_be_loaded_again() -> None:
    ledger = Ledger(1, "17.0.15")
    id_ = foreseen(ledger, "acme.Till", 0)
    assert ledger.arrived(id_, "app")
    assert ledger.arrived(id_, "other")
    assert ledger.take_arriving(object()) == {("acme.Till", "app"), ("acme.Till", "other")}


def test_answers_between_do_not_take_the_sites_of_what_is_foreseen() -> None:
    ledger = Ledger(1, "17.0.15")
    first = ledger.first_foreseen_site()
    taken = ledger.take_sites(7)
    foreseen(ledger, "acme.Till", 3)
    assert taken > first + 3
    assert ledger.first_foreseen_site() == first + 3
