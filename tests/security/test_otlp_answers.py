"""A backend for OTLP that lies, floods and stalls: btpy keeps its memory, its time and its counts."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.metrics.v1.metrics_pb2 import ResourceMetrics
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from btpy.output.otlp.exporter import Cause, Exporter, Tally
from btpy.output.otlp.metrics import Metrics, Report
from btpy.output.otlp.settings import Endpoint, settings_of
from btpy.output.otlp.transport import Outcome, Repeatable, Transport
from tests.security.test_bombs import MIB, peak

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\n"
UNAVAILABLE = b"HTTP/1.1 503 Unavailable\r\nContent-Length: 0\r\nRetry-After: "
FLOOD_BYTES = 128 * MIB
TIMEOUT = {"OTEL_EXPORTER_OTLP_TIMEOUT": "500", "OTEL_BLRP_SCHEDULE_DELAY": "10"}


class Wired(Transport):
    """A transport whose connection is a given socket."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(endpoint("http://127.0.0.1"))
        self._connection = http.client.HTTPConnection("127.0.0.1")
        self._connection.sock = sock


def endpoint(url: str) -> Endpoint:
    logs = settings_of("otlp://", {"OTEL_EXPORTER_OTLP_ENDPOINT": url, **TIMEOUT}).logs
    assert logs is not None
    return logs


def answered(answer: bytes) -> Outcome:
    """The outcome of a request that gets this answer and then the end of the connection."""
    own_end, other_end = socket.socketpair()
    with own_end, other_end:
        other_end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, len(answer) + 4096)
        other_end.sendall(answer)
        other_end.shutdown(socket.SHUT_WR)
        return Wired(own_end).post(b"x")


