"""A simulated editor for ``btpy lsp``: it speaks the protocol over the pipes of a process."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from tests.targets import PATIENCE

Json = dict[str, Any]


class Editor:
    """``said``: the server's messages to the user (window/showMessage)."""

    def __init__(self, *arguments: str, encodings: tuple[str, ...] = ()) -> None:
        command = [sys.executable, "-m", "btpy", "lsp", *arguments]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.said: list[str] = []
        self._numbers = 0
        self._versions: dict[str, int] = {}
        self._answers: queue.Queue[Json] = queue.Queue()
        self._published: queue.Queue[Json] = queue.Queue()
        self._read_all = threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True)
        self._read_all.start()
        threading.Thread(target=self._log, args=(self.process.stderr,), daemon=True).start()
        general = {"positionEncodings": list(encodings)} if encodings else {}
        self.capabilities: Json = self.ask(
            "initialize", processId=None, rootUri=None, capabilities={"general": general}
        )["capabilities"]
        self.tell("initialized")

    def ask(self, method: str, **params: Any) -> Any:
        """Sends a request and returns the answer."""
        self._numbers += 1
        self.send({"id": self._numbers, "method": method, **({"params": params} if params else {})})
        answer = self._answers.get(timeout=20)
        assert answer["id"] == self._numbers
        assert "error" not in answer, answer
        return answer["result"]

    def tell(self, method: str, **params: Any) -> None:
        self.send({"method": method, "params": params})

    def open(self, path: Path, text: str) -> list[Json]:
        """Opens the document; returns its diagnostics."""
        self._versions[path.as_uri()] = 1
        document = {"uri": path.as_uri(), "languageId": "btpy", "version": 1, "text": text}
        self.tell("textDocument/didOpen", textDocument=document)
        return self.diagnostics(path)

    def change(self, path: Path, text: str) -> list[Json]:
        """Replaces the whole document; returns its diagnostics."""
        self._versions[path.as_uri()] += 1
        document = {"uri": path.as_uri(), "version": self._versions[path.as_uri()]}
        self.tell("textDocument/didChange", textDocument=document, contentChanges=[{"text": text}])
        return self.diagnostics(path)

    def diagnostics(self, path: Path) -> list[Json]:
        """Waits for the diagnostics of the open version."""
        while True:
            published = self._published.get(timeout=20)
            if (published["uri"], published.get("version")) == (path.as_uri(), self._versions[path.as_uri()]):
                result: list[Json] = published["diagnostics"]
                return result

    def at(self, method: str, path: Path, line: int, character: int) -> Any:
        place = {"line": line, "character": character}
        return self.ask(f"textDocument/{method}", textDocument={"uri": path.as_uri()}, position=place)

    def close(self) -> int:
        """The exit status."""
        assert self.ask("shutdown") is None
        self.tell("exit")
        status = self.process.wait(PATIENCE)
        self._read_all.join(PATIENCE)
        return status

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()

    def send(self, message: Json) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    @staticmethod
    def _log(stream: IO[bytes]) -> None:
        """Reads the server's log; otherwise the pipe would become full and the server would wait."""
        with contextlib.suppress(ValueError):  # kill() closes it
            while stream.read1(1 << 16):  # type: ignore[attr-defined]
                pass

    def _read(self, stream: IO[bytes]) -> None:
        while True:
            length = 0
            while (line := stream.readline()) not in (b"\r\n", b""):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            if not length:
                return
            message = json.loads(stream.read(length))
            if "method" not in message:
                self._answers.put(message)
            elif message["method"] == "textDocument/publishDiagnostics":
                self._published.put(message["params"])
            elif message["method"] == "window/showMessage":
                self.said.append(message["params"]["message"])


@contextmanager
def editor(*arguments: str, encodings: tuple[str, ...] = ()) -> Iterator[Editor]:
    client = Editor(*arguments, encodings=encodings)
    try:
        yield client
    finally:
        client.kill()


def applied(text: str, edits: list[Json]) -> str:
    """The text after edits that do not overlap; positions in code units of UTF-16."""
    lines = text.splitlines(keepends=True)
    units = text.encode("utf-16-le")

    def offset(place: Json) -> int:
        before = "".join(lines[: place["line"]])
        return len(before.encode("utf-16-le")) + 2 * int(place["character"])

    for edit in sorted(edits, key=lambda edit_: offset(edit_["range"]["start"]), reverse=True):
        start, end = offset(edit["range"]["start"]), offset(edit["range"]["end"])
        units = units[:start] + edit["newText"].encode("utf-16-le") + units[end:]
    return units.decode("utf-16-le")
