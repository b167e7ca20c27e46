"""Compares every field of every format with the facts of the traced program and the clock of this process."""

from __future__ import annotations

import csv
import json
import re
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import btpy
from btpy.model.maps import MapKind
from btpy.output.ndjson import NdjsonWriter
from tests.cli.test_trace import started
from tests.cli.test_verbs import asked
from tests.live.scripts import JAVA, counted, waited
from tests.output import facts as true
from tests.output.facts import CALLS, REFUSED, SAMPLED, SCRIPT, THREAD, Between, Buckets, Call, Facts, Moment
from tests.output.jfr.reader import chunks as jfr_chunks
from tests.output.program import captured, contents, context
from tests.output.test_logfmt import read as pairs_of
from tests.output.test_schema import SCHEMA
from tests.recording.runs import replay
from tests.tracer import tracing

Line = dict[str, Any]

WITH_KEYS = ("hsum", "hhist", "hstats", "hser", "htop", "hsome")


@dataclass(frozen=True)
class Run:
    """One run of the script on one or more programs. ``begun`` and ``ended``: ms since 1970, by this process."""

    facts: tuple[Facts, ...]
    begun: float
    ended: float
    stdout: list[str]
    stderr: list[str]


@contextmanager
def runs(*arguments: Any, programs: int = 1, script: str = SCRIPT, code: int = 67) -> Iterator[Run]:
    with true.facts_program() as one, true.facts_program() as other:
        targets = [one, other][:programs]
        start = true.wall_now()
        pids = ",".join(str(program.pid) for program in targets)
        with started(pids, "-e", script, "--hits", 0, "--budget", "off", *arguments) as tracer:
            waited(lambda: any("Ctrl-C to end" in line for line in tracer.stderr), "the banner")
            facts = tuple(true.called(program) for program in targets)
            tracer.process.send_signal(signal.SIGINT)
            assert tracer.wait() == code, tracer.stderr
            yield Run(facts, start, true.wall_now(), tracer.stdout, tracer.stderr)


def timed_lines(facts: Facts, first: Line) -> list[Line]:
    """The lines with a time, in order. The event thread shows a map with a delay, so the script asks for it in the last
    call."""
    lines: list[Line] = []
    for call in facts.calls:
        head = {**first, "ts": call.time, "probe": "entry", "tid": facts.tid, "thread": THREAD}
        lines += [
            {**head, "type": "printf", "data": f"entry abc {call.number}"},
            {**head, "type": "warn", "data": f"low {call.number}"},
            {**head, "type": "event", "name": "step", "data": true.step_values(facts, call)},
        ]
        if call.number == 22:
            lines += shown_at_22(call, first)
        if call.number == 21:
            lines += shown_at_21(facts, call, first)
        if call.refused:
            lines.append(
                {**head, "type": "event", "probe": "thrown", "name": "refused", "data": true.refused_values(call)}
            )
    return lines


def shown_at_22(call: Call, first: Line) -> list[Line]:
    numbers = range(CALLS)
    evens = sum(number * true.BIG for number in numbers if number % 2 == 0)
    return [
        {
            **first,
            "type": "map",
            "ts": call.time,
            "data": {"@count": {"0": len(numbers[0::3]), "1": len(numbers[1::3])}},
            "hidden": 1,
        },
        {
            **first,
            "type": "table",
            "ts": call.time,
            "data": {"0": {"@count": len(numbers[0::3]), "@big": evens}},
            "hidden": 2,
        },
    ]


def shown_at_21(facts: Facts, call: Call, first: Line) -> list[Line]:
    """Each line shows one key. The maps with room for two keys had no room for samples of the third key."""
    full = sum(number % 3 == 2 for number in SAMPLED)
    head = {**first, "ts": call.time}
    weighed = {**head, "estimated": "2", "hidden": 1, "full": full}
    (zero,) = (content for content in [[n for n in SAMPLED if n % 3 == 0]])
    big = [number * true.BIG for number in zero]
    return [
        {**weighed, "type": "map", "data": {"@hsum": {"0": 2 * sum(big)}}},
        {
            **weighed,
            "type": "hist",
            "data": {"@hhist": {"0": Buckets(big, 2)}},
            "percentiles": {"@hhist": {"0": true.percentiles(big, 2)}},
        },
        {**weighed, "type": "stats", "data": {"@hstats": {"0": true.figures(big, 2)}}},
        {
            **head,
            "type": "tseries",
            "estimated": "2",
            "hidden": 2,
            "data": {"@hser": {"0": true.series(zero, facts.calls[0].before, facts.calls[-1].after)}},
        },
        {**weighed, "type": "topk", "data": {"@htop": {"0": true.top([n % 5 for n in zero], 2)}}},
        {
            **head,
            "type": "sample_of",
            "hidden": 2,
            "data": {"@hsome": {"0": {"count": len(zero), "values": true.Same(zero)}}},
        },
    ]


