"""Scripts and the program that session tests run them on."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from btpy.engine.instrumentation import Instrumentation
from btpy.engine.session import Session
from btpy.events.items import Records
from btpy.lang.check.checker import check_source
from btpy.lang.program import Program
from btpy.model.source import Source
from btpy.wire.messages import ClassBytes, Woven
from tests.jdks import compiled
from tests.targets import PATIENCE, Target, target

JAVA = Path(__file__).parents[1] / "java"


def program(text: str) -> Program:
    return check_source(Source("test.bt", text))


def counted_classes(jdk: int = 11) -> Path:
    """Runs the test on this version of Java and later."""
    return compiled([JAVA / "Counted.java"], release=min(jdk, 11))


@contextmanager
def counted(jdk: int, *flags: str, prefix: Sequence[str] = ()) -> Iterator[Target]:
    """The running program Counted. ``prefix``: the beginning of the command line, to run it as another user or
    elsewhere."""
    with target(jdk, "Counted", classpath=[counted_classes(jdk)], flags=flags, prefix=prefix) as jvm:
        yield jvm


def values_until(
    session: Session, enough: Callable[[list[tuple[int, tuple[object, ...]]]], bool]
) -> list[tuple[int, tuple[object, ...]]]:
    """(probe, values) of the records that arrive, until ``enough`` is true for them; fails if this takes too long."""
    results: list[tuple[int, tuple[object, ...]]] = []
    deadline = time.monotonic() + PATIENCE
    while not enough(results):
        assert time.monotonic() < deadline, f"only {results}"
        results += drained(session, 0.05)
    return results


def drained(session: Session, timeout: float | None) -> list[tuple[int, tuple[object, ...]]]:
    """(probe, values) of the records that arrive within ``timeout`` seconds; ``timeout``: None means up to the end of
    the session.
    """
    return [
        (record.probe, record.values)
        for item in session.delivery.items(timeout)
        if isinstance(item, Records)
        for record in item.records
    ]


@pytest.fixture
def own_tmp(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary directory for this process alone, which every user can read. All files that stay in it are btpy's."""
    with tempfile.TemporaryDirectory(prefix="test-") as name:
        Path(name).chmod(0o755)
        monkeypatch.setattr("tempfile.tempdir", name)
        monkeypatch.setenv("TMPDIR", name)
        yield Path(name)


def waited(condition: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def wait_until_the_agent_has_left(target: Target) -> None:
    """Waits until the program :func:`counted` sees no thread of the agent; then the agent has put everything back."""
    waited(lambda: _agent_threads(target) == "threads []", "threads of the agent stay")


def _agent_threads(target: Target) -> str:
    target.send("threads")
    return target.wait_for("threads")


@pytest.fixture
def questions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The classes that the agent asks about."""
    names: list[str] = []
    answer = Instrumentation.answer

    def noted(self: Instrumentation, question: ClassBytes) -> Woven | None:
        names.append(question.name)
        return answer(self, question)

    monkeypatch.setattr(Instrumentation, "answer", noted)
    return names
