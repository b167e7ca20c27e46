"""Flows on one thread, from script text to records."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from btpy.codegen.handler import compile_fire
from btpy.lang.check.binding import bind
from btpy.lang.inputs import InputKind
from tests.codegen.target import Box, Target, target
from tests.codegen.test_loops import _BASKET, NULL_OPERAND, program


@pytest.fixture(scope="module")
def jvm17() -> Iterator[Target]:
    with target(17) as jvm:
        yield jvm


def fired(jvm: Target, *bodies: str) -> list[tuple[object, ...]]:
    """The values that the bodies print when they fire one after the other in a session. No method ends between these
    firings.
    """
    checked_program = program(bodies[0] if len(bodies) == 1 else " }\nA::b { ".join(bodies))
    jvm.open()
    for probe in checked_program.probes:
        bound_probe = bind(checked_program, probe, _BASKET)
        inputs = [-1 if input_.kind is InputKind.FLOW else Box("a", "basket") for input_ in bound_probe.inputs]
        assert jvm.fire(compile_fire(checked_program, bound_probe), *inputs) == "void"
    return [record.values for record in jvm.events()]


def test_a_flow_has_values(jvm17: Target) -> None:
    body = """
    flow.n = 1; print(flow.id, flow.parent, flow.elapsed, flow.n);
    begin_flow(); flow.n += 2; flow.n++; flow.user = "ann";
    print(flow.id, flow.parent, flow.elapsed >= 0ns, flow.n, flow.user, flow.id != null);
    begin_flow(); print(flow.id, flow.parent, flow.n, flow.user);
    leave_flow(); print(flow.id, flow.n, flow.id == null);
    """
    assert fired(jvm17, body) == [
        (None,) * 4,
        (1, None, True, 3, "ann", True),
        (2, None, None, None),
        (None, None, True),
    ]


def test_flows_wait_with_an_object_in_their_order(jvm17: Target) -> None:
    body = """
    hand_over_flow($b);
    begin_flow(); hand_over_flow($b); begin_flow(); hand_over_flow($b); leave_flow(); hand_over_flow($b);
    begin_flow(); hand_over_flow($b); take_back_flow($b);
    resume_flow($b); print(flow.id); resume_flow($b); print(flow.id); resume_flow($b); print(flow.id);
    resume_flow($b); print(flow.id); resume_flow($b.list); print(flow.id);
    """
    # No flow has begun when the object is handed over for the first time, so the object gets no flow.
    assert fired(jvm17, body) == [(1,), (2,), (None,), (None,), (None,)]


def test_clearing_the_state_of_an_object_forgets_its_flows(jvm17: Target) -> None:
    body = """
    begin_flow(); hand_over_flow($b); hand_over_flow($b); state($b).n = 1; clear_state($b); leave_flow();
    resume_flow($b); print(flow.id, state($b).n);
    begin_flow(); hand_over_flow($b); state($b).n = 2; leave_flow(); resume_flow($b); print(flow.id, state($b).n);
    """
    assert fired(jvm17, body) == [(None, None), (2, 2)]


def test_what_cannot_carry_a_flow(jvm17: Target) -> None:
    jvm17.open()
    assert fired(jvm17, "begin_flow(); hand_over_flow($b.list[2]); print(1)") == []
    assert [error.kind for error in jvm17.errors()] == [NULL_OPERAND]
