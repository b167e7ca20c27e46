"""``btpy test``: a library with tests that pass, fail, and cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from btpy.cli.library_tests import comparable
from tests.cli.test_command import btpy
from tests.jdks import compiled

LIBRARY = """// Work, counted.
param least: long = 0;
Brief::work @return as work when retval >= least { @n = count(); @took = hist(duration); }
@OnEnd { print(@n) }
"""
BRIEF = compiled([Path(__file__).parents[1] / "java" / "Brief.java"])


@pytest.fixture
def library(tmp_path: Path) -> Path:
    (tmp_path / "work.bt").write_text(LIBRARY, encoding="utf-8")
    (tmp_path / "work.test.toml").write_text(
        f"""
[[classes]]
cp = ["{BRIEF}"]
methods = {{ work = 1 }}

[[run]]
java = ["-cp", "{BRIEF}", "Brief"]
parameters = {{ least = 300 }}
expect = "work.ndjson"
""",
        encoding="utf-8",
    )
    return tmp_path / "work.bt"


def test_recorded_and_compared(library: Path) -> None:
    missing = btpy("test", library)
    assert missing.returncode == 2
    assert "btpy test --record writes it" in missing.stderr
    assert btpy("test", "--record", library).returncode == 0
    recording = library.with_suffix(".ndjson").read_text(encoding="utf-8")
    expected = 1009 - 100 + 211 - 100
    assert f'"data": {{"@n": {expected}}}' in recording
    assert f'"data": {{"@took": {expected}}}' in recording
    assert '"ts"' not in recording
    result = btpy("test", library)
    assert result.returncode == 0, result.stderr
    assert result.stderr == f"{library}: classes 1 passes\n{library}: run 1 passes\n2 passed, 0 failed\n"


def test_differences_are_shown(library: Path) -> None:
    assert btpy("test", "--record", library).returncode == 0
    library.write_text(LIBRARY.replace(">=", ">").replace("work @return", "main @return"), encoding="utf-8")
    result = btpy("test", library)
    assert result.returncode == 2
    library.write_text(LIBRARY.replace("retval >= least", "retval > least"), encoding="utf-8")
    result = btpy("test", library)
    assert result.returncode == 2
    assert '-{"data": {"@n": 1020}' in result.stderr
    assert '+{"data": {"@n": 1018}' in result.stderr
    assert "1 passed, 1 failed" in result.stderr
    specification = library.with_suffix(".test.toml")
    specification.write_text(specification.read_text("utf-8").replace("work = 1", "work = 2"), encoding="utf-8")
    assert "work selects 1 methods, not 2" in btpy("test", library).stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no tests"),
        ("x", "is not TOML"),
        ("[[clases]]", "the file has no 'clases'"),
        ("[classes]", "classes must be a list of tables: [[classes]]"),
        ("[[run]]\njava = ['Main']", "needs expect"),
        ("[[run]]\nexpect = 'x'", "needs java"),
        ("[[classes]]\ncp = 'a.jar'", "cp must be a list of strings"),
        ("[[classes]]\ncp = ['no-such.jar']", "neither a directory of classes nor a jar"),
    ],
)
def test_a_file_of_tests_that_is_wrong(text: str, message: str, library: Path) -> None:
    library.with_suffix(".test.toml").write_text(text, encoding="utf-8")
    result = btpy("test", library)
    assert result.returncode == 2
    assert message in result.stderr


def test_compared_fields() -> None:
    lines = (
        '{"v":1,"type":"attached_probes","count":1}\n'
        '{"v":1,"type":"event","ts":"x","tid":3,"data":{"a":1,"took":5}}\n'
        '{"v":1,"type":"stats","data":{"@s":{"k":{"count":7,"avg":1}}}}\n'
        '{"v":1,"type":"printf","data":"text"}\n'
    )
    assert comparable(lines, frozenset(("took", "printf"))) == [
        '{"data": {"@s": {"k": 7}}, "type": "stats"}',
        '{"data": {"a": 1}, "type": "event"}',
    ]
