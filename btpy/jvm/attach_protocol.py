"""HotSpot's attach protocol (attachListener.hpp), and the answers to ``load``.

A request is a sequence of strings, each with a zero byte at the end. In version 1 they are the version, the command and
three arguments of limited size. In version 2 (JDK 24 and later) they are the version, the size of the rest in decimal,
the command and any arguments. A JVM tells its version in the answer to ``getversion``, which is a request of version 1
and is unknown before JDK 24.

The JVM accepts one request for each connection, answers with the status of the command in decimal, a newline and the
command's own output, and closes the connection. It answers only a peer of its own effective user, or root, as seen in
its own user namespace.
"""

from __future__ import annotations

import re
import socket
import time

from btpy.dataclass import dataclass

LARGEST_ARGUMENT = 1024
"""The largest size of an argument of version 1 in bytes. A JVM closes the connection if an argument is larger."""

LARGEST_REQUEST = 256 * 1024
"""The largest size of a request of version 2 in bytes."""

LARGEST_ANSWER = 64 * 1024
"""The number of bytes of an answer that are read."""

FIRST_VERSION, SECOND_VERSION = 1, 2

_ARGUMENTS = 3
_PART = 8 * 1024

# Results of Agent_OnAttach of libinstrument (InvocationAdapter.c).
_BAD_JAR, _NOT_ON_CLASS_PATH, _FAILED = 100, 101, 102
_REASONS = {
    _BAD_JAR: "Agent JAR not found or no Agent-Class attribute",
    _NOT_ON_CLASS_PATH: "the JVM could not add the jar to its class path",
    _FAILED: "Agent JAR loaded but agent failed to initialize",
}


@dataclass(frozen=True, slots=True)
class LoadResult:
    """``status``: the result of the agent's entry point, 0 if it succeeded, None when the JVM did not call it;
    ``detail``: why."""

    status: int | None
    detail: str


def request(command: str, *arguments: str, version: int = FIRST_VERSION) -> bytes:
    """The bytes of a request. Raises ValueError for an argument that the protocol cannot carry."""
    words = [command, *arguments, *[""] * (_ARGUMENTS - len(arguments))]
    encoded = [word.encode() for word in words]
    if any(b"\0" in word for word in encoded):
        raise ValueError("an argument of the attach protocol must not contain a zero byte")
    content = b"".join(word + b"\0" for word in encoded)
    if version == SECOND_VERSION:
        if len(content) > LARGEST_REQUEST:
            raise ValueError(f"a request of the attach protocol can have at most {LARGEST_REQUEST} bytes")
        return b"%d\0%d\0" % (version, len(content)) + content
    if any(len(word) > LARGEST_ARGUMENT for word in encoded):
        raise ValueError(f"an argument of version 1 of the attach protocol can have at most {LARGEST_ARGUMENT} bytes")
    return b"%d\0" % version + content


def version_request() -> bytes:
    """Asks for the latest version that the JVM understands."""
    return request("getversion")


def version(answered: str) -> int:
    """The meaning of the answer to :func:`version_request`."""
    match = re.match(r"0\n(\d{1,3})\b", answered)
    return min(int(match[1]), SECOND_VERSION) if match else FIRST_VERSION


def load_request(jar: str, options: str, version: int = FIRST_VERSION) -> bytes:
    """Loads a Java agent: the library ``instrument`` of the JVM's own runtime gets the jar and the options."""
    return request("load", "instrument", "false", f"{jar}={options}", version=version)


def fits(jar: str, options: str) -> bool:
    """Whether one argument of version 1 can carry the jar and the options."""
    return len(f"{jar}={options}".encode()) <= LARGEST_ARGUMENT


def answer(connection: socket.socket, request: bytes, seconds: float, most: int = LARGEST_ANSWER) -> str:
    """Send a request and read all of the answer, about ``most`` bytes at most. Raises OSError, and TimeoutError if this
    takes longer than ``seconds``.
    """
    deadline = time.monotonic() + seconds
    connection.settimeout(seconds)
    connection.sendall(request)
    received = b""
    while len(received) < most and (part := connection.recv(_PART)):
        received += part
        connection.settimeout(max(0.001, deadline - time.monotonic()))
    return received.decode("utf-8", "replace")


def load_result(answered: str) -> LoadResult:
    """The meaning of the answer to ``load``.

    The first line is the status of the command. After it, JDK 9 and later write ``return code: 0`` with the result of
    the agent, and JDK 8 writes only the number. If the library could not be loaded, the reason follows instead of the
    result.
    """
    status, _, output = answered.partition("\n")
    if not output.strip():
        return LoadResult(
            None, f"the JVM answered {status!r}" if status else "the JVM closed the connection unanswered"
        )
    return output_result(output)


def output_result(output: str) -> LoadResult:
    """Like :func:`load_result`, but from the output without a status, which the Java attach API reports for JDK 8."""
    text = output.strip()
    number = re.match(r"(?:return code: )?(-?\d{1,9})$", text, re.MULTILINE)
    if number is None:
        return LoadResult(None, text.replace("\n", ": "))
    return status_result(int(number[1]))


def status_result(status: int) -> LoadResult:
    return LoadResult(status, _REASONS.get(status, "") if status else "")
