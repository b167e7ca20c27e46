"""The deadline of an exchange over a socket."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from btpy.deadline import Deadline


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    own, other = socket.socketpair()
    with own, other:
        own.settimeout(10)
        yield own, other


def read(own: socket.socket, deadline: Deadline) -> bytes:
    with deadline:
        deadline.watch(own)
        return own.recv(1)


def test_a_read_ends_at_the_deadline(ends: tuple[socket.socket, socket.socket]) -> None:
    start = time.monotonic()
    with pytest.raises(TimeoutError):
        read(ends[0], Deadline(0.05))
    assert time.monotonic() - start < 5


def test_any_thread_can_end_the_exchange(ends: tuple[socket.socket, socket.socket]) -> None:
    deadline = Deadline(60)
    thread = threading.Timer(0.05, deadline.expire)
    thread.start()
    with pytest.raises(TimeoutError):
        read(ends[0], deadline)
    thread.join()


def test_a_socket_stays_open_after_an_exchange_in_time(ends: tuple[socket.socket, socket.socket]) -> None:
    ends[1].send(b"78")
    assert read(ends[0], Deadline(0.2)) == b"7"
    time.sleep(0.5)
    assert ends[0].recv(1) == b"8"
    ends[0].send(b"9")


def test_no_exchange_begins_after_the_deadline(ends: tuple[socket.socket, socket.socket]) -> None:
    ends[1].send(b"7")
    deadline = Deadline(60)
    deadline.expire()
    with pytest.raises(TimeoutError):
        read(ends[0], deadline)
    assert ends[0].recv(1) == b"7"


def test_an_interrupt_stays_an_interrupt() -> None:
    def interrupted() -> None:
        with Deadline(60) as deadline:
            deadline.expire()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
