"""The cost of a firing before HotSpot has compiled the probe: a section of RESULTS.md.

    python benchmarks/cold.py [--quick] [--jdk 17] [--stdout]

Each row has its own JVM, which calls the method the stated number of times without a pause. The mean of all firings and
their 99th percentile come from the summary of the run. The banner states the cost of a compiled firing.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # this script runs as a file, and imports from tests/

from benchmarks import commandline, results  # noqa: E402
from tests.jdks import java  # noqa: E402
from tests.live.scripts import counted  # noqa: E402
from tests.tracer import tracing  # noqa: E402

TITLE = "Cost of the first firings"
SCRIPTS = {
    "`count()` by number": "Counted::step @entry { @n[arg1 & 7] = count() }",
    "`hist(duration)`": "Counted::step @return { @n = hist(duration) }",
    "`print` of two arguments": "Counted::step @entry { print(arg0, arg1) }",
}
CALLS = (16, 128, 1024, 8192, 65_536, 524_288)


def measured(jdk: int, script: str, calls: int) -> tuple[int, float, float]:
    """The cost in the banner, then the mean and the 99th percentile in ns."""
    with counted(jdk) as target, tracing(target.pid, "-e", script, "--budget", "off") as tracer:
        target.send(f"call {calls}")
        target.wait_for("called")
        tracer.stop()
        (probe,) = tracer.of("end")[0]["probes"]
        promised = next(int(match[1]) for line in tracer.stderr if (match := re.search(r"about (\d+) ns", line)))
        return promised, probe["ns"], probe["p99_ns"]


def report(jdk: int, command: str, *, quick: bool) -> str:
    rows = []
    for name, script in SCRIPTS.items():
        for calls in CALLS[::2] if quick else CALLS:
            promised, mean, p99 = measured(jdk, script, calls)
            rows.append(f"| {name} | {calls:,} | {promised} | {mean:,.0f} | {p99:,.0f} |")
            print(rows[-1], file=sys.stderr)
    return "\n".join(
        [
            f"JDK {jdk}, {results.origin(command, java(jdk))}",
            "",
            "The banner says what a firing costs once it is compiled; the summary says the mean of all firings.",
            "",
            "| probe | firings | banner (ns) | mean (ns) | 99th percentile (ns) |",
            "|---|---|---|---|---|",
            *rows,
        ]
    )


def main() -> None:
    arguments = commandline.options(__doc__).parse_args()
    text = report(arguments.jdk, commandline.repeated(), quick=arguments.quick)
    results.publish(f"{TITLE} on JDK {arguments.jdk}", text, stdout=arguments.stdout)


if __name__ == "__main__":
    main()
