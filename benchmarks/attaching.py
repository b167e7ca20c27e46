"""The cost of large attaches: ten thousand methods of a server under load, and a narrow probe for many classes.

    python benchmarks/attaching.py [--quick] [--jdk 17] [--stdout] [--compiled] [server] [calm] [narrow] [client]

server  WireMock answers requests; ten thousand methods of its loaded classes get two counters each, and are put back.
        In the same JVM, a test agent retransforms the same classes in three ways. It leaves them unchanged, which is
        the JVM's own part of the time; it uses bytes that were woven before; and it weaves two counters with ASM, like
        tracers that weave in the JVM. The order changes from JVM to JVM.
calm    The same with fewer requests, which leave the machine most of its time.
narrow  `**` with a narrow operation, on a JVM with twenty thousand classes.
client  The part of btpy's processor time for the ten thousand methods that a cache of class files' contents could save.

With ``--compiled``, the benchmark measures the wheel that `make compiled` has made before.

A ratio compares figures of one run. The benchmark writes its section of RESULTS.md.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import btpy  # noqa: F401  # the one of PYTHONPATH, before ROOT hides it

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # this script runs as a file, and imports from tests/

from benchmarks import commandline, results, wheel  # noqa: E402
from benchmarks.run import Sample  # noqa: E402
from benchmarks.weaving import ASM  # noqa: E402
from btpy import distribution  # noqa: E402
from btpy.classfile.reader import ClassFile  # noqa: E402
from btpy.cli.script import compile_source, read_source  # noqa: E402
from btpy.engine.deployer import Deployment  # noqa: E402
from btpy.engine.session import Session  # noqa: E402
from btpy.engine.target import Limits  # noqa: E402
from btpy.lang.program import Program  # noqa: E402
from btpy.plan.planner import PlannedClass, Planner  # noqa: E402
from tests.jdks import compiled, java, javac  # noqa: E402
from tests.maven import WIREMOCK, artifact  # noqa: E402
from tests.targets import Target, target  # noqa: E402

JAVA = ROOT / "benchmarks" / "java"
TITLE = "Attaching to much"
SERVER_CLASSES = r"/(wiremock|com\.github\.tomakehurst)\..*/"
SERVER_METHODS = "/<init>|[a-f].*|is.*/"  # about ten thousand
BATCH = 128  # the number of classes in each call of the other agents
BUSY, CALM = 2, 40
"""Milliseconds between an answer and the next request of a client."""
_STOP = re.compile(r'^\[(\d+)ms\] Safepoint "(\w+)".* Total: +(\d+) ns$')


T = TypeVar("T")


@dataclass(frozen=True)
class Effort:
    servers: int
    warmup: float  # seconds
    watched: float  # seconds of measuring before, while and after the probes are in
    attaches: int


THOROUGH = Effort(servers=8, warmup=25, watched=4, attaches=9)
QUICK = Effort(servers=4, warmup=10, watched=2, attaches=3)


def counting(classes: str, methods: str = "*") -> Program:
    """Counts entries and returns."""
    places = f'class="{classes}", method="{methods}", max=100000'
    text = f"@OnMethod({places}, location=ENTRY) {{ @entered = count(); }}"
    text += f"@OnMethod({places}, location=RETURN) {{ @returned = count(); }}"
    return compile_source(read_source(None, [text]))


@dataclass(frozen=True)
class Stops:
    """The longest stops, in ms: for any cause and for redefining (in the safepoint log), and seen inside the JVM."""

    any: float
    redefining: float
    inside: float


NO_STOPS = Stops(0, 0, 0)


@dataclass(frozen=True)
class Retransformed:
    """The times of one of the compared tools, in seconds. ``whole``: the time from its start until all probes are in;
    ``calls``: the part in ``retransformClasses``; ``back``: until all classes are put back. Processor time until all
    probes are in:
    ``cpu`` of the thread in the target, ``client_cpu`` of the client, if there is one."""

    whole: float
    calls: float
    back: float
    cpu: float
    client_cpu: float
    stops: Stops


@dataclass(frozen=True)
class Attached:
    """One JVM. ``waited``: the seconds that btpy's calls waited for woven classes; ``told_stop``: the longest stop that
    btpy reports, in ms;
    ``quiet`` and ``cores``: the longest stop and the used cores without an attach; ``curve``: requests by window, in
    phases."""

    classes: int
    methods: int
    batches: int
    waited: float
    told_stop: float
    quiet: Stops
    cores: float
    by: dict[str, Retransformed]
    curve: tuple[tuple[str, tuple[int, ...]], ...]


BTPY = "btpy"
MODES = {"identity": "identity", "ready": "woven before", "asm": "ASM in the JVM"}
"""The modes of RetransformingAgent, with their names in the report."""


@dataclass(frozen=True)
class Reference:
    """RetransformingAgent and its files."""

    jar: Path
    methods: Path
    woven: Path
    outcome: Path

    @staticmethod
    def made(scratch: Path) -> Reference:
        libraries = [artifact(jar) for jar in ASM]
        classes = compiled([JAVA / "RetransformingAgent.java"], classpath=libraries)
        result = Reference(*(scratch / name for name in ("retransforming.jar", "methods", "woven", "outcome")))
        with zipfile.ZipFile(result.jar, "w") as archive:
            head = "Manifest-Version: 1.0\nAgent-Class: RetransformingAgent\nCan-Retransform-Classes: true\n\n"
            archive.writestr("META-INF/MANIFEST.MF", head)
            for path in sorted(classes.glob("*.class")):
                archive.write(path, path.name)
            for library in libraries:
                with zipfile.ZipFile(library) as contents:
                    for entry in contents.namelist():
                        if entry.startswith("org/") and entry.endswith(".class"):
                            archive.writestr(entry, contents.read(entry))
        return result

    @property
    def classes(self) -> int:
        return len({line.split()[0] for line in self.methods.read_text().splitlines()})

    def run(self, pid: int, mode: str) -> tuple[int, Retransformed]:
        """Returns the number of classes; the stops are not known yet."""
        files = f"{self.methods} {self.woven} {self.outcome}"
        load_agent(pid, self.jar, f"{mode} {files} {BATCH}")
        classes, *nanos = map(int, self.outcome.read_text().split())
        total, calls, _, cpu, back = (nano / 1e9 for nano in nanos)
        return classes, Retransformed(total, calls, back, cpu, 0, NO_STOPS)


def servers(jdk: int, effort: Effort, rest: int) -> list[Attached]:
    """``rest``: the pause of a client between two requests, ms."""
    program = counting(SERVER_CLASSES, SERVER_METHODS)
    with tempfile.TemporaryDirectory() as scratch:
        reference = Reference.made(Path(scratch))
        with _server(jdk, Path(scratch) / "stops", effort, rest) as jvm:
            with Session.attach(jvm.pid) as session:
                plans = [
                    class_.planned for class_ in session.deployer.match(program).classes if class_.planned is not None
                ]
                methods = [
                    f"{class_.class_name} {method.name}{method.descriptor}\n"
                    for class_ in plans
                    for method in class_.methods
                ]
                reference.methods.write_text("".join(methods))
            reference.run(jvm.pid, "asm")  # makes the agent write its woven classes, which the mode "ready" uses
        return [_attach(jdk, program, effort, Path(scratch), reference, turn, rest) for turn in range(effort.servers)]


@contextmanager
def _server(jdk: int, log: Path, effort: Effort, rest: int) -> Iterator[Target]:
    jar = artifact(WIREMOCK)
    classes = compiled([JAVA / "AttachingServer.java"], classpath=[jar])
    flags = [f"-Xlog:safepoint=info:file={log}:tm"]
    with target(jdk, "AttachingServer", "2", f"{rest}000000", classpath=[classes, jar], flags=flags) as jvm:
        time.sleep(effort.warmup)
        yield jvm


def _attach(
    jdk: int, program: Program, effort: Effort, scratch: Path, reference: Reference, turn: int, rest: int
) -> Attached:
    log = scratch / f"stops{turn}"
    with _server(jdk, log, effort, rest) as jvm:
        clock = _Clock(jvm, log)
        begin = time.monotonic(), _process_cpu(jvm.pid)
        quiet = clock.during(lambda: time.sleep(effort.watched))[1]
        cores = (_process_cpu(jvm.pid) - begin[1]) / (time.monotonic() - begin[0])
        by: dict[str, Retransformed] = {}
        items: list[tuple[Deployment, tuple[tuple[str, tuple[int, ...]], ...]]] = []
        counts: dict[str, int] = {}

        def compare(who: str) -> None:
            if who == BTPY:
                deployment, by[who], curve = _attach_btpy(jvm, program, effort, clock)
                items.append((deployment, curve))
            else:
                (counts[who], result), stops = clock.during(lambda: reference.run(jvm.pid, who))
                by[who] = replace(result, stops=stops)
                time.sleep(effort.watched)

        order = (BTPY, *MODES)
        first = turn % len(order)
        for who in (*order[first:], *order[:first]):
            compare(who)
        ((deployment, curve),) = items
        if any(count < 0.97 * reference.classes for count in counts.values()):
            raise SystemExit(f"of {reference.classes} classes the agents found {counts}")
    return Attached(
        classes=deployment.classes,
        methods=deployment.methods,
        batches=deployment.batches,
        waited=deployment.waited_ns / 1e9,
        told_stop=deployment.longest_pause_ns / 1e6,
        quiet=quiet,
        cores=cores,
        by=by,
        curve=curve,
    )


def _attach_btpy(
    jvm: Target, program: Program, effort: Effort, clock: _Clock
) -> tuple[Deployment, Retransformed, tuple[tuple[str, tuple[int, ...]], ...]]:
    """Returns the requests by window, too."""
    marks = [clock.now()]
    time.sleep(effort.watched)
    marks.append(clock.now())
    begin = time.monotonic(), time.process_time()
    with Session.attach(jvm.pid, Limits()) as session:
        (deployment, end), stops = clock.during(
            lambda: (session.deployer.load(program), (time.monotonic(), time.process_time()))
        )
        total, client_cpu = (after - before for before, after in zip(begin, end, strict=True))
        agent_cpu = thread_cpu(jvm.pid, "btpy-commands")
        marks.append(clock.now())
        time.sleep(effort.watched)
        marks.append(clock.now())
        leaving = time.monotonic()
        receipt = session.departure.detach()
        back = time.monotonic() - leaving
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
    return deployment, Retransformed(total, deployment.weave_ns / 1e9, back, agent_cpu, client_cpu, stops), curve


def _process_cpu(pid: int) -> float:
    """Processor time of all threads, in s."""
    return sum(int((task / "schedstat").read_text().split()[0]) for task in Path(f"/proc/{pid}/task").iterdir()) / 1e9


def thread_cpu(pid: int, name: str) -> float:
    """Processor time of the threads of that name, in s."""
    tasks = Path(f"/proc/{pid}/task")
    items = [task for task in tasks.iterdir() if (task / "comm").read_text().strip() == name[:15]]
    return sum(int((task / "schedstat").read_text().split()[0]) for task in items) / 1e9


def window_now(jvm: Target) -> int:
    """The number of the window that an AttachingServer is in."""
    jvm.send("now")
    return int(jvm.wait_for("now ").split()[1])


def windows(jvm: Target, first: int, last: int) -> list[tuple[int, int]]:
    """Requests and longest stop (ns) of each of its windows of 0.1 s."""
    jvm.send(f"windows {first} {last}")
    words = jvm.wait_for("windows").split()[1:]
    return [(int(count), int(stop)) for count, _, stop in (word.partition(":") for word in words)]


class _Clock:
    """The counts of a server, and its safepoint log."""

    def __init__(self, jvm: Target, log: Path) -> None:
        self._jvm = jvm
        self._log = log

    def now(self) -> int:
        """The number of the window."""
        return window_now(self._jvm)

    def windows(self, first: int, last: int) -> list[tuple[int, int]]:
        """Requests and longest stop (ns) of each window."""
        return windows(self._jvm, first, last)

    def during(self, work: Callable[[], T]) -> tuple[T, Stops]:
        first, begin = self.now(), time.time()
        result = work()
        last, end = self.now(), time.time()
        stops: dict[str, float] = {}
        for line in self._log.read_text().splitlines():
            match = _STOP.match(line)
            if match and begin <= int(match[1]) / 1000 <= end:
                stops[match[2]] = max(stops.get(match[2], 0), int(match[3]) / 1e6)
        inside = max(stop for _, stop in self.windows(first, last + 1)) / 1e6
        return result, Stops(max(stops.values(), default=0), stops.get("RedefineClasses", 0), inside)


def load_agent(pid: int, jar: Path, options: str) -> None:
    jcmd = javac().parent / "jcmd"
    command = [str(jcmd), str(pid), "JVMTI.agent_load", str(jar), f'"{options}"']
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0 or "return code: 0" not in result.stdout:
        raise SystemExit(f"{' '.join(command)}: {result.stdout}{result.stderr}")


def server_report(title: str, rounds: Sequence[Attached]) -> list[str]:
    first = rounds[0]
    tracer = {BTPY: BTPY, **MODES}
    middle = sorted(rounds, key=lambda round_: round_.by[BTPY].calls)[len(rounds) // 2]

    def sample(value: Callable[[Attached], float]) -> Sample:
        return Sample(tuple(map(value, rounds)))

    def row(
        title: str, value: Callable[[Retransformed], float], beside: Callable[[Retransformed], float] | None = None
    ) -> str:
        """``beside``: the figure of identity in the same JVM; the cell shows the ratio to it."""

        def of(name: str) -> Sample:
            return sample(
                lambda round_: value(round_.by[name]) / (beside(round_.by["identity"]) if beside is not None else 1)
            )

        return f"| {title} | {' | '.join(str(of(name)) for name in tracer)} |"

    return [
        f"**{title}.** WireMock with two clients in the same JVM, which takes {sample(lambda run: run.cores)} cores;"
        f" {first.methods:,} methods in"
        f" {first.classes:,} loaded classes get two counters each. {len(rounds)} fresh JVMs measure all four columns in"
        f" turn. A test agent retransforms the same classes for the other three columns, {BATCH} classes a call:"
        " *identity* gives back the bytes that it gets, *woven before* the bytes that ASM wove in another JVM, and *ASM"
        " in the JVM* weaves in this JVM. *Until all is in* includes the attach for btpy; for the other columns it"
        " starts with the first line of the agent.",
        "",
        f"| | {' | '.join(tracer.values())} |",
        "|---" * (len(tracer) + 1) + "|",
        row("until all is in, s", lambda tool: tool.whole),
        row("of that, retransforming, s", lambda tool: tool.calls),
        row("until all is in, of identity's retransforming", lambda tool: tool.whole, lambda tool: tool.calls),
        row("retransforming, of identity's", lambda tool: tool.calls, lambda tool: tool.calls),
        row("putting back, s", lambda tool: tool.back),
        row("processor time of the thread in the JVM, s", lambda tool: tool.cpu),
        row("processor time of the client, s", lambda tool: tool.client_cpu),
        row("longest stop to redefine, by the safepoint log, ms", lambda tool: tool.stops.redefining),
        row("longest stop of any kind, ms", lambda tool: tool.stops.any),
        row("longest stop of a thread that runs every 0.2 ms", lambda tool: tool.stops.inside),
        "",
        f"Without an attach the longest stop is {sample(lambda run: run.quiet.any)} ms in the safepoint log,"
        f" and {sample(lambda run: run.quiet.inside)} ms as a thread of the JVM sees it. btpy makes"
        f" {sample(lambda run: run.batches)} calls, waits in"
        f" them for woven classes for {sample(lambda run: run.waited)} s, and reports a longest stop of"
        f" {sample(lambda run: run.told_stop)} ms.",
        "",
        "Requests in each 0.1 s of the JVM whose retransforming took the median time:",
        "",
        "```",
        *curve_lines(middle.curve),
        "```",
    ]


_BARS = " ▁▂▃▄▅▆▇█"


def curve_lines(curve: Sequence[tuple[str, Sequence[int]]], window: float = 0.1) -> list[str]:
    """One character for each ``window`` in seconds, whose height shows the requests."""
    most = max((count for _, counts in curve for count in counts), default=0) or 1
    lines = []
    for phase, counts in curve:
        bars = "".join(_BARS[-(-count * (len(_BARS) - 1) // most)] for count in counts)
        average = f"{statistics.mean(counts):.0f}" if counts else "–"
        lines.append(f"{phase:<9} avg {average:>4}  {bars}")
    return [*lines, f"{'█':>9} = {most} requests in {window} s"]


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
                    deployment = session.deployer.load(program)
                    seconds.append(time.monotonic() - begin)
                    class_count = session.target.loaded_classes
                    session.departure.detach()
    return Narrow(class_count, deployment.classes, Sample(tuple(seconds)))


def narrow_report(result: Narrow) -> list[str]:
    return [
        f'**A narrow operation in any class.** `class="**"` with a FIELD_SET of one field, {result.classes:,} classes'
        f" loaded: {result.seconds} s from the attach until the probe is in ({result.matched} class).",
    ]


@dataclass(frozen=True)
class Client:
    """The processor time of btpy, in seconds. ``whole``: the attach; ``reading`` and ``planning``: the parts in which
    class files are read, and methods chosen. ``vain``: both, for the classes in which nothing is woven."""

    classes: int
    in_vain: int
    whole: Sample
    reading: Sample
    planning: Sample
    vain: Sample


def client(jdk: int, effort: Effort) -> Client:
    program = counting(SERVER_CLASSES, SERVER_METHODS)
    planner = Planner(program)

    def read(contents: Sequence[bytes]) -> list[ClassFile]:
        return [ClassFile.parse(content) for content in contents]

    def plan(files: Sequence[ClassFile]) -> list[PlannedClass]:
        return [planner.plan_class(file, in_jdk=False, ancestors=frozenset()) for file in files]

    def read_and_plan(contents: Sequence[bytes]) -> list[PlannedClass]:
        return plan(read(contents))

    with tempfile.TemporaryDirectory() as scratch, _server(jdk, Path(scratch) / "stops", effort, CALM) as jvm:
        whole, reading, planning, vain = [], [], [], []
        for _ in range(effort.attaches):
            with Session.attach(jvm.pid) as session:
                seconds, _ = _processor_time(partial(session.deployer.load, program))
                whole.append(seconds)
                session.departure.detach()
            with Session.attach(jvm.pid) as session:
                matches = session.deployer.match(program).classes
            contents = [class_.file.data for class_ in matches if class_.file is not None]
            seconds, files = _processor_time(partial(read, contents))
            reading.append(seconds)
            seconds, plans = _processor_time(partial(plan, files))
            planning.append(seconds)
            unused = [file.data for file, planned in zip(files, plans, strict=True) if not planned.methods]
            seconds, _ = _processor_time(partial(read_and_plan, unused))
            vain.append(seconds)
        return Client(len(contents), len(unused), *(Sample(tuple(parts)) for parts in (whole, reading, planning, vain)))


def _processor_time(work: Callable[[], T]) -> tuple[float, T]:
    begin = time.process_time()
    result = work()
    return time.process_time() - begin, result


def client_report(result: Client) -> list[str]:
    return [
        f"**The processor time of btpy.** An attach to the ten thousand methods takes {result.whole} s. Of that,"
        f" {result.reading} s are for reading {result.classes:,} class files, and {result.planning} s for choosing"
        f" their methods. In {result.in_vain:,} of the classes nothing is woven: reading and planning take"
        f" {result.vain} s for these. A cache of what class files contain could save this last part, because a class"
        " must be read to be woven."
    ]


def report(parts: Sequence[str], jdk: int, effort: Effort, command: str) -> str:
    texts = []
    if "server" in parts:
        texts.append(server_report("A server under load", servers(jdk, effort, BUSY)))
    if "calm" in parts:
        texts.append(server_report("A server with little to do", servers(jdk, effort, CALM)))
    if "narrow" in parts:
        texts.append(narrow_report(narrow(jdk, effort)))
    if "client" in parts:
        texts.append(client_report(client(jdk, effort)))
    head = f"{results.origin(command, java(jdk))}\n\nMedians with lower and upper quartile."
    return "\n\n".join([head, *("\n".join(lines) for lines in texts)])


PARTS = ("server", "calm", "narrow", "client")


def main() -> None:
    options = commandline.options(__doc__)
    options.add_argument("--compiled", action="store_true", help="measure the wheel of `make compiled`")
    commandline.add_parts(options, PARTS)
    arguments = options.parse_args()
    if arguments.compiled and distribution.build() != "compiled":
        raise SystemExit(_run_compiled())
    text = report(arguments.parts, arguments.jdk, QUICK if arguments.quick else THOROUGH, commandline.repeated())
    results.publish(f"{TITLE}, compiled" if arguments.compiled else TITLE, text, stdout=arguments.stdout)


def _run_compiled() -> int:
    """Runs this benchmark again, with the compiled wheel."""
    with tempfile.TemporaryDirectory() as scratch:
        directory = wheel.unpacked(Path(scratch))
        if directory is None:
            raise SystemExit("there is no wheel for this Python: run `make compiled` first")
        environment = {**os.environ, "PYTHONPATH": str(directory)}
        return subprocess.run([sys.executable, *sys.argv], env=environment).returncode


if __name__ == "__main__":
    main()
