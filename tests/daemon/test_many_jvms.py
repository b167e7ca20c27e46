"""``btpy daemon`` while hundreds of JVMs start and end, and while it is killed again and again."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock, Thread

import pytest

from tests.daemon.test_daemon import Daemon, btpy
from tests.daemon.test_daemon import directory as directory
from tests.daemon.test_daemon import own_key as own_key
from tests.live.scripts import waited
from tests.live.traffic import called, traffic
from tests.output.otlp.backend import Backend, attributes, backend

CALLS = (101, 103, 107, 109, 113, 127, 131, 137, 139, 149)
AT_ONCE = 4
SECONDS_OF_LIFE = (2.0, 20.0)


class Watch:
    """One daemon after the other: each is killed at a random moment, and the next one starts at once."""

    def __init__(self, directory: Path, url: str) -> None:
        self.killed = 0
        self._directory = directory
        self._url = url
        self._earlier: list[str] = []
        self._daemon = Daemon(directory, url)
        self._ending = Event()
        self._thread = Thread(target=self._kill_and_start)

    @property
    def lines(self) -> list[str]:
        return [*self._earlier, *self._daemon.lines]

    @contextmanager
    def killing(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._ending.set()
            self._thread.join()

    def _kill_and_start(self) -> None:
        moments = random.Random(503)
        while not self._ending.wait(moments.uniform(*SECONDS_OF_LIFE)):
            self.kill()
            self._earlier = self.lines
            self._daemon = Daemon(self._directory, self._url)
            self.killed += 1

    def end(self) -> int:
        return self._daemon.end()

    def kill(self) -> None:
        self._daemon.process.kill()
        self._daemon.process.wait()


class Counts:
    """The last count of each JVM that the backend has got."""

    def __init__(self, receiver: Backend) -> None:
        self._receiver = receiver
        self._read = 0
        self._of: dict[int, int] = {}
        self._lock = Lock()

    def forget(self, pid: int) -> None:
        """Forgets the count of a JVM that has ended, because a new JVM has its pid."""
        with self._lock:
            self._of.pop(pid, None)

    def __getitem__(self, pid: int) -> int:
        reports = self._receiver.reports
        with self._lock:
            while self._read < len(reports):
                resource, metric = reports[self._read]
                self._read += 1
                if metric.name == "btpy.n":
                    process = attributes(list(resource.attributes))["process.pid"]
                    assert isinstance(process, int)
                    self._of[process] = sum(int(point.as_int) for point in metric.sum.data_points)
            return self._of.get(pid, 0)


@pytest.mark.proof
@pytest.mark.timeout(1800)
def test_each_count_is_exact_while_jvms_come_and_go_and_the_daemon_is_killed(directory: Path) -> None:
    number = int(os.environ.get("BTPY_DAEMON_JVMS", "503"))
    with backend() as receiver:
        watch, counts = Watch(directory, receiver.url), Counts(receiver)

        def live(index: int) -> int:
            """Runs one JVM until the backend has counted its calls; returns their number."""
            count = len(watch.lines)
            with traffic((11, 17, 21, 25)[index % 4], "-Dbtpy.name=daemon-test", "-Xmx32m") as jvm:
                counts.forget(jvm.pid)
                text = f"({jvm.pid}): the probes are in 1 method"
                waited(lambda: any(text in line for line in watch.lines[count:]), text)
                calls = CALLS[index % len(CALLS)]
                called(jvm, calls)
                time.sleep(index % 3 / 5)  # the daemon may be killed between the calls
                called(jvm, calls)
                waited(lambda: counts[jvm.pid] >= 2 * calls, f"{2 * calls} calls of {jvm.pid}: {counts[jvm.pid]}")
                assert btpy("sessions", jvm.pid).count(" calls ") == 1
                assert counts[jvm.pid] == 2 * calls
                return 2 * calls

        try:
            with watch.killing(), ThreadPoolExecutor(AT_ONCE) as threads:
                numbers = list(threads.map(live, range(number)))
            assert watch.end() == 0
        finally:
            watch.kill()
        assert watch.killed > 0
        print(f"{number} JVMs, {watch.killed} daemons killed, {sum(numbers)} calls")
