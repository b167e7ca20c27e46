"""Messages that no editor sends: the language server answers with an error and goes on."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.editor import Editor, editor

METHODS = (
    *("textDocument/didOpen", "textDocument/didChange", "textDocument/didClose", "textDocument/didSave"),
    *("textDocument/completion", "textDocument/hover", "textDocument/codeAction", "textDocument/formatting"),
    *("textDocument/documentSymbol", "textDocument/definition", "workspace/didChangeConfiguration", "$/cancelRequest"),
    *("workspace/executeCommand", "no/such/method", "initialize", "initialized", ""),
)
SCRIPT = 'Counted::step @return when duration > 1ms { @by[arg0] = hist(duration); print(f"{cls} {retval}") }\n'
WRONG = "Counted::step { @n = coun() }"
MOST_GROWTH = 128 << 20
"""Bytes of memory that thousands of small messages may take."""


class Messages:
    """Random messages from the parts of real messages."""

    def __init__(self, seed: int, path: Path) -> None:
        self._random = random.Random(seed)
        self._names: tuple[str, ...] = (
            "textDocument",
            "uri",
            "version",
            "position",
            "line",
            "character",
            "contentChanges",
            "text",
            "range",
        )
        self._names += ("start", "end", "context", "diagnostics", "command", "arguments", "languageId", "options", "id")
        self._uri = path.as_uri()

    def message(self) -> dict[str, Any]:
        method = self._random.choice(METHODS)
        message: dict[str, Any] = {"method": method}
        if self._random.random() < 0.6:
            message["id"] = self._random.choice((self._random.randrange(1 << 40), "text", None, -1))
        if self._random.random() < 0.95:
            message["params"] = self._likely() if self._random.random() < 0.7 else self._value(0)
        return message

    def _likely(self) -> dict[str, Any]:
        """Parameters of the right shape, one of them replaced by a random value."""
        place = {"line": self._number(), "character": self._number()}
        params: dict[str, Any] = {
            "textDocument": {"uri": self._uri, "languageId": "btpy", "version": self._number(), "text": self._text()},
            "position": place,
            "range": {"start": place, "end": {"line": self._number(), "character": self._number()}},
            "contentChanges": [{"text": self._text()}, {"range": {"start": place, "end": place}, "text": self._text()}],
            "context": {"diagnostics": []},
            "options": {"tabSize": self._number(), "insertSpaces": True},
        }
        params[self._random.choice(list(params))] = self._value(0)
        return params

    def _value(self, depth: int) -> Any:
        kind = self._random.randrange(7 if depth < 4 else 5)
        if kind == 5:
            return [self._value(depth + 1) for _ in range(self._random.randrange(4))]
        if kind == 6:
            return {self._random.choice(self._names): self._value(depth + 1) for _ in range(self._random.randrange(5))}
        return (None, True, self._number(), self._text(), self._random.choice(("file:///etc/passwd", "x:", "%00", "")))[
            kind
        ]

    def _number(self) -> Any:
        return self._random.choice((0, 1, 7, -1, 1 << 31, 1 << 64, -(1 << 70), 1.5, self._random.randrange(90)))

    def _text(self) -> str:
        start = self._random.randrange(len(SCRIPT))
        return SCRIPT[start : start + self._random.randrange(60)] + self._random.choice(("", "\ud7ff\0\x1b", "{" * 300))


def memory(client: Editor) -> int:
    """Bytes of memory that the server has now."""
    pages = Path(f"/proc/{client.process.pid}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * 4096


def survives(seed: int, count: int, path: Path) -> None:
    messages = Messages(seed, path)
    with editor() as client:
        client.open(path, SCRIPT)
        before = memory(client)
        for _ in range(count):
            client.send(messages.message())
        other = path.with_name("other.bt")
        (diagnostic,) = client.open(other, WRONG)
        assert diagnostic["code"] == "BT101"
        assert memory(client) - before < MOST_GROWTH


def test_messages_that_make_no_sense(tmp_path: Path) -> None:
    survives(7, 500, tmp_path / "script.bt")


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(10))
def test_many_messages_that_make_no_sense(seed: int, tmp_path: Path) -> None:
    survives(seed, 5_000, tmp_path / "script.bt")


@pytest.mark.parametrize(
    "data",
    [
        b"Content-Length: 5\r\n\r\n{{{{{",
        b"Content-Length: 2\r\n\r\n[]",
        b"Content-Length: 4\r\n\r\nnull",
        b'Content-Length: 19\r\n\r\n{"jsonrpc": "\xff\xfe.0"}',
        b"Content-Length: 100000\r\n\r\n" + b"[" * 100_000,
        b"no header at all\r\n\r\n",
    ],
)
def test_bytes_that_are_no_message(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "script.bt"
    with editor() as client:
        assert client.process.stdin is not None
        client.process.stdin.write(data)
        client.process.stdin.flush()
        (diagnostic,) = client.open(path, WRONG)
        assert diagnostic["code"] == "BT101"
