"""The cost of a probe, compared with BTrace, Byteman, Arthas, Flight Recorder and code by hand, for RESULTS.md.

    python benchmarks/peers.py [--quick] [--jdk 17] [--threads 1] [--only btpy,BTrace] [--workloads timed] [--stdout]

JMH measures the same workloads (benchmarks/java/peers) in JVMs that differ only in the tracer. The JVMs run one after
the other, in several rounds, so that a disturbance of the machine affects all of them. Each tool gets its probes for
all workloads at once and writes its output to a file. Figures are medians of the rounds. The benchmark needs Maven.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # this script runs as a file, and imports from tests/

from benchmarks import commandline, results  # noqa: E402
from tests.jdks import cache, compiled, java, javac  # noqa: E402
from tests.maven import BYTEMAN, artifact  # noqa: E402
from tests.targets import Target  # noqa: E402

JAVA = ROOT / "benchmarks" / "java" / "peers"
TITLE = "Cost of a probe, beside others"
JMH = (
    "org.openjdk.jmh:jmh-core:1.37",
    "org.openjdk.jmh:jmh-generator-annprocess:1.37",
    "net.sf.jopt-simple:jopt-simple:5.0.4",
    "org.apache.commons:commons-math3:3.6.1",
)
BTRACE = {name: f"io.btrace:btrace-{name}:2.2.6" for name in ("agent", "boot", "client")}
ARTHAS = "com.taobao.arthas:arthas-packaging:4.1.4:zip:bin"
OPENED = (
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.reflect=ALL-UNNAMED",
)
"""Without these flags, BTrace runs no script on JVMs from 17 on."""

WORKLOADS = {
    "counted": "count",
    "keyed": "count by a string",
    "timed": "timed histogram",
    "timedByKey": "timed histogram by a string",
    "filtered": "a predicate that is false",
    "microsecond": "timed histogram of a method of 1 µs",
    "event": "event with three values",
    "eventWithObject": "event with a string and a field of an object",
    "eventWithStack": "event with a stack of up to 16",
}
_EVENTS = ("event", "eventWithObject", "eventWithStack")
_JFR = ("timed", "microsecond", "event", "eventWithStack")
_FOREVER = 1_000_000_000
_PORT = "33658"


@dataclass(frozen=True)
class Effort:
    """``millis``: the length of an iteration. The workloads give the number of iterations, because bursts of events
    need more."""

    rounds: int
    millis: int


THOROUGH = Effort(rounds=5, millis=1000)
QUICK = Effort(rounds=1, millis=600)

Figures = dict[str, float]  # ns a call, by workload


@dataclass(frozen=True)
class Tool:
    """``flags``: the flags of the JVM; ``attached``: attaches the tool to the JVM, by its pid, before it begins.
    ``workloads``: the workloads that the tool can trace."""

    name: str
    flags: Callable[[Path], Sequence[str]]
    attached: Callable[[int, Path, ExitStack], None]
    workloads: Sequence[str] = tuple(WORKLOADS)


def tools(jdk: int) -> list[Tool]:
    nothing = lambda pid, scratch, stack: None  # noqa: E731
    items = [
        Tool("nobody", lambda scratch: (), nothing),
        Tool("by hand", lambda scratch: ("-Dacme.byhand=true",), nothing),
        Tool("btpy", lambda scratch: (), attach_btpy),
        Tool("BTrace 2.2.6", btrace_flags, nothing),
        Tool("Byteman 4.0.24", byteman_flags, nothing, ("counted", "keyed", "filtered", *_EVENTS)),
        Tool("Arthas 4.1.4", lambda scratch: (), attach_arthas, ("counted", "filtered", *_EVENTS)),
    ]
    if jdk >= 25:
        items.append(Tool("Flight Recorder", recorder_flags, nothing, _JFR))
    return items


def attach_btpy(pid: int, scratch: Path, stack: ExitStack) -> None:
    stack.enter_context(attached(pid, JAVA / "peers.bt", scratch / "events"))


@contextmanager
def attached(pid: int, script: Path, events: Path) -> Iterator[None]:
    """The command ``btpy`` on a JVM, with its probes in place; without a budget, because the other tools have none."""
    command = [sys.executable, "-m", "btpy", str(pid), str(script), "-f", "ndjson", "-o", str(events)]
    command += ["--budget", "off"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as client:
        assert client.stderr is not None
        messages = []
        for line in client.stderr:
            messages.append(line)
            if "Ctrl-C" in line:
                break
        else:
            raise RuntimeError("".join(messages))
        threading.Thread(target=client.stderr.read, daemon=True).start()  # so that the tool never waits for a reader
        yield
        client.send_signal(signal.SIGINT)


def btrace_flags(scratch: Path, script: str = "PeersTrace") -> list[str]:
    """Compiles a script of benchmarks/java/peers; its output goes to the file ``events``."""
    jars = btrace_jars(scratch)
    classpath = os.pathsep.join(str(jars[name]) for name in ("client", "boot"))
    compiler = [str(javac().parent / "java"), *OPENED, "-cp", classpath, "org.openjdk.btrace.compiler.Compiler"]
    source = str(JAVA / f"{script}.java")
    subprocess.run([*compiler, "-cp", classpath, "-d", str(scratch), source], check=True, capture_output=True)
    agent = f"script={scratch / script}.class,noServer=true,trusted=true,scriptOutputFile={scratch / 'events'}"
    return [*OPENED, f"-javaagent:{jars['agent']}={agent}"]


def btrace_jars(scratch: Path) -> dict[str, Path]:
    """Copies the jars to the names under which they look for each other."""
    jars = {name: scratch / f"btrace-{name}.jar" for name in BTRACE}
    for name, jar in jars.items():
        shutil.copyfile(artifact(BTRACE[name]), jar)
    return jars


def byteman_flags(scratch: Path) -> list[str]:
    jar = artifact(BYTEMAN)
    rules = (JAVA / "peers.btm").read_text().replace('"peers"', f'"{scratch / "events"}"')
    (scratch / "peers.btm").write_text(rules)
    return [
        f"-javaagent:{jar}=script:{scratch / 'peers.btm'},boot:{jar}",
        "-Dorg.jboss.byteman.compile.to.bytecode=true",
    ]


def attach_arthas(pid: int, scratch: Path, stack: ExitStack) -> None:
    """Each command has its own client, because a command runs in the foreground of its client."""
    commands = [
        "monitor -c 1 acme.Work counted",
        "watch acme.Work filtered '{params[0]}' 'params[0] < 0'",
        "watch acme.Work event '{params[0], params[1], returnObj}'",
        "watch acme.Work eventWithObject '{params[0], params[1].total}'",
        "stack acme.Work eventWithStack",
    ]
    home = cache() / "arthas-4.1.4"
    if not home.exists():
        with zipfile.ZipFile(artifact(ARTHAS)) as archive:
            archive.extractall(home)
    program = str(javac().parent / "java")
    start = [program, "-jar", str(home / "arthas-boot.jar"), str(pid), "--telnet-port", _PORT, "--http-port", "-1"]
    client = [program, "-jar", str(home / "arthas-client.jar"), "127.0.0.1", _PORT]
    for at, command in enumerate(commands):
        events = scratch / f"events{at}"
        words = [*(client if at else start), "-c", f"{command} -n {_FOREVER} > {events}"]
        nothing = subprocess.DEVNULL
        running = subprocess.Popen(words, stdin=nothing, stdout=nothing, stderr=nothing)
        stack.callback(running.wait)
        stack.callback(running.kill)
        deadline = time.monotonic() + 60
        while not (events.exists() and "Affect(" in events.read_text()):
            if time.monotonic() > deadline:
                raise RuntimeError(f"Arthas does not do {command}")
            time.sleep(0.1)


def recorder_flags(scratch: Path) -> list[str]:
    """Method timing for timed workloads, and method tracing for events (JEP 520). Its stacks have the requested
    depth."""
    timed = ";".join(f"acme.Work::{name}" for name in ("timed", "microsecond"))
    trace_filter = ";".join(f"acme.Work::{name}" for name in ("event", "eventWithStack"))
    recording = f"method-timing={timed},method-trace={trace_filter},filename={scratch / 'recording.jfr'}"
    return [f"-XX:StartFlightRecording:{recording}", "-XX:FlightRecorderOptions:stackdepth=16"]


def measured(tool: Tool, jdk: int, threads: int, effort: Effort) -> Figures:
    """JMH's scores of one JVM."""
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        scratch = Path(directory)
        classes, libraries = workloads()
        command = ["env", "-C", directory]  # for files that tools write beside their jars
        command += [str(java(jdk)), "-Xms512m", "-Xmx512m", "-XX:+UseParallelGC", *_agents(jdk), *tool.flags(scratch)]
        command += ["-cp", os.pathsep.join(map(str, (classes, *libraries))), "org.openjdk.jmh.Main"]
        command += ["-f", "0", "-w", f"{effort.millis}ms", "-r", f"{effort.millis}ms"]
        command += ["-t", str(threads), "-rf", "json", "-rff", str(scratch / "scores"), "-foe", "true"]
        command.append(f"Workloads.({'|'.join(tool.workloads)})$")
        with _running(command) as jvm:
            jvm.wait_for("ready")
            tool.attached(jvm.pid, scratch, stack)
            jvm.send()
            jvm.wait_for("Benchmark result is saved", 3600)
            stack.close()
            if any("error type checking" in line for line in jvm.stdout):
                raise RuntimeError(f"{tool.name}: a rule of peers.btm does nothing: run it by hand to see why")
        scores = json.loads((scratch / "scores").read_text())
        return {score["benchmark"].rpartition(".")[2]: _nanos(score) for score in scores}


