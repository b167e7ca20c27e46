"""A run that is killed in the middle of a write leaves whole chunks, and at most the beginning of another."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from btpy.errors import OutputError
from btpy.output.jfr.writer import JfrWriter
from btpy.output.stream import Stream
from tests.jdks import compiled, java
from tests.live.test_jfr import JAVA, MISSION_CONTROL, TOOLS, run
from tests.maven import artifact
from tests.output.jfr.busy_writer import EVENTS
from tests.output.jfr.reader import chunks
from tests.output.jfr.test_writer import event
from tests.output.program import context, record, slot

KILLS = 101
LONGEST_SECONDS = 0.03
EVENT = event(slot(0, label="n"), slot(1, label="text"))


def append(path: Path, number: int) -> None:
    with Stream.file(path, append=True) as stream:
        writer = JfrWriter(stream, context(EVENT))
        writer.records([record(number, "after")])
        writer.close()


def numbers(path: Path) -> list[list[int]]:
    """The numbers in the events of each chunk."""
    return [[one["n"] for one in chunk.named("btpy.event.order")] for chunk in chunks(path.read_bytes())]


def two_chunks(path: Path) -> int:
    """Returns the length of the first."""
    with Stream.file(path, append=False) as stream:
        writer = JfrWriter(stream, context(EVENT))
        writer.records([record(7, "one")])
        writer.close()
        stream.flush()
        first = path.stat().st_size
        writer.records([record(11, "two"), record(13, "two")])
        writer.close()
    return first


def test_the_beginning_of_a_chunk_is_removed_when_a_run_appends(tmp_path: Path) -> None:
    path = tmp_path / "run.jfr"
    first = two_chunks(path)
    whole = path.read_bytes()
    for length in (0, first, len(whole), first + 1, first + 3, first + 67, first + 68, len(whole) - 1):
        path.write_bytes(whole[:length])
        append(path, 17)
        kept = [[7]] * (length >= first) + [[11, 13]] * (length == len(whole))
        assert numbers(path) == [*kept, [17]]
    for other in (b"FLX", b"# a text", whole + b"text", whole[: first + 8] + bytes(100)):
        path.write_bytes(other)
        with pytest.raises(OutputError, match="another format"):
            append(path, 17)
        assert path.read_bytes() == other


@pytest.mark.proof
def test_a_file_is_whole_after_a_kill_at_any_moment_and_an_append(tmp_path: Path) -> None:
    path = tmp_path / "run.jfr"
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    cut = written = 0
    for _ in range(KILLS):
        command = [sys.executable, "-m", "tests.output.jfr.busy_writer", str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            time.sleep(chance.uniform(0, LONGEST_SECONDS))
            writer.kill()
        left = path.read_bytes()
        length = int.from_bytes(left[8:16])  # of a chunk; all are the same
        count = len(left) // length
        assert count, "a chunk was written before the program said that it is ready"
        append(path, 17)
        whole = path.read_bytes()
        assert whole[: count * length] == left[:length] * count, seed
        (last,) = chunks(whole[count * length :])
        assert [one["n"] for one in last.named("btpy.event.order")] == [17]
        written += count
        cut += len(left) > count * length
    path.write_bytes(left[:length])
    assert numbers(path) == [list(range(EVENTS))]
    assert cut > KILLS // 10
    print(f"{KILLS} kills (seed {seed}): {written} whole chunks, {cut} beginnings of a chunk, which append removed")


@pytest.mark.proof
def test_mission_control_reads_a_file_that_is_cut_off_and_the_tool_of_the_jdk_does_not(tmp_path: Path) -> None:
    path = tmp_path / "run.jfr"
    first = two_chunks(path)
    whole = path.read_bytes()
    jars = [artifact(name) for name in MISSION_CONTROL]
    classes = compiled([JAVA / "jfr" / "ReadByMissionControl.java"], release=11, classpath=jars)
    command = [str(java(TOOLS)), "-cp", os.pathsep.join(map(str, (classes, *jars))), "ReadByMissionControl"]
    for length in (first + 4, first + 68, len(whole) - 1, len(whole)):
        path.write_bytes(whole[:length])
        read = subprocess.run(
            [*command, str(path), "btpy.event.order"], check=True, capture_output=True, text=True, timeout=120
        )
        assert read.stdout.splitlines()[-1] == ("count 1" if length < len(whole) else "count 3")
        if length == len(whole):
            continue
        with pytest.raises(subprocess.CalledProcessError):
            run(TOOLS, "jfr", "summary", path)
    path.write_bytes(whole[:-1])
    append(path, 17)
    assert "btpy.event.order" in run(TOOLS, "jfr", "summary", path)
