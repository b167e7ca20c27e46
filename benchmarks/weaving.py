"""The speed of btpy in reading and weaving class files, compared with ASM and java.lang.classfile. For RESULTS.md.

    python benchmarks/weaving.py [--quick] [--stdout] [--compiled] [members] [instructions] [called] [timed]

All tools weave the same advice into the same classes, chosen at random from java.base of JDK 17 and a server's jar.
Each measured program is a new process, and only one runs at a time. The benchmark measures the time of each program
from its start to its end, and the time of its pass over the classes. btpy weaves in one process, and in as many as
there are cores, as `btpy weave` does. btpy that mypyc has compiled is also measured, if `make compiled` has made that
wheel before. ASM also keeps running, to show its speed when it is warm. The benchmark needs Maven. It leaves out
java.lang.classfile if there is no compiler of JDK 24 or later. With ``--compiled`` it measures only btpy, btpy that
mypyc has compiled, and ASM.
"""

from __future__ import annotations

import compileall
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # this script runs as a file, and imports from tests/

from benchmarks import commandline, results, wheel  # noqa: E402
from btpy import parallel  # noqa: E402
from btpy.classfile import jimage  # noqa: E402
from btpy.classfile.reader import ClassFile  # noqa: E402
from tests import maven  # noqa: E402
from tests.jdks import compiled, java, java_home, javac  # noqa: E402

TITLE = "Weaving, beside ASM and java.lang.classfile"
JAVA = ROOT / "benchmarks" / "java" / "weaving"
ASM = ("org.ow2.asm:asm:9.9", "org.ow2.asm:asm-commons:9.9", "org.ow2.asm:asm-tree:9.9")
_SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
BTPY = "btpy"
COMPILED_BTPY = "btpy, compiled"
PLAIN_ASM = "ASM"

TASKS = {
    "members": "read: names of classes and members",
    "instructions": "read: every instruction",
    "called": "weave: a call at entry and return",
    "timed": "weave: argument at entry, duration and result at return",
}


@dataclass(frozen=True)
class Effort:
    """``passes``: the number of passes of warm ASM; the last ones count."""

    sizes: tuple[int, ...]
    processes: int
    passes: int


THOROUGH = Effort((20, 200, 2_000, 10_000), 7, 30)
QUICK = Effort((20, 200), 3, 5)


