"""btpy attaches to a JVM with little free heap only with permission, and never ends such a JVM."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import btpy
from btpy.api.doctor import Outcome, examine
from btpy.engine.session import Session
from btpy.errors import AttachError
from btpy.jvm import heap, processes
from btpy.jvm.heap import Heap
from tests.cli.test_command import btpy as command
from tests.jdks import compiled
from tests.live.scripts import JAVA
from tests.targets import Target, TargetError, target

EXIT = "-XX:+ExitOnOutOfMemoryError"
COUNT = "Filled$Work::step { @n = count(); @sizes[arg0 % 97] = count() }"
PRINT = '@OnMethod(class="Filled$Work", method="step") @Sample(every=97) { print(arg0); }'
SUM_OF_1000 = sum(64 + (i & 63) for i in range(1000))


@contextmanager
def filled(jdk: int, collector: str, mebibytes: int, free: int, *flags: str) -> Iterator[Target]:
    """A JVM with this number of KiB of free heap."""
    classes = compiled([JAVA / "Filled.java"], release=11)
    use = ["-XX:+UnlockExperimentalVMOptions", "-XX:-UseSerialGC", f"-XX:+Use{collector}GC", f"-Xmx{mebibytes}m"]
    with target(jdk, "Filled", str(free), classpath=[classes], flags=[*use, EXIT, *flags]) as program:
        yield program


def works(jvm: Target) -> None:
    """Raises TargetError when the program fails although it works without btpy."""
    jvm.send("1000")
    jvm.wait_for(f"sum {SUM_OF_1000}")


@dataclass(frozen=True)
class Cell:
    """A case of the matrix: a program, its heap, and the expected outcome."""

    jdk: int
    collector: str
    mebibytes: int
    free: int

    @property
    def name(self) -> str:
        return f"{self.jdk}-{self.collector}-{self.mebibytes}M-{self.free}K"


def outcome(cell: Cell, *arguments: str) -> tuple[str, int]:
    """Runs the program with btpy; returns the fate of the program and btpy's exit status."""
    try:
        with filled(cell.jdk, cell.collector, cell.mebibytes, cell.free) as jvm:
            client = subprocess.Popen(
                [sys.executable, "-m", "btpy", *(argument.format(pid=jvm.pid) for argument in arguments)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env={**os.environ, "NO_COLOR": "1"},
            )
            try:
                while client.poll() is None:
                    works(jvm)
                    time.sleep(0.05)  # this causes collections, which take both cores from the client
                works(jvm)
            except (TargetError, BrokenPipeError):
                return f"dies {jvm.stdout[-1:]}", client.wait()
            finally:
                client.wait()
                assert client.stderr is not None
                client.stderr.close()
            return "lives", client.returncode
    except TargetError:
        return "does not start", 0


SESSION: tuple[str, ...] = (
    "{pid}",
    "-e",
    COUNT.replace("{", "{{").replace("}", "}}"),
    "-e",
    PRINT.replace("{", "{{").replace("}", "}}"),
)
SESSION += ("--for", "1s")
DOCTOR = ("doctor", "{pid}")
REFUSED, WOVE_NOTHING, GAVE_UP = 3, 4, 5

SAMPLE = [
    Cell(25, "G1", 256, 16 * 1024),
    Cell(17, "Serial", 128, 8 * 1024),
    Cell(21, "Parallel", 128, 6 * 1024),
    Cell(25, "Serial", 16, 3 * 1024),
]
COLLECTORS = {11: "Serial Parallel G1", 17: "Serial Parallel G1 Z Shenandoah"}
MATRIX = [
    Cell(jdk, collector, mebibytes, free * 1024)
    for jdk in (11, 17, 21, 25)
    for collector in COLLECTORS.get(jdk, COLLECTORS[17]).split()
    for mebibytes, frees in ((16, (3,)), (128, (4, 8)), (256, (8, 16)))
    for free in frees
]


def check(cell: Cell, what: tuple[str, ...]) -> str:
    """Raises AssertionError if a program that survives without btpy dies. Returns its fate."""
    became, status = outcome(cell, *what)
    assert became in ("lives", "does not start"), f"{cell.name}: {became}, btpy ended with {status}"
    assert status in (0, REFUSED, WOVE_NOTHING, GAVE_UP), f"{cell.name}: btpy ended with {status}"
    return (
        became
        if became != "lives"
        else {0: "traced", REFUSED: "refused", WOVE_NOTHING: "wove nothing", GAVE_UP: "gave up"}[status]
    )


@pytest.mark.parametrize("cell", SAMPLE, ids=lambda cell: cell.name)
def test_a_sample_of_programs_survives(cell: Cell) -> None:
    """Two programs at the same time. btpy waits for seconds where it looks for free heap."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(check, (cell, cell), (SESSION, DOCTOR)))


@pytest.mark.proof
@pytest.mark.parametrize("what", [SESSION, DOCTOR], ids=["session", "doctor"])
@pytest.mark.parametrize("cell", MATRIX, ids=lambda cell: cell.name)
def test_every_program_survives(cell: Cell, what: tuple[str, ...]) -> None:
    print(f"{cell.name} {what[0]}: {check(cell, what)}")


@pytest.mark.parametrize("jdk", [17, 21, 25])
@pytest.mark.parametrize("arguments", [SESSION, DOCTOR], ids=["session", "doctor"])
def test_a_heap_of_few_pages_gets_no_question(jdk: int, arguments: tuple[str, ...]) -> None:
    """The thread of the JVM that answers questions would need a further page of memory."""
    with filled(jdk, "Z", 16, 6 * 1024) as jvm:
        result = command(*(argument.format(pid=jvm.pid) for argument in arguments))
        assert "the JVM" in result.stdout + result.stderr
        assert "has a heap of 16 MB (-Xmx), which ZGC divides into pages of 2 MB" in result.stdout + result.stderr
        assert "Attach Listener" not in {
            path.read_text().strip() for path in Path(f"/proc/{jvm.pid}/task").glob("*/comm")
        }
        works(jvm)


REFUSALS = [(11, "Serial", 6), (17, "G1", 4), (21, "Parallel", 7), (25, "Z", 4)]


def test_it_is_refused_before_anything_is_loaded() -> None:
    """Four programs at the same time. btpy waits for seconds where it looks for free heap."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(check_refused, *zip(*REFUSALS, strict=True)))


def check_refused(jdk: int, collector: str, free: int) -> None:
    with filled(jdk, collector, 128, free * 1024) as jvm:
        result = command(str(jvm.pid), "-e", COUNT, "--for", "100ms")
        assert result.returncode == 3, result.stderr
        assert result.stderr.startswith(f"error[BT525]: the JVM {jvm.pid} has ")
        assert (
            f" MB (-Xmx): the agent and its probes could use all of it, and {EXIT} ends the JVM in that case\n"
            in result.stderr
        )
        assert "  = help: start it with a larger -Xmx: btpy needs " in result.stderr
        assert f"  = help: jcmd {jvm.pid} GC.run (a full collection) frees garbage" in result.stderr
        retry = f"btpy {jvm.pid} -e '{COUNT}' --for 100ms --allow little-heap"
        assert f"  = help: to attach all the same:  {retry}\n" in result.stderr
        assert not processes.describe(jvm.pid).has_agent
        works(jvm)


def test_the_doctor_loads_nothing_either() -> None:
    with filled(25, "G1", 128, 4 * 1024) as jvm:
        steps = {step.name: step for step in examine(str(jvm.pid))}
        assert (steps["heap"].outcome, steps["heap"].code) == (Outcome.FAILED, "BT525")
        assert steps["agent loads"].outcome is Outcome.UNTESTED
        assert not processes.describe(jvm.pid).has_agent


@pytest.mark.parametrize("jdk", [11, 25])
def test_where_more_is_free_the_doctor_says_how_much(jdk: int) -> None:
    with filled(jdk, "G1", 128, 40 * 1024) as jvm:
        steps = {step.name: step for step in examine(str(jvm.pid))}
        assert steps["heap"].outcome is Outcome.PASSED
        assert steps["heap"].detail.endswith(" MB free, of 128 MB")
        assert steps["leaves clean"].outcome is Outcome.PASSED


def test_the_user_may_allow_it_and_a_session_stops_with_any_free_heap() -> None:
    with filled(17, "G1", 128, 4 * 1024, "-XX:-ExitOnOutOfMemoryError") as jvm:
        with pytest.raises(AttachError) as caught:
            Session.attach(jvm.pid)
        assert caught.value.code == "BT525"
        with btpy.attach(jvm.pid, allow=["little-heap"]), Session.attach(jvm.pid) as second:  # like btpy stop
            assert second.departure.detach().clean


def test_garbage_is_not_counted_where_the_jvm_collects_it() -> None:
    """At times three quarters of the used heap are garbage."""
    classes = compiled([JAVA / "Wasteful.java"], release=11)
    with target(17, "Wasteful", classpath=[classes], flags=["-Xmx24m"]) as jvm:
        for _ in range(5):
            with Session.attach(jvm.pid) as session:
                assert session.departure.detach().clean
        jvm.send("")


OF_G1 = """garbage-first heap   total reserved 262144K, committed 204800K, used 101492K [0xf0000000, 0x100000000)
 region size 1024K, 1 young (1024K), 0 survivors (0K)
"""
OF_SERIAL = """ def new generation   total 39296K, used 11187K [0xf8000000, 0xfaaa0000, 0xfaaa0000)
  eden space 34944K,  32% used [0xf8000000, 0xf8aecfe8, 0xfa220000)
  from space 4352K,   0% used [0xfa220000, 0xfa220000, 0xfa660000)
  to   space 4352K,   0% used [0xfa660000, 0xfa660000, 0xfaaa0000)
 tenured generation   total 7424K, used 7423K [0xfaaa0000, 0xfb1e0000, 0x100000000)
   the space 7424K,  99% used [0xfaaa0000, 0xfb1dfce8, 0xfb1dfe00, 0xfb1e0000)
 Metaspace       used 4194K, capacity 4562K, committed 4864K, reserved 1056768K
  class space    used 391K, capacity 415K, committed 512K, reserved 1048576K
"""
OF_PARALLEL = """PSYoungGen      total 38400K, used 10274K [0xfd580000, 0x100000000, 0x100000000)
 eden space 33280K, 30% used [0xfd580000,0xfdf88ad8,0xff600000)
 from space 5120K, 0% used [0xff600000,0xff600000,0xffb00000)
 to   space 5120K, 0% used [0xffb00000,0xffb00000,0x100000000)
ParOldGen       total 87552K, used 87547K [0xf8000000, 0xfd580000, 0xfd580000)
 object space 87552K, 99% used [0xf8000000,0xfd57ee78,0xfd580000)
"""
OF_SHENANDOAH = "Shenandoah Heap\n 4096M max, 128M soft max, 128M committed, 101086K used\n 512 x 256K regions\n"


@pytest.mark.parametrize(
    ("answer", "room"),
    [
        (OF_G1, Heap(262144, 101492)),
        (OF_SERIAL, Heap(39296 + 87424 - 4352, 11187 + 7423, 4352)),
        (OF_PARALLEL, Heap(38400 + 87552 - 5120, 10274 + 87547, 5120)),
        (" ZHeap           used 102M, capacity 128M, max capacity 2G\n", Heap(2 << 20, 102 << 10)),
        (OF_SHENANDOAH, Heap((4 << 20) - 209715, 101086, 209715)),
        ("1\njava.lang.IllegalArgumentException: Unknown diagnostic command\n", None),
        ("", None),
    ],
)
def test_the_memory_counters_of_the_jvm_are_read(answer: str, room: Heap | None) -> None:
    assert heap.parse(answer) == room


def test_counters_tell_of_a_heap_with_and_without_generations_of_their_own() -> None:
    sizes = {f"sun.gc.generation.{g}.space.{s}.used": 1024 << 10 for g, s in ((0, 0), (0, 1), (1, 0))}
    survivor = {"sun.gc.generation.0.space.2.capacity": 256 << 10}
    of = {"sun.gc.generation.0.maxCapacity": 4096 << 10, "sun.gc.generation.1.maxCapacity": 9000 << 10}
    assert heap.of_counters({**of, **sizes, **survivor}) == Heap(4096 + 9000 - 512, 3072, 256)
    of_g1 = {"sun.gc.generation.0.maxCapacity": (9000 << 10) + 24, "sun.gc.generation.1.maxCapacity": (9000 << 10) + 8}
    assert heap.of_counters({**of_g1, **sizes}) == Heap(9000, 3072, 0)
    assert heap.of_counters({}) is None


def test_the_best_of_several_looks_counts() -> None:
    looks = iter([Heap(9000, 8900), Heap(9000, 8950), Heap(9000, 2000)])
    assert heap.look(lambda: next(looks), 0) == Heap(9000, 2000)
    assert heap.look(lambda: Heap(9000, 8900), 0, patience=0.0) == Heap(9000, 8900)
    assert heap.look(lambda: None, 0) is None


def test_more_classes_and_a_larger_heap_need_more() -> None:
    assert Heap(16 << 10, 0).needed(0) == 1024 + 3840
    assert Heap(4 << 20, 0).needed(1024) == 4096 + 3840 + 300
