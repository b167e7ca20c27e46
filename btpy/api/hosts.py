"""Runs of btpy on several hosts at once: starts ``btpy node`` on each through ssh, and decodes the answers.

One thread serves all hosts. A host can be slow, refuse, fail or vanish without an effect on the other hosts. Everything
that a host sends is untrusted: it is bounded before it is stored, and the connection to a host that breaks the format
is closed.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import shlex
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Union

from btpy import children
from btpy.api import push, push_node
from btpy.dataclass import dataclass
from btpy.distribution import install_command
from btpy.errors import BtpyError, ProtocolError, UsageError
from btpy.recording.file import Entry
from btpy.recording.multiplex import ALIVE_SECONDS, StreamReader
from btpy.recording.player import Playback, Recorded

if TYPE_CHECKING:
    from selectors import SelectorKey

SILENT_SECONDS = 10.0
"""Seconds without a byte after which a host counts as silent."""

MOST_HOSTS = 10_000

STATUS_OTHER_VERSION = 78
"""The exit status of ``btpy node`` on a host if its btpy has another version than the btpy of the client."""

STATUS_NOT_FOUND = 127

STOP = b"\x04\n"
"""The message that the client sends, instead of a sign of life, to end the run of a node."""

_WITHOUT_BTPY = frozenset({126, STATUS_NOT_FOUND, STATUS_OTHER_VERSION})
_MAX_HELD = 100  # the maximum number of messages that wait until it is known whether btpy runs on the host

_CONNECTING_SECONDS = 60.0  # seconds after which a host that has not reported its probes no longer counts for fan_out
_CLOSING_SECONDS = 2.0  # seconds from the end of standard output to the end of the process
_SENDING = 0.01  # seconds between two pieces that are sent
_TERMINATING_SECONDS = 0.2
_READ = 256 * 1024
_MAX_LINE = 4096  # the maximum number of bytes of a message
_NAME = re.compile(r"[A-Za-z0-9_.@:%\[\]-]{1,255}")
_NODE_SET = frozenset("[]@!&^*? ")


def host_names(text: str) -> list[str]:
    """The hosts that a set of nodes names, each once: ``web[1-40],db-a``, ``@group``, in the syntax of ClusterShell. A
    list of names with commas needs no ClusterShell. Raises UsageError.
    """
    if _NODE_SET.isdisjoint(text):
        names = list(dict.fromkeys(filter(None, text.split(","))))
    else:
        names = _expanded(text)
    if not names:
        raise UsageError(f"--hosts {text!r} names no host", help=["--hosts web[1-3],db-a"])
    if len(names) > MOST_HOSTS:
        raise UsageError(f"--hosts names {len(names)} hosts, but at most {MOST_HOSTS} are possible")
    for name in names:
        if not _NAME.fullmatch(name) or name.startswith("-"):
            raise UsageError(f"--hosts: {name!r} is not the name of a host", help=["--hosts web[1-3],db-a"])
    return names


def _expanded(text: str) -> list[str]:
    """Raises UsageError."""
    try:
        from ClusterShell.NodeSet import NodeSet, NodeSetException
    except ImportError as cause:
        raise UsageError(
            "a set of hosts such as web[1-3] or @group needs the package ClusterShell",
            help=[install_command("hosts"), "or name each host: --hosts web1,web2,web3"],
        ) from cause
    try:
        return [str(name) for name in NodeSet(text)]
    except NodeSetException as error:
        raise UsageError(f"--hosts {text!r}: {error}", help=["--hosts web[1-3],db-a"]) from None


@dataclass(frozen=True, slots=True)
class HostItem:
    """An item of the recording of one JVM. ``wall_nanos``: the time of the record on the host. ``entry``: the entry as
    the host sent it."""

    host: str
    playback: Playback
    version: int
    entry: Entry
    item: Recorded | None


@dataclass(frozen=True, slots=True)
class HostLine:
    """A message of the host or of ssh for the user."""

    host: str
    line: str


@dataclass(frozen=True, slots=True)
class HostSilent:
    """Nothing has come from a host for ``seconds``; 0: the host answers again."""

    host: str
    seconds: float


@dataclass(frozen=True, slots=True)
class HostReady:
    """The probes are in every JVM of the host that can be traced."""

    host: str


@dataclass(frozen=True, slots=True)
class HostPushed:
    """The client runs its own btpy on a host. ``size``: the bytes of the copy; 0: the host already had the copy."""

    host: str
    size: int


@dataclass(frozen=True, slots=True)
class HostEnded:
    """The run on a host has ended. ``status``: the exit status of its command, as ssh reports it. ``error``: the fault
    in its messages. ``has_begun``: whether btpy ran there. ``was_pushed``: whether the client tried to run its own btpy
    there.
    """

    host: str
    status: int
    has_begun: bool
    error: BtpyError | None = None
    was_pushed: bool = False


Report = Union[HostItem, HostLine, HostSilent, HostReady, HostPushed, HostEnded]


class Reach:
    """The way to a host. ``before``: a command; the name of the host and the command on the host are added to it. Or
    ``commands``: a command for each host; the words of the command on the host are added to it, and no shell reads them
    there. ``program``: ``ssh`` or ``kubectl``. ``passes_end``: whether the client may close the input of the command.
    If it closed the input of ``kubectl debug``, the command would end at once, without the rest of the output.
    """

    def __init__(
        self,
        before: Sequence[str] = (),
        *,
        commands: Mapping[str, Sequence[str]] | None = None,
        program: str,
        passes_end: bool = True,
    ) -> None:
        self.passes_end = passes_end
        self._before = before
        self._commands = commands
        self.program = program

    @property
    def what(self) -> str:
        """The word for the place that the command reaches."""
        return "host" if self._commands is None else "pod"

    @property
    def without_btpy(self) -> frozenset[int]:
        """The exit statuses for which btpy is possibly not there. Some container runtimes report only that they
        failed."""
        return _WITHOUT_BTPY if self._commands is None else _WITHOUT_BTPY | {1}

    def command(self, host: str, command: str) -> list[str]:
        """``command``: a command line for a shell."""
        if self._commands is None:
            return [*self._before, host, command]
        return [*self._commands[host], *shlex.split(command)]


class Pushing:
    """``--push``. ``python``: the command of Python on the hosts."""

    def __init__(self, python: str) -> None:
        self.command = push.COMMAND.format(python=python)

    @cached_property
    def copy(self) -> push.Copy:
        return push.copy()


class Hosts:
    """``command``: the command that starts btpy on each host. ``requests``: the line for ``btpy node`` on each host, by
    the name of the host. :meth:`begin` connects. ``fan_out``: the maximum number of hosts that connect and attach at a
    time. ``pushing``: how hosts get this version of btpy if they do not have it; None: these hosts fail.
    """

    def __init__(
        self, requests: dict[str, bytes], reach: Reach, command: str, *, fan_out: int, pushing: Pushing | None = None
    ) -> None:
        self._waiting: list[str] = []
        self._requests = requests
        self._reach = reach
        self._command = command
        self._pushing = pushing
        self._fan_out = fan_out
        self._selector = selectors.DefaultSelector()
        self._running: dict[str, _Host] = {}
        self._said_alive = 0.0
        self._is_stopping = False

    def begin(self, names: Iterable[str]) -> None:
        """Connects to these hosts in the next calls of :meth:`turn`."""
        self._waiting += names

    @property
    def remaining(self) -> list[str]:
        """The hosts that have begun and have not ended."""
        return [*self._running, *self._waiting]

    def turn(self, seconds: float) -> Iterator[Report]:
        """The entries that arrive within ``seconds``; returns as soon as an entry has arrived. Raises UsageError if
        there is no ssh.
        """
        self._connect_more()
        self._say_alive()
        is_sending = any(host.is_sending for host in self._running.values())
        for key, _ in self._selector.select(min(seconds, _SENDING) if is_sending else seconds):
            yield from self._take(key)
        for host in list(self._running.values()):
            yield from host.silence()
            if host.has_ended:
                yield from self._remove(host, None)

    def leave(self, name: str) -> Iterator[Report]:
        """Ends the connection to a host, if there is one."""
        if name in self._waiting:
            self._waiting.remove(name)
        if name in self._running:
            yield from self._remove(self._running[name], None)

    def stop(self) -> None:
        """Asks every host to end its run. Later calls of :meth:`turn` return the remaining output of the run."""
        self._is_stopping = True
        self._waiting.clear()
        for host in self._running.values():
            host.stop()

    def close(self) -> None:
        """Ends the remaining connections. A host that has not ended detects that its client is gone."""
        self._waiting.clear()
        for host in self._running.values():
            host.process.terminate()
        for host in list(self._running.values()):
            list(self._remove(host, None))
        self._selector.close()

    def _connect_more(self) -> None:
        while self._waiting and sum(host.is_connecting for host in self._running.values()) < self._fan_out:
            self._connect(self._waiting.pop(0), None)

    def _connect(self, name: str, pushing: Pushing | None) -> None:
        """Without ``pushing``, the host runs its own btpy."""
        command = self._command if pushing is None else pushing.command
        process = children.start_connected(self._reach.command(name, command))
        copy = None if pushing is None else pushing.copy
        host = _Host(name, process, self._requests[name], copy, passes_end=self._reach.passes_end)
        host.holds_lines = self._pushing is not None and pushing is None
        self._running[name] = host
        for file in (process.stdout, process.stderr):
            assert file is not None
            os.set_blocking(file.fileno(), False)
            self._selector.register(file, selectors.EVENT_READ, host)

    def _say_alive(self) -> None:
        now = time.monotonic()
        is_due = now - self._said_alive >= ALIVE_SECONDS
        if is_due:
            self._said_alive = now
        for host in self._running.values():
            host.send(b"\n" if is_due else b"")

    def _take(self, key: SelectorKey) -> Iterator[Report]:
        host: _Host = key.data
        if host.name not in self._running:
            return  # the connection was removed in this turn
        try:
            data = os.read(key.fd, _READ)
        except BlockingIOError:
            return
        if not data:
            self._selector.unregister(key.fileobj)
            yield from host.closed(key.fileobj)
            return
        try:
            yield from host.reports_of(key.fileobj, data)
        except BtpyError as error:
            yield from self._remove(host, error)

    def _remove(self, host: _Host, error: BtpyError | None) -> Iterator[HostLine | HostEnded]:
        """The host has ended, or begins again with the btpy of the client."""
        del self._running[host.name]
        words = list(host.last_words())
        for file in (host.process.stdout, host.process.stderr):
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(file)  # type: ignore[arg-type]
        status = host.end()
        if host.holds_lines and status in self._reach.without_btpy and error is None and not self._is_stopping:
            self._connect(host.name, self._pushing)
            return
        yield from host.released()
        yield from words
        yield HostEnded(host.name, status, host.has_begun, error, host.copy is not None)


class _Host:
    """The connection to one host. ``copy``: the copy of btpy, which is sent if the host asks for it; None: the host has
    btpy. ``holds_lines``: whether messages of the host wait until btpy has begun there, because btpy may try the host
    again. ``passes_end``: see :class:`Reach`.
    """

    def __init__(
        self, name: str, process: children.Process, request: bytes, copy: push.Copy | None, *, passes_end: bool
    ) -> None:
        self.name = name
        self._passes_end = passes_end
        self.process = process
        self.copy = copy
        self.holds_lines = False
        self._held: list[HostLine] = []
        self._answer = bytearray()  # the first bytes from the host, which say whether it needs the copy of btpy
        self._is_answered = copy is None
        self._request = request
        self._unsent = bytearray(request if copy is None else copy.steps)
        self._reader = StreamReader()
        self._playbacks: dict[int, Playback] = {}
        self._line = b""
        self._started = self._heard = time.monotonic()
        self._is_silent = False
        self._is_stopping = False
        self._ended: float | None = None  # the time when standard output was closed
        assert process.stdin is not None
        os.set_blocking(process.stdin.fileno(), False)

    @property
    def has_begun(self) -> bool:
        return self._reader.has_begun

    @property
    def is_connecting(self) -> bool:
        """Whether btpy is still putting its probes in. A host that is silent or late does not count, so that it does
        not delay the other hosts."""
        is_late = time.monotonic() - self._started >= _CONNECTING_SECONDS
        return not self._reader.is_ready and not self._is_silent and not is_late

    @property
    def has_ended(self) -> bool:
        """Whether all its output was read, and its process has ended or has had the time to end. A connection
        that ssh shares may keep standard error open.
        """
        if self._ended is None:
            return False
        return self.process.poll() is not None or time.monotonic() - self._ended >= _CLOSING_SECONDS

    @property
    def is_sending(self) -> bool:
        """Whether a part of the request, or of the copy of btpy, has still to be sent."""
        return bool(self._unsent)

    def send(self, alive: bytes) -> None:
        """Sends the rest of the request, then ``alive``."""
        stdin = self.process.stdin
        assert stdin is not None
        if stdin.closed:
            return
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            if self._unsent:
                del self._unsent[: os.write(stdin.fileno(), self._unsent)]
            elif alive and self._is_answered and not self._is_stopping:
                os.write(stdin.fileno(), alive)
        if self._is_stopping and not self._unsent and self._passes_end:
            stdin.close()

    def released(self) -> Iterator[HostLine]:
        """The lines that were held."""
        self.holds_lines = False
        yield from self._held
        self._held.clear()

    def _copy_answer(self, data: bytes) -> Iterator[HostPushed]:
        """Sends the copy of btpy if the host asks for it, and the request."""
        assert self.copy is not None
        self._answer += data
        if len(self._answer) > _MAX_LINE * 16:
            raise ProtocolError("the host does not say whether it has btpy")
        is_needed = push_node.NEEDED in self._answer
        if is_needed or push_node.PRESENT in self._answer:
            self._is_answered = True
            self._answer.clear()
            self._unsent += (self.copy.data if is_needed else b"") + self._request
            self.send(b"")
            yield HostPushed(self.name, len(self.copy.data) if is_needed else 0)

    def stop(self) -> None:
        """Asks btpy on the host to end."""
        if self._is_stopping:
            return
        self._is_stopping = True
        if not self.has_begun:
            self.process.terminate()  # if btpy was already started on the host, its input ends with ssh
        self._unsent += STOP
        self.send(b"")

    def reports_of(self, file: object, data: bytes) -> Iterator[Report]:
        """Raises ProtocolError, UsageError."""
        self._heard = time.monotonic()
        if self._is_silent:
            self._is_silent = False
            yield HostSilent(self.name, 0.0)
        if file is self.process.stderr:
            yield from self._for_people(data)
            return
        if not self._is_answered:
            yield from self._copy_answer(data)
            return
        was_ready = self._reader.is_ready
        for part in self._reader.feed(data):
            playback = self._playbacks.get(part.pid)
            if playback is None:
                playback = self._playbacks[part.pid] = Playback(part.version)
            item = playback.take(part.entry)
            if playback.started.pid != part.pid:
                raise ProtocolError(f"the entries of pid {part.pid} are a recording of pid {playback.started.pid}")
            yield from self.released()
            yield HostItem(self.name, playback, part.version, part.entry, item)
        if self._reader.is_ready and not was_ready:
            yield HostReady(self.name)

    def closed(self, file: object) -> Iterator[HostLine]:
        """The host has closed its standard output or standard error."""
        if file is self.process.stdout:
            self._ended = time.monotonic()
        elif self._line:
            yield from self._for_people(b"\n")

    def last_words(self) -> Iterator[HostLine]:
        """The rest of standard error, which a connection that ssh shares may keep open."""
        assert self.process.stderr is not None
        with contextlib.suppress(BlockingIOError, ValueError):
            while data := os.read(self.process.stderr.fileno(), _READ):
                yield from self._lines(data)
        if self._line:
            yield from self._lines(b"\n")

    def silence(self) -> Iterator[Report]:
        """Reports a silent host, once."""
        seconds = time.monotonic() - self._heard
        if seconds >= SILENT_SECONDS and not self._is_silent and self._ended is None:
            self._is_silent = True
            yield HostSilent(self.name, seconds)

    def end(self) -> int:
        """The exit status of its process. A process that does not end is killed."""
        for file in (self.process.stdin, self.process.stdout, self.process.stderr):
            if file is not None:
                with contextlib.suppress(BrokenPipeError):
                    file.close()
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(children.TimeoutExpired):
                return self.process.wait(_TERMINATING_SECONDS)
            self.process.kill()
        return self.process.wait()

    def _for_people(self, data: bytes) -> Iterator[HostLine]:
        """The lines, unless they are held."""
        lines = list(self._lines(data))
        if self.holds_lines:
            self._held = [*self._held, *lines][-_MAX_HELD:]
        else:
            yield from lines

    def _lines(self, data: bytes) -> Iterator[HostLine]:
        """Cuts lines that are too long."""
        *lines, last = (self._line + data).split(b"\n")
        *whole, self._line = _pieces(last)
        for piece in chain(chain.from_iterable(map(_pieces, lines)), whole):
            yield HostLine(self.name, piece.decode("utf-8", "replace").rstrip("\r"))


def _pieces(line: bytes) -> list[bytes]:
    return [line[at : at + _MAX_LINE] for at in range(0, len(line), _MAX_LINE)] or [b""]
