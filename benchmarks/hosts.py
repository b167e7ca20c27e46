"""Many JVMs on many hosts, through the real ssh: the time to the first event, and the processor time of the client.

    python benchmarks/hosts.py [--quick] [--stdout]

Each host is a set of namespaces with an OpenSSH server (``tests/nodes.py``), so this needs root. All hosts share the
processors of this machine: the time to the first event of 100 JVMs is that of 100 attaches on one machine, and a fleet
can differ from it. The client and its ``ssh`` would take the same processor time for a fleet. The benchmark writes its
section of RESULTS.md.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # this script runs as a file, and imports from tests/

from benchmarks import commandline, results  # noqa: E402
from tests.jdks import java  # noqa: E402
from tests.live.traffic import called  # noqa: E402
from tests.nodes import Nodes, nodes  # noqa: E402
from tests.targets import Target  # noqa: E402

TITLE = "Many hosts"
NAME = "bench"
SCRIPT = 'Traffic::serve @return { @calls = count(); @took = hist(duration); emit("served") }'
SIZES, QUICK_SIZES = (1, 10, 50, 100), (1, 10)
JVMS_OF_HOST = 5
CALLS, EVENTS = 101, 10_000
"""The number of calls that a JVM makes at a time, and the least number of events of all JVMs together."""
QUIET_SECONDS = 20.0
PATIENCE = 300.0
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Figures:
    """``first``, ``all_of_them``: seconds until the first event was printed, and until each JVM had one; ``started``:
    processor seconds of the client and its ``ssh`` before each JVM had one; ``quiet``: the same for each second without
    events; ``event``: microseconds of the client for an event; ``ended``: seconds from Ctrl-C to the end.
    """

    targets: int
    hosts: int
    first: float
    all_of_them: float
    started: tuple[float, float]
    quiet: tuple[float, float]
    event: float
    ended: float


class Client:
    """``seen``: seconds from the start until the first event of each JVM was read; ``events``: the number of all events
    read."""

    def __init__(self, machines: Nodes, hosts: str) -> None:
        command = [sys.executable, "-m", "btpy", "--hosts", hosts, "--ssh", machines.ssh, "--all", NAME, "-e", SCRIPT]
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [*command, "--hits", "0", "--budget", "off", "-f", "ndjson", "-q"], stdout=subprocess.PIPE, text=True
        )
        self.seen: dict[tuple[str, int], float] = {}
        self.events = 0
        assert self.process.stdout is not None
        self._thread = threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True)
        self._thread.start()

    def _read(self, lines: IO[str]) -> None:
        for line in lines:
            if '"served"' in line:
                record = json.loads(line)
                self.seen.setdefault((record["host"], record["pid"]), time.monotonic() - self.began)
                self.events += 1

    @property
    def processor_seconds(self) -> tuple[float, float]:
        """Processor seconds of the client, and of the commands that it runs."""
        return _processor_seconds(self.process.pid), sum(map(_processor_seconds, _descendants(self.process.pid)))

    def wait_for(self, events: int) -> None:
        deadline = time.monotonic() + PATIENCE
        while self.events < events:
            assert self.process.poll() is None, "the client has ended"
            assert time.monotonic() < deadline, f"{self.events} of {events} events"
            time.sleep(0.02)

    def end(self) -> float:
        """Interrupts the client; returns the seconds until it has ended."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(PATIENCE) == 0
        return time.monotonic() - began


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _descendants(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            yield child
            yield from _descendants(child)


@contextmanager
def fleet(machines: Nodes, names: list[str], targets: int) -> Iterator[list[Target]]:
    with ExitStack() as stack:
        yield [stack.enter_context(machines[names[at // JVMS_OF_HOST]].jvm(NAME)) for at in range(targets)]


def measured(machines: Nodes, names: list[str], targets: int) -> Figures:
    hosts = names[: -(-targets // JVMS_OF_HOST)]
    with fleet(machines, hosts, targets) as jvms:
        client = Client(machines, ",".join(hosts))
        while len(client.seen) < targets:
            for jvm in jvms:
                called(jvm, 1)
            assert time.monotonic() - client.began < PATIENCE, f"events of {len(client.seen)} of {targets} JVMs"
            time.sleep(0.05)
        time.sleep(1)
        start = client.processor_seconds
        time.sleep(QUIET_SECONDS)
        after = client.processor_seconds
        before = client.events
        for turn in range(1, -(-EVENTS // (targets * CALLS)) + 1):
            for jvm in jvms:
                called(jvm, CALLS)
            client.wait_for(before + targets * CALLS * turn)  # waits, so that no queue overflows
        busy = client.processor_seconds[0] - after[0]
        events = client.events - before
        return Figures(
            targets=targets,
            hosts=len(hosts),
            first=min(client.seen.values()),
            all_of_them=max(client.seen.values()),
            started=start,
            quiet=((after[0] - start[0]) / QUIET_SECONDS, (after[1] - start[1]) / QUIET_SECONDS),
            event=busy / events * 1e6,
            ended=client.end(),
        )


def table(figures: Mapping[int, Figures]) -> list[str]:
    rows = []
    for figure in figures.values():
        cells = [
            str(figure.targets),
            str(figure.hosts),
            f"{figure.first:.1f} s",
            f"{figure.all_of_them:.1f} s",
            f"{figure.started[0]:.2f} s, {figure.started[1]:.2f} s",
            f"{figure.quiet[0] * 1e3:.1f} ms, {figure.quiet[1] * 1e3:.1f} ms",
            f"{figure.event:.0f} µs",
            f"{figure.ended:.1f} s",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def main() -> None:
    arguments = commandline.options(__doc__, jdk=False).parse_args()
    sizes = QUICK_SIZES if arguments.quick else SIZES
    names = [f"node{number}" for number in range(1, -(-max(sizes) // JVMS_OF_HOST) + 1)]
    with tempfile.TemporaryDirectory() as directory, nodes(Path(directory), *names) as machines:
        figures = {size: measured(machines, names, size) for size in sizes}
    text = "\n".join(
        [
            results.origin(commandline.repeated(), java(17)),
            "",
            f"Each host has up to {JVMS_OF_HOST} JVMs. All hosts share the processors of this machine, so the times to"
            " the first event are those of this number of attaches on one machine. *Start* is the processor time of the"
            " client, and of its `ssh`, until each JVM has had an event. *Quiet* is this time for each second without"
            " events, in which each host sends its maps.",
            "",
            "| JVMs | hosts | first event | an event of each JVM | start | quiet | client, each event | end |",
            "|---|---|---|---|---|---|---|---|",
            *table(figures),
        ]
    )
    results.publish(TITLE, text, stdout=arguments.stdout)


if __name__ == "__main__":
    main()
