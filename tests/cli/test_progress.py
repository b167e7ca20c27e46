"""Reports of progress while work takes long. tests/terminal/test_live.py tests them on a terminal."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from btpy.cli import progress as telling
from btpy.cli.console import Console
from btpy.cli.progress import reported, words
from btpy.events.progress import Progress, Step, Work
from btpy.jvm.processes import JvmProcess

MS = 1_000_000
RUNNING = JvmProcess(
    pid=os.getpid(),
    uid=os.geteuid(),
    gid=os.getegid(),
    user="",
    main="",
    name="",
    command=(),
    java_version="",
    vm_name="",
    java_home="",
    start_ticks=0,
    namespace_pid=os.getpid(),
    root=Path("/"),
    obstacle=None,
)


def test_words() -> None:
    assert words(Step(Work.READING, 735, 434), 1.2) == "reading 434 of 735 classes · 1 s"
    assert words(Step(Work.WEAVING, 9_876, 1_204, 12 * MS), 4) == (
        "weaving 1 204 of 9 876 classes, longest stop so far 12ms · 4 s"
    )
    assert words(Step(Work.PREWEAVING, 0), 1.9) == "weaving classes before they are loaded · 2 s"
    assert words(Step(Work.RESTORING, 1), 11) == "putting 1 class back · 11 s"


def test_progress_counts_to_the_end_and_no_further() -> None:
    progress = Progress()
    progress.advance()
    assert progress.step is None
    with progress.of(Work.WEAVING, 2):
        progress.advance(5 * MS)
        progress.advance(3 * MS, done=0)
        assert progress.step == Step(Work.WEAVING, 2, 1, 5 * MS)
        progress.advance(done=7)
        assert progress.step == Step(Work.WEAVING, 2, 2, 5 * MS)
    assert progress.step is None


class Heard(Console):
    def __init__(self, verbosity: int = 0) -> None:
        super().__init__(verbosity=verbosity)
        self.lines: list[str] = []
        self.spoken = threading.Event()
        self.write = self._hear

    def _hear(self, descriptor: int, data: bytes) -> int:
        self.lines.append(data.decode())
        self.spoken.set()
        return len(data)


def test_where_nothing_can_be_drawn_a_line_is_printed_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "_SOON", 0.001)
    monkeypatch.setenv("TERM", "dumb")
    progress, console = Progress(), Heard()
    with reported(progress, console, RUNNING), progress.of(Work.WEAVING, 31):
        assert console.spoken.wait(60)
    assert console.lines == ["weaving 0 of 31 classes · 0 s\n"]


def test_short_work_and_quiet_users_hear_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    progress, console = Progress(), Heard()
    with reported(progress, console, RUNNING), progress.of(Work.WEAVING, 31):
        pass
    assert console.lines == []
    monkeypatch.setattr(telling, "_SOON", 0.0)
    with reported(progress, quiet := Heard(verbosity=-1), RUNNING), progress.of(Work.WEAVING, 31):
        assert not quiet.spoken.wait(0.05)
