"""Proxies before a backend for OTLP: one answers some requests itself, the other is slow."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from tests.output.otlp.backend import Answer, Backend
from tests.targets import PATIENCE

_BYTE_SECONDS = 1.0  # seconds between two bytes


class Forwarder(Backend):
    """Passes on the requests that a :class:`Backend` would store, without the log records that it rejects."""

    def __init__(self, onward: int) -> None:
        """``onward``: the port of the backend."""
        self._onward = onward
        super().__init__()

    def keep(self, path: str, body: bytes, answer: Answer) -> None:
        if answer.rejects:
            body = _without(answer.rejects, body)
        with closing(http.client.HTTPConnection("127.0.0.1", self._onward, timeout=PATIENCE)) as connection:
            connection.request("POST", path, body, {"Content-Type": "application/x-protobuf"})
            assert connection.getresponse().status == 200


def _without(count: int, body: bytes) -> bytes:
    """The request for log records without the first of them."""
    request = ExportLogsServiceRequest.FromString(body)
    for logs in request.resource_logs:
        for scope in logs.scope_logs:
            removed = min(count, len(scope.log_records))
            del scope.log_records[:removed]
            count -= removed
    assert not count
    return request.SerializeToString()


class SlowProxy:
    """Passes on one byte a second of each connection in one direction, until :meth:`hurry`."""

    def __init__(self, onward: int, *, answers: bool) -> None:
        """``onward``: the port of the backend. ``answers``: the answers are slow; else the requests."""
        self._onward = onward
        self._answers = answers
        self._hurried = threading.Event()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def hurry(self) -> None:
        self._hurried.set()

    def close(self) -> None:
        self.hurry()
        self._server.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        for end in self._sockets:
            with contextlib.suppress(OSError):  # the other end has closed the connection
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for end in (self._server, *self._sockets):
            end.close()

    def _start(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # the proxy is closed
            while True:
                client, _ = self._server.accept()
                backend = socket.create_connection(("127.0.0.1", self._onward))
                self._sockets += client, backend
                self._start(self._pass, client, backend, not self._answers)
                self._start(self._pass, backend, client, self._answers)

    def _pass(self, source: socket.socket, sink: socket.socket, slow: bool) -> None:
        with contextlib.suppress(OSError):  # a client may give up
            while data := source.recv(1 if slow and not self._hurried.is_set() else 1 << 16):
                sink.sendall(data)
                if slow:
                    self._hurried.wait(_BYTE_SECONDS)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)


@contextmanager
def forwarder(onward: int) -> Iterator[Forwarder]:
    proxy = Forwarder(onward)
    try:
        yield proxy
    finally:
        proxy.close()


@contextmanager
def slow_proxy(onward: int, *, answers: bool) -> Iterator[SlowProxy]:
    proxy = SlowProxy(onward, answers=answers)
    try:
        yield proxy
    finally:
        proxy.close()
