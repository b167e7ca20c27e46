"""A Redis server of Debian on a free port, for tests of clients."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.ports import free_port, wait_until_it_listens

_PATIENCE = 30  # seconds until the server listens


class MissingRedisError(Exception):
    """No redis-server on this machine."""


@dataclass(frozen=True)
class Redis:
    port: int

    def reset_counts(self) -> None:
        self._ask("CONFIG RESETSTAT")

    def counts(self) -> dict[str, int]:
        """The number of runs of each command in the server since the counts were reset, without the commands that this
        class sends.
        """
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
    port = free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    with subprocess.Popen([server, *options], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        try:
            wait_until_it_listens(port, process, _PATIENCE)
            yield Redis(port)
        finally:
            process.kill()
