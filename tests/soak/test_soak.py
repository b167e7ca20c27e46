"""Attach, trace and detach many times in one JVM, whose state must be the same afterwards.

Every run of the tests has a few cycles; ``-m proof`` has as many as ``$BTPY_SOAK_CYCLES`` says.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from btpy.engine.session import Session
from btpy.lang.check.checker import check_source
from btpy.model.source import Source
from tests.jdks import compiled
from tests.targets import Target, target

CALLS = 101
SETTLING = 10
"""Cycles after which nearly all classes have been loaded and compiled."""

SCRIPT = """
Soaked::step @entry { @n = count(); print(arg0); }
Soaked::step @return { @took = hist(duration); }
"""
_OPEN = ("--add-opens", "java.base/java.lang=ALL-UNNAMED")


@contextmanager
def soaked(jdk: int) -> Iterator[Target]:
    classes = compiled([Path(__file__).parent / "java" / "Soaked.java"])
    with target(jdk, "Soaked", classpath=[classes], flags=_OPEN) as program:
        yield program


def state(program: Target) -> dict[str, int]:
    program.send("state")
    words = program.wait_for("state ").split()[1:]
    return {name: int(value) for name, _, value in (word.partition("=") for word in words)}


def cycle(program: Target) -> int:
    """The number of classes of the target. The JVM's own counter also counts each retransformation."""
    with Session.attach(program.pid) as session:
        session.deployer.load(check_source(Source("soak.bt", SCRIPT)))
        program.send(f"call {CALLS}")
        program.wait_for("called")
        receipt = session.departure.detach()
        assert receipt.clean
        account = receipt.accounts[0]
        assert (account.produced, account.delivered) == (CALLS, CALLS)
        return session.target.loaded_classes


def soak(jdk: int, cycles: int) -> None:
    with soaked(jdk) as program:
        for _ in range(SETTLING):
            cycle(program)
        state(program)  # the first `state` loads the classes that the command needs
        before = {**state(program), "classes": cycle(program)}
        for number in range(1, cycles + 1):
            cycle(program)
            if number % 500 == 0:
                print(f"JDK {jdk}, {number} cycles: {state(program)}", flush=True)
        classes = cycle(program)
        after = {**min((state(program) for _ in range(3)), key=lambda look: look["heap"]), "classes": classes}
        print(f"JDK {jdk}, {cycles} cycles: {before} → {after}")
        assert after["locals"] >= 0
        for exact in ("threads", "locals"):
            assert after[exact] == before[exact], (before, after)
        # After some calls the JVM generates classes for reflection. A leak in each cycle would be far larger.
        assert after["classes"] - before["classes"] <= 100, (before, after)
        assert after["files"] - before["files"] <= 2, (before, after)
        # HotSpot keeps old versions of a retransformed class until they are collected, so the size is constant after
        # some hundred cycles.
        for size, slack in (("heap", 2 << 20), ("metaspace", 4 << 20), ("code", 16 << 20)):
            assert after[size] - before[size] <= slack, (before, after)
        assert program.stderr == []


def test_a_few_cycles_leave_nothing() -> None:
    soak(17, 20)


@pytest.mark.proof
@pytest.mark.parametrize("jdk", [17, 25])
def test_many_cycles_leave_nothing(jdk: int) -> None:
    soak(jdk, int(os.environ.get("BTPY_SOAK_CYCLES", "10000")))
