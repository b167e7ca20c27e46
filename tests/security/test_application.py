"""A traced application gains nothing from btpy: the JVM refuses its attempts to use btpy's classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

import btpy.engine.deployer
from btpy.codegen.handler_class import HandlerClass
from btpy.engine.instrumentation import handler_classes
from btpy.engine.session import Session
from btpy.events.aggregates import Count
from btpy.wire import messages
from tests.jdks import all_jdks, compiled, java
from tests.live.scripts import JAVA, program
from tests.targets import Target, target

CALLS = 1009
CALLS_AT_ATTACK = 101  # the number of calls after the attack on each class
CONTROL = "Intruder$Control"
CLASSES = (
    "btpy.agent.Agent",
    "btpy.agent.Tracer",
    "btpy.agent.HandlerClasses",
    "btpy.runtime.Memory",
    "btpy.runtime.InternalMemory",
    "btpy.runtime.Session",
    "btpy.runtime.AgentThread",
    "btpy.handlers.Starter",
)


@contextmanager
def intruder(jdk: int) -> Iterator[Target]:
    with target(jdk, "Intruder", classpath=[compiled([JAVA / "Intruder.java"])]) as jvm:
        yield jvm


def attacked(jvm: Target, classes: Sequence[str]) -> dict[str, str]:
    """The outcome of each attempt."""
    before = len(jvm.stdout)
    jvm.send(f"attack {' '.join(classes)}")
    jvm.wait_for("attacked")
    lines = jvm.stdout[before:-1]
    return {attempt: outcome for attempt, _, outcome in (line.rpartition(" ") for line in lines)}


def assert_refused(outcomes: dict[str, str], classes: int) -> None:
    control = {attempt: outcome for attempt, outcome in outcomes.items() if attempt.startswith(CONTROL)}
    assert set(control.values()) == {"succeeds"}
    assert len(control) == 7
    others = {attempt: outcome for attempt, outcome in outcomes.items() if attempt not in control}
    assert {attempt: outcome for attempt, outcome in others.items() if outcome != "refused"} == {}
    assert len(others) >= (classes - 1) * 5 + 8


@all_jdks
def test_an_application_gains_nothing(jdk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    handlers: list[str] = []

    def recorded(compiled: Sequence[HandlerClass]) -> tuple[messages.HandlerClass, ...]:
        handlers.extend(handler.class_name for handler in compiled)
        return handler_classes(compiled)

    monkeypatch.setattr(btpy.engine.deployer, "handler_classes", recorded)
    with intruder(jdk) as jvm:
        with Session.attach(jvm.pid) as session:
            session.deployer.load(program("Intruder::step { @n = count(); }"))
            classes = (CONTROL, *CLASSES, *handlers)
            assert len(classes) == len(CLASSES) + 2
            jvm.send(f"call {CALLS}")
            jvm.wait_for("called")
            outcomes = attacked(jvm, classes)
            assert_refused(outcomes, len(classes))
            assert "thread lookup" in outcomes
            jvm.send(f"call {CALLS}")
            jvm.wait_for("called")
            (counts,) = session.delivery.snapshot()
            assert counts.entries == (((), Count(2 * CALLS + CALLS_AT_ATTACK * len(classes))),)
            assert session.departure.detach().clean
        assert_refused(attacked(jvm, classes), len(classes))


@all_jdks
def test_modules_that_are_woven_can_call_handlers(jdk: int, tmp_path: Path) -> None:
    """A named module of the application and java.base itself do not read the handlers' module without a probe."""
    sources = {
        "module-info.java": "module modular { }",
        "modular/Program.java": PROGRAM,
    }
    for name, text in sources.items():
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    module = compiled([tmp_path / "src" / name for name in sources])
    # On JDK 11 the agent needs sun.misc.Unsafe.
    options = ["--add-modules", "jdk.unsupported"] if jdk == 11 else []
    command = [
        str(java(jdk)),
        "-Xverify:all",
        *options,
        "--module-path",
        str(module),
        "--module",
        "modular/modular.Program",
    ]
    jvm = Target(command)
    try:
        jvm.wait_for("ready")
        with Session.attach(jvm.pid) as session:
            session.deployer.load(
                program(
                    "modular.Program::step { @steps = count(); }"
                    '  @OnMethod(class="modular.Late", method="step", pending=true) { @late = count(); }'
                    "  java.util.BitSet::cardinality { @bits = count(); }"
                )
            )
            jvm.send(str(CALLS))
            jvm.wait_for("called")
            counts = {content.map.name: content.entries for content in session.delivery.snapshot()}
            assert session.departure.detach().clean
        assert counts == {name: (((), Count(CALLS)),) for name in ("steps", "late", "bits")}
    finally:
        jvm.stop()


PROGRAM = """
package modular;

public class Program {
    static void step(java.util.BitSet bits) {
        bits.cardinality();
    }

    public static void main(String[] arguments) throws Exception {
        java.io.BufferedReader input = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            for (int i = 0; i < Integer.parseInt(line); i++) {
                step(new java.util.BitSet());
                Late.step();
            }
            System.out.println("called");
        }
    }
}

class Late {
    static void step() {
    }
}
"""
