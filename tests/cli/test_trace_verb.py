"""``btpy trace`` on a program with known calls: one tree for each root method, which grows deeper during the run."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_command import btpy
from tests.cli.test_verbs import asked
from tests.jdks import compiled
from tests.live.scripts import waited
from tests.output.test_schema import check
from tests.slow.test_slow import check_trace
from tests.targets import Target, target

JAVA = Path(__file__).parents[1] / "java"
TASK_FIELDS = {"thread", "line", "waited", "took", "own", "critical", "running", "calls", "tasks"}


@pytest.fixture(scope="module")
def program() -> Iterator[Target]:
    with target(17, "Nested", classpath=[compiled([JAVA / "Nested.java"], release=11)]) as program:
        yield program


def shape(tree: dict[str, Any]) -> dict[str, Any]:
    """The tree, reduced to the names of its methods. Calls of the same method in a loop become one entry."""
    return {call["method"]: shape(call) for call in tree["calls"]}


def deeper(tracer: Target, times: int) -> None:
    """Waits until this number of methods has probes."""
    message = "its calls are timed now"
    waited(lambda: sum(message in line for line in tracer.stderr) == times, f"{times} times {message!r}")


def test_each_tree_is_deeper_along_the_slow_path(program: Target) -> None:
    with asked("trace", program, "Nested::outer", "--json", "-n", "4", "--budget", "off") as tracer:
        for call in range(4):
            deeper(tracer, call)
            program.send(f"1 {call}")
        assert tracer.wait() == 0, tracer.stderr
        kinds = [check(line) for line in tracer.stdout]
        lines = [json.loads(line) for line in tracer.stdout]
        stderr = "\n".join(tracer.stderr)
    assert kinds == ["attached_probes", *["tree"] * 4, "end"]
    trees = [line["data"] for line in lines if line["type"] == "tree"]
    first: dict[str, Any] = {"quick": {}, "middle": {}}
    second: dict[str, Any] = {"quick": {}, "middle": {"take": {}, "quick": {}}, "<init>": {}}
    third: dict[str, Any] = {"quick": {}, "middle": {"take": {"quick": {}, "sleep": {}}, "quick": {}}}
    fourth: dict[str, Any] = {"quick": {}, "middle": {"take": {"quick": {}, "sleep": {"sleep": {}}}, "quick": {}}}
    assert [shape(tree) for tree in trees] == [first, second, third, fourth]
    assert [len(tree["calls"]) for tree in trees] == [4, 5, 4, 4]
    assert [tree["failed"] for tree in trees] == [None, "java.lang.IllegalStateException", None, None]
    sleeping = trees[2]["calls"][1]["calls"][0]["calls"][1]
    assert sleeping["method"] == "sleep"
    assert sleeping["took"] >= 8_000_000
    assert all(tree["took"] >= sum(call["took"] for call in tree["calls"]) for tree in trees)
    assert "% of Nested.outer is Nested.middle: its calls are timed now, at 2 places" in stderr
    assert "% of Nested.outer is Step.take: its calls are timed now, at 2 places" in stderr
    assert "4 trees drawn of" in stderr
    assert "classes restored " in stderr
    assert not any(line.startswith(("calls0:", "begin:")) for line in tracer.stderr)  # names of internal probes


def test_a_call_is_drawn_once_though_its_method_has_an_interface_and_an_overload() -> None:
    """The probe in all methods ``work`` of ``Worker`` and its subtypes also times the calls in ``Sleeper.work``."""
    classpath = [compiled([JAVA / "Delegating.java"], release=11)]
    with (
        target(17, "Delegating", classpath=classpath) as program,
        asked("trace", program, "Delegating::call", "--json", "-n", "4", "--budget", "off") as tracer,
    ):
        program.send("1")
        deeper(tracer, 1)
        program.send("2")
        deeper(tracer, 2)
        program.send("1")
        assert tracer.wait() == 0, tracer.stderr
        trees = [line["data"] for line in map(json.loads, tracer.stdout) if line["type"] == "tree"]
        grown = [line.rpartition(" is ")[2] for line in tracer.stderr if "its calls are timed now" in line]
    assert grown == [
        "Worker.work: its calls are timed now, at 2 places",
        "Sleeper.nap: its calls are timed now, at 2 places",
    ]
    assert shape(trees[0]) == {"work": {}}
    assert shape(trees[3]) == {"work": {"work": {"nap": {"sleep": {}}}}}
    assert [len(call["calls"]) for call in trees[3]["calls"]] == [1]


@pytest.fixture(scope="module")
def handed_over() -> Iterator[Target]:
    with target(17, "HandedOver", classpath=[compiled([JAVA / "HandedOver.java"], release=11)]) as program:
        yield program


def check_tasks(tree: dict[str, Any]) -> None:
    """Three tasks ran one after the other on one thread; a short task ran on another thread at the same time."""
    tasks = sorted(tree["tasks"], key=lambda task: (task["thread"], task["waited"]))
    assert [(task["thread"], task["line"]) for task in tasks] == [("side-1", 22), *[("single-1", 20)] * 3]
    side, *single = tasks
    assert (set(side), [*shape(side)]) == (TASK_FIELDS, ["nap", "valueOf"])
    assert [list(shape(task)) for task in single] == [["slow", "quick", "valueOf"]] * 3, tree
    assert all(17_000_000 <= task["took"] <= tree["took"] for task in single)
    assert tree["took"] >= sum(task["took"] for task in single)
    assert single[-1]["waited"] >= 17_000_000  # waits for two tasks of 17 ms, but may be handed over late
    assert sum(task["critical"] for task in tasks) <= tree["took"]


def waits_for_each_of_three(tree: dict[str, Any]) -> bool:
    """Whether the call waited for the three tasks on one thread, and not for the short task. On a busy machine the call
    may hand over a task after the task before has ended, and then it did not wait for that task."""
    critical = [task["critical"] for task in sorted(tree["tasks"], key=lambda task: task["thread"])]
    return critical[0] <= 1_000_000 and all(duration >= 17_000_000 for duration in critical[1:])


def test_tasks_on_other_threads_stand_below_the_call(handed_over: Target) -> None:
    with asked("trace", handed_over, "HandedOver::answer", "--json", "-n", "5", "--budget", "off") as tracer:
        handed_over.send("2")
        deeper(tracer, 1)  # the tree grows into `slow`, which runs on another thread
        handed_over.send("3")
        assert tracer.wait() == 0, tracer.stderr
        kinds = [check(line) for line in tracer.stdout]
        trees = [line["data"] for line in map(json.loads, tracer.stdout) if line["type"] == "tree"]
    assert kinds == ["attached_probes", *["tree"] * 5, "end"]
    for tree in trees:
        check_tasks(tree)
    assert any(waits_for_each_of_three(tree) for tree in trees)
    slow = [task["calls"][0] for task in trees[-1]["tasks"] if task["thread"] == "single-1"]
    assert [[call["method"] for call in inner["calls"]] for inner in slow] == [["nap", "nap", "quick"]] * 3
    assert not any("BT340" in line for line in tracer.stderr)


def test_tasks_as_text_and_on_a_timeline(handed_over: Target, tmp_path: Path) -> None:
    with asked("trace", handed_over, "HandedOver::answer", "-n", "3", "--depth", "1") as tracer:
        handed_over.send("3")
        assert tracer.wait() == 0, tracer.stderr
        (single,) = (line for line in tracer.stdout if "  on single  waited p50 " in line)
        (side,) = (line for line in tracer.stdout if "  on side  waited p50 " in line)
        assert single.endswith("  handed over in line 20  ×9")
        assert side.endswith("  handed over in line 22  ×3  not critical")
    path = tmp_path / "calls.trace.json"
    with asked("trace", handed_over, "HandedOver::answer", "-n", "2", "-o", str(path)) as tracer:
        handed_over.send("2")
        assert tracer.wait() == 0, tracer.stderr
    events = json.loads(path.read_text())
    check_trace([event for event in events if event["pid"] > 1])
    assert sum(event["ph"] == "s" for event in events) == 8
    with asked("trace", handed_over, "HandedOver::answer", "-n", "1", "--json", "--flows", "none") as tracer:
        handed_over.send("1")
        assert tracer.wait() == 0, tracer.stderr
        assert not any("tasks" in json.loads(line)["data"] for line in tracer.stdout if '"tree"' in line)


def test_text_and_a_limit_of_depth(program: Target) -> None:
    with asked("trace", program, "Nested::outer", "-n", "2", "--depth", "1") as tracer:
        program.send("2")
        assert tracer.wait() == 0, tracer.stderr
        (head,) = (line for line in tracer.stdout if line and line[0].isalpha())
        assert head.startswith("Nested.outer  2 calls  p50 ")
        assert head.endswith("  1 threw java.lang.IllegalStateException")
        assert sum(line.endswith("Nested.middle  called in line 22  ×6") for line in tracer.stdout) == 1
        assert not any("Step.take" in line for line in tracer.stdout)
    program.wait_for("called 2")


def test_each_method_of_a_pattern_has_its_tree(program: Target) -> None:
    """The calls of several methods do not mix, and methods found later appear in the same tree."""
    with asked("trace", program, "Nested::/outer|main/", "-n", "13", "--depth", "2") as tracer:
        program.send("1")
        deeper(tracer, 1)
        program.send("12")
        assert tracer.wait() == 0, tracer.stderr
        heads = [line.split("  p50")[0] for line in tracer.stdout if line and line[0].isalpha()]
        assert heads == ["Nested.outer  13 calls"]
        assert sum(line.endswith("Nested.middle  called in line 22  ×39") for line in tracer.stdout) == 1
        assert sum(line.endswith("Step.take  called in line 31  ×36") for line in tracer.stdout) == 1


def test_no_tree_is_explained(program: Target) -> None:
    with asked("trace", program, "Nested::outer", "--min", "10s") as tracer:
        program.send("2")
        program.wait_for("called 2")
        tracer.process.send_signal(signal.SIGINT)
        assert tracer.wait() == 0
        assert tracer.stdout == []
        assert "0 trees: Nested::outer was called 2 times, never slow enough (--min, --when)" in tracer.stderr
    silent = btpy("trace", program.pid, "Nested::outer", "-d", "1ms")
    assert "0 trees: Nested::outer was not called while attached" in silent.stderr


def test_a_target_that_ends_is_not_kept_waiting() -> None:
    classes = compiled([JAVA / "Nested.java"], release=11)
    with target(17, "Nested", classpath=[classes]) as ending, asked("trace", ending, "Nested::outer") as tracer:
        ending.process.stdin.close()  # type: ignore[union-attr]
        assert tracer.wait() == 5
        assert any(line.startswith(f"error: the JVM {ending.pid} has ended") for line in tracer.stderr)
        assert ending.wait() == 0


def test_twice_interrupted_leaves_the_rest_to_the_agent(program: Target) -> None:
    with asked("trace", program, "Nested::outer") as tracer:
        os.kill(program.pid, signal.SIGSTOP)
        try:
            tracer.process.send_signal(signal.SIGINT)
            message = " back"  # at this time btpy has handled the first interrupt
            waited(lambda: any(message in line for line in tracer.stderr), f"{message!r}")
            tracer.process.send_signal(signal.SIGINT)
            assert tracer.wait() == 130
        finally:
            os.kill(program.pid, signal.SIGCONT)
        assert "warning: interrupted: the agent puts the classes back by itself" in tracer.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["Nested::inner"], 4, "error[BT303]"),
        (["Nested::outer", "--min", "20"], 2, "error: --min 20 has no unit"),
        (["Nested::outer", "--when", "$m > 1"], 2, "error[BT112]"),
        (["Nested"], 2, "= help: write Class::method"),
    ],
)
def test_mistakes(arguments: list[str], status: int, message: str, program: Target) -> None:
    result = btpy("trace", program.pid, *arguments)
    assert result.returncode == status, result.stderr
    assert message in result.stderr


def test_impossible_trees_are_refused_with_a_reason(program: Target) -> None:
    for flags, reason in [
        (["--until", "@n > 1"], "--until is not for btpy trace: call trees do not use maps"),
        (["-x"], "-x is not for btpy trace: the running btpy builds the trees"),
        (["--sample", "1/10"], "a tree needs all of its calls"),
        (["-e", "A::b { }"], "this command writes the script"),
        (["-f", "csv"], "csv cannot show a call tree"),
        (["-o", "run.btz"], "run.btz is a recording"),
        (["-l"], "btpy ls PID PATTERN lists"),
    ]:
        result = btpy("trace", program.pid, "Nested::outer", *flags)
        assert (result.returncode, reason in result.stderr) == (2, True), result.stderr


def test_the_flags_of_every_run(program: Target, tmp_path: Path) -> None:
    result = btpy("trace", program.pid, "Nested::outer", "--plan")
    assert result.returncode == 0
    assert "root " in result.stdout
    assert "nothing was touched" in result.stderr
    path = tmp_path / "trees.txt"
    with asked("trace", program, "Nested::outer", "-n", "1", "-o", str(path)) as tracer:
        program.send("1")
        assert tracer.wait() == 0, tracer.stderr
    assert path.read_text().startswith("Nested.outer  ")
    program.wait_for("called 1")