def final_maps(facts: Facts, rated: int) -> dict[str, Line]:
    """The lines of the maps at the end, by name. They have no time."""
    big = true.keyed(SAMPLED, lambda numbers: [number * true.BIG for number in numbers], keys=2)
    full = {"estimated": "2", "full": sum(number % 3 == 2 for number in SAMPLED)}
    sums = [sum(n * true.BIG for n in range(CALLS) if n % 2 == parity) for parity in (0, 1)]
    times = facts.calls[0].before, facts.calls[-1].after
    inner, outer = sum(call.inner for call in facts.calls), sum(call.outer for call in facts.calls)
    took = {
        "count": CALLS,
        "average": Between(inner / CALLS, outer / CALLS),
        "total": Between(inner, outer),
        "min": Between(min(call.inner for call in facts.calls), min(call.outer for call in facts.calls)),
        "max": Between(max(call.inner for call in facts.calls), facts.slowest),
    }
    return {
        "@count": {"type": "map", "data": {"@count": true.keyed(range(CALLS), len)}},
        "@big": {"type": "map", "data": {"@big": {"0": sums[0], "1": sums[1]}}},
        "@stacks": {"type": "map", "data": {"@stacks": {f"    Facts.step:{true.step_line()}": CALLS}}},
        "@few": {"type": "map", "data": {"@few": {"0": 1}}, "full": CALLS - 1},
        "@took": {"type": "stats", "data": {"@took": took}},
        "@hsum": {"type": "map", "data": {"@hsum": {key: 2 * sum(values) for key, values in big.items()}}, **full},
        "@hhist": {
            "type": "hist",
            "data": {"@hhist": {key: Buckets(values, 2) for key, values in big.items()}},
            "percentiles": {"@hhist": {key: true.percentiles(values, 2) for key, values in big.items()}},
            **full,
        },
        "@hstats": {
            "type": "stats",
            "data": {"@hstats": {key: true.figures(values, 2) for key, values in big.items()}},
            **full,
        },
        "@hser": {
            "type": "tseries",
            "data": {"@hser": true.keyed(SAMPLED, lambda numbers: true.series(numbers, *times))},
            "estimated": "2",
        },
        "@htop": {
            "type": "topk",
            "data": {"@htop": true.keyed(SAMPLED, lambda numbers: true.top([n % 5 for n in numbers], 2), keys=2)},
            **full,
        },
        "@hsome": {
            "type": "sample_of",
            "data": {"@hsome": true.keyed(SAMPLED, lambda n: {"count": len(n), "values": true.Same(n)})},
        },
        "@rated": {"type": "map", "data": {"@rated": rated}},
    }


def other_lines(first: Line) -> list[Line]:
    line, column = true.script_place("arg1 / (arg1 - arg1)")
    third = sum(number % 3 == 2 for number in SAMPLED)
    return [
        {**first, "type": "attached_probes", "count": 7, "data": {"probes": 7, "methods": 1, "classes": 1}},
        {
            **first,
            "type": "probe_error",
            "kind": "div-zero",
            "probe": "thrown",
            "file": "<command line>",
            "line": line,
            "column": column,
            "count": len(REFUSED),
            "message": "java.lang.ArithmeticException: / by zero",
        },
        {**first, "type": "lost", "cause": "map", "probe": "entry", "count": CALLS - 1},
        {**first, "type": "lost", "cause": "map", "probe": "sampled", "count": 4 * third},
        {**first, "type": "lost", "cause": "speculation", "probe": "held", "count": CALLS - len(REFUSED)},
    ]


def account(facts: Facts, probe: str, firings: int, **members: Any) -> Line:
    """The account of a probe. A firing takes less time than the call of the traced method that contains it."""
    return {
        "probe": probe,
        "hits": firings,
        "fired": firings,
        "skipped": 0,
        "limited": 0,
        "errors": 0,
        "produced": 0,
        "delivered": 0,
        "dropped": {"ring": 0, "large": 0, "stalled": 0},
        "timed": Between(0, firings),
        "ns": Between(0, facts.slowest),
        "ns_error": Between(0, facts.slowest),
        "p99_ns": Between(0, facts.slowest * 1.2),
        "cpu_ns": Between(0, facts.slowest * firings),
        **members,
    }


def end_line(facts: Facts, first: Line, rated: int) -> Line:
    returns, failures = CALLS - len(REFUSED), len(REFUSED)
    account_of_limited = account(facts, "limited", rated, hits=CALLS, limited=CALLS - rated)
    return {
        **first,
        "type": "end",
        "reason": "interrupt",
        "produced": 3 * CALLS + failures + returns,
        "delivered": 3 * CALLS + failures,
        "dropped": returns,
        "restored": 1,
        "woven": 1,
        "probes": [
            account(facts, "entry", CALLS, produced=3 * CALLS, delivered=3 * CALLS),
            account(facts, "thrown", failures, errors=failures, produced=failures, delivered=failures),
            account(facts, "timed", CALLS),
            account(facts, "held", returns, produced=returns),
            account(facts, "sampled", len(SAMPLED), hits=CALLS, skipped=CALLS - len(SAMPLED)),
            account_of_limited,
            account(facts, "finish", 1, timed=0),
        ],
    }


def summed(lines: Sequence[Line]) -> list[Line]:
    """Combines reports that differ only in their count, and adds the counts."""
    sums: dict[str, Line] = {}
    for line in lines:
        key = json.dumps({name: value for name, value in line.items() if name != "count"})
        sums[key] = {**line, "count": sums[key]["count"] + line["count"]} if key in sums else line
    return list(sums.values())


