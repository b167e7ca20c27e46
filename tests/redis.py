"""A Redis server of Debian on a free port, for tests of clients."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_PATIENCE = 30  # seconds until the server listens


class MissingRedisError(Exception):
    """No redis-server on this machine."""


@dataclass(frozen=True)
class Redis:
    port: int

    def reset_counts(self) -> None:
        self._ask("CONFIG RESETSTAT")

    def counts(self) -> dict[str, int]:
        """The number of runs of each command in the server since the counts were reset, without commands of this
        class."""
        text = self._ask("INFO commandstats")
        rows = re.findall(r"cmdstat_([\w|]+):calls=(\d+)", text)
        return {
            name.upper(): int(calls) for name, calls in rows if name.partition("|")[0] not in ("config", "info", "quit")
        }

    def _ask(self, command: str) -> str:
        with socket.create_connection(("127.0.0.1", self.port), timeout=_PATIENCE) as connection:
            connection.sendall(f"{command}\r\nQUIT\r\n".encode())
            answer = b""
            while part := connection.recv(65536):
                answer += part
            return answer.decode()


@contextmanager
def redis() -> Iterator[Redis]:
    """Runs a server that stores nothing, until the block ends. Raises MissingRedisError."""
    server = shutil.which("redis-server") or shutil.which("valkey-server")
    if server is None:
        raise MissingRedisError("no redis-server: make tools installs it")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    with subprocess.Popen([server, *options], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        try:
            _wait_for(port, process)
            yield Redis(port)
        finally:
            process.kill()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
