"""``@OnSample``: samples of threads that use a processor, and of waiting threads."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import btpy
from btpy.errors import ScriptError
from tests.jdks import all_jdks, compiled
from tests.live.scripts import program, waited
from tests.targets import Target, target
from tests.tracer import tracing

JAVA = Path(__file__).parents[1] / "java"
PARKED = 13


@contextmanager
def sampled(jdk: int, *flags: str) -> Iterator[Target]:
    classes = compiled([JAVA / "Sampled.java"], release=8)
    with target(jdk, "Sampled", classpath=[classes], flags=flags) as jvm:
        yield jvm


def burn(jvm: Target, millis: int) -> float:
    """Lets the program use this much processor time in one thread. Returns the seconds that it reports."""
    jvm.send(str(millis))
    return int(jvm.wait_for("used ").split()[1]) / 1e9


@all_jdks
def test_samples_of_busy_threads_add_up_to_the_processor_time_that_they_used(jdk: int) -> None:
    script = """
    @OnSample(200) { @cpu[thread_name] = sum(cpu); @samples[thread_name] = count(); @top[frame(0) ?? "?"] = count() }
    """
    with sampled(jdk) as jvm, btpy.attach(jvm.pid) as session:
        session.add(script)
        before = burn(jvm, 100)  # loads the classes that the program needs
        cpu_seconds = before + burn(jvm, 1500)
        samples = dict(session.maps["@samples"])
        cpu = dict(session.maps["@cpu"])  # a sample may come between the two readings
        assert set(cpu) == {"burner"}, "threads that wait, and those of btpy, are not busy"
        assert cpu["burner"] % 5_000_000 == 0, "each sample stands for a two hundredth of a second"
        assert samples["burner"] <= cpu["burner"] // 5_000_000 <= samples["burner"] + 2
        # More samples would count time twice. A late sample counts all time since the last one, but the final sample
        # may be missing.
        assert cpu_seconds / 2 < cpu["burner"] / 1e9 <= cpu_seconds + 0.005
        tops = dict(session.maps["@top"])
        assert samples["burner"] <= sum(tops.values()) <= samples["burner"] + 2
        loop = ("Sampled.", "sun.management.ThreadImpl.")  # which also reads the processor time of its thread
        of_the_loop = sum(count for top, count in tops.items() if top.startswith(loop))
        assert of_the_loop > samples["burner"] / 2, tops


@all_jdks
def test_the_time_of_a_thread_does_not_count_where_it_waits_in_a_native_method(jdk: int) -> None:
    """The thread runs for 2 ms and waits for its next line in ``FileInputStream.readBytes``, and so on."""
    with sampled(jdk) as jvm, btpy.attach(jvm.pid) as session:
        burn(jvm, 100)  # loads the classes that the program needs
        session.add("@OnSample(200) { @cpu[frame(0)] = sum(cpu) }")
        used = 0.0
        for _ in range(211):
            used += burn(jvm, 2)
            time.sleep(0.01)
        cpu = dict(session.maps["@cpu"])
        assert sum(cpu.values()) / 1e9 > used / 2
        reading = sum(nanos for top, nanos in cpu.items() if str(top).startswith("java.io.FileInputStream.read"))
        assert reading < sum(cpu.values()) / 2, cpu


@all_jdks
def test_a_sample_of_all_threads_has_every_thread_with_its_state(jdk: int) -> None:
    script = (
        '@OnSample(50, threads="all") { @seen[thread_name, state] = count(); @under[thread_name] = last(frame(1)) }'
    )
    with sampled(jdk) as jvm, btpy.attach(jvm.pid) as session:
        session.add(script)
        parked = {(f"parked-{i}", "WAITING") for i in range(PARKED)}

        def seen() -> dict[tuple[str, str], int]:
            return dict(session.maps["@seen"])

        waited(lambda: all(seen().get(thread, 0) >= 7 for thread in parked), "not all threads were sampled seven times")
        final = seen()
        assert len({final[thread] for thread in parked}) == 1, "each look samples every thread"
        names = {thread[0] for thread in final}
        assert not {name for name in names if str(name).startswith("btpy")}, "threads of btpy are not the application's"
        assert not names & {"Reference Handler", "Finalizer", "Signal Dispatcher", "Common-Cleaner"}
        assert "Object.wait" in str(session.maps["@under"]["parked-3"])


@all_jdks
def test_frames_of_the_application_are_those_of_the_sampled_thread(jdk: int) -> None:
    script = """
    @OnSample(50, threads="all") {
      @application[thread_name] = last(app_frame());
      @skipped[thread_name] = last(frame(0, skip="java.*,jdk.*"));
      @above[thread_name] = last(app_frame(1));
      @caller[thread_name] = last(caller());
    }
    """
    with sampled(jdk) as jvm, btpy.attach(jvm.pid) as session:
        session.add(script)
        waited(lambda: "parked-7" in session.maps["@caller"], "no thread that waits was sampled")
        assert session.maps["@application"]["parked-7"] == "Sampled.park:27"
        assert session.maps["@skipped"]["parked-7"] == "Sampled.park:27"
        assert "parked-7" not in session.maps["@above"], "its other frames are the JDK's"
        assert "Object.wait" in str(session.maps["@caller"]["parked-7"])


def test_records_of_a_sample_are_about_the_sampled_thread() -> None:
    with sampled(17) as jvm, btpy.attach(jvm.pid) as session:
        session.add(
            '@OnSample(20, threads="all") when thread_name == "parked-7" { print(tid, thread_name, is_virtual) }'
        )
        event = next(iter(session.events(timeout=60)))
        assert event.thread == "parked-7"
        assert event.text == f"{event.tid} parked-7 false"


def test_a_budget_makes_looks_rarer(tmp_path: Path) -> None:
    """The budget is below the cost of any sample of threads."""
    script = tmp_path / "script.bt"
    script.write_text('@OnSample(100, threads="all") { @seen[thread_name] = count() }')
    with sampled(17) as jvm, tracing(jvm.pid, script, "--budget", "0.01%") as tracer:
        line = tracer.wait_for("probe_error")
        assert line["kind"] == "fewer-samples"
        assert line["message"].startswith("one look at the threads takes ")
        assert tracer.stop() == 0


@pytest.mark.parametrize(
    "call",
    [
        "stack()",
        "stack(5)",
        "frame(0)",
        "caller()",
        'stack(5, skip="java.*")',
        'frame(0, skip="java.*")',
        "app_frame()",
        "app_frame(1)",
    ],
)
@pytest.mark.parametrize("moment", ["@OnTimer(1s)", "@OnBegin", "@OnEnd", '@OnEvent("x")', "@OnLowMemory(above=0.9)"])
def test_a_body_that_runs_on_a_thread_of_btpy_has_no_stack_to_show(moment: str, call: str) -> None:
    with pytest.raises(ScriptError) as error:
        program(f"{moment} {{ print({call}) }}")
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == "BT105"
    assert "@OnSample(99)" in diagnostic.help[0]
