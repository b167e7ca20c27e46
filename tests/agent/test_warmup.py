"""Classes that handlers use are initialised before there are handlers."""

from __future__ import annotations

import re
from pathlib import Path

JAVA = Path(__file__).parents[2] / "agent-java" / "src" / "main" / "java" / "btpy"
LATER = {
    "AgentThread",  # the class of the agent's own threads
    "InternalMemory",  # each JVM uses this class or SunMemory; Memory chooses
    "SunMemory",
    "InternalNames",
    "Jvm",  # loads the management classes, which a target should load only if necessary
    "Limits",
    "LockWaits",  # as Jvm
    "MapContent",  # used by the agent's own threads
    "JitWarmup",  # used by the event thread only
    "ThreadSnapshots",  # as Jvm
    "WalkedFrames",  # Frames chooses
}


def test_every_class_of_the_runtime_is_warmed_up() -> None:
    source = (JAVA / "agent" / "Warmup.java").read_text(encoding="utf-8")
    tables = re.findall(r"(?:HANDLER|CALL|CONTEXT)_CLASSES = \{(.*?)\};", source, re.DOTALL)
    assert len(tables) == 3
    names = {name for table in tables for name in re.findall(r'"(\w+)"', table)}
    assert names == {path.stem for path in (JAVA / "runtime").glob("*.java")} - LATER