def rated_of(lines: Sequence[Line]) -> int:
    """The number of firings of the probe with a limit, as its map counts them: at most one for each second, and one
    more at the beginning.
    """
    (rated,) = [line["data"]["@rated"] for line in lines if "@rated" in line.get("data", ())]
    return int(rated)


def compare(line: Line, expected: Line) -> None:
    """Compares a line with ``expected``, after adding the line's figures about skipped hits to ``expected``."""
    fields = ("skips", "intervals", "estimated") if line["type"] == "sample_of" else ("skips", "intervals")
    estimates = {name: line[name] for name in fields if name in line}
    assert {name: value for name, value in line.items() if name not in estimates} == expected
    for name, skips in estimates.get("skips", {}).items():
        assert name.removeprefix("@") in WITH_KEYS, "the other probes look at every hit"
        assert skips["factor"] == 2, "one of two is sampled"
        assert 0 < skips["skipped"] <= CALLS - len(SAMPLED)
        if "ts" not in line:
            assert skips["skipped"] == CALLS - len(SAMPLED), "at the end all is known"
    for name, intervals in estimates.get("intervals", {}).items():
        for key, interval in intervals.items():
            check_intervals(interval, line["data"][name][key])
    expected.update(estimates)


def check_intervals(interval: Any, figure: Any) -> None:
    """Checks that the shown figure lies between its bounds, if it has bounds."""
    if isinstance(interval, dict):
        for name, bounds in interval.items():
            if isinstance(figure, dict) and isinstance(figure.get(name), int | float):
                check_intervals(bounds, figure[name])
    elif isinstance(figure, int | float):
        low, high = interval
        assert low is None or low <= figure
        assert high is None or figure <= high


def check_lines(lines: Sequence[Line], facts: Facts, pid: int | None = None) -> list[Line]:
    """Compares each line; returns the expected lines."""
    first: Line = {"v": 1} if pid is None else {"v": 1, "pid": pid}
    rated = rated_of(lines) if pid is None else None
    timed = [line for line in lines if "ts" in line]
    expected = timed_lines(facts, first)
    for line, expected_line in zip(timed, expected, strict=True):
        compare(line, expected_line)
    kinds = ["attached_probes", "probe_error", "lost"]
    others = summed([line for line in lines if line["type"] in kinds])
    others.sort(key=lambda line: (kinds.index(line["type"]), line.get("cause", ""), line.get("probe", "")))
    for line, expected_line in zip(others, other_lines(first), strict=True):
        assert line == expected_line
    expected += other_lines(first)
    if rated is not None:
        assert 1 <= rated <= CALLS
        maps = {next(iter(line["data"])): line for line in lines if "ts" not in line and line["type"] in MAPS}
        final = {name: {**first, **line} for name, line in final_maps(facts, rated).items()}
        assert list(maps) == list(final)
        for name, line in final.items():
            compare(maps[name], line)
        assert lines[-1] == end_line(facts, first, rated)
        expected += [*final.values(), end_line(facts, first, rated)]
    return expected


MAPS = ("map", "hist", "stats", "tseries", "topk", "sample_of")


@pytest.fixture(scope="module")
def recorded_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The lines of a run, and the path of its recording."""
    directory = tmp_path_factory.mktemp("facts")
    with runs("-f", "ndjson", "-o", directory / "run.ndjson", "--record", directory / "run.btz") as run:
        return replace(run, stdout=[str(directory)])


def lines_of(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def expected_lines(recorded_run: Run) -> list[Line]:
    return check_lines(lines_of(Path(recorded_run.stdout[0]) / "run.ndjson"), recorded_run.facts[0])


def test_ndjson(recorded_run: Run, expected_lines: list[Line]) -> None:
    (facts,) = recorded_run.facts
    assert recorded_run.begun - true.SLACK_MS <= facts.calls[0].before
    assert facts.calls[-1].after <= recorded_run.ended + true.SLACK_MS
    assert {line["type"] for line in expected_lines} == SCHEMA["$defs"].keys() & {
        line["type"] for line in expected_lines
    }


def test_replay(recorded_run: Run) -> None:
    answer = replay(Path(recorded_run.stdout[0]) / "run.btz", "-f", "ndjson", "-q")
    check_lines([json.loads(line) for line in answer.stdout.splitlines()], recorded_run.facts[0])


def test_json() -> None:
    with runs("-f", "json") as run:
        check_lines(json.loads("\n".join(run.stdout)), run.facts[0])


@pytest.fixture(scope="module")
def lines_of_two() -> list[Line]:
    """The expected lines of two targets at once; each line with a time names its target."""
    expected: list[Line] = []
    with runs("-f", "ndjson", programs=2) as run:
        lines = [json.loads(line) for line in run.stdout]
        for facts in run.facts:
            target_lines = [line for line in lines if line.get("pid") == facts.pid]
            expected += check_lines([line for line in target_lines if line["type"] != "end"], facts, facts.pid)
            (end,) = [line for line in target_lines if line["type"] == "end"]
            rated = next(probe["fired"] for probe in end["probes"] if probe["probe"] == "limited")
            assert end == end_line(facts, {"v": 1, "pid": facts.pid}, rated)
            expected.append(end)
    return expected


def test_two_targets(lines_of_two: list[Line]) -> None:
    assert len({line["pid"] for line in lines_of_two}) == 2


def line_of(text: str) -> int:
    """The thread of the traced program."""
    lines = (JAVA / "Facts.java").read_text().splitlines()
    return next(at for at, line in enumerate(lines, 1) if text in line)


@pytest.fixture(scope="module")
def tree_line() -> Line:
    """The expected tree of one call, in which ``sleep`` takes nearly all of the program's inner time."""
    start = true.wall_now()
    with true.facts_program() as program, asked("trace", program, "Facts::step", "--json", "-n", "1") as tracer:
        facts = true.called(program, 1)
        assert tracer.wait() == 0, tracer.stderr
        (line,) = [line for line in map(json.loads, tracer.stdout) if line["type"] == "tree"]
    (call,) = facts.calls
    calls: list[Line] = [
        {"class": class_name, "method": method, "line": line_of(text), "failed": None, "calls": []}
        for class_name, method, text in (
            ("java.lang.System", "nanoTime", "long begun = System.nanoTime()"),
            ("java.lang.Thread", "sleep", "Thread.sleep(1)"),
            ("java.lang.System", "nanoTime", "inside = new"),
            ("java.lang.String", "length", "name.length()"),
        )
    ]
    assert len(line["data"]["calls"]) == len(calls), line
    times = [{"took": call["took"], "own": call["own"]} for call in line["data"]["calls"]]
    assert all(time["took"] == time["own"] for time in times)
    assert 1_000_000 <= times[1]["took"] <= call.outer
    expected = {
        "v": 1,
        "type": "tree",
        "ts": Moment(start, true.wall_now()),
        "probe": "root",
        "tid": facts.tid,
        "thread": THREAD,
        "data": {
            "class": "Facts",
            "method": "step",
            "line": None,
            "took": call.duration,
            "own": line["data"]["took"] - sum(time["took"] for time in times),
            "failed": None,
            "calls": [{**call_, **time} for call_, time in zip(calls, times, strict=True)],
        },
    }
    assert line == expected
    assert call.time == line["ts"]
    return expected


