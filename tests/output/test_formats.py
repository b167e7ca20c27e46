"""Writes a run that has every kind of record in every format, from its recording, without a JVM."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter, deque
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from btpy.cli import main
from btpy.errors import OutputError
from btpy.model.templates import TemplateKind
from btpy.output import formats
from btpy.output.chrome import ChromeWriter, nested
from btpy.output.stream import Stream
from tests.output.program import captured, context, record, slot, template

RECORDING = Path(__file__).parents[1] / "golden" / "recording" / "every_kind.btz"
CALLS = 11


def replay(*arguments: object) -> int:
    return main.main(["replay", str(RECORDING), "-q", *map(str, arguments)])


def test_the_name_of_a_file_suggests_its_format() -> None:
    for name, expected in (
        ("x.ndjson", "ndjson"),
        ("x.jsonl.gz", "ndjson"),
        ("x.json", "json"),
        ("x.trace.json", "chrome"),
        ("x.jfr", "jfr"),
        ("x.html", "flame"),
        ("x.logfmt.gz", "logfmt"),
        ("x.csv.gz", "csv"),
        ("x.log", None),
        ("csv", None),
    ):
        result = formats.suggested(Path(name))
        assert (result and result.name) == expected


def test_json_is_the_lines_of_ndjson(tmp_path: Path) -> None:
    assert replay("-o", tmp_path / "x.ndjson") == replay("-o", tmp_path / "x.json") == 0
    lines = (tmp_path / "x.ndjson").read_text().splitlines()
    assert json.loads((tmp_path / "x.json").read_text()) == [json.loads(line) for line in lines]


def test_logfmt_has_a_line_for_each_event_and_row(tmp_path: Path) -> None:
    assert replay("-o", tmp_path / "x.logfmt") == replay("-o", tmp_path / "x.ndjson") == 0
    text = (tmp_path / "x.logfmt").read_text()
    lines = [json.loads(line) for line in (tmp_path / "x.ndjson").read_text().splitlines()]
    for type_, pattern in (
        ("printf", r"^time=\S+ probe=\S+ tid=\d+ thread=\S+ msg="),
        ("warn", r"^time=\S+ probe=\S+ level=warn tid=\d+ thread=\S+ msg="),
        ("event", r"^time=\S+ probe=\S+ event=\S+ tid=\d+ thread=\S+ "),
    ):
        timed = [line for line in lines if line["type"] == type_]
        assert len(re.findall(pattern, text, re.MULTILINE)) == len(timed) > 0
    assert f"time={lines[1]['ts']} probe=entry tid=1 thread=main msg=" in text
    assert (
        "event=step tid=1 thread=main name=abc number=0 at=Counted.step:23;Counted.main "
        r'self="{\"@class\":\"Counted\",\"calls\":0}" odd=false half=0.0 none=null'
        "\n"
    ) in text
    at_end = [line for line in text.splitlines() if line.startswith("map=")]
    assert f"map=@calls count={CALLS}" in at_end
    assert "map=@stacks key=Counted.step:23;Counted.main count=11" in at_end
    assert "map=@stats key=0 count=6 average=5.0 total=30 min=0 max=10" in at_end
    rows = [line for line in text.splitlines() if line.startswith("time=") and " map=@sum " in line]
    assert sum(int(line.rpartition("sum=")[2]) for line in rows) % sum(range(CALLS)) == 0 < len(rows)
    assert replay("-o", tmp_path / "x.logfmt", "--only", "refused") == 0
    assert (tmp_path / "x.logfmt").read_text().count("\n") == len(range(3, CALLS, 7))


def test_folded_stacks(tmp_path: Path) -> None:
    assert replay("-o", tmp_path / "x.folded") == 0
    assert (tmp_path / "x.folded").read_text().splitlines() == [
        "@stacks;Counted.main;Counted.step 11",
        "step;Counted.main;Counted.step 11",
    ]
    assert replay("-o", tmp_path / "x.folded", "--only", "@stacks") == 0
    assert (tmp_path / "x.folded").read_text() == "Counted.main;Counted.step 11\n"


def test_the_flame_graph_is_one_page_that_loads_nothing(tmp_path: Path) -> None:
    assert replay("-o", tmp_path / "x.html", "--only", "@stacks") == 0
    page = (tmp_path / "x.html").read_text()
    assert "default-src 'none'" in page
    assert not re.search(r"\bsrc=|\bhref=|https?:|@import|url\(", page)
    data = re.search(r"^const root = (.*);$", page, re.MULTILINE)
    assert data is not None
    assert json.loads(data[1]) == ["all", 11, [["Counted.main", 11, [["Counted.step", 11, []]]]]]


def test_the_script_of_the_flame_graph_is_javascript(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node")
    replay("-o", tmp_path / "x.html")
    script = (tmp_path / "x.html").read_text().partition("<script>")[2].partition("</script>")[0]
    (tmp_path / "x.js").write_text(script)
    subprocess.run([node, "--check", str(tmp_path / "x.js")], check=True, capture_output=True)


def test_a_chrome_trace_has_slices_instants_and_counters(tmp_path: Path) -> None:
    assert replay("-o", tmp_path / "x.trace.json") == 0
    events: list[dict[str, Any]] = json.loads((tmp_path / "x.trace.json").read_text())
    kinds = Counter(event["ph"] for event in events)
    refusals = len(range(3, CALLS, 7))
    assert kinds["X"] == refusals
    assert sum(event["ph"] == "i" and event["name"] == "step" for event in events) == CALLS
    for event in events:
        # The members that each phase must have in the Trace Event Format.
        assert isinstance(event["name"], str)
        assert isinstance(event["pid"], int)
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name")
            assert isinstance(event["args"]["name"], str)
        else:
            assert isinstance(event["ts"], float | int)
        if event["ph"] == "X":
            assert event["dur"] > 0
            assert isinstance(event["tid"], int)
        if event["ph"] == "i":
            assert event["s"] == "t"
        if event["ph"] == "C":
            assert event["args"]
            assert all(isinstance(value, int | float) for value in event["args"].values())
    assert kinds["C"] > 0


def test_a_chrome_trace_has_no_values_that_are_named_like_secrets() -> None:
    emit = template(slot(0, label="locals", named=True), kind=TemplateKind.EMIT, name="here")
    with captured() as (stream, output):
        ChromeWriter(stream, context(emit)).records([record("count", 7, "pin", 4711)])
        events = json.loads(output())
    assert events[-1]["args"] == {"locals": {"count": 7, "pin": "•••"}}


@given(st.lists(st.tuples(st.integers(0, 90_000), st.integers(0, 400_000)), max_size=60))
@example([(0, 50_000), (1, 1), (0, 1)])
def test_slices_of_a_thread_nest_and_begin_little_earlier(ends_and_durations: list[tuple[int, int]]) -> None:
    """Perfetto drops a complete event that partly overlaps another event of its thread."""
    over: deque[tuple[int, int]] = deque(maxlen=4096)
    slices: list[tuple[int, int]] = []
    end = 10**9
    for later, duration in ends_and_durations:
        end += later
        start = nested(over, end - duration, end)
        if start is not None:
            assert 0 <= end - duration - start <= 50_000
            slices.append((start, end))
        else:
            # If two slices begin together, the outer one must begin first, even where a third slice ends.
            assert any(first <= end - duration < last for first, last in slices), "an overlap that there is not"
    for at, (start, end) in enumerate(slices):
        for later_start, later_end in slices[at + 1 :]:
            assert later_start >= end or (later_start < start and end <= later_end)


@pytest.mark.parametrize(
    ("slices", "starts"),
    [
        ([(100, 900), (150, 950)], [100, 99]),  # two probes at one exit
        ([(200, 300), (350, 400), (120, 500)], [200, 350, 120]),  # calls in a call
        ([(200, 300), (203, 500)], [200, 199]),  # a call that calls at once
        ([(200, 300), (300, 500)], [200, 300]),  # one slice after the other
        ([(0, 90_000), (60_000, 120_000)], [0, None]),  # tasks in a queue
        ([(0, 90_000), (60_000, 20_060_000)], [0, -1]),  # a long call may begin a little earlier
    ],
)
def test_where_a_slice_begins(slices: list[tuple[int, int]], starts: list[int | None]) -> None:
    over: deque[tuple[int, int]] = deque()
    assert [nested(over, *slice_) for slice_ in slices] == starts


@pytest.mark.parametrize("format_", ["parquet", "arrow"])
def test_tables_of_arrow(tmp_path: Path, format_: str) -> None:
    pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    assert replay("-f", format_, "-o", f"{tmp_path}/") == 0
    read = parquet.read_table if format_ == "parquet" else feather.read_table
    step = read(tmp_path / f"step.{format_}")
    assert step.column("number").to_pylist() == list(range(CALLS))
    assert step.column("at").to_pylist()[0] == ["Counted.step:23", "Counted.main"]
    assert [str(field.type) for field in step.schema][:4] == ["timestamp[ns, tz=UTC]", "string", "int64", "string"]
    assert str(read(tmp_path / f"refused.{format_}").schema.field("took").type) == "duration[ns]"
    assert sum(read(tmp_path / f"@sum.{format_}").column("sum").to_pylist()) == sum(range(CALLS))
    assert replay("-f", format_, "-o", tmp_path / f"none.{format_}", "--only", "refused", "--to", "1ns") == 0
    assert read(tmp_path / f"none.{format_}").num_rows == 0
    assert replay("-f", format_, "-o", f"{tmp_path}/selected/", "--only", "refused") == 0
    assert [path.name for path in (tmp_path / "selected").iterdir()] == [f"refused.{format_}"]


def test_without_pyarrow_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert replay("-f", "parquet", "-o", tmp_path / "x.parquet", "--only", "step") == 2
    assert "pip install 'btpy-jvm-tracer[arrow]'" in capfd.readouterr().err


def test_settings_that_exclude_each_other(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (("-f", "json", "-o", "x.json", "--append"), "--append cannot continue a file of format json"),
        (("-f", "flame", "-o", "x.html", "--rotate", "1MB"), "--rotate does not fit the format flame"),
        (("-f", "ndjson", "--rotate", "1MB"), "--rotate needs -o FILE"),
        (("-o", "x.ndjson", "--rotate", "100"), "--rotate takes a size or a time"),
        (("-f", "parquet", "-o", "x.parquet", "--compress"), "--compress does not fit"),
        (("-o", "x.jfr", "--compress"), "--compress does not fit the format jfr"),
        (("-f", "csv"), "csv has one set of columns"),
    ):
        assert replay(*arguments) == 2
        assert message in capfd.readouterr().err


def test_a_disk_that_is_full(capfd: pytest.CaptureFixture[str]) -> None:
    for format_ in ("text", "ndjson", "json", "logfmt", "folded", "flame", "chrome", "jfr"):
        assert replay("-f", format_, "-o", "/dev/full") == 1
        assert "no space left on device" in capfd.readouterr().err
    with pytest.raises(OutputError):
        Stream.file(Path("/"), append=False)
