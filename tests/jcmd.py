"""Diagnostic commands for a JVM, sent over its attach socket as the tool ``jcmd`` sends them."""

from __future__ import annotations

import os
import signal
import socket
import time
from pathlib import Path

from tests.targets import PATIENCE


def listens(pid: int) -> bool:
    """Whether the JVM has opened its attach socket, which it does at the first attach."""
    return Path(f"/tmp/.java_pid{pid}").exists()


def open_socket(pid: int) -> None:
    """Makes the JVM open its attach socket, as the tool does: with a file in its directory, and a signal."""
    request = Path(f"/proc/{pid}/cwd/.attach_pid{pid}").resolve()
    request.touch()
    try:
        os.kill(pid, signal.SIGQUIT)
        deadline = time.monotonic() + PATIENCE
        while not listens(pid):
            assert time.monotonic() < deadline, f"the JVM {pid} does not open its attach socket"
            time.sleep(0.01)
    finally:
        request.unlink()


def tell(pid: int, command: str) -> str:
    """The output of the JVM. Saves the start of another JVM for the tool."""
    if not listens(pid):
        open_socket(pid)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE)
        connection.connect(f"/tmp/.java_pid{pid}")
        connection.sendall(f"1\0jcmd\0{command}\0\0\0".encode())
        with connection.makefile(encoding="utf-8") as answer:
            status, _, output = answer.read().partition("\n")
    assert status == "0", output
    return output