def test_tree(tree_line: Line) -> None:
    assert tree_line["data"]["class"] == "Facts"


@pytest.fixture(scope="module")
def cut_line() -> Line:
    """An event with a text that is longer than the limit of capture."""
    script = 'config { string_length = 9; } Facts::step @throw { emit("long", message=message(exception)); }'
    with runs("-f", "ndjson", script=script, code=0) as run:
        lines = [line for line in map(json.loads, run.stdout) if line["type"] == "event"]
    for line, number in zip(lines, REFUSED, strict=True):
        text = f"refused {number}"
        assert line["data"] == {"message": text[:9]}
        assert line.get("cut", {}) == ({"message": len(text)} if len(text) > 9 else {})
    return {"type": "event", "cut": lines[-1]["cut"]}


def tables(facts: Facts, rated: int) -> dict[str, tuple[list[str], list[list[Any]]]]:
    """The columns and rows of each file, by its name."""
    head = ["ts", "probe", "tid", "thread"]
    last, print_time = facts.calls[-1].time, facts.calls[21].time
    final = final_maps(facts, rated)
    values = {name: next(iter(line["data"].values())) for name, line in final.items()}
    zero = {name: values[f"@{name}"]["0"] for name in WITH_KEYS}
    counts, sums = values["@count"], values["@big"]

    def rows(name: str, cells: Any) -> list[list[Any]]:
        """The rows of a map that was printed with one key, and again with all keys at the end."""
        first = [[print_time, 0, *row] for row in cells(zero[name])]
        return first + [[None, int(key), *row] for key, value in values[f"@{name}"].items() for row in cells(value)]

    def distribution(numbers: Sequence[int]) -> list[list[Any]]:
        figures = true.percentiles([number * true.BIG for number in numbers], 2)
        estimates = [figures[name]["value"] for name in ("p50", "p90", "p99")]
        return [[figures["count"], figures["average"], figures["min"], figures["max"], *estimates]]

    numbers = true.keyed(SAMPLED, list, keys=2)
    hists = [[print_time, 0, *distribution(numbers["0"])[0]]]
    hists += [[None, int(key), *distribution(of_key)[0]] for key, of_key in numbers.items()]
    sampled = true.keyed(SAMPLED, sorted)
    hours = [Moment(facts.calls[0].before - hour * 3_600_000, facts.calls[-1].after) for hour in (3, 2, 1)]
    totals = {key: 2 * sum(of_key) for key, of_key in sampled.items()}
    some = [[print_time, 0, number] for number in sampled["0"]]
    some += [[None, int(key), number] for key, of_key in sampled.items() for number in of_key]
    series = [[print_time, 0, hour, Between(0, totals["0"])] for hour in hours]
    series += [[None, int(key), hour, Between(0, total)] for key, total in totals.items() for hour in hours]
    took = [values["@took"][name] for name in ("count", "average", "total", "min", "max")]
    figures_ = ["count", "average", "total", "min", "max"]
    return {
        "step": (
            [*head, *("tid_2" if name == "tid" else name for name in true.step_values(facts, facts.calls[0]))],
            [[call.time, "entry", facts.tid, THREAD, *true.step_values(facts, call).values()] for call in facts.calls],
        ),
        "refused": (
            [*head, "message", "took"],
            [
                [call.time, "thrown", facts.tid, THREAD, *true.refused_values(call).values()]
                for call in facts.calls
                if call.refused
            ],
        ),
        "print": (
            [*head, "text"],
            [[call.time, "entry", facts.tid, THREAD, f"entry abc {call.number}"] for call in facts.calls],
        ),
        "@count": (
            ["ts", "key", "count"],
            [[last, 0, counts["0"]], [last, 1, counts["1"]]]
            + [[time, int(key), count] for time in (last, None) for key, count in counts.items()],
        ),
        "@big": (
            ["ts", "key", "sum"],
            [[time, int(key), total] for time in (last, None) for key, total in sums.items()],
        ),
        "@stacks": (["key", "count"], [[[f"Facts.step:{true.step_line()}"], CALLS]]),
        "@few": (["key", "count"], [[0, 1]]),
        "@took": (figures_, [took]),
        "@hsum": (["ts", "key", "sum"], rows("hsum", lambda total: [[total]])),
        "@hhist": (["ts", "key", "count", "average", "min", "max", "p50", "p90", "p99"], hists),
        "@hstats": (["ts", "key", *figures_], rows("hstats", lambda figures: [list(figures.values())])),
        "@hser": (["ts", "key", "start", "value"], series),
        "@htop": (
            ["ts", "key", "value", "count", "error"],
            rows("htop", lambda top: [list(row.values()) for row in top["values"]]),
        ),
        "@hsome": (["ts", "key", "value"], some),
        "@rated": (["count"], [[rated]]),
    }


