"""DuckDB and Spark give the same answers about the files of 20 hosts as btpy's own merge while the hosts ran.

``BTPY_PARQUET_EVENTS=10000000 python -m pytest -s -m proof tests/live/test_twenty_hosts.py`` runs the test with ten
million events.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from btpy.topics import topics
from tests.cli.fake_ssh import REMOTE, fake_ssh, jvms_on, pid_of
from tests.live.scripts import waited
from tests.live.traffic import called
from tests.spark import spark
from tests.sql import Engine, duckdb
from tests.targets import PATIENCE, Target

pytestmark = [pytest.mark.proof, pytest.mark.timeout(3600)]

EVENTS = int(os.environ.get("BTPY_PARQUET_EVENTS", "1000000"))
HOSTS = [f"web{number:02}" for number in range(1, 21)]
TURN = 1009
"""The calls of a host before the next host's turn."""
AHEAD = 200_000
"""The number of events of all hosts that may wait for the client."""
OVERLOAD = 1_000_003
"""The calls of the last host while its btpy is stopped, so that events are lost."""
SCRIPT = """Traffic::serve @entry {
    @n = count(); @by[arg0 % 5] = hist(1000 + arg0 * arg0); @sums[arg0 % 3] = sum(arg0);
    @line = lhist(arg0, 0, 900, 100); @ids = distinct(arg0 * arg0 + pid);
    @top = topk(arg0 % 499 * (arg0 % 2), 10); @stats = stats(arg0 - 7);
    emit("served", number=arg0, kind=arg0 % 5);
}"""
PERCENTS = (50, 90, 99)
LOSSES = ("produced", "delivered", "ring", "large", "stalled")


@dataclass
class Live:
    """What ``btpy --hosts`` printed: ``events`` are counted by host, the other records are kept."""

    process: subprocess.Popen[bytes]
    events: Counter[str] = field(default_factory=Counter)
    records: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if b'"type":"event"' in line:
                host = re.search(rb'"host":"(\w+)"', line)
                assert host is not None
                self.events[host[1].decode()] += 1
            else:
                self.records.append(json.loads(line))

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(PATIENCE * 4) == 0
        self._reader.join()

    def close(self) -> None:
        self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [record for record in self.records if record["type"] == kind]

    @cached_property
    def maps(self) -> dict[str, Any]:
        """The content of each map at the end."""
        kinds = ("map", "hist", "stats", "topk")
        return {
            name: data for record in self.records if record["type"] in kinds for name, data in record["data"].items()
        }


@dataclass
class Fleet:
    """A run on 20 hosts, its recordings, and the data sets that a replay of the recordings wrote."""

    live: Live
    calls: Counter[str]
    data: Path


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    directory = tmp_path_factory.mktemp("fleet")
    try:
        with jvms_on(*HOSTS) as (name, targets), tracing(directory, name) as live:
            waited(lambda: len(live.of("attached_probes")) == len(HOSTS), "all hosts are traced")
            began = time.monotonic()
            calls = _called(live, targets, directory)
            live.stop()
            report("live run", time.monotonic() - began, sum(live.events.values()))
        recordings = sorted(directory.glob("run-*.btz"))
        print(f"recordings: {megabytes(recordings)}")
        assert len(recordings) == len(HOSTS)
        _replay(recordings, "-f", "ndjson")
        _replay(recordings, "-f", "ndjson", "-o", f"parquet://{directory}/data")
        for data_set in ("events", "maps", "losses"):
            print(f"{data_set}: {megabytes([*(directory / 'data' / data_set).rglob('*.parquet')])}")
        yield Fleet(live, calls, directory / "data")
    finally:
        shutil.rmtree(directory)  # a gigabyte


@contextmanager
def tracing(directory: Path, name: str) -> Iterator[Live]:
    options = ["--hits", "0", "--budget", "off", "-f", "ndjson", "--record", str(directory / "run.btz")]
    with fake_ssh(directory) as env:
        command = [
            sys.executable,
            "-m",
            "btpy",
            "--hosts",
            ",".join(HOSTS),
            "--remote-btpy",
            REMOTE,
            name,
            "-e",
            SCRIPT,
        ]
        process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, env={**os.environ, **env})
        live = Live(process)
        try:
            yield live
        finally:
            process.kill()
            live.close()


