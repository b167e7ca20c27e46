from __future__ import annotations

import os
import queue
import socket
import stat
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from btpy.errors import BtpyError, NotAnswered, ProtocolError, TargetGone
from btpy.wire import channel as channel_module
from btpy.wire.channel import Channel, Listener
from btpy.wire.messages import (
    ClassBytes,
    Classes,
    Configure,
    Configured,
    Detach,
    Done,
    Events,
    Farewell,
    Message,
    Ping,
    Pong,
    Proof,
    Search,
    Trouble,
    Welcome,
)
from tests.wire.peer import Peer

PATIENCE = 30.0


class Connected:
    """A channel, the peer at its other end, and the messages that the channel has delivered."""

    def __init__(self, peer: Peer, connection: socket.socket, welcome: Welcome) -> None:
        self.peer = peer
        self.welcome = welcome
        self.delivered: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self.ended: queue.SimpleQueue[BtpyError | None] = queue.SimpleQueue()
        self.channel = Channel(connection, self.delivered.put, self.ended.put)

    def next_from_client(self) -> Message:
        """The next message that is not a ping."""
        while True:
            message = self.peer.receive()
            assert message is not None
            if not isinstance(message, Ping):
                return message


@contextmanager
def connected(listener: Listener | None = None) -> Iterator[Connected]:
    listener = listener or Listener.unix()
    with Peer(listener.options) as peer:
        peer.welcome()
        both = Connected(peer, *listener.accept(PATIENCE))
        listener.close()
        try:
            yield both
        finally:
            both.channel.close()


def answer(both: Connected, message: Message) -> None:
    both.next_from_client()
    both.peer.send(message)


def in_thread(function: object) -> threading.Thread:
    assert callable(function)
    thread = threading.Thread(target=function)
    thread.start()
    return thread


@pytest.mark.parametrize("listen", [Listener.unix, Listener.tcp])
def test_both_sides_prove_themselves(listen: type[Listener]) -> None:
    listener = listen()  # type: ignore[call-arg]
    with connected(listener) as both:
        assert both.welcome.pid == 42
        assert both.welcome.java_version == "17.0.15"


def test_the_socket_is_the_users_alone_and_is_removed() -> None:
    listener = Listener.unix()
    directory = listener.directory
    assert directory is not None
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((directory / "socket").stat().st_mode) == 0o600
    listener.close()
    assert not directory.exists()
    listener.close()


def test_each_listener_has_a_secret_of_its_own() -> None:
    listeners = [Listener.tcp() for _ in range(3)]
    assert len({listener._secret for listener in listeners}) == 3
    for listener in listeners:
        assert listener._secret.hex() not in listener.options
        assert listener.directory is not None
        assert stat.S_IMODE(listener.directory.stat().st_mode) == 0o700
    for listener in listeners:
        listener.close()


def test_a_long_temporary_directory_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    with connected():
        pass


def test_a_peer_without_the_secret_is_dropped_and_the_agent_still_gets_in() -> None:
    listener = Listener.tcp()
    with Peer(listener.options) as stranger:
        stranger.secret = bytes(32)
        nonce = stranger.hello()
        proof = stranger.receive()
        assert isinstance(proof, Proof)
        wrong = Welcome(os.urandom(32), "b", 1, "1", "v", "m", 1, 2, 3, True)
        stranger.send(wrong)
        assert stranger.receive() is None
        assert nonce
    with connected(listener) as both:
        assert both.welcome.pid == 42


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack(">IB", 39, 1) + b"NOPE" + bytes(34),
        struct.pack(">IB", 0, 1),
        struct.pack(">IB", 16 << 20, 1),
        struct.pack(">IB", 40, 1) + bytes(39),
        struct.pack(">IB", 39, 3) + bytes(38),
    ],
    ids=["http", "magic", "empty", "huge", "too long", "wrong type"],
)
def test_garbage_instead_of_a_handshake_is_dropped_at_once(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel_module, "HANDSHAKE_SECONDS", 1000.0)
    listener = Listener.tcp()
    with Peer(listener.options) as stranger:
        stranger.socket.sendall(data)
        assert stranger.receive() is None
    with connected(listener):
        pass


def test_strangers_that_are_silent_do_not_keep_the_agent_out() -> None:
    listener = Listener.tcp()
    strangers = [Peer(listener.options) for _ in range(3 * channel_module.MAX_CONNECTIONS)]
    with connected(listener):
        pass
    for stranger in strangers:
        stranger.socket.close()


def test_silence_ends_the_handshake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel_module, "HANDSHAKE_SECONDS", 0.2)
    listener = Listener.unix()
    with Peer(listener.options) as silent:
        silent.socket.sendall(b"\0\0")
        assert silent.receive() is None
    listener.close()


def test_another_version_of_the_protocol_is_named() -> None:
    listener = Listener.unix()
    with Peer(listener.options) as peer:
        peer.hello(version=1)
        assert peer.receive() is None
    with pytest.raises(TimeoutError, match="speaks version 1 of the protocol"):
        listener.accept(24 * 3600)  # the channel does not wait for 24 hours
    listener.close()


