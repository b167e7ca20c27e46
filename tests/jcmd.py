"""Diagnostic commands for a JVM, sent over its attach socket as the tool ``jcmd`` sends them."""

from __future__ import annotations

import socket
from pathlib import Path

from tests.targets import PATIENCE


def listens(pid: int) -> bool:
    """Whether the JVM has opened its attach socket, which it does at the first attach."""
    return Path(f"/tmp/.java_pid{pid}").exists()


def tell(pid: int, command: str) -> str:
    """The output of the JVM, which must listen. Saves the start of another JVM for the tool."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE)
        connection.connect(f"/tmp/.java_pid{pid}")
        connection.sendall(f"1\0jcmd\0{command}\0\0\0".encode())
        with connection.makefile(encoding="utf-8") as answer:
            status, _, output = answer.read().partition("\n")
    assert status == "0", output
    return output
