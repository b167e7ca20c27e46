"""docs/hazards.md names a test for each hazard, and these tests exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_tests_of_the_page_exist() -> None:
    rows = [line for line in (ROOT / "docs" / "hazards.md").read_text().splitlines() if line.startswith("| ")]
    tests_of_rows = [re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row) for row in rows if not row.startswith("| hazard")]
    assert len(tests_of_rows) > 30
    assert all(tests_of_rows)
    names = [
        f"{path}::{name}"
        for tests in tests_of_rows
        for path, name in tests
        if f"def {name}(" not in (ROOT / path).read_text()
    ]
    assert names == []
