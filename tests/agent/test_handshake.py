from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from btpy.model.patterns import ClassPatternKind
from btpy.wire import codec
from btpy.wire.messages import Configure, Hello, Ping, Proof, Search, Trouble
from tests.agent.attach import load_agent
from tests.agent.client import Door, mac, receive, shake_hands
from tests.agent.conftest import Attach, Subject, agent_threads_end, answer
from tests.jdks import all_jdks
from tests.targets import Target


@all_jdks
def test_the_agent_describes_its_jvm_and_configures_a_session(
    jdk: int, subject: Subject, attach: Attach, jar: Path, hatch_build: ModuleType
) -> None:
    with subject(jdk) as program:
        client = attach(program, jdk)
        welcome = client.welcome
        assert welcome.java_version.split(".")[0] == str(jdk)
        assert welcome.pid == program.pid
        assert welcome.main_command == "Subject"
        assert welcome.build == hatch_build.built_from(jar)
        assert welcome.retransformation
        assert abs(welcome.wall_nanos / 1e9 - time.time()) < 60
        assert client.slot == 1


Knock = Callable[[], tuple[Door, socket.socket]]


@pytest.fixture
def knock(shared_subject: Target, jar: Path) -> Iterator[Knock]:
    """The connection of an agent that waits for a PROOF. At the end the agent must have removed all its parts from the
    JVM."""
    opened: list[Door | socket.socket] = []

    def open_door() -> tuple[Door, socket.socket]:
        door = Door(tcp=False)
        opened.append(door)
        load_agent(shared_subject.pid, jar, door.options)
        connection = door.accept()
        opened.append(connection)
        return door, connection

    yield open_door
    agent_threads_end(shared_subject)
    for end in opened:
        end.close()


def hello_on(connection: socket.socket) -> Hello:
    hello = receive(connection)
    assert isinstance(hello, Hello)
    return hello


def is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_client_that_does_not_know_the_secret_learns_nothing(knock: Knock) -> None:
    _, connection = knock()
    hello = hello_on(connection)
    nonce = os.urandom(32)
    connection.sendall(codec.encode(Proof(nonce, mac(os.urandom(32), b"client", hello.nonce, nonce))))
    assert is_closed(connection)


def test_a_proof_that_was_overheard_is_of_no_use(knock: Knock) -> None:
    door, connection = knock()
    hello = hello_on(connection)
    nonce = os.urandom(32)
    proof = codec.encode(Proof(nonce, mac(door.secret, b"client", hello.nonce, nonce)))
    connection.close()
    _, second = knock()
    receive(second)
    second.sendall(proof)
    assert is_closed(second)


def test_the_agents_own_proof_cannot_be_reflected(knock: Knock) -> None:
    door, connection = knock()
    hello = hello_on(connection)
    connection.sendall(codec.encode(Proof(hello.nonce, mac(door.secret, b"agent", hello.nonce, hello.nonce))))
    assert is_closed(connection)


@pytest.mark.parametrize(
    "noise",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack(">I", 0),
        struct.pack(">I", 0xFFFFFFFF) + b"\x02",
        struct.pack(">IB", 1 << 20, 2),
        codec.encode(Ping(1)),
        struct.pack(">IB", 66, 2) + bytes(65),
    ],
    ids=["http", "empty", "negative", "oversized", "other message", "one byte too many"],
)
def test_noise_instead_of_a_proof_ends_the_connection(knock: Knock, noise: bytes) -> None:
    _, connection = knock()
    receive(connection)
    connection.sendall(noise)
    assert is_closed(connection)


def test_silence_ends_the_connection(knock: Knock) -> None:
    _, connection = knock()
    receive(connection)
    assert is_closed(connection)


def test_the_nonce_is_fresh(knock: Knock) -> None:
    nonces = set()
    for _ in range(3):
        _, connection = knock()
        nonces.add(hello_on(connection).nonce)
        connection.close()
    assert len(nonces) == 3


@pytest.mark.parametrize(
    "options",
    ["", "socket=tcp:1", "secret-in=/nowhere", "socket=pigeon,secret-in=/", "nonsense"],
)
def test_an_attach_request_without_sense_changes_nothing(shared_subject: Target, jar: Path, options: str) -> None:
    load_agent(shared_subject.pid, jar, options)
    agent_threads_end(shared_subject)
    assert answer(shared_subject, "base") == "Base says plain!"


BROKEN = {
    "unknown type": b"\x7f",
    "type of the other side": b"\x33" + bytes(8),
    "bytes left over": codec.encode(Ping(1))[4:] + b"\0",
    "too short": b"\x11\0\0",
    "list longer than the message": b"\x11" + struct.pack(">II", 1, 0x7FFFFFFF),
    "negative list": b"\x11" + struct.pack(">II", 1, 0xFFFFFFFF),
    "string that is not UTF-8": b"\x11" + struct.pack(">IIBI", 1, 1, 0, 2) + b"\xc0\xff" + bytes(4),
    "unknown kind of pattern": b"\x11" + struct.pack(">IIBI", 1, 1, 9, 1) + b"x" + bytes(4),
    "class that was never named": b"\x15" + struct.pack(">III", 1, 1, 77),
    "answer to no question": b"\x16" + struct.pack(">I", 5) + bytes(32) + b"\0" + bytes(12),
    "second configuration": codec.encode(Configure(1, 1, 1, 1, 1, 1, 1, 1, 1, True))[4:],
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_client_that_breaks_the_protocol_gets_an_error_and_is_disconnected(
    shared_subject: Target, attach: Attach, case: str
) -> None:
    client = attach(shared_subject, 17)
    client.weaver = lambda question: question.data.replace(b"plain!", b"woven!")
    client.weave(*client.ids("Subject$Base"))
    client.connection.sendall(struct.pack(">I", len(BROKEN[case])) + BROKEN[case])
    assert client.last_words()
    agent_threads_end(shared_subject)
    assert answer(shared_subject, "base") == "Base says plain!"


def test_configuration_must_come_first(shared_subject: Target, attach: Attach) -> None:
    client = attach(shared_subject, 17, configure=False)
    client.send(Search(1, (), 1, 0))
    assert isinstance(client.read(), Trouble)
    agent_threads_end(shared_subject)


def test_the_connection_may_come_over_tcp_everywhere(shared_subject: Target, jar: Path) -> None:
    door = Door(tcp=True)
    load_agent(shared_subject.pid, jar, door.options)
    connection = door.accept()
    assert shake_hands(connection, door.secret).pid == shared_subject.pid
    connection.close()
    door.close()
    agent_threads_end(shared_subject)


def test_text_outside_of_latin_1_arrives_as_it_was_sent(shared_subject: Target, attach: Attach) -> None:
    client = attach(shared_subject, 17)
    classes = client.search(ClassPatternKind.REGEX, "Subject|\U0001f600\ud800é€")
    assert [class_.name for class_ in classes.classes] == ["Subject"]
