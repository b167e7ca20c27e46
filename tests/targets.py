"""Java programs for tests to trace: starts one, talks to it line by line, stops it, and returns its whole output."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO

from tests.jdks import java

PATIENCE = 60.0
"""Seconds to wait for a line: far more than any machine needs, so that a wait that runs out is a defect."""


_compiler_flags: tuple[str, ...] = ()


def compile_lightly(light: bool) -> None:
    """Programs that :func:`target` starts from now on are compiled by HotSpot's quick compiler only, or by both of its
    compilers.
    """
    global _compiler_flags
    _compiler_flags = ("-XX:TieredStopAtLevel=1",) if light else ()


class TargetError(AssertionError):
    """The program did not print the expected line; the message has its whole output."""


class Target:
    """A running Java program. Its output is read by two threads, so that full pipes never stop it."""

    def __init__(self, command: Sequence[str], env: dict[str, str] | None = None) -> None:
        self.command = list(command)
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="surrogateescape",
            env=env,
        )
        with contextlib.suppress(PermissionError):  # removes the socket of an earlier JVM with this pid that was killed
            Path(f"/tmp/.java_pid{self.process.pid}").unlink(missing_ok=True)
        self._changed = threading.Condition()
        self._lines: list[str] = []
        self._errors: list[str] = []
        self._read = 0
        assert self.process.stdin is not None
        self._stdin = self.process.stdin
        self._readers = [
            threading.Thread(target=self._collect, args=(pipe, into), daemon=True)
            for pipe, into in ((self.process.stdout, self._lines), (self.process.stderr, self._errors))
        ]
        for reader in self._readers:
            reader.start()

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def stdout(self) -> list[str]:
        """The lines printed so far."""
        with self._changed:
            return list(self._lines)

    @property
    def stderr(self) -> list[str]:
        with self._changed:
            return list(self._errors)

    def wait_for(self, condition: str | Callable[[str], bool], patience: float = PATIENCE) -> str:
        """The next line of stdout that equals or starts with ``condition``; lines before it are passed over.

        Raises TargetError when it has not come in ``patience`` seconds or the program ended without it.
        """
        fits = condition if callable(condition) else lambda line: line.startswith(condition)
        deadline = time.monotonic() + patience
        with self._changed:
            while True:
                while self._read < len(self._lines):
                    line = self._lines[self._read]
                    self._read += 1
                    if fits(line):
                        return line
                seconds = deadline - time.monotonic()
                if seconds <= 0 or (self.process.poll() is not None and not self._readers[0].is_alive()):
                    raise TargetError(self._report(f"no line {condition!r}"))
                self._changed.wait(min(seconds, 0.2))

    def send(self, line: str = "") -> None:
        """Writes one line to the program's stdin. A program at its gate waits for a line."""
        self._stdin.write(line + "\n")
        self._stdin.flush()

    def wait(self, patience: float = PATIENCE) -> int:
        """The program's exit status, once it has ended by itself and all its output was read."""
        try:
            status = self.process.wait(patience)
        except subprocess.TimeoutExpired:
            raise TargetError(self._report("still running")) from None
        for reader in self._readers:
            reader.join()
        return status

    def stop(self) -> None:
        """Ends the program in any state."""
        self.process.kill()
        self.process.wait()
        Path(f"/tmp/.java_pid{self.pid}").unlink(missing_ok=True)  # a killed JVM leaves its socket
        for reader in self._readers:
            reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):  # a line was still in the buffer of stdin
                pipe.close()

    def _collect(self, pipe: IO[str] | None, into: list[str]) -> None:
        assert pipe is not None
        for line in pipe:
            with self._changed:
                into.append(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def _report(self, problem: str) -> str:
        status = f"exit status {self.process.poll()}"
        output = ["--- stdout", *self._lines[-200:], "--- stderr", *self._errors[-200:]]
        return "\n".join([f"{problem} from: {' '.join(self.command)}", status, *output])


@contextmanager
def target(
    jdk: int,
    main: str,
    *arguments: str,
    classpath: Sequence[Path],
    flags: Sequence[str] = (),
    ready: str | None = "ready",
    agents: bool = True,
    env: dict[str, str] | None = None,
    prefix: Sequence[str] = (),
) -> Iterator[Target]:
    """Run class ``main`` on Java version ``jdk`` until the block ends; ``ready`` starts the line that says that the
    program is up.

    ``agents``: pass -XX:+EnableDynamicAgentLoading from JDK 21 on; without it these JVMs warn on stderr (JEP 451).
    ``prefix``: a command that runs another command, such as ``setpriv``.
    """
    command = [*prefix, str(java(jdk)), "-Xmx256m", "-XX:+UseSerialGC", *_compiler_flags]
    if agents and jdk >= 21:
        command.append("-XX:+EnableDynamicAgentLoading")
    command += [*flags, "-cp", os.pathsep.join(map(str, classpath)), main, *arguments]
    program = Target(command, env)
    try:
        if ready is not None:
            program.wait_for(ready)
        yield program
    finally:
        program.stop()


Programs = Callable[[int], Target]
"""Gives the running program on a Java version."""


@contextmanager
def shared_programs(start: Callable[[int], AbstractContextManager[Target]]) -> Iterator[Programs]:
    """A program on each Java version, for several tests: it starts when a test first needs it, and runs until the block
    ends.
    """
    running: dict[int, Target] = {}
    with contextlib.ExitStack() as stack:

        def program(jdk: int) -> Target:
            if jdk not in running:
                running[jdk] = stack.enter_context(start(jdk))
            return running[jdk]

        yield program
