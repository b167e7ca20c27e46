"""Methods woven into class files before the JVM shows the classes: they fit, or the agent asks the client."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from btpy.classfile.reader import ClassFile
from btpy.engine import instrumentation
from btpy.engine.prewoven import prewoven_methods
from btpy.engine.session import Session
from btpy.events.aggregates import Count
from btpy.plan.plan import ClassPlan
from btpy.weave.weaver import weave_methods
from btpy.wire.messages import PrewovenMethods
from tests.jdks import all_jdks, compiled
from tests.live.scripts import JAVA, counted, counted_classes, program
from tests.targets import target
from tests.weave import advice

CALLS = 1009
SCRIPT = """
@OnMethod(class="Counted", method="*", location=ENTRY) { @entered = count(); }
@OnMethod(class="Counted", method="step", location=ENTRY) { @steps = count(); }
"""


def steps(session: Session) -> int:
    ((_, count),) = session.delivery.snapshot([1])[0].entries
    assert isinstance(count, Count)
    return count.n


@all_jdks
def test_the_agent_puts_in_prewoven_methods_without_asking(jdk: int, questions: list[str]) -> None:
    with counted(jdk, "-Xverify:all") as target, Session.attach(target.pid) as session:
        deployment = session.deployer.load(program(SCRIPT))
        assert questions == []
        assert deployment.waited_ns == 0
        assert deployment.methods == 3
        target.send(f"call {CALLS}")
        target.wait_for("called")
        assert steps(session) == CALLS
        receipt = session.departure.detach()
        assert receipt.clean
        assert receipt.restored == 1


@pytest.mark.replaces
def test_the_agent_asks_where_the_jvm_shows_something_else(
    monkeypatch: pytest.MonkeyPatch, questions: list[str]
) -> None:
    def of_other_bytes(*arguments: object) -> PrewovenMethods:
        prewoven = prewoven_methods(*arguments)  # type: ignore[arg-type]
        assert prewoven is not None
        return replace(prewoven, beginning=bytes(8) + prewoven.beginning[8:])

    monkeypatch.setattr(instrumentation, "prewoven_methods", of_other_bytes)
    with counted(17, "-Xverify:all") as target, Session.attach(target.pid) as session:
        deployment = session.deployer.load(program(SCRIPT))
        assert questions == ["Counted"]
        places = [(site.probe, site.method, site.descriptor) for site in session.deployer.sites.values()]
        assert len(places) == len(set(places)) == len(deployment.sites)
        target.send(f"call {CALLS}")
        target.wait_for("called")
        assert steps(session) == CALLS
        assert session.departure.detach().clean


@all_jdks
def test_classes_that_the_agent_loads_as_it_weaves_are_prewoven_too(jdk: int, questions: list[str]) -> None:
    script = '@OnMethod(class="Linked$*", method="hit") { @hits = count(); }'
    classes = compiled([JAVA / "Linked.java"])
    jvm = target(jdk, "Linked", classpath=[classes], flags=["-Xverify:all"])
    with jvm as linked, Session.attach(linked.pid) as session:
        assert [class_.loaded.name for class_ in session.deployer.match(program(script)).classes] == ["Linked$Early"]
        deployment = session.deployer.load(program(script))
        assert {site.class_name for site in deployment.sites} == {"Linked$Early", "Linked$Late"}
        assert questions == []
        linked.send(f"call {CALLS}")
        linked.wait_for(f"called {2 * CALLS}")
        ((_, hits),) = session.delivery.snapshot([0])[0].entries
        assert isinstance(hits, Count)
        assert hits.n == 2 * CALLS
        receipt = session.departure.detach()
        assert receipt.clean
        assert receipt.restored == 2


def test_a_class_whose_names_of_parameters_would_take_too_much_memory_is_not_prewoven(tmp_path: Path) -> None:
    """Its 20 methods share 100 names of 200 characters."""
    parameters = ", ".join(f"int {letter * 198}{number:02}" for letter in "ab" for number in range(50))
    methods = "".join(f"static void m{number}({parameters}) {{}}\n" for number in range(20))
    source = tmp_path / "Wordy.java"
    source.write_text(f"class Wordy {{ {methods} }}")
    file = ClassFile.parse((compiled([source], flags=["-parameters"]) / "Wordy.class").read_bytes())
    result = weave_methods(file, advice.everything(file), 1)
    assert prewoven_methods(1, file, result, (), names_lost=True) is None
    prewoven = prewoven_methods(1, file, result, (), names_lost=False)
    assert prewoven is not None
    assert prewoven.parameter_names == ()


def test_nothing_is_said_where_nothing_is_woven_or_something_is_refused() -> None:
    file = ClassFile.parse((Path(counted_classes()) / "Counted.class").read_bytes())
    none = weave_methods(file, ClassPlan(file.name, ()), 1)
    assert prewoven_methods(1, file, none, (), names_lost=True) is None
    result = weave_methods(file, advice.everything(file), 1)
    assert prewoven_methods(1, file, result, (), names_lost=True) is not None
    assert prewoven_methods(1, file, result._replace(refusals=(object(),)), (), names_lost=True) is None  # type: ignore[arg-type]
