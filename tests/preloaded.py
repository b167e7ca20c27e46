"""Commands of btpy that need not import its modules: each is a fork of one process that has imported them.

A usual run of btpy spends most of its processor time with imports, and the tests start thousands of runs. After
:func:`fork_commands`, ``subprocess`` forks for each ``python -m btpy`` without special options. The fork has its own
pid, environment, working directory and standard descriptors, and it runs ``btpy/__main__.py`` to the end of the
interpreter. All other commands start as usual.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import runpy
import secrets
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parent.parent
COMMAND = [sys.executable, "-m", "btpy"]
IMPORTED_BY_EACH = ("btpy.__main__", "btpy.cli.main")
"""A fork imports these modules itself; the second one keeps the time of the start."""
SELDOM_USED = ("btpy.lsp", "btpy.repl", "btpy.output.otlp", "btpy.output.prometheus")
"""Each fork would copy the memory of these rooms and their libraries. They need as much as all other rooms together."""

KEYS = (("btpy.engine.target", "_HASH_KEY"), ("btpy.events.secret_texts", "_KEY"))
"""Random keys that modules make when they are imported. Each run of btpy has other keys."""

_NUMBER = struct.Struct("=q")
_started_process = subprocess.Popen


@dataclass(frozen=True)
class Command:
    """``python -m btpy ARGUMENTS…`` in an environment and a working directory."""

    arguments: list[str]
    environment: dict[str, str]
    directory: str


class Process(_started_process[Any]):
    """A process that is a fork of the :class:`Server` if the command allows that. The server is the parent of a fork,
    so it sends the exit status.
    """

    _status: socket.socket | None = None

    def _execute_child(self, args: Any, *options: Any) -> None:
        executable, preexec_fn, _close_fds, pass_fds, directory, env, _startupinfo, _creationflags, shell = options[:9]
        pipes, (_restore_signals, *changed) = options[9:15], options[15:]
        environment = dict(os.environ if env is None else env)
        special = executable or preexec_fn or pass_fds or shell or changed != [None, None, None, -1, False, -1]
        if special or list(args[:3]) != COMMAND or not _suits_the_interpreter(environment):
            super()._execute_child(args, *options)  # type: ignore[misc]
            return
        command = Command([*map(os.fsdecode, args[3:])], environment, os.fspath(directory or os.getcwd()))
        of_child = (pipes[0], pipes[3], pipes[5])
        standard = [number if descriptor == -1 else descriptor for number, descriptor in enumerate(of_child)]
        self.pid, self._status = running_server().fork(command, standard)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def _internal_poll(self, *arguments: Any, **options: Any) -> int | None:
        if self._status is None:
            status: int | None = super()._internal_poll(*arguments, **options)  # type: ignore[misc]
            return status
        with self._waitpid_lock:  # type: ignore[attr-defined]
            if self.returncode is None:
                pid, status = self._try_wait(os.WNOHANG)
                if pid == self.pid:
                    self._handle_exitstatus(status)  # type: ignore[attr-defined]
        return self.returncode

    def _try_wait(self, flags: int) -> tuple[int, int]:
        if self._status is None:
            return super()._try_wait(flags)  # type: ignore[misc,no-any-return]
        try:
            status = self._status.recv(_NUMBER.size, socket.MSG_DONTWAIT if flags & os.WNOHANG else socket.MSG_WAITALL)
        except BlockingIOError:
            return 0, 0
        self._status.close()
        return self.pid, _NUMBER.unpack(status)[0]


def fork_commands(forks: bool) -> None:
    """Says whether commands that start from now on are forks."""
    subprocess.Popen = Process if forks and hasattr(os, "pidfd_open") else _started_process  # type: ignore[misc]


def _suits_the_interpreter(environment: Mapping[str, str]) -> bool:
    """Whether a new interpreter would read the same settings from this environment as the server did."""
    names = {name for name in {*environment, *os.environ} if name.startswith("PYTHON")}
    return _locale(environment) == _locale(os.environ) and all(
        environment.get(name) == os.environ.get(name) for name in names
    )


def _locale(environment: Mapping[str, str]) -> str:
    """The locale that Python uses; without a setting it uses C.UTF-8 (PEP 538)."""
    settings = (environment.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    return next((setting for setting in settings if setting), "C.UTF-8")


class Server:
    """The process that has imported btpy. It ends when the tests end."""

    def __init__(self) -> None:
        self._requests, requests = socket.socketpair()
        with requests:
            command = [sys.executable, "-m", "tests.preloaded", str(requests.fileno())]
            self._process = _started_process(command, cwd=ROOT, pass_fds=[requests.fileno()], stdin=subprocess.DEVNULL)
        atexit.register(self._end)

    def _end(self) -> None:
        self._requests.close()
        self._process.wait()

    def fork(self, command: Command, descriptors: list[int]) -> tuple[int, socket.socket]:
        """The pid of a new process that runs the command, and a socket that gets its exit status.

        ``descriptors``: standard input, output and error of the process.
        """
        status, of_server = socket.socketpair()
        with of_server:
            socket.send_fds(self._requests, [b"\0"], [of_server.fileno(), *descriptors])
        request = json.dumps(astuple(command)).encode("utf-8", "surrogateescape")
        status.sendall(_NUMBER.pack(len(request)) + request)
        (pid,) = _NUMBER.unpack(status.recv(_NUMBER.size, socket.MSG_WAITALL))
        return pid, status


_server: Server | None = None
_starting = threading.Lock()


def running_server() -> Server:
    global _server
    with _starting:
        if _server is None:
            _server = Server()
        return _server


def serve(requests: socket.socket) -> Command | None:
    """Forks for each request. Returns the command in a fork, and None in the server when the tests have ended."""
    forks: dict[int, tuple[int, socket.socket]] = {}  # the pid and the connection of each, by the descriptor of its end
    events = select.poll()
    events.register(requests, select.POLLIN)
    while True:
        for descriptor, _event in events.poll():
            if descriptor != requests.fileno():
                events.unregister(descriptor)
                os.close(descriptor)
                _report_end(*forks.pop(descriptor))
                continue
            message, descriptors, _flags, _address = socket.recv_fds(requests, 1, 4)
            if not message:
                return None
            connection, standard = socket.socket(fileno=descriptors[0]), descriptors[1:]
            command = _command(connection)
            pid = os.fork()
            if not pid:
                _become(standard, [requests, connection, *(connection for _, connection in forks.values())])
                return command
            connection.sendall(_NUMBER.pack(pid))
            for number in standard:
                os.close(number)
            end = os.pidfd_open(pid)
            forks[end] = pid, connection
            events.register(end, select.POLLIN)


def _command(connection: socket.socket) -> Command:
    (size,) = _NUMBER.unpack(connection.recv(_NUMBER.size, socket.MSG_WAITALL))
    return Command(*json.loads(connection.recv(size, socket.MSG_WAITALL)))


def _report_end(pid: int, connection: socket.socket) -> None:
    _pid, status = os.waitpid(pid, 0)
    with connection, contextlib.suppress(OSError):  # the tests may have left the process alone
        connection.sendall(_NUMBER.pack(status))


def _become(standard: list[int], of_server: list[socket.socket]) -> None:
    """Makes this process a fork: it keeps only ``standard``, the descriptors for input, output and errors."""
    _take(standard)
    for connection in of_server:
        connection.detach()
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))


def _take(descriptors: list[int]) -> None:
    """Makes these the standard descriptors, with new files of Python for them."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        old = getattr(sys, name)
        file = open(number, "w" if number else "r", encoding="utf-8", errors=old.errors, closefd=False)  # noqa: SIM115
        if number == 2 or file.isatty():
            file.reconfigure(line_buffering=True)
        setattr(sys, name, file)
        setattr(sys, f"__{name}__", file)


