"""The speed of a recording, and the cost of a line of output for the client: two sections of RESULTS.md.

    python benchmarks/recording.py [--quick] [--jdk 17] [--stdout]

Recording: a program fires an event of three values from two threads, at rising rates and as fast as possible; each
event has to be in the recording or counted as lost. The first second is counted on its own, because the JVM compiles
the woven code then. Output: records in memory become text and ndjson. It is measured in
CPU time, so that other programs hardly change the result.
"""

from __future__ import annotations

import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # this script runs as a file, and imports from tests/

from benchmarks import commandline, results  # noqa: E402
from btpy.cli.console import Console  # noqa: E402
from btpy.engine.event_queue import EventQueue  # noqa: E402
from btpy.engine.secret_messages import mask  # noqa: E402
from btpy.events.items import ItemDecoder  # noqa: E402
from btpy.events.record_decoder import tally  # noqa: E402
from btpy.events.stacks import StackTable  # noqa: E402
from btpy.lang.check.checker import check_source  # noqa: E402
from btpy.lang.outline import outline_of  # noqa: E402
from btpy.model.source import Source  # noqa: E402
from btpy.output import formats  # noqa: E402
from btpy.output.stream import Stream  # noqa: E402
from btpy.output.style import Style  # noqa: E402
from btpy.output.writer import Clock, Context  # noqa: E402
from btpy.present.presenter import Presenter  # noqa: E402
from btpy.recording.entries import Started  # noqa: E402
from btpy.recording.file import ChunkReader, ChunkWriter  # noqa: E402
from btpy.recording.recorder import Recorder  # noqa: E402
from btpy.wire.messages import Events  # noqa: E402
from tests.jdks import compiled, java  # noqa: E402
from tests.targets import target  # noqa: E402

SCRIPT = 'Firehose::event @entry { emit("e", number=arg0, payload=arg1, third=arg2) }'
JAVA = ROOT / "benchmarks" / "java"
RATES = (200_000, 500_000, 1_000_000, 2_000_000, 3_000_000, 0)
THREADS = 2
FIRST_MILLISECONDS = 1000
EVENTS = 20_000  # in memory, for the lines of output


@dataclass(frozen=True)
class Run:
    """One recording. ``made``, ``recorded`` and ``seconds``: calls, events and time after the first second;
    ``made_first`` and ``lost_first``: calls and lost events of the first second. ``uncounted``: calls that were neither
    recorded nor counted as lost. ``cpu``: processor nanoseconds of the client for an event, from attaching to the end.
    """

    rate: int
    made: int
    recorded: int
    seconds: float
    made_first: int
    lost_first: int
    uncounted: int
    cpu: float
    megabytes: float


def record(jdk: int, rate: int, milliseconds: int) -> Run:
    with (
        tempfile.TemporaryDirectory(prefix="btpy-recording-") as directory,
        target(
            jdk, "Firehose", classpath=[compiled([ROOT / "benchmarks" / "java" / "Firehose.java"], release=11)]
        ) as jvm,
    ):
        jvm.send(f"{THREADS} 0 2000")  # compiled by then
        jvm.wait_for("made")
        file = Path(directory) / "run.btz"
        command = [sys.executable, "-m", "btpy", str(jvm.pid), "-e", SCRIPT, "-o", str(file), "--budget", "off"]
        before = os.times()
        tracer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1"})
        assert tracer.stderr is not None
        assert "Ctrl-C to end" in tracer.stderr.readline()
        bursts = []
        for burst in (FIRST_MILLISECONDS, milliseconds):
            jvm.send(f"{THREADS} {rate} {burst}")
            bursts.append([int(number) for number in jvm.wait_for("made", burst / 1000 + 120).split()[1:]])
        (made_first, *_), (made, nanos, second_began) = bursts
        tracer.send_signal(signal.SIGINT)
        stderr = tracer.stderr.read()
        assert tracer.wait() == 0, stderr
        after = os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        match = re.search(r"([\d ]+) produced = ([\d ]+) delivered \+ ([\d ]+) dropped", stderr)
        assert match is not None, stderr
        produced, delivered, drops = (int(number.replace(" ", "")) for number in match.groups())
        assert produced == delivered + drops, (bursts, stderr)
        times = _times(file)
        assert len(times) == delivered, (len(times), stderr)
        first = sum(time < second_began for time in times)
        size = file.stat().st_size / 1e6 * (delivered - first) / delivered
        uncounted = made_first + made - produced
        per_event = cpu / delivered * 1e9
        return Run(
            rate, made, delivered - first, nanos / 1e9, made_first, made_first - first, uncounted, per_event, size
        )


def _times(file: Path) -> list[int]:
    """System.nanoTime of each record in a recording."""
    times = []
    with ChunkReader.open(file) as reader:
        for entry in reader.entries():
            if entry.code == Events.code:
                at = 0
                for _ in range(sum(tally(entry.payload).values())):
                    size, time_ = struct.unpack_from("<i12xq", entry.payload, at)
                    times.append(time_)
                    at += size
    return times


def recordings(jdk: int, milliseconds: int) -> str:
    runs = [record(jdk, rate, milliseconds) for rate in RATES]
    lines = [
        "| called a second | recorded a second | lost, counted | lost in the first second | not counted |"
        " client CPU, ns an event | MB a second |",
        "|---|---|---|---|---|---|---|",
    ]
    for run in runs:
        requested_rate = f"{run.made / run.seconds:,.0f}" + ("" if run.rate else " (as many as there can be)")
        lines.append(
            f"| {requested_rate} | {run.recorded / run.seconds:,.0f} | {1 - run.recorded / run.made:.1%} |"
            f" {run.lost_first / run.made_first:.1%} | {run.uncounted:,} |"
            f" {run.cpu:,.0f} | {run.megabytes / run.seconds:,.0f} |"
        )
    return "\n".join(lines)


