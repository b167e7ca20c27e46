"""Runs that export to Parquet files have exactly the program's counts, read back by pyarrow and DuckDB."""

from __future__ import annotations

import resource
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import duckdb
import pytest

from btpy.topics import topics
from tests.cli.fake_ssh import jvms_on
from tests.cli.test_hosts import on_hosts
from tests.cli.test_several import told
from tests.live.scripts import waited
from tests.live.test_otlp import run
from tests.live.traffic import called, traffic
from tests.output.parquet.read import by_duckdb, by_pyarrow, part_files
from tests.tracer import Tracer

SCRIPT = """Traffic::serve @entry {
    @n = count(); @sizes[arg0 % 3] = hist(arg0); @sum = sum(arg0); @ids = distinct(arg0); @top = topk(arg0 % 5, 3);
    print(f"{arg0} served"); emit("served", number=arg0, odd=arg0 % 2 == 1);
}"""
HISTOGRAM = (
    "btpy_merge(scale, count, zero_count, positive_offset, positive_counts, negative_offset, negative_counts, min, max)"
)


def started(stack: ExitStack, *arguments: str) -> Tracer:
    tracer = Tracer([*arguments, "--hits", "0", "-f", "ndjson"])
    stack.callback(tracer.kill)
    return tracer


def flushed(tracer: Tracer) -> int:
    """The sum of all prints of @n."""
    return sum(record["data"].get("@n") or 0 for record in tracer.of("map"))


