"""The cost of each construct of the language in a firing, and of compiling a script: a section of RESULTS.md.

    python benchmarks/constructs.py [--quick] [--jdk 17] [--stdout]

There is one JVM. The method is measured before each construct and with it; the difference is the cost of a firing. Two
readings of the clock are measured in the same way (an empty body at RETURN with `duration` in its condition), because
no timed probe can be cheaper.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # this script runs as a file, and imports from tests/

from benchmarks import commandline, results  # noqa: E402
from tests.jdks import compiled, java  # noqa: E402
from tests.maven import artifact  # noqa: E402
from tests.targets import Target, target  # noqa: E402
from tests.tracer import tracing  # noqa: E402

TITLE = "Cost of each construct (ns a firing)"
JAVA = ROOT / "benchmarks" / "java"

CLOCK = "two readings of the clock"
CONSTRUCTS = {
    "`when` on an argument, false": "Constructs::call @entry when arg1 < 0 { @n = count() }",
    "`when` on a string, false": 'Constructs::call @entry when arg2 == "nobody" { @n = count() }',
    "`count()`": "Constructs::call @entry { @n = count() }",
    "`count()` by string": "Constructs::call @entry { @n[arg2] = count() }",
    "`count()` by method": "Constructs::call @entry { @n[method] = count() }",
    "`count()` by string and number": "Constructs::call @entry { @n[arg2, arg1 & 7] = count() }",
    "`sum(arg1)`": "Constructs::call @entry { @n = sum(arg1) }",
    CLOCK: "Constructs::call @return when duration < 0 { @n = count() }",
    "`hist(duration)`": "Constructs::call @return { @n = hist(duration) }",
    "`hist(duration)` by method": "Constructs::call @return { @n[method] = hist(duration) }",
    "`thread.n += 1`": "Constructs::call @entry { thread.n += 1 }",
    "`@n += 1`": "Constructs::call @entry { @n += 1 }",
    "field of an argument": "Constructs::call @entry when arg3.size < 0 { @n = count() }",
    '`arg2 =~ "/x.*/"`, false': 'Constructs::call @entry when arg2 =~ "/x.*/" { @n = count() }',
    "`let` and arithmetic": "Constructs::call @entry { let a = arg0 * 31 + arg1; let b = a ^ a >>> 7; @n = max(b) }",
    "`for` over 4 numbers": "Constructs::call @entry { let s = 0; for i in 0..4 { s += i } @n = max(s) }",
    "`depth == 0`": "Constructs::call @entry when depth == 1 { @n = count() }",
    "`@Sample(every=1000)`": '@OnMethod(class="Constructs", method="call") @Sample(every=1000) { @n = count() }',
    "`trace_id`, of a current span": 'Constructs::call @entry when trace_id == "0" { @n = count() }',
    "`span_id`, of a current span": 'Constructs::call @entry when span_id == "0" { @n = count() }',
    '`mdc("userId")`': 'Constructs::call @entry when mdc("userId") == "nobody" { @n = count() }',
    "`entry(arg0)`": "Constructs::call @return when entry(arg1) < 0 { @n = count() }",
}
LIBRARIES = (
    *(f"io.opentelemetry:opentelemetry-{part}:1.54.1" for part in ("api", "context", "common")),
    *(f"io.opentelemetry:opentelemetry-{part}:1.54.1" for part in ("sdk-common", "sdk-trace")),
    *("org.slf4j:slf4j-api:2.0.17", "ch.qos.logback:logback-core:1.5.18", "ch.qos.logback:logback-classic:1.5.18"),
)
"""These libraries keep the current span and the MDC."""

TIMED = ("`hist(duration)`", "`hist(duration)` by method")


@dataclass(frozen=True)
class Effort:
    warmups: int
    rounds: int
    calls: int
    compiles: int


THOROUGH = Effort(warmups=30, rounds=51, calls=1_000_000, compiles=15)
QUICK = Effort(warmups=15, rounds=11, calls=300_000, compiles=5)


@dataclass(frozen=True)
class Cost:
    before: float
    probed: float

    @property
    def added(self) -> float:
        return self.probed - self.before


def measure(jvm: Target, effort: Effort) -> float:
    jvm.send(f"measure {effort.warmups} {effort.rounds} {effort.calls}")
    return statistics.median(map(float, jvm.wait_for("result ", patience=600).split()[1:]))


def costs(jdk: int, effort: Effort) -> dict[str, Cost]:
    """Measures all constructs in one JVM: each is put in, measured and taken out."""
    items = {}
    jars = [artifact(coordinates) for coordinates in LIBRARIES]
    sources = [JAVA / "Constructs.java", JAVA / "TracedConstructs.java"]
    with target(jdk, "TracedConstructs", classpath=[compiled(sources, classpath=jars), *jars]) as jvm:
        measure(jvm, effort)
        for name, script in CONSTRUCTS.items():
            before = measure(jvm, effort)
            with tracing(jvm.pid, "-e", script, "--hits", "0") as tracer:
                probed = measure(jvm, effort)
                if tracer.stop() != 0 or tracer.of("probe_error"):
                    raise SystemExit(f"{name}: {tracer.stderr}")
            items[name] = Cost(before, probed)
        jvm.send("end")
    return items


COMPILE = """
import sys, time
from pathlib import Path
from btpy.model.source import Source
text = Path(sys.argv[1]).read_text()
import btpy.classfile.reader, btpy.plan.planner
from btpy.codegen.advice import HandlerFactory
from btpy.lang.check.binding import bind
from btpy.lang.check.checker import check_source
from tests.lang.trees import shape

