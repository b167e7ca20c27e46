"""``-d STAGE``: the result of each stage of a script, kept apart from the script's own output."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from btpy.cli.debugging import STAGES
from tests.cli.test_command import btpy
from tests.live.scripts import counted
from tests.targets import Target

LIBRARY = """
param most: int = 7;
fn small(int number): boolean = number < most;
"""
SCRIPT = """
import "lib.bt" (most=3) as lib;
Counted::step @entry when lib.small(arg1) { @n = count(); }
@OnTimer(50ms) { print(@n); exit(0); }
"""


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with counted(17) as program:
        yield program


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("scripts")
    (directory / "lib.bt").write_text(LIBRARY)
    path = directory / "small.bt"
    path.write_text(SCRIPT)
    return path


def stages(target: Target, script: Path, names: str) -> dict[str, list[str]]:
    """The lines on standard error, by the stage that they begin with."""
    result = btpy(target.pid, script, "-q", "-d", names)
    assert result.returncode == 0, result.stderr
    lines: dict[str, list[str]] = {}
    for line in result.stderr.splitlines():
        stage, _, rest = line.partition("| ")
        lines.setdefault(stage, []).append(rest)
    return lines


def test_every_stage_shows_its_work(target: Target, script: Path) -> None:
    lines = stages(target, script, "all")
    assert set(lines) == set(STAGES)
    assert lines["ast"][0].startswith("Import ")
    assert not any(line.lstrip().startswith("Function ") for line in lines["ast"])  # the functions are in the library
    assert lines["link"][0] == "0 step"
    assert any(line.startswith("  Function ") for line in lines["link"])
    assert any("Literal" in line and "value=3" in line for line in lines["link"])  # replaces the parameter
    assert lines["check"][0].startswith("probe 0 step MethodAttachment(")
    assert any(line.startswith("Map(id=0, name='n', kind=<MapKind.COUNT") for line in lines["check"])
    assert any("Counted" in line for line in lines["plan"])
    assert any("invokestatic" in line for line in lines["bytecode"])
    assert any(line.startswith("Farewell(") for line in lines["agent"])
    assert any("→" in line for line in lines["wire"])
    assert any("←" in line for line in lines["wire"])


def test_only_the_requested_stages_are_shown(target: Target, script: Path) -> None:
    assert set(stages(target, script, "link,plan")) == {"link", "plan"}


def test_a_stage_that_does_not_exist_is_named(target: Target, script: Path) -> None:
    result = btpy(target.pid, script, "-d", "linked")
    assert result.returncode == 2
    assert "error: -d linked is not a stage\n  = help: stages: ast, link, check, plan, bytecode" in result.stderr


def test_a_time_in_place_of_a_stage_gets_the_option_that_ends_after_a_time(target: Target, script: Path) -> None:
    result = btpy(target.pid, script, "-d", "5s")
    assert result.returncode == 2
    assert "error: -d 5s is not a stage\n" in result.stderr
    assert "  = help: to end after a time: --for 5s\n" in result.stderr
