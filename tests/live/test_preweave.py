"""Classes woven before they are loaded: their answers are right, or the agent asks the client."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from btpy.engine.session import Session
from btpy.events.aggregates import Count
from btpy.jvm.connecting import Connecting
from btpy.lang.program import Program
from btpy.plan.plan import RefusalReason
from tests.jdks import all_jdks, compiled
from tests.live.scripts import JAVA, program, waited
from tests.live.test_changes import counts, extended
from tests.live.test_loaders import guests
from tests.live.test_storms import PATIENT
from tests.targets import PATIENCE, Target, target

RUNS = '@OnMethod(class="G????", method="run", pending=true, max=2000) { @runs[cls] = count(); }'
FIRST, SECOND, THIRD, SEVENTH = "G0001", "G0002", "G0003", "G0007"


def archive(directory: Path, classes: int) -> Path:
    """A jar of copies of Guest, G0000 and so on."""
    original = (guests() / "Guest.class").read_bytes()
    path = directory / "guests.jar"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as jar:
        for number in range(classes):
            jar.writestr(f"G{number:04d}.class", original.replace(b"Guest", b"G%04d" % number))
    return path


@contextmanager
def lazy(jdk: int, directory: Path, classes: int = 11) -> Iterator[Target]:
    jar = archive(directory, classes)
    with target(jdk, "Lazy", str(jar), classpath=[compiled([JAVA / "Lazy.java"]), jar], flags=["-Xverify:all"]) as jvm:
        yield jvm


def ran(jvm: Target, command: str) -> None:
    jvm.send(command)
    jvm.wait_for("ran ")


def loaded(session: Session, script: str | Program) -> None:
    session.deployer.load(program(script) if isinstance(script, str) else script)
    session.finish_preweaving(PATIENCE)


def runs(session: Session) -> dict[str, int]:
    content = next(map_ for map_ in session.delivery.snapshot() if map_.map.name == "runs")
    results = {}
    for key, value in content.entries:
        assert isinstance(value, Count)
        results[str(key[0])] = value.n
    return results


def kept_files(jvm: Target) -> list[str]:
    """Temporary files of the agent that the target has open."""
    directory = Path(f"/proc/{jvm.pid}/fd")
    results = []
    for name in os.listdir(directory):
        try:
            results.append(os.readlink(directory / name))
        except OSError:
            continue
    return [path for path in results if "/btpy-" in path and path.endswith("(deleted)")]


@all_jdks
def test_the_thread_that_loads_a_prewoven_class_asks_no_client(jdk: int, tmp_path: Path, questions: list[str]) -> None:
    with lazy(jdk, tmp_path) as jvm:
        with Session.attach(jvm.pid, PATIENT) as session:
            loaded(session, RUNS)
            assert session.deployer.sites == {}
            assert len(kept_files(jvm)) == 1
            ran(jvm, f"run {FIRST} 1009")
            ran(jvm, f"run {SECOND} 499")
            assert questions == []
            assert runs(session) == {FIRST: 1009, SECOND: 499}
            assert {(site.class_name, site.loader) for site in session.deployer.sites.values()} == {
                (FIRST, "app"),
                (SECOND, "app"),
            }
            receipt = session.departure.detach()
            assert receipt.clean
            assert (receipt.woven, receipt.restored) == (2, 2)
        assert kept_files(jvm) == []
        ran(jvm, f"run {FIRST} 7")
        ran(jvm, f"run {THIRD} 7")
        assert jvm.stderr == []


def test_another_loader_of_the_same_class_asks_and_has_sites_of_its_own(tmp_path: Path, questions: list[str]) -> None:
    with lazy(17, tmp_path) as jvm, Session.attach(jvm.pid, PATIENT) as session:
        loaded(session, RUNS)
        ran(jvm, f"apart {FIRST} 13")
        assert questions == []
        ran(jvm, f"run {FIRST} 17")
        ran(jvm, f"apart {FIRST} 19")
        assert questions == [FIRST, FIRST]
        assert runs(session) == {FIRST: 13 + 17 + 19}
        loaders = [site.loader for site in session.deployer.sites.values()]
        assert len(loaders) == len(set(loaders)) == 3
        assert session.departure.detach().clean


def test_a_class_that_differs_from_its_archive_leads_to_a_question(tmp_path: Path, questions: list[str]) -> None:
    with lazy(17, tmp_path) as jvm, Session.attach(jvm.pid, PATIENT) as session:
        loaded(session, RUNS)
        ran(jvm, f"altered {FIRST} 101")
        assert questions == [FIRST]
        ran(jvm, f"run {FIRST} 103")
        assert questions == [FIRST]
        assert runs(session) == {FIRST: 204}
        assert session.departure.detach().clean


def test_classes_without_probes_lead_to_no_question(tmp_path: Path, questions: list[str]) -> None:
    with lazy(17, tmp_path) as jvm, Session.attach(jvm.pid, PATIENT) as session:
        loaded(session, '@OnMethod(class="G????", method="nothing", pending=true) { @n = count(); }')
        ran(jvm, f"run {FIRST} 3")
        ran(jvm, f"apart {FIRST} 3")
        assert questions == []
        assert session.deployer.sites == {}
        assert session.departure.detach().woven == 0


@pytest.mark.parametrize("method", ['"nothing"', '["nothing", "no*thing", "@Nothing"]'])
def test_a_class_without_the_methods_leads_to_no_question(tmp_path: Path, questions: list[str], method: str) -> None:
    with lazy(17, tmp_path) as jvm, Session.attach(jvm.pid, PATIENT) as session:
        loaded(session, f'@OnMethod(class="G????", method={method}, pending=true) {{ @n = count(); }}')
        ran(jvm, f"altered {FIRST} 101")  # the client could not weave it in advance
        assert questions == []
        assert session.departure.detach().woven == 0


def test_a_class_with_one_of_several_methods_leads_to_a_question(tmp_path: Path, questions: list[str]) -> None:
    with lazy(17, tmp_path) as jvm, Session.attach(jvm.pid, PATIENT) as session:
        loaded(session, '@OnMethod(class="G????", method=["nothing", "run"], pending=true) { @n = count(); }')
        ran(jvm, f"altered {FIRST} 101")
        assert questions == [FIRST]
        assert session.departure.detach().woven == 1


def test_no_answer_of_probes_that_have_changed_is_given(tmp_path: Path) -> None:
    with lazy(17, tmp_path) as jvm, Session.attach(jvm.pid, PATIENT) as session:
        loaded(session, '@OnMethod(class="G????", method="run", pending=true) { @a = count(); }')
        session.deployer.load(
            extended(session, '@OnMethod(class="G????", method="run", pending=true) { @b = count(); }')
        )
        ran(jvm, f"run {FIRST} 11")
        assert counts(session) == {"a": 11, "b": 11}
        session.deployer.remove([0])
        ran(jvm, f"run {FIRST} 13")
        ran(jvm, f"run {SECOND} 17")
        assert counts(session) == {"a": 11, "b": 11 + 13 + 17}
        session.deployer.remove([1])
        ran(jvm, f"run {THIRD} 19")
        assert counts(session) == {"a": 11, "b": 41}
        receipt = session.departure.detach()
        assert receipt.clean
        assert receipt.woven == 0


def test_probes_change_while_classes_are_loaded(tmp_path: Path) -> None:
    """Classes loaded before, during and after the change have exactly the final probes."""
    classes = 997
    with lazy(17, tmp_path, classes) as jvm, Session.attach(jvm.pid, PATIENT) as session:
        loaded(session, '@OnMethod(class="G????", method="run", pending=true, max=2000) { @old = count(); }')
        jvm.send(f"all 0 {classes}")
        new = '@OnMethod(class="G????", method="run", pending=true, max=2000) { @new = count(); }'
        session.deployer.load(extended(session, new, without=[0]), replacing=[0])
        jvm.wait_for("ran ")
        both = counts(session)
        assert both.get("old", 0) + both.get("new", 0) == classes
        ran(jvm, f"all 0 {classes}")
        after = counts(session)
        assert after.get("old", 0) == both.get("old", 0)
        assert after["new"] == both.get("new", 0) + classes
        receipt = session.departure.detach()
        assert receipt.clean
        assert receipt.woven == classes


def test_a_client_that_is_gone_leaves_nothing(tmp_path: Path) -> None:
    with lazy(17, tmp_path) as jvm:
        with Session.attach(jvm.pid, PATIENT) as session:
            loaded(session, RUNS)
            ran(jvm, f"run {FIRST} 3")
            session._channel._connection.shutdown(2)  # the client disappears, as when it is killed
            waited(lambda: kept_files(jvm) == [], "the agent still keeps what was prewoven")
        ran(jvm, f"run {FIRST} 7")
        ran(jvm, f"run {SECOND} 7")
        assert jvm.stderr == []
        with Session.attach(jvm.pid, PATIENT) as session:
            loaded(session, RUNS)
            ran(jvm, f"run {SECOND} 5")
            assert runs(session) == {SECOND: 5}
            assert session.departure.detach().clean


def test_no_more_methods_than_a_probe_may_be_in(tmp_path: Path) -> None:
    """A class that was not prewoven may use the probe's capacity that is reserved for prewoven classes not yet
    loaded.
    """
    script = '@OnMethod(class="G????", method="run", pending=true, max=5) { @runs[cls] = count(); }'
    with lazy(17, tmp_path) as jvm, Session.attach(jvm.pid, PATIENT) as session:
        loaded(session, script)
        for number in range(3):
            ran(jvm, f"altered G{number:04d} 2")
        ran(jvm, "all 3 11")
        assert len(runs(session)) == 5
        assert session.departure.detach().woven == 5


def test_no_more_methods_when_classes_come_while_room_is_made(tmp_path: Path) -> None:
    """A class may ask for capacity before the client knows which prewoven classes were loaded."""
    script = '@OnMethod(class="G????", method="run", pending=true, max=5) { @runs[cls] = count(); }'
    with lazy(17, tmp_path) as jvm, Session.attach(jvm.pid, PATIENT) as session:
        loaded(session, script)
        jvm.send(f"all 0 5\naltered {SEVENTH} 2")
        for _ in range(2):
            jvm.wait_for("ran ")
        assert runs(session) == {f"G{number:04d}": 1 for number in range(5)}
        (refusal,) = session.deployer.refusals
        assert (refusal.reason, refusal.class_name) == (RefusalReason.TOO_MANY, SEVENTH)
        assert session.departure.detach().woven == 5


def test_a_joined_session_preweaves_again(tmp_path: Path, questions: list[str]) -> None:
    """While no client is connected, no class is woven, and the agent uses no prewoven answer."""
    with lazy(17, tmp_path) as jvm:
        with Session.attach(jvm.pid, replace(PATIENT, unattended=True)) as session:
            loaded(session, RUNS)
            ran(jvm, f"run {FIRST} 3")
            departure = session.departure.leave(60, "lazy")
        assert departure
        waited(lambda: kept_files(jvm) == [], "what was prewoven is kept for nobody")
        ran(jvm, f"run {SECOND} 5")
        with Connecting(jvm.pid) as connecting, Session.join(connecting, "lazy") as session:
            session.finish_preweaving(PATIENCE)
            ran(jvm, f"run {FIRST} 7")
            ran(jvm, f"run {SECOND} 11")
            ran(jvm, f"run {THIRD} 13")
            assert THIRD not in questions
            assert runs(session) == {FIRST: 10, SECOND: 11, THIRD: 13}
            receipt = session.departure.detach()
            assert receipt.clean
            assert receipt.woven == 3