@contextmanager
def server(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """A port at which every connection is served in its own thread."""

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=attend, args=(connection,), daemon=True).start()

    def attend(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            serve(connection)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def flooding(answer: bytes, piece: bytes) -> Callable[[socket.socket], None]:
    def serve(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(answer)
        for _ in range(FLOOD_BYTES // len(piece)):
            connection.sendall(piece)

    return serve


@pytest.mark.parametrize(
    ("answer", "piece"),
    [
        (HEAD + b"Content-Length: 999999999999\r\n\r\n", bytes(MIB)),
        (HEAD + b"Content-Length: -1\r\n\r\n", bytes(MIB)),
        (HEAD + b"\r\n", bytes(MIB)),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n", bytes(MIB)),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffffff\r\n", bytes(MIB)),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 10_000),
        (HEAD + b"Content-Encoding: gzip\r\n\r\n", bytes(MIB)),
        (b"HTTP/1.1 ", b"2" * MIB),
        (b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 100 Continue\r\nX: y\r\n\r\n" * 10_000),
        (HEAD, b"X: " + b"y" * 60_000 + b"\r\n"),
    ],
    ids=[
        *("long", "negative", "endless", "negative chunk", "long chunk", "short chunks", "gzip"),
        *("status", "continue", "headers"),
    ],
)
def test_an_answer_without_end_takes_no_memory(answer: bytes, piece: bytes) -> None:
    with server(flooding(answer, piece)) as port:
        transport = Transport(endpoint(f"http://127.0.0.1:{port}"))
        assert peak(lambda: transport.post(b"x")) < 32 * MIB
        transport.close()


@pytest.mark.parametrize(
    ("retry_after", "seconds"),
    [
        (b"7", 7.0),
        (b"0", 0.0),
        (b"-5", None),
        (b"9" * 400, 300.0),
        (b"9" * 5000, 300.0),
        (b"\xb2", None),
        (b"nan", None),
        (b"Mon, 01 Jan 0001 00:00:00 -0000", 0.0),
        (b"Fri, 31 Dec 9999 23:59:59 GMT", 300.0),
        (b"Mon, 01 Jan 2024 00:00:00 +99999999999999", None),
        (b"Mon, 99999999999999999999 Jan 2024 00:00:00 GMT", None),
    ],
)
def test_a_backend_cannot_ask_for_a_pause_that_ends_the_export(retry_after: bytes, seconds: float | None) -> None:
    assert answered(UNAVAILABLE + retry_after + b"\r\n\r\n") == Repeatable("503 Unavailable", seconds)


def test_a_redirection_is_not_followed() -> None:
    requests: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        requests.append(connection.recv(65536))
        connection.sendall(b"HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n" % port)

    with server(serve) as port:
        transport = Transport(endpoint(f"http://127.0.0.1:{port}"))
        outcome = transport.post(b"x")
        transport.close()
    assert "307" in outcome.reason  # type: ignore[union-attr]
    assert len(requests) == 1


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proxies would get the headers, which contain credentials."""
    requests: list[bytes] = []

    def refuse(connection: socket.socket) -> None:
        requests.append(connection.recv(65536))

    def serve(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(HEAD + b"Content-Length: 0\r\n\r\n")

    with server(refuse) as proxy, server(serve) as port:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy}")
        monkeypatch.delenv("no_proxy", raising=False)
        transport = Transport(endpoint(f"http://127.0.0.1:{port}"))
        transport.post(b"x")
        transport.close()
    assert not requests


def exported(port: int, *, scheme: str = "otlp", seconds: float = 0.3) -> tuple[Tally, float]:
    """The report of an export of 7 records and a metric, and the time of its end."""
    exporter = Exporter(settings_of(f"{scheme}://127.0.0.1:{port}", TIMEOUT))
    exporter.add(OneReport())
    exporter.start()
    for _ in range(7):
        exporter.log(Resource(), InstrumentationScope(), LogRecord(time_unix_nano=1))
    began = time.monotonic()
    return exporter.close(seconds), time.monotonic() - began


class OneReport(Metrics):
    def __init__(self) -> None:
        pass

    def report(self) -> Report:
        return Report(ResourceMetrics(), {}, 1, {})

    def delivered(self, report: Report) -> None:
        pass


def silent(connection: socket.socket) -> None:
    while connection.recv(65536):
        pass


def dripping_handshake(connection: socket.socket) -> None:
    """Begins a record of TLS and sends one byte of it from time to time."""
    connection.recv(65536)
    connection.sendall(b"\x16\x03\x03\x40\x00")
    while True:
        time.sleep(0.1)
        connection.sendall(b"\x02")


@pytest.mark.parametrize(
    ("serve", "scheme"),
    [(silent, "otlp"), (silent, "otlps"), (dripping_handshake, "otlps")],
    ids=["silent", "silent TLS", "slow TLS"],
)
def test_a_backend_that_stalls_holds_no_run_at_its_end(serve: Callable[[socket.socket], None], scheme: str) -> None:
    with server(serve) as port:
        tally, took = exported(port, scheme=scheme)
    assert took < 30
    assert (tally.log_records, tally.lost, tally.unsent_reports) == (0, {Cause.NOT_SENT: 7}, 1)


@pytest.fixture
def slow_names(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Makes look-ups of host names slow: no call can end a look-up early."""
    release = threading.Event()

    def look_up(*arguments: object, **options: object) -> list[object]:
        release.wait(60)
        raise socket.gaierror(socket.EAI_AGAIN, "no answer")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    yield
    release.set()


@pytest.mark.usefixtures("slow_names")
def test_a_name_server_that_does_not_answer_holds_no_run_at_its_end() -> None:
    tally, took = exported(4318)
    assert took < 30
    assert (tally.log_records, tally.lost, tally.unsent_reports) == (0, {Cause.NOT_SENT: 7}, 1)


def test_a_slow_handshake_does_not_use_up_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """The deadline passes while the connection is made, so no time is left for the answer. The client must not wait for
    the answer as long again.
    """
    with server(flooding(HEAD, b"X")) as port:
        connect = http.client.HTTPConnection.connect

        def slowly(connection: http.client.HTTPConnection) -> None:
            connect(connection)
            time.sleep(0.7)

        monkeypatch.setattr(http.client.HTTPConnection, "connect", slowly)
        outcome = Transport(endpoint(f"http://127.0.0.1:{port}")).post(b"x")
    assert outcome == Repeatable("no answer in time")


def trickling(beginning: bytes) -> Callable[[socket.socket], None]:
    def serve(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(beginning)
        while True:
            connection.sendall(b"7")
            time.sleep(0.05)

    return serve


@pytest.mark.parametrize("beginning", [HEAD + b"X: ", b"HTTP/1.0 200 OK\r\n\r\n"], ids=["header", "body"])
def test_an_answer_that_the_deadline_cuts_off_does_not_count(beginning: bytes) -> None:
    """The part that arrives in time looks like a whole answer. In HTTP 1.0, a body ends with the connection."""
    with server(trickling(beginning)) as port:
        began = time.monotonic()
        outcome = Transport(endpoint(f"http://127.0.0.1:{port}")).post(b"x")
    assert outcome == Repeatable("no answer in time")
    assert time.monotonic() - began < 30


def patient(port: int) -> Transport:
    return Transport(replace(endpoint(f"http://127.0.0.1:{port}"), timeout=60.0))


def test_an_abort_ends_the_request() -> None:
    with server(silent) as port:
        transport = patient(port)
        timer = threading.Timer(0.2, transport.abort)
        timer.start()
        start = time.monotonic()
        assert transport.post(b"x") == Repeatable("no answer in time")
        assert time.monotonic() - start < 30
        timer.join()
        assert transport.post(b"x") == Repeatable("btpy is ending")


def test_nothing_is_sent_after_an_abort_while_the_connection_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        requests.append(connection.recv(65536))
        connection.sendall(HEAD + b"Content-Length: 0\r\n\r\n")

    with server(serve) as port:
        transport = patient(port)
        connect = http.client.HTTPConnection.connect

        def aborted(connection: http.client.HTTPConnection) -> None:
            transport.abort()
            connect(connection)

        monkeypatch.setattr(http.client.HTTPConnection, "connect", aborted)
        assert transport.post(b"x") == Repeatable("no answer in time")
    assert requests in ([], [b""])  # the server may see the end of the connection


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_records_are_counted_when_a_sender_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the thread of a sender ends for any reason, its records are not reported as delivered."""

    def broken(transport: Transport, body: bytes) -> Outcome:
        raise SystemExit

    monkeypatch.setattr(Transport, "post", broken)
    tally, _ = exported(4318)
    assert (tally.lost, tally.unsent_reports) == ({Cause.NOT_SENT: 7}, 1)
    assert not tally.is_complete


def test_tls_checks_the_name_and_the_authority() -> None:
    context = Transport(endpoint("https://127.0.0.1"))._tls
    assert context is not None
    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
