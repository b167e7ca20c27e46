"""Servers that tests build with Go, and run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.live.scripts import waited
from tests.targets import Target


@contextmanager
def go_server(name: str, program: Path | None, arguments: Sequence[str], ready: str) -> Iterator[Target]:
    """Runs the program until the block ends. A line of stderr with the text ``ready`` says that it is up. Skips the
    test if ``program`` is None, because the program is not built.
    """
    if program is None:
        pytest.skip(f"{name} is built with Go, which is not installed")
    jvm = Target([str(program), *arguments])
    try:
        waited(lambda: any(ready in line for line in jvm.stderr), f"{name} that is ready")
        yield jvm
    finally:
        jvm.stop()