def test_a_stranger_of_another_version_does_not_keep_the_agent_out() -> None:
    listener = Listener.unix()
    with Peer(listener.options) as stranger:
        stranger.hello(version=1)
        assert stranger.receive() is None
    with connected(listener):
        pass


def test_closing_the_listener_ends_the_wait() -> None:
    listener = Listener.unix()
    closing = threading.Timer(0.05, listener.close)
    closing.start()
    with pytest.raises(ConnectionAbortedError):
        listener.accept(PATIENCE)
    closing.join()


def test_answers_find_their_requests_in_any_order() -> None:
    with connected() as both:
        answers: dict[str, Message] = {}

        def ask(name: str) -> None:
            answers[name] = both.channel.call(
                lambda request: Search(request, (), len(name), 0), Classes, timeout=PATIENCE
            )

        threads = [in_thread(lambda name=name: ask(name)) for name in ("a", "bb")]
        requests = [both.next_from_client(), both.next_from_client()]
        for request in reversed(requests):
            assert isinstance(request, Search)
            both.peer.send(Classes(request.request, request.max_results, 0, ()))
        for thread in threads:
            thread.join()
        assert {name: answer.loaded for name, answer in answers.items() if isinstance(answer, Classes)} == {
            "a": 1,
            "bb": 2,
        }


def test_an_answer_can_be_fetched_long_after_its_request() -> None:
    with connected() as both:
        first = both.channel.ask(lambda request: Search(request, (), 11, 0), Classes)
        second = both.channel.ask(lambda request: Search(request, (), 13, 0), Classes)
        for _ in range(2):
            request = both.next_from_client()
            assert isinstance(request, Search)
            both.peer.send(Classes(request.request, request.max_results, 0, ()))
        assert (second(PATIENCE).loaded, first(PATIENCE).loaded) == (13, 11)


def test_replies_come_whole_and_in_order_among_other_messages() -> None:
    """The reading thread sends more than the socket takes at once, while another thread sends."""
    listener = Listener.unix()
    with Peer(listener.options) as peer:
        peer.welcome()
        connection, _ = listener.accept(PATIENCE)
        listener.close()
        errors: queue.SimpleQueue[BtpyError | None] = queue.SimpleQueue()

        def reply(message: Message) -> None:
            assert isinstance(message, Events)
            channel.reply(Done(len(message.records), "x" * 70_001))

        channel = Channel(connection, reply, errors.put)
        for size in range(1, 54):
            peer.send(Events(bytes(size)))
            channel.send(Done(1000 + size, "y" * 30_011))
        received: list[tuple[int, int]] = []
        while len(received) < 106:
            message = peer.receive()
            if isinstance(message, Done):
                received.append((message.request, len(message.error)))
        assert [frame for frame in received if frame[0] < 1000] == [(size, 70_001) for size in range(1, 54)]
        assert [frame for frame in received if frame[0] > 1000] == [(1000 + size, 30_011) for size in range(1, 54)]
        channel.close()


def test_configured_answers_configure() -> None:
    with connected() as both:
        answering = in_thread(lambda: answer(both, Configured(5)))
        assert both.channel.configure(Configure(*(*range(9), True)), PATIENCE).slot == 5
        answering.join()


def test_messages_without_a_request_are_delivered_in_order() -> None:
    messages = [Events(b"1"), ClassBytes(1, 2, "a.B", "app", "", (), b"x"), Events(b"2")]
    with connected() as both:
        both.peer.send(*messages)
        assert [both.delivered.get(timeout=PATIENCE) for _ in messages] == messages


def test_a_quiet_channel_pings_to_keep_the_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel_module, "PING_SECONDS", 0.01)
    with connected() as both:
        for _ in range(3):
            ping = both.peer.receive()
            assert isinstance(ping, Ping)
            both.peer.send(Pong(ping.request))
        both.peer.send(Events(b"after"))
        assert both.delivered.get(timeout=PATIENCE) == Events(b"after")


def test_the_end_of_the_target_ends_calls_and_later_sends() -> None:
    with connected() as both:

        def hang_up() -> None:
            both.peer.receive()
            both.peer.socket.close()

        asking = threading.Thread(target=hang_up)
        asking.start()
        with pytest.raises(TargetGone, match="ended or cut the connection"):
            both.channel.call(Ping, Pong, PATIENCE)
        asking.join()
        assert isinstance(both.ended.get(timeout=PATIENCE), TargetGone)
        with pytest.raises(TargetGone):
            both.channel.send(Ping(1))


def test_the_reason_of_trouble_is_reported() -> None:
    with connected() as both:
        both.peer.send(Trouble("no memory"))
        assert both.delivered.get(timeout=PATIENCE) == Trouble("no memory")
        assert str(both.ended.get(timeout=PATIENCE)) == "the agent gave up: no memory"


