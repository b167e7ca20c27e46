"""The driver of the runtime's scenarios runs the scenarios that it is told to run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.harness import driven


def test_scenarios_run_by_name(classes: Path) -> None:
    with driven(classes, 17, "slots", "found-ways") as outcome:
        assert {scenario for scenario, _ in outcome.facts} == {"slots", "found-ways", "done"}
        assert {path.name for path in outcome.directory.iterdir()} == {
            "found-ways.counters",
            "found-ways.events",
            "found-ways.map0",
            "found-ways.map1",
        }


def test_a_scenario_that_does_not_exist_is_refused(classes: Path) -> None:
    with pytest.raises(AssertionError, match="there are no scenarios"), driven(classes, 17, "nothing"):
        pass
