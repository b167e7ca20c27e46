"""The rows of runtime_api against the compiled run-time classes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from btpy.codegen import runtime_api as api
from tests.codegen.target import runtime_classes
from tests.jdks import javac

ROOT = Path(__file__).parents[2]
_METHOD = re.compile(
    r"^  public (?P<flags>[a-z ]*?)\S+ (?P<name>\w+)\(.*\);\n    descriptor: (?P<descriptor>\S+)$", re.M
)


@pytest.mark.parametrize("owner", sorted({row.owner for row in api.all_methods() if row.owner.startswith("btpy/")}))
def test_methods_are_there(owner: str) -> None:
    """Each method is public, has exactly this descriptor, and is static if the row says so."""
    javap = javac().parent / "javap"
    result = subprocess.run(
        [javap, "-s", "-public", "-cp", runtime_classes(), owner.replace("/", ".")],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    results = {(m["name"], m["descriptor"]): "static" in m["flags"] for m in _METHOD.finditer(result.stdout)}
    rows = {(row.name, row.descriptor): row.static for row in api.all_methods() if row.owner == owner}
    assert rows
    assert rows.items() - results.items() == set()


def test_every_method_is_in_the_documentation() -> None:
    words = set(re.findall(r"\w+", (ROOT / "docs" / "runtime.md").read_text()))
    rows = [row for row in api.all_methods() if row.owner.startswith("btpy/")]
    assert {f"{row.owner}.{row.name}" for row in rows if row.name not in words} == set()
