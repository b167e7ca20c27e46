"""A backend for OTLP in this process: stores the requests, and answers as a test wants."""

from __future__ import annotations

import contextlib
import gzip
import socket
import ssl
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Answer(NamedTuple):
    """``drip``: seconds between two bytes of the answer. ``keeps``: whether the backend stores the request.
    ``rejects``: log records that it does not store; the body of the answer says so.
    """

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    drip: float = 0.0
    keeps: bool = True
    rejects: int = 0

    @staticmethod
    def partial(rejects: int, reason: str) -> Answer:
        """A partial success."""
        response = ExportLogsServiceResponse()
        response.partial_success.rejected_log_records = rejects
        response.partial_success.error_message = reason
        return Answer(200, response.SerializeToString(), rejects=rejects)


class Backend:
    """``answers``: the answers for the next requests; later requests are delivered. ``requests``: the path and the
    headers of each request. ``port``: 0 for any free port."""

    def __init__(self, tls: ssl.SSLContext | None = None, port: int = 0) -> None:
        self.answers: deque[Answer] = deque()
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.logs: list[tuple[Resource, LogRecord]] = []
        self.spans: list[tuple[Resource, Span]] = []
        self.reports: list[tuple[Resource, Metric]] = []
        self.lock = threading.Lock()
        self._closed = False
        backend = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                backend.take(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"otlp://127.0.0.1:{self.port}"

    def take(self, handler: BaseHTTPRequestHandler) -> None:
        if self._closed:  # the server no longer listens, but a connection outlives it
            handler.connection.shutdown(socket.SHUT_RDWR)
            return
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        if handler.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        with self.lock:
            self.requests.append((handler.path, dict(handler.headers.items())))
            answer = self.answers.popleft() if self.answers else Answer()
            if answer.status == 200 and answer.keeps:
                self.keep(handler.path, body, answer)
        handler.send_response(answer.status)
        handler.send_header("Content-Type", "application/x-protobuf")
        handler.send_header("Content-Length", str(len(answer.body)))
        for name, value in answer.headers:
            handler.send_header(name, value)
        handler.end_headers()
        with contextlib.suppress(OSError):  # the client may give up
            for byte in answer.body:
                handler.wfile.write(bytes([byte]))
                time.sleep(answer.drip)

    def close(self) -> None:
        self._closed = True
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def keep(self, path: str, body: bytes, answer: Answer) -> None:
        """Stores a request."""
        if path.endswith("/v1/logs"):
            self.logs += [
                (logs.resource, record)
                for logs in ExportLogsServiceRequest.FromString(body).resource_logs
                for scope in logs.scope_logs
                for record in scope.log_records
            ][answer.rejects :]
        elif path.endswith("/v1/traces"):
            for spans in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.spans += [(spans.resource, span) for scope in spans.scope_spans for span in scope.spans]
        else:
            for metrics in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                self.reports += [
                    (metrics.resource, metric) for scope in metrics.scope_metrics for metric in scope.metrics
                ]

    def last(self, name: str) -> Metric:
        """The metric in the last report that has it."""
        return [metric for _, metric in self.reports if metric.name == name][-1]

    def summed(self, name: str) -> Counter[tuple[tuple[str, object], ...]]:
        """The sum of all reports by attributes, as a backend adds up deltas."""
        counts: Counter[tuple[tuple[str, object], ...]] = Counter()
        for _, metric in self.reports:
            if metric.name == name:
                for number in metric.sum.data_points:
                    counts[tuple(attributes(list(number.attributes)).items())] += number.as_int
                for histogram in metric.histogram.data_points:
                    counts[tuple(attributes(list(histogram.attributes)).items())] += histogram.count
                for exponential in metric.exponential_histogram.data_points:
                    counts[tuple(attributes(list(exponential.attributes)).items())] += exponential.count
        return counts


def attributes(pairs: list[KeyValue]) -> dict[str, object]:
    return {pair.key: plain(pair.value) for pair in pairs}


def plain(value: AnyValue) -> object:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [plain(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return attributes(list(value.kvlist_value.values))
    return getattr(value, kind) if kind else None


@contextmanager
def backend(tls: ssl.SSLContext | None = None, port: int = 0) -> Iterator[Backend]:
    program = Backend(tls, port)
    try:
        yield program
    finally:
        program.close()
