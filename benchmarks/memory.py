"""The memory of a target that btpy uses: at rest, with many threads, and for each firing.

    python benchmarks/memory.py [--jdk 17 --jdk 25] [--stdout]

at rest   heap and metaspace after a collection, with nine probes of all kinds, minus the same before attaching.
classes   classes loaded since before attaching, including handlers and classes of the JDK.
threads   heap with 100,003 virtual threads that were inside a probed method, minus the same without probes, the
          smallest of three runs each. It includes the stacks of the threads, which differ by hundreds of bytes for each
          thread from run to run; the share of btpy beyond its buffers is not known.
firing    bytes allocated on the thread of the application by each of 2,003 firings, the smallest of seven runs.

The benchmark writes its section of RESULTS.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # this script runs as a file, and imports from tests/

from benchmarks import results  # noqa: E402
from btpy.engine.session import Session  # noqa: E402
from btpy.engine.target import Limits  # noqa: E402
from tests.jdks import MAJORS, java  # noqa: E402
from tests.live.scripts import program  # noqa: E402
from tests.live.test_footprint import (  # noqa: E402
    BUFFERS,
    NOTHING,
    SCRIPT,
    SMALL_TLABS,
    TIMES,
    allocated,
    asked,
    footprint,
    settled,
)

TITLE = "Memory of the target"
THREADS = 100_003
REST = 2.0
"""Seconds after which the memory for putting the probes in is free again. The benchmark measures the memory at rest."""

VIRTUAL_SINCE = 21


@dataclass(frozen=True)
class Footprint:
    """Bytes, and the number of classes. ``threads``: None means that this JDK has no virtual threads."""

    heap: int
    metaspace: int
    classes: int
    threads: int | None
    firings: dict[str, float]


def measured(jdk: int) -> Footprint:
    with footprint(jdk, *SMALL_TLABS) as running:
        before = settled(running)
        with Session.attach(running.pid, Limits(event_buffer_bytes=BUFFERS)) as session:
            session.deployer.load(program(SCRIPT))
            time.sleep(REST)
            within = settled(running)
            firings = {
                method: min(allocated(running, method, TIMES) for _ in range(7)) / TIMES
                for method in (*NOTHING, "stack")
            }
            session.departure.detach()
    return Footprint(
        within["heap"] - before["heap"],
        within["metaspace"] - before["metaspace"],
        within["classes"] - before["classes"],
        crowded(jdk) if jdk >= VIRTUAL_SINCE else None,
        firings,
    )


def crowded(jdk: int) -> int:
    """Uses its own JVM, because the garbage of many threads is not collected at once."""
    with footprint(jdk, "-Xmx600m") as running:

        def heap() -> int:
            return min(asked(running, f"virtual {THREADS}")["heap"] for _ in range(3))

        before = heap()
        with Session.attach(running.pid, Limits(event_buffer_bytes=BUFFERS)) as session:
            session.deployer.load(program(SCRIPT))
            heap_growth = heap() - before
            session.departure.detach()
    return heap_growth


def table(figures: dict[int, Footprint]) -> list[str]:
    lines = [
        "| JDK | heap beyond the buffers | metaspace | classes | heap with 100,003 threads | a firing | with a stack |"
    ]
    lines.append("|---|---|---|---|---|---|---|")
    for jdk, measured in figures.items():
        most = max(measured.firings[method] for method in NOTHING)
        threads = "–" if measured.threads is None else f"{measured.threads / (1 << 20):+.1f} MiB"
        lines.append(
            f"| {jdk} | {(measured.heap - BUFFERS) / (1 << 20):.1f} MiB | {measured.metaspace / (1 << 20):.1f} MiB "
            f"| {measured.classes} | {threads} | {most:.0f} B | {measured.firings['stack']:.0f} B |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jdk", type=int, action="append", choices=MAJORS)
    parser.add_argument("--stdout", action="store_true", help="print the section, leave RESULTS.md alone")
    options = parser.parse_args()
    jdks = options.jdk or list(MAJORS)
    lines = table({jdk: measured(jdk) for jdk in jdks})
    command = " ".join(["python benchmarks/memory.py", *(f"--jdk {jdk}" for jdk in options.jdk or [])])
    text = "\n".join(
        [
            results.origin(command, java(jdks[-1])),
            "",
            f"Event buffers of {BUFFERS >> 20} MiB and nine probes: {', '.join(NOTHING)}, stack. A *firing* is",
            "the most expensive one except the last, for which the JVM makes an object for each frame. The heap",
            "with threads holds their stacks, which differ by hundreds of bytes for each from one time to the next:",
            "not told apart here.",
            "",
            *lines,
        ]
    )
    results.publish(TITLE, text, stdout=options.stdout)


if __name__ == "__main__":
    main()
