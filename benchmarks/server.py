"""A real server under load with 10, 100 and 1,000 of its methods probed: throughput and latency. For RESULTS.md.

    python benchmarks/server.py [--quick] [--jdk 17] [--stdout]

WireMock answers two clients in its own JVM as fast as it can. In each JVM some seconds without a tracer are measured.
Then the tool attaches and times each call of its methods into a histogram. Then it leaves, and seconds without it are
measured again. Each measurement waits until the compilers rest. The result is the ratio to the mean of the two
measurements without the tool. The methods belong to randomly chosen loaded classes of WireMock. These JVMs start with
btpy's agent, without options, so that no tool makes them throw away all compiled code. The benchmark needs Maven.
"""

from __future__ import annotations

import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # this script runs as a file, and imports from tests/

from benchmarks import commandline, peers, results  # noqa: E402
from benchmarks.attaching import counting, curve_lines, thread_cpu, window_now, windows  # noqa: E402
from btpy.engine.session import Session  # noqa: E402
from btpy.jvm import attach  # noqa: E402
from tests.jdks import compiled, java, javac  # noqa: E402
from tests.maven import WIREMOCK, artifact  # noqa: E402
from tests.targets import Target, target  # noqa: E402

TITLE = "A server under load"
DIP = "A server in the seconds after an attach"
STARTED_WITH_AGENT = f"-javaagent:{attach.agent_jar()}"
JAVA = ROOT / "benchmarks" / "java"
CLASSES = r"/com\.github\.tomakehurst\.wiremock\..*/"
SIZES = (10, 100, 1_000)

BTPY = '@OnMethod(class="/{classes}/", method="*", location=EXIT, max=100000) {{ @took = hist(duration); }}'
BTRACE = """
import static org.openjdk.btrace.core.BTraceUtils.*;
import org.openjdk.btrace.core.aggregation.*;
import org.openjdk.btrace.core.annotations.*;

@BTrace
public class ServerTrace {{
    private static Aggregation took = Aggregations.newAggregation(AggregationFunction.QUANTIZE);

    @OnMethod(clazz = "/{classes}/", method = "/.*/", location = @Location(Kind.RETURN))
    public static void timed(@Duration long duration) {{
        Aggregations.addToAggregation(took, duration);
    }}
}}
"""


@dataclass(frozen=True)
class Effort:
    rounds: int
    warmup: float  # seconds before the first check whether the compilers rest
    settle: float  # seconds before that check after probes were added or removed
    patience: float  # longest wait for the compilers, in seconds
    watched: float


THOROUGH = Effort(rounds=3, warmup=30, settle=5, patience=60, watched=8)
QUICK = Effort(rounds=1, warmup=20, settle=4, patience=30, watched=6)
_AT_REST = 0.15


@dataclass(frozen=True)
class Load:
    """Requests a second, and the time of one request in ms."""

    throughput: float
    median: float
    p99: float


@dataclass(frozen=True)
class Compared:
    """Figures with a tool, divided by the figures without it."""

    throughput: float
    median: float
    p99: float


Attach = Callable[[int, str, Path], Iterator[None]]


@contextmanager
def server(jdk: int, effort: Effort, flags: Sequence[str] = ()) -> Iterator[Target]:
    jar = artifact(WIREMOCK)
    classes = compiled([JAVA / "AttachingServer.java"], classpath=[jar])
    with target(jdk, "AttachingServer", "2", "0", classpath=[classes, jar], flags=flags) as jvm:
        time.sleep(effort.warmup)
        settled(jvm, effort.patience)
        yield jvm


def settled(jvm: Target, patience: float) -> None:
    """Waits until the compilers use less than ``_AT_REST`` of a core for two consecutive seconds, for at most
    ``patience`` seconds."""
    deadline = time.monotonic() + patience
    at_rest = 0
    while at_rest < 2 and time.monotonic() < deadline:
        before = compiling(jvm)
        time.sleep(1)
        at_rest = at_rest + 1 if compiling(jvm) - before < _AT_REST else 0


def compiling(jvm: Target) -> float:
    return sum(thread_cpu(jvm.pid, name) for name in ("C1 CompilerThread0", "C2 CompilerThread0"))


def load(jvm: Target, seconds: float) -> Load:
    jvm.send("latencies")
    jvm.wait_for("latencies")
    begin = time.monotonic()
    time.sleep(seconds)
    jvm.send("latencies")
    words = jvm.wait_for("latencies").split()
    took = time.monotonic() - begin
    return Load(int(words[1]) / took, int(words[2]) / 1e6, int(words[3]) / 1e6)


def compared(jvm: Target, effort: Effort, tool: Attach, classes: str, scratch: Path) -> Compared:
    before = load(jvm, effort.watched)
    with contextmanager(tool)(jvm.pid, classes, scratch):
        time.sleep(effort.settle)
        settled(jvm, effort.patience)
        during = load(jvm, effort.watched)
    time.sleep(effort.settle)
    settled(jvm, effort.patience)
    after = load(jvm, effort.watched)

    def ratio(of: Callable[[Load], float]) -> float:
        return of(during) / ((of(before) + of(after)) / 2)

    return Compared(ratio(lambda run: run.throughput), ratio(lambda run: run.median), ratio(lambda run: run.p99))


