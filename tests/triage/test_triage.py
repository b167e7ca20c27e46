"""``btpy triage`` on a web service with Tomcat, HikariCP and H2 that has one fault at a time."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import btpy
from btpy.api.libraries import Libraries
from btpy.api.triage import collect
from btpy.errors import AttachError, TargetGone
from tests.jdks import compiled
from tests.live.scripts import counted
from tests.probes.stacks import jars
from tests.targets import Target, target

SOURCE = Path(__file__).parent / "java" / "Faulty.java"
FAULTS = {
    "smallPool": "pool_waits",
    "slowSql": "slow_sql",
    "manySql": "repeated_sql",
    "convoy": "lock_waits",
    "exceptions": "exceptions",
    "collections": "gc_calls",
    "slowService": "slow_http_calls",
    "retries": "retries",
    "shortOfThreads": "queued_tasks",
    "threads": "thread_growth",
    "allocations": "allocations",
    "files": "single_bytes",
    "names": "dns",
}
"""The faults of the service, and the facts that btpy is to find."""

SAMPLE = ("slowSql",)
LEAST_FIRST = 10
"""For at least this number of the first twelve faults, the right fact must be the first."""


@contextmanager
def service(fault: str, directory: Path) -> Iterator[Target]:
    libraries = jars("h2", "hikari7", "tomcat11")
    hosts = directory / "hosts"  # names are looked up here, and not by the resolver of the machine
    hosts.touch()
    with target(
        21,
        "Faulty",
        fault,
        classpath=[compiled([SOURCE], classpath=libraries), *libraries],
        flags=[f"-Djdk.net.hosts.file={hosts}"],
    ) as program:
        yield program


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "btpy", "triage", *arguments]


def triage(pid: int, *arguments: str) -> dict[str, Any]:
    result = subprocess.run(
        command(str(pid), "--json", *arguments), capture_output=True, text=True, timeout=240, check=True
    )
    assert "classes restored" in result.stderr
    report: dict[str, Any] = json.loads(result.stdout)
    assert report["left_out"] == {}
    return report


@pytest.fixture(scope="module")
def ranks() -> dict[str, int]:
    """The ranks of the right facts, by fault."""
    return {}


@pytest.mark.parametrize(
    "fault",
    [pytest.param(fault, marks=() if fault in SAMPLE else pytest.mark.proof) for fault in FAULTS],
)
def test_a_fault_is_among_the_three_most_suspicious_facts(fault: str, tmp_path: Path, ranks: dict[str, int]) -> None:
    sampled = fault in SAMPLE
    with service(fault, tmp_path) as program:
        report = triage(program.pid, "-d", "3s" if sampled else "20s")
    kinds = [finding["kind"] for finding in report["findings"]]
    print(fault, kinds)
    assert FAULTS[fault] in kinds[:3]
    ranks[fault] = kinds.index(FAULTS[fault])
    assert not sampled or ranks[fault] == 0
    if fault == "slowSql":
        worst = report["findings"][0]
        assert worst["place"] == "Faulty.slowSql:178  SELECT customer, PAUSE(?) FROM orders WHERE id = ?"
        assert worst["command"] == f"btpy {program.pid} jdbc --slow 100ms --for 30s"
        assert {"H2 2.5.252", "HikariCP 7.0.2", "Tomcat 11.0.13"} <= set(report["frameworks"])


@pytest.mark.proof
def test_the_fault_is_mostly_the_first_fact(ranks: dict[str, int]) -> None:
    """This test runs last, on the results of the other tests. The tests of the samples have already
    asserted that their facts are first."""
    judged = [fault for fault in list(FAULTS)[:12] if fault not in SAMPLE]
    if not set(judged) <= ranks.keys():
        pytest.skip("needs the results of all faults")
    assert sum(ranks[fault] == 0 for fault in judged) + len(SAMPLE) >= LEAST_FIRST


@pytest.mark.proof
def test_a_service_without_a_fault_is_not_suspicious(tmp_path: Path) -> None:
    with service("none", tmp_path) as program:
        assert triage(program.pid)["findings"] == []


def begun(pid: int) -> subprocess.Popen[str]:
    """A triage for an hour that has begun to measure."""
    process = subprocess.Popen(command(str(pid), "-d", "1h"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert any("measuring for 3600 s" in line for line in iter(process.stderr.readline, ""))
    return process


@pytest.mark.parametrize(
    ("ends", "status", "words"),
    [("btpy", 0, "classes restored"), ("the JVM", TargetGone.exit_status, "has ended")],
    ids=["Ctrl-C", "the JVM ends"],
)
def test_an_early_end_shows_what_there_is(ends: str, status: int, words: str) -> None:
    with counted(17) as program:
        process = begun(program.pid)
        program.send("call 7000")
        program.wait_for("called 7000 refused 1000")
        time.sleep(1)
        (process if ends == "btpy" else program.process).send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == status, stderr
    assert words in stderr
    lines = stdout.splitlines()
    assert lines[0].startswith(f"Counted ({program.pid}): Java 17")
    first = next(number for number, line in enumerate(lines) if line.startswith("  1. "))
    assert "exceptions a second; the most frequent is IllegalStateException" in lines[first]
    assert lines[first + 1 : first + 3] == ["     Counted.step:25", f"     btpy {program.pid} exceptions --for 30s"]


def test_a_look_that_does_not_fit_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = tmp_path / "looks"
    shutil.copytree(collect.LOOKS, looks)
    (looks / "dns.bt").write_text("import btpy.dns as dns;\n@OnProbe(dns.looked_up) { @n[event.nothing] = count() }\n")
    monkeypatch.setattr(collect, "LOOKS", looks)
    with counted(17) as program, btpy.attach(program.pid) as session:
        put_in = collect.put_in(session, Libraries())
        assert list(put_in.failed) == ["dns"]
        assert {"jvm", "exceptions", "file_io"} <= set(put_in.running)
        program.send("call 7000")
        program.wait_for("called 7000 refused 1000")
        assert session.maps["@exceptions"] == {
            ("java.lang.IllegalStateException", "Counted.step:25", "Counted.step:25"): 1000
        }


def test_a_jvm_that_is_not_there() -> None:
    result = subprocess.run(command("NoSuchService"), capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == AttachError.exit_status