def import_modules() -> None:
    """Imports the modules that a fork may need, and their libraries."""
    import btpy

    for module in pkgutil.walk_packages(btpy.__path__, "btpy.", onerror=lambda _name: None):
        if module.name not in IMPORTED_BY_EACH and not module.name.startswith(SELDOM_USED):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)
    for name in IMPORTED_BY_EACH:
        sys.modules.pop(name, None)


def make_lazy_objects() -> None:
    """Makes objects that a command makes when it needs them, and that are the same in all runs: the constructors of
    :func:`btpy.dataclass.dataclass`, the parser with its patterns, and its examples of wrong scripts.
    """
    from btpy import dataclass as slotted
    from btpy.api.programs import check_source
    from btpy.errors import ScriptError
    from btpy.model.source import Source

    for kind in _subclasses(object):
        if getattr(kind.__init__, "__qualname__", "") == "_first_init.<locals>.first":
            type.__setattr__(kind, "__init__", slotted._init(kind, kind.__dataclass_fields__))
    for path in sorted((ROOT / "examples").glob("*.bt")):
        check_source(Source(path.name, path.read_text(encoding="utf-8")))
    with contextlib.suppress(ScriptError):
        check_source(Source("wrong.bt", "A::b { print(1) } }"))


def _subclasses(kind: type[Any]) -> Iterator[type[Any]]:
    for subclass in type.__subclasses__(kind):
        yield subclass
        yield from _subclasses(subclass)


def keep_modules() -> None:
    """Leaves the modules that have been imported until now alone when the interpreter ends. It would copy the memory of
    each to clear it, which takes as long as half a command.
    """
    modules = {name: module for name, module in sys.modules.items() if name not in ("__main__", "builtins", "sys")}
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(modules))
    atexit.register(_forget, modules)  # the first function that is registered is the last one that is called


def _forget(modules: dict[str, ModuleType]) -> None:
    for name in modules:
        sys.modules.pop(name, None)


def run(command: Command) -> None:
    """Runs the command as a new interpreter would. Raises SystemExit."""
    os.environ.clear()
    os.environ.update(command.environment)
    os.chdir(command.directory)
    time.tzset()
    for module, name in KEYS:
        key = getattr(sys.modules[module], name)
        setattr(sys.modules[module], name, secrets.token_bytes(len(key)))
    sys.argv[1:] = command.arguments
    sys.path[0] = command.directory
    runpy.run_module("btpy", run_name="__main__", alter_sys=True)


def main(descriptor: str) -> None:
    gc.disable()
    import_modules()
    make_lazy_objects()
    keep_modules()
    gc.freeze()  # the interpreter of a fork need not look at these objects when it ends
    command = serve(socket.socket(fileno=int(descriptor)))
    gc.enable()
    if command is not None:
        run(command)


if __name__ == "__main__":
    main(*sys.argv[1:])
