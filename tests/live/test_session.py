"""Sessions on real JVMs: installing probes, receiving events, and restoring classes in every way of leaving."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from btpy.engine.agent_probes import AgentProbe
from btpy.engine.session import Session
from btpy.engine.target import Limits
from btpy.errors import NothingMatched, ScriptError, TargetGone, UsageError
from btpy.events.accounts import Cause
from btpy.events.aggregates import Count
from btpy.plan.plan import RefusalReason
from btpy.wire.messages import Late, LateOutcome
from tests.jdks import all_jdks_and_8
from tests.live.scripts import (
    counted,
    drained,
    program,
    values_until,
    wait_until_the_agent_has_left,
    waited,
)
from tests.targets import PATIENCE, Target

CALLS = 1009

SCRIPT = """
@OnBegin { print("begin"); }
@OnMethod(class="Counted", method="step", location=ENTRY) { print(arg0, arg1); }
@OnMethod(class="Counted", method="step", location=RETURN) when retval % 2 == 0 { @even = count(); }
@OnMethod(class="Counted", method="step", location=THROW) { @refused[message(exception)] = count(); }
@OnEnd { print("end"); }
"""


def refused_below(calls: int) -> int:
    return sum(number % 7 == 3 for number in range(calls))


@pytest.fixture(scope="module")
def shared() -> Iterator[Target]:
    """A program for the tests that leave it as they found it; at the end, no thread of the agent runs in it."""
    with counted(17) as target:
        yield target
        wait_until_the_agent_has_left(target)


@all_jdks_and_8
def test_everything_arrives_once_and_everything_is_put_back(jdk: int, own_tmp: Path) -> None:
    with counted(jdk, "-Xverify:all") as target:
        with Session.attach(target.pid) as session:
            assert session.target.pid == target.pid
            assert session.target.main == "Counted"
            deployment = session.deployer.load(program(SCRIPT))
            assert (deployment.methods, deployment.classes, len(deployment.sites)) == (1, 1, 3)
            assert not deployment.refusals
            target.send(f"call {CALLS}")
            assert target.wait_for("called") == f"called {CALLS} refused {refused_below(CALLS)}"
            result = values_until(session, lambda result: len(result) == CALLS + 1)
            assert result[0] == (0, ())
            assert result[1:] == [(1, ("abc", number)) for number in range(CALLS)]

            restored = session.departure.restore()
            assert (restored.woven, restored.restored, restored.not_restored) == (1, 1, ())
            target.send(f"call {CALLS}")
            target.wait_for("called")

            maps = {content.map.name: dict(content.entries) for content in session.delivery.snapshot()}
            results = [3 + number for number in range(CALLS) if number % 7 != 3]
            assert maps["even"] == {(): Count(sum(value % 2 == 0 for value in results))}
            assert maps["refused"] == {(f"refused {n}",): Count(1) for n in range(CALLS) if n % 7 == 3}

            receipt = session.departure.detach()
            assert drained(session, None) == [(4, ())]
        assert receipt.clean
        assert [(account.produced, account.delivered, account.dropped) for account in receipt.accounts] == [
            (1, 1, 0),
            (CALLS, CALLS, 0),
            (0, 0, 0),
            (0, 0, 0),
            (1, 1, 0),
        ]
        assert [account.fired for account in receipt.accounts] == [1, 1009, 432, 144, 1]
        wait_until_the_agent_has_left(target)
    assert list(own_tmp.iterdir()) == []


@all_jdks_and_8
def test_a_class_that_is_loaded_later_is_woven_as_it_is_loaded(jdk: int) -> None:
    script = '@OnMethod(class="+Counted$Shape", method="area", location=RETURN, pending=true) { print(arg0, retval); }'
    with counted(jdk) as target, Session.attach(target.pid) as session:
        assert session.deployer.load(program(script)).methods == 0
        target.send("late 3")
        target.wait_for("sum 5")
        records = values_until(session, lambda result: len(result) == 3)
        assert records == [(0, (0.0, 0.0)), (0, (1.0, 1.0)), (0, (2.0, 4.0))]
        receipt = session.departure.detach()
        assert receipt.clean
        assert receipt.woven == 1
        (site,) = session.deployer.sites.values()
        assert (site.class_name, site.method, site.descriptor) == ("Counted$Square", "area", "(D)D")


def test_a_narrow_operation_in_any_class_looks_at_few(shared: Target) -> None:
    script = '@OnMethod(class="**", method="*", location=CALL(class="Counted$Shape", method="area")) { @n = count(); }'
    with Session.attach(shared.pid) as session:
        deployment = session.deployer.load(program(script))
        assert (deployment.methods, deployment.classes) == (1, 1)
        assert [class_.loaded.name for class_ in deployment.matching.classes if class_.file is not None] == ["Counted"]
        (site,) = session.deployer.sites.values()
        assert (site.class_name, site.method, site.member) == ("Counted", "main", "area")
        assert session.departure.detach().clean


def test_a_missing_operation_is_answered_with_those_that_exist(shared: Target) -> None:
    script = '@OnMethod(class="Counted*", method="*", location=CALL(class="Counted$Shape", method="aera")) { exit(); }'
    with Session.attach(shared.pid) as session:
        with pytest.raises(NothingMatched) as error:
            session.deployer.load(program(script))
        (diagnostic,) = error.value.diagnostics
        assert diagnostic.code == "BT307"
        assert "Counted$Shape::area" in repr(diagnostic)


def test_late_classes_count_towards_the_limit_of_methods() -> None:
    script = """
    @OnMethod(class="+Counted$Shape", method="*", max=1, pending=true) { @n = count(); }
    @OnMethod(class="+Counted$Shape", method="*", max=2, pending=true) { @m = count(); }
    """
    with counted(17) as target, Session.attach(target.pid) as session:
        session.deployer.load(program(script))
        target.send("late 3")
        target.wait_for("sum 5")
        counts = {content.map.name: dict(content.entries) for content in session.delivery.snapshot()}
        assert counts == {"n": {}, "m": {(): Count(4)}}, "a constructor and three calls"
        (refusal,) = [refusal for refusal in session.deployer.refusals if refusal.class_name == "Counted$Square"]
        assert refusal.reason is RefusalReason.TOO_MANY


def test_handlers_go_in_as_many_messages_as_they_need(monkeypatch: pytest.MonkeyPatch, shared: Target) -> None:
    monkeypatch.setattr("btpy.engine.agent.INSTALL_BYTES", 1)
    with Session.attach(shared.pid) as session:
        session.deployer.load(program(SCRIPT))
        shared.send(f"call {CALLS}")
        shared.wait_for("called")
        assert len(values_until(session, lambda result: len(result) == CALLS + 1)) == CALLS + 1
        assert session.departure.detach().handler_classes >= 5


def test_a_late_class_is_reported() -> None:
    script = '@OnMethod(class="Counted$Square", method="area", pending=true) { @n = count(); }'
    with counted(17) as target, Session.attach(target.pid) as session:
        session.deployer.load(program(script))
        target.send("late 1")
        target.wait_for("sum 0")
        late = next(item for item in session.delivery.items(PATIENCE) if isinstance(item, Late))
        assert (late.class_name, late.loader, late.outcome) == ("Counted$Square", "app", LateOutcome.WOVEN)
        session.departure.detach()


def test_a_class_that_is_loaded_between_search_and_watch_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    script = '@OnBegin { print(0); } @OnMethod(class="Counted$Square", method="area", pending=true) { print(arg0); }'
    with counted(17) as target, Session.attach(target.pid) as session:
        run_once = session.deployer._run_once

        def load_meanwhile(probes: Sequence[AgentProbe]) -> None:
            target.send("late 1")
            target.wait_for("sum 0")
            run_once(probes)

        monkeypatch.setattr(session.deployer, "_run_once", load_meanwhile)
        assert session.deployer.load(program(script)).methods == 1
        monkeypatch.undo()
        target.send("late 2")
        target.wait_for("sum 1")
        assert values_until(session, lambda result: len(result) == 3) == [(0, (0,)), (1, (0.0,)), (1, (1.0,))]
        assert session.departure.detach().clean


def test_two_sessions_see_the_same_calls_and_leave_in_either_order(shared: Target) -> None:
    script = program('@OnMethod(class="Counted", method="step") { print(arg1); }')
    for first_out in (0, 1):
        with Session.attach(shared.pid) as one, Session.attach(shared.pid) as two:
            sessions = [one, two]
            for session in sessions:
                session.deployer.load(script)
            shared.send("call 11")
            shared.wait_for("called 11")
            for session in sessions:
                assert len(values_until(session, lambda result: len(result) >= 11)) == 11
            assert sessions[first_out].departure.detach().accounts[0].delivered == 11
            shared.send("call 13")
            shared.wait_for("called 13")
            staying = sessions[1 - first_out]
            assert len(values_until(staying, lambda result: len(result) >= 13)) == 13
            last = staying.departure.detach()
            assert not last.not_restored
    wait_until_the_agent_has_left(shared)


def test_timers_run_until_the_probes_are_stopped(shared: Target) -> None:
    with Session.attach(shared.pid) as session:
        session.deployer.load(program("@OnTimer(20ms) { print(1); }"))
        values_until(session, lambda result: len(result) >= 3)
        receipt = session.departure.detach()
        assert receipt.woven == 0
        drained(session, None)
        assert receipt.accounts[0].produced == receipt.accounts[0].delivered


def test_timers_that_take_longer_than_their_period_leave_time_for_the_client(shared: Target) -> None:
    timer = "@OnTimer(1ms) { for i in 0..1000 { for k in 0..9 { @n[i] = count(); } } }"
    with Session.attach(shared.pid) as session:
        session.deployer.load(program("\n".join([timer] * 50)))
        for _ in range(3):
            ((_, first), *_) = session.delivery.snapshot()[0].entries
            assert isinstance(first, Count)
        assert session.departure.detach().clean


def test_a_disabled_probe_is_silent_until_it_is_enabled(shared: Target) -> None:
    with Session.attach(shared.pid) as session:
        session.deployer.load(program('@OnMethod(class="Counted", method="step") { @n = count(); }'))
        for on, expected in ((False, None), (True, Count(5))):
            session.agent.enable(0, on)
            shared.send("call 5")
            shared.wait_for("called")
            (content,) = session.delivery.snapshot()
            assert dict(content.entries).get((), None) == expected or content.entries == ()
        session.departure.detach()


def test_patterns_without_a_match_are_diagnosed_with_similar_names(shared: Target) -> None:
    with Session.attach(shared.pid) as session:
        with pytest.raises(NothingMatched) as caught:
            session.deployer.load(program('@OnMethod(class="Countd", method="step") { print(1); }'))
        (diagnostic,) = caught.value.diagnostics
        assert diagnostic.code == "BT301"
        assert "Counted" in " ".join(diagnostic.help)
        assert session.departure.detach().woven == 0


@pytest.mark.parametrize(
    ("attachment", "code"),
    [
        ('class="Counted", method="stp"', "BT303"),
        ('class="Counted", method="step", type="void (long)"', "BT305"),
        ('class="Counted", method="unavailable"', "BT304"),
    ],
)
def test_each_reason_for_matching_no_method_has_its_diagnostic(attachment: str, code: str, shared: Target) -> None:
    with Session.attach(shared.pid) as session:
        with pytest.raises(NothingMatched) as caught:
            session.deployer.load(program(f"@OnMethod({attachment}) {{ print(1); }}"))
        assert [diagnostic.code for diagnostic in caught.value.diagnostics] == [code]


@pytest.mark.parametrize("method", ["step", "nothing"])
def test_classes_that_exclude_leaves_out_are_named(shared: Target, method: str) -> None:
    with Session.attach(shared.pid) as session:
        with pytest.raises(NothingMatched) as caught:
            session.deployer.load(
                program(f'@OnMethod(class="Counted", method="{method}", exclude="Coun*") {{ print(1); }}')
            )
        (diagnostic,) = caught.value.diagnostics
        assert diagnostic.code == "BT301"
        assert diagnostic.message == "exclude= leaves out all classes that match: Counted"
        assert diagnostic.primary.span.text == '"Coun*"'


def test_an_interface_without_code_points_to_its_implementors(shared: Target) -> None:
    with Session.attach(shared.pid) as session:
        shared.send("late 1")
        shared.wait_for("sum")
        with pytest.raises(NothingMatched) as caught:
            session.deployer.load(program('@OnMethod(class="Counted$Shape", method="area") { print(1); }'))
        (diagnostic,) = caught.value.diagnostics
        assert diagnostic.code == "BT302"
        assert "Square" in diagnostic.help[0]


@pytest.mark.parametrize(("missing", "warnings"), [("warn", ["BT301"]), ("ignore", [])])
def test_missing_probes_can_be_warned_of_or_ignored(missing: str, warnings: list[str], shared: Target) -> None:
    script = program(
        '@OnMethod(class="Nope", method="step") { print(1); }\n'
        '@OnMethod(class="Counted", method="step") { @n = count(); }'
    )
    with Session.attach(shared.pid) as session:
        deployment = session.deployer.load(script, missing=missing)
        assert [warning.code for warning in deployment.warnings] == warnings
        assert deployment.methods == 1
        session.departure.detach()


def test_a_probe_that_does_not_fit_its_method_touches_nothing(shared: Target) -> None:
    with Session.attach(shared.pid) as session:
        with pytest.raises(ScriptError):
            session.deployer.load(program('@OnMethod(class="Counted", method="step") { print(arg5); }'))
        assert session.deployer.sites == {}
        assert session.departure.detach().woven == 0


def test_more_methods_than_allowed_are_refused(shared: Target) -> None:
    with Session.attach(shared.pid) as session:
        with pytest.raises(UsageError, match="the limit is 2"):
            session.deployer.load(program('@OnMethod(class="java.util.**", method="*", max=2) { @n = count(); }'))
        session.departure.detach()


def test_only_core_classes_that_have_the_method_are_reported(shared: Target) -> None:
    with Session.attach(shared.pid) as session:
        text = '@OnMethod(class="**", method="{}", max=10000) {{ @n = count(); }}'
        refusals = [
            session.deployer.match(program(text.format(name))).refusals for name in ("step", "getContextClassLoader")
        ]
        session.departure.detach()
    core = [
        {refusal.class_name for refusal in found if refusal.reason is RefusalReason.PROTECTED} for found in refusals
    ]
    assert core == [set(), {"java.lang.Thread"}]


def test_core_classes_are_left_alone(shared: Target) -> None:
    with Session.attach(shared.pid) as session:
        with pytest.raises(NothingMatched) as caught:
            session.deployer.load(program('@OnMethod(class="java.lang.Object", method="toString") { @n = count(); }'))
        assert caught.value.diagnostics[0].code == "BT340"
        session.departure.detach()


def test_records_with_annotated_types_need_permission() -> None:
    """JDK-8376185: fixed in 25.0.4, and the JDK of this test is older."""
    script = program('@OnMethod(class="Recorded$*", method="*", location=ENTRY) { @n[cls] = count(); }')
    from tests.jdks import compiled
    from tests.live.scripts import JAVA
    from tests.targets import target as started

    classes = compiled([JAVA / "Recorded.java"], release=17)
    with started(25, "Recorded", classpath=[classes]) as target:
        with Session.attach(target.pid) as session:
            refusals = [refusal for refusal in session.deployer.load(script).refusals if refusal.method is None]
            session.departure.detach()
        assert [(refusal.reason, refusal.class_name) for refusal in refusals] == [
            (RefusalReason.RECORD, "Recorded$Annotated")
        ]
        with Session.attach(target.pid) as session:
            allowed = session.deployer.load(script, allow=["annotated-records"])
            assert [refusal for refusal in allowed.refusals if refusal.method is None] == []
            target.send()
            target.wait_for("size 6")
            session.departure.detach()


def test_leaving_without_detach_puts_everything_back(own_tmp: Path, shared: Target) -> None:
    with contextlib.suppress(KeyboardInterrupt), Session.attach(shared.pid) as session:
        session.deployer.load(program(SCRIPT))
        raise KeyboardInterrupt
    wait_until_the_agent_has_left(shared)
    with Session.attach(shared.pid) as session:  # the bytes that a new session sees are those of the class file
        deployment = session.deployer.load(program('@OnMethod(class="Counted", method="step") { @n = count(); }'))
        assert deployment.methods == 1
        assert session.departure.detach().clean
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("btpy-w")]
    assert list(own_tmp.iterdir()) == []


@pytest.mark.parametrize("moment", ["idle", "load", "restore", "detach"])
def test_a_target_that_is_killed_is_reported_at_every_moment(moment: str) -> None:
    with counted(17) as target, Session.attach(target.pid) as session:
        script = program(SCRIPT)
        if moment != "load":
            session.deployer.load(script)
        next_step: dict[str, Callable[[], object]] = {
            "idle": lambda: drained(session, None),
            "load": lambda: session.deployer.load(script),
            "restore": session.departure.restore,
            "detach": session.departure.detach,
        }
        os.kill(target.pid, signal.SIGKILL)
        with pytest.raises(TargetGone):
            next_step[moment]()


def test_events_before_the_end_of_the_target_are_not_lost() -> None:
    with counted(17) as target, Session.attach(target.pid) as session:
        session.deployer.load(program('@OnMethod(class="Counted", method="step") { print(arg1); }'))
        target.send("call 7")
        target.wait_for("called")
        results: list[Any] = []
        while len(results) < 7:
            results += drained(session, 0.05)
        target.send("halt")
        with pytest.raises(TargetGone):  # noqa: PT012 - the records have to be counted on the way
            while True:
                results += drained(session, 0.05)
        assert len(results) == 7


FLOOD = f'Counted::step {{ print(replace(arg0, "b", "{"x" * 190}"), arg1); }}'
"""Its records are large, so that few of them fill the buffers."""


def test_a_flood_is_counted_exactly_and_the_rest_is_dropped_not_waited_for() -> None:
    with counted(17) as target, Session.attach(target.pid, Limits(event_buffer_bytes=1 << 17)) as session:
        session.deployer.load(program(FLOOD))
        target.send("forever")
        target.wait_for("running")
        count = len(values_until(session, lambda result: len(result) > 5_000))
        receipt = session.departure.detach()
        count += len(drained(session, None))
    (account,) = receipt.accounts
    assert account.delivered == count
    assert account.produced == account.delivered + account.dropped
    assert account.dropped > 0
    assert receipt.clean


def test_a_client_that_stops_reading_bounds_the_queue() -> None:
    with counted(17) as target, Session.attach(target.pid, Limits(event_buffer_bytes=1 << 20)) as session:
        session.deployer.load(program(FLOOD))
        target.send("forever")
        target.wait_for("running")
        waited(
            lambda: any(account.dropped_by[Cause.RING] for account in session.delivery.accounts.values()),
            "nothing is dropped",
        )
        receipt = session.departure.detach()
        count = len(drained(session, None))
    (account,) = receipt.accounts
    assert account.delivered == count
    assert account.produced == account.delivered + account.dropped


def test_a_killed_client_leaves_the_target_as_it_was(tmp_path: Path, own_tmp: Path) -> None:
    script = tmp_path / "client.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys
            from btpy.engine.session import Session
            from btpy.lang.check.checker import check_source
            from btpy.model.source import Source
            session = Session.attach(int(sys.argv[1]))
            probe = '@OnMethod(class="Counted", method="step") { print(arg1); }'
            session.deployer.load(check_source(Source("test.bt", probe)))
            print("woven", flush=True)
            for _ in session.delivery.items(None):
                pass
            """
        )
    )
    with counted(17) as target:
        client = subprocess.Popen(
            [sys.executable, str(script), str(target.pid)],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        assert client.stdout is not None
        assert client.stdout.readline() == b"woven\n"
        client.kill()
        client.wait()
        client.stdout.close()
        wait_until_the_agent_has_left(target)
        target.send("call 5")
        assert target.wait_for("called") == f"called 5 refused {refused_below(5)}"
    assert list(own_tmp.iterdir()) == []
