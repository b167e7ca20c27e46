"""HotSpot keeps its compiled code when firings begin to take the fast path."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from btpy.events.aggregates import Count
from btpy.model.maps import MapKind
from tests.jdks import MAJORS, java
from tests.runtime.harness import EXPORT, Outcome

CALLS = 300_007
_FAST_PATHS = re.compile(
    r"method='btpy\.runtime\.(Session tally|Probe tallyOwn|Probe addUntimed|Probe tallyOften|Stripes \w+) "
)
_TRAP = re.compile(r"<uncommon_trap thread=.*?</uncommon_trap>", re.DOTALL)
_COMPILED = re.compile(r"<nmethod [^>]*level='4'[^>]*method='btpy\.runtime\.FastPaths (\w+) ")


@pytest.mark.parametrize("major", MAJORS)
def test_no_compiled_method_is_thrown_away_when_firings_find_the_fast_path(
    major: int, classes: Path, tmp_path: Path
) -> None:
    """Compilation is synchronous here (``-Xbatch``), so that each run compiles the same."""
    log = tmp_path / "compilation.xml"
    command = [
        *(str(java(major)), "-Xmx256m", "-XX:+UseSerialGC", f"-Xbootclasspath/a:{classes}", *EXPORT, "-Xbatch"),
        *("-XX:+UnlockDiagnosticVMOptions", "-XX:+LogCompilation", f"-XX:LogFile={log}", "btpy.runtime.FastPaths"),
    ]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["tallied", str(2 * CALLS)]
    text = log.read_text(encoding="utf-8", errors="replace")
    assert set(_COMPILED.findall(text)) == {"tally"}
    assert [trap for trap in _TRAP.findall(text) if _FAST_PATHS.search(trap)] == []


def test_the_fast_path_is_there_before_the_budget_looks_again(outcome: Outcome) -> None:
    """The first firing decides whether a probe may take a fast path. The budget checks its costs every 50 ms."""
    assert outcome.fact("fast-paths", "fired") == "true true"
    assert outcome.fact("fast-paths", "ticked") == "false false"
    (tallied, sums) = (outcome.map("fast-paths", map_, MapKind.COUNT, map_).entries for map_ in (0, 1))
    assert tallied == (((), Count(14)),)
    assert sums == ((("k",), Count(14)),)
