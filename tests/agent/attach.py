"""The attach protocol of HotSpot, written again, because these tests check the agent without btpy's client.

The JVM opens /tmp/.java_pid<pid> when it finds an attach file and gets SIGQUIT; a request is five strings, each ended
by a zero byte: protocol version, command, three arguments.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path


def load_agent(pid: int, jar: Path, options: str, patience: float = 60.0) -> None:
    """Load a Java agent into a running JVM. Raises AssertionError when the JVM refuses."""
    with _connection(pid, patience) as connection:
        connection.settimeout(patience)
        request = b"".join(part.encode() + b"\0" for part in ("1", "load", "instrument", "false", f"{jar}={options}"))
        connection.sendall(request)
        answer = b""
        while chunk := connection.recv(4096):
            answer += chunk
    assert answer.split(b"\n")[0] == b"0", answer.decode()


@contextlib.contextmanager
def _connection(pid: int, patience: float) -> Iterator[socket.socket]:
    door = Path(f"/tmp/.java_pid{pid}")
    trigger = Path(f"/proc/{pid}/cwd/.attach_pid{pid}")
    if not door.exists():
        trigger.touch()
    try:
        deadline = time.monotonic() + patience
        if not door.exists():
            os.kill(pid, signal.SIGQUIT)
        while not door.exists():
            assert time.monotonic() < deadline, "the JVM does not listen"
            time.sleep(0.01)
    finally:
        trigger.unlink(missing_ok=True)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(str(door))
        yield connection
    finally:
        connection.close()
