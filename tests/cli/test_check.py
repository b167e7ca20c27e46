"""``btpy check`` against class files and against a JVM."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_command import btpy
from tests.jdks import compiled
from tests.targets import target

JAVA = Path(__file__).parents[1] / "java"
GOOD = "Inspected::look @return when arg0.pieces > 3 { print(arg1.uri.getHost()); }"
BAD = "Inspected::look @return when arg0.piecess > 3 { print(1); }"


def check(text: str, *arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "btpy", "check", "-", *arguments],
        input=text,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def classes() -> str:
    return str(compiled([JAVA / "Inspected.java"], release=11))


def test_against_class_files(classes: str) -> None:
    assert check(GOOD, "--cp", classes) == (
        0,
        "",
        "<standard input>: 1 probe, 0 maps, no errors; 1 method in 1 class\n",
    )
    code, _, stderr = check(BAD, "--cp", classes)
    assert code == 2
    assert stderr.startswith("error[BT210]: `Inspected$Order` has no field `piecess`\n")
    assert "`Inspected$Order`: parameter 0 of Inspected.look" in stderr
    assert "= help: did you mean `pieces`?" in stderr
    code, stdout, _ = check(BAD, "--cp", classes, "--error-format", "json")
    assert (code, json.loads(stdout)["code"]) == (2, "BT210")


def test_the_text_of_the_command_line(classes: str) -> None:
    shown = btpy("check", "-e", GOOD, "--cp", classes)
    assert shown.stderr == "<command line>: 1 probe, 0 maps, no errors; 1 method in 1 class\n"
    assert btpy("check", "-e", BAD, "--cp", classes).returncode == 2
    assert btpy("check").stderr.startswith("error: no program\n  = help: FILE.bt, ")
    assert btpy("check", "-e", GOOD, "a.bt").stderr == "error: a program is given twice: a.bt and -e\n"


def test_the_flag_of_a_run_asks_no_jvm() -> None:
    shown = btpy("4711", "-e", GOOD, "--check")
    assert (shown.returncode, shown.stderr) == (0, "<command line>: 1 probe, 0 maps, no errors\n")
    assert btpy("4711", "-e", "A::b { print( }", "--check").returncode == 2


def test_what_an_argument_is_not_there_for(classes: str) -> None:
    code, _, stderr = check("Inspected::look { print(arg7) }", "--cp", classes)
    assert (code, "= note: matched  Inspected.look" in stderr) == (2, True)
    assert check('Inspected::look { print(arg7 ?? "none", $nobody ?? arg0) }', "--cp", classes)[0] == 0


def test_a_pattern_that_matches_nothing(classes: str) -> None:
    code, _, stderr = check("Inspected::lok { }", "--cp", classes)
    assert code == 4
    assert "did you mean `look`?" in stderr
    assert check('@OnMethod(class="Nobody", pending=true) { }', "--cp", classes)[0] == 0


def test_against_a_jvm_that_is_left_as_it_is(classes: str) -> None:
    with target(17, "Inspected", classpath=[Path(classes)]) as running:
        assert check(GOOD, "--pid", str(running.pid)) == (
            0,
            "",
            "<standard input>: 1 probe, 0 maps, no errors; 1 method in 1 class\n",
        )
        assert check(BAD, "--pid", str(running.pid))[0] == 2
        running.send("3")
        running.wait_for("calls 0")


def test_permissions() -> None:
    assert check("A::b { print(self.c()); }")[0] == 2
    assert check("A::b { print(self.c()); }", "--allow", "call:A.c")[0] == 0
    code, _, stderr = check("A::b { }", "--allow", "cors")
    assert (code, "did you mean core?" in stderr) == (2, True)
    code, _, stderr = check("A::b { }", "--no-redact")
    assert (code, "--no-redact --allow sensitive" in stderr) == (2, True)
