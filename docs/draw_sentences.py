"""Draws sentences of the project at random, for people who judge how plain they are.

``python docs/draw_sentences.py SEED [COUNT]``

The same seed draws the same sentences of the same commit. They come from docstrings, comments, messages, help texts,
explanations of diagnostics, pages, and the headers of scripts.
"""

from __future__ import annotations

import ast
import io
import random
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
FOLDERS = ("btpy", "agent-java/src", "tests", "benchmarks", "docs", "examples", "probes")
INPUTS = {"corpus", "golden"}  # folders of tests that hold inputs and expected output
GENERATED = {"language.md", "events.md", "commands.md", "libraries.md"}
FEWEST_WORDS = 4

_WORDS = re.compile(r"(?:[A-Za-z',;:…{}`]+ ){3}[A-Za-z]")
_END = re.compile(r"(?<=[.:;!?])\s+(?=[A-Z`\"(@])")
_JAVA_COMMENT = re.compile(r"/\*\*?([\s\S]*?)\*/|((?:^[ \t]*//.*\n)+)|//(.*)", re.MULTILINE)
_SCRIPT_COMMENT = re.compile(r"(?:^//.*(?:\n|\Z))+", re.MULTILINE)
_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+")
_BEGINS = re.compile(r"^\s*(?:[-*]|\d+\.)\s|^\s*[|#$]")
_FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


class Sentence(NamedTuple):
    path: Path
    line: int
    text: str


def sentences(path: Path) -> Iterator[Sentence]:
    for line, text in _texts(path):
        for sentence in _END.split(" ".join(text.split())):
            if len(sentence.split()) >= FEWEST_WORDS:
                yield Sentence(path.relative_to(ROOT), line, sentence)


def _texts(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the text of each docstring, comment or paragraph."""
    content = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(content)):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                yield node.lineno, node.value.value
        yield from _python_comments(content)
        if "btpy" in path.relative_to(ROOT).parts:
            yield from _messages(ast.parse(content))
    elif path.suffix == ".java":
        for comment in _JAVA_COMMENT.finditer(content):
            text = re.sub(r"^\s*(\*|//)", "", comment[1] or comment[2] or comment[3] or "", flags=re.MULTILINE)
            yield content.count("\n", 0, comment.start()) + 1, text
    elif path.suffix == ".bt":
        for block in _SCRIPT_COMMENT.finditer(content):
            yield from _paragraphs(re.sub(r"^//", "", block[0], flags=re.MULTILINE), content, block.start())
    elif path.name == "topics.toml":
        for topic, text in tomllib.loads(content).items():
            yield from _paragraphs(text, content, content.index(f"\n{topic} = ") + 1)
    elif path.suffix == ".toml":
        for explanation in tomllib.loads(content).values():
            yield content.count("\n", 0, content.index(explanation["title"])) + 1, explanation["text"]
    else:
        content = _FENCED.sub(lambda block: "\n" * block[0].count("\n"), content)
        yield from _paragraphs(content, content, 0)


def _messages(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The texts in code that consist of words; an expression in an f-string is shown as {…}."""
    apart = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    apart |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if id(node) in apart:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        elif isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{…}" for part in node.values)
        else:
            continue
        if _WORDS.search(text):
            yield node.lineno, text


def _python_comments(content: str) -> Iterator[tuple[int, str]]:
    """Each comment of Python code; comments on consecutive lines are one text."""
    first, last, text = 0, 0, ""
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type == tokenize.COMMENT:
            alone = token.line.lstrip().startswith("#")
            if alone and token.start[0] == last + 1:
                text += "\n" + token.string.lstrip("# ")
            else:
                if text:
                    yield first, text
                first, text = token.start[0], token.string.lstrip("# ")
            last = token.start[0] if alone else 0
    if text:
        yield first, text


def _paragraphs(text: str, content: str, start: int) -> Iterator[tuple[int, str]]:
    """The paragraphs and list items of ``text``, which begins at ``start`` of ``content``, without tables and
    headings."""
    line = content.count("\n", 0, start) + 1
    for paragraph in re.finditer(r"(?:^[ \t]*\S.*(?:\n|\Z))+", text, re.MULTILINE):
        number = line + text.count("\n", 0, paragraph.start())
        lines = paragraph[0].splitlines(keepends=True)
        while lines:
            size = next((size for size in range(1, len(lines)) if _BEGINS.match(lines[size])), len(lines))
            if not lines[0].lstrip().startswith(("|", "#", "$", "<!--")):
                yield number, _ITEM.sub("", "".join(lines[:size]))
            number += size
            del lines[:size]


def main(seed: str, count: str = "200") -> None:
    suffixes = {".py", ".java", ".md", ".bt"}
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.suffix in suffixes]
    paths = [path for path in paths if not INPUTS & set(path.parts)]
    paths += [*sorted(ROOT.glob("*.md")), *(ROOT / "btpy" / f"{name}.toml" for name in ("explanations", "topics"))]
    everything = [sentence for path in paths if path.name not in GENERATED for sentence in sentences(path)]
    for sentence in random.Random(int(seed)).sample(everything, int(count)):
        print(f"{sentence.path}:{sentence.line}: {sentence.text}")


if __name__ == "__main__":
    main(*sys.argv[1:])