def _called(live: Live, targets: dict[str, Target], directory: Path) -> Counter[str]:
    """Lets the hosts call in turns, at different speeds, and so slowly that no event is lost. Then it overloads one
    host."""
    calls: Counter[str] = Counter()
    while calls.total() < EVENTS:
        for number, (host, target) in enumerate(targets.items()):
            called(target, TURN + number)
            calls[host] += TURN + number
            waited(lambda: calls.total() - live.events.total() < AHEAD, "the client keeps up")
    waited(lambda: live.events.total() == calls.total(), "all events")
    btpy = pid_of(directory, HOSTS[-1])
    os.kill(btpy, signal.SIGSTOP)
    called(targets[HOSTS[-1]], OVERLOAD)
    os.kill(btpy, signal.SIGCONT)
    calls[HOSTS[-1]] += OVERLOAD
    return calls


def _replay(recordings: list[Path], *options: str) -> None:
    """Prints the time and the highest memory use of a replay."""
    began = time.monotonic()
    command = [sys.executable, "-m", "btpy", "replay", *map(str, recordings), "--hits", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    report(f"replay {' '.join(options[:3])}", time.monotonic() - began, usage.ru_maxrss << 10)


def report(what: str, seconds: float, number: int) -> None:
    print(f"{what}: {seconds:.1f} s, {number:,}")


def megabytes(files: list[Path]) -> str:
    return f"{len(files)} files, {sum(file.stat().st_size for file in files) / 1e6:,.1f} MB"


@pytest.fixture(scope="module", params=["DuckDB", "Spark"])
def engine(request: pytest.FixtureRequest, fleet: Fleet) -> Iterator[SqlOf]:
    with duckdb() if request.param == "DuckDB" else spark(fleet.data) as database:
        database.load(topics()[request.param.lower()])
        yield SqlOf(request.param, database, fleet.data)


@dataclass(frozen=True)
class SqlOf:
    """Questions in SQL that both engines understand, after the names that differ are replaced."""

    name: str
    running: Engine
    data: Path

    def ask(self, question: str) -> list[list[Any]]:
        sql = question
        for text, for_duckdb, for_spark in _DIALECT:
            sql = sql.replace(text, (for_duckdb if self.name == "DuckDB" else for_spark).replace("DIR", str(self.data)))
        answer = self.running.ask(sql)
        report(f"{self.name}: {question[:60]}", answer.seconds, answer.peak)
        return answer.rows


_DIALECT = [
    ("EVENTS", "btpy_events('DIR')", "btpy_events"),
    ("TOTALS", "btpy_totals('DIR')", "btpy_totals"),
    ("LOSSES", "btpy_losses('DIR')", "btpy_losses"),
    ("NUMBER", "(data->>'number')::BIGINT", "CAST(get_json_object(data, '$.number') AS BIGINT)"),
    ("KIND", "(data->>'kind')::BIGINT", "CAST(get_json_object(data, '$.kind') AS BIGINT)"),
    ("KEY", "keys[1]", "get(keys, 0)"),
    (
        "MERGED",
        "btpy_merge(scale, count, zero_count, positive_offset, positive_counts, negative_offset, negative_counts, "
        "min, max)",
        "btpy_merge(collect_list(histogram))",
    ),
    ("ADDED", "btpy_add(bucket_counts)", "btpy_add(collect_list(bucket_counts))"),
    ("DIFFERENT", "btpy_distinct(registers)", "btpy_distinct(collect_list(registers))"),
    ("TOP", "btpy_top(top, unseen)", "btpy_top(collect_list(listed))"),
]


def test_every_event_that_came_is_there(fleet: Fleet, engine: SqlOf) -> None:
    counts = dict(engine.ask("SELECT host, count(*) FROM EVENTS GROUP BY host"))
    assert counts == fleet.live.events
    assert {host: counts[host] for host in HOSTS[:-1]} == {host: fleet.calls[host] for host in HOSTS[:-1]}


def test_the_values_of_events_add_up(fleet: Fleet, engine: SqlOf) -> None:
    rows = engine.ask(
        "SELECT KIND, count(*), sum(NUMBER), min(NUMBER), max(NUMBER) FROM EVENTS WHERE host <> 'web20' GROUP BY KIND"
    )
    turns = [TURN + number for number in range(len(HOSTS) - 1) for _ in range(fleet.calls[HOSTS[0]] // TURN)]
    for kind, count, total, least, most in rows:
        numbers = [range(kind, turn, 5) for turn in turns]
        assert (count, total) == (sum(map(len, numbers)), sum(map(sum, numbers)))
        assert (least, most) == (kind, max(sequence[-1] for sequence in numbers))
    assert len(rows) == 5


def test_losses_are_those_that_were_told(fleet: Fleet, engine: SqlOf) -> None:
    rows = engine.ask(
        "SELECT host, sum(produced), sum(delivered), sum(dropped_ring), sum(dropped_large), sum(dropped_stalled) "
        "FROM LOSSES GROUP BY host"
    )
    expected = {}
    for record in fleet.live.of("end"):
        (probe,) = record["probes"]
        expected[record["host"]] = [probe["produced"], probe["delivered"], *(probe["dropped"][x] for x in LOSSES[2:])]
    assert {host: numbers for host, *numbers in rows} == expected
    assert {host: numbers[0] for host, numbers in expected.items()} == fleet.calls
    losses = {host: sum(numbers[2:]) for host, numbers in expected.items()}
    assert {host for host, number in losses.items() if number} == {HOSTS[-1]}


def test_sums(fleet: Fleet, engine: SqlOf) -> None:
    rows = engine.ask("SELECT map, KEY, sum(count), sum(sum), min(min), max(max) FROM TOTALS GROUP BY map, keys")
    by_map = {(name, key): numbers for name, key, *numbers in rows}
    assert by_map["@n", None][0] == fleet.live.maps["@n"] == fleet.calls.total()
    assert {key: numbers[1] for (name, key), numbers in by_map.items() if name == "@sums"} == fleet.live.maps["@sums"]
    stats = fleet.live.maps["@stats"]
    assert by_map["@stats", None] == [stats["count"], stats["total"], stats["min"], stats["max"]]


def test_histograms_bucket_by_bucket(fleet: Fleet, engine: SqlOf) -> None:
    rows = engine.ask("SELECT KEY, btpy_buckets(MERGED) FROM TOTALS WHERE map = '@by' GROUP BY keys")
    buckets_by_key = {key: [(part["low"], part["high"], part["count"]) for part in buckets] for key, buckets in rows}
    assert buckets_by_key == {
        key: [(part["min"], part["max"], part["count"]) for part in buckets]
        for key, buckets in fleet.live.maps["@by"].items()
    }


def test_percentiles(fleet: Fleet, engine: SqlOf) -> None:
    every = ", ".join(f"btpy_percentile(h, {percent})" for percent in PERCENTS)
    rows = engine.ask(
        f"SELECT k, {every} FROM (SELECT KEY AS k, MERGED AS h FROM TOTALS WHERE map = '@by' GROUP BY keys)"
    )
    (hist,) = (record for record in fleet.live.of("hist") if "@by" in record["data"])
    assert {key: numbers for key, *numbers in rows} == {
        key: [figures[f"p{percent}"]["value"] for percent in PERCENTS]
        for key, figures in hist["percentiles"]["@by"].items()
    }


def test_linear_buckets(fleet: Fleet, engine: SqlOf) -> None:
    ((bounds, counts),) = engine.ask("SELECT bounds, ADDED FROM TOTALS WHERE map = '@line' GROUP BY bounds")
    limits = [None, *bounds, None]
    buckets_by_key = [(limits[at], limits[at + 1], count) for at, count in enumerate(counts) if count]
    assert buckets_by_key == [(part.get("min"), part.get("max"), part["count"]) for part in fleet.live.maps["@line"]]


def test_different_values(fleet: Fleet, engine: SqlOf) -> None:
    assert engine.ask("SELECT DIFFERENT FROM TOTALS WHERE map = '@ids'") == [[fleet.live.maps["@ids"]]]


def test_most_frequent_values(fleet: Fleet, engine: SqlOf) -> None:
    ((top_values,),) = engine.ask("SELECT TOP FROM TOTALS WHERE map = '@top'")
    top = fleet.live.maps["@top"]["values"]
    buckets_by_key = {int(entry["value"]): (entry["count"], entry["error"]) for entry in top_values}
    assert {entry["value"]: buckets_by_key[entry["value"]] for entry in top} == {
        entry["value"]: (entry["count"], entry["error"]) for entry in top
    }
    assert [entry["count"] for entry in top_values[: len(top)]] == [entry["count"] for entry in top]
