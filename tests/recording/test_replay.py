"""``btpy replay``: a recording gives the output of the run, in any format."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from btpy.cli.played_target import Span
from btpy.events.items import Records, Unread
from btpy.events.records import Record
from btpy.output.writer import Clock
from btpy.wire.messages import ErrorKind, Errors, ProbeFailure
from tests.cli.test_trace import started, until
from tests.live.scripts import counted
from tests.live.traffic import called, traffic
from tests.output.otlp.backend import backend
from tests.recording.runs import CALLS, REFUSED, finished, replay
from tests.targets import PATIENCE

GOLDEN = Path(__file__).parents[1] / "golden" / "recording"


@pytest.mark.parametrize("format_", ["text", "ndjson"])
def test_a_replay_equals_the_output_of_the_run_byte_for_byte(tmp_path: Path, format_: str) -> None:
    live, file = tmp_path / "live", tmp_path / "run.btz"
    with finished("-f", format_, "-o", live, "--record", file) as tracer:
        message = [line for line in tracer.stderr if line.startswith("warning")]
    result = replay(file, "-f", format_)
    assert result.returncode == 0, result.stderr
    assert result.stdout == live.read_bytes()
    assert [line for line in result.stderr.decode().splitlines() if line.startswith("warning")] == message
    if format_ == "ndjson":
        lines = [json.loads(line) for line in live.read_text().splitlines()]
        assert sum(line["type"] == "event" and line["name"] == "step" for line in lines) == CALLS
        assert sum(line["type"] == "event" and line["name"] == "refused" for line in lines) == REFUSED


def test_a_run_that_is_only_recorded_is_complete(tmp_path: Path) -> None:
    file = tmp_path / "run.btz"
    with finished("-o", file) as tracer:
        assert tracer.stdout == []
        assert any(line.startswith("the end of") for line in tracer.stderr)
        (summary,) = (line for line in tracer.stderr if line.startswith("events "))
        assert " recorded, 0 lost" in summary
    lines = [json.loads(line) for line in replay(file, "-f", "ndjson").stdout.splitlines()]
    kinds = {line["type"] for line in lines}
    assert kinds >= {
        "attached_probes",
        "printf",
        "event",
        "map",
        "hist",
        "stats",
        "table",
        "lost",
        "probe_error",
        "end",
    }
    assert sum(line["type"] == "event" and line["name"] == "step" for line in lines) == CALLS
    assert next(line for line in lines if line["type"] == "end")["reason"] == "interrupt"
    stacks = [line["data"]["at"] for line in lines if line["type"] == "event" and line["name"] == "step"]
    assert all(stack[0].startswith("Counted.step") and "Counted.main" in stack[1] for stack in stacks)


def test_an_export_names_the_maps_that_no_metric_can_hold() -> None:
    with backend() as receiver:
        exported = replay(GOLDEN / "every_kind.btz", "-f", "ndjson", "-o", receiver.url)
    assert exported.returncode == 0, exported.stderr
    assert [line for line in exported.stderr.decode().splitlines() if "is not exported" in line] == [
        "@some is not exported: no metric can hold sample_of",
        "@series is not exported: no metric can hold tseries",
    ]
    names = {metric.name for _, metric in receiver.reports if not metric.name.startswith("btpy.probe.")}
    assert {"btpy.few", "btpy.took"} <= names
    assert not names & {"btpy.some", "btpy.series"}


def test_a_part_of_a_recording(tmp_path: Path) -> None:
    file = GOLDEN / "every_kind.btz"
    nothing = [json.loads(line) for line in replay(file, "--to", "1ns", "-f", "ndjson").stdout.splitlines()]
    assert {line["type"] for line in nothing} == {"attached_probes", "lost", "end"}
    assert replay(file, "--from", "1970-01-01", "--to", "2200-01-01").stdout == replay(file).stdout
    only = [json.loads(line) for line in replay(file, "--only", "refused", "-f", "ndjson").stdout.splitlines()]
    assert {line.get("name", line["type"]) for line in only} == {"attached_probes", "refused", "end"}
    maps = [json.loads(line) for line in replay(file, "--only", "@calls", "-f", "ndjson").stdout.splitlines()]
    assert [line["data"] for line in maps if line["type"] == "map"] == [{"@calls": 11}]
    wrong = replay(file, "--only", "refuse")
    assert wrong.returncode == 2
    assert b"--only refuse: no probe, event or map" in wrong.stderr


@pytest.mark.parametrize("format_", ["text", "ndjson"])
def test_a_recording_that_was_made_once_can_be_read(format_: str) -> None:
    """If this fails because the layout of a recorded message has changed, increase VERSION."""
    text = replay(GOLDEN / "every_kind.btz", "-f", format_).stdout.decode()
    assert text == (GOLDEN / f"every_kind.{format_}").read_text()


def test_a_recording_survives_the_death_of_btpy(tmp_path: Path) -> None:
    file = tmp_path / "run.btz"
    script = "Counted::step @entry as entry { emit('step', number=arg1); }".replace("'", '"')
    with counted(17) as program, started(program.pid, "-e", script, "-o", file) as tracer:
        until(lambda: any("Ctrl-C to end" in line for line in tracer.stderr))
        program.send("call 101")
        program.wait_for("called")
        deadline = time.monotonic() + PATIENCE
        while b'"number":100' not in (output := replay(file, "-f", "ndjson").stdout):
            assert time.monotonic() < deadline
        tracer.process.send_signal(signal.SIGKILL)
        tracer.process.wait()
    lines = [json.loads(line) for line in output.splitlines()]
    assert [line["data"]["number"] for line in lines if line["type"] == "event"] == list(range(101))
    end = lines[-1]
    assert (end["reason"], end["delivered"], end["dropped"]) == ("cut-off", 101, 0)
    assert b"the recording is incomplete" in replay(file).stderr


def test_mistakes_in_the_command_line(tmp_path: Path) -> None:
    other = tmp_path / "run.txt"
    other.write_text("hello, this is not a recording")
    data = (GOLDEN / "every_kind.btz").read_bytes()
    older, newer = tmp_path / "older.btz", tmp_path / "newer.btz"
    older.write_bytes(data[:8] + b"\x00\x01" + data[10:])
    newer.write_bytes(data[:8] + b"\x7f\x00" + data[10:])
    for arguments, status, message in (
        ((tmp_path / "none.btz",), 2, "cannot read"),
        ((other,), 2, "is not a recording of btpy"),
        (
            (older,),
            2,
            "of format 1; this btpy reads the formats 2 to 5\n  = help: replay it with the btpy that recorded it\n",
        ),
        ((newer,), 2, "help: replay it with the btpy that recorded it, or a later one\n"),
        ((GOLDEN / "every_kind.btz", "--from", "soon"), 2, "--from takes a time"),
        ((GOLDEN / "every_kind.btz", "-o", tmp_path), 1, "is a directory"),
        ((GOLDEN / "every_kind.btz", "--append"), 2, "--append needs -o FILE"),
    ):
        result = replay(*arguments)
        assert result.returncode == status, (arguments, result.stderr)
        assert message in result.stderr.decode(), (arguments, result.stderr)


def test_a_recording_beside_a_closed_output_has_its_end(tmp_path: Path) -> None:
    file = tmp_path / "run.btz"
    script = 'Counted::step @entry as entry { emit("step", number=arg1); @n = count(); }'
    with counted(17) as program:
        words = [sys.executable, "-m", "btpy", str(program.pid), "-e", script, "--hits", "0", "--record", str(file)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as tracer:
            assert tracer.stdout is not None
            assert tracer.stderr is not None
            assert b"Ctrl-C to end" in tracer.stderr.readline()
            program.send("call 101")
            program.wait_for("called")
            assert tracer.stdout.readline() == b"step number=0\n"
            tracer.stdout.close()
            while tracer.poll() is None:
                program.send("call 1")
                program.wait_for("called")
            assert tracer.returncode == 141
    result = replay(file, "-f", "ndjson")
    assert result.stderr == b""
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    end = lines[-1]
    assert (end["reason"], end["dropped"]) == ("reader-gone", 0)
    assert end["delivered"] == sum(line["type"] == "event" for line in lines) > CALLS
    assert next(line["data"] for line in lines if line["type"] == "map") == {"@n": end["delivered"]}


def test_recordings_of_several_jvms_are_one_run(tmp_path: Path) -> None:
    """Together the recordings give the output of the run: events ordered by time, and merged maps."""
    script = "Traffic::serve @entry { @n = count(); @last = arg0; emit('served', n=arg0); }".replace("'", '"')
    live, file = tmp_path / "live", tmp_path / "run.btz"
    flags = ["-e", script, "--hits", 0, "-f", "ndjson", "-o", live, "--record", file]
    with traffic() as one, traffic(21) as other:
        with started(f"{one.pid},{other.pid}", *flags) as tracer:
            until(lambda: any("tracing 2 JVMs" in line for line in tracer.stderr))
            called(one, 101)
            called(other, 53)
            tracer.process.send_signal(signal.SIGUSR1)
            until(lambda: live.read_text().count('"@n":154') == 1)
            called(one, 7)
            tracer.process.send_signal(signal.SIGINT)
            assert tracer.wait() == 0
        files = [tmp_path / f"run-{process.pid}.btz" for process in (one, other)]
        replay_result = replay(files[0], files[1], "-f", "ndjson")
        assert replay_result.returncode == 0, replay_result.stderr
        assert sorted(replay_result.stdout.splitlines()) == sorted(live.read_bytes().splitlines())
        lines = [json.loads(line) for line in replay_result.stdout.splitlines()]
        assert [line["data"] for line in lines if line["type"] == "map" and "pid" not in line] == [
            {"@n": 154},
            {"@n": 161},
        ]
        events = [(line["pid"], line["data"]["n"]) for line in lines if line["type"] == "event"]
        assert [n for pid, n in events if pid == one.pid] == [*range(101), *range(7)]
        assert [n for pid, n in events if pid == other.pid] == [*range(53)]
    older, data = tmp_path / "older.btz", files[1].read_bytes()
    older.write_bytes(data[:8] + b"\x00\x03" + data[10:])
    for arguments, message in (
        ((files[0], files[0]), "are of one JVM"),
        ((files[0], older), "is of another version of btpy than"),
        ((files[0], GOLDEN / "every_kind.btz"), "is of another script than"),
        ((*files, "-f", "folded"), "folded is one document about one JVM"),
    ):
        result = replay(Path(str(arguments[0])), *arguments[1:])
        assert (result.returncode, message in result.stderr.decode()) == (2, True), result.stderr


def test_a_part_of_a_recording_reports_its_malformed_records() -> None:
    failure = ProbeFailure(0, 0, ErrorKind.INTERNAL, 1, "a record that cannot be read")
    records = [Record(0, 0, 0, nanos, 1, "main", ()) for nanos in (10, 20, 30)]
    item = Records(records, Unread({0: 7}), Errors((failure,)))
    assert Span(20, None).cut(item, Clock(0, 0)) == Records(records[1:], item.unread, item.malformed)
