"""Imports are lazy where speed needs it. The layers of docs/architecture.md are contracts in pyproject.toml."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "btpy"

ONLY_IMPORTER = {
    "jpype": "jvm",
    "prompt_toolkit": "repl",
    "lark": "lang",
    "pygls": "lsp",
    "lsprotocol": "lsp",
    "opentelemetry": "output",
}
HEAVY = {"lark", "jpype", "prompt_toolkit", "rich", "pygls", "lsprotocol", "opentelemetry"}

MODULES = sorted(
    path.relative_to(ROOT) for path in ROOT.rglob("*.py") if path.name not in ("__init__.py", "__main__.py")
)
COMMAND_LINE = [module for module in MODULES if module.parts[0] in ("cli", "errors.py", "jvm")]


def imports(tree: ast.AST) -> list[str]:
    results = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            results += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            results += [f"{node.module}.{alias.name}" for alias in node.names]
    return results


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_package_of_others_is_imported_by_one_room(module: Path) -> None:
    room = module.parts[0].removesuffix(".py")
    for name in imports(ast.parse((ROOT / module).read_text())):
        package = name.split(".")[0]
        assert ONLY_IMPORTER.get(package, room) == room, f"only btpy.{ONLY_IMPORTER[package]} imports {package}"


def test_weaving_loads_nothing_of_the_language() -> None:
    """A program without scripts can weave a class. The test runs in a fresh interpreter."""
    code = "import sys, btpy.weave.weaver; print(*(name for name in sys.modules if name.startswith('btpy.')))"
    rooms = {name.split(".")[1] for name in subprocess.check_output([sys.executable, "-c", code], text=True).split()}
    assert "weave" in rooms
    assert rooms.isdisjoint({"lang", "codegen", "wire", "jvm", "engine", "api"})


@pytest.mark.parametrize("module", COMMAND_LINE, ids=str)
def test_heavy_packages_are_not_imported_by_the_command_line(module: Path) -> None:
    tree = ast.parse((ROOT / module).read_text())
    at_top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    for node in at_top:
        for name in imports(node):
            assert name.split(".")[0] not in HEAVY, f"{module} imports {name} when it is loaded"
