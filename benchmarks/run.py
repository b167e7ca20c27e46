"""The time to the first event, and the cost of probes for a method of 2 ns. Two sections of RESULTS.md.

    python benchmarks/run.py [--quick] [--jdk 17] [--stdout] [first] [cost]

The costs of all probes are measured in one JVM, with probes and by hand, before, while and after btpy is attached.
Figures are medians of rounds with their quartiles. The result is the ratio: two measurements of different JVM runs are
never compared.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # this script runs as a file, and imports from tests/

from benchmarks import commandline, results  # noqa: E402
from btpy.model.attach_method import AttachMethod  # noqa: E402
from tests.jdks import compiled, java  # noqa: E402
from tests.targets import Target, target  # noqa: E402
from tests.tracer import Tracer, tracing  # noqa: E402

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # the timed commands must have compiled modules, as users have

JAVA = ROOT / "benchmarks" / "java"
_PHASE = re.compile(r"(script checked|attached|probes in place) (?:in|after) ([\d.]+) ms(?: .*)?")

SCRIPTS = {
    "counted": '@OnMethod(class="ProbeCost$Target", method="counted") { @calls = count(); }',
    "timed": '@OnMethod(class="ProbeCost$Target", method="timed", location=RETURN) { @took = hist(duration); }',
    "recorded": '@OnMethod(class="ProbeCost$Target", method="recorded", location=RETURN)'
    ' { emit("call", x=arg0, i=arg1, result=retval); }',
}


@dataclass(frozen=True)
class Effort:
    """The amount of work to measure. Records are made in bursts that the buffers can hold, with pauses in which they
    drain."""

    warmups: int
    rounds: int
    calls: int
    burst: int
    pause_millis: int
    attaches: int


THOROUGH = Effort(warmups=40, rounds=101, calls=2_000_000, burst=10_000, pause_millis=250, attaches=11)
QUICK = Effort(warmups=20, rounds=21, calls=500_000, burst=10_000, pause_millis=150, attaches=3)


@dataclass(frozen=True)
class Sample:
    """Figures of one case, in the unit of the table."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def __str__(self) -> str:
        low, _, high = statistics.quantiles(self.values, n=4)
        return f"{self.median:.2f} ({low:.2f} … {high:.2f})"


@dataclass(frozen=True)
class Cost:
    """One kind of probe. ``by_hand``: the same work written into the method; ``dropped``: records that were lost during
    the measurement."""

    case: str
    before: Sample
    attached: Sample
    after: Sample
    by_hand: Sample
    unprobed_neighbour: Sample
    dropped: int


@dataclass(frozen=True)
class Start:
    """From the start of the btpy process, in ms, until the probes are in place and until the first event is printed.

    ``fresh``: until the first event of a JVM's first attach. ``phases``: the times of btpy's own parts, from ``btpy
    -v``.
    """

    attached: Sample
    first_event: Sample
    fresh: Sample
    phases: dict[str, Sample]


def measure(jvm: Target, case: str, effort: Effort, *, bursts: bool) -> Sample:
    calls = effort.burst if bursts else effort.calls
    pause = effort.pause_millis if bursts else 0
    jvm.send(f"measure {case} {effort.warmups} {effort.rounds} {calls} {pause}")
    line = jvm.wait_for(f"result {case} ", patience=600)
    return Sample(tuple(float(word) for word in line.split()[2:]))


def probe_costs(jdk: int, effort: Effort) -> list[Cost]:
    classes = compiled([JAVA / "ProbeCost.java"])
    costs = []
    with target(jdk, "ProbeCost", classpath=[classes]) as jvm:
        measure(jvm, "untouched", effort, bursts=False)
        for case, script in SCRIPTS.items():
            bursts = case == "recorded"
            by_hand = measure(jvm, f"{case}_by_hand", effort, bursts=bursts)
            before = measure(jvm, case, effort, bursts=bursts)
            with tracing(jvm.pid, "-e", script, "--hits", "0", unread="event") as tracer:
                attached = measure(jvm, case, effort, bursts=bursts)
                neighbour = measure(jvm, "untouched", effort, bursts=bursts)
                status = tracer.stop()
                if status != 0:
                    raise SystemExit("\n".join(tracer.stderr))
                (end,) = tracer.of("end")
                if end["produced"] != end["delivered"] + end["dropped"]:
                    raise SystemExit(f"records do not add up: {end}")
                check_hits(case, tracer, effort)
            after = measure(jvm, case, effort, bursts=bursts)
            costs.append(Cost(case, before, attached, after, by_hand, neighbour, end["dropped"]))
        jvm.send("end")
    return costs


def check_hits(case: str, tracer: Tracer, effort: Effort) -> None:
    """Checks the number of hits, because a probe that does not fire would look cheap."""
    rounds = effort.warmups + effort.rounds
    if case == "counted":
        hits, expected = tracer.maps()["calls"], rounds * effort.calls
    elif case == "timed":
        hits, expected = sum(bucket["count"] for bucket in tracer.maps()["took"]), rounds * effort.calls
    else:
        (end,) = tracer.of("end")
        hits, expected = end["produced"], rounds * effort.burst
    if hits != expected:
        raise SystemExit(f"{case}: the probe fired {hits} times for {expected} calls")


