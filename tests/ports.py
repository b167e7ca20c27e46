"""Ports of the servers that tests start as programs."""

from __future__ import annotations

import socket
import subprocess
import time
from contextlib import ExitStack


def free_ports(count: int) -> list[int]:
    """Different ports of the loopback interface on which no process listens."""
    with ExitStack() as stack:
        servers = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [server.getsockname()[1] for server in servers]


def free_port() -> int:
    return free_ports(1)[0]


def wait_until_it_listens(port: int, process: subprocess.Popen[bytes], patience: float) -> None:
    """Raises OSError if the program ends before it listens, or takes longer than ``patience`` seconds."""
    deadline = time.monotonic() + patience
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
