"""The fenced blocks of the documentation: the kind and the line of each, and whether a test can run it.

The language after the fence tells the kind of the block:

- ``btpy``: a script. ``title="PATH"`` names the file to save it in.
- ``console``: commands after ``$``, each with the lines that it prints, or some of them.
- ``sh``: commands for the reader's own machine.
- ``prompt``: what a person enters at the prompt, and the answers.
- ``text``: a drawing, a format or pseudocode; such a block always needs a reason.

``<!-- not run: REASON -->`` above a block gives the reason why it cannot be run here.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        ROOT / "examples" / "README.md",
        *(page for page in (ROOT / "docs").rglob("*.md") if not page.name.endswith(".template.md")),
    ]
)
"""benchmarks/RESULTS.md is left out: it has results but no commands."""

LANGUAGES = {"btpy", "console", "sh", "prompt", "text", "python", "toml", "json", "lua", "js", "yaml"}
_FENCE = re.compile(r'^```(?P<language>\w*)(?: title="(?P<title>[^"]+)")?$')
_NOT_RUN = re.compile(r"^<!-- not run: (?P<reason>.+) -->$")


class Block(NamedTuple):
    """``line``: the number of the first line of the text, from 1. ``reason``: the reason why the block is not run; None
    if it is run.
    """

    page: Path
    line: int
    language: str
    title: str | None
    text: str
    reason: str | None

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


class Command(NamedTuple):
    """One command line of a block with the lines that the page shows below it."""

    block: Block
    line: int
    text: str
    output: tuple[str, ...]

    @property
    def place(self) -> str:
        return f"{self.block.page.relative_to(ROOT)}:{self.line}"

    def words(self) -> list[str]:
        """The words of the first program of the line, without a comment and without the part after ``|`` or ``>``."""
        lexer = shlex.shlex(self.text, posix=True, punctuation_chars="|>")
        lexer.whitespace_split = True
        return list(itertools.takewhile(lambda word: word not in ("|", ">", ">>"), lexer))


def blocks(page: Path) -> Iterator[Block]:
    """Raises ValueError, with the line, for a fence that is not closed or has no language of :data:`LANGUAGES`."""
    lines = page.read_text(encoding="utf-8").splitlines()
    at = 0
    while at < len(lines):
        if not lines[at].startswith("```"):
            at += 1
            continue
        fence = _FENCE.match(lines[at])
        place = f"{page.relative_to(ROOT)}:{at + 1}"
        if fence is None or fence["language"] not in LANGUAGES:
            raise ValueError(f"{place}: a block needs one of {sorted(LANGUAGES)}: {lines[at]}")
        try:
            end = lines.index("```", at + 1)
        except ValueError:
            raise ValueError(f"{place}: the block is not closed") from None
        marker = _NOT_RUN.match(lines[at - 1]) if at else None
        text = "\n".join(lines[at + 1 : end]) + "\n"
        yield Block(page, at + 2, fence["language"], fence["title"], text, marker["reason"] if marker else None)
        at = end + 1


def commands(block: Block) -> Iterator[Command]:
    """The commands of a ``console`` or ``sh`` block."""
    lines = block.text.splitlines()
    at = 0
    while at < len(lines):
        first = at
        text = lines[at].removeprefix("$ ")
        while text.endswith("\\"):
            at += 1
            text = text[:-1] + lines[at]
        at += 1
        output = []
        if block.language == "console":
            while at < len(lines) and not lines[at].startswith("$ "):
                output.append(lines[at])
                at += 1
        if text and not text.startswith("#"):
            yield Command(block, block.line + first, text, tuple(output))
