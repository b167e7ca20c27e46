"""``btpy daemon`` on real JVMs, with a backend that gets exactly the program's counts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.live.scripts import waited
from tests.live.traffic import called, traffic
from tests.output.otlp.backend import Backend, attributes, backend
from tests.targets import PATIENCE
from tests.tracer import tracing

CALLS = 'Traffic::serve @entry { @n = count(); if arg0 < 3 { emit("served", number=arg0) } }'


@pytest.fixture(autouse=True)
def own_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    folder = tmp_path / "probes.d"
    folder.mkdir(mode=0o755)
    (folder / "calls.bt").write_text(CALLS)
    (folder / "calls.toml").write_text('jvms = "daemon-test"')
    return folder


class Daemon:
    def __init__(self, directory: Path, url: str, *options: str) -> None:
        quick = {"OTEL_METRIC_EXPORT_INTERVAL": "100", "OTEL_BLRP_SCHEDULE_DELAY": "50", "NO_COLOR": "1"}
        command = [sys.executable, "-m", "btpy", "daemon", str(directory), "-o", url, "--scan", "200ms", *options]
        self._log = directory.with_name("daemon.log")
        self._log.write_text("")
        with self._log.open("w") as log:
            self.process = subprocess.Popen(command, stderr=log, env={**os.environ, **quick})

    @property
    def lines(self) -> list[str]:
        return self._log.read_text().splitlines()

    def wait_for(self, text: str, times: int = 1) -> None:
        waited(lambda: sum(text in line for line in self.lines) >= times, f"{text!r} in {self.lines}")

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


@contextmanager
def daemon(directory: Path, url: str, *options: str) -> Iterator[Daemon]:
    process = Daemon(directory, url, *options)
    try:
        yield process
    finally:
        process.process.kill()
        process.process.wait()


def btpy(*arguments: Any) -> str:
    command = [sys.executable, "-m", "btpy", *map(str, arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE * 2, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def count(receiver: Backend, name: str, pid: int) -> int:
    """The last value of a map that one JVM reported; 0 if it has reported none."""
    for resource, metric in reversed(receiver.reports):
        if metric.name == f"btpy.{name}" and attributes(list(resource.attributes))["process.pid"] == pid:
            return sum(int(point.as_int) for point in metric.sum.data_points)
    return 0


def served(receiver: Backend) -> int:
    """The number of log records of events with the name ``served``."""
    return len([record for _, record in receiver.logs if record.event_name == "served"])


def counts(receiver: Backend, name: str, pid: int, number: int) -> None:
    waited(lambda: count(receiver, name, pid) == number, f"{number} in @{name}: {count(receiver, name, pid)}")


def test_a_daemon_that_is_killed_finds_its_probes_again_and_nothing_is_lost(directory: Path) -> None:
    with backend() as receiver, traffic(17, "-Dbtpy.name=daemon-test") as one, ExitStack() as stack:
        pid = one.pid
        first = stack.enter_context(daemon(directory, receiver.url))
        first.wait_for("the probes are in 1 method")
        called(one, 101)
        counts(receiver, "n", pid, 101)
        waited(lambda: served(receiver) == 3, "3 log records, which go another way than the counts")
        first.process.kill()
        first.process.wait()
        called(one, 103)
        second = stack.enter_context(daemon(directory, receiver.url))
        second.wait_for("the probes are in 1 method")
        called(one, 107)
        counts(receiver, "n", pid, 311)

        (directory / "calls.toml").write_text("jvms = [")  # a file with an error changes nothing
        second.wait_for("is not TOML")
        called(one, 2)
        counts(receiver, "n", pid, 313)
        (directory / "calls.bt").write_text("Traffic::serve @entry { @m = count() }")
        (directory / "calls.toml").write_text('jvms = "daemon-test"')
        second.wait_for("the probes are in 1 method", times=2)
        called(one, 109)
        counts(receiver, "m", pid, 109)
        assert count(receiver, "n", pid) == 313

        (directory / "calls.toml").unlink()
        second.wait_for("the probes were taken out", times=2)
        assert btpy("sessions", pid) == ""
        assert second.end() == 0
        # Each call with arg0 < 3 is an event: 3 of 101, 3 of 103 and 3 of 107 calls, and 2 of 2.
        assert served(receiver) == 11


def test_jvms_come_and_go_and_sessions_of_people_are_left_alone(directory: Path) -> None:
    (directory / "other.toml").write_text('jvms = "nobody"\nscript = "calls.bt"')
    (directory / "old.toml").write_text('jvms = "*"\nscript = "calls.bt"\nexpires = 2001-01-01T00:00:00Z')
    with backend() as receiver, ExitStack() as stack:
        watching = stack.enter_context(daemon(directory, receiver.url))
        watching.wait_for("standing probes of")
        pids: list[int] = []
        for index, calls in enumerate((31, 37), 1):
            with traffic(17, "-Dbtpy.name=daemon-test") as passing:
                watching.wait_for("the probes are in 1 method", times=index)
                called(passing, calls)
                pids.append(passing.pid)
                counts(receiver, "n", passing.pid, calls)
            watching.wait_for("the JVM has ended", times=index)
        assert [count(receiver, "n", pid) for pid in pids] == [31, 37]

        one = stack.enter_context(traffic(17, "-Dbtpy.name=daemon-test"))
        stack.enter_context(traffic(17, "-Dbtpy.name=spared"))
        watching.wait_for("the probes are in 1 method", times=3)
        mine = stack.enter_context(tracing(one.pid, "-e", "Traffic::serve @entry { @mine = count() }"))
        mine.wait_for("attached_probes")
        lines = btpy("sessions", one.pid).splitlines()
        assert len(lines) == 3
        (of_daemon,) = [line.split()[0] for line in lines if " calls " in line]
        btpy("stop", one.pid, of_daemon)
        watching.wait_for("its session has ended")
        called(one, 43)
        assert watching.end() == 0
        assert sum("the probes are in" in line for line in watching.lines) == 3
        assert mine.stop() == 0
        assert mine.maps() == {"mine": 43}


def test_probes_stay_for_the_next_daemon_with_keep(directory: Path) -> None:
    with backend() as receiver, traffic(17, "-Dbtpy.name=daemon-test") as one, ExitStack() as stack:
        first = stack.enter_context(daemon(directory, receiver.url, "--keep", "--ttl", "10m"))
        first.wait_for("the probes are in 1 method")
        assert first.end() == 0
        assert " calls " in btpy("sessions", one.pid)
        (directory / "calls.bt").write_text(CALLS + " ")  # the next daemon finds an old session
        second = stack.enter_context(daemon(directory, receiver.url))
        second.wait_for("an old session was taken out")
        second.wait_for("the probes are in 1 method")
        called(one, 47)
        assert second.end() == 0
        counts(receiver, "n", one.pid, 47)
        assert btpy("sessions", one.pid) == ""


def test_the_check_says_which_jvms_are_named(directory: Path) -> None:
    with traffic(17, "-Dbtpy.name=daemon-test") as one:
        assert btpy("daemon", directory, "--check") == f"calls: 1 probe; Traffic ({one.pid})\n"


def test_an_output_that_is_no_backend_is_refused(directory: Path) -> None:
    command = [sys.executable, "-m", "btpy", "daemon", str(directory), "-o", "out.txt"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, "is no such URL" in ran.stderr) == (2, True)
