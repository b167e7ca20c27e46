"""One script in several JVMs at once: the output names the JVM of each event, and merges the results at the end."""

from __future__ import annotations

import csv
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.test_command import btpy
from tests.live.scripts import counted, waited
from tests.live.traffic import called, traffic
from tests.tracer import Tracer

SCRIPT = 'Traffic::serve @entry { @n = count(); @sizes = hist(arg0); print(f"{arg0} served") }'


@contextmanager
def started(arguments: Sequence[str], env: dict[str, str] | None = None) -> Iterator[Tracer]:
    tracer = Tracer(arguments, env)
    try:
        yield tracer
    finally:
        tracer.kill()


def told(tracer: Tracer, text: str) -> None:
    """Waits until a line of standard error contains the text."""
    try:
        waited(lambda: any(text in line for line in list(tracer.stderr)), f"no line {text!r}")
    except AssertionError:
        raise AssertionError("\n".join([f"no line {text!r}", *tracer.stderr])) from None


def test_records_name_their_jvm_and_maps_are_merged() -> None:
    with traffic() as one, traffic(21) as other:
        with started([f"{one.pid},{other.pid}", "-e", SCRIPT, "--hits", "0", "-f", "ndjson"]) as tracer:
            told(tracer, "tracing 2 JVMs")
            called(one, 1009)
            called(other, 503)
            assert tracer.stop() == 0
        counts = Counter(record["pid"] for record in tracer.of("printf"))
        assert counts == {one.pid: 1009, other.pid: 503}
        assert {record["pid"]: record["restored"] for record in tracer.of("end")} == {one.pid: 1, other.pid: 1}
        assert [record["data"] for record in tracer.of("map")] == [{"@n": 1512}]
        (hist,) = tracer.of("hist")
        assert "pid" not in hist
        assert hist["percentiles"]["@sizes"]["count"] == 1512
        called(one, 3)
        called(other, 3)


def test_one_that_cannot_be_traced_or_ends_leaves_the_others_and_its_share() -> None:
    with traffic() as one, traffic() as other:
        with started(
            [f"{one.pid},{other.pid},1", "-e", SCRIPT, "--hits", "0", "-f", "ndjson", "-i", "100ms"]
        ) as tracer:
            told(tracer, "tracing 2 JVMs")
            called(other, 7)
            waited(lambda: tracer.maps().get("n") == 7, "what had been counted")  # the kill loses unread values
            other.process.kill()
            told(tracer, f"{other.pid}  the maps below were last read")
            called(one, 11)
            assert tracer.stop() == 0
        assert any("process 1 " in line and "is not a JVM" in line for line in tracer.stderr)
        assert any(line.startswith(f"{other.pid}  error: ") for line in tracer.stderr)
        assert tracer.stderr[-1] == "1 of 2 JVMs ended meanwhile"
        assert Counter(record["pid"] for record in tracer.of("printf")) == {one.pid: 11, other.pid: 7}
        assert tracer.maps()["n"] == 18


def test_maps_merge_at_every_interval_and_plain_values_name_their_jvm() -> None:
    script = "Traffic::serve @entry { @n = count(); @last = arg0; }"
    with traffic() as one, traffic() as other:
        with started([f"{one.pid},{other.pid}", "-e", script, "-f", "ndjson", "-i", "100ms"]) as tracer:
            told(tracer, "tracing 2 JVMs")
            called(one, 101)
            called(other, 53)
            waited(lambda: {"@n": 154} in [record["data"] for record in tracer.of("map")], "merged maps")
            map_count = len(tracer.of("map"))
            assert tracer.stop() == 0
        assert map_count > 0
        assert all("pid" not in record for record in tracer.of("map") if "@n" in record["data"])
        last = {record["pid"]: record["data"] for record in tracer.of("map") if "@last" in record["data"]}
        assert last == {one.pid: {"@last": 100}, other.pid: {"@last": 52}}


