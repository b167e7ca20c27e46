"""Each script of examples/btrace on a program that calls the traced methods a prime number of times."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.jdks import compiled
from tests.targets import target
from tests.tracer import Tracer, tracing

HERE = Path(__file__).parent
SAMPLES = HERE.parents[1] / "examples" / "btrace"
CLASSES = compiled([HERE / "java" / "com" / "example" / "Workshop.java"])
WORKSHOP = "com.example.Workshop"
MACHINE = f"{WORKSHOP}$Machine"
TURNS, CHECKS = 101, 101


@contextmanager
def watched(script: str, *tasks: str, flags: tuple[str, ...] = (), java: tuple[str, ...] = ()) -> Iterator[Tracer]:
    """Traces a workshop with the script. The tasks are done when the block begins. After the block, btpy has left."""
    with target(17, WORKSHOP, *tasks, classpath=[CLASSES], flags=java) as workshop:
        with tracing(workshop.pid, SAMPLES / f"{script}.bt", "--pending", *flags) as tracer:
            workshop.send()
            workshop.wait_for("done")
            yield tracer
        workshop.send()
        assert workshop.wait() == 0
        assert workshop.stderr == []


def maps(script: str, *tasks: str, flags: tuple[str, ...] = (), java: tuple[str, ...] = ()) -> dict[str, Any]:
    with watched(script, *tasks, flags=flags, java=java) as tracer:
        assert tracer.stop() == 0, tracer.stderr
        tracer.check_complete()
        return tracer.maps()


def printed(script: str, *tasks: str, flags: tuple[str, ...] = (), java: tuple[str, ...] = ()) -> list[str]:
    with watched(script, *tasks, flags=flags, java=java) as tracer:
        assert tracer.stop() == 0, tracer.stderr
        tracer.check_complete()
        return tracer.printed()


def ended(script: str, *flags: str, tasks: tuple[str, ...] = (), status: int = 0, java: tuple[str, ...] = ()) -> Tracer:
    """The trace of a script that ends by itself."""
    with target(17, WORKSHOP, *tasks, classpath=[CLASSES], flags=java) as workshop:
        with tracing(workshop.pid, SAMPLES / f"{script}.bt", "--pending", *flags) as tracer:
            workshop.send()
            assert tracer.wait() == status, tracer.stderr
            tracer.check_complete()
        workshop.send()
        return tracer


TESTED_ELSEWHERE = ("jdbc_queries",)  # tests/real


def test_every_script_has_a_test() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert [path.stem for path in sorted(SAMPLES.glob("*.bt")) if f'"{path.stem}"' not in text] == []


def test_calls() -> None:
    calls = maps("all_calls", "turn")["calls"]
    assert calls["turn," + f"{MACHINE}.check"] == TURNS
    assert calls["turn,java.lang.String.length"] == TURNS


def test_typed_calls() -> None:
    calls = maps("all_calls_typed", "turn")["calls"]
    assert {key: value["count"] for key, value in calls.items()} == {"turn,ada": 34, "turn,ben": 67}


def test_calls_with_their_arguments() -> None:
    lines = printed("all_calls_args", "turn")
    assert lines[0].startswith("<init>") or lines[0] == "turn ada 0"
    assert len(lines) == 13
    assert "turn ben, 1" in lines


def test_lines() -> None:
    lines = maps("all_lines", "turn")["lines"]
    assert sorted(lines.values()) == [TURNS, TURNS]


def test_methods() -> None:
    entered = maps("all_methods", "turn")["entered"]
    assert entered[f"{MACHINE},turn"] == TURNS
    assert entered[f"{MACHINE},check"] == CHECKS
    assert entered[f"{MACHINE},<init>"] == 1


def test_methods_of_classes_that_are_given() -> None:
    entered = maps("all_methods_template", "turn", flags=("--classes", "com.example.Workshop.Machine"))["entered"]
    assert set(entered) == {f"{MACHINE},turn", f"{MACHINE},check", f"{MACHINE},<init>", f"{MACHINE},<clinit>"}


def test_methods_sampled() -> None:
    entered = maps("all_methods_sampled", "turn")["entered"]
    assert entered["turn"] == 100  # 20 of 101 calls fired, and each counts for five


@pytest.mark.parametrize("level", [0, 2])
def test_methods_in_levels(level: int) -> None:
    map_values = maps("all_methods_levels", "turn", flags=("--level", str(level)))
    assert map_values.get("turns") == TURNS
    assert map_values.get("checks") == (CHECKS if level else None)


def test_monitors() -> None:
    map_values = maps("all_sync", "lock")
    counts = {f"locked,{MACHINE}": 53, "blocked,[I": 47}
    assert map_values["entered"] == counts
    assert map_values["left"] == counts


def test_array_of_arguments() -> None:
    assert printed("arg_array", "array") == ['array ["a", "b", "c"]'] * 3


def test_classes_that_are_loaded() -> None:
    lines = printed("class_load", "load", flags=("--allow", "core"))
    late = [line for line in lines if line.startswith(f"{WORKSHOP}$Late app ")]
    assert len(late) == 1
    (at,) = [at for at, line in enumerate(lines) if line == f"defined: {WORKSHOP}$Late"]
    # The other probe runs on a separate thread, so its output may come between these two lines.
    assert any(f"{WORKSHOP}.run" in line for line in lines[at + 1 : at + 3])


@pytest.mark.parametrize(("who", "count"), [("ada", 34), ("ben", 67)])
def test_calls_with_an_argument_that_is_given(who: str, count: int) -> None:
    assert maps("command_arg", "turn", flags=("--who", who))["turns"] == {who: count}


def test_deadlock() -> None:
    lines = "\n".join(ended("deadlock", tasks=("deadlock",)).printed())
    assert "2 threads wait for each other" in lines
    assert "deadlock-1" in lines
    assert "deadlock-2" in lines


def test_files() -> None:
    map_values = maps("file_tracker", "files")
    (write_count,) = [count for path, count in map_values["written"].items() if "workshop" in path]
    (read_count,) = [count for path, count in map_values["read"].items() if "workshop" in path]
    assert (write_count, read_count) == (11, 7)


def test_files_as_events() -> None:
    with watched("file_events", "files") as tracer:
        assert tracer.stop() == 0
        modes = [event["mode"] for event in tracer.events("file.open") if "workshop" in event["path"]]
        assert (modes.count("write"), modes.count("read")) == (11, 7)


def test_finalizers() -> None:
    assert maps("finalizers", "finalize")["finalized"] == {f"{WORKSHOP}$Mortal": 31}


def test_histogram_on_request() -> None:
    with watched("histogram_on_event", "turn") as tracer:
        tracer.process.send_signal(signal.SIGUSR1)
        histogram = tracer.wait_for("hist")["data"]["@by"]
        assert sum(bucket["count"] for bucket in histogram) == TURNS
        assert tracer.stop() == 0


def test_histogram_again_and_again() -> None:
    map_values = maps("histogram", "turn")["by"]
    assert {key: sum(bucket["count"] for bucket in buckets) for key, buckets in map_values.items()} == {
        "ada": 34,
        "ben": 67,
    }


def test_figures_of_the_jvm() -> None:
    lines = ended("jvm_info", java=("-Dworkshop.password=hunter2",)).printed()
    text = "\n".join(lines)
    assert "version: 17.0" in text
    assert "-Xmx256m" in text
    assert "hunter2" not in text
    assert "workshop.password" in text


def test_heap_dump(tmp_path: Path) -> None:
    path = tmp_path / "w.hprof"
    ended("heap_dump", "--file", str(path), "--allow", "heap-dump")
    assert path.read_bytes().startswith(b"JAVA PROFILE")


def test_all_stacks() -> None:
    text = "\n".join(ended("all_stacks").printed())
    assert "main" in text
    assert f"{WORKSHOP}.pass" in text


def test_log() -> None:
    assert maps("log_tracer", "log")["logged"] == {"com.example,INFO": 30, "com.example,WARNING": 29}


def test_memory_alert() -> None:
    assert any("is filling up" in line for line in printed("memory_alert", "memory", java=("-Xmn16m",)))


def test_memory_figures() -> None:
    with watched("memory") as tracer:
        tracer.wait_for("printf")
        assert tracer.stop() == 0
        assert tracer.printed()[0].startswith("heap ")
        assert tracer.maps()["heap"] > 1 << 20


def test_arrays() -> None:
    arrays = maps("new_array", "widgets")["arrays"]
    prefix = f"{WORKSHOP}$Widget.<init>"
    assert arrays == {f"{prefix},0": 8, f"{prefix},1": 8, f"{prefix},2": 7, f"{prefix},3": 7 + 23, f"{prefix},4": 7}


def test_objects() -> None:
    map_values = maps("new_component", "widgets")
    assert map_values["made"] == {f"{WORKSHOP}$Widget": 37, f"{WORKSHOP}$Gadget": 23}
    assert map_values["sampled"]["count"] == (37 + 23) // 5


def test_exceptions() -> None:
    map_values = maps("on_throw", "throw")
    type_ = "java.lang.IllegalStateException"
    assert map_values["thrown"] == {f"{type_},no 0": 10, f"{type_},no 1": 9}
    (stack,) = map_values["from"]
    assert f"{WORKSHOP}.fail" in stack


def test_arguments_of_the_script() -> None:
    assert printed("probe_args", flags=("--number", "7", "--text", "words")) == ["number 7 text words"]
    assert printed("probe_args") == ["number 1 text none"]


def test_exit_from_a_probe() -> None:
    assert ended("probe_exit", tasks=("turn",), status=65).maps()["turns"] >= 53


def test_profile() -> None:
    with watched("profiling", "profile") as tracer:
        assert tracer.stop() == 0, tracer.stderr
        (table,) = tracer.of("table")
        result = table["data"]
        calls = {method: row["@calls"] for method, row in result.items()}
        assert calls == {"slow": 13, "quick": 13, "<init>": 1, "<clinit>": 1}
        assert result["slow"]["@wall"] >= 13 * 2_000_000
        assert result["slow"]["@self"] == result["slow"]["@wall"] - result["quick"]["@wall"]
        assert result["quick"]["@self"] == result["quick"]["@wall"]


def test_sizes() -> None:
    sizes = maps("sizeof", "widgets")["size"]
    assert {key: value["count"] for key, value in sizes.items()} == {f"{WORKSHOP}$Widget": 37, f"{WORKSHOP}$Gadget": 23}
    assert all(value["min"] == value["max"] == 16 for value in sizes.values())


def test_sockets() -> None:
    map_values = maps("socket_tracker", "sockets")
    assert map_values["connected"] == {"java.net.InetSocketAddress": 5}
    assert map_values["accepted"] == {"java.net.Socket": 5}


def test_subtypes() -> None:
    assert maps("subtypes", "chores")["runs"] == {f"{WORKSHOP}$Chore": 29}


def test_properties() -> None:
    assert maps("system_property", "properties")["read"]["workshop.size,small"] == 43


def test_thread_starts_are_counted() -> None:
    assert maps("thread_counter", "threads", flags=("--allow", "core"))["started"] == 17


def test_thread_starts() -> None:
    lines = printed("thread_start", "threads", flags=("--allow", "core"))
    assert (lines.count("start worker-0"), lines.count("start worker-1")) == (9, 8)


def test_timers() -> None:
    with watched("timers") as tracer:
        tracer.wait_for("attached_probes")
        workshop_time(tracer)
        assert tracer.stop() == 0
        ticks = tracer.maps()["ticks"]
        assert ticks["began"] == 1
        assert ticks["fast"] > ticks["slow"] >= 1


def workshop_time(tracer: Tracer) -> None:
    """Waits for both timers: asks btpy for its maps until they show that the slow timer ran."""
    while True:
        tracer.process.send_signal(signal.SIGUSR1)
        tracer.wait_for("map")
        if tracer.maps().get("ticks", {}).get("slow"):
            return


def test_urls() -> None:
    assert maps("url_tracker", "urls")["opened"] == {"direct,file,/": 3, "java.net.Proxy,file,/": 2}


def test_methods_by_annotation() -> None:
    assert maps("web_services", "prices")["served"] == {f"{WORKSHOP}$Prices,price": 61}


def test_events_of_listeners() -> None:
    assert maps("events", "click")["events"] == {f"clicked,{WORKSHOP}$Button$Click": 41}
