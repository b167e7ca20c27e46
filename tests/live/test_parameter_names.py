"""Names of parameters survive tracing, also on JVMs that drop them from every retransformed class (JDK-8240908: JDK 11,
17 before 17.0.20 and 18).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from btpy.engine import instrumentation
from btpy.engine.prewoven import prewoven_methods
from btpy.engine.session import Session
from btpy.engine.target import Limits
from btpy.events.aggregates import Count
from btpy.jvm.connecting import Connecting
from btpy.lang.check.checker import check_source
from btpy.model.source import Source
from btpy.wire.messages import PrewovenMethods, SessionInfo
from tests import agents
from tests.jdks import all_jdks, compiled
from tests.live.scripts import program, waited
from tests.targets import Target, target

JAVA = Path(__file__).parents[1] / "java"
SCRIPT = '@OnMethod(class="/Bound.(Handler|Inner|Kind)/", method="*", location=ENTRY) { @n[method] = count(); }'
LATE = '@OnMethod(class="Bound$Late", method="hello") { @late = count(); }'
SECRET = '@OnMethod(class="Bound$Secret", method="whisper") { @n = count(); }'


@contextmanager
def bound(jdk: int, directory: Path) -> Iterator[Target]:
    classes = compiled([JAVA / "Bound.java", JAVA / "Observer.java"], flags=["-parameters", "-encoding", "UTF-8"])
    flags = ["-Xverify:all", "-Dfile.encoding=UTF-8", f"-javaagent:{agents.observer(directory)}"]
    with target(jdk, "Bound", classpath=[classes], flags=flags) as jvm:
        yield jvm


def asked(jvm: Target, command: str) -> str:
    jvm.send(command)
    return jvm.wait_for(command[:4])


def both(jvm: Target) -> tuple[str, str]:
    """The parameters as reflection shows them, and the values bound by their names."""
    jvm.send("bind")
    names = jvm.wait_for("bound")
    return asked(jvm, "names"), names


def others(jvm: Target) -> tuple[SessionInfo, ...]:
    with Connecting(jvm.pid) as connecting, Session.enquire(connecting) as session:
        return session.agent.sessions()


@all_jdks
def test_names_are_the_same_before_during_and_after(jdk: int, tmp_path: Path) -> None:
    with bound(jdk, tmp_path) as jvm:
        before = both(jvm)
        assert before[1] == "bound ada/42"
        assert "order(0 customer,16 number,)" in before[0]
        for _ in range(2):  # the JVM shows the second session the class that the first one left
            with Session.attach(jvm.pid) as session:
                deployment = session.deployer.load(program(SCRIPT))
                assert deployment.refusals == ()
                assert both(jvm) == before
                source = Source("more.bt", SCRIPT.replace("@n", "@m"))
                session.deployer.load(check_source(source, earlier=session.deployer.program))  # woven again
                assert both(jvm) == before
                maps = {content.map.name: dict(content.entries) for content in session.delivery.snapshot()}
                receipt = session.departure.detach()
            assert (maps["n"]["order",], maps["m"]["order",]) == (Count(2), Count(1))
            assert (receipt.woven, receipt.restored, receipt.clean) == (3, 3, True)
            assert both(jvm) == before


@pytest.mark.replaces
@pytest.mark.parametrize("during", ["order(0 consumer,", None], ids=["the class of the client", "another class"])
def test_the_client_sends_the_names_of_the_class_that_it_has_woven(
    monkeypatch: pytest.MonkeyPatch, during: str | None, tmp_path: Path
) -> None:
    """The client sends a wrong name, to show which names the agent uses."""

    def misspelled(*arguments: Any) -> PrewovenMethods:
        prewoven = prewoven_methods(*arguments)
        assert prewoven is not None
        names = tuple(names.replace(b"customer", b"consumer") for names in prewoven.parameter_names)
        beginning = bytes(8) + prewoven.beginning[8:] if during is None else prewoven.beginning
        return replace(prewoven, parameter_names=names, beginning=beginning)

    monkeypatch.setattr(instrumentation, "prewoven_methods", misspelled)
    with bound(17, tmp_path) as jvm:
        before = asked(jvm, "names")
        with Session.attach(jvm.pid) as session:
            session.deployer.load(program(SCRIPT))
            names = asked(jvm, "names")
            session.departure.detach()
    assert names == before if during is None else during in names


@all_jdks
def test_names_survive_another_agent_that_retransforms_in_between(jdk: int, tmp_path: Path) -> None:
    with bound(jdk, tmp_path) as jvm:
        before = both(jvm)
        with Session.attach(jvm.pid) as session:
            session.deployer.load(program(SCRIPT))
            asked(jvm, "retransform")
            assert both(jvm) == before
            assert session.departure.detach().clean
        assert both(jvm) == before


@pytest.mark.parametrize("first", ["older", "newer"])
def test_names_survive_sessions_that_leave_in_either_order(first: str, tmp_path: Path) -> None:
    with bound(17, tmp_path) as jvm:
        before = both(jvm)
        with Session.attach(jvm.pid) as older, Session.attach(jvm.pid) as newer:
            older.deployer.load(program(SCRIPT))
            newer.deployer.load(program(SCRIPT))
            assert both(jvm) == before
            leaving, staying = (older, newer) if first == "older" else (newer, older)
            assert leaving.departure.detach().clean
            assert both(jvm) == before
            asked(jvm, "retransform")
            assert both(jvm) == before
            assert staying.departure.detach().clean
        assert both(jvm) == before


def test_names_survive_the_death_of_the_client(tmp_path: Path) -> None:
    """The agent restores the classes without the client."""
    with bound(17, tmp_path) as jvm:
        before = both(jvm)
        code = (
            "import sys, time\n"
            "from btpy.engine.session import Session\n"
            "from tests.live.scripts import program\n"
            f"session = Session.attach({jvm.pid})\n"
            f"session.deployer.load(program({SCRIPT!r}))\n"
            "print('up', flush=True)\n"
            "time.sleep(600)\n"
        )
        client = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=os.environ)
        assert client.stdout is not None
        with client.stdout:
            assert client.stdout.readline() == "up\n"
            assert both(jvm) == before
            os.kill(client.pid, signal.SIGKILL)
            client.wait()
        waited(lambda: not others(jvm), "the session of the client that died goes on")
        assert both(jvm) == before


def test_names_survive_an_unattended_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with bound(17, tmp_path) as jvm:
        before = both(jvm)
        with Session.attach(jvm.pid, Limits(unattended=True)) as session:
            session.deployer.load(program(SCRIPT))
            session.departure.leave(2.0, "")
        asked(jvm, "retransform")  # no client is connected, and the agent keeps the woven classes
        assert both(jvm) == before
        waited(lambda: not others(jvm), "the session outlives its time")
        assert both(jvm) == before


def test_a_class_that_is_loaded_later_keeps_its_names(tmp_path: Path) -> None:
    with bound(17, tmp_path) as jvm:
        expected = "late hello x Bound$Late.<init>() Bound$Late.hello(0 name,)".replace("<init>", "Bound$Late")
        with Session.attach(jvm.pid) as session:
            session.deployer.load(program(LATE), missing="ignore")
            assert asked(jvm, "late") == expected
            assert session.departure.detach().clean
        assert asked(jvm, "late") == expected


def test_names_of_a_class_without_a_class_file_come_from_reflection(tmp_path: Path) -> None:
    with bound(17, tmp_path) as jvm:
        before = asked(jvm, "secret")
        assert "whisper(0 word,)" in before
        with Session.attach(jvm.pid) as session:
            session.deployer.load(program(SECRET))
            assert asked(jvm, "secret") == before
            (counts,) = session.delivery.snapshot()
            assert dict(counts.entries) == {(): Count(1)}
            assert session.departure.detach().clean
        assert asked(jvm, "secret") == before
