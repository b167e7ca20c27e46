"""``btpy PID …`` on a running program: what it prints where, how it ends, how it leaves."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from examples.shop.build_shop import MAIN
from tests.examples.shop import shop_jar
from tests.targets import PATIENCE, Target, target

ENVIRONMENT = {**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
EVERY_QUOTE = "com.acme.shop.PricingEngine::quote @entry as quote { print($sku); @n = count(); }"


@pytest.fixture(scope="module")
def shop() -> Iterator[Target]:
    with target(17, MAIN, "--rate", "100", classpath=[shop_jar()]) as running:
        yield running


def start(*arguments: Any, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "btpy", *map(str, arguments)]
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, env=ENVIRONMENT, **{**pipes, **options})


def btpy(*arguments: Any) -> tuple[int, list[str], list[str]]:
    """Exit code, lines of stdout, lines of stderr."""
    process = start(*arguments)
    stdout, stderr = process.communicate(timeout=PATIENCE)
    return process.returncode, stdout.splitlines(), stderr.splitlines()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def check_restored(stderr: list[str]) -> None:
    assert any(line.startswith("classes restored 1/1 ") for line in stderr), stderr


def test_script_output_alone_is_on_standard_output(shop: Target) -> None:
    code, stdout, stderr = btpy(shop.pid, "-e", EVERY_QUOTE, "--hits", 3)
    assert code == 0
    assert [line.startswith("SKU-") for line in stdout[:3]] == [True] * 3
    assert [line.split()[0] for line in stdout[3:]] == ["@n"]
    assert stderr[0].startswith("btpy: 1 probe → 1 method in 1 class of ")
    assert stderr[0].endswith(" Ctrl-C to end.")
    assert stderr[1].startswith("events 3 shown, ")
    assert ", 0 lost" in stderr[1]
    check_restored(stderr)


def test_quiet(shop: Target) -> None:
    code, stdout, stderr = btpy(shop.pid, "-q", "-e", EVERY_QUOTE, "--hits", 1)
    assert (code, len(stdout), stderr) == (0, 2, [])


def test_one_liners_end_by_themselves_and_say_why(shop: Target) -> None:
    code, stdout, stderr = btpy(shop.pid, "-e", EVERY_QUOTE)
    assert (code, len(stdout)) == (0, 101)
    assert stderr[1] == "stopped after 100 hits (--hits N for more, --hits 0 for all)"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_in_order(shop: Target, number: signal.Signals) -> None:
    script = f'{EVERY_QUOTE} @OnEnd {{ print("the end"); }}'
    process = start(shop.pid, "-e", script, "--hits", 0)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("SKU-")
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    *_, end, maps = stdout.splitlines()
    assert end == "the end"
    assert int(maps.split()[1]) == 1 + len(stdout.splitlines()) - 2
    check_restored(stderr.splitlines())


def test_the_code_of_exit_is_the_exit_code(shop: Target) -> None:
    code, stdout, stderr = btpy(shop.pid, "-e", '@OnBegin { print("bye"); exit(64); } @OnEnd { print("end"); }')
    assert (code, stdout) == (64, ["bye", "end"])
    assert "events 2 shown, 0 lost" in stderr
    assert not any("produced" in line for line in stderr)


def test_nothing_matches(shop: Target) -> None:
    script = "com.acme.shop.PricingEngin::quote @entry { print(1) }"
    code, stdout, stderr = btpy(shop.pid, "-e", script)
    assert (code, stdout) == (4, [])
    assert stderr[0].startswith('error[BT301]: no loaded class matches "com.acme.shop.PricingEngin"')
    code, stdout, stderr = btpy(shop.pid, "-e", script, "--pending", "--for", "300ms")
    assert (code, stdout) == (0, [])
    assert any(line.endswith("0 hits: nothing that it matches was loaded while attached") for line in stderr)
    code, _, stderr = btpy(shop.pid, "-e", script, "--missing", "warn", "--for", "300ms")
    assert (code, stderr[0][:16]) == (0, "warning[BT301]: ")


def test_why_a_probe_was_silent(shop: Target) -> None:
    _, _, stderr = btpy(shop.pid, "-e", "com.acme.shop.Money::times as t when arg0 < 0 { print(1) }", "--for", "300ms")
    assert "t: 0 hits: matched 1 method; it was not called while attached, or its predicate was never true" in stderr


def test_probe_errors_show_their_place_once(shop: Target) -> None:
    script = "com.acme.shop.PricingEngine::quote @entry { @bad = count(); print(1 + self.nothing) }"
    code, stdout, stderr = btpy(shop.pid, "-e", script, "--for", "1s")
    assert code == 0
    count = int(stdout[0].split()[1])
    place = "  --> <command line>:1:71"
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


def test_a_reader_that_has_seen_enough_ends_it_quietly(shop: Target) -> None:
    process = start(shop.pid, "-e", EVERY_QUOTE, "--hits", 0)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith("SKU-")
    process.stdout.close()
    stderr = process.stderr.read().splitlines()
    process.stderr.close()
    assert process.wait(PATIENCE) == 0
    assert len(stderr) == 1  # the banner


def test_the_second_interrupt_leaves_at_once(shop: Target) -> None:
    reader, writer = os.pipe()
    process = start(shop.pid, "-e", "com.acme.shop.*::* @entry { print(args, args, args) }", "--hits", 0, stdout=writer)
    os.close(writer)

    def waiting() -> int:
        length: int = struct.unpack("i", fcntl.ioctl(reader, termios.FIONREAD, b"\0" * 4))[0]
        return length

    until(lambda: waiting() >= 1 << 16)  # nobody reads: btpy is stuck in a write
    process.send_signal(signal.SIGINT)
    status = Path(f"/proc/{process.pid}/wchan")
    until(lambda: "pipe" in status.read_text() or process.poll() is not None)
    time.sleep(0.2)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=PATIENCE)
    os.close(reader)
    assert process.returncode == 130
    assert stderr.splitlines()[-1] == "warning: interrupted: the agent puts the classes back by itself"
    check_restored(btpy(shop.pid, "-e", EVERY_QUOTE, "--hits", 1)[2])  # the target is as good as before


def test_a_signal_prints_the_maps(shop: Target) -> None:
    process = start(shop.pid, "-e", "com.acme.shop.PricingEngine::quote @entry { @n = count(); }")
    assert process.stderr is not None
    assert process.stdout is not None
    assert process.stderr.readline().startswith("btpy: ")
    process.send_signal(signal.SIGUSR1)
    line = process.stdout.readline()
    while not line:
        line = process.stdout.readline()
    assert line.startswith("@n ")
    process.send_signal(signal.SIGINT)
    stdout, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, len(stdout.splitlines())) == (0, 1)


def test_a_target_that_ends_is_told(tmp_path: Path) -> None:
    with target(17, MAIN, "--rate", "100", classpath=[shop_jar()]) as mortal:
        process = start(mortal.pid, "-e", EVERY_QUOTE, "--hits", 0, "-f", "ndjson")
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["type"] == "attached_probes"
        os.kill(mortal.pid, signal.SIGKILL)
        stdout, stderr = process.communicate(timeout=PATIENCE)
    assert process.returncode == 5
    assert json.loads(stdout.splitlines()[-1])["reason"] == "target-exited"
    assert any(line.startswith("the target ended before it was put back") for line in stderr.splitlines())
    assert any(line.startswith("error: ") for line in stderr.splitlines())


def test_output_moved_away_is_opened_anew(shop: Target, tmp_path: Path) -> None:
    path, old = tmp_path / "out", tmp_path / "out.1"
    process = start(shop.pid, "-e", EVERY_QUOTE, "--hits", 0, "-o", path)
    until(lambda: path.exists() and path.stat().st_size > 0)
    path.rename(old)
    process.send_signal(signal.SIGHUP)
    until(lambda: path.exists() and path.stat().st_size > 0)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    lines = (old.read_text() + path.read_text()).splitlines()
    assert int(lines[-1].split()[1]) == len(lines) - 1


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
