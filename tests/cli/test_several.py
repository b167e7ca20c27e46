"""One script in several JVMs at once: told apart while it runs, put together at the end."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

from tests.live.scripts import waited
from tests.live.traffic import called, traffic
from tests.tracer import Tracer

SCRIPT = 'Traffic::serve @entry { @n = count(); @sizes = hist(arg0); print(f"{arg0} served") }'


def told(tracer: Tracer, wanted: str) -> None:
    """Waits until a line for people has said that."""
    waited(lambda: any(wanted in line for line in list(tracer.stderr)), f"no line {wanted!r}")


def test_records_are_told_apart_and_maps_put_together() -> None:
    with traffic() as one, traffic(21) as other:
        tracer = Tracer([f"{one.pid},{other.pid}", "-e", SCRIPT, "--hits", "0", "-f", "ndjson"])
        try:
            told(tracer, "tracing 2 JVMs")
            called(one, 1009)
            called(other, 503)
            assert tracer.stop() == 0
        finally:
            tracer.kill()
        printed = Counter(record["pid"] for record in tracer.of("printf"))
        assert printed == {one.pid: 1009, other.pid: 503}
        assert {record["pid"]: record["restored"] for record in tracer.of("end")} == {one.pid: 1, other.pid: 1}
        assert [record["data"] for record in tracer.of("map")] == [{"@n": 1512}]
        (hist,) = tracer.of("hist")
        assert "pid" not in hist
        assert hist["percentiles"]["@sizes"]["count"] == 1512
        called(one, 3)
        called(other, 3)


def test_one_that_cannot_be_traced_or_ends_leaves_the_others() -> None:
    with traffic() as one, traffic() as other:
        tracer = Tracer([f"{one.pid},{other.pid},1", "-e", SCRIPT, "--hits", "0", "-f", "ndjson"])
        try:
            told(tracer, "tracing 2 JVMs")
            called(other, 7)
            waited(lambda: len(tracer.of("printf")) == 7, "what was printed")  # what is not sent yet dies with the JVM
            other.process.kill()
            told(tracer, f"{other.pid}  error")
            called(one, 11)
            assert tracer.stop() == 0
        finally:
            tracer.kill()
        assert any("process 1 " in line and "is not a JVM" in line for line in tracer.stderr)
        assert tracer.stderr[-1] == "1 of 2 JVMs ended meanwhile"
        assert Counter(record["pid"] for record in tracer.of("printf")) == {one.pid: 11, other.pid: 7}
        assert [record["data"] for record in tracer.of("map")] == [{"@n": 11}]


def test_when_all_have_ended_the_run_says_so() -> None:
    with traffic() as one, traffic() as other:
        tracer = Tracer([f"{one.pid},{other.pid}", "-e", SCRIPT, "--hits", "0", "-f", "ndjson"])
        try:
            told(tracer, "tracing 2 JVMs")
            for each in (one, other):
                called(each, 7)
                each.process.stdin.close()  # type: ignore[union-attr]
            assert tracer.wait() == 5
        finally:
            tracer.kill()
        assert "all 2 JVMs have ended" in tracer.stderr[-1]
        assert [record["data"] for record in tracer.of("map")] == [{"@n": 14}]


def test_every_jvm_of_a_name_as_text() -> None:
    with traffic(17, "-Dbtpy.name=several-a") as one, traffic(17, "-Dbtpy.name=several-b") as other:
        command = [sys.executable, "-m", "btpy", "--all", "several-", "-e", SCRIPT, "--hits", "3"]
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert running.stderr is not None
        assert any("tracing 2 JVMs" in line for line in running.stderr)
        called(one, 3)
        called(other, 3)
        out, _ = running.communicate(timeout=60)
        assert running.returncode == 0
        for each in (one, other):
            own = [line for line in out.splitlines() if line.startswith(f"{each.pid}  ")]
            assert own == [f"{each.pid}  {number} served" for number in range(3)]
        assert "@n  6" in out.splitlines()


def test_what_is_for_one_jvm_is_refused() -> None:
    for flags in (["-f", "csv"], ["-i", "1s"], ["--unattended"], ["--dry-run"], ["-l"], ["-o", "run.btz"]):
        done = subprocess.run(
            [sys.executable, "-m", "btpy", "4711,4712", "-e", SCRIPT, *flags],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2, (flags, done.stderr)
