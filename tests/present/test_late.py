"""Reports about classes that are loaded after the probes were installed."""

from __future__ import annotations

from btpy.present.late import LateClasses, Urgency
from btpy.wire.messages import Late, LateOutcome

LOST_NAMES = "it would lose the names of its parameters"
FIXED = "the JVM does not let this class be changed"


def late(outcome: LateOutcome, reason: str = "", name: str = "com.acme.Foo") -> Late:
    return Late(name, "app", outcome, reason)


def test_normal_results_are_details() -> None:
    classes = LateClasses()
    assert classes.notice(late(LateOutcome.WOVEN)).urgency is Urgency.DETAIL
    assert classes.notice(late(LateOutcome.MISSED_DEADLINE, "it took 1 s")).urgency is Urgency.DETAIL
    notice = classes.notice(late(LateOutcome.LOST, "nobody answered"))
    assert (notice.urgency, notice.text) == (
        Urgency.WARNING,
        "com.acme.Foo (app) was without its probes until now: nobody answered",
    )


def test_changes_by_others_are_reported_ten_times() -> None:
    classes = LateClasses()
    notices = [classes.notice(late(LateOutcome.CHANGED, name=f"C{number}")) for number in range(11)]
    assert [notice.urgency for notice in notices] == [Urgency.INFORMATION] * 10 + [Urgency.DETAIL]
    assert notices[9].text.endswith("(-v shows further classes)")
    text = classes.notice(late(LateOutcome.CHANGED, "p is no longer in void f()"))
    assert text.urgency is Urgency.WARNING, "however many there were"


def test_refused_classes_have_their_code_and_permission() -> None:
    classes = LateClasses()
    first = classes.notice(late(LateOutcome.REFUSED, LOST_NAMES))
    assert first.urgency is Urgency.WARNING
    assert first.text.endswith(f"cannot be traced: {LOST_NAMES} [BT338]")
    assert first.permission is not None
    assert classes.refused == {"com.acme.Foo": "BT338"}
    for number in range(10):
        last = classes.notice(late(LateOutcome.REFUSED, LOST_NAMES, f"C{number}"))
    assert last.urgency is Urgency.DETAIL
    assert len(classes.refused) == 11


def test_lambda_classes_are_details_and_hide_no_other_class() -> None:
    classes = LateClasses()
    for number in range(11):
        notice = classes.notice(late(LateOutcome.REFUSED, FIXED, f"L/{number}"))
        assert (notice.urgency, notice.text.rpartition(" ")[2]) == (Urgency.DETAIL, "[BT337]")
    assert classes.notice(late(LateOutcome.REFUSED, LOST_NAMES)).urgency is Urgency.WARNING
