"""The agent writes and reads strings exactly as the client does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from btpy.wire import codec
from btpy.wire.messages import Done
from tests.jdks import all_jdks, compiled, java

AGENT = Path(__file__).parents[2] / "agent-java/src/main/java/btpy/agent"
LONG = "wiremock.org.eclipse.jetty.server.handler." * 25
TEXTS = [
    *("", "a", "com.acme.Shop", "\x7f", "\x80", "é", "naïve?", "?", "\0", "\ufffd", "a\ufffd?", "ÿ" * 61, "漢字", "🛒"),
    *("\ud800", "a\udc00b", "?\ud800", "\udc00\ud800", LONG, LONG + "é", LONG + "\ud800", LONG + "🛒", "x" * 1024),
]


def units(text: str) -> str:
    return text.encode("utf-16-be", "surrogatepass").hex()


def content(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@pytest.fixture(scope="module")
def classes() -> Path:
    sources = [AGENT / f"{name}.java" for name in ("Frame", "Payload", "ProtocolException")]
    return compiled([*sources, Path(__file__).parent / "java" / "Strings.java"], release=8)


def answers(jdk: int, classes: Path, lines: list[str]) -> list[str]:
    command = [str(java(jdk)), "-cp", str(classes), "btpy.agent.Strings"]
    done = subprocess.run(command, input="\n".join(lines), check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


@all_jdks
def test_both_ways(jdk: int, classes: Path) -> None:
    written = answers(jdk, classes, [f"chars ={units(text)}" for text in TEXTS])
    assert written == [f"={codec.encode(Done(1, text))[9:].hex()}" for text in TEXTS]
    read = answers(jdk, classes, [f"bytes ={content(text).hex()}" for text in TEXTS])
    assert read == [f"={units(text)}" for text in TEXTS]


@pytest.mark.parametrize("malformed", [b"\xff", b"\x80", b"a\xc3", b"\xe0\x80", b"\xf8\x88\x80\x80\x80", b"a\xbfb"])
def test_other_bytes_are_refused(classes: Path, malformed: bytes) -> None:
    assert answers(17, classes, [f"bytes ={malformed.hex()}"]) == ["refused"]
