from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.jdks import MAJORS
from tests.runtime.harness import Outcome, compiled_runtime, drive
from tests.shared import made_once


@pytest.fixture(scope="session")
def classes() -> Path:
    return compiled_runtime()


@pytest.fixture(scope="session")
def outcomes(
    classes: Path, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Callable[[int], Outcome]:
    """Runs the driver once on each Java version; the tests read the results of different scenarios. Without
    ``--every-jdk``, the oldest version runs without the optimizing compiler.
    """

    @cache
    def outcome_of(jdk: int) -> Outcome:
        light = jdk == MAJORS[0] and not pytestconfig.getoption("--every-jdk")

        def make(directory: Path) -> None:
            drive(classes, jdk, directory, light=light)

        return Outcome.of(made_once(tmp_path_factory, f"driver{jdk}", make))

    return outcome_of


@pytest.fixture(scope="session", params=MAJORS, ids=[f"jdk{major}" for major in MAJORS])
def outcome(request: pytest.FixtureRequest, outcomes: Callable[[int], Outcome]) -> Outcome:
    return outcomes(request.param)
