"""The cost of classes that are loaded after the probes are in: a program that only loads, and the start of a server.

    python benchmarks/loading.py [--quick] [--jdk 17] [--stdout] [storm] [named] [start]

storm   A JVM loads thousands of classes and does nothing else; a tenth of them match. It runs alone, with btpy, and
        with an agent in the JVM that only adds the same counters with ASM.
named   The same JVM alone, and with probes in any class whose methods have a name, a glob or a regular expression. Its
        classes are not on the class path, so btpy cannot weave them in advance.
start   WireMock starts and answers a request: under `btpy run`, alone, and with that agent. About a tenth of the loaded
        classes match.

Each total comes from its own JVM; the cases take turns. The benchmark writes its section of RESULTS.md.
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
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # this script runs as a file, and imports from tests/

from benchmarks import commandline, results  # noqa: E402
from benchmarks.attaching import counting, load_agent  # noqa: E402
from benchmarks.run import Sample  # noqa: E402
from btpy.cli.script import compile_source, read_source  # noqa: E402
from btpy.engine.session import Session  # noqa: E402
from btpy.lang.program import Program  # noqa: E402
from tests.jdks import compiled, java  # noqa: E402
from tests.maven import WIREMOCK, artifact  # noqa: E402
from tests.targets import Target, target  # noqa: E402

JAVA = ROOT / "benchmarks" / "java"
TITLE = "Classes that are loaded later"
ASM = "org.ow2.asm:asm:9.9"
STORM_CLASSES = r"/wiremock\.(com\.github\.jknack|org\.apache\.commons)\..*/"
STORM = 5_000
START_CLASSES = r"/wiremock\.org\.eclipse\.jetty\..*/"
PREWOVEN = 60.0  # seconds that preweaving may take


@dataclass(frozen=True)
class Effort:
    wholes: int


THOROUGH = Effort(wholes=9)
QUICK = Effort(wholes=3)


def regex(pattern: str) -> str:
    return pattern[1:-1]


def asm_agent(scratch: Path) -> Path:
    """An agent in one jar, which is on the boot class path: all loaders see its counters."""
    asm = artifact(ASM)
    jar = scratch / "counting.jar"
    with zipfile.ZipFile(jar, "w") as archive, zipfile.ZipFile(asm) as library:
        archive.writestr(
            "META-INF/MANIFEST.MF",
            "Manifest-Version: 1.0\nAgent-Class: CountingAgent\nPremain-Class: CountingAgent\n"
            "Boot-Class-Path: counting.jar\n\n",
        )
        for path in sorted(compiled([JAVA / "CountingAgent.java"], classpath=[asm]).glob("CountingAgent*.class")):
            archive.write(path, path.name)
        for entry in library.namelist():
            if entry.startswith("org/") and entry.endswith(".class"):
                archive.writestr(entry, library.read(entry))
    return jar


@dataclass(frozen=True)
class Loaded:
    """Results of several JVMs: for all classes, the seconds by the clock and of the processor in the loading thread;
    for one class, the median time of each JVM in ms.
    """

    whole: Sample
    processor: Sample
    matching: Sample
    other: Sample


@dataclass(frozen=True)
class Storms:
    classes: int
    matching: int
    bare: Loaded
    traced: Loaded
    asm: Loaded


def storm_names(scratch: Path) -> Path:
    """A file with the names of the classes of the jar to load."""
    with zipfile.ZipFile(artifact(WIREMOCK)) as archive:
        entries = [entry for entry in archive.namelist() if entry.endswith(".class") and "META-INF" not in entry]
    names = scratch / "names"
    sample = random.Random(4711).sample(sorted(entries), STORM)
    names.write_text("".join(f"{entry[:-6].replace('/', '.')}\n" for entry in sample))
    return names


def storms(jdk: int, effort: Effort) -> Storms:
    jar = artifact(WIREMOCK)
    program = counting(STORM_CLASSES)
    pattern = re.compile(regex(STORM_CLASSES))
    with tempfile.TemporaryDirectory() as scratch:
        names, times = storm_names(Path(scratch)), Path(scratch) / "times"
        agent = asm_agent(Path(scratch))
        count = match_count = 0

        @contextmanager
        def jvm() -> Iterator[Target]:
            # A separate loader loads the classes. The jar is also on the class path, where btpy looks for classes to
            # weave in advance.
            classes = compiled([JAVA / "ClassStorm.java"])
            with target(jdk, "ClassStorm", str(jar), str(names), classpath=[classes, jar]) as running:
                yield running

        def load(running: Target) -> tuple[float, float, float, float]:
            nonlocal count
            running.send(f"load {times}")
            _, class_count, nanos, processor = running.wait_for("loaded ").split()
            count = int(class_count)
            of = {True: [], False: []}  # type: dict[bool, list[float]]
            for name, took in (line.split() for line in times.read_text().splitlines()):
                of[pattern.fullmatch(name) is not None].append(int(took) / 1e6)
            return int(nanos) / 1e9, int(processor) / 1e9, statistics.median(of[True]), statistics.median(of[False])

        items: list[list[tuple[float, float, float, float]]] = [[], [], []]
        for _ in range(effort.wholes):
            with jvm() as running:
                items[0].append(load(running))
            with jvm() as running, _pending(running.pid, program) as session:
                items[1].append(load(running))
                match_count = len({site.class_name for site in session.deployer.sites.values()})
            with jvm() as running:
                load_agent(running.pid, agent, regex(STORM_CLASSES))
                items[2].append(load(running))

    def loaded(of: list[tuple[float, float, float, float]]) -> Loaded:
        return Loaded(*(Sample(values) for values in zip(*of, strict=True)))

    return Storms(count, match_count, *map(loaded, items))


@contextmanager
def _pending(pid: int, program: Program) -> Iterator[Session]:
    with Session.attach(pid) as session:
        session.deployer.load(program, missing="ignore")
        session.finish_preweaving(PREWOVEN)
        yield session
        receipt = session.departure.detach()
        if not receipt.clean:
            raise SystemExit(f"not all was put back: {receipt}")


def storm_report(runs: Storms) -> list[str]:
    def row(title: str, of: Callable[[Loaded], Sample], share: bool = False) -> str:
        bare, traced, asm = of(runs.bare), of(runs.traced), of(runs.asm)
        on_top = [
            f"{100 * (times_.median / bare.median - 1):.0f} %" if share else f"{times_.median - bare.median:.3f} ms"
            for times_ in (traced, asm)
        ]
        return f"| {title} | {bare} | {traced} | {on_top[0]} | {asm} | {on_top[1]} |"

    return [
        f"**A program that only loads.** {runs.classes:,} classes of a jar; {runs.matching:,} match and get two"
        " counters in each method. *ASM*: an agent that puts these counters in with ASM while the class is loaded, and"
        " does nothing else.",
        "",
        "| | by itself | with btpy | on top | with ASM | on top |",
        "|---|---|---|---|---|---|",
        row("all (s)", lambda cost: cost.whole, share=True),
        row("of the processor, the thread that loads (s)", lambda cost: cost.processor, share=True),
        row("a class that matches (ms)", lambda cost: cost.matching),
        row("a class that does not (ms)", lambda cost: cost.other),
    ]


def named(jdk: int, effort: Effort) -> dict[str, Sample]:
    """Seconds until all classes are loaded, by the probe; empty: without btpy."""
    probes = ("", "**::removeEldestEntry", "**::removeEldest*", "**::/removeEldest.*/")
    seconds: dict[str, list[float]] = {probe: [] for probe in probes}
    with tempfile.TemporaryDirectory() as scratch:
        names, classes = storm_names(Path(scratch)), compiled([JAVA / "ClassStorm.java"])

        def load(running: Target) -> float:
            running.send(f"load {Path(scratch) / 'times'}")
            return int(running.wait_for("loaded ").split()[2]) / 1e9

        for _ in range(effort.wholes):
            for probe, of_probe in seconds.items():
                with target(jdk, "ClassStorm", str(artifact(WIREMOCK)), str(names), classpath=[classes]) as running:
                    if probe:
                        program = compile_source(read_source(None, [f"{probe} {{ @n = count(); }}"]))
                        with _pending(running.pid, program):
                            of_probe.append(load(running))
                    else:
                        of_probe.append(load(running))
    return {probe: Sample(tuple(of_probe)) for probe, of_probe in seconds.items()}


def named_report(seconds: dict[str, Sample]) -> list[str]:
    bare = seconds[""]
    rows = [
        f"| {f'`{probe}`' if probe else 'none'} | {of_probe} | {of_probe.median / bare.median:.1f} |"
        for probe, of_probe in seconds.items()
    ]
    return [
        f"**A probe in any class.** The program loads {STORM:,} classes that btpy cannot weave in advance.",
        "",
        "| probe | all (s) | of the time without a probe |",
        "|---|---|---|",
        *rows,
    ]


@dataclass(frozen=True)
class Start:
    """Seconds until the server has answered a request. Three figures begin at main: by the clock, of the processor in
    the main thread, and of the processor in all threads. ``outside`` begins at the command.
    """

    inside: Sample
    main: Sample
    processor: Sample
    outside: Sample


@dataclass(frozen=True)
class Starts:
    classes: int
    matching: int
    bare: Start
    traced: Start
    asm: Start


def starts(jdk: int, effort: Effort) -> Starts:
    jar = artifact(WIREMOCK)
    classes = compiled([JAVA / "Starting.java"], classpath=[jar])
    program = ["-cp", os.pathsep.join(map(str, (classes, jar))), "Starting"]
    script = "".join(
        f'@OnMethod(class="{START_CLASSES}", location={place}, max=100000) {{ @{place.lower()} = count(); }}\n'
        for place in ("ENTRY", "RETURN")
    )
    with tempfile.TemporaryDirectory() as scratch:
        agent = asm_agent(Path(scratch))
        commands = [
            [str(java(jdk)), *program],
            [sys.executable, "-m", "btpy", "run", "-e", script, "--", str(java(jdk)), *program],
            [str(java(jdk)), f"-javaagent:{agent}={regex(START_CLASSES)}", *program],
        ]
        items: list[list[tuple[float, ...]]] = [[] for _ in commands]
        class_count = 0
        for _ in range(effort.wholes):
            for command, times in zip(commands, items, strict=True):
                *seconds, count = _started(command)
                times.append(tuple(seconds))
                class_count = int(count) if command is commands[0] else class_count
        listing = Path(scratch) / "loaded"
        _started([commands[0][0], f"-Xlog:class+load:file={listing}", *program])
        pattern = re.compile(rf"\] ({regex(START_CLASSES)}) source:")
        match_count = len(pattern.findall(listing.read_text()))

    def start(times: list[tuple[float, ...]]) -> Start:
        return Start(*(Sample(values) for values in zip(*times, strict=True)))

    return Starts(class_count, match_count, *map(start, items))


def _started(command: Sequence[str]) -> tuple[float, ...]:
    """The figures of a :class:`Start`, and the number of classes that are loaded at the end."""
    begin = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("started "):
                seconds = time.monotonic() - begin
                _, *nanos, classes = line.split()
                process.communicate()
                return *(int(nano) / 1e9 for nano in nanos), seconds, int(classes)
        raise SystemExit(f"{command[0]} has not started: {process.communicate()[1]}")


def start_report(runs: Starts) -> list[str]:
    def row(title: str, of: Callable[[Start], Sample]) -> str:
        bare, traced, asm = of(runs.bare), of(runs.traced), of(runs.asm)
        on_top = [f"{100 * (tool.median / bare.median - 1):.0f} %" for tool in (traced, asm)]
        return f"| {title} | {bare} | {traced} | {on_top[0]} | {asm} | {on_top[1]} |"

    return [
        f"**A server that starts.** WireMock runs until it has answered a request; {runs.classes:,} classes are"
        f" loaded, of which {runs.matching:,} match. Under `btpy run` main begins when the probes are in and what can"
        " be prewoven is woven.",
        "",
        "| s | by itself | with btpy | on top | with ASM | on top |",
        "|---|---|---|---|---|---|",
        row("from main", lambda cost: cost.inside),
        row("from main, of the processor, its thread", lambda cost: cost.main),
        row("from main, of the processor, all threads", lambda cost: cost.processor),
        row("from the command", lambda cost: cost.outside),
    ]


def report(parts: Sequence[str], jdk: int, effort: Effort, command: str) -> str:
    texts = []
    if "storm" in parts:
        texts.append(storm_report(storms(jdk, effort)))
    if "named" in parts:
        texts.append(named_report(named(jdk, effort)))
    if "start" in parts:
        texts.append(start_report(starts(jdk, effort)))
    head = f"{results.origin(command, java(jdk))}\n\nMedians with lower and upper quartile."
    return "\n\n".join([head, *("\n".join(lines) for lines in texts)])


PARTS = ("storm", "named", "start")


def main() -> None:
    options = commandline.options(__doc__)
    commandline.add_parts(options, PARTS)
    arguments = options.parse_args()
    text = report(arguments.parts, arguments.jdk, QUICK if arguments.quick else THOROUGH, commandline.repeated())
    results.publish(TITLE, text, stdout=arguments.stdout)


if __name__ == "__main__":
    main()