def test_requests_at_the_end_go_to_all_targets() -> None:
    with traffic() as one, traffic() as other, traffic() as third:
        with started(["count", f"{one.pid},{other.pid},{third.pid}", "Traffic::serve", "--json"]) as tracer:
            told(tracer, "tracing 3 JVMs")
            called(third, 5)
            third.process.stdin.close()  # type: ignore[union-attr]
            told(tracer, f"{third.pid}  5 firings into @count")
            called(one, 7)
            called(other, 11)
            assert tracer.stop() == 0, tracer.stderr
        assert [(record.get("pid"), record["data"]) for record in tracer.of("map")] == [(None, {"@count": 23})]


def test_a_stop_condition_on_merged_maps_ends_all() -> None:
    with traffic() as one, traffic() as other:
        with started(
            [f"{one.pid},{other.pid}", "-e", SCRIPT, "--hits", "0", "--until", "@n >= 23", "-f", "ndjson"]
        ) as tracer:
            told(tracer, "tracing 2 JVMs")
            called(one, 11)
            called(other, 13)
            assert tracer.wait() == 0
        assert {record["pid"]: record["reason"] for record in tracer.of("end")} == {
            one.pid: "until",
            other.pid: "until",
        }
        assert tracer.maps()["n"] == 24


def test_a_signal_prints_merged_maps() -> None:
    with (
        traffic() as one,
        traffic() as other,
        started([f"{one.pid},{other.pid}", "-e", SCRIPT, "--hits", "0", "-f", "ndjson"]) as tracer,
    ):
        told(tracer, "tracing 2 JVMs")
        called(one, 5)
        called(other, 2)
        waited(lambda: len(tracer.of("printf")) == 7, "what was printed")
        tracer.process.send_signal(signal.SIGUSR1)
        waited(lambda: tracer.maps().get("n") == 7, "merged maps")
        assert tracer.stop() == 0


def test_a_new_version_comes_everywhere_or_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "script.bt"
    both = '@OnMethod(class=["Traffic", "Counted"], method=["serve", "step"], location=ENTRY)'
    path.write_text(f"{both} probe all {{ @n = count(); }}")
    with traffic() as one, counted(17) as other:

        def call() -> None:
            called(one, 101)
            other.send("call 53")
            other.wait_for("called 53")

        with started([f"{one.pid},{other.pid}", str(path), "--watch", "-f", "ndjson"]) as tracer:
            told(tracer, "tracing 2 JVMs")
            call()
            path.write_text("Traffic::serve @entry { @n = coun(); }")
            told(tracer, "still running the previous version")
            assert sum("error[BT101]" in line for line in tracer.stderr) == 1, tracer.stderr
            call()
            path.write_text("Traffic::serve @entry { @new = count(); }")  # one of the JVMs does not have this method
            told(tracer, f"{other.pid}  error[BT")
            waited(
                lambda: sum("still running the previous version" in line for line in list(tracer.stderr)) == 2,
                "the old version",
            )
            call()
            path.write_text(f"{both} probe all {{ @n = count(); @new = count(); }}")
            told(tracer, f"{one.pid}  btpy: {path} has changed")
            told(tracer, f"{other.pid}  btpy: {path} has changed")
            call()
            assert tracer.stop() == 0, tracer.stderr
        assert tracer.maps() == {"n": 4 * 154, "new": 154}


def test_a_table_has_a_column_for_the_pid(tmp_path: Path) -> None:
    script = 'Traffic::serve @entry { emit("served", number=arg0); @by[arg0 % 2] = count(); @last = arg0; }'
    with traffic() as one, traffic() as other:
        with started(
            [f"{one.pid},{other.pid}", "-e", script, "--hits", "0", "-o", f"{tmp_path}/", "-f", "csv"]
        ) as tracer:
            told(tracer, "tracing 2 JVMs")
            called(one, 7)
            called(other, 5)
            assert tracer.stop() == 0, tracer.stderr

        def rows(name: str) -> list[dict[str, str]]:
            with (tmp_path / name).open() as file:
                return list(csv.DictReader(file))

        served = Counter(int(row["pid"]) for row in rows("served.csv"))
        assert served == {one.pid: 7, other.pid: 5}
        assert {int(row["pid"]): row["value"] for row in rows("@last.csv")} == {one.pid: "6", other.pid: "4"}
        assert {row["key"]: row["count"] for row in rows("@by.csv")} == {"0": "7", "1": "5"}
        assert "pid" not in rows("@by.csv")[0]


