"""What is woven into class files before the JVM has shown the classes: it fits, or the agent asks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from btpy.classfile.reader import ClassFile
from btpy.events.aggregates import Count
from btpy.plan.plan import ClassPlan
from btpy.session import instrumentation
from btpy.session.ahead import woven_ahead
from btpy.session.session import Session
from btpy.weave.weaver import weave_methods
from btpy.wire.messages import WovenAhead
from tests.jdks import all_jdks
from tests.live.scripts import counted, counted_classes, program
from tests.weave import advice

CALLS = 1009
SCRIPT = """
@OnMethod(class="Counted", method="*", location=ENTRY) { @entered = count(); }
@OnMethod(class="Counted", method="step", location=ENTRY) { @steps = count(); }
"""


def steps(session: Session) -> int:
    ((_, counted),) = session.snapshot([1])[0].entries
    assert isinstance(counted, Count)
    return counted.n


@all_jdks
def test_the_agent_puts_in_what_was_woven_ahead_without_asking(jdk: int, asked: list[str]) -> None:
    with counted(jdk, "-Xverify:all") as target, Session.attach(target.pid) as session:
        deployment = session.load(program(SCRIPT))
        assert asked == []
        assert deployment.waited_ns == 0
        assert deployment.methods == 3
        target.send(f"call {CALLS}")
        target.wait_for("called")
        assert steps(session) == CALLS
        receipt = session.detach()
        assert receipt.clean
        assert receipt.restored == 1


def test_the_agent_asks_where_the_jvm_shows_something_else(monkeypatch: pytest.MonkeyPatch, asked: list[str]) -> None:
    def of_other_bytes(*arguments: object) -> WovenAhead:
        ahead = woven_ahead(*arguments)  # type: ignore[arg-type]
        assert ahead is not None
        return replace(ahead, beginning=bytes(len(ahead.beginning)))

    monkeypatch.setattr(instrumentation, "woven_ahead", of_other_bytes)
    with counted(17, "-Xverify:all") as target, Session.attach(target.pid) as session:
        deployment = session.load(program(SCRIPT))
        assert asked == ["Counted"]
        places = [(site.probe, site.method, site.descriptor) for site in session.sites.values()]
        assert len(places) == len(set(places)) == len(deployment.sites)
        target.send(f"call {CALLS}")
        target.wait_for("called")
        assert steps(session) == CALLS
        assert session.detach().clean


def test_nothing_is_said_where_nothing_is_woven_or_something_is_refused() -> None:
    file = ClassFile.parse((Path(counted_classes()) / "Counted.class").read_bytes())
    none = weave_methods(file, ClassPlan(file.name, ()), 1)
    assert woven_ahead(1, file, none, ()) is None
    woven = weave_methods(file, advice.everything(file), 1)
    assert woven_ahead(1, file, woven, ()) is not None
    assert woven_ahead(1, file, woven._replace(refusals=(object(),)), ()) is None  # type: ignore[arg-type]
