"""``--until``, ``--max-methods``, ``--utc``: flags that limit a run or control its output."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from btpy.api.stop_condition import StopCondition
from btpy.errors import ScriptError, UsageError
from btpy.events.aggregates import Count, MapContent
from tests.cli.test_command import btpy
from tests.live.scripts import counted, program
from tests.targets import Target
from tests.tracer import tracing

SCRIPT = "Counted::step @entry { @n = count(); @by[$number % 2] = count(); }"


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with counted(17) as jvm:
        yield jvm


def holds(text: str, n: int, by: dict[int, int]) -> bool:
    compiled = program(SCRIPT)
    maps = {map_.name: map_ for map_ in compiled.maps}
    contents = [
        MapContent(maps["n"], 0, (((), Count(n)),)),
        MapContent(maps["by"], 0, tuple(((key,), Count(count)) for key, count in by.items())),
    ]
    return StopCondition(text, compiled).holds(contents)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@n > 10", True),
        ("@n > 11", False),
        ("11 <= @n", True),
        ("@n == 11", True),
        ("@n != 11", False),
        ("@by > 6", True),
        ("@by > 7", False),
        ("@by / @n > 0.5", True),
        ("size(@by) == 2", True),
        ("@n * 2 < 22", False),
    ],
)
def test_values_of_conditions(text: str, expected: bool) -> None:
    assert holds(text, 11, {0: 7, 1: 4}) is expected


def test_invalid_conditions() -> None:
    compiled = program(SCRIPT)
    for text, message in [("@n + 1", "is not a comparison"), ("@m > 1", "the script has no map @m")]:
        with pytest.raises(UsageError, match=message):
            StopCondition(text, compiled)
    for text in ("@n >", "foo > 1"):
        with pytest.raises(ScriptError):
            StopCondition(text, compiled)


def test_a_run_ends_when_the_stop_condition_is_true(target: Target) -> None:
    with tracing(target.pid, "-e", SCRIPT, "--until", "@by >= 6") as tracer:
        target.send("call 5")
        target.wait_for("called 5")
        target.send("call 6")
        target.wait_for("called 6")
        assert tracer.wait() == 0, tracer.stderr
        assert [end["reason"] for end in tracer.of("end")] == ["until"]
        assert tracer.maps()["n"] == 11


def test_mistakes_are_reported_before_the_target_changes(target: Target) -> None:
    result = btpy(target.pid, "-e", SCRIPT, "--until", "@m > 1")
    assert result.returncode == 2
    assert result.stderr.splitlines() == [
        "error: --until: the script has no map @m",
        "  = help: its maps: @n, @by",
    ]


def test_a_probe_may_be_kept_out_of_many_methods(target: Target) -> None:
    result = btpy(target.pid, "-e", "Counted::* @entry { @n = count(); }", "--max-methods", "2")
    assert result.returncode == 2
    assert result.stderr.startswith("error: probe matches 3 methods; the limit is 2\n")
    second = btpy(target.pid, "-e", "Counted::* @entry { @n = count(); }", "--max-methods", "3", "--for", "1ms")
    assert second.returncode == 0


def test_a_probe_may_be_kept_out_of_many_classes(target: Target) -> None:
    where = 'class=["Counted", "java.util.Properties"], method=["step", "load"], location=ENTRY'
    script = f"@OnMethod({where}) probe both {{ @n = count(); }}"
    result = btpy(target.pid, "-e", script, "--max-classes", "1", "--for", "1ms")
    assert result.returncode == 2, result.stderr
    assert result.stderr.startswith("error: both matches methods of 2 classes; the limit is 1\n")
    assert "--max-classes 2" in result.stderr
    assert btpy(target.pid, "-e", script, "--max-classes", "2", "--for", "1ms").returncode == 0


def test_classes_that_are_loaded_later_are_bounded_too(target: Target) -> None:
    script = '@OnMethod(class="+Counted$Shape", method="area", location=RETURN, pending=true) { @areas = count(); }'
    with tracing(target.pid, "-e", script, "--max-classes", "0") as tracer:
        target.send("late 3")
        target.wait_for("sum 5")
        assert tracer.stop() == 0, tracer.stderr
        assert tracer.maps() == {}
    assert any("may be in 0 classes (--max-classes)" in line for line in tracer.stderr), tracer.stderr


def test_sampled_maps_are_marked_as_estimates(target: Target) -> None:
    with tracing(target.pid, "-e", SCRIPT, "--sample", "1/10") as tracer:
        target.send("call 101")
        target.wait_for("called 101")
        assert tracer.stop() == 0, tracer.stderr
        (probe,) = tracer.of("end")[0]["probes"]
        assert (probe["fired"] + probe["skipped"], probe["fired"]) in ((101, 10), (101, 11))
        assert tracer.maps()["n"] in (100, 110)
    result = btpy(target.pid, "-e", SCRIPT, "--sample", "often")
    assert result.returncode == 2
    assert "= help: --sample 1/100, --sample 5%, --sample 50/s" in result.stderr


def test_times_in_utc(target: Target, tmp_path: Path) -> None:
    script = '@OnBegin { print(strftime("%H:%M", nanos)); }'
    arguments = (target.pid, "-e", script, "--for", "1ms", "-q")
    here = btpy(*arguments, TZ="America/Caracas").stdout
    there = btpy(*arguments, "--utc", TZ="America/Caracas").stdout
    assert here != there
    assert json.dumps(there) == json.dumps(btpy(*arguments, TZ="UTC").stdout)
    path = str(tmp_path / "run.btz")
    assert btpy(*arguments, "-o", path).returncode == 0
    command = ("replay", path, "-f", "text")
    assert btpy(*command, "--utc", TZ="America/Caracas").stdout == btpy(*command, TZ="UTC").stdout
    assert btpy(*command, "--utc", TZ="America/Caracas").stdout != btpy(*command, TZ="America/Caracas").stdout


def test_charts_as_wide_as_one_likes(target: Target) -> None:
    script = "@OnBegin { @size = hist(7); @size = hist(700); @by[1] = count(); } @OnEnd { plot(@by); print(@size); }"

    def widest(*flags: str) -> list[int]:
        lines = btpy(target.pid, "-e", script, "--for", "1ms", "-q", *flags).stdout.splitlines()
        return [max(map(len, (line for line in lines if ("@by" in line) is of_by))) for of_by in (True, False)]

    assert widest("--width", "60") == [60, 60]
    assert widest("--width", "141") == [141, 141]
    assert [width < 60 for width in widest()] == [True, True]
    for flags, problem in (
        (["--width", "3"], "too narrow"),
        (["--width", "60", "-f", "ndjson"], "no effect on ndjson"),
        (["--width", "60", "-o", "x.btz"], "--width has no effect on a recording"),
    ):
        result = btpy(target.pid, "-e", script, *flags)
        assert (result.returncode, problem in result.stderr) == (2, True), result.stderr
