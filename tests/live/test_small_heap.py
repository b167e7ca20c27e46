"""An attach to a JVM whose memory is nearly full reports that, with a remedy."""

from __future__ import annotations

import pytest

import btpy as btpy_package
from btpy.errors import AttachError
from btpy.jvm import connecting
from tests.cli.test_command import btpy
from tests.jdks import compiled
from tests.live.scripts import JAVA
from tests.targets import target


def test_an_attach_without_room_in_the_heap_is_refused_and_changes_nothing() -> None:
    """The permission lets btpy load the agent, but the agent weaves nothing."""
    classes = compiled([JAVA / "Crowded.java"], release=11)
    flags = ["-Xmx64m", "-XX:TieredStopAtLevel=4"]  # the number of KiB was found with both compilers
    with target(17, "Crowded", "4544", classpath=[classes], flags=flags) as jvm:
        result = btpy(
            str(jvm.pid), "-e", "Crowded$Work::step { @n = count() }", "--for", "100ms", "--allow", "little-heap"
        )
        assert result.returncode == 4, result.stderr
        assert "= note: the heap of the JVM is nearly full, and weaving it could take the last of it" in result.stderr
        jvm.send("")
        jvm.wait_for("calls 3")


def test_a_heap_without_room_for_the_agents_classes_is_one_of_the_reasons_that_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The agent has no memory to report that itself."""
    monkeypatch.setattr(connecting, "CALL_SECONDS", 1.0)
    classes = compiled([JAVA / "Crowded.java"], release=11)
    with target(17, "Crowded", "64", classpath=[classes], flags=["-Xmx64m"]) as jvm:
        with pytest.raises(AttachError) as caught:
            btpy_package.attach(jvm.pid, allow=["little-heap"])
        assert caught.value.code == "BT514"
        assert any(line.endswith(f"jcmd {jvm.pid} GC.heap_info") for line in caught.value.help)
        jvm.send("")
        jvm.wait_for("calls 3")
        assert jvm.stderr == []
