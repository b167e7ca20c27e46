"""The budget restrains a probe that uses more than its share, and btpy says so."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.live.scripts import counted, wait_until_the_agent_has_left
from tests.targets import Programs, Target, shared_programs
from tests.tracer import tracing

CALLS = 200_003
STINGY = ("--hits", "0", "--budget", "0.01%")


@pytest.fixture(scope="module")
def programs() -> Iterator[Programs]:
    with shared_programs(left_alone) as programs:
        yield programs


@contextmanager
def left_alone(jdk: int) -> Iterator[Target]:
    """The program. At the end, no thread of the agent runs in it."""
    with counted(jdk) as target:
        yield target
        wait_until_the_agent_has_left(target)


def test_a_probe_over_its_budget_is_held_back(programs: Programs) -> None:
    script = "Counted::step { @n[arg1 & 7] = count(); }"
    target = programs(17)
    with tracing(target.pid, "-e", script, *STINGY) as tracer:
        target.send(f"call {CALLS}")
        target.wait_for("called")
        first = tracer.wait_for("budget")
        assert first["probe"] == "step"
        assert first["step"] in ("sampled", "disabled")
        assert first["taken"] > first["allowed"] == 0.0001
        assert tracer.stop() in (0, 6)
        (end,) = tracer.of("end")
        assert end["probes"][0]["restraints"] >= 1
        assert any(line.startswith("budget: probes took") for line in tracer.stderr)


def test_a_probe_whose_methods_would_measure_on_is_taken_out(programs: Programs) -> None:
    """Also checks that the exit status is clean."""
    script = "Counted::step @return { @n = hist(duration); }"
    target = programs(17)
    with tracing(target.pid, "-e", script, *STINGY) as tracer:
        target.send(f"call {CALLS}")
        target.wait_for("called")
        assert tracer.wait_for("budget")["step"] == "taken-out"
        assert tracer.stop() == 6
        (end,) = tracer.of("end")
        assert (end["restored"], end["woven"]) == (0, 0), "its classes had their bytes back before"


EVERY_AGGREGATE = """Counted::step {
    @n = count(); @by[arg1 & 3] = count(); @sum = sum(arg1 & 7); @avg = avg(arg1 & 7); @hist = hist(arg1 & 7);
    @lhist = lhist(arg1 & 7, 0, 8, 1); @stats = stats(arg1 & 7); @top = topk(arg1 & 3, 4); @min = min(arg1);
    @max = max(arg1); @different = distinct(arg1 & 255); @some = sample_of(arg1, 2); @last = last(arg1);
    @value = arg1; @series = tseries(arg1 & 7, 1m, 3, "count"); }"""
PRIME = 26_113


def holds(interval: list[float | None], exact: float, *, times: int = 1) -> bool:
    """Whether the exact figure lies in the interval after its width was multiplied by ``times``."""
    low, high = interval
    slack = (high - low) * (times - 1) / 2 if low is not None and high is not None else 0.0
    return (low is None or low - slack <= exact) and (high is None or exact <= high + slack)


@pytest.mark.parametrize("jdk", [17, 25])
@pytest.mark.parametrize("budget", ["0.01%", "0.1%", "1%"])
def test_every_figure_is_exact_or_has_an_interval_for_the_true_one(programs: Programs, jdk: int, budget: str) -> None:
    """One interval of 99 % in a hundred may miss the true figure, but no true figure lies further away than the
    interval is wide.
    """
    with ExitStack() as stack:
        # A warm program needs less than 1 %.
        target = stack.enter_context(counted(jdk)) if budget == "1%" else programs(jdk)
        options = ("--hits", "0", "--budget", budget)
        tracer = stack.enter_context(tracing(target.pid, "-e", EVERY_AGGREGATE, *options))
        target.send(f"call {PRIME}")
        target.wait_for("called")
        tracer.stop()
    lines = {name: line for line in tracer.records if "data" in line for name in line["data"] if name.startswith("@")}
    (account,) = tracer.of("end")[0]["probes"]
    total, keys = sum(number & 7 for number in range(PRIME)), {str(key): (PRIME + 3 - key) // 4 for key in range(4)}
    numbers = {
        "count": PRIME,
        "average": total / PRIME,
        "total": total,
        "min": 0,
        "max": 7,
        "p50": 3,
        "p90": 7,
        "p99": 7,
    }
    truth: dict[str, Any] = {
        "@n": PRIME, "@sum": total, "@avg": total / PRIME, "@min": 0, "@max": PRIME - 1, "@different": 256,
        "@by": keys, "@hist": numbers, "@lhist": numbers | {"p50": 3.5, "p90": 7, "p99": 7}, "@stats": numbers,
        "@top": {"count": PRIME}, "@some": {"count": PRIME}, "@series": {"count": PRIME},
    }  # fmt: skip
    if not account["skipped"] and "rested_ns" not in account:
        assert not any("skips" in line for line in lines.values())
        assert lines["@n"]["data"]["@n"] == account["fired"] == PRIME
        return
    inside: list[bool] = []
    for name, line in lines.items():
        assert line["skips"][name]["skipped"] == account["skipped"] or "rested_ns" in account, name
        if name in ("@value", "@last"):
            continue
        intervals, exact = line["intervals"][name], truth[name]
        if not isinstance(exact, dict):
            intervals, exact = {"": intervals}, {"": exact}
        for key in exact.keys() & intervals.keys():
            inside.append(holds(intervals[key], exact[key]))
            assert holds(intervals[key], exact[key], times=3), (name, key, intervals[key], exact[key])
        assert name == "@by" or intervals.keys() & {"", "count"}
    assert inside.count(False) <= len(inside) / 5
    if "rested_ns" not in account:
        assert account["fired"] + account["skipped"] == PRIME
    assert any(line.startswith("budget: probes took") for line in tracer.stderr)


@pytest.mark.parametrize("jdk", [17, 25])
def test_a_plain_count_is_exact_though_hits_are_skipped(programs: Programs, jdk: int) -> None:
    """The count is a lower bound if the probe was disabled. ``-q`` hides neither."""
    script = "Counted::step { @n = count(); }"
    target = programs(jdk)
    with tracing(target.pid, "-e", script, "-q", *STINGY) as tracer:
        target.send(f"call {PRIME}")
        target.wait_for("called")
        tracer.stop()
        lines = [line for line in tracer.records if line["type"] == "map"]
        (account,) = tracer.of("end")[0]["probes"]
        count = lines[-1]["data"]["@n"] if lines else 0
        if "rested_ns" in account:
            assert lines[-1]["skips"]["@n"]["lower_bound"] is True
            assert lines[-1]["intervals"]["@n"] == [count, None]
            assert count <= PRIME
        else:
            assert (count, lines[-1].get("skips")) == (PRIME, None)
        assert account["restraints" if "restraints" in account else "skipped"] >= 0
        assert bool(account.get("restraints")) == any(line.startswith("budget: probes took") for line in tracer.stderr)


def test_steps_of_the_budget_double_the_factor(programs: Programs) -> None:
    target = programs(17)
    with tracing(target.pid, "-e", EVERY_AGGREGATE, *STINGY) as tracer:
        target.send(f"call {CALLS}")
        target.wait_for("called")
        tracer.wait_for("budget")
        tracer.stop()
        factors = [line["one_in"] for line in tracer.of("budget") if line["step"] == "sampled"]
        assert factors
        assert all(factor & (factor - 1) == 0 for factor in factors)


def test_text_tables_and_columns_say_that_hits_were_skipped(programs: Programs, tmp_path: Path) -> None:
    script = "Counted::step { @by[arg1 & 3] = count(); }"
    recording = tmp_path / "run.btz"
    target = programs(17)
    with tracing(target.pid, "-e", script, "--record", recording, *STINGY) as tracer:
        target.send(f"call {CALLS}")
        target.wait_for("called")
        tracer.wait_for("budget")
        target.send(f"call {CALLS}")
        target.wait_for("called")
        tracer.stop()
    for format_, mark in (
        ("text", "hits skipped"),
        ("ndjson", '"skips":{"@by":{"skipped":'),
        ("json", '"skips":{"@by":{"skipped":'),
        ("csv", "key,count,skipped,low,high"),
        ("tsv", "key\tcount\tskipped\tlow\thigh"),
        ("logfmt", " skipped="),
        ("chrome", "hits skipped"),
    ):
        output = subprocess.run(
            [sys.executable, "-m", "btpy", "replay", str(recording), "-f", format_, "-q"],
            capture_output=True,
            text=True,
        ).stdout
        assert mark in output, (format_, output)
        if format_ in ("csv", "tsv"):
            rows = [row.split("," if format_ == "csv" else "\t") for row in output.splitlines()[1:]]
            assert rows
            assert all(int(skips) > 0 and float(low) >= 0 for *_, skips, low, _ in rows)
