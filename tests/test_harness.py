"""The helper functions that other tests use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.jdks import all_jdks, compiled
from tests.targets import TargetError, target

JAVA = Path(__file__).parent / "java"


@all_jdks
def test_target_runs_on_each_jdk(jdk: int) -> None:
    classes = compiled([JAVA / "Gate.java", JAVA / "Greeter.java"])
    with target(jdk, "Greeter", "2", classpath=[classes]) as greeter:
        greeter.send()
        assert greeter.wait_for("done") == "done 2"
        assert greeter.stdout == ["ready", "hello number 0", "hello number 1", "done 2"]
        greeter.send()
        assert greeter.wait() == 0
        assert greeter.stderr == []


def test_target_that_never_says_the_word_fails_with_its_output() -> None:
    classes = compiled([JAVA / "Gate.java", JAVA / "Greeter.java"])
    with target(17, "Greeter", "1", classpath=[classes]) as greeter:
        greeter.send()
        greeter.send()
        with pytest.raises(TargetError, match="hello number 0"):
            greeter.wait_for("farewell")


def test_target_that_does_not_start_fails_with_its_stderr() -> None:
    with pytest.raises(TargetError, match="NoSuchProgram"), target(17, "NoSuchProgram", classpath=[JAVA]):
        pass
