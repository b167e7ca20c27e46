"""Finds costs that have grown: a quick run, whose ratios are compared with the ratios in ratios.json.

    python benchmarks/check.py [--jdk 17] [--keep] [PART …]

A ratio is the cost of something in btpy, divided by the cost of a reference that is measured in the same minute. So a
busy machine changes a ratio less than a time. Each ratio is measured several times. It has become worse if its lowest
value is above the highest kept value by more than MARGIN. Then the exit status is 1. The ratios differ from processor
to processor, so ratios.json has those of each model on which `--keep` was given.

probes      the cost of a probe / the same work written by hand
constructs  the cost of each construct / two readings of the clock
weaving     `btpy weave` in a fresh process / ASM in a fresh JVM
start       the time to the first event / `java -version`
lines       the time of a line of output, and of a recorded event / `json.dumps`
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import timeit
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # this script runs as a file, and imports from tests/

from benchmarks import commandline, constructs, recording, results, run, weaving  # noqa: E402
from btpy.model.attach_method import AttachMethod  # noqa: E402
from tests import maven  # noqa: E402
from tests.jdks import java  # noqa: E402

KEPT = Path(__file__).resolve().parent / "ratios.json"
ROUNDS = 3
MARGIN, LEAST = 0.05, 0.02
"""A ratio may grow by this share of its value, and always by this amount, because many costs are nearly zero."""

CLASSES = 200
PROCESSES = 3

Ratio = tuple[str, float]

Ratios = dict[str, list[float]]
"""The measured values of each ratio."""


def probes(jdk: int) -> Iterator[Ratio]:
    for cost in run.probe_costs(jdk, run.QUICK):
        by_hand = cost.by_hand.median - cost.before.median
        yield f"a probe: {cost.case}", (cost.attached.median - cost.before.median) / by_hand


def of_constructs(jdk: int) -> Iterator[Ratio]:
    costs = constructs.costs(jdk, constructs.QUICK)
    clock = costs.pop(constructs.CLOCK).added
    for name, cost in costs.items():
        yield f"construct: {name}", cost.added / clock


def of_weaving(jdk: int) -> Iterator[Ratio]:
    with tempfile.TemporaryDirectory() as scratch:
        server = maven.artifact(maven.WIREMOCK)
        corpus = Path(scratch, "corpus")
        classes = weaving.all_classes(server)[:CLASSES]
        corpus.write_bytes(b"".join(len(class_).to_bytes(4) + class_ for class_ in classes))
        field = {weaver.name: weaver for weaver in weaving.contenders(server, Path(scratch))}
        for task in ("called", "timed"):
            seconds = {
                name: statistics.median(weaving.run(field[name], corpus, task).seconds for _ in range(PROCESSES))
                for name in (weaving.BTPY, weaving.PLAIN_ASM)
            }
            yield f"weaving {CLASSES} classes: {task}", seconds[weaving.BTPY] / seconds[weaving.PLAIN_ASM]


def start(jdk: int) -> Iterator[Ratio]:
    result = run.starts(jdk, replace(run.QUICK, attaches=5), AttachMethod.DIRECT)
    jvm = statistics.median(run.wall_millis([str(java(jdk)), "-version"]) for _ in range(9))
    yield "start: first event", result.first_event.median / jvm
    yield "start: first event at the first attach", result.fresh.median / jvm


def lines(jdk: int) -> Iterator[Ratio]:
    event = {"n": 17, "sku": "SKU-0017", "took": 12_345}
    reference = min(timeit.repeat(lambda: json.dumps(event), number=20_000, repeat=5)) / 20_000 * 1e9
    records = recording.payload(recording.EVENTS)
    for title, script in recording.SCRIPTS.items():
        for name in ("text", "ndjson", "csv"):
            yield (
                f"line: {title}, {name}",
                min(recording.line(script, name, records).whole for _ in range(5)) / reference,
            )
    yield "a recorded event", recording.taking(5) / reference


PARTS: Mapping[str, Callable[[int], Iterator[Ratio]]] = {
    "probes": probes,
    "constructs": of_constructs,
    "weaving": of_weaving,
    "start": start,
    "lines": lines,
}


def measured(parts: Sequence[str], jdk: int) -> Ratios:
    ratios: Ratios = defaultdict(list)
    for _ in range(ROUNDS):
        for part in parts:
            for name, ratio in PARTS[part](jdk):
                ratios[name].append(ratio)
    return dict(ratios)


def is_worse(kept: Sequence[float], now: Sequence[float]) -> bool:
    return min(now) > max(kept) + max(LEAST, MARGIN * statistics.median(kept))


def table(kept: Mapping[str, Sequence[float]], now: Mapping[str, Sequence[float]]) -> list[str]:
    """A line for each ratio, with its lowest and highest values; first those that have become worse."""
    rows = []
    for name, ratios in now.items():
        before = kept.get(name)
        worse = before is not None and is_worse(before, ratios)
        text = "new" if before is None else f"{min(before):.2f} … {max(before):.2f}"
        mark = "WORSE" if worse else ""
        rows.append((not worse, f"{mark:6} {text:>16} → {min(ratios):.2f} … {max(ratios):.2f}  {name}"))
    return [line for _, line in sorted(rows, key=lambda row: row[0])]


def kept_ratios(model: str, file: Path = KEPT) -> Ratios:
    """The kept ratios of a model of processor; none if there are none."""
    ratios: Ratios = _kept_by_model(file).get(model, {}).get("ratios", {})
    return ratios


def keep_ratios(model: str, origin: str, ratios: Ratios, file: Path = KEPT) -> None:
    """Writes the ratios of a model of processor. Its other ratios stay, and those of other models."""
    by_model = _kept_by_model(file)
    rounded = {
        name: [round(ratio, 3) for ratio in values] for name, values in (kept_ratios(model, file) | ratios).items()
    }
    by_model[model] = {"origin": origin, "ratios": rounded}
    file.write_text(json.dumps(by_model, indent=1, ensure_ascii=False) + "\n")


def _kept_by_model(file: Path) -> dict[str, dict[str, Any]]:
    by_model: dict[str, dict[str, Any]] = json.loads(file.read_text()) if file.exists() else {}
    return by_model


def main() -> int:
    parser = commandline.options(__doc__)
    parser.add_argument(
        "--keep", action="store_true", help="write what was measured to ratios.json, for this processor"
    )
    commandline.add_parts(parser, tuple(PARTS))
    arguments = parser.parse_args()
    model = results.processor()
    old_ratios = kept_ratios(model)
    if not old_ratios and not arguments.keep:
        print(
            f"no ratios were kept on a processor {model!r}: run this at an older commit with --keep first",
            file=sys.stderr,
        )
        return 2
    now = measured(arguments.parts, arguments.jdk)
    origin = results.origin(commandline.repeated(), java(arguments.jdk))
    print(origin)
    print("\n".join(table(old_ratios, now)))
    if arguments.keep:
        keep_ratios(model, origin, now)
        return 0
    return int(any(is_worse(old_ratios[name], ratios) for name, ratios in now.items() if name in old_ratios))


if __name__ == "__main__":
    sys.exit(main())
