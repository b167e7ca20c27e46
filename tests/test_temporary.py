"""The next process removes the temporary directory of a process that was killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from btpy.temporary import Temporary
from tests.jvm.test_attach import ROOT
from tests.live.scripts import own_tmp, waited

__all__ = ["own_tmp"]

HOLDING = """
import sys
from btpy.temporary import Temporary
held = Temporary()
(held.path / "secret").write_text("7")
print(held.path, flush=True)
sys.stdin.read()
"""

RELEASE = 'JAVA_VERSION="17.0.9"\n'


def holder() -> tuple[subprocess.Popen[str], Path]:
    """A process, and the directory that it has made."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_the_next_process_removes_unused_directories(own_tmp: Path) -> None:
    (own_tmp / "btpy-chaos-7").mkdir()  # as a different user could make it, with a name like btpy's
    (own_tmp / "other").mkdir()
    (own_tmp / "other" / "lock").touch()
    (own_tmp / "btpy-link").symlink_to(own_tmp / "other")
    killed, unused_directory = holder()
    living, directory = holder()
    with killed, living:
        killed.kill()
        killed.wait()
        assert (unused_directory / "secret").exists()
        mine = Temporary()
        mine.remove()
        mine.remove()
        assert not unused_directory.exists()
        assert (directory / "secret").exists()
        assert {path.name for path in own_tmp.iterdir()} == {"btpy-chaos-7", "other", "btpy-link", directory.name}
        assert (own_tmp / "other" / "lock").exists()
        living.kill()


def test_a_run_that_is_killed_before_its_program_has_called(own_tmp: Path) -> None:
    java = own_tmp / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\nexec cat\n")  # a program that calls no method, and ends when its input ends
    java.chmod(0o755)
    (own_tmp / "jdk" / "release").write_text(RELEASE)
    with subprocess.Popen(
        [sys.executable, "-m", "btpy", "run", "-e", "Counted::step { }", "--", str(java), "Counted"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as run:
        waited(lambda: bool(list(own_tmp.glob("btpy-*/secret-*"))), "it starts the program")
        run.kill()
    assert len(list(own_tmp.glob("btpy-*"))) == 1

    def is_removed() -> bool:
        Temporary().remove()
        return [path.name for path in own_tmp.iterdir()] == ["jdk"]

    waited(is_removed, "the directory is gone")  # the program may be between fork and exec, where it still has the lock
