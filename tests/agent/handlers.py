"""Handler classes for tests, compiled from Java against the run-time and named by the hash of their content."""

from __future__ import annotations

import hashlib
from pathlib import Path

from btpy.wire.messages import HandlerClass
from tests.jdks import OF_THE_AGENT, compiled

_ZEROS = b"0" * 40
_SOURCES = Path(__file__).parents[2] / "agent-java" / "src" / "main" / "java"


def handler(directory: Path, body: str, inputs: str = "") -> HandlerClass:
    """A handler whose ``public static void fire(int site, inputs)`` has the given body."""
    source = directory / f"Handler_{_ZEROS.decode()}.java"
    source.write_text(
        f"package btpy.handlers;\nimport btpy.runtime.*;\npublic final class {source.stem} {{\n"
        f"    public static void fire(int site{inputs}) {{\n{body}\n    }}\n}}\n"
    )
    flags = ["-g:none", *OF_THE_AGENT, "-implicit:none", "-sourcepath", str(_SOURCES)]
    classes = compiled([source], release=None, flags=flags, uses=_SOURCES.glob("btpy/runtime/*.java"))
    return named(classes.joinpath("btpy", "handlers", f"{source.stem}.class").read_bytes())


def named(zeroed: bytes) -> HandlerClass:
    """The class file in which the hash has replaced the zeros."""
    digits = hashlib.sha1(zeroed).hexdigest().encode()
    return HandlerClass(f"btpy.handlers.Handler_{digits.decode()}", zeroed.replace(_ZEROS, digits))


def unnamed(handler_class: HandlerClass) -> bytes:
    return handler_class.data.replace(handler_class.name[-40:].encode(), _ZEROS)
