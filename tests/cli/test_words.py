"""``btpy help WORD`` and ``btpy check --plan``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_command import btpy
from tests.jdks import compiled

CLASSES = compiled([Path(__file__).parents[1] / "java" / "acme" / "Shop.java"])


@pytest.mark.parametrize(
    ("word", "first"),
    [("hist", "hist(value, k=2)"), ("@OnTimer", "@OnTimer(period)"), ("EXIT", "EXIT"), ("duration", "duration")],
)
def test_a_word_of_the_language(word: str, first: str) -> None:
    result = btpy("help", word)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith(first + "\n    ")
    assert word in result.stdout


def test_an_unknown_word_is_an_error() -> None:
    result = btpy("help", "nonesuch")
    assert result.returncode == 2
    assert "nonesuch is neither a file nor a library" in result.stderr
    assert "help: did you mean `duration`?" in btpy("help", "durration").stderr


def test_a_plan_lists_the_methods_to_weave(tmp_path: Path) -> None:
    script = tmp_path / "a.bt"
    script.write_text(
        "com.acme.shop.PricingEngine::quote @exit as q { @t = hist(duration) }\n"
        '@OnMethod(class="com.acme.shop.OrderService", method="place") probe p { print(arg0) }',
        encoding="utf-8",
    )
    result = btpy("check", script, "--cp", CLASSES, "--plan")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "q  2 points in 1 method of 1 class, about 65 ns a firing once compiled"
    assert lines[1] == "p  2 points in 2 methods of 1 class, about 59 ns a firing once compiled"
    assert lines[2].startswith("in all: 4 points in 3 methods of 2 classes; class files ")
    assert lines[3].startswith("limits: strings 200 characters, depth 2")
    assert lines[4].split("; ") == [
        "        a firing 1000 statements",
        "a probe 500 methods (--max-methods)",
        "on a terminal 200 events a second of a probe (--rate)",
        "all probes 2 % of one core (--budget)",
    ]
    assert "3 methods in 2 classes" in result.stderr


def test_a_plan_needs_classes(tmp_path: Path) -> None:
    script = tmp_path / "a.bt"
    script.write_text("A::b { print(1) }", encoding="utf-8")
    result = btpy("check", script, "--plan")
    assert result.returncode == 2
    assert "--plan needs classes" in result.stderr


def test_help_of_a_command_equals_its_own_option() -> None:
    assert btpy("help", "weave").stdout == btpy("weave", "--help").stdout
