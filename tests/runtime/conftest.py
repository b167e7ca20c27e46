from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from tests.jdks import MAJORS
from tests.runtime.harness import Outcome, compile_runtime, driven


@pytest.fixture(scope="session")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("runtime")
    compile_runtime(target)
    return target


@pytest.fixture(scope="session")
def outcomes(classes: Path) -> Iterator[Callable[[int], Outcome]]:
    """Runs the driver once on each Java version; the tests read the results of different scenarios."""
    with ExitStack() as stack:

        @cache
        def outcome_of(jdk: int) -> Outcome:
            return stack.enter_context(driven(classes, jdk))

        yield outcome_of


@pytest.fixture(scope="session", params=MAJORS, ids=[f"jdk{major}" for major in MAJORS])
def outcome(request: pytest.FixtureRequest, outcomes: Callable[[int], Outcome]) -> Outcome:
    return outcomes(request.param)
