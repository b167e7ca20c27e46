"""produced = delivered + dropped, exactly, by probe and cause: overload, a stopped client, a slow disk, a target that
ends during the run.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live.scripts import counted, waited
from tests.targets import PATIENCE, Target

SCRIPT = f"""
@OnMethod(class="Counted", method="step", location=ENTRY) {{ print(arg1, replace(arg0, "b", "{"x" * 190}")); }}
@OnMethod(class="Counted", method="step", location=RETURN) when retval % 3 == 0 {{ print(retval, arg0); }}
"""
"""The long text makes the records large, so that fewer of them fill the queues."""


@pytest.fixture
def busy() -> Iterator[Target]:
    with counted(17) as target:
        target.send("forever")
        target.wait_for("running")
        yield target


def started(target: Target, output: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "btpy", str(target.pid), "-e", SCRIPT, "--hits", "0", "--budget", "off"]
    return subprocess.Popen([*command, "-f", "ndjson", "-o", str(output)], stderr=subprocess.PIPE, text=True)


def check(records: list[dict[str, Any]]) -> dict[str, Any]:
    """The end record, after its numbers were compared with the output."""
    (end,) = [record for record in records if record["type"] == "end"]
    prints = sum(record["type"] == "printf" for record in records)
    assert end["produced"] == end["delivered"] + end["dropped"], end
    assert end["delivered"] == prints
    losses: Counter[tuple[str, str]] = Counter()
    for record in records:
        if record["type"] == "lost":
            losses[record["probe"], record["cause"]] += record["count"]
    for probe in end["probes"]:
        assert probe["produced"] == probe["delivered"] + sum(probe["dropped"].values()), probe
        assert probe["fired"] == probe["produced"], probe
        for cause, count in probe["dropped"].items():
            assert losses[probe["probe"], cause] == count, probe
    return end


def ended(client: subprocess.Popen[str], status: int = 0) -> None:
    _, errors = client.communicate(timeout=PATIENCE * 2)
    assert client.returncode == status, errors


def processor_seconds(pid: int) -> float:
    """The processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def read(output: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.read_text().splitlines()]


def test_a_client_that_is_stopped_for_a_while(busy: Target, tmp_path: Path) -> None:
    output = tmp_path / "events.ndjson"
    client = started(busy, output)
    waited(lambda: output.exists() and output.stat().st_size > 100_000, "nothing is written")
    client.send_signal(signal.SIGSTOP)
    time.sleep(2)  # less than the lease of ten seconds
    client.send_signal(signal.SIGCONT)
    size = output.stat().st_size
    waited(lambda: output.stat().st_size > size + 100_000, "it does not go on")
    client.send_signal(signal.SIGINT)
    ended(client)
    end = check(read(output))
    assert end["dropped"] > 0  # the target does not keep records that a stopped client does not read
    assert end["restored"] == end["woven"] == 1


def test_a_disk_that_is_slow(busy: Target, tmp_path: Path) -> None:
    """A pipe with a slow reader."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    client = started(busy, pipe)
    data = bytearray()
    with open(pipe, "rb", buffering=0) as reader:
        began = processor_seconds(busy.pid)
        while processor_seconds(busy.pid) < began + 2:  # then it has made more than fits into all queues
            data += reader.read(4096)
            time.sleep(0.05)
        client.send_signal(signal.SIGINT)
        while chunk := reader.read(1 << 20):
            data += chunk
    ended(client)
    end = check([json.loads(line) for line in data.decode().splitlines()])
    assert end["dropped"] > 0


def test_a_target_that_ends_in_the_middle(tmp_path: Path) -> None:
    """A target that ends by itself: all records of its probes have come."""
    output = tmp_path / "events.ndjson"
    with counted(17) as target:
        client = started(target, output)
        waited(lambda: output.exists() and "attached_probes" in output.read_text(), "not attached")
        target.send("call 50021")
        target.process.stdin.close()  # type: ignore[union-attr]  # its main method returns after that
        assert target.wait() == 0
        ended(client, 5)
    end = check(read(output))
    assert end["reason"] == "target-exited"
    assert end["probes"][0]["fired"] == end["probes"][0]["produced"] == 50021


def test_a_client_that_is_stopped_while_its_target_ends(tmp_path: Path) -> None:
    """The target does not wait forever for the client. The client reports the loss at the end of its output."""
    output = tmp_path / "events.ndjson"
    with counted(17) as target:
        client = started(target, output)
        waited(lambda: output.exists() and "attached_probes" in output.read_text(), "not attached")
        client.send_signal(signal.SIGSTOP)
        target.send("call 1009")
        target.process.stdin.close()  # type: ignore[union-attr]  # its main method returns after that
        assert target.wait() == 0
        client.send_signal(signal.SIGCONT)
        ended(client, 5)
    (end,) = [record for record in read(output) if record["type"] == "end"]
    assert end["reason"] == "target-exited"
