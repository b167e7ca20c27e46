"""A blocking client for tests, with one thread. A test controls every step of the protocol and can break it."""

from __future__ import annotations

import hashlib
import hmac
import os
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from btpy.model.patterns import ClassPatternKind
from btpy.wire import codec
from btpy.wire.fingerprint import fingerprint
from btpy.wire.messages import (
    ClassBytes,
    Classes,
    Configure,
    Configured,
    Detach,
    Done,
    Farewell,
    HandlerClass,
    Hello,
    Message,
    MethodSites,
    Pattern,
    Ping,
    Pong,
    PrewovenMethods,
    Proof,
    Restore,
    Restored,
    Search,
    Trouble,
    Verdict,
    Watch,
    Weave,
    WeaveResult,
    Welcome,
    Woven,
)
from tests.agent.attach import load_agent
from tests.targets import Target

M = TypeVar("M", bound=Message)
Weaver = Callable[[ClassBytes], bytes | None]
PATIENCE = 60.0


class Door:
    """The socket that an agent is told to connect to."""

    def __init__(self, *, tcp: bool) -> None:
        self.secret = os.urandom(32)
        self._directory = tempfile.TemporaryDirectory(prefix="btpy-test-")
        if tcp:
            self.server = socket.create_server(("127.0.0.1", 0))
            address = f"tcp:{self.server.getsockname()[1]}"
        else:
            path = Path(self._directory.name) / "socket"
            self.server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.server.bind(str(path))
            self.server.listen()
            address = f"unix:{path}"
        self.server.settimeout(PATIENCE)
        (Path(self._directory.name) / f"secret-{self.secret.hex()}").touch()
        self.options = f"socket={address},secret-in={self._directory.name}"

    @property
    def directory(self) -> Path:
        """The directory of the secret, and of the socket if the agent does not connect to a port."""
        return Path(self._directory.name)

    def accept(self) -> socket.socket:
        connection, _ = self.server.accept()
        connection.settimeout(PATIENCE)
        return connection

    def close(self) -> None:
        self.server.close()
        self._directory.cleanup()