def cell(text: str, expected: Any, *, null: str) -> Any:
    """The value of a text cell, read with the expected type."""
    if text == null:
        return None
    if isinstance(expected, bool):
        return {"true": True, "false": False}[text]
    if isinstance(expected, int | float | Between):
        return float(text) if "." in text else int(text)
    if isinstance(expected, list):
        return text.split(";")
    return int(text) if isinstance(expected, Moment) and text.isdecimal() else text


def check_skipped(
    name: str, header: list[str], columns: list[str], rows: list[list[Any]], null: str | None
) -> list[list[Any]]:
    """Compares the columns about skipped hits; returns the rows without them."""
    extra = ["skipped", "low", "high"]
    assert [column for column in header if column not in extra] == columns
    assert header[-3:] == extra
    for row in rows:
        skips = None if row[-3] in (null, None) else int(row[-3])
        if name.removeprefix("@") in WITH_KEYS:
            assert skips is not None
            assert 0 < skips <= CALLS - len(SAMPLED)
        else:
            assert skips in (None, 0)
    return [row[:-3] for row in rows]


def check_tables(facts: Facts, tables_by_name: dict[str, tuple[list[str], list[list[Any]]]], null: str | None) -> None:
    """``null``: the text of null; None if the cells are values."""
    rated = int(tables_by_name["@rated"][1][0][0])
    expected = tables(facts, rated)
    assert tables_by_name.keys() == expected.keys()
    for name, (columns, rows) in expected.items():
        shown_columns, cells = tables_by_name[name]
        if shown_columns != columns:
            cells = check_skipped(name, shown_columns, columns, cells, null)
        if name == "@hsome":  # in any order
            cells = sorted(cells, key=lambda row: (not row[0], row[0] or "", int(row[1]), int(row[2])))
            cells = [row for row in cells if row[0] not in (null, None)] + [
                row for row in cells if row[0] in (null, None)
            ]
        for row, expected_row in zip(cells, rows, strict=True):
            if null is not None:
                row = [cell(text, value, null=null) for text, value in zip(row, expected_row, strict=True)]
            assert row == expected_row, name


@pytest.mark.parametrize(("format_", "null"), [("csv", ""), ("tsv", "\\N")])
def test_separated(tmp_path: Path, format_: str, null: str) -> None:
    with runs("-f", format_, "-o", f"{tmp_path}/out/") as run:
        results = {}
        for path in (tmp_path / "out").iterdir():
            with path.open(newline="") as file:
                columns, *rows = csv.reader(file, csv.excel if format_ == "csv" else csv.excel_tab)
            results[path.stem] = columns, rows
        check_tables(run.facts[0], results, null)


def test_logfmt() -> None:
    with runs("-f", "logfmt") as run:
        warned = 0
        rows: dict[str, list[dict[str, str]]] = {}
        for line in run.stdout:
            pairs = {key: "" if value is None else value for key, value in pairs_of(line)}
            warned += pairs.get("level") == "warn"
            if "level" not in pairs:
                rows.setdefault(pairs.get("map") or pairs.pop("event", "print"), []).append(pairs)
        assert warned == CALLS
        lines_by_type = {}
        for name, of_name in rows.items():
            columns = ["time"] if any("time" in row for row in of_name) else []
            columns += [key for key in of_name[-1] if key not in ("time", "map", "skipped", "low", "high")]
            columns += ["skipped", "low", "high"] if name.startswith("@") else []
            header = [{"time": "ts", "msg": "text", "pid_2": "pid"}.get(column, column) for column in columns]
            lines_by_type[name] = header, [[row.get(column, "") for column in columns] for row in of_name]
        check_tables(run.facts[0], lines_by_type, "")


