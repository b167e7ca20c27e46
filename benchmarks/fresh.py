"""A new container with Python alone: the sizes of the wheels, and the time to the first event, beside py-spy.

    python benchmarks/fresh.py [--quick] [--jdk 17] [--stdout]

pip installs both tools in one container without Java and without a network (tests/containers/fresh.py). btpy traces a
JVM of another container, and py-spy looks at a Python program of a third one; each program calls a method a thousand
times a second. The tools run in turn, and each round has a new JVM. This needs root, runc and mmdebstrap.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # run as a file: the harness of the tests is beside this directory

from benchmarks import commandline, results  # noqa: E402
from benchmarks.run import Sample  # noqa: E402
from btpy.distribution import NAME  # noqa: E402
from btpy.jvm.processes import find  # noqa: E402
from tests.containers import fresh  # noqa: E402
from tests.containers.cells import container, detached, readable_cache, specification  # noqa: E402
from tests.jdks import compiled, java  # noqa: E402
from tests.targets import Target, target  # noqa: E402
from tests.wheels import pure_wheel  # noqa: E402

TITLE = "A new container with Python, beside py-spy"
ROUNDS, QUICK_ROUNDS = 15, 3
PATIENCE = 60.0
PYTHON_PROGRAM = """
import os, time
def tick(number):
    return number + 1
number = 0
print("ready", flush=True)
while True:
    number = tick(number)
    time.sleep(0.001)
"""
_BIN = f"{fresh.ENVIRONMENT}/bin"
_FLOOR = "for comparison: `python -c 'print()'`"
_USER = 1000
_WAITING = ("sh", "-c", 'echo waiting; read line; exec "$@"', "sh")
"""Starts a command once it gets a line, so that the time of ``runc exec`` does not count."""


@dataclass(frozen=True)
class Case:
    """``first``: the beginning of the line that counts as the first event."""

    name: str
    command: Sequence[str]
    first: str


def of_btpy(pid: int, name: str) -> Case:
    script = "FirstEvent::tick { print(arg0) }"
    return Case(name, [f"{_BIN}/btpy", str(pid), "-e", script, "--hits", "1", "-q"], "")


def of_py_spy(pid: int) -> list[Case]:
    dump = [f"{_BIN}/py-spy", "dump", "--pid", str(pid)]
    record = [f"{_BIN}/py-spy", "record", "--pid", str(pid), "--duration", "1", "--format", "raw", "--output", "/out"]
    return [
        Case("`py-spy dump`, the first stack", dump, "Thread "),
        Case("`py-spy record`, the start of sampling", record, "py-spy> Sampling process"),
    ]


def milliseconds(inside: Sequence[str], case: Case) -> float:
    """From the start of the command to its first event."""
    command = [*inside, *_WAITING, *case.command]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        began = time.monotonic()
        process.stdin.write("\n")
        process.stdin.flush()
        took = None
        for line in process.stdout:
            if took is None and line.startswith(case.first):
                took = time.monotonic() - began
        assert process.wait(PATIENCE) == 0, case
    assert took is not None, case
    return took * 1000


@contextmanager
def python_program(root: Path, directory: Path) -> Iterator[int]:
    """The pid of the Python program in a container of its own."""
    content = specification(directory)
    content["root"] = {"path": str(root), "readonly": True}
    with detached(directory, content, _USER) as inside:
        program = Target([*inside, "python3", "-c", PYTHON_PROGRAM])
        try:
            program.wait_for("ready")
            yield _pid_of(program)
        finally:
            program.stop()


def _pid_of(program: Target) -> int:
    """The pid of the program that ``runc exec`` has started."""
    children = Path(f"/proc/{program.pid}/task").glob("*/children")
    (pid,) = (int(word) for path in children for word in path.read_text().split())
    return pid


@contextmanager
def jvm(jdk: int, directory: Path) -> Iterator[int]:
    """The pid of a new JVM in a container of its own."""
    directory.mkdir()
    classes = compiled([ROOT / "benchmarks" / "java" / "FirstEvent.java"])
    name = f"fresh-{directory.name}-{os.getpid()}"
    with (
        container(directory, user=_USER) as inside,
        readable_cache(),
        target(jdk, "FirstEvent", classpath=[classes], flags=[f"-Dbtpy.name={name}"], prefix=inside),
    ):
        yield find(name).pid


def times(inside: Sequence[str], root: Path, scratch: Path, jdk: int, rounds: int) -> dict[str, Sample]:
    measurements: dict[str, list[float]] = defaultdict(list)
    (scratch / "program").mkdir()
    with python_program(root, scratch / "program") as program:
        for number in range(rounds):
            with jvm(jdk, scratch / f"jvm{number}") as pid:
                cases = [of_btpy(pid, "`btpy`, the first attach to the JVM"), of_btpy(pid, "`btpy`, a later attach")]
                cases += [*of_py_spy(program), Case(_FLOOR, [f"{_BIN}/python", "-c", "print()"], "")]
                for case in cases:
                    measurements[case.name].append(milliseconds(inside, case))
    return {name: Sample(tuple(values)) for name, values in measurements.items()}


def sizes(wheels: Path) -> dict[str, tuple[int, int]]:
    """The bytes of the wheel of each tool, and the bytes of all wheels that it needs."""
    bytes_of = {path.name: path.stat().st_size for path in wheels.iterdir()}
    (btpy,) = (size for name, size in bytes_of.items() if name.startswith("btpy_"))
    (py_spy,) = (size for name, size in bytes_of.items() if name.startswith("py_spy-"))
    return {"btpy": (btpy, sum(bytes_of.values()) - py_spy), "py-spy": (py_spy, py_spy)}


def report(jdk: int, wheels: dict[str, tuple[int, int]], starts: dict[str, Sample], version: str) -> str:
    return "\n".join(
        [
            results.origin(commandline.repeated(), java(jdk)),
            "",
            f"{version}, in a container of Debian 12 with Python and the wheels only. The JVM and the Python program"
            " run in containers of their own, as another user. Times run from the start of the command; medians with"
            " lower and upper quartile. py-spy reads the memory of the program and prints its stacks. btpy loads an"
            " agent into the JVM, and changes a method so that it prints.",
            "",
            "| wheel | MB | with its dependencies, MB |",
            "|---|---|---|",
            *(f"| {name} | {alone / 1e6:.2f} | {together / 1e6:.2f} |" for name, (alone, together) in wheels.items()),
            "",
            "| until the first event | ms |",
            "|---|---|",
            *(f"| {name} | {sample} |" for name, sample in starts.items()),
        ]
    )


def main() -> None:
    arguments = commandline.options(__doc__).parse_args()
    rounds = QUICK_ROUNDS if arguments.quick else ROUNDS
    with tempfile.TemporaryDirectory(prefix="btpy-fresh-") as name:
        scratch = Path(name)
        scratch.chmod(0o755)
        wheels, tools = scratch / "wheels", scratch / "tools"
        for directory in (wheels, tools):
            directory.mkdir()
        root = fresh.python_root(tools)
        pure_wheel(ROOT, wheels)
        fresh.download("peers.lock", wheels)
        with fresh.tracing_container(root, wheels, tools) as inside:
            fresh.install(inside, NAME, "py-spy")
            version = fresh.printed(inside, f"{_BIN}/py-spy", "--version")
            starts = times(inside, root, scratch, arguments.jdk, rounds)
        text = report(arguments.jdk, sizes(wheels), starts, version)
    results.publish(TITLE, text, stdout=arguments.stdout)


if __name__ == "__main__":
    main()
