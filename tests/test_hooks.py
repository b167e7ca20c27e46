"""The hooks of pre-commit are the commands of ``make lint``."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_hooks_are_those_of_make_lint() -> None:
    makefile = (ROOT / "Makefile").read_text()
    (parts,) = re.findall(r"^lint: (.+)$", makefile, re.MULTILINE)
    recipes = [re.findall(rf"^{part}:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)[0] for part in parts.split()]
    commands = [line.strip().replace("$(BIN)", ".venv/bin") for recipe in recipes for line in recipe.splitlines()]
    hooks = re.findall(r"^ +entry: (.+)$", (ROOT / ".pre-commit-config.yaml").read_text(), re.MULTILINE)
    assert hooks == commands
