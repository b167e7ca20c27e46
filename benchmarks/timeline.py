"""The time from the start of btpy to the first event, by step: the medians of `--timeline`.

    python benchmarks/timeline.py [--quick] [--jdk 17] [--stdout]

Each run attaches to a new shop, and then once more to the same shop. The benchmark writes its section of RESULTS.md.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # this script runs as a file, and imports from tests/

from benchmarks import commandline, results  # noqa: E402
from btpy.timeline import FIRST_EVENT  # noqa: E402
from examples.shop.build_shop import MAIN  # noqa: E402
from tests.examples.shop import shop_jar  # noqa: E402
from tests.jdks import java  # noqa: E402
from tests.targets import target  # noqa: E402

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # users have compiled modules
TITLE = "From the start of btpy to the first event"
SCRIPT = "com.acme.shop.PricingEngine::quote @return { print(duration) }"
REPEATS, QUICK_REPEATS = 15, 5


@dataclass(frozen=True)
class Span:
    """Milliseconds since the process began; ``took`` is the sum where a step ran several times."""

    began: float
    took: float


Steps = dict[tuple[str, str], Span]
"""The steps by thread and name."""


def attached(pid: int) -> Steps:
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [sys.executable, "-m", "btpy", str(pid), "-e", SCRIPT, "--hits", "1", "-q", "--timeline", file.name]
        subprocess.run(command, check=True, capture_output=True)
        events: list[dict[str, Any]] = json.loads(Path(file.name).read_text())
    threads = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    first_event = next(event["ts"] for event in events if event["name"] == FIRST_EVENT)
    spans: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for event in events:
        if event["ph"] != "M" and event["ts"] <= first_event:
            spans[threads[event["tid"]], event["name"]].append(event)
    return {
        key: Span(min(span["ts"] for span in of) / 1000, sum(span.get("dur", 0) for span in of) / 1000)
        for key, of in spans.items()
    }


def table(first: Sequence[Steps], later: Sequence[Steps]) -> list[str]:
    """Steps that take less than a millisecond are left out."""
    keys = {key for steps in (*first, *later) for key in steps}

    def median(runs: Sequence[Steps], key: tuple[str, str], what: str) -> float:
        return float(statistics.median([getattr(steps[key], what) for steps in runs if key in steps] or [0.0]))

    rows = []
    for key in sorted(keys, key=lambda key: median(later, key, "began")):
        thread, name = key
        took = [median(runs, key, "took") for runs in (first, later)]
        if max(took) >= 1 or name == FIRST_EVENT:
            began = [median(runs, key, "began") for runs in (first, later)]
            where = "" if thread == "MainThread" else thread
            figures = (began[0], took[0], began[1], took[1])
            rows.append(f"| {name} | {where} | " + " | ".join(f"{figure:.0f}" for figure in figures) + " |")
    return rows


def main() -> None:
    arguments = commandline.options(__doc__).parse_args()
    first, later = [], []
    for _ in range(QUICK_REPEATS if arguments.quick else REPEATS):
        options = ["--requests", "1000000", "--rate", "200"]
        with target(arguments.jdk, MAIN, *options, classpath=[shop_jar()]) as shop:
            first.append(attached(shop.pid))
            later.append(attached(shop.pid))
    text = "\n".join(
        [
            results.origin(commandline.repeated(), java(arguments.jdk)),
            "",
            f"Milliseconds, medians of {len(first)} JVMs. Steps without a thread are those of the main thread; the"
            " other steps run in parallel. The start of Python is known to 10 ms.",
            "",
            "| step | thread | begin, first attach | time | begin, second attach | time |",
            "|---|---|---|---|---|---|",
            *table(first, later),
        ]
    )
    results.publish(TITLE, text, stdout=arguments.stdout)


if __name__ == "__main__":
    main()
