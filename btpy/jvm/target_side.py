"""The process that acts in the target's files as the target's user. :mod:`btpy.jvm.delegate` starts it and sends it
requests.

It opens the target's /tmp and working directory through /proc, makes the port that a JDK before 16 needs in the
target's network namespace, and then gives up every id and capability that the target's user does not have. It works in
the target's files only after it has given them up, and only relative to the open directories. Therefore a target that
creates symbolic links or renames files gains no new rights.

Each packet has one JSON object, and a file descriptor if the request creates one::

    → {"do": "listen"}              ← {"path": "/tmp/btpy-…/socket"} and the listening socket
    → {"do": "copy", "name": "…"} and the file    ← {"path": "/tmp/btpy-…/btpy-agent.jar"}
    → {"do": "keep", "name": "…"}    ← {"path": "/tmp/btpy-…"}       (an empty file of that name)
    → {"do": "wake"}                ← {}                            (the JVM listens to attach requests)
    → {"do": "connect"}             ← {} and a connection to the JVM's attach socket
    → {"do": "room", "bytes": N}    ← {}

A failure is answered with ``{"error": STEP, "errno": N, "path": "…"}``. The process ends with the connection, and
removes everything that it created.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import signal
import socket
import stat
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from btpy import files
from btpy.jvm import peers, procfs
from btpy.temporary import Temporary

TYPE_CHECKING = False  # importing typing would take a tenth of the start of this process

if TYPE_CHECKING:
    from typing import Any, NoReturn

WAKE_SECONDS = 8.0
"""Seconds that a JVM may take to open its attach socket. During a garbage collection it takes as long as the
collection."""

CONNECT_SECONDS = 5
"""Seconds that a JVM may take to accept a connection while others wait for it."""

LINGER_SECONDS = 60.0
"""Seconds that this process outlives its client to remove the attach file."""

_ASKED_SECONDS = 2.0
"""An attach file that is younger than these seconds belongs to another client, which has already sent the signal for
it."""

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.001, 0.01
_BACKLOG = 16
_PACKET = 64 * 1024
_TIMEVAL = struct.Struct("ll")  # struct timeval: seconds, microseconds


class _Failure(Exception):
    """A step that failed. ``path``: the file concerned, as the target sees it."""

    def __init__(self, step: str, number: int = 0, path: str = "") -> None:
        super().__init__(step)
        self.step, self.number, self.path = step, number, path


class _TargetSide:
    """``pid``: the target's pid as this process sees it; ``namespace_pid``: the pid in the names of the attach files.
    ``root``: the target's root directory.
    """

    def __init__(self, pid: int, namespace_pid: int, start_ticks: int, root: str) -> None:
        self._attach_file = f".attach_pid{namespace_pid}"
        self._attach_socket = f".java_pid{namespace_pid}"
        self._pid = pid
        with _step("process"):
            self._process = os.pidfd_open(pid)
            if procfs.start_ticks(pid) != start_ticks:
                raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
        with _step("files"):
            self._tmp = files.open_directory(Path(root), "tmp")
        self._directory: Temporary | None = None
        self._cwd: int | None = None
        with contextlib.suppress(OSError):
            self._cwd = os.open(f"/proc/{pid}/cwd", os.O_PATH | os.O_DIRECTORY)
        self._pending: tuple[int, str] | None = None
        self.require_running()

    def answer(self, request: dict[str, Any], descriptors: list[int]) -> tuple[dict[str, str], int | None]:
        match request["do"]:
            case "listen":
                return self._listen()
            case "copy":
                return {"path": self._copy(request["name"], descriptors[0])}, None
            case "keep":
                return {"path": self._keep(request["name"])}, None
            case "wake":
                self._wake()
                return {}, None
            case "connect":
                return {}, self._connect()
            case "room":
                self._room(request["bytes"])
                return {}, None
        raise _Failure(f"request {request['do']}")

    def require_running(self) -> None:
        """Raises _Failure if the target has ended. While the target runs, no other process has its pid, so all files
        that this process has opened through this pid belong to the target.
        """
        if self._has_ended():
            raise _Failure("ended")

    def close(self) -> None:
        """Remove the files that this process has made. After SIGQUIT it waits for the JVM, because a JVM that finds no
        attach file prints its threads.
        """
        if self._directory is not None:
            self._directory.remove()
        if self._pending is not None:
            try:
                with contextlib.suppress(_Failure, OSError):
                    self._comes(time.monotonic() + LINGER_SECONDS)
            finally:
                self._withdraw(self._pending)

    def _listen(self) -> tuple[dict[str, str], int]:
        path = self._own_directory() / "socket"
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.bind(str(path))  # fails if the name already exists, also as a symbolic link
        server.listen(_BACKLOG)
        return {"path": self._path_in_target(path)}, server.detach()

    def _copy(self, name: str, source: int) -> str:
        path = self._own_directory() / name
        flags = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY
        with files.closing(os.open(path, flags, 0o600)) as copy, files.closing(source):
            while part := os.read(source, _PACKET):
                view = memoryview(part)
                while view:
                    view = view[os.write(copy, view) :]
        return self._path_in_target(path)

    def _keep(self, name: str) -> str:
        directory = self._own_directory()
        os.close(os.open(directory / name, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY, 0o600))
        return self._path_in_target(directory)

    def _room(self, size: int) -> None:
        directory = Temporary(self._tmp_path)
        try:
            with socket.socket(socket.AF_UNIX) as trying:
                trying.bind(str(directory.path / "socket"))
            (directory.path / "room").write_bytes(bytes(size))
        finally:
            directory.remove()

    def _own_directory(self) -> Path:
        if self._directory is None:
            self._directory = Temporary(self._tmp_path)
        return self._directory.path

    @property
    def _tmp_path(self) -> Path:
        return Path(f"/proc/self/fd/{self._tmp}")

    def _path_in_target(self, path: Path) -> str:
        return str("/tmp" / path.relative_to(self._tmp_path))

    def _connect(self) -> int:
        """A connection whose peer is the target itself."""
        file = self._socket_file()
        if file is None:
            raise _Failure("silent", path=f"/tmp/{self._attach_socket}")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _TIMEVAL.pack(CONNECT_SECONDS, 0))
            try:
                connection.connect(f"/proc/self/fd/{file}")
            except BlockingIOError:  # the JVM accepts no connection, and its queue of connections is full
                raise _Failure("busy", path=f"/tmp/{self._attach_socket}") from None
            finally:
                os.close(file)
            if peers.process_of(connection) != self._pid:
                raise _Failure("foreign", path=f"/tmp/{self._attach_socket}")
            return connection.detach()

    def _socket_file(self) -> int | None:
        """The attach socket, without following links or connecting; None if the JVM has not created it yet."""
        try:
            file = os.open(self._attach_socket, os.O_PATH | os.O_NOFOLLOW, dir_fd=self._tmp)
        except FileNotFoundError:
            return None
        about = os.fstat(file)
        if not stat.S_ISSOCK(about.st_mode) or about.st_uid != os.geteuid():
            os.close(file)
            self._remove_stale()
            return None
        return file

    def _remove_stale(self) -> None:
        """Remove the attach socket of a killed JVM that had the same pid."""
        try:
            os.unlink(self._attach_socket, dir_fd=self._tmp)
        except OSError as error:
            raise _Failure("stale", error.errno or 0, f"/tmp/{self._attach_socket}") from None

    def _is_listening(self) -> bool:
        try:
            os.close(self._connect())
        except _Failure as failure:
            if failure.step != "silent":
                raise
            return False
        except ConnectionRefusedError:
            self._remove_stale()
            return False
        return True

    def _wake(self) -> None:
        """Have the JVM open its attach socket. This process creates a file of the right name where the JVM looks, and
        sends SIGQUIT.

        A JVM that gets the signal and does not see the file prints its threads. Therefore this process sends the signal
        only when the file is in a directory that the JVM itself has open or mounted, and keeps the file until the JVM
        has reacted.
        """
        if self._is_listening():
            self._withdraw_left()
            return
        room = os.fstatvfs(self._tmp)
        if room.f_files and not room.f_ffree:
            raise _Failure("names", path="/tmp")
        file, is_new = self._request_file()
        deadline = time.monotonic() + WAKE_SECONDS
        if not is_new and self._comes(time.monotonic() + _ASKED_SECONDS):
            return
        if not procfs.catches(procfs.status(self._pid), signal.SIGQUIT):
            self._withdraw(file)
            raise _Failure("signal")
        self._pending = file
        try:
            signal.pidfd_send_signal(self._process, signal.SIGQUIT)
        except OSError:
            self._pending = None
            self._withdraw(file)
            raise
        if not self._comes(deadline):
            raise _Failure("ended" if self._has_ended() else "silent", path=self._seen_request(file))
        self._pending = None
        self._withdraw(file)
        self._withdraw_left()

    def _request_file(self) -> tuple[tuple[int, str], bool]:
        """The file that asks the JVM to listen: its directory and name, and whether no other client is waiting for
        it.
        """
        if self._cwd is not None and self._is_foreign(self._cwd):  # the JVM looks there first, and ignores it
            raise self._stale_request(self._cwd)
        problem: Exception = OSError(errno.EACCES, os.strerror(errno.EACCES))
        # JVMs in several containers may share a working directory and a pid, but not /tmp, which has their sockets.
        for directory in (self._tmp, self._cwd):
            if directory is None:
                continue
            try:
                flags = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY
                os.close(os.open(self._attach_file, flags, 0o600, dir_fd=directory))
            except FileExistsError:
                if self._is_foreign(directory):
                    problem = self._stale_request(directory)
                    continue
                about = os.stat(self._attach_file, dir_fd=directory, follow_symlinks=False)
                return (directory, self._attach_file), time.time() - about.st_mtime > _ASKED_SECONDS
            except OSError as error:
                problem = error
                continue
            return (directory, self._attach_file), True
        raise problem

    def _is_foreign(self, directory: int) -> bool:
        """Whether the directory has the attach file of another user, or something other than a file under the name of
        the attach file."""
        try:
            about = os.stat(self._attach_file, dir_fd=directory, follow_symlinks=False)
        except OSError:
            return False
        return about.st_uid != os.geteuid() or not stat.S_ISREG(about.st_mode)

    def _stale_request(self, directory: int) -> _Failure:
        return _Failure("stale", errno.EPERM, self._seen_request((directory, self._attach_file)))

    def _seen_request(self, file: tuple[int, str]) -> str:
        """The path of the file in the view of the target."""
        directory, name = file
        if directory == self._tmp:
            return f"/tmp/{name}"
        try:
            return f"{os.readlink(f'/proc/{self._pid}/cwd')}/{name}"
        except OSError:
            return name

    def _comes(self, deadline: float) -> bool:
        """Whether the JVM listens before the deadline."""
        pause = _SHORTEST_PAUSE
        while not self._is_listening():
            if time.monotonic() >= deadline or self._has_ended():
                return False
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        return True

    def _withdraw(self, file: tuple[int, str]) -> None:
        directory, name = file
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=directory)

    def _withdraw_left(self) -> None:
        """Remove the attach file that an earlier helper process has left because it was killed."""
        for directory in (self._tmp, self._cwd):
            if directory is None:
                continue
            with contextlib.suppress(OSError):
                about = os.stat(self._attach_file, dir_fd=directory, follow_symlinks=False)
                if about.st_uid == os.geteuid() and time.time() - about.st_mtime > WAKE_SECONDS + LINGER_SECONDS:
                    self._withdraw((directory, self._attach_file))

    def _has_ended(self) -> bool:
        return bool(select.select([self._process], [], [], 0)[0])


def _port_in(pid: int) -> socket.socket:
    """A port of the loopback interface of the target's network namespace, in which this process stays. If a namespace
    cannot be read, this process treats it as its own.
    """
    target_namespace = f"/proc/{pid}/ns/net"
    with contextlib.suppress(PermissionError):
        if os.stat(target_namespace).st_ino != os.stat("/proc/self/ns/net").st_ino:
            _enter(target_namespace)
    server = socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
    with socket.create_connection(server.getsockname()):  # fails if the loopback interface is down
        server.accept()[0].close()
    return server


_CLONE_NEWNET = 0x40000000


def _enter(namespace: str) -> None:
    """setns(2), which Python has since 3.12."""
    import ctypes

    with files.closing(os.open(namespace, os.O_RDONLY)) as descriptor:
        if ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET) != 0:
            raise _Failure("network", ctypes.get_errno())


def _become(uid: int, gid: int) -> None:
    """Drops all rights that the target's user does not have, permanently."""
    if (os.geteuid(), os.getegid()) != (uid, gid):
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    if uid == 0:  # changing to another uid drops the capabilities
        _drop_capabilities()