def _agents(jdk: int) -> list[str]:
    return ["-XX:+EnableDynamicAgentLoading"] if jdk >= 21 else []


def _nanos(score: dict[str, object]) -> float:
    """The median of the iterations, for one call. JMH gives the time of a whole burst."""
    metric = score["primaryMetric"]
    assert isinstance(metric, dict)
    burst = int(str(score["measurementBatchSize"]))
    return float(statistics.median(metric["rawData"][0]) / burst)


def workloads() -> tuple[Path, list[Path]]:
    libraries = [artifact(jar) for jar in JMH]
    sources = [JAVA / name for name in ("Work.java", "ByHand.java", "Workloads.java")]
    return compiled(sources, classpath=libraries, flags=["-proc:full"]), libraries


@contextmanager
def _running(command: Sequence[str]) -> Iterator[Target]:
    jvm = Target(command)
    try:
        yield jvm
    finally:
        jvm.stop()


def table(figures_by_peer: dict[str, list[Figures]]) -> str:
    """The time that each tool adds to a call, compared with a method without a tracer."""
    rows = [name for name in WORKLOADS if name in figures_by_peer["nobody"][0]]
    base = {name: statistics.median(round_[name] for round_ in figures_by_peer["nobody"]) for name in rows}
    cost = {
        tool: {name: statistics.median(round_[name] for round_ in rounds) - base[name] for name in rounds[0]}
        for tool, rounds in figures_by_peer.items()
        if tool != "nobody"
    }
    lines = ["| ns a call | nobody | " + " | ".join(cost) + " |", "|---" * (len(cost) + 2) + "|"]
    for name in rows:
        cells = [f"{base[name]:.1f}"]
        for tool, figures in cost.items():
            if name not in figures:
                cells.append("")
            elif tool == "btpy" or "btpy" not in cost:
                cells.append(f"**{figures[name]:.1f}**")
            else:
                cells.append(f"{figures[name]:.1f} · {_times(figures[name], cost['btpy'][name])}")
        lines.append(f"| {WORKLOADS[name]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _times(theirs: float, ours: float) -> str:
    return f"{theirs / ours:.1f}×" if ours > 1 else "–"


def main() -> None:
    options = commandline.options(__doc__)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--only", default="")
    options.add_argument("--workloads", default=",".join(WORKLOADS))
    arguments = options.parse_args()
    effort = QUICK if arguments.quick else THOROUGH
    names = ["nobody", *arguments.only.split(",")] if arguments.only else []
    workloads = arguments.workloads.split(",")
    selection = [
        replace(tool, workloads=[workload for workload in tool.workloads if workload in workloads])
        for tool in tools(arguments.jdk)
        if not names or any(tool.name.startswith(prefix) for prefix in names)
    ]
    selection = [tool for tool in selection if tool.workloads]
    items: dict[str, list[Figures]] = {tool.name: [] for tool in selection}
    for _ in range(effort.rounds):
        for tool in selection:
            items[tool.name].append(measured(tool, arguments.jdk, arguments.threads, effort))
    title = f"{TITLE}: JDK {arguments.jdk}, {arguments.threads} thread{'s' if arguments.threads > 1 else ''}"
    origin = results.origin(commandline.repeated(), java(arguments.jdk))
    text = f"{origin}\n\n{(__doc__ or '').split(chr(10) * 2)[2]}\n\n{table(items)}"
    results.publish(title, text, stdout=arguments.stdout)


if __name__ == "__main__":
    main()