@pytest.mark.parametrize("format_", ["parquet", "arrow"])
def test_arrow(tmp_path: Path, format_: str) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    with runs("-f", format_, "-o", f"{tmp_path}/out/") as run:
        results = {}
        for path in (tmp_path / "out").iterdir():
            table = parquet.read_table(path) if format_ == "parquet" else arrow.ipc.open_file(path).read_all()
            columns = []
            for column in table.columns:
                if arrow.types.is_timestamp(column.type):
                    assert (column.type.unit, column.type.tz) == ("ns", "UTC")
                if arrow.types.is_timestamp(column.type) or arrow.types.is_duration(column.type):
                    column = column.cast("int64")
                columns.append(column.to_pylist())
            results[path.stem] = table.column_names, [list(row) for row in zip(*columns, strict=True)]
        check_tables(run.facts[0], results, None)


def test_folded() -> None:
    with runs("-f", "folded") as run:
        assert sorted(run.stdout) == [f"@stacks;Facts.step {CALLS}", f"step;Facts.step {CALLS}"]


def test_flame(tmp_path: Path) -> None:
    with runs("-f", "flame", "-o", tmp_path / "run.html"):
        page = (tmp_path / "run.html").read_text()
    weights = re.findall(r'\["(@stacks|step|Facts\.step)",(\d+)', page)
    assert sorted(weights) == sorted([("@stacks", "23"), ("Facts.step", "23"), ("step", "23"), ("Facts.step", "23")])


def test_jfr_of_two_targets(tmp_path: Path) -> None:
    file = tmp_path / "run.jfr"
    with runs("-o", file, programs=2) as run:
        events = [event for chunk in jfr_chunks(file.read_bytes()) for event in chunk.events]
    for facts in run.facts:
        values_by_name: dict[str, list[Line]] = {}
        for event in events:
            if event.values.get("pid") == facts.pid:
                values_by_name.setdefault(event.type.name, []).append(event.values)
        steps = values_by_name["btpy.event.step"]
        for values, call in zip(steps, facts.calls, strict=True):
            expected = true.step_values(facts, call)
            assert {expected.pop("at")[0]} == {jfr_frame(frame) for frame in values["stackTrace"]["frames"]}
            assert (values["eventThread"]["javaName"], values["eventThread"]["javaThreadId"]) == (THREAD, facts.tid)
            renamed = {"pid": "pid_2"}
            assert {name: values[renamed.get(name, name)] for name in expected} == expected
        calls = [call for call in facts.calls if call.refused]
        for values, call in zip(values_by_name["btpy.event.refused"], calls, strict=True):
            assert values["took"] == values["duration"] == call.duration
            assert values["message"] == f"refused {call.number}"
        assert [values["text"] for values in values_by_name["btpy.Print"]] == [f"entry abc {n}" for n in range(CALLS)]
        assert [values["text"] for values in values_by_name["btpy.Warning"]] == [f"low {n}" for n in range(CALLS)]
        rows = [(values["key1"], values["count"]) for values in values_by_name["btpy.map.count"]]
        of_key = [(key, len(range(key, CALLS, 3))) for key in range(3)]
        assert rows == of_key[:2] + of_key  # print(@count, top=2), and table(…)
        counts = {values["probe"]: values for values in values_by_name["btpy.ProbeCounts"]}
        assert counts["entry"]["produced"] == counts["entry"]["delivered"] >= 3 * CALLS
    for chunk in jfr_chunks(file.read_bytes()):
        assert run.begun - true.SLACK_MS <= chunk.start_nanos / 1e6 <= run.ended


def jfr_frame(frame: Line) -> str:
    return f"{frame['method']['type']['name']}.{frame['method']['name']}:{frame['lineNumber']}"


def test_chrome() -> None:
    with runs("-f", "chrome") as run:
        (facts,) = run.facts
        process, thread, *rest = json.loads("\n".join(run.stdout))
    assert process == {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "btpy"}}
    assert thread == {"name": "thread_name", "ph": "M", "pid": 1, "tid": facts.tid, "args": {"name": THREAD}}
    # Times are in microseconds since the run began. The run began before the first call and after this process started
    # it.
    start = facts.calls[0].before - rest[0]["ts"] / 1000
    assert run.begun - true.SLACK_MS <= start <= facts.calls[0].after + true.SLACK_MS

    def at(call: Call) -> Between:
        return Between(
            (call.before - start - true.SLACK_MS) * 1000,
            (call.after - start + true.SLACK_MS) * 1000,
        )

    expected: list[Line] = []
    for line in timed_lines(facts, {}):
        if line["type"] in ("warn", "table"):
            continue
        call = next(call for call in facts.calls if call.before == line["ts"].least and call.after == line["ts"].most)
        head = {"name": line.get("name", line.get("probe")), "cat": line.get("probe"), "pid": 1, "tid": facts.tid}
        if line["type"] == "printf":
            expected.append({**head, "args": {"text": line["data"]}, "ph": "i", "s": "t", "ts": at(call)})
        elif line.get("name") == "step":
            expected.append({**head, "args": line["data"], "ph": "i", "s": "t", "ts": at(call)})
        elif line.get("name") == "refused":
            expected.append({**head, "args": line["data"], "ph": "X", "ts": at(call), "dur": in_us(call)})
    estimates = [event for event in rest if event.get("s") == "g"]
    assert {event["name"].partition(":")[0].removeprefix("@") for event in estimates} == {*WITH_KEYS}
    assert all(event["args"]["factor"] == 2 and event["args"]["skipped"] <= CALLS for event in estimates)
    slices = [event for event in rest if event["ph"] != "C" and event not in estimates]
    for event, expected_event in zip(slices, expected, strict=True):
        assert event == expected_event

    final = final_maps(facts, next(e["args"]["@rated"] for e in rest if e["name"] == "@rated"))
    counters = [event for event in rest if event["ph"] == "C"]
    assert all(
        event == {"name": event["name"], "ph": "C", "ts": at(moment_of(event, facts)), "pid": 1, "args": event["args"]}
        for event in counters
    )
    assert len(counters) == 3 + len(WITH_KEYS) + len(final)
    last = {event["name"]: event["args"] for event in counters}
    assert last["@count"] == final["@count"]["data"]["@count"]
    assert last["@big"] == final["@big"]["data"]["@big"]
    assert last["@took"] == {"@took": final["@took"]["data"]["@took"]["total"]}
    assert last["@hsum"] == final["@hsum"]["data"]["@hsum"]
    assert last["@hsome"] == true.keyed(SAMPLED, len)


