"""Many classes being loaded at once while they are woven: by many threads, by a real server, by virtual threads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from btpy.engine.session import Session
from btpy.engine.target import Limits
from btpy.events.aggregates import Aggregate, Count
from tests.jdks import all_jdks, compiled
from tests.live.scripts import program, waited
from tests.live.test_companions import JAVA, asked, stage
from tests.live.test_loaders import guests
from tests.maven import WIREMOCK, artifact
from tests.targets import target

PATIENT = Limits(class_load_deadline_ms=60_000)
"""An idle machine never misses the default deadline, but these tests run in parallel with other tests."""

THREADS = 11


def storm(jdk: int, classes: int) -> None:
    """A tenth of the classes match. Each thread runs each class once, and any thread may load it."""
    script = '@OnMethod(class="G???7", location=EXIT, pending=true, max=2000) { @by[cls, method] = count(); }'
    arguments = [str(THREADS), str(classes), str(guests())]
    with target(jdk, "Storm", *arguments, classpath=[compiled([JAVA / "Storm.java"])], flags=["-Xverify:all"]) as storm:
        with Session.attach(storm.pid, PATIENT) as session:
            session.deployer.load(program(script))
            storm.send()
            assert storm.wait_for("ran ") == f"ran {THREADS * classes}"
            maps = {content.map.name: dict(content.entries) for content in session.delivery.snapshot()}
            names = [f"G{number:04d}" for number in range(7, classes, 10)]
            assert maps["by"] == {(name, method): Count(THREADS) for name in names for method in ("<init>", "run")}
            receipt = session.departure.detach()
        assert receipt.clean
        assert receipt.woven == len(names)
        storm.send()
        assert storm.wait() == 0
        assert storm.stderr == []


@pytest.mark.parametrize("jdk", [11, 25], ids=["jdk11", "jdk25"])
def test_many_threads_load_many_classes(jdk: int) -> None:
    storm(jdk, 1009)


@all_jdks
@pytest.mark.proof
def test_many_threads_load_thousands_of_classes(jdk: int) -> None:
    storm(jdk, 9973)


INITIALIZED = re.compile(r"Initializing '([^']+)'(?! ?\(no method\))")


@pytest.mark.parametrize(
    "jdk",
    [
        17,
        pytest.param(11, marks=pytest.mark.proof),
        pytest.param(21, marks=pytest.mark.proof),
        pytest.param(25, marks=pytest.mark.proof),
    ],
)
def test_a_server_starts_while_all_its_classes_are_woven(jdk: int, tmp_path: Path) -> None:
    """btpy counts exactly the initialisations that the JVM logs."""
    script = """
    @OnMethod(class=["wiremock.**", "com.github.tomakehurst.**", "org.wiremock.**"], method="<clinit>",
              pending=true, max=10000)
    { @initialized[cls] = count(); }
    """
    jar = artifact(WIREMOCK)
    classes = compiled([JAVA / f"{name}.java" for name in ("Gate", "Gated", "WireMockLoad")], classpath=[jar])
    log = tmp_path / "initialized.txt"
    flags = [f"-Xlog:class+init:file={log}::filecount=0", "-Xverify:all", "-XX:TieredStopAtLevel=1"]
    with target(jdk, "Gated", "WireMockLoad", "53", classpath=[classes, jar], flags=flags) as server:
        with Session.attach(server.pid, PATIENT) as session:
            session.deployer.load(program(script), allow=["lost-parameter-names"])
            server.send()
            server.wait_for("ready")
            server.send()
            server.wait_for("done")
            messages = initialized(log)
            waited(lambda: messages <= set(counts(session)), "an initialisation that was not counted")
            result = counts(session)
            receipt = session.departure.detach()
        assert receipt.clean
    assert len(messages) > 500
    assert set(result) <= initialized(log)  # the server may initialise more classes after the end of the session
    assert set(result.values()) == {Count(1)}


def initialized(log: Path) -> set[str]:
    """Classes of WireMock whose static initialisers the JVM has begun to run."""
    results = {name.replace("/", ".") for name in INITIALIZED.findall(log.read_text())}
    return {name for name in results if name.startswith(("wiremock.", "com.github.tomakehurst.", "org.wiremock."))}


def counts(session: Session) -> dict[str, Aggregate]:
    (content,) = session.delivery.snapshot()
    return {str(key[0]): value for key, value in content.entries if isinstance(value, Aggregate)}


@pytest.mark.parametrize("jdk", [21, 25], ids=["jdk21", "jdk25"])
def test_virtual_threads_load_and_call_traced_classes(jdk: int, tmp_path: Path) -> None:
    script = """
    @OnMethod(class="Subject", location=EXIT, pending=true)
    { @by[method, is_virtual] = count(); }
    """
    with stage(jdk, tmp_path) as jvm:
        with Session.attach(jvm.pid, PATIENT) as session:
            session.deployer.load(program(script))
            assert asked(jvm, "virtual 4999") == "4999"
            maps = {content.map.name: dict(content.entries) for content in session.delivery.snapshot()}
            assert maps["by"] == {("<init>", True): Count(4999), ("work", True): Count(3 * 4999)}
            assert session.departure.detach().clean
        assert asked(jvm, "virtual 7") == "7"
