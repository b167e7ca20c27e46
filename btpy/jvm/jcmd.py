"""Diagnostic commands (``jcmd``) over the attach socket of a JVM, without a class loaded into it.

The commands that btpy uses are answered in less than a millisecond and without a safepoint.
"""

from __future__ import annotations

import socket
from collections.abc import Callable

from btpy.jvm import attach_protocol

PATIENCE = 5.0
"""Seconds for a whole answer. A JVM that collects garbage answers late."""

LARGEST_ANSWER = 8 * 1024
"""The maximum number of bytes of an answer that are read."""

Ask = Callable[[str], str]
"""Sends a command and returns the answer of a JVM. Raises OSError."""


def answer(connection: socket.socket, command: str) -> str:
    """The output of the JVM for the command. A connection is for one command. Raises OSError."""
    return attach_protocol.answer(connection, attach_protocol.request("jcmd", command), PATIENCE, LARGEST_ANSWER)
