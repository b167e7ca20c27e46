"""A small HTTP server for scrapes, which no client can keep busy.

A client may be slow, send a request without an end, or open many connections. So each connection has a deadline, each
request has a maximum size, and the server has a maximum number of connections. Each connection gets one answer. A web
page in the user's browser may try to reach the loopback interface under a name of its own (DNS rebinding): without a
token and client certificates, the header ``Host`` has to name the loopback interface. The thread of a connection makes
its TLS handshake, within the same deadline.
"""

from __future__ import annotations

import gzip
import hmac
import re
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING

from btpy.errors import UsageError
from btpy.output.prometheus.settings import ExpositionSettings

if TYPE_CHECKING:
    import ssl

MOST_CONNECTIONS = 16
CONNECTION_SECONDS = 10.0
"""Seconds for a connection, from its beginning to the last byte of the answer."""

MOST_REQUEST_BYTES = 8192
_ROOM_TO_WAIT = 16  # connections that the system keeps until they are accepted
_LEAST_COMPRESSED = 1024
_REQUEST = re.compile(rb"(GET|HEAD) (/[^ \r\n]*) HTTP/1\.[01]")
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")
_TEXT = "text/plain; charset=utf-8"
_PATH = "/metrics"

Page = Callable[[str], tuple[str, bytes]]
"""Content type and text for a header ``Accept``."""


class Server:
    """``page``: makes the answer. ``answered``: the number of scrapes that got a page. ``port``: the port on which it
    listens. ``failure``: the error of the last page that could not be made."""

    def __init__(self, settings: ExpositionSettings, page: Page) -> None:
        """Listens. Raises UsageError for an address on which this process cannot listen, and for certificates that
        cannot be used."""
        self.answered = 0
        self.failure = ""
        self._settings = settings
        self._page = page
        self._slots = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._has_closed = False
        self._lock = threading.Lock()
        self._tls = _context(settings)
        self._socket = _listening(settings.host, settings.port)
        self.port = int(self._socket.getsockname()[1])
        self._thread = threading.Thread(target=self._accept, name="btpy-prometheus", daemon=True)

    @property
    def address(self) -> str:
        host = self._settings.host
        scheme = "http" if self._tls is None else "https"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}{_PATH}"

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Ends at once. Connections that are open are served to their end, within their deadline."""
        self._has_closed = True
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # ends accept()
        self._socket.close()
        if self._thread.ident is not None:
            self._thread.join(1.0)

    def _accept(self) -> None:
        while not self._has_closed:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                if not self._has_closed:
                    time.sleep(0.1)  # no descriptor is left: a connection will end
                continue
            if not self._slots.acquire(blocking=False):
                connection.close()
                continue
            thread = threading.Thread(target=self._serve, args=(connection,), name="btpy-scrape", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system has no more threads
                self._slots.release()
                connection.close()

    def _serve(self, connection: socket.socket) -> None:
        deadline = time.monotonic() + CONNECTION_SECONDS
        try:
            with connection, self._secured(connection, deadline) as channel:
                request = _received(channel, deadline)
                if request is not None:
                    _send(channel, self._answer(request), deadline)
                    channel.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the client has gone, its time is up, or it has no valid certificate
        finally:
            self._slots.release()

    def _secured(self, connection: socket.socket, deadline: float) -> socket.socket:
        """The connection after its TLS handshake, or the same connection without TLS. Raises OSError for a client
        without a valid certificate."""
        if self._tls is None:
            return connection
        channel = self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        try:
            channel.settimeout(_remaining(deadline))  # applies to the whole handshake, not to each read
            channel.do_handshake()
        except OSError:
            channel.close()
            raise
        return channel

    def _answer(self, request: bytes) -> bytes:
        first, *lines = request.split(b"\r\n")
        line = _REQUEST.fullmatch(first)
        if line is None:
            return _response(400, "this is a server for GET /metrics\n")
        headers = {
            name.strip().lower(): value.strip()
            for name, colon, value in (text.decode("latin-1").partition(":") for text in lines)
            if colon
        }
        if line[2].partition(b"?")[0].decode("latin-1") != _PATH:
            return _response(404, f"the metrics are at {_PATH}\n")
        refusal = self._refusal(headers)
        if refusal is not None:
            return refusal
        try:
            content_type, text = self._page(headers.get("accept", ""))
        except Exception as error:
            self.failure = f"{type(error).__name__}: {error}"
            return _response(500, "the metrics cannot be shown\n")
        encoding: tuple[tuple[str, str], ...] = ()
        if "gzip" in headers.get("accept-encoding", "") and len(text) >= _LEAST_COMPRESSED:
            text, encoding = gzip.compress(text, 1), (("Content-Encoding", "gzip"),)
        with self._lock:
            self.answered += 1
        return _response(200, text, content_type, encoding, head=line[1] == b"HEAD")

    def _refusal(self, headers: dict[str, str]) -> bytes | None:
        """The answer to a client that is not allowed to read; None: it may."""
        token = self._settings.token
        if token is None:
            if self._settings.has_client_certificates:
                return None  # the handshake has proven the certificate
            host = headers.get("host", "")
            name = host if host.endswith("]") else host.rpartition(":")[0] or host
            return None if name in _LOCAL_HOSTS else _response(421, "the host has to be localhost\n")
        scheme, _, given = headers.get("authorization", "").partition(" ")
        given = given.strip()
        if scheme.lower() == "bearer" and hmac.compare_digest(given.encode("latin-1"), token.encode("ascii")):
            return None
        return _response(401, "a token is needed\n", extra=(("WWW-Authenticate", "Bearer"),))


def _context(settings: ExpositionSettings) -> ssl.SSLContext | None:
    """None: plain HTTP. Raises UsageError."""
    if settings.tls is None:
        return None
    from btpy.output.prometheus.tls import server_context

    return server_context(settings.tls)


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_ROOM_TO_WAIT)
    except OSError as cause:
        listener.close()
        raise UsageError(
            f"cannot listen on {host}:{port}: {(cause.strerror or str(cause)).lower()}",
            help=["--prometheus 0 takes a free port, and shows its number"],
        ) from cause
    return listener


def _received(connection: socket.socket, deadline: float) -> bytes | None:
    """The request up to the blank line. None: the client has sent none, or too much."""
    request = b""
    while b"\r\n\r\n" not in request:
        connection.settimeout(_remaining(deadline))
        part = connection.recv(MOST_REQUEST_BYTES)
        request += part
        if not part:
            return None
        if len(request) > MOST_REQUEST_BYTES:
            _send(connection, _response(431, "the request is too long\n"), deadline)
            return None
    return request.partition(b"\r\n\r\n")[0]


def _send(connection: socket.socket, answer: bytes, deadline: float) -> None:
    rest = memoryview(answer)
    while rest:
        connection.settimeout(_remaining(deadline))
        rest = rest[connection.send(rest) :]


def _remaining(deadline: float) -> float:
    """Raises TimeoutError when the time is up."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def _response(
    status: int,
    body: str | bytes,
    content_type: str = _TEXT,
    extra: tuple[tuple[str, str], ...] = (),
    *,
    head: bool = False,
) -> bytes:
    content = body.encode() if isinstance(body, str) else body
    headers = (
        ("Content-Type", content_type),
        ("Content-Length", str(len(content))),
        ("Connection", "close"),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
        *extra,
    )
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{name}: {value}" for name, value in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + (b"" if head else content)