def with_btpy(pid: int, classes: str, scratch: Path) -> Iterator[None]:
    script = scratch / "server.bt"
    script.write_text(BTPY.format(classes=classes.replace(".", r"\.")))
    with peers.attached(pid, script, scratch / "events"):
        yield


def with_btrace(pid: int, classes: str, scratch: Path) -> Iterator[None]:
    """BTrace is attached by its own client, which compiles the script."""
    script = scratch / "ServerTrace.java"
    script.write_text(BTRACE.format(classes=classes.replace(".", r"\\.")))
    jars = peers.btrace_jars(scratch)
    classpath = ":".join(str(jars[name]) for name in ("client", "boot", "agent"))
    home = javac().resolve().parent.parent
    command = [str(home / "bin" / "java"), *peers.OPENED, "-cp", classpath, "org.openjdk.btrace.client.Main"]
    with (scratch / "btrace.log").open("w") as log:
        client = subprocess.Popen(
            [*command, "-v", str(pid), str(script)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=scratch,
            env={**os.environ, "JAVA_HOME": str(home)},
        )
    try:
        deadline = time.monotonic() + 60
        while "Successfully started" not in (log_text := (scratch / "btrace.log").read_text()):
            if client.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(log_text)
            time.sleep(0.1)
        yield
    finally:
        client.terminate()
        client.wait()


def dip(jdk: int, effort: Effort, classes: str, flags: Sequence[str]) -> list[str]:
    """Requests in each half second before and after btpy attaches to 10 methods."""
    with tempfile.TemporaryDirectory() as scratch, server(jdk, effort, flags) as jvm:
        before = requests(jvm, 5)
        with contextmanager(with_btpy)(jvm.pid, classes, Path(scratch)):
            after = requests(jvm, 20)
    return curve_lines([("before", before), ("after", after)], window=0.5)


def requests(jvm: Target, seconds: float) -> list[int]:
    """The requests in each half second."""
    first = window_now(jvm)
    time.sleep(seconds)
    counts = [count for count, _ in windows(jvm, first, window_now(jvm))]
    return [sum(counts[at : at + 5]) for at in range(0, len(counts) - 4, 5)]


def chosen(jdk: int, effort: Effort) -> dict[int, str]:
    """For each size, the alternatives of a regular expression for class names. The classes have about that number of
    methods."""
    with server(jdk, replace(effort, patience=0)) as jvm, Session.attach(jvm.pid) as session:
        match = session.deployer.match(counting(CLASSES))
        methods = {
            class_.loaded.name: len(class_.planned.methods) for class_ in match.classes if class_.planned is not None
        }
    names = [name for name, count in sorted(methods.items()) if 0 < count <= 20]
    items = {}
    for size in SIZES:
        random.Random(size).shuffle(names)
        classes, total = [], 0
        for name in names:
            if total >= size:
                break
            classes.append(re.sub(r"\$", r"[$]", name))
            total += methods[name]
        items[size] = "|".join(classes)
    return items


def report(jdk: int, effort: Effort, classes: dict[int, str]) -> str:
    lines = [
        "| methods | tool | requests a second | median of a request | 99th percentile |",
        "|---|---|---|---|---|",
    ]
    opened = (*peers.OPENED, STARTED_WITH_AGENT)
    for size in SIZES:
        for name, tool, flags in (("btpy", with_btpy, (STARTED_WITH_AGENT,)), ("BTrace 2.2.6", with_btrace, opened)):
            runs = []
            for _ in range(effort.rounds):
                with tempfile.TemporaryDirectory() as scratch, server(jdk, effort, flags) as jvm:
                    runs.append(compared(jvm, effort, tool, classes[size], Path(scratch)))
            cells = [
                f"{statistics.median(values):.2f} ({min(values):.2f} … {max(values):.2f})"
                for values in (
                    [run.throughput for run in runs],
                    [run.median for run in runs],
                    [run.p99 for run in runs],
                )
            ]
            lines.append(f"| {size} | {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def dip_report(jdk: int, effort: Effort, classes: dict[int, str]) -> str:
    lines = [
        "WireMock answers two clients in its own JVM as fast as it can, on all cores; btpy attaches and times the calls"
        " of 10 methods. The curves show the requests of each half second. Up to JDK 21 HotSpot throws away all"
        " compiled code when an agent first changes a class, unless the JVM was started with that agent.",
    ]
    for name, flags in (("Attach while the server runs", ()), ("Start with btpy's agent", (STARTED_WITH_AGENT,))):
        lines += ["", f"{name}:", "", "```", *dip(jdk, effort, classes[SIZES[0]], flags), "```"]
    return "\n".join(lines)


def main() -> None:
    arguments = commandline.options(__doc__).parse_args()
    effort = QUICK if arguments.quick else THOROUGH
    classes = chosen(arguments.jdk, effort)
    about = (__doc__ or "").split("\n\n")[2]

    def publish(title: str, text: str) -> None:
        origin = results.origin(commandline.repeated(), java(arguments.jdk))
        results.publish(title, f"{origin}\n\n{text}", stdout=arguments.stdout)

    publish(DIP, dip_report(arguments.jdk, effort, classes))
    publish(TITLE, f"{about} Medians of ratios, least and most.\n\n{report(arguments.jdk, effort, classes)}")


if __name__ == "__main__":
    main()
