"""``btpy PID …`` on a running program: its output, its end and the state that it leaves."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from examples.shop.build_shop import MAIN
from tests.examples.shop import counts, shop_jar
from tests.live.scripts import counted
from tests.targets import PATIENCE, Target, target

ENVIRONMENT = {**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
EVERY_QUOTE = "com.acme.shop.PricingEngine::quote @entry as quote { print($sku); @n = count(); }"


@pytest.fixture(scope="module")
def shop() -> Iterator[Target]:
    with target(17, MAIN, "--rate", "100", classpath=[shop_jar()]) as program:
        yield program


def command(*arguments: Any) -> list[str]:
    return [sys.executable, "-m", "btpy", *map(str, arguments)]


@contextmanager
def started(*arguments: Any) -> Iterator[Target]:
    """Runs btpy and reads its output line by line. The process ends with the block."""
    tracer = Target(command(*arguments), ENVIRONMENT)
    try:
        yield tracer
    finally:
        tracer.stop()


def btpy(*arguments: Any) -> tuple[int, list[str], list[str]]:
    """Exit code, lines of stdout, lines of stderr."""
    with started(*arguments) as tracer:
        return tracer.wait(), tracer.stdout, tracer.stderr


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def check_restored(stderr: list[str]) -> None:
    assert any("classes restored 1/1 " in line for line in stderr), stderr


def test_standard_output_has_only_output_of_the_script(shop: Target) -> None:
    code, stdout, stderr = btpy(shop.pid, "-e", EVERY_QUOTE, "--hits", 3)
    assert code == 0
    assert [line.startswith("SKU-") for line in stdout[:3]] == [True] * 3
    assert [line.split()[0] for line in stdout[3:]] == ["@n"]
    (banner,) = [line for line in stderr if line.startswith("btpy: ")]
    assert banner.startswith("btpy: 1 probe → 1 method in 1 class of ")
    assert banner.endswith(" Ctrl-C to end.")
    (summary,) = [line for line in stderr if line.startswith("events 3 shown, ")]
    assert ", 0 lost" in summary
    check_restored(stderr)


def test_quiet(shop: Target) -> None:
    code, stdout, stderr = btpy(shop.pid, "-q", "-e", EVERY_QUOTE, "--hits", 1)
    assert (code, len(stdout), stderr) == (0, 2, [])


def test_one_liners_end_by_themselves_and_say_why(shop: Target) -> None:
    code, stdout, stderr = btpy(shop.pid, "-e", EVERY_QUOTE)
    assert (code, len(stdout)) == (0, 101)
    assert "stopped after 100 hits (--hits N for more, --hits 0 for all)" in stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_in_order(shop: Target, number: signal.Signals) -> None:
    script = f'{EVERY_QUOTE} @OnEnd {{ print("the end"); }}'
    with started(shop.pid, "-e", script, "--hits", 0) as tracer:
        tracer.wait_for("SKU-")
        tracer.process.send_signal(number)
        assert tracer.wait() == 0
        *quotes, end, maps = tracer.stdout
        assert end == "the end"
        assert all(line.startswith("SKU-") for line in quotes)
        assert maps.split() == ["@n", str(len(quotes))]
        check_restored(tracer.stderr)


def test_the_code_of_exit_is_the_exit_code(shop: Target) -> None:
    code, stdout, stderr = btpy(shop.pid, "-e", '@OnBegin { print("bye"); exit(64); } @OnEnd { print("end"); }')
    assert (code, stdout) == (64, ["bye", "end"])
    assert "events 2 shown, 0 lost · 2 produced = 2 delivered + 0 dropped" in stderr
    assert not any(", but " in line for line in stderr)


def test_nothing_matches(shop: Target) -> None:
    script = "com.acme.shop.PricingEngin::quote @entry { print(1) }"
    code, stdout, stderr = btpy(shop.pid, "-e", script)
    assert (code, stdout) == (4, [])
    assert stderr[0].startswith('error[BT301]: no loaded class matches "com.acme.shop.PricingEngin"')
    code, stdout, stderr = btpy(shop.pid, "-e", script, "--pending", "--for", "300ms")
    assert (code, stdout) == (0, [])
    assert any(line.endswith("0 hits: no class with a matching method was loaded") for line in stderr)
    code, _, stderr = btpy(shop.pid, "-e", script, "--missing", "warn", "--for", "300ms")
    assert code == 0
    assert any(line.startswith("warning[BT301]: ") for line in stderr)


def test_probe_errors_show_their_place_once(shop: Target) -> None:
    script = "com.acme.shop.PricingEngine::quote @entry { @bad = count(); print(1 / (depth - depth)) }"
    code, stdout, stderr = btpy(shop.pid, "-e", script, "--for", "1s")
    assert code == 0
    count = int(stdout[0].split()[1])
    place = "  --> <command line>:1:67"
    assert stderr.count(place) == 1
    assert any(f"{count} probe errors" in line for line in stderr) or count == 1


def test_ndjson_to_a_file_that_is_added_to(shop: Target, tmp_path: Path) -> None:
    path = tmp_path / "out.ndjson"
    for _ in range(2):
        arguments = ["-e", EVERY_QUOTE, "--hits", 2, "-f", "ndjson", "-o", path, "--append"]
        code, stdout, _ = btpy(shop.pid, *arguments)
        assert (code, stdout) == (0, [])
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line["type"] for line in lines] == ["attached_probes", "printf", "printf", "map", "end"] * 2
    end = lines[-1]
    assert end["reason"] == "hits"
    assert end["produced"] == end["delivered"] == lines[-2]["data"]["@n"]
    assert (end["restored"], end["woven"]) == (1, 1)


def test_a_full_disk_is_reported_after_the_target_was_put_back(shop: Target) -> None:
    code, _, stderr = btpy(shop.pid, "-e", EVERY_QUOTE, "-o", "/dev/full")
    assert code == 1
    check_restored(stderr)
    assert stderr[-2] == "error: cannot write /dev/full: no space left on device"


def test_a_reader_that_has_seen_enough_ends_it(shop: Target) -> None:
    line = shlex.join(command(shop.pid, "-e", EVERY_QUOTE, "--hits", 0))
    script = f"{line} | head -n 1; exit ${{PIPESTATUS[0]}}"
    run = subprocess.run(
        ["bash", "-c", script], env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert run.returncode == 141
    assert run.stdout.startswith("SKU-")
    stderr = run.stderr.splitlines()
    assert "btpy: standard output was closed by its reader" in stderr
    check_restored(stderr)


def test_the_second_interrupt_leaves_at_once(shop: Target) -> None:
    reader, writer = os.pipe()
    script = "com.acme.shop.*::* @entry { print(args, args, args) }"
    with subprocess.Popen(
        command(shop.pid, "-e", script, "--hits", 0), env=ENVIRONMENT, stdout=writer, stderr=subprocess.PIPE, text=True
    ) as process:
        os.close(writer)

        def waiting() -> int:
            length: int = struct.unpack("i", fcntl.ioctl(reader, termios.FIONREAD, b"\0" * 4))[0]
            return length

        counts_seen: list[int] = []

        def stuck() -> bool:
            """No process reads the pipe, so it is full, and btpy waits in a write."""
            counts_seen.append(waiting())
            return len(counts_seen) > 25 and counts_seen[-1] > 0 and len(set(counts_seen[-25:])) == 1

        def interrupts_taken() -> bool:
            status = Path(f"/proc/{process.pid}/status").read_text()
            return not any(line.startswith("ShdPnd:") and int(line.split()[1], 16) & 2 for line in status.splitlines())

        try:
            until(stuck)
            process.send_signal(signal.SIGINT)
            until(interrupts_taken)
            time.sleep(0.2)  # C code received the signal; Python's handler runs a moment later
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
            os.close(reader)
    assert process.returncode == 130
    assert stderr.splitlines()[-1] == "warning: interrupted: the agent puts the classes back by itself"
    check_restored(btpy(shop.pid, "-e", EVERY_QUOTE, "--hits", 1)[2])  # the target can be traced as before


def test_a_signal_prints_the_maps() -> None:
    with counted(17) as program, started(program.pid, "-e", "Counted::step { @n = count(); print(arg1) }") as tracer:
        until(lambda: any("Ctrl-C to end" in line for line in tracer.stderr))
        program.send("call 7")
        tracer.wait_for("6")
        tracer.process.send_signal(signal.SIGUSR1)
        tracer.wait_for("@n ")
        program.send("call 4")  # the map changes after its first print, so btpy prints it again at the end
        tracer.wait_for("3")
        tracer.process.send_signal(signal.SIGINT)
        assert tracer.wait() == 0
        assert [line.split() for line in tracer.stdout if line.startswith("@n ")] == [["@n", "7"], ["@n", "11"]]


def test_a_signal_runs_the_probe_that_listens_to_it(shop: Target) -> None:
    script = '@OnEvent("") { print("signal", pid); exit(7); } @OnBegin { print("up"); @n = count(); }'
    with started(shop.pid, "-e", script) as tracer:
        tracer.wait_for("up")
        tracer.process.send_signal(signal.SIGUSR1)
        assert tracer.wait_for("signal") == f"signal {shop.pid}"
        assert tracer.wait() == 7
        assert len([line for line in tracer.stdout if line.startswith("@n ")]) == 1


def test_the_end_of_the_target_is_reported() -> None:
    with (
        target(17, MAIN, "--rate", "100", classpath=[shop_jar()]) as mortal,
        started(mortal.pid, "-e", EVERY_QUOTE, "--hits", 0, "-f", "ndjson") as tracer,
    ):
        tracer.wait_for(lambda line: '"attached_probes"' in line)
        os.kill(mortal.pid, signal.SIGKILL)
        assert tracer.wait() == 5
        assert json.loads(tracer.stdout[-1])["reason"] == "target-exited"
        assert any(line.startswith("the target ended before its classes were restored") for line in tracer.stderr)
        assert any(line.startswith(f"error: the JVM {mortal.pid} has ended") for line in tracer.stderr)


def test_a_target_that_exits_loses_nothing() -> None:
    """The JVM delays its exit until btpy has read the records, maps and @OnEnd output."""
    script = "com.acme.shop.PricingEngine::quote @exit { @n = count(); print($sku) } @OnEnd { print(@n) }"
    options = ["--requests", "211", "--rate", "0", "--gate"]
    with target(17, MAIN, *options, classpath=[shop_jar()]) as mortal:
        flags = ["-e", script, "--hits", 0, "--pending", "-f", "ndjson"]
        with started(mortal.pid, *flags) as tracer:
            tracer.wait_for(lambda line: '"attached_probes"' in line)
            mortal.send()
            counts_seen = counts(mortal.wait_for("counts "))
            mortal.send()
            assert mortal.wait() == 0
            assert tracer.wait() == 5
        records = [json.loads(line) for line in tracer.stdout]
        prints = [record for record in records if record["type"] == "printf"]
        maps = [record for record in records if record["type"] == "map"]
        assert len(prints) == counts_seen["quote"]
        assert [record["data"] for record in maps] == [{"@n": counts_seen["quote"]}]
        assert records[-1]["reason"] == "target-exited"
        assert any(line.startswith(f"error: the JVM {mortal.pid} has ended") for line in tracer.stderr)
        assert mortal.stderr == []


def test_output_moved_away_is_opened_anew(shop: Target, tmp_path: Path) -> None:
    path, old = tmp_path / "out", tmp_path / "out.1"
    with started(shop.pid, "-e", EVERY_QUOTE, "--hits", 0, "-o", path) as tracer:
        until(lambda: path.exists() and path.stat().st_size > 0)
        path.rename(old)
        tracer.process.send_signal(signal.SIGHUP)
        until(lambda: path.exists() and path.stat().st_size > 0)
        tracer.process.send_signal(signal.SIGINT)
        assert tracer.wait() == 0
    lines = (old.read_text() + path.read_text()).splitlines()
    assert lines[-1].split() == ["@n", str(len(lines) - 1)]


def test_the_demo() -> None:
    process = subprocess.run(
        [sys.executable, "-m", "btpy", "demo"],
        env={**ENVIRONMENT, "BTPY_DEMO_SECONDS": "3"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert "\n@latency  n=" in "\n" + process.stdout
    assert "classes restored 3/3 " in process.stderr