@pytest.mark.parametrize(
    ("error", "flag"),
    [
        ("Metaspace", "-XX:MaxMetaspaceSize"),
        ("Compressed class space", "-XX:CompressedClassSpaceSize"),
        ("Java heap space", "-Xmx"),
    ],
)
def test_a_missing_capability_is_reported_with_its_flag(error: str, flag: str) -> None:
    with connected() as both:
        both.peer.send(Trouble(f"the thread btpy-commands of the agent failed: java.lang.OutOfMemoryError: {error}"))
        failure = both.ended.get(timeout=PATIENCE)
        assert failure is not None
        assert flag in failure.help[0]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (struct.pack(">IB", 0, 0), "a frame of 0 bytes"),
        (struct.pack(">IB", (16 << 20) + 1, 0x36), "a frame of 16777217 bytes"),
        (struct.pack(">IB", 1, 0x77), "unknown message type"),
        (struct.pack(">IB", 3, 0x3C) + b"\0\0", "Pong is too short"),
        (struct.pack(">IBII", 9, 0x33, 999, 0), "answers request 999, which was never made"),
        (struct.pack(">IB", 100, 0x33) + b"abc", "ended in the middle"),
    ],
)
def test_a_breach_of_the_protocol_ends_the_connection(data: bytes, reason: str) -> None:
    with connected() as both:
        both.peer.socket.sendall(data)
        both.peer.socket.shutdown(socket.SHUT_WR)
        assert reason in str(both.ended.get(timeout=PATIENCE))
        while both.peer.receive() is not None:
            pass


def test_an_answer_of_another_type_is_a_breach() -> None:
    with connected() as both:
        answering = in_thread(lambda: answer(both, Done(1, "")))
        with pytest.raises(ProtocolError, match="Done in answer to Search"):
            both.channel.call(lambda request: Search(request, (), 1, 0), Classes, PATIENCE)
        answering.join()


def test_a_late_answer_is_dropped() -> None:
    with connected() as both:
        with pytest.raises(TimeoutError):
            both.channel.call(lambda request: Search(request, (), 1, 0), Classes, timeout=0.01)
        both.peer.send(Classes(1, 0, 0, ()), Events(b"x"))
        assert both.delivered.get(timeout=PATIENCE) == Events(b"x")


def test_a_caller_can_give_up_and_the_late_answer_is_dropped() -> None:
    waits: list[float] = []

    def goes_on(seconds: float) -> bool:
        waits.append(seconds)
        return len(waits) < 3

    with connected() as both:
        with pytest.raises(NotAnswered):
            both.channel.ask(lambda request: Search(request, (), 1, 0), Classes, goes_on)(PATIENCE)
        assert len(waits) == 3
        assert waits == sorted(waits)
        both.peer.send(Classes(1, 0, 0, ()), Events(b"x"))
        assert both.delivered.get(timeout=PATIENCE) == Events(b"x")
        with pytest.raises(TimeoutError):
            both.channel.ask(lambda request: Search(request, (), 1, 0), Classes, lambda seconds: True)(0.01)


def test_an_error_of_the_receiver_ends_the_connection() -> None:
    listener = Listener.unix()
    with Peer(listener.options) as peer:
        peer.welcome()
        connection, _ = listener.accept(PATIENCE)
        listener.close()
        errors: queue.SimpleQueue[BtpyError | None] = queue.SimpleQueue()

        def refuse(message: Message) -> None:
            raise ProtocolError("more than its credit")

        channel = Channel(connection, refuse, errors.put)
        peer.send(Events(b"x"))
        assert str(errors.get(timeout=PATIENCE)) == "more than its credit"
        channel.close()


def test_closing_is_no_failure_and_leaves_no_thread() -> None:
    with connected() as both:
        both.channel.close()
        assert both.ended.get(timeout=PATIENCE) is None
        both.channel.close()
        with pytest.raises(TargetGone, match="closed"):
            both.channel.send(Ping(1))
    assert not [thread for thread in threading.enumerate() if thread.name in ("btpy-reader", "btpy-writer")]


def test_the_end_after_farewell_is_no_failure() -> None:
    with connected() as both:
        answering = in_thread(lambda: answer(both, Farewell(1, (), 3, 4)))
        assert both.channel.call(Detach, Farewell, PATIENCE).handler_classes == 3
        answering.join()
        both.peer.socket.shutdown(socket.SHUT_RDWR)
        assert both.ended.get(timeout=PATIENCE) is None


def test_late_messages_of_the_client_do_not_turn_the_end_into_a_failure() -> None:
    with connected() as both:
        answering = in_thread(lambda: answer(both, Farewell(1, (), 3, 4)))
        both.channel.call(Detach, Farewell, PATIENCE)
        answering.join()
        both.channel.send(Done(1, ""))
        both.peer.socket.recv(1, socket.MSG_PEEK)  # the peer never reads the message, so the connection is reset
        both.peer.socket.close()
        assert both.ended.get(timeout=PATIENCE) is None


def test_a_peer_that_stops_reading_does_not_hold_up_small_sends_and_close() -> None:
    with connected() as both:
        for _ in range(40):
            both.channel.send(Done(1, "x" * 1_000_000))
        both.channel.close()
        assert both.ended.get(timeout=PATIENCE) is None
