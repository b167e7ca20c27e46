"""The times of the prompt, ``btpy ps``, ``btpy --help``, and completion with 30,000 classes loaded.

    python benchmarks/prompt.py [--quick]

The prompt runs on a pseudo-terminal; it is ready when it has drawn itself. The processor time is that of btpy and of
the processes that it has started. btpy runs from compiled bytecode, as pip installs it. On a busy machine, put ``chrt
-f 10`` in front, so that the measured processes get the cores first. Results go to RESULTS.md.
"""

from __future__ import annotations

import argparse
import compileall
import fcntl
import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.results import ROOT, origin, write
from btpy.completion.candidates import candidates
from btpy.completion.classes import ClassIndex
from btpy.completion.suggestions import suggest
from tests.completion.shop import Large
from tests.jdks import java

CLASSES = 30_000
SHOP = ROOT / "btpy" / "_demo" / "shop.jar"
WORDS = (
    *("", "c", "com.", "com.acme.shop.", "PrEn", "P", "pricing", "c.a.s.PrEn", "Nothing.At.All"),
    *("com.acme.shop.PricingEngine::qu", "com.acme.shop.PricingEngine::quote @return { print(retval.ce"),
    *("com.acme.shop.PricingEngine::quote @return when du", '@OnMethod(class="PrEn', ":ls PrEn"),
)


def ready(pid: int, environment: dict[str, str]) -> tuple[float, float]:
    """Seconds until the prompt is drawn, and the processor seconds of btpy and its child processes in this time."""
    start = time.perf_counter()
    child, terminal = pty.fork()
    if child == 0:
        os.execve(sys.executable, [sys.executable, "-m", "btpy", str(pid)], environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    output = b""
    while b"[F1]" not in output:  # in the toolbar
        if not select.select([terminal], [], [], 60)[0]:
            raise SystemExit(f"no prompt in {output!r}")
        data = os.read(terminal, 65536)
        output += data
        if b"\x1b[6n" in data:
            os.write(terminal, b"\x1b[1;1R")  # answers the program's question for the position of the cursor
    elapsed = time.perf_counter() - start
    seconds = processor_seconds(child)
    os.write(terminal, b"\x04")
    while True:
        try:
            if not os.read(terminal, 65536):
                break
        except OSError:
            break
    os.waitpid(child, 0)
    os.close(terminal)
    return elapsed, seconds


def processor_seconds(pid: int) -> float:
    """The processor time so far of all threads of a process and of its child processes."""
    tasks = list(Path(f"/proc/{pid}/task").iterdir())
    nanoseconds = sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)
    children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    return nanoseconds / 1e9 + sum(map(processor_seconds, children))


def answered(words: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds that a command takes, and processor seconds."""
    before = os.times()
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "btpy", *words], env=environment, stdout=subprocess.DEVNULL, check=True)
    elapsed = time.perf_counter() - start
    after = os.times()
    return elapsed, after.children_user + after.children_system - before.children_user - before.children_system


def timed(do: Callable[[], object], rounds: int) -> float:
    """Median milliseconds."""
    results = []
    for _ in range(rounds):
        start = time.perf_counter()
        do()
        results.append(1000 * (time.perf_counter() - start))
    return statistics.median(results)


def spread(values: list[float]) -> str:
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.0f} ({low:.0f} … {high:.0f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 5 if parser.parse_args().quick else 20
    compileall.compile_dir(ROOT / "btpy", quiet=2)
    commands = (["ps"], ["--help"])
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "XDG_STATE_HOME": home, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        shop = subprocess.Popen(
            [java(17), "-jar", SHOP, "--rate", "5", "--exit-with-stdin"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert shop.stdout is not None
            shop.stdout.readline()
            ready(shop.pid, environment)  # the agent is loaded, and caches are warm
            starts = [ready(shop.pid, environment) for _ in range(rounds)]
            answers = [[answered(words, environment) for _ in range(rounds)] for words in commands]
        finally:
            shop.kill()
            shop.wait()
    known_classes = Large(CLASSES)
    rows = []
    for word in WORDS:
        candidates(suggest(word), known_classes)
        candidate = len(candidates(suggest(word), known_classes))
        milliseconds = timed(lambda word=word: candidates(suggest(word), known_classes), rounds)  # type: ignore[misc]
        rows.append(f"| `{word or ' '}` | {candidate} | {milliseconds:.1f} |")
    types = list(known_classes.classes.types)
    first = "chrt -f 10 " if os.sched_getscheduler(0) == os.SCHED_FIFO else ""
    measured = [("`btpy PID`, until the prompt is ready", starts)]
    measured += [(f"`btpy {' '.join(words)}`", times) for words, times in zip(commands, answers, strict=True)]
    lines = [
        origin(f"{first}python benchmarks/prompt.py" + (" --quick" if rounds == 5 else "")),
        "",
        "Median and quartiles, of btpy from compiled bytecode. btpy has attached to the target before. The processor"
        " time includes the helper process that attaches."
        + (" `chrt -f 10` gives btpy and the target the cores before all others." if first else ""),
        "",
        "| | ms | processor ms |",
        "|---|---|---|",
        *(
            f"| {what} | {spread([1000 * wall for wall, _ in times])} | {spread([1000 * cpu for _, cpu in times])} |"
            for what, times in measured
        ),
        "",
        f"Completion with {CLASSES:,} classes loaded, on the thread that completes: what was typed → words.",
        "",
        "| typed | words | ms |",
        "|---|---|---|",
        *rows,
        "",
        f"The index of the names is made in {timed(lambda: ClassIndex(types), 5):.0f} ms, in the background.",
    ]
    write("The prompt", "\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
