"""How long the prompt takes to come up, and completion to answer with 30,000 classes loaded.

    python benchmarks/prompt.py [--quick]

The prompt runs on a pseudo-terminal; it is ready when it has drawn itself. Processor time is that of btpy and of what
it has started. Results go to RESULTS.md.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import random
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable

from benchmarks.results import ROOT, origin, write
from btpy.repl.candidates import candidates
from btpy.repl.classes import ClassIndex, LoadedType
from btpy.repl.members import Members
from btpy.repl.suggestions import suggest
from tests.jdks import java
from tests.repl.shop import Shop

CLASSES = 30_000
SHOP = ROOT / "btpy" / "_demo" / "shop.jar"
WORDS = (
    *("", "c", "com.", "com.acme.shop.", "PrEn", "P", "pricing", "c.a.s.PrEn", "Nothing.At.All"),
    *("com.acme.shop.PricingEngine::qu", "com.acme.shop.PricingEngine::quote @return { print(retval.ce"),
    *("com.acme.shop.PricingEngine::quote @return when du", '@OnMethod(class="PrEn', ":ls PrEn"),
)
_PARTS = (
    *("Pricing", "Engine", "Order", "Service", "Http", "Server", "Abstract"),
    *("Bean", "Factory", "Context", "Handler", "Mapping", "Data", "Source"),
)


class Large(Shop):
    """The shop among so many other classes."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        chance = random.Random(17)
        packages = [f"{a}.{b}.{c}" for a in ("com", "org", "io") for b in ("acme", "spring", "netty") for c in _PARTS]
        names = {f"{chance.choice(packages).lower()}.{''.join(chance.choices(_PARTS, k=3))}{n}" for n in range(classes)}
        self.classes = ClassIndex([*self.classes.types, *(LoadedType(name, "app", "class") for name in sorted(names))])

    def members(self, class_name: str) -> Members | None:
        return super().members(class_name)


def ready(pid: int, environment: dict[str, str]) -> tuple[float, float]:
    """Seconds until the prompt is there, and processor seconds of btpy until it has left again."""
    before = os.times()
    started = time.perf_counter()
    child, terminal = pty.fork()
    if child == 0:
        os.execve(sys.executable, [sys.executable, "-m", "btpy", str(pid)], environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    seen = b""
    while b"[F1]" not in seen:  # in the toolbar
        if not select.select([terminal], [], [], 60)[0]:
            raise SystemExit(f"no prompt in {seen!r}")
        data = os.read(terminal, 65536)
        seen += data
        if b"\x1b[6n" in data:
            os.write(terminal, b"\x1b[1;1R")  # where the cursor is
    elapsed = time.perf_counter() - started
    os.write(terminal, b"\x04")
    while True:
        try:
            if not os.read(terminal, 65536):
                break
        except OSError:
            break
    os.waitpid(child, 0)
    os.close(terminal)
    after = os.times()
    return elapsed, after.children_user + after.children_system - before.children_user - before.children_system


def timed(do: Callable[[], object], rounds: int) -> float:
    """Median milliseconds."""
    found = []
    for _ in range(rounds):
        started = time.perf_counter()
        do()
        found.append(1000 * (time.perf_counter() - started))
    return statistics.median(found)


def spread(values: list[float]) -> str:
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.0f} ({low:.0f} … {high:.0f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 5 if parser.parse_args().quick else 20
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
            ready(shop.pid, environment)  # the agent is in, caches are warm
            starts = [ready(shop.pid, environment) for _ in range(rounds)]
        finally:
            shop.kill()
            shop.wait()
    known = Large(CLASSES)
    rows = []
    for word in WORDS:
        candidates(suggest(word), known)
        found = len(candidates(suggest(word), known))
        milliseconds = timed(lambda word=word: candidates(suggest(word), known), rounds)  # type: ignore[misc]
        rows.append(f"| `{word or ' '}` | {found} | {milliseconds:.1f} |")
    types = list(known.classes.types)
    lines = [
        origin("python benchmarks/prompt.py" + (" --quick" if rounds == 5 else "")),
        "",
        f"The prompt is ready {spread([1000 * wall for wall, _ in starts])} ms after `btpy PID` was started, on a JVM"
        f" that btpy has been attached to before; btpy and its Java take {spread([1000 * cpu for _, cpu in starts])} ms"
        " of processor time, leaving included.",
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
