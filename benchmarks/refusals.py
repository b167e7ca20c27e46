"""The number of times that btpy refuses a real server for its heap although the heap has room. For RESULTS.md.

    python benchmarks/refusals.py [--looks 20] [--stdout]

WireMock answers two clients as fast as it can, with the heap size that the row states. btpy attaches again and again. A
refusal (BT525) is false if the heap has enough room after a full collection: its maximum minus the used part is at
least the amount that btpy asks for.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # this script runs as a file, and imports from tests/

import btpy  # noqa: E402
from benchmarks import results  # noqa: E402
from benchmarks.server import JAVA  # noqa: E402
from btpy.errors import AttachError  # noqa: E402
from btpy.jvm import heap  # noqa: E402
from tests.jdks import compiled, java  # noqa: E402
from tests.maven import WIREMOCK, artifact  # noqa: E402
from tests.targets import Target, TargetError, target  # noqa: E402

TITLE = "Refusals for the heap"
REFUSED = "BT525"
COLLECTORS = {
    17: ("Serial", "Parallel", "G1", "Z", "Shenandoah"),
    25: ("Serial", "Parallel", "G1", "Z", "Shenandoah"),
}
MEGABYTES = (64, 96, 128, 256)
WARM = 8.0
"""Seconds of load before the first attach."""

BETWEEN = 0.3
LOADED_CLASSES = 10_000
"""The rough number of loaded classes of the server; they count as 3 MB."""


@dataclass(frozen=True)
class Row:
    """``free``: MB after a full collection; None: the server did not live long enough. ``needed``: MB."""

    jdk: int
    collector: str
    megabytes: int
    looks: int = 0
    refused: int = 0
    free: float | None = None
    needed: float = 0.0

    @property
    def verdict(self) -> str:
        if self.free is None:
            return "the server runs out of memory by itself"
        if not self.refused:
            return "never refused"
        return "right" if self.free < self.needed else "**false**"


def measured(jdk: int, collector: str, megabytes: int, looks: int) -> Row:
    jar = artifact(WIREMOCK)
    classes = compiled([JAVA / "AttachingServer.java"], classpath=[jar])
    flags = ["-XX:-UseSerialGC", f"-XX:+Use{collector}GC", f"-Xmx{megabytes}m"]
    row = Row(jdk, collector, megabytes)
    try:
        with target(jdk, "AttachingServer", "2", "0", classpath=[classes, jar], flags=flags) as jvm:
            time.sleep(WARM)
            refusals = sum(_refused(jvm) for _ in range(looks))
            collected = _collected(jvm, jdk)
    except TargetError as error:
        if "OutOfMemoryError" not in str(error):
            raise
        return row
    if collected is None:
        return row
    return Row(
        jdk, collector, megabytes, looks, refusals, collected.free / 1024, collected.needed(LOADED_CLASSES) / 1024
    )


def _refused(jvm: Target) -> bool:
    time.sleep(BETWEEN)
    try:
        with btpy.attach(jvm.pid):
            return False
    except AttachError as error:
        if error.code != REFUSED:
            raise
        return True


def _collected(jvm: Target, jdk: int) -> heap.Heap | None:
    """The heap after a full collection, while the clients send requests."""
    jcmd = java(jdk).with_name("jcmd")
    if not jcmd.exists():
        jcmd = Path("jcmd")
    readings = []
    for _ in range(3):
        subprocess.run([jcmd, str(jvm.pid), "GC.run"], capture_output=True, check=False)
        answer = subprocess.run([jcmd, str(jvm.pid), "GC.heap_info"], capture_output=True, text=True, check=False)
        readings.append(heap.parse(answer.stdout))
    return max((reading for reading in readings if reading), key=lambda reading: reading.free, default=None)


def table(rows: list[Row]) -> list[str]:
    lines = [
        "| JDK | collector | heap | attaches | refused | free after a full collection | needed | verdict |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        free = "–" if row.free is None else f"{row.free:.0f} MB"
        lines.append(
            f"| {row.jdk} | {row.collector} | {row.megabytes} MB | {row.looks} | {row.refused} | {free} "
            f"| {row.needed:.0f} MB | {row.verdict} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--looks", type=int, default=20, help="attaches to each server")
    parser.add_argument("--stdout", action="store_true", help="print the section, leave RESULTS.md alone")
    options = parser.parse_args()
    rows = [
        measured(jdk, collector, megabytes, options.looks)
        for jdk, collectors in COLLECTORS.items()
        for collector in collectors
        for megabytes in MEGABYTES
    ]
    attaches, refusals = sum(row.looks for row in rows), sum(row.refused for row in rows)
    false = sum(row.refused for row in rows if row.verdict == "**false**")
    text = "\n".join(
        [
            results.origin(f"python benchmarks/refusals.py --looks {options.looks}", java(25)),
            "",
            f"{refusals} of {attaches} attaches to WireMock under load were refused for the heap, {false} falsely.",
            "",
            *table(rows),
        ]
    )
    results.publish(TITLE, text, stdout=options.stdout)


if __name__ == "__main__":
    main()
