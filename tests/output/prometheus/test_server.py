"""Clients that are slow, many, or send anything: the server keeps its bounds and goes on."""

from __future__ import annotations

import gzip
import http.client
import os
import random
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import NamedTuple

import pytest

from btpy.errors import UsageError
from btpy.output.prometheus import server
from btpy.output.prometheus.server import MOST_CONNECTIONS, MOST_REQUEST_BYTES, Server
from btpy.output.prometheus.settings import ExpositionSettings, TlsFiles
from btpy.output.prometheus.tls import server_context
from tests.certificates import Pair, authority, signed
from tests.live.scripts import waited

TOKEN = "0123456789abcdef"
PAGE = b"# TYPE n counter\nn_total 7\n" * 100


@contextmanager
def serving(page: bytes = PAGE, token: str | None = None, tls: TlsFiles | None = None) -> Iterator[Server]:
    settings = ExpositionSettings("127.0.0.1", 0, token, tls)
    endpoint = Server(settings, lambda accept: (f"text/plain; of={accept}", page))
    endpoint.start()
    try:
        yield endpoint
    finally:
        began = time.monotonic()
        endpoint.close()
        assert time.monotonic() - began < 2


def got(
    endpoint: Server,
    path: str = "/metrics",
    method: str = "GET",
    headers: dict[str, str] | None = None,
    context: ssl.SSLContext | None = None,
) -> tuple[int, bytes]:
    client: http.client.HTTPConnection
    if context is None:
        client = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=20)
    else:
        client = http.client.HTTPSConnection("127.0.0.1", endpoint.port, timeout=20, context=context)
    with closing(client):
        client.request(method, path, headers=headers or {})
        answer = client.getresponse()
        return answer.status, answer.read()


def connected(endpoint: Server, stack: ExitStack) -> socket.socket:
    return stack.enter_context(socket.create_connection(("127.0.0.1", endpoint.port), timeout=20))


def threads() -> int:
    return sum(thread.name == "btpy-scrape" for thread in threading.enumerate())


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "CONNECTION_SECONDS", 1.0)


def test_answers() -> None:
    with serving() as endpoint:
        assert got(endpoint) == (200, PAGE)
        assert got(endpoint, "/metrics?name[]=n") == (200, PAGE)
        assert got(endpoint, method="HEAD") == (200, b"")
        assert got(endpoint, "/")[0] == 404
        assert got(endpoint, method="POST")[0] == 400
        status, packed = got(endpoint, headers={"Accept-Encoding": "gzip"})
        assert (status, gzip.decompress(packed)) == (200, PAGE)
        assert endpoint.answered == 4


def test_a_page_of_another_name_cannot_read_the_loopback_interface() -> None:
    with serving() as endpoint:
        for host in ("evil.example", f"evil.example:{endpoint.port}", "127.0.0.1.evil.example", "", "localhost.evil"):
            assert got(endpoint, headers={"Host": host})[0] == 421
        for host in ("localhost", f"localhost:{endpoint.port}", "[::1]", f"[::1]:{endpoint.port}"):
            assert got(endpoint, headers={"Host": host})[0] == 200


def test_a_token() -> None:
    with serving(token=TOKEN) as endpoint:
        assert got(endpoint, headers={"Host": "any.example", "Authorization": f"Bearer {TOKEN}"}) == (200, PAGE)
        for wrong in ("", "Bearer", f"Bearer {TOKEN}x", f"Basic {TOKEN}", f"Bearer {TOKEN[:-1]}", "Bearer \xff"):
            assert got(endpoint, headers={"Authorization": wrong})[0] == 401
        assert got(endpoint)[0] == 401


