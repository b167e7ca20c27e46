"""What attaching to much costs: ten thousand methods of a server under load, a narrow question to many classes.

    python benchmarks/attaching.py [--quick] [--jdk 17] [--stdout] [server] [narrow]

server  WireMock answers requests; ten thousand methods of its loaded classes get two counters each, and are put back.
        Beside it, in the same JVM, an agent of ours retransforms the same classes without changing them: what the JVM
        takes for that by itself. The order of the two changes from JVM to JVM.
narrow  `**` with a narrow operation, on a JVM with twenty thousand classes.

Ratios are of figures of one run. Writes its section of RESULTS.md.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # run as a file: the harness of the tests is beside this directory

from benchmarks import results  # noqa: E402
from benchmarks.run import Sample  # noqa: E402
from btpy.cli.script import compile_source, read_source  # noqa: E402
from btpy.lang.program import Program  # noqa: E402
from btpy.session.session import Limits, Session  # noqa: E402
from tests.jdks import MAJORS, compiled, java, javac  # noqa: E402
from tests.maven import WIREMOCK, artifact  # noqa: E402
from tests.targets import Target, target  # noqa: E402

JAVA = ROOT / "benchmarks" / "java"
TITLE = "Attaching to much"
SERVER_CLASSES = r"/(wiremock|com\.github\.tomakehurst)\..*/"
SERVER_METHODS = "/<init>|[a-f].*|is.*/"  # about ten thousand
BATCH = 128  # classes in a call of the identity agent
_STOP = re.compile(r'^\[(\d+)ms\] Safepoint "(\w+)".* Total: +(\d+) ns$')


T = TypeVar("T")


@dataclass(frozen=True)
class Effort:
    servers: int
    warmup: float  # seconds
    watched: float  # seconds before, while and after the probes are in
    attaches: int


THOROUGH = Effort(servers=7, warmup=25, watched=4, attaches=9)
QUICK = Effort(servers=3, warmup=10, watched=2, attaches=3)


def counting(classes: str, methods: str = "*") -> Program:
    """Counts entries and returns."""
    places = f'class="{classes}", method="{methods}", max=100000'
    text = f"@OnMethod({places}, location=ENTRY) {{ @entered = count(); }}"
    text += f"@OnMethod({places}, location=RETURN) {{ @returned = count(); }}"
    return compile_source(read_source(None, [text]))


# ---------------------------------------------------------------- server


@dataclass(frozen=True)
class Stops:
    """The longest, in ms: what the safepoint log says, of any kind and for redefining, and as seen from inside."""

    any: float
    redefining: float
    inside: float


@dataclass(frozen=True)
class Attached:
    """Seconds. ``whole``: from the start of the attach until the probes are in; ``weave``: of that, retransforming;
    ``waited``: of that, for woven classes. ``identity``, ``back``: what the JVM takes for the same classes.
    ``…_cpu``: processor time, of the client, of the thread in the target that does what it asks for, and of the thread
    that retransforms without changes."""

    classes: int
    methods: int
    batches: int
    whole: float
    weave: float
    waited: float
    restore: float
    identity: float
    back: float
    client_cpu: float
    agent_cpu: float
    identity_cpu: float
    told_stop: float
    quiet: Stops
    stops: Stops
    identity_stops: Stops
    curve: tuple[tuple[str, tuple[int, ...]], ...]


def servers(jdk: int, effort: Effort) -> list[Attached]:
    program = counting(SERVER_CLASSES, SERVER_METHODS)
    with tempfile.TemporaryDirectory() as scratch:
        agent = identity_agent(Path(scratch))
        names = Path(scratch) / "names"
        with _server(jdk, Path(scratch) / "stops", effort) as jvm, Session.attach(jvm.pid) as session:
            names.write_text("".join(f"{each.name}\n" for each in session.match(program).to_weave))
        return [_attach(jdk, program, effort, Path(scratch), agent, names, turn) for turn in range(effort.servers)]


@contextmanager
def _server(jdk: int, log: Path, effort: Effort) -> Iterator[Target]:
    jar = artifact(WIREMOCK)
    classes = compiled([JAVA / "AttachingServer.java"], classpath=[jar])
    flags = [f"-Xlog:safepoint=info:file={log}:tm"]
    with target(jdk, "AttachingServer", "2", "2000000", classpath=[classes, jar], flags=flags) as jvm:
        time.sleep(effort.warmup)
        yield jvm


def _attach(jdk: int, program: Program, effort: Effort, scratch: Path, agent: Path, names: Path, turn: int) -> Attached:
    log = scratch / f"stops{turn}"
    with _server(jdk, log, effort) as jvm:
        clock = _Clock(jvm, log)
        quiet = clock.during(lambda: time.sleep(effort.watched))[1]
        outcome = scratch / "outcome"
        found: list[tuple[list[float], Stops]] = []

        def identity() -> None:
            load_agent(jvm.pid, agent, f"{names} {outcome} {BATCH}")

        def measure_identity() -> None:
            stops = clock.during(identity)[1]
            found.append(([float(word) / 1e9 for word in outcome.read_text().split()], stops))
            time.sleep(effort.watched)

        if turn % 2:
            measure_identity()
        marks = [clock.now()]
        time.sleep(effort.watched)
        marks.append(clock.now())
        begin = time.monotonic()
        client_cpu = time.process_time()
        with Session.attach(jvm.pid, Limits()) as session:
            deployment, stops = clock.during(lambda: session.load(program))
            whole = time.monotonic() - begin
            client_cpu = time.process_time() - client_cpu
            agent_cpu = _thread_cpu(jvm.pid, "btpy-commands")
            marks.append(clock.now())
            time.sleep(effort.watched)
            marks.append(clock.now())
            begin = time.monotonic()
            receipt = session.detach()
            restore = time.monotonic() - begin
            if not receipt.clean:
                raise SystemExit(f"not all was put back: {receipt}")
        marks.append(clock.now())
        time.sleep(effort.watched)
        marks.append(clock.now())
        phases = ("before", "attaching", "attached", "leaving", "after")
        windows = clock.windows(0, marks[-1])
        curve = tuple(
            (phase, tuple(count for count, _ in windows[first:last]))
            for phase, first, last in zip(phases, marks, marks[1:], strict=False)
        )
        if not turn % 2:
            measure_identity()
        ((classes, there, _, identity_cpu, back, _, _), identity_stops) = found[0]
        if classes * 1e9 < 0.97 * deployment.classes:
            raise SystemExit(f"the identity agent found {classes * 1e9:.0f} of {deployment.classes} classes")
    return Attached(
        classes=deployment.classes,
        methods=deployment.methods,
        batches=deployment.batches,
        whole=whole,
        weave=deployment.weave_ns / 1e9,
        waited=deployment.waited_ns / 1e9,
        restore=restore,
        identity=there,
        back=back,
        client_cpu=client_cpu,
        agent_cpu=agent_cpu,
        identity_cpu=identity_cpu,
        told_stop=deployment.longest_pause_ns / 1e6,
        quiet=quiet,
        stops=stops,
        identity_stops=identity_stops,
        curve=curve,
    )


def _thread_cpu(pid: int, name: str) -> float:
    """Processor time, in s, of the threads of that name."""
    tasks = Path(f"/proc/{pid}/task")
    found = [each for each in tasks.iterdir() if (each / "comm").read_text().strip() == name[:15]]
    return sum(int((each / "schedstat").read_text().split()[0]) for each in found) / 1e9


class _Clock:
    """What a server noted, and its safepoint log."""

    def __init__(self, jvm: Target, log: Path) -> None:
        self._jvm = jvm
        self._log = log

    def now(self) -> int:
        """The number of the window."""
        self._jvm.send("now")
        return int(self._jvm.wait_for("now ").split()[1])

    def windows(self, first: int, last: int) -> list[tuple[int, int]]:
        """Requests and longest stop (ns) of each window."""
        self._jvm.send(f"windows {first} {last}")
        words = self._jvm.wait_for("windows").split()[1:]
        return [(int(count), int(stop)) for count, _, stop in (word.partition(":") for word in words)]

    def during(self, work: Callable[[], T]) -> tuple[T, Stops]:
        first, begin = self.now(), time.time()
        result = work()
        last, end = self.now(), time.time()
        stops: dict[str, float] = {}
        for line in self._log.read_text().splitlines():
            found = _STOP.match(line)
            if found and begin <= int(found[1]) / 1000 <= end:
                stops[found[2]] = max(stops.get(found[2], 0), int(found[3]) / 1e6)
        inside = max(stop for _, stop in self.windows(first, last + 1)) / 1e6
        return result, Stops(max(stops.values(), default=0), stops.get("RedefineClasses", 0), inside)


def identity_agent(scratch: Path) -> Path:
    classes = compiled([JAVA / "IdentityAgent.java"])
    jar = scratch / "identity.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr(
            "META-INF/MANIFEST.MF",
            "Manifest-Version: 1.0\nAgent-Class: IdentityAgent\nCan-Retransform-Classes: true\n\n",
        )
        for each in sorted(classes.glob("IdentityAgent*.class")):
            archive.write(each, each.name)
    return jar


def load_agent(pid: int, jar: Path, options: str) -> None:
    jcmd = javac().parent / "jcmd"
    command = [str(jcmd), str(pid), "JVMTI.agent_load", str(jar), f'"{options}"']
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 or "return code: 0" not in done.stdout:
        raise SystemExit(f"{' '.join(command)}: {done.stdout}{done.stderr}")


def server_report(found: Sequence[Attached]) -> list[str]:
    def sample(value: Callable[[Attached], float]) -> Sample:
        return Sample(tuple(map(value, found)))

    def stops(of: Callable[[Attached], Stops]) -> str:
        return " | ".join(
            str(sample(value))
            for value in (
                lambda each: of(each).redefining,
                lambda each: of(each).any,
                lambda each: of(each).inside,
            )
        )

    first = found[0]
    middle = sorted(found, key=lambda each: each.weave)[len(found) // 2]
    return [
        f"**A server under load.** WireMock with two clients in the same JVM; {first.methods:,} methods in"
        f" {first.classes:,} loaded classes get an ENTRY and a RETURN counter; {len(found)} fresh JVMs. *Identity*: the"
        f" same classes retransformed by an agent that gives back the bytes that it gets, {BATCH} a call.",
        "",
        "| | s |",
        "|---|---|",
        f"| attach until all probes are in | {sample(lambda each: each.whole)} |",
        f"| of that, retransforming | {sample(lambda each: each.weave)} |",
        f"| of that, the JVM waits for woven classes | {sample(lambda each: each.waited)} |",
        f"| identity | {sample(lambda each: each.identity)} |",
        f"| ratio of retransforming to identity | {sample(lambda each: each.weave / each.identity)} |",
        f"| leaving | {sample(lambda each: each.restore)} |",
        f"| identity, put back | {sample(lambda each: each.back)} |",
        f"| calls of `retransformClasses` | {sample(lambda each: each.batches)} |",
        "",
        "| processor time until all probes are in | s |",
        "|---|---|",
        f"| the client | {sample(lambda each: each.client_cpu)} |",
        f"| the agent's thread that searches, reads and retransforms | {sample(lambda each: each.agent_cpu)} |",
        f"| identity: the thread that retransforms | {sample(lambda each: each.identity_cpu)} |",
        "",
        "| longest stop (ms) | to redefine, by the safepoint log | any safepoint | a thread that runs every 0.2 ms |",
        "|---|---|---|---|",
        f"| nobody attaches | {stops(lambda each: each.quiet)} |",
        f"| btpy attaches | {stops(lambda each: each.stops)} |",
        f"| identity | {stops(lambda each: each.identity_stops)} |",
        f"| as btpy tells it | {sample(lambda each: each.told_stop)} | | |",
        "",
        "Requests in each 0.1 s of the JVM whose retransforming took the median time:",
        "",
        "```",
        *curve_lines(middle.curve),
        "```",
    ]


_BARS = " ▁▂▃▄▅▆▇█"


def curve_lines(curve: Sequence[tuple[str, Sequence[int]]]) -> list[str]:
    """One character a window, as high as its requests."""
    most = max((count for _, counts in curve for count in counts), default=0) or 1
    lines = []
    for phase, counts in curve:
        bars = "".join(_BARS[-(-count * (len(_BARS) - 1) // most)] for count in counts)
        average = f"{statistics.mean(counts):.0f}" if counts else "–"
        lines.append(f"{phase:<9} avg {average:>4}  {bars}")
    return [*lines, f"{'█':>9} = {most} requests in 0.1 s"]


# ---------------------------------------------------------------- narrow


@dataclass(frozen=True)
class Narrow:
    classes: int
    matched: int
    seconds: Sample


def narrow(jdk: int, effort: Effort) -> Narrow:
    jar = artifact(WIREMOCK)
    place = 'FIELD_SET(class="ClassStorm$Counting", field="defined")'
    text = f'@OnMethod(class="**", method="*", location={place}) {{ @set = count(); }}'
    program = compile_source(read_source(None, [text]))
    seconds = []
    with tempfile.TemporaryDirectory() as scratch:
        names, times = Path(scratch) / "names", Path(scratch) / "times"
        with zipfile.ZipFile(jar) as archive:
            entries = [entry for entry in archive.namelist() if entry.endswith(".class") and "META-INF" not in entry]
        names.write_text("".join(f"{entry[:-6].replace('/', '.')}\n" for entry in entries))
        classes = compiled([JAVA / "ClassStorm.java"])
        with target(jdk, "ClassStorm", str(jar), str(names), classpath=[classes]) as running:
            for _ in range(2):
                running.send(f"load {times}")
                running.wait_for("loaded ")
            for _ in range(effort.attaches):
                begin = time.monotonic()
                with Session.attach(running.pid) as session:
                    deployment = session.load(program)
                    seconds.append(time.monotonic() - begin)
                    loaded = session.target.loaded_classes
                    session.detach()
    return Narrow(loaded, deployment.classes, Sample(tuple(seconds)))


def narrow_report(found: Narrow) -> list[str]:
    return [
        f'**A narrow operation in any class.** `class="**"` with a FIELD_SET of one field, {found.classes:,} classes'
        f" loaded: {found.seconds} s from the attach until the probe is in ({found.matched} class).",
    ]


def report(parts: Sequence[str], jdk: int, effort: Effort, command: str) -> str:
    texts = []
    if "server" in parts:
        texts.append(server_report(servers(jdk, effort)))
    if "narrow" in parts:
        texts.append(narrow_report(narrow(jdk, effort)))
    head = f"{results.origin(command, java(jdk))}\n\nMedians with lower and upper quartile."
    return "\n\n".join([head, *("\n".join(lines) for lines in texts)])


PARTS = ("server", "narrow")


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--quick", action="store_true", help="fewer rounds: to see that it works, not to quote")
    options.add_argument("--jdk", type=int, choices=MAJORS, default=17)
    options.add_argument("--stdout", action="store_true", help="print the report and leave RESULTS.md alone")
    options.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; default: all")
    given = options.parse_args()
    if unknown := set(given.parts) - set(PARTS):
        options.error(f"no part {', '.join(sorted(unknown))}")
    command = " ".join(["python benchmarks/attaching.py", *sys.argv[1:]])
    text = report(given.parts or PARTS, given.jdk, QUICK if given.quick else THOROUGH, command)
    if given.stdout:
        print(text)
    else:
        results.write(TITLE, text)


if __name__ == "__main__":
    main()
