"""The connection to an agent: it listens, checks that the other side knows the secret, and carries frames both ways.

The agent connects to the client, never the other way round, so the target opens no port. A peer must prove that it
knows the secret of the attach request before btpy parses anything else from it. The listener drops a peer that fails
and goes on waiting, so a stranger on the loopback port does not delay the attach.

A :class:`Channel` has two threads. The reader decodes frames and hands the messages on. The writer sends frames, so an
exception in a caller's thread (Ctrl-C) never leaves half a frame on the wire. When it has nothing to send, it sends a
ping, which renews the lease. The channel does not trust the agent: every breach of the protocol closes the connection.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import queue
import secrets
import socket
import struct
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from btpy import interpreter
from btpy.errors import BtpyError, NotAnswered, ProtocolError, TargetGone
from btpy.temporary import Temporary
from btpy.wire import codec
from btpy.wire.messages import (
    FROM_AGENT,
    MAGIC,
    VERSION,
    Classes,
    ClassFiles,
    Configured,
    Done,
    Farewell,
    Hello,
    Joined,
    Left,
    Locations,
    Maps,
    Message,
    Ping,
    Pong,
    Proof,
    Restored,
    Sessions,
    Supertypes,
    Trouble,
    WeaveResult,
    Welcome,
)

HANDSHAKE_SECONDS = 5.0
OTHER_VERSION_SECONDS = 1.0
"""Seconds that the listener still waits for the agent after a peer of another version has connected."""

PING_SECONDS = 1.0
SEND_SECONDS = 30
"""A peer that takes nothing from a full socket for this long counts as gone."""

UNIX_SOCKETS_SINCE = 16
"""The first feature version of Java whose agent can connect to a Unix socket (JEP 380)."""

MAX_UNSENT = 64 * 1024 * 1024
"""While more bytes than this wait to be written, :meth:`Channel.send` blocks."""

SECRET = "secret-"
"""The prefix of the file whose name carries the secret; the hexadecimal digits follow."""

MAX_CONNECTIONS = 16
"""The largest number of handshakes at a time. A further connection ends the oldest handshake. One handshake belongs to
the agent, the others to strangers."""

BACKLOG = 128
"""Connections that the kernel keeps until the listener accepts them."""

_HELLO_FRAME = 1 + 4 + 2 + 32
_WELCOME_FRAME = 64 * 1024
_SUN_PATH = 107

Answer = TypeVar("Answer", bound=Message)
Due = TypeVar("Due", Hello, Welcome)

Tap = Callable[[Message, int, bool], None]

GoesOn = Callable[[float], bool]
"""Whether to wait longer for an answer, after that many seconds."""

_LOOK_SECONDS = 0.1
"""Seconds between two calls of GoesOn."""

_OF_AGENTS = {kind.code: kind for kind in FROM_AGENT}
"""The messages that an agent may send after the handshake."""

_Place = queue.SimpleQueue[Message | BtpyError]
"""Holds the one answer to a request. A future would also work, but its import costs every start 20 ms."""
_Numbered = (
    Classes
    | ClassFiles
    | Supertypes
    | Done
    | WeaveResult
    | Maps
    | Pong
    | Restored
    | Farewell
    | Sessions
    | Joined
    | Left
    | Locations
)


def _wait_for(place: _Place, timeout: float, goes_on: GoesOn) -> Message | BtpyError:
    """The answer. Raises queue.Empty after ``timeout`` seconds, and NotAnswered."""
    began = time.monotonic()
    while True:
        try:
            return place.get(timeout=min(timeout, _LOOK_SECONDS))
        except queue.Empty:
            waited = time.monotonic() - began
            if waited >= timeout:
                raise
            if not goes_on(waited):
                raise NotAnswered(f"the target has not answered for {waited:.0f} s") from None


class OtherVersion(ProtocolError):
    """The agent belongs to a version of btpy that speaks another version of the protocol."""


class Listener:
    """The socket to which one agent connects back.

    ``options``: the options that the attach request must carry. They have the place of the secret instead of the secret
    itself, because JFR records the options of agents, and others may read its recordings. ``keep``: takes the name of a
    file that carries the secret, creates that file where only the user of the target can see it, and returns the
    directory as the target sees it. ``directory``: :meth:`close` removes it. ``admits``: tells whether a connection may
    come from the agent; any user of the machine can connect to a port.
    """

    def __init__(
        self,
        server: socket.socket,
        address: str,
        keep: Callable[[str], str],
        directory: Temporary | None = None,
        admits: Callable[[socket.socket], bool] | None = None,
    ) -> None:
        self.address = address
        self._admits = admits
        self._handshakes: deque[socket.socket] = deque()
        self._server = server
        self._directory = directory
        self._secret = secrets.token_bytes(32)
        self.options = f"socket={address},secret-in={keep(SECRET + self._secret.hex())}"
        self._state = threading.Condition()
        self._connected: tuple[socket.socket, Welcome] | None = None
        self._refused = "it did not connect"
        self._other_version = False
        self._closed = False
        self._closing = threading.Lock()
        threading.Thread(target=self._listen, name="btpy-listener", daemon=True).start()

    @staticmethod
    def unix() -> Listener:
        """A Unix domain socket, 0600 in a fresh directory of mode 0700, for a JVM of this user."""
        directory = Temporary(_socket_parent())
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        path = directory.path / "socket"
        try:
            server.bind(str(path))
            path.chmod(0o600)
            server.listen(MAX_CONNECTIONS)
            return Listener(server, f"unix:{path}", partial(kept, directory.path), directory)
        except BaseException:
            server.close()
            directory.remove()
            raise

    @staticmethod
    def tcp(admits: Callable[[socket.socket], bool] | None = None) -> Listener:
        """A port of the loopback interface; the system chooses it."""
        directory = Temporary()
        try:
            server = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
            address = f"tcp:{server.getsockname()[1]}"
            return Listener(server, address, partial(kept, directory.path), directory, admits)
        except BaseException:
            directory.remove()
            raise

    @property
    def directory(self) -> Path | None:
        """The directory of the socket and the secret; :meth:`close` removes it with everything in it."""
        return None if self._directory is None else self._directory.path

    def accept(self, timeout: float) -> tuple[socket.socket, Welcome]:
        """Waits up to ``timeout`` seconds until the agent has connected and proven that it knows the secret.

        Raises TimeoutError, with the reason when the listener has refused a connection, and ConnectionAbortedError when
        another thread calls :meth:`close`.
        """
        with self._state:
            self._state.wait_for(lambda: self._settled or self._other_version, timeout)
            if not self._settled and self._other_version:  # the peer may be a stranger, and the agent may connect later
                self._state.wait_for(lambda: self._settled, min(timeout, OTHER_VERSION_SECONDS))
            if self._connected is not None:
                connected, self._connected = self._connected, None
                return connected
            if self._closed:
                raise ConnectionAbortedError("the listener was closed")
            raise TimeoutError(self._refused)

    @property
    def refused(self) -> str:
        """The reason why there is no connection yet."""
        return self._refused

    @property
    def _settled(self) -> bool:
        return self._connected is not None or self._closed

    def close(self) -> None:
        """Stops listening, and removes the socket and its directory. The connection from :meth:`accept` stays open.

        Several threads may call it, more than once; every call returns after the directory is gone.
        """
        with self._closing:
            with self._state:
                if self._closed:
                    return
                self._closed = True
                if self._connected is not None:
                    self._connected[0].close()
                self._state.notify_all()
            with contextlib.suppress(OSError):
                self._server.shutdown(socket.SHUT_RDWR)  # wakes the thread that listens
            self._server.close()
            if self._directory is not None:
                self._directory.remove()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                if self._closed:
                    return
                time.sleep(0.01)  # out of file descriptors, or a connection that was reset at once
                continue
            if connection.family == socket.AF_INET:
                # An answer must not wait until the agent's system has acknowledged the message before it (40 ms).
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._admits is not None and not self._admits(connection):
                connection.close()
                continue
            with self._state:
                if len(self._handshakes) == MAX_CONNECTIONS:
                    with contextlib.suppress(OSError):
                        # The thread of the handshake sees the end, and closes the socket.
                        self._handshakes.popleft().shutdown(socket.SHUT_RDWR)
                self._handshakes.append(connection)
            threading.Thread(target=self._try, args=(connection,), name="btpy-handshake", daemon=True).start()

    def _try(self, connection: socket.socket) -> None:
        try:
            welcome = handshake(connection, self._secret)
        except (OSError, ProtocolError) as error:
            connection.close()
            with self._state:
                self._refused = str(error)
                self._other_version |= isinstance(error, OtherVersion)
                self._state.notify_all()
            return
        finally:
            with self._state:
                if connection in self._handshakes:
                    self._handshakes.remove(connection)
        with self._state:
            if self._closed or self._connected is not None:
                connection.close()
                return
            self._connected = connection, welcome
            self._state.notify_all()


def kept(directory: Path, name: str) -> str:
    """Creates an empty file of that name in the directory, which has mode 0700, and returns the directory.

    An empty file fits on a full disk, as the socket does. Raises OSError.
    """
    os.close(os.open(directory / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    return str(directory)


def _socket_parent() -> Path:
    """A directory whose path is short enough for a socket in it (``sun_path``)."""
    parent = Path(tempfile.gettempdir())
    room = _SUN_PATH - len("/btpy-12345678/socket")
    return parent if len(os.fsencode(parent)) <= room else Path("/tmp")


def handshake(connection: socket.socket, secret: bytes) -> Welcome:
    """The client's side of the handshake. It gives up after HANDSHAKE_SECONDS in all.

    Raises ProtocolError when the peer is not an agent that knows ``secret``, and OSError when the peer hangs up or
    stays silent.
    """
    deadline = time.monotonic() + HANDSHAKE_SECONDS
    hello = _receive(connection, deadline, _HELLO_FRAME, Hello)
    if hello.magic != MAGIC:
        raise ProtocolError("the other side is not a btpy agent")
    if hello.version != VERSION:
        raise OtherVersion(f"the agent speaks version {hello.version} of the protocol, this client {VERSION}")
    nonce = secrets.token_bytes(32)
    connection.sendall(codec.encode(Proof(nonce, _mac(secret, b"client" + hello.nonce + nonce))))
    welcome = _receive(connection, deadline, _WELCOME_FRAME, Welcome)
    expected = _mac(secret, b"agent" + nonce + hello.nonce)
    if not hmac.compare_digest(welcome.mac, expected):
        raise ProtocolError("the agent did not prove that it knows the secret")
    connection.settimeout(None)
    return welcome


def _mac(secret: bytes, message: bytes) -> bytes:
    return hmac.new(secret, message, hashlib.sha256).digest()


def _receive(connection: socket.socket, deadline: float, limit: int, due: type[Due]) -> Due:
    """Decodes the expected message. Any other message is an error."""
    header = _exactly(connection, 5, deadline)
    length = codec.frame_length(header[:4])
    if header[4] != due.code:
        raise ProtocolError("the other side is not a btpy agent")
    if length > limit:
        raise ProtocolError(f"a frame of {length} bytes during the handshake")
    message = codec.decode(header[4], _exactly(connection, length - 1, deadline), {due.code: due})
    assert isinstance(message, due)
    return message


def _exactly(connection: socket.socket, size: int, deadline: float) -> bytes:
    received = b""
    while len(received) < size:
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            raise TimeoutError("the handshake takes too long")
        connection.settimeout(seconds)
        part = connection.recv(size - len(received))
        if not part:
            raise ConnectionError("the other side hung up")
        received += part
    return received


class Channel:
    """Carries messages to and from an agent that has passed the handshake.

    ``deliver``: the reader calls it with every message that does not answer a :meth:`call`; a BtpyError that it raises
    ends the connection. ``ended``: the reader calls it once, when the connection is over: with None after :meth:`close`
    or after the agent's FAREWELL or LEFT, otherwise with the reason. ``lost``: makes the error for a broken connection
    from a description; it may be slow. ``tap``: sees each message, its size in bytes, and whether it was sent; the
    sending and the reading threads call it.
    """

    def __init__(
        self,
        connection: socket.socket,
        deliver: Callable[[Message], None],
        ended: Callable[[BtpyError | None], None],
        tap: Tap | None = None,
        lost: Callable[[str], TargetGone] = TargetGone,
    ) -> None:
        # A timeout of the socket object would also apply to the reader. The kernel applies SO_SNDTIMEO only to writes.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", SEND_SECONDS, 0))
        self._connection = connection
        self._deliver = deliver
        self._ended = ended
        self._tap = tap
        self._lost = lost
        self._state = threading.Condition()
        self._unsent: deque[bytes] = deque()
        self._unsent_bytes = 0
        self._pending: dict[int, _Place] = {}
        self._next_request = 1
        self._writing = False
        self._closing = False
        self._farewell = False
        self._failure: BtpyError | None = None
        self._reader = threading.Thread(target=self._read, name="btpy-reader", daemon=True)
        self._writer = threading.Thread(target=self._write, name="btpy-writer", daemon=True)
        self._reader.start()
        self._writer.start()

    def send(self, message: Message) -> None:
        """Queues a message. Raises TargetGone, or the error that ended the connection."""
        frame = self._encoded(message)
        with self._state:
            while self._unsent_bytes > MAX_UNSENT and not self._closing:
                self._state.wait()
            self._check_open()
            self._queue(frame)

    def reply(self, message: Message) -> None:
        """Sends a message from within ``deliver``, on the reading thread. It never blocks, and sends at once if the
        socket has space.

        Other threads leave the writing to the writer, because an exception from a signal handler could interrupt them
        after half a frame. Raises ProtocolError when the agent does not take the answers that it asked for, and
        TargetGone as :meth:`send` does.
        """
        frame = self._encoded(message)
        with self._state:
            self._check_open()
            if self._unsent_bytes > MAX_UNSENT:
                raise ProtocolError("the agent asks faster than it takes answers")
            sent = 0
            if not self._unsent and not self._writing:
                try:
                    sent = self._connection.send(frame, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    pass
                except OSError:
                    return  # the reader still has to read the agent's last message (TROUBLE), and then the end
            if sent < len(frame):
                self._queue(frame[sent:])

    def call(self, build: Callable[[int], Message], answer: type[Answer], timeout: float) -> Answer:
        """Sends the request that ``build`` makes from a request id, and waits for the answer.

        Raises TimeoutError after ``timeout`` seconds (the channel then drops a late answer), TargetGone when the
        connection ends first, and ProtocolError when the answer has another type.
        """
        return self.ask(build, answer)(timeout)

    def ask(
        self, build: Callable[[int], Message], answer: type[Answer], goes_on: GoesOn | None = None
    ) -> Callable[[float], Answer]:
        """Sends a request now; the function that it returns waits for the answer. Raises as :meth:`call`, and
        NotAnswered when ``goes_on`` ends the wait. The channel then drops a late answer.
        """
        with self._state:
            self._check_open()
            request = self._next_request
            self._next_request += 1
        return self._ask(request, build(request), answer, goes_on)

    def configure(self, message: Message, timeout: float) -> Configured:
        """Sends CONFIGURE and waits for CONFIGURED, the only answer without a request id. Raises as :meth:`call`."""
        return self._ask(_CONFIGURED, message, Configured)(timeout)

    def close(self) -> None:
        """Closes the connection and waits until both threads have ended. May be called more than once."""
        self._shut(None)
        for thread in (self._reader, self._writer):
            if thread is not threading.current_thread():
                thread.join()
        self._connection.close()

    def _queue(self, frame: bytes) -> None:
        self._unsent.append(frame)
        self._unsent_bytes += len(frame)
        self._state.notify_all()

    def _ask(
        self, request: int, message: Message, answer: type[Answer], goes_on: GoesOn | None = None
    ) -> Callable[[float], Answer]:
        place: _Place = queue.SimpleQueue()
        with self._state:
            self._check_open()
            self._pending[request] = place

        def wait(timeout: float) -> Answer:
            try:
                received = place.get(timeout=timeout) if goes_on is None else _wait_for(place, timeout, goes_on)
            except queue.Empty:
                raise TimeoutError(f"no answer to {type(message).__name__}") from None
            finally:
                with self._state:
                    self._pending.pop(request, None)
            if isinstance(received, BtpyError):
                raise received
            if not isinstance(received, answer):
                raise ProtocolError(f"{type(received).__name__} in answer to {type(message).__name__}")
            return received

        try:
            self.send(message)
        except BaseException:
            with self._state:
                self._pending.pop(request, None)
            raise
        return wait

    def _check_open(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._closing:
            raise TargetGone("the connection to the target is closed")

    def _shut(self, failure: BtpyError | None) -> None:
        with self._state:
            if self._closing:
                return
            self._closing = True
            self._failure = failure
            self._state.notify_all()
        with contextlib.suppress(OSError):  # the other side may already have closed the connection
            self._connection.shutdown(socket.SHUT_RDWR)

    def _write(self) -> None:
        last = time.monotonic()
        while True:
            with self._state:
                self._writing = False
                while not self._unsent and not self._closing:
                    quiet = last + PING_SECONDS - time.monotonic()
                    if quiet <= 0:
                        self._unsent.append(codec.encode(Ping(_PING)))
                        break
                    self._state.wait(quiet)
                if self._closing:
                    return
                frames = list(self._unsent)
                self._unsent.clear()
                self._unsent_bytes = 0
                self._writing = True
                self._state.notify_all()
            try:
                for frame in frames:
                    self._connection.sendall(frame)
            except BlockingIOError:
                self._shut(self._lost(f"the target has taken nothing from the connection for {SEND_SECONDS} s"))
                return
            except OSError:
                return  # the reader still has to read the agent's last message (TROUBLE), and reports the end
            last = time.monotonic()

    def _read(self) -> None:
        failure: BtpyError | None
        try:
            with interpreter.switch_interval(), self._connection.makefile("rb", buffering=256 * 1024) as stream:
                while True:
                    header = stream.read(5)
                    if len(header) < 5:
                        failure = self._gone("the target ended or cut the connection")
                        break
                    length = codec.frame_length(header[:4])
                    payload = stream.read(length - 1)
                    if len(payload) < length - 1:
                        failure = self._gone("the target ended in the middle of a message")
                        break
                    message = codec.decode(header[4], payload, _OF_AGENTS)
                    if self._tap is not None:
                        self._tap(message, length + 4, False)
                    self._dispatch(message)
        except BtpyError as error:
            failure = error
        except OSError as error:  # for example when the agent leaves before it has read the last credit for events
            failure = self._gone(f"the connection to the target broke: {error.strerror or error}")
        self._shut(failure)
        with self._state:
            reason = self._failure
            requests = list(self._pending.values())
            self._pending.clear()
        for place in requests:
            place.put(reason or TargetGone("the connection to the target is closed"))
        self._ended(reason)

    def _gone(self, reason: str) -> BtpyError | None:
        return None if self._farewell or self._closing else self._lost(reason)

    def _encoded(self, message: Message) -> bytes:
        frame = codec.encode(message)
        if self._tap is not None:
            self._tap(message, len(frame), True)
        return frame

    def _dispatch(self, message: Message) -> None:
        if isinstance(message, Trouble):
            self._deliver(message)
            remedy = next((remedy for words, remedy in _REMEDIES if words in message.reason), ())
            raise TargetGone(f"the agent gave up: {message.reason}", help=remedy)
        if isinstance(message, Pong) and message.request == _PING:
            return
        if isinstance(message, _Numbered):
            self._farewell = isinstance(message, Farewell) or (isinstance(message, Left) and not message.error)
            self._answer(message.request, message)
        elif isinstance(message, Configured):
            self._answer(_CONFIGURED, message)
        else:
            self._deliver(message)

    def _answer(self, request: int, message: Message) -> None:
        with self._state:
            was_sent = request < self._next_request
            place = self._pending.pop(request, None)
        if place is not None:
            place.put(message)
        elif not was_sent:
            raise ProtocolError(f"{type(message).__name__} answers request {request}, which was never made")


_UNSUPPORTED = (
    "up to JDK 11 the agent needs the module jdk.unsupported: run the program on a Java runtime that has it,"
    " or add it (jlink --add-modules)",
)
_REMEDIES = (
    (
        "OutOfMemoryError: Metaspace",
        (
            "the JVM has no metaspace left for the agent: start it with a larger -XX:MaxMetaspaceSize;"
            " jcmd PID VM.metaspace shows what there is",
        ),
    ),
    (
        "OutOfMemoryError: Compressed class space",
        (
            "the JVM has no room for the headers of the agent's classes: start it with a larger"
            " -XX:CompressedClassSpaceSize; jcmd PID VM.metaspace shows what there is",
        ),
    ),
    (
        "OutOfMemoryError",
        (
            "the JVM has no memory left for the agent, which needs 5 to 8 MB of the heap: attach when less of it is in"
            " use, or start the JVM with a larger -Xmx; jcmd PID GC.heap_info shows it",
        ),
    ),
    (
        "heap of the JVM is nearly full",
        (
            "the agent has put its classes back before the application ran out of memory: attach when less of the heap"
            " is in use, or start the JVM with a larger -Xmx; jcmd PID GC.heap_info shows it",
        ),
    ),
    ("NoClassDefFoundError: sun/misc/Unsafe", _UNSUPPORTED),
    ("Could not initialize class btpy.runtime", _UNSUPPORTED),
    (
        "the lease ran out",
        ("btpy was stopped, or had no processor, for longer than the agent waits: run the command again",),
    ),
)
"""Remedies when the agent gives up, by words in its reason. The first remedy that fits is shown."""

_CONFIGURED = 0
_PING = 0xFFFFFFFF
"""The request id of the pings that keep the lease; no caller waits for their PONG."""
