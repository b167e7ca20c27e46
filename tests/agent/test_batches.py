"""The sizes of batches on quick, slow and busy machines, where stops cost different times."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from tests.jdks import compiled, java

BUDGET_MS = 20
CLASSES = 10_007


@pytest.fixture(scope="module")
def classes() -> Path:
    agent = Path(__file__).parents[2] / "agent-java/src/main/java/btpy/agent/BatchSize.java"
    driver = Path(__file__).parent / "java" / "BatchSizes.java"
    return compiled([agent, driver])


def batches(
    classes: Path, fixed_us: int, share_us: int, scatter: int, waits_us: Sequence[int] = ()
) -> tuple[list[int], list[float]]:
    """Returns the sizes of the batches, and the stops in ms."""
    command = [str(java(17)), "-cp", str(classes), "btpy.agent.BatchSizes"]
    command += [str(number) for number in (BUDGET_MS, fixed_us, share_us, scatter, CLASSES, *waits_us)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [line.split() for line in lines]
    return [int(size) for size, _ in rows], [int(micros) / 1000 for _, micros in rows]


@pytest.mark.parametrize(
    ("fixed", "share", "most_batches"), [(5_000, 50, 60), (2_000, 20, 25), (1_000, 1_000, 800), (0, 200, 130)]
)
def test_stops_keep_to_the_budget(classes: Path, fixed: int, share: int, most_batches: int) -> None:
    sizes, stops = batches(classes, fixed, share, 0)
    assert sum(sizes) == CLASSES
    assert sizes[0] == 16
    assert max(stops[6:]) <= BUDGET_MS * 1.3, "now and then it is tried whether a larger batch would do"
    assert len(sizes) <= most_batches


@pytest.mark.parametrize(("fixed", "share"), [(30_000, 50), (200_000, 100), (1_000_000, 300)])
@pytest.mark.parametrize("scatter", [0, 50])
def test_where_no_batch_can_keep_to_it_stops_are_few(classes: Path, fixed: int, share: int, scatter: int) -> None:
    sizes, stops = batches(classes, fixed, share, scatter)
    assert len(sizes) <= 100
    assert max(stops) <= (1 + scatter / 100) * 2.1 * fixed / 1000, "no stop is much longer than it must be"


BUSY_MS = [
    *(66, 45, 543, 97, 33, 114, 52, 237, 79, 139, 58, 109, 21, 133, 40, 252, 84, 197, 47, 112, 99, 56, 155, 208),
    *(43, 131, 75, 104, 64, 174, 48, 93, 226, 59, 110, 37, 83, 162, 68, 129, 54, 153, 102, 40, 164, 85, 33, 92),
]
"""Stops of a busy server, on two cores with a load of 10; a stop alone takes 27 ms. The batches had between 4 and 256
classes, but their size made little difference.
"""


@pytest.mark.parametrize("shift", [0, 13, 20, 35])
def test_on_a_busy_machine_there_are_still_few_stops(classes: Path, shift: int) -> None:
    stops = [1000 * milliseconds for milliseconds in BUSY_MS[shift:] + BUSY_MS[:shift]]
    sizes, _ = batches(classes, 0, 41, 0, stops)
    assert len(sizes) <= 75


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("fixed", "share"), [(5_000, 41), (27_000, 41), (0, 200)])
def test_a_few_long_stops_do_not_make_batches_small(classes: Path, seed: int, fixed: int, share: int) -> None:
    """Half of the stops are longer by a random time, whatever the size of the batch."""
    random = Random(seed)
    waits = [random.choice((0, round(random.expovariate(1 / 60_000)))) for _ in range(499)]
    sizes, _ = batches(classes, fixed, share, 0, waits)
    quiet, _ = batches(classes, fixed, share, 0)
    assert len(sizes) <= 2 * len(quiet) + 20
