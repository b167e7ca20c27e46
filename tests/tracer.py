"""btpy as users run it: a process that traces a target, prints JSON lines, and is stopped with Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from tests.targets import PATIENCE

Line = dict[str, Any]


class TracerError(AssertionError):
    """btpy did not reach the expected state; the message has its output."""


class Tracer:
    """One run of ``btpy``; ``records`` are the lines of its ndjson output so far, ``stderr`` the messages for the user.

    ``unread``: a type of records to skip, because there are too many to keep.
    """

    def __init__(self, arguments: Sequence[str], env: dict[str, str] | None = None, unread: str = "") -> None:
        # Tests need exact counts, and the first firings on a busy machine are slow.
        unbounded = [] if "--budget" in arguments or arguments[0] == "attach" else ["--budget", "off"]
        self.command = [sys.executable, "-m", "btpy", *arguments, *unbounded]
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "NO_COLOR": "1", **(env or {})},
        )
        self.records: list[Line] = []
        self.stderr: list[str] = []
        self._unread = f'"type":"{unread}"' if unread else None
        self._changed = threading.Condition()
        self._readers = [
            threading.Thread(target=self._read_records, args=(self.process.stdout,), daemon=True),
            threading.Thread(target=self._read_stderr, args=(self.process.stderr,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def wait_for(self, kind: str, patience: float = PATIENCE) -> Line:
        """The first record of that type. Raises TracerError if btpy ends, or takes too long, without such a record."""
        deadline = time.monotonic() + patience
        with self._changed:
            while True:
                for record in self.records:
                    if record["type"] == kind:
                        return record
                seconds = deadline - time.monotonic()
                if seconds <= 0 or (self.process.poll() is not None and not self._readers[0].is_alive()):
                    raise TracerError(self._report(f"no {kind!r} record"))
                self._changed.wait(min(seconds, 0.2))

    def wait_for_printed(self, count: int, patience: float = PATIENCE) -> None:
        """Waits until this number of lines has been printed. Raises TracerError when they do not come."""
        deadline = time.monotonic() + patience
        with self._changed:
            while len(self.printed()) < count:
                if time.monotonic() > deadline or not self._readers[0].is_alive():
                    raise TracerError(self._report(f"fewer than {count} lines"))
                self._changed.wait(0.2)

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Send a signal and wait for the end; returns the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.wait()

    def wait(self, patience: float = PATIENCE) -> int:
        try:
            status = self.process.wait(patience)
        except subprocess.TimeoutExpired:
            raise TracerError(self._report("still running")) from None
        for reader in self._readers:
            reader.join()
        return status

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for reader in self._readers:
            reader.join()
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()

    def of(self, kind: str) -> list[Line]:
        return [record for record in self.records if record["type"] == kind]

    def printed(self) -> list[str]:
        return [record["data"] for record in self.of("printf")]

    def events(self, name: str) -> list[dict[str, Any]]:
        return [record["data"] for record in self.of("event") if record["name"] == name]

    def maps(self) -> dict[str, Any]:
        """The last state of each map that was printed: ``n`` for ``@n``, ``lib.@n`` for a map of a library. Parts of
        keys are joined by commas; a comma or backslash in a part has a backslash before it.
        """
        results: dict[str, Any] = {}
        for record in self.records:
            if record["type"] in ("map", "hist", "stats"):
                for name, content in record["data"].items():
                    results[name.removeprefix("@")] = content
        return results

    def check_complete(self, *, still_woven: Sequence[str] = ()) -> None:
        """Checks, before counts are compared, that nothing was lost, no probe failed, and every class was restored.

        ``still_woven``: classes that the JVM refuses to restore; the receipt must name exactly these.
        """
        assert self.of("lost") == [], self._report("records were lost")
        assert self.of("probe_error") == [], self._report("probes failed")
        (end,) = self.of("end")
        assert end["produced"] == end["delivered"] + end["dropped"], end
        assert end["dropped"] == 0, end
        assert end["woven"] - end["restored"] == len(still_woven), self._report("classes were not put back")
        receipt = "\n".join(self.stderr)
        assert all(f"{name} is still woven" in receipt for name in still_woven), receipt

    def _read_records(self, pipe: IO[str]) -> None:
        for line in pipe:
            if self._unread is not None and self._unread in line:
                continue
            record = json.loads(line)
            with self._changed:
                self.records.append(record)
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def _read_stderr(self, pipe: IO[str]) -> None:
        self.stderr.extend(line.rstrip("\n") for line in pipe)

    def _report(self, problem: str) -> str:
        records = [json.dumps(record, ensure_ascii=False)[:400] for record in self.records[-60:]]
        status = f"exit status {self.process.poll()}"
        return "\n".join(
            [f"{problem} from: {' '.join(self.command)}", status, "--- records", *records, "--- stderr", *self.stderr]
        )


@contextmanager
def tracing(
    target: int | str, *arguments: str | Path, env: dict[str, str] | None = None, unread: str = ""
) -> Iterator[Tracer]:
    """``btpy TARGET arguments… -f ndjson``, once its probes are in place."""
    tracer = Tracer([str(target), *map(str, arguments), "-f", "ndjson"], env, unread)
    try:
        tracer.wait_for("attached_probes")
        yield tracer
    finally:
        tracer.kill()
