from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.codegen.target import Target, target
from tests.jdks import MAJORS


@pytest.fixture(scope="module", params=MAJORS, ids=[f"jdk{major}" for major in MAJORS])
def every_jvm(request: pytest.FixtureRequest) -> Iterator[Target]:
    with target(request.param) as program:
        yield program


@pytest.fixture
def jvm(every_jvm: Target) -> Target:
    """A JVM with a fresh session; the test runs once for each Java version."""
    every_jvm.open()
    return every_jvm


@pytest.fixture(scope="module")
def jvm17() -> Iterator[Target]:
    """One JVM for many examples."""
    with target(17) as program:
        yield program
