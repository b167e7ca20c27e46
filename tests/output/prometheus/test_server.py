"""Clients that are slow, many, or send anything: the server keeps its bounds and goes on."""

from __future__ import annotations

import gzip
import http.client
import os
import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress

import pytest

from btpy.output.prometheus import server
from btpy.output.prometheus.server import MOST_CONNECTIONS, MOST_REQUEST_BYTES, Server
from btpy.output.prometheus.settings import ExpositionSettings
from tests.live.scripts import waited

TOKEN = "0123456789abcdef"
PAGE = b"# TYPE n counter\nn_total 7\n" * 100


@contextmanager
def serving(page: bytes = PAGE, token: str | None = None) -> Iterator[Server]:
    running = Server(ExpositionSettings("127.0.0.1", 0, token), lambda accept: (f"text/plain; of={accept}", page))
    running.start()
    try:
        yield running
    finally:
        began = time.monotonic()
        running.close()
        assert time.monotonic() - began < 2


def got(
    running: Server, path: str = "/metrics", method: str = "GET", headers: dict[str, str] | None = None
) -> tuple[int, bytes]:
    with closing(http.client.HTTPConnection("127.0.0.1", running.port, timeout=20)) as client:
        client.request(method, path, headers=headers or {})
        answer = client.getresponse()
        return answer.status, answer.read()


def connected(running: Server, stack: ExitStack) -> socket.socket:
    return stack.enter_context(socket.create_connection(("127.0.0.1", running.port), timeout=20))


def threads() -> int:
    return sum(thread.name == "btpy-scrape" for thread in threading.enumerate())


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "CONNECTION_SECONDS", 1.0)


def test_answers() -> None:
    with serving() as running:
        assert got(running) == (200, PAGE)
        assert got(running, "/metrics?name[]=n") == (200, PAGE)
        assert got(running, method="HEAD") == (200, b"")
        assert got(running, "/")[0] == 404
        assert got(running, method="POST")[0] == 400
        status, packed = got(running, headers={"Accept-Encoding": "gzip"})
        assert (status, gzip.decompress(packed)) == (200, PAGE)
        assert running.answered == 4


def test_a_page_of_another_name_cannot_read_the_loopback_interface() -> None:
    with serving() as running:
        for host in ("evil.example", f"evil.example:{running.port}", "127.0.0.1.evil.example", "", "localhost.evil"):
            assert got(running, headers={"Host": host})[0] == 421
        for host in ("localhost", f"localhost:{running.port}", "[::1]", f"[::1]:{running.port}"):
            assert got(running, headers={"Host": host})[0] == 200


def test_a_token() -> None:
    with serving(token=TOKEN) as running:
        assert got(running, headers={"Host": "any.example", "Authorization": f"Bearer {TOKEN}"}) == (200, PAGE)
        for wrong in ("", "Bearer", f"Bearer {TOKEN}x", f"Basic {TOKEN}", f"Bearer {TOKEN[:-1]}", "Bearer \xff"):
            assert got(running, headers={"Authorization": wrong})[0] == 401
        assert got(running)[0] == 401


@pytest.mark.usefixtures("brief")
def test_slow_clients_are_cut_off_and_others_are_answered() -> None:
    with serving() as running, ExitStack() as stack:
        slow = [connected(running, stack) for _ in range(MOST_CONNECTIONS - 1)]
        began = time.monotonic()
        for client in slow:
            client.sendall(b"GET /metrics HTTP/1.1\r\n")
        assert got(running) == (200, PAGE)
        while threads() > 1 and time.monotonic() - began < 10:
            for client in slow:
                try:
                    client.sendall(b"x")  # a byte at a time keeps the connection busy
                except OSError:
                    continue
            time.sleep(0.05)
        assert time.monotonic() - began < 8
        waited(lambda: threads() == 0, "all connections have ended")
        assert got(running) == (200, PAGE)


@pytest.mark.usefixtures("brief")
def test_a_client_that_does_not_read_is_cut_off() -> None:
    with serving(os.urandom(32 << 20)) as running, ExitStack() as stack:
        client = connected(running, stack)
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        waited(lambda: threads() == 1, "the request is served")
        waited(lambda: threads() == 0, "the connection has ended")


@pytest.mark.usefixtures("brief")
def test_many_connections_take_no_more_threads_than_a_few() -> None:
    with serving() as running, ExitStack() as stack:
        most = 0
        for _ in range(20 * MOST_CONNECTIONS):
            connected(running, stack)
            most = max(most, threads())
        assert most <= MOST_CONNECTIONS
        waited(lambda: threads() == 0, "all connections have ended")

        def is_served() -> bool:
            try:
                return got(running) == (200, PAGE)
            except ConnectionError:  # the server may still have to accept some of the many
                return False

        waited(is_served, "a scrape is answered")


def test_a_huge_request_is_refused() -> None:
    with serving() as running, ExitStack() as stack:
        client = connected(running, stack)
        client.sendall(b"GET /metrics HTTP/1.1\r\nX: " + b"x" * MOST_REQUEST_BYTES)
        with suppress(ConnectionResetError):  # the system may end the connection before the answer is read
            assert client.recv(100).startswith(b"HTTP/1.1 431 ")
        assert got(running) == (200, PAGE)


def test_requests_by_chance() -> None:
    pieces = [b"GET ", b"HEAD", b"/metrics", b" HTTP/1.1", b"\r\n", b"\r\n\r\n", b"\0", b"\xff", b":", b"Host: ", b" "]
    with serving(token=TOKEN) as running:
        for seed in range(300):
            chance = random.Random(seed)
            with ExitStack() as stack:
                client = connected(running, stack)
                client.sendall(b"".join(chance.choices(pieces, k=chance.randrange(1, 30))) + b"\r\n\r\n")
                client.shutdown(socket.SHUT_WR)
                answer = b""
                while part := client.recv(4096):
                    answer += part
                assert not answer.startswith(b"HTTP/1.1 200")
        assert got(running, headers={"Authorization": f"Bearer {TOKEN}"}) == (200, PAGE)


def test_a_page_that_fails_ends_only_its_connection(capfd: pytest.CaptureFixture[str]) -> None:
    def fails(accept: str) -> tuple[str, bytes]:
        raise RuntimeError("no page")

    running = Server(ExpositionSettings("127.0.0.1", 0), fails)
    running.start()
    for _ in range(2 * MOST_CONNECTIONS):
        assert got(running)[0] == 500
    running.close()
    assert capfd.readouterr().err == ""
