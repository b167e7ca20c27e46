"""A client attacks the agent of a JVM in which another session counts. It may know the secret or not.

It sends garbage and half frames before and after it has proven itself, lies in every request, sends class files that
the JVM must not take, sends more requests than it reads answers, and takes every slot. The agent must answer or end the
connection. The other session must count every call, and its receipt must be clean. The application must not fail, and
no thread of the agent may remain.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from btpy.engine.session import Session
from btpy.events.aggregates import Count
from btpy.jvm.processes import describe
from btpy.model.patterns import ClassPatternKind
from btpy.wire import codec, messages
from btpy.wire.messages import FROM_CLIENT, Done, HandlerClass, Install, Message, Pattern, Ping, Pong, Search
from tests.agent.attach import load_agent
from tests.agent.client import Client, Door, shake_hands
from tests.agent.conftest import hatch_build, jar
from tests.agent.handlers import handler, named, unnamed
from tests.containers.cells import AS_NOBODY, needs_root, readable_cache
from tests.live.scripts import counted, program, waited
from tests.security.lies import LIES, blank
from tests.targets import Target

__all__ = ["hatch_build", "jar"]

CALLS = 1009
LAST_PING = 0x77777777
JDKS = (11, 25)
SLOTS = 127


class Attacked:
    """A JVM with a session of btpy in it that counts the calls of ``step``."""

    def __init__(self, target: Target, jdk: int, jar: Path, session: Session) -> None:
        self.target = target
        self.needs_tcp = jdk < 16
        self.jar = jar
        self.session = session
        self.calls = 0

    @contextmanager
    def door(self) -> Iterator[Door]:
        door = Door(tcp=self.needs_tcp)
        door.directory.chmod(0o755 if self.needs_tcp else 0o700)  # the JVM may belong to another user
        try:
            load_agent(self.target.pid, self.jar, door.options)
            yield door
        finally:
            door.close()

    def client(self) -> Client:
        with self.door() as door:
            connection = door.accept()
            return Client(connection, shake_hands(connection, door.secret))

    def check(self) -> None:
        """The application runs, and the other session has counted every call."""
        self.target.send(f"call {CALLS}")
        self.target.wait_for("called")
        self.calls += CALLS
        (content,) = self.session.delivery.snapshot()
        assert content.entries == (((), Count(self.calls)),)
        assert self.target.stderr == []

    def check_alone(self) -> None:
        """Waits until the session of this process is the only one."""

        def others() -> list[str]:
            names = []
            for task in Path(f"/proc/{self.target.pid}/task").iterdir():
                with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
                    names.append((task / "comm").read_text().strip())
            return [name for name in names if name.startswith("btpy-events")][1:]

        waited(lambda: not others(), f"threads of other sessions: {others()}")


@contextmanager
def attacked(jdk: int, jar: Path, prefix: Sequence[str] = ()) -> Iterator[Attacked]:
    with (
        counted(jdk, "-Xmx64m", prefix=prefix) as target,
        Session.attach(describe(target.pid)) as session,
    ):
        assert session.deployer.load(program("Counted::step { @n = count(); }")).methods == 1
        victim = Attacked(target, jdk, jar, session)
        yield victim
        victim.check()
        victim.check_alone()
        receipt = session.departure.detach()
        assert receipt.clean
        assert sum(account.fired for account in receipt.accounts) == victim.calls
        assert target.stderr == []


@pytest.fixture(scope="module", params=JDKS, ids=[f"jdk{jdk}" for jdk in JDKS])
def victim(request: pytest.FixtureRequest, jar: Path) -> Iterator[Attacked]:
    with attacked(request.param, jar) as jvm:
        yield jvm


class Liar:
    """Sends requests with lies over connections of its own: a new one after each that the agent has ended."""

    def __init__(self, victim: Attacked) -> None:
        self._victim = victim
        self._client: Client | None = None
        self.owed: list[bytes] = []
        self._hangs_up = False
        self.refusals: list[str] = []

    def hang_up(self) -> bytes:
        self._hangs_up = True
        return b""

    def tell(self, request: Message, name: str, *, configured: bool) -> None:
        """Sends one lie. The agent must answer the ping that follows the lie, or end the connection."""
        client = self._client or self._victim.client()
        self._client = None
        try:
            if configured and not client.slot:
                client.configure()
            frames = [*LIES[name](request, self), *self.owed]
            for frame in [*frames, codec.encode(Ping(LAST_PING))]:
                client.connection.sendall(frame)
            if self._hangs_up:
                raise EOFError
            while True:
                message = client.read()
                if isinstance(message, messages.Trouble):
                    self.refusals.append(message.reason)
                if isinstance(message, Pong) and message.request == LAST_PING:
                    break
            if configured and not isinstance(request, messages.Leave | messages.Detach | messages.Restore):
                self._client = client
        except (EOFError, BrokenPipeError, ConnectionResetError):
            pass
        finally:
            self.owed.clear()
            self._hangs_up = False
            if self._client is None:
                client.close()

    def close(self) -> None:
        if self._client is not None:
            self._client.close()


def lie(victim: Attacked, names: Sequence[str]) -> None:
    """Tells these lies in every request that the protocol has."""
    liar = Liar(victim)
    try:
        for number, kind in enumerate(FROM_CLIENT):
            request = blank(kind)
            if "request" in kind.__annotations__:
                request = replace(request, request=number + 1)
            for name in names:
                liar.tell(request, name, configured=kind is not messages.Configure)
    finally:
        liar.close()
    assert liar.refusals
    end_unattended(victim)
    victim.check()


def end_unattended(victim: Attacked) -> None:
    """Ends the unattended sessions that lies in LEAVE have started."""
    client = victim.client()
    try:
        sessions = client.call(messages.Sessions, messages.ListSessions).sessions
        unattended = [session.id for session in sessions if session.ttl_ns]
    finally:
        client.close()
    for id_ in unattended:
        client = victim.client()
        try:
            joined = client.call(messages.Joined, partial(messages.Join, session=id_, take_over=True))
            assert joined.error == ""
            client.detach()
        finally:
            client.close()


def test_false_data_in_requests(victim: Attacked) -> None:
    lie(victim, list(LIES))


@pytest.mark.proof
@needs_root
@pytest.mark.parametrize("jdk", JDKS)
def test_false_data_from_a_jvm_of_another_user(jdk: int, jar: Path) -> None:
    with readable_cache(), attacked(jdk, jar, AS_NOBODY) as jvm:
        jvm.needs_tcp = True
        lie(jvm, list(LIES))


GARBAGE: dict[str, bytes] = {
    "nothing": b"",
    "one byte": b"\0",
    "zeros": bytes(4096),
    "all bits": b"\xff" * 4096,
    "half a proof": codec.encode(messages.Proof(bytes(32), bytes(32)))[:40],
    "a proof of zeros": codec.encode(messages.Proof(bytes(32), bytes(32))),
    "a request": codec.encode(messages.Restore(1)),
    "length of 2 GiB": b"\x7f\xff\xff\xff\x02",
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
}


def test_garbage_before_the_proof(victim: Attacked) -> None:
    """The agent tells a client without the secret nothing, and leaves."""
    for garbage in GARBAGE.values():
        with victim.door() as door, door.accept() as connection:
            hello = connection.recv(1 << 16)
            assert len(hello) == len(codec.encode(messages.Hello(messages.MAGIC, messages.VERSION, bytes(32))))
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(garbage)
                connection.shutdown(1)
                assert connection.recv(1 << 16) == b""
    victim.check()
    victim.check_alone()


def send_all(client: Client, frame: bytes, times: int) -> None:
    for _ in range(times):
        client.connection.sendall(frame)


def test_more_requests_than_answers_are_read(victim: Attacked) -> None:
    """The agent keeps a bounded number of requests and of answers, and then ends the connection."""
    client = victim.client()
    try:
        client.configure()
        client.connection.settimeout(1)
        search = codec.encode(Search(1, (Pattern(ClassPatternKind.GLOB, "**"),), 1 << 20, 0))
        with pytest.raises((BrokenPipeError, ConnectionResetError, TimeoutError)):
            send_all(client, search, 200_000)
        victim.check()
    finally:
        client.close()
    victim.check()


def test_a_client_that_stops_in_the_middle_of_a_frame(victim: Attacked) -> None:
    """The lease of the client ends, as it does for a client that a signal has stopped."""
    client = victim.client()
    try:
        client.configure(lease_ms=1000)
        client.weaver = lambda question: None
        client.weave(*client.ids("Counted"))
        client.connection.sendall(struct.pack(">IB", 1 << 20, Install.code) + bytes(1000))
        victim.check()
        reason = client.last_words()
        assert reason
    finally:
        client.close()
    victim.check()
    victim.check_alone()


def test_slots_run_out(victim: Attacked) -> None:
    """A client without a free slot gets an error, and the other sessions go on."""
    clients: list[Client] = []
    try:
        while len(clients) < SLOTS:
            client = victim.client()
            clients.append(client)
            client.send(messages.Configure(60_000, 1000, 1 << 16, 200, 3, 10, 10, 32, 20, True))
            answer = client.read()
            if isinstance(answer, messages.Trouble):
                break
        assert isinstance(answer, messages.Trouble)
        assert "sessions" in answer.reason
        victim.check()
    finally:
        for client in clients:
            client.close()
    victim.check()
    victim.check_alone()


@pytest.fixture(scope="module")
def good_handler(tmp_path_factory: pytest.TempPathFactory) -> HandlerClass:
    return handler(tmp_path_factory.mktemp("handler"), "int two = 2; two += site; Guard.leave(-1);")


EVIL: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda data: b"",
    "no class file": lambda data: b"PK\x03\x04" + data,
    "cut": lambda data: data[: len(data) // 2],
    "more behind": lambda data: data + b"\0",
    "version of the future": lambda data: data[:4] + b"\xff\xff\xff\xff" + data[8:],
    "an integer used as an object": lambda data: data.replace(b"\x05\x3c", b"\x05\x4c"),
    "a jump out of the method": lambda data: data.replace(b"\x05\x3c", b"\xa7\x7f"),
    "operand stack underflow": lambda data: data.replace(b"\x05\x3c", b"\x58\x58"),
    "constant pool of 65,535 entries": lambda data: data[:8] + b"\xff\xff" + data[10:],
    "a superclass that is final": lambda data: data.replace(b"java/lang/Object", b"java/lang/String"),
    "16 MB of zeros": lambda data: bytes(15 << 20),
}


def test_class_files_that_the_jvm_must_not_take(victim: Attacked, good_handler: HandlerClass) -> None:
    """The agent refuses each of these class files, and the session of this client goes on."""
    client = victim.client()
    client.configure()
    before = client.detach().handler_classes
    client.close()
    client = victim.client()

    def install(*handlers: HandlerClass) -> str:
        return client.call(Done, lambda request: Install(request, (), (), handlers)).error

    try:
        client.configure()
        for name, change in EVIL.items():
            data = change(unnamed(good_handler))
            assert data != unnamed(good_handler), name
            assert install(named(data)), name  # under the name of its own hash: only the content is wrong
        for name in (
            "java.lang.Evil",
            "btpy.runtime.Session",
            "../../Evil",
            "",
            good_handler.name[:-1],
            good_handler.name + "0",
        ):
            assert install(HandlerClass(name, good_handler.data)), name
        assert install(good_handler) == ""
        assert client.detach().handler_classes == before + 1
    finally:
        client.close()
    victim.check()
    victim.check_alone()


def test_answers_without_a_question(victim: Attacked) -> None:
    """The client sends WOVEN without a question, with the class file of another question, and twice."""
    for answers in (1, 2):
        client = victim.client()
        try:
            client.configure()
            client.weaver = lambda question: None
            ids = client.ids("Counted")
            client.send(messages.Weave(1000, ids))
            question = client.expect(messages.ClassBytes)
            for _ in range(answers):
                client.answer(question, None)
            client.send(messages.Woven(question.request + 7, bytes(12), messages.Verdict.WOVEN, (), (), b"\xca\xfe"))
            assert client.last_words()
        finally:
            client.close()
        victim.check()
    victim.check_alone()


def test_regular_expressions_and_names_that_explode(victim: Attacked) -> None:
    """The agent gives up the match for one class after the other; meanwhile it answers the other session."""
    client = victim.client()
    try:
        client.configure()
        for text in ("(a*)*b", "(.*.*.*.*.*)*$x", "[" * 1000, "*" * 60_000, "a" * 1_000_000):
            for kind in ClassPatternKind:
                client.send(Search(1, (Pattern(kind, text),), 10, 0))
        victim.check()
        with suppress(EOFError):
            client.send(Ping(LAST_PING))
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline and not isinstance(client.read(), Pong):
                pass
    finally:
        client.close()
    victim.check()
