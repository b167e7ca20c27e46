"""Holds the direction of imports that docs/architecture.md draws."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "btpy"

MAY_IMPORT = {
    "errors": {"model"},  # for types only
    "children": set(),
    "parallel": {"errors"},
    "files": {"errors"},
    "model": {"errors"},
    "lang": {"errors", "files", "model"},
    "classfile": {"errors"},
    "plan": {"errors", "model", "lang", "classfile"},
    "codegen": {"errors", "model", "lang", "plan", "classfile"},
    "weave": {"errors", "model", "plan", "classfile"},
    "wire": {"errors"},
    "jvm": {"errors", "wire", "children", "files"},
    "events": {"errors", "wire", "model", "lang"},
    "engine": {"errors", "model", "lang", "plan", "codegen", "weave", "classfile", "wire", "jvm", "events"},
    "output": {"errors", "model", "lang", "plan", "events", "wire"},
    "completion": {"errors", "model", "lang", "plan", "classfile", "output", "wire"},
    "api": {
        *("errors", "model", "lang", "plan", "classfile", "codegen", "weave", "engine", "events", "output", "jvm"),
        *("wire", "parallel", "files"),
    },
    "recording": {"errors", "model", "lang", "events", "wire"},
    "cli": {
        *("errors", "model", "lang", "plan", "events", "output", "jvm", "wire", "api", "recording"),
        *("completion", "repl", "lsp", "children", "files"),
    },
    "lsp": {"errors", "model", "lang", "output", "api", "completion"},
    "repl": {"errors", "model", "lang", "plan", "classfile", "events", "output", "jvm", "wire", "api", "completion"}
    | {"children", "files"},
}
ONLY_IMPORTER = {"jpype": "jvm", "prompt_toolkit": "repl", "lark": "lang", "pygls": "lsp", "lsprotocol": "lsp"}
HEAVY = {"lark", "jpype", "prompt_toolkit", "rich", "pygls", "lsprotocol"}

MODULES = sorted(
    path.relative_to(ROOT) for path in ROOT.rglob("*.py") if path.name not in ("__init__.py", "__main__.py")
)


def imports(tree: ast.AST) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_imports_follow_the_data(module: Path) -> None:
    stage = module.parts[0].removesuffix(".py")
    tree = ast.parse((ROOT / module).read_text())
    for name in imports(tree):
        package, _, rest = name.partition(".")
        if package == "btpy" and rest:
            target = rest.split(".")[0]
            if target in MAY_IMPORT and target != stage:
                assert target in MAY_IMPORT[stage], f"btpy.{stage} imports btpy.{target}"
        assert ONLY_IMPORTER.get(package, stage) == stage, f"only btpy.{ONLY_IMPORTER[package]} imports {package}"
    if stage == "weave":
        assert not any(name.startswith("btpy.lang") for name in imports(tree))


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_heavy_packages_are_not_imported_by_the_command_line(module: Path) -> None:
    if module.parts[0] not in ("cli", "errors.py", "jvm"):
        return
    tree = ast.parse((ROOT / module).read_text())
    at_top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    for node in at_top:
        for name in imports(node):
            assert name.split(".")[0] not in HEAVY, f"{module} imports {name} when it is loaded"
