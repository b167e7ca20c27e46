"""The clients of a service, and another service that it asks. They run in the process of the test, so that btpy sees
only the service.
"""

from __future__ import annotations

import contextlib
import http.client
import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_DELAYS = {"slow": 0.7, "reserve": 0.03}
"""Seconds until an answer, by the first part of the path."""
_DELAY = 0.002


class _Answering(BaseHTTPRequestHandler):
    """Answers at once; late (``/slow``, ``/reserve``); or with 503 in two of three cases (``/unsteady``)."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # sends an answer in one packet, because a second packet would wait for an acknowledgement
    disable_nagle_algorithm = True
    numbers = itertools.count()

    def do_GET(self) -> None:
        kind = self.path.split("/")[1]
        time.sleep(_DELAYS.get(kind, _DELAY))
        self.send_response(503 if kind == "unsteady" and next(self.numbers) % 3 else 200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"13")

    def log_message(self, format: str, *args: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """The service has ended during a request."""


@contextmanager
def downstream() -> Iterator[int]:
    """Another service. Its port."""
    with _Server(("127.0.0.1", 0), _Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()


@contextmanager
def load(port: int, path: str, *, clients: int = 8, pause: float = 0.04) -> Iterator[None]:
    """Clients that send requests until the block ends. ``path``: ``{}`` in the path stands for the number of the
    request. ``pause``: seconds between two requests of a client.
    """
    end = threading.Event()

    def send(first: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for number in itertools.count(first, clients):
            if end.wait(pause):
                break
            with contextlib.suppress(OSError, http.client.HTTPException):  # the next request connects again
                connection.request("GET", path.format(number))
                connection.getresponse().read()
        connection.close()

    threads = [threading.Thread(target=send, args=(number,), daemon=True) for number in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        end.set()
        for thread in threads:
            thread.join(2)
