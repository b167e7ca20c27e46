"""The stages of a rollout: when the next one begins, and when all probes must come out."""

from __future__ import annotations

import pytest

from btpy.api.rollout import Bounds, Breach, Observed, Rollout, decide, stages_of
from btpy.errors import UsageError

BOUNDS = Bounds(errors=2, seconds=10.0)
START = Rollout((1, 3), BOUNDS)
TRACED = Observed("web1", is_settled=True, is_traced=True)


def after(rollout: Rollout, *moments: tuple[float, list[Observed]]) -> Rollout:
    """The rollout after these decisions, none of which found a breach."""
    for now, observed in moments:
        decision = decide(rollout, observed, now)
        assert isinstance(decision, Rollout), decision
        rollout = decision
    return rollout


@pytest.mark.parametrize(
    ("canary", "then", "hosts", "stages"),
    [
        ("1", ["10%", "all"], 40, (1, 4, 40)),
        ("1", ["10%"], 40, (1, 4, 40)),
        ("1", [], 3, (1, 3)),
        ("1", ["10%", "50%"], 5, (1, 3, 5)),
        ("5%", ["10%"], 41, (3, 5, 41)),
        ("7", ["all"], 5, (5,)),
        ("all", [], 5, (5,)),
        ("3", ["2"], 9, (3, 9)),
    ],
)
def test_stages_grow_to_all_hosts(canary: str, then: list[str], hosts: int, stages: tuple[int, ...]) -> None:
    assert stages_of(canary, then, hosts) == stages


@pytest.mark.parametrize("text", ["0", "-1", "0%", "101%", "1.5", "many", "", "1 ", "٣", "9999999"])
def test_a_size_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="takes a number of hosts"):
        stages_of("1", [text], 10)


def test_a_stage_begins_when_the_one_before_has_kept_its_bounds_long_enough() -> None:
    connecting = Observed("web1")
    assert after(START, (0.0, [connecting]), (99.0, [connecting])) == START
    settled = after(START, (100.0, [TRACED]))
    assert after(settled, (109.9, [TRACED])) == settled
    second = after(settled, (110.0, [TRACED]))
    assert (second.stage, second.hosts, second.has_passed) == (1, 3, False)
    failure = Observed("web2", is_settled=True)
    third = after(second, (111.0, [TRACED, failure, Observed("web3")]), (500.0, [TRACED, failure, Observed("web3")]))
    assert third == second
    last = [TRACED, failure, Observed("web3", is_settled=True, is_traced=True)]
    passed = after(third, (501.0, last), (511.0, last))
    assert (passed.stage, passed.hosts, passed.has_passed) == (2, 3, True)


@pytest.mark.parametrize(
    ("observed", "breach"),
    [
        (
            Observed("web1", taken=0.034, allowed=0.02),
            Breach(
                "web1",
                "budget",
                "its probes took 3.4 % of one core, 2 % are allowed: "
                "1.4 percentage points too much, 1.7 times the bound",
            ),
        ),
        (
            Observed("web1", is_settled=True, is_traced=True, errors=1009),
            Breach("web1", "errors", "1 009 probe errors, 2 are allowed: 1 007 too many"),
        ),
        (Observed("web1", is_traced=True, gone="the JVM 7 has ended"), Breach("web1", "lost", "the JVM 7 has ended")),
        (Observed("web1", is_settled=True), Breach("", "hosts", "none of 1 host is traced")),
    ],
)
def test_a_breach_says_which_bound_and_by_how_much(observed: Observed, breach: Breach) -> None:
    assert decide(START, [observed], 1.0) == (breach,)


def test_every_host_that_breaks_a_bound_is_named() -> None:
    hosts = [TRACED, Observed("web2", errors=3, gone="lost"), Observed("web3", errors=2)]
    decision = decide(Rollout((3,), BOUNDS), hosts, 1.0)
    assert isinstance(decision, tuple)
    assert [(breach.host, breach.bound) for breach in decision] == [("web2", "errors"), ("web2", "lost")]


def test_bounds_are_those_of_stages_and_not_of_the_run_after_them() -> None:
    passed = Rollout((1,), BOUNDS, stage=1)
    assert decide(passed, [Observed("web1", errors=1009, gone="lost")], 1.0) == passed