_CAPABILITY_VERSION = 0x20080522


def _drop_capabilities() -> None:
    """capset(2), version 3: clears the effective, permitted and inheritable capabilities."""
    import ctypes

    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    none = (ctypes.c_uint32 * 6)()
    if ctypes.CDLL(None, use_errno=True).capset(header, none) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def serve(client: socket.socket, target: dict[str, Any]) -> None:
    """Answers requests until the client closes the connection."""
    side: _TargetSide | None = None
    try:
        side, port = _begun(target)
        if port is None:
            _send(client, {}, None)
        else:
            _send(client, {"port": str(port.getsockname()[1])}, port.detach())
        while True:
            packet, descriptors, _, _ = socket.recv_fds(client, _PACKET, 1)
            if not packet:
                return
            try:
                answer, descriptor = side.answer(json.loads(packet), descriptors)
            except (_Failure, OSError) as error:
                answer, descriptor = _failed(error), None
            _send(client, answer, descriptor)
    except (_Failure, OSError) as error:  # no request has begun, or the client has closed the connection
        with contextlib.suppress(OSError):
            _send(client, _failed(error), None)
    finally:
        if side is not None:
            side.close()


def _begun(target: dict[str, Any]) -> tuple[_TargetSide, socket.socket | None]:
    side = _TargetSide(target["pid"], target["namespace_pid"], target["start_ticks"], target["root"])
    port = None
    if target["tcp"]:
        with _step("network"):
            port = _port_in(target["pid"])
        side.require_running()
    with _step("user"):
        _become(target["uid"], target["gid"])
    return side, port


def _failed(error: _Failure | OSError) -> dict[str, Any]:
    if isinstance(error, _Failure):
        return {"error": error.step, "errno": error.number, "path": error.path}
    return {"error": "files", "errno": error.errno or 0, "path": ""}


def _send(client: socket.socket, answer: dict[str, Any], descriptor: int | None) -> None:
    try:
        socket.send_fds(client, [json.dumps(answer).encode()], [] if descriptor is None else [descriptor])
    finally:
        if descriptor is not None:
            os.close(descriptor)


@contextlib.contextmanager
def _step(name: str) -> Iterator[None]:
    """A context that turns an OSError into a failure of that step."""
    try:
        yield
    except OSError as error:
        raise _Failure(name, error.errno or 0) from None


def main() -> NoReturn:
    """Runs the process. Its arguments are the descriptor of the connection to the client, and the target as JSON."""
    with socket.socket(fileno=int(sys.argv[1])) as client:
        serve(client, json.loads(sys.argv[2]))
    os._exit(0)  # clearing all modules takes as long as loading some of them
