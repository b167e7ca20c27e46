"""``btpy replay FILE.ndjson``: converts lines into the same lines, and into other formats."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from btpy.cli import main
from tests.generated import examples

GOLDEN = Path(__file__).parents[1] / "golden" / "recording" / "every_kind.ndjson"
CALLS = 11


def replay(file: Path, *arguments: object) -> int:
    return main.main(["replay", str(file), "-q", *map(str, arguments)])


def test_lines_become_the_same_lines_again(tmp_path: Path) -> None:
    assert replay(GOLDEN, "-o", tmp_path / "again.ndjson") == 0
    assert (tmp_path / "again.ndjson").read_bytes() == GOLDEN.read_bytes()
    assert replay(GOLDEN, "-o", tmp_path / "all.json") == 0
    assert len(json.loads((tmp_path / "all.json").read_text())) == len(GOLDEN.read_text().splitlines())


def test_tables_and_stacks_are_those_of_the_recording(tmp_path: Path) -> None:
    recording = GOLDEN.with_suffix(".btz")
    for only in ("step", "@stats", "@top"):
        assert replay(GOLDEN, "-o", tmp_path / "lines.csv", "--only", only) == 0
        assert replay(recording, "-o", tmp_path / "recording.csv", "--only", only) == 0
        replay_records, run_records = (
            list(csv.DictReader((tmp_path / f"{name}.csv").read_text().splitlines())) for name in ("lines", "recording")
        )
        assert replay_records == run_records
    assert replay(GOLDEN, "-o", tmp_path / "x.folded", "--only", "step") == 0
    assert (tmp_path / "x.folded").read_text() == "Counted.main;Counted.step 11\n"


def test_printed_lines_are_those_of_the_run(tmp_path: Path) -> None:
    assert replay(GOLDEN, "-o", tmp_path / "text") == 0
    lines = (tmp_path / "text").read_text().splitlines()
    expected = GOLDEN.with_suffix(".text").read_text().splitlines()
    for start in ("entry abc", "held", "step name", "@linear", "@calls"):
        assert [line for line in lines if line.startswith(start)] == [
            line for line in expected if line.startswith(start)
        ]


def test_lines_that_btpy_did_not_write(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.ndjson"
    for text in ("hello\n", "[]\n", '{"v":2,"type":"end"}\n', '{"v":1,"type":"event"}\n', '{"v":1,"type":3}\n'):
        file.write_text(GOLDEN.read_text() + text)
        assert replay(file) == 2
        assert (
            f"line {len(GOLDEN.read_text().splitlines()) + 1} of {file} is not a record of btpy"
            in capfd.readouterr().err
        )
    assert replay(tmp_path / "none.ndjson") == 2


ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.sampled_from([0, -1, 3, 1 << 70, 1e308, "", "a", "•••", "a.B.c:1"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("ab@"), inner, max_size=2)),
    max_leaves=6,
)


@given(data=st.data())
@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("format_", ["text", "ndjson", "chrome", "logfmt"])
def test_lines_of_another_program(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], data: st.DataObject, format_: str
) -> None:
    """A damaged line gives an error or odd output, but no crash."""
    lines = GOLDEN.read_text().splitlines()
    line: dict[str, Any] = json.loads(data.draw(st.sampled_from(lines)))
    where: Any = line
    for _ in range(data.draw(st.integers(0, 3))):
        inner = [value for value in where.values() if isinstance(value, dict) and value]
        if inner:
            where = data.draw(st.sampled_from(inner))
    where[data.draw(st.sampled_from(list(where)))] = data.draw(ANYTHING)
    file = tmp_path / "x.ndjson"
    file.write_text(json.dumps(line) + "\n")
    assert replay(file, "-f", format_) in (0, 1, 2)
    assert "this is a bug" not in capfd.readouterr().err
