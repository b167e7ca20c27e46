"""The rows of runtime_api against the compiled run-time classes."""

from __future__ import annotations

import functools
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


OWNERS = sorted({row.owner for row in api.all_methods() if row.owner.startswith("btpy/")})


@functools.cache
def compiled_methods() -> dict[str, dict[tuple[str, str], bool]]:
    """For each owner, the name and the descriptor of each public method, and whether it is static. One javap reads all
    classes.
    """
    javap = javac().parent / "javap"
    result = subprocess.run(
        [javap, "-s", "-public", "-cp", runtime_classes(), *(owner.replace("/", ".") for owner in OWNERS)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    texts = result.stdout.split("Compiled from ")[1:]
    assert len(texts) == len(OWNERS)
    return {
        owner: {(m["name"], m["descriptor"]): "static" in m["flags"] for m in _METHOD.finditer(text)}
        for owner, text in zip(OWNERS, texts, strict=True)
        if re.search(rf"(class|interface) {re.escape(owner.replace('/', '.'))}\b", text)
    }


@pytest.mark.parametrize("owner", OWNERS)
def test_methods_are_there(owner: str) -> None:
    """Each method is public, has exactly this descriptor, and is static if the row says so."""
    rows = {(row.name, row.descriptor): row.static for row in api.all_methods() if row.owner == owner}
    assert rows
    assert rows.items() - compiled_methods()[owner].items() == set()


def test_every_method_is_in_the_documentation() -> None:
    words = set(re.findall(r"\w+", (ROOT / "docs" / "runtime.md").read_text()))
    rows = [row for row in api.all_methods() if row.owner.startswith("btpy/")]
    assert {f"{row.owner}.{row.name}" for row in rows if row.name not in words} == set()
