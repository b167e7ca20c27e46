"""Diagnostic commands (``jcmd``) over the attach socket of a JVM, without a class loaded into it.

The commands that btpy uses are answered in less than a millisecond and without a safepoint.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

PATIENCE = 5.0
"""Seconds for a whole answer. A JVM that collects garbage answers late."""

LARGEST_ANSWER = 8 * 1024
"""The maximum number of bytes of an answer that are read."""

Ask = Callable[[str], str]
"""Sends a command and returns the answer of a JVM. Raises OSError."""


def answer(connection: socket.socket, command: str) -> str:
    """The output of the JVM for the command. A connection is for one command. Raises OSError."""
    request = b"1\0jcmd\0" + command.encode() + b"\0\0\0"  # version, operation, three arguments (attachListener.hpp)
    deadline = time.monotonic() + PATIENCE
    connection.settimeout(PATIENCE)
    connection.sendall(request)
    received = b""
    while len(received) < LARGEST_ANSWER and (part := connection.recv(LARGEST_ANSWER)):
        received += part
        connection.settimeout(max(0.001, deadline - time.monotonic()))
    return received.decode("utf-8", "replace")
