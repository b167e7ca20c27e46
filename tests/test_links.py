"""Every relative link of the documentation leads to a file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(page for folder in ("docs", "benchmarks", "examples") for page in (ROOT / folder).rglob("*.md")),
    ]
)


def links(page: Path) -> Iterator[str]:
    for link in re.finditer(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not link[1].startswith(("http://", "https://")):
            yield link[1]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert [link for link in links(page) if not (page.parent / link).exists()] == []
