"""``btpy fmt`` as a process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.test_command import btpy

UGLY = "A::b{print(1) ;// why\n}"
NEAT = "A::b {\n  print(1);  // why\n}\n"


def test_a_file_is_rewritten_once_and_keeps_its_mode(tmp_path: Path) -> None:
    script = tmp_path / "a.bt"
    script.write_text(UGLY, encoding="utf-8")
    script.chmod(0o750)
    link = tmp_path / "link.bt"
    link.symlink_to(script)
    result = btpy("fmt", link)
    assert (result.returncode, result.stderr) == (0, f"{link}: formatted\n")
    assert script.read_text(encoding="utf-8") == NEAT
    assert link.is_symlink()
    assert script.stat().st_mode & 0o777 == 0o750
    assert btpy("fmt", script).stderr == ""
    assert sorted(os.listdir(tmp_path)) == ["a.bt", "link.bt"]


def test_check_changes_nothing(tmp_path: Path) -> None:
    ugly, neat = tmp_path / "ugly.bt", tmp_path / "neat.bt"
    ugly.write_text(UGLY, encoding="utf-8")
    neat.write_text(NEAT, encoding="utf-8")
    result = btpy("fmt", "--check", neat, ugly)
    assert (result.returncode, result.stderr) == (2, f"{ugly} is not formatted\n")
    assert ugly.read_text(encoding="utf-8") == UGLY
    assert btpy("fmt", "--check", neat).returncode == 0


def test_standard_input_goes_to_standard_output() -> None:
    result = btpy("fmt", "-", stdin=UGLY)
    assert (result.returncode, result.stdout, result.stderr) == (0, NEAT, "")


def test_a_faulty_script_is_left_alone(tmp_path: Path) -> None:
    script = tmp_path / "a.bt"
    script.write_text("A::b { print( }", encoding="utf-8")
    result = btpy("fmt", script)
    assert result.returncode == 2
    assert "error[BT002]: this `(` is never closed" in result.stderr
    assert script.read_text(encoding="utf-8") == "A::b { print( }"


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        ('@OnMethod(class="A", location=@Location(Kind.RETURN)) { print(1) }', "location=RETURN"),
        ("A::b @return /duration > 1ms/ { print(1) }", "A::b @return when duration > 1ms {"),
        ("A::b when depth == 0 and tid > 1 { print(a?.b); }", "when depth == 0 && tid > 1 {"),
        ("A::b { print('it') }", 'print("it")'),
    ],
)
def test_fix_applies_the_fixes_of_diagnostics(text: str, fixed: str, tmp_path: Path) -> None:
    script = tmp_path / "a.bt"
    script.write_text(text, encoding="utf-8")
    result = btpy("fmt", "--fix", script)
    assert result.returncode == 0, result.stderr
    assert fixed in script.read_text(encoding="utf-8")
