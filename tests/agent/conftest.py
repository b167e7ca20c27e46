"""The shipped agent, and a program into which tests load it."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from tests.agent.client import Client, connect
from tests.jdks import compiled
from tests.targets import Target, target

Subject = Callable[..., AbstractContextManager[Target]]
"""A function that starts the program; it takes the version of the JDK, and flags."""

Attach = Callable[..., Client]

ROOT = Path(__file__).resolve().parents[2]

EXHAUSTED = "*** java.lang.instrument ASSERTION FAILED ***"
"""The JVM's own library prints this when it has no memory for a call of an agent, for example to show it a class."""

NOT_OURS = ("Xverify", "BytecodeVerification", EXHAUSTED)


@pytest.fixture(scope="session")
def hatch_build() -> ModuleType:
    specification = importlib.util.spec_from_file_location("hatch_build", ROOT / "agent-java" / "hatch_build.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def jar(hatch_build: ModuleType) -> Path:
    jar_file: Path = hatch_build.build(ROOT)
    return jar_file


@pytest.fixture(scope="session")
def subject_classes() -> Path:
    return compiled([Path(__file__).parent / "java" / "Subject.java"])


@pytest.fixture(scope="session")
def subject(subject_classes: Path) -> Subject:
    """``with subject(jdk) as program``: the Subject runs under full verification; it must end with a clean stderr."""

    @contextmanager
    def run(jdk: int, *flags: str) -> Iterator[Target]:
        with target(jdk, "Subject", classpath=[subject_classes], flags=["-Xverify:all", *flags]) as program:
            yield program
            assert program.process.poll() is None, "the target died"
            assert [line for line in program.stderr if not any(word in line for word in NOT_OURS)] == []

    return run


@pytest.fixture(scope="module")
def shared_subject(subject: Subject) -> Iterator[Target]:
    """The Subject on Java 17, for all tests of a module that leave it as they found it."""
    with subject(17) as program:
        yield program


@pytest.fixture
def attach(jar: Path) -> Iterator[Attach]:
    """Attach to a program and configure; all connections are closed at the end."""
    clients: list[Client] = []

    def open_session(program: Target, jdk: int, *, configure: bool = True, **limits: int) -> Client:
        client = connect(program.pid, jar, tcp=jdk < 16)
        clients.append(client)
        if configure:
            client.configure(**limits)
        return client

    yield open_session
    for client in clients:
        client.close()


def answer(program: Target, order: str) -> str:
    """The program's answer to an order while no client answers the agent."""
    program.send(order)
    return program.wait_for("> ").removeprefix("> ")


def agent_threads_end(program: Target) -> None:
    """Waits until the program sees no thread of the agent."""
    for _ in range(600):
        if answer(program, "threads") == "[]":
            return
        time.sleep(0.05)
    raise AssertionError(answer(program, "threads"))
