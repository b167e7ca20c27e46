"""Adding and removing probes during a session: no event is lost or counted twice, and nothing stays in the target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from btpy.engine.agent import Agent
from btpy.engine.deployer import Deployment
from btpy.engine.session import Session
from btpy.errors import BtpyError, NothingMatched, ScriptError
from btpy.events.aggregates import Count
from btpy.lang.check.checker import check_source
from btpy.lang.link.libraries import Libraries
from btpy.lang.program import Program
from btpy.model.source import Source
from tests.jdks import all_jdks, compiled
from tests.live.scripts import JAVA, counted, drained, values_until
from tests.live.test_loaders import guests
from tests.live.test_storms import PATIENT, THREADS
from tests.live.traffic import called, started, stopped, traffic
from tests.targets import Target, target

CALLS = 1009
BREAKS = '@OnLowMemory(pool="nonesuch", above=0.9) { print("low") }'
"""A script that passes the check and the installation, and that the agent refuses as the last step."""


def extended(session: Session, text: str, without: Iterable[int] = ()) -> Program:
    program = session.deployer.program
    assert program is not None
    return check_source(Source("test.bt", text), earlier=program.without(without))


def begun(session: Session, text: str) -> Deployment:
    return session.deployer.load(check_source(Source("test.bt", text)))


def counts(session: Session) -> dict[str, int]:
    """The latest map of each name, among the maps without keys."""
    results = {}
    for content in session.delivery.snapshot():
        for key, value in content.entries:
            assert key == ()
            assert isinstance(value, Count)
            results[content.map.name] = value.n
    return results


def ids(session: Session, *names: str) -> list[int]:
    program = session.deployer.program
    assert program is not None
    return [probe.id for probe in program.active if probe.name in names]


@pytest.fixture(scope="module")
def shared() -> Iterator[Target]:
    """One program for all tests that leave it as they found it."""
    with traffic() as running:
        yield running


def test_a_tried_script_does_not_affect_later_ones(shared: Target) -> None:
    with Session.attach(shared.pid) as session:
        begun(session, "Traffic::serve @entry { @old = count(); }")
        tried = extended(session, "Traffic::serve @entry { @tried = count(); }")
        session.deployer.match(tried)
        session.deployer.rehearse(tried)
        with pytest.raises(ScriptError):
            session.deployer.rehearse(extended(session, "Traffic::serve @entry { @tried = sum(arg0.length); }"))
        session.deployer.load(extended(session, "Traffic::serve @entry { @new = count(); @more = count(); }"))
        called(shared, CALLS)
        assert counts(session) == {"old": CALLS, "new": CALLS, "more": CALLS}


@all_jdks
def test_replacing_under_load_counts_every_call_once(jdk: int) -> None:
    versions = 13
    with traffic(jdk, "-Xverify:all") as program, Session.attach(program.pid) as session:
        begun(
            session,
            "Traffic::serve @return { @v0 = count(); @all = count(); } Traffic.Other::turn @entry { @n = count() }",
        )
        started(program, 4)
        for version in range(1, versions):
            old = ids(session, "serve")
            assert len(old) == 1
            text = f"Traffic::serve @return {{ @v{version} = count(); @all = count(); }}"
            session.deployer.load(extended(session, text, old), replacing=old)
        calls = stopped(program)
        result = counts(session)
        assert result["all"] == result["n"] == calls
        # The threads may stop before they call the last version.
        assert sum(result.get(f"v{version}", 0) for version in range(versions)) == calls
        assert session.deployer.remove(ids(session, "serve", "turn")) == 2
        called(program, CALLS)
        assert counts(session) == result
        receipt = session.departure.detach()
        assert receipt.clean
        assert receipt.woven == 0


def test_probes_share_a_class_and_leave_it_one_by_one(shared: Target) -> None:
    with Session.attach(shared.pid) as session:
        begun(session, "Traffic::serve @entry { @a = count(); }")
        session.deployer.load(extended(session, "Traffic::serve @entry { @b = count(); }"))
        called(shared, CALLS)
        assert session.deployer.remove([0]) == 0
        called(shared, CALLS)
        assert session.deployer.remove([1]) == 1
        called(shared, CALLS)
        assert counts(session) == {"a": CALLS, "b": 2 * CALLS}
        session.deployer.load(extended(session, "Traffic::serve @entry { @a = count(); }"))
        called(shared, 7)
        assert counts(session) == {"a": CALLS + 7, "b": 2 * CALLS}
        assert session.departure.detach().woven == 1


def test_a_version_that_does_not_fit_leaves_the_old_one(shared: Target) -> None:
    with Session.attach(shared.pid) as session:
        begun(session, "Traffic::serve @entry { @a = count(); }")
        for text, error in [
            ("Traffic::serve @entry { @a = count(; }", ScriptError),
            ("Traffic::serve @entry { @a = sum(arg7); }", ScriptError),
            ("Traffic::srve @entry { @a = count(); }", NothingMatched),
            (f"Traffic::serve @entry {{ @a = count(); }} {BREAKS}", ScriptError),
        ]:
            with pytest.raises(error):
                session.deployer.load(extended(session, text, [0]), replacing=[0])
            called(shared, CALLS)
        assert counts(session) == {"a": 4 * CALLS}
        assert session.deployer.remove([0]) == 1
        assert session.departure.detach().clean


def test_a_version_that_fails_when_it_is_woven_already_is_taken_out(
    shared: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = Agent.run_every

    def refused(agent: Agent, period: int, site: int, handler: str) -> None:
        if period:
            raise BtpyError("no timers today")
        once(agent, period, site, handler)

    monkeypatch.setattr(Agent, "run_every", refused)
    with Session.attach(shared.pid) as session:
        begun(session, "Traffic::serve @entry { @a = count(); }")
        turn = "Traffic.Other::turn @entry { @t = count() }"
        text = f"Traffic::serve @entry {{ @b = count(); }} {turn} @OnTimer(1ms) {{ exit() }}"
        with pytest.raises(BtpyError, match="no timers"):
            session.deployer.load(extended(session, text, [0]), replacing=[0])
        called(shared, CALLS)
        assert counts(session) == {"a": CALLS}
        session.deployer.load(extended(session, turn))
        called(shared, CALLS)
        assert counts(session) == {"a": 2 * CALLS, "t": CALLS}
        receipt = session.departure.detach()
        assert (receipt.clean, receipt.woven) == (True, 2)


def test_a_first_script_that_fails_late_leaves_nothing(shared: Target) -> None:
    with Session.attach(shared.pid) as session:
        with pytest.raises(ScriptError):
            begun(session, f"Traffic::serve @entry {{ @a = count(); }} @OnTimer(1ms) {{ @t = count(); }} {BREAKS}")
        called(shared, CALLS)
        assert counts(session) == {}
        session.deployer.load(extended(session, "Traffic::serve @entry { @a = count(); }"))
        called(shared, CALLS)
        assert counts(session) == {"a": CALLS}
        assert session.departure.detach().clean


def test_another_session_keeps_its_probes(shared: Target) -> None:
    with Session.attach(shared.pid) as one, Session.attach(shared.pid) as other:
        begun(one, "Traffic::serve @entry { @a = count(); }")
        begun(other, "Traffic::serve @entry { @b = count(); }")
        called(shared, CALLS)
        assert one.deployer.remove([0]) == 1
        called(shared, CALLS)
        assert counts(one) == {"a": CALLS}
        assert counts(other) == {"b": 2 * CALLS}
        assert other.deployer.remove([0]) == 1
        assert one.departure.detach().clean
        assert other.departure.detach().clean


def test_timers_hooks_and_ends_go_with_their_script(shared: Target) -> None:
    first = '@OnEvent("hit") { print("first hit") } @OnEnd { print("first end") } @OnTimer(1ms) { @ticks = count(); }'
    second = '@OnEvent("hit") { print("second hit") } @OnEnd { print("second end") }'
    with Session.attach(shared.pid) as session:
        begun(session, first)
        session.deployer.load(extended(session, second))
        session.agent.send("hit")
        assert [values for _, values in values_until(session, lambda result: len(result) == 2)] == [(), ()]
        session.deployer.remove([0, 2])
        assert [probe for probe, _ in values_until(session, lambda result: len(result) == 1)] == [1]
        ticks = counts(session)
        session.agent.send("hit")
        assert [probe for probe, _ in values_until(session, lambda result: len(result) == 1)] == [3]
        assert counts(session) == ticks
        session.deployer.load(extended(session, '@OnEvent("hit") { print("third hit") }', [3, 4]), replacing=[3, 4])
        session.agent.send("hit")
        assert [probe for probe, _ in values_until(session, lambda result: len(result) == 2)] == [4, 5]
        session.departure.detach()
        assert drained(session, None) == []


def test_thread_variables_and_maps_are_those_of_the_scripts_before(shared: Target) -> None:
    with Session.attach(shared.pid) as session:
        begun(session, "Traffic::serve @entry { thread.last = arg0; }")
        called(shared, 3)
        reads = """
        Traffic.Other::turn @entry {
          thread.turns += 1; @seen[thread.last == arg0] = count(); @turns = max(thread.turns);
        }
        """
        session.deployer.load(extended(session, reads))
        called(shared, CALLS)
        results = {content.map.name: dict(content.entries) for content in session.delivery.snapshot()}
        assert results["seen"] == {(True,): Count(CALLS)}
        assert results["turns"][()].number == CALLS  # type: ignore[union-attr]
        with pytest.raises(ScriptError) as error:
            extended(session, 'Traffic::serve @entry { thread.last = "text"; @seen[true] = sum(1); }')
        assert [diagnostic.code for diagnostic in error.value.diagnostics] == ["BT203", "BT203"]


def test_a_subscriber_goes_without_its_host(shared: Target, tmp_path: Path) -> None:
    path = tmp_path / "turns.bt"
    path.write_text(
        '@OnMethod(class="Traffic$Other", method="turn") probe turn { provide(number=arg0); @turns = count(); }'
    )
    libraries = Libraries((tmp_path,))
    text = 'import "turns.bt" as turns; @OnProbe(turns.turn) probe own { @own = sum(event.number); }'
    with Session.attach(shared.pid) as session:
        session.deployer.load(check_source(Source("test.bt", text), libraries))
        called(shared, 11)
        session.deployer.remove(ids(session, "own"))
        called(shared, 11)
        results = {content.map.name: dict(content.entries) for content in session.delivery.snapshot()}
        assert results["own"][()].number == sum(range(11))  # type: ignore[union-attr]
        assert results["turns.turns"] == {(): Count(22)}


STORM = '@OnMethod(class="G???7", location=EXIT, pending=true) { @by[cls, method] = count(); }'


def test_no_class_that_is_loaded_meanwhile_keeps_a_removed_probe() -> None:
    classes = 499
    arguments = [str(THREADS), str(classes), str(guests())]
    storming = target(17, "Storm", *arguments, classpath=[compiled([JAVA / "Storm.java"])], flags=["-Xverify:all"])
    with storming as storm, Session.attach(storm.pid, PATIENT) as session:
        begun(session, STORM)
        storm.send()
        for _ in range(5):
            program = session.deployer.program
            assert program is not None
            session.deployer.remove([probe.id for probe in program.active])
            session.deployer.load(extended(session, STORM))
        session.deployer.remove(ids(session, "probe"))
        assert storm.wait_for("ran ") == f"ran {THREADS * classes}"
        receipt = session.departure.detach()
        assert (receipt.clean, receipt.woven) == (True, 0)


def test_classes_that_are_loaded_meanwhile_count_every_call_once() -> None:
    classes = 499
    text = STORM
    arguments = [str(THREADS), str(classes), str(guests())]
    storming = target(17, "Storm", *arguments, classpath=[compiled([JAVA / "Storm.java"])], flags=["-Xverify:all"])
    with storming as storm, Session.attach(storm.pid, PATIENT) as session:
        session.deployer.load(check_source(Source("test.bt", text)))
        storm.send()
        for _ in range(5):
            program = session.deployer.program
            assert program is not None
            old = [probe.id for probe in program.active]
            session.deployer.load(extended(session, text, old), replacing=old)
        assert storm.wait_for("ran ") == f"ran {THREADS * classes}"
        maps = {content.map.name: dict(content.entries) for content in session.delivery.snapshot()}
        names = [f"G{number:04d}" for number in range(7, classes, 10)]
        assert maps["by"] == {(name, method): Count(THREADS) for name in names for method in ("<init>", "run")}
        program = session.deployer.program
        assert program is not None
        assert session.deployer.remove([probe.id for probe in program.active]) == len(names)
        assert session.departure.detach().woven == 0


def test_records_of_two_scripts_keep_their_script_after_one_is_removed() -> None:
    with counted(17) as program, Session.attach(program.pid) as session:
        begun(session, 'Counted::step @entry { print("one", arg1) }')
        session.deployer.load(extended(session, 'Counted::step @entry { print("two", arg1) }'))
        program.send("call 2")
        program.wait_for("called")
        session.deployer.remove([0])
        program.send("call 1")
        program.wait_for("called")
        result = values_until(session, lambda result: len(result) == 5)
        assert sorted(result) == [(0, (0,)), (0, (1,)), (1, (0,)), (1, (0,)), (1, (1,))]
