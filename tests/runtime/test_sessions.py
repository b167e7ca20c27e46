"""Entering, depth, errors, objects and stacks."""

from __future__ import annotations

import pytest

from btpy.events.records import StackRef
from tests.runtime.harness import Outcome


@pytest.mark.parametrize(
    "fact",
    [
        "enter",
        "other-slot",
        "unknown-probe",
        "disabled",
        "guarded",
        "inside",
        "given-up",
        "inside-again",
        "left",
        "other-thread",
        "agent",
        "agent-elsewhere",
        "tid",
        "closed",
    ],
)
def test_guard(outcome: Outcome, fact: str) -> None:
    assert outcome.fact("guard", fact) == "true"


@pytest.mark.parametrize(
    ("fact", "value"),
    [
        ("outermost", 0),
        ("second", 1),
        ("third", 2),
        ("other-probe", 0),
        ("healed", 1),
        ("again", 0),
        ("counted", 16_384),
        ("uncounted", 100_000 - 16_384),
        ("closed", -1),
    ],
)
def test_depth(outcome: Outcome, fact: str, value: int) -> None:
    assert int(outcome.fact("depth", fact)) == value


def test_uncounted_depth_is_an_error_of_the_probe(outcome: Outcome) -> None:
    assert outcome.errors("depth")[1, 0, 8].count == 100_000 - 16_384


def test_errors(outcome: Outcome) -> None:
    assert outcome.fact("errors", "quiet") == "true"
    assert outcome.fact("errors", "since") == "true"
    diagnostic = {key: (row.count, row.message) for key, row in outcome.errors("errors").items()}
    count, message = diagnostic.pop((2, 300, 0))
    assert count == 1
    assert message.startswith("btpy.runtime.SessionScenarios$")  # an anonymous class
    assert message.endswith(": odd")
    assert diagnostic == {
        (1, 100, 1): (2, "null operand"),
        (1, 200, 4): (1, "java.lang.ArithmeticException: / by zero"),
        (1, 200, 2): (1, "java.lang.ClassCastException: no"),
        (2, 200, 8): (1, "java.lang.StackOverflowError"),
        (5, 55, 3): (2, ""),
        (5, 0, 10): (1, ""),
        (7, 0, 2): (8 * 3334, "bad cast"),
        (7, 1, 2): (8 * 3333, "bad cast"),
        (7, 2, 2): (8 * 3333, "bad cast"),
    }
    assert outcome.counters("errors")[4].fired
    assert not outcome.counters("errors")[5].fired


@pytest.mark.parametrize("fact", ["same", "right", "apart", "reflected"])
def test_stacks_that_are_found_again(outcome: Outcome, fact: str) -> None:
    assert outcome.fact("stacksAgain", fact) == "true"


def test_stacks(outcome: Outcome) -> None:
    assert outcome.fact("stacks", "interned") == "true"
    assert outcome.fact("stacks", "distinct") == "true"
    defined = outcome.stacks("stacks")
    record, of_throwable = outcome.records("stacks")
    shallow, deep = record.values
    assert isinstance(shallow, StackRef)
    assert isinstance(deep, StackRef)
    frames = [(frame.class_name, frame.method) for frame in defined[shallow.id]]
    # The runtime cuts its own frames at the top only. The driver and its scenarios are in btpy.runtime, too, but lower
    # in the stack.
    driver = [("btpy.runtime.ObjectScenarios", "stacks"), ("btpy.runtime.RuntimeDriver", "main")]
    assert frames == [("app.StackProbe", "capture")] * 4 + driver
    assert len({frame.line for frame in defined[shallow.id][1:4]}) == 1
    assert len(defined[deep.id]) == 8
    thrown, none = of_throwable.values
    assert none is None
    assert isinstance(thrown, StackRef)
    top = defined[thrown.id][0]
    assert (top.class_name, top.method) == ("app.StackProbe", "fail")


def test_exception_is_read_without_its_monitor_or_its_methods(outcome: Outcome) -> None:
    assert outcome.fact("stacks", "monitor") == "true"
    assert outcome.fact("stacks", "frameOf").startswith("app.StackProbe.fail:")
    assert outcome.fact("stacks", "frame").startswith("app.StackProbe.frame:")
    assert outcome.fact("stacks", "past") == "null null null"


def test_stack_table_is_bounded(outcome: Outcome) -> None:
    assert outcome.fact("stacks", "overflowed") == "true"


@pytest.mark.parametrize(
    ("fact", "value"),
    [
        ("own", "1250"),
        ("super", "7"),
        ("char", "$"),
        ("boolean", "true"),
        ("float", "1.5"),
        ("short", "-3"),
        ("byte", "-4"),
        ("null", "null"),
        ("composed", "base"),
        ("length", "3"),
        ("absent", "btpy.runtime.ApplicationObjects$Money has no field nosuch"),
        ("element", "5"),
        ("list", "b"),
        ("linked", "b"),
        ("nullList", "null"),
        ("not-a-list", "2"),
        ("site", "a.Bm()V12"),
        ("no-site", "null0"),
        ("pid", "4711"),
        ("wall", "true"),
    ],
)
def test_fields_and_facts(outcome: Outcome, fact: str, value: str) -> None:
    assert outcome.fact("fields", fact) == value


@pytest.mark.parametrize("fact", ["distinct", "full", "reused", "kept"])
def test_slots(outcome: Outcome, fact: str) -> None:
    assert outcome.fact("slots", fact) == "true"


class TestThreadValues:
    """``thread.x``: values of 16,384 threads at once. Values of ended threads are gone."""

    @pytest.mark.parametrize("fact", ["nothing", "absent", "object", "cleared"])
    def test_facts(self, outcome: Outcome, fact: str) -> None:
        assert outcome.fact("thread-values", fact) == "true"

    def test_no_more_threads_than_there_is_room_for(self, outcome: Outcome) -> None:
        count = int(outcome.fact("thread-values", "kept"))
        assert 15_000 < count <= 16_384
        assert int(outcome.fact("thread-values", "refused")) == 20_000 - count
        assert outcome.errors("thread-values")[1, 777, 6].count == 20_000 - count

    def test_threads_that_ended_give_their_room_back(self, outcome: Outcome) -> None:
        assert int(outcome.fact("thread-values", "kept-again")) == 8_000
        assert int(outcome.fact("thread-values", "kept-at-last")) == 8_000

    def test_a_live_thread_keeps_its_values(self, outcome: Outcome) -> None:
        assert outcome.fact("thread-values", "of-a-live-thread") == "2.5"
