"""How large batches become, for what stops cost on quick, on slow and on busy machines."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.jdks import java, javac

BUDGET_MS = 20
CLASSES = 10_007


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    out = tmp_path_factory.mktemp("batches")
    agent = Path(__file__).parents[2] / "agent-java/src/main/java/btpy/agent/BatchSize.java"
    driver = Path(__file__).parent / "java" / "BatchSizes.java"
    subprocess.run([str(javac()), "--release", "11", "-d", str(out), str(agent), str(driver)], check=True)
    return out


def batches(classes, fixed_us, share_us, scatter):
    """Sizes, and stops in ms."""
    command = [str(java(17)), "-cp", str(classes), "btpy.agent.BatchSizes"]
    command += [str(each) for each in (BUDGET_MS, fixed_us, share_us, scatter, CLASSES)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [line.split() for line in lines]
    return [int(size) for size, _ in rows], [int(micros) / 1000 for _, micros in rows]


@pytest.mark.parametrize(
    ("fixed", "share", "most_batches"), [(5_000, 50, 60), (2_000, 20, 25), (1_000, 1_000, 800), (0, 200, 130)]
)
def test_stops_keep_to_the_budget(classes, fixed, share, most_batches):
    sizes, stops = batches(classes, fixed, share, 0)
    assert sum(sizes) == CLASSES
    assert sizes[0] == 16
    assert max(stops[5:]) <= BUDGET_MS * 1.2
    assert len(sizes) <= most_batches


@pytest.mark.parametrize(("fixed", "share"), [(30_000, 50), (200_000, 100), (1_000_000, 300)])
@pytest.mark.parametrize("scatter", [0, 50])
def test_where_no_batch_can_keep_to_it_stops_are_few(classes, fixed, share, scatter):
    sizes, stops = batches(classes, fixed, share, scatter)
    assert len(sizes) <= 100
    assert max(stops) <= (1 + scatter / 100) * 2.1 * fixed / 1000, "no stop is much longer than it must be"