@pytest.mark.usefixtures("brief")
def test_slow_clients_are_cut_off_and_others_are_answered() -> None:
    with serving() as endpoint, ExitStack() as stack:
        slow = [connected(endpoint, stack) for _ in range(MOST_CONNECTIONS - 1)]
        began = time.monotonic()
        for client in slow:
            client.sendall(b"GET /metrics HTTP/1.1\r\n")
        assert got(endpoint) == (200, PAGE)
        while threads() > 1 and time.monotonic() - began < 10:
            for client in slow:
                try:
                    client.sendall(b"x")  # a byte at a time keeps the connection busy
                except OSError:
                    continue
            time.sleep(0.05)
        assert time.monotonic() - began < 8
        waited(lambda: threads() == 0, "all connections have ended")
        assert got(endpoint) == (200, PAGE)


@pytest.mark.usefixtures("brief")
def test_a_client_that_does_not_read_is_cut_off() -> None:
    with serving(os.urandom(32 << 20)) as endpoint, ExitStack() as stack:
        client = connected(endpoint, stack)
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        waited(lambda: threads() == 1, "the request is served")
        waited(lambda: threads() == 0, "the connection has ended")


@pytest.mark.usefixtures("brief")
def test_many_connections_take_no_more_threads_than_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    # A client waits a second for each connection that finds no room to wait.
    monkeypatch.setattr(server, "_ROOM_TO_WAIT", 10 * MOST_CONNECTIONS)
    with serving() as endpoint, ExitStack() as stack:
        counts: list[int] = []

        def all_have_ended() -> bool:
            counts.append(threads())
            return counts[-1] == 0

        for _ in range(2):
            for _ in range(10 * MOST_CONNECTIONS):
                connected(endpoint, stack)
                counts.append(threads())
            waited(all_have_ended, "all connections have ended")
        assert max(counts) <= MOST_CONNECTIONS

        def is_served() -> bool:
            try:
                return got(endpoint) == (200, PAGE)
            except ConnectionError:  # the server may still be accepting the earlier connections
                return False

        waited(is_served, "a scrape is answered")


def test_a_huge_request_is_refused() -> None:
    with serving() as endpoint, ExitStack() as stack:
        client = connected(endpoint, stack)
        client.sendall(b"GET /metrics HTTP/1.1\r\nX: " + b"x" * MOST_REQUEST_BYTES)
        with suppress(ConnectionResetError):  # the system may end the connection before the answer is read
            assert client.recv(100).startswith(b"HTTP/1.1 431 ")
        assert got(endpoint) == (200, PAGE)


def test_requests_by_chance() -> None:
    pieces = [b"GET ", b"HEAD", b"/metrics", b" HTTP/1.1", b"\r\n", b"\r\n\r\n", b"\0", b"\xff", b":", b"Host: ", b" "]
    with serving(token=TOKEN) as endpoint:
        for seed in range(300):
            chance = random.Random(seed)
            with ExitStack() as stack:
                client = connected(endpoint, stack)
                client.sendall(b"".join(chance.choices(pieces, k=chance.randrange(1, 30))) + b"\r\n\r\n")
                client.shutdown(socket.SHUT_WR)
                answer = b""
                while part := client.recv(4096):
                    answer += part
                assert not answer.startswith(b"HTTP/1.1 200")
        assert got(endpoint, headers={"Authorization": f"Bearer {TOKEN}"}) == (200, PAGE)


def test_a_page_that_fails_ends_only_its_connection(capfd: pytest.CaptureFixture[str]) -> None:
    def fails(accept: str) -> tuple[str, bytes]:
        raise RuntimeError("no page")

    endpoint = Server(ExpositionSettings("127.0.0.1", 0), fails)
    endpoint.start()
    for _ in range(2 * MOST_CONNECTIONS):
        assert got(endpoint)[0] == 500
    endpoint.close()
    assert capfd.readouterr().err == ""


class Parties(NamedTuple):
    """``other``: a client of an authority that the server does not know."""

    authority: Pair
    server: Pair
    client: Pair
    other: Pair

    @property
    def mutual(self) -> TlsFiles:
        return TlsFiles(self.server.certificate, self.server.key, self.authority.certificate)

    def context(self, client: Pair | None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.authority.certificate))
        if client is not None:
            context.load_cert_chain(client.certificate, client.key)
        return context


