"""Servers under load with flows through every request, compared with the same servers without flows. A section of
RESULTS.md.

    python benchmarks/flows.py [--quick] [--jdk 17] [--stdout] [wiremock] [tasks]

WireMock answers two clients in its own JVM as fast as it can, and so does a server that hands each request over three
times, to two pools. Two JVMs of each server run side by side, so that other programs of the machine slow both down. The
script is in one of them, and then in the other. Each measurement waits until the compilers rest. The result of a round
is the ratio of the JVM with the script to the JVM without it: the geometric mean of both cases, in which the difference
between the JVMs cancels out. A cell has the median of the rounds, the least, and the largest. Processor time is that of
all threads except the compilers, so the clients and the agent are included. The JVMs start with btpy's agent, so that
no compiled code is thrown away. The benchmark needs Maven.
"""

from __future__ import annotations

import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # this script runs as a file, and imports from tests/

from benchmarks import commandline, peers, results  # noqa: E402
from benchmarks.attaching import thread_cpu  # noqa: E402
from benchmarks.server import JAVA, STARTED_WITH_AGENT, settled  # noqa: E402
from btpy.api.slow.collect import script  # noqa: E402
from tests.jdks import compiled, java  # noqa: E402
from tests.maven import WIREMOCK, artifact  # noqa: E402
from tests.targets import Target, target  # noqa: E402

TITLE = "A server with flows through every request"
FOLLOWED = """\
import btpy.flows;

@OnMethod(class=["/(.*\\.)?org\\.eclipse\\.jetty\\.server\\.Server/", "com.sun.net.httpserver.Filter$Chain"],
          method=["handle", "doFilter"], type="void (..)", pending=true)
when depth == 0 { begin_flow() }

@OnMethod(class=["/(.*\\.)?org\\.eclipse\\.jetty\\.server\\.Server/", "com.sun.net.httpserver.Filter$Chain"],
          method=["handle", "doFilter"], type="void (..)", location=EXIT, pending=true)
when depth == 0 && flow.id != null { @took = stats(flow.elapsed) }
"""
SCRIPTS = {"flows": FOLLOWED, "the script of btpy slow": script()}
_COMPILERS = ("C1 CompilerThread0", "C2 CompilerThread0")
_FLAGS = (
    "-XX:-UseDynamicNumberOfCompilerThreads",
    "-XX:CICompilerCount=2",
    "-Dsun.net.httpserver.nodelay=true",
    STARTED_WITH_AGENT,
)
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Effort:
    rounds: int  # in a round, the script is in each of the two JVMs once
    warmup: float  # seconds before the first check whether the compilers rest
    settle: float  # seconds before that check after probes were added or removed
    patience: float  # longest wait for the compilers, in seconds
    watched: float


THOROUGH = Effort(rounds=4, warmup=120, settle=6, patience=10, watched=6)
QUICK = Effort(rounds=3, warmup=20, settle=4, patience=15, watched=5)


@dataclass(frozen=True)
class Figures:
    """Requests a second, the median time of a request in ms, and the processor time of a request in µs."""

    throughput: float
    median: float
    cpu: float


@contextmanager
def server(name: str, jdk: int) -> Iterator[Target]:
    jars = [artifact(WIREMOCK)] if name == "AttachingServer" else []
    classes = compiled([JAVA / f"{name}.java"], classpath=jars)
    arguments = ["2", "0"] if jars else ["2"]
    with target(jdk, name, *arguments, classpath=[classes, *jars], flags=_FLAGS) as jvm:
        yield jvm


def cpu(pid: int) -> float:
    """Seconds of processor time, without the threads of the JIT compilers, because their work never ends."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS - sum(thread_cpu(pid, name) for name in _COMPILERS)


def figures(jvms: Sequence[Target], effort: Effort) -> list[Figures]:
    """The figures of JVMs that run side by side, in the same seconds."""
    time.sleep(effort.settle)
    for jvm in jvms:
        settled(jvm, effort.patience)
    begin, before = [], []
    for jvm in jvms:
        jvm.send("latencies")
        jvm.wait_for("latencies")
        begin.append(time.monotonic())
        before.append(cpu(jvm.pid))
    time.sleep(effort.watched)
    items = []
    for jvm, began, spent in zip(jvms, begin, before, strict=True):
        jvm.send("latencies")
        requests, median, _ = map(int, jvm.wait_for("latencies").split()[1:])
        took = time.monotonic() - began
        items.append(Figures(requests / took, median / 1e6, (cpu(jvm.pid) - spent) * 1e6 / requests))
    return items


def ratios(jvms: Sequence[Target], text: str, effort: Effort, scratch: Path) -> list[Figures]:
    """For each round, the figures with the script divided by the figures without it."""
    file = scratch / "flows.bt"
    file.write_text(text)
    rounds = []
    for _ in range(effort.rounds):
        measured = []
        for jvm in jvms:
            with peers.attached(jvm.pid, file, scratch / "events"):
                measured.append(figures(jvms, effort))
        (first, second_without), (first_without, second) = measured

        def ratio(of: Callable[[Figures], float]) -> float:
            pairs = ((first, second_without), (second, first_without))  # noqa: B023 # called in this round
            return math.prod(of(with_) / of(without) for with_, without in pairs) ** 0.5

        rounds.append(
            Figures(ratio(lambda run: run.throughput), ratio(lambda run: run.median), ratio(lambda run: run.cpu))
        )
        print(rounds[-1], measured[0][1], file=sys.stderr)
    return rounds


def cell(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.3f} ({min(values):.2f} … {max(values):.2f})"


SERVERS = {"wiremock": ("AttachingServer", "WireMock"), "tasks": ("HandingOver", "three hand-overs a request")}


def report(jdk: int, effort: Effort, servers: Sequence[str]) -> str:
    lines = [
        "| server | script | requests a second | median of a request | processor time of a request |",
        "|---|---|---|---|---|",
    ]
    for name, about in (SERVERS[server_name] for server_name in servers):
        with server(name, jdk) as one, server(name, jdk) as other, tempfile.TemporaryDirectory() as scratch:
            time.sleep(effort.warmup)
            for script_name, text in SCRIPTS.items():
                runs = ratios((one, other), text, effort, Path(scratch))
                cells = (
                    [run.throughput for run in runs],
                    [run.median for run in runs],
                    [run.cpu for run in runs],
                )
                lines.append(f"| {about} | {script_name} | {' | '.join(map(cell, cells))} |")
    return "\n".join(lines)


def main() -> None:
    parser = commandline.options(__doc__)
    commandline.add_parts(parser, tuple(SERVERS))
    arguments = parser.parse_args()
    effort = QUICK if arguments.quick else THOROUGH
    about = (__doc__ or "").split("\n\n")[2]
    table = report(arguments.jdk, effort, arguments.parts)
    origin = results.origin(commandline.repeated(), java(arguments.jdk))
    results.publish(TITLE, f"{origin}\n\n{about}\n\n{table}", stdout=arguments.stdout)


if __name__ == "__main__":
    main()
