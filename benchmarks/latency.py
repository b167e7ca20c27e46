"""The time from the firing of a probe until its line is on the terminal, and the cost of waiting for it.

    python benchmarks/latency.py [--quick] [--jdk 17] [--stdout]

A Java program calls a method with `System.nanoTime()`, and a probe prints that time to a pseudo terminal. On Linux that
clock is CLOCK_MONOTONIC, so the reader of the terminal can read the same clock when the line arrives. Firings of the
first second do not count, because both sides warm up in it. The benchmark writes its section of RESULTS.md.
"""

from __future__ import annotations

import os
import pty
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # this script runs as a file, and imports from tests/

from benchmarks import commandline, results  # noqa: E402
from tests.jdks import compiled, java  # noqa: E402
from tests.targets import Target, target  # noqa: E402

JAVA = ROOT / "benchmarks" / "java"
TITLE = "From firing to the screen"
SCRIPT = "Firing::fire @entry { print($at) }"
WARMUP_NANOS = 1_000_000_000
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Load:
    """``rate``: firings a second. ``busy``: threads of the target that compute all the time."""

    name: str
    rate: int
    busy: int


LOADS = (
    Load("10 a second", 10, 0),
    Load("1 000 a second", 1_000, 0),
    Load("10 a second, every core busy", 10, os.cpu_count() or 1),
    Load("1 000 a second, every core busy", 1_000, os.cpu_count() or 1),
)


@dataclass(frozen=True)
class Run:
    """``nanos``: the time from each firing until its line was read. ``client``, ``agent``: processor seconds a
    second."""

    nanos: tuple[int, ...]
    client: float
    agent: float


def measured(load: Load, jdk: int, seconds: float) -> Run:
    with target(jdk, "Firing", str(load.rate), str(load.busy), classpath=[compiled([JAVA / "Firing.java"])]) as program:
        own_end, other_end = pty.openpty()
        command = [sys.executable, "-m", "btpy", str(program.pid), "-e", SCRIPT, "--rate", "0", "--hits", "0"]
        tracer = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=other_end, stderr=subprocess.DEVNULL)
        os.close(other_end)
        try:
            return _read(own_end, program, tracer, seconds)
        finally:
            tracer.terminate()
            while True:  # the process cannot end while its terminal has unread output
                try:
                    if not os.read(own_end, 1 << 16):
                        break
                except OSError:
                    break
            tracer.wait()
            os.close(own_end)


def _read(terminal: int, program: Target, tracer: subprocess.Popen[bytes], seconds: float) -> Run:
    nanos = []
    rest = b""
    first = began = 0
    usage: tuple[float, float] | None = None
    while True:
        rest += os.read(terminal, 1 << 16)
        now = time.monotonic_ns()
        *lines, rest = rest.split(b"\n")
        hit_times = [int(line) for line in lines if line.strip().isdigit()]
        first = first or (hit_times[0] if hit_times else 0)
        if not first or now < first + WARMUP_NANOS:
            continue
        if usage is None:
            usage, began = (_process(tracer.pid), _agent(program.pid)), now
        nanos += [now - at for at in hit_times if at > first + WARMUP_NANOS]
        if now - began >= seconds * 1e9:
            passed = (now - began) / 1e9
            client, agent = _process(tracer.pid) - usage[0], _agent(program.pid) - usage[1]
            return Run(tuple(nanos), client / passed, agent / passed)


def _process(pid: int) -> float:
    """Processor seconds."""
    return _stat(Path(f"/proc/{pid}/stat"))


def _agent(pid: int) -> float:
    """Processor seconds of the threads of the agent."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(_stat(task / "stat") for task in tasks if (task / "comm").read_text().startswith("btpy"))


def _stat(path: Path) -> float:
    fields = path.read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def row(load: Load, runs: Sequence[Run]) -> str:
    nanos = sorted(nano for run in runs for nano in run.nanos)
    percentiles = [nanos[min(len(nanos) - 1, int(len(nanos) * share))] / 1e6 for share in (0.5, 0.9, 0.99)]
    client, agent = (statistics.median(getattr(run, side) for run in runs) for side in ("client", "agent"))
    figures = " | ".join(f"{figure:.1f}" for figure in (*percentiles, nanos[-1] / 1e6))
    return f"| {load.name} | {len(nanos)} | {figures} | {100 * client:.1f} % | {100 * agent:.1f} % |"


def main() -> None:
    arguments = commandline.options(__doc__).parse_args()
    times, seconds = (2, 4.0) if arguments.quick else (5, 10.0)
    rounds = [load for _ in range(times) for load in random.sample(LOADS, len(LOADS))]
    runs: dict[Load, list[Run]] = {load: [] for load in LOADS}
    for load in rounds:
        runs[load].append(measured(load, arguments.jdk, seconds))
    text = "\n".join(
        [
            results.origin(commandline.repeated(), java(arguments.jdk)),
            "",
            "Milliseconds from the call of the probed method to its line on a pseudo terminal, over all firings of"
            f" {times} runs of {seconds:.0f} s; processor time of the client and of the agent's threads, of one core."
            " The event thread of the agent looks at its buffers every 10 ms, or every 4 ms while records come; half of"
            " this interval is most of the median on a machine that is not busy.",
            "",
            "| firings | n | median | p90 | p99 | max | client | agent |",
            "|---|---|---|---|---|---|---|---|",
            *(row(load, runs[load]) for load in LOADS),
        ]
    )
    results.publish(TITLE, text, stdout=arguments.stdout)


if __name__ == "__main__":
    main()
