"""The Java compiler of the tests: one JVM for each process of the tests, which stays for the next sources.

javac needs a second of processor time to start, and a tenth of that for the sources of a usual test once it is warm.
"""

from __future__ import annotations

import atexit
import struct
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_SERVER = _ROOT / "tests" / "java" / "CompilerServer.java"
_FLAGS = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""HotSpot's quick compiler and the serial collector save half of the time."""

_ANSWER = struct.Struct(">ii")  # the exit status, and the number of bytes of the messages


class CompilerDiedError(Exception):
    """The JVM has ended during a request; its stderr is the one of this process."""


class Compiler:
    """A JVM that compiles. The first request starts it, and it ends with this process.

    ``java``: the launcher of a JDK 17 or later.
    """

    def __init__(self, java: Path) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._command = [str(java), *_FLAGS, str(_SERVER)]
        self._turn = threading.Lock()

    def run(self, arguments: Sequence[str | Path]) -> None:
        """Does what ``javac ARGUMENTS…`` does. Paths must be absolute.

        Raises subprocess.CalledProcessError; its stderr has javac's messages. Raises CompilerDiedError.
        """
        words = [str(argument) for argument in arguments]
        with self._turn:
            try:
                status, messages = self._ask(words)
            except BaseException:  # the answer to this request must not be taken for the next one's
                self._end(kill=True)
                raise
        if status:
            raise subprocess.CalledProcessError(status, ["javac", *words], stderr=messages)

    def _ask(self, words: list[str]) -> tuple[int, str]:
        if self.process is None:
            self.process = subprocess.Popen(self._command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            atexit.register(self._end)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write("\t".join(words).encode() + b"\n")
            self.process.stdin.flush()
            status, size = _ANSWER.unpack(self.process.stdout.read(_ANSWER.size))
        except (BrokenPipeError, struct.error):
            raise CompilerDiedError(f"the Java compiler has ended with status {self.process.wait()}") from None
        return status, self.process.stdout.read(size).decode(errors="replace")

    def _end(self, kill: bool = False) -> None:
        atexit.unregister(self._end)
        process, self.process = self.process, None
        if process is not None:
            if kill:
                process.kill()
            process.communicate()
