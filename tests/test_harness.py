"""The helper functions that other tests use."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.compiler import Compiler, CompilerDiedError
from tests.jdks import all_jdks, compiled, javac
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


def test_the_compiler_says_what_is_wrong_and_compiles_the_next_source(tmp_path: Path) -> None:
    source = tmp_path / "Broken.java"
    source.write_text("public class Broken { int é = 1 }", encoding="utf-8")
    with pytest.raises(subprocess.CalledProcessError) as failure:
        compiled([source], flags=["-encoding", "UTF-8"])
    assert "Broken.java:1: error: ';' expected" in failure.value.stderr
    source.write_text("public class Broken { int é = 1; }", encoding="utf-8")
    assert (compiled([source], flags=["-encoding", "UTF-8"]) / "Broken.class").exists()


def test_a_compiler_that_died_is_started_again(tmp_path: Path) -> None:
    source = tmp_path / "Simple.java"
    source.write_text("class Simple { }")
    compiler = Compiler(javac().resolve().with_name("java"))
    compiler.run(["-d", tmp_path, source])
    assert compiler.process is not None
    compiler.process.kill()
    compiler.process.wait()
    with pytest.raises(CompilerDiedError):
        compiler.run(["-d", tmp_path, source])
    (tmp_path / "Simple.class").unlink()
    compiler.run(["-d", tmp_path, source])
    assert (tmp_path / "Simple.class").exists()
