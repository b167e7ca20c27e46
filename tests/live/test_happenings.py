"""Probes at events of the JVM: uncaught exceptions, loaded classes, full memory, library events, failing probes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from btpy.engine.session import Session
from btpy.errors import ScriptError
from btpy.events.aggregates import Count
from btpy.events.items import Records
from btpy.wire.messages import ErrorKind, Errors
from tests.jdks import all_jdks, compiled
from tests.live.scripts import drained, program, values_until
from tests.targets import Target, target

JAVA = Path(__file__).parents[1] / "java"
DEAD = 13


@contextmanager
def happening(jdk: int, *flags: str) -> Iterator[Target]:
    classes = compiled([JAVA / "Happening.java"], release=11)
    with target(jdk, "Happening", classpath=[classes], flags=flags) as jvm:
        yield jvm


@all_jdks
def test_exceptions_that_end_threads(jdk: int) -> None:
    script = """
    @OnUncaught { print(thread_name, message(exception), frame(exception, 0)); }
    @OnUncaught(type="+Happening$Boom") { @boom[typeof(exception)] = count(); }
    """
    with happening(jdk, "-Xverify:all") as jvm, Session.attach(jvm.pid) as session:
        deployment = session.deployer.load(program(script))
        assert (deployment.methods, deployment.classes) == (1, 1)
        jvm.send(f"die {DEAD}")
        result = values_until(session, lambda result: len(result) == DEAD)
        assert [values[:2] for _, values in result] == [
            (f"dying-{n}", f"boom {n}" if n % 3 == 0 else f"state {n}") for n in range(DEAD)
        ]
        assert str(result[0][1][2]).startswith("Happening.lambda$main$")
        jvm.wait_for("died")
        (content,) = session.delivery.snapshot()
        assert dict(content.entries)[("Happening$Boom",)] == Count(5)
        receipt = session.departure.detach()
        assert receipt.clean
        assert receipt.woven == 1


@all_jdks
def test_classes_being_loaded(jdk: int) -> None:
    script = '@OnClassLoad(class="+Happening$First") { print(cls, loader, size > 100B, thread_name); }'
    with happening(jdk) as jvm, Session.attach(jvm.pid) as session:
        session.deployer.load(program(script))
        jvm.send("load")
        result = values_until(session, lambda result: len(result) == 2)
        assert sorted(values for _, values in result) == [
            (name, "app", True, "btpy-events") for name in ("Happening$First", "Happening$Second")
        ]
        receipt = session.departure.detach()
        assert receipt.woven == 0
        assert receipt.clean


def test_a_class_load_after_restoring_runs_no_hook() -> None:
    script = '@OnClassLoad(class="Happening$*") { print(cls); }'
    with happening(17) as jvm, Session.attach(jvm.pid) as session:
        session.deployer.load(program(script))
        session.departure.restore()
        jvm.send("load")
        jvm.wait_for("loaded")
        session.departure.detach()
        assert drained(session, None) == []


def test_a_memory_pool_that_fills_up_is_reported_once() -> None:
    script = '@OnLowMemory(pool="*Old Gen", above=0.5) { print(pool, used > limit / 2, limit); }'
    with happening(17, "-XX:+UseSerialGC", "-Xmx96m") as jvm, Session.attach(jvm.pid) as session:
        session.deployer.load(program(script.replace("*Old Gen", "Tenured Gen")))
        jvm.send("fill 53")
        result = values_until(session, lambda result: len(result) == 1)
        assert result[0][1][:2] == ("Tenured Gen", True)
        assert result[0][1][2] == 64 << 20
        jvm.wait_for("filled")
        session.departure.detach()
        assert drained(session, None) == []


def test_a_memory_pool_that_is_not_there_names_those_that_are() -> None:
    with happening(17, "-XX:+UseSerialGC") as jvm, Session.attach(jvm.pid) as session:
        with pytest.raises(ScriptError) as caught:
            session.deployer.load(program('@OnLowMemory(pool="Tenred Gen") { print(1); }'))
        (diagnostic,) = caught.value.diagnostics
        assert diagnostic.code == "BT308"
        assert diagnostic.message == "no memory pool matches"
        assert "Tenured Gen" in diagnostic.notes[0]


def test_events_are_sent_by_probes_and_by_the_client() -> None:
    script = """
    Happening::step @entry { @n = count(); if @n == 7 { send("seven"); } }
    @OnEvent("seven") { print("seven", thread_name); send("next"); }
    @OnEvent("next") { print("next"); }
    @OnEvent("next") { print("next too"); }
    @OnEvent("") { print("signal"); }
    """
    with happening(17) as jvm, Session.attach(jvm.pid) as session:
        session.deployer.load(program(script))
        session.agent.send("")
        session.agent.send("unheard of")
        jvm.send("step 11")
        result = values_until(session, lambda result: len(result) == 4)
        assert result == [(4, ()), (1, ("btpy-events",)), (2, ()), (3, ())]
        session.departure.detach()


def test_error_probes_see_other_failing_probes_and_never_themselves() -> None:
    script = """Happening::step @entry { print(arg0.nothing); }
Happening::step @entry when arg0.missing == 1 {
  print(1);
}
@OnError { print(error.kind, error.line, error.count); print(1 / (error.count - error.count)); }
"""
    with happening(17) as jvm, Session.attach(jvm.pid) as session:
        session.deployer.load(program(script))
        jvm.send("step 11")
        jvm.wait_for("stepped")
        session.departure.detach()
        items = list(session.delivery.items(None))
    errors: Counter[tuple[object, ...]] = Counter()
    for records in (item.records for item in items if isinstance(item, Records)):
        for record in records:
            *where, count = record.values
            assert isinstance(count, int)
            errors[tuple(where)] += count
    assert errors == {("no-field", 1): 11, ("no-field", 2): 11}
    failures = [failure for item in items if isinstance(item, Errors) for failure in item.failures]
    assert sum(failure.count for failure in failures if failure.probe == 2) >= 1
    assert {failure.kind for failure in failures if failure.probe == 2} <= {ErrorKind.DIV_ZERO}
