"""State shared by the versions of a session's instrumentation."""

from __future__ import annotations

import pytest

from btpy.engine.weave_state import ARRIVING_SECONDS, PrewovenRecord, WeaveState
from btpy.model.points import Point
from btpy.plan.plan import Site


def site(number: int, probe: int, method: str = "run", loader: str = "app") -> Site:
    return Site(1 << 24 | number, probe, Point.ENTRY, "acme.Till", method, "()V", 7, loader=loader)


def test_it_knows_which_probes_are_in_a_class_now() -> None:
    weave_state = WeaveState(1, "17.0.15")
    weave_state.wove("acme.Till", "app", [site(1, 0), site(2, 3)])
    weave_state.wove("acme.Till", "other", [site(3, 0, loader="other")])
    assert weave_state.holding([3]) == [("acme.Till", "app")]
    assert weave_state.holding([0]) == [("acme.Till", "app"), ("acme.Till", "other")]
    weave_state.wove("acme.Till", "app", [site(4, 3)])
    weave_state.wove("acme.Till", "other", [])
    assert weave_state.holding([0]) == []
    assert weave_state.holding([3]) == [("acme.Till", "app")]
    assert len(weave_state.sites) == 4  # the client can still read the records of old woven code
    assert len(weave_state.methods(0)) == 2


def test_the_same_probes_in_the_same_bytes_have_the_same_sites() -> None:
    weave_state = WeaveState(1, "17.0.15")
    assert weave_state.take_sites(3) == 1 << 24 | 1
    assert weave_state.first_site("acme.Till", "app", b"hash", frozenset({0})) is None
    weave_state.keep_sites("acme.Till", "app", b"hash", frozenset({0}), 2)
    assert weave_state.first_site("acme.Till", "app", b"hash", frozenset({0})) == 1 << 24 | 4
    assert weave_state.first_site("acme.Till", "app", b"hash", frozenset({0, 1})) is None
    assert weave_state.next_site == 1 << 24 | 6


def test_the_next_version_learns_of_classes_being_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("btpy.engine.weave_state.time.monotonic", lambda: now[0])
    weave_state = WeaveState(1, "17.0.15")
    before, after = object(), object()
    weave_state.arrives("acme.Old", "app", before)
    now[0] += ARRIVING_SECONDS + 1
    weave_state.arrives("acme.Till", "app", before)
    weave_state.arrives("acme.Own", "app", after)
    assert weave_state.take_arriving(after) == {("acme.Till", "app")}
    assert weave_state.take_arriving(after) == set()
    assert weave_state.take_arriving(object()) == {("acme.Own", "app")}


def prewoven(weave_state: WeaveState, name: str, methods: int) -> int:
    first = weave_state.first_prewoven_site()
    sites = tuple(Site(first + at, 0, Point.ENTRY, name, f"m{at}", "()V", 7) for at in range(methods))
    id_ = weave_state.preweave(
        PrewovenRecord(name, "java.lang.Object", (), b"print", None, frozenset({0}), sites, (), ())
    )
    assert id_ is not None
    return id_


def test_prewoven_classes_count_as_woven_once_loaded() -> None:
    weave_state = WeaveState(1, "17.0.15")
    till, order = prewoven(weave_state, "acme.Till", 3), prewoven(weave_state, "acme.Order", 2)
    assert weave_state.prewoven_method_count(0) == 5
    assert not weave_state.sites
    assert weave_state.arrived(till, "app")
    assert weave_state.prewoven_method_count(0) == 2
    assert weave_state.holding([0]) == [("acme.Till", "app")]
    assert {site.loader for site in weave_state.sites.values()} == {"app"}
    assert weave_state.first_site("acme.Till", "app", b"print", frozenset({0})) == min(weave_state.sites)
    assert not weave_state.arrived(till, "other"), "its sites are those of one class"
    weave_state.forget_prewoven()
    assert weave_state.prewoven_method_count(0) == 0
    assert not weave_state.arrived(order, "app")


def test_a_class_prewoven_without_changes_may_be_loaded_again() -> None:
    weave_state = WeaveState(1, "17.0.15")
    id_ = prewoven(weave_state, "acme.Till", 0)
    assert weave_state.arrived(id_, "app")
    assert weave_state.arrived(id_, "other")
    assert weave_state.take_arriving(object()) == {("acme.Till", "app"), ("acme.Till", "other")}


def test_answers_do_not_use_the_sites_of_prewoven_classes() -> None:
    weave_state = WeaveState(1, "17.0.15")
    first = weave_state.first_prewoven_site()
    sites = weave_state.take_sites(7)
    prewoven(weave_state, "acme.Till", 3)
    assert sites > first + 3
    assert weave_state.first_prewoven_site() == first + 3
