"""Rounds of chaos: every run of the tests has a few; ``-m proof`` has ``$BTPY_CHAOS_ROUNDS`` for each JDK."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.agent.conftest import hatch_build, jar
from tests.chaos.rounds import Chaos, Server
from tests.jdks import all_jdks

__all__ = ["hatch_build", "jar"]


def rounds(jdk: int, jar: Path, seed: int, count: int, *flags: str, clocks: bool = False) -> None:
    server = Server(jdk, jar, *flags, clocks=clocks)
    chaos = Chaos(server, seed)
    try:
        for _ in range(count):
            chaos.round()
    finally:
        server.close()
        print(f"JDK {jdk}, seed {seed}: {sum(chaos.ran.values())} rounds", dict(sorted(chaos.ran.items())))


QUICK = ("-XX:TieredStopAtLevel=1", "-Xmx48m", "-XX:MaxMetaspaceSize=20m")
"""The optimizing compiler would take half of the time. Less memory is exhausted sooner."""


def test_a_handful(jar: Path) -> None:
    rounds(17, jar, 5, 6, *QUICK)


@pytest.mark.proof
@all_jdks
def test_many(jdk: int, jar: Path) -> None:
    rounds(jdk, jar, int(os.environ.get("BTPY_CHAOS_SEED", "1")), int(os.environ.get("BTPY_CHAOS_ROUNDS", "250")))


@pytest.mark.proof
@all_jdks
def test_many_with_clocks_that_jump_and_frames_that_are_late(jdk: int, jar: Path) -> None:
    seed, count = int(os.environ.get("BTPY_CHAOS_SEED", "1")), int(os.environ.get("BTPY_CHAOS_ROUNDS", "30"))
    rounds(jdk, jar, seed, count, clocks=True)
