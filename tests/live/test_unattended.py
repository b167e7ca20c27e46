"""Sessions that outlive their client: they go on counting, clients can join them, and they end by themselves."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Sized
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from btpy.engine.session import Session
from btpy.engine.target import Limits
from btpy.errors import TargetGone, UsageError
from btpy.events.accounts import Cause
from btpy.events.aggregates import Count
from btpy.events.items import PrintedMaps, Records
from btpy.events.records import Record, StackRef
from btpy.jvm.connecting import Connecting
from btpy.lang.check.checker import check_source
from btpy.model.attachments import event_number
from btpy.model.source import Source
from btpy.wire.messages import Late, LateOutcome, SessionInfo, TellKind
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
from tests.tracer import tracing

UNATTENDED = Limits(unattended=True)
HOUR = 3600.0

SCRIPT = """
@OnMethod(class="Counted", method="step", location=ENTRY) when arg1 % 7 == 5 { print(arg1, stack(3)); }
@OnMethod(class="Counted", method="step", location=ENTRY) { @all = count(); @by[stack(2)] = count(); }
@OnEvent("told") { @told = count(); }
@OnEnd { print("end"); }
"""


@pytest.fixture(autouse=True)
def own_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.fixture(scope="module")
def shared() -> Iterator[Target]:
    """A program for the tests whose sessions end; at the end, no thread of the agent runs in it."""
    with counted(17) as target:
        yield target
        wait_until_the_agent_has_left(target)


def fives(calls: int) -> int:
    return sum(number % 7 == 5 for number in range(calls))


def left(target: Target, script: str = SCRIPT, *, ttl: float = HOUR, name: str = "") -> int:
    with Session.attach(target.pid, UNATTENDED) as session:
        session.deployer.load(program(script), missing="ignore")
        return session.departure.leave(ttl, name)


@contextmanager
def joined(target: Target, name_or_id: int | str) -> Iterator[Session]:
    with Connecting(target.pid) as connecting:
        session = Session.join(connecting, name_or_id if isinstance(name_or_id, str) else f"{name_or_id:08x}")
    with session:
        yield session


def has_length(length: int, values: Sized) -> bool:
    return len(values) == length


def listed(target: Target) -> tuple[SessionInfo, ...]:
    with Connecting(target.pid) as connecting, Session.enquire(connecting) as session:
        return session.agent.sessions()


def call(target: Target, times: int) -> None:
    target.send(f"call {times}")
    target.wait_for("called")


def method_of(session: Session, stack: object) -> str:
    assert isinstance(stack, StackRef)
    frames = session.delivery.stacks.frames(stack.id)
    assert frames is not None
    return frames[0].method


def counts(session: Session) -> dict[str, dict[Any, Any]]:
    return {content.map.name: dict(content.entries) for content in session.delivery.snapshot()}


@all_jdks_and_8
def test_probes_keep_counting_and_a_client_that_joins_gets_all_counts(jdk: int) -> None:
    with counted(jdk, "-Xverify:all") as target:
        with Session.attach(target.pid, UNATTENDED) as first:
            first.deployer.load(program(SCRIPT))
            call(target, 211)
            assert len(values_until(first, lambda result: len(result) == fives(211))) == fives(211)
            session = first.departure.leave(HOUR, "nightly")
        call(target, 1009)
        waited(lambda: listed(target)[0].waiting == fives(1009), "the session does not keep all events")
        (info,) = listed(target)
        assert (info.id, info.name, info.clients, info.probes, info.classes) == (session, "nightly", 0, 4, 1)
        assert info.waiting == fives(1009)
        assert 0 < info.ttl_ns <= HOUR * 1e9

        with joined(target, "nightly") as second:
            assert second.joined is not None
            assert second.joined.name == "nightly"
            assert listed(target)[0].clients == 1
            call(target, 503)
            records: list[Record] = []
            while len(records) < fives(1009) + fives(503):
                records += [
                    record
                    for item in second.delivery.items(0.1)
                    if isinstance(item, Records)
                    for record in item.records
                ]
            expected = [number for calls in (1009, 503) for number in range(calls) if number % 7 == 5]
            assert [record.values[0] for record in records] == expected
            assert {method_of(second, record.values[1]) for record in records} == {"step"}
            assert {record.thread for record in records} == {"main"}
            assert counts(second)["all"] == {(): Count(211 + 1009 + 503)}
            (by,) = counts(second)["by"].items()
            assert by[1] == Count(211 + 1009 + 503)
            second.agent.send("told")
            receipt = second.departure.detach()
            assert drained(second, None) == [(3, ())]
        assert receipt.clean
        account = receipt.accounts[0]
        assert (account.produced, account.delivered, account.dropped) == (fives(1009) + fives(503),) * 2 + (0,)
        assert listed(target) == ()
        wait_until_the_agent_has_left(target)
        call(target, 7)


def test_the_newest_events_are_kept_and_the_others_counted(shared: Target) -> None:
    script = '@OnMethod(class="Counted", method="step", location=ENTRY) { print(arg1); }'
    session = left(shared, script)
    call(shared, 10007)
    call(shared, 3)
    waited(lambda: listed(shared)[0].waiting == 5000, "the backlog is not what it should be")
    with joined(shared, session) as second:
        records = values_until(second, lambda result: len(result) == 5000)
        assert [values for _, values in records] == [(number,) for number in (*range(5010, 10007), 0, 1, 2)]
        receipt = second.departure.detach()
    (account,) = receipt.accounts
    assert (account.produced, account.delivered, account.dropped_by[Cause.UNATTENDED]) == (10010, 5000, 5010)
    assert account.dropped == 5010


def test_events_sent_to_earlier_clients_do_not_count_as_lost(shared: Target) -> None:
    script = '@OnMethod(class="Counted", method="step", location=ENTRY) { print(arg1); }'
    session = left(shared, script)
    for calls in (101, 103, 107):
        call(shared, calls)
        with joined(shared, session) as client:
            assert len(values_until(client, partial(has_length, calls))) == calls
            assert client.departure.leave(HOUR) == session
            (account,) = client.delivery.accounts.values()
            assert (account.produced, account.delivered, account.dropped) == (calls, calls, 0)
    with joined(shared, session) as client:
        assert client.departure.detach().clean


def test_a_client_that_is_killed_leaves_its_session_to_the_next(shared: Target) -> None:
    script = '@OnMethod(class="Counted", method="step", location=ENTRY) { @n = count(); }'
    session = left(shared, script)
    (result,) = listed(shared)
    with joined(shared, session) as client:
        assert client.joined is not None
        assert client.joined.age > result.age_ns / 1e9 > 0
        client.close()  # closes the connection, as the kernel does for a killed process
    call(shared, 13)
    waited(lambda: listed(shared)[0].clients == 0, "the client is still there")
    with joined(shared, session) as client:
        assert counts(client) == {"n": {(): Count(13)}}
        assert client.departure.detach().clean


def test_records_that_a_killed_client_was_not_sent_go_to_the_next() -> None:
    script = '@OnMethod(class="Counted", method="step", location=ENTRY) { print(arg1, stack(2)); }'
    with counted(17) as target:
        session = left(target, script)
        with tracing("attach", str(target.pid), f"{session:08x}") as client:
            call(target, 7)
            client.wait_for_printed(7)
            client.process.send_signal(signal.SIGSTOP)
            call(target, 9001)  # more records than fit into a socket, and fewer than the client has credit for
            client.process.kill()
        waited(lambda: listed(target)[0].clients == 0, "the JVM notices the end")
        with joined(target, session) as second:
            records: list[Record] = []
            deadline = time.monotonic() + PATIENCE
            while (not records or records[-1].values[0] != 9000) and time.monotonic() < deadline:
                items = second.delivery.items(0.1)
                records += [record for item in items if isinstance(item, Records) for record in item.records]
            assert {method_of(second, record.values[1]) for record in records} == {"step"}
            (account,) = second.departure.detach().accounts
        numbers = [record.values[0] for record in records]
        assert numbers == list(range(9001 - len(numbers), 9001))
        assert len(numbers) > 1000  # a Unix socket holds about half of the records
        dropped = account.dropped_by.get(Cause.UNATTENDED, 0)  # the JVM keeps 5,000
        assert (account.produced, account.delivered) == (len(numbers) + dropped, len(numbers))
        assert {record.thread for record in records} == {"main"}


def test_classes_loaded_without_a_client_are_woven_when_a_client_joins() -> None:
    script = """
    @OnMethod(class="Counted", method="step", location=ENTRY) { @steps = count(); }
    @OnMethod(class="+Counted$Shape", method="area", location=RETURN, pending=true) { @areas = count(); }
    """
    with counted(17) as target:
        session = left(target, script)
        target.send("late 3")
        target.wait_for("sum 5")
        call(target, 7)
        with joined(target, session) as client:
            assert client.joined is not None
            assert client.joined.deployment is not None
            assert client.joined.deployment.loaded_meanwhile == ("Counted$Square",)
            target.send("late 5")
            target.wait_for("sum 30")
            assert counts(client) == {"steps": {(): Count(7)}, "areas": {(): Count(5)}}
            receipt = client.departure.detach()
            assert (receipt.woven, receipt.restored) == (2, 2)


def test_two_sessions_on_one_class_keep_running_without_clients(shared: Target) -> None:
    script = '@OnMethod(class="Counted", method="step", location=ENTRY) { @n = count(); }'
    first, second = left(shared, script, name="one"), left(shared, script, name="two")
    call(shared, 11)
    assert [session.name for session in listed(shared)] == ["one", "two"]
    with joined(shared, first) as client:
        assert counts(client) == {"n": {(): Count(11)}}
        with pytest.raises(UsageError, match="another client is connected"), joined(shared, first):
            pass
        assert client.departure.detach().clean
    # The end of the first session changed the class, and no client was connected that could weave it again.
    call(shared, 7)
    with joined(shared, second) as client:
        late = next(
            item
            for item in client.delivery.items(PATIENCE)
            if isinstance(item, Late) and item.outcome is LateOutcome.LOST
        )
        assert (late.class_name, late.loader) == ("Counted", "app")
        call(shared, 13)
        assert counts(client) == {"n": {(): Count(11 + 13)}}
        assert client.departure.detach().clean


def test_its_time_to_live_ends_it(shared: Target) -> None:
    left(shared, ttl=1.0)
    wait_until_the_agent_has_left(shared)
    assert listed(shared) == ()
    call(shared, 101)
    assert Session.attach(shared.pid).departure.detach().woven == 0


def test_its_time_to_live_ends_it_under_a_client_too(shared: Target) -> None:
    session = left(shared, ttl=3.0)
    with joined(shared, session) as client, pytest.raises(TargetGone, match="time to live"):
        for _ in client.delivery.items(PATIENCE):
            pass
    wait_until_the_agent_has_left(shared)


def test_a_time_to_live_is_bounded(shared: Target) -> None:
    with Session.attach(shared.pid, UNATTENDED) as session:
        session.deployer.load(program(SCRIPT))
        with pytest.raises(UsageError, match="time to live"):
            session.departure.leave(25 * HOUR)
        call(shared, 3)  # the class has its original bytes
        assert session.departure.detach().clean


def test_exit_ends_the_session_and_the_next_client_sees_it(shared: Target) -> None:
    script = """
    @OnMethod(class="Counted", method="step", location=ENTRY) { print(arg1); @n = count(); }
    @OnMethod(class="Counted", method="step", location=RETURN) when arg1 == 9 { exit(71); }
    """
    session = left(shared, script)
    call(shared, 10)
    waited(lambda: listed(shared)[0].enabled == 0, "the probes go on")
    call(shared, 100)
    with joined(shared, session) as client:
        records = values_until(client, lambda result: len(result) == 11)
        assert records[-1] == (1, (71,))
        assert counts(client) == {"n": {(): Count(10)}}
        assert client.departure.detach().clean


def test_timers_and_printed_maps_keep_running() -> None:
    script = """
    @OnTimer(20ms) { print(@n); }
    @OnMethod(class="Counted", method="step", location=ENTRY) { @n = count(); }
    """
    with counted(17) as target:
        session = left(target, script)
        call(target, 19)
        waited(lambda: listed(target)[0].waiting > 2, "the timer does not run")
        with joined(target, session) as client:
            maps = [item for item in client.delivery.items(0.5) if isinstance(item, PrintedMaps)]
            assert len(maps) > 2
            assert dict(maps[-1].contents[0].entries) == {(): Count(19)}


def test_another_client_can_send_events_to_the_session() -> None:
    script = """
    @OnEvent("told") { @told = count(); }
    @Level(1)
    @OnMethod(class="Counted", method="step", location=ENTRY) { @n = count(); }
    """
    with counted(17) as target:
        session = left(target, script)
        with Connecting(target.pid) as connecting, Session.enquire(connecting) as control:
            (info,) = control.agent.sessions()
            assert (info.probes, info.enabled) == (2, 1)
            control.agent.tell(info.id, TellKind.LEVEL, 1)
            control.agent.tell(info.id, TellKind.EVENT, event_number("told") & 0xFFFFFFFF)
        assert listed(target)[0].enabled == 2
        call(target, 5)
        with joined(target, session) as client:
            waited(lambda: counts(client) == {"told": {(): Count(1)}, "n": {(): Count(5)}}, str(counts(client)))


def test_no_client_joins_an_attended_session(shared: Target) -> None:
    with Session.attach(shared.pid) as first:
        first.deployer.load(program(SCRIPT))
        (info,) = listed(shared)
        assert (info.clients, info.ttl_ns) == (1, 0)
        with pytest.raises(UsageError, match="ends with its client"), joined(shared, info.id):
            pass
        with pytest.raises(UsageError, match="no session 'zzz'"), joined(shared, "zzz"):
            pass
        call(shared, 3)
        assert first.departure.detach().clean


def test_scripts_invented_by_the_target_are_not_run(tmp_path: Path) -> None:
    """The target supplies the script of an unattended session, so btpy refuses a script that this user did not leave
    there.
    """
    with counted(17) as target:
        session = left(target)
        (tmp_path / "btpy" / "key").unlink()
        with pytest.raises(UsageError, match="another user"), joined(target, session):
            pass
        assert listed(target)[0].clients == 0


def test_a_target_that_ends_takes_it_along() -> None:
    with counted(17) as target:
        left(target)
        call(target, 3)
        target.process.stdin.close()  # type: ignore[union-attr]  # its main method returns
        assert target.wait() == 0
        assert target.stderr == []


def test_a_session_of_several_scripts_is_joined_with_all_of_them(shared: Target) -> None:
    first = """
    @OnMethod(class="Counted", method="step", location=ENTRY) { @n = count(); }
    @OnEnd { print("first"); }
    """
    second = '@OnMethod(class="Counted", method="step", location=RETURN) { print(retval); }'
    third = """
    @OnMethod(class="Counted", method="step", location=RETURN) { @returned = count(); }
    @OnEnd { print("third"); }
    """
    with Session.attach(shared.pid, UNATTENDED) as session:
        session.deployer.load(program(first))
        session.deployer.load(check_source(Source("2.bt", second), earlier=session.deployer.program))
        session.deployer.load(check_source(Source("3.bt", third), earlier=session.deployer.program), replacing=[2])
        number = session.departure.leave(HOUR)
    call(shared, 7)
    with joined(shared, number) as client:
        assert client.deployer.program is not None
        assert [probe.id for probe in client.deployer.program.active] == [0, 1, 3, 4]
        assert counts(client) == {"n": {(): Count(7)}, "returned": {(): Count(6)}}
        assert client.departure.detach().clean
        assert drained(client, None) == [(1, ()), (4, ())]
