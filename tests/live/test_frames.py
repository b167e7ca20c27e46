"""Maps as data frames of the real pandas and polars; skipped where they are not installed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import btpy
from tests.live.traffic import called, traffic

CALLS = 151
SCRIPT = """
Traffic::serve @entry {
  @n = count();
  @by[arg0 % 3, method] = count();
  @took["serve"] = hist(arg0 * 1us);
  @late[arg0] = arg0 > 120 ? "late" : null;
  @top = topk(arg0 % 2, 2);
}
"""


@pytest.fixture(scope="module")
def maps() -> Iterator[Mapping[str, btpy.MapView]]:
    with traffic() as program, btpy.attach(program.pid) as session:
        session.add(SCRIPT)
        called(program, CALLS)
        yield {name: session.maps[name] for name in session.maps}


def test_pandas(maps: Mapping[str, btpy.MapView]) -> None:
    pandas = pytest.importorskip("pandas")
    by = maps["@by"].to_pandas().sort_values("key0", ignore_index=True)
    assert by.to_dict("list") == {"key0": [0, 1, 2], "key1": ["serve"] * 3, "value": [51, 50, 50]}
    assert pandas.api.types.is_integer_dtype(by["value"])
    assert maps["@n"].to_pandas()["value"].tolist() == [CALLS]
    took = maps["@took"].to_pandas().set_index("key").loc["serve"]
    assert (took["count"], took["min"], took["max"]) == (CALLS, 0, 150_000)
    assert abs(took["mean"] - 75_000) < 1
    late = maps["@late"].to_pandas()
    assert (len(late), late["value"].notna().sum(), late["value"].dropna().unique().tolist()) == (CALLS, 30, ["late"])
    assert maps["@top"].to_pandas()["value"].tolist() == [[(0, 76), (1, 75)]]


def test_polars(maps: Mapping[str, btpy.MapView]) -> None:
    polars = pytest.importorskip("polars")
    by = maps["@by"].to_polars().sort("key0")
    assert by.to_dict(as_series=False) == {"key0": [0, 1, 2], "key1": ["serve"] * 3, "value": [51, 50, 50]}
    assert by.schema["value"] == polars.Int64
    assert maps["@n"].to_polars()["value"].to_list() == [CALLS]
    took: Any = maps["@took"].to_polars().row(0, named=True)
    assert (took["key"], took["count"], took["min"], took["max"]) == ("serve", CALLS, 0, 150_000)
    late = maps["@late"].to_polars()
    assert (late.height, late["value"].drop_nulls().to_list()) == (CALLS, ["late"] * 30)
    assert maps["@top"].to_polars().height == 1


def test_maps_in_a_notebook(maps: Mapping[str, btpy.MapView]) -> None:
    """A notebook shows the few rows that a terminal shows: one for 0, and one for each power of two up to 262 us."""
    html = maps["@took"]._repr_html_()
    assert re.search(rf"n={CALLS}\b", html)
    counts = [int(count) for count in re.findall(r">(\d+)</td></tr>", html)]
    assert sum(counts) == CALLS
    assert len(counts) == len(str(maps["@took"]["serve"]).splitlines()) - 1 == 20


def test_records_are_read_by_pandas(tmp_path: Path) -> None:
    """As docs/events.md says."""
    pandas = pytest.importorskip("pandas")
    from btpy.cli import main

    recording = Path(__file__).parents[1] / "golden" / "recording" / "every_kind.btz"
    assert main.main(["replay", str(recording), "-q", "-o", str(tmp_path / "run.ndjson")]) == 0
    frame = pandas.read_json(tmp_path / "run.ndjson", lines=True)
    steps = frame[frame["name"] == "step"]
    assert [data["number"] for data in steps["data"]] == list(range(11))
    pytest.importorskip("pyarrow")
    assert main.main(["replay", str(recording), "-q", "-f", "parquet", "-o", f"{tmp_path}/tables/"]) == 0
    step = pandas.read_parquet(tmp_path / "tables" / "step.parquet")
    assert step["number"].tolist() == list(range(11))
    assert step["ts"].is_monotonic_increasing
    assert str(step["ts"].dtype) == "datetime64[ns, UTC]"
    table = pandas.read_parquet(tmp_path / "tables" / "refused.parquet")
    assert str(table["took"].dtype) == "timedelta64[ns]"
    nanos = [data["took"] for data in frame[frame["name"] == "refused"]["data"]]
    assert table["took"].astype("int64").tolist() == nanos