def taking(rounds: int) -> float:
    """CPU ns for each event in a recording process, from the frame to the file: the smallest of several rounds."""
    frame = Events(payload(1000))
    best = float("inf")
    with tempfile.TemporaryDirectory(prefix="btpy-recording-") as directory:
        outline = outline_of(check_source(Source("x.bt", SCRIPT)))
        start = Started("0", 1, "x", "17", "x", 0, 0, True, True, 0)
        for number in range(rounds):
            with ChunkWriter.create(Path(directory) / f"{number % 2}.btz") as file:
                inbox, recorder = EventQueue(lambda size: None), Recorder(file, start, outline, {}, StackTable())
                began = time.process_time_ns()
                for _ in range(100):
                    inbox.put(frame)
                    message = inbox.take(None)
                    assert message is not None
                    recorder.message(mask(message, None, {}))
                best = min(best, (time.process_time_ns() - began) / 100_000)
    return best


def payload(events: int) -> bytes:
    """Records of a number, a short string and a duration, laid out as docs/runtime.md says."""
    records = []
    for at in range(events):
        values = b"\x04" + struct.pack("<q", at) + b"\x07" + struct.pack("<H", 8) + b"SKU-%04d" % (at % 1000)
        values += b"\x04" + struct.pack("<q", 12_345 + at * 7) + b"\xff"
        size = (32 + len(values) + 7) & ~7
        head = struct.pack("<iiiiqq", size, 0, 1 << 24 | 1, 0, 10**9 + at * 1000, 7)
        records.append(head + values.ljust(size - 32, b"\0"))
    return b"".join(records)


SCRIPTS = {
    "`print(n, s, duration)`": "a.B::c @return { print($n, $s, duration); }",
    '`emit("q", …)` of the same': 'a.B::c @return { emit("q", n=$n, sku=$s, took=duration); }',
}


def lines(rounds: int) -> str:
    table = [
        "| event | text, ns | ndjson, ns | csv, ns | of that, hiding secrets | decoding |",
        "|---|---|---|---|---|---|",
    ]
    records = payload(EVENTS)
    for title, script in SCRIPTS.items():
        costs = {name: [line(script, name, records) for _ in range(rounds)] for name in ("text", "ndjson", "csv")}
        least = [f"{min(cost.whole for cost in rounds_of_format):,.0f}" for rounds_of_format in costs.values()]
        every = [cost for rounds_of_format in costs.values() for cost in rounds_of_format]
        parts = [min(cost.hiding for cost in every), min(cost.decoding for cost in every)]
        table.append(f"| {title} | {' | '.join(least)} | {' | '.join(f'{part:,.0f}' for part in parts)} |")
    return "\n".join(table)


@dataclass(frozen=True)
class LineCost:
    """CPU ns for each event: from the message to the line, and of that, for hiding secrets and for decoding."""

    whole: float
    hiding: float
    decoding: float


def line(script: str, format_: str, records: bytes) -> LineCost:
    outline = outline_of(check_source(Source("x.bt", script)))
    with Stream.file(Path(os.devnull), append=False) as stream:
        context = Context(outline, {}, StackTable(), Clock(0, 1_700_000_000 * 10**9))
        writer = formats.writer(formats.named(format_), stream, context, Style(), frozenset(), None)
        showing = Presenter(context, writer, Console(), hits=None, displayed=None)
        decoder = ItemDecoder()
        start = time.process_time_ns()
        message = mask(Events(records), None, {})
        hidden = time.process_time_ns()
        item = decoder.item(message, context.outline)
        decoded = time.process_time_ns()
        showing.item(item)
        stream.flush()
        end = time.process_time_ns()
        return LineCost((end - start) / EVENTS, (hidden - start) / EVENTS, (decoded - hidden) / EVENTS)


def main() -> None:
    arguments = commandline.options(__doc__).parse_args()
    output = lines(9 if arguments.quick else 31)
    alone = taking(9 if arguments.quick else 31)
    recording_files = recordings(arguments.jdk, 1000 if arguments.quick else 5000)
    sections = {
        "Recording at full speed": (
            f"{results.origin(commandline.repeated(), java(arguments.jdk))}\n\n"
            "Two threads fire an event of three numbers; `-o run.btz` on the same machine. After a first second, in"
            " which the JVM compiles the woven code, they go on at the same rate; the first three columns are of this"
            " time. *Not counted* is the program's own number of calls without recorded and lost; recorded was checked"
            " against the records in the file. The CPU of the client has its start in it; from the frame to the file"
            " alone, without the socket,"
            f" an event of {len(payload(1000)) // 1000} bytes takes {alone:,.0f} ns.\n\n{recording_files}"
        ),
        "A line of output (CPU ns an event)": (
            f"{results.origin(commandline.repeated())}\n\n"
            "From the bytes of the target to the line, best of several rounds of"
            f" {EVENTS:,} events; 5,000 ns are 200,000 lines a second of one core.\n\n{output}"
        ),
    }
    for title, text in sections.items():
        results.publish(title, text, stdout=arguments.stdout)


if __name__ == "__main__":
    main()
