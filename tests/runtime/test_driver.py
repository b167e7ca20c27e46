"""The driver of the runtime's scenarios runs exactly the requested scenarios."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.harness import driven


def test_scenarios_run_by_name(classes: Path) -> None:
    with driven(classes, 17, "slots", "fast-paths") as outcome:
        assert {scenario for scenario, _ in outcome.facts} == {"slots", "fast-paths", "done"}
        assert {path.name for path in outcome.directory.iterdir()} == {
            "fast-paths.counters",
            "fast-paths.events",
            "fast-paths.map0",
            "fast-paths.map1",
        }


def test_a_scenario_that_does_not_exist_is_refused(classes: Path) -> None:
    with pytest.raises(AssertionError, match="there are no scenarios"), driven(classes, 17, "nothing"):
        pass
