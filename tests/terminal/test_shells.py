"""Completion of command lines in the shells themselves, by the scripts of ``btpy completion``."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.terminal.tmux import terminal

FILES = ("slow.bt", "slow.txt", "inner/sold.bt")


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with files, in which ``btpy`` is the tested program."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "btpy").write_text(f'#!/bin/sh\nexec {sys.executable} -m btpy "$@"\n')
    (programs / "btpy").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def output(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_bash(directory: Path) -> None:
    script = """
eval "$(btpy completion bash)"
ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); compopt() { :; }; _btpy; echo "${COMPREPLY[*]}"; }
complete -p btpy
ask btpy doc
ask btpy demo --h
ask btpy check slo
ask btpy Shop --color = ne
"""
    assert output("bash", "--norc", "-c", script) == [
        "complete -F _btpy btpy",
        "doctor",
        "--help",
        "slow.bt",
        "never",
    ]


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize(
    ("line", "suggestions"),
    [
        ("btpy doc", ["doctor\ttest every step of attaching to a JVM"]),
        ("btpy completion f", ["fish"]),
        ("btpy check sl", ["slow.bt"]),
        ("btpy check inner/", ["inner/sold.bt"]),
        ("btpy check inn", ["inner/"]),
        ("btpy Shop --color=ne", ["--color=never"]),
        ("btpy Shop -f nd", ["ndjson\tone JSON object on each line"]),
        ("btpy ls Shop x -I inn", ["inner/\tDirectory"]),
    ],
)
def test_fish(line: str, suggestions: list[str], directory: Path) -> None:
    assert output("fish", "--no-config", "-c", f"btpy completion fish | source; complete -C '{line}'") == suggestions


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh(directory: Path) -> None:
    functions = directory / "functions"
    functions.mkdir()
    (functions / "_btpy").write_text("\n".join([*output("btpy", "completion", "zsh"), ""]))
    (directory / ".zshrc").write_text(
        f"PS1='go: '; fpath=({functions} $fpath); autoload -Uz compinit; compinit -u -D\n"
    )
    with terminal(["zsh"], columns=100, env={"ZDOTDIR": str(directory)}) as screen:
        screen.wait_for("go:")
        for typed, completed in (
            ("doc", "doctor "),
            ("completion fi", "completion fish "),
            ("check sl", "check slow.bt "),
            ("check inn", "check inner/"),
            ("check inner/", "check inner/sold.bt "),
            ("Shop --color=ne", "Shop --color=never "),
            ("Shop -f nd", "Shop -f ndjson "),
        ):
            screen.type(f"btpy {typed}")
            screen.press("Tab")
            screen.type("!")
            screen.wait_for(f"go: btpy {completed}!")
            screen.press("C-u")
        screen.type("btpy completion ")
        screen.press("Tab")
        assert re.search(r"^bash +fish +zsh$", screen.wait_for("zsh"), re.MULTILINE)
        screen.press("C-u")
        screen.type("btpy explain BT50")
        screen.press("Tab")
        screen.wait_for("BT502  -- there is no such process")
