"""Compares the numbers that words have on the wire with the numbers in the agent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from btpy.model.maps import MapKind
from btpy.model.sampling import SampleMode

RUNTIME = Path(__file__).parents[2] / "agent-java" / "src" / "main" / "java" / "btpy" / "runtime"


def constants(source: str) -> dict[str, int]:
    """The constants of a Java file that have the form ``static final int COUNT = 1``."""
    text = (RUNTIME / source).read_text()
    matches = re.findall(r"static final (?:int|byte) ([A-Z_]+) = (\d+);", text)
    return {name: int(number) for name, number in matches}


def test_kinds_of_maps_are_those_of_the_agent() -> None:
    java = constants("MapShape.java")
    assert {kind.name: kind.number for kind in MapKind if kind is not MapKind.PCTL}.items() <= java.items()
    assert MapKind.PCTL.number == MapKind.HIST.number


def test_modes_of_sampling_are_those_of_the_agent() -> None:
    java = constants("Sampler.java")
    assert {mode.name: mode.number for mode in SampleMode if mode is not SampleMode.ALL}.items() <= java.items()


@pytest.mark.parametrize("words", [MapKind, SampleMode])
def test_words_are_spelled_as_their_names(words: type[MapKind] | type[SampleMode]) -> None:
    assert [word.value for word in words] == [word.name.lower() for word in words]
