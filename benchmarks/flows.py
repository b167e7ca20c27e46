"""Servers under load with flows through every request, and without. A section of RESULTS.md.

    python benchmarks/flows.py [--quick] [--jdk 17] [--stdout] [wiremock] [tasks]

Two servers answer two clients in their own JVM as fast as they can: WireMock, and one that hands each request over
three times, to two pools. Seconds with a script and seconds without one alternate in each JVM, and each measurement
waits until the compilers rest. The result is the ratio to the mean of the two measurements around it without the
script: the median over the rounds, the least, and the largest. Processor time is that of all threads but the compilers,
with the clients and the agent. The JVMs start with btpy's agent, so that no compiled code is thrown away. The benchmark
needs Maven.
"""

from __future__ import annotations

import contextlib
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # run as a file: the harness of the tests is beside this directory

from benchmarks import commandline, peers, results  # noqa: E402
from benchmarks.server import JAVA, STARTED_WITH_AGENT, settled  # noqa: E402
from btpy.api.slow.collect import script  # noqa: E402
from tests.jdks import compiled, java  # noqa: E402
from tests.maven import WIREMOCK, artifact  # noqa: E402
from tests.targets import Target, target  # noqa: E402

TITLE = "A server with flows through every request"
FOLLOWED = """\
import btpy.flows;
import btpy.http_server as http_server;
@OnProbe(http_server.begun) { begin_flow() }
@OnProbe(http_server.request) when flow.id != null { @took = stats(flow.elapsed) }
"""
SCRIPTS = {"flows": FOLLOWED, "the script of btpy slow": script()}
_COMPILERS = ("C1 Compiler", "C2 Compiler")
_FLAGS = ("-Dsun.net.httpserver.nodelay=true", STARTED_WITH_AGENT)


@dataclass(frozen=True)
class Effort:
    rounds: int  # measurements with the script
    warmup: float  # seconds before the first check whether the compilers rest
    settle: float  # the same after probes were added or removed
    patience: float  # longest wait for the compilers, in seconds
    watched: float


THOROUGH = Effort(rounds=7, warmup=30, settle=4, patience=30, watched=6)
QUICK = Effort(rounds=3, warmup=15, settle=3, patience=15, watched=5)


@dataclass(frozen=True)
class Figures:
    """Requests a second, the median time of a request in ms, and the processor time of a request in µs."""

    throughput: float
    median: float
    cpu: float


@contextmanager
def server(name: str, jdk: int, effort: Effort) -> Iterator[Target]:
    jars = [artifact(WIREMOCK)] if name == "AttachingServer" else []
    classes = compiled([JAVA / f"{name}.java"], classpath=jars)
    arguments = ["2", "0"] if jars else ["2"]
    with target(jdk, name, *arguments, classpath=[classes, *jars], flags=_FLAGS) as jvm:
        time.sleep(effort.warmup)
        settled(jvm, effort.patience)
        yield jvm


def cpu(pid: int) -> float:
    """Seconds of processor time of all threads but the compilers."""
    nanos = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended
            if not (task / "comm").read_text().startswith(_COMPILERS):
                nanos += int((task / "schedstat").read_text().split()[0])
    return nanos / 1e9


def figures(jvm: Target, effort: Effort) -> Figures:
    time.sleep(effort.settle)
    settled(jvm, effort.patience)
    jvm.send("latencies")
    jvm.wait_for("latencies")
    begin, before = time.monotonic(), cpu(jvm.pid)
    time.sleep(effort.watched)
    jvm.send("latencies")
    requests, median, _ = map(int, jvm.wait_for("latencies").split()[1:])
    spent, took = cpu(jvm.pid) - before, time.monotonic() - begin
    return Figures(requests / took, median / 1e6, spent * 1e6 / requests)


def ratios(jvm: Target, text: str, effort: Effort, scratch: Path) -> list[Figures]:
    """The figures with the script, as multiples of those without it."""
    file = scratch / "flows.bt"
    file.write_text(text)
    without, compared = figures(jvm, effort), []
    for _ in range(effort.rounds):
        with peers.attached(jvm.pid, file, scratch / "events"):
            traced = figures(jvm, effort)
        after = figures(jvm, effort)
        compared.append(
            Figures(
                traced.throughput * 2 / (without.throughput + after.throughput),
                traced.median * 2 / (without.median + after.median),
                traced.cpu * 2 / (without.cpu + after.cpu),
            )
        )
        print(f"{without} {traced} {after}", file=sys.stderr)
        without = after
    return compared


def cell(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.3f} ({min(values):.2f} … {max(values):.2f})"


SERVERS = {"wiremock": ("AttachingServer", "WireMock"), "tasks": ("HandingOver", "three hand-overs a request")}


def report(jdk: int, effort: Effort, servers: Sequence[str]) -> str:
    lines = [
        "| server | script | requests a second | median of a request | processor time of a request |",
        "|---|---|---|---|---|",
    ]
    for name, about in (SERVERS[server_name] for server_name in servers):
        with server(name, jdk, effort) as jvm, tempfile.TemporaryDirectory() as scratch:
            for script_name, text in SCRIPTS.items():
                runs = ratios(jvm, text, effort, Path(scratch))
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