def starts(jdk: int, effort: Effort, method: AttachMethod) -> Start:
    """Measures attaches: many to one JVM, and one to each of several fresh JVMs that have no agent yet."""
    classes = compiled([JAVA / "FirstEvent.java"])
    attached, first, fresh = [], [], []
    phases: dict[str, list[float]] = {}
    for _ in range(effort.attaches):
        with target(jdk, "FirstEvent", classpath=[classes]) as jvm:
            fresh.append(_first_event(jvm, method)[1])
    with target(jdk, "FirstEvent", classpath=[classes]) as jvm:
        _first_event(jvm, method)
        for _ in range(effort.attaches):
            in_place, event, step_times = _first_event(jvm, method)
            attached.append(in_place)
            first.append(event)
            for phase, millis in step_times.items():
                phases.setdefault(phase, []).append(millis)
    samples = {phase: Sample(tuple(values)) for phase, values in phases.items()}
    return Start(Sample(tuple(attached)), Sample(tuple(first)), Sample(tuple(fresh)), samples)


def _first_event(jvm: Target, method: AttachMethod) -> tuple[float, float, dict[str, float]]:
    """The ms from the start of a btpy process until the probes are in place and until the first event; and the phases
    that btpy reports."""
    script = '@OnMethod(class="FirstEvent", method="tick") { print(arg0); }'
    begin = time.monotonic()
    tracer = Tracer([str(jvm.pid), "-e", script, "-f", "ndjson", "--hits", "0", "-v", "--attach", method.value])
    try:
        tracer.wait_for("attached_probes")
        in_place = time.monotonic()
        tracer.wait_for("printf")
        event = time.monotonic()
        tracer.stop()
    finally:
        tracer.kill()
    phases = {match[1]: float(match[2]) for line in tracer.stderr if (match := _PHASE.fullmatch(line))}
    return 1000 * (in_place - begin), 1000 * (event - begin), phases


def floors() -> dict[str, Sample]:
    """The lower bound of an attach: the interpreter, and the command line without a target (ms)."""
    commands = {
        "`python -c pass`": [sys.executable, "-c", "pass"],
        "`btpy --help`": [sys.executable, "-m", "btpy", "--help"],
        "`import lark`": [sys.executable, "-c", "import lark"],
        "`import jpype`": [sys.executable, "-c", "import jpype"],
    }
    return {name: Sample(tuple(wall_millis(command) for _ in range(7))) for name, command in commands.items()}


def wall_millis(command: Sequence[str]) -> float:
    begin = time.monotonic()
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    return 1000 * (time.monotonic() - begin)


def first_event_report(origin: Sequence[str], direct: Start, jpype: Start, floor: dict[str, Sample]) -> str:
    lines = [
        *origin,
        "The time runs from the start of the `btpy` process. The script has one line. Without a remark, btpy had"
        " attached to the JVM before.",
        "",
        "| until | ms | ms with `--attach jpype` |",
        "|---|---|---|",
        f"| probes are in place | {direct.attached} | {jpype.attached} |",
        f"| the first event is printed | {direct.first_event} | {jpype.first_event} |",
        f"| the first event is printed, at the first attach to a JVM | {direct.fresh} | {jpype.fresh} |",
        *(
            f"| of that, by `btpy -v`: {phase} | {sample} | {jpype.phases[phase]} |"
            for phase, sample in direct.phases.items()
        ),
        *(f"| for comparison: {name}, whole process | {sample} | |" for name, sample in floor.items()),
    ]
    return "\n".join(lines)


def costs_report(origin: Sequence[str], costs: Sequence[Cost]) -> str:
    lines = [
        *origin,
        "One JVM. The method takes about 2 ns and is called in a loop, so it is inlined: nothing hides the cost. *By"
        " hand* is the same work written into the same method: a `LongAdder`; two clock readings, an atomic sum and an"
        " atomic bucket; a clock reading, the thread id and three values put into a ring that nobody reads. *Neighbour*"
        " is a method of the same class without a probe, while btpy is attached. Records are made in bursts, with"
        " pauses in which they are read.",
        "",
        "| probe | before | attached | after | by hand | neighbour | cost | by hand costs | ratio | records dropped |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for cost in costs:
        increase = cost.attached.median - cost.before.median
        by_hand = cost.by_hand.median - cost.before.median
        ratio = f"{increase:.2f} | {by_hand:.2f} | {increase / by_hand:.2f} | {cost.dropped}"
        samples = [cost.before, cost.attached, cost.after, cost.by_hand, cost.unprobed_neighbour]
        lines.append(f"| {cost.case} | {' | '.join(map(str, samples))} | {ratio} |")
    return "\n".join(lines)


PARTS = ("first", "cost")


def main() -> None:
    parser = commandline.options(__doc__)
    commandline.add_parts(parser, PARTS)
    arguments = parser.parse_args()
    jdk, effort = arguments.jdk, QUICK if arguments.quick else THOROUGH

    def origin() -> list[str]:
        return [results.origin(commandline.repeated(), java(jdk)), "", "Medians with lower and upper quartile.", ""]

    if "first" in arguments.parts:
        direct, jpype = (starts(jdk, effort, method) for method in (AttachMethod.DIRECT, AttachMethod.JPYPE))
        floor = floors()
        text = first_event_report(origin(), direct, jpype, floor)
        results.publish("Time to the first event (ms)", text, stdout=arguments.stdout)
    if "cost" in arguments.parts:
        costs = probe_costs(jdk, effort)
        text = costs_report(origin(), costs)
        results.publish("Cost of a probe (ns a call)", text, stdout=arguments.stdout)


if __name__ == "__main__":
    main()
