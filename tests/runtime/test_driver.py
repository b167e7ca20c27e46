"""The driver of the runtime's scenarios runs exactly the requested scenarios."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.harness import FACTS, Outcome, drive


def test_scenarios_run_by_name(classes: Path, tmp_path: Path) -> None:
    drive(classes, 17, tmp_path, "slots", "fast-paths")
    assert {scenario for scenario, _ in Outcome.of(tmp_path).facts} == {"slots", "fast-paths", "done"}
    assert {path.name for path in tmp_path.iterdir()} == {
        FACTS,
        "fast-paths.counters",
        "fast-paths.events",
        "fast-paths.map0",
        "fast-paths.map1",
    }


def test_a_scenario_that_does_not_exist_is_refused(classes: Path, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="there are no scenarios"):
        drive(classes, 17, tmp_path, "nothing")
