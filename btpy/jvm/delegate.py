"""A helper process that works for btpy inside of the target's file system (:mod:`btpy.jvm.target_side`).

It has the rights of the target's user, and sees the files that the target sees (in a container, with a private /tmp, or
in another user or network namespace). btpy loads the agent over HotSpot's attach protocol, on a connection that the
delegate has made.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

from btpy import children
from btpy.errors import AttachError
from btpy.jvm import attach_protocol, peers, problems
from btpy.jvm.attach_protocol import LoadResult
from btpy.jvm.processes import JvmProcess
from btpy.wire.channel import Listener

_PACKET = 64 * 1024
_LOAD_SECONDS = 30.0
ANSWER_SECONDS = 20.0
"""Seconds that the delegate may take for a request. The delegate waits at most 8 s for a JVM."""

_CLOSE_SECONDS = 0.5


class Delegate:
    """``tcp``: the agent cannot connect to Unix sockets, so it gets a port in the target's network namespace.

    The process starts at once. The first request waits until it has started, and raises AttachError with the obstacle.
    The delegate ends when it is closed or when this process ends, and removes the files that it made for the target.
    """

    def __init__(self, process: JvmProcess, *, tcp: bool = False) -> None:
        self._process = process
        self._lock = threading.Lock()
        self._client, helper_socket = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._client.settimeout(ANSWER_SECONDS)
        target = {
            "pid": process.pid,
            "namespace_pid": process.namespace_pid,
            "start_ticks": process.start_ticks,
            "root": str(process.root),
            "uid": process.uid,
            "gid": process.gid,
            "tcp": tcp,
        }
        with helper_socket:
            self._child = children.start(
                children.helper("btpy.jvm.target_side", str(helper_socket.fileno()), json.dumps(target)),
                descriptors=[helper_socket.fileno()],
            )
        self._has_started = False
        self._port: tuple[socket.socket, str] | None = None

    def __enter__(self) -> Delegate:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Can be called more than once. Returns when all files of the delegate are removed. If a JVM has not reacted to
        SIGQUIT yet, the delegate keeps waiting for it and then ends by itself.
        """
        if self._port is not None:
            self._port[0].close()
        with contextlib.suppress(OSError):
            self._client.shutdown(socket.SHUT_RDWR)
        try:
            self._child.wait(_CLOSE_SECONDS)
        except children.TimeoutExpired:
            threading.Thread(target=self._child.wait, name="btpy-delegate", daemon=True).start()
        self._client.close()

    def listen(self) -> Listener:
        """The address for the agent."""
        with self._lock:
            self._await_start()
        if self._port is not None:
            (server, number), self._port = self._port, None
            return Listener(
                server, f"tcp:{number}", self._keep, admits=peers.of_user(self._process.uid, self._process.pid)
            )
        answer, descriptor = self._ask(do="listen")
        assert descriptor is not None
        return Listener(socket.socket(fileno=descriptor), f"unix:{answer['path']}", self._keep)

    def wake(self) -> None:
        """Have the JVM open its attach socket, if the socket is not open yet."""
        self._ask(do="wake")

    def connect(self) -> socket.socket:
        """A connection to the JVM's attach socket."""
        _, descriptor = self._ask(do="connect")
        assert descriptor is not None
        return socket.socket(fileno=descriptor)

    def room(self, size: int) -> None:
        """Make a socket and a file of that size in the target's /tmp, and remove them."""
        self._ask(do="room", bytes=size)

    def load(self, jar: Path, options: str, *, copy: bool) -> LoadResult:
        """Load the agent; ``copy``: use a copy of the jar, because the target cannot read the original."""
        path = self._copied(jar) if copy else str(jar)
        version = attach_protocol.FIRST_VERSION
        if not attach_protocol.fits(path, options):
            version = attach_protocol.version(self._answered(attach_protocol.version_request(), "tell its version"))
            if version == attach_protocol.FIRST_VERSION:
                path = self._copied(jar)
        answer = self._answered(attach_protocol.load_request(path, options, version), "load the agent")
        if not answer:
            raise problems.refused_connection(self._process.pid, "it closed the connection without an answer")
        return attach_protocol.load_result(answer)

    def _answered(self, request: bytes, action: str) -> str:
        """The JVM's answer to a request. ``action``: the requested action, for messages."""
        with self.connect() as connection:
            try:
                return attach_protocol.answer(connection, request, _LOAD_SECONDS)
            except TimeoutError:
                raise problems.no_answer(self._process.pid, f"it did not {action} in {_LOAD_SECONDS:.0f} s") from None
            except OSError as error:
                raise problems.refused_connection(self._process.pid, error.strerror or str(error)) from None

    def _keep(self, name: str) -> str:
        return str(self._ask(do="keep", name=name)[0]["path"])

    def _copied(self, jar: Path) -> str:
        with jar.open("rb") as file:
            return str(self._ask(file.fileno(), do="copy", name=jar.name)[0]["path"])

    def _ask(self, *descriptors: int, **request: Any) -> tuple[dict[str, Any], int | None]:
        with self._lock:
            self._await_start()
            try:
                socket.send_fds(self._client, [json.dumps(request).encode()], descriptors)
            except OSError as error:
                raise problems.delegate_ended(self._process.pid, error.strerror or str(error)) from None
            return self._answer()

    def _await_start(self) -> None:
        if self._has_started:
            return
        answer, descriptor = self._answer()
        self._has_started = True
        if descriptor is not None:
            self._port = socket.socket(fileno=descriptor), answer["port"]

    def _answer(self) -> tuple[dict[str, Any], int | None]:
        try:
            packet, descriptors, _, _ = socket.recv_fds(self._client, _PACKET, 1)
        except TimeoutError:
            raise problems.delegate_silent(self._process.pid, self._child.pid, ANSWER_SECONDS) from None
        except OSError as error:
            raise problems.delegate_ended(self._process.pid, error.strerror or str(error)) from None
        if not packet:
            raise problems.delegate_ended(self._process.pid, f"its status is {self._child.wait()}")
        answer = json.loads(packet)
        if "error" in answer:
            raise self._explained(answer["error"], answer["errno"], answer["path"])
        return answer, descriptors[0] if descriptors else None

    def _explained(self, step: str, number: int, path: str) -> AttachError:
        process, pid = self._process, self._process.pid
        reason = os.strerror(number).lower() if number else ""
        match step:
            case "process" | "ended":
                return problems.ended(pid)
            case "files":
                return problems.unreachable_files(pid, number)
            case "network" if number not in (errno.EPERM, errno.EACCES):
                return problems.no_loopback(pid, process.feature_version, reason)
            case "network":
                return problems.other_network(pid, process.feature_version, reason)
            case "user":
                return problems.cannot_become(pid, process.user, process.uid, process.gid, reason)
            case "busy":
                return problems.no_answer(pid, f"it accepts no connection at {path}")
            case "foreign":
                return problems.foreign_socket(pid, path)
            case "stale":
                return problems.stale_socket(pid, path, reason)
            case "names":
                return problems.no_names_left(pid, path)
            case "signal":
                return problems.does_not_listen(pid)
            case "silent":
                return problems.silent_after_signal(pid, path)
        return problems.delegate_ended(pid, f"{step} {reason}")