class Client:
    """A client after the handshake. ``unasked``: the messages for which no call waits. ``weaver``: a function that
    answers CLASS_BYTES.
    """

    def __init__(self, connection: socket.socket, welcome: Welcome) -> None:
        self.connection = connection
        self.welcome = welcome
        self.unasked: list[Message] = []
        self.asked: list[ClassBytes] = []
        self.weaver: Weaver = lambda _: None
        self.handlers: tuple[HandlerClass, ...] = ()
        self.sites: Callable[[ClassBytes], tuple[MethodSites, ...]] = lambda _: ()
        self.slot = 0
        self._request = 0

    def send(self, message: Message) -> None:
        self.connection.sendall(codec.encode(message))

    def read(self) -> Message:
        """The next message of any kind. Raises EOFError when the agent has closed the connection."""
        return receive(self.connection)

    def last_words(self) -> str:
        """Reads until the agent closes the connection. Gives the agent's reason; empty if it sent none."""
        reason = ""
        while True:
            try:
                message = self.read()
            except EOFError:
                return reason
            if isinstance(message, Trouble):
                reason = message.reason

    def expect(self, kind: type[M], fits: Callable[[M], bool] = lambda _: True) -> M:
        """The next message of that kind. Until it comes, the client answers questions about classes and sends pings."""
        for at, message in enumerate(self.unasked):
            if isinstance(message, kind) and fits(message):
                del self.unasked[at]
                return message
        deadline = time.monotonic() + PATIENCE
        self.connection.settimeout(0.3)
        try:
            while True:
                try:
                    message = self.read()
                except TimeoutError:
                    assert time.monotonic() < deadline, f"no {kind.__name__}, but {self.unasked}"
                    self.send(Ping(0xFFFFFFFF))
                    continue
                if isinstance(message, ClassBytes) and kind is not ClassBytes:
                    self.weave_one(message)
                elif isinstance(message, kind) and fits(message):
                    return message
                elif not isinstance(message, Pong):
                    assert not isinstance(message, Trouble), message.reason
                    self.unasked.append(message)
        finally:
            self.connection.settimeout(PATIENCE)

    def serve_until(self, condition: Callable[[], bool]) -> None:
        """Weave and ping until ``condition()`` is true; other messages are kept."""
        deadline = time.monotonic() + PATIENCE
        self.connection.settimeout(0.05)
        try:
            while not condition():
                assert time.monotonic() < deadline, f"not done; {self.unasked}"
                try:
                    message = self.read()
                except TimeoutError:
                    self.send(Ping(0xFFFFFFFF))
                    continue
                if isinstance(message, ClassBytes):
                    self.weave_one(message)
                elif not isinstance(message, Pong):
                    self.unasked.append(message)
        finally:
            self.connection.settimeout(PATIENCE)

    def order(self, target: Target, line: str) -> str:
        """Gives the program an order, answers the agent's questions meanwhile, and returns the program's answer."""
        before = len(target.stdout)
        target.send(line)
        self.serve_until(lambda: len(target.stdout) > before)
        return target.wait_for("> ").removeprefix("> ")

    def weave_one(self, question: ClassBytes) -> None:
        self.asked.append(question)
        data = self.weaver(question)
        self.answer(question, data)

    def answer(self, question: ClassBytes, data: bytes | None) -> None:
        verdict = Verdict.UNCHANGED if data is None else Verdict.WOVEN
        digest = fingerprint(question.data)
        sites = self.sites(question) if data is not None else ()
        self.send(Woven(question.request, digest, verdict, self.handlers, sites, data or b""))

    def call(self, kind: type[M], build: Callable[[int], Message]) -> M:
        self._request += 1
        request = self._request
        self.send(build(request))
        return self.expect(kind, lambda answer: answer.request == request)  # type: ignore[attr-defined]

    def configure(self, *, lease_ms: int = 60_000, deadline_ms: int = 10_000, buffer_bytes: int = 1 << 20) -> None:
        self.send(Configure(lease_ms, deadline_ms, buffer_bytes, 200, 3, 10, 10, 32, 20, True))
        self.slot = self.expect(Configured).slot

    def search(
        self, kind: ClassPatternKind, text: str, most: int = 1000, *, constants: tuple[bytes, ...] = (), since: int = 0
    ) -> Classes:
        return self.call(Classes, lambda request: Search(request, (Pattern(kind, text, constants),), most, since))

    def ids(self, *names: str) -> tuple[int, ...]:
        """The ids of loaded classes, by exact name."""
        return tuple(self.search(ClassPatternKind.EXACT, name).classes[0].id for name in names)

    def weave(self, *ids: int, prewoven: tuple[PrewovenMethods, ...] = ()) -> WeaveResult:
        return self.call(WeaveResult, lambda request: Weave(request, ids, prewoven))

    def watch(self, *patterns: Pattern) -> None:
        assert self.call(Done, lambda request: Watch(request, patterns)).error == ""

    def restore(self) -> Restored:
        return self.call(Restored, Restore)

    def detach(self) -> Farewell:
        return self.call(Farewell, Detach)

    def close(self) -> None:
        self.connection.close()


class Serving:
    """Answers the questions of one session on a thread while a test uses another session."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._stop = threading.Event()
        self._thread = threading.Thread(target=client.serve_until, args=(self._stop.is_set,))

    def __enter__(self) -> Serving:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def connect(pid: int, jar: Path, *, tcp: bool = False) -> Client:
    """Attach and shake hands."""
    door = Door(tcp=tcp)
    try:
        load_agent(pid, jar, door.options)
        connection = door.accept()
        return Client(connection, shake_hands(connection, door.secret))
    finally:
        door.close()


def shake_hands(connection: socket.socket, secret: bytes) -> Welcome:
    hello = receive(connection)
    assert isinstance(hello, Hello)
    nonce = os.urandom(32)
    connection.sendall(codec.encode(Proof(nonce, mac(secret, b"client", hello.nonce, nonce))))
    welcome = receive(connection)
    assert isinstance(welcome, Welcome)
    assert welcome.mac == mac(secret, b"agent", nonce, hello.nonce)
    return welcome


def mac(secret: bytes, *parts: bytes) -> bytes:
    return hmac.new(secret, b"".join(parts), hashlib.sha256).digest()


def receive(connection: socket.socket) -> Message:
    header = _exactly(connection, 4)
    (length,) = struct.unpack(">I", header)
    assert 1 <= length <= 1 << 24
    frame = _exactly(connection, length)
    return codec.decode(frame[0], frame[1:])


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        try:
            chunk = connection.recv(count - len(data))
        except TimeoutError:
            if data:
                continue
            raise
        except ConnectionResetError:
            chunk = b""
        if not chunk:
            raise EOFError("the agent closed the connection")
        data += chunk
    return data
