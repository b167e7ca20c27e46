"""When the reader of the output closes it, btpy ends as with Ctrl-C, even if it has nothing to write. An unattended
session goes on.
"""

from __future__ import annotations

import json
import os
import pty
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live.scripts import counted, counted_classes, waited
from tests.targets import PATIENCE, Target

COUNTS = "Counted::step @entry { @n = count(); }"
PRINTS = "Counted::step @entry { print(arg1); }"
BROKEN_PIPE = 141  # the status that a shell reports for a process ended by SIGPIPE
UNBOUNDED = ("--budget", "off", "--hits", "0")


@pytest.fixture(autouse=True)
def own_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.fixture(scope="module")
def program() -> Iterator[Target]:
    with counted(17) as jvm:
        yield jvm


def command(*arguments: Any) -> list[str]:
    return [sys.executable, "-m", "btpy", *map(str, arguments)]


ENVIRONMENT = {**os.environ, "NO_COLOR": "1", "LC_ALL": "C.UTF-8", "TERM": "dumb"}


class Btpy:
    """Runs btpy with the standard output ``output``, a descriptor that this process closes, and reads its standard
    error.
    """

    def __init__(self, output: int, *arguments: Any) -> None:
        self.process = subprocess.Popen(
            command(*arguments),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
        os.close(output)
        self.lines: list[str] = []

    def wait_for(self, words: str) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))
            if words in line:
                return
        raise AssertionError(f"no {words!r} in {self.lines}")

    def end(self) -> tuple[int, list[str]]:
        """Exit status, and lines of standard error."""
        _, rest = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, [*self.lines, *rest.splitlines()]


def run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", script], env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE * 2, check=False
    )


def sessions(program: Target) -> list[dict[str, Any]]:
    result = subprocess.run(
        command("sessions", program.pid, "--json"), env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in result.stdout.splitlines()]


def call(program: Target, times: int) -> None:
    program.send(f"call {times}")
    program.wait_for("called")


def ends(kind: str) -> tuple[int, Any]:
    """The descriptor that btpy writes to, and a function that closes the other end."""
    if kind == "pipe":
        reader, writer = os.pipe()
        return writer, lambda: os.close(reader)
    if kind == "socket":
        own_end, other_end = socket.socketpair()
        return other_end.detach(), own_end.close
    controller, terminal = pty.openpty()
    return terminal, lambda: os.close(controller)


@pytest.mark.parametrize("kind", ["pipe", "socket", "terminal"])
@pytest.mark.parametrize("format_", ["text", "ndjson"])
def test_a_run_that_writes_nothing_notices_the_closed_output(program: Target, kind: str, format_: str) -> None:
    output, close = ends(kind)
    btpy = Btpy(output, program.pid, "-e", COUNTS, "-f", format_)
    btpy.wait_for("Ctrl-C to end")
    close()
    status, lines = btpy.end()
    assert status == BROKEN_PIPE, lines
    assert "btpy: standard output was closed by its reader" in lines
    assert "classes restored 1/1" in lines[-1]
    call(program, 3)
    assert sessions(program) == []


def test_a_run_with_several_jvms(program: Target) -> None:
    with counted(17) as other:
        output, close = ends("pipe")
        btpy = Btpy(output, f"{program.pid},{other.pid}", "-e", COUNTS)
        btpy.wait_for("tracing 2 JVMs")
        close()
        status, lines = btpy.end()
    assert status == BROKEN_PIPE, lines
    assert sum("classes restored 1/1" in line for line in lines) == 2, lines


def test_a_closed_pipe_does_not_end_an_unattended_session(program: Target) -> None:
    line = shlex.join(command(program.pid, "-e", PRINTS, "-x", "--name", "night", "--budget", "off"))
    assert run(line).returncode == 0
    call(program, 13)
    attached = run(f"{shlex.join(command('attach', program.pid, 'night'))} | head -n 1; exit ${{PIPESTATUS[0]}}")
    assert (attached.returncode, attached.stdout) == (BROKEN_PIPE, "0\n"), attached.stderr
    assert "goes on for" in attached.stderr
    (session,) = sessions(program)
    assert (session["name"], session["clients"]) == ("night", 0)
    stopped = run(f"{shlex.join(command('stop', program.pid, 'night'))} | true; exit ${{PIPESTATUS[0]}}")
    assert "classes restored 1/1" in stopped.stderr
    assert sessions(program) == []


def test_keep_keeps_it(program: Target) -> None:
    output, close = ends("pipe")
    btpy = Btpy(output, program.pid, "-e", COUNTS, "--keep", "--name", "kept")
    btpy.wait_for("Ctrl-C leaves it running")
    close()
    status, lines = btpy.end()
    assert status == BROKEN_PIPE, lines
    assert [session["name"] for session in sessions(program)] == ["kept"]
    assert run(shlex.join(command("stop", program.pid, "kept"))).returncode == 0