def in_us(call: Call) -> Between:
    return Between(call.inner / 1000, call.outer / 1000 + 50)


def moment_of(event: Line, facts: Facts) -> Call:
    """Maps were shown in the last two calls, and at the end at the time of the last record."""
    return replace(facts.calls[-1], before=facts.calls[-2].before)


def test_text() -> None:
    with runs("--color", "never") as run:
        (facts,) = run.facts
        text = iter(run.stdout)
    for call in facts.calls:
        assert next(text) == f"entry abc {call.number}"
        line = next(text)
        values = true.step_values(facts, call) | {"name": f'"{THREAD}"', "odd": str(call.number % 2 == 1).lower()}
        (frame,) = values.pop("at")
        now = re.search(r" now=(\d+) ", line)
        assert now is not None
        assert call.time == int(now[1])
        pairs = " ".join(f"{name}={value}" for name, value in (values | {"now": now[1], "none": "null"}).items())
        assert line == f"step {pairs}"
        assert [next(text), next(text)] == ["  at:", f"    {frame}"]
        if call.number in (21, 22):
            assert next(text).startswith("@hsum[0]  " if call.number == 21 else "@count[0]  8")
            text = skipped(text) if call.number == 21 else text
        if call.refused:
            took = re.fullmatch(rf'refused message="refused {call.number}" took=([\d.]+)(us|ms|s)', next(text))
            assert took is not None
            shown_ns = float(took[1]) * {"us": 1e3, "ms": 1e6, "s": 1e9}[took[2]]
            assert Between(call.inner * 0.99, call.outer * 1.01) == shown_ns
    final = list(text)
    big = [sum(number * true.BIG for number in range(CALLS) if number % 2 == parity) for parity in (0, 1)]
    for line in ("@count[2]  7", f"@big[0]  {big[0]}", f"@big[1]  {big[1]}", f"]  {CALLS}", "@few[0]  1"):
        assert line in final
    assert f"    Facts.step:{true.step_line()}" in final
    sums = true.keyed(SAMPLED, lambda numbers: 2 * sum(number * true.BIG for number in numbers), keys=2)
    for key, total in sums.items():
        assert f"@hsum[{key}]  ≈{total}" in final


def skipped(text: Iterator[str]) -> Iterator[str]:
    """Leaves out the lines of the maps that one call printed."""
    for line in text:
        if line.startswith("entry "):
            yield line
            yield from text


def test_python() -> None:
    start = true.wall_now()
    with true.facts_program() as program, btpy.attach(program.pid) as session:
        session.add(SCRIPT)
        facts = true.called(program)
        session.refresh()
        results = list(session.events(timeout=1))
    end = true.wall_now()
    expected = timed_lines(facts, {})
    kinds = {"printf": "print", "table": "map", **dict.fromkeys(MAPS, "map")}
    for event, line in zip(results, expected, strict=True):
        kind = kinds.get(line["type"], line["type"])
        assert (event.kind, event.pid) == (kind, facts.pid)
        assert line["ts"] == event.nanos
        assert line["ts"] == event.time
        assert Moment(start, end) == event.time
        if kind == "map":
            assert (event.tid, event.thread, event.location) == (0, "", None)
            data = dict(line["data"]) if line["type"] != "table" else {"@count": 0, "@big": 0}
            assert list(event.values) == list(data)
            continue
        assert (event.probe, event.tid, event.thread) == (line["probe"], facts.tid, THREAD)
        assert event.name == line.get("name", "")
        location = event.location
        assert location is not None
        assert (location.class_name, location.method, location.descriptor) == (
            "Facts",
            "step",
            "(Ljava/lang/String;J)J",
        )
        if line["type"] == "event":
            assert dict(event.values) == line["data"]
        else:
            assert event.text == line["data"]
    counts = {key: len(range(key, CALLS, 3)) for key in range(3)}
    assert dict(session.maps["@count"].items()) == counts
    (entry,) = [probe for probe in session.probes.values() if probe.name == "entry"]
    assert (entry.hits, entry.fired, entry.errors) == (CALLS, CALLS, 0)


