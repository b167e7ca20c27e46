"""Site numbers: a session has a fixed number of them, and reports when they are used up."""

from __future__ import annotations

from pathlib import Path

from btpy.engine.instrumentation import Instrumentation
from btpy.engine.weave_state import WeaveState
from btpy.lang.check.checker import check_source
from btpy.model.source import Source
from btpy.plan.plan import SITES, RefusalReason, first_site
from btpy.wire.messages import ClassBytes, Verdict
from tests.jdks import compiled

SHOP = Path(__file__).parents[1] / "java" / "acme" / "Shop.java"
SLOT = 3


def asked(name: str) -> ClassBytes:
    data = (compiled([SHOP]) / "com" / "acme" / "shop" / f"{name}.class").read_bytes()
    return ClassBytes(1, 1, f"com.acme.shop.{name}", "app", "java.lang.Object", (), data)


def instrumentation(free_sites: int) -> Instrumentation:
    program = check_source(
        Source("probe.bt", "com.acme.shop.*::place { print(1) } com.acme.shop.*::quote { print(1) }")
    )
    weave_state = WeaveState(SLOT, "17.0.1")
    weave_state.take_sites(SITES - 1 - free_sites)
    return Instrumentation(program, weave_state, frozenset())


def verdict(session: Instrumentation, name: str) -> Verdict:
    answer = session.answer(asked(name))
    assert answer is not None
    return answer.verdict


def test_the_last_numbers_are_given_out() -> None:
    session = instrumentation(free_sites=2)
    assert verdict(session, "OrderService") is Verdict.WOVEN
    assert sorted(session.weave_state.sites) == [(SLOT + 1) * SITES - 2, (SLOT + 1) * SITES - 1]
    assert first_site(SLOT + 1) not in session.weave_state.sites


def test_classes_loaded_later_are_refused_by_name() -> None:
    session = instrumentation(free_sites=1)
    assert verdict(session, "OrderService") is Verdict.UNCHANGED
    assert session.weave_state.sites == {}
    (refusal,) = session.weave_state.refusals
    assert (refusal.reason, refusal.class_name) == (RefusalReason.NO_SITES, "com.acme.shop.OrderService")
    assert verdict(session, "PricingEngine") is Verdict.WOVEN  # this class needs only one number