@dataclass(frozen=True)
class Contender:
    """``suffix``: the end of the names of the tool's weaving tasks. ``reads``: whether the tool is also measured in
    reading.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    suffix: str = ""
    reads: bool = True


@dataclass(frozen=True)
class Run:
    """One process: its ``seconds`` and CPU seconds from start to end, and the seconds of its last pass.

    ``found``: methods, and sites or instructions, of a pass.
    """

    seconds: float
    cpu: float
    inside: float
    found: tuple[int, int]


def run(contender: Contender, corpus: Path, task: str, passes: int = 1) -> Run:
    weaving = task not in ("members", "instructions")
    command = [*contender.command, str(corpus), str(passes), task + (contender.suffix if weaving else "")]
    before = os.times()
    begin = time.monotonic()
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **contender.environment})
    seconds = time.monotonic() - begin
    after = os.times()
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{result.stderr}")
    rounds = [list(map(int, line.split()[1:])) for line in result.stdout.splitlines() if line.startswith("round ")]
    last = rounds[passes // 2 :]
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    inside = statistics.median(run_[0] for run_ in last) / 1e9
    return Run(seconds, cpu, inside, (last[0][1], last[0][2]))


def contenders(server: Path, scratch: Path) -> Iterator[Contender]:
    """``server`` is on the class path, because tools that compute frames ask for superclasses."""
    compileall.compile_dir(ROOT / "btpy", quiet=2)  # an installed package has compiled modules, too
    program = (sys.executable, str(ROOT / "benchmarks" / "weaving_program.py"))
    yield Contender(BTPY, (*program, "1"), {"PYTHONPATH": str(ROOT)})
    compiled_btpy = wheel.unpacked(scratch)
    if compiled_btpy is not None:
        yield Contender(COMPILED_BTPY, (*program, "1"), {"PYTHONPATH": str(compiled_btpy)})
    cores = parallel.cores()
    if cores > 1:
        yield Contender(f"btpy, {cores} processes", (*program, str(cores)), {"PYTHONPATH": str(ROOT)}, reads=False)
    jars = [maven.artifact(coordinates) for coordinates in ASM]
    classes = compiled([JAVA / "Corpus.java", JAVA / "WithAsm.java"], classpath=jars)
    path = os.pathsep.join(map(str, (classes, *jars, server)))
    yield Contender(PLAIN_ASM, (str(java(17)), "-cp", path, "WithAsm"), {})
    yield Contender("ASM, C1 and serial GC", (str(java(17)), *_SHORT_LIVED, "-cp", path, "WithAsm"), {})
    yield Contender("ASM, COMPUTE_FRAMES", (str(java(17)), "-cp", path, "WithAsm"), {}, "-computed", False)
    compiler = new_compiler()
    if compiler is not None:
        out = scratch / "classes"
        subprocess.run([compiler, "-d", out, JAVA / "Corpus.java", JAVA / "WithClassFile.java"], check=True)
        path = os.pathsep.join(map(str, (out, server)))
        yield Contender("java.lang.classfile", (str(java(25)), "-cp", path, "WithClassFile"), {})


def new_compiler() -> Path | None:
    """A compiler that knows java.lang.classfile: the compiler of the tests, or any compiler below /usr/lib/jvm."""
    for path in (javac(), *sorted(Path("/usr/lib/jvm").glob("*/bin/javac"))):
        version_text = subprocess.run([path, "-version"], capture_output=True, text=True).stdout
        if int(version_text.split()[-1].partition(".")[0]) >= 24:
            return path
    return None


def all_classes(server: Path) -> list[bytes]:
    """All classes, shuffled with a fixed seed."""
    items = {}
    for module, name, read in jimage.classes(java_home(17) / "lib" / "modules"):
        if module == "java.base":
            items[name] = read()
    with zipfile.ZipFile(server) as jar:
        for entry in jar.namelist():
            if entry.endswith(".class") and not entry.startswith("META-INF/"):
                items[entry.removesuffix(".class")] = jar.read(entry)
    del items["java/lang/Object"]  # its constructor calls no other one, which adapters of ASM do not expect
    classes = [
        items[name] for name in sorted(items) if any(method.code for method in ClassFile.parse(items[name]).methods)
    ]
    random.Random(1).shuffle(classes)
    return classes


def measure(effort: Effort, tasks: Sequence[str], names: Sequence[str] | None, scratch: Path) -> str:
    """``names``: the tools that take part; None: all."""
    server = maven.artifact(maven.WIREMOCK)
    classes = all_classes(server)
    corpora = {}
    for size in effort.sizes:
        corpora[size] = scratch / str(size)
        corpora[size].write_bytes(b"".join(len(class_).to_bytes(4) + class_ for class_ in classes[:size]))
    field = [weaver for weaver in contenders(server, scratch) if names is None or weaver.name in names]
    lines = []
    for task in tasks:
        taking_part = [weaver for weaver in field if weaver.reads or task in ("called", "timed")]
        runs: dict[tuple[str, int], list[Run]] = {(weaver.name, size): [] for size in corpora for weaver in taking_part}
        for weaver in taking_part:
            run(weaver, corpora[min(corpora)], task)  # not measured: this run is the first to read the files
        for size, corpus in corpora.items():
            for _ in range(effort.processes):
                for weaver in taking_part:
                    runs[weaver.name, size].append(run(weaver, corpus, task))
            check(task, [runs[weaver.name, size][0] for weaver in taking_part])
        warm_size = min(2_000, max(effort.sizes))
        asm = next(weaver for weaver in field if weaver.name == PLAIN_ASM)
        warm = run(asm, corpora[warm_size], task, effort.passes)
        lines += table(task, TASKS[task], effort, taking_part, runs, warm_size, warm)
    return "\n".join(lines)


def check(task: str, runs: Sequence[Run]) -> None:
    """Checks that the tools do the same work, because a tool that does less would look fast. Small differences are
    allowed: btpy refuses some methods, such as an empty ``finalize()``.
    """
    first = runs[0].found
    for other in runs[1:]:
        if abs(first[0] - other.found[0]) > 0 or abs(first[1] - other.found[1]) > 1 + first[1] // 1000:
            raise SystemExit(f"{task}: one did {first}, another {other.found}")


def table(
    task: str,
    meaning: str,
    effort: Effort,
    taking_part: Sequence[Contender],
    runs: Mapping[tuple[str, int], Sequence[Run]],
    warm_size: int,
    warm: Run,
) -> list[str]:
    lines = [f"**{meaning}**", "", "| | " + " | ".join(f"{size:,} classes" for size in effort.sizes) + " |"]
    lines.append("|---" * (len(effort.sizes) + 1) + "|")
    for weaver in taking_part:
        cells = []
        for size in effort.sizes:
            mine = runs[weaver.name, size]
            seconds = statistics.median(run.seconds for run in mine)
            ratio = seconds / statistics.median(run.seconds for run in runs[BTPY, size])
            inside = statistics.median(run.inside / run.found[0] for run in mine)
            cpu = statistics.median(run.cpu for run in mine)
            times = "" if weaver.name == BTPY else f"**{ratio:.2f}×** · "
            cells.append(f"{times}{seconds:.3f} s · {cpu:.3f} s CPU · {1e6 * inside:.1f} µs")
        lines.append(f"| {weaver.name} | {' | '.join(cells)} |")
    mine_inside = statistics.median(run.inside for run in runs[BTPY, warm_size])
    lines += [
        "",
        f"Warm ASM takes {1e6 * warm.inside / warm.found[0]:.1f} µs for each method and is"
        f" {mine_inside / warm.inside:.1f} times as fast as the first pass of btpy. This is the median of the later"
        f" half of {effort.passes} passes over {warm_size:,} classes in one process.",
        "",
    ]
    return lines


def report(effort: Effort, tasks: Sequence[str], names: Sequence[str] | None, command: str) -> str:
    scratch = Path(tempfile.mkdtemp(prefix="btpy-weaving-"))
    try:
        text = measure(effort, tasks, names, scratch)
    finally:
        shutil.rmtree(scratch)
    return "\n".join(
        [
            results.origin(command),
            "",
            "Medians of new processes, from start to end: seconds, CPU seconds of all threads and processes, and"
            " the µs of the pass over the classes for each method with code. In front: the seconds of the other tool"
            " divided by the seconds of btpy in one process; above 1, btpy is faster. *ASM* edits and keeps frames"
            " (`AdviceAdapter`, `EXPAND_FRAMES`), as btpy does;"
            " *C1 and serial GC* are the flags of a JVM that is to live for a second. java.lang.classfile computes"
            " frames.",
            "",
            text,
        ]
    )


def main() -> None:
    options = commandline.options(__doc__, jdk=False)
    options.add_argument("--compiled", action="store_true", help="only btpy, the wheel of `make compiled`, and ASM")
    commandline.add_parts(options, tuple(TASKS))
    arguments = options.parse_args()
    names = (BTPY, COMPILED_BTPY, PLAIN_ASM) if arguments.compiled else None
    text = report(QUICK if arguments.quick else THOROUGH, arguments.parts, names, commandline.repeated())
    results.publish(f"{TITLE}, compiled" if arguments.compiled else TITLE, text, stdout=arguments.stdout)


if __name__ == "__main__":
    main()
