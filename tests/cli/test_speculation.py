"""``speculate``, ``commit`` and ``discard`` on a running program, with its thread variables: from script to output."""

from __future__ import annotations

import json
import re
import signal

import pytest

from tests.cli.test_trace import started, until
from tests.live.test_thread_values import requests

THREADS, STEPS = 31, 3

SCRIPT = """
Requests::handle @entry as begin { thread.id = arg0; speculate(arg0); print("begin", arg0); }
Requests::step @entry as step when thread.id != null { speculate(thread.id); print("step", arg0, arg1); }
Requests::handle @return as end {
  print("handled", arg0);
  speculate(arg0);
  emit("end", id=arg0, at=strftime("%Y"));
  if arg0 % 5 == 0 { commit(arg0); } else if arg0 % 5 != 1 { discard(arg0); }
  clear_thread();
}
"""


@pytest.mark.parametrize("format_", ["text", "ndjson"])
def test_committed_records_come_in_order_and_every_record_is_counted(format_: str) -> None:
    with requests(17) as program, started(program.pid, "-e", SCRIPT, "--hits", 0, "--format", format_) as tracer:
        until(lambda: any("Ctrl-C to end" in line for line in tracer.stderr))
        program.send(f"platform {THREADS} {STEPS}")
        program.wait_for("handled")
        until(lambda: sum("handled" in line for line in tracer.stdout) == THREADS)
        tracer.process.send_signal(signal.SIGINT)
        assert tracer.wait() == 0
        if format_ == "ndjson":
            lines = [json.loads(line) for line in tracer.stdout]
            steps = [line["data"] for line in lines if line["type"] == "printf" and line["data"].startswith("step")]
            assert len(steps) == STEPS * len(range(0, THREADS, 5))
            losses = sum(line["count"] for line in lines if line["type"] == "lost" and line["cause"] == "speculation")
            (end,) = (line for line in lines if line["type"] == "end")
            assert end["dropped"] == losses == (STEPS + 2) * (THREADS - len(range(0, THREADS, 5)))
            assert end["produced"] == end["delivered"] + end["dropped"] == THREADS * (STEPS + 3)
            return
        speculative = [re.sub(r"\b20\d\d$", "YEAR", line) for line in tracer.stdout if not line.startswith("handled")]
        blocks = ["\n".join(speculative[at : at + STEPS + 2]) for at in range(0, len(speculative), STEPS + 2)]
        assert sorted(blocks) == sorted(
            "\n".join(
                [f"begin {id_}", *(f"step {id_} {step}" for step in range(1, STEPS + 1)), f"end id={id_} at=YEAR"]
            )
            for id_ in range(0, THREADS, 5)
        )
        committed = len(range(0, THREADS, 5))
        delivered = THREADS + committed * (STEPS + 2)
        drops = (THREADS - committed) * (STEPS + 2)
        summary = next(line for line in tracer.stderr if line.startswith("events "))
        assert summary.startswith(f"events {delivered} shown, {drops} not committed, 0 lost")
        assert f"{delivered + drops} produced = {delivered} delivered + {drops} dropped" in summary
        assert not any(line.startswith("warning") for line in tracer.stderr)