@pytest.fixture(scope="module")
def omitting_lines() -> list[Line]:
    """For each kind of map with its own line, the line of a map that was full. The message had no room for seven keys
    of the map.
    """
    lines = []
    for kind in (MapKind.COUNT, MapKind.HIST, MapKind.STATS, MapKind.TSERIES, MapKind.TOPK, MapKind.SAMPLE_OF):
        with captured() as (stream, output):
            NdjsonWriter(stream, context()).map(replace(contents(kind), omitted=7, full=3), None, None)
            line = json.loads(output())
        assert (line["omitted"], line["full"]) == (7, 3)
        lines.append({"type": line["type"], "omitted": 7, "full": 3})
    return lines


@pytest.fixture(scope="module")
def budget_lines() -> list[Line]:
    """The lines about a probe that takes far more than its share of a core."""
    share = 0.0001
    script = "Counted::step @entry as hot { @n[arg0, arg1] = count(); print(arg1); }"
    with counted(17) as program, tracing(program.pid, "-e", script, "--hits", "0", "--budget", "0.01%") as tracer:
        program.send("forever")
        tracer.wait_for("budget")
        tracer.stop()
    steps = tracer.of("budget")
    for line in steps:
        sampled = Between(2, 1 << 40) if line["step"] == "sampled" else 0
        expected = {"v": 1, "type": "budget", "probe": "hot", "step": line["step"], "one_in": sampled}
        bounds = Between(share, 64) if line["step"] in ("prints-less", "sampled", "disabled") else Between(0, 64)
        assert line == {**expected, "taken": bounds, "allowed": share}
    (end,) = tracer.of("end")
    (hot,) = end["probes"]
    losses = sum(line["count"] for line in tracer.of("lost") if line["cause"] == "budget")
    prints = len(tracer.of("printf"))
    harder = sum(line["step"] != "free" for line in steps)
    restrained = {"delivered": prints, "dropped": {**hot["dropped"], "budget": losses}, "restraints": harder}
    assert hot.get("dropped", {}).get("budget", 0) == losses
    assert hot["delivered"] == prints
    assert hot["produced"] == prints + sum(hot["dropped"].values())
    assert hot["restraints"] >= harder >= 1
    return [*steps, {"type": "end", "probes": [restrained]}]


def fields(schema: Line, path: str) -> set[str]:
    """All members of a definition of the schema, without those of referenced definitions."""
    names: set[str] = set()
    for name, member in schema.get("properties", {}).items():
        names |= {f"{path}.{name}"} | fields(member, f"{path}.{name}")
    for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), schema.get("items"), more(schema)):
        names |= fields(part, path) if part else set()
    return names


def more(schema: Line) -> Line:
    members = schema.get("additionalProperties")
    return members if isinstance(members, dict) else {}


def compared(schema: Line, expected: Any, path: str) -> set[str]:
    """The members of the schema for which ``expected`` has a compared value."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return compared(SCHEMA["$defs"][name], expected, name)
    names: set[str] = set()
    if isinstance(expected, dict):
        members = schema.get("properties", {})
        for name, value in expected.items():
            if name in members:
                names |= {f"{path}.{name}"} | compared(members[name], value, f"{path}.{name}")
            else:
                names |= compared(more(schema), value, path)
    if isinstance(expected, list | Buckets):
        for item in [{"min": 0, "max": 0, "count": 0}] if isinstance(expected, Buckets) else expected:
            names |= compared(schema.get("items", {}), item, path)
    for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        names |= compared(part, expected, path)
    return names


def test_every_field_of_the_schema_is_compared(
    expected_lines: list[Line],
    lines_of_two: list[Line],
    tree_line: Line,
    omitting_lines: list[Line],
    budget_lines: list[Line],
    cut_line: Line,
) -> None:
    """A field that is added to the schema needs an expected value in one of the lines above."""
    lines = [*expected_lines, *lines_of_two, tree_line, *omitting_lines, *budget_lines, cut_line]
    assert {line["type"] for line in lines} == {kind["$ref"].rpartition("/")[2] for kind in SCHEMA["oneOf"]}
    names = set().union(*[compared({"$ref": f"#/$defs/{line['type']}"}, line, "") for line in lines])
    every = set().union(*[fields(schema, name) for name, schema in SCHEMA["$defs"].items()])
    # In these runs no probe rests, and no map of a sampled probe is joined; tests/live/test_budget.py has such runs.
    # tests/live/test_carried.py has runs with a context.
    elsewhere = {"account.rested_ns", "table.estimated", "table.intervals", "table.skips"}
    elsewhere |= {"printf.context", "warn.context"}
    elsewhere |= {"hist.exemplars"}  # tests/live/test_exemplars.py
    # tests/cli/test_trace_verb.py has calls that hand tasks over.
    elsewhere |= {"call.tasks", *fields(SCHEMA["$defs"]["task"], "task")}
    # tests/cli/test_hosts.py has a run on several hosts. btpy trace, which writes trees, works on one JVM.
    kinds = {kind["$ref"].rpartition("/")[2] for kind in SCHEMA["oneOf"]}
    elsewhere |= {f"{kind}.host" for kind in kinds - {"tree"}} | {"budget.pid"}
    assert every - names == elsewhere
