"""``btpy check`` against class files and against a JVM."""

from __future__ import annotations

import json
import re
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
    result = subprocess.run(
        [sys.executable, "-m", "btpy", "check", "-", *arguments],
        input=text,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return result.returncode, result.stdout, result.stderr


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
    result = btpy("check", "-e", GOOD, "--cp", classes)
    assert result.stderr == "<command line>: 1 probe, 0 maps, no errors; 1 method in 1 class\n"
    assert btpy("check", "-e", BAD, "--cp", classes).returncode == 2
    assert btpy("check").stderr.startswith("error: no program\n  = help: FILE.bt, ")
    assert btpy("check", "-e", GOOD, "a.bt").stderr == "error: a program is given twice: a.bt and -e\n"


def test_the_flag_of_a_run_asks_no_jvm() -> None:
    result = btpy("4711", "-e", GOOD, "--check")
    assert (result.returncode, result.stderr) == (0, "<command line>: 1 probe, 0 maps, no errors\n")
    assert btpy("4711", "-e", "A::b { print( }", "--check").returncode == 2


def test_an_argument_that_the_method_lacks(classes: str) -> None:
    code, _, stderr = check("Inspected::look { print(arg7) }", "--cp", classes)
    assert (code, "= note: matched  Inspected.look" in stderr) == (2, True)
    assert check('Inspected::look { print(arg7 ?? "none", $nobody ?? arg0) }', "--cp", classes)[0] == 0


def test_a_pattern_that_matches_nothing(classes: str) -> None:
    code, _, stderr = check("Inspected::lok { }", "--cp", classes)
    assert code == 4
    assert "did you mean `look`?" in stderr
    assert check('@OnMethod(class="Nobody", pending=true) { }', "--cp", classes)[0] == 0


def test_against_a_jvm_that_is_left_as_it_is(classes: str) -> None:
    with target(17, "Inspected", classpath=[Path(classes)]) as program:
        assert check(GOOD, "--pid", str(program.pid)) == (
            0,
            "",
            "<standard input>: 1 probe, 0 maps, no errors; 1 method in 1 class\n",
        )
        assert check(BAD, "--pid", str(program.pid))[0] == 2
        program.send("3")
        program.wait_for("calls 0")


def test_permissions() -> None:
    assert check("A::b { print(self.c()); }")[0] == 2
    assert check("A::b { print(self.c()); }", "--allow", "call:A.c")[0] == 0
    code, _, stderr = check("A::b { }", "--allow", "cors")
    assert (code, "did you mean core?" in stderr) == (2, True)
    code, _, stderr = check("A::b { }", "--no-redact")
    assert (code, "--no-redact --allow sensitive" in stderr) == (2, True)
    code, _, stderr = check("A::b { }", "--no-redact", "--allow", "sensitive", "--secret", "customerNumber")
    assert (code, "--secret and --no-redact contradict each other" in stderr) == (2, True)
    code, _, stderr = check("A::b { }", "--secret", "customerNumber", "--secret", "/AC-[0-9/")
    assert (code, "error: --secret /AC-[0-9/: this `[` is never closed, at character 4" in stderr) == (2, True)


@pytest.fixture(scope="module")
def classpath() -> str:
    return str(compiled([JAVA / "Overloaded.java"], release=11))


def problem(text: str, classes: str) -> str:
    """The messages about a refused script, without the quoted source."""
    code, _, stderr = check(text, "--cp", classes)
    assert code in (2, 4), stderr
    return stderr


def test_types_choose_an_overload_in_the_short_form(classpath: str) -> None:
    for types, methods in {"long": 1, "String,int": 1, "Overloaded.Basket": 1, "Basket": 1, "*": 2, "..": 3}.items():
        _, _, stderr = check(f"Overloaded::ship({types}) {{ }}", "--cp", classpath)
        assert stderr.endswith(f"{methods} method{'s' * (methods > 1)} in 1 class\n")
    stderr = problem("Overloaded::ship(double) { }", classpath)
    assert "error[BT305]: no overload of ship has the parameters (double)" in stderr
    assert "the overloads are:  ship(long)\n" in stderr


def test_a_name_that_one_overload_has_says_which_and_how_to_choose_it(classpath: str) -> None:
    stderr = problem("Overloaded::ship { print($quantity) }", classpath)
    assert "error[BT112]: the traced method has no parameter `quantity`" in stderr
    assert "= help: these overloads have it:  ship(String, int)\n" in stderr
    assert "= help: choose one:  Overloaded::ship(String, int)\n" in stderr
    assert "= note: 1 other overload lacks it too\n" in stderr
    assert check("Overloaded::ship(String, int) { print($quantity) }", "--cp", classpath)[0] == 0
    written_out = '@OnMethod(class="Overloaded", method="ship") { print($quantity) }'
    assert '= help: choose one:  type="* (String, int)"\n' in problem(written_out, classpath)


@pytest.mark.parametrize(
    ("name", "meant"), [("$customer", "$customerName"), ("$q", "$quantity"), ("$nameOfCustomer", "$customerName")]
)
def test_parts_of_a_name_are_enough_to_suggest_it(name: str, meant: str, classpath: str) -> None:
    stderr = problem(f"Overloaded::ship(String, int) {{ print({name}) }}", classpath)
    assert f"did you mean `{meant}`?" in stderr


@pytest.mark.parametrize(
    ("pattern", "code", "help_"),
    [
        ("Overload.*::ship", "BT301", "as a glob:  Overload*   (matches Overloaded"),
        ("/Overl/::ship", "BT301", "a regular expression matches a whole name:  /.*Overl.*/"),
        ("/Overload*/::ship", "BT301", "as a glob:  Overload*   (matches Overloaded"),
        ("Overloaded::execute.*", "BT303", "as a glob:  execute*   (matches executeQuery, executeUpdate)"),
        ("Overloaded::executeQuery|executeUpdate", "BT001", "|"),
        ("Overloaded::/execute*/", "BT303", "as a glob:  execute*   (matches executeQuery, executeUpdate)"),
        ("Overloaded.Priced::pri.*", "BT303", "as a glob:  pri*   (matches price, pricier)"),
        ("Overloaded.Priced::price", "BT302", 'match its implementors:  class="+Overloaded$Priced"'),
    ],
)
def test_a_glob_that_is_meant_as_a_regular_expression(pattern: str, code: str, help_: str, classpath: str) -> None:
    stderr = problem(f"{pattern} {{ }}", classpath)
    assert f"error[{code}]" in stderr
    assert help_ in stderr


def test_a_probe_in_default_methods_only_says_which_methods_have_no_code(classpath: str) -> None:
    code, _, stderr = check("Overloaded.Priced::pric* { @n = count() }", "--cp", classpath)
    assert code == 0
    assert 'warning[BT302]: "Overloaded$Priced" is an interface; price has no code there' in stderr
    assert 'match its implementors, too:  class="+Overloaded$Priced"' in stderr
    for right in ("Overloaded.Priced::pricier { @n = count() }", "+Overloaded.Priced::pric* { @n = count() }"):
        assert "BT302" not in check(right, "--cp", classpath)[2]


def test_only_containers_are_indexed(classpath: str) -> None:
    stderr = problem("Overloaded::ship(Basket) { print($basket[0]) }", classpath)
    assert "error[BT201]: `Overloaded$Basket` is not an array, list or map" in stderr
    assert "it has:  $basket.lines" in stderr
    for right in ("Overloaded::ship(Basket) { print($basket.lines[0]) }", "Overloaded::main { print(arg0[0]) }"):
        assert check(right, "--cp", classpath)[0] == 0


def test_check_reports_self_in_static_methods(classpath: str) -> None:
    code, _, stderr = check("Overloaded::ship { print(self) }", "--cp", classpath)
    assert (code, stderr.startswith("warning[BT311]: `self` is always null here\n")) == (0, True)
    assert "static: Overloaded.ship\n" in stderr
    assert "warning" not in check("Overloaded::* { print(self) }", "--cp", classpath)[2]


def test_a_run_and_a_check_refuse_the_same(classpath: str) -> None:
    with target(17, "Overloaded", classpath=[Path(classpath)]) as program:
        for script in ("**::* { print(1) }", "java.**::* @entry { @n = count() }"):
            ran = btpy(str(program.pid), "-e", script, "--for", "1ms")
            result = btpy("check", "-e", script, "--pid", str(program.pid))
            refusals = [re.findall(r"^error: .*?(?=\d|$)", outcome.stderr, re.MULTILINE) for outcome in (ran, result)]
            assert refusals[0] == refusals[1] == ["error: probe matches "]
            assert (ran.returncode, result.returncode) == (2, 2)


@pytest.mark.parametrize(
    ("exception", "warned"),
    [
        ("java.lang.NumberFormatException", False),
        ("java.util.zip.DataFormatException", False),  # the program has never thrown it, so it is not loaded
        ("+java.io.IOException", False),
        ("java.lang.Foo", True),
        ("IllegalArgumentExcption", True),
    ],
)
def test_check_reports_exceptions_that_no_class_declares(exception: str, warned: bool, classpath: str) -> None:
    script = f"Overloaded::parse @throw({exception}) {{ print(1) }}"
    with target(17, "Overloaded", classpath=[Path(classpath)]) as program:
        code, _, stderr = check(script, "--pid", str(program.pid))
    assert (code, f'warning[BT310]: no loaded class matches "{exception}"' in stderr) == (0, warned)
    if exception.startswith("Illegal"):
        assert "nearest:  java.lang.IllegalArgumentException" in stderr
