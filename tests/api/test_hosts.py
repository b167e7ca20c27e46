"""The connections to several hosts, with shell commands in place of ssh."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from btpy.api import hosts
from btpy.api.hosts import HostEnded, HostLine, HostPushed, Hosts, HostSilent, Pushing, Reach, Report
from btpy.api.push import Copy
from tests.targets import PATIENCE


@contextmanager
def running(script: str, *names: str, fan_out: int = 10) -> Iterator[Hosts]:
    """``script``: a script of the shell, in which ``$0`` is the name of the host."""
    connections = Hosts(
        dict.fromkeys(names, b"{}\n"), Reach(("sh", "-c", script), program="sh"), "btpy node", fan_out=fan_out
    )
    connections.begin(names)
    try:
        yield connections
    finally:
        connections.close()


def until(connections: Hosts, kind: type, count: int = 1) -> list[Report]:
    """Calls ``turn`` until ``count`` reports of that kind have come; returns all reports."""
    reports: list[Report] = []
    deadline = time.monotonic() + PATIENCE
    while sum(isinstance(report, kind) for report in reports) < count:
        assert time.monotonic() < deadline, reports
        reports += connections.turn(0.1)
    return reports


def test_a_host_ends_with_its_status_after_its_last_words() -> None:
    with running('printf "one\\ntwo" >&2; exit 41', "web") as connections:
        assert until(connections, HostEnded) == [
            HostLine("web", "one"),
            HostLine("web", "two"),
            HostEnded("web", 41, False),
        ]
        assert connections.remaining == []


def test_lines_of_a_host_are_bounded() -> None:
    with running("head -c 20000 /dev/zero | tr '\\0' x >&2", "web") as connections:
        lines = [report.line for report in until(connections, HostEnded) if isinstance(report, HostLine)]
    assert [*map(len, lines)] == [4096, 4096, 4096, 4096, 3616]


def test_a_silent_host_is_reported_once_and_again_when_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "SILENT_SECONDS", 0.2)
    script = 'read request; read alive; read alive; echo "awake" >&2; exec sleep 600'
    with running(script, "web") as connections:
        reports = until(connections, HostLine)
    assert [(type(report), getattr(report, "seconds", 1) > 0) for report in reports] == [
        (HostSilent, True),
        (HostSilent, False),
        (HostLine, True),
    ]


def test_only_so_many_hosts_are_connected_at_a_time(tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = f"echo $0 >> {log}; while [ ! -e {tmp_path}/$0 ]; do sleep 0.05; done"
    with running(script, "a", "b", "c", fan_out=2) as connections:
        deadline = time.monotonic() + PATIENCE
        while not (log.exists() and len(log.read_text().split()) == 2):
            assert time.monotonic() < deadline
            list(connections.turn(0.05))
        assert sorted(connections.remaining) == ["a", "b", "c"]
        (tmp_path / "a").touch()
        until(connections, HostEnded)
        (tmp_path / "b").touch()
        (tmp_path / "c").touch()
        until(connections, HostEnded, 2)
        names = log.read_text().split()
    assert sorted(names[:2]) == ["a", "b"]
    assert names[2:] == ["c"]


def test_a_host_that_does_not_answer_holds_up_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "SILENT_SECONDS", 0.1)
    with running("[ $0 = stuck ] && exec sleep 600; exit 3", "stuck", "web", fan_out=1) as connections:
        reports = until(connections, HostEnded)
        assert reports[-1] == HostEnded("web", 3, False)
        assert connections.remaining == ["stuck"]


def test_a_host_that_has_not_begun_is_left_at_the_end() -> None:
    with running("exec sleep 600", "web", "db", fan_out=1) as connections:
        list(connections.turn(0.05))
        connections.stop()
        (end,) = until(connections, HostEnded)
    assert isinstance(end, HostEnded)
    assert (end.host, end.status) == ("web", -15)


def test_a_host_that_keeps_its_connection_open_is_left_after_a_while() -> None:
    """The stand-in closes its output but goes on, like ssh while another program holds the connection."""
    with running("exec >&-; exec sleep 600", "web") as connections:
        assert until(connections, HostEnded) == [HostEnded("web", -15, False)]


_TAKES_COPY = r"""
read first; read second; sleep 1.2
[ "$second" = second ] && printf '\211BTPneeded\n'
printf '%s' "$(head -c 100000 | tr -d x | wc -c) other bytes" >&2
exit 41
"""


def test_a_copy_of_btpy_arrives_whole_after_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client sends no keep-alive message between the steps and the copy. The user sees no message of the first
    attempt."""
    pushing = Pushing("python3")
    monkeypatch.setattr(Pushing, "copy", Copy(b"first\nsecond\n", b"x" * 100_000))
    script = f'if [ "$1" = "btpy node" ]; then echo "not found" >&2; exit 127; fi; {_TAKES_COPY}'
    reach = Reach(("sh", "-c", script), program="sh")
    connections = Hosts({"web": b"{}\n"}, reach, "btpy node", fan_out=1, pushing=pushing)
    connections.begin(["web"])
    try:
        reports = until(connections, HostEnded)
    finally:
        connections.close()
    assert reports == [
        HostPushed("web", 100_000),
        HostLine("web", "0 other bytes"),
        HostEnded("web", 41, False, None, True),
    ]
