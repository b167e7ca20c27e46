"""Errors of probes as the command line shows them, also errors on the agent's own threads."""

from __future__ import annotations

from tests.cli.test_trace import btpy
from tests.live.test_thread_values import requests


def test_errors_in_a_timer_name_their_place() -> None:
    script = "@OnTimer(100ms) { print([1, 2][5]); @m = sum(null); @n++; if @n == 3 { exit(7) } }"
    with requests(17) as program:
        code, stdout, stderr = btpy(program.pid, "-e", script)
    assert code == 7
    assert stdout[:3] == ["null"] * 3
    text = "\n".join(stderr)
    assert "warning[index]: index out of range in `[1, 2][5]` (3 times)" in text
    assert "warning[null-sample]: null is not a sample in `null` (3 times)" in text
    assert "6 probe errors" in text
