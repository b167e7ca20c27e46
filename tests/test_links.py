"""Every relative link of the documentation leads to an existing file and heading."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("docs", "benchmarks", "examples")
PAGES = sorted([*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))])


def links(page: Path) -> Iterator[tuple[str, str]]:
    """File and heading of each link; an empty file is the page itself, an empty heading its beginning."""
    for link in re.finditer(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", page.read_text(encoding="utf-8")):
        if not link[1].startswith(("http://", "https://")):
            yield link[1], link[2] or ""


def anchors(page: Path) -> set[str]:
    """The anchors of its headings, as Python-Markdown and GitHub make them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = (re.sub(r"[^\w\s-]", "", heading) for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE))
    return {re.sub(r"[-\s]+", "-", heading.strip().lower()) for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    wrong = []
    for file, heading in links(page):
        leads_to = page.parent / file if file else page
        if not leads_to.exists() or (heading and heading not in anchors(leads_to)):
            wrong.append(f"{file}#{heading}" if heading else file)
    assert wrong == []