def test_a_line_of_logfmt_has_the_pid(tmp_path: Path) -> None:
    script = 'Traffic::serve @entry { emit("served", number=arg0); @by[arg0 % 2] = count(); @last = arg0; }'
    with traffic() as one, traffic() as other:
        with started(
            [f"{one.pid},{other.pid}", "-e", script, "--hits", "0", "-o", str(tmp_path / "x.logfmt")]
        ) as tracer:
            told(tracer, "tracing 2 JVMs")
            called(one, 7)
            called(other, 5)
            assert tracer.stop() == 0, tracer.stderr
        lines = (tmp_path / "x.logfmt").read_text().splitlines()
    served = Counter(int(line.split()[2].removeprefix("pid=")) for line in lines if " event=served " in line)
    assert served == {one.pid: 7, other.pid: 5}
    assert {line for line in lines if "map=@last" in line} == {
        f"map=@last pid={one.pid} value=6",
        f"map=@last pid={other.pid} value=4",
    }
    assert sorted(line for line in lines if "map=@by" in line) == [
        "map=@by key=0 count=7",
        "map=@by key=1 count=5",
    ]


def test_each_target_has_its_own_recording(tmp_path: Path) -> None:
    with traffic() as one, traffic() as other:
        with started([f"{one.pid},{other.pid}", "-e", SCRIPT, "-o", str(tmp_path / "run.btz")]) as tracer:
            told(tracer, "tracing 2 JVMs")
            called(one, 7)
            called(other, 5)
            assert tracer.stop() == 0, tracer.stderr
        for pid, calls in ((one.pid, 7), (other.pid, 5)):
            played = btpy("replay", str(tmp_path / f"run-{pid}.btz"), "--only", "@n").stdout
            assert played.splitlines() == [f"@n  {calls}"]


def test_each_is_left_running_and_its_session_named() -> None:
    with traffic() as one, traffic() as other:
        result = btpy(f"{one.pid},{other.pid}", "-e", SCRIPT, "-x")
        assert result.returncode == 0, result.stderr
        sessions = dict(line.split() for line in result.stdout.splitlines())
        assert sessions.keys() == {str(one.pid), str(other.pid)}
        for pid, session in sessions.items():
            assert btpy("stop", pid, session).returncode == 0


def test_the_run_reports_that_all_targets_have_ended() -> None:
    with traffic() as one, traffic() as other:
        with started([f"{one.pid},{other.pid}", "-e", SCRIPT, "--hits", "0", "-f", "ndjson"]) as tracer:
            told(tracer, "tracing 2 JVMs")
            for target in (one, other):
                called(target, 7)
                target.process.stdin.close()  # type: ignore[union-attr]
            assert tracer.wait() == 5
        assert "all 2 JVMs have ended" in tracer.stderr[-1]
        assert [record["data"] for record in tracer.of("map")] == [{"@n": 14}]


def test_every_jvm_of_a_name_as_text() -> None:
    with traffic(17, "-Dbtpy.name=several-a") as one, traffic(17, "-Dbtpy.name=several-b") as other:
        command = [sys.executable, "-m", "btpy", "--all", "several-", "-e", SCRIPT, "--hits", "3"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        assert any("tracing 2 JVMs" in line for line in process.stderr)
        called(one, 3)
        called(other, 3)
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        for target in (one, other):
            lines = [line for line in out.splitlines() if line.startswith(f"{target.pid}  ")]
            assert lines == [f"{target.pid}  {number} served" for number in range(3)]
        assert "@n  6" in out.splitlines()


@pytest.mark.parametrize(
    ("flags", "help_"),
    [
        (["-f", "flame"], "= help: record each, and replay:  -o run.btz, then btpy replay run-PID.btz -f flame"),
        (["--dry-run"], "= help: btpy PID -e 'TEXT' --dry-run"),
        (["-l"], "= help: btpy PID -e 'TEXT' --list"),
    ],
)
def test_options_for_one_jvm_are_refused_with_an_alternative(flags: list[str], help_: str) -> None:
    result = btpy("4711,4712", "-e", SCRIPT, *flags)
    assert (result.returncode, help_ in result.stderr) == (2, True), result.stderr