@pytest.fixture(scope="module")
def parties(tmp_path_factory: pytest.TempPathFactory) -> Parties:
    directory = tmp_path_factory.mktemp("certificates")
    one, another = authority(directory, "one"), authority(directory, "another")
    return Parties(
        one, signed(directory, "server", one), signed(directory, "client", one), signed(directory, "other", another)
    )


def test_a_client_certificate_of_the_authority_is_needed(parties: Parties) -> None:
    with serving(tls=parties.mutual) as endpoint:
        assert endpoint.address == f"https://127.0.0.1:{endpoint.port}/metrics"
        valid = parties.context(parties.client)
        assert got(endpoint, headers={"Host": "any.example"}, context=valid) == (200, PAGE)
        for wrong in (None, parties.other):
            with pytest.raises((ssl.SSLError, ConnectionError)):  # the error depends on the state of the handshake
                got(endpoint, context=parties.context(wrong))
        old = parties.context(parties.client)
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        assert got(endpoint, context=old) == (200, PAGE)
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            got(endpoint)  # without TLS
        assert endpoint.answered == 2
        waited(lambda: threads() == 0, "all connections have ended")


def test_no_handshake_resumes_another(parties: Parties) -> None:
    context = server_context(parties.mutual)
    assert context.num_tickets == 0
    assert context.options & ssl.OP_NO_TICKET
    assert context.options & ssl.OP_NO_RENEGOTIATION
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2


def test_a_token_is_needed_beside_the_certificate_where_both_are_given(parties: Parties) -> None:
    with serving(token=TOKEN, tls=parties.mutual) as endpoint:
        valid = parties.context(parties.client)
        assert got(endpoint, headers={"Authorization": f"Bearer {TOKEN}"}, context=valid) == (200, PAGE)
        assert got(endpoint, context=valid)[0] == 401


def test_tls_with_a_token_needs_no_client_certificate(parties: Parties) -> None:
    with serving(token=TOKEN, tls=parties.mutual._replace(client_authorities=None)) as endpoint:
        stranger = parties.context(None)
        assert got(endpoint, headers={"Authorization": f"Bearer {TOKEN}"}, context=stranger) == (200, PAGE)
        assert got(endpoint, context=stranger)[0] == 401


@pytest.mark.usefixtures("brief")
def test_silent_and_slow_handshakes_are_cut_off_and_others_are_answered(parties: Parties) -> None:
    with serving(tls=parties.mutual) as endpoint, ExitStack() as stack:
        silent, *slow = [connected(endpoint, stack) for _ in range(MOST_CONNECTIONS - 1)]
        began = time.monotonic()
        assert got(endpoint, context=parties.context(parties.client)) == (200, PAGE)
        assert time.monotonic() - began < 1
        while threads() > 0 and time.monotonic() - began < 10:
            for client in slow:
                with suppress(OSError):
                    client.sendall(b"\x16\x03\x01\x40\x00"[:1])  # the first byte of a TLS record
            time.sleep(0.05)
        assert time.monotonic() - began < 8
        assert silent.recv(1) == b""
        assert got(endpoint, context=parties.context(parties.client)) == (200, PAGE)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (("one.pem", "server.key", None), r"one\.pem with the key of .*: key values mismatch"),
        (("none.pem", "server.key", None), "no such file"),
        (("server.pem", None, None), "the certificate in "),
        (("server.pem", "locked.key", None), "the key needs a password"),
        (("server.pem", "server.key", "none.pem"), "the certificates in .*no such file"),
        (("server.pem", "server.key", "server.key"), "the certificates in "),
    ],
)
def test_files_that_cannot_be_used_are_named(
    parties: Parties, files: tuple[str, str | None, str | None], message: str
) -> None:
    directory = parties.server.key.parent
    command = f"openssl rsa -aes128 -passout pass:secret -in {parties.server.key} -out {directory}/locked.key"
    subprocess.run(command.split(), check=True, capture_output=True)
    certificate, *others = (None if name is None else directory / name for name in files)
    assert certificate is not None
    with pytest.raises(UsageError, match=message), serving(tls=TlsFiles(certificate, *others)):
        pass
