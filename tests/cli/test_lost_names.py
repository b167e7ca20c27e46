"""Classes whose parameter names are unknown are refused on JDKs that would drop the names (JDK-8240908). The message
has the command that traces them nevertheless.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from btpy.engine.session import Session
from btpy.errors import NothingMatched
from btpy.events.aggregates import Count
from btpy.remedies import Permission
from tests.jdks import compiled, java
from tests.live.scripts import program
from tests.targets import PATIENCE, Target, target

JAVA = Path(__file__).parents[1] / "java"
VAGUE = "Bound$Vague::whisper { @n[$word] = count() }"
TRACED = "vague psst whisper(0 word,)"


def classes() -> Path:
    return compiled([JAVA / "Bound.java", JAVA / "Observer.java"], flags=["-parameters", "-encoding", "UTF-8"])


@contextmanager
def bound(jdk: int) -> Iterator[Target]:
    with target(jdk, "Bound", classpath=[classes()]) as jvm:
        yield jvm


def whispered(jvm: Target) -> str:
    jvm.send("vague")
    return jvm.wait_for("vague")


def btpy(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.parametrize("jdk", [11, 17])
def test_it_is_refused_and_keeps_its_names(jdk: int) -> None:
    with bound(jdk) as jvm:
        assert whispered(jvm) == TRACED
        with Session.attach(jvm.pid) as session:
            with pytest.raises(NothingMatched) as error:
                session.deployer.load(program(VAGUE))
            (diagnostic,) = error.value.diagnostics
            assert diagnostic.code == "BT338"
            (remedy,) = diagnostic.help
            assert isinstance(remedy, Permission)
            assert 'allow=["lost-parameter-names"]' in remedy
            assert whispered(jvm) == TRACED
        with Session.attach(jvm.pid) as session:
            session.deployer.load(program(VAGUE), allow=[remedy.capability])
            jvm.send("vague")
            assert "psst" in jvm.wait_for("vague")  # the JVM has lost the name of its parameter
            (counts,) = session.delivery.snapshot()
            assert dict(counts.entries) == {("psst",): Count(1)}
            assert session.departure.detach().clean


def test_the_remedy_is_the_command_that_was_typed() -> None:
    with bound(17) as jvm:
        whispered(jvm)
        result = btpy(["btpy", str(jvm.pid), "-e", VAGUE, "--for", "1ms"])
        assert result.returncode == 4
        assert "error[BT338]: Bound$Vague is traced only with permission" in result.stderr
        (remedy,) = [line for line in result.stderr.splitlines() if "--allow" in line]
        command = remedy.partition(":  ")[2]
        assert command == f"btpy {jvm.pid} -e {shlex.quote(VAGUE)} --for 1ms --allow lost-parameter-names"
        allowed = btpy(shlex.split(command))
        assert allowed.returncode == 0, allowed.stderr
        assert "1 probe → 1 method" in allowed.stderr


def test_the_prompt_names_the_command_that_begins_it() -> None:
    with bound(17) as jvm:
        whispered(jvm)
        environment = {**os.environ, "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
        command = [sys.executable, "-m", "btpy", str(jvm.pid)]
        ran = subprocess.run(command, input=VAGUE, capture_output=True, text=True, env=environment, timeout=PATIENCE)
        assert f":  btpy {jvm.pid} --allow lost-parameter-names\n" in ran.stdout


@contextmanager
def run(directory: Path) -> Iterator[Target]:
    """``btpy run`` of the program, with the same input and output. The program has begun."""
    shutil.copytree(classes(), directory / "classes")
    class_file = directory / "classes" / "Bound$Vague.class"
    class_file.rename(class_file.with_suffix(".hidden"))  # otherwise btpy would weave the class before it is loaded
    program = [str(java(17)), "-cp", str(directory / "classes"), "Bound"]
    command = ["setsid", sys.executable, "-m", "btpy", "run", "-e", VAGUE, "--", *program]
    jvm = Target(command, {**os.environ, "NO_COLOR": "1", "LC_ALL": "C.UTF-8"})
    try:
        jvm.wait_for("ready")
        yield jvm
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(jvm.pid, signal.SIGKILL)
        jvm.stop()


def lines_until(jvm: Target, words: str) -> list[str]:
    """Waits until a line of standard error has these words; returns all lines."""
    deadline = time.monotonic() + PATIENCE
    while not any(words in line for line in jvm.stderr):
        assert time.monotonic() < deadline, f"no {words!r} in {jvm.stderr}"
        time.sleep(0.05)
    return jvm.stderr


def test_a_class_that_is_woven_while_it_is_loaded_keeps_its_names(tmp_path: Path) -> None:
    with run(tmp_path) as jvm:
        assert whispered(jvm) == TRACED
        assert whispered(jvm) == TRACED
        jvm.process.send_signal(signal.SIGTERM)
        assert not any("BT338" in line for line in lines_until(jvm, "classes restored 1/1"))
        assert whispered(jvm) == TRACED, "put back"
        assert "@n[psst]  2" in jvm.stdout


def test_a_class_that_was_loaded_without_an_answer_is_refused_once(tmp_path: Path) -> None:
    with run(tmp_path) as jvm:
        jvm.process.send_signal(signal.SIGSTOP)  # no answer in time: the class is loaded unchanged
        assert whispered(jvm) == TRACED
        jvm.process.send_signal(signal.SIGCONT)
        lines_until(jvm, "BT338")
        assert whispered(jvm) == TRACED
        jvm.process.send_signal(signal.SIGTERM)
        lines = lines_until(jvm, "no class to restore")
    (remedy,) = [line for line in lines if "= help: to trace it nevertheless:  btpy run" in line]
    assert remedy.index("--allow lost-parameter-names") < remedy.index(" -- ")
    lines.remove(remedy)
    (warning,) = [line for line in lines if line.startswith("warning: Bound$Vague (")]
    loader = warning.partition("(")[2].partition(")")[0]
    assert [line for line in lines if "Bound$Vague" in line or "whisper" in line] == [
        f"warning: Bound$Vague ({loader}) was loaded, but cannot be traced: it would lose the names of its parameters,"
        " and no class file tells them (JDK-8240908) [BT338]",
        "whisper: 0 hits: its methods cannot be traced [BT338]",
    ]