def asked(directory: Path, question: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        connection.execute(topics()["duckdb"])
        return connection.execute(question.replace("DIR", f"'{directory}'")).fetchall()


def test_every_call_is_in_the_data_sets_beside_the_usual_output(tmp_path: Path) -> None:
    with traffic(17, "-Dotel.service.name=shop") as one, ExitStack() as stack:
        tracer = started(stack, str(one.pid), "-e", SCRIPT, "-o", f"parquet://{tmp_path}/data")
        tracer.wait_for("attached_probes")
        called(one, 1009)
        called(one, 503)
        assert tracer.stop() == 0, tracer.stderr
    assert len(tracer.of("printf")) == 1512
    assert any(
        line.startswith(f"{tmp_path}/data: 3 024 events and 7 rows of maps in 3 files") for line in tracer.stderr
    )
    for read in (by_pyarrow, by_duckdb):
        rows = read(tmp_path / "data", "events")
        assert Counter(row["kind"] for row in rows) == {"print": 1512, "event": 1512}
        assert {(row["service"], row["script"], row["pid"]) for row in rows} == {("shop", "command line", one.pid)}
        assert Counter(row["data"] for row in rows)['{"number":502,"odd":false}'] == 2
        (loss,) = read(tmp_path / "data", "losses")
        drops = sum(count for name, count in loss.items() if name.startswith("dropped_"))
        assert loss["produced"] == loss["delivered"] + loss["discarded"] + drops == 3024
        assert (loss["written"], loss["withheld"], loss["fired"], loss["reason"]) == (3024, 0, 1512, "interrupt")
    everything = [*range(1009), *range(503)]
    assert asked(tmp_path / "data", "SELECT sum(count) FROM btpy_totals(DIR) WHERE map = '@n'") == [(1512,)]
    assert asked(tmp_path / "data", "SELECT sum, sum_double FROM btpy_totals(DIR) WHERE map = '@sum'") == [
        (sum(everything), 0.0)
    ]
    ((least, greatest, count),) = asked(
        tmp_path / "data", f"SELECT h.min, h.max, h.count FROM (SELECT {HISTOGRAM} AS h FROM btpy_totals(DIR))"
    )
    assert (least, greatest, count) == (0, 1008, 1512)


def test_a_limit_of_events_is_reported_with_the_losses(tmp_path: Path) -> None:
    with traffic() as one, ExitStack() as stack:
        tracer = Tracer([str(one.pid), "-e", SCRIPT, "--hits", "10", "-f", "ndjson", "-o", f"parquet://{tmp_path}"])
        stack.callback(tracer.kill)
        told(tracer, "Ctrl-C to end")
        called(one, 101)
        assert tracer.wait() == 0, tracer.stderr
    (loss,) = by_duckdb(tmp_path, "losses")
    assert loss["written"] == len(by_duckdb(tmp_path, "events")) == 10
    assert loss["written"] == loss["delivered"] - loss["withheld"]


def test_parts_of_flushed_maps_add_up(tmp_path: Path) -> None:
    script = "Traffic::serve @entry { @n = count(); @all = count(); } @OnTimer(50ms) { print(flush(@n)); print(@all); }"
    with traffic() as one, ExitStack() as stack:
        tracer = started(stack, str(one.pid), "-e", script, "-o", f"parquet://{tmp_path}")
        tracer.wait_for("attached_probes")
        called(one, 503)
        waited(lambda: flushed(tracer) == 503, "all in flushes")
        called(one, 101)
        assert tracer.stop() == 0, tracer.stderr
    totals = "SELECT map, sum(count) FROM btpy_totals(DIR) GROUP BY map ORDER BY map"
    assert asked(tmp_path, totals) == [("@all", 604), ("@n", 604)]
    readings = asked(tmp_path, "SELECT part, count(*) > 1 FROM btpy_maps(DIR) GROUP BY part ORDER BY part")
    assert readings == [(False, True), (True, True)]


def test_recordings_of_several_jvms_replay_into_one_data_set(tmp_path: Path) -> None:
    with traffic() as one, traffic(21) as other, ExitStack() as stack:
        tracer = started(stack, f"{one.pid},{other.pid}", "-e", SCRIPT, "--record", str(tmp_path / "run.btz"))
        told(tracer, "tracing 2 JVMs")
        called(one, 1009)
        called(other, 503)
        assert tracer.stop() == 0, tracer.stderr
    recordings = [str(tmp_path / f"run-{target.pid}.btz") for target in (one, other)]
    data = tmp_path / "data"
    replay_result = run("replay", *recordings, "-o", f"parquet://{data}")
    assert replay_result.returncode == 0, replay_result.stderr
    assert Counter(row["pid"] for row in by_pyarrow(data, "events")) == {one.pid: 2018, other.pid: 1006}
    assert {row["host"] for row in by_duckdb(data, "events")} == {None}
    (hist,) = (record for record in tracer.of("hist"))
    expected = {key: figures["count"] for key, figures in hist["percentiles"]["@sizes"].items()}
    merged = asked(data, f"SELECT keys[1], {HISTOGRAM}.count FROM btpy_totals(DIR) WHERE map = '@sizes' GROUP BY keys")
    assert dict(merged) == expected
    distinct = asked(data, "SELECT btpy_distinct(registers) FROM btpy_totals(DIR) WHERE map = '@ids'")
    assert distinct == [(tracer.maps()["ids"],)]
    tops = asked(data, "SELECT btpy_top(top, unseen) FROM btpy_totals(DIR) WHERE map = '@top'")[0][0]
    assert sum(entry["count"] for entry in tops) == 1512
    assert len({row["run"] for row in by_duckdb(data, "losses")}) == 2
    result = run("replay", *recordings, "-o", f"parquet://{data}")
    assert result.returncode != 0
    assert f"{data} has this run already" in result.stderr
    assert len(by_duckdb(data, "events")) == 3024


def test_several_jvms_and_several_hosts_share_one_data_set(tmp_path: Path) -> None:
    arguments = ("-e", SCRIPT, "--hits", "0", "-f", "ndjson", "-o", f"parquet://{tmp_path}/data")
    with jvms_on("web1", "web2") as (name, targets), on_hosts(tmp_path, "web[1-2]", name, *arguments) as tracer:
        told(tracer, "tracing 2 JVMs on 2 hosts")
        called(targets["web1"], 503)
        called(targets["web2"], 101)
        assert tracer.stop() == 0, tracer.stderr
    rows = by_duckdb(tmp_path / "data", "events")
    assert Counter((row["host"], row["kind"]) for row in rows) == {
        **{("web1", kind): 503 for kind in ("print", "event")},
        **{("web2", kind): 101 for kind in ("print", "event")},
    }
    totals = asked(tmp_path / "data", "SELECT host, sum(count) FROM btpy_totals(DIR) WHERE map = '@n' GROUP BY host")
    assert dict(totals) == {"web1": 503, "web2": 101}


def test_a_host_that_vanishes_leaves_its_last_maps(tmp_path: Path) -> None:
    arguments = ("-e", SCRIPT, "--hits", "0", "-i", "200ms", "-f", "ndjson", "-o", f"parquet://{tmp_path}/data")
    with jvms_on("web1", "web2") as (name, targets), on_hosts(tmp_path, "web[1-2]", name, *arguments) as tracer:
        told(tracer, "tracing 2 JVMs on 2 hosts")
        called(targets["web1"], 503)
        called(targets["web2"], 101)
        waited(lambda: tracer.maps().get("n") == 604, "what had been counted")
        targets["web2"].process.kill()
        told(tracer, "web2")
        waited(lambda: any(record["host"] == "web2" for record in tracer.of("end")), "its end")
        tracer.stop()
    totals = asked(tmp_path / "data", "SELECT host, sum(count) FROM btpy_totals(DIR) WHERE map = '@n' GROUP BY host")
    assert dict(totals) == {"web1": 503, "web2": 101}


@pytest.mark.parametrize("when", ["while it runs", "at the end"])
def test_a_full_disk_ends_the_run_and_puts_the_target_back(when: str, tmp_path: Path) -> None:
    """A limit on the size of files fails as a full disk does."""
    script = 'Traffic::serve @entry { @n = count(); emit("served", number=arg0, at=now); }'
    with traffic() as one, ExitStack() as stack:
        tracer = started(stack, str(one.pid), "-e", script, "-o", f"parquet://{tmp_path}")
        tracer.wait_for("attached_probes")
        resource.prlimit(tracer.process.pid, resource.RLIMIT_FSIZE, (4096, 4096))
        called(one, 101 if when == "at the end" else 40_009)
        if when == "at the end":
            status = tracer.stop()
        else:
            status = tracer.wait()
        assert status not in (0, None), tracer.stderr
        assert any("cannot write " in line and "file too large" in line for line in tracer.stderr)
        assert any("classes restored 1/1" in line for line in tracer.stderr) or tracer.of("end")[0]["restored"] == 1
        assert part_files(tmp_path, ".*") == []
        called(one, 3)