def test_a_full_disk_does_not_end_an_unattended_session(program: Target) -> None:
    assert run(shlex.join(command(program.pid, "-e", PRINTS, "-x", "--name", "night"))).returncode == 0
    call(program, 3)
    attached = run(f"{shlex.join(command('attach', program.pid, 'night'))} >/dev/full")
    assert (attached.returncode, "no space left on device" in attached.stderr) == (1, True), attached.stderr
    assert [session["name"] for session in sessions(program)] == ["night"]
    assert run(shlex.join(command("stop", program.pid, "night"))).returncode == 0


def test_a_recording_beside_it_is_whole(program: Target, tmp_path: Path) -> None:
    output, close = ends("pipe")
    btpy = Btpy(output, program.pid, "-e", COUNTS, "--record", tmp_path / "run.btz", "--budget", "off")
    btpy.wait_for("Ctrl-C to end")
    call(program, 19)
    close()
    assert btpy.end()[0] == BROKEN_PIPE
    result = run(shlex.join(command("replay", tmp_path / "run.btz", "-f", "ndjson")))
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert [record["data"] for record in records if record["type"] == "map"] == [{"@n": 19}]
    assert records[-1]["reason"] == "reader-gone"


def test_a_replay_ends_with_its_reader(program: Target, tmp_path: Path) -> None:
    path = tmp_path / "run.btz"
    recording = Btpy(os.open(os.devnull, os.O_WRONLY), program.pid, "-e", PRINTS, "-o", path, *UNBOUNDED)
    recording.wait_for("Ctrl-C to end")
    call(program, 10007)
    recording.process.terminate()
    assert recording.end()[0] == 0
    result = run(f"{shlex.join(command('replay', path))} | head -n 2; exit ${{PIPESTATUS[0]}}")
    assert (result.returncode, result.stdout, result.stderr) == (BROKEN_PIPE, "0\n1\n", "")


def test_a_file_needs_no_reader_of_standard_output(program: Target, tmp_path: Path) -> None:
    for name in ("run.txt", "run.btz"):
        output, close = ends("pipe")
        btpy = Btpy(
            output, program.pid, "-e", "Counted::step @entry { print(arg1); }", "-o", tmp_path / name, *UNBOUNDED
        )
        btpy.wait_for("Ctrl-C to end")
        close()
        call(program, 7)
        if name == "run.txt":
            waited(lambda: (tmp_path / "run.txt").read_text() == "0\n1\n2\n3\n4\n5\n6\n", "nothing is written")
        btpy.process.terminate()
        status, lines = btpy.end()
        assert (status, "classes restored 1/1" in lines[-1]) == (0, True), lines
    result = run(shlex.join(command("replay", tmp_path / "run.btz")))
    assert result.stdout.split() == list("0123456")


def test_a_program_that_was_started_goes_on() -> None:
    with subprocess.Popen(
        command("run", "-e", COUNTS, "--", "java", "-cp", counted_classes(), "Counted"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    ) as btpy:
        assert btpy.stdin is not None
        assert btpy.stdout is not None
        assert btpy.stderr is not None
        assert any("Ctrl-C to end" in line for line in iter(btpy.stderr.readline, ""))
        btpy.stdout.close()
        assert any("goes on" in line for line in iter(btpy.stderr.readline, ""))
        assert btpy.poll() is None
        btpy.stdin.close()  # Counted ends when its standard input ends
        assert btpy.wait(PATIENCE) == BROKEN_PIPE


@pytest.mark.parametrize("redirection", ["2>&-", "2> >(true)", "<&- 2>&-"])
def test_standard_error_may_be_closed(program: Target, tmp_path: Path, redirection: str) -> None:
    """No file opened later may get the number of the closed output: messages would go to the target, or into a file."""
    path = tmp_path / "run.btz"
    line = shlex.join(command(program.pid, "-e", "@OnBegin { print(7); exit(3); }", "--record", path))
    result = run(f"{line} {redirection}")
    assert (result.returncode, result.stdout) == (3, "7\n"), result.stderr
    assert run(shlex.join(command("replay", path))).stdout == "7\n"


def test_standard_error_of_a_run_that_writes_nothing_may_be_closed(program: Target) -> None:
    line = shlex.join(command(program.pid, "-e", COUNTS))
    result = run(f"set -o pipefail; {line} 2>&- | sleep 3")
    assert result.returncode == BROKEN_PIPE
    call(program, 3)
    assert sessions(program) == []


def test_without_standard_output_btpy_attaches_to_no_jvm(program: Target) -> None:
    result = run(f"{shlex.join(command(program.pid, '-e', COUNTS))} >&-")
    assert (result.returncode, result.stderr) == (1, "error: cannot write standard output: it is closed\n")
    files = run(f"{shlex.join(command(program.pid, '-e', '@OnTimer(50ms) { exit(3); }', '-o', '/dev/null'))} >&-")
    assert files.returncode == 3, files.stderr


def test_a_file_of_commands(program: Target, tmp_path: Path) -> None:
    path = tmp_path / "commands"
    path.write_text(f"{COUNTS}\n" + ":probes\n" * 200)
    line = shlex.join(command(program.pid, "--repl-script", path))
    result = run(f"{line} | head -n 1; exit ${{PIPESTATUS[0]}}")
    assert (result.returncode, result.stderr) == (BROKEN_PIPE, "")
    call(program, 3)
    assert sessions(program) == []
