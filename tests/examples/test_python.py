"""The examples of docs/python.md and the notebook run unchanged, against the shop."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from examples.shop.build_shop import MAIN
from tests.examples.shop import shop_jar
from tests.output.otlp.backend import backend
from tests.targets import Target, target

ROOT = Path(__file__).parents[2]
NAME = '"OrderApp"'
DOCUMENT = (ROOT / "docs" / "python.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", DOCUMENT, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def shop() -> Iterator[Target]:
    with target(17, MAIN, "--requests", "1000000", "--rate", "300", classpath=[shop_jar()]) as program:
        yield program


def ran(text: str, shop: Target, names: dict[str, Any], backend: str = "") -> None:
    """Uses the pid, because another shop with this name may run on the machine. ``backend``: the URL of the export."""
    text = text.replace(NAME, str(shop.pid)).replace("otlp://localhost:4318", backend)
    exec(compile(text, "<example>", "exec"), names)


def test_the_document_gives_the_results_shown(shop: Target, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    assert len(BLOCKS) == 6
    with backend() as receiver:
        for block in BLOCKS:
            ran(block, shop, names, receiver.url)
    output = capsys.readouterr().out
    assert "@took[" in output
    assert "PricingEngine.quote ENTRY" in output
    assert len(names["took"]) > 3
    assert names["sessions"].failures == {}
    tally, exported = names["tally"], names["export"]
    assert (tally.is_complete, exported.missed, exported.failures) == (True, 0, {})
    assert tally.log_records == len(receiver.logs) > 3
    assert sum(point.count for point in receiver.last("btpy.took").exponential_histogram.data_points) > 30


def test_the_notebook_runs_from_the_top(shop: Target) -> None:
    notebook = json.loads((ROOT / "examples" / "shop.ipynb").read_text())
    assert notebook["nbformat"] == 4
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        assert not cell.get("outputs"), "run without being kept"
        if cell["cell_type"] == "code":
            ran("".join(cell["source"]), shop, names)
    assert names["rows"]
    assert names["failed"]
    assert names["receipt"].clean


def test_the_examples_pass_a_type_checker(tmp_path: Path) -> None:
    (tmp_path / "examples.py").write_text("\n".join(BLOCKS))
    process = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(tmp_path / "examples.py")],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert process.stdout.strip() == ""
