"""No class grows beyond 30 methods or 400 lines, and no function beyond 60 lines or four levels, without a reason.

The reasons stand in `pyproject.toml` (`[tool.btpy.sizes]`), by the qualified name.
"""

from __future__ import annotations

import ast
import functools
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
METHODS, CLASS_LINES, FUNCTION_LINES, LEVELS = 30, 400, 60, 4
REASONS: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["btpy"]["sizes"]
MODULES = sorted((ROOT / "btpy").rglob("*.py"))

_BLOCKS = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """The children of a node, without expressions: no block begins in an expression."""
    return (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))


def everything_below(node: ast.AST) -> Iterator[ast.AST]:
    for child in statements(node):
        yield child
        yield from everything_below(child)


def depth(node: ast.AST) -> int:
    """The depth of nested blocks. An ``elif`` is on the level of its ``if``."""
    deepest = 0
    for child in statements(node):
        is_elif = isinstance(node, ast.If) and isinstance(child, ast.If) and node.orelse == [child]
        if not isinstance(child, (*_FUNCTIONS, ast.ClassDef)):
            deepest = max(deepest, depth(child) + (isinstance(child, _BLOCKS) and not is_elif))
    return deepest


def too_large(path: Path) -> Iterator[tuple[str, str]]:
    """The names of functions and classes in a module that are too large, and their sizes."""
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for node in everything_below(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef):
            methods = sum(isinstance(child, _FUNCTIONS) for child in node.body)
            lines = (node.end_lineno or 0) - node.lineno + 1
            if methods > METHODS or lines > CLASS_LINES:
                yield f"{module}.{node.name}", f"{methods} methods, {lines} lines"
        elif isinstance(node, _FUNCTIONS):
            lines = (node.end_lineno or 0) - node.lineno + 1
            if lines > FUNCTION_LINES or depth(node) > LEVELS:
                yield f"{module}.{node.name}", f"{lines} lines, {depth(node)} levels"


@functools.cache
def large_code(path: Path) -> dict[str, str]:
    return dict(too_large(path))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_large_functions_and_classes_have_a_reason(path: Path) -> None:
    assert {name: size for name, size in large_code(path).items() if name not in REASONS} == {}


def test_reasons_exist_only_for_large_code() -> None:
    large = {name for path in MODULES for name in large_code(path)}
    assert sorted(REASONS.keys() - large) == []
    assert all(len(reason) > 20 for reason in REASONS.values())


def test_a_large_function_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    module = tmp_path / "module.py"
    module.write_text(
        "def f():\n" + "    x = 1\n" * 60 + "def g(a):\n    if a:\n        pass\n    elif a:\n        pass\n"
    )
    assert dict(too_large(module)) == {"module.f": "61 lines, 0 levels"}
    nested = "def h(a):\n" + "".join(f"{'    ' * level}if a:\n" for level in range(1, 6)) + "    " * 6 + "pass\n"
    module.write_text(nested)
    assert dict(too_large(module)) == {"module.h": "7 lines, 5 levels"}
