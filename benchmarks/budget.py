"""The share of its speed that an application keeps when a probe becomes hot: a section of RESULTS.md.

    python benchmarks/budget.py [--quick] [--jdk 17] [--stdout]

A thread calls a method 1,000, then 5,000,000, then 1,000 times a second and works in the rest of the time; the time of
a probe is missing from that work. Runs without a probe, with btpy (with the default budget, and without a budget) and
with BTrace follow each other, in several rounds. Work is counted per CPU second of that thread, so other programs do
not reduce it. The lost share of a core is the relative loss of work, times the share of a core that the thread had.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # this script runs as a file, and imports from tests/

from benchmarks import commandline, results  # noqa: E402
from benchmarks.peers import btrace_flags  # noqa: E402
from tests.jdks import compiled, java  # noqa: E402
from tests.targets import target  # noqa: E402
from tests.tracer import tracing  # noqa: E402

TITLE = "What is left of an application when a probe becomes hot"
JAVA = ROOT / "benchmarks" / "java"
SLICES = 10  # a second
CALM, HOT = 1_000, 5_000_000
LINES = "Stepping$Hot::step @entry { print(arg1) }"
EVENTS = 'Stepping$Hot::step @entry { emit("step", x=arg0, i=arg1, tid=tid) }'
COUNTS = "Stepping$Hot::step @entry { @n = count() }"
COUNTS_BY_VALUE = "Stepping$Hot::step @entry { @n[arg1 & 7] = count() }"
DURATIONS = "Stepping$Hot::step @return { @n = hist(duration) }"


@dataclass(frozen=True)
class Effort:
    rounds: int
    calm: int  # seconds
    hot: int
    after: int

    @property
    def steps(self) -> list[str]:
        return list(map(str, (CALM, self.calm, HOT, self.hot, CALM, self.after)))

    @property
    def seconds(self) -> int:
        return self.calm + self.hot + self.after


# There are many calm seconds first, so that the JVM has compiled the probe before any limit takes effect.
THOROUGH = Effort(rounds=3, calm=6, hot=8, after=6)
QUICK = Effort(rounds=1, calm=6, hot=6, after=6)


@dataclass(frozen=True)
class Way:
    """The way in which the application is traced. ``script``: None means not at all, or by the agent in ``flags``."""

    name: str
    script: str | None = None
    options: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


class Second(NamedTuple):
    work: float  # rounds per CPU ms
    share: float  # the share of a core that the thread had


@dataclass
class Found:
    """The results of the rounds by second, and btpy's lines about the budget in the last round."""

    seconds: list[list[Second]]
    said: list[str] = field(default_factory=list)

    @property
    def work(self) -> list[float]:
        return [statistics.median(round_.work for round_ in rounds) for rounds in self.seconds]

    @property
    def share(self) -> list[float]:
        return [statistics.median(round_.share for round_ in rounds) for rounds in self.seconds]


def run(way: Way, jdk: int, effort: Effort, figures: Found) -> None:
    program = compiled([JAVA / "Stepping.java"])
    with (
        ExitStack() as stack,
        target(jdk, "Stepping", *effort.steps, classpath=[program], flags=way.flags) as jvm,
    ):
        tracer = None
        if way.script is not None:
            options = ("-e", way.script, "--hits", "0", *way.options)
            tracer = stack.enter_context(tracing(jvm.pid, *options, unread="printf"))
        jvm.send("go")
        jvm.wait_for("sink", patience=60 + 20 * effort.seconds)
        slices = [tuple(map(int, line.split()[1:])) for line in jvm.stdout if line.startswith("slice ")]
        if tracer is not None:
            tracer.stop()
            figures.said = [line for line in tracer.stderr if line.startswith("budget")]
    for at in range(0, len(slices), SLICES):
        some = slices[at : at + SLICES]
        cpu = sum(sample[3] for sample in some)
        second = Second(1e6 * sum(sample[2] for sample in some) / cpu, cpu / sum(sample[4] for sample in some))
        figures.seconds[at // SLICES].append(second)


def btrace(scratch: Path) -> Way:
    return Way("a line for each hit, BTrace 2.2.6", flags=tuple(btrace_flags(scratch, "SteppingTrace")))


def report(effort: Effort, findings: dict[str, Found], origin: str) -> str:
    plain = findings[UNPROBED.name].work
    hot = slice(effort.calm, effort.calm + effort.hot)
    lines = [
        origin,
        "",
        f"A thread calls a method {CALM:,} times a second for {effort.calm} s, then {HOT:,} times for {effort.hot} s,"
        f" then {CALM:,} again, and works in the rest of the time. *Lost* is the relative loss of work per CPU second,"
        " compared with the same second without a probe, times the share of a core that the thread had. Figures are"
        f" medians of {effort.rounds} rounds, which alternate. A value below 0 is noise.",
        "",
        "| % of one core lost | calm | first hot second | worst hot second after it | hot, mean | calm again |",
        "|---|---|---|---|---|---|",
    ]
    had = statistics.fmean(findings[UNPROBED.name].share)
    lines[2] += f" Without a probe the thread had {100 * had:.0f} % of a core: no more can be lost."
    curves = []
    for name, seconds in findings.items():
        losses = [
            100 * (1 - work / without) * share
            for work, without, share in zip(seconds.work, plain, seconds.share, strict=True)
        ]
        mean = statistics.fmean
        before, after = losses[: hot.start], losses[hot.stop :]
        figures = (mean(before), losses[hot][0], max(losses[hot][1:]), mean(losses[hot]), mean(after))
        lines.append(f"| {name} | " + " | ".join(f"{figure:.1f}" for figure in figures) + " |")
        curves.append(f"{name:40} " + " ".join(f"{percent:5.1f}" for percent in losses))
    lines += ["", "Second by second:", "", "```", *curves, "```"]
    messages = findings[LIMITED.name].said
    if messages:
        lines += ["", f"The lines of btpy in the last run of *{LIMITED.name}*:", "", "```", *messages, "```"]
    return "\n".join(lines)


UNPROBED = Way("without a probe")
LIMITED = Way("a line for each hit, btpy", LINES, ("--budget", "2%"))
WAYS = (
    UNPROBED,
    LIMITED,
    Way("a line for each hit, btpy --budget off", LINES, ("--budget", "off")),
    Way("event of three values, btpy", EVENTS, ("--budget", "2%")),
    Way("count, btpy", COUNTS, ("--budget", "2%")),
    Way("count by a value, btpy", COUNTS_BY_VALUE, ("--budget", "2%")),
    Way("histogram of the duration, btpy", DURATIONS, ("--budget", "2%")),
)


def main() -> None:
    arguments = commandline.options(__doc__).parse_args()
    effort = QUICK if arguments.quick else THOROUGH
    with tempfile.TemporaryDirectory() as scratch:
        ways = (*WAYS, btrace(Path(scratch)))
        items = {way.name: Found([[] for _ in range(effort.seconds)]) for way in ways}
        for _ in range(effort.rounds):
            for way in ways:
                run(way, arguments.jdk, effort, items[way.name])
    text = report(effort, items, results.origin(commandline.repeated(), java(arguments.jdk)))
    results.publish(TITLE, text, stdout=arguments.stdout)


if __name__ == "__main__":
    main()
