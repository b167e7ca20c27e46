"""A stand-in for the API server of Kubernetes, which checks the requests that it gets."""

from __future__ import annotations

import contextlib
import json
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

NODE = "node-1"


@dataclass
class FakeApiServer:
    """``pods``: the metadata of each pod. ``status``, ``body``: if set, they replace the normal answer.
    ``trickled``: the beginning of an answer that continues with a byte now and then, without an end. ``missing``:
    the number of bytes that an answer lacks. ``faults``: the wrong parts of requests. ``account``: the directory of the
    service account."""

    account: Path
    port: int = 0
    pods: list[dict[str, Any]] = field(default_factory=list)
    status: int = 200
    body: bytes | None = None
    trickled: bytes | None = None
    missing: int = 0
    version: str = "4711"
    versions: list[str] = field(default_factory=list)  # the versions in the requests
    faults: list[str] = field(default_factory=list)

    @property
    def environ(self) -> dict[str, str]:
        return {
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(self.port),
            "BTPY_NODE": NODE,
        }

    def rotate(self, token: str) -> None:
        """Replaces the token in the same way as kubelet."""
        new = self.account / "new"
        new.write_text(token)
        new.rename(self.account / "token")

    def add(self, uid: str, namespace: str = "prod", **fields: Any) -> dict[str, Any]:
        self.pods.append({"uid": uid, "namespace": namespace, **fields})
        return self.pods[-1]

    def answer(self, path: str, headers: Any) -> tuple[int, bytes]:
        url = urlsplit(path)
        query = parse_qs(url.query)
        self.versions += query.pop("resourceVersion", ["none"])
        match = query.pop("resourceVersionMatch", [])
        faulty = {
            "path": url.path != "/api/v1/pods",
            "query": query != {"fieldSelector": [f"spec.nodeName={NODE}"]},
            "version": match != ([] if self.versions[-1] == "0" else ["NotOlderThan"]),
            "token": headers["Authorization"] != f"Bearer {(self.account / 'token').read_text()}",
            "form": headers["Accept"] != "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
        }
        self.faults += [f"{name}: {path}" for name, is_fault in faulty.items() if is_fault]
        items = [{"metadata": pod} for pod in self.pods]
        answer_body = {
            "kind": "PartialObjectMetadataList",
            "metadata": {"resourceVersion": self.version},
            "items": items,
        }
        return self.status, json.dumps(answer_body).encode() if self.body is None else self.body


@contextmanager
def fake_api_server(directory: Path) -> Iterator[FakeApiServer]:
    account = directory / "serviceaccount"
    account.mkdir()
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=kubernetes"
        f" -addext subjectAltName=IP:127.0.0.1 -keyout {directory}/key.pem -out {account}/ca.crt"
    )
    subprocess.run(command.split(), check=True, capture_output=True)
    api_server = FakeApiServer(account)
    api_server.rotate("first-token")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = api_server.answer(self.path, self.headers)
            if api_server.trickled is not None:
                self.wfile.write(api_server.trickled)
                while True:
                    self.wfile.write(b"7")
                    time.sleep(0.05)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body) + api_server.missing))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(account / "ca.crt", directory / "key.pem")

    class Server(ThreadingHTTPServer):
        def finish_request(self, request: Any, client_address: Any) -> None:
            with contextlib.suppress(OSError), context.wrap_socket(request, server_side=True) as secured:
                Handler(secured, client_address, self)  # a client may give up

    server = Server(("127.0.0.1", 0), Handler)
    api_server.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield api_server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert api_server.faults == []