def compiled():
    started = time.process_time()
    checked = check_source(Source("hundred.bt", text))
    factory = HandlerFactory(checked)
    for probe in checked.probes:
        for point in probe.attachment.points:
            factory.fire(bind(checked, probe, shape(point, "Ljava/lang/String; I", "J", "name size")))
    return (time.process_time() - started) * 1000

first = compiled()
print(first, min(compiled() for _ in range(5)))
"""


def hundred_lines() -> str:
    """A script of a hundred lines: twenty probes of five lines."""
    return "".join(
        f'@OnMethod(class="com.acme.Service{n}", method="work", location=EXIT)\n'
        f"when duration > {n}ms && (len($name) ?? 0) > {n} {{\n"
        f"  @took{n}[cls, method, $name] = hist(duration);\n"
        f'  emit("slow{n}", name=$name, size=$size * 2 + {n}, took=duration, by=thread_name);\n'
        "}\n"
        for n in range(20)
    )


def compile_millis(effort: Effort, directory: Path) -> tuple[float, float]:
    """The CPU time from the text to handler classes: in fresh processes without imports, and again in the same
    process."""
    script = directory / "hundred.bt"
    script.write_text(hundred_lines(), encoding="utf-8")
    first, second = [], []
    for _ in range(effort.compiles):
        result = subprocess.run(
            [sys.executable, "-c", COMPILE, str(script)], capture_output=True, text=True, check=True, cwd=ROOT
        )
        cold, warm = map(float, result.stdout.split())
        first.append(cold)
        second.append(warm)
    return statistics.median(first), statistics.median(second)


def report(jdk: int, command: str, figures: dict[str, Cost], compiled_in: tuple[float, float]) -> str:
    clock = figures[CLOCK].added
    lines = [
        results.origin(command, java(jdk)),
        "",
        "Medians. One JVM; the method takes about two nanoseconds and is inlined into a loop. *Beyond the clock*:"
        " without what two readings of the clock cost here.",
        "",
        "| construct | before | with it | cost | beyond the clock |",
        "|---|---|---|---|---|",
        *(
            f"| {name} | {cost.before:.2f} | {cost.probed:.2f} | {cost.added:.2f} |"
            f" {f'{cost.added - clock:.2f}' if name in TIMED else ''} |"
            for name, cost in figures.items()
        ),
        "",
        "A script of 100 lines (20 probes at EXIT), from its text to handler classes for 40 bindings, CPU time:"
        f" {compiled_in[0]:.0f} ms in a fresh process beyond its imports, {compiled_in[1]:.0f} ms again in the same.",
    ]
    return "\n".join(lines)


def main() -> None:
    arguments = commandline.options(__doc__).parse_args()
    effort = QUICK if arguments.quick else THOROUGH
    begin = time.monotonic()
    result = costs(arguments.jdk, effort)
    with tempfile.TemporaryDirectory() as directory:
        text = report(arguments.jdk, commandline.repeated(), result, compile_millis(effort, Path(directory)))
    print(f"{time.monotonic() - begin:.0f} s", file=sys.stderr)
    results.publish(TITLE, text, stdout=arguments.stdout)


if __name__ == "__main__":
    main()
