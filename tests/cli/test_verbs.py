"""The verbs: exact numbers from a program that reports its calls of each method. The script that a verb shows can be
run.
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.test_command import btpy
from tests.cli.test_trace import started
from tests.live.scripts import counted, waited
from tests.targets import Target

CALLS, REFUSED = 101, 14


@pytest.fixture(scope="module")
def program() -> Iterator[Target]:
    with counted(17) as jvm:
        yield jvm


@contextmanager
def asked(verb: str, program: Target, *arguments: str) -> Iterator[Target]:
    """Runs the verb until its probes are installed."""
    with started(verb, program.pid, *arguments) as tracer:
        waited(
            lambda: any("Ctrl-C to end" in line for line in tracer.stderr) or tracer.process.poll() is not None,
            "the banner",
        )
        yield tracer


def answer(verb: str, program: Target, *arguments: str, calls: int = CALLS) -> tuple[list[str], list[str]]:
    """Lines of stdout and of stderr, after ``calls`` calls."""
    with asked(verb, program, *arguments) as tracer:
        program.send(f"call {calls}")
        program.wait_for(f"called {calls}")
        tracer.process.send_signal(signal.SIGINT)
        assert tracer.wait() == 0, tracer.stderr
        return tracer.stdout, tracer.stderr


def test_count(program: Target) -> None:
    stdout, stderr = answer("count", program, "Counted::step")
    assert stdout == [f"@count  {CALLS}"]
    assert stderr[:2] == [
        "    Counted::step @entry as count { @count = count(); }",
        "    @OnEnd { print(@count, top=10); }",
    ]
    stdout, _ = answer("count", program, "Counted::st*", "-k", "$number % 2", "--top", "1")
    assert stdout == [f"@count[step, 0]  {CALLS // 2 + 1}", "  … 1 more"]
    stdout, _ = answer("count", program, "+Counted::step", "--when", "$number >= 97", "--json")
    records = [json.loads(line) for line in stdout]
    assert [record["data"] for record in records if record["type"] == "map"] == [{"@count": {"Counted": 4}}]


def test_latency_draws_a_histogram(program: Target) -> None:
    stdout, _ = answer("latency", program, "Counted::step", "-k", "exception != null")
    heads = [line.split("  ")[:2] for line in stdout if line.startswith("@latency")]
    assert heads == [["@latency[false]", f"n={CALLS - REFUSED}"], ["@latency[true]", f"n={REFUSED}"]]
    assert all("p99.9 " in line for line in stdout if line.startswith("@latency"))
    drawn = [line for line in stdout if line.startswith("  ")]
    assert sum(int(line.split()[-1]) for line in drawn) == CALLS


def test_args_with_results_and_exceptions(program: Target) -> None:
    stdout, _ = answer("args", program, "Counted::step", calls=5)
    calls = [re.sub(r"[\d.]+(ns|us|ms)", "T", line) for line in stdout]
    assert calls == [
        "main  Counted.step(abc, 0) = 3  T",
        "main  Counted.step(abc, 1) = 4  T",
        "main  Counted.step(abc, 2) = 5  T",
        "main  Counted.step(abc, 3) threw java.lang.IllegalStateException: refused 3  T",
        "main  Counted.step(abc, 4) = 7  T",
    ]
    with asked("args", program, "Counted::*", "-n", "3") as tracer:
        program.send("call 5")
        assert tracer.wait() == 0
        assert len(tracer.stdout) == 3


def test_stacks(program: Target) -> None:
    stdout, _ = answer("stacks", program, "Counted::step", "--depth", "2")
    assert re.fullmatch(r"@stacks\[\n +Counted\.step:\d+\n +Counted\.main(:\d+)?\n\]  101", "\n".join(stdout))


def test_fields_before_and_after(program: Target) -> None:
    stdout, _ = answer("fields", program, "Counted::step", calls=2)
    calls = [int(re.fullmatch(r"main  Counted\.step@\d+  (before|after ) \{calls=(\d+)\}", line)[2]) for line in stdout]  # type: ignore[index]
    assert calls == [calls[0], calls[0] + 1, calls[0] + 1, calls[0] + 2]


def test_no_call_is_explained(program: Target) -> None:
    stdout, stderr = answer("count", program, "Counted::step", calls=0)
    assert stdout == ["@count  (empty)"]
    why = "it was not called while attached (a call that began earlier continues without probes)"
    assert f"count: 0 hits: matched 1 method; {why}" in stderr


@pytest.mark.parametrize("verb", ["count", "latency", "args", "stacks", "fields"])
def test_the_script_that_is_shown_is_a_script(verb: str, program: Target, tmp_path: Path) -> None:
    output = btpy(verb, program.pid, "Counted::step", "-d", "1ms").stderr
    script = tmp_path / "shown.bt"
    script.write_text("".join(line[4:] + "\n" for line in output.splitlines() if line.startswith("    ")))
    result = btpy(program.pid, script, "--for", "1ms", "--missing=warn")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["Counted#step"], 2, "= help: write Class::method, for example 'Counted::step'"),
        (["Counted"], 2, "= help: write Class::method, for example 'Counted::*'"),
        (["Counted::step @return"], 2, "= help: this command chooses the location: leave it out"),
        (["Counted::stop"], 4, "= help: did you mean `step`?"),
        (["Counted::step", "-k", "$numbr"], 2, "= help: did you mean `$number`?"),
        (["Counted::step", "-d", "10"], 2, "error: --for 10 has no unit"),
        (["Counted::step", "--top", "all"], 2, "error: --top takes a number, not 'all'"),
        ([], 2, "error: an argument is missing"),
    ],
)
def test_mistakes(arguments: list[str], status: int, message: str, program: Target) -> None:
    result = btpy("count", program.pid, *arguments)
    assert result.returncode == status
    assert message in result.stderr


@pytest.mark.parametrize("verb", ["count", "latency", "args", "stacks", "fields"])
def test_a_pattern_before_the_jvm_is_recognised(verb: str) -> None:
    result = btpy(verb, "Counted::step", "4711")
    assert result.returncode == 2
    assert "error: 'Counted::step' is a pattern, and the JVM comes first" in result.stderr
    assert "= help: write the JVM before the pattern:  4711 'Counted::step'" in result.stderr


def test_a_command_for_each_verb_has_examples() -> None:
    for verb in ("count", "latency", "args", "stacks", "fields"):
        output = btpy(verb, "--help").stdout
        assert output.startswith(f"usage: btpy {verb} PID|NAME 'Class::method'")
        assert output.count(f"  btpy {verb} OrderApp ") >= 2


def test_the_flags_of_every_run(program: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    plan_result = btpy("latency", program.pid, "Counted::step", "--plan")
    assert (plan_result.returncode, "in 1 method of 1 class, about" in plan_result.stdout) == (0, True), (
        plan_result.stderr
    )
    result = btpy("count", program.pid, "Counted::step", "-x", "--ttl", "1m")
    assert result.returncode == 0, result.stderr
    assert btpy("sessions", program.pid).stdout.splitlines()[1].split()[:2] == [result.stdout.strip(), "count"]
    program.send("call 7")
    program.wait_for("called 7")
    stopped = btpy("stop", program.pid, "count")
    assert (stopped.returncode, stopped.stdout) == (0, "@count  7\n"), stopped.stderr


@pytest.mark.parametrize(("verb", "condition"), [("count", "$number < 0"), ("latency", "duration > 1h")])
def test_the_count_of_a_predicate_that_is_always_false_is_shown(program: Target, verb: str, condition: str) -> None:
    _, stderr = answer(verb, program, "Counted::step", "--when", condition)
    assert f"{verb}: 0 hits: matched 1 method; of its calls filtered by `when` at least {CALLS} times" in stderr
