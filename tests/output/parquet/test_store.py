"""The files of data sets: bounds, names, rights, errors."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from btpy.errors import OutputError, ProtocolError, UsageError
from btpy.events.accounts import Cause, ProbeAccount
from btpy.model.source import Source
from btpy.model.templates import TemplateKind
from btpy.model.types import LONG
from btpy.output.origin import Origin
from btpy.output.parquet.partitions import HOUR_NANOS, escaped, hour_of
from btpy.output.parquet.schemas import DATA_SETS, VERSION, arrow_schema
from btpy.output.parquet.settings import Bounds, directory_of
from btpy.output.parquet.store import Store
from btpy.output.writer import Context, End, ProbeReport
from docs.build_parquet import page
from tests.output.parquet.read import by_duckdb, by_pyarrow, part_files
from tests.output.program import context, record, slot, template

SOLD = template(slot(0, LONG, "n"), kind=TemplateKind.EMIT, name="sold")
ORIGIN = Origin("shop", "", "web1", 4711)


def store(directory: Path, **bounds: Any) -> Store:
    data_store = Store(directory, Bounds(**bounds))
    data_store.start()
    return data_store


def events(made: Store, count: int, origin: Origin = ORIGIN, of: Context | None = None, nanos: int = 1000) -> None:
    writer = made.writer(of or context(SOLD), origin)
    for number in range(count):
        writer.records([record(number, nanos=nanos)])
    account = ProbeAccount(0, produced=count + 5, delivered=count, dropped_by={Cause.RING: 3, Cause.BUDGET: 2})
    writer.end(End("exit", count + 5, count, 5, 1, 1, (ProbeReport("slow_quote", account),)))


def test_rows_come_back_by_each_reader(tmp_path: Path) -> None:
    data_store = store(tmp_path / "made" / "here")
    events(data_store, 101)
    assert data_store.finish() == ("101 events and 0 rows of maps in 2 files", "")
    for read in (by_pyarrow, by_duckdb):
        rows = read(tmp_path / "made" / "here", "events")
        assert [row["data"] for row in rows] == [f'{{"n":{number}}}' for number in range(101)]
        assert {row["nanos"] for row in rows} == {1_700_000_000_000_000_000}
        partition = {(row["host"], row["service"], row["script"], row["hour"], row["pid"]) for row in rows}
        assert partition == {("web1", "shop", "slow.bt", "2023-11-14T22", 4711)}
        (loss,) = read(tmp_path / "made" / "here", "losses")
        drops = sum(count for name, count in loss.items() if name.startswith("dropped_"))
        assert (loss["produced"], loss["delivered"], loss["written"], drops) == (106, 101, 101, 5)
    files = part_files(tmp_path)
    assert [file.stat().st_mode & 0o777 for file in files] == [0o600, 0o600]
    assert (tmp_path / "made" / "here").stat().st_mode & 0o077 == 0


def test_files_end_after_rows_and_after_bytes(tmp_path: Path) -> None:
    data_store = store(tmp_path / "rows", rows=20, group_rows=10)
    events(data_store, 101)
    data_store.finish()
    rows = [parquet.read_metadata(file).num_rows for file in part_files(tmp_path / "rows" / "events")]
    assert rows == [20, 20, 20, 20, 20, 1]
    data_store = store(tmp_path / "bytes", bytes=1, group_rows=10)
    events(data_store, 30)
    data_store.finish()
    assert len(part_files(tmp_path / "bytes" / "events")) == 3
    data_store = store(tmp_path / "buffered", buffered=1000)
    events(data_store, 101)
    data_store.finish()
    (file,) = part_files(tmp_path / "buffered" / "events")
    assert parquet.read_metadata(file).num_row_groups > 5


def test_a_report_ends_all_files_so_that_readers_see_them(tmp_path: Path) -> None:
    data_store = store(tmp_path)
    writer = data_store.writer(context(SOLD), ORIGIN)
    for count in (1, 2):
        writer.records([record(7)])
        assert len(part_files(tmp_path)) == count - 1
        data_store.report()
        assert len(by_duckdb(tmp_path, "events")) == count


def test_hours_are_partitions_and_few_files_are_open_at_a_time(tmp_path: Path) -> None:
    data_store = store(tmp_path, open_files=3, group_rows=1)
    writer = data_store.writer(context(SOLD), ORIGIN)
    before = len(os.listdir("/proc/self/fd"))
    for hour in range(11):
        writer.records([record(hour, nanos=1000 + hour * HOUR_NANOS)])
        assert len(os.listdir("/proc/self/fd")) <= before + 2 * 3
    data_store.finish()
    rows = by_duckdb(tmp_path, "events")
    assert {row["hour"] for row in rows} == {hour_of(1_700_000_000_000_000_000 + h * HOUR_NANOS) for h in range(11)}
    assert len(os.listdir("/proc/self/fd")) == before - 1


def test_times_of_a_hostile_target_are_an_error_and_no_million_files(tmp_path: Path) -> None:
    data_store = store(tmp_path, hours=5)
    writer = data_store.writer(context(SOLD), ORIGIN)
    with pytest.raises(OutputError, match="spread over 5 hours"):
        writer.records([record(1, nanos=hour * HOUR_NANOS) for hour in range(11)])
    with pytest.raises(ProtocolError, match="s after 1970"):
        store(tmp_path / "far").writer(context(SOLD), ORIGIN).records([record(1, nanos=(1 << 63) - 1)])


HOSTILE = [
    "../x",
    "a=b",
    "two\nlines",
    "/etc",
    "..",
    "",
    "%2F",
    "Ω ☃",
    "a" * 300,
    "\udc80",
    "__HIVE_DEFAULT_PARTITION__",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_below_the_directory_and_come_back(name: str, tmp_path: Path) -> None:
    data_store = store(tmp_path / "data")
    of = context(SOLD)
    of.outline.sources[:] = [Source(f"dir/{name}", "text")]
    events(data_store, 13, replace(ORIGIN, host=name, service=name), of)
    data_store.finish()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["events", "losses", "maps"]
    (file,) = part_files(tmp_path / "data" / "events")
    assert len(file.relative_to(tmp_path / "data").parts) == 6
    for read in (by_pyarrow, by_duckdb):
        rows = read(tmp_path / "data", "events")
        assert len(rows) == 13
        for column in ("host", "service"):
            (value,) = {row[column] for row in rows}
            if len(name) < 200:
                null = name in ("", "__HIVE_DEFAULT_PARTITION__")  # readers take both texts for null
                assert value == (None if null else name.replace("\udc80", "?"))
            else:
                assert value.startswith("a" * 100)


@given(st.text(max_size=400))
def test_escapes_are_short_and_plain(value: str) -> None:
    text = escaped(value)
    assert 0 < len(text) <= 200
    assert not set(text) & set("/=\n\0")
    assert text.isascii()


@given(st.text(max_size=40), st.text(max_size=40))
def test_different_values_have_different_directories(one: str, other: str) -> None:
    assert (escaped(one) == escaped(other)) == (one == other)


def test_links_are_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "events").symlink_to(elsewhere)
    data_store = store(tmp_path / "data", group_rows=1)
    with pytest.raises(OutputError, match="cannot write events/host=web1/"):
        events(data_store, 2)
    assert "cannot write" in data_store.finish().failure
    assert list(elsewhere.iterdir()) == []


def test_a_full_disk_is_an_error_and_leaves_whole_files_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data_store = store(tmp_path, rows=20, group_rows=10)
    writer = data_store.writer(context(SOLD), ORIGIN)
    writer.records([record(number) for number in range(35)])

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="no space left on device") as error:
        writer.records([record(number) for number in range(35, 50)])
    assert "free some space, or write elsewhere with -o" in error.value.help
    monkeypatch.undo()
    writer.records([record(1)])  # the store drops this record, so that the run can end in order
    assert "no space left" in data_store.finish().failure
    assert len(by_duckdb(tmp_path, "events")) == 20
    assert part_files(tmp_path, ".*") == []


def test_a_run_that_is_there_is_refused(tmp_path: Path) -> None:
    data_store = store(tmp_path)
    events(data_store, 2)
    data_store.finish()
    with pytest.raises(OutputError, match="has this run already"):
        events(store(tmp_path), 2)


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"cannot write .*/file/data: not a directory"):
        store(tmp_path / "file" / "data")


def test_urls() -> None:
    assert directory_of("parquet:///var/x") == Path("/var/x")
    assert directory_of("parquet://traces/a") == Path("traces/a")
    with pytest.raises(UsageError, match="needs a directory"):
        directory_of("parquet://")


_ENDLESS = """
import sys
from pathlib import Path
from tests.output.parquet.test_store import SOLD, ORIGIN, store
from tests.output.program import context, record
made = store(Path(sys.argv[1]), rows=20, group_rows=10)
writer = made.writer(context(SOLD), ORIGIN)
number = 0
while True:
    writer.records([record(number)])
    number += 1
    if number == 100:
        print("goes", flush=True)
"""


@pytest.mark.parametrize("seed", range(3))
def test_a_kill_in_the_middle_leaves_no_broken_file(seed: int, tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", _ENDLESS, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"goes\n"
        try:
            process.wait(random.Random(seed).uniform(0, 0.2))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
    rows = by_duckdb(tmp_path, "events")
    assert len(rows) >= 80
    assert len(rows) % 20 == 0
    assert len(by_pyarrow(tmp_path, "events")) == len(rows)
    assert sorted(row["data"] for row in rows) == sorted(f'{{"n":{number}}}' for number in range(len(rows)))


def test_a_changed_schema_has_a_new_version() -> None:
    """Columns may be added; then add them here. A removed or changed column needs a new version number."""
    columns = {data_set.name: len(data_set.columns) for data_set in DATA_SETS}
    assert (VERSION, columns) == (1, {"events": 13, "maps": 43, "losses": 22})
    for data_set in DATA_SETS:
        assert arrow_schema(data_set).metadata == {b"btpy.schema": f"{data_set.name} 1".encode()}


def test_the_page_has_the_schemas() -> None:
    assert Path("docs/parquet.md").read_text() == page(), "run docs/build_parquet.py"
