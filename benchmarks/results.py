"""RESULTS.md in sections, each written by the benchmark that measures it."""

from __future__ import annotations

import fcntl
import os
import re
import tempfile
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "RESULTS.md"
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)


def write(title: str, text: str, results: Path = RESULTS) -> None:
    """Replace the section ``title``, or add it at the end; the others stay as they are."""
    with results.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        old = results.read_text()
        section = f"## {title}\n\n{text.strip()}\n"
        starts = {found[1]: found.start() for found in _SECTION.finditer(old)}
        if title in starts:
            begin = starts[title]
            after = [start for start in starts.values() if start > begin]
            new = old[:begin] + section + (f"\n{old[min(after) :]}" if after else "")
        else:
            new = f"{old.rstrip()}\n\n{section}"
        with tempfile.NamedTemporaryFile("w", dir=results.parent, suffix=".md", delete=False) as fresh:
            fresh.write(new)
        os.replace(fresh.name, results)
